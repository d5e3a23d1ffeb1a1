//! Rows for a full-text table itself, whose index is built here.
//!
//! ```text
//!  rows ── INSERT ──> a temporary table of the same columns, which gives rowids to rows without one
//!                       ├── INSERT ... SELECT ──> t_content, if the table keeps texts
//!                       └── in the order of rowids ──> the newest segment
//! ```
//!
//! The temporary table has the name of the full-text table, so that SQLite's messages name the table of the user.

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Context;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::source::Source;

use crate::existing::Transaction;
use crate::full_text::declaration::Declaration;
use crate::full_text::table::{Means, TextTable};
use crate::insert::{self, Insert, Inserted, Rejects};

impl Transaction<'_> {
    /// Inserts rows into a full-text table, and adds their terms to its index. The connection has not read the table.
    ///
    /// # Errors
    /// If a row can't be stored, a rowid exists, or the index is damaged.
    pub(crate) fn insert_texts(
        &self,
        table: &Table,
        source: Box<dyn Source + '_>,
        how: Insert,
        rejects: Option<&mut Rejects<'_>>,
        (context, means): (&Context<'_>, &Means<'_>),
    ) -> Result<Inserted> {
        let name = &table.name;
        let declaration = self.declaration(name)?;
        let given = format!("temp.{}", quoted(name));
        let columns = declaration.columns.iter().map(|column| format!(", {}", quoted(&column.name)));
        let columns = columns.collect::<String>();
        self.execute(&format!("CREATE TABLE {given} (rowid INTEGER PRIMARY KEY{columns})"))?;
        let last = declaration.last_rowid(self.connection()).map_err(|error| self.failed(error, "read"))?;
        // SQLite gives a row without a rowid the one after the largest, so the temporary table has the largest while it takes rows.
        if let Some(last) = last {
            self.execute(&format!("INSERT INTO {given} (rowid) VALUES ({last})"))?;
        }
        let how = Insert { into: Some(given.clone()), ..how };
        let inserted = insert::insert(self.connection(), table, source, &how, rejects, context)?;
        if let Some(last) = last {
            self.execute(&format!("DELETE FROM {given} WHERE rowid = {last}"))?;
        }
        self.refuse_repeated(&declaration, &given)?;
        self.store_texts(&declaration, &given)?;
        let text = TextTable::new(self.connection(), &declaration, means.clone())
            .with_errors(|error, what| self.failed(error, what));
        let indexed = declaration.columns.iter().filter(|column| column.is_indexed);
        let indexed: String = indexed.map(|column| format!(", {}", quoted(&column.name))).collect();
        text.append(&format!("SELECT rowid{indexed} FROM {given} ORDER BY rowid"), (i64::MIN, i64::MAX))?;
        self.execute(&format!("DROP TABLE {given}"))?;
        Ok(inserted)
    }

    /// Returns the declaration of a full-text table whose index is built here.
    pub(super) fn declaration(&self, name: &str) -> Result<Declaration> {
        let declaration =
            Declaration::of(self.connection(), name).map_err(|error| self.failed(error, "read"))?;
        declaration
            .map_err(|why| Error::target(format!("full-text table {name} can't get the new rows: {why}")))
    }

    /// Refuses given rows whose rowids exist. FTS5 itself accepts them in a table without texts, and its index is then wrong.
    fn refuse_repeated(&self, declaration: &Declaration, given: &str) -> Result<()> {
        let Some(listed) = declaration.listed_rows() else { return Ok(()) };
        let sql = format!("SELECT min(rowid) FROM {given} WHERE rowid IN (SELECT id FROM {listed})");
        let repeated: Option<i64> = self
            .connection()
            .query_row(&sql, [], |row| row.get(0))
            .map_err(|error| self.failed(error, "read"))?;
        let name = &declaration.name;
        match repeated {
            None => Ok(()),
            Some(rowid) => Err(Error::input(format!("full-text table {name} has a row {rowid} already"))
                .hint(format!(
                    "leave the row out, or delete the old one first: DELETE FROM {} WHERE rowid = {rowid}",
                    quoted(name)
                ))),
        }
    }

    /// Stores the columns that the full-text table keeps.
    fn store_texts(&self, declaration: &Declaration, given: &str) -> Result<()> {
        let kept = declaration.kept_columns(self.connection());
        let kept = kept.map_err(|error| self.failed(error, "read"))?;
        let Some((content, columns)) = kept else { return Ok(()) };
        let columns: String = columns
            .iter()
            .map(|column| format!(", {}", quoted(&declaration.columns[*column].name)))
            .collect();
        let sql = format!("INSERT INTO {content} SELECT rowid{columns} FROM {given} ORDER BY rowid");
        self.execute(&sql)
    }
}
