//! Reads spreadsheets: each sheet of a workbook is a table.
//!
//! ```text
//!  file ──> Package (ZIP) ──> Book: sheets, texts, styles ──> Rows: a sheet's cells, row by row ──> SheetSource ──> batches
//!                             xlsx, xlsb, ods, xls                └──> table::find: header, columns
//! ```
//!
//! * A sheet is a table. If a workbook has one sheet, its table is named after the file, like the table of a CSV file; several tables are
//!   named after their sheets. Sheets of charts, dialogs and macros are left out with a note, and so are hidden sheets that the user does
//!   not name. Empty sheets are left out without a note.
//! * The header, titles above it and the names of columns are found by the rules for CSV files (`table`).
//! * The value of a cell follows from its type: text is never a number, and a number is a date if its format shows one (`moment`). A formula
//!   has the value that is stored with it, and errors such as `#N/A` are NULL.
//!
//! A workbook is read from a local file at any offset. Any other input is copied to a temporary file first.
//!
//! Invariant: the memory for shared texts, styles and names is counted while they are read, and limited. A sheet is read as a stream, of
//! which one row is in memory. So neither a ZIP bomb nor two cells at opposite corners of a sheet take much memory.
//!
//! # Why the formats are read here
//!
//! `calamine` 0.38 reads all these formats, is well maintained, and has the MIT license. The tests here compare values with it. But it does
//! not suit a load:
//!
//! * A cell has either a style or a formula, not both. So a formula without a value looks like an empty cell; and dates, times, and dates
//!   with a time have the same type.
//! * It keeps the shared texts of a workbook, each in its own allocation, and all styles with fonts and fills, and limits no memory. Sheets
//!   of ODS and XLS files become dense arrays: two cells at opposite corners make an array of 16 billion cells.
//! * Its readers borrow the workbook, so a source that owns its file can't keep a reader. Rows out of order and repeated cells are returned
//!   in the order of the file.
//!
//! The XML is parsed with `quick-xml`, like in calamine: it parses a stream, has no limits of its own (`xml` adds them), and depends on
//! `memchr` only. The parts of a ZIP file are read as members of an archive (`package`).

mod book;
mod compound;
#[cfg(fuzzing)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
mod limits;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod made;
mod moment;
mod ods;
mod package;
mod records;
mod row;
mod source;
mod strings;
mod styles;
mod table;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod taken;
#[cfg(test)]
mod tests;
mod xls;
mod xlsb;
mod xlsx;
mod xml;

use std::collections::VecDeque;
use std::sync::Arc;

use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::progress::Silent;
use sqluice_core::similar;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::recognised::Recognised;
use sqluice_core::source::{Part, Source};

use self::book::{Book, Sheet, SheetKind};
use self::compound::Compound;
use self::limits::Limits;
use self::ods::Ods;
use self::package::{Bytes, Package};
use self::source::{AllMet, ReadAs, SheetSource};
use self::table::Table;
use self::xls::Xls;
use self::xlsb::Xlsb;
use self::xlsx::Xlsx;
use super::address::Area;
use super::opened::{Content, OpenRequest, Opened, SampledRows, WantedRows};
use super::sample::{SampleFacts, changed};
use super::{FileFormat, Format};
use crate::convert::Conversion;
use crate::input::InputFile;

/// The maximum number of rows in a sample.
const SAMPLE_ROWS: u64 = 16 << 10;

/// The number of bytes of XML that are read for each byte of the sample's size.
const XML_SHARE: u64 = 4;

/// The reader of spreadsheets.
pub(super) struct Sheets;

impl Format for Sheets {
    fn open(
        &self,
        this: &'static FileFormat,
        mut input: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>> {
        let folder = (request.temp_folder)()?;
        input.decompress(&folder, &Silent)?;
        input.keep(&folder, &Silent)?;
        let limits = Limits::new(request.memory_bytes, request.record_bytes_max, request.cancel.clone());
        let at_file = |error: Error| match error.place() {
            Some(_) => error,
            None => error.at(Place::file(input.name())),
        };
        let (format, book) = open_book(&input, this, &limits).map_err(at_file)?;
        let Chosen { sheets: chosen, notes } = choose(&*book, request).map_err(at_file)?;
        let mut opened = Vec::new();
        for (sheet, area) in &chosen {
            let Some((table, columns)) = table::find(&*book, *sheet, area, request)? else {
                continue;
            };
            let input = input.again().ok_or_else(changed)?;
            opened.push(open_sheet(format, input, &book, *sheet, table, columns, request)?);
        }
        let Some(first) = opened.first_mut() else {
            let error = Error::input(match &chosen[..] {
                [(sheet, _)] => format!("sheet {} has no cells to load", book.sheets()[*sheet].name),
                _ => "no sheet has cells to load".to_owned(),
            });
            return Err(at_file(error));
        };
        first.columns.notes.splice(0..0, notes);
        // The file name says more than `Sheet1` does. Empty sheets do not count: a new workbook may have several.
        let of_range = request.options.range.as_ref().and_then(|range| range.sheet());
        let is_named = !request.options.sheets.is_empty() || of_range.is_some();
        let is_chosen = is_named && visible(&*book) > 1;
        if !request.tables.is_empty() || opened.len() == 1 && !is_chosen {
            opened.iter_mut().for_each(|opened| opened.table = None);
        }
        Ok(opened)
    }
}

/// Opens a workbook in the format that its content shows, whatever its extension is.
fn open_book(
    input: &InputFile,
    this: &'static FileFormat,
    limits: &Limits,
) -> Result<(&'static FileFormat, Arc<dyn Book>)> {
    let (file, start, bytes) = input.file()?;
    let bytes = Bytes { file, start, bytes, name: input.name().to_owned() };
    let mut magic = [0; 8];
    let is_read = bytes.read(0, &mut magic).is_ok();
    if magic == compound::MAGIC {
        return Ok((&super::XLS, Arc::new(Xls::open(Compound::open(bytes, limits)?, limits)?)));
    }
    if !is_read || !magic.starts_with(b"PK") {
        let error = Error::input(format!("the file is not {}", this.words));
        return Err(error.hint("is it the right file?"));
    }
    let package = Package::open(bytes, limits, |name| Xlsx::is_wanted(name) || Ods::is_wanted(name))?;
    if Ods::is_here(&package) {
        return Ok((&super::ODS, Arc::new(Ods::open(package, limits)?)));
    }
    let workbook = xlsx::workbook_part(&package, limits)?;
    Ok(match workbook.ends_with(".bin") {
        true => (&super::XLSB, Arc::new(Xlsb::open(package, &workbook, limits)?)),
        false => (&super::XLSX, Arc::new(Xlsx::open(package, &workbook, limits)?)),
    })
}

/// The sheets to load.
struct Chosen {
    /// The index of each sheet in [`Book::sheets`], and the range of cells to load.
    sheets: Vec<(usize, Area)>,
    /// Notes about the sheets that are left out.
    notes: Vec<Message>,
}

/// Chooses the sheets to load.
fn choose(book: &dyn Book, request: &OpenRequest<'_>) -> Result<Chosen> {
    let sheets = book.sheets();
    let options = request.options;
    let range = options.range.as_ref();
    let of_range = range.and_then(|range| range.sheet());
    let named: Vec<&str> = match (&options.sheets[..], of_range) {
        ([], Some(sheet)) => vec![sheet],
        (named, _) => named.iter().map(String::as_str).collect(),
    };
    let mut notes = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    for name in &named {
        let sheet = find(book, name)?;
        if let SheetKind::Other(what) = sheets[sheet].kind {
            return Err(Error::input(format!("sheet {} has {what}, and no cells", sheets[sheet].name)));
        }
        if !chosen.contains(&sheet) {
            chosen.push(sheet);
        }
    }
    if named.is_empty() {
        for (index, sheet) in sheets.iter().enumerate() {
            match sheet.kind {
                SheetKind::Other(what) => {
                    notes.push(
                        format!("sheet {} is left out: it has {what}, and no cells", sheet.name).into(),
                    );
                }
                SheetKind::Cells if sheet.is_hidden => notes.push(message![
                    format!("sheet {} is left out, as it is hidden; ", sheet.name),
                    Setting::Sheet.to(&sheet.name),
                    " loads it",
                ]),
                SheetKind::Cells => chosen.push(index),
            }
        }
    }
    if chosen.is_empty() {
        let error = Error::input("the workbook has no sheet with cells that is not hidden");
        return Err(match sheets.iter().find(|sheet| sheet.kind == SheetKind::Cells) {
            Some(hidden) => error.hint(message!["name a hidden one: ", Setting::Sheet.to(&hidden.name)]),
            None => error,
        });
    }
    let of_sheet = of_range.map(|name| find(book, name)).transpose()?;
    if let Some(sheet) = of_sheet.filter(|sheet| !chosen.contains(sheet)) {
        let message = message![
            Setting::Range,
            format!(" is about sheet {}, which ", sheets[sheet].name),
            Setting::Sheet,
            " leaves out"
        ];
        return Err(Error::usage(message).hint("leave one of the two out"));
    }
    let area = |sheet: usize| match range {
        Some(range) if of_sheet.is_none_or(|of| of == sheet) => range.area.clone(),
        _ => Area::ALL,
    };
    Ok(Chosen { sheets: chosen.into_iter().map(|sheet| (sheet, area(sheet))).collect(), notes })
}

/// Returns the number of sheets of cells, empty or not, that are not hidden.
fn visible(book: &dyn Book) -> usize {
    let is_visible = |sheet: &&Sheet| sheet.kind == SheetKind::Cells && !sheet.is_hidden;
    book.sheets().iter().filter(is_visible).count()
}

/// Returns the index of the sheet with this name. If no sheet has the name and it is a number, returns the sheet of this number, counted
/// from 1.
fn find(book: &dyn Book, name: &str) -> Result<usize> {
    let sheets = book.sheets();
    let exact = sheets.iter().position(|sheet| sheet.name == name);
    // Names of sheets are the same if they differ only in case, as in spreadsheet programs.
    let found =
        exact.or_else(|| sheets.iter().position(|sheet| sheet.name.to_lowercase() == name.to_lowercase()));
    let number = || name.parse::<usize>().ok()?.checked_sub(1).filter(|index| *index < sheets.len());
    found.or_else(number).ok_or_else(|| {
        let hint = similar::hint(name, sheets.iter().map(|sheet| &*sheet.name));
        Error::input(format!("the workbook has no sheet {name:?}")).hint(hint)
    })
}

/// Opens a sheet: finds its table, and reads a sample of its rows.
fn open_sheet(
    format: &'static FileFormat,
    input: InputFile,
    book: &Arc<dyn Book>,
    sheet: usize,
    table: Table,
    columns: super::opened::Columns,
    request: &OpenRequest<'_>,
) -> Result<Opened> {
    let name = book.sheets()[sheet].name.clone();
    let content = SheetContent {
        book: Arc::clone(book),
        sheet,
        table,
        formulas_are_null: request.options.formulas_are_null,
        part_bytes: request.part_bytes,
        met: AllMet::default(),
    };
    let rows = 0..request.rows_max.min(SAMPLE_ROWS);
    let map = (0..columns.names.len()).map(ColumnFrom::Field).collect();
    let bytes = (request.sample_bytes as u64).saturating_mul(XML_SHARE);
    let wanted = WantedRows { map, as_text: &[], as_blob: &[], rows };
    let mut source = content.read(wanted, AllMet::default())?.stop_after(bytes);
    let mut parts = VecDeque::new();
    let mut error = None;
    loop {
        match source.next_part() {
            Ok(Some(part)) => parts.push_back(part),
            Ok(None) => break,
            Err(other) => {
                error = Some(other);
                break;
            }
        }
    }
    let sample = source.rows_done();
    let whole = error.is_none() && (source.has_ended() || sample >= request.rows_max);
    let mut facts = SampleFacts::of_rows(source.inflated_bytes().max(1), whole);
    facts.sample_bytes = request.sample_bytes;
    let mut recognised = Recognised::new(format.name);
    recognised.sheet = Some(name.clone());
    Ok(Opened {
        table: Some(name.clone()),
        columns,
        types: Vec::new(),
        guesses: Vec::new(),
        moments: Vec::new(),
        recognised,
        words: format!("sheet {name} of a workbook"),
        sample: facts,
        rows: SampledRows::Read(Box::new(Sampled { parts, rows: sample, error })),
        all_malformed: None,
        content: Box::new(content),
        input,
    })
}

/// A source of the rows of a sample, which are already read.
struct Sampled {
    parts: VecDeque<Box<dyn Part>>,
    rows: u64,
    error: Option<Error>,
}

impl Source for Sampled {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        match self.parts.pop_front() {
            Some(part) => Ok(Some(part)),
            None => self.error.take().map_or(Ok(None), Err),
        }
    }
}

impl Counted for Sampled {
    fn rows_done(&self) -> u64 {
        self.rows
    }
}

/// Reads the rows of a sheet.
struct SheetContent {
    book: Arc<dyn Book>,
    sheet: usize,
    table: Table,
    formulas_are_null: bool,
    part_bytes: usize,
    met: AllMet,
}

impl SheetContent {
    /// Returns a source of the rows. It adds what it finds, such as errors in cells, to `met`.
    fn read(&self, wanted: WantedRows<'_>, met: AllMet) -> Result<SheetSource> {
        let WantedRows { map, as_text, rows, .. } = wanted;
        let place = self.book.place(self.sheet);
        let reader = self.book.rows(self.sheet)?;
        let read = ReadAs {
            map,
            as_text: as_text.to_vec(),
            formulas_are_null: self.formulas_are_null,
            part_bytes: self.part_bytes,
            rows,
        };
        let source = SheetSource::new(reader, place, self.table.clone(), read, met);
        Ok(source.with_total(self.book.sheet_bytes(self.sheet)))
    }
}

impl Content for SheetContent {
    fn source(&mut self, _: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        // The findings are reset, because an earlier attempt may have read rows, but loaded none.
        self.met = AllMet::default();
        Ok(Box::new(self.read(wanted, self.met.clone())?))
    }

    fn sample_source(
        &mut self,
        _: &mut InputFile,
        _: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>> {
        // This function may be called after the load has read the rows. Then the findings of the load must stay in `self.met`.
        Ok(Box::new(self.read(wanted, AllMet::default())?))
    }

    fn has_untyped_values(&self) -> bool {
        true
    }

    fn can_convert(&self, conversion: &Conversion) -> bool {
        !conversion.is_number()
    }

    fn late_notes(&self) -> Vec<Message> {
        self.met.notes()
    }

    fn warning(&self) -> Option<Message> {
        self.met.warning().or_else(|| self.table.doubt.clone())
    }
}
