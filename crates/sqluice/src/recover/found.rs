//! Finds what is left: the schema, the trees, and the leaves of each table.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::token::{Token, tokens};
use sqluice_core::schema::{Schema, Table};
use sqluice_core::sqlite_error::{failed, said};
use sqluice_format::check::spec::{self, Constant, Field, Source, Takes};
use sqluice_format::database::encoding_name;
use sqluice_reader::salvage::{
    DamagedFile, Finding, FoundSchema, Leaf, OpenOptions, Origin, SchemaRow, Sought, SoughtTree, read_schema,
    survey,
};

use super::Recover;
use super::indexed::{IndexedRows, indexed_rows, report_of};
use super::layout::Layout;
use super::report::{FoundRows, LostPageReport, RecoverPlan, SavedTable};
use crate::check::spec::tables as specs;

/// The largest number of lost pages that a report lists for each table.
const LISTED_MAX: usize = 20;

/// The finds in a damaged file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) file: Arc<DamagedFile>,
    pub(super) finding: Arc<Finding>,
    /// The tables that have rows of their own, as SQLite understands them.
    pub(super) schema: Schema,
    pub(super) tables: Vec<FoundTable>,
    /// The indexes, views, triggers and virtual tables, in the order of the schema.
    pub(super) others: Vec<SchemaRow>,
    /// The lost rows that are saved from indexes, with the names of their tables.
    pub(super) from_indexes: Vec<(String, IndexedRows)>,
    pub(super) plan: RecoverPlan,
}

/// A table that was found.
#[derive(Debug)]
pub(super) struct FoundTable {
    pub(super) table: Table,
    pub(super) spec: spec::Table,
    /// The leaves whose rows the engine encodes. In a table with rowids, their ranges of rowids ascend and do not overlap; in a WITHOUT
    /// ROWID table, they may be in any order.
    pub(super) ordered: Vec<Leaf>,
    /// The leaves with rows that SQLite inserts. With `true`, the leaf is also in `ordered`, and SQLite inserts only the rows that the
    /// engine does not take; with `false`, SQLite inserts all rows of the leaf.
    pub(super) rest: Vec<(Leaf, bool)>,
}

impl Found {
    /// Reads the file, and finds its rows.
    ///
    /// # Errors
    /// When the file can't be read, is in use by a writer or has no page of a database, or the given schema can't be made.
    pub(super) fn of(recover: &Recover, context: &Context<'_>) -> Result<Found> {
        let options = OpenOptions {
            busy_timeout: recover.write.busy_timeout,
            ignore_wal: recover.ignore_wal,
            pending_byte: recover.write.tuning.pending_byte,
        };
        let file = DamagedFile::open(&recover.source, options, &context.cancel)?;
        let bytes = Some(Amount { rows: 0, bytes: file.bytes() });
        context.progress.phase("read", bytes);
        let threads = recover.threads();
        let survey = survey(&file, threads, context)?;
        let schema = read_schema(&file, &survey.pages, &context.cancel)?;
        let mut model = Model::new(&file, &schema, recover)?;
        let trees = model.trees(&schema, file.encoding)?;
        let sought = Sought {
            trees: &trees,
            schema_pages: &schema.pages,
            facts: &survey.pages,
            shapes: &survey.shapes,
            strict: recover.strict,
            deleted: recover.deleted,
            schema_is_whole: recover.schema.is_some() || schema.is_whole && !model.is_damaged,
            threads,
        };
        context.progress.phase("find", bytes);
        let finding = Finding::of(&file, &sought, context)?;
        file.check_unchanged()?;
        Found::assemble(recover, file, finding, (schema, model, trees))
    }

    fn assemble(
        recover: &Recover,
        file: DamagedFile,
        finding: Finding,
        (found, model, trees): (FoundSchema, Model, Vec<SoughtTree>),
    ) -> Result<Found> {
        let mut plan = RecoverPlan {
            source: recover.source.clone(),
            target: recover.target.clone(),
            source_bytes: file.bytes(),
            pages: file.page_count(),
            page_bytes: file.geometry().page_bytes(),
            encoding: encoding_name(file.encoding),
            freelist_whole: finding.freelist_is_whole,
            remarks: file.remarks.clone(),
            damaged_pages: finding.faulty_pages + finding.copied_pages + finding.lost.len() as u64,
            ..RecoverPlan::default()
        };
        plan.remarks.extend(model.remarks);
        let table_of = |tree: usize| model.schema.table(&trees[tree].name);
        let indexed = indexed_rows(&finding, &trees, table_of);
        let mut tables = Vec::new();
        for (tree, sought) in trees.iter().enumerate() {
            let lost = finding.lost.iter().filter(|lost| lost.tree == tree);
            let Some(spec) = &sought.table else {
                plan.lost_index_pages += lost.count() as u64;
                continue;
            };
            let Some(table) = model.schema.table(&sought.name) else { continue };
            let leaves = &finding.leaves[tree];
            let rows_of = |origin: Option<Origin>| {
                let counted = leaves.iter().filter(|leaf| origin.is_none_or(|origin| leaf.origin == origin));
                counted.map(|leaf| leaf.rows).sum::<u64>()
            };
            let pages: Vec<LostPageReport> = lost
                .map(|lost| LostPageReport {
                    page: lost.page,
                    why: lost.why,
                    after_rowid: lost.gap.0,
                    last_rowid: lost.gap.1,
                })
                .collect();
            plan.tables.push(SavedTable {
                name: sought.name.clone(),
                rows: rows_of(None),
                by_gap: rows_of(Some(Origin::Gap)),
                by_shape: rows_of(Some(Origin::Shape)),
                lost_rows: finding.lost_rows[tree],
                lost_page_count: pages.len() as u64,
                lost_pages: pages.into_iter().take(LISTED_MAX).collect(),
                indexed_lost_rows: (indexed.iter())
                    .find(|rows| rows.table == tree)
                    .map_or(0, |rows| rows.rowids.count()),
                witnesses: (finding.witnesses.iter())
                    .filter(|witness| witness.table == tree)
                    .map(|witness| report_of(witness, &trees))
                    .collect(),
                ..SavedTable::default()
            });
            let (ordered, rest) = divide(leaves, spec, sought.is_index);
            tables.push(FoundTable { table: table.clone(), spec: spec.clone(), ordered, rest });
        }
        for (number, group) in finding.groups.iter().enumerate() {
            plan.lost_and_found.push(FoundRows {
                table: free_name(&model.schema, &found.rows, &format!("lost_and_found_{}", number + 1)),
                rows: group.rows,
                columns: group.kinds.fields(),
                of_table: None,
            });
        }
        let mut from_indexes = Vec::new();
        for rows in indexed.into_iter().filter(|_| recover.from_indexes) {
            let wanted = format!("lost_and_found_{}", plan.lost_and_found.len() + 1);
            let table = free_name(&model.schema, &found.rows, &wanted);
            plan.lost_and_found.push(FoundRows {
                table: table.clone(),
                rows: rows.rowids.count(),
                columns: rows.columns.len(),
                of_table: Some(trees[rows.table].name.clone()),
            });
            from_indexes.push((table, rows));
        }
        if !found.is_whole {
            plan.remarks.push(match recover.schema {
                Some(_) => "rows of the schema are lost: the given schema was used".to_owned(),
                None => "rows of the schema are lost: tables, indexes, views and triggers may be missing. Rows of missing \
                         tables are in lost_and_found; with a given schema, rows that fit only one table are in it"
                    .to_owned(),
            });
        }
        if file.ends_within_a_page() {
            plan.remarks.push("the file ends within a page".to_owned());
        }
        if finding.index_pages > 0 {
            plan.remarks.push(format!(
                "{} index pages that no tree names were left out: their rows are not rows of a WITHOUT ROWID table",
                finding.index_pages
            ));
        }
        if file.is_unreadable() {
            plan.remarks.push("the disk can't read parts of the file: these bytes count as zeros".to_owned());
        }
        let meeting = finding.chains.meeting();
        if meeting > 0 {
            plan.remarks.push(format!(
                "{meeting} overflow pages are named by several rows: all but one of these rows have damaged values, or are lost"
            ));
        }
        if finding.cut_rows > 0 {
            plan.remarks.push(format!(
                "overflow pages of {} rows are lost: these pages had generated columns only, which are computed again",
                finding.cut_rows
            ));
        }
        if !finding.freelist_is_whole {
            plan.remarks.push(
                "the freelist can't be read whole: rows that count by their shape, and those in lost_and_found, \
                 may have been deleted"
                    .to_owned(),
            );
        }
        let header_lost = file.header().is_none();
        let has_strays = plan.tables.iter().any(|table| table.lost_rows + table.by_gap + table.by_shape > 0);
        // SQLite makes `sqlite_sequence`. Its rows are set from the saved ones and from the largest rowids, and are not counted.
        plan.tables.retain(|table| !table.name.eq_ignore_ascii_case("sqlite_sequence"));
        plan.rows = plan.tables.iter().map(|table| table.rows).sum::<u64>()
            + plan.lost_and_found.iter().map(|found| found.rows).sum::<u64>();
        plan.damaged = header_lost
            || plan.damaged_pages > 0
            || file.is_mended
            || has_strays
            || finding.cut_rows > 0
            || finding.is_uneven
            || meeting > 0
            || finding.chains.unended() > 0
            || file.is_unreadable()
            || !plan.lost_and_found.is_empty() && !recover.deleted
            || !finding.freelist_is_whole
            || !found.is_whole
            || file.ends_within_a_page()
            || model.is_damaged
            || finding.index_pages > 0 && !recover.deleted;
        let others = found.rows.into_iter().filter(is_other).collect();
        let (file, finding) = (Arc::new(file), Arc::new(finding));
        Ok(Found { file, finding, schema: model.schema, tables, others, from_indexes, plan })
    }
}

/// Returns `true` for indexes with a statement, views, triggers and virtual tables.
fn is_other(row: &SchemaRow) -> bool {
    row.sql.is_some() && (row.kind != "table" || is_virtual(row))
}

/// Returns `true` if a row declares a virtual table.
pub(super) fn is_virtual(row: &SchemaRow) -> bool {
    let sql = row.sql.as_deref().unwrap_or_default();
    let mut words = sql.split_ascii_whitespace();
    row.kind == "table"
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case("CREATE"))
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case("VIRTUAL"))
}

/// Returns a name that no object has.
fn free_name(schema: &Schema, rows: &[SchemaRow], wanted: &str) -> String {
    let is_taken = |name: &str| {
        schema.table(name).is_some() || rows.iter().any(|row| row.name.eq_ignore_ascii_case(name))
    };
    let mut name = wanted.to_owned();
    while is_taken(&name) {
        name.push('_');
    }
    name
}

/// Divides the leaves of a table into [`FoundTable::ordered`] and [`FoundTable::rest`]. If ranges of rowids overlap, a leaf that a tree
/// names takes precedence. `is_index` is `true` for a WITHOUT ROWID table.
fn divide(leaves: &[Leaf], table: &spec::Table, is_index: bool) -> (Vec<Leaf>, Vec<(Leaf, bool)>) {
    let mut by_origin: Vec<Leaf> = leaves.to_vec();
    by_origin.sort_by_key(|leaf| (leaf.origin, !leaf.is_named, !leaf.is_clean, leaf.page));
    // Rows that may be of another table must not take the keys of rows that a tree names.
    let is_unique = is_index || table.indexes.iter().any(|index| index.key.unique_fields.is_some());
    let best = by_origin.first().map(|leaf| leaf.origin);
    let is_late = |leaf: &Leaf| is_unique && leaf.origin == Origin::Shape && best != Some(Origin::Shape);
    let mut taken: BTreeMap<i64, (i64, Leaf)> = BTreeMap::new();
    let (mut ordered, mut rest) = (Vec::new(), Vec::new());
    for leaf in by_origin {
        if is_late(&leaf) {
            rest.push((leaf, false));
            continue;
        }
        if is_index {
            ordered.push(leaf);
            if !leaf.is_clean {
                rest.push((leaf, true));
            }
            continue;
        }
        let Some((first, last)) = leaf.rowids else { continue };
        let before = taken.range(..=last).next_back();
        if before.is_some_and(|(_, (end, _))| *end >= first) {
            rest.push((leaf, false));
        } else {
            taken.insert(first, (last, leaf));
            if !leaf.is_clean {
                rest.push((leaf, true));
            }
        }
    }
    ordered.extend(taken.into_values().map(|(_, leaf)| leaf));
    (ordered, rest)
}

/// Returns `true` if a statement creates an object of this kind, temporary or not.
pub(super) fn declares(sql: &str, kind: &str) -> bool {
    let mut tokens = tokens(sql).into_iter().filter(|token| !token.is_comment());
    let begins = tokens.next().is_some_and(|token| token.is_word(sql, "CREATE"));
    let is_temporary = |token: &Token| token.is_word(sql, "TEMP") || token.is_word(sql, "TEMPORARY");
    begins && tokens.find(|token| !is_temporary(token)).is_some_and(|token| token.is_word(sql, kind))
}

/// Executes a statement of the damaged schema. Text that does more than declare is refused: bytes of a file are not trusted to attach other
/// files, or to compute rows.
fn declare(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let tokens: Vec<_> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let fills = tokens.windows(2).any(|pair| {
        let is_query = ["SELECT", "VALUES", "WITH"].iter().any(|word| pair[1].is_word(sql, word));
        pair[0].is_word(sql, "AS") && is_query
    });
    if fills {
        let failure = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR);
        return Err(rusqlite::Error::SqliteFailure(failure, Some("the statement is damaged".to_owned())));
    }
    // In contrast to a batch, this is an error for several statements.
    connection.execute(sql, []).map(drop)
}

/// Returns the entries of an index as rows of a WITHOUT ROWID table.
fn as_table(table: &spec::Table, index: &spec::Index) -> spec::Table {
    let other = |name: &str, takes| Field { name: name.to_owned(), takes, default: Constant::Null };
    let is_rowid =
        Takes { null: false, real: false, text: false, numeric_text: false, blob: false, int: true };
    let fields = index.fields.iter().map(|source| match source {
        Source::Field(field) => table.fields[*field].clone(),
        Source::Rowid => other("rowid", is_rowid),
        Source::Computed => other("", Takes::ANYTHING),
    });
    spec::Table {
        name: index.name.clone(),
        fields: fields.collect(),
        key: Some(index.key.clone()),
        ..spec::Table::default()
    }
}

/// The tables of the schema, made in memory.
struct Model {
    schema: Schema,
    remarks: Vec<String>,
    is_damaged: bool,
}

impl Model {
    fn new(file: &DamagedFile, found: &FoundSchema, recover: &Recover) -> Result<Model> {
        let cannot = |error| failed(error, "read the schema");
        let connection = Connection::open_in_memory().map_err(cannot)?;
        connection.pragma_update(None, "foreign_keys", false).map_err(cannot)?;
        let (mut remarks, mut is_damaged) = (Vec::new(), false);
        for row in &found.rows {
            let Some(sql) = row.sql.as_deref().filter(|_| row.kind == "table" && !is_virtual(row)) else {
                continue;
            };
            if row.name.to_ascii_lowercase().starts_with("sqlite_") {
                continue;
            }
            if let Err(error) = declare(&connection, sql) {
                is_damaged = true;
                remarks.push(format!("table {} can't be made again: {}", row.name, said(error)));
            }
        }
        if let Some(schema) = &recover.schema {
            for table in &schema.tables {
                let is_known = found.rows.iter().any(|row| row.name.eq_ignore_ascii_case(&table.name));
                if !is_known {
                    connection.execute_batch(&table.sql).map_err(|error| {
                        Error::input(format!("table {} of the schema can't be made", table.name))
                            .because(error)
                    })?;
                }
            }
        }
        for row in found.rows.iter().filter(|row| row.kind == "index") {
            if let Some(sql) = &row.sql
                && let Err(error) = declare(&connection, sql)
            {
                is_damaged = true;
                remarks.push(format!("index {} can't be made again: {}", row.name, said(error)));
            }
        }
        if let Some(schema) = &recover.schema {
            for index in schema.tables.iter().flat_map(|table| &table.indexes) {
                if let Some(sql) = &index.sql {
                    // The schema of the user may have indexes whose rows of `sqlite_schema` are lost. For an index that exists already,
                    // the statement fails, and the error is ignored.
                    let _ = connection.execute_batch(sql);
                }
            }
        }
        let mut schema = Schema::with_all_tables(&connection, file.path()).map_err(cannot)?;
        if let Some(header) = file.header() {
            schema.user_version = header.user_version as i32;
            schema.application_id = header.application_id as i32;
        }
        Ok(Model { schema, remarks, is_damaged })
    }

    /// Returns the trees to look for in the file: the tree of `sqlite_schema`, the trees of tables and indexes, and the trees of tables
    /// that only the user's schema declares, whose root pages are unknown.
    fn trees(&mut self, found: &FoundSchema, encoding: u32) -> Result<Vec<SoughtTree>> {
        let specs = specs(&self.schema, encoding).map_err(|error| failed(error, "read the schema"))?;
        let spec = |name: &str| specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name)).cloned();
        let mut trees = vec![SoughtTree {
            name: "sqlite_schema".to_owned(),
            root: Some(1),
            is_index: false,
            table: None,
            entries: None,
            needed_fields: None,
            table_tree: None,
        }];
        let mut tables_of = vec![""];
        let entries = |name: &str| {
            let of = specs.iter().flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
            let mut of = of.filter(|(_, index)| index.name.eq_ignore_ascii_case(name));
            of.next().map(|(table, index)| as_table(table, index))
        };
        let needed_fields = |name: &str| {
            let (table, spec) = (self.schema.table(name)?, spec(name)?);
            Layout::new(table, &spec).needed_fields()
        };
        for row in found.rows.iter().filter(|row| row.root > 0 || row.kind == "table" && !is_virtual(row)) {
            let is_table = row.kind == "table";
            let table = spec(&row.name).filter(|_| is_table);
            // The trees of SQLite's own tables are followed, too. Statistics are not saved, as ANALYZE makes them anew.
            if is_table && table.is_none() && !row.name.to_ascii_lowercase().starts_with("sqlite_") {
                continue;
            }
            let is_clustered =
                is_table && self.schema.table(&row.name).is_some_and(|table| table.without_rowid);
            trees.push(SoughtTree {
                name: row.name.clone(),
                root: Some(row.root),
                is_index: row.kind == "index" || is_clustered,
                table,
                entries: entries(&row.name).filter(|_| row.kind == "index"),
                needed_fields: needed_fields(&row.name).filter(|_| is_table),
                table_tree: None,
            });
            tables_of.push(if row.kind == "index" { &row.table } else { "" });
        }
        for table in &self.schema.tables {
            if !found.rows.iter().any(|row| row.kind == "table" && row.name.eq_ignore_ascii_case(&table.name))
            {
                trees.push(SoughtTree {
                    name: table.name.clone(),
                    root: None,
                    is_index: table.without_rowid,
                    table: spec(&table.name),
                    entries: None,
                    needed_fields: needed_fields(&table.name),
                    table_tree: None,
                });
            }
        }
        for (at, name) in tables_of.into_iter().enumerate() {
            let is_its_table =
                |tree: &SoughtTree| tree.table.is_some() && tree.name.eq_ignore_ascii_case(name);
            trees[at].table_tree = trees.iter().position(is_its_table);
        }
        Ok(trees)
    }
}
