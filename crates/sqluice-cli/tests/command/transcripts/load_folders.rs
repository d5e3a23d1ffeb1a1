//! Transcripts of `load` of folders and archives, and the files in them that are left out.

use sqluice_testkit::archives::{gzip, tar, zip, zip_with_flags};

use crate::transcript::{Transcript, sqluice};

const TABLE: &str = "a,b\n1,2\n";
const PROSE: &str = "A text,\nof several lines, and commas.\nThe end.\n";

/// Returns a command line in a folder whose subfolder `d` has files with tables, and other files.
fn with_folder(args: &str) -> Transcript {
    sqluice(args)
        .file("d/", "")
        .file("d/2024/", "")
        .file("d/2025/", "")
        .file("d/orders.csv", TABLE)
        .file("d/2024/x.csv", TABLE)
        .file("d/2025/x.csv", TABLE)
        .file("d/README.txt", PROSE)
        .file("d/notes", PROSE)
        .file("d/.DS_Store", "x")
}

/// Returns the last lines of the output of a command line that names only files.
fn go_on(db: &str) -> String {
    format!("\nGo on with:\nsqluice info {db}\nsqluice export {db} 2024_x --to - --format csv --limit 10")
}

/// Returns the members of an archive with the files of the folder `d`.
fn members() -> Vec<(&'static str, &'static str)> {
    vec![
        ("orders.csv", TABLE),
        ("2024/", ""),
        ("2024/x.csv", TABLE),
        ("2025/x.csv", TABLE),
        ("README.txt", PROSE),
        ("notes", PROSE),
        (".DS_Store", "x"),
    ]
}

#[test]
#[cfg_attr(windows, ignore = "Windows writes paths with backslashes")]
fn a_folder_is_loaded_and_what_is_left_out_is_listed_by_reason() {
    let said = |into: &str| {
        format!(
            "Loaded 3 rows into {into}: [..]\nread 3 files: comma, header\nleft out 3 files\nhidden: d/.DS_Store\n\
             text without columns: d/README.txt\nno known extension: d/notes\n2024_x: a INTEGER, b INTEGER\n\
             2025_x: a INTEGER, b INTEGER\norders: a INTEGER, b INTEGER"
        )
    };
    with_folder("load x.db d").succeeds().says(&said("x.db")).holds("SELECT * FROM \"2024_x\"", "1|2");
    with_folder("d x.db").succeeds().says(&(said("x.db") + &go_on("x.db")));
    with_folder("load x.db d/ --quiet").succeeds().says("");
    with_folder("d").succeeds().says(&(said("d.db") + &go_on("d.db")));
}

#[test]
#[cfg_attr(windows, ignore = "Windows writes paths with backslashes")]
fn a_dry_run_lists_what_would_be_left_out() {
    let planned = with_folder("load x.db d --dry-run").succeeds();
    let lines: Vec<&str> =
        planned.ran.stdout.lines().filter(|line| line.starts_with("-- left out")).collect();
    assert_eq!(
        lines,
        [
            "-- left out hidden: d/.DS_Store",
            "-- left out text without columns: d/README.txt",
            "-- left out no known extension: d/notes",
        ]
    );
    assert!(with_folder("load x.db d --dry-run --json").succeeds().ran.stdout.contains("\"left_out\": ["));
}

#[test]
#[cfg_attr(windows, ignore = "Windows writes paths with backslashes")]
fn the_report_in_json_lists_what_is_left_out() {
    let report = with_folder("load x.db d --json").succeeds().ran.stdout;
    let left_out =
        "\"left_out\": [\n    {\n      \"name\": \"d/.DS_Store\",\n      \"why\": \"hidden\"\n    },";
    assert!(report.contains(left_out), "{report}");
    assert!(!report.contains("\"skipped\""));
}

#[test]
fn the_files_of_a_folder_fill_one_table_or_are_named_after_their_paths_on_request() {
    with_folder("load x.db d --table t").succeeds().holds("SELECT count(*) FROM t", "3");
    with_folder("load x.db d --name-from path").succeeds().holds("SELECT * FROM \"2025_x\"", "1|2");
}

#[test]
fn folders_and_archives_without_loadable_files_are_refused() {
    let hint = "\n\nhint: of folders and archives, files with the extension of a format are loaded; name any other \
                file to load it";
    let says = |left: &str| format!("error: there is no file to load\nleft out: {left}{hint}");
    sqluice("load x.db d").file("d/", "").fails(1, &says("a folder without files: d"));
    sqluice("load x.db d.zip")
        .file("d.zip", zip(&[("notes", PROSE)]))
        .fails(1, &says("no known extension: d.zip/notes"));
    sqluice("load x.db d.zip")
        .file("d.zip", zip(&[("", ""); 0]))
        .fails(1, &says("an archive without files: d.zip"));
}

#[test]
fn an_archive_makes_a_table_of_each_loadable_member() {
    for (name, bytes) in [
        ("feed.zip", zip(&members())),
        ("feed.tar", tar(&members())),
        ("feed.tar.gz", gzip(&tar(&members()))),
        ("feed.tgz", gzip(&tar(&members()))),
    ] {
        let said = |into: &str, name: &str| {
            format!(
                "Loaded 3 rows into {into}: [..]\nread 3 files: comma, header\nleft out 3 files\n\
                 hidden: {name}/.DS_Store\ntext without columns: {name}/README.txt\n\
                 no known extension: {name}/notes\n2024_x: a INTEGER, b INTEGER\n\
                 2025_x: a INTEGER, b INTEGER\norders: a INTEGER, b INTEGER"
            )
        };
        let with = |args: &str| sqluice(args).file(name, &bytes);
        with(&format!("load x.db {name}")).succeeds().says(&said("x.db", name));
        with(&format!("x.db {name}")).succeeds().says(&(said("x.db", name) + &go_on("x.db")));
        with("load x.db -").stdin(&bytes).succeeds().says(&said("x.db", "standard input"));
        with(name).succeeds().says(&(said("feed.db", name) + &go_on("feed.db")));
        with(&format!("load {name} x.db")).fails(
            2,
            &format!(
                "error: {name} is named as the database, and looks like a file to load\n\n\
                 hint: sqluice load x.db {name}"
            ),
        );
        let one = format!("load x.db {name}/orders.csv");
        with(&one).succeeds().says("Loaded 1 row into x.db: [..]\norders: a INTEGER, b INTEGER");
        with(&format!("{name}/orders.csv x.db")).succeeds();
        with(&format!("{name}/2024 x.db")).succeeds().holds("SELECT * FROM x", "1|2");
        with(&format!("load x.db '{name}/*/x.csv' --table t"))
            .succeeds()
            .holds("SELECT count(*) FROM t", "2");
    }
}

#[test]
fn bad_archive_members_are_named_and_skipped_on_request() {
    let archive = || zip_with_flags(&[("a.csv", TABLE.as_bytes(), 0), ("b.csv", TABLE.as_bytes(), 1)]);
    sqluice("load x.db d.zip").file("d.zip", archive()).fails(
        1,
        "error: d.zip/b.csv: this file is encrypted\n\nhint: extract it, and load that: unzip d.zip",
    );
    let skipping = sqluice("load x.db d.zip --skip-bad-files").file("d.zip", archive()).exits(1);
    skipping.says(
        "Loaded 1 row into x.db: [..]\na: a INTEGER, b INTEGER\nskipped d.zip/b.csv: this file is encrypted\n\
         1 file skipped",
    );
    sqluice("load x.db d.zip")
        .file("d.zip", zip(&[("a.csv", "a\n1\n2,3\n")]))
        .fails(1, "error: d.zip/a.csv:3:3: [..]\n\nhint: [..]");
}

#[test]
fn errors_name_archives_and_members_that_do_not_exist() {
    let with = |args: &str| sqluice(args).file("d.zip", zip(&members()));
    with("load x.db d.zip/order.csv")
        .fails(1, "error: d.zip has no file order.csv\n\nhint: did you mean orders.csv?[..]");
    with("load x.db 'd.zip/*.pq'").fails(1, "error: no file matches d.zip/*.pq");
    with("load x.db no.zip").fails(1, "error: cannot read no.zip\ncaused by: [..]");
}

#[test]
fn databases_and_archives_within_an_archive_are_refused() {
    let made = sqluice("load shop.db one.csv").file("one.csv", TABLE).succeeds();
    let database = std::fs::read(made.folder().join("shop.db")).unwrap();
    for (name, bytes, extract) in [
        ("d.zip", zip(&[("shop.db", &database)]), "unzip d.zip shop.db"),
        ("d.tar", tar(&[("shop.db", &database)]), "tar -xf d.tar shop.db"),
    ] {
        sqluice(&format!("load x.db {name}/shop.db")).file(name, bytes).fails(
            1,
            &format!(
                "error: {name}/shop.db is a database in an archive, and SQLite reads files\n\n\
                 hint: extract it, and load that: {extract}"
            ),
        );
    }
    sqluice("load x.db out.zip/in.zip").file("out.zip", zip(&[("in.zip", zip(&members()))])).fails(
        1,
        "error: out.zip/in.zip: this is a ZIP archive, which is not read here\n\n\
         hint: extract it, and load the files in it",
    );
}

#[test]
fn a_dump_in_an_archive_is_loaded_only_if_its_name_is_given() {
    let dump = "CREATE TABLE t (a INTEGER);\nINSERT INTO t VALUES (7);\n";
    let archive = zip(&[("a.csv", TABLE), ("all.sql", dump)]);
    sqluice("load x.db d.zip/all.sql").file("d.zip", &archive).succeeds().holds("SELECT a FROM t", "7");
    sqluice("load x.db 'd.zip/a*'").file("d.zip", &archive).fails(
        2,
        "error: d.zip/all.sql is a dump, and d.zip/a.csv has the rows of a table\n\n\
         hint: load the dump first, and then the other files into its database",
    );
    sqluice("load x.db d.zip").file("d.zip", &archive).succeeds().holds("SELECT a FROM a", "1");
}

#[test]
fn a_loaded_archive_cannot_be_the_target() {
    sqluice("load d.zip d.zip --overwrite").file("d.zip", zip(&members())).exits(2);
}
