//! ODS: OpenDocument spreadsheets, as LibreOffice writes them.
//!
//! ```text
//!  content.xml:  automatic-styles: which sheets are hidden
//!                body > spreadsheet > table (a sheet) > table-row, repeated > table-cell, repeated: a value, and its text
//! ```
//!
//! All sheets are in one part, which is read once for the names of the sheets, and again for each sheet. Repeated rows and cells without a
//! value are only counted, so that they take no time.

use std::collections::HashSet;
use std::sync::Arc;

use quick_xml::events::{BytesStart, Event};
use sqluice_core::error::{Error, Place, Result};

use super::book::{Book, Sheet, SheetKind};
use super::limits::Limits;
use super::moment::write_duration;
use super::package::{Package, damaged, encrypted};
use super::row::{Cell, Fault, Row, Rows, Value};
use super::xlsx::{Number, push_iso};
use super::xml::{Xml, attribute, is_true, push_entity, push_text, raw_attribute, unescaped};
use crate::formats::address::{Area, COLUMNS_MAX, ROWS_MAX};

/// The part that contains all sheets.
const CONTENT: &str = "content.xml";
/// The part that lists all parts.
const MANIFEST: &str = "meta-inf/manifest.xml";

/// The approximate memory that a sheet's entry takes, without its name.
const SHEET_BYTES: u64 = 256;

/// An open ODS workbook.
pub(super) struct Ods {
    package: Arc<Package>,
    sheets: Vec<Sheet>,
    limits: Limits,
}

impl Ods {
    /// Returns `true` if a part is needed. Other parts, such as pictures, are not read.
    pub(super) fn is_wanted(name: &str) -> bool {
        name == CONTENT || name == MANIFEST
    }

    pub(super) fn is_here(package: &Package) -> bool {
        package.has(CONTENT)
    }

    pub(super) fn open(package: Package, limits: &Limits) -> Result<Ods> {
        refuse_encrypted(&package, limits)?;
        let mut xml = Xml::new(package.part(CONTENT)?, limits);
        let (mut buffer, mut sheets, mut held) = (Vec::new(), Vec::new(), 0);
        let mut hidden: HashSet<String> = HashSet::new();
        let mut style = String::new();
        let mut tables = Tables::default();
        loop {
            let event = xml.next(&mut buffer)?;
            let depth = xml.depth();
            match event {
                Event::Start(element) | Event::Empty(element) => match element.local_name().as_ref() {
                    b"style" => style = attribute(&element, b"name")?.unwrap_or_default(),
                    b"table-properties" => {
                        let display = raw_attribute(&element, b"display")?;
                        if display.is_some_and(|display| !is_true(&display)) {
                            held += SHEET_BYTES + style.len() as u64;
                            limits.check_held("the list of styles", held)?;
                            hidden.insert(style.clone());
                        }
                    }
                    name if tables.is_table(name, depth) => {
                        let name =
                            attribute(&element, b"name")?.ok_or_else(|| damaged("a sheet has no name"))?;
                        held += SHEET_BYTES + name.len() as u64;
                        limits.check_held("the list of sheets", held)?;
                        let style = attribute(&element, b"style-name")?.unwrap_or_default();
                        let is_hidden = hidden.contains(&style);
                        sheets.push(Sheet { name, kind: SheetKind::Cells, is_hidden });
                    }
                    _ => {}
                },
                Event::Eof => break,
                _ => {}
            }
        }
        Ok(Ods { package: Arc::new(package), sheets, limits: limits.clone() })
    }
}

/// Recognises the elements that are sheets. Elements named `table` also occur elsewhere.
#[derive(Default)]
struct Tables {
    /// The depth of the element that contains the sheets.
    spreadsheet: Option<usize>,
}

impl Tables {
    /// Returns `true` if an element that has just begun is a sheet. `depth` is the depth after the element's start tag.
    fn is_table(&mut self, name: &[u8], depth: usize) -> bool {
        match name {
            b"spreadsheet" => {
                self.spreadsheet = Some(depth);
                false
            }
            // An empty element has no end tag, so the depth is still that of its parent.
            b"table" => self.spreadsheet.is_some_and(|at| depth == at + 1 || depth == at),
            _ => false,
        }
    }
}

fn refuse_encrypted(package: &Package, limits: &Limits) -> Result<()> {
    if !package.has(MANIFEST) {
        return Ok(());
    }
    let (mut xml, mut buffer) = (Xml::new(package.part(MANIFEST)?, limits), Vec::new());
    loop {
        match xml.next(&mut buffer)? {
            Event::Start(element) | Event::Empty(element)
                if element.local_name().as_ref() == b"encryption-data" =>
            {
                return Err(encrypted());
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

impl Book for Ods {
    fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    fn rows(&self, sheet: usize) -> Result<Box<dyn Rows>> {
        Ok(Box::new(self.open_rows(sheet)?))
    }

    fn merged(&self, sheet: usize, row: u32) -> Result<Vec<Area>, Fault> {
        let mut rows = self.open_rows(sheet)?;
        let mut read = Row::default();
        while rows.next(&mut read)? {
            if read.number >= row {
                let is_here = |area: &Area| *area.rows.start() == row;
                return Ok(rows.merged.into_iter().filter(is_here).collect());
            }
        }
        Ok(Vec::new())
    }

    fn sheet_bytes(&self, _: usize) -> Option<u64> {
        self.package.bytes_of(CONTENT)
    }

    fn place(&self, sheet: usize) -> Place {
        Place::sheet(self.package.file(), &self.sheets[sheet].name)
    }
}

impl Ods {
    fn open_rows(&self, sheet: usize) -> Result<OdsRows> {
        Ok(OdsRows {
            xml: Xml::new(self.package.part(CONTENT)?, &self.limits),
            limits: self.limits.clone(),
            buffer: Vec::new(),
            text: String::new(),
            sheets_before: sheet,
            tables: Tables::default(),
            table: None,
            row: 0,
            merged: Vec::new(),
            ended: false,
        })
    }
}

/// A reader of a sheet's rows.
struct OdsRows {
    xml: Xml,
    limits: Limits,
    buffer: Vec<u8>,
    text: String,
    /// The number of sheets that the reader must still skip before it reaches its sheet.
    sheets_before: usize,
    tables: Tables,
    /// The depth of the sheet's element, once it has begun.
    table: Option<usize>,
    /// The number of the last row that was read. A repeated row counts as often as it is repeated.
    row: u32,
    /// The merged cells whose first row is the last row that was read.
    merged: Vec<Area>,
    ended: bool,
}

/// The attributes of a cell.
#[derive(Default)]
struct CellTag {
    repeat: u32,
    spanned: u32,
    kind: Option<Kind>,
    is_error: bool,
    has_formula: bool,
    /// The value, if an attribute contains it.
    value: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Date,
    Time,
    Bool,
    Text,
}

impl Rows for OdsRows {
    fn next(&mut self, row: &mut Row) -> Result<bool, Fault> {
        while !self.ended {
            let before = self.row;
            let in_row = |error| match before {
                0 => Fault::from(error),
                row => Fault::in_row(error, row),
            };
            let event = self.xml.next(&mut self.buffer).map_err(in_row)?;
            let depth = self.xml.depth();
            let (repeat, is_empty) = match event {
                Event::Start(element) if self.table.is_none() => {
                    if self.tables.is_table(element.local_name().as_ref(), depth) {
                        match self.sheets_before.checked_sub(1) {
                            Some(left) => self.sheets_before = left,
                            None => self.table = Some(depth),
                        }
                    }
                    continue;
                }
                Event::Empty(element) if self.table.is_none() => {
                    if self.tables.is_table(element.local_name().as_ref(), depth) {
                        match self.sheets_before.checked_sub(1) {
                            Some(left) => self.sheets_before = left,
                            None => self.ended = true,
                        }
                    }
                    continue;
                }
                Event::Start(element) => match element.local_name().as_ref() {
                    b"table-row" => (repeat_of(&element, b"number-rows-repeated")?, false),
                    b"table-header-rows" | b"table-rows" | b"table-row-group" => continue,
                    _ => {
                        self.xml.skip(&mut self.buffer)?;
                        continue;
                    }
                },
                Event::Empty(element) if element.local_name().as_ref() == b"table-row" => {
                    (repeat_of(&element, b"number-rows-repeated")?, true)
                }
                Event::End(_) => {
                    self.ended = self.table.is_some_and(|table| depth < table);
                    continue;
                }
                Event::Eof => break,
                _ => continue,
            };
            row.begin(before.saturating_add(1));
            row.repeat = repeat;
            self.row = before.saturating_add(repeat);
            self.merged.clear();
            if !is_empty {
                self.read_cells(row)?;
            }
            if !row.cells.is_empty() {
                if self.row > ROWS_MAX {
                    let error = format!("the sheet has more than {ROWS_MAX} rows");
                    return Err(Fault::in_row(Error::input(error), ROWS_MAX));
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn inflated_bytes(&self) -> u64 {
        self.xml.part().inflated_bytes()
    }

    fn file_bytes(&self) -> u64 {
        self.xml.part().compressed_bytes()
    }
}

/// Returns how often a row or a cell is repeated: 1 if the attribute `name` is missing.
fn repeat_of(element: &BytesStart<'_>, name: &[u8]) -> Result<u32> {
    Ok(raw_attribute(element, name)?.map_or(1, |value| count_of(&value)))
}

fn count_of(value: &[u8]) -> u32 {
    str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok()).unwrap_or(1).max(1)
}

impl OdsRows {
    /// Reads the cells of the row that has just begun.
    fn read_cells(&mut self, row: &mut Row) -> Result<(), Fault> {
        let depth = self.xml.depth();
        let number = row.number;
        let mut column = 1_u32;
        loop {
            let in_row = |error| Fault::in_row(error, number);
            let (tag, has_text) = match self.xml.next(&mut self.buffer).map_err(in_row)? {
                Event::Start(element) => match element.local_name().as_ref() {
                    b"table-cell" | b"covered-table-cell" => (CellTag::read(&element).map_err(in_row)?, true),
                    _ => {
                        self.xml.skip(&mut self.buffer)?;
                        continue;
                    }
                },
                Event::Empty(element) => match element.local_name().as_ref() {
                    b"table-cell" | b"covered-table-cell" => {
                        (CellTag::read(&element).map_err(in_row)?, false)
                    }
                    _ => continue,
                },
                Event::End(_) if self.xml.depth() < depth => return Ok(()),
                Event::Eof => return Err(in_row(damaged("a part of it ends too early"))),
                _ => continue,
            };
            let at = |error| Fault::at(error, number, column.min(COLUMNS_MAX));
            self.text.clear();
            if has_text {
                self.read_text().map_err(at)?;
            }
            let value = self.value_of(&tag, row).map_err(at)?;
            let after = column.saturating_add(tag.repeat);
            if let Some(value) = value {
                if after - 1 > COLUMNS_MAX {
                    return Err(at(Error::input(format!("the row has more than {COLUMNS_MAX} columns"))));
                }
                row.cells.extend((column..after).map(|column| Cell { column, value }));
            }
            if tag.spanned > 1 {
                let last = column.saturating_add(tag.spanned - 1).min(COLUMNS_MAX);
                self.merged.push(Area { rows: number..=number, columns: column..=last });
            }
            column = after;
            row.check(&self.limits)?;
        }
    }

    /// Reads the text of the cell that has just begun: its paragraphs, separated by LF. Comments and drawings are skipped.
    fn read_text(&mut self) -> Result<()> {
        let depth = self.xml.depth();
        let mut paragraphs = 0;
        // The depth of the paragraph that is open.
        let mut paragraph = None;
        loop {
            let event = self.xml.next(&mut self.buffer)?;
            let here = self.xml.depth();
            match event {
                Event::Start(element) => match (element.local_name().as_ref(), paragraph) {
                    (b"p", None) => {
                        if paragraphs > 0 {
                            self.text.push('\n');
                        }
                        paragraphs += 1;
                        paragraph = Some(here);
                    }
                    (b"span" | b"a", Some(_)) => {}
                    (b"s", Some(_)) => push_spaces(&element, &mut self.text, &self.limits)?,
                    (b"tab", Some(_)) => self.text.push('\t'),
                    (b"line-break", Some(_)) => self.text.push('\n'),
                    _ => self.xml.skip(&mut self.buffer)?,
                },
                Event::Empty(element) => match (element.local_name().as_ref(), paragraph) {
                    (b"p", None) => {
                        if paragraphs > 0 {
                            self.text.push('\n');
                        }
                        paragraphs += 1;
                    }
                    (b"s", Some(_)) => push_spaces(&element, &mut self.text, &self.limits)?,
                    (b"tab", Some(_)) => self.text.push('\t'),
                    (b"line-break", Some(_)) => self.text.push('\n'),
                    _ => {}
                },
                Event::Text(text) if paragraph.is_some() => push_text(&text, &mut self.text)?,
                Event::GeneralRef(entity) if paragraph.is_some() => push_entity(&entity, &mut self.text)?,
                Event::End(_) if here < depth => return Ok(()),
                Event::End(_) if paragraph.is_some_and(|paragraph| here < paragraph) => paragraph = None,
                Event::Eof => return Err(damaged("a part of it ends too early")),
                _ => {}
            }
            self.limits.check_row(self.text.len())?;
        }
    }

    /// Returns the value of a cell whose text is `self.text`.
    fn value_of(&self, tag: &CellTag, row: &mut Row) -> Result<Option<Value>> {
        let start = row.text.len();
        let given = || tag.value.as_deref().unwrap_or(&self.text);
        let odd = |what: &str| {
            damaged(format!("{:?} is not a {what}", given().chars().take(40).collect::<String>()))
        };
        self.limits.check_row(start + given().len())?;
        if tag.is_error {
            row.text.push_str(&self.text);
            return Ok(Some(Value::Error(row.span_from(start))));
        }
        let Some(kind) = tag.kind else {
            if self.text.is_empty() {
                return Ok(tag.has_formula.then_some(Value::Uncomputed));
            }
            row.text.push_str(&self.text);
            return Ok(Some(Value::Text(row.span_from(start))));
        };
        Ok(Some(match kind {
            Kind::Number => match Number::parse(given().trim()).ok_or_else(|| odd("number"))? {
                // ODS writes all numbers as floats, so a whole number is an integer.
                Number::Int(int) => Value::Int(int),
                Number::Real(real) => Value::Real(real),
            },
            Kind::Bool => match given().trim() {
                "true" | "TRUE" => Value::Bool(true),
                "false" | "FALSE" => Value::Bool(false),
                _ => return Err(odd("boolean")),
            },
            Kind::Date => {
                push_iso(given(), &mut row.text);
                Value::Moment(row.span_from(start))
            }
            Kind::Time => {
                let milliseconds = duration(given().trim()).ok_or_else(|| odd("time"))?;
                write_duration(milliseconds, &mut row.text);
                Value::Moment(row.span_from(start))
            }
            Kind::Text if given().is_empty() => return Ok(None),
            Kind::Text => {
                row.text.push_str(given());
                Value::Text(row.span_from(start))
            }
        }))
    }
}

/// Appends the blanks that an element `s` stands for.
fn push_spaces(element: &BytesStart<'_>, out: &mut String, limits: &Limits) -> Result<()> {
    let blanks = raw_attribute(element, b"c")?.map_or(1, |count| count_of(&count)) as usize;
    limits.check_row(out.len().saturating_add(blanks))?;
    out.extend(std::iter::repeat_n(' ', blanks));
    Ok(())
}

/// Returns the milliseconds of a duration such as `PT13H45M00.5S`.
fn duration(text: &str) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |text| (-1.0, text));
    let text = text.strip_prefix('P')?;
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let mut milliseconds = 0.0;
    for (mut part, units) in
        [(days, &[('D', 86_400e3)][..]), (time, &[('H', 3600e3), ('M', 60e3), ('S', 1e3)])]
    {
        for (unit, factor) in units {
            if let Some((number, rest)) = part.split_once(*unit) {
                milliseconds += number.parse::<f64>().ok().filter(|number| *number >= 0.0)? * factor;
                part = rest;
            }
        }
        if !part.is_empty() {
            return None;
        }
    }
    // A limit of about 10,000 years, the range of dates.
    (milliseconds < 3e14).then_some((sign * milliseconds).round() as i64)
}

impl CellTag {
    fn read(element: &BytesStart<'_>) -> Result<CellTag> {
        let mut tag = CellTag { repeat: 1, ..CellTag::default() };
        for attribute in element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| damaged(error.to_string()))?;
            let value = &attribute.value;
            match attribute.key.local_name().as_ref() {
                b"number-columns-repeated" => tag.repeat = count_of(value),
                b"number-columns-spanned" => tag.spanned = count_of(value),
                // LibreOffice writes another attribute with the same local name, for errors.
                b"value-type" => match &**value {
                    b"float" | b"percentage" | b"currency" => tag.kind = Some(Kind::Number),
                    b"date" => tag.kind = Some(Kind::Date),
                    b"time" => tag.kind = Some(Kind::Time),
                    b"boolean" => tag.kind = Some(Kind::Bool),
                    b"string" => tag.kind = tag.kind.or(Some(Kind::Text)),
                    b"error" => tag.is_error = true,
                    _ => {}
                },
                b"value" | b"date-value" | b"time-value" | b"boolean-value" | b"string-value" => {
                    tag.value = Some(unescaped(value)?.into_owned());
                }
                b"formula" => tag.has_formula = true,
                _ => {}
            }
        }
        Ok(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn times_in_ods_are_parsed_as_iso_8601_durations() {
        assert_eq!(duration("PT13H45M00.5S"), Some(49_500_500));
        assert_eq!(duration("PT30H"), Some(108_000_000));
        assert_eq!(duration("P1DT1S"), Some(86_401_000));
        assert_eq!(duration("-PT1M"), Some(-60_000));
        for wrong in ["", "PT1X", "13:45", "PT1H2", "PT-1H", "P1Y"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
