//! Writes rows as pages in a transaction that the caller has begun on its own connection. The caller also ends the transaction.
//!
//! ```text
//!           time ──>
//!  caller   BEGIN IMMEDIATE         CREATE TABLE, any SQL                                  any SQL, then COMMIT or roll_back
//!  engine                    join                          plan_rows, write_rows, leave
//! ```
//!
//! * The connection keeps its PRAGMAs, temporary objects and attached databases. If one of them is in the way of pages, this is an
//!   obstacle, and the caller inserts the rows.
//! * Between the plan and the end of the write, the caller must not change the database by the connection, and no statement may be open.
//! * A ROLLBACK by SQL leaves a tail behind the last page, as a killed process does. [`OpenTransaction::roll_back`] cuts the tail off, also
//!   afterwards.

use std::ffi::CStr;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, ffi};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_core::schema::Schema;
use sqluice_core::source::Source;

use super::database_file::DatabaseFile;
use super::{DEFAULT_GEOMETRY, Existing, Transaction, geometry, look, sub_journal};
use crate::encode::Coercion;
use crate::options::{IfExists, WriteOptions};
use crate::output::Target;
use crate::phases::Phases;
use crate::plan::{ExpectedRows, Plan};
use crate::trees::Job;
use sqluice_format::page::{Geometry, PageSize};

/// The VFS with which a connection must be opened so that pages can become part of its transactions; `None` if the default VFS is not one
/// of SQLite's built-in VFSes.
pub fn vfs() -> Option<&'static CStr> {
    sub_journal::name()
}

/// The rows that a table will get as pages.
#[derive(Debug)]
pub struct TableRows {
    plan: Plan,
    schema: Schema,
    fields: Vec<Option<usize>>,
}

impl TableRows {
    /// Returns the index of the field with the values of each column of the table; `None` for a column that the rows lack: it is NULL in
    /// all rows, or generated.
    pub fn fields(&self) -> &[Option<usize>] {
        &self.fields
    }
}

/// An open transaction into which the engine has written pages. The caller ends it.
#[derive(Debug)]
#[must_use]
pub struct OpenTransaction {
    file_bytes: u64,
    checkpointed: bool,
    log_tells_size: bool,
}

impl Existing {
    /// Returns the main database of the caller's connection. Returns `None` if the main database is no file, or the connection does not use
    /// [`vfs`].
    ///
    /// # Safety
    /// The connection must stay open while the result lives.
    ///
    /// # Errors
    /// If SQLite can't read the database.
    #[allow(unsafe_code, reason = "the caller keeps the connection")]
    pub unsafe fn of_handle(handle: *mut ffi::sqlite3) -> Result<Option<Existing>> {
        // SAFETY: the caller keeps the connection open. The new value does not close the connection when it is dropped.
        let connection = unsafe { Connection::from_handle(handle) };
        let connection =
            connection.map_err(|error| Error::target("SQLite has no connection").because(error))?;
        let Some(name) = connection.path().filter(|path| !path.is_empty()).map(PathBuf::from) else {
            return Ok(None);
        };
        let Some(file) = DatabaseFile::of_connection(&connection) else { return Ok(None) };
        if !has_vfs(&connection) {
            return Ok(None);
        }
        let cannot_read = |error| Error::read(&name, error);
        let of_file = geometry(&file).map_err(cannot_read)?;
        let mut existing = Existing {
            connection,
            file,
            path: name.clone(),
            name,
            geometry: of_file.unwrap_or(DEFAULT_GEOMETRY),
            encoding: String::new(),
            journal_mode: String::new(),
            // SQLite waits for locks as long as the connection's own timeout says, so the engine does not wait itself.
            busy_timeout: Duration::ZERO,
        };
        let (encoding, mode, page_bytes) = existing.waiting(&Cancel::new(), "read", |connection| {
            let pragma = |name| connection.query_row(&format!("PRAGMA main.{name}"), [], |row| row.get(0));
            let page_bytes: u32 = connection.query_row("PRAGMA main.page_size", [], |row| row.get(0))?;
            Ok((pragma("encoding")?, pragma("journal_mode")?, page_bytes))
        })?;
        (existing.encoding, existing.journal_mode) = (encoding, mode);
        if let (None, Some(page_size)) = (of_file, PageSize::new(page_bytes)) {
            existing.geometry = Geometry::new(page_size, 0).unwrap_or(existing.geometry);
        }
        Ok(Some(existing))
    }

    /// Goes on with the transaction that the caller has begun with BEGIN IMMEDIATE. Cuts off the tail that a killed process may have left.
    ///
    /// # Errors
    /// If the database can't be read or written.
    pub fn join(&mut self, cancel: &Cancel) -> Result<Transaction<'_>> {
        Transaction::begin(self, cancel, true)
    }
}

/// Returns `true` if the main database of a connection uses [`vfs`].
#[allow(unsafe_code, reason = "SQLite returns a pointer")]
fn has_vfs(connection: &Connection) -> bool {
    let mut found: *mut ffi::sqlite3_vfs = std::ptr::null_mut();
    // SAFETY: the connection is open; the operation sets a pointer to a VFS, which lives as long as the process and has a name.
    unsafe {
        let main = c"main".as_ptr();
        let to = (&raw mut found).cast();
        let code = ffi::sqlite3_file_control(connection.handle(), main, ffi::SQLITE_FCNTL_VFS_POINTER, to);
        code == ffi::SQLITE_OK && !found.is_null() && Some(CStr::from_ptr((*found).zName)) == vfs()
    }
}

impl Transaction<'_> {
    /// Returns the reason, as a sentence, why pages can't be written by this connection, or `None` if they can. The reason is one that
    /// [`Transaction::obstacle`] returns, or a setting or a temporary object of the connection. Called before anything is changed.
    ///
    /// # Errors
    /// If a query fails.
    pub fn obstacle_on_connection(&self) -> Result<Option<String>> {
        let number = |sql: &str| self.query::<i64>(sql, "look at");
        let why = match () {
            () if number("PRAGMA temp_store")? == 2 => "its temporary files are in memory",
            () if self.query::<String>("PRAGMA main.locking_mode", "look at")? != "normal" => {
                "it is locked exclusively"
            }
            () if number("SELECT EXISTS (SELECT 1 FROM temp.sqlite_schema)")? != 0 => {
                "the connection has temporary objects, which may hide those of the file"
            }
            () if !self.sees_pages()? => "SQLite does not show its pages",
            () => return self.obstacle(),
        };
        Ok(Some(why.to_owned()))
    }

    /// Plans how the table gets rows with these columns. Returns the reason if SQLite must insert them.
    ///
    /// # Errors
    /// If SQLite can't read the schema.
    pub fn plan_rows(
        &self,
        table: &str,
        columns: &[String],
    ) -> Result<std::result::Result<TableRows, String>> {
        let failed = |error| self.failed(error, "read the schema of");
        let foreign_keys: i64 = self.query("PRAGMA foreign_keys", "look at")?;
        let options = WriteOptions::new().if_exists(IfExists::Append).foreign_keys(Some(foreign_keys != 0));
        let target = Target::resolve(self.existing().name(), &options);
        let is_it = |name: &str| name.eq_ignore_ascii_case(table);
        let snapshot =
            look::read_tables(&target, self.existing(), |table| !table.is_virtual && is_it(&table.name));
        let snapshot = snapshot.map_err(failed)?;
        let Some(declared) = snapshot.schema.tables.first() else {
            return Ok(Err("it is no table with rows of its own".to_owned()));
        };
        let field = |name: &str| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        let fields: Vec<Option<usize>> = declared.columns.iter().map(|column| field(&column.name)).collect();
        let given = fields.iter().flatten().count();
        let left_out = || declared.columns.iter().zip(&fields).filter(|(_, field)| field.is_none());
        let why = match () {
            () if given != columns.len() => "columns have the same name",
            () if !declared.indexes.is_empty() => "it has indexes",
            () if declared.checks => "SQLite checks its rows",
            () if declared.rowid_alias.is_some_and(|alias| fields[alias].is_some()) => {
                "rows may be in any order of their rowids"
            }
            () if left_out().any(|(column, _)| column.default.is_some() || column.not_null) => {
                "the rows leave out a column with a DEFAULT or NOT NULL"
            }
            () => "",
        };
        if !why.is_empty() {
            return Ok(Err(why.to_owned()));
        }
        let mut schema = snapshot.schema.clone();
        schema.others.clear();
        let mut plan = Plan::of(&schema, Some(&target), Some(&snapshot), &options)?;
        let rows = ExpectedRows {
            columns: Some((0..fields.len()).filter(|column| fields[*column].is_some()).collect()),
            ..ExpectedRows::default()
        };
        plan.choose((0, &schema.tables[0]), &snapshot, rows, &options)?;
        let table = &plan.tables[0];
        match table.appends() && table.full_text.is_empty() {
            true => {
                plan.others.clear();
                Ok(Ok(TableRows { plan, schema, fields }))
            }
            false => Ok(Err(table.why.clone())),
        }
    }

    /// Writes rows as pages, which are then part of this transaction. The source gives a column for each column of the table.
    ///
    /// # Errors
    /// If a row can't be stored, or the disk can't be written. Then the transaction can only be rolled back.
    pub fn write_rows<'s>(&mut self, rows: &TableRows, source: Box<dyn Source + 's>) -> Result<()> {
        let TableRows { plan, schema, .. } = rows;
        let table = &schema.tables[0];
        self.refuse_damaged(&[&table.name])?;
        let mut phases = Phases::new(&Silent, "write");
        let job = Job { table, coercion: Coercion::All, source };
        self.write_unobstructed(plan, schema, vec![job], None, &mut phases).map(drop)
    }

    /// Leaves the open transaction to the caller.
    pub fn leave(mut self) -> OpenTransaction {
        let (file_bytes, checkpointed, log_tells_size) = self.abandon();
        OpenTransaction { file_bytes, checkpointed, log_tells_size }
    }
}

impl OpenTransaction {
    /// Rolls back, and cuts off the pages behind the last page. SQLite may have rolled back before.
    pub fn roll_back(self, existing: &mut Existing) {
        let OpenTransaction { file_bytes, checkpointed, log_tells_size } = self;
        drop(Transaction::resume(existing, (file_bytes, checkpointed, log_tells_size)));
    }
}
