//! Random tables with keys and indexes, and rows whose keys are hard to put in order.
//!
//! ```text
//!            ┌─ sql     CREATE TABLE ...; CREATE INDEX ...
//!  KeyCase ──┼─ rows    the values of each table, in the order of the input
//!            ├─ write   ours.db: by the engine
//!            └─ fill    twin.db: by SQLite, INSERT [OR IGNORE | OR REPLACE] row by row
//! ```

use std::path::Path;

use proptest::prelude::*;
use rusqlite::{Connection, params_from_iter};
use sqluice::error::Error;
use sqluice::options::{OnConflict, WriteOptions};
use sqluice::progress::Context;
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::source::{NoRows, Source};
use sqluice::write::write_tables;
use sqluice_format::page::PageSize;

use super::Random;
use super::rows::{Owned, OwnedBatch, OwnedColumn, Takes};
use super::source::InMemory;
use super::tables::{page_bytes, quoted};

/// Declared types, and what a STRICT table's column of that type takes; the first six are those of STRICT tables.
const TYPES: [(&str, Takes); 12] = [
    ("INTEGER", Takes::Ints),
    ("INT", Takes::Ints),
    ("REAL", Takes::Numbers),
    ("TEXT", Takes::Texts),
    ("BLOB", Takes::Blobs),
    ("ANY", Takes::Anything),
    ("", Takes::Anything),
    ("NUMERIC", Takes::Anything),
    ("VARCHAR(9)", Takes::Anything),
    ("FLOAT", Takes::Anything),
    ("DATE", Takes::Anything),
    ("TEXT", Takes::Anything),
];

/// The index in [`TYPES`] of INTEGER: a PRIMARY KEY of this type is the rowid.
const INTEGER: usize = 0;
/// The index in [`TYPES`] of INT, which has the same affinity: a PRIMARY KEY of this type is not the rowid.
const INT: usize = 1;

const COLLATIONS: [Option<&str>; 6] = [None, None, None, Some("NOCASE"), Some("RTRIM"), Some("BINARY")];

const NAMES: [&str; 6] = ["a", "b", "c d", "e\"f", "SELECT", "größe"];

/// The kind of values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Domain {
    /// A few values that are equal or nearly equal.
    Few,
    /// A different value in each row, in no order.
    Distinct,
    /// Different values with the same beginning, which may need overflow pages.
    Long,
    /// 0, 1, 2, ...
    Counted,
}

#[derive(Clone, Debug)]
struct KeyColumn {
    name: &'static str,
    /// Index of `TYPES`.
    kind: usize,
    collation: Option<&'static str>,
    not_null: bool,
    unique: bool,
    domain: Domain,
}

/// A column of a key.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) column: usize,
    collation: Option<&'static str>,
    pub(crate) descending: bool,
}

/// The PRIMARY KEY of a table.
#[derive(Clone, Debug)]
enum Key {
    None,
    /// A column that is another name for the rowid.
    Alias(usize, AliasForm),
    /// `INTEGER PRIMARY KEY DESC`, which is not the rowid.
    Descending(usize),
    Column(usize),
    Columns(Vec<Part>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum AliasForm {
    OnColumn,
    Autoincrement,
    OfTable,
    OfTableDescending,
}

/// An index that CREATE INDEX makes.
#[derive(Clone, Debug)]
pub(crate) struct KeyIndex {
    pub(crate) name: String,
    pub(crate) unique: bool,
    pub(crate) parts: Vec<Part>,
}

/// A table with its indexes, and how many rows it gets.
#[derive(Clone, Debug)]
pub(crate) struct KeyTable {
    pub(crate) name: String,
    columns: Vec<KeyColumn>,
    strict: bool,
    pub(crate) without_rowid: bool,
    key: Key,
    uniques: Vec<Vec<Part>>,
    pub(crate) indexes: Vec<KeyIndex>,
    /// True if NOT NULL columns may get NULLs.
    wrong_nulls: bool,
    rows: usize,
    seed: u64,
}

/// The values of a row.
pub(crate) type Row = Vec<Owned>;

/// The description of a database and its rows.
#[derive(Clone, Debug)]
pub(crate) struct KeyCase {
    pub(crate) tables: Vec<KeyTable>,
    pub(crate) page_bytes: u32,
    pub(crate) chunk_bytes: usize,
    /// True if the run gets the least memory with which it works.
    pub(crate) little_memory: bool,
    pub(crate) threads: usize,
    pub(crate) on_conflict: OnConflict,
    pub(crate) batch_rows: usize,
}

/// The numbers of columns, table constraints, indexes and rows.
type Counts = (usize, usize, usize, usize);

fn counts(rows: usize) -> impl Strategy<Value = Counts> {
    let rows = prop_oneof![1 => 0..3usize, 4 => 0..=rows.min(60), 3 => 0..=rows];
    (1..=NAMES.len(), 0..3usize, 0..5usize, rows)
}

/// Generates a database of up to three tables, of up to `rows` rows each.
pub(crate) fn key_case(rows: usize) -> impl Strategy<Value = KeyCase> {
    let conflict = prop_oneof![
        3 => Just(OnConflict::Abort), 2 => Just(OnConflict::Ignore), 2 => Just(OnConflict::Replace)
    ];
    let tables = prop::collection::vec((counts(rows), any::<u64>()), 1..4);
    let chunk_bytes = prop_oneof![Just(20_000), Just(100_000), Just(8 << 20)];
    (tables, page_bytes(), chunk_bytes, any::<bool>(), 1..4usize, conflict, 1..200usize).prop_map(
        |(tables, page_bytes, chunk_bytes, little_memory, threads, on_conflict, batch_rows)| {
            let make = |(number, (counts, seed)): (usize, (Counts, u64))| {
                KeyTable::random(&mut Random(seed), number, counts, on_conflict)
            };
            let tables = tables.into_iter().enumerate().map(make).collect();
            KeyCase { tables, page_bytes, chunk_bytes, little_memory, threads, on_conflict, batch_rows }
        },
    )
}

impl KeyTable {
    fn random(random: &mut Random, number: usize, counts: Counts, on_conflict: OnConflict) -> KeyTable {
        let (columns, uniques, indexes, rows) = counts;
        let name = ["t", "a table", "quote\"d"][number];
        let strict = random.one_in(3);
        let without_rowid = random.one_in(3);
        let mut table = KeyTable {
            name: name.to_owned(),
            columns: (0..columns).map(|index| KeyColumn::random(random, NAMES[index], strict)).collect(),
            strict,
            without_rowid,
            key: Key::None,
            uniques: Vec::new(),
            indexes: Vec::new(),
            wrong_nulls: on_conflict == OnConflict::Abort && random.one_in(20),
            rows,
            seed: random.next(),
        };
        table.key = table.random_key(random);
        // Few tables have many keys, because fewer rows are kept with each further key.
        table.uniques = (0..uniques / (1 + random.below(2))).map(|_| table.parts(random)).collect();
        table.indexes = (0..indexes)
            .map(|index| KeyIndex {
                name: format!("{}{number} {index}", ["i", "index \"of\" "][index % 2]),
                unique: random.one_in(4),
                parts: table.parts(random),
            })
            .collect();
        table.make_keys_differ(random, on_conflict);
        table
    }

    /// Returns a random PRIMARY KEY. Sets the type of its column, which decides whether the column is the rowid.
    fn random_key(&mut self, random: &mut Random) -> Key {
        let column = random.below(self.columns.len());
        let kinds: &[u8] = if self.without_rowid { &[3, 4, 4] } else { &[0, 1, 1, 1, 2, 3, 4] };
        let key = match random.pick(kinds) {
            0 => Key::None,
            1 => {
                use AliasForm::{Autoincrement, OfTable, OfTableDescending, OnColumn};
                Key::Alias(column, random.pick(&[OnColumn, Autoincrement, OfTable, OfTableDescending]))
            }
            2 => Key::Descending(column),
            3 => Key::Column(column),
            _ => Key::Columns(self.parts(random)),
        };
        match &key {
            Key::Alias(column, _) | Key::Descending(column) => {
                let of_key = &mut self.columns[*column];
                (of_key.kind, of_key.collation, of_key.unique) = (INTEGER, None, false);
                of_key.not_null &= matches!(key, Key::Descending(_));
            }
            Key::Column(column) if self.columns[*column].kind == INTEGER => self.columns[*column].kind = INT,
            Key::Columns(parts) if parts.len() == 1 && self.columns[parts[0].column].kind == INTEGER => {
                self.columns[parts[0].column].kind = INT;
            }
            _ => {}
        }
        key
    }

    /// Returns columns of a key, some of them twice.
    fn parts(&self, random: &mut Random) -> Vec<Part> {
        let part = |random: &mut Random| Part {
            column: random.below(self.columns.len()),
            collation: random.pick(&COLLATIONS),
            descending: random.one_in(3),
        };
        (0..1 + random.below(3)).map(|_| part(random)).collect()
    }

    /// Returns the columns of each unique key.
    fn unique_keys(&self) -> Vec<Vec<usize>> {
        let columns = |parts: &Vec<Part>| parts.iter().map(|part| part.column).collect();
        let mut keys: Vec<Vec<usize>> = self.uniques.iter().map(columns).collect();
        keys.extend(self.indexes.iter().filter(|index| index.unique).map(|index| columns(&index.parts)));
        keys.extend((0..self.columns.len()).filter(|&column| self.columns[column].unique).map(|c| vec![c]));
        match &self.key {
            Key::None => {}
            Key::Alias(column, _) | Key::Descending(column) | Key::Column(column) => keys.push(vec![*column]),
            Key::Columns(parts) => keys.push(columns(parts)),
        }
        keys
    }

    /// Makes the values of one column of each key distinct: almost always if a conflict ends the run, and less often otherwise.
    fn make_keys_differ(&mut self, random: &mut Random, on_conflict: OnConflict) {
        let often = if on_conflict == OnConflict::Abort { 20 } else { 3 };
        for key in self.unique_keys() {
            let different = |column: &usize| self.columns[*column].domain != Domain::Few;
            if !key.iter().any(different) && !random.one_in(often) {
                let domain =
                    random.pick(&[Domain::Distinct, Domain::Distinct, Domain::Long, Domain::Counted]);
                self.columns[random.pick(&key)].domain = domain;
            }
        }
    }

    pub(crate) fn alias(&self) -> Option<usize> {
        match self.key {
            Key::Alias(column, _) => Some(column),
            _ => None,
        }
    }

    /// Returns true if SQLite checks no constraint when it inserts a row.
    pub(crate) fn is_plain(&self) -> bool {
        let unconstrained = matches!(self.key, Key::None | Key::Alias(..)) && !self.without_rowid;
        let unique = self.columns.iter().any(|column| column.unique)
            || self.indexes.iter().any(|index| index.unique)
            || !self.uniques.is_empty();
        unconstrained && !unique
    }

    pub(crate) fn column_name(&self, column: usize) -> &'static str {
        self.columns[column].name
    }

    /// Returns the names of all columns, quoted.
    pub(crate) fn column_list(&self) -> String {
        self.columns.iter().map(|column| quoted(column.name)).collect::<Vec<_>>().join(", ")
    }

    /// Returns a column of an index as an expression that compares as the index does.
    pub(crate) fn compared(&self, part: &Part) -> String {
        let column = &self.columns[part.column];
        let collation = part.collation.or(column.collation).unwrap_or("BINARY");
        format!("{} COLLATE {collation}", quoted(column.name))
    }

    fn part_list(&self, parts: &[Part]) -> String {
        let part = |part: &Part| {
            let collation = part.collation.map_or(String::new(), |collation| format!(" COLLATE {collation}"));
            let order = if part.descending { " DESC" } else { "" };
            format!("{}{collation}{order}", quoted(self.columns[part.column].name))
        };
        parts.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn table_sql(&self) -> String {
        let mut lines: Vec<String> = (0..self.columns.len()).map(|column| self.column_sql(column)).collect();
        match &self.key {
            Key::Columns(parts) => lines.push(format!("PRIMARY KEY ({})", self.part_list(parts))),
            Key::Alias(column, form @ (AliasForm::OfTable | AliasForm::OfTableDescending)) => {
                let order = if *form == AliasForm::OfTable { "" } else { " DESC" };
                lines.push(format!("PRIMARY KEY ({}{order})", quoted(self.columns[*column].name)));
            }
            _ => {}
        }
        lines.extend(self.uniques.iter().map(|parts| format!("UNIQUE ({})", self.part_list(parts))));
        let options = [(self.strict, "STRICT"), (self.without_rowid, "WITHOUT ROWID")];
        let options: Vec<&str> = options.iter().filter(|(is, _)| *is).map(|(_, option)| *option).collect();
        format!("CREATE TABLE {} ({}) {};\n", quoted(&self.name), lines.join(", "), options.join(", "))
    }

    fn column_sql(&self, index: usize) -> String {
        let column = &self.columns[index];
        let mut sql = format!("{} {}", quoted(column.name), TYPES[column.kind].0);
        sql += match &self.key {
            Key::Alias(key, AliasForm::OnColumn) | Key::Column(key) if *key == index => " PRIMARY KEY",
            Key::Alias(key, AliasForm::Autoincrement) if *key == index => " PRIMARY KEY AUTOINCREMENT",
            Key::Descending(key) if *key == index => " PRIMARY KEY DESC",
            _ => "",
        };
        if column.not_null {
            sql += " NOT NULL";
        }
        if column.unique {
            sql += " UNIQUE";
        }
        if let Some(collation) = column.collation {
            sql += &format!(" COLLATE {collation}");
        }
        sql
    }

    pub(crate) fn indexes_sql(&self) -> String {
        let index = |index: &KeyIndex| {
            let unique = if index.unique { "UNIQUE " } else { "" };
            let (name, parts) = (quoted(&index.name), self.part_list(&index.parts));
            format!("CREATE {unique}INDEX {name} ON {} ({parts});\n", quoted(&self.name))
        };
        self.indexes.iter().map(index).collect()
    }

    /// Returns the rows in the order of the input.
    fn rows(&self, page_bytes: usize, on_conflict: OnConflict) -> Vec<Row> {
        let random = &mut Random(self.seed);
        let mut budget = 1 << 20;
        let keyed = |column: usize| match &self.key {
            Key::Column(key) | Key::Descending(key) => *key == column,
            Key::Columns(parts) => parts.iter().any(|part| part.column == column),
            _ => false,
        };
        let columns: Vec<Vec<Owned>> = (0..self.columns.len())
            .map(|index| {
                if self.alias() == Some(index) {
                    return self.rowids(random, on_conflict);
                }
                let column = &self.columns[index];
                let no_null = column.not_null || (self.without_rowid || self.strict) && keyed(index);
                let nulls = !no_null || self.wrong_nulls;
                column.values(random, self.strict, nulls, self.rows, page_bytes, &mut budget)
            })
            .collect();
        (0..self.rows).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
    }

    /// Returns the values of the column that is the rowid.
    fn rowids(&self, random: &mut Random, on_conflict: OnConflict) -> Vec<Owned> {
        let mut next = random.pick(&[1, -20, 120, 1 << 40]);
        let mut ascending: Vec<i64> = Vec::with_capacity(self.rows);
        for _ in 0..self.rows {
            ascending.push(next);
            next += 1 + random.below(3) as i64;
        }
        // Only a load sorts rows that are out of order, since it can begin again.
        if on_conflict == OnConflict::Abort {
            return match random.below(8) {
                0 | 1 => vec![Owned::Null; self.rows],
                2 if self.rows > 1 => {
                    let twice = random.below(self.rows - 1);
                    ascending[twice + 1] = ascending[twice];
                    written(random, &ascending)
                }
                _ => written(random, &ascending),
            };
        }
        shuffle(random, &mut ascending);
        if random.one_in(2) {
            let some = 1 + self.rows / 2;
            ascending.iter_mut().for_each(|rowid| *rowid %= some as i64);
        }
        for extreme in [i64::MIN, i64::MAX] {
            if self.rows > 0 && random.one_in(4) {
                let at = random.below(self.rows);
                ascending[at] = extreme;
            }
        }
        written(random, &ascending)
    }
}

/// Returns rowids in one of the forms that SQLite takes.
fn written(random: &mut Random, rowids: &[i64]) -> Vec<Owned> {
    OwnedColumn::rowids(random, rowids).values
}

fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for end in (2..=items.len()).rev() {
        items.swap(end - 1, random.below(end));
    }
}

impl KeyColumn {
    fn random(random: &mut Random, name: &'static str, strict: bool) -> KeyColumn {
        use Domain::{Counted, Distinct, Few, Long};
        KeyColumn {
            name,
            kind: random.below(if strict { 6 } else { TYPES.len() }),
            collation: random.pick(&COLLATIONS),
            not_null: random.one_in(4),
            unique: random.one_in(10),
            domain: random.pick(&[Few, Few, Few, Distinct, Long, Counted]),
        }
    }

    fn values(
        &self,
        random: &mut Random,
        strict: bool,
        nulls: bool,
        rows: usize,
        page_bytes: usize,
        budget: &mut usize,
    ) -> Vec<Owned> {
        let takes = if strict { TYPES[self.kind].1 } else { Takes::Anything };
        let mut numbers: Vec<usize> = (0..rows).collect();
        shuffle(random, &mut numbers);
        let nulls_in_100 = if nulls { random.pick(&[0, 10, 60]) } else { 0 };
        let value = |(row, number): (usize, usize)| {
            if random.below(100) < nulls_in_100 {
                return Owned::Null;
            }
            match self.domain {
                Domain::Few => few(random, takes),
                Domain::Distinct => distinct(random, takes, number),
                Domain::Long => long(random, takes, number, page_bytes, budget),
                Domain::Counted => distinct(&mut Random(1), takes, row),
            }
        };
        numbers.into_iter().enumerate().map(value).collect()
    }
}

const INTS: [i64; 12] =
    [0, 1, 2, -1, 10, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1];

/// Floats that are equal to integers, next to them, or beyond.
const REALS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    1.5,
    2.0,
    -1.0,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    -9_007_199_254_740_992.0,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_808.0,
    1e300,
    5e-324,
    f64::NEG_INFINITY,
];

/// Texts that differ in case, in trailing spaces and after a NUL. Some are numbers.
const TEXTS: [&str; 22] = [
    "",
    " ",
    "  ",
    "a",
    "A",
    "a ",
    "A  ",
    "b",
    "ab",
    "a\0",
    "a\0b",
    "a\0B",
    "A\0bc",
    "\0",
    "é",
    "É",
    "[",
    "1",
    "1.0",
    "01",
    "9007199254740993",
    "\u{1f600}",
];

fn few(random: &mut Random, takes: Takes) -> Owned {
    match class(random, takes) {
        0 => Owned::Int(random.pick(&INTS)),
        1 => Owned::Real(random.pick(&REALS)),
        2 => Owned::Text(random.pick(&TEXTS).as_bytes().to_vec()),
        _ => Owned::Blob(random.pick(&TEXTS).as_bytes().to_vec()),
    }
}

fn distinct(random: &mut Random, takes: Takes, number: usize) -> Owned {
    match class(random, takes) {
        0 => Owned::Int(number as i64),
        1 => Owned::Real(number as f64 + 0.5),
        2 => Owned::Text(format!("k{number}").into_bytes()),
        _ => Owned::Blob(number.to_be_bytes().to_vec()),
    }
}

fn long(random: &mut Random, takes: Takes, number: usize, page_bytes: usize, budget: &mut usize) -> Owned {
    let wanted = match random.below(4) {
        0 => page_bytes / 4 - random.below(30),
        1 => page_bytes.saturating_sub(random.below(60)),
        2 => random.below(page_bytes * 3),
        _ => random.below(40),
    };
    let bytes = if wanted <= *budget { wanted } else { 16 };
    *budget -= bytes.min(*budget);
    let mut string = vec![b'x'; bytes];
    string.extend(format!("{number:05}").bytes());
    match takes {
        Takes::Anything if random.one_in(2) => Owned::Text(string),
        Takes::Texts => Owned::Text(string),
        Takes::Anything | Takes::Blobs => Owned::Blob(string),
        Takes::Ints | Takes::Numbers => Owned::Int(i64::MAX - number as i64),
    }
}

fn class(random: &mut Random, takes: Takes) -> usize {
    match takes {
        Takes::Anything => random.below(4),
        Takes::Ints => 0,
        Takes::Numbers => random.below(2),
        Takes::Texts => 2,
        Takes::Blobs => 3,
    }
}

impl KeyCase {
    /// Returns the statements of the tables and indexes: the indexes of each table follow the table, or all indexes are at the end.
    pub(crate) fn sql(&self) -> String {
        let tables = self.tables.iter().map(KeyTable::table_sql);
        let indexes = self.tables.iter().map(KeyTable::indexes_sql);
        if self.batch_rows.is_multiple_of(2) {
            tables.chain(indexes).collect()
        } else {
            tables.zip(indexes).map(|(table, indexes)| table + &indexes).collect()
        }
    }

    /// Returns the rows of each table.
    pub(crate) fn rows(&self) -> Vec<Vec<Row>> {
        let rows = |table: &KeyTable| table.rows(self.page_bytes as usize, self.on_conflict);
        self.tables.iter().map(rows).collect()
    }

    /// Returns the least memory of the run, in bytes: chunks for sorting and, if conflicts are decided, the numbers of all rows
    /// that share a key.
    pub(crate) fn least_memory(&self) -> u64 {
        let conflicts = if self.on_conflict == OnConflict::Abort { 0 } else { 4 << 20 };
        4 * self.chunk_bytes as u64 + conflicts
    }

    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions::new()
            .threads(self.threads)
            .page_size(PageSize::new(self.page_bytes).unwrap())
            .memory_bytes(if self.little_memory {
                self.least_memory()
            } else {
                self.least_memory() + (32 << 20)
            })
            .on_conflict(self.on_conflict)
            .tune(|tuning| tuning.chunk_bytes = self.chunk_bytes)
    }

    pub(crate) fn write(
        &self,
        path: &Path,
        rows: &[Vec<Row>],
        options: &WriteOptions,
    ) -> Result<Report, Error> {
        let schema = Schema::parse(self.sql(), Path::new("test.sql")).unwrap();
        let sources = rows.iter().map(|rows| source(rows, self.batch_rows)).collect();
        write_tables(Some(path), &schema, sources, options, &Context::default())
    }

    /// Fills the twin by INSERTs of SQLite.
    ///
    /// # Errors
    /// The error of the first row that SQLite refuses.
    pub(crate) fn fill(&self, twin: &mut Connection, rows: &[Vec<Row>]) -> rusqlite::Result<()> {
        twin.execute_batch(&format!("PRAGMA page_size = {};", self.page_bytes)).unwrap();
        let transaction = twin.transaction().unwrap();
        transaction.execute_batch(&self.sql()).unwrap();
        for (table, rows) in self.tables.iter().zip(rows) {
            insert(&transaction, &table.name, self.on_conflict, rows)?;
        }
        transaction.commit()
    }
}

/// Returns rows as a source with `batch_rows` rows in each batch, and one to three batches in each part.
pub(crate) fn source(rows: &[Row], batch_rows: usize) -> Box<dyn Source> {
    if rows.is_empty() {
        return Box::new(NoRows);
    }
    let column = |rows: &[Row], column: usize| {
        let values: Vec<Owned> = rows.iter().map(|row| row[column].clone()).collect();
        let int = |value: &Owned| if let Owned::Int(int) = value { Some(*int) } else { None };
        match values.iter().map(int).collect() {
            Some(ints) => OwnedColumn::ints(ints),
            None => OwnedColumn::of(values),
        }
    };
    let batch = |rows: &[Row]| OwnedBatch {
        rows: rows.len(),
        columns: (0..rows[0].len()).map(|index| column(rows, index)).collect(),
    };
    Box::new(InMemory::new(rows.chunks(batch_rows).map(batch).collect(), &[1, 3, 0, 2]))
}

/// Inserts rows one by one with bound values.
///
/// # Errors
/// The error of the first row that SQLite refuses.
pub(crate) fn insert(
    database: &Connection,
    table: &str,
    on_conflict: OnConflict,
    rows: &[Row],
) -> rusqlite::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let or = match on_conflict {
        OnConflict::Abort => "",
        OnConflict::Ignore => " OR IGNORE",
        OnConflict::Replace => " OR REPLACE",
    };
    let places = vec!["?"; first.len()].join(", ");
    let mut insert = database.prepare(&format!("INSERT{or} INTO {} VALUES ({places})", quoted(table)))?;
    for row in rows {
        insert.execute(params_from_iter(row))?;
    }
    Ok(())
}

/// Converts a value that was read from a database.
pub(crate) fn read(value: rusqlite::types::ValueRef<'_>) -> Owned {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => Owned::Null,
        ValueRef::Integer(int) => Owned::Int(int),
        ValueRef::Real(real) => Owned::Real(real),
        ValueRef::Text(text) => Owned::Text(text.to_vec()),
        ValueRef::Blob(blob) => Owned::Blob(blob.to_vec()),
    }
}

/// Returns the rows of a query.
///
/// # Errors
/// The message of SQLite.
pub(crate) fn ask(database: &Connection, sql: &str, values: &[&Owned]) -> Result<Vec<Row>, String> {
    let answers = || {
        let mut statement = database.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut answers = Vec::new();
        while let Some(row) = rows.next()? {
            answers.push((0..columns).map(|column| row.get_ref(column).map(read)).collect::<Result<_, _>>()?);
        }
        Ok(answers)
    };
    answers().map_err(|error: rusqlite::Error| error.to_string())
}
