//! Finds the table on a sheet: its first row, its columns and their names, by the rules for CSV files.
//!
//! ```text
//!      A           B       C
//!  1   Sales 2024                         a title
//!  2
//!  3   city        sold    day            the header
//!  4   Oslo        12      2024-01-31     a row
//! ```
//!
//! The first rows are written as lines of text, in which the code that recognises CSV finds titles and the header. The types of cells are a
//! further sign: words above numbers and dates are a header.
//!
//! The columns are those of the user's range. If there is no range, or it names rows alone, they extend from the first to the last column
//! with a cell in the first rows.

use std::ops::RangeInclusive;

use sqluice_core::error::{Error, Message, Place, Result, Setting, column_letters, message};

use super::book::Book;
use super::row::{Cell, Row, Rows, Value, place, write_plain};
use crate::csv::{Given, sniff, unique};
use crate::formats::address::{Area, COLUMNS_MAX, written};
use crate::formats::csv::trim;
use crate::formats::opened::{Columns, OpenRequest};

/// The maximum number of first rows of a sheet in which the table is searched.
const HEAD_ROWS: usize = 400;
/// The maximum number of bytes of the texts in these first rows.
const HEAD_BYTES: usize = 64 << 10;

/// The delimiter between the cells of a line: a control character that cells rarely contain.
const DELIMITER: char = '\u{1f}';

/// The maximum number of characters of a title that a note shows.
const TITLE_CHARACTERS: usize = 60;

/// The table on a sheet.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The first row that may belong to the table.
    pub(super) first_row: u32,
    /// The last row that may belong to the table.
    pub(super) last_row: u32,
    pub(super) columns: RangeInclusive<u32>,
    /// The user's range, or the whole sheet.
    pub(super) area: Area,
    /// The row number of the header, and the texts of its cells; `None`: the table has no header.
    pub(super) header: Option<(u32, Vec<String>)>,
    /// `true` for each column whose cells in the first rows are mostly numbers, booleans or dates.
    pub(super) typed: Vec<bool>,
    /// A warning if the first rows may contain several tables.
    pub(super) doubt: Option<Message>,
}

/// One of the first rows.
struct HeadRow {
    number: u32,
    cells: Vec<HeadCell>,
}

struct HeadCell {
    column: u32,
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// A number, a boolean or a date.
    Typed,
    Missing,
}

impl HeadCell {
    fn new(row: &Row, cell: &Cell) -> HeadCell {
        let mut text = String::new();
        write_plain(row, cell.value, &mut text);
        let kind = match cell.value {
            Value::Text(_) => Kind::Text,
            Value::Error(_) | Value::Uncomputed => Kind::Missing,
            _ => Kind::Typed,
        };
        HeadCell { column: cell.column, text, kind }
    }
}

/// The first rows of a sheet.
struct Head {
    rows: Vec<HeadRow>,
    whole: bool,
}

impl Head {
    fn read(rows: &mut dyn Rows, area: &Area, first_row: u32, sheet: &Place) -> Result<Head> {
        let mut head = Head { rows: Vec::new(), whole: false };
        let (mut row, mut bytes) = (Row::default(), 0);
        while head.rows.len() < HEAD_ROWS && bytes < HEAD_BYTES {
            if !rows.next(&mut row).map_err(|fault| fault.placed(sheet))? || row.number > *area.rows.end() {
                head.whole = true;
                break;
            }
            // A repeated row is added once: its repetitions show nothing new.
            let cells = row.cells.iter().filter(|cell| area.columns.contains(&cell.column));
            let cells: Vec<HeadCell> = cells.map(|cell| HeadCell::new(&row, cell)).collect();
            if u64::from(row.number) + u64::from(row.repeat) <= u64::from(first_row) || cells.is_empty() {
                continue;
            }
            bytes += cells.iter().map(|cell| cell.text.len() + 1).sum::<usize>();
            head.rows.push(HeadRow { number: row.number, cells });
        }
        Ok(head)
    }

    fn columns(&self, from: usize) -> Option<RangeInclusive<u32>> {
        let rows = &self.rows[from..];
        let first = rows.iter().filter_map(|row| row.cells.first()).map(|cell| cell.column).min()?;
        let last = rows.iter().filter_map(|row| row.cells.last()).map(|cell| cell.column).max()?;
        Some(first..=last)
    }

    /// Writes the rows as lines, with delimiters between cells and empty lines for gaps. A row with one cell at the top may be a title, and ends
    /// with this cell. Returns the text, and for each line the index of its row (for an empty line, of the next row).
    fn lines(&self, columns: &RangeInclusive<u32>) -> (String, Vec<usize>) {
        let (mut text, mut lines) = (String::new(), Vec::new());
        let is_wide = self.rows.iter().any(|row| row.cells.len() > 1);
        let titles = self.rows.iter().take_while(|row| is_wide && row.cells.len() == 1).count();
        for (index, row) in self.rows.iter().enumerate() {
            let is_spaced = index > 0 && self.rows[index - 1].number + 1 < row.number;
            if is_spaced && is_wide {
                text.push('\n');
                lines.push(index);
            }
            let mut cells = row.cells.iter().peekable();
            let last = if index < titles { row.cells[0].column } else { *columns.end() };
            let first = if index < titles { last } else { *columns.start() };
            for column in first..=last {
                if column > first {
                    text.push(DELIMITER);
                }
                if let Some(cell) = cells.next_if(|cell| cell.column == column) {
                    text.extend(cell.text.chars().map(|character| match character {
                        '\n' | '\r' | DELIMITER => ' ',
                        other => other,
                    }));
                }
            }
            text.push('\n');
            lines.push(index);
        }
        (text, lines)
    }

    /// Returns `true` if a row looks like a header: all its cells are text, and below one of them the first cell and most others are typed.
    fn is_over_typed(&self, row: usize) -> bool {
        let is_over = |cell: &HeadCell| {
            let below = || {
                let rows = self.rows[row + 1..].iter();
                rows.filter_map(|row| row.cells.iter().find(|below| below.column == cell.column))
                    .filter(|below| below.kind != Kind::Missing)
            };
            let is_typed = |below: &&HeadCell| below.kind == Kind::Typed;
            below().next().is_some_and(|first| is_typed(&first))
                && 2 * below().filter(is_typed).count() >= below().count()
        };
        let cells = &self.rows[row].cells;
        cells.iter().all(|cell| cell.kind == Kind::Text) && cells.iter().any(is_over)
    }
}

/// Finds the table on a sheet. Returns `None` if the sheet has no cells in `area`.
pub(super) fn find(
    book: &dyn Book,
    sheet: usize,
    area: &Area,
    request: &OpenRequest<'_>,
) -> Result<Option<(Table, Columns)>> {
    let sheet_place = book.place(sheet);
    let options = request.options;
    let skipped = options.skip_lines.map(|rows| u32::try_from(rows).unwrap_or(u32::MAX));
    let first_row = area.rows.start().saturating_add(skipped.unwrap_or(0));
    let head = Head::read(&mut *book.rows(sheet)?, area, first_row, &sheet_place)?;
    let Some(all_columns) = head.columns(0) else { return Ok(None) };
    let (text, lines) = head.lines(&all_columns);
    let mut given = Given::new();
    given.delimiter = Some(DELIMITER.to_string().parse()?);
    (given.quote, given.escape, given.comment) = (Some(None), Some(None), Some(None));
    given.header = options.header;
    given.skip_lines = skipped.map(|_| 0);
    given.columns = request.declared;
    let sniffed = sniff(text.as_bytes(), head.whole, &given);
    let skipped_lines = usize::try_from(sniffed.skip_lines).unwrap_or(usize::MAX).min(lines.len() - 1);
    let top = lines[skipped_lines];
    let (header, is_close) = match options.header {
        Some(header) => (header, false),
        None if head.is_over_typed(top) => (true, false),
        None => (sniffed.header, sniffed.header_is_close),
    };
    let mut notes: Vec<Message> = Vec::new();
    if top > 0 {
        let rows = head.rows[top].number - head.rows[0].number;
        let title: String = head.rows[0].cells[0].text.chars().take(TITLE_CHARACTERS).collect();
        let what = match rows {
            1 => format!("row {} is not part of the table", head.rows[0].number),
            _ => format!(
                "rows {} to {} are not part of the table",
                head.rows[0].number,
                head.rows[top].number - 1
            ),
        };
        notes.push(message![
            format!("{what}, and are left out: {title:?}; "),
            Setting::SkipLines.to("0"),
            " keeps all rows",
        ]);
    }
    let columns = match head.columns(top) {
        _ if *area.columns.end() < COLUMNS_MAX => area.columns.clone(),
        Some(columns) => columns,
        None => all_columns,
    };
    if columns.clone().count() > crate::csv::COLUMNS_MAX {
        let error = format!(
            "the table has {} columns, and SQLite takes {}",
            columns.clone().count(),
            crate::csv::COLUMNS_MAX
        );
        let hint = message!["choose some: ", Setting::Range.to("A:Z")];
        return Err(Error::input(error).at(sheet_place).hint(hint));
    }
    let top_row = &head.rows[top];
    let texts_of = |row: &HeadRow| -> Vec<String> {
        let mut cells = row.cells.iter().peekable();
        let text = |column| {
            while cells.next_if(|cell| cell.column < column).is_some() {}
            cells.next_if(|cell| cell.column == column).map_or(String::new(), |cell| cell.text.clone())
        };
        columns.clone().map(text).collect()
    };
    let table_header = header.then(|| (top_row.number, texts_of(top_row)));
    let body = if header { top + 1 } else { top };
    let typed = columns.clone().map(|column| {
        let cells = || {
            let rows = head.rows[body.min(head.rows.len())..].iter();
            rows.filter_map(|row| row.cells.iter().find(|cell| cell.column == column))
        };
        let of = |kind: Kind| cells().filter(|cell| cell.kind == kind).count();
        of(Kind::Typed) > 0 && of(Kind::Typed) >= of(Kind::Text)
    });
    let mut table = Table {
        first_row: if header { top_row.number + 1 } else { top_row.number },
        last_row: *area.rows.end(),
        typed: typed.collect(),
        columns: columns.clone(),
        area: area.clone(),
        header: table_header,
        doubt: None,
    };
    table.doubt = blocks_side_by_side(&head, top, &columns, &sheet_place);
    let mut columns = names(book, sheet, &table, request)?;
    if header && is_close {
        notes.push(message![
            "the first row is taken for a header, which is not sure; if it is a row: ",
            Setting::NoHeader,
        ]);
    }
    if !header && options.header.is_none() {
        notes.push(message!["the first row is taken for a row; if it names the columns: ", Setting::Header]);
    }
    notes.append(&mut columns.notes);
    // In a workbook with one sheet, the file name says enough.
    if book.sheets().len() > 1 {
        let name = &book.sheets()[sheet].name;
        notes = notes.into_iter().map(|note| message![format!("sheet {name}: "), note]).collect();
    }
    columns.notes = notes;
    Ok(Some((table, columns)))
}

/// Returns the names of the columns, and the notes about them.
fn names(book: &dyn Book, sheet: usize, table: &Table, request: &OpenRequest<'_>) -> Result<Columns> {
    let sheet_place = book.place(sheet);
    let mut notes = Vec::new();
    let width = table.columns.clone().count();
    let (mut names, row) = match &table.header {
        Some((row, texts)) => (texts.clone(), Some(*row)),
        None => (vec![String::new(); width], None),
    };
    if let Some(row) = row {
        notes.extend(fill_merged(book, sheet, table, row, &mut names)?);
    }
    let (unique_names, renamed) = unique(names);
    names = unique_names;
    let Some(row) = row else {
        match request.columns {
            Some(given) if given.len() == width => names = given.to_vec(),
            Some(given) => {
                let message = message![
                    format!("the table on sheet {} has {width} columns, and ", book.sheets()[sheet].name),
                    Setting::Columns,
                    format!(" names {}", given.len())
                ];
                return Err(Error::usage(message)
                    .hint("if the table has no header, give a name for each of its columns"));
            }
            None => {}
        }
        return Ok(Columns { names, places: None, notes });
    };
    for renamed in renamed {
        let column = column_letters(u64::from(*table.columns.start()) + renamed.index as u64);
        let was = match renamed.from.is_empty() {
            true => "has no name".to_owned(),
            false => format!("repeats the name {:?}", renamed.from),
        };
        notes.push(format!("column {column} {was}, and is called {:?}", renamed.to).into());
    }
    notes.extend(trim(&mut names, request.named));
    let places = table.columns.clone().map(|column| place(&sheet_place, Some(row), Some(column)));
    Ok(Columns { names, places: Some(places.collect()), notes })
}

/// Copies the name in a merged cell to each column of the merged cell. Returns a note about it.
fn fill_merged(
    book: &dyn Book,
    sheet: usize,
    table: &Table,
    row: u32,
    names: &mut [String],
) -> Result<Option<Message>> {
    // Merged cells are found in another pass over the sheet. The pass is skipped unless a name is followed by an empty cell.
    if !names.windows(2).any(|pair| !pair[0].is_empty() && pair[1].is_empty()) {
        return Ok(None);
    }
    let merged = book.merged(sheet, row).map_err(|fault| fault.placed(&book.place(sheet)))?;
    let mut first = None;
    for area in merged.iter().filter(|area| area.columns.start() < area.columns.end()) {
        let index = |column: u32| column.checked_sub(*table.columns.start()).map(|index| index as usize);
        let Some(from) = index(*area.columns.start()).filter(|from| *from < names.len()) else { continue };
        let name = names[from].clone();
        let to = index(*area.columns.end()).unwrap_or(from).min(names.len() - 1);
        if !name.is_empty() && from < to && names[from + 1..=to].iter().all(String::is_empty) {
            names[from + 1..=to].iter_mut().for_each(|empty| name.clone_into(empty));
            first.get_or_insert_with(|| {
                let cells =
                    format!("{}:{}", written(*area.columns.start(), row), written(*area.columns.end(), row));
                format!("the cells {cells} of the header are merged: {name:?} names each of their columns")
            });
        }
    }
    Ok(first.map(Message::from))
}

/// Returns a warning if an empty column separates other columns: there may be several tables beside each other.
fn blocks_side_by_side(
    head: &Head,
    top: usize,
    columns: &RangeInclusive<u32>,
    sheet: &Place,
) -> Option<Message> {
    let mut filled = vec![false; columns.clone().count()];
    for cell in head.rows[top..].iter().flat_map(|row| &row.cells) {
        if let Some(filled) =
            cell.column.checked_sub(*columns.start()).and_then(|at| filled.get_mut(at as usize))
        {
            *filled = true;
        }
    }
    let start = filled.iter().position(|filled| *filled)?;
    let gap = start + filled[start..].iter().position(|filled| !filled)?;
    filled[gap..].iter().position(|filled| *filled)?;
    let letters = |at: usize| column_letters(u64::from(*columns.start()) + at as u64);
    let row = head.rows[top].number;
    Some(message![
        format!(
            "{}: column {} is empty, between columns that are not: there may be several tables beside each other. They are \
             loaded as one; the first of them alone: ",
            place(sheet, Some(row), None),
            letters(gap),
        ),
        Setting::Range.to(format!("{}:{}", letters(start), letters(gap - 1))),
    ])
}
