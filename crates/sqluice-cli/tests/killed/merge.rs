//! SIGKILL while databases are merged: the target is absent, the old database, or the whole result; the next run clears what is left.
//!
//! `SQLUICE_KILLS` sets the number of rounds (12).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::old::{Content, LEFT, content, journal_mode};
use crate::support::{Random, end, folder, generate, names, run, start, tell, temporaries};

/// Of all databases together: about 38 MB.
const ROWS: i64 = 2_000_000;

fn rounds() -> usize {
    std::env::var("SQLUICE_KILLS").map_or(12, |rounds| rounds.parse().unwrap())
}

/// Makes `a.db` and `b.db`, which have one half of the rows each, with an index.
fn sources(folder: &Path) {
    let rows = ROWS.to_string();
    for (name, part) in [("a.db", "1/2"), ("b.db", "2/2")] {
        run(folder, [&generate(name, &rows)[..], &["--part", part]].concat()).ok();
    }
}

/// Kills a run after a time.
fn kill(folder: &Path, args: &[&str], seconds: f64) {
    let mut child = start(folder, args);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    child.kill().unwrap();
    end(child);
}

fn seconds_of(folder: &Path, args: &[&str]) -> f64 {
    let started = Instant::now();
    run(folder, args).ok();
    started.elapsed().as_secs_f64()
}

#[test]
fn a_killed_merge_leaves_no_target_and_untouched_sources() {
    let mut random = Random::new();
    let folder = folder();
    let folder = folder.path();
    sources(folder);
    let originals = ["a.db", "b.db"].map(|name| fs::read(folder.join(name)).unwrap());
    let args = ["merge", "x.db", "a.db", "b.db", "--compact"];
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
        run(folder, ["merge", "x.db", "a.db", "b.db", "--overwrite"]).ok();
        assert_eq!(names(folder), ["a.db", "b.db", "x.db"], "round {round}");
        assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "round {round}");
        fs::remove_file(folder.join("x.db")).unwrap();
        for (name, original) in ["a.db", "b.db"].iter().zip(&originals) {
            assert!(fs::read(folder.join(name)).unwrap() == *original, "round {round}: {name} changed");
        }
    }
    tell(&format!("{} kills of merges: {writing} while they wrote, {named} too late", rounds()));
    assert!(writing > 0, "too early or too late each time");
}

#[test]
fn a_killed_merge_that_overwrites_leaves_the_old_database_or_the_result() {
    let mut random = Random::new();
    let elsewhere = folder();
    sources(elsewhere.path());
    let [a, b] = ["a.db", "b.db"].map(|name| elsewhere.path().join(name));
    let args = ["merge", "x.db", a.to_str().unwrap(), b.to_str().unwrap(), "--compact", "--overwrite"];
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
        "{} kills of overwriting merges: {} left the old database, {} the result",
        rounds(),
        seen.0,
        seen.1
    ));
    assert!(seen.0 > 0, "too late each time");
}

#[test]
fn a_killed_merge_into_an_existing_database_adds_all_rows_or_no_row() {
    let mut random = Random::new();
    let elsewhere = folder();
    sources(elsewhere.path());
    let [first, second] = ["a.db", "b.db"].map(|name| elsewhere.path().join(name));
    for mode in ["delete", "wal"] {
        let set_mode = format!("PRAGMA journal_mode = {mode}");
        Connection::open(&first).unwrap().query_row(&set_mode, [], |_| Ok(())).unwrap();
        let args = ["merge", "x.db", second.to_str().unwrap(), "--compact"];
        let measured = folder();
        fs::copy(&first, measured.path().join("x.db")).unwrap();
        let mut seconds = seconds_of(measured.path(), &args);
        let mut seen = (0, 0);
        for round in 0..rounds() {
            let folder = folder();
            let folder = folder.path();
            let db = folder.join("x.db");
            fs::copy(&first, &db).unwrap();
            kill(folder, &args, seconds * (0.1 + random.fraction().sqrt()));
            let found = content(&db);
            let is_old = found == Content::New(ROWS / 2);
            assert!(is_old || found == Content::New(ROWS), "{mode}, round {round}: {found:?}");
            seconds *= if is_old { 1.05 } else { 0.95 };
            seen.0 += usize::from(is_old);
            seen.1 += usize::from(!is_old);
            let found = journal_mode(&db);
            assert!(found == mode || found == "delete", "round {round}: {mode} became {found}");
            // What was added must not be added twice.
            let again = if is_old { args } else { ["copy", "x.db", "x.db", "--compact"] };
            run(folder, again).ok();
            assert_eq!(content(&db), Content::New(ROWS), "{mode}, round {round}");
            assert_eq!(names(folder), ["x.db"], "{mode}, round {round}");
        }
        tell(&format!(
            "{} kills of merges into a database, journal mode {mode}: {} left the old file, {} the new",
            rounds(),
            seen.0,
            seen.1
        ));
        assert!(seen.0 > 0, "too late each time");
    }
}
