//! Loads of dumps and scripts of MySQL and Postgres: the rows, and the number and defaults of a row that is inserted afterwards.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::load::Load;
use sqluice::options::{IfExists, WriteOptions};
use sqluice::report::Report;
use sqluice_testkit::config;
use sqluice_testkit::effort::tries;

use super::load;

/// Loads the text of a dump into `made.db` of a folder.
fn load_text(folder: &Path, sql: &str) -> sqluice::error::Result<Report> {
    let dump = folder.join("dump.sql");
    fs::write(&dump, sql).unwrap();
    load(&dump, &folder.join("made.db"), 2)
}

fn open(folder: &Path) -> Connection {
    Connection::open(folder.join("made.db")).unwrap()
}

fn text(connection: &Connection, query: &str) -> String {
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

fn number(connection: &Connection, query: &str) -> i64 {
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

proptest! {
    #![proptest_config(config(tries(24, 200, 1000)))]

    #[test]
    fn not_null_is_dropped_for_exactly_the_postgres_columns_that_have_nan(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let columns = rng.usize(1..5);
        let not_null: Vec<bool> = (0..columns).map(|_| rng.bool()).collect();
        let rows = rng.usize(0..3000);
        let mut with_nan = vec![false; columns];
        let mut data = String::new();
        let rate = [1, 50, 5000][rng.usize(..3)];
        for row in 0..rows {
            data += &row.to_string();
            for (column, has_nan) in with_nan.iter_mut().enumerate() {
                let is_nan = rng.usize(..rate + column * 2000) == 0;
                *has_nan |= is_nan;
                data += if is_nan { "\tNaN" } else { "\t1.5" };
            }
            data.push('\n');
        }
        let declared: Vec<String> = (0..columns)
            .map(|at| format!("c{at} double precision{}", if not_null[at] { " NOT NULL" } else { "" }))
            .collect();
        let sql = format!(
            "CREATE TABLE public.t (id integer, {});\nCOPY public.t FROM stdin;\n{data}\\.\nSET search_path = public;\n",
            declared.join(", ")
        );
        let folder = tempfile::tempdir().unwrap();
        let report = load_text(folder.path(), &sql).unwrap();
        let made = open(folder.path());
        prop_assert_eq!(number(&made, "SELECT count(*) FROM t"), rows as i64);
        let mut notes = 0;
        for at in 0..columns {
            let expected = not_null[at] && !with_nan[at];
            let declared = number(&made, &format!("SELECT \"notnull\" FROM pragma_table_info('t') WHERE name = 'c{at}'"));
            prop_assert_eq!(declared, i64::from(expected), "column {}", at);
            let nulls = number(&made, &format!("SELECT count(*) FROM t WHERE c{at} IS NULL"));
            prop_assert_eq!(nulls > 0, with_nan[at]);
            notes += usize::from(not_null[at] && with_nan[at]);
        }
        prop_assert_eq!(report.inputs[0].notes.len(), notes);
    }

    #[test]
    fn the_next_row_after_a_loaded_dump_gets_the_number_that_the_server_would_give(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let rows = rng.i64(0..50);
        let next = rows + 1 + rng.i64(0..1000);
        let values: Vec<String> = (1..=rows).map(|id| format!("({id},'x')")).collect();
        let insert = match rows {
            0 => String::new(),
            _ => format!("INSERT INTO t VALUES {};\n", values.join(",")),
        };
        let sql = match rng.bool() {
            true => format!("CREATE TABLE t (id int NOT NULL AUTO_INCREMENT, x text, PRIMARY KEY (id)) ENGINE=InnoDB AUTO_INCREMENT={next};\n{insert}"),
            false => format!("CREATE TABLE public.t (id bigserial PRIMARY KEY, x text);\n{insert}SELECT pg_catalog.setval('public.t_id_seq', {next}, false);\n"),
        };
        let folder = tempfile::tempdir().unwrap();
        load_text(folder.path(), &sql).unwrap();
        let made = open(folder.path());
        made.execute("INSERT INTO t (x) VALUES ('new')", []).unwrap();
        prop_assert_eq!(made.last_insert_rowid(), next);
    }
}

#[test]
fn appending_a_mysql_dump_keeps_the_larger_auto_increment_counter() {
    let dump = |first: i64, next: i64| {
        format!(
            "CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AUTO_INCREMENT={next};\nINSERT INTO t VALUES ({first});\n"
        )
    };
    for (before, added, expected) in [(50, 90, 90), (90, 50, 90)] {
        let folder = tempfile::tempdir().unwrap();
        load_text(folder.path(), &dump(1, before)).unwrap();
        let file = folder.path().join("dump.sql");
        fs::write(&file, dump(2, added)).unwrap();
        let write = WriteOptions::new().if_exists(IfExists::Append);
        Load::new(folder.path().join("made.db"), [file]).write(write).run().unwrap();
        let made = open(folder.path());
        made.execute("INSERT INTO t DEFAULT VALUES", []).unwrap();
        assert_eq!(made.last_insert_rowid(), expected);
    }
}

#[test]
fn rows_of_a_mysql_dump_that_omit_columns_get_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "CREATE TABLE t (\n  id int NOT NULL AUTO_INCREMENT,\n  at datetime NOT NULL DEFAULT CURRENT_TIMESTAMP,\n  day date DEFAULT (curdate()),\n\
               \x20 n int NOT NULL DEFAULT 7,\n  s varchar(9) DEFAULT (concat('a', 'b')),\n  x text,\n  PRIMARY KEY (id)\n) ENGINE=InnoDB;\n\
               INSERT INTO t (x) VALUES ('one'), ('two');\nINSERT INTO t VALUES (DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, 'three');\n";
    load_text(folder.path(), sql).unwrap();
    let made = open(folder.path());
    let moments = "SELECT min((at GLOB '????-??-?? ??:??:??') AND (day GLOB '????-??-??') AND abs(julianday(at) - julianday('now')) < 0.5) FROM t";
    assert_eq!(number(&made, moments), 1);
    assert_eq!(text(&made, "SELECT group_concat(id || n || s || x) FROM t"), "17abone,27abtwo,37abthree");
}

#[test]
fn rows_that_need_a_default_without_a_sqlite_counterpart_are_refused_by_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let table = "SET search_path = public; CREATE TABLE t (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, v text DEFAULT version(), x text);\n";
    for (rows, column, line) in [
        ("INSERT INTO t (id, x) VALUES ('a', 'b');\n", Some("v"), 2),
        (
            "INSERT INTO t (id, v) VALUES ('a', 'b');\nINSERT INTO t (x, v) VALUES ('a', 'b');\n",
            Some("id"),
            3,
        ),
        ("INSERT INTO t VALUES ('a', 'b', 'c'),\n('d', DEFAULT, 'f');\n", None, 3),
    ] {
        let error = load_text(folder.path(), &format!("{table}{rows}")).unwrap_err();
        assert_eq!(error.place().and_then(|place| place.line), Some(line), "{error}");
        assert_eq!(error.column(), column, "{error}");
        assert!(!folder.path().join("made.db").exists());
    }
    // Without the DEFAULTs, as the hint advises, the dump is loaded.
    let plain = table.replace(" DEFAULT gen_random_uuid()", "").replace(" DEFAULT version()", "");
    let rows = "INSERT INTO t (id, x) VALUES ('a', 'b');\n";
    load_text(folder.path(), &format!("{plain}{rows}")).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn scripts_for_mysql_and_postgres_give_the_values_that_the_server_would_store() {
    for (sql, expected) in [
        (
            "CREATE DATABASE `shop`;\nUSE `shop`;\nCREATE TABLE `t` (`n` NVARCHAR(20), `p` VARCHAR(40), `b` VARBINARY(9), `d` DATETIME);\n\
             INSERT INTO `t` (`n`, `p`, `b`, `d`) VALUES (N'it\\'s ', X'6162', X'6162', '2024/1/31');\n",
            "it's |ab|text|blob|2024-01-31 00:00:00",
        ),
        (
            "CREATE DATABASE shop;\n\\c shop;\nCREATE TABLE t (n VARCHAR(20), p CHAR(40), b BYTEA, d TIMESTAMP);\n\
             INSERT INTO t VALUES (N'it''s ', 'ab  ', '\\x6162', '2024/1/31');\n",
            "it's|ab|text|blob|2024-01-31 00:00:00",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        load_text(folder.path(), sql).unwrap_or_else(|error| panic!("{error}"));
        let values = "SELECT n || '|' || p || '|' || typeof(p) || '|' || typeof(b) || '|' || d FROM t";
        assert_eq!(text(&open(folder.path()), values), expected);
    }
}
