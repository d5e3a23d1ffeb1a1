//! Random loads into random existing databases: afterwards the database equals a copy into which SQLite inserts the same values. If
//! SQLite's INSERT fails, the load fails, too, and changes nothing.
//!
//! ```text
//!               ┌─ load ──────────────────────────────────> ours.db ─┐
//! old.db, rows ─┤                                                     ├─ equal and sound, no other files
//!               └─ BEGIN, INSERT of each row, COMMIT ─────> twin.db ─┘
//! ```
//!
//! Equal databases have the same schema, rows, sequences and journal mode.

#![cfg(feature = "load")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;
use rusqlite::{Connection, params_from_iter};
use sqluice::load::Load;
use sqluice::options::{IfExists, OnConflict, WriteOptions};
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice_format::page::PENDING_BYTE;
use sqluice_testkit::effort::tries;

use crate::support::files::{Home, assert_sound, integrity};
use crate::support::load::plain;
use crate::support::{Random, cases};

/// The key of the table that rows go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    None,
    Rowid,
    Autoincrement,
    Text,
    WithoutRowid,
}

/// The mode of the load: a new table, or existing rows kept, updated or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    NewTable,
    Append,
    AppendIgnoring,
    AppendReplacing,
    Upsert,
    Replace,
}

/// Constraints, indexes and triggers of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Extras {
    unique: bool,
    index: bool,
    expression: bool,
    partial: bool,
    check: bool,
    generated: bool,
    trigger: bool,
    strict: bool,
    added_column: bool,
}

/// An existing database.
#[derive(Clone, Debug)]
struct Old {
    page_bytes: usize,
    encoding: &'static str,
    auto_vacuum: &'static str,
    journal: &'static str,
    /// Rows that are inserted into other tables, and partly deleted again.
    deleted: usize,
    key: Key,
    extras: Extras,
    rows: usize,
    /// The last existing rowid.
    last_rowid: i64,
}

/// The rows to load.
#[derive(Clone, Debug)]
struct New {
    what: What,
    rows: usize,
    /// `true` if some of the keys exist already.
    overlaps: bool,
    /// `true` if the keys do not ascend.
    shuffled: bool,
    /// `true` if the file lacks a column.
    missing: bool,
    /// `true` if some of the rowids are NULL.
    nulls: bool,
    long: bool,
    seed: u64,
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        3 => Just(Key::Rowid),
        2 => Just(Key::None),
        1 => Just(Key::Autoincrement),
        1 => Just(Key::Text),
        1 => Just(Key::WithoutRowid),
    ]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        3 => Just(What::NewTable),
        4 => Just(What::Append),
        1 => Just(What::AppendIgnoring),
        1 => Just(What::AppendReplacing),
        1 => Just(What::Upsert),
        1 => Just(What::Replace),
    ]
}

/// Generates `true` in a few of the cases, so that few tables have all extras.
fn seldom() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.15)
}

fn extras() -> impl Strategy<Value = Extras> {
    let some = (
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.4),
        seldom(),
        seldom(),
        seldom(),
        seldom(),
        seldom(),
        seldom(),
        seldom(),
    );
    some.prop_map(|(unique, index, expression, partial, check, generated, trigger, strict, added_column)| {
        Extras { unique, index, expression, partial, check, generated, trigger, strict, added_column }
    })
}

fn old() -> impl Strategy<Value = Old> {
    let page_bytes = prop_oneof![
        2 => Just(4096usize),
        3 => prop::sample::select(vec![512, 1024, 2048, 8192, 16384, 32768, 65536]),
    ];
    let encoding = prop_oneof![6 => Just("UTF-8"), 1 => Just("UTF-16le"), 1 => Just("UTF-16be")];
    let auto_vacuum = prop_oneof![6 => Just("NONE"), 1 => Just("FULL"), 1 => Just("INCREMENTAL")];
    let journal = prop_oneof![
        3 => Just("DELETE"),
        1 => Just("TRUNCATE"),
        1 => Just("PERSIST"),
        4 => Just("WAL"),
    ];
    let rows = prop_oneof![1 => Just(0usize), 2 => 1..20usize, 3 => 20..1500usize];
    let last_rowid =
        prop_oneof![4 => Just(0i64), 1 => 1000..100_000i64, 1 => Just(1 << 40), 1 => Just(i64::MAX - 900)];
    (page_bytes, encoding, auto_vacuum, journal, 0..400usize, key(), extras(), rows, last_rowid).prop_map(
        |(page_bytes, encoding, auto_vacuum, journal, deleted, key, extras, rows, last_rowid)| Old {
            page_bytes,
            encoding,
            auto_vacuum,
            journal,
            deleted,
            key,
            extras,
            rows,
            last_rowid,
        },
    )
}

fn new() -> impl Strategy<Value = New> {
    let rows = prop_oneof![1 => Just(0usize), 2 => 1..20usize, 4 => 20..3000usize];
    (what(), rows, prop::bool::weighted(0.25), seldom(), seldom(), seldom(), seldom(), any::<u64>()).prop_map(
        |(what, rows, overlaps, shuffled, missing, nulls, long, seed)| New {
            what,
            rows,
            overlaps,
            shuffled,
            missing,
            nulls,
            long,
            seed,
        },
    )
}

impl Old {
    /// Returns the statements that make a table.
    fn declare(&self, table: &str) -> String {
        let Extras { unique, index, expression, partial, check, generated, strict, .. } = self.extras;
        let id = match self.key {
            Key::None | Key::Text => "id INTEGER",
            Key::Rowid => "id INTEGER PRIMARY KEY",
            Key::Autoincrement => "id INTEGER PRIMARY KEY AUTOINCREMENT",
            Key::WithoutRowid => "id INTEGER NOT NULL",
        };
        let mut columns = vec![id.to_owned(), "name TEXT DEFAULT 'none'".to_owned()];
        columns.push(if check { "n INTEGER CHECK (n <> 13)" } else { "n INTEGER" }.to_owned());
        columns.push(if strict { "x ANY" } else { "x" }.to_owned());
        columns.push("r REAL DEFAULT 0.5".to_owned());
        if generated {
            columns.push("g INTEGER GENERATED ALWAYS AS (n * 2) STORED".to_owned());
            columns.push("v TEXT AS (name || '!')".to_owned());
        }
        match self.key {
            Key::Text => columns.push("PRIMARY KEY (name, id)".to_owned()),
            Key::WithoutRowid => columns.push("PRIMARY KEY (id, name COLLATE NOCASE)".to_owned()),
            _ => {}
        }
        if unique {
            columns.push("UNIQUE (n, name)".to_owned());
        }
        let mut options = Vec::new();
        options.extend(strict.then_some("STRICT"));
        options.extend((self.key == Key::WithoutRowid).then_some("WITHOUT ROWID"));
        let mut sql = format!("CREATE TABLE {table} ({}) {};\n", columns.join(", "), options.join(", "));
        if index {
            writeln!(sql, "CREATE INDEX {table}_n ON {table} (n DESC, name COLLATE NOCASE);").unwrap();
        }
        if expression {
            writeln!(sql, "CREATE INDEX {table}_e ON {table} (length(name), r);").unwrap();
        }
        if partial {
            writeln!(sql, "CREATE INDEX {table}_p ON {table} (name) WHERE n > 100;").unwrap();
        }
        sql
    }

    /// Makes the database with the table `t`. A journal or log stays if the journal mode keeps it.
    fn make(&self, path: &Path, seed: u64) {
        let connection = Connection::open(path).unwrap();
        let Old { page_bytes, encoding, auto_vacuum, journal, deleted, .. } = self;
        let pragmas = format!(
            "PRAGMA page_size = {page_bytes}; PRAGMA encoding = '{encoding}'; PRAGMA auto_vacuum = {auto_vacuum};
             PRAGMA journal_mode = {journal}; PRAGMA synchronous = OFF; BEGIN;
             CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, of, n); CREATE TABLE gone (t); CREATE INDEX gone_t ON gone (t);"
        );
        connection.execute_batch(&pragmas).unwrap();
        connection.execute_batch(&self.declare("t")).unwrap();
        let trigger = "CREATE TRIGGER t_insert AFTER INSERT ON t BEGIN INSERT INTO log (of, n) VALUES (new.name, new.n); END;
                       CREATE VIEW t_view AS SELECT name FROM t;";
        if self.extras.trigger {
            connection.execute_batch(trigger).unwrap();
        }
        let mut random = Random(seed);
        let fill = "INSERT INTO gone VALUES (hex(randomblob(?1)))";
        for _ in 0..*deleted {
            connection.execute(fill, [random.below(page_bytes / 4) as i64]).unwrap();
        }
        let rows = New {
            what: What::Append,
            rows: self.rows,
            overlaps: false,
            shuffled: false,
            missing: false,
            nulls: false,
            long: false,
            seed,
        };
        insert(&connection, "t", &rows.records(self, true), "INSERT", "").unwrap();
        connection.execute_batch("COMMIT; BEGIN").unwrap();
        connection.execute("DELETE FROM gone WHERE rowid % 5 > 0", []).unwrap();
        if self.last_rowid > 0
            && matches!(self.key, Key::Rowid | Key::Autoincrement | Key::None)
            && self.rows > 0
        {
            let sql = "INSERT INTO t (rowid, name, n) VALUES (?1, 'last', -1)";
            connection.execute(sql, [self.last_rowid]).unwrap();
        }
        if self.extras.added_column {
            let sql = "ALTER TABLE t ADD COLUMN late TEXT DEFAULT 'late'";
            connection.execute_batch(sql).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }

    fn has_last_rowid(&self) -> bool {
        self.last_rowid > 0
            && self.rows > 0
            && matches!(self.key, Key::Rowid | Key::Autoincrement | Key::None)
    }
}

/// A header and its records; `None` is NULL.
struct Records {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Option<String>>>,
}

impl New {
    fn records(&self, old: &Old, first: bool) -> Records {
        let mut random = Random(self.seed ^ u64::from(first));
        let mut ids: Vec<i64> = (0..self.rows as i64).map(|i| i * 2 + 1).collect();
        if !first && self.what != What::NewTable && !self.overlaps {
            let largest = if old.has_last_rowid() { old.last_rowid } else { old.rows as i64 * 2 };
            // Rowids above the largest possible one become the largest one, and repeat it. SQLite refuses that, too.
            ids.iter_mut().for_each(|id| *id = id.saturating_add(largest));
        }
        if self.shuffled {
            for at in (1..ids.len()).rev() {
                ids.swap(at, random.below(at + 1));
            }
        }
        let mut columns = vec!["id", "name", "n", "x", "r"];
        if self.missing {
            columns.truncate(4);
        }
        // 4 MB of overflow pages are enough, whatever their size.
        let long_bytes = old.page_bytes * 3;
        let long_one_in = (self.rows * long_bytes / (4 << 20)).max(20);
        let rows = ids.iter().map(|id| {
            let is_long = self.long && random.one_in(long_one_in);
            let name_bytes = if is_long { long_bytes } else { random.below(40) };
            let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let mut name = format!("{}é{id}", &letters[random.below(26)..][..random.below(26)]);
            name.extend(std::iter::repeat_n('z', name_bytes));
            let rowid = (!(self.nulls && random.one_in(4))).then(|| id.to_string());
            let n = match random.below(20) {
                0 => None,
                1 if old.extras.check && !first && self.what == What::Append && random.one_in(50) => Some(13),
                _ => Some(random.below(500) as i64 * 16),
            };
            let x = match random.below(4) {
                0 => None,
                1 => Some("7".to_owned()),
                2 => Some("1.25".to_owned()),
                _ => Some(format!("x{}", random.below(9))),
            };
            let r = (!random.one_in(5)).then(|| format!("{}.{}", random.below(1000), random.below(8) * 125));
            let mut row = vec![rowid, Some(name), n.map(|n| n.to_string()), x, r];
            row.truncate(columns.len());
            row
        });
        let rows = rows.collect();
        Records { columns, rows }
    }
}

impl Records {
    fn csv(&self) -> String {
        let mut text = format!("{}\n", self.columns.join(","));
        for row in &self.rows {
            let fields: Vec<&str> = row.iter().map(|field| field.as_deref().unwrap_or("")).collect();
            writeln!(text, "{}", fields.join(",")).unwrap();
        }
        text
    }
}

/// Inserts rows one by one, as text that SQLite converts.
fn insert(
    connection: &Connection,
    table: &str,
    records: &Records,
    verb: &str,
    clause: &str,
) -> rusqlite::Result<()> {
    let places: Vec<String> = (1..=records.columns.len()).map(|place| format!("?{place}")).collect();
    let columns = records.columns.join(", ");
    let sql = format!("{verb} INTO {table} ({columns}) VALUES ({}) {clause}", places.join(", "));
    let mut insert = connection.prepare(&sql)?;
    records.rows.iter().try_for_each(|row| insert.execute(params_from_iter(row)).map(drop))
}

/// Returns the columns of a key of the table that ON CONFLICT may name; `None` if the table has none.
fn upsert_keys(old: &Old) -> Option<&'static [&'static str]> {
    match old.key {
        Key::Rowid | Key::Autoincrement => Some(&["id"]),
        Key::Text => Some(&["name", "id"]),
        // The key has another collation than the column: no ON CONFLICT clause of a load can name it.
        Key::WithoutRowid | Key::None => old.extras.unique.then_some(&["n", "name"]),
    }
}

/// Lets SQLite insert the same rows.
fn by_sql(connection: &Connection, old: &Old, new: &New, records: &Records) -> rusqlite::Result<()> {
    match new.what {
        What::NewTable => {
            connection.execute_batch(&old.declare("added"))?;
            insert(connection, "added", records, "INSERT", "")
        }
        What::Append => insert(connection, "t", records, "INSERT", ""),
        // Conflicts are about keys: OR IGNORE would leave out rows with a NULL that is not allowed, too.
        What::AppendIgnoring => insert(connection, "t", records, "INSERT", "ON CONFLICT DO NOTHING"),
        What::AppendReplacing => insert(connection, "t", records, "INSERT OR REPLACE", ""),
        What::Replace => {
            connection.execute_batch("DELETE FROM t")?;
            insert(connection, "t", records, "INSERT", "")
        }
        What::Upsert => {
            let keys = upsert_keys(old).expect("there is a key");
            let others: Vec<String> = records
                .columns
                .iter()
                .filter(|column| !keys.contains(column))
                .map(|column| format!("{column} = excluded.{column}"))
                .collect();
            let clause = format!("ON CONFLICT ({}) DO UPDATE SET {}", keys.join(", "), others.join(", "));
            insert(connection, "t", records, "INSERT", &clause)
        }
    }
}

/// Loads the file. Returns the write paths that were taken, or the error.
fn load(path: &Path, csv: &Path, old: &Old, new: &New) -> Result<String, String> {
    let is_new = new.what == What::NewTable;
    let if_exists = match new.what {
        What::NewTable => IfExists::Fail,
        What::Append | What::AppendIgnoring | What::AppendReplacing => IfExists::Append,
        What::Replace => IfExists::Replace,
        What::Upsert => {
            let keys = upsert_keys(old).expect("there is a key");
            IfExists::Upsert(keys.iter().map(|&key| key.to_owned()).collect())
        }
    };
    let on_conflict = match new.what {
        What::AppendIgnoring => OnConflict::Ignore,
        What::AppendReplacing => OnConflict::Replace,
        _ => OnConflict::Abort,
    };
    let write = WriteOptions::new()
        .if_exists(if_exists)
        .on_conflict(on_conflict)
        .threads(2)
        .tune(|tuning| tuning.chunk_bytes = 1 << 16);
    let schema = is_new.then(|| Schema::parse(old.declare("added"), Path::new("added.sql")).unwrap());
    let load = Load::new(path, [csv])
        .table(if is_new { "added" } else { "t" }.to_owned())
        .schema(schema)
        .format(plain())
        .write(write)
        .tune(|tuning| tuning.part_bytes = 4096);
    let prepared = load.prepare(&Context::default()).map_err(|error| error.without_hint())?;
    let report = prepared.run(&Context::default()).map_err(|error| error.without_hint())?;
    let table = report.tables.iter().find(|table| ["added", "t"].contains(&&*table.name));
    Ok(table.map_or("nothing".to_owned(), |table| {
        let indexes: Vec<&str> = table.indexes.iter().map(|index| index.write_path.name()).collect();
        format!("{} {:?}, indexes {indexes:?}", table.write_path.name(), table.action)
    }))
}

/// Returns all content of the database, as lines.
fn content(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    assert_eq!(integrity(&connection), "ok");
    let mut lines = Vec::new();
    let mut add = |sql: &str| {
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap()));
            lines.push(values.collect::<Vec<_>>().join(" "));
        }
    };
    add("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name");
    let tables: Vec<(String, bool)> = {
        let sql = "SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name <> 'sqlite_schema' ORDER BY name";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    for (table, without_rowid) in tables {
        let rowid = if without_rowid { "" } else { "rowid, " };
        // The order of the rows of sqlite_sequence does not matter.
        let order = if table == "sqlite_sequence" { "name" } else { "1, 2" };
        let rowid = if table == "sqlite_sequence" { "" } else { rowid };
        add(&format!("SELECT '{table}', {rowid}* FROM {table} ORDER BY {order}"));
    }
    lines
}

/// Returns the journal mode in the header (1: rollback, 2: WAL), and the size of the file.
fn header(path: &Path) -> (u8, u64) {
    let bytes = fs::read(path).unwrap();
    (bytes[18], bytes.len() as u64)
}

fn assert_no_tail(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let one = |name: &str| -> u64 {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap() as u64
    };
    assert_eq!(
        fs::metadata(path).unwrap().len(),
        one("page_count") * one("page_size"),
        "nothing behind the last page"
    );
}

/// The number of loads by each write path, printed at the end.
static WRITE_PATHS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

fn check(old: &Old, new: &New) {
    let mut new = new.clone();
    if new.what == What::Upsert && upsert_keys(old).is_none() {
        new.what = What::Append;
    }
    // Once the largest rowid is used, SQLite picks the next rowids at random.
    if old.last_rowid > 1 << 60 && (new.nulls || old.key == Key::None) {
        new.rows = new.rows.min(400);
    }
    let home = Home::new();
    let (ours, twin, csv) = (home.path("ours.db"), home.path("twin.db"), home.path("in.csv"));
    old.make(&ours, new.seed);
    fs::copy(&ours, &twin).unwrap();
    let before = content(&ours);
    let mode = header(&ours).0;
    let records = new.records(old, false);
    fs::write(&csv, records.csv()).unwrap();

    let connection = Connection::open(&twin).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN").unwrap();
    let expected = by_sql(&connection, old, &new, &records);
    connection.execute_batch(if expected.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
    drop(connection);

    let loaded = load(&ours, &csv, old, &new);
    match (&expected, &loaded) {
        (Ok(()), Ok(write_path)) => *WRITE_PATHS.lock().unwrap().entry(write_path.clone()).or_default() += 1,
        (Err(_), Err(_)) => {
            let write_path = "refused by both".to_owned();
            *WRITE_PATHS.lock().unwrap().entry(write_path).or_default() += 1;
        }
        _ => panic!("SQLite says {expected:?}, the load {loaded:?}"),
    }
    let (found, wanted) = (content(&ours), content(&twin));
    if loaded.is_err() {
        assert!(found == before, "a load that fails changes nothing");
    }
    if let Some((found, wanted)) = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted) {
        panic!("{loaded:?}: found {found}\nwanted {wanted}");
    }
    assert_eq!(found.len(), wanted.len(), "{loaded:?}: lines");
    assert_eq!(header(&ours).0, mode, "the journal mode");
    assert_no_tail(&ours);
    let left: Vec<String> = home.names().into_iter().filter(|name| name.starts_with("ours.db-")).collect();
    let persists = old.journal == "PERSIST" || old.journal == "TRUNCATE";
    assert!(left.is_empty() || persists && left == ["ours.db-journal"], "{left:?}");
    if old.auto_vacuum == "NONE" {
        assert_sound(&fs::read(&ours).unwrap(), PENDING_BYTE);
    }
    assert_goes_on(&ours);
}

/// Asserts that SQLite can use the database: free pages, new pages, and an index.
fn assert_goes_on(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let sql = "PRAGMA synchronous = OFF; BEGIN; INSERT INTO gone SELECT hex(randomblob(200)) FROM t LIMIT 50;
               WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
                 INSERT INTO gone SELECT hex(randomblob(100)) FROM n;
               CREATE INDEX after_n ON t (x, n); DELETE FROM t WHERE n % 3 = 1; COMMIT";
    connection.execute_batch(sql).unwrap();
    assert_eq!(integrity(&connection), "ok");
    connection.execute_batch("VACUUM").unwrap();
    assert_eq!(integrity(&connection), "ok");
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn random_loads_into_random_databases_equal_inserts_by_sqlite(old in old(), new in new()) {
        check(&old, &new);
    }
}

#[test]
fn appends_to_plain_tables_equal_inserts_by_sqlite_in_all_page_sizes_and_journal_modes() {
    let mut random = Random(7);
    for (size, page_bytes) in [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536].into_iter().enumerate() {
        for (mode, journal) in ["DELETE", "TRUNCATE", "PERSIST", "WAL"].into_iter().enumerate() {
            // At quick, each size is combined with two modes.
            if (size + mode) % tries(2, 1, 1) != 0 {
                continue;
            }
            let rows = random.pick(&[0, 1, 5, 40, 300, 1500]);
            let key = random.pick(&[Key::Rowid, Key::None, Key::Autoincrement]);
            let old = Old {
                page_bytes,
                encoding: "UTF-8",
                auto_vacuum: "NONE",
                journal,
                deleted: random.below(200),
                key,
                extras: Extras { index: random.one_in(2), unique: random.one_in(3), ..Extras::default() },
                rows,
                last_rowid: 0,
            };
            for what in [What::Append, What::NewTable] {
                let rows = random.pick(&[1, 30, 2500, 5000]);
                let long = random.one_in(3);
                let new = New {
                    what,
                    rows,
                    overlaps: false,
                    shuffled: false,
                    missing: false,
                    nulls: false,
                    long,
                    seed: random.next(),
                };
                check(&old, &new);
            }
        }
    }
    let write_paths = WRITE_PATHS.lock().unwrap();
    let by_pages = write_paths.keys().any(|write_path| write_path.starts_with("pages Append"));
    assert!(
        by_pages && write_paths.keys().any(|write_path| write_path.starts_with("pages Make")),
        "{write_paths:#?}"
    );
}
