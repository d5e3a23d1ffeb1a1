//! Reads XLSB, binary Excel workbooks: the same parts as in XLSX, as binary records.
//!
//! ```text
//!  record: id in 1 or 2 bytes of 7 bits | size in 1 to 4 bytes of 7 bits | fields
//!  cell:   column, style (4 bytes each) | value           a short cell is in the column after the previous cell: style | value
//! ```

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use sqluice_core::error::{Error, Place, Result};

use super::book::{Book, Sheet};
use super::limits::Limits;
use super::moment::Epoch;
use super::package::{Package, PartReader, damaged};
use super::records::{Fields, error_name, push_utf16, rk, utf16};
use super::row::{Cell, Fault, Row, Rows, Value, next_column};
use super::strings::Strings;
use super::styles::Styles;
use super::xlsx::{Number, kind_of, relations};
use crate::formats::address::{self, Area};

/// The approximate memory that a sheet's entry takes, without its name.
const SHEET_BYTES: u64 = 256;

/// The number of records between two checks for cancellation.
const RECORDS_BETWEEN_CHECKS: u32 = 1 << 14;

/// The ids of records.
mod id {
    pub(super) const ROW: u16 = 0;
    pub(super) const RK: u16 = 2;
    pub(super) const ERROR: u16 = 3;
    pub(super) const BOOL: u16 = 4;
    pub(super) const REAL: u16 = 5;
    pub(super) const TEXT: u16 = 6;
    pub(super) const SHARED: u16 = 7;
    pub(super) const FORMULA_TEXT: u16 = 8;
    pub(super) const FORMULA_NUMBER: u16 = 9;
    pub(super) const FORMULA_BOOL: u16 = 10;
    pub(super) const FORMULA_ERROR: u16 = 11;
    pub(super) const BLANK: u16 = 1;
    pub(super) const SHORT_BLANK: u16 = 12;
    pub(super) const SHORT_SHARED: u16 = 18;
    pub(super) const SST_ITEM: u16 = 19;
    pub(super) const FORMAT: u16 = 44;
    pub(super) const STYLE: u16 = 47;
    pub(super) const RICH_TEXT: u16 = 62;
    pub(super) const BEGIN_ROWS: u16 = 145;
    pub(super) const END_ROWS: u16 = 146;
    pub(super) const WORKBOOK: u16 = 153;
    pub(super) const SHEET: u16 = 156;
    pub(super) const MERGED: u16 = 176;
    pub(super) const BEGIN_STYLES: u16 = 617;
    pub(super) const END_STYLES: u16 = 618;
}

/// An open XLSB workbook.
pub(super) struct Xlsb {
    package: Package,
    sheets: Vec<Sheet>,
    /// The name of each sheet's part.
    parts: Vec<String>,
    shared: Arc<Shared>,
}

/// Properties of a workbook that the cells of all sheets need.
struct Shared {
    strings: Strings,
    styles: Styles,
    epoch: Epoch,
    limits: Limits,
}

impl Xlsb {
    pub(super) fn open(package: Package, workbook: &str, limits: &Limits) -> Result<Xlsb> {
        let relations = relations(&package, workbook, limits)?;
        let open = |part: &str| Ok::<_, Error>(Records::new(package.part(part)?, limits));
        let (mut sheets, mut parts, mut epoch, mut held) = (Vec::new(), Vec::new(), Epoch::Of1900, 0);
        let mut records = open(workbook)?;
        while let Some(id) = records.next()? {
            let mut fields = Fields::new(records.record()?);
            match id {
                id::WORKBOOK if fields.u32()? & 1 == 1 => epoch = Epoch::Of1904,
                id::SHEET => {
                    let is_hidden = fields.u32()? != 0;
                    fields.u32()?;
                    let (relation, name) = (wide(&mut fields)?, wide(&mut fields)?);
                    held += SHEET_BYTES + name.len() as u64;
                    limits.check_held("the list of sheets", held)?;
                    let relation = relations.get(&relation);
                    let relation =
                        relation.ok_or_else(|| damaged(format!("the part of sheet {name} is missing")))?;
                    sheets.push(Sheet { name, kind: kind_of(&relation.kind), is_hidden });
                    parts.push(relation.target.clone());
                }
                _ => {}
            }
        }
        let part = |kind: &str| relations.values().find(|relation| relation.kind == kind);
        let strings =
            part("sharedStrings").map(|part| read_strings(open(&part.target)?, limits)).transpose()?;
        let styles = part("styles").map(|part| read_styles(open(&part.target)?, limits)).transpose()?;
        let (strings, styles) = (strings.unwrap_or_default(), styles.unwrap_or_default());
        let shared = Arc::new(Shared { strings, styles, epoch, limits: limits.clone() });
        Ok(Xlsb { package, sheets, parts, shared })
    }
}

/// Reads a text: the number of its UTF-16 units, and the units. A number of 0xffffffff stands for no text.
fn wide(fields: &mut Fields<'_>) -> Result<String> {
    let mut text = String::new();
    push_wide(fields, &mut text)?;
    Ok(text)
}

fn push_wide(fields: &mut Fields<'_>, out: &mut String) -> Result<()> {
    let units = fields.u32()?;
    if units == u32::MAX {
        return Ok(());
    }
    push_utf16(utf16(fields.bytes((units as usize).saturating_mul(2))?), out);
    Ok(())
}

fn read_strings(mut records: Records, limits: &Limits) -> Result<Strings> {
    let mut strings = Strings::default();
    while let Some(id) = records.next()? {
        if id == id::SST_ITEM {
            let mut fields = Fields::new(records.record()?);
            fields.u8()?;
            strings.add(limits, |text| push_wide(&mut fields, text))?;
        }
    }
    Ok(strings)
}

fn read_styles(mut records: Records, limits: &Limits) -> Result<Styles> {
    let (mut styles, mut is_of_cells) = (Styles::default(), false);
    while let Some(id) = records.next()? {
        match id {
            id::FORMAT => {
                let mut fields = Fields::new(records.record()?);
                let id = u32::from(fields.u16()?);
                styles.add_format(id, &wide(&mut fields)?, limits)?;
            }
            id::BEGIN_STYLES => is_of_cells = true,
            id::END_STYLES => is_of_cells = false,
            id::STYLE if is_of_cells => {
                let mut fields = Fields::new(records.record()?);
                fields.u16()?;
                styles.add_style(u32::from(fields.u16()?), limits)?;
            }
            _ => {}
        }
    }
    Ok(styles)
}

/// A reader of the records of a part.
struct Records {
    reader: BufReader<PartReader>,
    limits: Limits,
    /// The size of the current record's fields, in bytes.
    bytes: u64,
    /// The number of bytes of these fields that are not read yet.
    left: u64,
    record: Vec<u8>,
    count: u32,
}

impl Records {
    fn new(part: PartReader, limits: &Limits) -> Records {
        let reader = BufReader::with_capacity(64 << 10, part);
        Records { reader, limits: limits.clone(), bytes: 0, left: 0, record: Vec::new(), count: 0 }
    }

    /// Moves to the next record and returns its id. Returns `None` at the end of the part.
    fn next(&mut self) -> Result<Option<u16>> {
        self.count += 1;
        if self.count.is_multiple_of(RECORDS_BETWEEN_CHECKS) {
            self.limits.check_cancel()?;
        }
        while self.left > 0 {
            let read = self.reader.fill_buf().map_err(unreadable)?.len() as u64;
            if read == 0 {
                return Err(damaged("a record is cut off"));
            }
            let skipped = read.min(self.left);
            self.reader.consume(skipped as usize);
            self.left -= skipped;
        }
        let Some(first) = self.byte()? else { return Ok(None) };
        let mut id = u16::from(first);
        if first & 0x80 != 0 {
            id = id & 0x7f | (u16::from(self.some_byte()?) & 0x7f) << 7;
        }
        self.bytes = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.some_byte()?;
            self.bytes |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        self.left = self.bytes;
        Ok(Some(id))
    }

    fn byte(&mut self) -> Result<Option<u8>> {
        let byte = self.reader.fill_buf().map_err(unreadable)?.first().copied();
        self.reader.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    fn some_byte(&mut self) -> Result<u8> {
        self.byte()?.ok_or_else(|| damaged("a record is cut off"))
    }

    /// Returns the fields of the current record.
    fn record(&mut self) -> Result<&[u8]> {
        if self.left > 0 {
            self.limits.check_row(self.bytes as usize)?;
            self.record.clear();
            let read =
                (&mut self.reader).take(self.left).read_to_end(&mut self.record).map_err(unreadable)?;
            if (read as u64) < self.left {
                return Err(damaged("a record is cut off"));
            }
            self.left = 0;
        } else if self.bytes == 0 {
            self.record.clear();
        }
        Ok(&self.record)
    }
}

fn unreadable(error: std::io::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(|error| damaged(error.to_string()))
}

impl Book for Xlsb {
    fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    fn rows(&self, sheet: usize) -> Result<Box<dyn Rows>> {
        let records = Records::new(self.package.part(&self.parts[sheet])?, &self.shared.limits);
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(XlsbRows { records, shared, row: 0, next_row: None, in_rows: false }))
    }

    fn merged(&self, sheet: usize, row: u32) -> Result<Vec<Area>, Fault> {
        let mut records = Records::new(self.package.part(&self.parts[sheet])?, &self.shared.limits);
        let mut merged = Vec::new();
        while let Some(id) = records.next()? {
            if id != id::MERGED {
                continue;
            }
            let mut fields = Fields::new(records.record()?);
            let [first_row, last_row, first, last] =
                [fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?];
            let in_sheet = last_row < address::ROWS_MAX && last < address::COLUMNS_MAX;
            if in_sheet && first_row + 1 == row {
                merged.push(Area { rows: first_row + 1..=last_row + 1, columns: first + 1..=last + 1 });
            }
        }
        Ok(merged)
    }

    fn sheet_bytes(&self, sheet: usize) -> Option<u64> {
        self.package.bytes_of(&self.parts[sheet])
    }

    fn place(&self, sheet: usize) -> Place {
        Place::sheet(self.package.file(), &self.sheets[sheet].name)
    }
}

/// A reader of a sheet's rows.
struct XlsbRows {
    records: Records,
    shared: Arc<Shared>,
    /// The number of the last row that was read.
    row: u32,
    /// The number of the next row, if its record has already been read.
    next_row: Option<u32>,
    in_rows: bool,
}

impl Rows for XlsbRows {
    fn next(&mut self, row: &mut Row) -> Result<bool, Fault> {
        loop {
            let number = match self.next_row.take() {
                Some(number) => number,
                None => match self.find_row()? {
                    Some(number) => number,
                    None => return Ok(false),
                },
            };
            self.row = number;
            row.begin(number);
            self.read_cells(row)?;
            row.sort()?;
            if !row.cells.is_empty() {
                return Ok(true);
            }
        }
    }

    fn inflated_bytes(&self) -> u64 {
        self.records.reader.get_ref().inflated_bytes()
    }

    fn file_bytes(&self) -> u64 {
        self.records.reader.get_ref().compressed_bytes()
    }
}

impl XlsbRows {
    fn find_row(&mut self) -> Result<Option<u32>, Fault> {
        while let Some(id) = self.records.next()? {
            match id {
                id::BEGIN_ROWS => self.in_rows = true,
                id::END_ROWS => break,
                id::ROW if self.in_rows => return self.number_of_row().map(Some),
                _ => {}
            }
        }
        Ok(None)
    }

    fn number_of_row(&mut self) -> Result<u32, Fault> {
        let number = Fields::new(self.records.record()?).u32()?.saturating_add(1);
        let before = self.row;
        if number > address::ROWS_MAX || number <= before {
            return Err(Fault::in_row(damaged(format!("row {number} follows row {before}")), before.max(1)));
        }
        Ok(number)
    }

    fn read_cells(&mut self, row: &mut Row) -> Result<(), Fault> {
        let number = row.number;
        let in_row = |error| Fault::in_row(error, number);
        let mut column = 0;
        loop {
            match self.records.next().map_err(in_row)? {
                Some(id::ROW) => {
                    self.next_row = Some(self.number_of_row()?);
                    return Ok(());
                }
                Some(id::END_ROWS) | None => return Ok(()),
                Some(id @ (id::BLANK..=id::SHORT_SHARED | id::RICH_TEXT)) => {
                    let mut fields = Fields::new(self.records.record().map_err(in_row)?);
                    let is_short = (id::SHORT_BLANK..=id::SHORT_SHARED).contains(&id);
                    column = match is_short {
                        true => next_column(column, number)?,
                        false => fields.u32().map_err(in_row)?.saturating_add(1),
                    };
                    if column > address::COLUMNS_MAX {
                        return Err(in_row(damaged(format!("it has a cell in column {column}"))));
                    }
                    let at = |error| Fault::at(error, number, column);
                    let style = fields.u32().map_err(at)? & 0x00ff_ffff;
                    let id = if is_short { id - id::SHORT_BLANK + id::BLANK } else { id };
                    let value = self.shared.value(id, style as usize, &mut fields, row).map_err(at)?;
                    row.cells.extend(value.map(|value| Cell { column, value }));
                    row.check(&self.shared.limits)?;
                }
                _ => {}
            }
        }
    }
}

impl Shared {
    /// Returns the value of a cell. `id` is the id of its record, which decides about its type.
    fn value(&self, id: u16, style: usize, fields: &mut Fields<'_>, row: &mut Row) -> Result<Option<Value>> {
        let start = row.text.len();
        let number = |number: f64, row: &mut Row| match number.is_finite() {
            true => Ok(Some(Number::of(number).value(self.styles.shown(style), self.epoch, row))),
            false => Err(damaged(format!("{number} is not a number"))),
        };
        match id {
            id::RK => number(rk(fields.u32()?), row),
            id::REAL | id::FORMULA_NUMBER => number(fields.f64()?, row),
            id::BOOL | id::FORMULA_BOOL => Ok(Some(Value::Bool(fields.u8()? != 0))),
            id::ERROR | id::FORMULA_ERROR => {
                row.text.push_str(error_name(fields.u8()?));
                Ok(Some(Value::Error(row.span_from(start))))
            }
            id::TEXT | id::FORMULA_TEXT | id::RICH_TEXT => {
                if id == id::RICH_TEXT {
                    fields.u8()?;
                }
                push_wide(fields, &mut row.text)?;
                Ok((row.text.len() > start).then(|| Value::Text(row.span_from(start))))
            }
            id::SHARED => {
                let text = self.strings.get(fields.u32()? as usize)?;
                self.limits.check_row(start + text.len())?;
                row.text.push_str(text);
                Ok((!text.is_empty()).then(|| Value::Text(row.span_from(start))))
            }
            _ => Ok(None),
        }
    }
}
