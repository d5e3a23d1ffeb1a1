//! Databases that are written to an object store.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::store::{Deed, Store};
use crate::support::{Ran, WAITS, finish, folder, names, peak_bytes, run, sqluice, tell};

/// A memory limit with which upload parts have the smallest size, 8 MiB.
const MEMORY: [&str; 2] = ["--memory", "120MiB"];

#[track_caller]
fn succeeds(command: &mut Command) -> Ran {
    let ran = finish(command);
    assert!(ran.status.success(), "{command:?}: {ran:?}");
    ran
}

/// Runs a command with a file and with an object as its target, and asserts that both have the same bytes.
#[track_caller]
fn assert_same_bytes(store: &Store, folder: &Path, args: &[&str], parts_min: usize) {
    let with = |target: &str| {
        let args = args.iter().map(|arg| if *arg == "TARGET" { target } else { arg });
        let args: Vec<String> = args.map(str::to_owned).chain(MEMORY.map(str::to_owned)).collect();
        args
    };
    store.requests.lock().unwrap().clear();
    succeeds(sqluice(folder).args(with("local.db")));
    succeeds(store.sqluice(folder).args(with("s3://bucket/folder/remote.db")));
    let (local, remote) =
        (fs::read(folder.join("local.db")).unwrap(), store.get("folder/remote.db").unwrap());
    assert!(local == remote, "{args:?}: {} and {} bytes", local.len(), remote.len());
    let parts = store.parts();
    assert!(parts.len() >= parts_min, "{args:?}: {parts:?}");
    assert_eq!(parts.last(), Some(&1), "page 1 is uploaded last: {parts:?}");
    let again = finish(store.sqluice(folder).args(with("s3://bucket/folder/remote.db")));
    assert_eq!(again.code(), Some(1), "{again:?}");
    assert!(again.stderr.contains("s3://bucket/folder/remote.db already exists"), "{again:?}");
    assert!(!store.has_uploads());
    fs::remove_file(folder.join("local.db")).unwrap();
    store.delete("folder/remote.db");
}

#[test]
fn a_command_writes_the_same_bytes_to_an_object_store_as_to_a_file() {
    let Some(store) = Store::start() else { return };
    let folder = folder();
    let folder = folder.path();
    for (name, rows, seed) in [("one.db", "1500k", "1"), ("two.db", "600k", "2"), ("vacuumed.db", "20k", "3")]
    {
        let args = ["generate", name, "--preset", "user", "--rows", rows, "--seed", seed];
        assert!(run(folder, args).status.success());
    }
    let export = ["export", "one.db", "--to", "one.csv"];
    assert!(run(folder, export).status.success());
    fs::write(folder.join("view.sql"), "CREATE TABLE t (a INT, b TEXT AS (upper(a)) STORED)").unwrap();
    fs::write(folder.join("t.csv"), "a\n1\n2\n3\n").unwrap();
    assert!(run(folder, ["index", "vacuumed.db", "CREATE INDEX by_area ON user (area)"]).status.success());
    let cases: [(&[&str], usize); 10] = [
        (&["generate", "TARGET", "--preset", "user", "--rows", "1500k"], 3),
        (&["generate", "TARGET", "--preset", "user", "--rows", "10"], 1),
        (&["load", "TARGET", "one.csv"], 3),
        (&["copy", "one.db", "TARGET"], 3),
        (&["copy", "one.db", "TARGET", "--interior-first", "--page-size", "1024"], 3),
        (&["merge", "TARGET", "one.db", "two.db", "--renumber", "user"], 4),
        // SQLite inserts the rows into a temporary file, and the index is made there.
        (&["merge", "TARGET", "vacuumed.db", "--source-column", "origin"], 1),
        // A database that SQLite finishes is made in a temporary file first.
        (&["load", "TARGET", "t.csv", "--schema", "view.sql"], 1),
        (&["generate", "TARGET", "--preset", "user", "--rows", "1500k", "--analyze"], 3),
        (&["copy", "vacuumed.db", "TARGET", "--auto-vacuum", "full"], 1),
    ];
    for (args, parts_min) in cases {
        assert_same_bytes(&store, folder, args, parts_min);
    }
    assert!(names(folder).iter().all(|name| !name.contains("sqluice-tmp")), "{:?}", names(folder));
}

#[test]
fn an_existing_object_in_a_store_is_replaced_only_with_the_flag_overwrite() {
    let Some(store) = Store::start() else { return };
    let folder = folder();
    let folder = folder.path();
    store.put("x.db", b"something else");
    let target = "s3://bucket/x.db";
    let generate = ["generate", target, "--preset", "user", "--rows", "1000"];
    for flags in [&[][..], &["--dry-run"], &["--json"]] {
        let ran = finish(store.sqluice(folder).args(generate).args(flags));
        assert_eq!(ran.code(), Some(1), "{ran:?}");
        assert_eq!(store.get("x.db").unwrap(), b"something else");
    }
    let planned = succeeds(store.sqluice(folder).args(generate).args(["--overwrite", "--dry-run", "--json"]));
    assert_eq!(planned.json()["target"], target);
    assert_eq!(planned.json()["replaced"]["bytes"], 14);
    let ran = succeeds(store.sqluice(folder).args(generate).args(["--overwrite", "--json"]));
    let report = ran.json();
    assert_eq!((&report["target"], &report["replaced"]["bytes"]), (&target.into(), &14.into()));
    assert_eq!(report["output"], "uploaded");
    let analyzed =
        succeeds(store.sqluice(folder).args(generate).args(["--overwrite", "--json", "--analyze"]));
    assert_eq!(analyzed.json()["output"], "spooled");
    let planned =
        succeeds(store.sqluice(folder).args(generate).args(["--overwrite", "--analyze", "--dry-run"]));
    assert!(planned.stdout.contains("SQLite finishes the database in a temporary file"), "{planned:?}");
    assert!(store.get("x.db").unwrap().starts_with(b"SQLite format 3\0"));
    assert!(names(folder).is_empty());
}

#[test]
fn rows_cannot_be_added_to_a_database_in_an_object_store() {
    let Some(store) = Store::start() else { return };
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), "a\n1\n").unwrap();
    succeeds(store.sqluice(folder).args(["load", "s3://bucket/x.db", "t.csv"]));
    let before = store.get("x.db").unwrap();
    for flags in [&[][..], &["--append"], &["--replace-table"]] {
        let ran = finish(store.sqluice(folder).args(["load", "s3://bucket/x.db", "t.csv"]).args(flags));
        assert_eq!(ran.code(), Some(1), "{ran:?}");
        assert!(ran.stderr.contains("rows can't be added"), "{ran:?}");
    }
    assert_eq!(store.get("x.db").unwrap(), before);
    for (target, message) in [
        ("s3://bucket", "names no object"),
        ("s3://bucket/", "names no object"),
        ("https://example.org/x.db", "can't be written to a web server"),
    ] {
        let ran = finish(store.sqluice(folder).args(["load", target, "t.csv"]));
        assert!(ran.code() == Some(2) && ran.stderr.contains(message), "{ran:?}");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "it reads the peak of memory in /proc")]
fn the_memory_of_an_upload_is_bounded_by_the_setting() {
    let Some(store) = Store::with(|request| {
        if request.part().is_some() {
            // The store takes parts more slowly than pages are made.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Deed::Pass
    }) else {
        return;
    };
    let folder = folder();
    let folder = folder.path();
    let peak_of = |url: &str, rows: &str| {
        let mut command = store.sqluice(folder);
        // The store needs seconds to join the parts of a large object on a busy machine.
        command.env_remove(WAITS);
        let args =
            ["generate", url, "--preset", "user", "--rows", rows, "--threads", "1", "--memory", "64MiB"];
        peak_bytes(command.args(args))
    };
    // The resident memory includes the program, which is larger in builds without optimization.
    let (few, peak) = (peak_of("s3://bucket/few.db", "1k"), peak_of("s3://bucket/x.db", "7500k"));
    let bytes: usize = 8 * (store.parts().len() << 20);
    tell(&format!(
        "uploads with 64 MiB: {few} bytes resident for 1,000 rows, {peak} for about {bytes} bytes"
    ));
    assert!(bytes > 128 << 20, "the database is larger than the memory: {bytes}");
    // Allow two more parts of 8 MiB: the connection and the allocator may still hold parts that were uploaded.
    assert!(peak < few + (64 << 20) + 2 * (8 << 20), "{few} {peak}");
}
