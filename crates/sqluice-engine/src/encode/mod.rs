//! Encodes batches into cells on pages, column by column.
//!
//! The simple way to store a row is [`sqluice_format::record::encode`], then [`Chunk::push`]. This module does the same for up to 1024 rows
//! at once. Tests check that the bytes are the same:
//!
//! 1. `stored`: apply affinity to each column, and find the serial type of every value. Often all values of a column have one type.
//! 2. Sum the bytes of every row, and reserve its cell in the chunk. If all rows have one size and consecutive rowids, one division gives
//!    the number of cells on a page.
//! 3. Write the start of every cell, and then, column by column, the serial types and values into all cells: `alike` for cells of one size,
//!    else `scatter`.
//!
//! Rows with overflow pages are rare, or so large that only the copy matters: they are stored in the simple way.

mod alike;
pub mod compared;
mod computed;
mod convert;
pub(crate) mod entries;
mod rowid;
mod scatter;
mod stored;

use std::borrow::Cow;
use std::cell::Cell;

use sqluice_format::cell;
use sqluice_format::chunk::{Chunk, Run};
use sqluice_format::limits;
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::value::SerialType;
use sqluice_format::varint;

use crate::expressions::Expressions;
use crate::sort::Buffer;
use alike::Head;
use computed::{Completed, Computed};
pub(crate) use computed::{IndexPlace, index_places};
pub(crate) use convert::Converter;
use entries::Entries;
use rowid::{Alias, Seen};
pub(crate) use rowid::{AnyOrder, no_rowids_left, not_after_last, null_among_numbers, out_of_order};
use scatter::{RowsOnPages, ShortTypes};
use sqluice_core::affinity::{self, Affinity, Loss, StrictType};
use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value, describe};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::{Generated, Table};
use sqluice_core::source::{Refused, RefusedRow};
use stored::{Scratch, Stored};

/// The largest record that SQLite takes: `SQLITE_MAX_LENGTH`.
pub const RECORD_BYTES_MAX: usize = limits::LENGTH_MAX;

/// The chunks for encoded rows, one after another.
pub trait Chunks {
    /// Returns the chunk to fill.
    fn current(&mut self) -> &mut Chunk;

    /// Passes on the full chunk, and replaces it by an empty chunk.
    ///
    /// # Errors
    /// If the run is canceled or has failed elsewhere.
    fn next(&mut self) -> Result<()>;
}

/// The conversions of text that a declared type may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coercion {
    /// All conversions that SQLite does.
    All,
    /// No conversion in which something of the text is lost: digits, magnitude, or what follows a NUL character. A row with such a text is
    /// refused.
    Lossless,
}

/// An encoder for the batches of one table.
#[derive(Debug)]
pub struct Encoder {
    geometry: Geometry,
    columns: Vec<ColumnRules>,
    coercion: Coercion,
    rowid_alias: Option<usize>,
    autoincrement: bool,
    scratch: Vec<Scratch>,
    computed: Option<Computed>,
    sizes: Sizes,
    space: Space,
}

/// The buffers for the rows of a batch, which are reused for every batch.
#[derive(Debug, Default)]
struct Space {
    runs: Vec<Run>,
    cell_bytes: Vec<u32>,
    rows: RowsOnPages,
    record: Vec<u8>,
}

#[derive(Debug)]
struct ColumnRules {
    name: String,
    affinity: Affinity,
    not_null: bool,
    /// The type of the column, if the table is STRICT.
    strict: Option<StrictType>,
    /// `STORED` or `VIRTUAL`, if the column is generated.
    generated: Option<Generated>,
}

/// The rowids of an encoded batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowidRange {
    /// The rowid of the first row.
    pub first: i64,
    /// The rowid of the last row.
    pub last: LastRowid,
    /// `true` if the first row has NULL for its rowid, and the rowid of the row before is unknown: `first` is right only if the rowid
    /// before is [`counted`](LastRowid::counted) or does not exist.
    pub first_assumed: bool,
}

/// The rowid of the row before the next row to encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRowid {
    /// The rowid of the row before.
    pub rowid: i64,
    /// `true` if the rowid is the number of the row, counted from 1 over the source. NULL in the next row then means the number of that
    /// row, too.
    pub counted: bool,
}

/// The sizes of every row's record.
#[derive(Debug, Default)]
struct Sizes {
    /// The number of bytes of the serial types of each row.
    types: Vec<u32>,
    /// The number of bytes of the whole record of each row.
    payload: Vec<u32>,
    /// For each column, the smallest number of bytes that follow the column's value in the record of any row.
    after: Vec<usize>,
    /// `true` if the records of all rows are known to have one size of at most `alike_max` bytes ([`Sizes::measure`]). Then `types` and
    /// `payload` have only the first row.
    alike: bool,
}

/// The rowids of a batch, or the numbers of its records, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rowids<'a> {
    /// Consecutive rowids from this rowid on.
    From(i64),
    /// The rowid of each row.
    Each(&'a [i64]),
}

impl Rowids<'_> {
    #[inline]
    fn get(self, row: usize) -> i64 {
        match self {
            Rowids::From(first) => first.wrapping_add(row as i64),
            Rowids::Each(rowids) => rowids[row],
        }
    }
}

impl Encoder {
    /// Creates an encoder for a table's rows, on pages of `geometry`.
    pub fn new(table: &Table, geometry: Geometry, coercion: Coercion) -> Encoder {
        Encoder {
            geometry,
            columns: ColumnRules::of(table),
            coercion,
            rowid_alias: table.rowid_alias,
            autoincrement: table.autoincrement,
            scratch: table.columns.iter().map(|_| Scratch::default()).collect(),
            computed: None,
            sizes: Sizes::default(),
            space: Space::default(),
        }
    }

    /// Prepares the expressions of the table: from now on, generated columns, CHECKs and the keys of the indexes at `indexes` of
    /// [`Table::indexes`] are evaluated for each batch.
    ///
    /// # Errors
    /// If SQLite can't prepare them.
    pub(crate) fn compute(
        &mut self,
        table: &Table,
        expressions: &Expressions,
        indexes: &[usize],
        ignores_checks: bool,
    ) -> Result<()> {
        if self.computed.is_none() {
            self.computed =
                Some(Computed::new(expressions, (table, &self.columns), indexes, (ignores_checks, false))?);
        }
        Ok(())
    }

    /// Encodes a batch. Its rows get the rowids from `next_rowid` on, unless the table has a column for rowids. `last` is the rowid of the
    /// row before the batch, if known.
    ///
    /// # Errors
    /// If rows can't be stored or their rowids do not ascend: then nothing of the batch is stored. Also the errors of `chunks`.
    pub fn encode(
        &mut self,
        batch: &Batch<'_>,
        next_rowid: i64,
        last: Option<LastRowid>,
        chunks: &mut impl Chunks,
    ) -> Result<RowidRange, Refused> {
        self.encode_in_order(batch, Rowids::From(next_rowid), last, chunks, &mut [])
    }

    /// Encodes the rows of a batch, and pushes the entries of the table's indexes to their sorters. `numbers` are the rowids of rows
    /// without rowids of their own.
    pub(crate) fn encode_in_order(
        &mut self,
        batch: &Batch<'_>,
        numbers: Rowids<'_>,
        last: Option<LastRowid>,
        chunks: &mut impl Chunks,
        entries: &mut [Entries<'_>],
    ) -> Result<RowidRange, Refused> {
        let lossless = self.coercion == Coercion::Lossless;
        debug_assert!(batch.rows > 0 && batch.rows <= ROWS_MAX && batch.columns.len() == self.columns.len());
        let (mut given, mut refused) = (Vec::new(), Vec::new());
        let rowids = match alias_of(&self.columns, self.rowid_alias, lossless, self.autoincrement) {
            None => Ok((numbers, false)),
            Some(alias) => rowid::of_alias(batch, alias, numbers, last, &mut given, &mut refused),
        };
        let stored = store(&self.columns, &mut self.scratch, self.rowid_alias, lossless, batch, &mut refused);
        let given = Given { rules: &self.columns, rowid_alias: self.rowid_alias, rows: batch.rows };
        let (rowids, first_assumed, Completed { columns: stored, kept }) =
            given.complete(self.computed.as_mut(), stored, rowids, refused)?;
        let on_page = on_page(&self.columns, &stored);
        let alike_max = match rowids {
            Rowids::From(_) => cell::table_leaf_local_max(self.geometry),
            Rowids::Each(_) => 0,
        };
        self.sizes.measure(&on_page, batch.rows, alike_max)?;
        for entries in entries {
            entries.push((&stored, kept), rowids, batch.rows, numbers)?;
        }
        let run = RunOfRows { geometry: self.geometry, rowids, stored: &on_page, sizes: &self.sizes };
        match rowids {
            Rowids::From(first) if self.sizes.alike => {
                run.write_alike(batch.rows, first, chunks, &mut self.space.runs)?;
            }
            _ => run.write(batch.rows, chunks, &mut self.space)?,
        }
        let last_row = batch.rows - 1;
        let last = rowids.get(last_row);
        let last = LastRowid { rowid: last, counted: last == numbers.get(last_row) };
        Ok(RowidRange { first: rowids.get(0), last, first_assumed })
    }

    /// Pushes the rows of a batch, in any order of their rowids, and the entries of the table's indexes to sorters. `largest` is the
    /// largest rowid so far, if all rows are encoded in sequence.
    ///
    /// # Errors
    /// If rows can't be stored: then nothing of the batch is stored. Also the errors of the sorters.
    pub(crate) fn encode_in_any_order(
        &mut self,
        batch: &Batch<'_>,
        numbers: Rowids<'_>,
        seen: &AnyOrder,
        largest: Option<&mut Option<i64>>,
        entries: &mut [Entries<'_>],
    ) -> Result<(), Refused> {
        let lossless = self.coercion == Coercion::Lossless;
        debug_assert!(batch.rows > 0 && batch.rows <= ROWS_MAX && batch.columns.len() == self.columns.len());
        let (mut given, mut refused) = (Vec::new(), Vec::new());
        let rowids = match alias_of(&self.columns, self.rowid_alias, lossless, self.autoincrement) {
            None => Ok((numbers, Seen::default())),
            Some(alias) => rowid::of_alias_in_any_order(
                batch,
                alias,
                numbers,
                largest.as_deref().copied(),
                &mut given,
                &mut refused,
            ),
        };
        let stored = store(&self.columns, &mut self.scratch, self.rowid_alias, lossless, batch, &mut refused);
        let given = Given { rules: &self.columns, rowid_alias: self.rowid_alias, rows: batch.rows };
        let (rowids, batch_seen, Completed { columns: stored, kept }) =
            given.complete(self.computed.as_mut(), stored, rowids, refused)?;
        self.sizes.measure(&on_page(&self.columns, &stored), batch.rows, RECORD_BYTES_MAX)?;
        for entries in entries {
            entries.push((&stored, kept), rowids, batch.rows, numbers)?;
        }
        seen.note(batch_seen, largest);
        Ok(())
    }
}

fn alias_of(
    columns: &[ColumnRules],
    index: Option<usize>,
    lossless: bool,
    autoincrement: bool,
) -> Option<Alias<'_>> {
    index.map(|index| Alias { index, name: &columns[index].name, lossless, autoincrement })
}

/// An encoder of the entries of one index, from rows that a table has already.
pub(crate) struct EntryEncoder<'s> {
    columns: Vec<ColumnRules>,
    rowid_alias: Option<usize>,
    scratch: Vec<Scratch>,
    computed: Computed,
    entries: Entries<'s>,
}

impl<'s> EntryEncoder<'s> {
    /// Creates an encoder for the only index of `table`.
    ///
    /// # Errors
    /// If SQLite can't prepare the expressions.
    pub(crate) fn new(
        table: &Table,
        expressions: &Expressions,
        buffer: Buffer<'s>,
    ) -> Result<EntryEncoder<'s>> {
        let columns = ColumnRules::of(table);
        let computed = Computed::new(expressions, (table, &columns), &[0], (true, true))?;
        let place = index_places(expressions, table)[0];
        let entries = Entries::of_index(&table.indexes[0], place, table, buffer);
        let scratch = table.columns.iter().map(|_| Scratch::default()).collect();
        Ok(EntryEncoder { columns, rowid_alias: table.rowid_alias, scratch, computed, entries })
    }

    /// Pushes the entries of the rows of a batch. The values of the batch must be as the table stores them.
    ///
    /// # Errors
    /// If an expression can't be evaluated for a row, or the sorter fails.
    pub(crate) fn push(&mut self, batch: &Batch<'_>, rowids: &[i64]) -> Result<(), Refused> {
        let stored = of_records(&self.columns, &mut self.scratch, self.rowid_alias, batch);
        let rowids = Rowids::Each(rowids);
        let Completed { columns, kept } =
            self.computed.complete(&self.columns, stored, rowids, batch.rows, Vec::new())?;
        self.entries.push((&columns, kept), rowids, batch.rows, Rowids::From(1))?;
        Ok(())
    }

    /// Passes the remaining entries to the sorter.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.entries.flush()
    }
}

/// Returns the columns of rows that a table has already. The rowid and VIRTUAL columns are not in their records.
fn of_records<'a>(
    columns: &[ColumnRules],
    scratch: &'a mut [Scratch],
    rowid_alias: Option<usize>,
    batch: &Batch<'a>,
) -> Vec<Stored<'a>> {
    let lost = Cell::new(false);
    let columns = columns.iter().zip(scratch).zip(&batch.columns).enumerate();
    let stored = columns.map(|(at, ((rules, scratch), column))| {
        let is_elsewhere = Some(at) == rowid_alias || rules.generated == Some(Generated::Virtual);
        match is_elsewhere {
            true => Stored::Null,
            false => Stored::new(column, batch.rows, Affinity::Blob, scratch, &lost),
        }
    });
    stored.collect()
}

/// A batch to which computed columns are added: the rules of its columns, its rowid alias and its number of rows.
struct Given<'r> {
    rules: &'r [ColumnRules],
    rowid_alias: Option<usize>,
    rows: usize,
}

impl Given<'_> {
    /// Adds the computed columns to `stored`. Returns both values of `rowids` unchanged, and all columns. Fails if rows are refused, or if
    /// `rowids` is an error.
    fn complete<'a, T>(
        &self,
        computed: Option<&'a mut Computed>,
        stored: Vec<Stored<'a>>,
        rowids: Result<(Rowids<'a>, T), (usize, Error)>,
        refused: Vec<RefusedRow>,
    ) -> Result<(Rowids<'a>, T, Completed<'a>), Refused> {
        match (computed, rowids) {
            (Some(computed), Ok((rowids, found))) => {
                let completed = computed.complete(self.rules, stored, rowids, self.rows, refused)?;
                Ok((rowids, found, completed))
            }
            (_, rowids) => {
                let (rowids, found) = in_order(rowids, self.rowid_alias, refused)?;
                Ok((rowids, found, Completed { columns: stored, kept: &[] }))
            }
        }
    }
}

/// Returns the columns that a record has: those of the table that are not computed on reading.
fn on_page<'s, 'a>(rules: &[ColumnRules], stored: &'s [Stored<'a>]) -> Cow<'s, [Stored<'a>]> {
    let is_virtual = |rules: &ColumnRules| rules.generated == Some(Generated::Virtual);
    if !rules.iter().any(is_virtual) {
        return Cow::Borrowed(&stored[..rules.len()]);
    }
    let stored = stored.iter().zip(rules).filter(|(_, rules)| !is_virtual(rules));
    stored.map(|(stored, _)| *stored).collect()
}

/// Returns the stored form of the columns of a batch. Values that can't be stored go to `refused`. The record has NULL for the column that
/// is another name for the rowid; computed columns are added later.
fn store<'a>(
    columns: &[ColumnRules],
    scratch: &'a mut [Scratch],
    rowid_alias: Option<usize>,
    lossless: bool,
    batch: &Batch<'a>,
    refused: &mut Vec<RefusedRow>,
) -> Vec<Stored<'a>> {
    let mut refused_rows = vec![0; batch.rows.div_ceil(64)];
    let columns = columns.iter().zip(scratch).enumerate().map(|(i, (rules, scratch))| {
        if Some(i) == rowid_alias || rules.generated.is_some() {
            return Stored::Null;
        }
        let lost = Cell::new(false);
        let stored = Stored::new(&batch.columns[i], batch.rows, rules.affinity, scratch, &lost);
        let mut refusals = Refusals { rows: &mut refused_rows, list: refused };
        rules.check(&stored, lossless && lost.get(), i, &batch.columns[i], batch.rows, &mut refusals);
        stored
    });
    columns.collect()
}

/// Returns the rowids, unless rows are refused. A row out of order ends the run only if no row before it is refused, as the order may be
/// right without the refused row.
fn in_order<T>(
    rowids: Result<T, (usize, Error)>,
    alias: Option<usize>,
    mut refused: Vec<RefusedRow>,
) -> Result<T, Refused> {
    refused.sort_by_key(|refused| (refused.row, refused.column));
    refused.dedup_by_key(|refused| refused.row);
    match (rowids, refused.first()) {
        (Err((row, error)), first) if first.is_none_or(|first| row < first.row) => {
            Err(Refused::Stop { at: alias.map(|alias| (row, alias)), error })
        }
        (Ok(rowids), None) => Ok(rowids),
        _ => Err(Refused::Rows(refused)),
    }
}

/// A batch to write to pages.
struct RunOfRows<'a> {
    geometry: Geometry,
    rowids: Rowids<'a>,
    stored: &'a [Stored<'a>],
    sizes: &'a Sizes,
}

impl RunOfRows<'_> {
    /// Writes rows of one size, with rowids from `first` on.
    fn write_alike(
        &self,
        rows: usize,
        first: i64,
        chunks: &mut impl Chunks,
        runs: &mut Vec<Run>,
    ) -> Result<()> {
        let payload = self.sizes.payload[0] as usize;
        let mut head = Head::new(self.stored, payload, self.sizes.types[0] as usize);
        let mut row = 0;
        while row < rows {
            let rowid = first + row as i64;
            // Cells have the same size while rowids have the same length.
            let others =
                usize::try_from(last_of_varint_len(rowid).saturating_sub(rowid)).unwrap_or(usize::MAX);
            let alike = (rows - row).min(others.saturating_add(1));
            runs.clear();
            let chunk = chunks.current();
            let placed = chunk.place_run(cell::table_leaf_bytes(payload, rowid), rowid, alike, runs);
            head.write_rows(chunk.bytes_mut(), runs, (row, rowid), self.stored);
            row += placed;
            if placed == 0 {
                chunks.next()?;
            }
        }
        Ok(())
    }

    /// Writes rows of any sizes.
    fn write(&self, rows: usize, chunks: &mut impl Chunks, space: &mut Space) -> Result<()> {
        let Sizes { payload, .. } = self.sizes;
        let local_max = cell::table_leaf_local_max(self.geometry);
        let short_types = ShortTypes::new(self.stored, self.sizes);
        space.cell_bytes.clear();
        space.cell_bytes.extend(
            payload
                .iter()
                .enumerate()
                .map(|(row, &payload)| cell::table_leaf_bytes(payload as usize, self.rowids.get(row)) as u32),
        );
        let mut row = 0;
        while row < rows {
            let overflows = |&payload: &u32| payload as usize > local_max;
            let local = payload[row..].iter().position(overflows).map_or(rows, |at| row + at);
            if local == row {
                self.push(row, chunks, &mut space.record)?;
                row += 1;
                continue;
            }
            let chunk = chunks.current();
            let places = space.rows.places(local - row);
            let placed =
                chunk.place_each(&space.cell_bytes[row..local], |at| self.rowids.get(row + at), places);
            let done = row..row + placed;
            let bytes = chunk.bytes_mut();
            scatter::write(
                bytes,
                done,
                self.rowids,
                self.stored,
                self.sizes,
                short_types.as_ref(),
                &mut space.rows,
            );
            row += placed;
            if placed == 0 {
                chunks.next()?;
            }
        }
        Ok(())
    }

    /// Stores a row with overflow pages: encodes its record as a whole, and pushes the record to the chunk.
    fn push(&self, row: usize, chunks: &mut impl Chunks, record: &mut Vec<u8>) -> Result<()> {
        record.clear();
        let types = self.sizes.types[row] as usize;
        varint::push(record, record::header_bytes(types) as u64);
        self.stored.iter().for_each(|column| varint::push(record, column.serial(row)));
        self.stored.iter().for_each(|column| record.extend_from_slice(column.content(row, &mut [0; 8])));
        let rowid = self.rowids.get(row);
        if !chunks.current().push(rowid, record) {
            chunks.next()?;
            let pushed = chunks.current().push(rowid, record);
            debug_assert!(pushed, "an empty chunk takes a row of any size");
        }
        Ok(())
    }
}

/// Returns the last rowid of the range around `rowid` in which all varints have the same length.
fn last_of_varint_len(rowid: i64) -> i64 {
    match varint::len(rowid as u64) {
        9 if rowid < 0 => -1,
        9 => i64::MAX,
        n => (1 << (7 * n)) - 1,
    }
}

impl Sizes {
    /// Measures the rows of a batch. Only one row is measured if all rows have one size of at most `alike_max` bytes.
    fn measure(&mut self, stored: &[Stored<'_>], rows: usize, alike_max: usize) -> Result<(), Refused> {
        let (mut types, mut body) = (0, 0);
        let mut vary = Vec::new();
        for column in stored {
            match column.uniform() {
                (Some(serial), Some(width)) => {
                    types += varint::len(serial);
                    body += width;
                }
                // Each serial type below 128 takes one byte.
                (None, Some(width)) => {
                    types += 1;
                    body += width;
                }
                _ => vary.push(column),
            }
        }
        self.alike = vary.is_empty() && body + record::header_bytes(types) <= alike_max;
        self.after.clear();
        self.after.resize(stored.len(), 0);
        let mut after = 0;
        for (column, to) in stored.iter().zip(&mut self.after).rev() {
            *to = after;
            after += column.uniform().1.unwrap_or(0);
        }
        let n = if self.alike { 1 } else { rows };
        self.types.clear();
        self.types.resize(n, types as u32);
        self.payload.clear();
        self.payload.resize(n, u32::try_from(body).unwrap_or(u32::MAX));
        for column in vary {
            column.add_sizes(&mut self.types, &mut self.payload);
        }
        for (payload, &types) in self.payload.iter_mut().zip(&self.types) {
            *payload = payload.saturating_add(record::header_bytes(types as usize) as u32);
        }
        if self.payload.iter().fold(0, |largest, &payload| largest.max(payload)) as usize <= RECORD_BYTES_MAX
        {
            return Ok(());
        }
        let refused =
            self.payload.iter().enumerate().filter(|(_, payload)| **payload as usize > RECORD_BYTES_MAX);
        let refused = refused.map(|(row, _)| {
            // The exact sum is needed, as the fast sum saturates.
            let bytes = |column: &Stored<'_>| SerialType(column.serial(row)).content_bytes().unwrap_or(0);
            let body: u64 = stored.iter().map(bytes).sum();
            let bytes = body + record::header_bytes(self.types[row] as usize) as u64;
            let message = format!("the row takes {bytes} bytes, and SQLite holds at most 1,000,000,000");
            RefusedRow { row, column: 0, error: Error::input(message) }
        });
        Err(Refused::Rows(refused.collect()))
    }
}

impl ColumnRules {
    /// Returns `true` if the column can hold all of the values.
    fn accepts(&self, stored: &Stored<'_>, rows: usize) -> bool {
        let fits = |strict| (0..rows).all(|row| stored.fits(row, strict));
        self.strict.is_none_or(fits) && !(self.not_null && stored.has_null())
    }

    /// Adds the rows whose value this column can't hold to `refused`. `lost` is `true` if a text lost something when it became a number,
    /// and such rows are refused.
    fn check(
        &self,
        stored: &Stored<'_>,
        lost: bool,
        index: usize,
        column: &Column<'_>,
        rows: usize,
        refusals: &mut Refusals<'_>,
    ) {
        let value = |row| column.get(row);
        let mut refuse = |row, error: &dyn Fn() -> Error| refusals.add(row, index, error);
        if let Some(strict) = self.strict {
            for row in (0..rows).filter(|&row| !stored.fits(row, strict)) {
                refuse(row, &|| {
                    let (value, declared) = (describe(&value(row)), strict.name());
                    let message =
                        format!("{value} in column {}, which is {declared} of a STRICT table", self.name);
                    Error::input(message)
                });
            }
        }
        if self.not_null && stored.has_null() {
            for row in (0..rows).filter(|&row| stored.serial(row) == 0) {
                refuse(row, &|| Error::input(format!("NULL in column {}, which is NOT NULL", self.name)));
            }
        }
        if lost {
            for row in 0..rows {
                if let Some(error) = loss_of(&value(row), self.affinity) {
                    refuse(row, &|| error(&self.name));
                }
            }
        }
    }
}

/// The refused rows of a batch, each once, as an error takes much more memory than a value.
struct Refusals<'a> {
    /// A bit for each row of the batch, which is set if a column has refused the row.
    rows: &'a mut [u64],
    list: &'a mut Vec<RefusedRow>,
}

impl Refusals<'_> {
    /// Adds a refused row. Columns are checked in order, so the first column that refuses a row is blamed.
    fn add(&mut self, row: usize, column: usize, error: &dyn Fn() -> Error) {
        let bit = 1 << (row % 64);
        if self.rows[row / 64] & bit == 0 {
            self.rows[row / 64] |= bit;
            self.list.push(RefusedRow { row, column, error: error() });
        }
    }
}

/// If the text `value` loses something when a column of `affinity` makes it a number, returns a function that makes the error from the name
/// of the column. Otherwise returns `None`.
fn loss_of<'v>(value: &Value<'v>, affinity: Affinity) -> Option<impl Fn(&str) -> Error + use<'v>> {
    let Value::Text(text) = *value else { return None };
    let (becomes, loss) = affinity::text_to_number_checked(text, affinity);
    let loss = loss?;
    Some(move |column: &str| {
        let what = match loss {
            Loss::Nul => "would lose the characters after its NUL character (byte 0)".to_owned(),
            Loss::Overflow => "is beyond the largest float, and would become infinity".to_owned(),
            Loss::Underflow => "is below the smallest float, and would become 0".to_owned(),
            Loss::BeyondInt64 => "has more than 64 bits, and would become a float".to_owned(),
            Loss::Rounded => format!("would be rounded to {}", describe(&becomes)),
        };
        let message = format!("{} in column {column} {what}", describe(&Value::Text(text)));
        Error::input(message)
            .hint(message!["declare the column TEXT, or accept SQLite's conversion: ", Setting::Lossy])
    })
}
