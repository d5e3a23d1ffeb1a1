//! Loads into existing databases, compared with the same rows inserted by SQLite into a copy.

#![cfg(feature = "load")]

use std::fs;
use std::path::Path;

use crate::support::cases;
use crate::support::files::{Home, integrity};
use crate::support::load::{plain, run, shown};
use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use sqluice::error::Error;
use sqluice::generate::Generate;
use sqluice::load::Load;
use sqluice::options::{IfExists, OnConflict, WriteOptions, WritePath};
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice::schema::Schema;

/// A database with a table `t`, and the rows to add.
#[derive(Clone, Debug)]
struct Case {
    page_bytes: u32,
    wal: bool,
    /// SQL that in some cases makes the load insert rows by SQLite, because the database can't be written as pages.
    pragma: &'static str,
    sql: String,
    /// Existing rows: a, b, c.
    old: Vec<Row>,
    /// `true` if some of the existing rows are deleted, which leaves free pages.
    deleted: bool,
    new: Vec<Row>,
    /// The columns that the file has, in its order.
    columns: Vec<&'static str>,
    meaning: Meaning,
    rejects: bool,
}

type Row = (Option<i64>, Option<String>, Option<i64>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Append(OnConflict),
    Replace,
    Upsert,
}

fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let key = prop_oneof![9 => (0..40_i64).prop_map(Some), 1 => Just(None)];
    let text = proptest::option::weighted(0.9, prop_oneof![4 => "[a-z]{1,3}", 1 => "[a-z]{400}"]);
    prop::collection::vec((key, text, proptest::option::of(-3..300_i64)), 0..most)
}

fn meaning() -> impl Strategy<Value = Meaning> {
    prop_oneof![
        2 => Just(Meaning::Append(OnConflict::Abort)),
        1 => Just(Meaning::Append(OnConflict::Ignore)),
        1 => Just(Meaning::Append(OnConflict::Replace)),
        1 => Just(Meaning::Replace),
        1 => Just(Meaning::Upsert),
    ]
}

/// The declarations to choose from.
const TABLES: [&str; 9] = [
    "CREATE TABLE t (a INTEGER, b TEXT, c DEFAULT 7)",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c DEFAULT 7)",
    "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT COLLATE NOCASE, c NUMERIC)",
    "CREATE TABLE t (a INT PRIMARY KEY, b TEXT, c DEFAULT (1 + 1)) WITHOUT ROWID",
    "CREATE TABLE t (a INTEGER UNIQUE, b TEXT, c DEFAULT 7); CREATE INDEX i ON t (b DESC, c)",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c); CREATE INDEX i ON t (b) WHERE c > 5",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c, d AS (a || b) STORED, CHECK (c < 290))",
    "CREATE TABLE log (x); CREATE TABLE t (a UNIQUE, b TEXT, c);
     CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END;
     CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO log VALUES (-old.a); END;",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL, c INTEGER) STRICT",
];

fn case() -> impl Strategy<Value = Case> {
    let page_bytes = prop::sample::select(vec![512, 1024, 4096]);
    let pragma = prop_oneof![6 => Just(""), 1 => Just("PRAGMA encoding = 'UTF-16le'"), 1 => Just("PRAGMA auto_vacuum = 1")];
    let database = (page_bytes, any::<bool>(), pragma, prop::sample::select(&TABLES[..]));
    let columns = prop::sample::select(vec![
        vec!["a", "b", "c"],
        vec!["c", "a", "b"],
        vec!["b", "a"],
        vec!["a", "b"],
        vec!["b", "c"],
    ]);
    let rest = (rows(120), any::<bool>(), rows(300), columns, meaning(), prop::bool::weighted(0.1));
    (database, rest).prop_map(
        |((page_bytes, wal, pragma, sql), (old, deleted, new, columns, meaning, rejects))| {
            let keyed = sql.contains("a INTEGER PRIMARY KEY")
                || sql.contains("a INT PRIMARY KEY")
                || sql.contains("UNIQUE");
            let meaning = match meaning {
                Meaning::Upsert if !keyed || !columns.contains(&"a") => Meaning::Append(OnConflict::Abort),
                other => other,
            };
            // Mostly, the new rows follow the existing ones.
            let ascending = |mut rows: Vec<Row>, from: i64| {
                rows.iter_mut().zip(from..).for_each(|(row, key)| row.0 = Some(key));
                rows
            };
            let new = if new.len() % 3 == 0 { new } else { ascending(new, 1000) };
            let sql = sql.to_owned();
            Case { page_bytes, wal, pragma, sql, old, deleted, new, columns, meaning, rejects }
        },
    )
}

impl Case {
    /// Makes the database, as an application would.
    fn make(&self, path: &Path) -> Connection {
        let connection = Connection::open(path).unwrap();
        let mode = if self.wal { "wal" } else { "delete" };
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = {}; {}; PRAGMA journal_mode = {mode}; PRAGMA synchronous = off;
                 PRAGMA foreign_keys = off; {};",
                self.page_bytes, self.pragma, self.sql
            ))
            .unwrap();
        for row in &self.old {
            let _ = connection.execute("INSERT OR IGNORE INTO t (a, b, c) VALUES (?1, ?2, ?3)", row.clone());
        }
        if self.deleted {
            connection.execute_batch("DELETE FROM t WHERE length(b) > 100 OR c % 2 = 0").unwrap();
        }
        connection
    }

    fn csv(&self) -> String {
        let number = |value: Option<i64>| value.map_or(String::new(), |value| value.to_string());
        let mut csv = self.columns.join(",") + "\n";
        for (a, b, c) in &self.new {
            let fields = self.columns.iter().map(|column| match *column {
                "a" => number(*a),
                "b" => b.clone().unwrap_or_default(),
                _ => number(*c),
            });
            csv += &(fields.collect::<Vec<_>>().join(",") + "\n");
        }
        csv
    }

    /// Inserts the same rows by SQL. Returns `None` if SQLite refuses a row.
    fn by_sql(&self, connection: &Connection) -> Option<()> {
        connection.execute_batch("BEGIN").unwrap();
        if self.meaning == Meaning::Replace {
            connection.execute_batch("DELETE FROM t").unwrap();
        }
        let columns = self.columns.join(", ");
        let marks = vec!["?"; self.columns.len()].join(", ");
        let or = if self.meaning == Meaning::Append(OnConflict::Replace) { "OR REPLACE " } else { "" };
        let others = self.columns.iter().filter(|column| **column != "a");
        let set: Vec<String> = others.map(|column| format!("{column} = excluded.{column}")).collect();
        let clause = match self.meaning {
            Meaning::Append(OnConflict::Ignore) => " ON CONFLICT DO NOTHING".to_owned(),
            Meaning::Upsert => format!(" ON CONFLICT (a) DO UPDATE SET {}", set.join(", ")),
            _ => String::new(),
        };
        let sql = format!("INSERT {or}INTO t ({columns}) VALUES ({marks}){clause}");
        let mut insert = connection.prepare(&sql).unwrap();
        for (a, b, c) in &self.new {
            // Bind text: the fields of a file are text.
            let text = |value: Option<String>| value.map_or(Value::Null, Value::Text);
            let values = self.columns.iter().map(|column| match *column {
                "a" => text(a.map(|a| a.to_string())),
                "b" => text(b.clone()),
                _ => text(c.map(|c| c.to_string())),
            });
            if insert.execute(params_from_iter(values)).is_err() {
                connection.execute_batch("ROLLBACK").unwrap();
                return None;
            }
        }
        connection.execute_batch("COMMIT").unwrap();
        Some(())
    }

    fn load(&self, home: &Home) -> Result<Report, Error> {
        fs::write(home.path("t.csv"), self.csv()).unwrap();
        let (if_exists, on_conflict) = match self.meaning {
            Meaning::Append(what) => (IfExists::Append, what),
            Meaning::Replace => (IfExists::Replace, OnConflict::Abort),
            Meaning::Upsert => (IfExists::Upsert(vec!["A".to_owned()]), OnConflict::Abort),
        };
        let write = WriteOptions::new().if_exists(if_exists).on_conflict(on_conflict).threads(2);
        let mut load = Load::new(home.path("x.db"), [home.path("t.csv")])
            .format(plain().header(true))
            .write(write)
            .tune(|tuning| {
                (tuning.many_rows, tuning.sample_bytes, tuning.part_bytes) = (100, 64, 100);
            });
        load.reject = self.rejects.then(|| home.path("bad.csv"));
        run(load)
    }
}

/// Returns all rows of all tables, and of sqlite_schema without root pages.
fn dump(connection: &Connection) -> Vec<Vec<Value>> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut tables = connection.prepare(tables).unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut all = Vec::new();
    let without = |table: &str| connection.prepare(&format!("SELECT rowid FROM {table}")).is_err();
    for table in tables {
        let rowid = if without(&table) { "" } else { "rowid, " };
        // Root pages may differ, so only names and statements are compared.
        let columns = if table == "sqlite_schema" { "name, sql" } else { "*" };
        let mut statement = connection.prepare(&format!("SELECT {rowid}{columns} FROM {table}")).unwrap();
        let width = statement.column_count();
        let rows = statement.query_map([], |row| (0..width).map(|column| row.get(column)).collect());
        all.push(vec![Value::Text(table)]);
        all.extend(rows.unwrap().map(Result::unwrap));
    }
    all
}

fn check(case: &Case) {
    let home = Home::new();
    drop(case.make(&home.path("x.db")));
    let twin = case.make(&home.path("twin.db"));
    let before = dump(&twin);
    let wanted = case.by_sql(&twin);
    let loaded = case.load(&home);
    let connection = Connection::open(home.path("x.db")).unwrap();
    assert_eq!(integrity(&connection), "ok");
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, if case.wal { "wal" } else { "delete" });
    match (wanted, &loaded) {
        (Some(()), Ok(_)) => assert_eq!(dump(&connection), dump(&twin)),
        (None, Err(_)) => assert_eq!(dump(&connection), before),
        // SQLite refuses a NULL in a NOT NULL column. For a load with a reject file it is a bad row, which is left out.
        (None, Ok(report)) => assert!(case.rejects && report.rejected > 0),
        (Some(()), Err(error)) => panic!("{error}: {:?}", std::error::Error::source(error)),
    }
    // SQLite can change the database afterwards.
    if loaded.is_ok() {
        connection
            .execute_batch("CREATE TABLE later AS SELECT * FROM t; CREATE INDEX later_i ON later (b)")
            .unwrap();
        assert_eq!(integrity(&connection), "ok");
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_load_into_an_existing_database_equals_inserts_by_sql(case in case()) {
        check(&case);
    }
}

fn planned(sql: &str, csv: &str, with: impl FnOnce(Load) -> Load) -> (WritePath, String) {
    let home = Home::new();
    Connection::open(home.path("x.db")).unwrap().execute_batch(sql).unwrap();
    fs::write(home.path("t.csv"), csv).unwrap();
    let load = Load::new(home.path("x.db"), [home.path("t.csv")]);
    let write = WriteOptions::new().if_exists(IfExists::Append);
    let prepared = with(load.write(write)).prepare(&Context::default()).unwrap();
    let table = &prepared.plan().tables[0];
    (table.write_path, table.why.clone())
}

#[test]
fn the_write_path_depends_on_the_table_and_the_rows() {
    let write_path = |sql: &str, csv: &str| planned(sql, csv, |load| load);
    let insert = |why: &str| (WritePath::Insert, why.to_owned());
    let few = "a,b\n5,x\n6,y\n";
    let csv = &(String::from("a,b\n") + &(5..200).map(|key| format!("{key},x\n")).collect::<String>());
    let after = (WritePath::Pages, "rows follow the last rowid".to_owned());
    assert_eq!(write_path("CREATE TABLE t (a, b)", csv), after);
    assert_eq!(
        write_path("CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (4, 4)", csv),
        after
    );
    assert_eq!(
        write_path("CREATE TABLE t (a, b)", few),
        insert("too few rows for pages of their own: about 2")
    );
    assert_eq!(
        write_path("CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (5, 4)", csv),
        insert("rows do not follow the last rowid")
    );
    assert_eq!(
        write_path("CREATE TABLE t (a INTEGER PRIMARY KEY, b)", "a,b\n5,x\n4,y\n"),
        insert("rows may be in any order of their rowids")
    );
    assert_eq!(
        write_path(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (9223372036854775807, 4)",
            "b\n1\n"
        ),
        insert("no rowid is left after the last")
    );
    assert_eq!(
        write_path("CREATE TABLE t (a, b CHECK (total_changes() >= 0))", csv),
        insert("SQLite checks its rows")
    );
    assert_eq!(write_path("CREATE TABLE t (a, b CHECK (b <> 0), c AS (a) STORED)", csv), after);
    assert_eq!(
        write_path("CREATE TABLE t (a PRIMARY KEY, b) WITHOUT ROWID", csv),
        insert("a WITHOUT ROWID table, whose rows are in the order of its key")
    );
    assert_eq!(
        write_path("CREATE TABLE t (a, b); CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END", csv),
        insert("its triggers fire")
    );
    assert_eq!(
        write_path("CREATE TABLE t (a, b, c DEFAULT (last_insert_rowid()))", csv),
        insert("SQLite computes the DEFAULT of c")
    );
    assert_eq!(
        write_path("CREATE TABLE t (a, b); CREATE INDEX i ON t (a)", csv),
        insert("about 195 rows are too few to rebuild its indexes")
    );
    assert_eq!(
        write_path("PRAGMA auto_vacuum = 1; CREATE TABLE t (a, b)", csv),
        insert("it is an auto_vacuum database, whose pointer map only SQLite keeps")
    );
    assert_eq!(
        write_path("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a, b)", csv),
        insert("its text is UTF-16le")
    );
}

#[test]
fn rows_that_prove_out_of_rowid_order_during_the_load_are_inserted_by_sqlite() {
    let csv: String = (10..2000).chain([3]).map(|key| format!("{key},x\n")).collect();
    let home = Home::new();
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 1), (9, 9)";
    Connection::open(home.path("x.db")).unwrap().execute_batch(sql).unwrap();
    fs::write(home.path("t.csv"), format!("a,b\n{csv}")).unwrap();
    let load = Load::new(home.path("x.db"), [home.path("t.csv")]);
    let write = WriteOptions::new().if_exists(IfExists::Append).tune(|tuning| tuning.sample_bytes = 50);
    let prepared = load.write(write).prepare(&Context::default()).unwrap();
    assert_eq!(prepared.plan().tables[0].write_path, WritePath::Pages);
    let report = prepared.run(&Context::default()).unwrap();
    assert_eq!((report.tables[0].write_path, report.rows), (WritePath::Insert, 1991));
    let connection = Connection::open(home.path("x.db")).unwrap();
    assert_eq!(integrity(&connection), "ok");
    assert_eq!(
        connection.query_row("SELECT count(*), max(a) FROM t", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        }),
        Ok((1993, 1999))
    );
}

/// Returns a CSV file of values that write paths might store differently, with bad rows among them.
fn tricky_csv() -> String {
    const VALUES: [&str; 14] = [
        "-0.0",
        "0.0",
        "-0",
        "1e3",
        "12345678901234567890",
        "9007199254740993",
        " 5 ",
        "0x10",
        "1e400",
        "nan",
        "007",
        "",
        "1.50",
        "word",
    ];
    let value = |at: usize| VALUES[at % VALUES.len()];
    let row = |row: usize| match row % 50 {
        20 => format!("{row},1\n"),
        30 => format!("{row},1,2,3,x,too many\n"),
        40 => format!("{row},1,2,3,\n"),
        _ => format!("{row},{},{},{},x{}\n", value(row), value(row / 14), value(row + 5), value(row)),
    };
    String::from("a,b,c,d,e\n") + &(0..400).map(row).collect::<String>()
}

#[test]
fn both_write_paths_store_the_same_values_and_refuse_the_same_records() {
    let by = |constraint: &str, rejects: bool| {
        let home = Home::new();
        let sql = format!("CREATE TABLE t (a INTEGER, b REAL, c NUMERIC, d, e TEXT NOT NULL {constraint})");
        let connection = Connection::open(home.path("x.db")).unwrap();
        connection.execute_batch(&sql).unwrap();
        fs::write(home.path("t.csv"), tricky_csv()).unwrap();
        let mut load = Load::new(home.path("x.db"), [home.path("t.csv")])
            .format(plain())
            .write(WriteOptions::new().if_exists(IfExists::Append))
            .tune(|tuning| (tuning.many_rows, tuning.part_bytes) = (100, 1000));
        load.reject = rejects.then(|| home.path("bad.csv"));
        let loaded = run(load);
        let content =
            "SELECT group_concat(typeof(b) || quote(b) || typeof(c) || quote(c) || typeof(d) || quote(d)
                       || quote(e), ';') FROM (SELECT * FROM t ORDER BY rowid)";
        let content: Option<String> = connection.query_row(content, [], |row| row.get(0)).unwrap();
        match loaded {
            Ok(report) => {
                let counts = format!("{} rows, {} rejected", report.rows, report.rejected);
                let bad = fs::read_to_string(home.path("bad.csv")).unwrap();
                let bad = bad.replace(home.path("").to_str().unwrap(), "");
                (Some(report.tables[0].write_path), counts, bad, content)
            }
            Err(error) => (None, shown(&error, &home), String::new(), content),
        }
    };
    let (pages, insert) = (by("", true), by("CHECK (e <> 'never' OR changes() < 0)", true));
    assert_eq!((pages.0, insert.0), (Some(WritePath::Pages), Some(WritePath::Insert)));
    assert!(pages.2.lines().count() > 20, "{}", pages.2);
    assert_eq!((pages.1, pages.2, pages.3), (insert.1, insert.2, insert.3));
    let (pages, insert) = (by("", false), by("CHECK (e <> 'never' OR changes() < 0)", false));
    assert_eq!((&pages.0, &pages.3), (&None, &None));
    assert_eq!(pages, insert);
}

#[test]
fn a_load_into_several_tables_is_one_transaction() {
    let home = Home::new();
    let sql = "CREATE TABLE t (a, b); CREATE TABLE u (a INT PRIMARY KEY); INSERT INTO u VALUES (1)";
    let database = Connection::open(home.path("x.db")).unwrap();
    database.execute_batch(sql).unwrap();
    for (name, csv) in [("t.csv", "a,b\n1,2\n"), ("n.csv", "x\n1\n"), ("u.csv", "a\n2\n1\n")] {
        fs::write(home.path(name), csv).unwrap();
    }
    let before = dump(&database);
    let bytes = fs::metadata(home.path("x.db")).unwrap().len();
    let files = ["t.csv", "n.csv", "u.csv"].map(|name| home.path(name));
    let write = WriteOptions::new().if_exists(IfExists::Append);
    let error = run(Load::new(home.path("x.db"), files).write(write)).unwrap_err();
    assert!(error.message().contains("UNIQUE constraint failed"), "{error}");
    assert!(error.place().is_some_and(|place| place.line == Some(3)), "{error}");
    assert_eq!(dump(&database), before);
    assert_eq!(fs::metadata(home.path("x.db")).unwrap().len(), bytes, "no tail is left");
}

#[test]
fn a_plan_for_a_new_table_is_refused_after_another_connection_created_the_table() {
    let home = Home::new();
    let database = Connection::open(home.path("x.db")).unwrap();
    database.execute_batch("CREATE TABLE u (a)").unwrap();
    fs::write(home.path("t.csv"), "a\n1\n").unwrap();
    let prepared = Load::new(home.path("x.db"), [home.path("t.csv")]).prepare(&Context::default()).unwrap();
    database.execute_batch("CREATE TABLE t (a)").unwrap();
    let error = prepared.run(&Context::default()).unwrap_err();
    assert!(error.message().ends_with("has changed since the run was planned"), "{error}");
    assert_eq!(error.hint_text().as_deref(), Some("run again"));
    assert_eq!(database.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)), Ok(0));
}

#[test]
fn a_load_plans_again_after_another_connection_changed_the_schema() {
    for if_exists in [IfExists::Append, IfExists::Replace] {
        let home = Home::new();
        let database = Connection::open(home.path("x.db")).unwrap();
        database.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b)").unwrap();
        let csv: String = (1..500).map(|key| format!("{key},x\n")).collect();
        for name in ["t.csv", "n.csv"] {
            fs::write(home.path(name), format!("a,b\n{csv}")).unwrap();
        }
        let files = ["t.csv", "n.csv"].map(|name| home.path(name));
        let write = WriteOptions::new().if_exists(if_exists);
        let load = Load::new(home.path("x.db"), files).write(write).reject(home.path("bad.csv"));
        let prepared = load.prepare(&Context::default()).unwrap();
        assert_eq!(prepared.plan().tables[0].write_path, WritePath::Pages);
        // Another connection creates a trigger on t, so that SQLite must insert the rows of t.
        let trigger = "CREATE TABLE log (x); CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END";
        database.execute_batch(trigger).unwrap();
        let report = prepared.run(&Context::default()).unwrap();
        assert_eq!(
            (report.tables[0].write_path, report.tables[1].write_path),
            (WritePath::Insert, WritePath::Pages)
        );
        let counts = "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM n), (SELECT count(*) FROM log)";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        assert_eq!(database.query_row(counts, [], row), Ok((499, 499, 499)));
        assert_eq!(integrity(&database), "ok");
    }
}

#[test]
fn generate_plans_again_after_another_connection_changed_the_schema() {
    let home = Home::new();
    let database = Connection::open(home.path("x.db")).unwrap();
    database.execute_batch("CREATE TABLE u (a)").unwrap();
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b)".to_owned();
    let generate =
        Generate::new(home.path("x.db"), Schema::parse(sql, Path::new("x.sql")).unwrap()).rows(300).seed(7);
    let [prepared, again] = [(); 2].map(|()| generate.prepare(&Context::default()).unwrap());
    database.execute_batch("CREATE TABLE v (a)").unwrap();
    assert_eq!(prepared.run(&Context::default()).unwrap().rows, 300);
    assert_eq!(database.query_row("SELECT count(*) FROM t", [], |row| row.get(0)), Ok(300));
    assert_eq!(integrity(&database), "ok");
    // `again` was planned before `prepared` created table t, and must notice it.
    let error = again.run(&Context::default()).unwrap_err();
    assert!(error.message().ends_with("already has a table t"), "{error}");
}

#[test]
fn appending_many_rows_rebuilds_the_indexes_of_the_table() {
    let csv: String = (0..12_000).map(|key| format!("{},{key}\n", (key * 7919) % 12_007)).collect();
    let home = Home::new();
    let database = Connection::open(home.path("x.db")).unwrap();
    let sql = "CREATE TABLE t (a INTEGER UNIQUE, b); CREATE INDEX i ON t (b DESC, a);
               WITH n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 3000)
               INSERT INTO t SELECT -x, x || 'b' FROM n";
    database.execute_batch(sql).unwrap();
    fs::write(home.path("t.csv"), format!("a,b\n{csv}")).unwrap();
    let write = WriteOptions::new().if_exists(IfExists::Append);
    let load = || Load::new(home.path("x.db"), [home.path("t.csv")]).write(write.clone());
    let report = run(load()).unwrap();
    let write_paths = |report: &Report| -> Vec<WritePath> {
        let table = &report.tables[0];
        table.indexes.iter().map(|index| index.write_path).chain([table.write_path]).collect()
    };
    assert_eq!(write_paths(&report), [WritePath::Sorted, WritePath::Sorted, WritePath::Pages]);
    assert_eq!(integrity(&database), "ok");
    let count =
        "SELECT (SELECT count(*) FROM t INDEXED BY i WHERE b > ''), (SELECT count(*) FROM t NOT INDEXED)";
    assert_eq!(database.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))), Ok((15_000, 15_000)));
    // Each of these keys exists by now.
    let before = dump(&database);
    let error = run(load()).unwrap_err();
    assert!(error.message().contains("UNIQUE constraint failed: t.a"), "{error}");
    assert_eq!(error.message().matches("rowids").count(), 1, "{error}");
    assert!(error.hint_text().is_some_and(|hint| hint.contains("`on_conflict = ignore`")), "{error}");
    assert_eq!(dump(&database), before);
    assert_eq!(integrity(&database), "ok");
}

#[test]
fn indexes_of_a_table_whose_rows_are_replaced_have_no_old_entries() {
    for mode in ["delete", "wal"] {
        let home = Home::new();
        let connection = Connection::open(home.path("x.db")).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = {mode}; CREATE TABLE t (a, b); CREATE INDEX i ON t (b);
                 WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) INSERT INTO t SELECT i, i FROM n"
            ))
            .unwrap();
        let csv: String = (0..1000).map(|row| format!("{row},new {row}\n")).collect();
        fs::write(home.path("t.csv"), format!("a,b\n{csv}")).unwrap();
        let write = WriteOptions::new().if_exists(IfExists::Replace).tune(|tuning| tuning.many_rows = 100);
        let load = Load::new(home.path("x.db"), [home.path("t.csv")]);
        let report = run(load.format(plain()).write(write)).unwrap();
        assert_eq!(report.tables[0].write_path, WritePath::Pages, "{mode}");
        assert_eq!(integrity(&connection), "ok", "{mode}");
        let entries = "SELECT count(*) FROM t INDEXED BY i WHERE b > ''";
        assert_eq!(connection.query_row(entries, [], |row| row.get(0)), Ok(1000), "{mode}");
    }
}
