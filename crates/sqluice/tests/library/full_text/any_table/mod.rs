//! Compares random full-text tables, with all options of FTS5, with twins that SQLite fills: they have the same words and answers, also
//! after changes by SQLite and by sqluice in turn.

mod old_sqlite;
mod questions;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice::check::Check;
use sqluice::error::{Error, Result};
use sqluice::index::{FullText, Index};
use sqluice::options::{IfExists, WriteOptions};
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice::source::columns::ColumnFrom;
use sqluice::write::{NamedRows, Write};
use sqluice_testkit::effort::tries;

use self::questions::{questions, same_answers, same_words};
use self::table::{Content, REALS, Rows, Table, row};
use super::support::{ask, register_synonyms};
use super::twin::shadows;
use crate::support::Random;
use crate::support::files::Home;
use crate::support::rows::{Owned, OwnedBatch, OwnedColumn};
use crate::support::source::InMemory;

/// A full-text table and its twin.
struct Pair {
    table: Table,
    ours: PathBuf,
    twin: PathBuf,
    rows: Rows,
    in_every_row: bool,
    reals: &'static [f64],
    /// `true` if SQLite 3.40 can't be asked, too: rows were removed from pages in place (`secure-delete`), or there are options or floats
    /// that this version reads in another way.
    is_newer: bool,
    what: String,
}

/// Returns the options of a run with random numbers of threads and of bytes of memory.
fn means(random: &mut Random) -> WriteOptions {
    let (threads, memory) = (1 + random.below(3), 1_u64 << (20 + random.below(6)));
    WriteOptions::new()
        .threads(threads)
        .memory_bytes(memory)
        .tune(|tuning| tuning.chunk_bytes = (memory / 16 / threads as u64) as usize)
}

/// Rows in memory as a source, whose batches have the columns of a table.
fn source(rows: &[(Option<i64>, Vec<Value>)], columns: &[ColumnFrom], with_rowids: bool) -> Box<InMemory> {
    let owned = |value: &Value| match value.clone() {
        Value::Null => Owned::Null,
        Value::Integer(int) => Owned::Int(int),
        Value::Real(real) => Owned::Real(real),
        Value::Text(text) => Owned::Text(text.into_bytes()),
        Value::Blob(blob) => Owned::Blob(blob),
    };
    let field = |(rowid, values): &(Option<i64>, Vec<Value>), column: &ColumnFrom| match column {
        ColumnFrom::Field(0) if with_rowids => rowid.map_or(Owned::Null, Owned::Int),
        ColumnFrom::Field(field) => owned(&values[field - usize::from(with_rowids)]),
        ColumnFrom::Constant(_) => Owned::Null,
    };
    let batch = |rows: &[(Option<i64>, Vec<Value>)]| {
        let columns = columns.iter().map(|column| rows.iter().map(|row| field(row, column)).collect());
        OwnedBatch { rows: rows.len(), columns: columns.map(OwnedColumn::of).collect() }
    };
    Box::new(InMemory::new(rows.chunks(50).map(batch).collect(), &[1, 2]))
}

impl Pair {
    /// Has SQLite change both databases in the same way, each in one transaction, and asserts that the errors are the same.
    fn change(&self, what: &str, change: impl Fn(&Connection) -> rusqlite::Result<()>) {
        let results = [&self.ours, &self.twin].map(|path| {
            let connection = sqluice_testkit::sqlite::open(path);
            connection.execute_batch("BEGIN").unwrap();
            let result = change(&connection);
            connection.execute_batch("COMMIT").unwrap();
            result.map_err(|error| error.to_string())
        });
        assert_eq!(results[0], results[1], "{} {what}", self.what);
    }

    /// Runs a command of FTS5 in both databases.
    fn command(&self, command: &str) {
        self.change(command, |connection| {
            connection.execute_batch(&format!("INSERT INTO f(f, rank) VALUES {command}"))
        });
    }

    /// Returns new rows, whose rowids may be those of deleted rows. `None` stands for the next rowid.
    fn new_rows(&self, most: usize, random: &mut Random) -> Vec<(Option<i64>, Vec<Value>)> {
        let mut rowids: Vec<Option<i64>> = Vec::new();
        let last = self.rows.keys().next_back().copied();
        let is_numbered = self.table.is_external() && !self.table.has_id
            || self.table.listed().is_some() && last.unwrap_or(0) < i64::MAX - 10_000 && random.one_in(3);
        let count = 1 + random.below(most);
        if is_numbered {
            rowids = vec![None; count];
        } else {
            let mut next = match random.below(3) {
                0 => last.unwrap_or(-20).checked_add(1).unwrap_or(5),
                1 => random.below(400) as i64 - 100,
                _ => random.pick(&[i64::MIN, -3, 1 << 31, 1 << 40, i64::MAX - 40]),
            };
            for _ in 0..count {
                if !self.rows.contains_key(&next) {
                    rowids.push(Some(next));
                }
                let Some(after) = next.checked_add(1 + random.below(3) as i64) else { break };
                next = after;
            }
            if random.one_in(2) {
                (1..rowids.len()).for_each(|at| rowids.swap(at, random.below(at + 1)));
            }
        }
        let row = |random: &mut Random| row(self.table.columns.len(), self.in_every_row, self.reals, random);
        rowids.into_iter().map(|rowid| (rowid, row(random))).collect()
    }

    /// Notes rows that both databases have.
    fn note(&mut self, new: Vec<(Option<i64>, Vec<Value>)>) {
        let mut next = self.rows.keys().next_back().map_or(1, |last| last.wrapping_add(1));
        if next <= 0 && new.iter().any(|(rowid, _)| rowid.is_none()) {
            let (listed, id) = match self.table.is_external() {
                true => ("t", self.table.rowid()),
                false => (self.table.listed().unwrap(), "id"),
            };
            let twin = Connection::open(&self.twin).unwrap();
            let sql = format!("SELECT max({id}) FROM {listed}");
            let last: i64 = twin.query_row(&sql, [], |row| row.get(0)).unwrap();
            next = last - new.len() as i64 + 1;
        }
        for (rowid, values) in new {
            let rowid = rowid.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            self.rows.insert(rowid, values);
        }
    }

    /// Writes rows to our database, and has SQLite insert them into the twin.
    fn write(&mut self, most: usize, random: &mut Random) {
        let new = self.new_rows(most, random);
        if new.is_empty() {
            return;
        }
        self.write_ours(&new, Schema::parse("", "s.sql".as_ref()).unwrap(), random)
            .unwrap_or_else(|error| panic!("{}: {error}", self.what));
        let twin = sqluice_testkit::sqlite::open(&self.twin);
        twin.execute_batch("BEGIN").unwrap();
        for (rowid, values) in &new {
            self.table.insert(&twin, *rowid, values).unwrap_or_else(|error| panic!("{}: {error}", self.what));
        }
        twin.execute_batch("COMMIT").unwrap();
        self.note(new);
    }

    fn write_ours(
        &self,
        new: &[(Option<i64>, Vec<Value>)],
        schema: Schema,
        random: &mut Random,
    ) -> Result<(), Error> {
        let with_rowids = new.iter().all(|(rowid, _)| rowid.is_some());
        let (name, rowid) = if self.table.is_external() { ("t", "id") } else { ("f", "rowid") };
        let columns = with_rowids.then_some(rowid).into_iter();
        let columns = columns.chain(self.table.columns.iter().map(|column| column.name));
        let mut options = means(random).if_exists(IfExists::Append);
        if self.table.is_external() && !self.table.has_triggers && self.ours.exists() {
            options = options.full_text(["f"]);
        }
        let rows = NamedRows::new(name, columns).in_any_order(true);
        let write = Write::new(&self.ours, schema).rows([rows]).options(options);
        let prepared = write.prepare(&Context::default())?;
        let source = source(new, prepared.filled(0).1, with_rowids);
        prepared.run(vec![source], &Context::default()).map(drop)
    }

    /// Has sqluice remake the index of our table, and SQLite that of the twin.
    fn remake(&self, command: &str, random: &mut Random) {
        let full_text = match command {
            "optimize" => FullText::default().optimize(["f"]),
            _ => FullText::default().rebuild(["f"]),
        };
        let report = Index::new(&self.ours, [""; 0]).full_text(full_text).write(means(random)).run();
        let twin = Connection::open(&self.twin).unwrap();
        let by_sqlite = twin.execute_batch(&format!("INSERT INTO f(f) VALUES ('{command}')"));
        assert_eq!(report.is_ok(), by_sqlite.is_ok(), "{}: {command}: {report:?}", self.what);
    }

    /// Returns rows that exist, each with its values.
    fn some_rows(&self, random: &mut Random) -> Vec<(i64, Vec<Value>)> {
        let from = random.below(self.rows.len().max(1));
        let one_in = 1 + random.below(5);
        let rows = self.rows.iter().skip(from).filter(|_| random.one_in(one_in));
        rows.take(60).map(|(rowid, values)| (*rowid, values.clone())).collect()
    }

    /// Has SQLite or sqluice make one change.
    fn step(&mut self, random: &mut Random) -> String {
        let what = match random.below(12) {
            0..4 => {
                self.write(120, random);
                "rows written here".to_owned()
            }
            4 => {
                let new = self.new_rows(40, random);
                self.change("insert", |connection| {
                    new.iter().try_for_each(|(rowid, values)| self.table.insert(connection, *rowid, values))
                });
                self.note(new);
                "rows inserted".to_owned()
            }
            5 | 6 => {
                let some = self.some_rows(random);
                self.change("delete", |connection| {
                    some.iter().try_for_each(|(rowid, values)| self.table.delete(connection, *rowid, values))
                });
                some.iter().for_each(|(rowid, _)| drop(self.rows.remove(rowid)));
                "rows deleted".to_owned()
            }
            7 => {
                let some = self.some_rows(random);
                let new = |random: &mut Random| {
                    row(self.table.columns.len(), self.in_every_row, self.reals, random)
                };
                let some: Vec<_> = some.into_iter().map(|(rowid, old)| (rowid, old, new(random))).collect();
                self.change("update", |connection| {
                    some.iter()
                        .try_for_each(|(rowid, old, new)| self.table.update(connection, *rowid, (old, new)))
                });
                self.rows.extend(some.into_iter().map(|(rowid, _, new)| (rowid, new)));
                "rows changed".to_owned()
            }
            8 => {
                let command =
                    random.pick(&["('merge', 20)", "('merge', -20)", "('optimize', 0)", "('merge', -500)"]);
                self.command(command);
                command.to_owned()
            }
            9 => {
                let setting = random.pick(&SETTINGS);
                self.is_newer |=
                    setting.contains("secure") || setting.contains("inst") || setting.contains("deletemerge");
                self.command(setting);
                setting.to_owned()
            }
            10 => {
                self.remake("optimize", random);
                "optimized here".to_owned()
            }
            _ => {
                self.remake("rebuild", random);
                "made again here".to_owned()
            }
        };
        format!("{}: {what}", self.what)
    }

    /// Asserts that both databases give the same answers to this number of random questions.
    fn same(&self, reader: &Connection, count: usize, what: &str, random: &mut Random) {
        let [ours, twin] = [&self.ours, &self.twin].map(|path| Connection::open(path).unwrap());
        same_words(&ours, &twin, what);
        let questions = questions((&twin, &self.rows), &self.table, count, random);
        same_answers(&ours, &twin, &questions, what);
        // A connection that has read the table before sees the change.
        same_answers(reader, &twin, &questions[..questions.len().min(3)], &format!("{what}, open before"));
        for kept in [
            "SELECT * FROM f_content ORDER BY id",
            "SELECT id, sz FROM f_docsize ORDER BY id",
            "SELECT rowid, * FROM t",
        ] {
            assert_eq!(ask(&ours, kept, &[]), ask(&twin, kept, &[]), "{what}: {kept}");
        }
    }

    /// Asserts that a check of our database finds nothing.
    fn is_sound(&self) {
        let report = Check::new(&self.ours).threads(2).run().unwrap().report;
        assert!(report.problems.is_empty(), "{}: {:?}", self.what, report.problems);
    }
}

/// Options that FTS5 stores with the table.
const SETTINGS: [&str; 22] = [
    "('pgsz', 32)",
    "('pgsz', 33)",
    "('pgsz', 64)",
    "('pgsz', 100)",
    "('pgsz', 1000)",
    "('pgsz', 4050)",
    "('pgsz', 20000)",
    "('pgsz', 65535)",
    "('automerge', 0)",
    "('automerge', 1)",
    "('automerge', 2)",
    "('automerge', 16)",
    "('crisismerge', 2)",
    "('crisismerge', 1000)",
    "('usermerge', 2)",
    "('hashsize', 500)",
    "('hashsize', 1048576)",
    "('rank', 'bm25(10.0, 5.0)')",
    "('rank', 'bm25()')",
    "('secure-delete', 1)",
    "('deletemerge', 2)",
    "('insttoken', 1)",
];

/// Makes both databases, with or without rows.
fn made(home: &Home, table: Table, seed: u64, random: &mut Random) -> Pair {
    let what = format!("seed {seed}: {}{}", table.base(), table.virtual_table());
    let has_new_reals = random.one_in(3);
    let mut pair = Pair {
        table,
        ours: home.path("ours.db"),
        twin: home.path("twin.db"),
        rows: Rows::new(),
        in_every_row: random.one_in(3),
        reals: REALS[usize::from(has_new_reals)],
        is_newer: has_new_reals,
        what,
    };
    let all = [pair.table.base(), pair.table.virtual_table(), pair.table.triggers()];
    let pragmas = format!(
        "PRAGMA page_size = {}; PRAGMA journal_mode = {}; PRAGMA synchronous = off;",
        512 << random.below(6),
        random.pick(&["delete", "delete", "wal"])
    );
    let create = |path: &Path, sql: &[String]| {
        let connection = Connection::open(path).unwrap();
        connection
            .execute_batch(&format!("{pragmas} {}", sql.concat()))
            .unwrap_or_else(|error| panic!("{}: {error}", pair.what));
    };
    create(&pair.twin, &all);
    match random.below(3) {
        0 => create(&pair.ours, &all),
        // A new database with its rows in one run.
        1 => {
            let new = pair.new_rows(200, random);
            let schema = Schema::parse(all.concat(), "s.sql".as_ref()).unwrap();
            let twin = Connection::open(&pair.twin).unwrap();
            pair.write_ours(&new, schema, random).unwrap_or_else(|error| panic!("{}: {error}", pair.what));
            twin.execute_batch("BEGIN").unwrap();
            new.iter().for_each(|(rowid, values)| pair.table.insert(&twin, *rowid, values).unwrap());
            twin.execute_batch("COMMIT").unwrap();
            pair.note(new);
        }
        // An index over a table that exists.
        _ if pair.table.content == Content::Table => {
            create(&pair.ours, &all[..1]);
            let new = pair.new_rows(200, random);
            let ours = Connection::open(&pair.ours).unwrap();
            let twin = Connection::open(&pair.twin).unwrap();
            for (rowid, values) in &new {
                let no_index = Table { has_triggers: true, ..pair.table.clone() };
                no_index.insert(&ours, *rowid, values).unwrap();
                pair.table.insert(&twin, *rowid, values).unwrap();
            }
            drop(ours);
            index(&pair, random);
            Connection::open(&pair.ours).unwrap().execute_batch(&all[2]).unwrap();
            pair.note(new);
        }
        _ => create(&pair.ours, &all),
    }
    if random.one_in(2) {
        for _ in 0..random.below(4) {
            let setting = random.pick(&SETTINGS[..19]);
            pair.command(setting);
        }
    }
    pair
}

/// Has sqluice make the full-text table over `t`.
fn index(pair: &Pair, random: &mut Random) {
    let columns = pair.table.columns.iter().map(|column| {
        let unindexed = if column.is_indexed { "" } else { " UNINDEXED" };
        format!("{}{unindexed}", table::quoted(column.name))
    });
    let option = |name: &str| pair.table.option(name).map(str::to_owned);
    let others = ["detail", "columnsize", "tokendata", "locale"];
    let others = others.iter().filter_map(|name| Some(format!("{name}={}", option(name)?)));
    let full_text = FullText::new([format!("t({})", columns.collect::<Vec<_>>().join(", "))])
        .name("f".to_owned())
        .tokenize(option("tokenize"))
        .prefix(option("prefix"))
        .options(others);
    let run = Index::new(&pair.ours, [""; 0]).full_text(full_text).write(means(random)).run();
    run.unwrap_or_else(|error| panic!("{}: {error}", pair.what));
}

/// Has SQLite make the index of a copy again in several flushes, and optimize it. Compares the bytes with those of an index that sqluice
/// makes. If SQLite had fewer than two segments to merge, compares nothing and returns `false`, as SQLite lays out a single one in another
/// way.
fn same_bytes(home: &Home, pair: &Pair, random: &mut Random) -> bool {
    let (ours, twin) = (home.path("ours-again.db"), home.path("twin-again.db"));
    for path in [&ours, &twin] {
        std::fs::copy(&pair.ours, path).unwrap();
    }
    let connection = sqluice_testkit::sqlite::open(&twin);
    let settings = "INSERT INTO f(f, rank) VALUES ('automerge', 0), ('crisismerge', 1900), ('hashsize', 500)";
    connection.execute_batch(&format!("{settings}; INSERT INTO f(f) VALUES ('rebuild')")).unwrap();
    let segments = "SELECT count(DISTINCT segid) FROM f_idx";
    let segments: i64 = connection.query_row(segments, [], |row| row.get(0)).unwrap();
    connection.execute_batch("INSERT INTO f(f) VALUES ('optimize')").unwrap();
    let full_text = FullText::default().rebuild(["f"]);
    Index::new(&ours, [""; 0]).full_text(full_text).write(means(random)).run().unwrap();
    if segments < 2 {
        return false;
    }
    for (ours, twin) in shadows(&Connection::open(&ours).unwrap()).iter().zip(&shadows(&connection)) {
        assert!(ours == twin, "{}: {}", pair.what, ours.0);
    }
    true
}

/// Tries a table and a history. Returns `true` if bytes were compared.
fn try_table(seed: u64) -> bool {
    let random = &mut Random(seed);
    let home = Home::new();
    let mut pair = made(&home, Table::random(random), seed, random);
    let reader = Connection::open(&pair.ours).unwrap();
    let what = pair.what.clone();
    pair.same(&reader, 20, &what, random);
    let is_compared = !pair.rows.is_empty()
        && pair.table.content != Content::Nowhere
        && pair.table.option("locale").is_none()
        && same_bytes(&home, &pair, random);
    for _ in 0..3 + random.below(6) {
        let what = pair.step(random);
        pair.same(&reader, 10, &what, random);
    }
    pair.write(60, random);
    let what = format!("{}: at the end", pair.what);
    pair.same(&reader, 40, &what, random);
    pair.is_sound();
    if pair.table.is_old() && !pair.is_newer {
        let twin = Connection::open(&pair.twin).unwrap();
        let questions = questions((&twin, &pair.rows), &pair.table, 30, random);
        old_sqlite::same_answers((&pair.ours, &pair.twin), &questions, &what);
    }
    is_compared
}

#[test]
fn a_table_with_any_options_is_that_of_sqlite_through_all_changes() {
    register_synonyms();
    let (next, compared) = (AtomicU64::new(0), AtomicUsize::new(0));
    let seeds = tries(4, 24, 20_000);
    // A table waits for the disk most of the time, so several are tried at once.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    compared.fetch_add(usize::from(try_table(seed)), Ordering::Relaxed);
                }
            });
        }
    });
    let compared = compared.into_inner();
    assert!(seeds < 100 || compared > 10, "{compared}");
}
