//! Tests of copies with auto_vacuum. SQLite writes such copies.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sqluice::copy::{AutoVacuum, Copy, CopyReport, JournalMode};
use sqluice::error::Result;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;

use super::content::{content, integrity, open, pragma};

/// Makes a database with an index and free pages. Returns its folder, its path and the path of the copy.
fn made(auto_vacuum: &str, journal_mode: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    let connection = Connection::open(&source).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA auto_vacuum = {auto_vacuum}; PRAGMA journal_mode = {journal_mode};
             CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t (b);
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO t SELECT i, hex(i) FROM n;
             DELETE FROM t WHERE a % 3 > 0; PRAGMA user_version = 5"
        ))
        .unwrap();
    (folder, source, target)
}

fn run(copy: &Copy) -> Result<CopyReport> {
    copy.run()
}

fn modes(db: &Path) -> [String; 2] {
    let connection = open(db);
    ["auto_vacuum", "journal_mode"].map(|name| pragma(&connection, name))
}

#[test]
fn a_copy_with_auto_vacuum_in_wal_mode_leaves_no_wal_file() {
    for (mode, number) in [(AutoVacuum::Full, 1), (AutoVacuum::Incremental, 2)] {
        let (folder, source, target) = made("none", "delete");
        let copy = Copy::new(&source, &target).auto_vacuum(mode).journal_mode(JournalMode::Wal);
        let report = run(&copy).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(std::fs::read(&target).unwrap()[18..20], [2, 2]);
        assert_eq!(modes(&target), [format!("Integer({number})"), "Text(\"wal\")".to_owned()]);
        assert_eq!(content(&source), content(&target));
        assert_eq!(integrity(&target), "ok");
        assert_eq!(report.output, "sqlite");
    }
}

#[test]
fn a_copy_in_place_keeps_auto_vacuum_and_the_journal_mode() {
    for mode in ["delete", "wal"] {
        let (folder, source, _) = made("incremental", mode);
        let (before, modes_before) = (content(&source), modes(&source));
        assert_eq!(modes_before, ["Integer(2)".to_owned(), format!("Text({mode:?})")]);
        let report = run(&Copy::new(&source, &source)).unwrap();
        assert!(report.bytes < report.source_bytes, "{report:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{mode}");
        assert_eq!((modes(&source), content(&source)), (modes_before, before));
        assert_eq!(integrity(&source), "ok");
    }
}

#[test]
fn the_report_of_a_copy_with_auto_vacuum_has_no_root_pages() {
    let (_folder, source, target) = made("full", "delete");
    let report = run(&Copy::new(&source, &target)).unwrap();
    assert_eq!((report.tables[0].root_page, report.indexes[0].root_page), (None, None));
    let copy = Copy::new(&source, &target).auto_vacuum(AutoVacuum::None);
    let report = run(&copy.write(WriteOptions::new().overwrite(true))).unwrap();
    let root = |name: &str| {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        open(&target).query_row(sql, [name], |row| row.get(0)).ok()
    };
    assert_eq!((report.tables[0].root_page, report.indexes[0].root_page), (root("t"), root("i")));
    assert!(report.tables[0].root_page.is_some());
}

#[test]
fn interior_first_is_refused_for_copies_with_requested_or_inherited_auto_vacuum() {
    for (mode, asked, whose) in [
        ("none", Some(AutoVacuum::Full), "auto_vacuum: SQLite"),
        ("full", None, "auto_vacuum, as its source has it: "),
    ] {
        let (_folder, source, target) = made(mode, "delete");
        let copy = Copy::new(&source, &target).interior_first(true).auto_vacuum(asked);
        for error in [run(&copy).unwrap_err(), copy.prepare(&Context::default()).unwrap_err()] {
            assert!(error.to_string().contains(whose), "{error}");
            assert!(error.hint_text().unwrap().contains("auto_vacuum = none"), "{error:?}");
            assert!(!target.exists());
        }
        run(&copy.auto_vacuum(AutoVacuum::None)).unwrap();
        assert_eq!(modes(&target)[0], "Integer(0)");
    }
}
