//! Writes the masked tables, and the tables from which rows are left out, to temporary databases, with their indexes. The copy takes the
//! B-trees from there.
//!
//! | table | way of writing the rows |
//! |---|---|
//! | in a database in UTF-16; WITHOUT ROWID, in the order of a collation of an application | inserted by SQLite |
//! | any other | read and encoded on all cores; sorted if the rowid or PRIMARY KEY is masked |
//!
//! Foreign keys are not checked, as masks keep references.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use sqluice_core::error::{Error, Result, message};
use sqluice_core::progress::Context;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::failed;
use sqluice_engine::attempts;
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::WriteOptions;
use sqluice_engine::output::{Scratch, Target};
use sqluice_engine::phases::{PhaseReport, Phases};
use sqluice_engine::plan::Plan;
use sqluice_engine::trees::Job;
use sqluice_format::database::Header;
use sqluice_reader::rows::{PART_BYTES, Rows, Selection};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

use super::super::subset::{Lookup, Subset};
use super::super::{Copy, Opened, begin_temporary, of_application};
use super::columns::{Masks, TableMasks};
use super::insert::Insertion;
use super::source::{MaskedRows, Masking};

/// The text encoding UTF-8 in the header.
const UTF_8: u32 = 1;

/// The tables that were written, and the temporary databases that have them.
pub(in crate::copy) struct MaskedTables {
    files: Vec<Made>,
    pub(in crate::copy) phases: Vec<PhaseReport>,
}

struct Made {
    snapshot: Arc<Snapshot>,
    objects: Vec<StoredObject>,
    _file: Scratch,
}

/// A table to write: with the indexes that are copied, the masks, and the rows that are left out.
struct Declared {
    table: Table,
    masks: TableMasks,
    left_out: Option<Arc<Lookup>>,
}

/// The inputs for writing masked tables.
struct Making<'a> {
    copy: &'a Copy,
    opened: &'a Opened,
    masks: &'a Masks,
    header: &'a Header,
    context: &'a Context<'a>,
}

impl MaskedTables {
    /// Writes the tables that are masked or from which rows are left out, for a copy whose header is `header`.
    ///
    /// # Errors
    /// If a row can't be read, or its new values can't be stored.
    pub(in crate::copy) fn make(
        (copy, opened, masks): (&Copy, &Opened, &Masks),
        header: &Header,
        context: &Context<'_>,
    ) -> Result<MaskedTables> {
        let making = Making { copy, opened, masks, header, context };
        let name = if copy.mask.is_some() { "mask" } else { "keep rows" };
        context.progress.phase(name, None);
        let mut phases = Phases::new(context.progress, name);
        let (encoded, inserted) = making.divide();
        let mut files = Vec::new();
        if !encoded.is_empty() {
            files.push(making.encode(&encoded, &mut phases)?);
        }
        if !inserted.is_empty() {
            phases.begin("insert", None);
            files.push(making.insert(&inserted)?);
        }
        Ok(MaskedTables { files, phases: phases.finish() })
    }

    /// Returns the temporary database and the B-tree of a table that was written, or of one of its indexes.
    ///
    /// # Errors
    /// If the tree was not written.
    pub(in crate::copy) fn object(&self, object: &StoredObject) -> Result<(&Snapshot, &StoredObject)> {
        let found = self.files.iter().find_map(|Made { snapshot, objects, .. }| {
            let is_it = |other: &&StoredObject| {
                other.kind == object.kind && other.name.eq_ignore_ascii_case(&object.name)
            };
            objects.iter().find(is_it).map(|made| (&**snapshot, made))
        });
        found.ok_or_else(|| Error::input(format!("{} was not made", object.describe())))
    }

    /// Returns the largest rowid of each AUTOINCREMENT table that was written, by the name in lower case.
    ///
    /// # Errors
    /// If the temporary databases can't be read.
    pub(in crate::copy) fn sequences(&self) -> Result<HashMap<String, i64>> {
        let mut all = HashMap::new();
        for Made { snapshot, .. } in &self.files {
            all.extend(sequences(&snapshot.connection())?);
        }
        Ok(all.into_iter().map(|(name, number)| (name.to_ascii_lowercase(), number)).collect())
    }
}

/// Returns the rows of `sqlite_sequence`, if the table exists.
pub(in crate::copy) fn sequences(connection: &Connection) -> Result<Vec<(String, i64)>> {
    let read = || -> rusqlite::Result<Vec<(String, i64)>> {
        let mut has = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'")?;
        if !has.exists([])? {
            return Ok(Vec::new());
        }
        let sql = "SELECT name, CAST(seq AS INTEGER) FROM sqlite_sequence WHERE typeof(name) = 'text' ORDER BY rowid";
        let mut rows = connection.prepare(sql)?;
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    read().map_err(|error| failed(error, "read sqlite_sequence"))
}

impl<'a> Making<'a> {
    /// Divides the tables by the way their rows are written: encoded by the engine, or inserted by SQLite. Each table comes with its
    /// copied indexes.
    fn divide(&self) -> (Vec<Declared>, Vec<Declared>) {
        let Making { opened, masks, .. } = self;
        let mut divided = (Vec::new(), Vec::new());
        let reduced = opened.subset.iter().flat_map(Subset::tables);
        let numbers: BTreeSet<usize> = masks.tables.keys().copied().chain(reduced).collect();
        for number in numbers {
            let declared = &opened.schema.tables[number];
            let is_kept = |name: &str| {
                let found = opened.objects.iter().find(|object| object.name.eq_ignore_ascii_case(name));
                found.is_some_and(|object| opened.selection.has(object))
            };
            if !is_kept(&declared.name) {
                continue;
            }
            let mut table = declared.clone();
            table.indexes.retain(|index| is_kept(&index.name));
            let is_inserted = self.header.text_encoding != UTF_8 || is_for_sqlite(&table);
            let list = if is_inserted { &mut divided.1 } else { &mut divided.0 };
            let none = || TableMasks::none(&declared.name, declared.columns.len());
            let masks = masks.tables.get(&number).cloned().unwrap_or_else(none);
            let left_out = opened.subset.as_ref().and_then(|subset| subset.of(number).cloned());
            list.push(Declared { table, masks, left_out });
        }
        divided
    }

    fn scratch(&self) -> Result<Scratch> {
        let Copy { target, write, .. } = self.copy;
        self.target().scratch().map_err(|error| error.about(write_place(write, target)))
    }

    fn target(&self) -> &Target {
        &self.opened.settled.wanted.target
    }

    fn open(&self, file: Scratch) -> Result<Made> {
        let mut options = ReadOptions::new();
        options.pending_byte = Some(self.copy.write.tuning.pending_byte);
        let snapshot = Snapshot::begin(file.path(), &options, &self.context.cancel)?;
        let objects = snapshot.objects(&self.context.cancel)?;
        Ok(Made { snapshot: Arc::new(snapshot), objects, _file: file })
    }

    /// Encodes the rows of tables.
    fn encode(&self, tables: &[Declared], phases: &mut Phases<'_>) -> Result<Made> {
        let Making { copy, opened, header, context, .. } = self;
        let mut schema = opened.schema.clone();
        schema.others.clear();
        schema.tables = tables.iter().map(|declared| with_rowids(&declared.table)).collect();
        let names: Vec<&String> = schema
            .tables
            .iter()
            .flat_map(|table| {
                std::iter::once(&table.name).chain(table.indexes.iter().map(|index| &index.name))
            })
            .collect();
        schema.objects.retain(|(_, name)| names.contains(&name));
        let mut options = WriteOptions::new()
            .threads(copy.write.threads)
            .memory_bytes(copy.write.memory_bytes)
            .page_size(header.geometry.page_size())
            .temp_dir(self.target().temp_dir()?)
            .foreign_keys(false);
        options.tuning = copy.write.tuning;
        let mut plan = Plan::new(&schema, Some(self.target().clone()), &options)?;
        for (number, declared) in tables.iter().enumerate() {
            if declared.masks.masks_rowids {
                plan.sort_rows((number, &schema.tables[number]), false, "its rowid is masked", &options)?;
            }
        }
        let mut jobs = Vec::new();
        for (declared, table) in tables.iter().zip(&schema.tables) {
            let source = Box::new(self.rows(declared)?);
            jobs.push(Job { table, coercion: Coercion::All, source });
        }
        let mut file = self.scratch()?;
        let written =
            attempts::write_unfinished(&plan, &schema, jobs, &mut file, phases, &context.cancel.child());
        let is_masked = tables.iter().any(|declared| declared.masks.is_masked());
        written.map_err(|error| if is_masked { explained(error) } else { error })?;
        self.open(file)
    }

    /// Returns a source of the rows of a table, with their new values.
    fn rows(&self, Declared { table, masks, left_out }: &Declared) -> Result<MaskedRows<'static>> {
        let Making { opened: Opened { snapshot, schema, .. }, context, .. } = self;
        let rowid = rowid_column(table);
        let left_out = left_out.clone();
        let masking = Masking { left_out, ..Masking::new(masks, table, rowid.is_some()) };
        let names = masking.read.iter().map(|&column| match table.columns.get(column) {
            Some(column) => column.name.clone(),
            None => rowid.unwrap_or_default().to_owned(),
        });
        let selection = Selection::default().columns(names.collect::<Vec<_>>());
        let mut rows = Rows::of_table(snapshot, schema, &table.name, &selection)?;
        if !masking.shows_keys {
            rows = rows.with_secret_keys();
        }
        Ok(MaskedRows { inner: rows.source(PART_BYTES, &context.cancel)?, masking: Arc::new(masking) })
    }

    /// Has SQLite insert the rows of tables.
    fn insert(&self, tables: &[Declared]) -> Result<Made> {
        let Making { opened, header, context, .. } = self;
        let file = self.scratch()?;
        let connection = begin_temporary(file.path(), header, &context.cancel)?;
        for Declared { table, masks, left_out } in tables {
            let cannot =
                |error| of_application(failed(error, &format!("make table {}", table.name)), &table.name);
            connection.execute_batch(&table.sql).map_err(cannot)?;
            let rowid = rowid_column(table);
            let left_out = left_out.clone();
            let masking = Masking { left_out, ..Masking::new(masks, table, rowid.is_some()) };
            let columns = masking.read.iter().map(|&column| match table.columns.get(column) {
                Some(column) => quoted(&column.name),
                None => rowid.unwrap_or_default().to_owned(),
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let name = quoted(&table.name);
            let not_indexed = if table.without_rowid { "" } else { " NOT INDEXED" };
            let select = format!("SELECT {columns} FROM {name}{not_indexed}");
            let places = vec!["?"; masking.read.len()].join(", ");
            let insert = format!("INSERT OR ABORT INTO {name} ({columns}) VALUES ({places})");
            let is_converted = header.text_encoding != UTF_8;
            let insertion = Insertion { table: &table.name, masking: &masking, is_converted, context };
            insertion.copy(&opened.snapshot.connection(), &select, &connection, &insert)?;
            for index in table.indexes.iter().filter_map(|index| index.sql.as_deref()) {
                connection.execute_batch(index).map_err(cannot)?;
            }
        }
        let cannot = |error| failed(error, "write a temporary database");
        connection.execute_batch("COMMIT").map_err(cannot)?;
        connection.close().map_err(|(_, error)| cannot(error))?;
        context.cancel.check()?;
        self.open(file)
    }
}

/// Returns the path to name in errors about a temporary file.
fn write_place(write: &WriteOptions, target: &Path) -> std::path::PathBuf {
    write.temp_dir.clone().unwrap_or_else(|| target.to_owned())
}

/// Returns `true` if only SQLite can store the rows of a table, because their order depends on a collation of an application.
fn is_for_sqlite(table: &Table) -> bool {
    table.clustered.as_ref().is_some_and(|key| key.order().is_none())
}

/// Returns a name that means the rowid; `None` if a column of the table is the rowid, the table has no rowids, or no such name is free.
pub(super) fn rowid_column(table: &Table) -> Option<&'static str> {
    table.rowid_name().filter(|_| table.rowid_alias.is_none() && !table.without_rowid)
}

/// Returns the declaration of a table for the engine. If no column is the rowid, a column for the rowid is added.
fn with_rowids(table: &Table) -> Table {
    rowid_column(table).map_or_else(|| table.clone(), |name| table.with_rowid_column(name))
}

/// Adds a remedy to the error for rows that can't be stored.
fn explained(error: Error) -> Error {
    let hint = "choose masks whose values the table can store: those of its types, keys and constraints";
    let hint = match error.remedy() {
        None => hint.into(),
        Some(known) => message![known, "; ", hint],
    };
    error.hint(hint)
}
