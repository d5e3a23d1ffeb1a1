//! Fills tables that only SQLite can fill, from staging tables of the same names.
//!
//! ```text
//!  staging.t   rowid = number of the record, the columns that take values
//!      │       INSERT INTO main.t SELECT ... WHERE rowid BETWEEN 1 AND 1000, then 1001 AND 2000, ...
//!  main.t      SQLite handles conflicts, generated columns and constraints
//! ```
//!
//! * Rows are inserted in the order of the input, which decides conflicts. A failed batch is rolled back and repeated row by row, which
//!   finds the record.
//! * A batch is small, as the old content of changed pages is kept in memory until the batch is done.
//! * If no column is the rowid, the rowid is the number of the record, as in encoded tables.
//! * Conflicts are only about keys: `OR IGNORE` would also leave out rows with a failing CHECK, so `ON CONFLICT DO NOTHING` is used. A
//!   forbidden NULL never gets here: `staging.t` has the NOT NULL constraints of all given columns.
//! * `OR ABORT` is explicit, because a plain `INSERT` follows the ON CONFLICT clauses of the schema.

use rusqlite::{Connection, Statement};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Progress};
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::{failed, is_of_values, said};

use super::names::{in_main, in_staging, values};
use crate::full_text::declaration::Declaration;
use crate::options::OnConflict;

/// The number of records of a batch.
const BATCH: i64 = 1000;

/// Returns the statement that creates the staging table, from which SQLite fills `table`.
pub(super) fn staging_table(table: &Table) -> Result<String> {
    if staging_rowid(table).is_none() {
        let message = format!(
            "table {} has columns named rowid, _rowid_ and oid, so that its rows can't be numbered",
            table.name
        );
        return Err(Error::input(message).hint("rename one of these columns"));
    }
    let columns = given(table).map(|index| {
        let column = &table.columns[index];
        // NULL for a rowid means the next rowid.
        let refuses_null = column.not_null && table.rowid_alias != Some(index);
        let not_null = if refuses_null { "NOT NULL" } else { "" };
        // A type may end with a comment, so NOT NULL is on the next line.
        format!("{} {}\n{not_null}", quoted(&column.name), column.declared_type)
    });
    let columns: Vec<String> = columns.collect();
    let strict = if table.strict { " STRICT" } else { "" };
    Ok(format!("CREATE TABLE {} ({}){strict};\n", quoted(&table.name), columns.join(", ")))
}

/// Returns the number of records of some tables, including rejected records, as the total of the progress display.
pub(super) fn amount<'t>(
    connection: &Connection,
    tables: impl Iterator<Item = &'t Table>,
) -> Result<Option<Amount>> {
    let mut rows = 0;
    for table in tables {
        rows += last_record(connection, table).map_err(|error| cannot_fill(table, error))?.cast_unsigned();
    }
    Ok(Some(Amount { rows, bytes: 0 }))
}

/// Copies the staged rows of a table into this table, which is empty. Returns the number of its rows afterwards.
pub(super) fn copy(
    connection: &Connection,
    table: &Table,
    on_conflict: OnConflict,
    progress: &dyn Progress,
) -> Result<u64> {
    let cannot_fill = |error| cannot_fill(table, error);
    let last = last_record(connection, table).map_err(cannot_fill)?;
    let own = if table.is_virtual { own_content(connection, &table.name) } else { None };
    let mut insert = connection.prepare(&insert(table, own, on_conflict)).map_err(cannot_fill)?;
    connection.execute_batch("BEGIN").map_err(cannot_fill)?;
    let mut stored = 0;
    let mut first = 1;
    while first <= last {
        let end = last.min(first + BATCH - 1);
        let inserted = connection
            .execute_batch("SAVEPOINT batch")
            .and_then(|()| insert.execute([first, end]))
            .and_then(|inserted| connection.execute_batch("RELEASE batch").map(|()| inserted));
        match inserted {
            Ok(inserted) => {
                stored += inserted as u64;
                progress.advance(Amount { rows: (end - first + 1).cast_unsigned(), bytes: 0 });
            }
            Err(error) if is_of_values(&error) => {
                return Err(explain(connection, table, &mut insert, (first, end), error));
            }
            Err(error) => return Err(cannot_fill(error)),
        }
        first = end + 1;
    }
    connection.execute_batch("COMMIT").map_err(cannot_fill)?;
    match on_conflict {
        OnConflict::Abort | OnConflict::Ignore => Ok(stored),
        // The number of inserted rows would include rows that were replaced later, so the rows of the table are counted.
        OnConflict::Replace => count(connection, table).map_err(cannot_fill),
    }
}

fn count(connection: &Connection, table: &Table) -> rusqlite::Result<u64> {
    let sql = format!("SELECT count(*) FROM {}", in_main(table));
    connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

/// Returns the shadow table that keeps the text of a full-text table, with its columns, as after INSERT INTO: rows are stored there, and
/// the index is built afterwards. Returns `None` for a table into which rows are inserted directly.
pub(super) fn own_content(connection: &Connection, name: &str) -> Option<String> {
    Declaration::of(connection, name).ok()?.ok()?.own_content()
}

/// The statements for the rows of a full-text table that keeps no texts.
pub(super) struct Texts {
    /// The query for the rowids and the indexed columns.
    pub(super) indexed: String,
    /// The statement that stores the columns that the table keeps; `None` if it keeps none.
    pub(super) kept: Option<String>,
}

/// Returns the statements for the rows of a full-text table that keeps no texts, or `None` if SQLite must give rowids to some of the rows.
pub(super) fn texts(
    connection: &Connection,
    table: &Table,
    declaration: &Declaration,
) -> Result<Option<Texts>> {
    let cannot_fill = |error| cannot_fill(table, error);
    let from = in_staging(table);
    let record = staging_rowid(table).unwrap_or_default();
    let rowid = match table.rowid_alias {
        None => record.to_owned(),
        Some(alias) => {
            let rowid = quoted(&table.columns[alias].name);
            let sql = format!("SELECT count(*), count({rowid}) FROM {from}");
            let counts = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
            let (all, given): (i64, i64) = counts.map_err(cannot_fill)?;
            match given {
                0 => record.to_owned(),
                given if given == all => rowid,
                _ => return Ok(None),
            }
        }
    };
    let select = |columns: &mut dyn Iterator<Item = usize>| {
        let names = columns.map(|column| format!(", {}", quoted(&declaration.columns[column].name)));
        format!("SELECT {rowid}{} FROM {from} ORDER BY {rowid}", names.collect::<String>())
    };
    let mut indexed = (0..declaration.columns.len()).filter(|column| declaration.columns[*column].is_indexed);
    let kept = declaration.kept_columns(connection).map_err(cannot_fill)?;
    Ok(Some(Texts {
        indexed: select(&mut indexed),
        kept: kept
            .map(|(content, columns)| format!("INSERT INTO {content} {}", select(&mut columns.into_iter()))),
    }))
}

fn insert(table: &Table, own_content: Option<String>, on_conflict: OnConflict) -> String {
    let mut columns: Vec<String> = given(table).map(|column| quoted(&table.columns[column].name)).collect();
    let mut selected = columns.clone();
    let record = staging_rowid(table).unwrap_or_default();
    if let (None, Some(rowid)) = (table.rowid_alias, table.rowid_name()) {
        columns.push(rowid.to_owned());
        selected.push(record.to_owned());
    }
    let (or, on) = match on_conflict {
        // SQLite refuses ON CONFLICT for virtual tables, which have no CHECK.
        OnConflict::Ignore if table.is_virtual => ("IGNORE", ""),
        OnConflict::Abort => ("ABORT", ""),
        OnConflict::Ignore => ("ABORT", " ON CONFLICT DO NOTHING"),
        OnConflict::Replace => ("REPLACE", ""),
    };
    let (target, selected) = match own_content {
        // The FTS5 content table has the rowid as its first column; `selected` has it last.
        Some(content) => {
            if table.rowid_alias.is_none() {
                selected.rotate_right(1);
            }
            (format!("main.{content}"), selected)
        }
        None => (format!("{} ({})", in_main(table), columns.join(", ")), selected),
    };
    format!(
        "INSERT OR {or} INTO {target} SELECT {} FROM {} WHERE {record} BETWEEN ?1 AND ?2 ORDER BY {record}{on}",
        selected.join(", "),
        in_staging(table),
    )
}

/// Returns the columns that take values: all that are not generated.
fn given(table: &Table) -> impl Iterator<Item = usize> + '_ {
    (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none())
}

/// Returns the name by which SQL can read the rowid of a staging table, which is the number of the record. Returns `None` if columns have
/// all such names.
fn staging_rowid(table: &Table) -> Option<&'static str> {
    let taken = |name: &str| given(table).any(|column| table.columns[column].name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].into_iter().find(|name| !taken(name))
}

fn last_record(connection: &Connection, table: &Table) -> rusqlite::Result<i64> {
    let record = staging_rowid(table).unwrap_or_default();
    let sql = format!("SELECT coalesce(max({record}), 0) FROM {}", in_staging(table));
    connection.query_row(&sql, [], |row| row.get(0))
}

/// Returns the error for a failed batch, with the record and its values.
fn explain(
    connection: &Connection,
    table: &Table,
    insert: &mut Statement<'_>,
    (first, last): (i64, i64),
    error: rusqlite::Error,
) -> Error {
    if connection.execute_batch("ROLLBACK TO batch").is_err() {
        return Error::input(format!("table {}: {}", table.name, said(error)));
    }
    for record in first..=last {
        match insert.execute([record, record]) {
            Ok(_) => {}
            Err(error) if is_of_values(&error) => {
                let message = said(error);
                let error = of_record(table, record, &message);
                return match hint(connection, table, record, &message) {
                    Ok(hint) => error.hint(hint),
                    Err(_) => error,
                };
            }
            Err(error) => return cannot_fill(table, error),
        }
    }
    Error::input(format!("table {}: {}", table.name, said(error)))
}

fn of_record(table: &Table, record: i64, message: &str) -> Error {
    Error::input(format!("record {record}: {message}")).of_record(&table.name, record.cast_unsigned())
}

/// Describes a conflict: `a = 1, as in record 3`, or only the values of the record.
fn hint(connection: &Connection, table: &Table, record: i64, message: &str) -> rusqlite::Result<String> {
    let rowid = staging_rowid(table).unwrap_or_default();
    for key in keys(table) {
        let names: Vec<&str> = key.iter().map(|(column, _)| table.columns[*column].name.as_str()).collect();
        let columns: Vec<String> = names.iter().map(|name| format!("{}.{name}", table.name)).collect();
        if message != format!("UNIQUE constraint failed: {}", columns.join(", ")) {
            continue;
        }
        let same: Vec<String> = key
            .iter()
            .zip(&names)
            .map(|((_, collation), name)| {
                let (name, collation) = (quoted(name), quoted(collation));
                format!("before.{name} = this.{name} COLLATE {collation}")
            })
            .collect();
        let these: Vec<String> = names.iter().map(|name| format!("this.{}", quoted(name))).collect();
        let sql = format!(
            "SELECT min(before.{rowid}), {} FROM {from} AS this, {from} AS before
             WHERE this.{rowid} = ?1 AND before.{rowid} < ?1 AND {}",
            these.join(", "),
            same.join(" AND "),
            from = in_staging(table),
        );
        return connection.query_row(&sql, [record], |row| {
            let values = values(row, 1, &names)?;
            Ok(match row.get::<_, Option<i64>>(0)? {
                Some(before) => format!("{values}, as in record {before}"),
                None => values,
            })
        });
    }
    let names: Vec<&str> = given(table).map(|column| table.columns[column].name.as_str()).collect();
    let selected: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let sql = format!("SELECT {} FROM {} WHERE {rowid} = ?1", selected.join(", "), in_staging(table));
    connection.query_row(&sql, [record], |row| Ok(format!("it has {}", values(row, 0, &names)?)))
}

/// Returns the unique keys of a table that have no generated columns, no expressions and no WHERE: the columns of each key, each with its
/// collation.
fn keys(table: &Table) -> Vec<Vec<(usize, String)>> {
    let alias = table.rowid_alias.map(|alias| vec![(alias, "BINARY".to_owned())]);
    let key = |index: &Index| {
        let columns = index.columns[..index.key_columns].iter().map(|column| match column.value {
            Indexed::Column(index) if table.columns[index].generated.is_none() => {
                Some((index, column.collation.clone()))
            }
            _ => None,
        });
        columns.collect::<Option<Vec<_>>>()
    };
    let indexes = table.clustered.iter().chain(&table.indexes);
    let unique = indexes.filter(|index| index.unique && !index.partial);
    alias.into_iter().chain(unique.filter_map(key)).collect()
}

fn cannot_fill(table: &Table, error: rusqlite::Error) -> Error {
    failed(error, &format!("fill table {}", table.name))
}
