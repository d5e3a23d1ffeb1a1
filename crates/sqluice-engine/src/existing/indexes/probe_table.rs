//! A probe: an in-memory table with the declaration of a real table and a single row. Queries of the probe show how SQLite treats the real
//! table.
//!
//! SQLite parses the SQL: a CREATE INDEX is run on the probe first, and its declaration is read back. SQLite also determines the index
//! entry of a row that is older than an ALTER TABLE ADD COLUMN, so that its record ends before the column. The row of the probe ends before
//! all columns.
//!
//! ```text
//!  CREATE TABLE base (x)  ──>  | NULL |                its only record
//!  sqlite_schema: base becomes CREATE TABLE t (a, b DEFAULT 5, c REAL DEFAULT 7)
//!  CREATE INDEX ON t (c)  ──>  | 7 | rowid |           SQLite's entry for a missing value
//! ```

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use sqluice_format::check::ReadPage;
use sqluice_format::page::{Geometry, PageSize};
use sqluice_format::scan::{Kind, Reader, Scan, Tree};

use sqluice_core::schema::{Table, quoted};

/// An in-memory database with one table, which is declared as a table of the target.
pub(crate) struct ProbeTable {
    connection: Connection,
}

impl ProbeTable {
    /// Declares `table` in memory. The table must have no indexes, not even the indexes of constraints.
    pub(crate) fn of(table: &Table) -> rusqlite::Result<ProbeTable> {
        let connection = Connection::open_in_memory()?;
        let base = if table.without_rowid { "x PRIMARY KEY) WITHOUT ROWID" } else { "x)" };
        connection.execute_batch(&format!(
            "PRAGMA foreign_keys = off; CREATE TABLE \"sqluice base\" ({base};
             INSERT INTO \"sqluice base\" VALUES ({}); PRAGMA writable_schema = on",
            if table.without_rowid { "1" } else { "NULL" }
        ))?;
        connection.execute(
            "UPDATE sqlite_schema SET name = ?1, tbl_name = ?1, sql = ?2 WHERE name = 'sqluice base'",
            (&table.name, &table.sql),
        )?;
        connection.execute_batch("PRAGMA writable_schema = reset")?;
        // The query makes SQLite read the schema, which fails if SQLite can't parse the declaration.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(ProbeTable { connection })
    }

    /// Runs a CREATE INDEX statement. Other effects are denied.
    pub(crate) fn declare(&mut self, sql: &str) -> rusqlite::Result<()> {
        self.connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
            AuthAction::CreateTable { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropIndex { .. }
            | AuthAction::AlterTable { .. }
            | AuthAction::Attach { .. }
            | AuthAction::Pragma { .. }
            | AuthAction::Transaction { .. } => Authorization::Deny,
            _ => Authorization::Allow,
        }))?;
        let declared = self.connection.execute_batch(sql);
        self.connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        declared
    }

    /// Returns the connection to the in-memory database.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the index entry that SQLite makes for a row whose record ends before `column`: a row that is older than the column. The
    /// entry begins with the value that the column has in this row.
    pub(crate) fn missing(&mut self, table: &Table, column: usize) -> rusqlite::Result<Vec<u8>> {
        let (table, column) = (quoted(&table.name), quoted(&table.columns[column].name));
        let name = "\"sqluice missing\"";
        self.connection
            .execute_batch(&format!("CREATE INDEX {name} ON {table} ({column} COLLATE BINARY)"))?;
        let record = self.only_entry("sqluice missing");
        self.connection.execute_batch(&format!("DROP INDEX {name}"))?;
        record
    }

    /// Returns the record of the only entry of an index.
    fn only_entry(&mut self, index: &str) -> rusqlite::Result<Vec<u8>> {
        let connection = &mut self.connection;
        let bytes = connection.serialize("main")?.to_vec();
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u32>(0));
        let root_page =
            connection
                .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [index], |row| row.get(0))?;
        let geometry = PageSize::new(number("PRAGMA page_size")?).and_then(|size| Geometry::new(size, 0));
        let geometry = geometry.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let tree = Tree { root_page, kind: Kind::Index, geometry, page_count: number("PRAGMA page_count")? };
        let mut pages = Serialized(&bytes);
        let scan = Scan::new(&mut pages, tree).map_err(|_| rusqlite::Error::QueryReturnedNoRows)?;
        let mut entry = Vec::new();
        for part in 0..scan.parts() {
            let each = |_, record: &[u8]| {
                entry = record.to_vec();
                Ok(())
            };
            scan.read(part, &mut pages, &mut Reader::default(), each)
                .map_err(|_| rusqlite::Error::QueryReturnedNoRows)?;
        }
        Ok(entry)
    }
}

/// The pages of a database that SQLite has serialized to bytes, for reading.
struct Serialized<'d>(&'d [u8]);

impl ReadPage for Serialized<'_> {
    type Error = rusqlite::Error;

    fn read_page(&mut self, number: u32, into: &mut [u8]) -> rusqlite::Result<()> {
        let mut pages = self.0.chunks_exact(into.len());
        let page = number.checked_sub(1).and_then(|index| pages.nth(index as usize));
        into.copy_from_slice(page.ok_or(rusqlite::Error::QueryReturnedNoRows)?);
        Ok(())
    }
}
