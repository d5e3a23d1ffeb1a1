//! Dumps in several files, which are read as one.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use proptest::prelude::*;
use sqluice::error::{Error, ErrorKind};
use sqluice::load::Load;
use sqluice::report::Report;
use sqluice_testkit::effort::tries;
use sqluice_testkit::{config, names};

use super::statements::sound_script;
use crate::copy::content::content;

/// Writes texts into files `0.sql`, `1.sql`, ..., and loads them in this order.
fn load(folder: &Path, texts: &[&str]) -> Result<Report, Error> {
    let files: Vec<PathBuf> = (0..texts.len()).map(|number| folder.join(format!("{number}.sql"))).collect();
    for (file, text) in files.iter().zip(texts) {
        fs::write(file, text).unwrap();
    }
    Load::new(folder.join("x.db"), files).run()
}

/// Cuts a text at some of its line ends, and leaves these line ends out.
fn cut<'t>(rng: &mut Rng, text: &'t str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (end, _) in text.match_indices('\n') {
        // A file without statements is refused as an empty file is, so each part gets more than white space.
        if rng.u8(0..6) == 0 && !text[start..end].trim().is_empty() {
            parts.push(&text[start..end]);
            start = end + 1;
        }
    }
    if text[start..].trim().is_empty() && start > 0 {
        let last: &str = parts.pop().unwrap();
        start = last.as_ptr() as usize - text.as_ptr() as usize;
    }
    parts.push(&text[start..]);
    parts
}

proptest! {
    #![proptest_config(config(tries(30, 200, 2000)))]

    #[test]
    fn a_dump_in_several_files_makes_the_same_database_as_in_one_file(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let script = sound_script(&mut rng, &folders[0].path().join("sqlite.db"));
        let whole = load(folders[0].path(), &[&script]);
        let parts = load(folders[1].path(), &cut(&mut rng, &script));
        match (whole, parts) {
            (Ok(whole), Ok(parts)) => {
                prop_assert_eq!(whole.rows, parts.rows);
                let [whole, parts] = folders.each_ref().map(|folder| content(&folder.path().join("x.db")));
                let difference = whole.difference(&parts);
                prop_assert!(difference.is_none(), "{}\n{script}", difference.unwrap_or_default());
            }
            (Err(whole), Err(parts)) => prop_assert_eq!(whole.what().to_string(), parts.what().to_string()),
            (whole, parts) => prop_assert!(false, "{:?}, and in parts {:?} of\n{}", whole, parts, script),
        }
    }
}

#[test]
fn an_error_in_a_dump_of_several_files_names_the_file_and_the_line() {
    let folder = tempfile::tempdir().unwrap();
    for (texts, place) in [
        (["CREATE TABLE t(a);\n\n", "INSERT INTO t VALUES(1);\nINSERT INTO gone VALUES(1);\n"], "1.sql:2"),
        (
            ["CREATE TABLE t(a UNIQUE);\nINSERT INTO t VALUES(1);", "\n\nINSERT INTO t VALUES(1);\n"],
            "1.sql:3",
        ),
        (["CREATE TABLE t(a);\nATTACH 'x' AS x;", "INSERT INTO t VALUES(1);\n"], "0.sql:2"),
    ] {
        let error = load(folder.path(), &texts).unwrap_err();
        let found = error.place().map(|place| place.to_string()).unwrap_or_default();
        assert!(found.ends_with(place), "{found} in place of {place}: {error}");
        assert_eq!(names(folder.path()), ["0.sql", "1.sql"]);
    }
}

#[test]
fn the_report_of_a_dump_lists_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let report = load(folder.path(), &["CREATE TABLE t(a);", "INSERT INTO t VALUES(1);"]).unwrap();
    let inputs: Vec<_> =
        report.inputs.iter().map(|input| (input.table.as_str(), input.recognised.dialect)).collect();
    assert_eq!(inputs, [("t", Some("SQLite")); 2]);
    assert!(report.inputs[1].name.ends_with("1.sql"));
}

#[cfg(feature = "dialects")]
#[test]
fn a_dump_of_mysql_can_have_schema_and_rows_in_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let schema = "SET NAMES utf8mb4;\nCREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT PRIMARY KEY, `s` text) ENGINE=InnoDB;\n";
    let report = load(folder.path(), &[schema, "INSERT INTO t VALUES (1,'it\\'s');\n"]).unwrap();
    assert_eq!(report.rows, 1);
    assert!(report.inputs.iter().all(|input| input.recognised.dialect == Some("MySQL")));
    fs::remove_file(folder.path().join("x.db")).unwrap();
    let error = load(folder.path(), &[schema, "CREATE TABLE u (id bigserial PRIMARY KEY);\n"]).unwrap_err();
    assert!(
        error.to_string().contains("this is SQL of PostgreSQL, and the files before it are SQL of MySQL"),
        "{error}"
    );
    let cut_off = "-- MySQL dump 10.13\nINSERT INTO t VALUES (1,'a');\n";
    let error = load(folder.path(), &[schema, cut_off]).unwrap_err();
    assert!(error.place().unwrap().to_string().ends_with("1.sql:3"), "{error:?}");
}

#[test]
fn a_dump_and_a_csv_file_are_refused_in_one_load_and_accepted_in_two() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.csv");
    fs::write(&rows, "a\n1\n").unwrap();
    let dump = folder.path().join("dump.sql");
    fs::write(&dump, "CREATE TABLE t(a);\n").unwrap();
    let error = Load::new(folder.path().join("x.db"), [&rows, &dump]).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("dump.sql is a dump, and"), "{error}");
    Load::new(folder.path().join("x.db"), [&dump]).run().unwrap();
    let mut load = Load::new(folder.path().join("x.db"), [&rows]);
    load.write.if_exists = sqluice::options::IfExists::Append;
    load.run().unwrap();
}
