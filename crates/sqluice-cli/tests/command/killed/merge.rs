//! SIGKILL while databases are merged: the target is absent, the old database, or the whole result; the next run removes leftovers.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice_testkit::effort::tries;

use crate::support::kills::Kills;
use crate::support::old::{Content, LEFT, content, journal_mode};
use crate::support::{folder, generate, names, run, start, tell};

/// The number of rows of all databases: about 11 MB, so that the run makes several writes.
const ROWS: i64 = 600_000;

/// Returns the number of kills while pages are written.
fn kills() -> usize {
    tries(2, 12, 2000)
}

/// Makes `a.db` and `b.db`, each with one half of the rows and an index.
fn sources(folder: &Path) {
    let rows = ROWS.to_string();
    for (name, part) in [("a.db", "1/2"), ("b.db", "2/2")] {
        run(folder, [&generate(name, &rows)[..], &["--part", part]].concat()).ok();
    }
}

#[test]
fn a_killed_merge_leaves_no_target_and_untouched_sources() {
    let folder = folder();
    let folder = folder.path();
    sources(folder);
    let originals = ["a.db", "b.db"].map(|name| fs::read(folder.join(name)).unwrap());
    let args = ["merge", "x.db", "a.db", "b.db", "--compact"];
    let mut kills = Kills::of_run(folder, "x.db", &args, kills());
    fs::remove_file(folder.join("x.db")).unwrap();
    while let Some(aim) = kills.next() {
        let reached = kills.kill(aim, folder, start(folder, args));
        if folder.join("x.db").exists() {
            assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "{reached:?}");
        }
        run(folder, ["merge", "x.db", "a.db", "b.db", "--overwrite"]).ok();
        assert_eq!(names(folder), ["a.db", "b.db", "x.db"], "{reached:?}");
        assert_eq!(content(&folder.join("x.db")), Content::New(ROWS), "{reached:?}");
        fs::remove_file(folder.join("x.db")).unwrap();
        for (name, original) in ["a.db", "b.db"].iter().zip(&originals) {
            assert!(fs::read(folder.join(name)).unwrap() == *original, "{reached:?}: {name} changed");
        }
    }
    kills.tell("merges");
}

#[test]
fn a_killed_merge_that_overwrites_leaves_the_old_database_or_the_result() {
    let elsewhere = folder();
    sources(elsewhere.path());
    let [a, b] = ["a.db", "b.db"].map(|name| elsewhere.path().join(name));
    let args = ["merge", "x.db", a.to_str().unwrap(), b.to_str().unwrap(), "--compact", "--overwrite"];
    let mut kills = Kills::of_run(folder().path(), "x.db", &args, kills());
    let mut states = LEFT.iter().rev().cycle();
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
    kills.tell("overwriting merges");
    tell(&format!("{} left the old database, {} the result", seen.0, seen.1));
    assert!(seen.0 > 0, "too late each time");
}

#[test]
fn a_killed_merge_into_an_existing_database_adds_all_rows_or_no_row() {
    let elsewhere = folder();
    sources(elsewhere.path());
    let [first, second] = ["a.db", "b.db"].map(|name| elsewhere.path().join(name));
    for mode in ["delete", "wal"] {
        let set_mode = format!("PRAGMA journal_mode = {mode}");
        Connection::open(&first).unwrap().query_row(&set_mode, [], |_| Ok(())).unwrap();
        let args = ["merge", "x.db", second.to_str().unwrap(), "--compact"];
        let measured = folder();
        fs::copy(&first, measured.path().join("x.db")).unwrap();
        let mut kills = Kills::of_run(measured.path(), "x.db", &args, kills());
        let mut seen = (0, 0);
        while let Some(aim) = kills.next() {
            let folder = folder();
            let folder = folder.path();
            let db = folder.join("x.db");
            fs::copy(&first, &db).unwrap();
            let reached = kills.kill(aim, folder, start(folder, args));
            let found = content(&db);
            let is_old = found == Content::New(ROWS / 2);
            assert!(is_old || found == Content::New(ROWS), "{mode}, {reached:?}: {found:?}");
            seen = (seen.0 + usize::from(is_old), seen.1 + usize::from(!is_old));
            let found = journal_mode(&db);
            assert!(found == mode || found == "delete", "{reached:?}: {mode} became {found}");
            // If the merge was complete, a second one would add the rows again, so copy instead.
            let again = if is_old { args } else { ["copy", "x.db", "x.db", "--compact"] };
            run(folder, again).ok();
            assert_eq!(content(&db), Content::New(ROWS), "{mode}, {reached:?}");
            assert_eq!(names(folder), ["x.db"], "{mode}, {reached:?}");
        }
        kills.tell(&format!("merges into a database, journal mode {mode}"));
        tell(&format!("{} left the old file, {} the new", seen.0, seen.1));
        assert!(seen.0 > 0, "too late each time");
    }
}
