//! Transcripts of `load` about threads, memory, progress, pipes, and mistakes of newcomers.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::{WAITS, end, finish, folder, names, spawn, sqluice as command, start};
use crate::transcript::{ONE_ROW, Transcript, fails, matches, sqluice};

fn load(args: &str) -> Transcript {
    sqluice(&format!("load x.db {args}")).file(ONE_ROW.0, ONE_ROW.1)
}

/// Returns a CSV file that is longer than the sample, and whose last value is not a number.
fn late_text() -> String {
    (0..400_000).fold("n\n".to_owned(), |text, n| text + &format!("{n}\n")) + "x\n"
}

#[test]
fn threads_and_memory_do_not_change_the_written_bytes() {
    let content: String = (0..50_000).fold("n,t\n".to_owned(), |text, n| text + &format!("{n},row {n}\n"));
    let checksum = |flags: &str| {
        let done = sqluice(&format!("load x.db t.csv --json {flags}")).file("t.csv", &content).succeeds();
        done.ran.json()["checksum"].as_str().unwrap().to_owned()
    };
    let expected = checksum("");
    for flags in ["-j 1", "--threads 4 --memory 96MiB", "--memory 24MiB", "-j 1 --memory 1GB"] {
        assert_eq!(checksum(flags), expected, "{flags}");
    }
    load("one.csv --memory 1MiB").fails(
        2,
        "error: 1 MiB of memory is too little: 24 MiB is enough\n\nhint: give at least --memory 24MiB",
    );
    load("one.csv -j 0").fails(
        2,
        "error: invalid value '0' for '--threads <N>': 0 is not in 1..=1024\n\nFor more information, try '--help'.",
    );
}

#[test]
fn the_flag_page_size_sets_the_page_size_of_a_new_database() {
    load("one.csv --page-size 8KiB").succeeds().holds("PRAGMA page_size", "8192");
    load("one.csv --page-size 1000").fails(
        2,
        "error: invalid value '1000' for '--page-size <BYTES>': a page size is a power of two from 512 to 65536\n\n\
         For more information, try '--help'.",
    );
}

#[test]
fn a_pipe_that_must_be_read_twice_is_stored_in_temp_dir() {
    let pipe = |flags: &str| load(&format!("- -t t {flags}")).stdin(late_text());
    pipe("").succeeds().holds("SELECT count(*), typeof(n) FROM t", "400001|'text'");
    pipe("--temp-dir d").file("d/", "").succeeds().holds("SELECT max(n) FROM t", "'x'");
    pipe("--temp-dir no").fails(
        1,
        "error: cannot keep a copy of the input in no\n  caused by: [..]\n\n\
         hint: choose a folder with enough space: --temp-dir DIR",
    );
}

#[test]
fn a_late_value_changes_the_guessed_type_of_its_column_and_is_kept() {
    sqluice("load x.db t.csv").file("t.csv", late_text()).succeeds().holds(
        "SELECT sql FROM sqlite_schema UNION ALL SELECT max(n) FROM t",
        "'CREATE TABLE \"t\" (\n  \"n\" TEXT\n)'\n'x'",
    );
    let plan = sqluice("load x.db t.csv --dry-run").file("t.csv", late_text()).succeeds();
    assert!(plan.ran.stdout.contains("\"n\" TEXT"), "{:?}", plan.ran);
    sqluice("load x.db t.csv --type n=INTEGER --reject bad.csv")
        .file("t.csv", late_text())
        .succeeds()
        .says("Loaded 400,001 rows into [..]\nno rows rejected\nt: n INTEGER");
}

#[test]
fn a_dry_run_creates_no_file_not_even_a_reject_file() {
    let done = load("one.csv --dry-run --reject bad.csv").succeeds().says("");
    assert_eq!(names(done.folder()), [ONE_ROW.0]);
    let plan = load("one.csv --dry-run --json").succeeds().says("").ran.json();
    assert_eq!((&plan["target"], &plan["tables"][0]["name"]), (&"x.db".into(), &"one".into()));
    assert_eq!(plan["tables"][0]["sql"], "CREATE TABLE \"one\" (\n  \"a\" INTEGER,\n  \"b\" INTEGER\n)");
    load("one.csv --dry-run")
        .file("x.db", "precious")
        .fails(1, "error: x.db is not a SQLite database\n  caused by: [..]\n\nhint: [..]");
}

#[test]
fn the_flags_json_quiet_and_verbose_change_the_output_of_a_load() {
    let report = load("one.csv --json").succeeds().says("").ran.json();
    assert_eq!((&report["rows"], &report["rejected"]), (&1.into(), &0.into()));
    assert_eq!((&report["tables"][0]["name"], &report["tables"][0]["rows"]), (&"one".into(), &1.into()));
    // With --json, notes are printed on standard error all the same.
    sqluice("load x.db t.csv --json")
        .file("t.csv", "1\n2\n")
        .succeeds()
        .says("note: t.csv: the first record [..]");
    load("one.csv -q").succeeds().says("").prints("");
    load("one.csv --quiet").succeeds().says("").prints("");
    load("one.csv -v -j 1").succeeds().prints("").says(
        "Loaded 1 row into x.db: 8.2 kB in [..] ([..] rows/s)\n\
         checksum [..]\n\
         1 thread, [..] writes, 2 pages of 4096 bytes\n\
         sample [..]s, plan [..]s, load [..]s, sync [..]s\n  \
         one: 1 row; 1 leaf, 0 interior, 0 overflow pages, root 2\n\
         one:\n  a INTEGER\n  b INTEGER",
    );
    load("no.csv -q")
        .fails(1, "error: cannot read no.csv\n  caused by: No such file or directory (os error 2)");
}

#[test]
fn progress_of_a_load_without_a_terminal_is_printed_with_verbose_only() {
    let start = |flag: &str| {
        let folder = folder();
        let args = ["load", "x.db", "-", "-t", "t", "--type", "n=TEXT", flag];
        let mut command = command(folder.path());
        (spawn(command.args(args).stdin(Stdio::piped()).env(WAITS, "0.01")), folder)
    };
    let loads = ["--color=never", "-q", "-v"].map(start);
    let feed = |child: &Child| child.stdin.as_ref().unwrap().write_all(late_text().as_bytes()).unwrap();
    loads.iter().for_each(|(child, _)| feed(child));
    // With scaled waits, the first line of progress is printed after a hundredth of five seconds. This pause is longer.
    std::thread::sleep(Duration::from_millis(60));
    loads.iter().for_each(|(child, _)| feed(child));
    let lines = loads.map(|(child, _folder)| {
        let ran = end(child).ok();
        ran.stderr.lines().filter(|line| line.starts_with("load: ")).map(str::to_owned).collect::<Vec<_>>()
    });
    let [plain, quiet, lines] = lines;
    assert!(plain.is_empty() && quiet.is_empty(), "{plain:?} {quiet:?}");
    // The first line may be printed before the first row.
    let is_progress = |line: &String| {
        matches(line, "load: [..] rows  [..] rows/s[..]") || matches(line, "load: [..]B  [..]B/s")
    };
    assert!(!lines.is_empty() && lines.iter().all(is_progress), "{lines:?}");
}

#[test]
fn errors_are_coloured_on_request() {
    load("no.csv --color always").fails(
        1,
        "\x1b[1;31merror:\x1b[0m cannot read no.csv\n  caused by: No such file or directory (os error 2)",
    );
}

#[test]
fn missing_or_empty_arguments_are_reported() {
    let more = "\n\nFor more information, try '--help'.";
    fails(
        &[],
        "load",
        2,
        &format!(
            "error: the following required arguments were not provided:\n  <DB>\n  <FILE>...\n\n\
             Usage: sqluice load <DB> <FILE>...{more}"
        ),
    );
    fails(
        &[],
        "load x.db",
        2,
        "error: a load names the database, and then the files; - is standard input\n\n\
         hint: sqluice load x.db - --table x",
    );
    fails(
        &[],
        "load '' a.csv",
        2,
        &format!("error: a value is required for '<DB>' but none was supplied{more}"),
    );
    fails(
        &[],
        "load x.db ''",
        2,
        &format!("error: a value is required for '<FILE>...' but none was supplied{more}"),
    );
    for flag in ["--reject", "--schema", "--temp-dir"] {
        let done = load(&format!("one.csv {flag} ''"));
        done.fails(2, &format!("error: a value is required for '{flag} <[..]>' but none was supplied{more}"));
    }
    load("one.csv --delimeter ;")
        .fails(2, "error: load has no flag --delimeter\n\nhint: sqluice load x.db one.csv --delimiter ';'");
}

#[test]
fn paths_may_have_spaces_and_lead_to_other_folders() {
    sqluice("load 'my folder/x y.db' 'my folder/in put.csv' --reject 'my folder/bad rows.csv'")
        .file("my folder/", "")
        .file("my folder/in put.csv", "a,b\n1\n2,3\n")
        .succeeds()
        .says("Loaded 1 row into my folder/x y.db: [..]\n1 row rejected, see my folder/bad rows.csv\nin put: a INTEGER, b INTEGER");
}

#[test]
fn an_existing_text_file_is_refused_as_the_database_and_a_new_name_is_accepted() {
    for (files, meant) in [("x.db", "x.db one.csv"), ("two.csv", "one.db one.csv two.csv")] {
        let message = "error: one.csv is named as the database, and looks like a file to load";
        let files = format!("load one.csv {files}");
        let hint = format!("{message}\n\nhint: sqluice load {meant}");
        fails(&[ONE_ROW, ("two.csv", "a\n1\n")], &files, 2, &hint);
    }
    let done = sqluice("load new.csv one.csv").file(ONE_ROW.0, ONE_ROW.1).succeeds();
    assert_eq!(names(done.folder()), ["new.csv", ONE_ROW.0]);
}

#[test]
fn a_file_cannot_be_loaded_into_itself() {
    let hint = "hint: name the database first, then the files";
    let is_read =
        |name: &str| format!("error: {name} is read by this load, and can't be its database\n\n{hint}");
    fails(&[("one", "a\n1\n")], "load one one", 2, &is_read("one"));
    fails(&[("one", "a\n1\n")], "load ./one one -t t", 2, &is_read("./one"));
    let linked = sqluice("load link.db one.csv").file(ONE_ROW.0, ONE_ROW.1);
    fs::hard_link(linked.folder().join(ONE_ROW.0), linked.folder().join("link.db")).unwrap();
    linked.fails(2, &is_read("link.db"));
    let folder = folder();
    fs::write(folder.path().join(ONE_ROW.0), ONE_ROW.1).unwrap();
    let stdin = File::open(folder.path().join(ONE_ROW.0)).unwrap();
    let args = ["load", "x.db", "-", "-t", "t", "--reject", ONE_ROW.0];
    let ran = finish(command(folder.path()).args(args).stdin(stdin));
    ran.failed(2, "one.csv is read by this load, and can't have the rejected rows");
    assert_eq!(names(folder.path()), [ONE_ROW.0]);
}

#[test]
fn a_regular_file_on_standard_input_is_loaded() {
    let folder = folder();
    fs::write(folder.path().join("t.csv"), late_text()).unwrap();
    let stdin = File::open(folder.path().join("t.csv")).unwrap();
    let args = ["load", "x.db", "-", "-t", "t"];
    finish(command(folder.path()).args(args).stdin(stdin)).ok();
    assert_eq!(names(folder.path()), ["t.csv", "x.db"]);
}

#[test]
fn a_load_succeeds_although_nobody_reads_standard_output() {
    let folder = folder();
    fs::write(folder.path().join(ONE_ROW.0), ONE_ROW.1).unwrap();
    for flag in ["--dry-run", "--json"] {
        let mut child = start(folder.path(), ["load", "x.db", ONE_ROW.0, flag]);
        drop(child.stdout.take());
        let ran = end(child).ok();
        assert_eq!(ran.stderr, "");
    }
    assert_eq!(names(folder.path()), [ONE_ROW.0, "x.db"]);
}

#[test]
#[cfg(unix)] // Folders on Windows have no modes.
fn a_folder_that_may_not_be_written_to_is_named() {
    let transcript = sqluice("load d/x.db one.csv").file(ONE_ROW.0, ONE_ROW.1).file("d/", "");
    let read_only = transcript.folder().join("d");
    fs::set_permissions(&read_only, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    // root may write to the folder in any case.
    if File::create(read_only.join("probe")).is_ok() {
        fs::remove_file(read_only.join("probe")).unwrap();
        return crate::support::tell(
            "SKIPPED: a_folder_that_may_not_be_written_to_is_named: root may write to any",
        );
    }
    transcript.fails(
        1,
        "error: cannot create a file in d\n  caused by: Permission denied (os error 13)\n\n\
         hint: choose a folder that you may write to",
    );
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no /dev/null")]
fn a_null_device_is_refused_as_an_empty_file() {
    sqluice("load x.db /dev/null")
        .fails(1, "error: /dev/null: the file is empty\n\nhint: its first line should name the columns");
}

#[test]
fn a_failed_load_does_not_wait_for_the_end_of_its_pipe() {
    let folder = folder();
    for threads in ["1", "2"] {
        let mut command = command(folder.path());
        command.args(["load", "x.db", "-", "-t", "t", "--type", "a=INT", "--type", "b=INT", "-j", threads]);
        let mut child = spawn(command.stdin(Stdio::piped()));
        let mut pipe = child.stdin.take().unwrap();
        // The pipe stays open, but sends no more bytes.
        let rows = format!("a,b\n1,2,3\n{}", "1,2\n".repeat(625_000));
        let writer = std::thread::spawn(move || {
            let _ = pipe.write_all(rows.as_bytes());
            pipe
        });
        let ran = end(child);
        drop(writer.join().unwrap());
        ran.failed(1, "standard input:2:5: field 3 of this record");
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn the_recognised_formats_of_several_files_are_printed_in_one_line() {
    sqluice("load x.db a.csv b.tsv c.csv d.csv")
        .file("a.csv", "a,b\n1,x\n")
        .file("b.tsv", "a\tb\n1\tx\n")
        .file("c.csv", "a,b\n2,y\n")
        .file("d.csv", "a,b\n3,z\n")
        .succeeds()
        .says("Loaded 4 rows into x.db: [..]\nread 3 files: comma, header; b.tsv: tab, header\na: [..]\nb: [..]\nc: [..]\nd: a INTEGER, b TEXT");
    sqluice("load x.db a.csv --no-header --quote none")
        .file("a.csv", b"\xff\xfe1\0,\0x\0\n\0")
        .succeeds()
        .says("Loaded 1 row into x.db: [..]\nread a.csv: comma, no header, no quote, UTF-16LE\na: column1 INTEGER, column2 TEXT");
}

#[test]
fn files_that_cannot_be_loaded_are_left_out_and_the_exit_code_says_so() {
    let load = |flags: &str| {
        sqluice(&format!("load x.db a.csv b.csv c.csv {flags}"))
            .file("a.csv", "a,b\n1,2\n")
            .file("b.csv", "")
            .file("c.csv", "a,b\n1,2\n3\n")
    };
    load("").fails(
        1,
        "error: 2 of 3 files can't be loaded:\n  b.csv: the file is empty\n  c.csv:3:2: the record ends after field 1: \
         the header has 2\n\nhint: --skip-bad-files loads the others\n\
         sqluice load x.db a.csv b.csv c.csv --skip-bad-files",
    );
    load("--skip-bad-files").exits(1).says(
        "Loaded 1 row into x.db: [..]\na: a INTEGER, b INTEGER\nskipped b.csv: the file is empty\nskipped c.csv: line 3: the record ends after field 1: the header \
         has 2\n2 files skipped",
    );
}

#[test]
fn similar_notes_are_printed_once_for_many_files() {
    let files = (0..5).fold(sqluice("load x.db *.csv"), |load, file| {
        load.file(&format!("{file}.csv"), format!("Sales of {file}\nid;n\n{file};2\n4;5\n"))
    });
    files.succeeds().says(
        "note: 0.csv and 4 files like it (1.csv, 2.csv, 3.csv, ...): the first line is skipped, as \"Sales of 0\" is not part of the table; \
         --skip-lines 0 keeps all lines\nLoaded 10 rows into x.db: [..]\nread 5 files: semicolon, header, 1 line skipped\n0: [..]\n1: [..]\n2: [..]\n3: [..]\n4: [..]",
    );
    let files = (0..5).fold(sqluice("load x.db *.csv --table t --no-header -v"), |load, file| {
        load.file(&format!("{file}.csv"), "1,2\n")
    });
    let said = files.succeeds().ran.stderr;
    assert!(said.contains("\n  3.csv: comma, no header\n"), "{said}");
}
