//! Reads from an existing database what a plan needs, such as its schema, page size and largest rowids. The database is not changed, and no
//! lock is kept.
//!
//! SQLite opens the database as for any program: a hot journal is rolled back first, and a database that SQLite can't read is refused with
//! SQLite's message. SQLite also decides if rows can be inserted: compiling the INSERT compiles CHECKs, triggers and the keys of all
//! indexes. So an unknown function or collation is reported by its name.

use std::path::Path;
use std::{fs, io};

use rusqlite::{Connection, ErrorCode};
use sqluice_core::affinity::Affinity;
use sqluice_core::database_path::refuse_memory;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::{Column, Object, Schema, Table, quoted};
use sqluice_core::sqlite_error::said;

use super::Existing;
use super::full_text::followers::followers;
use crate::full_text::declaration::Declaration;
use crate::full_text::given;
use crate::options::WriteOptions;
use crate::output::Target;
use crate::sqlite::is_virtual_table;
use crate::target::{TableSnapshot, TargetSnapshot};

/// Reads the snapshot of the database at `target`. Returns `None` if no database exists, or if the run will replace it.
///
/// # Errors
/// If the file is not a database that can be read and written.
pub fn look(target: &Target, options: &WriteOptions) -> Result<Option<TargetSnapshot>> {
    let name = target.name();
    refuse_memory(name)?;
    if options.overwrite || !is_there(name)? {
        return Ok(None);
    }
    let existing = Existing::open(target, options.busy_timeout)?;
    let snapshot = read(target, &existing).map_err(|error| refused(name, error))?;
    Ok(Some(TargetSnapshot { no_pages: existing.obstacle()?, ..snapshot }))
}

fn read(target: &Target, existing: &Existing) -> rusqlite::Result<TargetSnapshot> {
    let connection = existing.connection();
    // All queries are in one transaction, so that they see the same state of the database.
    connection.execute_batch("BEGIN")?;
    let snapshot = read_tables(target, existing, |_| true)?;
    connection.execute_batch("COMMIT")?;
    Ok(snapshot)
}

/// Reads the snapshot of the tables that `is_wanted` selects, in the open transaction. The snapshot has no other tables.
pub(super) fn read_tables(
    target: &Target,
    existing: &Existing,
    is_wanted: impl Fn(&Table) -> bool,
) -> rusqlite::Result<TargetSnapshot> {
    let connection = existing.connection();
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let mut schema = Schema::from_catalogue(connection, String::new(), target.name())?;
    add_full_text(connection, &mut schema);
    schema.tables.retain(is_wanted);
    let about = |table| read_table(connection, &schema, table);
    let about = schema.tables.iter().map(about).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(TargetSnapshot {
        target: target.clone(),
        page_size: existing.geometry().page_size(),
        pages: u32::try_from(number("PRAGMA page_count")?).unwrap_or(u32::MAX),
        journal_mode: existing.journal_mode().to_owned(),
        schema_version: number("PRAGMA schema_version")?,
        no_pages: None,
        utf8: existing.encoding() == "UTF-8",
        encoding: match existing.encoding() {
            "UTF-16le" => "UTF-16le",
            "UTF-16be" => "UTF-16be",
            _ => "UTF-8",
        },
        schema,
        tables: about,
    })
}

/// Adds the full-text tables that take rows to the tables of the schema. Leaves out a table that SQLite can't read, for example because
/// its module is missing.
fn add_full_text(connection: &Connection, schema: &mut Schema) {
    let others = schema.others.iter().filter(|object| is_virtual_table(object));
    let table = |object: &Object| given::table(connection, &object.name, object.sql.as_deref()?).ok()?;
    let tables: Vec<Table> = others.filter_map(table).collect();
    schema.tables.extend(tables);
}

/// Reads the snapshot of a full-text table.
fn read_full_text(connection: &Connection, table: &Table) -> rusqlite::Result<TableSnapshot> {
    let unknown = Declaration::unknown_tokenizer(&table.sql);
    let refused = unknown.map(|name| format!("SQLite has no tokenizer {name} here"));
    let declaration = Declaration::of(connection, &table.name)?;
    let last = match &declaration {
        Ok(declaration) => declaration.last_rowid(connection)?,
        Err(_) => None,
    };
    Ok(TableSnapshot {
        largest_rowid: last,
        last_texts: vec![None; table.columns.len()],
        refused: refused.or_else(|| connection.prepare(&insert(table)).err().map(said)),
        indexed_by_sqlite: declaration.err(),
        ..TableSnapshot::default()
    })
}

fn read_table(connection: &Connection, schema: &Schema, table: &Table) -> rusqlite::Result<TableSnapshot> {
    if table.is_virtual {
        return read_full_text(connection, table);
    }
    let of_table =
        |trigger: &&Object| trigger.kind == "trigger" && trigger.table.eq_ignore_ascii_case(&table.name);
    let mut about = TableSnapshot {
        triggers: schema.others.iter().any(|object| of_table(&object)),
        followers: followers(connection, schema, table),
        refused: connection.prepare(&insert(table)).err().map(said),
        ..TableSnapshot::default()
    };
    about.last_texts = last_texts(connection, table);
    if let Some(rowid) = rowid_in_sql(table) {
        let name = quoted(&table.name);
        let sql = format!("SELECT (SELECT min({rowid}) FROM {name}), (SELECT max({rowid}) FROM {name})");
        let ends = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (first, last): (Option<i64>, Option<i64>) = ends;
        about.largest_rowid = last;
        about.rows_max =
            Some(first.zip(last).map_or(0, |(first, last)| last.abs_diff(first).saturating_add(1)));
    }
    Ok(about)
}

/// The number of rows at the end of a table in which the last text of a column is searched.
const LAST_ROWS: usize = 100;

/// The largest number of bytes that are read of a text: the text serves to recognise timestamps, which are shorter.
const LAST_BYTES: usize = 40;

/// Reads, for each column of the table, the last text: it shows the notation of timestamps that new rows follow. Returns `None` for a
/// column without TEXT affinity, a generated column, or a column without a text in the last [`LAST_ROWS`] rows, or that can't be read. A
/// run that needs the text reports the error.
fn last_texts(connection: &Connection, table: &Table) -> Vec<Option<String>> {
    let order = rowid_in_sql(table).map_or(String::new(), |rowid| format!(" ORDER BY {rowid} DESC"));
    let last = |column: &Column| {
        if column.affinity != Affinity::Text || column.generated.is_some() {
            return None;
        }
        let (column, table) = (quoted(&column.name), quoted(&table.name));
        let sql = format!(
            "SELECT substr({column}, 1, {LAST_BYTES}) FROM (SELECT {column} FROM {table}{order} LIMIT {LAST_ROWS}) \
             WHERE typeof({column}) = 'text' LIMIT 1"
        );
        connection.query_row(&sql, [], |row| row.get(0)).ok()
    };
    table.columns.iter().map(last).collect()
}

/// Returns an INSERT statement for all columns but generated ones. SQLite compiles it to find out if rows can be inserted.
fn insert(table: &Table) -> String {
    let taking = table.columns.iter().filter(|column| column.generated.is_none());
    let columns: Vec<String> = taking.map(|column| quoted(&column.name)).collect();
    let name = quoted(&table.name);
    match columns.len() {
        0 => format!("INSERT INTO {name} DEFAULT VALUES"),
        given => {
            format!("INSERT INTO {name} ({}) VALUES ({})", columns.join(", "), vec!["?"; given].join(", "))
        }
    }
}

/// Returns a name that means the rowid, or `None` if columns of the table have all these names, or the table has no rowids.
fn rowid_in_sql(table: &Table) -> Option<String> {
    match table.rowid_alias {
        Some(alias) => Some(quoted(&table.columns[alias].name)),
        None => table.rowid_name().map(str::to_owned),
    }
}

/// Returns `true` if the file exists. Obstacles to its creation are reported when it is created.
fn is_there(target: &Path) -> Result<bool> {
    match fs::metadata(target) {
        Ok(about) if about.is_file() => Ok(true),
        Ok(about) if !about.is_dir() => {
            Err(Error::target(format!("{} is not a file", target.display())).hint("name another file"))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(Error::target(format!("cannot look at {}", target.display())).about(target).because(error))
        }
        _ => Ok(false),
    }
}

/// Returns the error for a database that can't be read.
fn refused(target: &Path, error: rusqlite::Error) -> Error {
    let name = target.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::target(format!("{name} is in use")).about(target).because(said(error)).hint(message![
                "wait until the other program is done, or wait longer for it: ",
                Setting::BusyTimeout.to("SECONDS")
            ])
        }
        _ => Error::target(format!("cannot read {name}")).about(target).because(said(error)),
    }
}
