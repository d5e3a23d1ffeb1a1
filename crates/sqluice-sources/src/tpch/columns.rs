//! Builds rows value by value, as columns of a batch. The buffers are reused for the next rows.

use std::fmt::Display;
use std::io::Write;
use std::slice::IterMut;
use std::sync::LazyLock;

use tpchgen::dates::{MIN_GENERATE_DATE, TOTAL_DATE_RANGE, TPCHDate};
use tpchgen::decimal::TPCHDecimal;
use tpchgen::text::TextPool;

use sqluice_core::batch::{Batch, Bytes, Column, Span, Spans, Values};

const DATE_BYTES: usize = "1992-01-01".len();

/// The text of every day in the date range of TPC-H.
static DATES: LazyLock<Vec<[u8; DATE_BYTES]>> = LazyLock::new(|| {
    let mut dates = vec![[0; DATE_BYTES]; TOTAL_DATE_RANGE as usize];
    for (day, date) in (MIN_GENERATE_DATE..).zip(&mut dates) {
        // The year of every date has four digits, so the text fits.
        let _ = write!(&mut date[..], "{}", TPCHDate::new(day));
    }
    dates
});

/// The rows that are being built.
#[derive(Debug)]
pub(super) struct Columns {
    columns: Vec<Buffer>,
    rows: usize,
    /// The text that all comments are parts of.
    pool: &'static [u8],
}

/// The values of one column. Only the fields that belong to `kind` are used.
#[derive(Debug, Default)]
struct Buffer {
    kind: ColumnKind,
    ints: Vec<i64>,
    reals: Vec<f64>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    spans: Vec<Span>,
}

/// The kind of a column's values, and where they are stored.
#[derive(Clone, Copy, Debug, Default)]
enum ColumnKind {
    #[default]
    Ints,
    Reals,
    Dates,
    /// Strings in the column's own bytes.
    Strings,
    /// Strings in the pool.
    Comments,
}

/// The row that is being built: each call adds the value of the next column.
#[derive(Debug)]
pub(super) struct Row<'a> {
    columns: IterMut<'a, Buffer>,
    pool: &'static [u8],
}

impl Columns {
    pub(super) fn new(count: usize) -> Columns {
        let pool = TextPool::get_or_init_default();
        let pool = pool.text(0, pool.size()).as_bytes();
        Columns { columns: (0..count).map(|_| Buffer::default()).collect(), rows: 0, pool }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Begins a row.
    pub(super) fn row(&mut self) -> Row<'_> {
        self.rows += 1;
        Row { columns: self.columns.iter_mut(), pool: self.pool }
    }

    /// Returns the rows.
    pub(super) fn batch(&self) -> Batch<'_> {
        let columns = self.columns.iter().map(|column| Column::new(column.values(self.pool)));
        Batch { rows: self.rows, columns: columns.collect() }
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        for Buffer { ints, reals, bytes, ends, spans, .. } in &mut self.columns {
            ints.clear();
            reals.clear();
            bytes.clear();
            ends.clear();
            spans.clear();
        }
    }
}

impl Buffer {
    fn values(&self, pool: &'static [u8]) -> Values<'_> {
        let text = |data, spans| Values::Text(Bytes { data, spans });
        match self.kind {
            ColumnKind::Ints => Values::Int(&self.ints),
            ColumnKind::Reals => Values::Real(&self.reals),
            ColumnKind::Dates => text(&self.bytes, Spans::Fixed(DATE_BYTES)),
            ColumnKind::Strings => text(&self.bytes, Spans::Offsets(&self.ends)),
            ColumnKind::Comments => text(pool, Spans::Anywhere(&self.spans)),
        }
    }

    /// Completes a string.
    fn end(&mut self) {
        self.ends.push(self.bytes.len() as u32);
    }

    /// Begins a string at the end of the string before. The first string begins at 0.
    fn begin(&mut self) {
        self.kind = ColumnKind::Strings;
        if self.ends.is_empty() {
            self.ends.push(0);
        }
    }
}

impl Row<'_> {
    fn next(&mut self) -> &mut Buffer {
        self.columns.next().expect("a row has as many values as its table has columns")
    }

    pub(super) fn int(&mut self, int: impl Into<i64>) -> &mut Self {
        self.next().ints.push(int.into());
        self
    }

    /// Adds a decimal as the nearest float.
    pub(super) fn decimal(&mut self, decimal: TPCHDecimal) -> &mut Self {
        let column = self.next();
        column.kind = ColumnKind::Reals;
        column.reals.push(decimal.as_f64());
        self
    }

    pub(super) fn date(&mut self, date: TPCHDate) -> &mut Self {
        let column = self.next();
        column.kind = ColumnKind::Dates;
        column.bytes.extend_from_slice(&DATES[date.into_inner() as usize]);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let column = self.next();
        column.begin();
        column.bytes.extend_from_slice(text.as_bytes());
        column.end();
        self
    }

    /// Adds the formatted text of a value.
    pub(super) fn shown(&mut self, text: impl Display) -> &mut Self {
        let column = self.next();
        column.begin();
        // Writing to memory does not fail.
        let _ = write!(column.bytes, "{text}");
        column.end();
        self
    }

    /// Adds a comment, which is a part of the pool.
    pub(super) fn comment(&mut self, comment: &str) -> &mut Self {
        let start = comment.as_ptr().addr() - self.pool.as_ptr().addr();
        let column = self.next();
        column.kind = ColumnKind::Comments;
        column.spans.push(Span { start: start as u32, len: comment.len() as u32 });
        self
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        debug_assert_eq!(self.columns.len(), 0, "a row has as many values as its table has columns");
    }
}
