//! Reads XLS, the format of Excel 97 to 2003: records of BIFF8 in a stream of a compound file.
//!
//! ```text
//!  record: id, size (2 bytes each), fields; a longer record continues in CONTINUE records
//!  stream: BOF, styles, names and offsets of sheets, shared texts, EOF | BOF, cells of a sheet, EOF | ...
//! ```
//!
//! Workbooks of older versions of Excel (BIFF2 to BIFF5) are refused with an error that says so.

use std::io::{BufReader, Read};
use std::sync::Arc;

use sqluice_core::error::{Error, Place, Result};

use super::book::{Book, Sheet, SheetKind};
use super::compound::{Compound, Stream, no_workbook};
use super::limits::Limits;
use super::moment::Epoch;
use super::package::{damaged, encrypted};
use super::records::{Fields, error_name, push_utf16, rk, utf16};
use super::row::{Cell, Fault, Row, Rows, Value};
use super::strings::Strings;
use super::styles::Styles;
use super::xlsx::Number;
use crate::formats::address::{Area, COLUMNS_MAX};

/// The name of the stream that contains the workbook, in BIFF8.
const WORKBOOK: &str = "Workbook";
/// The name of the stream that contains the workbook, in versions before BIFF8.
const OLD_WORKBOOK: &str = "Book";

/// The number of records between two checks for cancellation.
const RECORDS_BETWEEN_CHECKS: u32 = 1 << 14;

/// The approximate memory that a sheet's entry takes, without its name.
const SHEET_BYTES: u64 = 256;

/// The ids of records.
mod id {
    pub(super) const FORMULA: u16 = 0x06;
    pub(super) const EOF: u16 = 0x0a;
    pub(super) const DATE_MODE: u16 = 0x22;
    pub(super) const PASSWORD: u16 = 0x2f;
    pub(super) const CONTINUE: u16 = 0x3c;
    pub(super) const SHEET: u16 = 0x85;
    pub(super) const MANY_RK: u16 = 0xbd;
    pub(super) const STYLE: u16 = 0xe0;
    pub(super) const MERGED: u16 = 0xe5;
    pub(super) const STRINGS: u16 = 0xfc;
    pub(super) const SHARED: u16 = 0xfd;
    pub(super) const NUMBER: u16 = 0x203;
    pub(super) const TEXT: u16 = 0x204;
    pub(super) const BOOL_OR_ERROR: u16 = 0x205;
    pub(super) const FORMULA_TEXT: u16 = 0x207;
    pub(super) const RK: u16 = 0x27e;
    pub(super) const FORMAT: u16 = 0x41e;
    pub(super) const BOF: u16 = 0x809;
}

/// An open XLS workbook.
pub(super) struct Xls {
    file: Compound,
    sheets: Vec<Sheet>,
    /// The offset of each sheet in the stream.
    places: Vec<u64>,
    shared: Arc<Shared>,
}

/// Properties of a workbook that the cells of all sheets need.
struct Shared {
    strings: Strings,
    styles: Styles,
    epoch: Epoch,
    limits: Limits,
}

impl Xls {
    pub(super) fn open(file: Compound, limits: &Limits) -> Result<Xls> {
        if file.has("EncryptedPackage") {
            return Err(encrypted());
        }
        if !file.has(WORKBOOK) {
            return Err(if file.has(OLD_WORKBOOK) { too_old() } else { no_workbook() });
        }
        let mut records = Records::new(&file, 0, limits)?;
        let (mut sheets, mut places, mut held) = (Vec::new(), Vec::new(), 0);
        let (mut strings, mut styles, mut epoch) = (Strings::default(), Styles::default(), Epoch::Of1900);
        let mut is_begun = false;
        while let Some(id) = records.next()? {
            let mut fields = Fields::new(&records.record);
            match id {
                id::BOF if !is_begun => {
                    is_begun = true;
                    if fields.u16()? != 0x0600 {
                        return Err(too_old());
                    }
                }
                id::PASSWORD => return Err(encrypted()),
                id::DATE_MODE if fields.u16()? == 1 => epoch = Epoch::Of1904,
                id::SHEET => {
                    places.push(u64::from(fields.u32()?));
                    let is_hidden = fields.u8()? & 3 != 0;
                    let kind = match fields.u8()? {
                        0 => SheetKind::Cells,
                        2 => SheetKind::Other("a chart"),
                        _ => SheetKind::Other("macros"),
                    };
                    let units = usize::from(fields.u8()?);
                    let mut name = String::new();
                    push_text(&mut fields, units, &mut name)?;
                    held += SHEET_BYTES + name.len() as u64;
                    limits.check_held("the list of sheets", held)?;
                    sheets.push(Sheet { name, kind, is_hidden });
                }
                id::FORMAT => {
                    let id = u32::from(fields.u16()?);
                    let units = usize::from(fields.u16()?);
                    let mut code = String::new();
                    push_text(&mut fields, units, &mut code)?;
                    styles.add_format(id, &code, limits)?;
                }
                id::STYLE => {
                    fields.u16()?;
                    styles.add_style(u32::from(fields.u16()?), limits)?;
                }
                id::STRINGS => {
                    fields.u32()?;
                    let count = fields.u32()?;
                    read_strings(&mut records, count, &mut strings, limits)?;
                }
                id::EOF => break,
                _ => {}
            }
        }
        let shared = Arc::new(Shared { strings, styles, epoch, limits: limits.clone() });
        Ok(Xls { file, sheets, places, shared })
    }
}

fn too_old() -> Error {
    let error = Error::input("the workbook is of a version of Excel before 97");
    error.hint("save it as .xlsx in a spreadsheet program, and load that")
}

/// Appends a text, which is stored as a flag byte and `units` units of one or two bytes.
fn push_text(fields: &mut Fields<'_>, units: usize, out: &mut String) -> Result<()> {
    let is_wide = fields.u8()? & 1 != 0;
    push_units(fields.bytes(units * (1 + usize::from(is_wide)))?, is_wide, out);
    Ok(())
}

/// Appends units of a text: UTF-16 if `is_wide`, or else one byte for each of the first 256 characters of Unicode.
fn push_units(bytes: &[u8], is_wide: bool, out: &mut String) {
    match is_wide {
        true => push_utf16(utf16(bytes), out),
        false => out.extend(bytes.iter().map(|byte| char::from(*byte))),
    }
}

/// Reads the shared texts from the current record and the CONTINUE records after it.
fn read_strings(records: &mut Records, count: u32, strings: &mut Strings, limits: &Limits) -> Result<()> {
    let mut pieces = Pieces { at: 8, records };
    for _ in 0..count {
        let units = usize::from(pieces.u16()?);
        let flags = pieces.u8()?;
        let runs = if flags & 8 != 0 { u64::from(pieces.u16()?) } else { 0 };
        let extra = if flags & 4 != 0 { u64::from(pieces.u32()?) } else { 0 };
        strings.add(limits, |text| pieces.push_units(units, flags & 1 != 0, text))?;
        pieces.skip(runs * 4 + extra)?;
    }
    Ok(())
}

/// A reader of the fields of a record that continues in CONTINUE records.
struct Pieces<'r> {
    records: &'r mut Records,
    at: usize,
}

impl Pieces<'_> {
    /// Reads the next CONTINUE record if all fields of the current record are read.
    fn fill(&mut self) -> Result<()> {
        while self.at >= self.records.record.len() {
            if self.records.next()? != Some(id::CONTINUE) {
                return Err(damaged("its shared texts are cut off"));
            }
            self.at = 0;
        }
        Ok(())
    }

    fn u8(&mut self) -> Result<u8> {
        self.fill()?;
        self.at += 1;
        Ok(self.records.record[self.at - 1])
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes([self.u8()?, self.u8()?]))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes([self.u8()?, self.u8()?, self.u8()?, self.u8()?]))
    }

    fn skip(&mut self, mut bytes: u64) -> Result<()> {
        while bytes > 0 {
            self.fill()?;
            let skipped = bytes.min((self.records.record.len() - self.at) as u64);
            self.at += skipped as usize;
            bytes -= skipped;
        }
        Ok(())
    }

    /// Appends units of a text. If the text continues in another record, this record begins with a new flag for the size of units.
    fn push_units(&mut self, mut units: usize, mut is_wide: bool, out: &mut String) -> Result<()> {
        // The first half of a surrogate pair whose other half is in the next record.
        let mut half = None;
        while units > 0 {
            if self.at >= self.records.record.len() {
                is_wide = self.u8()? & 1 != 0;
                continue;
            }
            let size = 1 + usize::from(is_wide);
            let rest = &self.records.record[self.at..];
            let here = units.min(rest.len() / size);
            if here == 0 {
                return Err(damaged("a character of its shared texts is cut in two"));
            }
            let mut piece = &rest[..here * size];
            self.at += here * size;
            units -= here;
            if let Some(half) = half.take() {
                let first = if is_wide { utf16(piece).next() } else { None };
                push_utf16([half].into_iter().chain(first), out);
                piece = &piece[if first.is_some() { size } else { 0 }..];
            }
            if is_wide && units > 0 {
                half = utf16(piece).last().filter(|unit| (0xd800..0xdc00).contains(unit));
                piece = &piece[..piece.len() - if half.is_some() { size } else { 0 }];
            }
            push_units(piece, is_wide, out);
        }
        Ok(())
    }
}

/// A reader of the records of the stream.
struct Records {
    reader: BufReader<Stream>,
    limits: Limits,
    record: Vec<u8>,
    from: u64,
    count: u32,
}

impl Records {
    fn new(file: &Compound, from: u64, limits: &Limits) -> Result<Records> {
        let stream = file.stream(WORKBOOK, from, limits)?;
        let reader = BufReader::with_capacity(64 << 10, stream);
        Ok(Records { reader, limits: limits.clone(), record: Vec::new(), from, count: 0 })
    }

    /// Reads the next record into `self.record` and returns its id. Returns `None` at the end of the stream.
    fn next(&mut self) -> Result<Option<u16>> {
        self.count = self.count.wrapping_add(1);
        if self.count.is_multiple_of(RECORDS_BETWEEN_CHECKS) {
            self.limits.check_cancel()?;
        }
        let mut head = [0; 4];
        match self.reader.read_exact(&mut head) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read.map_err(unreadable)?,
        }
        let bytes = usize::from(u16::from_le_bytes([head[2], head[3]]));
        self.record.resize(bytes, 0);
        self.reader.read_exact(&mut self.record).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged("a record is cut off"),
            _ => unreadable(error),
        })?;
        Ok(Some(u16::from_le_bytes([head[0], head[1]])))
    }
}

fn unreadable(error: std::io::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(|error| damaged(error.to_string()))
}

impl Book for Xls {
    fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    fn rows(&self, sheet: usize) -> Result<Box<dyn Rows>> {
        let records = Records::new(&self.file, self.places[sheet], &self.shared.limits)?;
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(XlsRows { records, shared, row: 0, nested: 0, next: Row::default(), ended: false }))
    }

    fn merged(&self, sheet: usize, row: u32) -> Result<Vec<Area>, Fault> {
        let mut records = Records::new(&self.file, self.places[sheet], &self.shared.limits)?;
        let (mut merged, mut nested) = (Vec::new(), 0_u32);
        while let Some(id) = records.next()? {
            let mut fields = Fields::new(&records.record);
            match id {
                id::BOF => nested += 1,
                id::EOF if nested <= 1 => break,
                id::EOF => nested -= 1,
                id::MERGED => {
                    for _ in 0..fields.u16()? {
                        let [first_row, last_row] =
                            [fields.u16()?, fields.u16()?].map(|row| u32::from(row) + 1);
                        let [first, last] =
                            [fields.u16()?, fields.u16()?].map(|column| u32::from(column) + 1);
                        if first_row == row {
                            merged.push(Area { rows: first_row..=last_row, columns: first..=last });
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(merged)
    }

    fn sheet_bytes(&self, _: usize) -> Option<u64> {
        None
    }

    fn place(&self, sheet: usize) -> Place {
        Place::sheet(&self.file.source().name, &self.sheets[sheet].name)
    }
}

/// A reader of a sheet's rows.
struct XlsRows {
    records: Records,
    shared: Arc<Shared>,
    /// The number of the last row that was read.
    row: u32,
    /// The number of BOF records without an EOF record so far: charts are nested in sheets.
    nested: u32,
    /// The next row, whose first cell has already been read.
    next: Row,
    ended: bool,
}

impl Rows for XlsRows {
    fn next(&mut self, row: &mut Row) -> Result<bool, Fault> {
        // The first cell of this row was read at the end of the previous row.
        std::mem::swap(row, &mut self.next);
        row.repeat = 1;
        self.next.begin(0);
        let found = self.read_cells(row)?;
        row.sort()?;
        Ok(found)
    }

    fn inflated_bytes(&self) -> u64 {
        self.records.reader.get_ref().at() - self.records.from
    }

    fn file_bytes(&self) -> u64 {
        self.inflated_bytes()
    }
}

impl XlsRows {
    /// Reads the cells of a row, up to the first cell of the next row. Returns `false` at the end of the sheet.
    fn read_cells(&mut self, row: &mut Row) -> Result<bool, Fault> {
        while !self.ended {
            let Some(id) = self.records.next()? else { break };
            match id {
                id::BOF => self.nested += 1,
                id::EOF => {
                    self.nested = self.nested.saturating_sub(1);
                    self.ended = self.nested == 0;
                }
                _ if self.nested != 1 => {}
                id::NUMBER
                | id::RK
                | id::MANY_RK
                | id::SHARED
                | id::TEXT
                | id::BOOL_OR_ERROR
                | id::FORMULA => {
                    let number = u32::from(Fields::new(&self.records.record).u16()?) + 1;
                    if number < self.row {
                        let why = format!("row {number} follows row {}", self.row);
                        return Err(Fault::in_row(damaged(why), number));
                    }
                    self.row = number;
                    if row.number == number || row.cells.is_empty() {
                        row.number = number;
                        self.read_cell(id, row)?;
                        continue;
                    }
                    let mut next = std::mem::take(&mut self.next);
                    next.begin(number);
                    let read = self.read_cell(id, &mut next);
                    self.next = next;
                    read?;
                    if !self.next.cells.is_empty() {
                        return Ok(true);
                    }
                }
                _ => {}
            }
        }
        self.ended = true;
        Ok(!row.cells.is_empty())
    }

    fn read_cell(&mut self, id: u16, row: &mut Row) -> Result<(), Fault> {
        let number = row.number;
        let mut fields = Fields::new(&self.records.record);
        fields.u16()?;
        let column = u32::from(fields.u16()?) + 1;
        // A record of several cells has 6 bytes for each cell, and 6 other bytes.
        let last = column + if id == id::MANY_RK { self.records.record.len() as u32 / 6 } else { 0 };
        if last > COLUMNS_MAX {
            return Err(Fault::in_row(damaged(format!("it has a cell in column {last}")), number));
        }
        let at = |error| Fault::at(error, number, column);
        let shared = Arc::clone(&self.shared);
        if id == id::MANY_RK {
            let mut column = column;
            while fields.rest().len() >= 6 {
                let style = usize::from(fields.u16()?);
                let value = shared.number(rk(fields.u32()?), style, row).map_err(at)?;
                row.cells.push(Cell { column, value });
                column += 1;
            }
            return row.check(&shared.limits);
        }
        let style = usize::from(fields.u16().map_err(at)?);
        let start = row.text.len();
        let value = match id {
            id::NUMBER => Some(shared.number(fields.f64()?, style, row).map_err(at)?),
            id::RK => Some(shared.number(rk(fields.u32()?), style, row).map_err(at)?),
            id::SHARED => {
                let text = shared.strings.get(fields.u32()? as usize).map_err(at)?;
                shared.limits.check_row(start + text.len()).map_err(at)?;
                row.text.push_str(text);
                (!text.is_empty()).then(|| Value::Text(row.span_from(start)))
            }
            id::TEXT => {
                let units = usize::from(fields.u16()?);
                push_text(&mut fields, units, &mut row.text).map_err(at)?;
                (row.text.len() > start).then(|| Value::Text(row.span_from(start)))
            }
            id::BOOL_OR_ERROR => {
                let (value, is_error) = (fields.u8()?, fields.u8()?);
                Some(bool_or_error(value, is_error != 0, row))
            }
            _ => {
                let bytes = fields.bytes(8).map_err(at)?;
                match (bytes[0], bytes[6], bytes[7]) {
                    (0, 0xff, 0xff) => self.formula_text(row).map_err(at)?,
                    (kind @ (1 | 2), 0xff, 0xff) => Some(bool_or_error(bytes[2], kind == 2, row)),
                    (_, 0xff, 0xff) => None,
                    _ => {
                        let number = Fields::new(bytes).f64()?;
                        Some(shared.number(number, style, row).map_err(at)?)
                    }
                }
            }
        };
        row.cells.extend(value.map(|value| Cell { column, value }));
        row.check(&shared.limits)
    }

    /// Reads the text value of a formula, which is in a later record.
    fn formula_text(&mut self, row: &mut Row) -> Result<Option<Value>> {
        // For shared formulas, arrays and data tables, another record comes first.
        for _ in 0..3 {
            let id = self.records.next()?;
            if id != Some(id::FORMULA_TEXT) {
                continue;
            }
            let start = row.text.len();
            let mut fields = Fields::new(&self.records.record);
            let units = usize::from(fields.u16()?);
            let is_wide = fields.rest().first().is_some_and(|flags| flags & 1 != 0);
            let whole = fields.rest().len() > units * (1 + usize::from(is_wide));
            if whole {
                push_text(&mut fields, units, &mut row.text)?;
            } else {
                let mut pieces = Pieces { at: 3, records: &mut self.records };
                pieces.push_units(units, is_wide, &mut row.text)?;
            }
            return Ok((row.text.len() > start).then(|| Value::Text(row.span_from(start))));
        }
        Err(damaged("the text of a formula is missing"))
    }
}

fn bool_or_error(value: u8, is_error: bool, row: &mut Row) -> Value {
    match is_error {
        true => Value::Error(row.add_text(|out| out.push_str(error_name(value)))),
        false => Value::Bool(value != 0),
    }
}

impl Shared {
    fn number(&self, number: f64, style: usize, row: &mut Row) -> Result<Value> {
        match number.is_finite() {
            true => Ok(Number::of(number).value(self.styles.shown(style), self.epoch, row)),
            false => Err(damaged(format!("{number} is not a number"))),
        }
    }
}
