//! The rows of tables, views and queries in one committed state of a database, as a source of batches.
//!
//! ```text
//!  by pages      pages ──> parts of the tree ──> records ──> batches       on all cores, in the order of the table
//!  by SQLite     SQLite ──> blocks of rows ────────────────> batches       one thread steps, in SQLite's order
//! ```
//!
//! SQLite reads views, virtual tables, tables of which a generated column that is not stored is wanted, rows for which a WHERE is true, and
//! queries. All other tables are read by pages.
//!
//! Invariant: every value has the class and bytes that SELECT returns. The sink decides about text that is not valid Unicode; by default,
//! the row is a bad row.
//!
//! Modules, the lowest layer first: `cells`: values of a column; `layout`: the fields of a record; `tree`: tables read page by page;
//! `statement`: rows read by SQLite.

mod cells;
mod layout;
mod statement;
mod tree;

use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;
use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::setters;
use sqluice_core::similar;
use sqluice_core::source::Source;
use sqluice_core::source::chain::Counted;
use sqluice_format::scan::{Kind, Tree};

use crate::connection::unreadable;
use crate::snapshot::Snapshot;
use layout::{From, Layout};
use statement::{Query, StatementSource};
use tree::{TreeRows, TreeSource};

/// The approximate size of a part, which one thread reads, as far as the tree permits.
pub const PART_BYTES: usize = 1 << 20;

/// The columns and rows of a table to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// The columns, in the given order; `None` for all columns that `SELECT *` returns.
    pub columns: Option<Vec<String>>,
    /// A condition in SQL for the rows to read; `None` for all rows.
    pub filter: Option<String>,
    /// The maximum number of rows; `None` for no limit.
    pub limit: Option<u64>,
    /// The share of the table's pages to read: its index, counted from 0, and the number of shares. `None` for all pages.
    pub part: Option<(u32, u32)>,
}

setters! { Selection:
    /// Sets the columns to read; `None` for all columns that `SELECT *` returns.
    columns(columns: impl Into<Option<Vec<String>>>) = columns.into();
    /// Sets a condition in SQL.
    filter(filter: impl Into<Option<String>>) = filter.into();
    /// Sets the maximum number of rows.
    limit(limit: impl Into<Option<u64>>) = limit.into();
    /// Sets the share of the pages.
    part(part: impl Into<Option<(u32, u32)>>) = part.into();
}

/// A column of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowColumn {
    /// The name of the column.
    pub name: String,
    /// The declared type; empty for an expression.
    pub declared_type: String,
    /// The affinity of the declared type.
    pub affinity: Affinity,
}

/// The method of reading rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// Rows are decoded from pages by all threads.
    Pages,
    /// Rows are read by SQLite in one thread.
    Sqlite,
}

/// Readable rows; see the module's description.
#[derive(Clone, Debug)]
pub struct Rows {
    name: String,
    columns: Vec<RowColumn>,
    reading: Reading,
    limit: Option<u64>,
    is_query: bool,
}

#[derive(Clone, Debug)]
enum Reading {
    Pages(Arc<TreeRows>),
    Sqlite(Arc<Query>),
}

impl Rows {
    /// Prepares the rows of a table, a view or a virtual table.
    ///
    /// # Errors
    /// When the table or a named column does not exist, a column is named twice, an empty list of columns is given, SQLite does not accept
    /// the condition, [`Selection::part`] is out of range or combined with a limit or a condition, or the database can't be read.
    pub fn of_table(
        snapshot: &Arc<Snapshot>,
        schema: &Schema,
        name: &str,
        selection: &Selection,
    ) -> Result<Rows> {
        let failed = |error| unreadable(snapshot.name(), error);
        let table = schema.table(name);
        let all = listed_columns(&snapshot.connection(), name).map_err(failed)?;
        if all.is_empty() {
            let names = schema.tables.iter().map(|table| table.name.as_str());
            let error = Error::usage(format!("{} has no table {name}", snapshot.name().display()));
            return Err(error.hint(match schema.tables.is_empty() {
                true => "it has no tables".to_owned(),
                false => similar::hint(name, names),
            }));
        }
        let name = table.map_or(name, |table| table.name.as_str());
        refuse_part(selection)?;
        let (wanted, columns) = wanted_columns(name, table, &all, selection)?;
        if let (Some(table), None) = (table, &selection.filter)
            && let Some(mut rows) = by_pages(snapshot, table, &wanted, &columns).map_err(failed)?
        {
            rows.part = selection.part.unwrap_or((0, 1));
            let reading = Reading::Pages(Arc::new(rows));
            return Ok(Rows {
                name: name.to_owned(),
                columns,
                reading,
                limit: selection.limit,
                is_query: false,
            });
        }
        if selection.part.is_some() {
            return Err(Error::usage(format!("{name} can't be read in parts, because only SQLite can read it"))
                .hint("read it as a whole: only tables whose columns are all stored have parts, not views and virtual tables"));
        }
        let mut sql = String::from("SELECT ");
        for (index, column) in columns.iter().enumerate() {
            sql += if index == 0 { "" } else { ", " };
            sql += &quoted(&column.name);
        }
        sql += &format!(" FROM {}", quoted(name));
        match (&selection.filter, table) {
            (Some(filter), _) => sql += &format!(" WHERE ({filter}\n)"),
            (None, Some(table)) => sql += &in_order_of(table),
            (None, None) => {}
        }
        let what = format!("table {name}");
        prepare(&snapshot.connection(), &sql)?;
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let limit = selection.limit;
        let query = Query { snapshot: Arc::clone(snapshot), sql, limit, what, columns: names };
        let reading = Reading::Sqlite(Arc::new(query));
        Ok(Rows { name: name.to_owned(), columns, reading, limit, is_query: false })
    }

    /// Prepares the rows of a query.
    ///
    /// # Errors
    /// When SQLite does not accept the query, the statement is not a query, or two of its columns have the same name.
    pub fn of_query(snapshot: &Arc<Snapshot>, sql: &str, limit: Option<u64>) -> Result<Rows> {
        let columns = prepare(&snapshot.connection(), sql)?;
        refuse_repeated(columns.iter().map(|column| column.name.as_str()))?;
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let (sql, what) = (sql.to_owned(), "the query".to_owned());
        let query = Query { snapshot: Arc::clone(snapshot), sql, limit, what, columns: names };
        let (name, reading) = ("query".to_owned(), Reading::Sqlite(Arc::new(query)));
        Ok(Rows { name, columns, reading, limit, is_query: true })
    }

    /// Returns the name of the table, or `query` for a query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the columns of the rows.
    pub fn columns(&self) -> &[RowColumn] {
        &self.columns
    }

    /// Returns `true` if the rows are those of a query.
    pub fn is_query(&self) -> bool {
        self.is_query
    }

    /// Returns the rows with only some of the columns, given by their indexes. Returns `None` if SQLite reads the rows.
    pub fn with_columns(&self, columns: &[usize]) -> Option<Rows> {
        let Reading::Pages(rows) = &self.reading else { return None };
        let rows = TreeRows {
            snapshot: Arc::clone(&rows.snapshot),
            table: rows.table.clone(),
            columns: columns.iter().map(|&column| rows.columns[column].clone()).collect(),
            layout: rows.layout.with_columns(columns),
            ..**rows
        };
        let reading = Reading::Pages(Arc::new(rows));
        let columns = columns.iter().map(|&column| self.columns[column].clone()).collect();
        Some(Rows { name: self.name.clone(), columns, reading, limit: self.limit, is_query: false })
    }

    /// Returns the same rows, but with errors that do not contain the keys of rows.
    #[must_use]
    pub fn with_secret_keys(mut self) -> Rows {
        if let Reading::Pages(rows) = &self.reading {
            let rows = TreeRows {
                snapshot: Arc::clone(&rows.snapshot),
                table: rows.table.clone(),
                columns: rows.columns.clone(),
                layout: rows.layout.with_columns(&Vec::from_iter(0..rows.columns.len())),
                shows_keys: false,
                ..**rows
            };
            self.reading = Reading::Pages(Arc::new(rows));
        }
        self
    }

    /// Returns the method by which the rows are read.
    pub fn read_path(&self) -> ReadPath {
        match self.reading {
            Reading::Pages(_) => ReadPath::Pages,
            Reading::Sqlite(_) => ReadPath::Sqlite,
        }
    }

    /// Returns a source of the rows. A part has about `part_bytes` bytes of the table; the cuts depend only on the table.
    ///
    /// # Errors
    /// When the upper pages of the table can't be read.
    pub fn source(&self, part_bytes: usize, cancel: &Cancel) -> Result<Box<dyn Source>> {
        Ok(match &self.reading {
            Reading::Pages(rows) => Box::new(TreeSource::new(rows, part_bytes, self.limit, false, cancel)?),
            Reading::Sqlite(query) => {
                Box::new(StatementSource::start(query, part_bytes, 0..u64::MAX, cancel))
            }
        })
    }

    /// Returns a source that numbers the rows from `rows.start` on and ends before number `rows.end`.
    ///
    /// # Errors
    /// When the upper pages of the table can't be read.
    pub fn counted_source(&self, rows: Range<u64>, cancel: &Cancel) -> Result<Box<dyn Counted>> {
        Ok(match &self.reading {
            Reading::Pages(tree) => {
                Box::new(TreeSource::new(tree, PART_BYTES, self.limit, true, cancel)?.numbered(rows))
            }
            Reading::Sqlite(query) => Box::new(StatementSource::start(query, PART_BYTES, rows, cancel)),
        })
    }
}

/// Refuses a share of the pages whose index is too large, or that is combined with a limit or a condition.
fn refuse_part(selection: &Selection) -> Result<()> {
    let Some((part, parts)) = selection.part else { return Ok(()) };
    if part >= parts {
        return Err(
            Error::usage(format!("part {part} of {parts} does not exist")).hint("parts are counted from 0")
        );
    }
    let other = match selection {
        Selection { limit: Some(_), .. } => Setting::Limit,
        Selection { filter: Some(_), .. } => Setting::Where,
        _ => return Ok(()),
    };
    Err(Error::usage(message![Setting::Part, " and ", other, " exclude each other"])
        .hint("select among the rows that the parts return"))
}

/// Returns the clause at the end of a SELECT with which SQLite reads the rows in the order of the table. Without the clause, SQLite may
/// read them in the order of an index that has all columns.
fn in_order_of(table: &Table) -> String {
    let Some(clustered) = &table.clustered else { return " NOT INDEXED".to_owned() };
    let key = clustered.columns[..clustered.key_columns].iter().filter_map(|column| match column.value {
        Indexed::Column(index) => Some(format!(
            "{} COLLATE {}{}",
            quoted(&table.columns[index].name),
            quoted(&column.collation),
            if column.descending { " DESC" } else { "" }
        )),
        Indexed::Rowid | Indexed::Expression => None,
    });
    format!(" ORDER BY {}", key.collect::<Vec<_>>().join(", "))
}

/// Returns the columns of a table, view or virtual table that are not hidden.
fn listed_columns(connection: &Connection, name: &str) -> rusqlite::Result<Vec<RowColumn>> {
    let sql = "SELECT name, type FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid";
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.query_map([name], |row| Ok(row_column(row.get(0)?, row.get(1)?)))?;
    columns.collect()
}

fn row_column(name: String, declared_type: String) -> RowColumn {
    RowColumn { affinity: Affinity::of_declared_type(&declared_type), name, declared_type }
}

/// Returns the columns to read, each with its origin: a column of the table or the rowid.
fn wanted_columns(
    name: &str,
    table: Option<&Table>,
    all: &[RowColumn],
    selection: &Selection,
) -> Result<(Vec<From>, Vec<RowColumn>)> {
    let Some(names) = &selection.columns else {
        return Ok(((0..all.len()).map(From::Column).collect(), all.to_vec()));
    };
    refuse_repeated(names.iter().map(String::as_str))?;
    let mut found = (Vec::new(), Vec::new());
    for wanted in names {
        let is_rowid =
            |name: &str| ["rowid", "_rowid_", "oid"].iter().any(|rowid| name.eq_ignore_ascii_case(rowid));
        match all.iter().position(|column| column.name.eq_ignore_ascii_case(wanted)) {
            Some(column) => {
                found.0.push(From::Column(column));
                found.1.push(all[column].clone());
            }
            None if is_rowid(wanted) && table.is_some_and(|table| !table.without_rowid) => {
                found.0.push(From::Rowid);
                found.1.push(row_column(wanted.clone(), "INTEGER".to_owned()));
            }
            None => {
                let names = all.iter().map(|column| column.name.as_str());
                return Err(Error::usage(format!("table {name} has no column {wanted}"))
                    .hint(similar::hint(wanted, names)));
            }
        }
    }
    match found.0.is_empty() {
        true => Err(Error::usage("select at least one column").hint(message![
            "leave ",
            Setting::Columns,
            " out to read all columns"
        ])),
        false => Ok(found),
    }
}

fn refuse_repeated<'n>(names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        let lower = name.to_ascii_lowercase();
        if seen.contains(&lower) {
            return Err(
                Error::usage(format!("two columns are called {name}")).hint("give one another name: AS name")
            );
        }
        seen.push(lower);
    }
    Ok(())
}

/// Returns the rows of a table that is read page by page, or `None` if SQLite must read the rows.
fn by_pages(
    snapshot: &Arc<Snapshot>,
    table: &Table,
    wanted: &[From],
    columns: &[RowColumn],
) -> rusqlite::Result<Option<TreeRows>> {
    let Some(root_page) = snapshot.root_of_table(&table.name)? else { return Ok(None) };
    let text_encoding = snapshot.header().used_text_encoding();
    let Some(layout) = Layout::new(table, wanted, text_encoding)? else { return Ok(None) };
    Ok(Some(TreeRows {
        snapshot: Arc::clone(snapshot),
        table: table.name.clone(),
        columns: columns.iter().map(|column| column.name.clone()).collect(),
        tree: Tree {
            root_page,
            kind: if table.without_rowid { Kind::Index } else { Kind::Table },
            geometry: snapshot.geometry(),
            page_count: snapshot.page_count(),
        },
        layout,
        part: (0, 1),
        shows_keys: true,
        key_columns: table.clustered.as_ref().map_or(0, |clustered| clustered.key_columns),
    }))
}

/// Prepares a query to find out if SQLite accepts it. Returns its columns.
fn prepare(connection: &Connection, sql: &str) -> Result<Vec<RowColumn>> {
    let statement = connection.prepare(sql).map_err(statement::refused)?;
    statement::check(&statement)?;
    let column = |column: &rusqlite::Column<'_>| {
        row_column(column.name().to_owned(), column.decl_type().unwrap_or_default().to_owned())
    };
    Ok(statement.columns().map(|of| column(&of)).collect())
}
