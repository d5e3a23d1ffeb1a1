//! The target of a run: names that are allowed, and files at the target that are refused.

use std::fs;

use crate::support::{folder, generate, integrity, names, run};
use crate::transcript::{ONE_ROW, fails, matches};
use sqluice_testkit::system::symlink;

#[test]
fn a_target_that_is_no_database_or_cannot_be_created_is_refused() {
    let no_database = "\
error: x.db is not a SQLite database
  caused by: file is not a database

hint: name another file";
    fails(&[("x.db", "precious")], "generate x.db --preset user --rows 3", 1, no_database);
    fails(&[("x.db", "precious")], "generate x.db --preset user --rows 3 --append", 1, no_database);
    fails(&[("x.db", "precious")], "generate x.db --preset user --rows 3 --dry-run", 1, no_database);
    fails(&[("x.db", "precious"), ONE_ROW], "load x.db one.csv", 1, no_database);
    fails(&[("x.db", "precious"), ONE_ROW], "load x.db one.csv --append", 1, no_database);
    fails(
        &[("x.db/", "")],
        "generate x.db --preset user --rows 3",
        1,
        "\
error: x.db is a folder

hint: name a file in it",
    );
    fails(
        &[],
        "generate x/ --preset user --rows 3",
        1,
        "\
error: x/ is a folder

hint: name a file in a folder that exists",
    );
    fails(
        &[],
        "generate / --preset user --rows 3",
        1,
        "\
error: / is a folder

hint: name a file in a folder that exists",
    );
    fails(
        &[],
        "generate no/such/x.db --preset user --rows 3",
        1,
        "\
error: cannot create a file in no/such
  caused by: No such file or directory (os error 2)

hint: make it first: mkdir -p no/such",
    );
    // The hint quotes the path as a shell requires.
    fails(
        &[],
        "generate 'no such/x.db' --preset user --rows 3",
        1,
        "\
error: cannot create a file in no such
  caused by: No such file or directory (os error 2)

hint: make it first: mkdir -p 'no such'",
    );
    // On Windows, a file in the place of a folder gives the error "path not found", and there is no /proc.
    if cfg!(unix) {
        fails(
            &[("f", "")],
            "generate f/x.db --preset user --rows 3",
            1,
            "\
error: cannot look at f/x.db
  caused by: Not a directory (os error 20)

hint: a part of this path is a file, not a folder",
        );
        fails(
            &[],
            "generate /proc/x.db --preset user --rows 3",
            1,
            "\
error: cannot create a file in /proc
  caused by: [..]",
        );
    }
}

#[test]
fn a_leftover_journal_that_would_damage_the_new_database_is_refused() {
    let files: [&[_]; 2] = [&[("x.db-journal", "hot")], &[("x.db-wal", "hot")]];
    let stderr = [
        "error: ./x.db-journal is left from another database",
        "error: ./x.db-wal is left from another database",
    ];
    let hint =
        "hint: SQLite would roll it into the new file: if it is no longer needed, remove it or move it away";
    for (files, stderr) in files.into_iter().zip(stderr) {
        for args in ["generate x.db --preset user --rows 3", "generate x.db --preset user --rows 3 --dry-run"]
        {
            fails(files, args, 1, &format!("{stderr}\n\n{hint}"));
        }
    }
}

#[test]
fn an_empty_journal_at_the_target_is_no_error() {
    let folder = folder();
    for name in ["x.db-journal", "x.db-wal"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    run(folder.path(), generate("x.db", "3")).ok();
    assert_eq!(integrity(&folder.path().join("x.db")), "ok");
    let count = |connection: rusqlite::Connection| {
        connection.query_row("SELECT count(*) FROM user", [], |row| row.get(0))
    };
    assert_eq!(rusqlite::Connection::open(folder.path().join("x.db")).and_then(count), Ok(3));
}

#[test]
fn a_target_may_have_any_file_name() {
    let folder = folder();
    let folder = folder.path();
    let of_all_systems = ["x.db", "./y.db", "my data.db", "Ünïcödé 数据.db", "-"];
    // On Windows, a colon in a name means a drive or a stream, and no name has `?` or `*`.
    let of_unix: &[&str] =
        if cfg!(unix) { &["file:x", "file:y?mode=memory", "./:memory:", "*"] } else { &[] };
    for name in of_all_systems.iter().chain(of_unix).copied() {
        run(folder, ["generate", "--preset", "user", "--rows", "3", "--", name]).ok();
        run(folder, ["check", "--", name]).ok();
        run(folder, ["info", "--", name]).ok();
        assert!(folder.join(name).is_file(), "{name}: {:?}", names(folder));
    }
    assert_eq!(names(folder).len(), of_all_systems.len() + of_unix.len());

    fs::create_dir(folder.join("below")).unwrap();
    let absolute = folder.join("below/x.db");
    run(folder, generate(absolute.to_str().unwrap(), "3")).ok();
    run(&folder.join("below"), generate("../up.db", "3")).ok();
    assert!(absolute.is_file() && folder.join("up.db").is_file());

    // On Windows, the path is too long before the name is.
    if cfg!(unix) {
        let long = "x".repeat(247);
        run(folder, generate(&long, "3")).ok();
        run(folder, generate(&"x".repeat(256), "3")).failed(1, "File name too long");
    }
}

#[test]
fn the_name_memory_in_colons_is_refused_as_a_target() {
    let folder = folder();
    for more in [&[][..], &["--overwrite"]] {
        let args = [&generate(":memory:", "3")[..], more].concat();
        run(folder.path(), args).failed(2, "only files can be written");
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
#[cfg(unix)] // Names on Windows are UTF-16.
fn a_target_name_that_is_not_utf8_is_accepted_and_shown_in_json_with_a_replacement_character() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let name = OsStr::from_bytes(b"\xff.db");
    let args = ["generate", "--json", "--preset", "user", "--rows", "3"].map(OsStr::new);
    let ran = run(folder.path(), args.into_iter().chain([name])).ok();
    assert_eq!(ran.json()["target"], "\u{fffd}.db");
    run(folder.path(), [OsStr::new("check"), name]).ok();
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn a_run_creates_the_file_that_a_dangling_link_points_to() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("data")).unwrap();
    symlink("data/other.db", folder.join("x.db"));
    symlink("x.db", folder.join("y.db"));
    // A journal beside the link is ignored, because SQLite looks beside the file to which the link points.
    fs::write(folder.join("y.db-journal"), "nothing").unwrap();
    run(folder, generate("y.db", "3")).ok();
    assert!(folder.join("y.db").is_symlink() && folder.join("x.db").is_symlink());
    assert_eq!(names(&folder.join("data")), ["other.db"]);
    assert_eq!(integrity(&folder.join("data/other.db")), "ok");
    run(folder, generate("x.db", "3")).failed(1, "x.db already has a table user");

    fs::remove_file(folder.join("data/other.db")).unwrap();
    fs::write(folder.join("data/other.db-wal"), "hot").unwrap();
    run(folder, generate("x.db", "3")).failed(1, "data/other.db-wal is left from another database");

    symlink("loop", folder.join("loop"));
    run(folder, generate("loop", "3")).failed(1, "loop: too many symbolic links");
}

#[test]
fn overwrite_refuses_a_file_that_is_no_database() {
    let no_database = "\
error: x.db is not a SQLite database, and is not replaced

hint: name another file, or remove this one yourself if it is no longer needed";
    let generate = "generate x.db --preset user --rows 3 --overwrite";
    for content in ["a,b\n1,2\n", "a", "SQLite format 3", "SQLite format 3\0, and more"] {
        fails(&[("x.db", content)], generate, 1, no_database);
    }
    fails(&[("x.db", "a,b\n1,2\n")], &format!("{generate} --dry-run"), 1, no_database);
    // The command line names no database, so the first file stands in its place.
    fails(
        &[ONE_ROW, ("x.csv", "a\n")],
        "load one.csv x.csv --overwrite",
        2,
        "\
error: one.csv is named as the database, and looks like a file to load

hint: sqluice load one.db one.csv x.csv --overwrite",
    );
    fails(
        &[("x.db/", "")],
        generate,
        1,
        "\
error: x.db is a folder

hint: name a file in it",
    );
    if cfg!(unix) {
        fails(
            &[],
            "generate /dev/null --preset user --rows 3 --overwrite",
            1,
            "\
error: /dev/null is not a file, and is not replaced

hint: name another file",
        );
    }
    fails(
        &[],
        "generate --discard --preset user --rows 3 --overwrite",
        2,
        "\
error: the argument '--discard' cannot be used with '--overwrite'

Usage: [..]

For more information, try '--help'.",
    );
}

#[test]
fn a_database_that_will_not_fit_on_the_disk_is_refused_before_anything_is_written() {
    let too_large = "\
error: x.db will take about 18.0 PB, but only [..] is free in .

hint: free some space or choose another folder";
    let files = [("s.sql", "CREATE TABLE t (a)")];
    fails(&files, "generate x.db --preset user --rows 1000T", 1, too_large);
    fails(&files, "generate x.db --preset user --rows 1000T --dry-run", 1, too_large);
    // --discard needs no space on the disk.
    let discarded = "generate --preset user --rows 1000T --discard --dry-run";
    run(folder().path(), discarded.split(' ')).ok();

    let folder = folder();
    run(folder.path(), generate("x.db", "3")).ok();
    let ran = run(folder.path(), [&generate("x.db", "1000T")[..], &["--overwrite"]].concat());
    let too_large = format!("{too_large}: the old one stays until the new one is whole");
    assert!(ran.code() == Some(1) && matches(&ran.stderr, &too_large), "{ran:?}");
    run(folder.path(), ["check", "x.db"]).ok();
}
