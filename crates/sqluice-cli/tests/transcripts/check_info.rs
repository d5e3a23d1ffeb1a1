//! `check` and `info`.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{folder, generate, run};
use crate::transcript::matches;

#[test]
fn check_finds_a_sound_database_sound() {
    let folder = folder();
    run(folder.path(), generate("x.db", "10k")).ok();
    let theirs = " and by SQLite's integrity_check";
    for (args, by) in [
        (&["check", "x.db"][..], ""),
        (&["check", "x.db", "-j", "1"], ""),
        (&["check", "x.db", "--threads", "3", "--full"], theirs),
    ] {
        let ran = run(folder.path(), args).ok();
        let expected =
            format!("sound: 10,000 rows, [..] pages, [..] kB, checksum [..]; read by sqluice{by} in [..] s");
        assert!(matches(&ran.stdout, &expected), "{ran:?}");
        assert_eq!(ran.stderr, "");
    }
    fs::write(folder.path().join("empty.db"), "").unwrap();
    let ran = run(folder.path(), ["check", "empty.db"]).ok();
    assert!(ran.stdout.starts_with("sound: 0 rows, 0 pages, 0 bytes; "), "{ran:?}");
}

#[test]
fn check_compares_indexes_with_their_table() {
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
    // The row says something else than its entry.
    let mut content = fs::read(&path).unwrap();
    let at = content.windows(3).position(|bytes| bytes == b"two").unwrap();
    content[at..at + 3].copy_from_slice(b"ten");
    fs::write(&path, content).unwrap();
    let ran = run(folder.path(), ["check", "x.db"]);
    let expected =
        "i: page 3: the entry of row 2 is not what the row in t says\nNOT sound: 3 rows, 3 pages, [..]";
    assert_eq!(ran.code(), Some(1));
    assert!(matches(ran.stdout.trim_end(), expected), "{ran:?}");
}

#[test]
fn check_says_what_is_wrong_with_a_database_that_is_not_sound() {
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
                    ran.stdout.contains(expected) && ran.stdout.contains("NOT sound: "),
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
    unsound(&with(4096, 0xff), "user: page 2: 255 is no kind of B-tree page");
    unsound(&with(4096 + 4, 0xff), "user: page 2: ");
    unsound(&with(31, 99), &format!("the header counts 99 pages, the file has {pages}"));
    unsound(&with(0, b'X'), "page 1: the file does not begin as a SQLite database does");
    unsound(
        &sound[..sound.len() - 4096],
        &format!("the header counts {pages} pages, the file has {}", pages - 1),
    );
    unsound(b"This is a text.\n", "page 1: the file is shorter than the 100 bytes of a database header");
    unsound(&b"This is a long text.\n".repeat(1000), "SQLite: file is not a database");
    // Every page of the file, one byte somewhere in its head.
    for page in 1..pages {
        unsound(&with(page * 4096 + 1, sound[page * 4096 + 1] ^ 0x10), &format!("page {}", page + 1));
    }
}

#[test]
fn info_says_what_is_in_a_database() {
    let folder = folder();
    run(folder.path(), generate("x.db", "10k")).ok();
    let ran = run(folder.path(), ["info", "x.db"]).ok();
    let expected = "\
size      [..] kB
pages     [..] of 4096 bytes
free      0 pages on the freelist
journal   rollback
encoding  UTF-8
schema    format 4, cookie 1
user      version 0, application id 0
written   by SQLite [..] or as it would

name           kind                     rows       pages  overflow depth   fill
sqlite_schema  table                       1           1         0     1   [..]%
user           table                  10,000          [..]         0     2  [..]%";
    assert!(matches(&ran.stdout, expected), "{}", ran.stdout);

    fs::write(folder.path().join("y.db"), &fs::read(folder.path().join("x.db")).unwrap()[..8192]).unwrap();
    let ran = run(folder.path(), ["info", "y.db"]).ok();
    assert!(ran.stdout.contains("NOT sound: sqluice check tells more"), "{ran:?}");
}
