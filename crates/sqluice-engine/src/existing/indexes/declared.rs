//! Indexes that CREATE INDEX statements declare, as SQLite describes them. For each index, this module chooses if its entries are written
//! as pages or by SQLite.

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::index::{Index, IndexColumn, Indexed};
use sqluice_core::schema::{Generated, Schema, Table};
use sqluice_core::similar;

use super::computed::ComputedIndex;
use super::entries::{Projection, Recipe};
use super::probe_table::ProbeTable;
use super::statement::Statement;
use crate::options::WritePath;

/// An index that a CREATE INDEX statement declares, with the table that it is on.
pub struct Declared<'s> {
    pub statement: Statement,
    pub table: &'s Table,
    /// The way in which the entries of the index are made and written as pages; `None` if SQLite makes the index.
    pub(crate) ours: Option<Ours>,
    /// The reason for the write path, as a sentence.
    pub why: String,
}

/// An index whose entries are written as pages.
pub(crate) struct Ours {
    pub(crate) index: Index,
    pub(crate) recipe: Recipe,
    /// The statement, as SQLite keeps it in `sqlite_schema`.
    pub(crate) sql: String,
}

impl Declared<'_> {
    /// Returns `Sorted` if the entries are sorted and written as pages, or `Sqlite` if SQLite creates the index.
    pub fn write_path(&self) -> WritePath {
        if self.ours.is_some() { WritePath::Sorted } else { WritePath::Sqlite }
    }
}

/// Returns the new indexes that statements declare for a database with `schema`. The second list has the statements that do nothing,
/// because they have IF NOT EXISTS and their index exists. `obstacle` is a reason why SQLite must make all indexes.
///
/// # Errors
/// If a name is taken, a table does not exist, or SQLite does not understand a statement.
pub fn declared<'s>(
    statements: Vec<Statement>,
    schema: &'s Schema,
    names: &[(String, String)],
    obstacle: Option<&str>,
) -> Result<(Vec<Declared<'s>>, Vec<Statement>)> {
    let (mut declared, mut existing): (Vec<Declared<'_>>, Vec<Statement>) = (Vec::new(), Vec::new());
    for statement in statements {
        let is_same = |name: &str| name.eq_ignore_ascii_case(&statement.name);
        let of_this_run = declared.iter().find(|other| is_same(&other.statement.name)).map(|_| "index");
        let kind = names.iter().find(|(_, name)| is_same(name)).map(|(kind, _)| &**kind).or(of_this_run);
        match kind {
            Some("index") if statement.if_not_exists => {
                existing.push(statement);
                continue;
            }
            // A trigger may have the name of an index.
            Some(kind @ ("index" | "table" | "view")) => return Err(taken(&statement, kind)),
            _ => {}
        }
        let table = table_of(&statement, schema, names)?;
        declared.push(Declared::new(statement, table, obstacle)?);
    }
    Ok((declared, existing))
}

fn taken(statement: &Statement, kind: &str) -> Error {
    let error = Error::target(format!("{kind} {} exists already", statement.name));
    match kind {
        "index" => error.hint("IF NOT EXISTS leaves it as it is; DROP INDEX makes room for another"),
        _ => error.hint("choose another name for the index"),
    }
}

fn table_of<'s>(statement: &Statement, schema: &'s Schema, names: &[(String, String)]) -> Result<&'s Table> {
    let wanted = &statement.table;
    if let Some(table) = schema.table(wanted) {
        return Ok(table);
    }
    let is_table = |kind: &str| kind == "table" || kind == "view";
    let kind = names.iter().find(|(kind, name)| is_table(kind) && name.eq_ignore_ascii_case(wanted));
    let what = match kind.map(|(kind, _)| &**kind) {
        _ if wanted.to_ascii_lowercase().starts_with("sqlite_") => "is SQLite's own",
        Some("view") => "is a view, and has no rows of its own",
        Some("table") => "is a virtual table, which maintains its own indexes",
        _ => return Err(missing(wanted, schema)),
    };
    Err(Error::target(format!("{wanted} can't have an index: it {what}")))
}

fn missing(wanted: &str, schema: &Schema) -> Error {
    let error = Error::target(format!("table {wanted} does not exist"));
    let tables = schema.tables.iter().map(|table| &*table.name).filter(|name| !name.starts_with("sqlite_"));
    match tables.clone().next() {
        Some(_) => error.hint(similar::hint(wanted, tables)),
        None => error.hint("the database has no table that can have an index"),
    }
}

impl<'s> Declared<'s> {
    fn new(statement: Statement, table: &'s Table, obstacle: Option<&str>) -> Result<Declared<'s>> {
        let by_sqlite = |statement, why: String| Declared { statement, table, ours: None, why };
        let Ok(mut probe) = ProbeTable::of(table) else {
            let why = "only SQLite understands how its table is declared";
            return Ok(by_sqlite(statement, why.to_owned()));
        };
        match probe.declare(&statement.sql) {
            Err(rusqlite::Error::SqlInputError { msg, .. }) => return Err(refused(&statement, msg)),
            Err(error @ rusqlite::Error::SqliteFailure(..))
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) =>
            {
                return Err(refused(&statement, error.to_string()));
            }
            Err(error) => return Ok(by_sqlite(statement, format!("only SQLite can compute it: {error}"))),
            Ok(()) => {}
        }
        let ours = match obstacle {
            Some(why) => Err(why.to_owned()),
            None => Ours::of(&mut probe, table, &statement),
        };
        Ok(match ours {
            Ok(ours) => {
                let why = match &ours.recipe {
                    Recipe::Fields(_) => "values of the table's rows are sorted",
                    Recipe::Computed(_) => "values that SQLite computes from the rows are sorted",
                };
                Declared { statement, table, ours: Some(ours), why: why.to_owned() }
            }
            Err(why) => by_sqlite(statement, why),
        })
    }
}

impl Ours {
    /// Reads back the index that a statement has declared. `Err` is the reason why SQLite must make the index.
    fn of(probe: &mut ProbeTable, table: &Table, statement: &Statement) -> std::result::Result<Ours, String> {
        let unread = || "SQLite does not report what it declares".to_owned();
        let read = Schema::from_catalogue(probe.connection(), String::new(), "".as_ref());
        let schema = read.map_err(|_| unread())?;
        let indexes = schema.table(&table.name).map(|table| &table.indexes[..]).unwrap_or_default();
        let index = indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&statement.name));
        let Some(index) = index else { return Err(unread()) };
        if index.order().is_none() {
            return Err("only SQLite knows the order of its collations".to_owned());
        }
        let is_computed = |column: &IndexColumn| match column.value {
            Indexed::Column(column) => table.columns[column].generated == Some(Generated::Virtual),
            Indexed::Rowid => false,
            Indexed::Expression => true,
        };
        let recipe = match index.partial || index.columns.iter().any(is_computed) {
            true => Recipe::Computed(Box::new(ComputedIndex::new(table, index, probe)?)),
            false => Recipe::Fields(Projection::new(table, index, probe)?),
        };
        let sql = index.sql.clone().ok_or_else(unread)?;
        Ok(Ours { index: index.clone(), recipe, sql })
    }
}

fn refused(statement: &Statement, message: String) -> Error {
    Error::usage(format!("index {}: {message}", statement.name))
        .hint("correct the statement: it must be one that SQLite accepts")
}
