//! Opens SQLite connections and checks that their PRAGMAs took effect, and computes digests of tables.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::case::{Digest, Ground, Result, RowHash};

/// A PRAGMA: its name and its value.
pub(crate) type Pragma = (&'static str, &'static str);

/// No journal and no syncs. A crash of the program or a power failure may damage the database.
pub(crate) const UNSAFE: &[Pragma] = &[("journal_mode", "OFF"), ("synchronous", "OFF")];

/// The PRAGMAs of the publication on a billion rows.
pub(crate) const BILLION: &[Pragma] = &[
    ("journal_mode", "OFF"),
    ("synchronous", "OFF"),
    ("cache_size", "1000000"),
    ("locking_mode", "EXCLUSIVE"),
    ("temp_store", "MEMORY"),
];

/// WAL without a sync at each commit: a power failure may lose the last transactions, but not damage the database.
pub(crate) const WAL_NORMAL: &[Pragma] = &[("journal_mode", "WAL"), ("synchronous", "NORMAL")];

/// The maximum size of a database whose integrity is checked: for larger ones the check takes longer than the measured work.
const INTEGRITY_BYTES_MAX: u64 = 48 << 20;

/// Returns the PRAGMA statements for these settings.
pub(crate) fn statements(pragmas: &[Pragma]) -> Vec<String> {
    pragmas.iter().map(|(name, value)| format!("PRAGMA {name} = {value}")).collect()
}

/// Opens a database and applies the settings; fails if SQLite has not applied one, since it ignores an unknown PRAGMA without an error.
pub(crate) fn open(file: &Path, pragmas: &[Pragma]) -> Result<Connection> {
    let db = Connection::open(file)?;
    set(&db, pragmas)?;
    Ok(db)
}

/// Applies the settings to a connection, and checks that each took effect.
pub(crate) fn set(db: &Connection, pragmas: &[Pragma]) -> Result {
    for (name, value) in pragmas {
        let mut statement = db.prepare(&format!("PRAGMA {name} = {value}"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        let is: String = db.query_row(&format!("PRAGMA {name}"), [], |row| {
            row.get_ref(0).map(|value| match value {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("{other:?}"),
            })
        })?;
        if is != read_back(name, value) {
            return Err(format!("PRAGMA {name} = {value} had no effect: its value is {is}").into());
        }
    }
    Ok(())
}

/// Returns the value that SQLite reports after a PRAGMA is set to `value`, such as 2 for FULL.
fn read_back(name: &str, value: &str) -> String {
    let number = match (name, value) {
        ("synchronous" | "auto_vacuum", "OFF" | "NONE") => "0",
        ("synchronous", "NORMAL") | ("auto_vacuum", "FULL") => "1",
        ("synchronous", "FULL") | ("temp_store", "MEMORY") => "2",
        _ => return value.to_ascii_lowercase(),
    };
    number.to_owned()
}

/// Closes a connection and returns any error.
pub(crate) fn close(db: Connection) -> Result {
    db.close().map_err(|(_, error)| error.into())
}

/// Returns the digest of a query's rows.
pub(crate) fn digest(db: &Connection, query: &str) -> Result<Digest> {
    let mut statement = db.prepare(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut digest = Digest::default();
    while let Some(row) = rows.next()? {
        let mut hash = RowHash::NEW;
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => hash.null(),
                ValueRef::Integer(int) => hash.int(int),
                ValueRef::Real(real) => hash.real(real),
                ValueRef::Text(text) => hash.text(text),
                ValueRef::Blob(blob) => hash.blob(blob),
            }
        }
        digest.add(hash);
    }
    Ok(digest)
}

/// Checks the integrity of a database unless it is large.
pub(crate) fn sound(db: &Connection) -> Result {
    let bytes: u64 =
        db.query_row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [], |row| {
            row.get::<_, i64>(0).map(|bytes| bytes as u64)
        })?;
    if bytes > INTEGRITY_BYTES_MAX {
        return Ok(());
    }
    let said: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said == "ok" { Ok(()) } else { Err(format!("the integrity check failed: {said}").into()) }
}

/// Deletes a row of a table if the case must lose one, which tests that the comparison notices it.
pub(crate) fn maybe_drop(db: &Connection, ground: &Ground<'_>, table: &str) -> Result {
    if !ground.must_drop() {
        return Ok(());
    }
    let key: Option<String> = db
        .query_row(&format!("SELECT name FROM pragma_table_xinfo('{table}') WHERE pk = 1"), [], |row| {
            row.get(0)
        })
        .ok();
    let without_rowid: bool =
        db.query_row("SELECT wr FROM pragma_table_list WHERE name = ?1", [table], |row| row.get(0))?;
    let key = key.filter(|_| without_rowid).unwrap_or_else(|| "rowid".to_owned());
    let dropped =
        db.execute(&format!("DELETE FROM {table} WHERE {key} = (SELECT max({key}) FROM {table})"), [])?;
    if dropped == 1 { Ok(()) } else { Err(format!("{dropped} rows of {table} were dropped").into()) }
}

/// Returns the size of a file in bytes. Callers close the database first, so that nothing is left in a WAL.
pub(crate) fn file_bytes(file: &Path) -> Result<u64> {
    Ok(file.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pragma_without_effect_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.db");
        for pragmas in
            [UNSAFE, BILLION, WAL_NORMAL, &[("auto_vacuum", "FULL")], &[("wal_autocheckpoint", "0")]]
        {
            close(open(&file, pragmas).unwrap()).unwrap();
            std::fs::remove_file(&file).ok();
        }
        assert!(open(&file, &[("auto_vacum", "FULL")]).is_err());
        let db = open(&file, &[]).unwrap();
        db.execute_batch("CREATE TABLE t (x)").unwrap();
        // `auto_vacuum` can't be changed once a table exists.
        assert!(set(&db, &[("auto_vacuum", "FULL")]).is_err());
    }

    #[test]
    fn maybe_drop_deletes_one_row_and_only_if_requested() {
        let folder = tempfile::tempdir().unwrap();
        for (create, drops) in [
            ("CREATE TABLE t (x)", true),
            ("CREATE TABLE t (x PRIMARY KEY) WITHOUT ROWID", true),
            ("CREATE TABLE t (x)", false),
        ] {
            let db = Connection::open_in_memory().unwrap();
            db.execute_batch(&format!("{create}; INSERT INTO t VALUES (1), (2), (3)")).unwrap();
            let ground = Ground::new(folder.path(), drops);
            maybe_drop(&db, &ground, "t").unwrap();
            maybe_drop(&db, &ground, "t").unwrap();
            assert_eq!(digest(&db, "SELECT x FROM t").unwrap().rows, if drops { 2 } else { 3 });
        }
    }
}
