//! The dump of a database: SQL statements that create it again, like `.dump` of the program `sqlite3`, but with the rowids, and with the
//! page size, text encoding, auto_vacuum, user_version and application_id.
//!
//! ```text
//!  PRAGMA page_size, encoding, auto_vacuum; PRAGMA foreign_keys=OFF; BEGIN TRANSACTION; PRAGMA user_version, application_id
//!  CREATE TABLE ...; INSERT INTO ...; CREATE INDEX ...; CREATE VIEW ...; CREATE TRIGGER ...     all objects in the order of sqlite_schema,
//!                                                                                               each table with its rows
//!  DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence ...; UPDATE sqlite_schema ...; COMMIT
//! ```
//!
//! Objects keep the order of `sqlite_schema`. The rows of a table are inserted before its triggers exist, so none fires. The program
//! `sqlite3` reads the file line by line, and other programs run it as one text: both get the same database.
//!
//! * A virtual table is written as a row of `sqlite_schema`, which needs `PRAGMA writable_schema`. Its content is in its shadow tables,
//!   which are written as tables.
//! * SQLite creates `sqlite_sequence` and `sqlite_stat1` itself, when a statement first needs them. The rows of `sqlite_sequence` are
//!   written last.
//! * Some statements would be stored with another text: a program that reads lines changes them, or SQLite stores other comments. Their
//!   text is corrected in `sqlite_schema` at the end ([`text`]).
//! * Rows that break a CHECK are kept: CHECKs are off while the dump runs.

mod text;

use std::collections::HashSet;
use std::sync::Arc;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Schema, Table, quoted, quoted_text};
use sqluice_core::similar;
use sqluice_format::database::Header;
use sqluice_reader::{Snapshot, StoredObject};
use sqluice_writers::sql::StatementLimits;

use crate::copy::owner;
use crate::inserts::{Inserts, is_internal};
use text::{literal, readable};

/// The limits of INSERT statements. SQLite allows a billion bytes.
pub(super) const STATEMENT_LIMITS: StatementLimits = StatementLimits {
    several_rows_bytes_max: 64 << 10,
    one_row_bytes_max: 1_000_000_000,
    hint: "SQLite can't run a longer statement: copy the database instead, or dump only the tables without such rows",
};

/// The text encodings, in the order of their numbers in the header (1, 2, 3).
const ENCODINGS: [&str; 3] = ["UTF-8", "UTF-16le", "UTF-16be"];

/// The table in which AUTOINCREMENT tables have their largest rowids.
const SEQUENCE: &str = "sqlite_sequence";

/// A dump of a database or of some of its tables.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    pub(super) steps: Vec<Step>,
    /// Notes about differences between the database and the one that the dump will create.
    pub(super) notes: Vec<String>,
}

/// A part of a dump.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Statements, with the ends of their lines.
    Statements(String),
    /// The rows of a table.
    Rows(Inserts),
}

impl Dump {
    /// Plans the dump of a database, or of the tables and views that `tables` names, with their indexes and triggers.
    ///
    /// # Errors
    /// If a table does not exist or can't be read, or a name has CR LF.
    pub(super) fn new(snapshot: &Arc<Snapshot>, tables: &[String], cancel: &Cancel) -> Result<Dump> {
        let schema = snapshot.schema_with_all_tables()?;
        let objects = snapshot.objects(cancel)?;
        let kept = kept(snapshot, tables, &objects)?;
        refuse_names(&kept)?;
        let mut builder = Builder {
            snapshot,
            schema: &schema,
            named: (!tables.is_empty()).then(|| names_of_tables(&kept)),
            dump: Dump { steps: Vec::new(), notes: Vec::new() },
            made: HashSet::new(),
            corrections: Vec::new(),
            writes_schema: false,
        };
        builder.write(&kept, &objects)?;
        Ok(builder.dump)
    }

    /// Returns the tables that have rows of their own, without SQLite's tables.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Inserts> {
        self.steps.iter().filter_map(|step| match step {
            Step::Rows(inserts) if !is_internal(inserts.rows.name()) => Some(inserts),
            _ => None,
        })
    }
}

/// Returns the objects that are dumped: all, or those of the named tables and views.
fn kept<'o>(
    snapshot: &Snapshot,
    tables: &[String],
    objects: &'o [StoredObject],
) -> Result<Vec<&'o StoredObject>> {
    if tables.is_empty() {
        return Ok(objects.iter().collect());
    }
    let is_relation =
        |object: &&StoredObject| matches!(&*object.kind, "table" | "view") && !is_internal(&object.name);
    let names: Vec<&str> = objects.iter().filter(is_relation).map(|object| &*object.name).collect();
    for name in tables {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let message = format!("{} has no table or view {name}", snapshot.name().display());
            return Err(Error::usage(message).hint(similar::hint(name, names.iter().copied())));
        }
    }
    let shadows = snapshot.shadow_tables()?;
    let is_named = |name: &str| tables.iter().any(|table| table.eq_ignore_ascii_case(name));
    let is_kept =
        |object: &&StoredObject| is_named(&object.table) || is_named(owner(&object.table, &shadows, objects));
    let of_tables: Vec<&StoredObject> = objects.iter().filter(is_kept).collect();
    let has_table = of_tables.iter().any(|object| object.kind == "table");
    let has_sequence = of_tables.iter().any(|object| object.kind == "table" && autoincrements(object));
    let is_wanted = |object: &&StoredObject| match &*object.name {
        SEQUENCE => has_sequence,
        name if name.starts_with("sqlite_stat") => has_table,
        _ => is_kept(object),
    };
    Ok(objects.iter().filter(is_wanted).collect())
}

/// Refuses names that a program which reads lines would change.
fn refuse_names(kept: &[&StoredObject]) -> Result<()> {
    match kept.iter().find(|object| object.name.contains("\r\n")) {
        Some(object) => {
            let name = object.name.escape_debug();
            let message = format!("the name of {} {name} has CR LF, which sqlite3 reads as LF", object.kind);
            Err(Error::input(message).hint("give it another name, or copy the database"))
        }
        None => Ok(()),
    }
}

/// Returns `true` if a table is declared AUTOINCREMENT. A name can't be this word without quotes.
fn autoincrements(table: &StoredObject) -> bool {
    let sql = table.sql.as_deref().unwrap_or_default();
    sqluice_core::schema::token::tokens(sql).iter().any(|token| token.is_word(sql, "AUTOINCREMENT"))
}

/// Returns the names of tables in lower case, as an SQL list: `'a','b'`.
fn names_of_tables(kept: &[&StoredObject]) -> String {
    let tables = kept.iter().filter(|object| object.kind == "table" && !is_internal(&object.name));
    tables.map(|table| quoted_text(&table.name.to_ascii_lowercase())).collect::<Vec<_>>().join(", ")
}

/// The state of planning a dump.
struct Builder<'b> {
    snapshot: &'b Arc<Snapshot>,
    schema: &'b Schema,
    /// The names of the dumped tables as an SQL list; `None` if all tables are dumped.
    named: Option<String>,
    dump: Dump,
    /// The tables that the statements so far have created, in lower case.
    made: HashSet<String>,
    /// The statements that correct `sqlite_schema`.
    corrections: Vec<String>,
    /// `true` if `PRAGMA writable_schema` is on.
    writes_schema: bool,
}

impl Builder<'_> {
    fn write(&mut self, kept: &[&StoredObject], all: &[StoredObject]) -> Result<()> {
        let checks = self.schema.tables.iter().any(|table| table.checks);
        self.begin(self.snapshot.header(), checks);
        let mut sequence = None;
        for object in kept {
            match &*object.kind {
                "table" if object.name == SEQUENCE => {
                    self.make_sequence(all);
                    sequence = Some(object);
                }
                "table" => self.table(object)?,
                _ => self.other(object),
            }
        }
        if let Some(sequence) = sequence {
            // Remove the rows that SQLite has added while the tables were filled.
            self.statement("DELETE FROM sqlite_sequence;");
            self.rows(sequence, "name")?;
        }
        self.end(checks);
        Ok(())
    }

    fn begin(&mut self, header: &Header, checks: bool) {
        self.statement(&format!("PRAGMA page_size={};", header.geometry.page_bytes()));
        let encoding = ENCODINGS.get(header.used_text_encoding() as usize - 1);
        if let Some(encoding) = encoding.filter(|encoding| **encoding != ENCODINGS[0]) {
            self.statement(&format!("PRAGMA encoding='{encoding}';"));
        }
        match (header.largest_root, header.incremental_vacuum) {
            (0, _) => {}
            (_, 0) => self.statement("PRAGMA auto_vacuum=FULL;"),
            _ => self.statement("PRAGMA auto_vacuum=INCREMENTAL;"),
        }
        self.statement("PRAGMA foreign_keys=OFF;");
        if checks {
            self.statement("PRAGMA ignore_check_constraints=ON;");
        }
        self.statement("BEGIN TRANSACTION;");
        for (name, value) in
            [("user_version", header.user_version), ("application_id", header.application_id)]
        {
            if value != 0 {
                self.statement(&format!("PRAGMA {name}={};", value.cast_signed()));
            }
        }
    }

    fn end(&mut self, checks: bool) {
        let corrections = std::mem::take(&mut self.corrections);
        if !corrections.is_empty() {
            self.write_schema();
        }
        corrections.iter().for_each(|correction| self.statement(correction));
        if self.writes_schema {
            self.statement("PRAGMA writable_schema=RESET;");
        }
        self.statement("COMMIT;");
        if checks {
            self.statement("PRAGMA ignore_check_constraints=OFF;");
        }
    }

    /// Adds a statement on a line of its own.
    fn statement(&mut self, sql: &str) {
        let steps = &mut self.dump.steps;
        match steps.last_mut() {
            Some(Step::Statements(text)) => {
                text.push_str(sql);
                text.push('\n');
            }
            _ => steps.push(Step::Statements(format!("{sql}\n"))),
        }
    }

    /// Turns `PRAGMA writable_schema` on, if it is off: the next statements change `sqlite_schema`, or create tables with names of
    /// SQLite's own tables.
    fn write_schema(&mut self) {
        if !self.writes_schema {
            self.writes_schema = true;
            self.statement("PRAGMA writable_schema=ON; -- needs SQLITE_DBCONFIG_DEFENSIVE to be off");
        }
    }

    /// Adds the statement that creates an object and, if its text would be stored differently, records a correction.
    fn create(&mut self, object: &StoredObject) {
        let Some(sql) = &object.sql else { return };
        let StoredObject { kind, name, .. } = object;
        let statement = readable(sql);
        self.statement(&statement.sql);
        if !statement.is_kept {
            let (sql, name) = (literal(sql), literal(name));
            self.corrections
                .push(format!("UPDATE sqlite_schema SET sql={sql} WHERE type='{kind}' AND name={name};"));
        }
    }

    fn table(&mut self, object: &StoredObject) -> Result<()> {
        self.made.insert(object.name.to_ascii_lowercase());
        match (&object.tree, &*object.name) {
            (None, name) => {
                self.write_schema();
                let (name, sql) = (literal(name), literal(object.sql.as_deref().unwrap_or_default()));
                self.statement(&format!(
                    "INSERT INTO sqlite_schema (type,name,tbl_name,rootpage,sql) VALUES ('table',{name},{name},0,{sql});"
                ));
                return Ok(());
            }
            (_, "sqlite_stat1") => {
                self.statement("ANALYZE sqlite_schema;");
                if !self.made.contains("sqlite_stat4") {
                    // ANALYZE also creates this table in some builds of SQLite. The dumped database does not have it, so it is dropped.
                    self.statement("DROP TABLE IF EXISTS sqlite_stat4;");
                }
            }
            (_, name) => {
                if is_internal(name) {
                    self.write_schema();
                }
                self.create(object);
            }
        }
        self.rows(object, "tbl")
    }

    /// Adds statements that make SQLite create `sqlite_sequence`, unless an AUTOINCREMENT table has done so.
    fn make_sequence(&mut self, all: &[StoredObject]) {
        let is_made =
            |table: &&Table| table.autoincrement && self.made.contains(&table.name.to_ascii_lowercase());
        if self.schema.tables.iter().any(|table| is_made(&table)) {
            return;
        }
        let is_taken = |name: &String| all.iter().any(|object| object.name.eq_ignore_ascii_case(name));
        let names = (0_u64..).map(|number| format!("sequence_{number}"));
        let Some(name) = names.into_iter().find(|name| !is_taken(name)) else { return };
        let name = quoted(&name);
        self.statement(&format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY AUTOINCREMENT);"));
        self.statement(&format!("DROP TABLE {name};"));
    }

    /// Adds the rows of a table. For SQLite's own tables, `column` has the name of the table that a row is about: if only some tables are
    /// dumped, only the rows about them are added.
    fn rows(&mut self, object: &StoredObject, column: &str) -> Result<()> {
        let table = self.schema.table(&object.name);
        let table = table.ok_or_else(|| Error::input(format!("{} can't be read", object.describe())))?;
        let named = self.named.as_ref().filter(|_| is_internal(&object.name));
        let filter = named.map(|names| format!("lower({column}) IN ({names})"));
        let inserts = Inserts::of_table(self.snapshot, self.schema, table, filter)?;
        if inserts.hides_rowid {
            self.dump.notes.push(format!(
                "rows of table {} get new rowids, because its columns have all names of the rowid",
                object.name
            ));
        }
        self.dump.steps.push(Step::Rows(inserts));
        Ok(())
    }

    /// Adds the statement of an index, a view or a trigger.
    fn other(&mut self, object: &StoredObject) {
        // Skip automatic indexes: they have no statement of their own.
        if object.sql.is_none() {
            return;
        }
        self.create(object);
    }
}
