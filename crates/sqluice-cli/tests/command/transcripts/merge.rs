//! Transcripts of `merge`: plans, reports, conflicts, and errors.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::support::{folder, integrity, names, run};
use crate::transcript::matches;

fn execute(db: &Path, sql: &str) {
    Connection::open(db).unwrap().execute_batch(sql).unwrap();
}

/// Makes a shop with ten customers and ten orders, whose keys begin at `first`, and a log without keys.
fn shop(folder: &Path, name: &str, first: i64) {
    let sql = format!(
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customer, day TEXT);
        CREATE INDEX by_day ON orders (day);
        CREATE TABLE log (line TEXT);
        CREATE VIEW sale AS SELECT name, day FROM orders JOIN customer ON customer.id = customer;
        WITH n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n LIMIT 10)
        INSERT INTO customer SELECT i, '{name} ' || i FROM n;
        INSERT INTO orders SELECT id, id, date('2026-01-01', id || ' days') FROM customer;
        INSERT INTO log SELECT name FROM customer"
    );
    execute(&folder.join(name), &sql);
}

/// Returns the value of a query as text.
fn value(db: &Path, sql: &str) -> String {
    let db = Connection::open(db).unwrap();
    db.query_row(&format!("SELECT CAST(({sql}) AS TEXT)"), [], |row| row.get(0)).unwrap()
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM customer) || '|' || (SELECT count(*) FROM sale) || '|' || \
    (SELECT count(*) FROM log)";

#[test]
fn the_report_of_a_merge_says_how_each_table_was_merged() {
    let folder = folder();
    let folder = folder.path();
    shop(folder, "a.db", 1);
    shop(folder, "b.db", 11);
    let ran = run(folder, ["merge", "all.db", "a.db", "b.db"]).ok();
    let expected = "\
Merged 2 databases into all.db: 60 rows of 3 tables and 1 index, 45.1 kB (sources: 41.0 kB) in [..]s ([..] rows/s)
  customer: 20 rows of 2 databases, one after another
  orders: 20 rows of 2 databases, one after another
  log: 20 rows of 2 databases, one after another, with new rowids
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let all = folder.join("all.db");
    assert_eq!((value(&all, COUNTS), integrity(&all)), ("20|20|20".to_owned(), "ok".to_owned()));
    assert_eq!(names(folder), ["a.db", "all.db", "b.db"]);

    let ran = run(folder, ["merge", "again.db", "[ab].db", "-v", "-j2", "--compact"]).ok();
    let expected = "\
Merged 2 databases into again.db: 60 rows of 3 tables and 1 index, [..]s ([..] rows/s)
  customer: 20 rows of 2 databases, one after another
    2 leaf pages, 0 copied as they are
  orders: 20 rows of 2 databases, one after another
    2 leaf pages, 0 copied as they are
  log: 20 rows of 2 databases, one after another, with new rowids
    the rowids of b.db are raised by 10
    2 leaf pages, 0 copied as they are
  a.db: 20.5 kB, journal mode delete
  b.db: 20.5 kB, journal mode delete
  2 threads, [..] writes, 11 pages of 4096 bytes
  0 leaf pages copied as they are, 7 rewritten
  prepare [..]s, copy [..]s, sync [..]s
  by_day: 20 entries
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    assert_eq!(run(folder, ["merge", "quiet.db", "a.db", "b.db", "-q"]).ok().stderr, "");

    let report = run(folder, ["merge", "json.db", "a.db", "b.db", "--json"]).ok().json();
    assert_eq!((&report["rows"], &report["tables"][2]["method"]), (&60.into(), &"renumbered".into()));
    assert_eq!((&report["sources"][1]["path"], &report["others"]), (&"b.db".into(), &1.into()));
    let bytes = fs::metadata(folder.join("json.db")).unwrap().len();
    assert_eq!((&report["bytes"], &report["left_out_rows"]), (&bytes.into(), &0.into()));
}

#[test]
fn the_plan_of_a_merge_shows_the_method_of_each_table_and_the_databases_whose_writers_wait() {
    let folder = folder();
    let folder = folder.path();
    shop(folder, "a.db", 1);
    shop(folder, "b.db", 6);
    let args = ["merge", "all.db", "a.db", "b.db", "--dry-run"];
    let ran = run(folder, args).ok();
    let expected = "\
2 databases into all.db: 40.960 kB
other processes wait with their commits to a.db, b.db
table customer of 2 sources: row by row, by their keys
table orders of 2 sources: row by row, by their keys; indexes merged in their order
table log of 2 sources: one source after another, with new rowids
";
    assert_eq!(ran.stdout, expected, "{ran:?}");
    let flags =
        ["--renumber", "customer", "--renumber", "orders", "--rewrite-references", "--exclude-table", "log"];
    let ran = run(folder, [&args[..], &flags, &["--analyze"]].concat()).ok();
    let expected = "\
2 databases into all.db: 40.960 kB
other processes wait with their commits to a.db, b.db
table customer of 2 sources: one source after another, with new keys
  5 is added to the keys of b.db
table orders of 2 sources: one source after another, with new keys; indexes merged in their order
  5 is added to the keys of b.db
  column customer follows new numbers
left out: table log
ANALYZE is run
";
    assert_eq!(ran.stdout, expected, "{ran:?}");
    let plan = run(folder, [&args[..], &["--json"]].concat()).ok().json();
    assert_eq!(
        (&plan["adds_to_target"], &plan["tables"][0]["method"]),
        (&false.into(), &"interleaved".into())
    );
    execute(&folder.join("a.db"), "PRAGMA journal_mode = WAL");
    let ran = run(folder, ["merge", "a.db", "b.db", "--dry-run"]).ok();
    assert!(
        ran.stdout.contains("a.db is the first of them and is replaced: no other process may use it\n"),
        "{ran:?}"
    );
    assert!(!folder.join("all.db").exists());
}

#[test]
fn the_error_about_differently_declared_tables_names_the_flag_that_may_help() {
    let folder = folder();
    let folder = folder.path();
    execute(&folder.join("a.db"), "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
    execute(&folder.join("b.db"), "CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (2, 'two')");
    let ran = run(folder, ["merge", "all.db", "a.db", "b.db"]);
    let expected = "\
error: table t is declared differently: a.db has CREATE TABLE t (a INT); b.db has CREATE TABLE t (a INT, b TEXT)

hint: declare it the same, or, if one of them only lacks columns, let them be added: --add-columns
      sqluice merge all.db a.db b.db --add-columns
";
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), expected), "{ran:?}");
    assert_eq!(names(folder), ["a.db", "b.db"]);
    let ran =
        run(folder, ["merge", "all.db", "a.db", "b.db", "--add-columns", "--source-column", "origin"]).ok();
    assert!(
        ran.stderr.contains("  t: 2 rows of 2 databases, inserted by SQLite: a column is added\n"),
        "{ran:?}"
    );
    let rows = "SELECT group_concat(a || ifnull(b, '-') || origin, ' ') FROM t";
    assert_eq!(value(&folder.join("all.db"), rows), "1-a.db 2twob.db");
}

#[test]
fn the_error_about_a_repeated_key_names_the_key_and_the_flags_that_help() {
    let folder = folder();
    let folder = folder.path();
    shop(folder, "a.db", 1);
    shop(folder, "b.db", 6);
    let ran = run(folder, ["merge", "all.db", "a.db", "b.db"]);
    let expected = "\
error: customer.id = 6 is in both a.db and b.db

hint: --on-conflict ignore keeps the first row, --on-conflict replace the last; --renumber customer gives new numbers
";
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), expected), "{ran:?}");
    let args = ["merge", "all.db", "a.db", "b.db", "--keep-rowids", "--on-conflict", "abort"];
    let ran =
        run(folder, [&args[..], &["--exclude-table", "customer", "--exclude-table", "orders"]].concat());
    let hint = "; without --keep-rowids rows get new rowids\n";
    assert!(
        ran.stderr.starts_with("error: log.rowid = 1 is in both") && ran.stderr.ends_with(hint),
        "{ran:?}"
    );
    assert_eq!(names(folder), ["a.db", "b.db"]);
    for (which, name) in [("ignore", "a.db 7"), ("replace", "b.db 7")] {
        let ran =
            run(folder, ["merge", "all.db", "a.db", "b.db", "--overwrite", "--on-conflict", which]).ok();
        let said = "\
  customer: 15 rows of 2 databases, merged by their keys
    5 rows were left out, because other rows have their keys
";
        assert!(ran.stderr.contains(said), "{ran:?}");
        assert_eq!(value(&folder.join("all.db"), "SELECT name FROM customer WHERE id = 7"), name);
    }
}

#[test]
fn merge_refuses_to_renumber_a_table_if_references_to_it_would_not_be_rewritten() {
    let folder = folder();
    let folder = folder.path();
    shop(folder, "a.db", 1);
    shop(folder, "b.db", 6);
    let args = ["merge", "all.db", "a.db", "b.db", "--renumber", "customer", "--renumber", "orders"];
    let ran = run(folder, args);
    let expected = "\
error: orders.customer refers to table customer, which is renumbered

hint: let it follow: --rewrite-references
      sqluice merge all.db a.db b.db --renumber customer --renumber orders --rewrite-references
";
    assert_eq!((ran.code(), &*ran.stderr), (Some(2), expected), "{ran:?}");
    assert_eq!(names(folder), ["a.db", "b.db"]);
    let ran = run(folder, [&args[..], &["--rewrite-references"]].concat()).ok();
    let said = "\
  customer: 20 rows of 2 databases, one after another, with new keys
    the keys of b.db are raised by 5
  orders: 20 rows of 2 databases, one after another, with new keys
    the keys of b.db are raised by 5
    column customer follows the new numbers
";
    assert!(ran.stderr.contains(said), "{ran:?}");
    let all = folder.join("all.db");
    assert_eq!((value(&all, COUNTS), integrity(&all)), ("20|20|20".to_owned(), "ok".to_owned()));
    let of_b = "SELECT min(orders.id) || '|' || count(*) FROM orders JOIN customer ON customer.id = customer \
        WHERE name LIKE 'b.db%'";
    assert_eq!(value(&all, of_b), "11|10");
}

#[test]
fn flags_decide_about_columns_that_seem_to_refer_to_renumbered_keys() {
    let folder = folder();
    let folder = folder.path();
    for name in ["a.db", "b.db"] {
        let sql = "CREATE TABLE places (id INTEGER PRIMARY KEY); CREATE TABLE visits (\"the place\" INT);
            INSERT INTO places VALUES (1), (2); INSERT INTO visits VALUES (1), (2)";
        execute(&folder.join(name), sql);
    }
    let args = ["merge", "all.db", "a.db", "b.db", "--renumber", "places"];
    let ran = run(folder, args);
    let expected = "\
error: table places gets new numbers, and these columns seem to refer to it, but are not declared with REFERENCES: visits.\"the place\" (4 of 4 values are keys of places)

hint: say for each column if it is a reference: --reference 'visits.\"the place\"=places.id' or --no-reference 'visits.\"the place\"'
";
    assert_eq!((ran.code(), &*ran.stderr), (Some(2), expected), "{ran:?}");
    assert_eq!(names(folder), ["a.db", "b.db"]);
    let reference = ["--reference", "visits.\"the place\"=places.id"];
    let ran = run(folder, [&args[..], &reference].concat()).ok();
    assert!(ran.stderr.contains("    column the place follows the new numbers\n"), "{ran:?}");
    assert_eq!(value(&folder.join("all.db"), "SELECT group_concat(\"the place\") FROM visits"), "1,2,3,4");
    let ran = run(folder, [&args[..], &["--overwrite", "--no-reference", "visits.the place"]].concat()).ok();
    assert!(!ran.stderr.contains("follows"), "{ran:?}");
}

#[test]
fn rows_whose_parents_are_left_out_are_an_error_or_kept_on_request() {
    let folder = folder();
    let folder = folder.path();
    for (name, key) in [("a.db", 1), ("b.db", 2)] {
        let sql = format!(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, mail UNIQUE); CREATE TABLE orders (customer REFERENCES customer);
            INSERT INTO customer VALUES ({key}, 'ann'); INSERT INTO orders VALUES ({key})"
        );
        execute(&folder.join(name), &sql);
    }
    let args = ["merge", "all.db", "a.db", "b.db", "--on-conflict", "ignore"];
    let ran = run(folder, args).failed(1, "1 row of orders (customer) to customer");
    assert!(
        ran.stderr
            .contains("hint: keep them, although the rows that they refer to are missing: --orphans keep;"),
        "{ran:?}"
    );
    let ran = run(folder, [&args[..], &["--orphans", "keep"]].concat()).ok();
    assert!(ran.stderr.contains("  orphans: 1 row of orders (customer) to customer\n"), "{ran:?}");
}

#[test]
fn merge_adds_to_an_existing_target_or_replaces_the_target_on_request() {
    let folder = folder();
    let folder = folder.path();
    for (mode, first) in [("delete", 11), ("wal", 21)] {
        if mode == "delete" {
            shop(folder, "all.db", 1);
        }
        execute(&folder.join("all.db"), &format!("PRAGMA journal_mode = {mode}"));
        let name = format!("{mode}.db");
        shop(folder, &name, first);
        let ran = run(folder, ["merge", "all.db", &name]).ok();
        let (before, now) = (3 * (first - 1), 3 * (first + 9));
        let expected = format!("  all.db had {before} rows before and has {now} now");
        assert_eq!(ran.stderr.lines().nth(1), Some(&*expected), "{ran:?}");
        let customers = format!("{0}|{0}|{0}", now / 3);
        assert_eq!(value(&folder.join("all.db"), COUNTS), customers, "{mode}");
        assert_eq!(integrity(&folder.join("all.db")), "ok", "{mode}");
    }
    assert_eq!(names(folder), ["all.db", "delete.db", "wal.db"]);

    let report = run(folder, ["merge", "all.db", "wal.db", "--on-conflict", "ignore", "--json"]).ok().json();
    assert_eq!(
        (&report["before"]["rows"], &report["left_out_rows"], &report["rows"]),
        (&90.into(), &20.into(), &100.into())
    );

    let ran = run(folder, ["merge", "all.db", "delete.db", "--overwrite"]).ok();
    assert!(ran.stderr.contains("  replaced all.db, which held 3 tables, 100 rows\n"), "{ran:?}");
    assert_eq!(value(&folder.join("all.db"), COUNTS), "10|10|10");

    let other = Connection::open(folder.join("all.db")).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM log").unwrap();
    let ran = run(folder, ["merge", "all.db", "wal.db", "--busy-timeout", "0"]).failed(1, "in use");
    assert!(ran.stderr.contains("\n\nhint: "), "{ran:?}");
    drop(other);

    // A file of no bytes is an empty database for SQLite.
    fs::write(folder.join("empty.db"), "").unwrap();
    let ran = run(folder, ["merge", "empty.db", "wal.db"]).ok();
    assert!(ran.stderr.contains("empty.db had 0 rows before and has 30 now\n"), "{ran:?}");
    assert_eq!(value(&folder.join("empty.db"), COUNTS), "10|10|10");
}

#[test]
fn a_merge_drops_or_recreates_statistics_and_rebuilds_virtual_tables() {
    let folder = folder();
    let folder = folder.path();
    for (name, rowid) in [("a.db", 1), ("b.db", 2)] {
        let sql = format!(
            "CREATE VIRTUAL TABLE notes USING fts5 (body);
            INSERT INTO notes (rowid, body) VALUES ({rowid}, 'note {rowid}');
            CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t (b); INSERT INTO t VALUES ({rowid}, 1); ANALYZE"
        );
        execute(&folder.join(name), &sql);
    }
    let ran = run(folder, ["merge", "all.db", "a.db", "b.db"]).ok();
    let said = "\
  virtual table notes: made again, with the rows of all databases
  statistics of the sources were dropped; --analyze creates new ones
";
    assert!(ran.stderr.ends_with(said), "{ran:?}");
    let all = folder.join("all.db");
    assert_eq!(value(&all, "SELECT group_concat(rowid) FROM notes WHERE notes MATCH 'note'"), "1,2");
    assert_eq!(value(&all, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"), "0");
    let ran = run(folder, ["merge", "all.db", "a.db", "b.db", "--overwrite", "--analyze"]).ok();
    assert!(ran.stderr.ends_with("statistics: created by ANALYZE\n"), "{ran:?}");
    assert_eq!(value(&all, "SELECT stat FROM sqlite_stat1 WHERE idx = 'i'"), "2 2");
}

#[test]
fn an_impossible_merge_is_an_error_that_leaves_no_file() {
    let folder = folder();
    let folder = folder.path();
    shop(folder, "a.db", 1);
    shop(folder, "b.db", 11);
    for (name, first) in [("a.db", 1), ("a2.db", 2)] {
        let sql = format!(
            "CREATE TABLE log2 (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO log2 VALUES ({first}), (5)"
        );
        execute(&folder.join(name), &sql);
    }
    fs::hard_link(folder.join("b.db"), folder.join("c.db")).unwrap();
    fs::write(folder.join("rows.csv"), "a,b\n1,2\n".repeat(1000)).unwrap();
    fs::create_dir(folder.join("dir")).unwrap();
    let before = names(folder);
    let read = fs::read(folder.join("a.db")).unwrap();
    for (args, code, error) in [
        (&["all.db"][..], 2, "<SOURCE>..."),
        (&["a.db"], 2, "<SOURCE>..."),
        (&["all.db", "none.db"], 1, "none.db"),
        (&["all.db", "a.db", "none*.db"], 1, "no file matches none*.db"),
        (&["all.db", "a.db", "dir"], 1, "dir is a folder"),
        (&["all.db", "a.db", "rows.csv"], 1, "rows.csv is not a SQLite database"),
        (&["rows.csv", "a.db"], 1, "rows.csv is not a SQLite database"),
        (&["dir", "a.db"], 1, "dir is a folder"),
        (&["none/all.db", "a.db"], 1, "none"),
        (&["all.db", "b.db", "b.db"], 2, "b.db is named twice"),
        (&["all.db", "b.db", "a.db", "c.db"], 2, "c.db and b.db are the same file"),
        (&["a.db", "b.db", "a.db"], 2, "a.db is the target, and one of the sources, too"),
        (&["b.db", "c.db"], 2, "c.db is the same file as the target b.db"),
        (&["a.db", "a.db", "b.db", "--overwrite"], 2, "leave out --overwrite and name it once"),
        (&["all.db", ""], 2, "a value is required for '<SOURCE>...'"),
        (&["all.db", "a.db", "--exclude-table", "order"], 2, "did you mean orders?"),
        (&["all.db", "a.db", "--renumber", "custmer"], 2, "did you mean customer?"),
        (&["all.db", "a.db", "--renumber", "log"], 2, "table log has no INTEGER PRIMARY KEY"),
        (
            &["all.db", "a.db", "a2.db", "--renumber", "log2", "--source-column", "origin"],
            2,
            "table log2 can't be renumbered: SQLite inserts its rows, because a column is added",
        ),
        (&["all.db", "a.db", "--source-column", "name"], 2, "table customer already has a column name"),
        (&["all.db", "a.db", "--on-conflict", "fail"], 2, "abort, ignore, replace"),
        (&["all.db", "a.db", "--busy-limit", "soon"], 2, "soon"),
    ] {
        run(folder, [&["merge"], args].concat()).failed(code, error);
        assert_eq!(names(folder), before, "{args:?}");
        assert!(fs::read(folder.join("a.db")).unwrap() == read, "{args:?}: a.db changed");
    }
}
