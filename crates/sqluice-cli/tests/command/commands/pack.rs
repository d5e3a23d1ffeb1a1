//! `pack` and `unpack` as commands: their output, their exit codes, and the files that a killed run leaves.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::kills::Kills;
use crate::support::{end, finish, folder, integrity, names, program, run, start, temporaries};
use rusqlite::Connection;
use sqluice_testkit::effort::tries;
use sqluice_testkit::system::fifo;

/// Makes the small folder `from`.
fn make(folder: &Path) {
    fs::create_dir_all(folder.join("from/a")).unwrap();
    fs::write(folder.join("from/a/x.txt"), "hello").unwrap();
    fs::write(folder.join("from/b"), "b".repeat(5000)).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        fs::set_permissions(folder.join("from/b"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("a/x.txt", folder.join("from/l")).unwrap();
        let times = ["-h", "-d", "@1700000000", "from/l", "from/a"];
        let touched = std::process::Command::new("touch").current_dir(folder).args(times).status().unwrap();
        assert!(touched.success());
    }
    for name in ["from/a/x.txt", "from/b"] {
        let file = fs::File::options().write(true).open(folder.join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    }
}

/// The names of the entries that [`make`] makes. On Windows there is no link, because not every user may make one.
const NAMES: &[&str] = if cfg!(unix) { &["a", "a/x.txt", "b", "l"] } else { &["a", "a/x.txt", "b"] };

/// Returns [`NAMES`], each on a line.
fn lines() -> String {
    NAMES.iter().flat_map(|name| [name, "\n"]).collect()
}

#[test]
fn unpack_restores_a_packed_folder_and_both_commands_report_their_counts() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    let packed = run(folder, ["pack", "x.db", "from", "--compress", "deflate"]).ok();
    let counts = if cfg!(unix) { "2 files, 1 folder and 1 link" } else { "2 files and 1 folder" };
    assert!(packed.stderr.contains(&format!("Packed {counts} (")), "{packed:?}");
    assert!(packed.stderr.contains(") into x.db: "), "{packed:?}");
    assert_eq!(integrity(&folder.join("x.db")), "ok");
    let unpacked = run(folder, ["unpack", "x.db", "to"]).ok();
    assert!(unpacked.stderr.contains(&format!("Unpacked {counts} into to: ")), "{unpacked:?}");
    for name in NAMES {
        let about = |root: &str| fs::symlink_metadata(folder.join(root).join(name)).unwrap();
        let (one, other) = (about("from"), about("to"));
        let seconds =
            |about: &fs::Metadata| about.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(one.permissions(), other.permissions(), "{name}");
        assert_eq!((seconds(&one), one.len()), (seconds(&other), other.len()), "{name}");
    }
    // A second unpack is refused for each file, because all files exist.
    let again = run(folder, ["unpack", "x.db", "to", "--no-progress"]);
    assert_eq!(again.code(), Some(1));
    assert!(again.stderr.contains("refused: b: a file or link of its name exists"), "{again:?}");
    assert!(again.stderr.contains("--overwrite replaces existing files and links"), "{again:?}");
    let error = format!("error: {} rows of the archive could not be restored", NAMES.len() - 1);
    assert!(again.stderr.contains(&error), "{again:?}");
    run(folder, ["unpack", "x.db", "to", "--overwrite"]).ok();
    assert_eq!(names(&folder.join("to")), names(&folder.join("from")));
}

#[test]
fn pack_and_unpack_print_their_reports_as_json_on_request() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    let packed = run(folder, ["pack", "x.db", "from", "--json"]).ok().json();
    assert_eq!((packed["files"].as_u64(), packed["rows"].as_u64()), (Some(2), Some(NAMES.len() as u64)));
    assert_eq!(packed["tables"][0]["name"], "sqlar");
    fs::create_dir(folder.join("to")).unwrap();
    fs::write(folder.join("to/b"), "").unwrap();
    let unpacked = run(folder, ["unpack", "x.db", "to", "--json"]);
    assert_eq!(unpacked.code(), Some(1));
    let report = unpacked.json();
    assert_eq!((report["files"].as_u64(), report["refused"].as_u64()), (Some(1), Some(1)));
    assert_eq!(report["refusals"][0]["name"], "b");
}

#[test]
fn a_dry_run_of_pack_prints_the_plan_and_writes_nothing() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    let plan = run(folder, ["pack", "x.db", "from", "--dry-run"]).ok();
    let rows = format!("{} rows", NAMES.len());
    assert!(plan.stdout.contains("CREATE TABLE sqlar(") && plan.stdout.contains(&rows), "{plan:?}");
    assert_eq!(names(folder), ["from"]);
}

#[test]
fn unpack_lists_the_same_names_as_sqlite3() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    run(folder, ["pack", "x.db", "from"]).ok();
    assert_eq!(run(folder, ["unpack", "x.db", "--list"]).ok().stdout, lines());
    // wine has no sqlite3.
    if cfg!(unix) {
        assert_listed_as_by_sqlite(folder);
    }
    let listed_text = run(folder, ["unpack", "x.db", "--list", "--include", "*.txt"]).ok();
    assert_eq!(listed_text.stdout, "a/x.txt\n");
    let listed = run(folder, ["unpack", "x.db", "--list", "--json"]).ok().json();
    let entries = listed["entries"].as_array().unwrap();
    let names_in_json: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names_in_json, NAMES);
    assert_eq!((&entries[1]["kind"], &entries[1]["bytes"]), (&"file".into(), &5.into()));
    assert_eq!((&entries[0]["kind"], &listed["refused"]), (&"folder".into(), &0.into()));
    let none = run(folder, ["unpack", "x.db", "--list", "--json", "--include", "none"]).ok().json();
    assert_eq!(none["entries"].as_array().unwrap().len(), 0);
    assert_eq!(run(folder, ["unpack", "x.db", "--stdout", "a/x.txt"]).ok().stdout, "hello");
    run(folder, ["unpack", "x.db", "--stdout", "none"]).failed(1, "x.db has no row of the name none");
    run(folder, ["unpack", "x.db"]).failed(2, "required");
    assert_eq!(names(folder), ["from", "x.db"]);
}

fn assert_listed_as_by_sqlite(folder: &Path) {
    let theirs = finish(program("sqlite3").current_dir(folder).args(["x.db", "-Atv"]));
    let ours = run(folder, ["unpack", "x.db", "--list", "-v"]).ok().stdout;
    let words = |text: &str| {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let mut theirs = words(&theirs.stdout);
    theirs.sort_by(|one, other| one.split(' ').next_back().cmp(&other.split(' ').next_back()));
    assert_eq!(words(&ours), theirs);
}

#[test]
fn unpack_refuses_pipes_folders_and_files_that_are_no_database() {
    let folder = folder();
    let folder = folder.path();
    if cfg!(unix) {
        fifo(&folder.join("fifo"));
        for args in [&["unpack", "fifo", "to"][..], &["unpack", "fifo", "--list"]] {
            run(folder, args).failed(1, "fifo is not a file");
        }
        fs::remove_file(folder.join("fifo")).unwrap();
    }
    fs::create_dir(folder.join("d")).unwrap();
    fs::write(folder.join("text file"), "This is a text. ".repeat(100)).unwrap();
    for (name, what) in [
        ("d", "d is a folder, not a database file"),
        ("text file", "text file is not a SQLite database"),
        ("none", "cannot read none"),
    ] {
        for args in
            [&["unpack", name, "to"][..], &["unpack", name, "--list"], &["unpack", name, "--stdout", "x"]]
        {
            run(folder, args).failed(1, what);
        }
    }
    assert_eq!(names(folder), ["d", "text file"]);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no pipes in folders")]
fn pack_reports_entries_that_are_no_files_and_leaves_them_out() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    fifo(&folder.join("from/fifo"));
    let packed = run(folder, ["pack", "from/x.db", "from"]).ok();
    assert!(packed.stderr.contains("note: fifo is left out: it is a FIFO"), "{packed:?}");
    let again = run(folder, ["pack", "from/x.db", "from", "--append"]).ok();
    assert!(again.stderr.contains("note: x.db is left out: it is the database itself"), "{again:?}");
    assert_eq!(run(folder, ["unpack", "from/x.db", "--list"]).ok().stdout, "a\na/x.txt\nb\nl\n");
}

#[test]
fn pack_into_an_existing_archive_table_needs_a_flag() {
    let folder = folder();
    let folder = folder.path();
    make(folder);
    run(folder, ["pack", "x.db", "from"]).ok();
    let refused = run(folder, ["pack", "x.db", "from"]).failed(1, "x.db already has a table sqlar");
    // The error names only the first two flags, which keep the rest of the database.
    for flag in ["--append", "--replace-table", "--overwrite"] {
        assert_eq!(refused.stderr.contains(flag), flag != "--overwrite", "{refused:?}");
        run(folder, ["pack", "x.db", "from", flag]).ok();
        assert_eq!(run(folder, ["unpack", "x.db", "--list"]).ok().stdout.lines().count(), NAMES.len());
    }
    run(folder, ["pack", "x.db", "from", "--kv"]).ok();
    run(folder, ["pack", "y.db", "from", "--kv", "--compress", "deflate"])
        .failed(2, "a kv table can't hold deflated files");
    run(folder, ["pack", "x.db", "from", "--append", "--page-size", "8192"])
        .failed(2, "has its own page size");
    run(folder, ["pack", "y.db", "nowhere"]).failed(1, "cannot read nowhere");
    run(folder, ["pack", "y.db", "from", "--exclude", "["]).failed(2, "--exclude \"[\" is not a pattern");
}

#[test]
fn control_characters_of_an_archive_entry_name_are_escaped_on_the_terminal() {
    let folder = folder();
    let folder = folder.path();
    let db = Connection::open(folder.join("x.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB); INSERT INTO kv VALUES (char(27) || '[2J/../x', 'x')",
    )
    .unwrap();
    drop(db);
    let refused = run(folder, ["unpack", "x.db", "to"]);
    let why =
        if cfg!(windows) { "a character of its name is not allowed" } else { "its name leaves the folder" };
    assert!(refused.stderr.contains(&format!("refused: \\u{{1b}}[2J/../x: {why}")), "{refused:?}");
}

#[test]
fn a_killed_pack_leaves_no_database_and_the_next_run_removes_its_temporary_file() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("from")).unwrap();
    let content = vec![7; 1 << 20];
    (0..20).for_each(|n| fs::write(folder.join(format!("from/{n}")), &content).unwrap());
    let args = ["pack", "x.db", "from", "-j2"];
    let mut kills = Kills::of_run(folder, "x.db", &args, tries(2, 5, 500));
    fs::remove_file(folder.join("x.db")).unwrap();
    while let Some(aim) = kills.next() {
        let reached = kills.kill(aim, folder, start(folder, args));
        if folder.join("x.db").exists() {
            // The kill came too late: the database is complete.
            assert_eq!(integrity(&folder.join("x.db")), "ok", "{reached:?}");
            fs::remove_file(folder.join("x.db")).unwrap();
        }
    }
    kills.tell("packing");
    run(folder, ["pack", "x.db", "from"]).ok();
    assert!(temporaries(folder, "x.db").is_empty());
    assert_eq!(names(folder), ["from", "x.db"]);
    assert_eq!(integrity(&folder.join("x.db")), "ok");
}

#[test]
fn unpack_to_standard_output_succeeds_when_the_reader_closes_the_pipe() {
    let folder = folder();
    let folder = folder.path();
    fs::create_dir(folder.join("from")).unwrap();
    fs::write(folder.join("from/big"), vec![b'x'; 3 << 20]).unwrap();
    run(folder, ["pack", "x.db", "from"]).ok();
    let mut child = start(folder, ["unpack", "x.db", "--stdout", "big"]);
    drop(child.stdout.take());
    let ran = end(child);
    assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""));
}
