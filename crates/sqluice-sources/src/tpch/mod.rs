//! Generates the tables of TPC-H at any scale, while they are loaded.
//!
//! ```text
//!  next_part   finds the first row of part i of n: computed from i and n; in lineitem, rows must be counted
//!  decode      moves the generator of tpchgen to that row ──> columns ──> batches
//! ```
//!
//! Invariant: the rows are those of `tpchgen`, in the same order, for any number of parts.
//!
//! All comments are parts of one text of 300 MiB. This text is generated before the first rows, and stays in memory, because batches refer
//! to it.

mod columns;
mod tables;
#[cfg(test)]
mod tests;

use std::path::Path;

use tables::Table;
use tpchgen::dates::GenerateUtils;
use tpchgen::generators::OrderGenerator;
use tpchgen::random::RandomBoundedInt;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::schema::Schema;
use sqluice_core::source::{Part, Sink, Source};

/// The size of a part's rows in the database file. It is somewhat less than the 8 MiB of a chunk, the buffer in which the engine passes
/// finished pages to its writer, so that the pages of a part fit one chunk.
const PART_BYTES: u64 = 7 << 20;

/// The maximum scale in the specification.
const SCALE_MAX: f64 = 100_000.0;

/// The size of the text that all comments are parts of.
pub const TEXT_BYTES: u64 = 300 << 20;

const SQL: &str = include_str!("tpch.sql");

/// Returns the schema of all tables. Its name in messages is `preset:tpch`.
///
/// # Errors
/// Never, as long as SQLite accepts its own syntax.
pub fn schema() -> Result<Schema> {
    Schema::parse(SQL.to_owned(), Path::new("preset:tpch"))
}

/// A table of TPC-H as a source.
#[derive(Debug)]
pub struct TpchTable {
    table: Table,
    scale: f64,
    parts: i32,
    /// The number of the next part, starting at 1.
    next: i32,
    /// The number of the next part's first row.
    first_row: u64,
    /// The generator of the number of lines in each order.
    lines: RandomBoundedInt,
}

impl TpchTable {
    /// Returns all tables, in the order of the [`schema`]. At scale 1 they have 8.7 million rows.
    ///
    /// # Errors
    /// If the scale is not above 0 and at most 100,000, or if it is so small that `partsupp` would have the same key twice.
    pub fn all(scale: f64) -> Result<Vec<TpchTable>> {
        if !(scale > 0.0 && scale <= SCALE_MAX) {
            return Err(Error::usage(format!("TPC-H has no scale {scale}"))
                .hint("a scale is above 0 and at most 100000; 1 is a database of about 1.3 GB"));
        }
        if a_key_comes_twice(units(Table::Part, scale), units(Table::Supplier, scale)) {
            return Err(Error::usage(format!("at scale {scale} TPC-H gives a part the same supplier twice"))
                .hint("0.01, 0.02 and every scale from 0.03 on are sound"));
        }
        Ok(Table::ALL.iter().map(|&table| TpchTable::new(table, scale, parts(table, scale))).collect())
    }

    fn new(table: Table, scale: f64, parts: i32) -> TpchTable {
        let lines = OrderGenerator::create_line_count_random();
        TpchTable { table, scale, parts, next: 1, first_row: 0, lines }
    }

    /// Returns the number of rows; `None` for `lineitem`, whose rows would have to be counted.
    pub fn rows(&self) -> Option<u64> {
        (self.table != Table::LineItem).then(|| self.rows_about())
    }

    /// Returns the approximate number of rows.
    pub fn rows_about(&self) -> u64 {
        match self.table {
            Table::Region => 5,
            Table::Nation => 25,
            table => units(table, self.scale) * table.rows_per_unit(),
        }
    }

    /// Returns the approximate size of the rows in the database file, including their index entries.
    pub fn bytes_about(&self) -> u64 {
        self.rows_about().saturating_mul(self.table.row_bytes())
    }

    /// Returns the number of rows of the next part.
    fn part_rows(&mut self) -> u64 {
        let Some(base) = self.table.units() else { return self.rows_about() };
        let units =
            GenerateUtils::calculate_row_count(base, self.scale, self.next, self.parts).cast_unsigned();
        match self.table {
            Table::LineItem => (0..units).map(|_| self.order_lines()).sum(),
            table => units * table.rows_per_unit(),
        }
    }

    /// Returns the number of lines of the next order.
    fn order_lines(&mut self) -> u64 {
        let lines = self.lines.next_value();
        self.lines.row_finished();
        u64::from(lines.unsigned_abs())
    }
}

fn units(table: Table, scale: f64) -> u64 {
    let units = table.units().map_or(1, |base| GenerateUtils::calculate_row_count(base, scale, 1, 1));
    units.cast_unsigned()
}

/// Returns the number of parts of a table. The last part also contains the remainder of the division.
fn parts(table: Table, scale: f64) -> i32 {
    let units_of_part = PART_BYTES / (table.row_bytes() * table.rows_per_unit());
    i32::try_from(units(table, scale) / units_of_part).unwrap_or(i32::MAX).max(1)
}

/// Returns `true` if `partsupp` has the same key twice, because two of the four suppliers of a part are the same. Supplier i of part p is
/// (p + i * (suppliers / 4 + (p - 1) / suppliers)) mod suppliers.
fn a_key_comes_twice(parts: u64, suppliers: u64) -> bool {
    if suppliers == 0 {
        return true;
    }
    let steps = (0..parts.div_ceil(suppliers)).map(|round| suppliers / 4 + round);
    steps.into_iter().any(|step| (1..4).any(|i| i * step % suppliers == 0))
}

impl Source for TpchTable {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let TpchTable { table, scale, parts, first_row, next: part, .. } = *self;
        if part > parts {
            return Ok(None);
        }
        self.first_row += self.part_rows();
        self.next += 1;
        Ok(Some(Box::new(TpchPart { table, scale, part, parts, first_row })))
    }

    fn total(&self) -> Option<Amount> {
        self.rows().map(|rows| Amount { rows, bytes: 0 })
    }
}

/// A part of a table: number `part`, counted from 1, of `parts` parts.
#[derive(Debug)]
struct TpchPart {
    table: Table,
    scale: f64,
    part: i32,
    parts: i32,
    first_row: u64,
}

impl Part for TpchPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.table.make(self.scale, self.part, self.parts, sink)
    }
}
