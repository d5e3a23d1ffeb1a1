//! Reads XLSX, Excel workbooks of Office Open XML.
//!
//! ```text
//!  _rels/.rels ──> xl/workbook.xml ──> xl/_rels/workbook.xml.rels ──> xl/worksheets/sheet1.xml     rows, as a stream
//!                  names, states, 1904                                xl/sharedStrings.xml         kept in memory
//!                                                                     xl/styles.xml                kept in memory
//! ```

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::Arc;

use quick_xml::events::{BytesStart, Event};
use sqluice_core::error::{Error, Place, Result};

use super::book::{Book, Sheet, SheetKind};
use super::limits::Limits;
use super::moment::{Epoch, Shown};
use super::package::{Package, damaged};
use super::row::{Cell, Fault, Row, Rows, Value, next_column, next_row};
use super::strings::{Strings, unescape_hex};
use super::styles::Styles;
use super::xml::{Xml, attribute, is_true, raw_attribute, unescaped};
use crate::formats::address::{self, Area};

/// The approximate memory that a sheet's entry takes, without its name.
const SHEET_BYTES: u64 = 256;

/// The maximum number of merged cells that are read to name columns.
const MERGED_MAX: usize = 1 << 16;

/// An open XLSX workbook.
pub(super) struct Xlsx {
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

/// A relationship of a part: the name of the other part, and the last word of the relationship's type.
pub(super) struct Relation {
    pub(super) target: String,
    pub(super) kind: String,
}

impl Xlsx {
    /// Returns `true` if a part may be needed. Other parts, such as pictures, are not read.
    pub(super) fn is_wanted(name: &str) -> bool {
        (name.ends_with(".xml") || name.ends_with(".rels") || name.ends_with(".bin"))
            && !name.contains("/media/")
            && !name.contains("/printersettings/")
    }

    pub(super) fn open(package: Package, workbook: &str, limits: &Limits) -> Result<Xlsx> {
        let relations = relations(&package, workbook, limits)?;
        let mut xlsx = Xlsx {
            package,
            sheets: Vec::new(),
            parts: Vec::new(),
            shared: Arc::new(Shared {
                strings: Strings::default(),
                styles: Styles::default(),
                epoch: Epoch::default(),
                limits: limits.clone(),
            }),
        };
        let epoch = xlsx.read_workbook(workbook, &relations, limits)?;
        let part = |kind: &str| relations.values().find(|relation| relation.kind == kind);
        let open =
            |relation: &Relation| Ok::<_, Error>(Xml::new(xlsx.package.part(&relation.target)?, limits));
        let strings = part("sharedStrings").map(|part| read_strings(open(part)?, limits)).transpose()?;
        let styles = part("styles").map(|part| read_styles(open(part)?, limits)).transpose()?;
        xlsx.shared = Arc::new(Shared {
            strings: strings.unwrap_or_default(),
            styles: styles.unwrap_or_default(),
            epoch,
            limits: limits.clone(),
        });
        Ok(xlsx)
    }

    /// Reads the names of the sheets, and whether numbers count days from 1900 or from 1904.
    fn read_workbook(
        &mut self,
        part: &str,
        relations: &HashMap<String, Relation>,
        limits: &Limits,
    ) -> Result<Epoch> {
        let mut xml = Xml::new(self.package.part(part)?, limits);
        let (mut buffer, mut epoch, mut held) = (Vec::new(), Epoch::Of1900, 0);
        loop {
            match xml.next(&mut buffer)? {
                Event::Start(element) | Event::Empty(element) => match element.local_name().as_ref() {
                    b"workbookPr" => {
                        let is_1904 =
                            raw_attribute(&element, b"date1904")?.is_some_and(|value| is_true(&value));
                        epoch = if is_1904 { Epoch::Of1904 } else { Epoch::Of1900 };
                    }
                    b"sheet" => {
                        let name =
                            attribute(&element, b"name")?.ok_or_else(|| damaged("a sheet has no name"))?;
                        held += SHEET_BYTES + name.len() as u64;
                        limits.check_held("the list of sheets", held)?;
                        let state = raw_attribute(&element, b"state")?;
                        let is_hidden =
                            state.is_some_and(|state| matches!(&*state, b"hidden" | b"veryHidden"));
                        let id = attribute(&element, b"id")?.unwrap_or_default();
                        let relation = relations.get(&id);
                        let relation = relation
                            .ok_or_else(|| damaged(format!("the part of sheet {name} is missing")))?;
                        self.sheets.push(Sheet { name, kind: kind_of(&relation.kind), is_hidden });
                        self.parts.push(relation.target.clone());
                    }
                    _ => {}
                },
                Event::Eof => return Ok(epoch),
                _ => {}
            }
        }
    }
}

/// Returns the kind of a sheet by its relationship type.
pub(super) fn kind_of(relation: &str) -> SheetKind {
    match relation {
        "chartsheet" => SheetKind::Other("a chart"),
        "dialogsheet" => SheetKind::Other("a dialog"),
        "xlMacrosheet" | "xlIntlMacrosheet" => SheetKind::Other("macros"),
        _ => SheetKind::Cells,
    }
}

/// Returns the name of the part that lists the sheets.
pub(super) fn workbook_part(package: &Package, limits: &Limits) -> Result<String> {
    let root = if package.has("_rels/.rels") { relations(package, "", limits)? } else { HashMap::new() };
    let named = root.into_values().find(|relation| relation.kind == "officeDocument");
    let usual = ["xl/workbook.xml", "xl/workbook.bin"].into_iter().find(|part| package.has(part));
    named
        .map(|relation| relation.target)
        .or(usual.map(str::to_owned))
        .ok_or_else(|| Error::input("the file is not a workbook: it has no list of sheets"))
}

/// Reads the relationships of a part, by their ids.
pub(super) fn relations(package: &Package, part: &str, limits: &Limits) -> Result<HashMap<String, Relation>> {
    let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
    let beside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let mut relations = HashMap::new();
    let mut xml = Xml::new(package.part(&format!("{beside}_rels/{file}.rels"))?, limits);
    let (mut buffer, mut held) = (Vec::new(), 0);
    loop {
        match xml.next(&mut buffer)? {
            Event::Start(element) | Event::Empty(element)
                if element.local_name().as_ref() == b"Relationship" =>
            {
                let [id, kind, target] =
                    [&b"Id"[..], b"Type", b"Target"].map(|name| attribute(&element, name));
                let [id, kind, target] = [id?, kind?, target?].map(Option::unwrap_or_default);
                // The two variants of Office Open XML (strict and transitional) have types that differ only before the last slash.
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                let target = resolved(&beside, &target);
                held += SHEET_BYTES + (id.len() + kind.len() + target.len()) as u64;
                limits.check_held("the list of parts", held)?;
                relations.insert(id, Relation { target, kind });
            }
            Event::Eof => return Ok(relations),
            _ => {}
        }
    }
}

/// Resolves the name `target`, which is relative to a folder, and returns the name of the part in lower case.
fn resolved(folder: &str, target: &str) -> String {
    let target = target.to_lowercase().replace('\\', "/");
    let path = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("{folder}{target}"),
    };
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "." | "" => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Reads the shared texts.
fn read_strings(mut xml: Xml, limits: &Limits) -> Result<Strings> {
    let (mut strings, mut buffer) = (Strings::default(), Vec::new());
    loop {
        match xml.next(&mut buffer)? {
            Event::Start(element) if element.local_name().as_ref() == b"si" => {
                strings.add(limits, |text| read_rich(&mut xml, &mut buffer, text))?;
            }
            Event::Empty(element) if element.local_name().as_ref() == b"si" => {
                strings.add(limits, |_| Ok(()))?
            }
            Event::Eof => return Ok(strings),
            _ => {}
        }
    }
}

/// Appends the text of an element `si` or `is`, which may have several runs. Its phonetic guides are skipped.
fn read_rich(xml: &mut Xml, buffer: &mut Vec<u8>, out: &mut String) -> Result<()> {
    let (depth, start) = (xml.depth(), out.len());
    loop {
        match xml.next(buffer)? {
            Event::Start(element) => match element.local_name().as_ref() {
                b"t" => xml.text(buffer, out)?,
                b"rPh" => xml.skip(buffer)?,
                _ => {}
            },
            Event::End(_) if xml.depth() < depth => break,
            Event::Eof => return Err(damaged("a part of it ends too early")),
            _ => {}
        }
    }
    unescape_hex(out, start);
    Ok(())
}

/// Reads the styles of cells: for each style, whether it makes a number a date, a time or a duration.
fn read_styles(mut xml: Xml, limits: &Limits) -> Result<Styles> {
    let (mut styles, mut buffer) = (Styles::default(), Vec::new());
    // Elements `xf` also occur in styles that are not styles of cells.
    let mut is_of_cells = false;
    loop {
        match xml.next(&mut buffer)? {
            Event::Start(element) | Event::Empty(element) => match element.local_name().as_ref() {
                b"numFmt" => {
                    let id = number_of(&element, b"numFmtId")?;
                    let code = attribute(&element, b"formatCode")?.unwrap_or_default();
                    styles.add_format(id, &code, limits)?;
                }
                b"cellXfs" => is_of_cells = true,
                b"xf" if is_of_cells => styles.add_style(number_of(&element, b"numFmtId")?, limits)?,
                _ => {}
            },
            Event::End(element) if element.local_name().as_ref() == b"cellXfs" => is_of_cells = false,
            Event::Eof => return Ok(styles),
            _ => {}
        }
    }
}

fn number_of(element: &BytesStart<'_>, name: &[u8]) -> Result<u32> {
    let value = raw_attribute(element, name)?;
    let text = value.as_deref().and_then(|value| str::from_utf8(value).ok());
    Ok(text.and_then(|text| text.trim().parse().ok()).unwrap_or_default())
}

impl Book for Xlsx {
    fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    fn rows(&self, sheet: usize) -> Result<Box<dyn Rows>> {
        let xml = Xml::new(self.package.part(&self.parts[sheet])?, &self.shared.limits);
        Ok(Box::new(XlsxRows {
            xml,
            shared: Arc::clone(&self.shared),
            buffer: Vec::new(),
            value: String::new(),
            row: 0,
            state: State::Before,
        }))
    }

    /// Returns the merged cells of a sheet whose first row is `row`. In the part of the sheet, merged cells come after the rows. So the
    /// part is inflated and searched for elements `mergeCell`, and its rows are not parsed.
    fn merged(&self, sheet: usize, row: u32) -> Result<Vec<Area>, Fault> {
        let mut part = BufReader::with_capacity(64 << 10, self.package.part(&self.parts[sheet])?);
        let mut merged = Vec::new();
        let mut text = Vec::new();
        // The part is read up to each `>`, so that `text` has at most one tag, which ends with `text`.
        let unreadable = |error| Error::from_read(self.package.file(), error);
        let finder = memchr::memmem::Finder::new(b"mergeCell ");
        loop {
            text.clear();
            let limit = self.shared.limits.row_bytes_max as u64;
            let read = part.by_ref().take(limit).read_until(b'>', &mut text).map_err(unreadable)?;
            self.shared.limits.check_cancel()?;
            if read == 0 || text.ends_with(b"mergeCells>") && text.ends_with(b"/mergeCells>") {
                return Ok(merged);
            }
            let Some(at) = finder.find(&text) else { continue };
            let reference = memchr::memmem::find(&text[at..], b"ref=").map(|found| &text[at + found + 5..]);
            let area = reference.and_then(|text| {
                let end = text.iter().position(|byte| matches!(byte, b'"' | b'\''))?;
                Area::parse(str::from_utf8(&text[..end]).ok()?)
            });
            merged.extend(area.filter(|area| *area.rows.start() == row));
            if merged.len() > MERGED_MAX {
                return Ok(merged);
            }
        }
    }

    fn sheet_bytes(&self, sheet: usize) -> Option<u64> {
        self.package.bytes_of(&self.parts[sheet])
    }

    fn place(&self, sheet: usize) -> Place {
        Place::sheet(self.package.file(), &self.sheets[sheet].name)
    }
}

/// The state of a reader of rows: before, in or after the rows of its part.
enum State {
    Before,
    InRows,
    After,
}

/// A reader of a sheet's rows.
struct XlsxRows {
    xml: Xml,
    shared: Arc<Shared>,
    buffer: Vec<u8>,
    /// The text of the current cell's value, whose buffer is reused.
    value: String,
    /// The number of the last row that was read.
    row: u32,
    state: State,
}

/// The type of a cell, from its attribute `t`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Number,
    Shared,
    Formula,
    Inline,
    Bool,
    Error,
    Iso,
}

impl Rows for XlsxRows {
    fn next(&mut self, row: &mut Row) -> Result<bool, Fault> {
        loop {
            let before = self.row;
            let in_row = |error| match before {
                0 => Fault::from(error),
                row => Fault::in_row(error, row),
            };
            let is_row = match self.xml.next(&mut self.buffer).map_err(in_row)? {
                Event::Start(element) => match (&self.state, element.local_name().as_ref()) {
                    (State::Before, b"sheetData") => {
                        self.state = State::InRows;
                        false
                    }
                    (State::InRows, b"row") => {
                        self.row = number_of_row(&element, self.row)?;
                        true
                    }
                    _ => false,
                },
                // A row without cells, written as an empty element.
                Event::Empty(element) => {
                    if matches!(self.state, State::InRows) && element.local_name().as_ref() == b"row" {
                        self.row = number_of_row(&element, self.row)?;
                    }
                    false
                }
                Event::End(element) if element.local_name().as_ref() == b"sheetData" => {
                    self.state = State::After;
                    return Ok(false);
                }
                Event::Eof => return Ok(false),
                _ => false,
            };
            if is_row {
                row.begin(self.row);
                self.read_cells(row)?;
                row.sort()?;
                if !row.cells.is_empty() {
                    return Ok(true);
                }
            }
        }
    }

    fn inflated_bytes(&self) -> u64 {
        self.xml.part().inflated_bytes()
    }

    fn file_bytes(&self) -> u64 {
        self.xml.part().compressed_bytes()
    }
}

/// Returns the number of a row. Without an attribute, it is `before + 1`; it must be greater than `before`.
fn number_of_row(element: &BytesStart<'_>, before: u32) -> Result<u32, Fault> {
    let Some(value) = raw_attribute(element, b"r")? else { return next_row(before) };
    let number = match address::parts(&value) {
        Some((None, Some(row))) => row,
        _ => {
            let value = String::from_utf8_lossy(&value).chars().take(20).collect::<String>();
            return Err(Fault::in_row(damaged(format!("{value:?} is not a row number")), before.max(1)));
        }
    };
    if number <= before {
        let why = format!("row {number} follows row {before}");
        return Err(Fault::in_row(damaged(why), number));
    }
    Ok(number)
}

impl XlsxRows {
    /// Reads the cells of the row that has just begun.
    fn read_cells(&mut self, row: &mut Row) -> Result<(), Fault> {
        let depth = self.xml.depth();
        let mut column = 0;
        loop {
            let cell =
                match self.xml.next(&mut self.buffer).map_err(|error| Fault::in_row(error, row.number))? {
                    Event::Start(element) if element.local_name().as_ref() == b"c" => {
                        CellTag::read(&element, row.number, column)?
                    }
                    Event::Empty(element) if element.local_name().as_ref() == b"c" => {
                        column = CellTag::read(&element, row.number, column)?.column;
                        continue;
                    }
                    Event::End(_) if self.xml.depth() < depth => return Ok(()),
                    Event::Eof => {
                        return Err(Fault::in_row(damaged("a part of it ends too early"), row.number));
                    }
                    _ => continue,
                };
            column = cell.column;
            let value = self.read_value(&cell, row).map_err(|error| Fault::at(error, row.number, column))?;
            if let Some(value) = value {
                row.cells.push(Cell { column, value });
            }
            row.check(&self.shared.limits)?;
        }
    }

    /// Reads the value of the cell that has just begun.
    fn read_value(&mut self, cell: &CellTag, row: &mut Row) -> Result<Option<Value>> {
        let depth = self.xml.depth();
        let (mut has_formula, mut has_value) = (false, false);
        self.value.clear();
        loop {
            match self.xml.next(&mut self.buffer)? {
                Event::Start(element) => match element.local_name().as_ref() {
                    b"v" if cell.kind != Type::Inline => {
                        has_value = true;
                        self.value.clear();
                        self.xml.text(&mut self.buffer, &mut self.value)?;
                    }
                    b"is" if cell.kind == Type::Inline => {
                        has_value = true;
                        self.value.clear();
                        read_rich(&mut self.xml, &mut self.buffer, &mut self.value)?;
                    }
                    b"f" => {
                        has_formula = true;
                        self.xml.skip(&mut self.buffer)?;
                    }
                    _ => self.xml.skip(&mut self.buffer)?,
                },
                Event::Empty(element) => match element.local_name().as_ref() {
                    b"f" => has_formula = true,
                    b"v" => has_value = true,
                    _ => {}
                },
                Event::End(_) if self.xml.depth() < depth => break,
                Event::Eof => return Err(damaged("a part of it ends too early")),
                _ => {}
            }
        }
        if self.value.is_empty() {
            // An empty text may be the result of a formula. Any other formula without a value has not been computed.
            let is_empty_text = has_value && matches!(cell.kind, Type::Formula | Type::Inline | Type::Shared);
            return Ok((has_formula && !is_empty_text).then_some(Value::Uncomputed));
        }
        self.value_of(cell, row)
    }

    /// Returns the value of a cell whose text was read into `self.value`.
    fn value_of(&mut self, cell: &CellTag, row: &mut Row) -> Result<Option<Value>> {
        let text = &mut self.value;
        let odd = |what: &str, text: &str| {
            let text: String = text.chars().take(40).collect();
            damaged(format!("{text:?} is not a {what}"))
        };
        Ok(Some(match cell.kind {
            Type::Shared => {
                let index = text.trim().parse().map_err(|_| odd("number of a shared text", text))?;
                let shared = self.shared.strings.get(index)?;
                if shared.is_empty() {
                    return Ok(None);
                }
                self.shared.limits.check_row(row.text.len() + shared.len())?;
                Value::Text(row.add_text(|out| out.push_str(shared)))
            }
            Type::Formula | Type::Inline => {
                if cell.kind == Type::Formula {
                    unescape_hex(text, 0);
                }
                self.shared.limits.check_row(row.text.len() + text.len())?;
                Value::Text(row.add_text(|out| out.push_str(text)))
            }
            Type::Bool => match text.trim() {
                "1" | "true" => Value::Bool(true),
                "0" | "false" => Value::Bool(false),
                _ => return Err(odd("boolean", text)),
            },
            Type::Error => Value::Error(row.add_text(|out| out.push_str(text))),
            Type::Iso => Value::Moment(row.add_text(|out| push_iso(text, out))),
            Type::Number => {
                let number = Number::parse(text.trim()).ok_or_else(|| odd("number", text))?;
                let shown = cell.style.map_or(Shown::Number, |style| self.shared.styles.shown(style));
                number.value(shown, self.shared.epoch, row)
            }
        }))
    }
}

/// Writes a date or time of ISO 8601 in the form of all dates here: a blank before the time, and 3, 6 or 9 digits of fractions.
pub(super) fn push_iso(text: &str, out: &mut String) {
    let (date, time) = text.trim().split_once('T').unwrap_or((text.trim(), ""));
    out.push_str(date);
    if !date.is_empty() && !time.is_empty() {
        out.push(' ');
    }
    match time.split_once('.') {
        Some((seconds, fraction)) if fraction.bytes().all(|byte| byte.is_ascii_digit()) => {
            out.push_str(seconds);
            let digits = fraction.trim_end_matches('0');
            if !digits.is_empty() {
                out.push('.');
                out.push_str(digits);
                out.extend(std::iter::repeat_n('0', digits.len().next_multiple_of(3) - digits.len()));
            }
        }
        _ => out.push_str(time),
    }
}

/// A number, as an integer or a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Real(f64),
}

impl Number {
    /// Parses a number. A 64-bit integer is parsed as such, so that no digit is lost; another number is a float, or an integer as
    /// [`Number::of`] says. Returns `None` for other text, and for a number beyond all floats.
    pub(super) fn parse(text: &str) -> Option<Number> {
        if let Ok(int) = text.parse::<i64>()
            && !text.starts_with('+')
        {
            return Some(Number::Int(int));
        }
        let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
        let real = text.parse::<f64>().ok().filter(|real| real.is_finite() && text.bytes().all(is_number))?;
        Some(Number::of(real))
    }

    /// Returns an integer if the float is a whole number below 2^53, or else the float.
    pub(super) fn of(real: f64) -> Number {
        const HELD_MAX: f64 = (1u64 << 53) as f64;
        match real.trunc() == real && real.abs() < HELD_MAX {
            true => Number::Int(real as i64),
            false => Number::Real(real),
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Int(int) => int as f64,
            Number::Real(real) => real,
        }
    }

    /// Returns the value of a cell with this number: text if the cell's format shows a date, a time or a duration, and the number can be
    /// one.
    pub(super) fn value(self, shown: Shown, epoch: Epoch, row: &mut Row) -> Value {
        if shown != Shown::Number {
            let start = row.text.len();
            if shown.write(self.real(), epoch, &mut row.text) {
                return Value::Moment(row.span_from(start));
            }
        }
        match self {
            Number::Int(int) => Value::Int(int),
            Number::Real(real) => Value::Real(real),
        }
    }
}

/// The attributes of a cell.
struct CellTag {
    column: u32,
    kind: Type,
    style: Option<usize>,
}

impl CellTag {
    /// Parses the attributes of a cell. `before` is the column of the previous cell in the row.
    fn read(element: &BytesStart<'_>, row: u32, before: u32) -> Result<CellTag, Fault> {
        let mut cell = CellTag { column: 0, kind: Type::Number, style: None };
        for attribute in element.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| Fault::in_row(damaged(error.to_string()), row))?;
            match attribute.key.as_ref() {
                b"r" => {
                    let Some((column, of)) = address::cell(&attribute.value) else {
                        let value =
                            String::from_utf8_lossy(&attribute.value).chars().take(20).collect::<String>();
                        return Err(Fault::in_row(
                            damaged(format!("{value:?} is not the address of a cell")),
                            row,
                        ));
                    };
                    if of != row {
                        return Err(Fault::at(
                            damaged(format!("a cell of row {of} is in row {row}")),
                            row,
                            column,
                        ));
                    }
                    cell.column = column;
                }
                b"s" => {
                    cell.style = str::from_utf8(&attribute.value).ok().and_then(|style| style.parse().ok())
                }
                b"t" => {
                    cell.kind = match &*attribute.value {
                        b"n" => Type::Number,
                        b"s" => Type::Shared,
                        b"str" => Type::Formula,
                        b"inlineStr" => Type::Inline,
                        b"b" => Type::Bool,
                        b"e" => Type::Error,
                        b"d" => Type::Iso,
                        other => {
                            let other = unescaped(other)?.chars().take(20).collect::<String>();
                            return Err(Fault::in_row(
                                damaged(format!("{other:?} is not a type of cells")),
                                row,
                            ));
                        }
                    }
                }
                _ => {}
            }
        }
        if cell.column == 0 {
            cell.column = next_column(before, row)?;
        }
        Ok(cell)
    }
}
