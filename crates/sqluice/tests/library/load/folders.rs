//! Loads of folders and archives: the tables of their files, and the files that are left out.

#![cfg(feature = "load")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::files::{Home, open};
use crate::support::load::{run, shown};
use sqluice::error::ErrorKind;
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice::report::Report;

const TABLE: &[u8] = b"a,b\n1,x\n2,y\n";
const PROSE: &[u8] = b"This text has lines,\nand a comma, or two, in some of them.\nIt is no table.\n";
const DATABASE: &[u8] = b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20";

/// Writes a file below the home folder, and creates the folders above the file.
fn put(home: &Home, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = home.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// Returns each table of a report, with the name of its file below `root`.
fn tables(report: &Report, root: &Path) -> Vec<String> {
    report.inputs.iter().map(|input| format!("{} {}", input.table, below(&input.name, root))).collect()
}

/// Returns the files that were left out, with the reasons.
fn left_out(report: &Report, root: &Path) -> Vec<String> {
    report.left_out.iter().map(|file| format!("{}: {}", below(&file.name, root), file.why)).collect()
}

/// Returns a path below `root`, with slashes between its parts.
fn below(name: &str, root: &Path) -> String {
    let path = name.strip_prefix(root.to_str().unwrap()).unwrap_or(name);
    path.trim_start_matches(['/', '\\']).replace('\\', "/")
}

/// Returns the tables of a database: their statements, and their rows.
fn content(database: &Path) -> BTreeMap<String, (String, Vec<String>)> {
    let database = open(database);
    let mut tables = BTreeMap::new();
    let mut statement = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").unwrap();
    let named = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let named: Vec<(String, String)> = named.map(Result::unwrap).collect();
    for (name, sql) in named {
        let mut statement = database.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let values: Vec<String> = (0..columns)
                .map(|column| format!("{:?}", row.get::<_, rusqlite::types::Value>(column).unwrap()))
                .collect();
            Ok(values.join("|"))
        });
        tables.insert(name, (sql, rows.unwrap().map(Result::unwrap).collect()));
    }
    tables
}

/// Fills a folder with files of all kinds.
fn put_mixed(home: &Home) -> PathBuf {
    for (name, content) in [
        ("d/x.csv", TABLE),
        ("d/y.json", b"[{\"a\": 1}]"),
        ("d/2024/s.csv.gz", &gzip(TABLE)),
        ("d/2025/s.csv", TABLE),
        ("d/stops.txt", b"stop_id,stop_name\n1,Oslo\n"),
        ("d/frequencies.txt", b"trip_id,start_time\n"),
        ("d/README.txt", PROSE),
        ("d/LICENSE", PROSE),
        ("d/logo.png", b"\x89PNG\r\n\x1a\n"),
        ("d/page.csv", b"<!DOCTYPE html><html><body>404</body></html>"),
        ("d/old.db", DATABASE),
        ("d/hidden.csv", DATABASE),
        ("d/all.sql", b"CREATE TABLE t (a);"),
        ("d/dumped.csv", b"-- MySQL dump 10.13\n--\nCREATE TABLE t (a int);\n"),
        ("d/inner.zip", b"PK\x05\x06"),
        ("d/.git/index.csv", TABLE),
        ("d/.secret.csv", TABLE),
        ("d/sub/.DS_Store", TABLE),
        ("d/__MACOSX/._x.csv", TABLE),
        ("d/Thumbs.db", TABLE),
    ] {
        put(home, name, content);
    }
    home.path("d")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    sqluice_testkit::archives::gzip(bytes)
}

const LOADED: [&str; 6] = [
    "2024_s 2024/s.csv.gz",
    "2025_s 2025/s.csv",
    "frequencies frequencies.txt",
    "stops stops.txt",
    "x x.csv",
    "y y.json",
];

const LEFT_OUT: [&str; 14] = [
    ".git/: hidden",
    ".secret.csv: hidden",
    "LICENSE: no known extension",
    "README.txt: text without columns",
    "Thumbs.db: hidden",
    "__MACOSX/: hidden",
    "all.sql: an SQL dump",
    "dumped.csv: an SQL dump",
    "hidden.csv: a database",
    "inner.zip: an archive",
    "logo.png: no known extension",
    "old.db: a database",
    "page.csv: an HTML page",
    "sub/.DS_Store: hidden",
];

#[test]
fn the_files_of_a_folder_are_loaded_or_reported_as_left_out_with_a_reason() {
    let home = Home::new();
    let folder = put_mixed(&home);
    let load = Load::new(home.path("x.db"), [&folder]);
    let plan = load.prepare(&sqluice::progress::Context::default()).unwrap().plan().clone();
    let report = run(load).unwrap();
    assert_eq!(tables(&report, &folder), LOADED);
    assert_eq!(left_out(&report, &folder), LEFT_OUT);
    assert_eq!(plan.left_out, report.left_out);
    assert!(plan.to_string().contains("-- left out a database: "), "{plan}");
    assert!(report.skipped.is_empty());
    assert_eq!(report.rows, 8);
}

#[test]
fn all_files_of_a_folder_fill_one_table_if_the_table_is_named() {
    let home = Home::new();
    for name in ["d/a.csv", "d/sub/a.csv", "d/sub/b.csv"] {
        put(&home, name, TABLE);
    }
    let report = run(Load::new(home.path("x.db"), [home.path("d")]).table("t")).unwrap();
    assert_eq!((report.rows, report.tables.len()), (6, 1));
    assert_eq!(tables(&report, &home.path("d")), ["t a.csv", "t sub/a.csv", "t sub/b.csv"]);
}

#[test]
fn a_file_given_beside_its_folder_is_loaded_once_even_without_a_known_extension() {
    let home = Home::new();
    put(&home, "d/a.csv", TABLE);
    put(&home, "d/b.csv", TABLE);
    put(&home, "d/notes", TABLE);
    let files = ["d", "d/a.csv", "d/notes"].map(|name| home.path(name));
    let report = run(Load::new(home.path("x.db"), files)).unwrap();
    assert_eq!(tables(&report, &home.path("d")), ["b b.csv", "a a.csv", "notes notes"]);
    assert!(report.left_out.is_empty());
}

#[test]
fn a_hidden_folder_given_as_an_argument_is_loaded() {
    let home = Home::new();
    put(&home, "d/a.csv", TABLE);
    put(&home, "d/.old/b.csv", TABLE);
    let report = run(Load::new(home.path("x.db"), ["d", "d/.old"].map(|name| home.path(name)))).unwrap();
    assert_eq!(tables(&report, &home.path("d")), ["a a.csv", "b .old/b.csv"]);
    assert!(report.left_out.is_empty());
}

#[test]
fn folders_that_overlap_are_loaded_once() {
    let home = Home::new();
    put(&home, "d/a.csv", TABLE);
    put(&home, "d/sub/b.csv", TABLE);
    put(&home, "d/sub/LICENSE", PROSE);
    let report = run(Load::new(home.path("x.db"), ["d/sub", "d"].map(|name| home.path(name)))).unwrap();
    assert_eq!(tables(&report, &home.path("d")), ["b sub/b.csv", "a a.csv"]);
    assert_eq!(left_out(&report, &home.path("d")), ["sub/LICENSE: no known extension"]);
}

#[test]
fn names_of_tables_do_not_depend_on_the_order_of_the_folders() {
    let home = Home::new();
    put(&home, "one/x.csv", TABLE);
    put(&home, "two/x.csv", TABLE);
    put(&home, "three.csv", TABLE);
    let names = ["one", "two", "three.csv"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let database = home.path(&format!("{order:?}.db"));
        run(Load::new(&database, order.map(|place| home.path(names[place])))).unwrap();
        assert_eq!(content(&database).into_keys().collect::<Vec<_>>(), ["one_x", "three", "two_x"]);
    }
}

#[test]
fn the_database_and_the_reject_file_of_a_load_are_not_read_as_inputs() {
    let home = Home::new();
    put(&home, "d/a.csv", TABLE);
    put(&home, "d/bad.csv", "a,b\n9,9\n");
    let target = home.path("d/x.csv");
    let load = Load::new(&target, [home.path("d")])
        .reject(home.path("d/bad.csv"))
        .overwrite_reject(true)
        .write(WriteOptions::new().overwrite(true));
    for _ in 0..2 {
        let report = run(load.clone()).unwrap();
        assert_eq!(tables(&report, &home.path("d")), ["a a.csv"]);
        let left = left_out(&report, &home.path("d"));
        assert!(left.contains(&"bad.csv: the file of the rejected rows".to_owned()), "{left:?}");
    }
    let report = run(load).unwrap();
    assert_eq!(left_out(&report, &home.path("d")).len(), 2);
    assert_eq!(left_out(&report, &home.path("d"))[1], "x.csv: the database of this load");
}

#[test]
fn the_error_about_a_folder_without_loadable_files_lists_what_was_left_out() {
    let home = Home::new();
    fs::create_dir_all(home.path("d/sub")).unwrap();
    let load = || Load::new(home.path("x.db"), [home.path("d")]);
    let error = run(load()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
    assert!(shown(&error, &home).contains("left out: a folder without files: d"), "{error}");
    put(&home, "d/LICENSE", PROSE);
    put(&home, "d/README.txt", PROSE);
    let error = run(load()).unwrap_err();
    let text = error.message();
    assert!(text.contains("\n  left out: no known extension: "), "{text}");
    assert!(text.contains("\n  left out: text without columns: "), "{text}");
    assert_eq!(home.names(), ["d"]);
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn links_to_files_are_followed_and_links_to_folders_are_not() {
    let home = Home::new();
    put(&home, "d/a.csv", TABLE);
    put(&home, "elsewhere/b.csv", TABLE);
    sqluice_testkit::system::symlink("../elsewhere/b.csv", home.path("d/b.csv"));
    sqluice_testkit::system::symlink("../elsewhere", home.path("d/e"));
    sqluice_testkit::system::symlink("..", home.path("d/up.csv"));
    sqluice_testkit::system::symlink("nothing.csv", home.path("d/z.csv"));
    sqluice_testkit::system::fifo(&home.path("d/pipe.csv"));
    sqluice_testkit::system::symlink("d", home.path("link"));
    let report = run(Load::new(home.path("x.db"), [home.path("link")])).unwrap();
    assert_eq!(tables(&report, &home.path("link")), ["a a.csv", "b b.csv"]);
    assert_eq!(
        left_out(&report, &home.path("link")),
        [
            "e: a link to a folder",
            "pipe.csv: a pipe, a socket or a device",
            "up.csv: a link to a folder",
            "z.csv: a link to nothing",
        ]
    );
}

#[test]
fn a_bad_file_of_a_folder_ends_the_load_or_is_skipped() {
    let home = Home::new();
    put(&home, "d/a.csv", TABLE);
    let bad = put(&home, "d/b.csv", "a,b\n1,2,3\n");
    put(&home, "d/c.csv", "");
    let load = Load::new(home.path("x.db"), [home.path("d")]);
    let error = run(load.clone()).unwrap_err();
    assert!(error.message().contains(bad.to_str().unwrap()), "{error}");
    let report = run(load.skip_bad_files(true)).unwrap();
    assert_eq!((report.rows, report.skipped.len()), (2, 2));
}

#[test]
fn each_of_five_hundred_mixed_files_is_loaded_or_reported_as_left_out() {
    let home = Home::new();
    let mut expected = (0, 0);
    for number in 0..500 {
        let (name, content, is_loaded) = match number % 7 {
            0 => ("csv", TABLE, true),
            1 => ("json", &b"[{\"a\": 1}]"[..], true),
            2 => ("txt", PROSE, false),
            3 => ("png", &b"\x89PNG\r\n\x1a\n"[..], false),
            4 => ("db", DATABASE, false),
            5 => ("txt", &b"a\tb\n1\t2\n3\t4\n"[..], true),
            _ => ("tsv", &b"a\tb\n1\t2\n"[..], true),
        };
        put(&home, &format!("d/{}/f{number}.{name}", number % 5), content);
        if is_loaded { expected.0 += 1 } else { expected.1 += 1 }
    }
    let report = run(Load::new(home.path("x.db"), [home.path("d")])).unwrap();
    assert_eq!((report.tables.len(), report.left_out.len()), expected);
}

#[cfg(feature = "archives")]
mod archives {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::support::load::Way;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use sqluice::progress::{Amount, Cancel, Context, Progress};
    use sqluice_testkit::archives::{files_below, tar, zip, zip_with_flags};
    use sqluice_testkit::cases;

    /// Returns the mixed folder as an archive: its name, and its bytes.
    fn packed(folder: &Path) -> [(&'static str, Vec<u8>); 3] {
        let files = files_below(folder);
        [("d.zip", zip(&files)), ("d.tar", tar(&files)), ("d.tgz", gzip(&tar(&files)))]
    }

    #[test]
    fn an_archive_is_loaded_like_the_folder_that_was_packed() {
        let home = Home::new();
        let folder = put_mixed(&home);
        run(Load::new(home.path("folder.db"), [&folder])).unwrap();
        let expected = content(&home.path("folder.db"));
        for (name, bytes) in packed(&folder) {
            for way in [Way::Path, Way::Pipe] {
                let path = way.put(&home, &format!("{way:?}-{name}"), &bytes);
                let database = home.path(&format!("{way:?}-{name}.db"));
                let report = run(Load::new(&database, [&path])).unwrap();
                assert_eq!(tables(&report, &path), LOADED, "{name}, {way:?}");
                assert_eq!(left_out(&report, &path), LEFT_OUT, "{name}, {way:?}");
                assert_eq!(content(&database), expected, "{name}, {way:?}");
            }
        }
    }

    #[test]
    fn archive_members_are_selected_by_paths_patterns_and_folders() {
        let home = Home::new();
        let folder = put_mixed(&home);
        let archive = put(&home, "d.zip", zip(&files_below(&folder)));
        let loaded = |within: &str| {
            let database = home.path("x.db");
            fs::remove_file(&database).ok();
            let report = run(Load::new(database, [archive.join(within)]));
            report.map(|report| tables(&report, &archive)).map_err(|error| shown(&error, &home))
        };
        assert_eq!(loaded("x.csv").unwrap(), ["x x.csv"]);
        assert_eq!(loaded("2024").unwrap(), ["s 2024/s.csv.gz"]);
        assert_eq!(loaded("2024/").unwrap(), ["s 2024/s.csv.gz"]);
        assert_eq!(loaded("*/s.csv").unwrap(), ["s 2025/s.csv"]);
        assert_eq!(loaded("[xy].*").unwrap(), ["x x.csv", "y y.json"]);
        assert_eq!(loaded(".*.csv").unwrap(), ["secret .secret.csv"]);
        assert_eq!(loaded(".git").unwrap(), ["index .git/index.csv"]);
        assert_eq!(loaded("*.pq").unwrap_err(), "no file matches d.zip/*.pq");
        assert!(loaded("xx.csv").unwrap_err().starts_with("d.zip has no file xx.csv [did you mean x.csv?"));
        let error = loaded("old.db").unwrap_err();
        assert_eq!(
            error,
            "d.zip/old.db is a database in an archive, and SQLite reads files [extract it, and load that: unzip \
             d.zip old.db]"
        );
    }

    #[test]
    fn a_pattern_with_the_extension_of_archives_loads_matching_files_from_all_of_them() {
        let home = Home::new();
        put(&home, "one.zip", zip(&[("x.csv", TABLE)]));
        put(&home, "two.zip", zip(&[("y.csv", TABLE), ("z.json", b"{}")]));
        put(&home, "three.zip", zip(&[("z.json", b"{}")]));
        let report = run(Load::new(home.path("x.db"), [home.path("*.zip/*.csv")])).unwrap();
        assert_eq!(tables(&report, &home.path("")), ["x one.zip/x.csv", "y two.zip/y.csv"]);
        assert_eq!(left_out(&report, &home.path("")), ["three.zip: an archive without a matching file"]);
        for pattern in ["*/*.csv", "one.csv/*.csv", "one.csv/*"] {
            put(&home, "one.csv", TABLE);
            let error = run(Load::new(home.path("y.db"), [home.path(pattern)])).unwrap_err();
            assert_eq!(shown(&error, &home), format!("no file matches {pattern}"));
        }
    }

    #[test]
    fn members_of_several_archives_with_one_name_are_named_after_their_archives() {
        let home = Home::new();
        let one = put(&home, "one.zip", zip(&[("x.csv", TABLE), ("y.csv", TABLE)]));
        let two = put(&home, "two.tar.gz", gzip(&tar(&[("x.csv", TABLE)])));
        run(Load::new(home.path("x.db"), [one, two])).unwrap();
        assert_eq!(content(&home.path("x.db")).into_keys().collect::<Vec<_>>(), ["one_x", "two_x", "y"]);
    }

    #[test]
    fn a_folder_with_the_name_of_an_archive_is_not_read_instead_of_the_archive() {
        let home = Home::new();
        put(&home, "data/x.csv", DATABASE);
        let archive = put(&home, "data.zip", zip(&[("x.csv", TABLE)]));
        assert_eq!(run(Load::new(home.path("x.db"), [archive])).unwrap().rows, 2);
    }

    #[test]
    fn the_order_of_the_members_of_an_archive_does_not_affect_the_database() {
        let home = Home::new();
        let mut files = files_below(&put_mixed(&home));
        let mut reports = Vec::new();
        for turn in 0..3 {
            files.rotate_left(turn * 5);
            let archive = put(&home, "d.zip", zip(&files));
            let report = run(Load::new(home.path(&format!("{turn}.db")), [&archive])).unwrap();
            reports.push((tables(&report, &archive), report.left_out, report.checksum));
        }
        assert!(reports.iter().all(|report| *report == reports[0]));
    }

    #[test]
    fn bad_members_of_an_archive_are_named_or_skipped() {
        let home = Home::new();
        let archive = put(
            &home,
            "d.zip",
            zip_with_flags(&[
                ("a.csv", TABLE, 0),
                ("secret.csv", TABLE, 1),
                ("../up.csv", TABLE, 0),
                ("/root.csv", TABLE, 0),
                ("secret.png", TABLE, 1),
            ]),
        );
        let load = Load::new(home.path("x.db"), [&archive]);
        let error = run(load.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        let text = shown(&error, &home);
        for part in ["d.zip/secret.csv: this file is encrypted", "d.zip/../up.csv: ", "d.zip//root.csv: "] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let report = run(load.skip_bad_files(true)).unwrap();
        assert_eq!((report.rows, report.skipped.len()), (2, 3));
        assert_eq!(left_out(&report, &archive), ["secret.png: no known extension"]);
    }

    #[test]
    fn a_damaged_archive_is_named_or_skipped() {
        let home = Home::new();
        let file = put(&home, "a.csv", TABLE);
        let mut bytes = zip(&[("x.csv", TABLE)]);
        bytes.truncate(bytes.len() - 30);
        let archive = put(&home, "d.zip", bytes);
        let load = Load::new(home.path("x.db"), [archive, file]);
        let error = run(load.clone()).unwrap_err();
        assert!(shown(&error, &home).starts_with("d.zip: the archive "), "{error}");
        let report = run(load.skip_bad_files(true)).unwrap();
        assert_eq!((report.rows, report.skipped.len()), (2, 1));
    }

    #[test]
    fn the_last_of_several_archive_members_with_the_same_path_is_loaded() {
        let home = Home::new();
        let archive = put(&home, "d.tar", tar(&[("x.csv", &b"a\n1\n"[..]), ("x.csv", b"a\n2\n3\n")]));
        let report = run(Load::new(home.path("x.db"), [&archive])).unwrap();
        assert_eq!(report.rows, 2);
        assert_eq!(left_out(&report, &archive), ["x.csv: a later file has the same name"]);
    }

    /// Cancels the run once some bytes of an archive are unpacked.
    struct CancelsMidway {
        cancel: Cancel,
        bytes: AtomicU64,
    }

    impl Progress for CancelsMidway {
        fn phase(&self, _: &str, _: Option<Amount>) {}

        fn advance(&self, done: Amount) {
            if self.bytes.fetch_add(done.bytes, Ordering::Relaxed) + done.bytes > 0 {
                self.cancel.cancel();
            }
        }
    }

    #[test]
    fn a_load_is_cancelled_while_a_tar_archive_is_decompressed() {
        let home = Home::new();
        let text: String =
            (0..400_000).map(|number: u64| format!("{}\n", number * 7_919 % 1_000_003)).collect();
        let archive = put(&home, "d.tar.gz", gzip(&tar(&[("x.csv", format!("a\n{text}"))])));
        let cancel = Cancel::default();
        let progress = CancelsMidway { cancel: cancel.clone(), bytes: AtomicU64::new(0) };
        let context = Context::default().progress(&progress).cancel(&cancel);
        let error = Load::new(home.path("x.db"), [archive]).run_with(&context).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert_eq!(home.names(), ["d.tar.gz"]);
    }

    /// Generates the kinds of files in a random folder: an extension and a content.
    fn kind() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
        let rows = vec((0..1000_i32, "[a-z]{0,6}"), 1..20);
        let csv = rows.clone().prop_map(|rows| {
            let lines: String = rows.iter().map(|(number, text)| format!("{number},{text}\n")).collect();
            format!("a,b\n{lines}").into_bytes()
        });
        let json = rows.prop_map(|rows| {
            let lines: String = rows.iter().map(|(number, _)| format!("{{\"n\":{number}}}\n")).collect();
            lines.into_bytes()
        });
        let named = |extension: &'static str| move |content: Vec<u8>| (extension, content);
        prop_oneof![
            4 => csv.clone().prop_map(named("csv")),
            1 => csv.clone().prop_map(|content| ("csv.gz", gzip(&content))),
            1 => csv.clone().prop_map(named("txt")),
            1 => Just(("txt", PROSE.to_vec())),
            2 => json.clone().prop_map(named("ndjson")),
            1 => json.prop_map(named("csv")),
            1 => csv.clone().prop_map(named("dat")),
            1 => csv.prop_map(named("sql")),
            1 => Just(("db", DATABASE.to_vec())),
            1 => Just(("csv", DATABASE.to_vec())),
            1 => Just(("csv", b"%PDF-1.7\n%\xe2\xe3".to_vec())),
            1 => Just(("zip", b"PK\x05\x06".to_vec())),
        ]
    }

    /// Generates a random folder: paths and contents. No two files of a folder have the same stem.
    fn tree() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
        let folder = prop_oneof![4 => Just(""), 2 => Just("m/"), 2 => Just("m/n/"), 1 => Just("o/"), 1 => Just(".h/i/")];
        let stem = prop_oneof![6 => "[p-s]", 1 => "[.][p-s]"];
        vec((folder, stem, kind()), 1..12).prop_map(|files| {
            let mut stems = BTreeMap::new();
            for (folder, stem, kind) in files {
                stems.entry((folder, stem.trim_start_matches('.').to_owned())).or_insert((stem, kind));
            }
            let path = |((folder, _), (stem, (extension, content)))| {
                (format!("{folder}{stem}.{extension}"), content)
            };
            stems.into_iter().map(path).collect()
        })
    }

    proptest! {
        #![proptest_config(cases(64))]

        #[test]
        fn a_folder_gives_the_same_tables_loaded_as_a_folder_an_archive_or_file_by_file(files in tree()) {
            let home = Home::new();
            for (name, content) in &files {
                put(&home, &format!("d/{name}"), content);
            }
            let folder = home.path("d");
            let loaded = run(Load::new(home.path("folder.db"), [&folder]));
            for (name, bytes) in packed(&folder) {
                let archive = put(&home, name, bytes);
                let database = home.path(&format!("{name}.db"));
                let of_archive = run(Load::new(&database, [&archive]));
                match (&loaded, of_archive) {
                    (Ok(report), Ok(of_archive)) => {
                        prop_assert_eq!(tables(report, &folder), tables(&of_archive, &archive));
                        prop_assert_eq!(left_out(report, &folder), left_out(&of_archive, &archive));
                        prop_assert_eq!(content(&home.path("folder.db")), content(&database));
                    }
                    (Err(error), Err(of_archive)) => prop_assert_eq!(error.kind(), of_archive.kind()),
                    (one, other) => prop_assert!(false, "{name}: {one:?} and {other:?}"),
                }
            }
            let Ok(report) = loaded else { return Ok(()) };
            for input in &report.inputs {
                run(Load::new(home.path("named.db"), [&input.name]).table(&input.table)).unwrap();
            }
            prop_assert_eq!(content(&home.path("named.db")), content(&home.path("folder.db")));
        }
    }
}
