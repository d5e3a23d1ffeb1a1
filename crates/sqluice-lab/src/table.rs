//! Tables of generated rows: each value is a function of its row number, so every write path inserts the same rows, and a check can
//! compute them.
//!
//! ```text
//!  Table ── CREATE TABLE, columns, rows
//!    │ fill(range)
//!    v
//!  Block ── a vector for each column ──> bound parameters, arrays, text, batches of the page path, digest
//! ```

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use sqluice::batch::{Batch, Bytes, Column, ROWS_MAX, Spans, Values};
use sqluice::source::{Part, Sink, Source};

use crate::case::{Digest, Found, RowHash};
use crate::random::{mixed, permuted};

/// The number of rows in a part that sqluice encodes at a time.
const PART_ROWS: u64 = 256 * ROWS_MAX as u64;

/// A function that fills the text of a row.
type Letters = Arc<dyn Fn(u64, &mut [u8]) + Send + Sync>;

/// The content of a column.
#[derive(Clone)]
pub(crate) enum Fill {
    /// Integers.
    Int(Arc<dyn Fn(u64) -> i64 + Send + Sync>),
    /// ASCII texts of this number of bytes.
    Text(usize, Letters),
}

/// A table of generated rows: its CREATE TABLE statement, its columns, and its row count.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) create: String,
    /// The columns that are inserted.
    pub(crate) columns: Vec<(String, Fill)>,
    pub(crate) rows: u64,
    /// The name of a key column that is not inserted: SQLite numbers it from 1; `None` if the table has none.
    pub(crate) automatic_key: Option<&'static str>,
}

/// The values of some rows of a table, column by column.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) first: u64,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Filled>,
}

/// The values of a column in a block.
pub(crate) enum Filled {
    Ints(Vec<i64>),
    /// Texts of this number of bytes each.
    Text(usize, Vec<u8>),
}

impl Table {
    /// Returns the table `integers (value INTEGER)` of most experiments.
    pub(crate) fn integers(rows: u64, value: impl Fn(u64) -> i64 + Send + Sync + 'static) -> Table {
        Table::of_ints("value INTEGER", rows, value)
    }

    /// Returns a table `integers` with one column, `value`. `declared` is its declaration, which may go on after the closing parenthesis:
    /// `value INT PRIMARY KEY) WITHOUT ROWID`.
    pub(crate) fn of_ints(
        declared: &str,
        rows: u64,
        value: impl Fn(u64) -> i64 + Send + Sync + 'static,
    ) -> Table {
        let (columns, rest) = declared.split_once(") ").unwrap_or((declared, ""));
        Table {
            name: "integers",
            create: format!("CREATE TABLE integers ({columns}) {rest}").trim_end().to_owned(),
            columns: vec![("value".to_owned(), Fill::Int(Arc::new(value)))],
            rows,
            automatic_key: None,
        }
    }

    /// Returns a table of `columns` columns with `bytes` letters each.
    pub(crate) fn strings(rows: u64, columns: u64, bytes: usize) -> Table {
        let names: Vec<String> = (1..=columns).map(|number| format!("s{number}")).collect();
        let declared: Vec<String> = names.iter().map(|name| format!("{name} TEXT")).collect();
        let columns = names.into_iter().zip(0..).map(|(name, at): (String, u64)| {
            (name, Fill::Text(bytes, Arc::new(move |row, text| letters(mixed(row) ^ mixed(at), text))))
        });
        Table {
            name: "strings",
            create: format!("CREATE TABLE strings ({})", declared.join(", ")),
            columns: columns.collect(),
            rows,
            automatic_key: None,
        }
    }

    /// Returns the table `user` of the publication on a billion rows, with pseudo-random values or with the same values in all rows.
    pub(crate) fn user(rows: u64, constant: bool) -> Table {
        let random = move |row| mixed(if constant { 7 } else { row });
        let area = move |row, text: &mut [u8]| {
            let mut number = random(row) % 1_000_000;
            for digit in text.iter_mut().rev() {
                (*digit, number) = (b'0' + (number % 10) as u8, number / 10);
            }
        };
        let age = move |row| [5, 10, 15][((random(row) >> 32) % 3) as usize];
        let active = move |row| (random(row) >> 63) as i64;
        Table {
            name: "user",
            create: "CREATE TABLE user (id INTEGER NOT NULL PRIMARY KEY, area CHAR(6), age INTEGER NOT NULL, active INTEGER NOT NULL)".to_owned(),
            columns: vec![
                ("area".to_owned(), Fill::Text(6, Arc::new(area))),
                ("age".to_owned(), Fill::Int(Arc::new(age))),
                ("active".to_owned(), Fill::Int(Arc::new(active))),
            ],
            rows,
            automatic_key: Some("id"),
        }
    }

    /// Returns a table like this one with `values` in its only column.
    pub(crate) fn with_ints(&self, values: Vec<i64>) -> Table {
        let value = move |row| values.get(row as usize).copied().unwrap_or_default();
        let columns = self.columns.iter().take(1);
        let value: Fill = Fill::Int(Arc::new(value));
        Table { columns: columns.map(|(name, _)| (name.clone(), value.clone())).collect(), ..self.clone() }
    }

    /// Returns the names of the columns: `area, age, active`.
    pub(crate) fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns an upper estimate of the size of the table's database, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let column = |fill: &Fill| match fill {
            Fill::Int(_) => 9,
            Fill::Text(bytes, _) => *bytes as u64 + 3,
        };
        let row: u64 = self.columns.iter().map(|(_, fill)| column(fill)).sum();
        self.rows * (row + 9) * 5 / 4 + (1 << 16)
    }

    /// Computes the values of some rows.
    pub(crate) fn fill(&self, range: Range<u64>, block: &mut Block) {
        (block.first, block.rows) = (range.start, (range.end - range.start) as usize);
        if block.columns.len() != self.columns.len() {
            block.columns = self.columns.iter().map(|(_, fill)| Filled::new(fill)).collect();
        }
        for ((_, fill), column) in self.columns.iter().zip(&mut block.columns) {
            match (fill, column) {
                (Fill::Int(value), Filled::Ints(ints)) => {
                    ints.clear();
                    ints.extend(range.clone().map(|row| value(row)));
                }
                (Fill::Text(bytes, value), Filled::Text(_, text)) => {
                    text.resize(bytes * block.rows, 0);
                    range.clone().zip(text.chunks_exact_mut(*bytes)).for_each(|(row, text)| value(row, text));
                }
                // This can't happen: the columns of a block match those of its table.
                _ => {}
            }
        }
    }

    /// Computes rows and calls `each` with one block after another.
    pub(crate) fn blocks<E>(
        &self,
        range: Range<u64>,
        rows: u64,
        mut each: impl FnMut(&Block) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut block = Block::default();
        let mut first = range.start;
        while first < range.end {
            let next = (first + rows).min(range.end);
            self.fill(first..next, &mut block);
            each(&block)?;
            first = next;
        }
        Ok(())
    }

    /// Returns the expected digests: of the rows, and of the keys if SQLite assigns them.
    pub(crate) fn expected(&self) -> Found {
        let mut digest = Digest::default();
        let done: Result<(), std::convert::Infallible> =
            self.blocks(0..self.rows, ROWS_MAX as u64, |block| {
                (0..block.rows).for_each(|row| digest.add(block.hash(row)));
                Ok(())
            });
        match done {
            Ok(()) => {}
        }
        let keys = self.automatic_key.map(|_| Digest::of_ints(1..=self.rows as i64));
        std::iter::once(digest).chain(keys).collect()
    }

    /// Returns the queries whose rows must have the digests of [`Table::expected`].
    pub(crate) fn queries(&self) -> Vec<String> {
        let name = self.name;
        let keys = self.automatic_key.map(|key| format!("SELECT {key} FROM {name}"));
        std::iter::once(format!("SELECT {} FROM {name}", self.names())).chain(keys).collect()
    }

    /// Returns an INSERT with parameters: `INSERT INTO t (a, b) VALUES (?, ?), (?, ?)`.
    pub(crate) fn insert(&self, degree: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns.len()].join(", "));
        format!("INSERT INTO {} ({}) VALUES {}", self.name, self.names(), vec![row; degree].join(", "))
    }

    /// Returns an INSERT with the values of a block as text.
    pub(crate) fn insert_text(&self, block: &Block, rows: Range<usize>) -> String {
        let mut sql = format!("INSERT INTO {} ({}) VALUES ", self.name, self.names());
        for row in rows.clone() {
            sql.push_str(if row == rows.start { "(" } else { ", (" });
            for (at, column) in block.columns.iter().enumerate() {
                sql.push_str(if at == 0 { "" } else { ", " });
                // Writing to a String can't fail.
                let _ = match column {
                    Filled::Ints(ints) => write!(sql, "{}", ints[row]),
                    Filled::Text(..) => write!(sql, "'{}'", column.text(row)),
                };
            }
            sql.push(')');
        }
        sql
    }
}

/// Fills a text with pseudo-random lower-case letters.
pub(crate) fn letters(seed: u64, text: &mut [u8]) {
    for (word, at) in text.chunks_mut(8).zip(0..) {
        let random = mixed(seed ^ at).to_le_bytes();
        word.iter_mut().zip(random).for_each(|(letter, byte)| *letter = b'a' + byte % 26);
    }
}

/// Returns a pseudo-random 32-bit integer.
pub(crate) fn int32(row: u64) -> i64 {
    i64::from(mixed(row) as i32)
}

/// Returns a function from a row number to its key: the keys from 1 to `rows` in random order.
pub(crate) fn shuffled(rows: u64) -> impl Fn(u64) -> i64 + Send + Sync + Clone + 'static {
    move |row| permuted(row, rows.max(2)) as i64 + 1
}

impl Filled {
    fn new(fill: &Fill) -> Filled {
        match fill {
            Fill::Int(_) => Filled::Ints(Vec::new()),
            Fill::Text(bytes, _) => Filled::Text(*bytes, Vec::new()),
        }
    }

    /// Returns the text of a row, counted from 0 in the block.
    pub(crate) fn text(&self, row: usize) -> &str {
        match self {
            // The text is letters and digits.
            Filled::Text(bytes, text) => str::from_utf8(&text[row * bytes..][..*bytes]).unwrap_or_default(),
            Filled::Ints(_) => "",
        }
    }

    pub(crate) fn column(&self) -> Column<'_> {
        Column::new(match self {
            Filled::Ints(ints) => Values::Int(ints),
            Filled::Text(bytes, text) => Values::Text(Bytes { data: text, spans: Spans::Fixed(*bytes) }),
        })
    }
}

impl Block {
    fn hash(&self, row: usize) -> RowHash {
        let mut hash = RowHash::NEW;
        for column in &self.columns {
            match column {
                Filled::Ints(ints) => hash.int(ints[row]),
                Filled::Text(bytes, text) => hash.text(&text[row * bytes..][..*bytes]),
            }
        }
        hash
    }
}

/// A source of the table's rows for the page path.
pub(crate) struct TableSource {
    pub(crate) table: Table,
    pub(crate) next: u64,
}

struct TablePart {
    table: Table,
    range: Range<u64>,
}

impl Source for TableSource {
    fn next_part(&mut self) -> sqluice::error::Result<Option<Box<dyn Part>>> {
        if self.next == self.table.rows {
            return Ok(None);
        }
        let range = self.next..(self.next + PART_ROWS).min(self.table.rows);
        self.next = range.end;
        Ok(Some(Box::new(TablePart { table: self.table.clone(), range })))
    }
}

impl Part for TablePart {
    fn first_row(&self) -> u64 {
        self.range.start
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> sqluice::error::Result<()> {
        let mut keys: Vec<i64> = Vec::new();
        self.table.blocks(self.range.clone(), ROWS_MAX as u64, |block| {
            keys.clear();
            keys.extend((block.first..).take(block.rows).map(|row| row as i64 + 1));
            let automatic = self.table.automatic_key.map(|_| Column::new(Values::Int(&keys)));
            let columns = automatic.into_iter().chain(block.columns.iter().map(Filled::column)).collect();
            sink.rows(&Batch { rows: block.rows, columns }).map_err(|refused| refused.first().1)
        })
    }
}
