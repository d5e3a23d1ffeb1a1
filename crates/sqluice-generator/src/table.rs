//! The source of a table's generated rows, which the engine reads in parts.

use std::sync::Arc;

use sqluice_core::batch::{Batch, Column, ROWS_MAX};
use sqluice_core::error::Result;
use sqluice_core::progress::Amount;
use sqluice_core::source::{Part, Sink, Source};

use super::generator::{Drawn, Generate, Scope, World};
use super::moves::{Moved, sources};
use super::random::Key;
use super::vector::{RowRange, Vector};

/// The target size of a part's encoded rows, in bytes. It is somewhat less than the 8 MiB of a chunk, the buffer in which the engine passes
/// finished pages to its writer, so that the pages of each part fit one chunk.
const PART_BYTES: u64 = 7 << 20;
/// The maximum number of rows in a part.
const PART_ROWS_MAX: u64 = 1024 * ROWS_MAX as u64;
/// The maximum size of a batch's values, in bytes, so that they stay in cache.
const BATCH_BYTES: u64 = 256 << 10;

/// A source of generated rows; see [`TableSpec::source`](crate::TableSpec::source).
///
/// The number of rows in a part depends only on the table's spec, so that a file with the same rows always has the same bytes.
#[derive(Debug)]
pub struct GeneratedTable {
    columns: Arc<[Option<Filler>]>,
    world: Arc<World>,
    /// The number of this source's first row in the table.
    first: u64,
    rows: u64,
    next_row: u64,
    part_rows: u64,
    batch_rows: usize,
}

/// The generator of a column that SQLite does not compute.
#[derive(Clone, Debug)]
pub(super) struct Filler {
    pub(super) key: Key,
    pub(super) generator: Arc<dyn Generate>,
    /// The rows that take the value of another row so that all rows satisfy the constraints; `None` if no row does.
    pub(super) moved: Option<Arc<Moved>>,
}

impl Filler {
    /// Generates the values of consecutive rows.
    fn fill(&self, world: &World, drawn: &Drawn, rows: RowRange, out: &mut Vector) -> Result<()> {
        let at = Scope::new(self.key, world);
        let numbers = || (rows.first..).take(rows.count);
        match &self.moved {
            Some(moved) if numbers().any(|row| moved.contains_key(&row)) => {
                self.generator.fill_at(at, &sources(moved, numbers()), out)
            }
            _ => self.generator.fill(at.sharing(drawn), rows, out),
        }
    }
}

impl GeneratedTable {
    /// Creates a source of `rows` rows from row `first` on. A row takes `row_bytes` on average when stored, and at most `row_bytes_max` in
    /// memory.
    pub(super) fn new(
        columns: Arc<[Option<Filler>]>,
        (row_bytes, row_bytes_max): (u64, u64),
        world: World,
        (first, rows): (u64, u64),
    ) -> GeneratedTable {
        GeneratedTable {
            columns,
            world: Arc::new(world),
            first,
            rows,
            next_row: 0,
            part_rows: part_rows(row_bytes),
            batch_rows: batch_rows(row_bytes_max),
        }
    }

    /// Returns the number of rows in each part but the last.
    pub fn part_rows(&self) -> u64 {
        self.part_rows
    }
}

/// Returns the number of rows whose size is [`PART_BYTES`]. A number that exceeds a batch is rounded down to whole batches.
fn part_rows(row_bytes: u64) -> u64 {
    let rows = (PART_BYTES / row_bytes.max(1)).clamp(1, PART_ROWS_MAX);
    let batch = ROWS_MAX as u64;
    if rows > batch { rows / batch * batch } else { rows }
}

/// Returns the number of rows whose size is [`BATCH_BYTES`], rounded down to a multiple of 64 (a word of a bitmap) if it exceeds 64.
fn batch_rows(row_bytes_max: u64) -> usize {
    let rows = (BATCH_BYTES / row_bytes_max.max(1)).clamp(1, ROWS_MAX as u64) as usize;
    if rows > 64 { rows / 64 * 64 } else { rows }
}

impl Source for GeneratedTable {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let rows = self.part_rows.min(self.rows - self.next_row);
        if rows == 0 {
            return Ok(None);
        }
        let first_row = self.next_row;
        self.next_row += rows;
        let (columns, world) = (Arc::clone(&self.columns), Arc::clone(&self.world));
        let GeneratedTable { first, batch_rows, .. } = *self;
        Ok(Some(Box::new(GeneratedPart { columns, world, first, first_row, rows, batch_rows })))
    }

    fn total(&self) -> Option<Amount> {
        Some(Amount { rows: self.rows, bytes: 0 })
    }
}

/// A part of the source: consecutive rows, which are generated when the part is read.
struct GeneratedPart {
    columns: Arc<[Option<Filler>]>,
    world: Arc<World>,
    /// The number of the source's first row in the table.
    first: u64,
    /// The number of the part's first row in the source.
    first_row: u64,
    rows: u64,
    batch_rows: usize,
}

impl Part for GeneratedPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut vectors: Vec<Vector> = self.columns.iter().map(|_| Vector::default()).collect();
        let mut drawn = Drawn::default();
        let start = self.first + self.first_row;
        let end = start + self.rows;
        for first in (start..end).step_by(self.batch_rows) {
            let rows = RowRange { first, count: (end - first).min(self.batch_rows as u64) as usize };
            drawn.clear();
            for (filler, vector) in self.columns.iter().zip(&mut vectors) {
                match filler {
                    Some(filler) => filler.fill(&self.world, &drawn, rows, vector)?,
                    None => vector.null(rows.count),
                }
            }
            let mixed: Vec<_> = vectors.iter().map(Vector::mixed_values).collect();
            let columns: Vec<Column<'_>> =
                vectors.iter().zip(&mixed).map(|(vector, mixed)| vector.column(mixed)).collect();
            sink.rows(&Batch { rows: rows.count, columns }).map_err(|refused| match refused.first() {
                (Some((row, _)), error) => error.with_words(format!(", in row {}", first + row as u64 + 1)),
                (None, error) => error,
            })?;
        }
        Ok(())
    }
}
