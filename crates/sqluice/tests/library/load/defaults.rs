//! DEFAULTs of columns that a file lacks. SQLite says what each value must be.

#![cfg(feature = "load")]

use std::error::Error as _;
use std::ops::Range;

use crate::support::files::{Home, integrity, open, rows_of};
use crate::support::load::{Way, plain, run, shown};
use crate::support::{Random, cases};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::Result;
use sqluice::load::Load;
use sqluice::options::{IfExists, WriteOptions};
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::write::WriteRows;

/// DEFAULTs that have the same value in every row.
const SAME: [&str; 23] = [
    "7",
    "-1.50",
    "+2",
    "'it''s'",
    "x'00ff'",
    "NULL",
    "TRUE",
    "name",
    "\"a name\"",
    "(1 + 2)",
    "(1.0)",
    "(lower('ABC') || x'41')",
    "(json_object('a', 1, 'b', json_array()))",
    "(iif(1 < 2, 'yes', 'no')) -- a comment",
    "(CAST('12' AS INTEGER))",
    "(date('2024-02-29', '+1 year'))",
    "(unixepoch('2024-02-29'))",
    "(strftime('%Y', 0.5))",
    "(1e999)",
    "(abs(-9223372036854775807))",
    "('a' COLLATE NOCASE)",
    "(char(0, 65))",
    "(CASE 'x' WHEN 'x' THEN 9 END /* ) */)",
];

const TYPES: [&str; 6] = ["", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB"];

fn load(home: &Home, schema: &str, csv: &str, with: impl FnOnce(Load) -> Load) -> Result<Report> {
    let file = Way::Path.put(home, "t.csv", csv.as_bytes());
    let schema = Schema::parse(schema.to_owned(), "x.sql".as_ref()).unwrap();
    run(with(Load::new(home.path("x.db"), [file]).format(plain()).schema(schema)))
}

fn append(home: &Home, csv: &str) -> Result<Report> {
    let file = Way::Path.put(home, "more.csv", csv.as_bytes());
    let write = WriteOptions::new().if_exists(IfExists::Append);
    run(Load::new(home.path("x.db"), [file]).format(plain()).table("t").write(write))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn defaults_have_the_values_that_sqlite_inserts(seed in any::<u64>(), columns in 1..6usize, rows in 1..40usize) {
        let mut random = Random(seed);
        let declared: Vec<String> = (0..columns)
            .map(|at| format!("c{at} {} DEFAULT {}\n", random.pick(&TYPES), random.pick(&SAME)))
            .collect();
        let checks = random.pick(&["", ", CHECK (c0 IS NOT 'no such value')", ", g AS (c0 || 1) STORED"]);
        let schema = format!("CREATE TABLE t (a INT, {}{checks})", declared.join(", "));
        let csv: String = std::iter::once("a\n".to_owned()).chain((0..rows).map(|row| format!("{row}\n"))).collect();
        let home = Home::new();
        load(&home, &schema, &csv, |load| load).map_err(|error| TestCaseError::fail(format!("{schema}: {error:?}")))?;
        append(&home, &csv).map_err(|error| TestCaseError::fail(format!("{schema}: {error:?}")))?;
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(&schema).unwrap();
        for row in (0..rows).chain(0..rows) {
            twin.execute("INSERT INTO t (a) VALUES (?1)", [row as i64]).unwrap();
        }
        prop_assert_eq!(rows_of(&open(&home.path("x.db")), "t"), rows_of(&twin, "t"), "{}", schema);
    }
}

#[test]
fn defaults_with_the_present_time_have_the_same_time_in_all_rows() {
    let home = Home::new();
    let schema = "CREATE TABLE t (a INT, b TEXT DEFAULT CURRENT_TIMESTAMP, c DEFAULT (datetime('now')),
        d DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'NOW')), e DEFAULT (datetime('subsec')), f DEFAULT (unixepoch()),
        g DEFAULT (unixepoch('subsec')), h DEFAULT (date('now', 'localtime', '+1 day')), i DEFAULT CURRENT_DATE,
        j DEFAULT (CURRENT_TIME))";
    let csv: String =
        std::iter::once("a\n".to_owned()).chain((0..30_000).map(|row| format!("{row}\n"))).collect();
    let before: String = now();
    load(&home, schema, &csv, |load| load.write(WriteOptions::new().threads(3))).unwrap();
    let after: String = now();
    let database = open(&home.path("x.db"));
    let sql = "SELECT count(*), count(DISTINCT b || c || d || e || f || g || h || i || j), min(d), min(b = c), min(d = e),
               min(b = substr(d, 1, 19)), min(f = unixepoch(b)), min(abs(g - unixepoch(d, 'subsec')) < 0.0001),
               min(b = i || ' ' || j), min(h = date(b, 'localtime', '+1 day')) FROM t";
    database
        .query_row(sql, [], |row| {
            assert_eq!(row.get::<_, i64>(0)?, 30_000);
            assert_eq!(row.get::<_, i64>(1)?, 1);
            let time: String = row.get(2)?;
            assert!(before <= time && time <= after, "{before} {time} {after}");
            for at in 3..10 {
                assert!(row.get::<_, bool>(at)?, "{at}");
            }
            Ok(())
        })
        .unwrap();
}

fn now() -> String {
    let sql = "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')";
    Connection::open_in_memory().unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_default_that_is_random_has_another_value_in_each_row() {
    let home = Home::new();
    let schema = "CREATE TABLE t (a INT, id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))) UNIQUE,
                  n INTEGER DEFAULT (abs(random() % 6) + 1) CHECK (n BETWEEN 1 AND 6), z DEFAULT 'z')";
    let csv: String =
        std::iter::once("a\n".to_owned()).chain((0..20_000).map(|row| format!("{row}\n"))).collect();
    load(&home, schema, &csv, |load| load.write(WriteOptions::new().threads(3))).unwrap();
    append(&home, "a\n1\n2\n").unwrap();
    let database = open(&home.path("x.db"));
    assert_eq!(integrity(&database), "ok");
    let sql = "SELECT count(DISTINCT id), min(length(id)), max(length(id)), count(DISTINCT n), min(z) FROM t";
    let found = database.query_row(sql, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    });
    assert_eq!(found.unwrap(), (20_002, 32, 32, 6));
}

#[test]
fn defaults_have_the_values_of_sqlite_in_every_text_encoding() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let home = Home::new();
        let sql = format!(
            "PRAGMA encoding = '{encoding}'; CREATE TABLE t (a INT, b DEFAULT (CAST('a' AS BLOB)), c DEFAULT (CAST(x'3100' AS INTEGER)),
             d TEXT DEFAULT (x'0031' + 0), e DEFAULT (hex(CAST('ab' AS BLOB)) || (random() = 0.5)), f DEFAULT 'ä')"
        );
        let database = Connection::open(home.path("x.db")).unwrap();
        database.execute_batch(&sql).unwrap();
        append(&home, "a\n1\n2\n").unwrap();
        database.execute_batch("INSERT INTO t (a) VALUES (3)").unwrap();
        let rows = rows_of(&database, "t");
        let values: Vec<&str> = rows.iter().map(|row| row.split_once("integer, ").unwrap().1).collect();
        assert_eq!(values[0], values[2], "{encoding}");
        assert_eq!(values[1], values[2], "{encoding}");
    }
}

#[test]
fn rows_written_by_a_program_each_get_their_own_random_default() {
    let home = Home::new();
    let sql = "CREATE TABLE t (a INT, id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))) UNIQUE,
               n INTEGER DEFAULT (abs(random() % 6) + 1), z DEFAULT 'z')";
    let path = home.path("x.db");
    let write = |rows: Range<i64>, schema: Option<Schema>, options: WriteOptions| {
        let write = WriteRows::new(&path, "t").columns(["a"]).schema(schema).options(options);
        write.run(rows.map(|a| (a,))).unwrap()
    };
    let schema = Schema::parse(sql.to_owned(), "x.sql".as_ref()).unwrap();
    write(0..5_000, Some(schema), WriteOptions::new().threads(3));
    write(5_000..8_000, None, WriteOptions::new().if_exists(IfExists::Append));
    write(8_000..8_002, None, WriteOptions::new().if_exists(IfExists::Append));
    let database = open(&path);
    assert_eq!(integrity(&database), "ok");
    let sql =
        "SELECT count(DISTINCT id), min(length(id)), count(DISTINCT n), sum(a = rowid - 1), min(z) FROM t";
    let found = database.query_row(sql, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    });
    assert_eq!(found.unwrap(), (8_002, 32, 6, 8_002));
}

#[test]
fn rows_of_files_that_lack_a_column_get_its_default_beside_files_that_have_it() {
    let home = Home::new();
    let schema = Schema::parse(
        "CREATE TABLE t (a INT, b DEFAULT (1 + 1), c DEFAULT (abs(random()) >= 0))".to_owned(),
        "x.sql".as_ref(),
    )
    .unwrap();
    let files = [Way::Path.put(&home, "1.csv", b"a,b\n1,5\n"), Way::Path.put(&home, "2.csv", b"a,c\n2,6\n")];
    run(Load::new(home.path("x.db"), files).format(plain()).schema(schema).table("t")).unwrap();
    let rows = rows_of(&open(&home.path("x.db")), "t");
    assert_eq!(rows, ["1: 1 integer, '5' text, 1 integer", "2: 2 integer, 2 integer, '6' text"]);
}

#[test]
fn a_default_that_only_sqlite_can_compute_is_refused_for_a_new_table() {
    for (sql, why) in [
        ("(last_insert_rowid())", "last_insert_rowid() is about the connection that inserts the row"),
        ("(of_an_application(1))", "no such function: of_an_application"),
        ("(sha256('a'))", "no such function: sha256"),
    ] {
        let home = Home::new();
        let schema = format!("CREATE TABLE t (a INT, b DEFAULT {sql})");
        let error = load(&home, &schema, "a\n1\n", |load| load).unwrap_err();
        let said = shown(&error, &home);
        assert!(said.contains("there are no values for column b"), "{said}");
        assert!(error.source().is_some_and(|source| source.to_string().contains(why)), "{said}: {error:?}");
        assert!(!home.path("x.db").exists());
    }
}
