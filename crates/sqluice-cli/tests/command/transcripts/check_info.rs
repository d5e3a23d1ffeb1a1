//! Transcripts of `check`, with faults, remarks and unverified parts, and of `info`.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{folder, generate, run};
use crate::transcript::matches;

#[test]
fn check_reports_a_sound_database_as_sound() {
    let folder = folder();
    run(folder.path(), generate("x.db", "10k")).ok();
    let theirs = ", also by SQLite's integrity_check,";
    for (args, by) in [
        (&["check", "x.db"][..], ""),
        (&["check", "x.db", "-j", "1"], ""),
        (&["check", "x.db", "--threads", "3", "--full"], theirs),
    ] {
        let ran = run(folder.path(), args).ok();
        let expected = format!("x.db is sound: 10,000 rows, [..] pages, [..] kB, checked{by} in [..]s");
        assert!(matches(&ran.stdout, &expected), "{ran:?}");
        assert_eq!(ran.stderr, "");
    }
    fs::write(folder.path().join("empty.db"), "").unwrap();
    let ran = run(folder.path(), ["check", "empty.db"]).ok();
    assert!(ran.stdout.starts_with("empty.db is sound: 0 rows, 0 pages, 0 bytes, "), "{ran:?}");
}

#[test]
fn check_finds_an_index_entry_that_differs_from_the_row_of_the_table() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'six');
         CREATE INDEX i ON t (a)",
    )
    .unwrap();
    drop(db);
    assert_eq!(run(folder.path(), ["check", "x.db", "--json"]).ok().json()["sqlite_check"], Value::Null);
    // The row has another value than its index entry.
    let mut content = fs::read(&path).unwrap();
    let at = content.windows(3).position(|bytes| bytes == b"two").unwrap();
    content[at..at + 3].copy_from_slice(b"ten");
    fs::write(&path, content).unwrap();
    let ran = run(folder.path(), ["check", "x.db"]);
    let expected =
        "i: page 3: the entry of row 2 differs from the row in t\nx.db is NOT sound: 3 rows, 3 pages, [..]";
    assert_eq!(ran.code(), Some(1));
    assert!(matches(ran.stdout.trim_end(), expected), "{ran:?}");
}

#[test]
fn check_suggests_the_command_that_saves_the_rows_of_a_damaged_table() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("my x.db", "10k")).ok();
    let path = folder.join("my x.db");
    let mut content = fs::read(&path).unwrap();
    content[2 * 4096 + 8] ^= 0x40;
    fs::write(&path, content).unwrap();
    let ran = run(folder, ["check", "my x.db"]);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    let hint = "hint: to save the rows that are sound: sqluice recover 'my x.db' NEW.db";
    assert!(ran.stdout.lines().any(|line| line == hint), "{ran:?}");
    let json = run(folder, ["check", "my x.db", "--json"]).json();
    assert_eq!(json["hint"], "sqluice recover 'my x.db' NEW.db");
    assert_eq!(run(folder, ["recover", "my x.db", "NEW.db"]).code(), Some(3));
}

#[test]
fn check_says_what_it_did_not_verify() {
    let folder = folder();
    let folder = folder.path();
    let path = folder.join("x.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE t (a CHECK (a > 0), b TEXT REFERENCES u); CREATE TABLE u (id TEXT PRIMARY KEY);
         CREATE INDEX some ON t (b) WHERE a > 5; CREATE INDEX sums ON t (a + 1);
         CREATE VIRTUAL TABLE words USING fts5 (word); CREATE VIRTUAL TABLE boxes USING rtree (id, x0, x1);
         INSERT INTO t VALUES (7, NULL); INSERT INTO words VALUES ('x'); INSERT INTO boxes VALUES (1, 2, 3)",
    )
    .unwrap();
    drop(db);
    let ran = run(folder, ["check", "x.db"]).ok();
    let last = "not verified: CHECK of t; foreign keys of t; R*Tree boxes";
    assert_eq!(ran.stdout.lines().last(), Some(last));
    let json = run(folder, ["check", "x.db", "--json"]).ok().json();
    assert_eq!(json["unverified"].as_array().unwrap().len(), 3);
    assert_eq!(json["unverified"][0], serde_json::json!({"what": "check_constraint", "name": "t"}));
    // With --full, SQLite verifies all of these except foreign keys.
    let ran = run(folder, ["check", "x.db", "--full"]).ok();
    assert_eq!(ran.stdout.lines().last(), Some("not verified: foreign keys of t"));
    // The index gets a collation that only an application defines.
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "CREATE TABLE v (c COLLATE nocase); CREATE INDEX by_c ON v (c); PRAGMA writable_schema = on;
         UPDATE sqlite_schema SET sql = replace(sql, 'nocase', 'folded')",
    )
    .unwrap();
    drop(db);
    let json = run(folder, ["check", "x.db", "--json"]).ok().json();
    let kind = |what: &str| serde_json::json!({"what": what, "name": "by_c"});
    assert!(json["unverified"].as_array().unwrap().contains(&kind("collation")));
    let ran = run(folder, ["check", "x.db", "--full"]).ok();
    assert!(
        ran.stdout.contains("what SQLite's integrity_check finds in v (no such collation sequence: folded)"),
        "{ran:?}"
    );
}

#[test]
fn check_prints_a_remark_on_a_deviation_that_sqlite_accepts() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "100")).ok();
    let mut content = fs::read(folder.join("x.db")).unwrap();
    content[80] = 1;
    fs::write(folder.join("x.db"), content).unwrap();
    let ran = run(folder, ["check", "x.db"]).ok();
    let remark = "remark: page 1: bytes 72 to 91 of the header, which are reserved, are not all zero\n";
    assert!(ran.stdout.starts_with(remark) && ran.stdout.contains("\nx.db is sound: 100 rows"), "{ran:?}");
    let json = run(folder, ["check", "x.db", "--json"]).ok().json();
    assert_eq!((&json["sound"], json["remarks"].as_array().unwrap().len()), (&true.into(), 1));
}

#[test]
fn check_includes_committed_rows_that_only_the_write_ahead_log_has() {
    let folder = folder();
    let folder = folder.path();
    let db = Connection::open(folder.join("x.db")).unwrap();
    let insert = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) INSERT INTO t SELECT NULL, 'row ' || i FROM n";
    db.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
        .unwrap();
    db.execute_batch("CREATE INDEX i ON t (a)").unwrap();
    db.execute_batch(insert).unwrap();
    for args in [&["check", "x.db"][..], &["check", "x.db", "--full"], &["check", "x.db", "-j", "3"]] {
        let ran = run(folder, args).ok();
        assert!(ran.stdout.starts_with("x.db is sound: 5,000 rows, "), "{ran:?}");
    }
    let ran = run(folder, ["info", "x.db", "--json"]).ok().json();
    assert_eq!((&ran["sound"], &ran["trees"][1]["rows"]), (&true.into(), &5000.into()));
    let with_log = run(folder, ["check", "x.db", "--json"]).ok().json();
    // While another connection writes, the check reads one committed state.
    db.execute_batch(&format!("BEGIN; {insert}")).unwrap();
    assert!(run(folder, ["check", "x.db"]).ok().stdout.starts_with("x.db is sound: 5,000 rows, "));
    db.execute_batch("ROLLBACK; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let without = run(folder, ["check", "x.db", "--json"]).ok().json();
    assert_eq!(with_log["checksum"], without["checksum"]);
    assert_eq!(with_log["bytes"], without["bytes"]);
}

#[test]
fn check_lists_the_faults_of_a_damaged_database() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "10k")).ok();
    let sound = fs::read(folder.join("x.db")).unwrap();
    let pages = sound.len() / 4096;
    let unsound = |content: &[u8], expected: &str| {
        fs::write(folder.join("y.db"), content).unwrap();
        for args in [&["check", "y.db"][..], &["check", "y.db", "--full", "-q"], &["check", "y.db", "--json"]]
        {
            let ran = run(folder, args);
            assert_eq!((ran.code(), &*ran.stderr), (Some(1), ""), "{ran:?}");
            if args.contains(&"--json") {
                assert_eq!(ran.json()["sound"], false);
            } else {
                assert!(
                    ran.stdout.contains(expected) && ran.stdout.contains(" is NOT sound: "),
                    "{expected}: {ran:?}"
                );
            }
        }
    };
    let with = |at: usize, byte: u8| {
        let mut content = sound.clone();
        content[at] = byte;
        content
    };
    unsound(&with(4096, 0xff), "user: page 2: 255 is not a kind of B-tree page");
    unsound(&with(4096 + 4, 0xff), "user: page 2: ");
    unsound(&with(31, 99), &format!("the header counts 99 pages, the file has {pages}"));
    unsound(&with(0, b'X'), "page 1: the file does not begin with the bytes \"SQLite format 3\"");
    unsound(
        &sound[..sound.len() - 4096],
        &format!("the header counts {pages} pages, the file has {}", pages - 1),
    );
    unsound(b"This is a text.\n", "page 1: the file is shorter than the 100 bytes of a database header");
    unsound(&b"This is a long text.\n".repeat(1000), "SQLite: file is not a database");
    // Change one byte in the header of each page in turn.
    for page in 1..pages {
        unsound(&with(page * 4096 + 1, sound[page * 4096 + 1] ^ 0x10), &format!("page {}", page + 1));
    }
}

#[test]
fn info_lists_tables_and_indexes_with_their_pages() {
    let folder = folder();
    run(folder.path(), generate("x.db", "10k")).ok();
    let ran = run(folder.path(), ["info", "x.db"]).ok();
    let expected = "\
size            [..] kB
pages           [..] of 4096 bytes
free pages      0
journal         rollback
encoding        UTF-8
schema          format 4, cookie 1
user version    0
application id  0
SQLite          [..] (the version in the file's header)

name           kind     rows  pages  overflow  depth  fill
─────────────  ─────  ──────  ─────  ────────  ─────  ────
sqlite_schema  table       1      1         0      1  [..]%
user           table  10,000  [..]         0      2  [..]%";
    assert!(matches(&ran.stdout, expected), "{}", ran.stdout);

    fs::write(folder.path().join("y.db"), &fs::read(folder.path().join("x.db")).unwrap()[..8192]).unwrap();
    let ran = run(folder.path(), ["info", "y.db"]).ok();
    assert!(ran.stdout.contains("NOT sound: sqluice check lists the problems"), "{ran:?}");
}
