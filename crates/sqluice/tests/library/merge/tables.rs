//! The methods of a merge of tables, and indexes, views, sequences and statistics in the result.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice::merge::Merge;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;

use super::twin::{integrity, open};
use super::{Made, twin};

fn numbers(table: &str, from: i64, to: i64) -> String {
    format!(
        "WITH n (i) AS (SELECT {from} UNION ALL SELECT i + 1 FROM n WHERE i < {to}) INSERT INTO {table} SELECT i, 'text ' || i FROM n;"
    )
}

#[test]
fn leaf_pages_of_tables_with_disjoint_rowids_are_copied_unchanged() {
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);";
    // The second source has the smaller rowids.
    let made = Made::by(&[
        &format!("{table} {}", numbers("t", 50_001, 90_000)),
        &format!("{table} {}", numbers("t", 1, 50_000)),
    ]);
    let report = made.run(&made.merge()).unwrap();
    let table = &report.tables[0];
    assert_eq!((table.method, table.rows, table.sources), ("concatenated", 90_000, 2));
    assert!(table.relocated_leaves + 4 >= table.leaf_pages, "{table:?}");
    assert_eq!((report.indexes[0].entries, report.indexes[0].sorted), (90_000, false));
    assert_eq!(
        made.query("SELECT count(*), min(id), max(id), total(id) FROM t"),
        ["90000 1 90000 4050045000"]
    );
    let compact = made.merge().compact(true).write(WriteOptions::new().overwrite(true));
    assert_eq!(made.run(&compact).unwrap().relocated_leaves, 0);
}

#[test]
fn rows_of_tables_without_a_rowid_column_get_new_rowids_in_a_merge() {
    let script =
        "CREATE TABLE t (a, b UNIQUE); CREATE INDEX i ON t (a DESC); CREATE INDEX j ON t (a) WHERE b > 5;";
    let one = format!("{script} INSERT INTO t VALUES (1, 10), (2, 20), (3, NULL);");
    let other =
        format!("{script} INSERT INTO t VALUES (1, 11), (2, 21), (3, NULL); DELETE FROM t WHERE a = 1;");
    let made = Made::by(&[&one, &other, &one.replace(", 10)", ", 12)").replace(", 20)", ", 22)")]);
    let report = made.run(&made.merge()).unwrap();
    let table = &report.tables[0];
    assert_eq!((table.method, table.rows), ("renumbered", 8));
    assert_eq!(table.renumbered.iter().map(|source| source.added).collect::<Vec<_>>(), [2, 5]);
    assert_eq!(
        made.query("SELECT rowid, a, b FROM t"),
        ["1 1 10", "2 2 20", "3 3 NULL", "4 2 21", "5 3 NULL", "6 1 12", "7 2 22", "8 3 NULL"]
    );
    assert_eq!(made.query("SELECT rowid FROM t INDEXED BY i WHERE a = 2"), ["2", "4", "7"]);
}

#[test]
fn a_merge_keeps_the_largest_autoincrement_number_and_drops_or_recreates_statistics() {
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, b); CREATE INDEX i ON t (b);";
    let made = Made::by(&[
        &format!("{table} INSERT INTO t VALUES (1, 1), (900, 2); DELETE FROM t WHERE id = 900; ANALYZE;"),
        &format!("{table} INSERT INTO t VALUES (5, 1), (70, 2);"),
        "CREATE TABLE other (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO other VALUES (7);",
    ]);
    let report = made.run(&made.merge()).unwrap();
    assert_eq!(made.query("SELECT name, seq FROM sqlite_sequence ORDER BY name"), ["other 7", "t 900"]);
    assert_eq!(made.query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'"), ["0"]);
    assert!(report.left_out.iter().any(|object| object.contains("sqlite_stat1")), "{report:?}");
    let analyzed = made.merge().write(WriteOptions::new().analyze(true).overwrite(true));
    made.run(&analyzed).unwrap();
    assert_eq!(made.query("SELECT stat FROM sqlite_stat1 WHERE idx = 'i'"), ["3 2"]);
}

#[test]
fn columns_that_a_source_lacks_get_their_default_if_columns_are_added() {
    let made = Made::by(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 'x'); ALTER TABLE t ADD COLUMN c DEFAULT 7;",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b TEXT DEFAULT 'none'); CREATE INDEX i ON t (b); INSERT INTO t VALUES (2, 'y', 'z');",
    ]);
    let message = made.refused(&made.merge());
    assert!(
        message.contains("1.db has CREATE TABLE t (id INTEGER PRIMARY KEY, a, c DEFAULT 7)"),
        "{message}"
    );
    assert!(message.contains("2.db has CREATE TABLE t (id INTEGER PRIMARY KEY, a, b TEXT"), "{message}");
    let report = made.run(&made.merge().add_columns(true)).unwrap();
    assert_eq!(report.tables[0].method, "inserted");
    assert_eq!(made.query("SELECT id, a, b, c FROM t"), ["1 x none 7", "2 y z 7"]);
    assert_eq!(made.query("SELECT id FROM t INDEXED BY i WHERE b = 'z'"), ["2"]);
}

#[test]
fn rows_from_before_a_column_was_added_have_its_default_after_a_merge() {
    let script = "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 'x'); ALTER TABLE t ADD COLUMN c DEFAULT 7;";
    let made = Made::by(&[script, &script.replace("(1,", "(2,")]);
    let report = made.run(&made.merge()).unwrap();
    assert_eq!(report.tables[0].method, "concatenated");
    assert_eq!(made.query("SELECT * FROM t"), ["1 x 7", "2 x 7"]);
}

#[test]
fn indexes_of_a_table_that_a_merge_inserts_have_all_entries() {
    let table = |offset: i64| {
        format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT COLLATE NOCASE, c AS (length(b)));
             CREATE INDEX i ON t (lower(b) DESC, id); CREATE INDEX j ON t (b) WHERE id % 3 = 0; CREATE INDEX k ON t (c); CREATE UNIQUE INDEX u ON t (id + 1);
             {}",
            numbers("t", offset, offset + 5000)
        )
    };
    let made = Made::by(&[&table(10_001), &table(1)]);
    let report = made.run(&made.merge().source_column("origin".to_owned())).unwrap();
    assert_eq!((report.tables[0].method, report.tables[0].rows), ("inserted", 10_002));
    for index in ["i", "j", "k", "u"] {
        let entries = |sql: &str| made.query(&format!("{sql} ORDER BY 1"));
        let made_again =
            format!("SELECT id FROM t NOT INDEXED WHERE {}", if index == "j" { "id % 3 = 0" } else { "1" });
        let indexed = format!(
            "SELECT id FROM t INDEXED BY {index} WHERE {}",
            match index {
                "i" => "lower(b) > ''",
                "j" => "id % 3 = 0 AND b > ''",
                "k" => "c > 0",
                _ => "id + 1 > 0",
            }
        );
        assert_eq!(entries(&indexed), entries(&made_again), "{index}");
    }
}

#[test]
fn a_merge_adds_a_column_with_the_name_of_the_source_on_request() {
    let made = Made::by(&[
        "CREATE TABLE t (a); INSERT INTO t VALUES (1);",
        "CREATE TABLE t (a); INSERT INTO t VALUES (2);",
    ]);
    made.run(&made.merge().source_column("origin".to_owned())).unwrap();
    let expected: Vec<String> = made
        .sources
        .iter()
        .zip(1..)
        .map(|(source, number)| format!("{number} {}", source.display()))
        .collect();
    assert_eq!(made.query("SELECT a, origin FROM t"), expected);
}

#[test]
fn an_index_that_one_source_lacks_has_the_rows_of_all_sources() {
    let made = Made::by(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 'x');",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (2, 'y'); CREATE INDEX i ON t (a);",
    ]);
    let report = made.run(&made.merge()).unwrap();
    assert!(report.tables[0].why.as_ref().unwrap().contains("has no index i"), "{report:?}");
    assert_eq!(made.query("SELECT id FROM t INDEXED BY i WHERE a > ''"), ["1", "2"]);
}

#[test]
fn a_merge_copies_views_and_triggers_and_refuses_different_views_of_one_name() {
    let made = Made::by(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT 1; INSERT INTO t VALUES (1);",
        "create view V as select 1; CREATE TABLE u (x); INSERT INTO u VALUES (5);
         CREATE TRIGGER fires AFTER INSERT ON u BEGIN SELECT 1; END; PRAGMA user_version = 9;",
        "",
    ]);
    let report = made.run(&made.merge()).unwrap();
    assert_eq!(
        made.query("SELECT type, name FROM sqlite_schema"),
        ["table t", "view v", "table u", "trigger fires"]
    );
    assert_eq!((report.rows, report.others), (2, 2));
    Connection::open(&made.sources[1])
        .unwrap()
        .execute_batch("DROP VIEW v; CREATE VIEW v AS SELECT 2")
        .unwrap();
    let merge = made.merge().write(WriteOptions::new().overwrite(true));
    let error = merge.run().unwrap_err().to_string();
    assert!(error.contains("view v is declared differently") && error.contains("SELECT 2"), "{error}");
}

#[test]
fn a_merge_sorts_descending_indexes_of_an_old_file_format() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["old.db", "new.db", "all.db"].map(|name| folder.path().join(name));
    for (path, is_old) in paths.iter().zip([true, false]) {
        let connection = Connection::open(path).unwrap();
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_LEGACY_FILE_FORMAT, is_old).unwrap();
        let first = if is_old { 1 } else { 3001 };
        let script = format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b DESC); {}
             CREATE TABLE only{first} (a, b); CREATE INDEX j{first} ON only{first} (b DESC, a); INSERT INTO only{first} SELECT * FROM t;",
            numbers("t", first, first + 2999)
        );
        connection.execute_batch(&script).unwrap();
    }
    let report = Merge::new(&paths[2], &paths[..2]).run().unwrap();
    let sorted: Vec<(&str, bool)> =
        report.indexes.iter().map(|index| (index.name.as_str(), index.sorted)).collect();
    assert_eq!(sorted, [("i", true), ("j1", true), ("j3001", false)]);
    assert_eq!(integrity(&paths[2]), "ok");
}

#[test]
fn a_merge_sorts_an_index_that_is_out_of_order_in_one_source() {
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT);";
    let changed = "CREATE INDEX i ON t (b COLLATE NOCASE); PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (b)' WHERE name = 'i';";
    let mixed = numbers("t", 1, 20_000).replace("'text '", "CASE i % 2 WHEN 0 THEN 'a' ELSE 'B' END");
    let made = Made::by(&[
        &format!("{table} {mixed} {changed}"),
        &format!("{table} CREATE INDEX i ON t (b); {}", numbers("t", 20_001, 20_100)),
    ]);
    assert_ne!(integrity(&made.sources[0]), "ok");
    let options = WriteOptions::new().threads(2).tune(|tuning| tuning.chunk_bytes = 64 << 10);
    let report = made.run(&made.merge().write(options)).unwrap();
    assert_eq!((report.indexes[0].sorted, report.indexes[0].entries), (true, 20_100));
}

#[test]
fn an_existing_target_of_a_merge_is_the_first_source() {
    let script = "CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t (b);";
    let made = Made::by(&[
        &format!("PRAGMA journal_mode = wal; {script} INSERT INTO t VALUES (1, 'x');"),
        &format!("{script} INSERT INTO t VALUES (2, 'y');"),
    ]);
    let merge = Merge::new(&made.sources[0], &made.sources[1..]);
    assert!(merge.adds_to_target());
    assert!(merge.prepare(&Context::default()).unwrap().plan().adds_to_target);
    let report = merge.run().unwrap();
    assert_eq!(report.sources.len(), 2);
    assert_eq!(twin::content(&open(&made.sources[0]))["t"], ["1, 'x'", "2, 'y'"]);
    assert_eq!(integrity(&made.sources[0]), "ok");
    let mode: String = open(&made.sources[0]).query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let analyzed = Merge::new(&made.sources[0], [&made.target]).write(WriteOptions::new().analyze(true));
    Connection::open(&made.target)
        .unwrap()
        .execute_batch(&format!("{script} INSERT INTO t VALUES (3, 'z');"))
        .unwrap();
    analyzed.run().unwrap();
    assert_eq!(integrity(&made.sources[0]), "ok");
    let mode: String = open(&made.sources[0]).query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert!(!made.sources[0].with_file_name("all.db-wal").exists());
    // The second merge finds the rows of the second source in the target.
    let error = merge.run().unwrap_err().to_string();
    assert!(error.contains("t.a = 2") && error.contains("1.db") && error.contains("2.db"), "{error}");
    assert_eq!(twin::content(&open(&made.sources[0]))["t"].len(), 3);
    let user = open(&made.sources[0]);
    user.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    let busy = merge.write(WriteOptions::new().busy_timeout(std::time::Duration::ZERO));
    assert!(busy.run().is_err());
}
