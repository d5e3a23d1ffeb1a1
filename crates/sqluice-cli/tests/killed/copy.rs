//! SIGKILL while a database is copied: the target is absent, the old database, or the copy; the next run clears what is left.
//!
//! `SQLUICE_KILLS` sets the number of rounds (12).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::old::{Content, LEFT, content, journal_mode};
use crate::support::{Random, end, folder, generate, names, run, start, tell, temporaries};

/// About 38 MB, with free pages.
const ROWS: i64 = 2_000_000;

fn rounds() -> usize {
    std::env::var("SQLUICE_KILLS").map_or(12, |rounds| rounds.parse().unwrap())
}

/// Makes `big.db`.
fn source(folder: &Path) {
    run(folder, generate("big.db", &ROWS.to_string())).ok();
}

/// Kills a run after a part of the time that a whole one takes. Returns whether it had ended.
fn kill(folder: &Path, args: &[&str], seconds: f64) -> bool {
    let mut child = start(folder, args);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    child.kill().unwrap();
    end(child).status.success()
}

fn seconds_of(folder: &Path, args: &[&str]) -> f64 {
    let started = Instant::now();
    run(folder, args).ok();
    started.elapsed().as_secs_f64()
}

#[test]
fn a_killed_copy_leaves_no_target_and_an_untouched_source() {
    let mut random = Random::new();
    let folder = folder();
    let folder = folder.path();
    source(folder);
    let original = fs::read(folder.join("big.db")).unwrap();
    let args = ["copy", "big.db", "x.db", "--compact"];
    let mut seconds = seconds_of(folder, &args);
    fs::remove_file(folder.join("x.db")).unwrap();
    let (mut writing, mut named) = (0, 0);
    for round in 0..rounds() {
        kill(folder, &args, seconds * random.fraction().sqrt());
        writing += usize::from(!temporaries(folder, "x.db").is_empty());
        if folder.join("x.db").exists() {
            named += 1;
            seconds *= 0.9;
            assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "round {round}");
        }
        run(folder, ["copy", "big.db", "x.db", "--overwrite"]).ok();
        assert_eq!(names(folder), ["big.db", "x.db"], "round {round}");
        assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "round {round}");
        fs::remove_file(folder.join("x.db")).unwrap();
        assert!(fs::read(folder.join("big.db")).unwrap() == original, "round {round}: the source changed");
    }
    tell(&format!("{} kills of copies: {writing} while they wrote, {named} too late", rounds()));
    assert!(writing > 0, "too early or too late each time");
}

#[test]
fn a_killed_copy_that_overwrites_leaves_the_old_database_or_the_copy() {
    let mut random = Random::new();
    let elsewhere = folder();
    source(elsewhere.path());
    let big = elsewhere.path().join("big.db");
    let args = ["copy", big.to_str().unwrap(), "x.db", "--compact", "--overwrite"];
    let mut seconds = seconds_of(folder().path(), &args);
    let mut seen = (0, 0);
    for round in 0..rounds() {
        let folder = folder();
        let folder = folder.path();
        let left = LEFT[round % LEFT.len()];
        left.make(folder);
        kill(folder, &args, seconds * (0.2 + random.fraction().sqrt()));
        let found = content(&folder.join("x.db"));
        if found == left.content() {
            seen.0 += 1;
            seconds *= 1.05;
        } else {
            assert_eq!(found, Content::New(ROWS), "round {round}, {left:?}");
            seen.1 += 1;
            seconds *= 0.95;
        }
        run(folder, args).ok();
        assert_eq!(names(folder), ["x.db"], "round {round}, {left:?}");
        assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "round {round}, {left:?}");
    }
    tell(&format!(
        "{} kills of overwriting copies: {} left the old database, {} the copy",
        rounds(),
        seen.0,
        seen.1
    ));
    assert!(seen.0 > 0, "too late each time");
}

#[test]
#[cfg_attr(windows, ignore = "under wine a program starts so slowly that kills come too late")]
fn a_killed_copy_in_place_leaves_all_rows_in_the_journal_mode_or_a_rollback_one() {
    let mut random = Random::new();
    let elsewhere = folder();
    source(elsewhere.path());
    // Free pages, so that the copy differs from its source.
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
        let mut seconds = seconds_of(measured.path(), &args);
        let mut seen = (0, 0);
        for round in 0..rounds() {
            let folder = folder();
            let folder = folder.path();
            let db = folder.join("x.db");
            fs::copy(&big, &db).unwrap();
            kill(folder, &args, seconds * (0.1 + random.fraction().sqrt()));
            let is_old = fs::metadata(&db).unwrap().len() == old_bytes;
            seconds *= if is_old { 1.05 } else { 0.95 };
            seen.0 += usize::from(is_old);
            seen.1 += usize::from(!is_old);
            assert_eq!(content(&db), Content::New(ROWS), "{mode}, round {round}");
            let found = journal_mode(&db);
            assert!(found == mode || found == "delete", "round {round}: {mode} became {found}");
            run(folder, args).ok();
            assert_eq!(content(&db), Content::New(ROWS), "{mode}, round {round}");
            assert_eq!(names(folder), ["x.db"], "{mode}, round {round}");
        }
        tell(&format!(
            "{} kills of copies in place, journal mode {mode}: {} left the old file, {} the new",
            rounds(),
            seen.0,
            seen.1
        ));
        assert!(seen.0 > 0, "too late each time");
    }
}
