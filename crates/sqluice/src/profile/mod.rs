//! `profile`: describes the data of a database, without its rows, as a schema file for people and for the generator.
//!
//! ```no_run
//! use sqluice::profile::Profile;
//!
//! let report = Profile::new("shop.db").run()?;
//! std::fs::write("shop.sql", &report.text)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//!  snapshot ── tables, one by one ──> scan: all rows, all cores ──> TableFacts: sketches, a sample
//!                                                                        │
//!        schema file <── statements <── an expression per column <── keys, describe, relations
//! ```
//!
//! The tables are read one after another, parents before children. Each table is scanned once, and described before the next one is
//! scanned, so only one table's sketches and samples (one for each thread) are in memory. The result depends only on the database, not on
//! threads.
//!
//! Invariant: a value of the database is in the text only if its column has few different values and does not look personal, and the value
//! occurs in at least `keep_common` rows; or if the value is in the schema. Common keys of JSON objects are shown,
//! too. The quantiles in the text are not values of the database. For integer keys without gaps, or with equal gaps, the text reveals the
//! first and the last key.
//!
//! Modules, from the bottom up: `options`: the options and the report; `sketch`, `skew`, `sample`, `scan`: what is counted and sampled in a
//! table; `numbers`, `texts`, `json`, `parents`, `lineage`: expressions; `describe`, `keys`, `relations`: columns; `statements`,
//! `schema_file`: the text.

mod describe;
mod json;
mod keys;
mod lineage;
mod numbers;
mod options;
mod parents;
mod relations;
mod sample;
mod scan;
mod schema_file;
mod sketch;
mod skew;
mod statements;
mod texts;

use std::sync::Arc;
use std::time::Instant;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::schema::{Object, Reference, Schema, Table, parents_first, quoted};
use sqluice_core::similar;
use sqluice_reader::Snapshot;
use sqluice_reader::connection::unreadable;
use sqluice_reader::rows::{Rows, Selection};

pub use options::{KeptValues, PersonalColumn, Profile, ProfileReport, ProfiledTable};
pub use sqluice_reader::snapshot::ReadOptions;

use crate::full_text;
use crate::remote;
use crate::schema_text::{Names, stripped_table};
use describe::{Described, Made, Rules};
use keys::{Keys, World};
use lineage::Lineage;
use scan::{TableFacts, Wanted};
use schema_file::{SchemaFile, Texts};
pub(crate) use sketch::hash_bytes;

impl Profile {
    /// Reads and describes the database without progress reports.
    ///
    /// # Errors
    /// As [`Profile::run_with`].
    pub fn run(&self) -> Result<ProfileReport> {
        self.run_with(&Context::default())
    }

    /// Reads and describes the database. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If the number of threads is 0, the database can't be read, or a named table does not exist.
    pub fn run_with(&self, context: &Context<'_>) -> Result<ProfileReport> {
        let started = Instant::now();
        if self.threads == Some(0) {
            return Err(Error::usage(message![Setting::Threads, " must be at least 1"]));
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.unwrap_or_else(cores);
        let folder = std::env::temp_dir();
        let snapshot = Arc::new(remote::snapshot(&self.source, &folder, &self.read, context)?);
        let mut schema = snapshot.schema()?;
        full_text::add_tables(&mut schema, |name| self.has(name));
        self.refuse_unknown(&snapshot, &schema)?;
        let names = Names::of(&schema, &snapshot.connection());
        if self.strip_literals {
            // Keep the literals of a virtual table: they are options of its module, without which the table can't be created.
            for table in schema.tables.iter_mut().filter(|table| !table.is_virtual) {
                table.sql = stripped_table(&table.sql, &names, |_, _| true);
            }
        }
        let texts = Texts { names: &names, strips: self.strip_literals };
        let mut file =
            SchemaFile::new(&snapshot, &schema, (|name: &str| self.has(name), texts), &context.cancel)?;
        let mut rows: Vec<Option<u64>> = vec![None; schema.tables.len()];
        for index in parents_first(&schema.tables.iter().collect::<Vec<_>>()) {
            let table = &schema.tables[index];
            if self.has(&table.name) && file.has(&table.name) {
                let mut facts = read(&snapshot, &schema, table, threads, context)?;
                facts.lineages = lineages(&snapshot, table, facts.rows)?;
                rows[index] = Some(facts.rows);
                self.count_parents(&snapshot, &schema, table, &mut rows)?;
                self.describe(World { schema: &schema, rows: &rows }, table, &facts, &mut file);
            }
        }
        context.progress.phase("describe", None);
        let (text, notes) = file.finish(self.rules().common)?;
        let tables = schema.tables.iter().zip(&rows).filter_map(|(table, rows)| {
            let (name, rows) = (table.name.clone(), (*rows)?);
            Some(ProfiledTable { columns: file.described(&name), name, rows })
        });
        let tables: Vec<ProfiledTable> = tables.collect();
        Ok(ProfileReport {
            source: snapshot.name().to_owned(),
            text,
            rows: tables.iter().map(|table| table.rows).sum(),
            tables,
            kept: file.kept.clone(),
            personal: file.personal.clone(),
            literals: file.literals(),
            notes,
            bytes: snapshot.bytes(),
            threads,
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    fn rules(&self) -> Rules {
        Rules { common: (!self.no_values).then_some(self.keep_common.max(2)) }
    }

    /// Returns `true` if a table or view is described.
    fn has(&self, name: &str) -> bool {
        let among = |list: &[String]| list.iter().any(|listed| listed.eq_ignore_ascii_case(name));
        (self.tables.is_empty() || among(&self.tables)) && !among(&self.exclude_tables)
    }

    fn refuse_unknown(&self, snapshot: &Snapshot, schema: &Schema) -> Result<()> {
        // A full-text table may be among the tables, too.
        let is_relation = |object: &&Object| object.kind != "trigger" && schema.table(&object.name).is_none();
        let relations = schema.others.iter().filter(is_relation).map(|object| &object.name);
        let names: Vec<&str> =
            schema.tables.iter().map(|table| &table.name).chain(relations).map(String::as_str).collect();
        for name in self.tables.iter().chain(&self.exclude_tables) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                let message = format!("{} has no table or view {name}", snapshot.name().display());
                return Err(Error::usage(message).hint(similar::hint(name, names.iter().copied())));
            }
        }
        Ok(())
    }

    /// Counts the rows of parent tables that are read only after their children, because the tables refer to each other.
    fn count_parents(
        &self,
        snapshot: &Snapshot,
        schema: &Schema,
        table: &Table,
        rows: &mut [Option<u64>],
    ) -> Result<()> {
        for reference in &table.references {
            let parent = schema.place(&reference.parent).filter(|parent| rows[*parent].is_none());
            let Some(parent) = parent else { continue };
            if self.has(&schema.tables[parent].name) {
                let sql = format!("SELECT count(*) FROM {}", quoted(&schema.tables[parent].name));
                let count = snapshot.connection().query_row(&sql, [], |row| row.get::<_, i64>(0));
                let count = count.map_err(|error| unreadable(snapshot.name(), error))?;
                rows[parent] = u64::try_from(count).ok();
            }
        }
        Ok(())
    }

    /// Chooses the expressions of a table's columns.
    fn describe(&self, world: World<'_>, table: &Table, facts: &TableFacts, file: &mut SchemaFile<'_>) {
        let read = read_columns(table);
        let stated = file.texts.literals(&table.sql);
        let looked_at =
            Described { table, facts, read: &read, stated: &stated, personal: &[], rules: self.rules() };
        let personal = looked_at.find_personal();
        let described = Described { personal: &personal, ..looked_at };
        let Keys { mut made, .. } = Keys::of(described, world);
        let is_free: Vec<bool> =
            made.iter().zip(&read).map(|(made, read)| made.is_none() && read.is_some()).collect();
        for column in (0..made.len()).filter(|column| is_free[*column]) {
            made[column] = described.plain(column);
        }
        if facts.rows > 0 {
            relations::relate(&described, &mut made, &is_free);
        }
        for (column, made) in made.iter().enumerate() {
            file.note(&table.name, &table.columns[column].name, made.as_ref(), personal[column]);
        }
        let expressions = made.into_iter().map(|made| made.map(|made: Made| made.expression)).collect();
        file.set(&table.name, facts.rows, expressions);
    }
}

/// Returns the position of each column of the table among the read columns, or `None` for columns that SQLite computes.
fn read_columns(table: &Table) -> Vec<Option<usize>> {
    let mut next = 0..;
    table.columns.iter().map(|column| if column.generated.is_none() { next.next() } else { None }).collect()
}

/// Reads the trees of each reference of a table to itself; `None` for other references.
fn lineages(snapshot: &Snapshot, table: &Table, rows: u64) -> Result<Vec<Option<Lineage>>> {
    let of = |reference: &Reference| match reference.parent.eq_ignore_ascii_case(&table.name) {
        true => Lineage::read(snapshot, table, reference, rows),
        false => Ok(None),
    };
    table.references.iter().map(of).collect()
}

/// Reads a table.
fn read(
    snapshot: &Arc<Snapshot>,
    schema: &Schema,
    table: &Table,
    threads: usize,
    context: &Context<'_>,
) -> Result<TableFacts> {
    let read: Vec<usize> =
        (0..table.columns.len()).filter(|column| table.columns[*column].generated.is_none()).collect();
    let names: Vec<String> = read.iter().map(|column| table.columns[*column].name.clone()).collect();
    let rows = Rows::of_table(snapshot, schema, &table.name, &Selection::default().columns(names))?;
    let unique = table.unique_keys();
    let is_unique = |column: &usize| unique.iter().any(|key| key[..] == [*column]);
    let place = |column: &usize| read.binary_search(column).ok();
    let groups =
        keys::counted_groups(table).iter().map(|group| group.iter().filter_map(place).collect()).collect();
    let wanted = Wanted { is_counted: read.iter().map(|column| !is_unique(column)).collect(), groups };
    scan::scan(&rows, &wanted, threads, context)
}
