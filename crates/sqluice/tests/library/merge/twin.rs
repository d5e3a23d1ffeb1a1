//! The twin of a merge: SQLite inserts the rows of all sources, one after another.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use sqluice::options::OnConflict;

/// Tables by name: their rows, as SQLite writes their values.
pub(crate) type Content = BTreeMap<String, Vec<String>>;

/// Opens a connection with a busy timeout.
pub(crate) fn open(db: &Path) -> Connection {
    let connection = Connection::open(db).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    connection
}

/// Returns the names of a database's tables, without SQLite's own tables.
pub(crate) fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Returns true if no column shows the rowid.
fn is_keyless(connection: &Connection, table: &str) -> bool {
    let sql = "SELECT l.wr = 0 AND NOT EXISTS (SELECT 1 FROM pragma_table_info(?1) WHERE pk = 1 AND upper(type) = 'INTEGER')
               FROM pragma_table_list(?1) AS l WHERE schema = 'main'";
    connection.query_row(sql, [table], |row| row.get(0)).unwrap()
}

/// Returns all rows of all tables. The rows of a table without a visible rowid are sorted, because their order does not matter.
pub(crate) fn content(connection: &Connection) -> Content {
    let of_table = |table: String| {
        let columns: Vec<String> = {
            let statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            statement.column_names().map(|name| format!("quote({name})")).collect()
        };
        let sql = format!("SELECT {} FROM {table} NOT INDEXED", columns.join(" || ', ' || "));
        let mut statement = connection.prepare(&sql).unwrap();
        let mut rows: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        if is_keyless(connection, &table) {
            rows.sort();
        }
        (table, rows)
    };
    tables(connection).into_iter().map(of_table).collect()
}

/// Inserts the rows of all sources into the tables of `twin`, which exist.
pub(crate) fn insert_all(
    twin: &Connection,
    sources: &[&Path],
    on_conflict: OnConflict,
) -> rusqlite::Result<()> {
    let or = match on_conflict {
        OnConflict::Abort => "ABORT",
        OnConflict::Ignore => "IGNORE",
        OnConflict::Replace => "REPLACE",
    };
    twin.execute_batch("PRAGMA foreign_keys = OFF; BEGIN")?;
    for source in sources {
        let source = open(source);
        for table in tables(&source) {
            let mut statement = source.prepare(&format!("SELECT * FROM {table} NOT INDEXED")).unwrap();
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let places = vec!["?"; columns.len()].join(", ");
            let insert = format!("INSERT OR {or} INTO {table} ({}) VALUES ({places})", columns.join(", "));
            let mut insert = twin.prepare(&insert)?;
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let values = (0..columns.len()).map(|column| row.get::<_, Value>(column).unwrap());
                insert.execute(params_from_iter(values))?;
            }
        }
    }
    twin.execute_batch("COMMIT")
}

/// Returns the result of `integrity_check`: `ok` for a sound database.
pub(crate) fn integrity(db: &Path) -> String {
    let connection = open(db);
    let mut statement = connection.prepare("PRAGMA integrity_check").unwrap();
    let found = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    found.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}
