//! SIGKILL while a dump is loaded, also while SQLite runs its statements in the unfinished file: the old database or the new one.

use std::fmt::Write;
use std::fs;

use sqluice_testkit::effort::tries;

use crate::support::kills::Kills;
use crate::support::{folder, integrity, names, run, start, tell};

/// Returns a dump with rows that become pages, and statements that SQLite runs after them.
fn dump(rows: usize) -> String {
    let mut text =
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);\n"
            .to_owned();
    for row in 0..rows {
        writeln!(text, "INSERT INTO t VALUES({row},'row {row} of a table that takes several writes');")
            .unwrap();
    }
    text.push_str("CREATE TABLE copied (b);\nINSERT INTO copied SELECT b FROM t WHERE a % 4 = 0;\n");
    text.push_str("UPDATE t SET b = 'new' WHERE a % 8 = 0;\nCREATE INDEX by_b ON t (b);\nCOMMIT;\n");
    text
}

const OLD: &str = "CREATE TABLE old (a);\nINSERT INTO old VALUES(1);\n";

/// Returns `true` if the database is the new one. Fails if it is neither the old nor the new one.
fn is_new(database: &std::path::Path, rows: i64) -> bool {
    assert_eq!(integrity(database), "ok");
    let connection = rusqlite::Connection::open(database).unwrap();
    let counted = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    if counted("SELECT count(*) FROM old") == Ok(1) {
        return false;
    }
    assert_eq!(counted("SELECT count(*) FROM t"), Ok(rows));
    assert_eq!(counted("SELECT count(*) FROM copied"), Ok((rows + 3) / 4));
    assert_eq!(counted("SELECT count(*) FROM t INDEXED BY by_b WHERE b = 'new'"), Ok((rows + 7) / 8));
    true
}

#[test]
fn a_killed_load_of_a_dump_leaves_the_old_database_or_the_new_one() {
    let rows = 150_000;
    let text = dump(rows);
    let args = ["load", "x.db", "dump.sql", "--overwrite"];
    let whole = folder();
    fs::write(whole.path().join("dump.sql"), &text).unwrap();
    let mut kills = Kills::of_run(whole.path(), "x.db", &args, tries(4, 15, 500));
    assert!(is_new(&whole.path().join("x.db"), rows as i64));
    let mut seen = (0, 0);
    while let Some(aim) = kills.next() {
        let folder = folder();
        let folder = folder.path();
        fs::write(folder.join("old.sql"), OLD).unwrap();
        run(folder, ["load", "x.db", "old.sql"]).ok();
        fs::write(folder.join("dump.sql"), &text).unwrap();
        let reached = kills.kill(aim, folder, start(folder, args));
        match is_new(&folder.join("x.db"), rows as i64) {
            true => seen.1 += 1,
            false => seen.0 += 1,
        }
        run(folder, ["load", "x.db", "old.sql", "--overwrite"]).ok();
        assert_eq!(names(folder), ["dump.sql", "old.sql", "x.db"], "{reached:?}");
        assert!(!is_new(&folder.join("x.db"), rows as i64), "{reached:?}");
    }
    kills.tell("loads of dumps");
    tell(&format!("{} left the old database, {} the new", seen.0, seen.1));
    assert!(seen.0 > 0, "too late each time");
}
