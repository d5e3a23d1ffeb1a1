//! An existing database, the scenarios by which the command changes it, and the contents that are allowed afterwards.
//!
//! ```text
//!              ┌─ sqluice COMMAND, killed, out of space, traced ──> x.db: the old content, or all of the new ─┐
//!  x.db, rows ─┤                                                                                              ├─ the same
//!              └─ INSERT, CREATE INDEX by SQLite ─────────────> twin ─────────────────────────────────────────┘
//! ```

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params};
use tempfile::TempDir;

use super::{Ran, Random, folder, names, run};

/// The journal mode of the database, which a run must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    Delete,
    Wal,
}

/// The change that a run makes to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Adds a table with a key and an index, written as pages.
    NewTable,
    /// Adds rows after the last one of a table without indexes, written as pages.
    Append,
    /// Adds many rows to a table with indexes, which are built again.
    IndexedAppend,
    /// Creates indexes on an existing table.
    Index,
    /// Replaces rows of a table with triggers, by SQLite's INSERT.
    Sql,
}

impl Journal {
    pub(crate) const ALL: [Journal; 2] = [Journal::Delete, Journal::Wal];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Journal::Delete => "delete",
            Journal::Wal => "wal",
        }
    }
}

impl Scenario {
    pub(crate) const ALL: [Scenario; 5] =
        [Scenario::NewTable, Scenario::Append, Scenario::IndexedAppend, Scenario::Index, Scenario::Sql];

    /// Returns `true` if the scenario writes pages past the end of the file.
    pub(crate) fn writes_pages(self) -> bool {
        self != Scenario::Sql
    }

    /// Returns the arguments of the command.
    pub(crate) fn args(self) -> &'static [&'static str] {
        match self {
            Scenario::NewTable => &["load", "x.db", "added.csv", "-t", "added", "--schema", "added.sql"],
            Scenario::Append => &["load", "x.db", "plain.csv", "-t", "plain", "--append"],
            Scenario::IndexedAppend => &["load", "x.db", "keyed.csv", "-t", "keyed", "--append"],
            Scenario::Index => &["index", "x.db", INDEXES[0], INDEXES[1]],
            Scenario::Sql => {
                &["load", "x.db", "audited.csv", "-t", "audited", "--append", "--on-conflict", "replace"]
            }
        }
    }

    /// Makes the same change by SQL.
    fn by_sql(self, connection: &Connection) -> rusqlite::Result<()> {
        match self {
            Scenario::NewTable => {
                connection.execute_batch(ADDED)?;
                insert(connection, "INSERT INTO added VALUES (?1, ?2, ?3)", &added())
            }
            Scenario::Append => insert(connection, "INSERT INTO plain VALUES (?1, ?2, ?3)", &plain()),
            Scenario::IndexedAppend => insert(connection, "INSERT INTO keyed VALUES (?1, ?2, ?3)", &keyed()),
            Scenario::Index => INDEXES.iter().try_for_each(|sql| connection.execute_batch(sql)),
            Scenario::Sql => {
                insert(connection, "INSERT OR REPLACE INTO audited VALUES (?1, ?2, ?3)", &audited())
            }
        }
    }
}

/// The statements that make the database before a run, with pages on the freelist.
const SCHEMA: &str = "\
CREATE TABLE plain (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
CREATE TABLE keyed (id INTEGER PRIMARY KEY, k TEXT UNIQUE, v INTEGER);
CREATE INDEX keyed_v ON keyed (v DESC, k);
CREATE TABLE audited (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER CHECK (n >= 0));
CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, of INTEGER, n INTEGER);
CREATE TRIGGER audited_insert AFTER INSERT ON audited BEGIN INSERT INTO audit (of, n) VALUES (new.id, new.n); END;
CREATE VIEW large AS SELECT * FROM plain WHERE n > 500;
CREATE TABLE gone (t TEXT);
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
  INSERT INTO plain SELECT i, printf('name %0*d', 10 + i % 60, i), i * 7 % 1000 FROM n;
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
  INSERT INTO keyed SELECT i, printf('%08x', i * 7919 % 16384 * 65536), i * 31 % 97 FROM n;
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
  INSERT INTO audited SELECT i, printf('audited %d', i), i FROM n;
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
  INSERT INTO gone SELECT printf('%04000d', i) FROM n;
DELETE FROM gone WHERE rowid % 4 > 0;
";

const ADDED: &str = "\
CREATE TABLE added (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
CREATE INDEX added_name ON added (name);
CREATE UNIQUE INDEX added_n ON added (n DESC, id);
";

const INDEXES: [&str; 2] = [
    "CREATE INDEX plain_n ON plain (n DESC, name COLLATE NOCASE)",
    "CREATE UNIQUE INDEX keyed_kv ON keyed (k, v)",
];

type Row = (i64, String, i64);

fn added() -> Vec<Row> {
    (1..=1500).map(|i| (i * 2, format!("added {}", i * 7919 % 10_007), i * 31 % 1511)).collect()
}

fn plain() -> Vec<Row> {
    (401..=2400).map(|i| (i, format!("more {i:0width$}", width = (i % 80) as usize), i * 13 % 1000)).collect()
}

fn keyed() -> Vec<Row> {
    (301..=12_800).map(|i| (i, format!("{:08x}", i * 7919 % 16_384 * 65536), i * 17 % 1013)).collect()
}

/// Returns rows for the table with triggers. Every third key exists already.
fn audited() -> Vec<Row> {
    let row = |i: i64| (i, format!("audited {}", if i % 3 == 0 { i } else { i + 10_000 }), i * 3);
    (151..=900).map(row).collect()
}

fn insert(connection: &Connection, sql: &str, rows: &[Row]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare(sql)?;
    rows.iter().try_for_each(|(id, name, n)| insert.execute(params![id, name, n]).map(drop))
}

fn csv(columns: &str, rows: &[Row]) -> String {
    let mut text = format!("{columns}\n");
    for (id, name, n) in rows {
        writeln!(text, "{id},{name},{n}").unwrap();
    }
    text
}

/// The content of a database after a run, as SQLite reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The content before the run.
    Old,
    /// The content after the same change by SQL.
    New,
    /// Any other content, or damage.
    Neither(String),
}

/// A database, a scenario that changes it, and the expected content.
pub(crate) struct Case {
    pub(crate) scenario: Scenario,
    pub(crate) journal: Journal,
    template: TempDir,
    old: String,
    new: String,
    pub(crate) old_bytes: u64,
}

impl Case {
    pub(crate) fn new(scenario: Scenario, journal: Journal) -> Case {
        let template = folder();
        let path = template.path().join("x.db");
        make(&path, journal);
        let old = summary(&path).unwrap();
        let twin = template.path().join("twin.db");
        fs::copy(&path, &twin).unwrap();
        let connection = Connection::open(&twin).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        scenario.by_sql(&connection).unwrap();
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);
        let new = summary(&twin).unwrap();
        fs::remove_file(&twin).unwrap();
        assert_ne!(old, new);
        assert_eq!(names(template.path()), ["x.db"]);
        for (name, text) in [
            ("added.csv", csv("id,name,n", &added())),
            ("added.sql", ADDED.to_owned()),
            ("plain.csv", csv("id,name,n", &plain())),
            ("keyed.csv", csv("id,k,v", &keyed())),
            ("audited.csv", csv("id,name,n", &audited())),
            ("one.csv", "a\n1\n".to_owned()),
        ] {
            fs::write(template.path().join(name), text).unwrap();
        }
        let old_bytes = fs::metadata(&path).unwrap().len();
        Case { scenario, journal, template, old, new, old_bytes }
    }

    /// Returns a case for every scenario in every journal mode.
    pub(crate) fn all() -> impl Iterator<Item = Case> {
        Scenario::ALL
            .into_iter()
            .flat_map(|scenario| Journal::ALL.map(|journal| Case::new(scenario, journal)))
    }

    /// Returns the name of the case for messages.
    pub(crate) fn name(&self) -> String {
        format!("{:?}, {:?}", self.scenario, self.journal)
    }

    /// Returns a folder with the database and the files to load.
    pub(crate) fn folder(&self) -> TempDir {
        let made = folder();
        for name in names(self.template.path()) {
            fs::copy(self.template.path().join(&name), made.path().join(&name)).unwrap();
        }
        made
    }

    pub(crate) fn args(&self) -> &'static [&'static str] {
        self.scenario.args()
    }

    /// Returns the content of `folder`/x.db, read from a copy of the database with its journal or log, so that the folder stays as it is.
    pub(crate) fn content(&self, folder: &Path) -> Content {
        let scratch = scratch();
        for name in FILES {
            let copied = fs::copy(folder.join(name), scratch.path().join(name));
            assert!(copied.is_ok() || name != "x.db", "{}: {copied:?}", self.name());
        }
        self.content_in_place(scratch.path())
    }

    /// Returns the content of `folder`/x.db, which SQLite recovers in place.
    pub(crate) fn content_in_place(&self, folder: &Path) -> Content {
        let path = folder.join("x.db");
        match summary(&path) {
            Ok(found) => self.is(&found),
            Err(error) => Content::Neither(error),
        }
    }

    /// Returns the content that a summary describes.
    pub(crate) fn is(&self, found: &str) -> Content {
        match found {
            found if found == self.old => Content::Old,
            found if found == self.new => Content::New,
            found => Content::Neither(difference(&self.old, &self.new, found)),
        }
    }

    /// Runs the command once more, and asserts that it succeeds, that no leftovers exist, and that the file ends with
    /// its last page.
    #[track_caller]
    pub(crate) fn assert_next_run_clears(&self, folder: &Path, found: &Content, at: &str) {
        if *found == Content::Old {
            run(folder, self.args()).ok();
            self.assert_clean(folder, at);
            assert_eq!(self.content_in_place(folder), Content::New, "{at}, after the next run");
        } else {
            run(folder, NEXT).ok();
            self.assert_clean(folder, at);
            Connection::open(folder.join("x.db")).unwrap().execute_batch("DROP TABLE next").unwrap();
            assert_eq!(self.content_in_place(folder), Content::New, "{at}, after the next run");
        }
    }

    /// Asserts that the database has no journal or log beside it, that its file ends with its last page, and that its journal mode is
    /// unchanged.
    #[track_caller]
    pub(crate) fn assert_clean(&self, folder: &Path, at: &str) {
        let mut left = names(folder);
        // An empty journal has no effect, and may be left from any connection.
        let is_empty = fs::metadata(folder.join(FILES[1])).is_ok_and(|journal| journal.len() == 0);
        left.retain(|name| !(is_empty && name == FILES[1]));
        assert_eq!(left, names(self.template.path()), "{at}");
        assert_no_tail(&folder.join("x.db"), at);
        assert_eq!(mode_in_header(&folder.join("x.db")), self.journal, "{at}");
    }
}

/// The arguments that add a table with a single row.
pub(crate) const NEXT: [&str; 5] = ["load", "x.db", "one.csv", "-t", "next"];

/// The names of the database, its journal and its log.
pub(crate) const FILES: [&str; 3] = ["x.db", "x.db-journal", "x.db-wal"];

fn make(path: &Path, journal: Journal) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(&format!("PRAGMA journal_mode = {}; BEGIN", journal.name())).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection.execute_batch("COMMIT").unwrap();
    let free: i64 = connection.query_row("PRAGMA freelist_count", [], |row| row.get(0)).unwrap();
    assert!(free > 5, "pages are free");
}

/// Returns a temporary folder, in memory if the system has such a file system.
pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| folder())
}

/// Returns the journal mode in the header of the file.
pub(crate) fn mode_in_header(database: &Path) -> Journal {
    match fs::read(database).unwrap()[18..20] {
        [1, 1] => Journal::Delete,
        [2, 2] => Journal::Wal,
        ref other => panic!("{}: {other:?}", database.display()),
    }
}

/// Asserts that the file of a database that is not in use ends with its last page.
#[track_caller]
pub(crate) fn assert_no_tail(database: &Path, at: &str) {
    let file_bytes = fs::metadata(database).unwrap().len();
    let connection = Connection::open(database).unwrap();
    let one = |name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap() as u64
    };
    assert_eq!(file_bytes, one("page_count") * one("page_size"), "{at}: bytes of the file and of its pages");
}

/// Returns a summary of a sound database: its schema, and the number and hash of the rows of each table. An error describes the fault of a
/// damaged database.
pub(crate) fn summary(database: &Path) -> Result<String, String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags).map_err(|error| error.to_string())?;
    let sound: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .map_err(|error| format!("integrity check: {error}"))?;
    if sound != "ok" {
        return Err(sound);
    }
    let mode: String = connection
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .map_err(|error| format!("journal mode: {error}"))?;
    read(&connection).map(|text| format!("journal mode {mode}\n{text}")).map_err(|error| error.to_string())
}

/// Returns the schema, and for each table the number of its rows and a hash of their values. All are from one snapshot if the connection is
/// in a transaction.
pub(crate) fn read(connection: &Connection) -> rusqlite::Result<String> {
    let mut text = String::new();
    let sql = "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY type, name";
    let mut tables = Vec::new();
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let [kind, name, of, sql] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?];
        writeln!(text, "{kind} {name} of {of}: {sql}").unwrap();
        if kind == "table" {
            tables.push(name);
        }
    }
    for table in tables {
        let (rows, hash) = hash(connection, &table)?;
        writeln!(text, "{table}: {rows} rows, {hash:016x}").unwrap();
    }
    Ok(text)
}

/// Returns the number of rows of a table, and a hash of their values in the order of rowids.
fn hash(connection: &Connection, table: &str) -> rusqlite::Result<(usize, u64)> {
    let mut statement = connection.prepare(&format!("SELECT rowid, * FROM \"{table}\" ORDER BY rowid"))?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let (mut count, mut hasher) = (0, DefaultHasher::new());
    while let Some(row) = rows.next()? {
        count += 1;
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Null => 0.hash(&mut hasher),
                ValueRef::Integer(value) => (1, value).hash(&mut hasher),
                ValueRef::Real(value) => (2, value.to_bits()).hash(&mut hasher),
                ValueRef::Text(value) => (3, value).hash(&mut hasher),
                ValueRef::Blob(value) => (4, value).hash(&mut hasher),
            }
        }
    }
    Ok((count, hasher.finish()))
}

/// Describes how the summary `found` differs from `old` and `new`: its lines that are not in both, and the lines of `new` that it lacks.
fn difference(old: &str, new: &str, found: &str) -> String {
    let is_known =
        |line: &&str| old.lines().any(|known| known == *line) && new.lines().any(|known| known == *line);
    let lines: Vec<&str> = found.lines().filter(|line| !is_known(line)).collect();
    let missing: Vec<&str> = new.lines().filter(|line| !found.lines().any(|found| found == *line)).collect();
    format!("{lines:#?}; of the new there is not {missing:#?}")
}

/// Asserts that a run failed with an error that a user can read, and no panic.
#[track_caller]
pub(crate) fn assert_refused(ran: Ran, words: &[&str], at: &str) {
    let one_of = words.iter().any(|words| ran.stderr.contains(words));
    assert_eq!((ran.code(), one_of), (Some(1), true), "{at}: {ran:?}");
    assert!(ran.stderr.starts_with("error: ") && !ran.stderr.contains("panicked"), "{at}: {ran:?}");
    assert_eq!(ran.stdout, "", "{at}: {ran:?}");
}

/// Returns `count` numbers below `from`, spread evenly, each moved by a small random distance.
pub(crate) fn spread(random: &mut Random, from: usize, count: usize) -> Vec<usize> {
    if from == 0 {
        return Vec::new();
    }
    let at = |index: usize| {
        let place = (index as f64 + random.fraction()) * from as f64 / count as f64;
        (place as usize).min(from - 1)
    };
    (0..count).map(at).collect()
}
