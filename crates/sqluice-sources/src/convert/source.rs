//! A source that converts some of its columns.
//!
//! ```text
//!  Part::decode ──> batch ──> each column: text ──> converted values ──> batch with these columns ──> sink
//!                               │ some texts can't be converted
//!                               └──> their rows are refused, and the part gives the other rows again
//! ```
//!
//! Invariant: the sink sees converted values only.

use std::sync::Arc;

use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, Span, Spans, Value, Values};
use sqluice_core::error::Result;
use sqluice_core::progress::Amount;
use sqluice_core::source::around::decoded_by;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};

use super::{Conversion, Converted};

/// A column of batches that is converted.
#[derive(Clone, Debug)]
pub struct ConvertedColumn {
    /// The index of the column in the batches.
    pub index: usize,
    /// The name of the column in messages.
    pub name: String,
    /// The conversion of the column's values.
    pub conversion: Arc<Conversion>,
}

/// A source that converts some columns of another source.
pub struct Converting {
    source: Box<dyn Counted>,
    columns: Arc<[ConvertedColumn]>,
}

impl Converting {
    /// Returns the source with these columns converted; without columns, the source itself.
    pub fn over(source: Box<dyn Counted>, columns: Vec<ConvertedColumn>) -> Box<dyn Counted> {
        if columns.is_empty() {
            return source;
        }
        Box::new(Converting { source, columns: columns.into() })
    }
}

impl Source for Converting {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        let columns = Arc::clone(&self.columns);
        Ok(Some(decoded_by(part, move |part, sink| {
            let scratch = columns.iter().map(|_| Scratch::default()).collect();
            part.decode(&mut ConvertingSink { sink, columns: &columns, scratch })
        })))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

impl Counted for Converting {
    fn rows_done(&self) -> u64 {
        self.source.rows_done()
    }
}

struct ConvertingSink<'s> {
    sink: &'s mut dyn Sink,
    columns: &'s [ConvertedColumn],
    /// The converted values of each column.
    scratch: Vec<Scratch>,
}

impl Sink for ConvertingSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let mut refused = Vec::new();
        for (column, scratch) in self.columns.iter().zip(&mut self.scratch) {
            scratch.fill(
                &batch.columns[column.index],
                batch.rows,
                &column.conversion,
                |row, fault, value| {
                    let error = column.conversion.error(fault, value, &column.name);
                    refused.push(RefusedRow { row, column: column.index, error });
                },
            );
        }
        if !refused.is_empty() {
            refused.sort_by_key(|refused| (refused.row, refused.column));
            refused.dedup_by_key(|refused| refused.row);
            return Err(Refused::Rows(refused));
        }
        let mut columns = batch.columns.clone();
        for (column, scratch) in self.columns.iter().zip(&self.scratch) {
            columns[column.index] = scratch.column();
        }
        self.sink.rows(&Batch { rows: batch.rows, columns })
    }

    fn wants_lines(&self) -> bool {
        self.sink.wants_lines()
    }

    fn lines(&mut self, lines: &[i64]) {
        self.sink.lines(lines);
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.sink.bad_row(bad)
    }
}

/// The values of a column after their conversion.
#[derive(Default)]
struct Scratch {
    data: Vec<u8>,
    spans: Vec<Span>,
    /// The integers, if the conversion makes integers instead of text.
    ints: Vec<i64>,
    validity: Vec<u64>,
    has_null: bool,
}

impl Scratch {
    /// Converts the first `rows` values of a column. Calls `refuse` for each value that can't be converted.
    fn fill(
        &mut self,
        column: &Column<'_>,
        rows: usize,
        conversion: &Conversion,
        mut refuse: impl FnMut(usize, super::Fault, &Value<'_>),
    ) {
        self.data.clear();
        self.spans.clear();
        self.ints.clear();
        self.validity.clear();
        self.validity.resize(rows.div_ceil(64), 0);
        self.has_null = false;
        for row in 0..rows {
            let start = self.data.len();
            let value = column.get(row);
            let converted = match value {
                Value::Null | Value::Text(b"") => None,
                Value::Text(text) => Some(conversion.text(text, &mut self.data)),
                other => Some(conversion.other(other, &mut self.data)),
            };
            let int = match converted {
                Some(Ok(Converted::Int(int))) => int,
                _ => 0,
            };
            match converted {
                None => self.has_null = true,
                Some(Ok(_)) => self.validity[row / 64] |= 1 << (row % 64),
                Some(Err(fault)) => {
                    self.data.truncate(start);
                    refuse(row, fault, &value);
                }
            }
            self.ints.push(int);
            self.spans.push(Span { start: offset(start), len: offset(self.data.len() - start) });
        }
    }

    fn column(&self) -> Column<'_> {
        let validity = self.has_null.then_some(Bitmap(&self.validity));
        let values = match self.data.is_empty() {
            true => Values::Int(&self.ints),
            false => Values::Text(Bytes { data: &self.data, spans: Spans::Anywhere(&self.spans) }),
        };
        Column { values, validity }
    }
}

/// Returns a position in the converted text, or a length, for a [`Span`]. Converted values are short: a batch of them is far below 4 GiB.
fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a batch of converted values is short")
}
