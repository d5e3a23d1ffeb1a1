//! A sample read with one dialect, and measures of how well the dialect explains the sample: a record is explained if it has the usual
//! number of fields.
//!
//! ```text
//!  Sales of May;          preamble   lines before the first record of the usual width
//!  id;name;price          body       `width`: the number of fields of most records
//!  1;ann;3,50
//!  2;bob                             odd record: it has another number of fields
//!  Total;;3,50            footer     odd records at the end of the file
//! ```

use std::collections::HashMap;

use super::super::TrailingDelimiter;
use super::super::delimiter::is_blank;
use super::super::dialect::Dialect;
use super::cell::CellKind;
use super::field::{Field, Row, rows};
use super::header;

/// The most lines before a table.
const PREAMBLE_MAX: usize = 40;

/// The most records of a footer.
const FOOTER_MAX: usize = 3;

/// The number of rows that show whether a header stands below titles.
const HEADED_ROWS: usize = 20;

/// The longest unit, such as `kg` or `m/s`, in bytes.
const UNIT_BYTES_MAX: usize = 16;

/// The most records whose fields are looked at to recognise the header.
const LOOKED_AT_MAX: usize = 100;

/// The most records whose fields are looked at to score a dialect.
const WEIGHED_MAX: usize = 60;

/// A sample read with a dialect.
#[derive(Debug)]
pub(super) struct Reading<'s> {
    pub(super) dialect: Dialect,
    /// The records of the sample, without a record that the end of the sample cuts off.
    pub(super) rows: Vec<Row<'s>>,
    /// The number of fields of most records that have several fields; 1 if no record has several.
    pub(super) width: usize,
    /// The range of the table in `rows`.
    pub(super) body: std::ops::Range<usize>,
    /// The position of the header in `rows` if the header is a comment. Its fields lack the sign of the comment.
    pub(super) commented_header: Option<usize>,
}

/// The kinds of lines that may stand around the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'c> {
    /// `true` if lines that begin with `#` may precede the table.
    pub(super) comments: bool,
    /// `true` if the table may have a header.
    pub(super) header: bool,
    /// `true` if titles may precede the table.
    pub(super) titles: bool,
    /// `true` if a footer may follow the table, because the sample is the whole file.
    pub(super) footer: bool,
    /// The columns of the target table; empty if unknown. A record that names only these is no title.
    pub(super) columns: &'c [&'c str],
}

impl Around<'_> {
    /// Returns `true` if all fields of a record are names of columns of the target table.
    fn names_columns(self, row: &Row<'_>) -> bool {
        let is_name = |field: &Field<'_>| {
            self.columns.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(&field.value))
        };
        !row.fields.is_empty() && row.fields.iter().all(is_name)
    }
}

impl<'s> Reading<'s> {
    /// Reads a sample, whose first byte is on line `line`.
    pub(super) fn of(
        sample: &'s [u8],
        line: u64,
        whole: bool,
        dialect: Dialect,
        around: Around<'_>,
    ) -> Reading<'s> {
        let rows = rows(sample, line, whole, dialect);
        let mut reading = Reading { dialect, width: 1, body: 0..rows.len(), rows, commented_header: None };
        reading.width = reading.usual_width();
        if let Some((header, names)) = reading.find_commented_header(around) {
            reading.rows[header].fields = names;
            reading.commented_header = Some(header);
        }
        reading.body = reading.find_body(around);
        reading
    }

    /// Returns the most frequent number of fields among the records with several fields, or the larger number if two are equally frequent.
    /// Returns 1 if no record has several fields.
    fn usual_width(&self) -> usize {
        let of_several = |row: &&Row<'_>| row.fields.len() >= 2;
        // Comments may outnumber the records.
        let unmarked = self.rows.iter().filter(|row| !row.begins_as_comment());
        let all_marked = unmarked.clone().filter(of_several).count() < 2;
        let counted: Vec<&Row<'_>> = match all_marked {
            true => self.rows.iter().filter(of_several).collect(),
            false => unmarked.filter(of_several).collect(),
        };
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for row in counted {
            *counts.entry(row.fields.len()).or_default() += 1;
        }
        counts.into_iter().max_by_key(|&(width, count)| (count, width)).map_or(1, |(width, _)| width)
    }

    fn find_body(&self, around: Around<'_>) -> std::ops::Range<usize> {
        let rows = self.rows.len();
        if self.width < 2 {
            let leading = self.rows.iter().take_while(|row| row.begins_as_comment()).count();
            return if around.comments && leading < rows { leading..rows } else { 0..rows };
        }
        let start = match self.commented_header {
            Some(header) => header,
            None => self.after_titles(self.start(around), around),
        };
        let mut end = rows;
        while around.footer && end > start + 2 && rows - end < FOOTER_MAX && !self.is_usual(end - 1) {
            end -= 1;
        }
        // More than `FOOTER_MAX` odd records are no footer.
        if end > start + 2 && !self.is_usual(end - 1) {
            end = rows;
        }
        let looks_like_one = (end..rows).any(|row| self.rows[row].is_title()) || end == rows;
        start..if looks_like_one { end } else { rows }
    }

    /// Returns the position of the last comment before the first record, if this comment names the columns: `#chrom<tab>start`. Returns
    /// the names, too.
    fn find_commented_header(&self, around: Around<'_>) -> Option<(usize, Vec<Field<'s>>)> {
        if self.width < 2 || !around.comments || !around.header {
            return None;
        }
        let first = self.rows.iter().take_while(|row| row.begins_as_comment()).count();
        let (header, next) = (first.checked_sub(1)?, self.rows.get(first)?);
        let names = self.names_in_comment(&self.rows[header], next)?;
        let score = header::score(&names, &self.values(first));
        let rest = self.values(first + 1);
        let decided = header::decide(&next.fields, &rest, &[]);
        let next_is_header = next.fields.len() == self.width
            && decided.header
            && (!decided.close || header::score(&next.fields, &rest) >= score);
        (score > 0.0 && !next_is_header).then_some((header, names))
    }

    /// Returns the fields of a comment without its sign, if they can be names of columns.
    fn names_in_comment(&self, comment: &Row<'s>, next: &Row<'s>) -> Option<Vec<Field<'s>>> {
        let delimiter = self.dialect.delimiter;
        let mut names = comment.fields.clone();
        let first = &names.first()?.value;
        let is_spaced = first.get(1).is_none_or(|&byte| is_blank(byte));
        match delimiter.comment_sign_bytes(first) {
            0 if delimiter.is_whitespace() => drop(names.remove(0)),
            0 => return None,
            bytes => names[0] = Field::new(first[bytes..].to_vec(), false),
        }
        // Values and sentences may begin with `# `, or have commas.
        let is_name = |name: &Field<'_>| matches!(name.kind(), CellKind::Text | CellKind::Truth);
        let are_names = || comment.line + 1 == next.line && names.iter().all(is_name);
        let fits = names.len() == self.width
            && !names[0].value.starts_with(b"#")
            && !names[0].value.starts_with(b"!")
            && !names.iter().any(|name| name.value.starts_with(b" "));
        (fits && (!is_spaced || are_names())).then_some(names)
    }

    /// Returns this reading, whose dialect has comments, with the header that stands in a comment.
    pub(super) fn with_commented_header(mut self, header: Row<'s>) -> Reading<'s> {
        let footer = self.rows.len() - self.body.end;
        self.rows.retain(|row| row.line > header.line);
        self.rows.insert(0, header);
        self.body = 0..self.rows.len() - footer.min(self.rows.len() - 1);
        self.commented_header = Some(0);
        self
    }

    fn start(&self, around: Around<'_>) -> usize {
        let marked = |row: &Row<'_>| around.comments && row.begins_as_comment();
        let leading = self.rows.iter().take_while(|row| marked(row)).count();
        // The last comment may name the columns: `#chrom<tab>start`.
        let names = |row: &Row<'_>| {
            let spaced = |field: &Field<'_>| field.value.starts_with(b" ") || field.value.starts_with(b"# ");
            !row.fields.iter().any(spaced)
        };
        if leading > 0
            && self.is_usual(leading - 1)
            && names(&self.rows[leading - 1])
            && leading < self.rows.len()
        {
            let rest = self.values(leading + 1);
            let next_is_header =
                header::score(&self.rows[leading].fields, &rest) > 0.0 && self.is_usual(leading);
            if !next_is_header || self.rows[leading..].iter().any(Row::begins_as_comment) {
                return leading - 1;
            }
        }
        if self.trailing_delimiter(leading).is_some() {
            return leading;
        }
        let first = (leading..self.rows.len()).find(|&row| self.is_usual(row)).unwrap_or(leading);
        let titles = &self.rows[leading..first];
        // Lines that are all malformed are faults, and no titles.
        let malformed = titles.iter().all(|row| row.fields.is_empty());
        if malformed || !around.titles {
            return leading;
        }
        if let Some(named) = titles.iter().position(|row| around.names_columns(row)) {
            return leading + named;
        }
        let usual_after = (first..self.rows.len()).filter(|&row| self.is_usual(row)).count();
        if titles.len() > PREAMBLE_MAX || usual_after < 2 || !titles.iter().all(Row::is_title) {
            return leading;
        }
        // Titles have several words, or an empty line below, or a header below. Other short lines are records that lack fields.
        let is_phrase = |row: &Row<'_>| row.fields.len() <= 1 && row.has_several_words();
        let spaced = self.rows[first].line > self.rows[first - 1].line + 1;
        let headed = || {
            let rest = self.values(first + 1);
            header::score(&self.rows[first].fields, &rest[..rest.len().min(HEADED_ROWS)]) > 0.0
        };
        if titles.iter().all(is_phrase) || spaced || headed() { first } else { leading }
    }

    /// Returns the start of the table behind titles that have as many fields as the records, such as `Sales 2024,,`. The first field of
    /// such a title is text, another is not, and the record below the titles has names over numbers.
    fn after_titles(&self, mut start: usize, around: Around<'_>) -> usize {
        let is_name = |field: &Field<'_>| field.kind() == CellKind::Text;
        let is_empty = |field: &Field<'_>| field.kind() == CellKind::Empty;
        let are_names = |row: usize| self.is_usual(row) && self.rows[row].fields.iter().all(is_name);
        let is_title = |row: usize| {
            let fields = &self.rows[row].fields;
            self.is_usual(row) && fields.first().is_some_and(is_name) && !fields.iter().all(is_name)
        };
        let from = start;
        while around.titles && start - from < PREAMBLE_MAX && start + 2 < self.rows.len() && is_title(start) {
            let continues = |&row: &usize| is_title(row) || self.rows[row].fields.iter().all(is_empty);
            let titles = (start + 1..self.rows.len()).take_while(continues).count();
            let header = start + 1 + titles;
            let is_header = header + 1 < self.rows.len() && are_names(header) && self.is_over_numbers(header);
            if !is_header {
                break;
            }
            start = header;
        }
        start
    }

    /// Returns `true` if a record has text in a column where all records below have numbers.
    fn is_over_numbers(&self, row: usize) -> bool {
        let below: Vec<&[Field<'_>]> = self.rows[row + 1..]
            .iter()
            .filter(|row| row.fields.len() == self.width)
            .take(LOOKED_AT_MAX)
            .map(|row| &row.fields[..])
            .collect();
        let is_over = |(column, field): (usize, &Field<'_>)| {
            let are = |kind: CellKind| below.iter().filter(|row| row[column].kind() == kind).count();
            let numbers = are(CellKind::Number);
            field.kind() == CellKind::Text
                && numbers > 0
                && numbers + are(CellKind::Empty) + are(CellKind::Missing) == below.len()
        };
        self.rows[row].fields.iter().enumerate().any(is_over)
    }

    /// Returns the line and the first unit of the record below `header`, if this record seems to have the units of columns of numbers.
    pub(super) fn units(&self, header: usize) -> Option<(u64, String)> {
        let row = self.rows.get(header + 1).filter(|row| row.fields.len() == self.width)?;
        let is_short = |field: &Field<'_>| match field.kind() {
            CellKind::Text => field.value.len() <= UNIT_BYTES_MAX,
            kind => kind == CellKind::Empty || kind == CellKind::Missing,
        };
        // In a file of one column, a short text need not be a unit.
        if self.width < 2 || !row.fields.iter().all(is_short) || !self.is_over_numbers(header + 1) {
            return None;
        }
        let unit = row.fields.iter().find(|field| field.kind() == CellKind::Text)?;
        Some((row.line, String::from_utf8_lossy(&unit.value).into_owned()))
    }

    /// Returns the records that end with a surplus delimiter: the header, at `first`, or all other records, if their last field is mostly
    /// empty.
    pub(super) fn trailing_delimiter(&self, first: usize) -> Option<TrailingDelimiter> {
        let header = &self.rows.get(first)?.fields;
        let rest = &self.rows[first + 1..];
        let usual = || rest.iter().filter(|row| row.fields.len() == self.width);
        let is_empty = |field: &Field<'_>| field.value.is_empty() && !field.quoted;
        let ends_empty = |fields: &[Field<'_>]| fields.last().is_some_and(is_empty);
        if usual().count() * 10 < rest.len() * 9 || rest.is_empty() || self.width < 2 {
            return None;
        }
        let is_named = !header.is_empty() && !header[..header.len() - 1].iter().any(is_empty);
        if header.len() + 1 == self.width && is_named && !ends_empty(header) {
            // A row with text in this field becomes a bad row.
            let empty = usual().filter(|row| ends_empty(&row.fields)).count();
            return (empty * 3 >= usual().count() * 2).then_some(TrailingDelimiter::Rows);
        }
        let header_alone = header.len() == self.width + 1 && is_named && ends_empty(header);
        header_alone.then_some(TrailingDelimiter::Header)
    }

    /// Returns the position from which on all records of the table have the usual width.
    pub(super) fn last_table(&self) -> usize {
        let usual = self.body.clone().rev().take_while(|&row| self.is_usual(row)).count();
        self.body.end - usual
    }

    fn is_usual(&self, row: usize) -> bool {
        self.rows[row].fields.len() == self.width
    }

    /// Returns the first records of the usual width from `from` on.
    pub(super) fn values(&self, from: usize) -> Vec<&[Field<'s>]> {
        let to = self.body.end;
        let usual = self.rows[from.min(to)..to].iter().filter(|row| row.fields.len() == self.width);
        usual.take(LOOKED_AT_MAX).map(|row| &row.fields[..]).collect()
    }

    /// Returns the number of records of the table that have the usual width.
    pub(super) fn usual(&self) -> usize {
        self.body.clone().filter(|&row| self.is_usual(row)).count()
    }

    /// Returns the positions of the records of the table, without records that may be comments.
    fn table(&self) -> impl Iterator<Item = usize> {
        self.body.clone().filter(|&row| self.is_usual(row) || !self.rows[row].begins_as_comment())
    }

    /// Returns the share of the table's records that have the usual width.
    pub(super) fn explained(&self) -> f64 {
        share(self.usual(), self.table().count())
    }

    /// Returns the share of the table's records that have the delimiter.
    pub(super) fn parted(&self) -> f64 {
        share(self.table().filter(|&row| self.rows[row].fields.len() >= 2).count(), self.table().count())
    }

    /// Returns the share of the table's records that have about the usual width: at least two fields, and at most a quarter of the width
    /// (or one field, if this is more) above or below it.
    fn near(&self) -> f64 {
        let slack = (self.width / 4).max(1);
        let near = |row: &usize| {
            self.rows[*row].fields.len().abs_diff(self.width) <= slack && self.rows[*row].fields.len() >= 2
        };
        share(self.table().filter(near).count(), self.table().count())
    }

    /// Returns `true` if the dialect gives most records several columns.
    pub(super) fn is_strong(&self) -> bool {
        let explained = self.explained();
        self.width >= 2
            && (explained >= 0.5 || explained >= 0.3 && self.parted() >= 0.8 && self.near() >= 0.75)
    }

    /// Returns a score between 0 and 1. The score grows with the share of explained records, the likeness of their fields to values, and
    /// the number of columns.
    pub(super) fn score(&self) -> f64 {
        if self.width < 2 {
            return 0.0;
        }
        let (mut sum, mut fields) = (0.0, 0.0);
        for field in self.values(self.body.start).into_iter().take(WEIGHED_MAX).flatten() {
            sum += likeness(field);
            fields += 1.0;
        }
        let like: f64 = if fields == 0.0 { 0.0 } else { sum / fields };
        self.explained() * like.powi(2) * (1.0 - 1.0 / self.width as f64)
    }

    /// Returns the share of the filled fields that are numbers, dates and the like, without the first record.
    pub(super) fn typed(&self) -> f64 {
        let values = self.values(self.body.start + 1);
        let fields = || values.iter().take(WEIGHED_MAX).copied().flatten().map(Field::kind);
        let filled = fields().filter(|kind| *kind != CellKind::Empty).count();
        share(fields().filter(|kind| kind.is_typed()).count(), filled)
    }

    /// Returns `true` if this reading, with the quote `'`, is clearly better than `double`, the reading with the quote `"`.
    pub(super) fn has_clear_quotes(&self, double: &Reading<'_>) -> bool {
        let all = || self.rows.iter().flat_map(|row| &row.fields);
        if self.width < 2 && double.width >= 2
            || all().any(|field| !field.quoted && field.value.starts_with(b"\""))
            || !all().any(|field| field.quoted)
        {
            return false;
        }
        let values = self.values(self.body.start + 1);
        let quoted_column = |column: usize| {
            let fields = || values.iter().filter_map(|row| row.get(column));
            let quoted = fields().filter(|field| field.quoted).count();
            let filled = fields().filter(|field| field.quoted || !field.value.is_empty()).count();
            quoted >= 2 && quoted * 10 >= filled * 9
        };
        let explains_more = self.explained() > double.explained() && self.sound() >= double.sound();
        let sound = share(self.sound(), self.rows.len());
        explains_more && self.explained() >= 0.9 || sound >= 0.65 && (0..self.width).any(quoted_column)
    }

    /// Returns `true` if the lines that begin with `#` between the records are comments.
    pub(super) fn has_comments(&self) -> bool {
        let rows = || self.rows[self.body.start..].iter().skip(1);
        let marked = || rows().filter(|row| row.begins_as_comment());
        let spaced = |row: &&Row<'_>| row.fields.first().is_some_and(|field| field.value.starts_with(b"# "));
        let clear = marked().filter(|row| row.fields.len() != self.width || spaced(row)).count();
        let all = marked().count();
        // If comments outnumber the records, all records must have the usual width.
        let are_few = || all * 2 <= rows().count();
        let is_usual = |row: &Row<'_>| row.begins_as_comment() || row.fields.len() == self.width;
        let are_clear = || clear == all && all < rows().count() && rows().all(is_usual);
        self.width >= 2 && clear > 0 && clear >= 2 * (all - clear) && (are_few() || are_clear())
    }

    /// Returns `true` if some records are malformed.
    pub(super) fn has_faults(&self) -> bool {
        self.sound() < self.rows.len()
    }

    /// Returns `true` if all records have the same number of fields.
    pub(super) fn is_regular(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.fields.len() == self.width)
    }

    /// Returns `true` if the first line that is no comment is neither a record of the usual width nor surely a title.
    pub(super) fn loses_first_line(&self) -> bool {
        // A line above the table that has as many fields as the records was already judged to be a title, so it is no lost record.
        let may_be_record = |row: &&Row<'_>| !row.begins_as_comment() && row.fields.len() != self.width;
        let titles: Vec<&Row<'_>> = self.rows[..self.body.start].iter().filter(may_be_record).collect();
        let Some(first) = self.rows.get(self.body.start) else { return false };
        let spaced = titles.last().is_some_and(|title| first.line > title.line + 1);
        let are_phrases = titles.iter().all(|row| row.has_several_words());
        match titles.len() {
            0 => first.fields.len() != self.width,
            1 => !spaced || !are_phrases,
            _ => !are_phrases,
        }
    }

    /// Returns `true` if a field begins and ends with `quote`.
    pub(super) fn has_field_in(&self, quote: u8) -> bool {
        let is_in = |text: &[u8]| text.len() >= 2 && text.starts_with(&[quote]) && text.ends_with(&[quote]);
        self.rows.iter().flat_map(|row| &row.fields).any(|field| is_in(field.value.trim_ascii()))
    }

    /// Returns the line of the first record with a field that begins with `quote`.
    pub(super) fn line_of_quote(&self, quote: u8) -> Option<u64> {
        let has = |row: &&Row<'_>| row.fields.iter().any(|field| field.value.starts_with(&[quote]));
        self.rows.iter().find(has).map(|row| row.line)
    }

    pub(super) fn has_quoted_fields(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.fields).any(|field| field.quoted)
    }

    /// Returns a flag for each column, `true` if the records from `from` on have numbers in the column, and beside them only missing
    /// values.
    pub(super) fn numbers(&self, from: usize) -> Vec<bool> {
        // Records that repeat the header don't count.
        let header =
            from.checked_sub(1).filter(|row| self.body.contains(row)).map(|row| &self.rows[row].fields[..]);
        let is_header = |row: &&[Field<'_>]| {
            header.is_some_and(|header| {
                row.iter().map(|field| &field.value).eq(header.iter().map(|field| &field.value))
            })
        };
        let values: Vec<&[Field<'_>]> = self.values(from).into_iter().filter(|row| !is_header(row)).collect();
        let are_numbers = |column: usize| {
            let kinds = || values.iter().filter_map(|row| row.get(column)).map(Field::kind);
            kinds().any(|kind| kind == CellKind::Number)
                && kinds().all(|kind| matches!(kind, CellKind::Number | CellKind::Empty | CellKind::Missing))
        };
        (0..self.width).map(are_numbers).collect()
    }

    /// Returns the number of records that are not malformed.
    pub(super) fn sound(&self) -> usize {
        self.rows.iter().filter(|row| !row.fields.is_empty()).count()
    }
}

fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// Returns how much a field looks like a whole value, from 0 to 1: less if it has other characters that are usual as delimiters.
fn likeness(field: &Field<'_>) -> f64 {
    if field.quoted {
        return 1.0;
    }
    let text = &field.value;
    let has = |byte: u8| text.contains(&byte);
    if field.kind() != CellKind::Text {
        // A tab after a number, as in `0<tab>`, may be the delimiter of a file that has commas in its values.
        return if has(b'\t') { 0.4 } else { 1.0 };
    }
    if has(b'\t') || has(0x1f) {
        return 0.05;
    }
    if has(b'~') || has(b'^') {
        return 0.5;
    }
    if has(b'|')
        || memchr::memmem::find(text, "¦".as_bytes()).is_some()
        || has(b';')
        || text.starts_with(b"\"")
        || text.ends_with(b"\"")
    {
        return 0.3;
    }
    let commas = text.iter().filter(|&&byte| byte == b',').count();
    let spaced = text.windows(2).filter(|pair| pair == b", ").count();
    if commas > spaced {
        0.4
    } else if commas > 0 {
        0.85
    } else {
        1.0
    }
}
