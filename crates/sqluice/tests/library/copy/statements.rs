//! The SQL files that a copy for D1 consists of make the same database when they are run.

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::copy::{Copy, Purpose};

/// Runs all files as D1 does: a file is one script.
fn import(folder: &std::path::Path) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        connection.execute_batch(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    connection
}

/// Returns kinds, names and statements of all objects, and all rows with their rowids.
fn all(connection: &Connection) -> (Vec<String>, Vec<String>) {
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let schema = texts(
        "SELECT type || ' ' || name || ' ' || ifnull(trim(sql, char(10)), '') FROM sqlite_schema ORDER BY 1",
    );
    // A comment without an end in the schema is closed in the SQL files, so a closing `*/` at the end does not count.
    let without_end = |sql: String| sql.trim_end().trim_end_matches("*/").trim_end().to_owned();
    let schema = schema.into_iter().map(without_end).collect();
    let tables =
        texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 't%' ORDER BY name");
    let rows = tables.iter().flat_map(|table| {
        let rowid = if table.starts_with("taken") {
            "0"
        } else if table == "t_oid" {
            "_rowid_"
        } else {
            "rowid"
        };
        texts(&format!("SELECT '{table} ' || {rowid} || ' ' || quote(a) FROM {table} ORDER BY 1"))
    });
    let rows = rows.collect();
    (schema, rows)
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(60))]

    #[test]
    fn statements_for_d1_keep_all_objects_rows_and_rowids(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.db");
        let connection = Connection::open(&source).unwrap();
        connection.execute_batch("PRAGMA synchronous = OFF; BEGIN").unwrap();
        let comment = |rng: &mut Rng| *rng.choice(&["", " -- end", " /* end */", " /* end", " -- it's; one\n-- two", "\n", " /*/"]).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t (a); CREATE TABLE t_key (id INTEGER PRIMARY KEY, a); CREATE TABLE t_auto (id INTEGER PRIMARY KEY AUTOINCREMENT, a);
                 CREATE TABLE t_oid (a, rowid TEXT, oid INT REFERENCES t_key);
                 CREATE TABLE taken (a, rowid, oid, _rowid_)",
            )
            .unwrap();
        for number in 0..rng.usize(1..12) {
            let end = comment(&mut rng);
            let statement = match rng.u8(0..4) {
                0 => format!("CREATE VIEW v{number} AS SELECT a FROM t{end}"),
                1 => format!("CREATE INDEX i{number} ON t (a){end}"),
                2 => format!("CREATE INDEX i{number} ON t_oid (a) WHERE a > 5{end}"),
                _ => format!("CREATE TRIGGER g{number} AFTER INSERT ON t BEGIN SELECT 1; -- end\n END{end}"),
            };
            connection.execute_batch(&statement).unwrap();
        }
        for table in ["t", "t_key", "t_auto", "t_oid", "taken"] {
            for _ in 0..rng.usize(0..20) {
                let rowid = match table {
                    "t_key" | "t_auto" => "id",
                    "t_oid" => "_rowid_",
                    "taken" => "_rowid_",
                    _ => "rowid",
                };
                let sql = format!("INSERT OR IGNORE INTO {table} ({rowid}, a) VALUES ({}, {})", rng.i64(-50..1000), rng.i64(0..9));
                connection.execute_batch(&sql).unwrap();
            }
        }
        connection.execute_batch("COMMIT").unwrap();
        let target = folder.path().join("sql");
        Copy::new(&source, &target).purpose(Purpose::D1).run().unwrap();
        let (one, other) = (all(&connection), all(&import(&target)));
        prop_assert_eq!(one.0, other.0);
        prop_assert_eq!(one.1, other.1);
    }
}
