//! SIGKILL while a database is copied: the target is absent, the old database, or the copy; the next run removes leftovers.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice_testkit::effort::tries;

use crate::support::kills::Kills;
use crate::support::old::{Content, LEFT, content, journal_mode};
use crate::support::{folder, generate, names, run, start, tell};

/// The number of rows: about 11 MB, so that the run makes several writes.
const ROWS: i64 = 600_000;

/// Returns the number of kills while pages are written.
fn kills() -> usize {
    tries(2, 12, 2000)
}

/// Makes `big.db`.
fn source(folder: &Path) {
    run(folder, generate("big.db", &ROWS.to_string())).ok();
}

#[test]
fn a_killed_copy_leaves_no_target_and_an_untouched_source() {
    let folder = folder();
    let folder = folder.path();
    source(folder);
    let original = fs::read(folder.join("big.db")).unwrap();
    let args = ["copy", "big.db", "x.db", "--compact"];
    let mut kills = Kills::of_run(folder, "x.db", &args, kills());
    fs::remove_file(folder.join("x.db")).unwrap();
    while let Some(aim) = kills.next() {
        let reached = kills.kill(aim, folder, start(folder, args));
        if folder.join("x.db").exists() {
            assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "{reached:?}");
        }
        run(folder, ["copy", "big.db", "x.db", "--overwrite"]).ok();
        assert_eq!(names(folder), ["big.db", "x.db"], "{reached:?}");
        assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "{reached:?}");
        fs::remove_file(folder.join("x.db")).unwrap();
        assert!(fs::read(folder.join("big.db")).unwrap() == original, "{reached:?}: the source changed");
    }
    kills.tell("copies");
}

#[test]
fn a_killed_copy_that_overwrites_leaves_the_old_database_or_the_copy() {
    let elsewhere = folder();
    source(elsewhere.path());
    let big = elsewhere.path().join("big.db");
    let args = ["copy", big.to_str().unwrap(), "x.db", "--compact", "--overwrite"];
    let mut kills = Kills::of_run(folder().path(), "x.db", &args, kills());
    let mut states = LEFT.iter().cycle();
    let mut seen = (0, 0);
    while let Some(aim) = kills.next() {
        let folder = folder();
        let folder = folder.path();
        let left = states.next().unwrap();
        left.make(folder);
        let reached = kills.kill(aim, folder, start(folder, args));
        let found = content(&folder.join("x.db"));
        let is_old = found == left.content();
        assert!(is_old || found == Content::New(ROWS), "{reached:?}, {left:?}: {found:?}");
        seen = (seen.0 + usize::from(is_old), seen.1 + usize::from(!is_old));
        run(folder, args).ok();
        assert_eq!(names(folder), ["x.db"], "{reached:?}, {left:?}");
        assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "{reached:?}, {left:?}");
    }
    kills.tell("overwriting copies");
    tell(&format!("{} left the old database, {} the copy", seen.0, seen.1));
    assert!(seen.0 > 0, "too late each time");
}

#[test]
#[cfg_attr(windows, ignore = "under wine a program starts so slowly that kills come too late")]
fn a_killed_copy_in_place_keeps_all_rows_and_leaves_the_old_journal_mode_or_the_mode_delete() {
    let elsewhere = folder();
    source(elsewhere.path());
    // Free pages make the source differ from its copy.
    let connection = Connection::open(elsewhere.path().join("big.db")).unwrap();
    connection
        .execute_batch("CREATE TABLE churn AS SELECT * FROM user LIMIT 100000; DROP TABLE churn")
        .unwrap();
    drop(connection);
    for mode in ["delete", "wal"] {
        let set_mode = format!("PRAGMA journal_mode = {mode}");
        let big = elsewhere.path().join("big.db");
        Connection::open(&big).unwrap().query_row(&set_mode, [], |_| Ok(())).unwrap();
        let old_bytes = fs::metadata(&big).unwrap().len();
        let args = ["copy", "x.db", "x.db", "--compact"];
        let measured = folder();
        fs::copy(&big, measured.path().join("x.db")).unwrap();
        let mut kills = Kills::of_run(measured.path(), "x.db", &args, kills());
        let mut seen = (0, 0);
        while let Some(aim) = kills.next() {
            let folder = folder();
            let folder = folder.path();
            let db = folder.join("x.db");
            fs::copy(&big, &db).unwrap();
            let reached = kills.kill(aim, folder, start(folder, args));
            let is_old = fs::metadata(&db).unwrap().len() == old_bytes;
            seen = (seen.0 + usize::from(is_old), seen.1 + usize::from(!is_old));
            assert_eq!(content(&db), Content::New(ROWS), "{mode}, {reached:?}");
            let found = journal_mode(&db);
            assert!(found == mode || found == "delete", "{reached:?}: {mode} became {found}");
            run(folder, args).ok();
            assert_eq!(content(&db), Content::New(ROWS), "{mode}, {reached:?}");
            assert_eq!(names(folder), ["x.db"], "{mode}, {reached:?}");
        }
        kills.tell(&format!("copies in place, journal mode {mode}"));
        tell(&format!("{} left the old file, {} the new", seen.0, seen.1));
        assert!(seen.0 > 0, "too late each time");
    }
}
