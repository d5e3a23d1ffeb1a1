//! `copy --for`: the settings of each purpose, the inspect file of Datasette, and the SQL files of D1.

use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::copy::{AutoVacuum, Copy, CopyReport, JournalMode, Purpose};
use sqluice::error::Error;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice_format::page::PageSize;

use super::content::{content, integrity, open, pragma, values};
use super::random::{has_interior_pages_first, make};

/// The largest statement that D1 accepts, in bytes.
const STATEMENT_BYTES_MAX: usize = 100_000;

fn run(copy: &Copy) -> Result<CopyReport, Error> {
    copy.run()
}

/// Makes a database of pages of 1024 bytes, in WAL mode, with auto_vacuum and deleted rows.
fn source(folder: &Path) -> std::path::PathBuf {
    let db = folder.join("source.db");
    let connection = Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 1024; PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA user_version = 7;
             CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
             CREATE INDEX by_name ON t (name);
             CREATE VIRTUAL TABLE words USING fts5(text);
             INSERT INTO words VALUES ('one'), ('two');
             WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT i, 'name ' || i * 7919 % 3001 FROM n;
             DELETE FROM t WHERE id % 3 = 0",
        )
        .unwrap();
    db
}

/// Returns the names and values of the settings that a report lists.
fn chosen(report: &CopyReport) -> Vec<(&str, &str)> {
    report.chosen.iter().map(|chosen| (chosen.name, &*chosen.value)).collect()
}

#[test]
fn a_copy_for_each_purpose_has_and_reports_the_settings_of_the_purpose() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path());
    for (purpose, settings, modes) in [
        (
            Purpose::Http,
            vec![
                ("page_size", "4096"),
                ("compact", "true"),
                ("interior_first", "true"),
                ("journal_mode", "delete"),
                ("auto_vacuum", "none"),
            ],
            (4096, "delete", 0),
        ),
        (
            Purpose::Datasette,
            vec![("compact", "true"), ("journal_mode", "delete"), ("auto_vacuum", "none")],
            (1024, "delete", 0),
        ),
        (
            Purpose::Turso,
            vec![
                ("page_size", "4096"),
                ("compact", "true"),
                ("journal_mode", "wal"),
                ("auto_vacuum", "none"),
            ],
            (4096, "wal", 0),
        ),
        (
            Purpose::Mobile,
            vec![
                ("page_size", "4096"),
                ("compact", "true"),
                ("journal_mode", "delete"),
                ("user_version", "7"),
            ],
            (4096, "delete", 1),
        ),
    ] {
        let target = folder.path().join(format!("{}.db", purpose.name()));
        let copy = Copy::new(&source, &target).purpose(purpose);
        let prepared = copy.prepare(&Context::default()).unwrap();
        let plan = prepared.plan();
        let report = run(&copy).unwrap();
        assert_eq!(chosen(&report), settings, "{purpose:?}");
        assert_eq!((&plan.chosen, plan.purpose), (&report.chosen, Some(purpose)));
        let (page_bytes, journal_mode, auto_vacuum) = modes;
        assert_eq!(report.page_bytes, page_bytes);
        assert!(!target.with_extension("db-wal").exists());
        // The order of the pages is read before SQLite opens the file and might change it.
        if purpose == Purpose::Http {
            assert!(has_interior_pages_first(&target, page_bytes));
        }
        let connection = open(&target);
        assert_eq!(pragma(&connection, "journal_mode"), format!("Text({journal_mode:?})"));
        assert_eq!(pragma(&connection, "auto_vacuum"), format!("Integer({auto_vacuum})"));
        drop(connection);
        assert_eq!(integrity(&target), "ok");
        let (mut before, mut after) = (content(&source), content(&target));
        // With auto_vacuum SQLite writes the file, and orders the schema in its own way: sort both.
        before.schema.sort();
        after.schema.sort();
        assert_eq!(before.schema, after.schema, "{purpose:?}");
        assert_eq!(values(&open(&source), "t"), values(&open(&target), "t"));
    }
}

#[test]
fn explicit_settings_are_kept_if_the_purpose_of_the_copy_allows_them() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (source(folder.path()), folder.path().join("target.db"));
    let asked = Copy::new(&source, &target).page_size(PageSize::new(8192)).purpose(Purpose::Http);
    let report = run(&asked).unwrap();
    assert_eq!(report.page_bytes, 8192);
    let page_size = report.chosen.iter().find(|chosen| chosen.name == "page_size").unwrap();
    assert_eq!((&*page_size.value, page_size.why), ("8192", "as asked for"));

    let new = |purpose| Copy::new(&source, folder.path().join("refused.db")).purpose(purpose);
    for (copy, message) in [
        (new(Purpose::Turso).page_size(PageSize::new(8192)), "8192` is not possible in a copy for turso"),
        (
            new(Purpose::Turso).journal_mode(JournalMode::Delete),
            "delete` is not possible in a copy for turso",
        ),
        (new(Purpose::Http).auto_vacuum(AutoVacuum::Full), "full` is not possible in a copy for http"),
        (new(Purpose::D1).page_size(PageSize::new(8192)), "has no meaning for D1"),
        (new(Purpose::D1).compact(true), "has no meaning for D1"),
        (new(Purpose::D1), "virtual table words can't be written as statements for D1"),
    ] {
        let error = run(&copy).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(!copy.target.exists());
    }
    let utf_16 = folder.path().join("utf-16.db");
    open_new(&utf_16).execute_batch("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a)").unwrap();
    let error =
        run(&Copy::new(&utf_16, folder.path().join("refused.db")).purpose(Purpose::Turso)).unwrap_err();
    assert!(error.to_string().contains("UTF-16; Turso imports UTF-8"), "{error}");
}

fn open_new(db: &Path) -> Connection {
    Connection::open(db).unwrap()
}

#[test]
fn a_copy_for_datasette_has_an_inspect_file_with_the_row_counts_of_all_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (source(folder.path()), folder.path().join("served.db"));
    let report = run(&Copy::new(&source, &target).purpose(Purpose::Datasette)).unwrap();
    let file = folder.path().join("served-inspect.json");
    assert_eq!(report.files, std::slice::from_ref(&file));
    let about: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let about = &about["served"];
    assert_eq!((about["size"].as_u64(), about["file"].as_str()), (Some(report.bytes), Some("served.db")));
    assert_eq!(about["hash"].as_str().map(str::len), Some(64));
    {
        let connection = open(&target);
        let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(names.contains(&"words".to_owned()) && names.contains(&"words_content".to_owned()));
        for name in &names {
            let count: i64 =
                connection.query_row(&format!("SELECT count(*) FROM {name}"), [], |row| row.get(0)).unwrap();
            assert_eq!(about["tables"][name]["count"].as_i64(), Some(count), "{name}");
        }
        assert_eq!(about["tables"].as_object().unwrap().len(), names.len());
    }
    // The database and its inspect file are replaced together, or not at all.
    std::fs::remove_file(&target).unwrap();
    let error = run(&Copy::new(&source, &target).purpose(Purpose::Datasette)).unwrap_err();
    assert!(error.to_string().contains("served-inspect.json already exists"), "{error}");
    assert!(!target.exists());
}

/// Runs the statements of all files, and asserts that D1 accepts the sizes of files and statements.
fn import(folder: &Path, report: &CopyReport, into: &Path) {
    let connection = open_new(into);
    connection.execute_batch("PRAGMA foreign_keys = ON; BEGIN").unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files, report.files);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("PRAGMA defer_foreign_keys = TRUE;\n") && text.len() <= 100_000_000);
        for statement in statements(&text) {
            assert!(statement.len() <= STATEMENT_BYTES_MAX);
            connection.execute_batch(statement).unwrap_or_else(|error| {
                panic!("{error}: {}", &statement.chars().take(300).collect::<String>())
            });
        }
    }
    connection.execute_batch("COMMIT").unwrap();
}

/// Cuts text into statements: at each semicolon at the end of a line, if SQLite finds the statement complete there.
fn statements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find(";\n") {
        let end = from + at + 2;
        match is_complete(&rest[..end]) {
            true => {
                found.push(&rest[..end]);
                (rest, from) = (&rest[end..], 0);
            }
            false => from = end,
        }
    }
    assert!(rest.is_empty(), "{rest}");
    found
}

/// Returns true if no quote and no trigger is open at the end, as sqlite3_complete does.
fn is_complete(sql: &str) -> bool {
    let quoted = sql.split('\'').step_by(2).collect::<String>();
    let names = quoted.split('"').step_by(2).collect::<String>();
    let is_open = sql.matches('\'').count() % 2 == 1 || quoted.matches('"').count() % 2 == 1;
    let trigger = names.trim_start().to_ascii_uppercase().starts_with("CREATE TRIGGER");
    !is_open && (!trigger || names.trim_end().to_ascii_uppercase().ends_with("END;"))
}

#[test]
fn rows_up_to_the_statement_limit_of_d1_are_written_and_larger_rows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [db, target, back] = ["x.db", "x", "back.db"].map(|name| folder.path().join(name));
    let connection = open_new(&db);
    connection
        .execute_batch("CREATE TABLE child (a REFERENCES parent, b); CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT, b)")
        .unwrap();
    let head = "INSERT INTO \"parent\" (\"id\",\"b\") VALUES (1,'');\n".len();
    let insert = |bytes: usize| {
        connection.execute("INSERT OR REPLACE INTO parent VALUES (1, ?1)", ["x".repeat(bytes)]).unwrap();
    };
    insert(100_000 - head);
    connection
        .execute_batch("INSERT INTO parent VALUES (9, 'it''s; \n'), (10, CAST(x'610062' AS TEXT)), (11, -9e999), (12, x'00ff'); DELETE FROM parent WHERE id = 12; INSERT INTO child VALUES (9, -9223372036854775808)")
        .unwrap();
    let report = run(&Copy::new(&db, &target).purpose(Purpose::D1)).unwrap();
    assert_eq!((report.rows, report.files.len()), (5, 1));
    import(&target, &report, &back);
    for table in ["parent", "child", "sqlite_sequence"] {
        assert_eq!(values(&open(&db), table), values(&open(&back), table));
    }
    insert(100_001 - head);
    let again = folder.path().join("again");
    let error = run(&Copy::new(&db, &again).purpose(Purpose::D1)).unwrap_err().to_string();
    assert!(
        error.contains("a statement of 100001 bytes, longer than the 100000 that are allowed"),
        "{error}"
    );
    assert!(error.contains("parent"), "{error}");
    assert!(!again.exists());
    // A folder that is not empty is refused, unless it may be replaced.
    let error = run(&Copy::new(&db, &target).purpose(Purpose::D1)).unwrap_err().to_string();
    assert!(error.contains("is not empty"), "{error}");
    insert(5);
    std::fs::write(target.join("0002.sql"), "of before").unwrap();
    let options = WriteOptions::new().overwrite(true);
    run(&Copy::new(&db, &target).purpose(Purpose::D1).write(options)).unwrap();
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(40))]

    #[test]
    fn statements_for_d1_make_a_database_with_the_same_rows(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let [source, target, back] = ["source.db", "target", "back.db"].map(|name| folder.path().join(name));
        make(&mut rng, &source);
        {
            let connection = open(&source);
            let _ = connection.execute_batch("DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS boxes");
        }
        let report = run(&Copy::new(&source, &target).purpose(Purpose::D1).write(WriteOptions::new().threads(3))).unwrap();
        import(&target, &report, &back);
        let (before, after) = (content(&source), content(&back));
        let sorted = |mut schema: Vec<[Option<String>; 4]>| {
            schema.retain(|object| !object[1].as_ref().unwrap().starts_with("sqlite_stat"));
            schema.sort();
            schema
        };
        prop_assert_eq!(sorted(before.schema), sorted(after.schema));
        for table in &report.tables {
            let (before, after) = (values(&open(&source), &table.name), values(&open(&back), &table.name));
            prop_assert_eq!(before.len() as u64, table.rows);
            prop_assert!(before == after, "{}", table.name);
        }
    }
}
