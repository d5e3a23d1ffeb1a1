//! `generate`: fills a database from a schema and a seed, or adds rows to an existing database.
//!
//! Added rows continue the rows of a table: with the same seed, 1,000 rows and then 500 more are the same rows as 1,500 rows at once,
//! except values that depend on row counts, such as references to random rows of a table that grows.

use std::path::PathBuf;

use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Amount, Cancel, Context};
use sqluice_core::remote::is_url;
use sqluice_core::schema::{Schema, Table};
use sqluice_core::setters;
use sqluice_engine::attempts::{self, Outcome};
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::{Action, IfExists, OnConflict, WriteOptions, WritePath};
use sqluice_engine::output::Target;
use sqluice_engine::plan::{ExpectedRows, Plan};
use sqluice_engine::report::{DroppedConstraint, Report};
use sqluice_engine::target::TargetSnapshot;
use sqluice_engine::trees::Job;
pub use sqluice_generator::{PRESETS, Preset, Preview, PreviewValue};
use sqluice_generator::{Spec, TableSpec, described_tables, parents, preview, settle, stated_rows};

use crate::full_text::{self, OverOthers};
use crate::remote;

/// A database of generated rows.
///
/// ```
/// use sqluice::generate::Generate;
/// use sqluice::schema::Schema;
///
/// let sql = "CREATE TABLE users (id INTEGER PRIMARY KEY); CREATE TABLE visits (user INT, at TEXT)";
/// let schema = Schema::parse(sql, "schema.sql".as_ref())?;
/// let generate = Generate::new("x.db", schema).rows(1000).rows_of("visits", 50_000).seed(7);
/// assert_eq!(generate.rows.len(), 2);
/// # Ok::<(), sqluice::error::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Generate {
    /// The database; `None` to build the pages and discard them. Tables of an existing database must be declared the same, and [`IfExists`]
    /// determines how they are handled.
    pub target: Option<PathBuf>,
    /// The declarations of the tables, with comments about the values of their columns.
    pub schema: Schema,
    /// The row counts, each for the named table, or for all tables without an entry of their own. Later entries override earlier entries.
    pub rows: Vec<(Option<String>, u64)>,
    /// The seed of the values. The same seed makes the same file.
    pub seed: u64,
    /// The choice of rows beyond plain row counts: rows per parent, a share of all rows, a scale.
    pub extent: Extent,
    /// The options for writing the database.
    pub write: WriteOptions,
}

/// The choice of rows beyond plain row counts.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Extent {
    /// For each named table, the average number of rows for each row of its parent, at least 0. The parent is the first other table that
    /// a FOREIGN KEY of the table names.
    pub per_parent: Vec<(String, f64)>,
    /// The number of the share to generate, counted from 1, and the number of shares; `None` for all rows. Messages call a share a part of
    /// the rows. Put together in order, the rows of all shares are the rows of a run without shares. A row may refer to a row of another
    /// share, so FOREIGN KEYs are not checked.
    pub share: Option<(u64, u64)>,
    /// The factor for the row counts in the comments of the schema; `None` for 1.
    pub scale: Option<f64>,
}

/// The average number of rows for each row of the parent, for a table whose row count is not given.
const PER_PARENT: f64 = 3.0;

/// A generation whose schema is parsed and whose plan is made.
#[derive(Debug)]
pub struct PreparedGenerate {
    /// The options of the generation.
    generate: Generate,
    plan: Plan,
    /// For each table, the number of its first generated row, counted from 0.
    first_rows: Vec<u64>,
    /// For each table, the number of rows that other rows can refer to.
    all: Vec<u64>,
    schema: Schema,
    spec: Spec,
    rows: Vec<u64>,
    seed: u64,
    dropped: Vec<DroppedConstraint>,
}

setters! { Generate:
    /// Sets the database; `None` to build the pages and discard them.
    target(target: impl Into<Option<PathBuf>>) = target.into();
    /// Sets the seed. The same seed makes the same file.
    seed(seed: u64) = seed;
    /// Sets the choice of rows beyond plain row counts.
    extent(extent: Extent) = extent;
    /// Sets the options for writing the database.
    write(options: WriteOptions) = options;
}

setters! { Extent:
    /// Sets, for each named table, the average number of rows for each row of its parent.
    per_parent(rows: impl IntoIterator<Item = (impl Into<String>, f64)>) =
        rows.into_iter().map(|(table, rows)| (table.into(), rows)).collect();
    /// Sets the share of the rows, counted from 1, and the number of shares; `None` for all rows.
    share(share: impl Into<Option<(u64, u64)>>) = share.into();
    /// Sets the factor for the row counts in the comments of the schema.
    scale(scale: impl Into<Option<f64>>) = scale.into();
}

impl TakesSettings for Generate {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Seed => self.seed = value.to()?,
            Setting::RowsScale => self.extent.scale = Some(value.to()?),
            _ => return self.write.set(setting, value),
        }
        Ok(true)
    }
}

impl Extent {
    /// Creates the default extent: all rows.
    pub fn new() -> Extent {
        Extent::default()
    }
}

impl Generate {
    /// Creates a generation for the tables of `schema`, with seed 0. [`rows`](Generate::rows) sets the row count.
    pub fn new(target: impl Into<PathBuf>, schema: Schema) -> Generate {
        Generate::without_target(schema).target(target.into())
    }

    /// Creates a generation that builds all pages and discards them, for benchmarks.
    pub fn without_target(schema: Schema) -> Generate {
        Generate {
            target: None,
            schema,
            rows: Vec::new(),
            seed: 0,
            extent: Extent::default(),
            write: WriteOptions::default(),
        }
    }

    /// Sets the row count of each table that [`rows_of`](Generate::rows_of) does not name.
    #[must_use]
    pub fn rows(mut self, rows: u64) -> Generate {
        self.rows.push((None, rows));
        self
    }

    /// Sets the row count of one table.
    #[must_use]
    pub fn rows_of(mut self, table: impl Into<String>, rows: u64) -> Generate {
        self.rows.push((Some(table.into()), rows));
        self
    }

    /// Generates the rows without progress reports.
    ///
    /// # Errors
    /// As [`Generate::prepare`] and [`PreparedGenerate::run`].
    pub fn run(&self) -> Result<Report> {
        self.run_with(&Context::default())
    }

    /// Generates the rows. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Generate::prepare`] and [`PreparedGenerate::run`].
    pub fn run_with(&self, context: &Context<'_>) -> Result<Report> {
        self.prepare(context)?.run(context)
    }

    /// Parses the comments of the schema, and plans the run. Writes nothing.
    ///
    /// # Errors
    /// If a comment is malformed, a table is unknown, the row count of a table is missing, existing tables prevent the run, a share does
    /// not exist, a share is to be added to an existing database, or a full-text table of a share has rows.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedGenerate> {
        context.cancel.check()?;
        let mut generate = self.for_its_share()?;
        remote::connect(generate.target.as_deref(), &mut generate.write, &context.cancel)?;
        generate.understand(&context.cancel)
    }

    /// Returns the first rows of each table, at most `rows` each, in the form in which queries will return them. Writes nothing. If the
    /// target is a URL, it is not examined, and taken for a new database.
    ///
    /// # Errors
    /// As [`Generate::prepare`], or if a row can't be generated.
    pub fn preview(&self, rows: u64, context: &Context<'_>) -> Result<Vec<Preview>> {
        context.cancel.check()?;
        let mut generate = self.for_its_share()?;
        generate.target = generate.target.filter(|target| !is_url(target));
        generate.understand(&context.cancel)?.preview(rows)
    }

    /// Returns a copy with the settings that a share needs, if only a share is generated.
    fn for_its_share(&self) -> Result<Generate> {
        if self.extent.share.is_none() {
            return Ok(self.clone());
        }
        if self.write.foreign_keys == Some(true) {
            let message = message![
                "a part of the rows can't be checked with ",
                Setting::ForeignKeys,
                ": its rows may refer to rows of other parts"
            ];
            return Err(Error::usage(message).hint(message![
                "leave ",
                Setting::ForeignKeys,
                " out, and run PRAGMA foreign_key_check on a database with the rows of all parts"
            ]));
        }
        if self.write.if_exists != IfExists::Fail {
            return Err(Error::usage("a part of the rows can't be added to an existing database")
                .hint("name a new database, without a setting for tables that exist"));
        }
        let write = self.write.clone().foreign_keys(false);
        Ok(self.clone().write(write))
    }

    /// Parses the comments of the schema and plans the run, after the target has been connected. If constraints may be dropped, tries to
    /// choose values that satisfy them. In a new database, constraints for which none are found are dropped, and the run is planned again
    /// without them.
    fn understand(self, cancel: &Cancel) -> Result<PreparedGenerate> {
        let mut prepared = self.planned()?;
        if !settle::may_be_dropped(&prepared.schema) {
            return Ok(prepared);
        }
        let (seed, all) = (prepared.seed, prepared.all.clone());
        let unkept = settle::settle(&prepared.schema, &mut prepared.spec, (seed, &all), cancel)?;
        if unkept.is_empty() || prepared.plan.existing.is_some() {
            return Ok(prepared);
        }
        // Plan again without the dropped constraints, but keep the values that were chosen.
        let moved = std::mem::take(&mut prepared.spec.tables);
        let schema = prepared.schema;
        let (text, removed) = settle::without(&schema, &unkept);
        let mut generate = prepared.generate;
        generate.schema = Schema::parse(text, &schema.file)?;
        let mut prepared = generate.planned()?;
        prepared.spec.tables = moved;
        for one in removed {
            let table = &schema.tables[one.table];
            let constraint = one.constraint.in_words(table);
            let why = match unkept.contains(&one) {
                true => "no rows were found that satisfy it",
                false => "the key that it refers to is left out",
            };
            let note = format!("{} is made without {constraint}: {why}", table.name);
            prepared.plan.notes.push(Message::from(note));
            prepared.dropped.push(DroppedConstraint::new(&table.name, constraint));
        }
        Ok(prepared)
    }

    /// Parses the comments of the schema and plans the run.
    fn planned(mut self) -> Result<PreparedGenerate> {
        let target = self.target.as_deref().map(|target| Target::resolve(target, &self.write));
        let existing = attempts::look(target.as_ref(), &self.write)?;
        let empty = self.add_full_text();
        let extent = &self.extent;
        let schema = &self.schema;
        let spec = Spec::new(schema)?;
        if schema.tables.is_empty() {
            return Err(Error::input("the schema declares no table").at(Place::file(&schema.file)));
        }
        let named = self.rows.iter().filter_map(|(name, _)| name.as_ref());
        for name in named.chain(extent.per_parent.iter().map(|(name, _)| name)) {
            if schema.table(name).is_none() {
                let why = empty.iter().find(|(table, _)| table.eq_ignore_ascii_case(name));
                return Err(why.map_or_else(|| unknown_table(schema, name), |(_, why)| Error::usage(why)));
            }
        }
        let mut notes: Vec<String> = empty.into_iter().map(|(_, why)| why).collect();
        notes.extend(spec.notes.iter().cloned());
        let total = self.all_rows(extent, &spec, &mut notes)?;
        let shares = total.iter().map(|&rows| share_of(rows, extent.share)).collect::<Result<Vec<_>>>()?;
        let rows: Vec<u64> = shares.iter().map(|(_, rows)| *rows).collect();
        if extent.share.is_some() {
            refuse_full_text(schema, &total)?;
        }
        let (schema, mut plan) = self.plan(target.as_ref(), existing.as_ref())?;
        plan.notes.extend(notes.into_iter().map(Message::from));
        if existing.is_none() {
            OverOthers::of(&schema)?.add_to(&mut plan);
        }
        let mut first_rows = Vec::new();
        let mut bytes = 0;
        for (index, (declared, table)) in schema.tables.iter().zip(&spec.tables).enumerate() {
            first_rows.push(match &existing {
                Some(existing) => self.choose((index, declared), existing, &mut plan, table, rows[index])?,
                None => shares[index].0,
            });
            self.sort_unless_counted((index, declared), &mut plan, table)?;
            let (plan, rows) = (&mut plan.tables[index], rows[index]);
            plan.rows = Some(rows);
            plan.sources = vec![format!("the generator, seed {}", self.seed)];
            let entries: u64 = declared.indexes.iter().map(|index| table.entry_bytes(declared, index)).sum();
            bytes += (table.row_bytes() + entries).saturating_mul(rows);
        }
        plan.estimated_bytes = Some(bytes);
        if existing.is_none()
            && self.write.foreign_keys.is_none()
            && self.write.on_conflict == OnConflict::Abort
        {
            let known = parents::are_there(&schema, &spec, &rows);
            plan.tables.iter_mut().zip(known).for_each(|(plan, known)| plan.parents_known = known);
        }
        let all: Vec<u64> = match extent.share {
            Some(_) => total,
            None => first_rows.iter().zip(&rows).map(|(first, rows)| first.saturating_add(*rows)).collect(),
        };
        for table in &spec.tables {
            table.refuse_more_rows(self.seed, &all)?;
        }
        attempts::note_destination(&schema, &mut plan);
        let seed = self.seed;
        Ok(PreparedGenerate {
            generate: self,
            plan,
            first_rows,
            all,
            schema,
            spec,
            rows,
            seed,
            dropped: Vec::new(),
        })
    }

    /// Adds the full-text tables that the schema describes to the tables to fill. Returns the other virtual tables, which get no rows,
    /// each with a note.
    fn add_full_text(&mut self) -> Vec<(String, String)> {
        let mut described = described_tables(&self.schema);
        described.extend(self.rows.iter().filter_map(|(name, _)| Some(name.as_ref()?.to_ascii_lowercase())));
        let is_described = |name: &str| described.contains(&name.to_ascii_lowercase());
        full_text::add_generated(&mut self.schema, is_described);
        full_text::notes(&self.schema, is_described)
    }

    /// Returns the schema of the written tables, and the plan.
    fn plan(&self, target: Option<&Target>, existing: Option<&TargetSnapshot>) -> Result<(Schema, Plan)> {
        let mut schema = self.schema.clone();
        if let Some(existing) = existing {
            if let IfExists::Upsert(_) = self.write.if_exists {
                return Err(Error::usage("generated rows can't be upserted").hint(message![
                    Setting::Append,
                    " or ",
                    Setting::ReplaceTable
                ]));
            }
            let hint = message![Setting::Append, " adds to its rows"];
            schema = existing.combine_all(schema, &self.write.if_exists, &hint)?;
        }
        let plan = Plan::of(&schema, target, existing, &self.write)?;
        Ok((schema, plan))
    }

    /// Chooses the write path of a table by its row count. Returns the number of the first row to generate.
    fn choose(
        &self,
        (index, declared): (usize, &Table),
        existing: &TargetSnapshot,
        plan: &mut Plan,
        table: &TableSpec,
        rows: u64,
    ) -> Result<u64> {
        let last = existing.about(&declared.name).filter(|_| plan.tables[index].action == Action::Append);
        let first_row = last.and_then(|about| u64::try_from(about.largest_rowid?).ok()).unwrap_or(0);
        let with_rowids = table.rowids().is_some();
        let arriving = ExpectedRows {
            about: Some(rows),
            with_rowids,
            ascending: table.counts_rows(),
            first_rowid: i64::try_from(first_row)
                .ok()
                .filter(|_| with_rowids)
                .map(|row| row.saturating_add(1)),
            ..ExpectedRows::default()
        };
        plan.choose((index, declared), existing, arriving, &self.write)?;
        Ok(first_row)
    }

    /// Plans a sort of the rows of a table by rowid, unless the rowid is the number of the row, which ascends anyway, or SQLite inserts the
    /// rows.
    fn sort_unless_counted(
        &self,
        (index, declared): (usize, &Table),
        plan: &mut Plan,
        table: &TableSpec,
    ) -> Result<()> {
        match table.rowids() {
            Some(column) if !table.counts_rows() && plan.tables[index].write_path != WritePath::Insert => {
                let why = format!("rows are not in the order of {}", column.name);
                plan.sort_rows((index, declared), column.is_nullable(), &why, &self.write)
            }
            _ => Ok(()),
        }
    }

    /// Returns the row count of a table, if given.
    fn given_rows(&self, table: &str) -> Option<u64> {
        let named =
            |name: &Option<String>| name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(table));
        let last = |which: &dyn Fn(&Option<String>) -> bool| self.rows.iter().rfind(|(name, _)| which(name));
        last(&named).or_else(|| last(&Option::is_none)).map(|(_, rows)| *rows)
    }

    /// Returns the row count of each table. A count that is not given is the scaled count in the comments of the schema or, without one or
    /// with a factor in `extent`, follows from the row count of the table's parent. It is reduced if a key has fewer values.
    fn all_rows(&self, extent: &Extent, spec: &Spec, notes: &mut Vec<String>) -> Result<Vec<u64>> {
        let tables = &self.schema.tables;
        let factor = |table: &Table| {
            let said = extent.per_parent.iter().rfind(|(name, _)| name.eq_ignore_ascii_case(&table.name));
            said.map(|(_, factor)| *factor)
        };
        let mut rows: Vec<Option<u64>> = tables
            .iter()
            .map(|table| if factor(table).is_some() { None } else { self.given_rows(&table.name) })
            .collect();
        let given = rows.clone();
        let scale = extent.scale.unwrap_or(1.0);
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::usage(message![Setting::RowsScale, " is a number above 0"]));
        }
        for (index, stated) in stated_rows(&self.schema).into_iter().enumerate() {
            if rows[index].is_none() && factor(&tables[index]).is_none() {
                rows[index] = stated.map(|stated| (stated as f64 * scale).round() as u64);
            }
        }
        // Repeat, because a parent may be declared after its children.
        for _ in 0..tables.len() {
            for (index, table) in tables.iter().enumerate() {
                let parent = self.parent(table);
                if let (None, Some(parent)) = (rows[index], parent)
                    && let Some(parents) = rows[parent]
                {
                    let each = factor(table).unwrap_or(PER_PARENT);
                    rows[index] = Some((parents as f64 * each).round() as u64);
                    notes
                        .push(format!("{} gets {each} rows for each of {}", table.name, tables[parent].name));
                }
            }
        }
        let unknown = tables.iter().zip(&rows).find(|(_, rows)| rows.is_none());
        if let Some((Table { name, .. }, _)) = unknown {
            let factor = tables.iter().any(|table| table.name == *name && factor(table).is_some());
            return Err(Error::usage(format!("the row count of {name} is missing")).hint(if factor {
                message![
                    format!("the factor of {name} needs a FOREIGN KEY to a table whose row count is known; or give a row count: "),
                    Setting::Rows.to(format!("{name}=1M"))
                ]
            } else {
                message![
                    Setting::Rows.to(format!("{name}=1M")),
                    ", or ",
                    Setting::Rows.to("1M"),
                    " for every table"
                ]
            }));
        }
        let mut rows: Vec<u64> = rows.into_iter().flatten().collect();
        for (index, table) in spec.tables.iter().enumerate().filter(|(index, _)| given[*index].is_none()) {
            // A key may have fewer different values than rows: reduce the row count to this number.
            if rows[index] > 0
                && let Some(most) = table.rows_max(self.seed, &rows)?
                && most < rows[index]
            {
                if stated_rows(&self.schema)[index].is_some() {
                    notes.push(format!("{} gets {most} rows: a column has values for no more", table.name));
                }
                rows[index] = most;
            }
        }
        Ok(rows)
    }

    /// Returns the parent of a table: the first other table that a FOREIGN KEY of the table names; `None` without one.
    fn parent(&self, table: &Table) -> Option<usize> {
        let parent = |name: &str| {
            let is = |other: &Table| other.name.eq_ignore_ascii_case(name) && other.name != table.name;
            self.schema.tables.iter().position(is)
        };
        table.references.iter().find_map(|reference| parent(&reference.parent))
    }
}

/// Returns the first row and the number of rows of a share.
fn share_of(rows: u64, share: Option<(u64, u64)>) -> Result<(u64, u64)> {
    let Some((share, shares)) = share else { return Ok((0, rows)) };
    if share == 0 || share > shares {
        return Err(Error::usage(format!("part {share} of {shares} does not exist")).hint(message![
            "parts count from 1: ",
            Setting::Part.to("1/4"),
            " to ",
            Setting::Part.to("4/4")
        ]));
    }
    let end = |share: u64| (u128::from(rows) * u128::from(share) / u128::from(shares)) as u64;
    Ok((end(share - 1), end(share) - end(share - 1)))
}

/// Refuses full-text tables with rows in a share: rows of different shares would get the same rowids.
fn refuse_full_text(schema: &Schema, total: &[u64]) -> Result<()> {
    let mut filled = schema.tables.iter().zip(total).filter(|(table, rows)| table.is_virtual && **rows > 0);
    let Some((Table { name, .. }, _)) = filled.next() else { return Ok(()) };
    Err(Error::usage(format!(
        "full-text table {name} can't be divided into parts, because its rowids begin at 1 in each part"
    ))
    .hint(message![Setting::Rows.to(format!("{name}=0")), " leaves it empty"]))
}

impl PreparedGenerate {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the specification of each column's values.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the first rows of each table, at most `rows` each.
    fn preview(&self, rows: u64) -> Result<Vec<Preview>> {
        let counts: Vec<u64> = self.rows.iter().map(|all| rows.min(*all)).collect();
        preview::preview(&self.generate.schema, &self.spec, self.seed, &self.all, &self.first_rows, &counts)
    }

    /// Generates the rows. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If two rows have the same unique key, a value can't be stored, or the database can't be written. The database is then absent, or
    /// unchanged.
    pub fn run(self, context: &Context<'_>) -> Result<Report> {
        let mut prepared = self;
        attempts::run(
            &mut prepared,
            |prepared| Outcome::of(prepared.attempt(context)),
            |prepared, refuted| {
                refuted.by_schema()?;
                *prepared = prepared.generate.clone().understand(&context.cancel)?;
                Ok(())
            },
        )
    }

    /// Executes the plan, if the schema of the database is still the same.
    fn attempt(&self, context: &Context<'_>) -> Result<Report> {
        context.progress.phase("generate", Some(Amount { rows: self.rows.iter().sum(), bytes: 0 }));
        let rows = self.first_rows.iter().zip(&self.rows);
        let tables = self.schema.tables.iter().zip(&self.spec.tables).zip(rows);
        let jobs = tables.map(|((table, spec), (&first, &rows))| {
            let source = Box::new(spec.source_among(self.seed, &self.all, first, rows)?);
            Ok(Job { table, coercion: Coercion::All, source })
        });
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        let report = attempts::write(&self.plan, &self.schema, jobs, None, "generate", &context.child());
        let mut report = report.map_err(with_rows)?;
        report.dropped.clone_from(&self.dropped);
        Ok(report)
    }
}

/// Adds the numbers of both rows to an error about two rows with the same key.
fn with_rows(mut error: Error) -> Error {
    let Some(duplicate) = error.take_duplicate() else { return error };
    error
        .with_words(format!(" ({})", duplicate.rows))
        .hint("for unique keys, row(), permutation(a, b) and distinct(x) never repeat a value")
}

/// Returns the error for a table that the schema does not have. The place of the error is the first table of the schema.
fn unknown_table(schema: &Schema, name: &str) -> Error {
    let names: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
    Error::usage(format!("the schema has no table {name}, only: {}", names.join(", ")))
        .at(schema.place_of_table(names[0]))
        .hint(message![
            Setting::Rows.to("TABLE=N"),
            " names a table of the schema; ",
            Setting::Rows.to("N"),
            " means every table"
        ])
}
