//! A source of the rows of a sheet's table.
//!
//! ```text
//!  Rows ──> rows with cells in the columns of the table ──> chunks of up to 1,024 rows, column by column ──> batches
//!                                                      └──> bad rows: a cell beside the table, a formula without a value
//! ```
//!
//! Rows are read one after another under the lock of the source, because XML can't be split. Meanwhile other threads encode earlier rows.
//!
//! Invariant: a part takes at most the memory of the configured part size and one more row.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value as StoredValue, Values};
use sqluice_core::error::{Error, Message, Place, Result, Setting, column_letters, message};
use sqluice_core::progress::Amount;
use sqluice_core::source::cells::Cells;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Filled};
use sqluice_core::source::{BadRow, Part, Refused, Sink, Source};

use super::row::{Cell, Row, Rows, Value, place, write_plain};
use super::table::Table;
use crate::give::{GivenRows, give};

/// The maximum memory of a value, without its text.
const VALUE_BYTES: usize = 16;

/// Findings in the rows of a source, for notes and warnings.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// The number of cells with an error.
    errors: u64,
    /// The place and the text of the first error in a cell.
    first_error: Option<(Place, String)>,
    /// The number of formulas without a stored value, which became NULL.
    no_values: u64,
    /// The place of the first row that follows an empty row and looks like the header of another table.
    other_header: Option<Place>,
}

/// The findings of a source. The sheet's [`Content`](super::super::Content) makes notes of them after the load.
#[derive(Clone, Debug, Default)]
pub(super) struct AllMet(Arc<Mutex<Met>>);

impl AllMet {
    fn lock(&self) -> MutexGuard<'_, Met> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns notes about cells that are not empty, but became NULL.
    pub(super) fn notes(&self) -> Vec<Message> {
        let met = self.lock();
        let mut notes = Vec::new();
        if let Some((place, error)) = &met.first_error {
            let cells = match met.errors {
                1 => format!("1 cell has an error, {error}, and is NULL"),
                cells => format!("{cells} cells have errors such as {error}, and are NULL; the first"),
            };
            let sheet = place.sheet.as_deref().unwrap_or_default();
            notes.push(format!("{cells}: sheet {sheet}, {}", cell_of(place)).into());
        }
        match met.no_values {
            0 => {}
            1 => notes.push("1 formula has no stored value, and is NULL".into()),
            formulas => notes.push(format!("{formulas} formulas have no stored values, and are NULL").into()),
        }
        notes
    }

    /// Returns a warning if a row looks like the header of another table.
    pub(super) fn warning(&self) -> Option<Message> {
        let met = self.lock();
        let place = met.other_header.as_ref()?;
        let row = place.line.unwrap_or_default();
        Some(message![
            format!(
                "{place}: after an empty row, this row looks like the header of another table. It is loaded as a row; the table below it \
                 alone: "
            ),
            Setting::Range.to(format!("{row}:{}", crate::formats::address::ROWS_MAX)),
        ])
    }
}

/// Returns the address of the cell at a place, such as C17.
fn cell_of(place: &Place) -> String {
    let letters = place.column.map(column_letters).unwrap_or_default();
    format!("{letters}{}", place.line.unwrap_or_default())
}

/// Settings that all parts of a source share.
struct Shared {
    /// The place of the sheet.
    sheet: Place,
    /// The field or the constant for each column of the table.
    filled: Vec<Filled>,
    first_column: u32,
    last_column: u32,
}

/// A source of the rows of a sheet's table.
pub(super) struct SheetSource {
    shared: Arc<Shared>,
    rows: Box<dyn Rows>,
    table: Table,
    /// `true` for each column of the sheet that is loaded.
    used: Vec<bool>,
    /// `true` for each column of the sheet that is loaded into a column with TEXT affinity.
    as_text: Vec<bool>,
    /// `true` if a formula without a stored value is NULL instead of an error.
    formulas_are_null: bool,
    met: AllMet,
    row: Row,
    /// The number of times that `row` is still to be returned, because it is repeated in the sheet.
    repeats: u32,
    /// The number of the last row that has cells.
    last_number: u32,
    numbers: Range<u64>,
    first: u64,
    part_bytes: usize,
    /// For a sample: the number of inflated bytes after which the source ends.
    stop_after: Option<u64>,
    /// The number of bytes of the file that were read for all parts so far.
    handed_out: u64,
    total: Option<u64>,
    ended: bool,
}

/// The settings of a source.
pub(super) struct ReadAs {
    pub(super) map: Vec<ColumnFrom>,
    /// `true` for each column of the table that has TEXT affinity.
    pub(super) as_text: Vec<bool>,
    pub(super) formulas_are_null: bool,
    pub(super) part_bytes: usize,
    pub(super) rows: Range<u64>,
}

impl SheetSource {
    pub(super) fn new(
        rows: Box<dyn Rows>,
        sheet: Place,
        table: Table,
        read: ReadAs,
        met: AllMet,
    ) -> SheetSource {
        let width = table.columns.clone().count();
        let (mut used, mut as_text) = (vec![false; width], vec![false; width]);
        for (column, from) in read.map.iter().enumerate() {
            if let ColumnFrom::Field(field) = *from {
                used[field] = true;
                as_text[field] |= read.as_text.get(column) == Some(&true);
            }
        }
        let (first_column, last_column) = (*table.columns.start(), *table.columns.end());
        let filled = Filled::all(read.map, width);
        SheetSource {
            shared: Arc::new(Shared { sheet, filled, first_column, last_column }),
            rows,
            table,
            used,
            as_text,
            formulas_are_null: read.formulas_are_null,
            met,
            row: Row::default(),
            repeats: 0,
            last_number: 0,
            first: read.rows.start,
            numbers: read.rows,
            part_bytes: read.part_bytes,
            stop_after: None,
            handed_out: 0,
            total: None,
            ended: false,
        }
    }

    /// Makes the source end after the row that reaches this number of inflated bytes.
    pub(super) fn stop_after(mut self, bytes: u64) -> SheetSource {
        self.stop_after = Some(bytes);
        self
    }

    /// Sets the size of the sheet in the file, for progress.
    pub(super) fn with_total(mut self, bytes: Option<u64>) -> SheetSource {
        self.total = bytes;
        self
    }

    /// Returns `true` if all rows have been read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn inflated_bytes(&self) -> u64 {
        self.rows.inflated_bytes()
    }

    /// Reads the next row of the table into `self.row`. Returns `false` after the last row, and at the end of a sample.
    fn next_row(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.repeats > 1 {
            self.repeats -= 1;
            self.row.number += 1;
            return Ok(self.row.number <= self.table.last_row);
        }
        loop {
            if self.stop_after.is_some_and(|bytes| self.rows.inflated_bytes() >= bytes) {
                return Ok(false);
            }
            let read = self.rows.next(&mut self.row).map_err(|fault| fault.placed(&self.shared.sheet))?;
            if !read || self.row.number > self.table.last_row {
                self.ended = true;
                return Ok(false);
            }
            self.repeats = self.row.repeat.max(1);
            let skipped = self.table.first_row.saturating_sub(self.row.number).min(self.repeats);
            if skipped == self.repeats {
                continue;
            }
            self.repeats -= skipped;
            self.row.number += skipped;
            let area = &self.table.area;
            self.row.cells.retain(|cell| area.columns.contains(&cell.column));
            if !self.row.cells.is_empty() {
                self.look();
                return Ok(true);
            }
        }
    }

    /// Records the row in `met` if it looks like the header of another table. Such a row follows an empty row and has at least two cells,
    /// all of them texts. At least one of these is in a column whose first cells are mostly numbers, booleans or dates.
    fn look(&mut self) {
        let is_first = self.last_number == 0;
        let is_spaced = self.row.number > self.last_number + 1;
        self.last_number = self.row.number + self.repeats - 1;
        let is_text = |cell: &Cell| matches!(cell.value, Value::Text(_));
        if is_first || !is_spaced || self.row.cells.len() < 2 || !self.row.cells.iter().all(is_text) {
            return;
        }
        let start = self.shared.first_column;
        let is_typed = |cell: &Cell| {
            let index = cell.column.checked_sub(start).map(|index| index as usize);
            index.and_then(|index| self.table.typed.get(index)).copied().unwrap_or(false)
        };
        if self.row.cells.iter().any(is_typed) {
            let mut met = self.met.lock();
            met.other_header.get_or_insert_with(|| place(&self.shared.sheet, Some(self.row.number), None));
        }
    }

    /// Returns the cell that makes the row a bad row, if any.
    fn fault_of_row(&self) -> Option<BadCell> {
        let outside = |cell: &&Cell| !self.table.columns.contains(&cell.column);
        if let Some(cell) = self.row.cells.iter().find(outside) {
            return Some(BadCell { column: cell.column, what: What::BesideTable });
        }
        if self.formulas_are_null {
            return None;
        }
        let without = self.row.cells.iter().find(|cell| {
            cell.value == Value::Uncomputed && self.used[(cell.column - self.shared.first_column) as usize]
        });
        without.map(|cell| BadCell { column: cell.column, what: What::Uncomputed })
    }

    /// Appends the values of the row to the columns of a chunk. Returns the memory that they take, in bytes.
    fn add(&self, chunk: &mut Chunk) -> usize {
        let mut bytes = 0;
        let mut cells = self.row.cells.iter().peekable();
        let first = self.shared.first_column;
        for (index, column) in chunk.columns.iter_mut().enumerate() {
            let number = first + index as u32;
            let cell = cells.next_if(|cell| cell.column == number);
            if !self.used[index] {
                continue;
            }
            bytes += VALUE_BYTES;
            match cell.map(|cell| cell.value) {
                None => column.push_null(),
                Some(Value::Int(int)) => column.push_int(int),
                Some(Value::Real(real)) => column.push_real(real),
                Some(Value::Bool(bool)) if self.as_text[index] => {
                    column.push_text(if bool { "true" } else { "false" });
                }
                Some(Value::Bool(bool)) => column.push_int(i64::from(bool)),
                Some(Value::Text(span) | Value::Moment(span)) => {
                    bytes += span.len as usize;
                    column.push_text(self.row.str(span));
                }
                Some(Value::Error(span)) => {
                    let mut met = self.met.lock();
                    met.errors += 1;
                    met.first_error.get_or_insert_with(|| {
                        let error: String = self.row.str(span).chars().take(20).collect();
                        (place(&self.shared.sheet, Some(self.row.number), Some(number)), error)
                    });
                    column.push_null();
                }
                Some(Value::Uncomputed) => {
                    self.met.lock().no_values += 1;
                    column.push_null();
                }
            }
        }
        chunk.numbers.push(self.row.number);
        bytes
    }

    /// Returns the row as a CSV record for the file of rejected rows.
    fn raw(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        let mut cells = self.row.cells.iter().peekable();
        for column in self.table.columns.clone() {
            while cells.next_if(|cell| cell.column < column).is_some() {}
            let mut field = String::new();
            if let Some(cell) = cells.next_if(|cell| cell.column == column) {
                write_plain(&self.row, cell.value, &mut field);
            }
            fields.push(field);
        }
        for cell in cells {
            let mut field = String::new();
            write_plain(&self.row, cell.value, &mut field);
            fields.push(field);
        }
        as_csv(fields.into_iter())
    }
}

/// Returns the fields as a CSV record.
fn as_csv(fields: impl Iterator<Item = String>) -> Vec<u8> {
    let quoted = |field: String| match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    fields.map(quoted).collect::<Vec<_>>().join(",").into_bytes()
}

impl Source for SheetSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let first_row = self.numbers.start;
        let mut items = Vec::new();
        let mut chunk = Chunk::new(self.used.len());
        let mut bytes = 0;
        while bytes < self.part_bytes && self.numbers.start < self.numbers.end && self.next_row()? {
            self.numbers.start += 1;
            if let Some(fault) = self.fault_of_row() {
                let raw = self.raw();
                bytes += raw.len();
                chunk.end(&mut items);
                items.push(Item::Bad(BadItem { number: self.row.number, fault, raw }));
                continue;
            }
            bytes += self.add(&mut chunk);
            if chunk.numbers.len() == ROWS_MAX {
                chunk.end(&mut items);
            }
        }
        chunk.end(&mut items);
        if items.is_empty() {
            return Ok(None);
        }
        let done = self.rows.file_bytes();
        let input_bytes = done.saturating_sub(self.handed_out);
        self.handed_out = done;
        Ok(Some(Box::new(SheetPart { shared: Arc::clone(&self.shared), first_row, items, input_bytes })))
    }

    fn total(&self) -> Option<Amount> {
        self.total.map(|bytes| Amount { rows: 0, bytes })
    }
}

impl Counted for SheetSource {
    fn rows_done(&self) -> u64 {
        self.numbers.start - self.first
    }
}

/// A cell that makes its row a bad row, and the reason.
struct BadCell {
    column: u32,
    what: What,
}

enum What {
    BesideTable,
    Uncomputed,
}

/// Up to 1,024 rows, stored by column.
struct Chunk {
    columns: Vec<Cells>,
    /// The number of each row in the sheet.
    numbers: Vec<u32>,
}

impl Chunk {
    fn new(columns: usize) -> Chunk {
        Chunk { columns: (0..columns).map(|_| Cells::default()).collect(), numbers: Vec::new() }
    }

    /// Moves the rows to `items`, and begins a new chunk.
    fn end(&mut self, items: &mut Vec<Item>) {
        if !self.numbers.is_empty() {
            let columns = self.columns.len();
            items.push(Item::Rows(std::mem::replace(self, Chunk::new(columns))));
        }
    }
}

struct BadItem {
    number: u32,
    fault: BadCell,
    raw: Vec<u8>,
}

enum Item {
    Rows(Chunk),
    Bad(BadItem),
}

/// A part of the rows of a sheet.
struct SheetPart {
    shared: Arc<Shared>,
    first_row: u64,
    items: Vec<Item>,
    input_bytes: u64,
}

impl Part for SheetPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.input_bytes
    }

    fn place(&self) -> Option<Place> {
        let number = match self.items.first()? {
            Item::Rows(chunk) => chunk.numbers[0],
            Item::Bad(bad) => bad.number,
        };
        Some(place(&self.shared.sheet, Some(number), None))
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        for item in &self.items {
            match item {
                Item::Rows(chunk) => {
                    let mut rows = ChunkRows { shared: &self.shared, chunk };
                    give(chunk.numbers.len(), Vec::new(), &mut rows, sink)?;
                }
                Item::Bad(bad) => sink.bad_row(self.shared.bad_row(bad))?,
            }
        }
        Ok(())
    }
}

impl Shared {
    #[cold]
    fn bad_row(&self, bad: &BadItem) -> BadRow {
        let BadCell { column, what } = &bad.fault;
        let letters = column_letters(u64::from(*column));
        let error = match what {
            What::BesideTable => {
                let error = Error::input(format!(
                    "column {letters} has a value here, but is outside the columns of the table"
                ));
                // The column may be on either side of the table.
                let [first, last] = [self.first_column.min(*column), self.last_column.max(*column)]
                    .map(|column| column_letters(u64::from(column)));
                error.hint(message![
                    Setting::Range.to(format!("{first}:{last}")),
                    " loads this column, too; a smaller range leaves the cell out",
                ])
            }
            What::Uncomputed => {
                let error = Error::input("the formula has no stored value");
                error.hint(message![
                    "open and save the workbook in a spreadsheet program, which computes the value; or ",
                    Setting::Formulas.to("null"),
                    " loads NULL",
                ])
            }
        };
        BadRow { error: error.at(place(&self.sheet, Some(bad.number), Some(*column))), raw: bad.raw.clone() }
    }
}

/// The rows of a chunk while they are passed to the sink.
struct ChunkRows<'p> {
    shared: &'p Shared,
    chunk: &'p Chunk,
}

impl GivenRows for ChunkRows<'_> {
    fn batch(&mut self, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), Refused> {
        let Range { start, end } = rows;
        let mixed: Vec<Vec<StoredValue<'_>>> = self
            .chunk
            .columns
            .iter()
            .map(|cells| match cells.rows() {
                0 => Vec::new(),
                // Null bits are stored in words, so a borrowed column can only start at row 0. Otherwise, single values are given.
                _ if start > 0 => {
                    let mut all = cells.mixed(0, end);
                    if all.is_empty() {
                        let column = cells.column(0, end, &[]);
                        return (start..end).map(|row| column.get(row)).collect();
                    }
                    all.split_off(start)
                }
                _ => cells.mixed(0, end),
            })
            .collect();
        let columns = self.shared.filled.iter().map(|filled| match filled {
            Filled::Constant(repeated) => repeated.column(end - start),
            Filled::Field(field) if start > 0 => Column::new(Values::Any(&mixed[*field])),
            Filled::Field(field) => self.chunk.columns[*field].column(0, end, &mixed[*field]),
        });
        sink.rows(&Batch { rows: end - start, columns: columns.collect() })
    }

    #[cold]
    fn refused(&mut self, row: usize, column: usize, error: Error) -> BadRow {
        let at = match self.shared.filled.get(column) {
            Some(Filled::Field(field)) => Some(self.shared.first_column + *field as u32),
            _ => None,
        };
        let number = self.chunk.numbers[row];
        let used = self.chunk.columns.iter().filter(|cells| cells.rows() > 0);
        let field = |cells: &Cells| {
            let all = cells.mixed(0, row + 1);
            match cells.column(0, row + 1, &all).get(row) {
                StoredValue::Null => String::new(),
                StoredValue::Int(int) => int.to_string(),
                StoredValue::Real(real) => real.to_string(),
                StoredValue::Text(text) | StoredValue::Blob(text) => {
                    String::from_utf8_lossy(text).into_owned()
                }
            }
        };
        let raw = as_csv(used.map(field));
        BadRow { error: error.at(place(&self.shared.sheet, Some(number), at)), raw }
    }
}
