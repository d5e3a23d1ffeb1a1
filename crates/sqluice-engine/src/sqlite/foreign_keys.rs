//! Checks FOREIGN KEY constraints: the parent of every row must exist.
//!
//! `PRAGMA foreign_key_check` returns the rowids of rows without a parent. For a WITHOUT ROWID table, it returns no rowids, and a query
//! finds the first row. The columns of the foreign key come from SQLite's PRAGMAs.

use rusqlite::{Connection, OptionalExtension};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::sqlite_error::{failed, said};

use super::names::{RowNames, in_main, rowid_is_record, values};

/// The number of rows without a parent that an error describes. Further rows are only counted.
const ROWS_MAX: usize = 3;

/// A foreign key: the parent table, the columns of the child, and the columns of the parent; `None` if these are the parent's PRIMARY KEY.
struct Key {
    parent: String,
    from: Vec<String>,
    to: Option<Vec<String>>,
}

/// Checks that the parents of a table's rows exist.
pub(crate) fn check(connection: &Connection, schema: &Schema, table: &Table) -> Result<()> {
    match orphans(connection, schema, table) {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(error),
        Err(error) => Err(explain(table, error)),
    }
}

/// Refuses to empty a table if foreign keys are enforced and the deletion would delete or change rows of another table: these changes would
/// stay, even if the referenced rows are inserted again.
pub(crate) fn refuse_cascade(connection: &Connection, table: &str) -> Result<()> {
    let sql = "SELECT m.name, f.on_delete FROM main.sqlite_schema AS m, pragma_foreign_key_list(m.name, 'main') AS f
               WHERE m.type = 'table' AND m.name <> ?1 COLLATE NOCASE AND f.\"table\" = ?1 COLLATE NOCASE
               AND f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
               AND (SELECT foreign_keys FROM pragma_foreign_keys)";
    let found = connection.query_row(sql, [table], |row| Ok((row.get(0)?, row.get(1)?))).optional();
    let found: Option<(String, String)> =
        found.map_err(|error| failed(error, &format!("look at what refers to {table}")))?;
    let Some((child, on_delete)) = found else { return Ok(()) };
    let message = format!(
        "replacing the rows of {table} would change {child}, which refers to it ON DELETE {on_delete}"
    );
    Err(Error::target(message).hint(message![
        "load without ",
        Setting::ForeignKeys,
        ", or change the rows in place: ",
        Setting::Upsert
    ]))
}

fn orphans(connection: &Connection, schema: &Schema, table: &Table) -> rusqlite::Result<Option<Error>> {
    // An empty table needs no parents.
    let some = format!("SELECT EXISTS (SELECT 1 FROM {})", in_main(table));
    if !connection.query_row(&some, [], |row| row.get::<_, bool>(0))? {
        return Ok(None);
    }
    let check = format!("PRAGMA main.foreign_key_check({})", quoted(&table.name));
    let mut check = connection.prepare(&check)?;
    let mut rows = check.query([])?;
    let mut count = 0_u64;
    let mut found: Vec<(Option<i64>, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() < ROWS_MAX {
            found.push((row.get(1)?, row.get(3)?));
        }
        count += 1;
    }
    drop(rows);
    let Some(&(rowid, first)) = found.first() else { return Ok(None) };
    let parent = key(connection, table, first)?.parent;
    if schema.table(&parent).is_none() {
        let message = format!("table {} references {parent}, which the schema does not declare", table.name);
        let hint = format!("declare {parent}, or remove the FOREIGN KEY: {count} rows have no parent");
        return Ok(Some(Error::input(message).hint(hint)));
    }
    let described = found.iter().map(|&(rowid, id)| describe(connection, schema, table, rowid, id));
    let mut described = described.collect::<rusqlite::Result<Vec<_>>>()?;
    let first = described.remove(0);
    let hint = match count {
        1 => "it is the only such row".to_owned(),
        // The query for a WITHOUT ROWID table would report the same row again.
        _ if table.without_rowid || described.is_empty() => format!("{count} such rows"),
        _ => format!("{count} such rows; next: {}", described.join("; ")),
    };
    let error = Error::input(format!("table {}, {first}", table.name)).hint(hint);
    Ok(Some(match rowid {
        Some(record) if rowid_is_record(table) => error.of_record(&table.name, record.cast_unsigned()),
        _ => error,
    }))
}

/// Returns the foreign key number `id` of a table.
fn key(connection: &Connection, table: &Table, id: i64) -> rusqlite::Result<Key> {
    let mut list = connection.prepare(
        "SELECT \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1, 'main') WHERE id = ?2 ORDER BY seq",
    )?;
    let mut rows = list.query(rusqlite::params![table.name, id])?;
    let mut key = Key { parent: String::new(), from: Vec::new(), to: Some(Vec::new()) };
    while let Some(row) = rows.next()? {
        key.parent = row.get(0)?;
        key.from.push(row.get(1)?);
        match (&mut key.to, row.get(2)?) {
            (Some(to), Some(column)) => to.push(column),
            _ => key.to = None,
        }
    }
    Ok(key)
}

/// Describes a row without a parent: `row 17: p has no row for a = 5`.
fn describe(
    connection: &Connection,
    schema: &Schema,
    table: &Table,
    rowid: Option<i64>,
    id: i64,
) -> rusqlite::Result<String> {
    let key = key(connection, table, id)?;
    let rows = RowNames::of(table);
    let own: Vec<String> = key.from.iter().map(|name| format!("child.{}", quoted(name))).collect();
    let mut selected: Vec<String> = rows.columns.iter().map(|column| format!("child.{column}")).collect();
    selected.extend(own.iter().cloned());
    let condition = match (rowid, table.rowid_name()) {
        (Some(rowid), Some(name)) => format!("child.{name} = {rowid}"),
        _ => no_parent(schema, &key, &own),
    };
    let sql =
        format!("SELECT {} FROM {} AS child WHERE {condition} LIMIT 1", selected.join(", "), in_main(table));
    let described = connection.query_row(&sql, [], |row| {
        let of_key = values(row, rows.columns.len(), &key.from)?;
        Ok(format!("row {}: {} has no row for {of_key}", rows.describe(row, 0)?, key.parent))
    });
    Ok(described.optional()?.unwrap_or_else(|| {
        format!("a row that could not be found again: {} has no row with its key", key.parent)
    }))
}

/// Returns a condition in SQL that is true for the rows without a parent.
fn no_parent(schema: &Schema, key: &Key, own: &[String]) -> String {
    let known: Vec<String> = own.iter().map(|column| format!("{column} IS NOT NULL")).collect();
    let primary = || {
        let names = schema.table(&key.parent).map(RowNames::key);
        names.unwrap_or_default()
    };
    let to = key.to.clone().unwrap_or_else(primary);
    let same = to.iter().zip(own).map(|(to, own)| format!("parent.{} = {own}", quoted(to)));
    let same: Vec<String> = same.collect();
    format!(
        "{} AND NOT EXISTS (SELECT 1 FROM main.{} AS parent WHERE {})",
        known.join(" AND "),
        quoted(&key.parent),
        if same.is_empty() { "true".to_owned() } else { same.join(" AND ") },
    )
}

fn explain(table: &Table, error: rusqlite::Error) -> Error {
    let mismatch = error.to_string().contains("foreign key mismatch");
    if !mismatch {
        return failed(error, &format!("check the foreign keys of table {}", table.name));
    }
    Error::input(format!("table {}: {}", table.name, said(error)))
        .hint("let the foreign key refer to the PRIMARY KEY of its parent, or to columns that are UNIQUE with the same collation")
}
