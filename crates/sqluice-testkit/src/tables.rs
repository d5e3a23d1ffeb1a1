//! Random tables of all kinds that SQLite creates, and the rows that SQLite reads from them.

use std::path::Path;

use fastrand::Rng;
use rusqlite::Connection;
use rusqlite::types::Value;

/// A value that equals another only if class and all bits are equal.
#[derive(Clone, Debug, PartialEq)]
pub enum Exact {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// The bits of a float.
    Real(u64),
    /// Text.
    Text(Vec<u8>),
    /// A BLOB.
    Blob(Vec<u8>),
}

/// Returns the rows of a statement.
///
/// # Panics
/// If SQLite can't run the statement.
pub fn by_sqlite(db: &Path, sql: &str) -> Vec<Vec<Exact>> {
    let connection = Connection::open(db).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let value = |column| {
            Ok(match row.get(column)? {
                Value::Null => Exact::Null,
                Value::Integer(int) => Exact::Int(int),
                Value::Real(real) => Exact::Real(real.to_bits()),
                Value::Text(text) => Exact::Text(text.into_bytes()),
                Value::Blob(blob) => Exact::Blob(blob),
            })
        };
        (0..columns).map(value).collect::<rusqlite::Result<Vec<_>>>()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

const TYPES: [&str; 12] = [
    "",
    "INTEGER",
    "INT",
    "REAL",
    "DOUBLE",
    "TEXT",
    "VARCHAR(10)",
    "BLOB",
    "NUMERIC",
    "DECIMAL(10,2)",
    "DATE",
    "BOOLEAN",
];
const STRICT_TYPES: [&str; 6] = ["INTEGER", "INT", "REAL", "TEXT", "BLOB", "ANY"];
const DEFAULTS: [&str; 14] = [
    "",
    "",
    "7",
    "-1",
    "2.5",
    "'text'",
    "'12'",
    "x'00ff'",
    "NULL",
    "1e300",
    "+5",
    "TRUE",
    "word",
    "'\u{e4}\u{20ac}'",
];

/// Returns a random value as an SQL literal. Many of the values fit the declared type; in a STRICT table, all do.
fn literal(rng: &mut Rng, declared: &str, strict: bool) -> String {
    let kind = match (strict, declared) {
        (true, "INTEGER" | "INT") => 1,
        (true, "REAL") => 2,
        (true, "TEXT") => 3,
        (true, "BLOB") => 4,
        _ => rng.u8(0..=4),
    };
    match kind {
        0 => "NULL".to_owned(),
        1 => {
            let bits = rng.u32(0..64);
            (rng.i64(..) >> bits).to_string().replace("-9223372036854775808", "0")
        }
        2 => {
            let reals =
                ["1.5", "-0.0", "5.0", "1e999", "-1e999", "1e-320", "140737488355328.0", "0.1", "1e15"];
            rng.choice(reals).unwrap().to_owned()
        }
        3 => {
            let texts = ["", "a", "12", "1e3", "\u{e4}\u{20ac}\u{1f600}", "2024-02-29", "it''s"];
            let times = if rng.u8(0..20) == 0 { rng.usize(0..3000) } else { 1 };
            format!("'{}'", rng.choice(texts).unwrap().repeat(times))
        }
        _ => format!("x'{}'", "00ff7f".repeat(rng.usize(0..4))),
    }
}

/// Creates a random table with rows in a new database with a random page size, encoding and journal mode. Returns the name of the table.
///
/// # Panics
/// If SQLite can't create the table.
pub fn make_table(rng: &mut Rng, db: &Path) -> String {
    let connection = Connection::open(db).unwrap();
    let page_bytes = 512 << rng.u32(0..4);
    let encoding = *rng.choice(&["UTF-8", "UTF-16le", "UTF-16be"]).unwrap();
    let vacuum = rng.u8(0..3);
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {page_bytes}; PRAGMA encoding = '{encoding}'; PRAGMA auto_vacuum = {vacuum};"
        ))
        .unwrap();
    if rng.bool() {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        connection.execute_batch("PRAGMA wal_autocheckpoint = 5").unwrap();
    }
    let (strict, without_rowid) = (rng.u8(0..4) == 0, rng.u8(0..3) == 0);
    let types = if strict { &STRICT_TYPES[..] } else { &TYPES[..] };
    let mut declared: Vec<&str> = (0..rng.usize(1..6)).map(|_| *rng.choice(types).unwrap()).collect();
    let mut columns: Vec<String> =
        declared.iter().enumerate().map(|(index, declared)| format!("c{index} {declared}")).collect();
    let mut constraint = String::new();
    if without_rowid {
        // Any column may be part of the key, even twice, with different collations.
        let first = rng.usize(0..columns.len());
        let second = rng.usize(0..columns.len());
        let collation = rng.choice(["", " COLLATE NOCASE", " DESC"]).unwrap();
        constraint = format!(", PRIMARY KEY (c{second}{collation}, c{first} COLLATE BINARY, k)");
        columns.push("k INTEGER".to_owned());
        declared.push("INTEGER");
    } else if rng.bool() {
        let at = rng.usize(0..=columns.len());
        columns.insert(at, "k INTEGER PRIMARY KEY".to_owned());
        declared.insert(at, "INTEGER");
    }
    let mut computed = String::new();
    match rng.u8(0..6) {
        0 => computed = ", s AS (typeof(c0) || 'x') STORED".to_owned(),
        1 => computed = ", v AS (typeof(c0) || 'x')".to_owned(),
        _ => {}
    }
    if strict {
        computed = computed.replace(" AS", " TEXT AS");
    }
    let options = match (strict, without_rowid) {
        (true, true) => "STRICT, WITHOUT ROWID",
        (true, false) => "STRICT",
        (false, true) => "WITHOUT ROWID",
        (false, false) => "",
    };
    let name = rng.choice(["t", "a \"b\" c", "select"]).unwrap().to_owned();
    let (table, list) = (quoted(&name), columns.join(", "));
    connection
        .execute_batch(&format!("CREATE TABLE {table} ({list}{computed}{constraint}) {options}"))
        .unwrap();
    let mut names: Vec<String> =
        columns.iter().map(|column| column.split(' ').next().unwrap().to_owned()).collect();
    let mut key = 0;
    for round in 0..3 {
        if round > 0 && rng.bool() {
            let (added, default) = (*rng.choice(types).unwrap(), *rng.choice(&DEFAULTS).unwrap());
            let default = if default.is_empty() { String::new() } else { format!("DEFAULT {default}") };
            // In a STRICT table, a DEFAULT of another type than the column's is an error, and the column is not added.
            let sql = format!("ALTER TABLE {table} ADD COLUMN n{round} {added} {default}");
            if connection.execute_batch(&sql).is_ok() {
                names.push(format!("n{round}"));
                declared.push(added);
            }
        }
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..rng.usize(0..150) {
            key += rng.i64(1..4);
            let values: Vec<String> = names
                .iter()
                .zip(&declared)
                .map(|(name, declared)| match name.as_str() {
                    "k" => key.to_string(),
                    // In a WITHOUT ROWID table, the columns of the key must not be NULL.
                    _ if without_rowid => literal(rng, declared, strict).replace("NULL", "'1'"),
                    _ => literal(rng, declared, strict),
                })
                .collect();
            let sql =
                format!("INSERT OR IGNORE INTO {table} ({}) VALUES ({})", names.join(","), values.join(","));
            // A STRICT table may refuse the row, which is then missing.
            let _ = connection.execute_batch(&sql);
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    if rng.bool() {
        let rowid = if without_rowid { "k" } else { "rowid" };
        connection.execute_batch(&format!("DELETE FROM {table} WHERE {rowid} % 3 = 1")).unwrap();
    }
    name
}
