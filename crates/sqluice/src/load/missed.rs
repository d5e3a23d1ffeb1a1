//! Columns that are text although nearly all of their values are numbers, and numbers that a declared type changes: found while a
//! sample is looked at, so that the rest of a file costs nothing.

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::{Column, Value, Values};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::schema::Table;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{BadRow, Refused, Sink};
use sqluice_engine::plan::{ChangedText, ColumnReport, MissedType};
use sqluice_sources::infer::{Evidence, Inferred};

use super::files::LoadFile;
use super::request::Request;
use super::tables::LoadTable;
use super::type_names;

/// Of so many values, one may be no number.
const ONE_OF: u64 = 5;

/// Values that are no numbers and more than those that are: so many are enough to look no further.
const OTHERS_MIN: u64 = 16;

/// Bytes of a value that are shown.
const SHOWN_BYTES: usize = 60;

/// What the values of a field say besides their evidence.
#[derive(Clone, Debug, Default)]
pub(super) struct Miss {
    /// The value that made it text.
    first: Option<Found>,
    /// The first number that does not print back alone.
    changed: Option<Found>,
    /// What those that are numbers are.
    near: Evidence,
    /// Values that SQLite takes for numbers.
    numbers: u64,
    /// Values that it does not.
    others: u64,
    /// It has codes: numbers that begin with a zero or a plus.
    codes: bool,
    /// It is text, by far.
    given_up: bool,
}

/// A value of the sample.
#[derive(Clone, Debug)]
struct Found {
    value: String,
    /// Its record, counted from 0.
    row: u64,
    /// Where it is, once that was looked for.
    place: Option<Place>,
}

impl Found {
    fn new(value: Value<'_>, row: u64) -> Found {
        let text = match value {
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Int(int) => int.to_string(),
            Value::Real(real) => real.to_string(),
            Value::Null | Value::Blob(_) => String::new(),
        };
        let value = match text.len() {
            0..=SHOWN_BYTES => text,
            _ => format!("{}...", &text[..text.floor_char_boundary(SHOWN_BYTES)]),
        };
        Found { value, row, place: None }
    }

    fn line(&self) -> Option<u64> {
        self.place.as_ref().and_then(|place| place.line)
    }
}

impl Miss {
    /// Adds the first `rows` values of a column to `evidence`; the first of them is in record `first_row`.
    pub(super) fn see(
        &mut self,
        evidence: &mut Evidence,
        column: &Column<'_>,
        rows: usize,
        typed: bool,
        first_row: u64,
    ) {
        let before = *evidence;
        match typed {
            true => evidence.see_typed(column, rows),
            false => evidence.see(column, rows),
        }
        if self.given_up {
            return;
        }
        if evidence.conclude() != Inferred::Text {
            self.numbers += present(column, rows);
            return;
        }
        let mut at = before;
        if before.conclude() != Inferred::Text {
            (self.first, self.near) = (None, before);
        }
        for row in 0..rows {
            let value = column.get(row);
            if matches!(value, Value::Null) {
                continue;
            }
            if self.first.is_none() {
                at.add_value(value, typed);
                if at.conclude() == Inferred::Text {
                    self.first = Some(Found::new(value, first_row + row as u64));
                }
            }
            self.count(value, typed, first_row + row as u64);
            if self.others > OTHERS_MIN && self.others > self.numbers {
                self.given_up = true;
                return;
            }
        }
    }

    fn count(&mut self, value: Value<'_>, typed: bool, row: u64) {
        let number = match value {
            Value::Text(text) => !matches!(text_to_number(text, Affinity::Numeric), Value::Text(_)),
            _ => true,
        };
        if !number {
            self.others += 1;
            return;
        }
        self.numbers += 1;
        let mut alone = Evidence::new();
        alone.add_value(value, typed);
        match (value, alone.conclude()) {
            (Value::Text(text), Inferred::Text) => {
                self.codes |= is_code(text);
                self.changed.get_or_insert_with(|| Found::new(value, row));
            }
            _ => self.near.merge(alone),
        }
    }

    /// The value because of which the field is text, if it just missed to be of numbers.
    fn just_missed(&self) -> Option<&Found> {
        let nearly = self.numbers >= (ONE_OF - 1) * self.others.max(1);
        self.first.as_ref().filter(|_| nearly && !self.given_up && !self.codes)
    }

    /// The type that it just missed.
    fn near(&self) -> Inferred {
        match (self.near.conclude(), self.changed.is_some()) {
            (Inferred::Integer, false) => Inferred::Integer,
            _ => Inferred::Real,
        }
    }

    /// The first number that is given back by no type of numbers. Where one is meant, only codes count: what else it makes of a number is
    /// what it is for.
    fn changed(&self, is_number_type: bool) -> Option<&Found> {
        self.changed.as_ref().filter(|found| !is_number_type || is_code(found.value.as_bytes()))
    }

    fn found(&mut self) -> impl Iterator<Item = &mut Found> {
        self.first.iter_mut().chain(&mut self.changed)
    }
}

/// Says in `reports`, one for each column of a table, which just missed to be of numbers, and of which values a declared type makes
/// others.
pub(super) fn report(table: &mut LoadTable, load: &Request, declared: &Table, reports: &mut [ColumnReport]) {
    let taking = declared.columns.iter().filter(|column| column.generated.is_none());
    let places: Vec<&str> = taking.map(|column| column.name.as_str()).collect();
    for (column, report) in declared.columns.iter().zip(reports) {
        let (is_made, inferred) = (table.makes(&column.name), table.inferred_type(&column.name));
        let place = places.iter().position(|name| *name == column.name);
        let fields: Vec<Option<usize>> =
            table.files.iter().map(|file| file.field_of(load, &column.name, place)).collect();
        let mut fields = table.files.iter_mut().zip(fields).filter_map(|(file, field)| Some((file, field?)));
        if inferred == Some(Inferred::Text) {
            report.missed = just_missed(fields);
        } else if !is_made && column.affinity.is_numeric() {
            let is_number = type_names::means_number(&column.declared_type);
            report.changed =
                fields.find_map(|(file, field)| changed(file, field, column.affinity, is_number));
        }
    }
}

/// Why a column is text, of the files and fields that it comes from, if it just missed to be of numbers.
fn just_missed<'f>(fields: impl Iterator<Item = (&'f mut LoadFile, usize)>) -> Option<MissedType> {
    let mut missed: Option<MissedType> = None;
    let (mut values, mut others) = (0, 0);
    for (file, field) in fields {
        let miss = &file.misses[field];
        (values, others) = (values + miss.numbers + miss.others, others + miss.others);
        if missed.is_some() || miss.just_missed().is_none() {
            continue;
        }
        locate(file, field);
        let miss = &file.misses[field];
        missed = miss.just_missed().map(|found| MissedType {
            near: miss.near().name(),
            value: found.value.clone(),
            file: Some(file.input.name().to_owned()),
            line: found.line(),
            values: 0,
            others: 0,
        });
    }
    missed.filter(|_| values >= ONE_OF * others).map(|missed| MissedType { values, others, ..missed })
}

/// The first value of a field of which a declared type of `affinity` makes another.
fn changed(
    file: &mut LoadFile,
    field: usize,
    affinity: Affinity,
    is_number_type: bool,
) -> Option<ChangedText> {
    file.misses[field].changed(is_number_type)?;
    locate(file, field);
    let found = file.misses[field].changed(is_number_type)?;
    let becomes = match text_to_number(found.value.as_bytes(), affinity) {
        Value::Int(int) => int.to_string(),
        Value::Real(real) => real.to_string(),
        _ => return None,
    };
    let file = Some(file.input.name().to_owned());
    Some(ChangedText { value: found.value.clone(), becomes, file, line: found.line() })
}

/// Whether a number is written as only codes are: `007`, `+49`.
fn is_code(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits, [b'+', ..] | [b'0', b'0'..=b'9', ..])
}

/// Values that are not NULL.
fn present(column: &Column<'_>, rows: usize) -> u64 {
    match (column.values, column.validity) {
        (Values::Null, _) => 0,
        (_, None) => rows as u64,
        (_, Some(validity)) => (0..rows).filter(|row| validity.get(*row)).count() as u64,
    }
}

/// Looks where the values of a field are that just missed, or are changed, unless that is known.
fn locate(file: &mut LoadFile, field: usize) {
    let found = file.misses[field].found();
    let rows: Vec<u64> = found.filter(|found| found.place.is_none()).map(|found| found.row).collect();
    for row in rows {
        let place = place_of(file, row, field);
        for found in file.misses[field].found().filter(|found| found.row == row) {
            found.place.clone_from(&place);
        }
    }
}

/// Whoever decodes a value that is refused knows where it is.
fn place_of(file: &mut LoadFile, row: u64, field: usize) -> Option<Place> {
    let map = (0..file.names.len()).map(ColumnFrom::Field).collect();
    let as_text = vec![false; file.names.len()];
    let mut source = file.sample_source(map, &as_text).ok()?;
    let mut refusing = Refusing { row, field, next: 0 };
    while let Ok(Some(mut part)) = source.next_part() {
        if let Err(error) = part.decode(&mut refusing) {
            return error.place().cloned();
        }
    }
    None
}

/// Refuses one value.
struct Refusing {
    row: u64,
    field: usize,
    next: u64,
}

impl Sink for Refusing {
    fn rows(&mut self, batch: &sqluice_core::batch::Batch<'_>) -> Result<(), Refused> {
        let first = self.next;
        self.next += batch.rows as u64;
        if self.row >= self.next {
            return Ok(());
        }
        Err(Refused::Stop { at: Some(((self.row - first) as usize, self.field)), error: Error::input("") })
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.next += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(values: &[&str]) -> (Miss, Inferred) {
        let (mut miss, mut evidence) = (Miss::default(), Evidence::new());
        for (row, values) in values.chunks(3).enumerate() {
            let texts: Vec<Value<'_>> = values.iter().map(|text| Value::Text(text.as_bytes())).collect();
            let column = Column::new(Values::Any(&texts));
            miss.see(&mut evidence, &column, texts.len(), false, row as u64 * 3);
        }
        (miss, evidence.conclude())
    }

    #[test]
    fn a_column_that_just_missed_names_the_value_that_decided() {
        for (values, first, row, near) in [
            (&["1", "2", "3", "4", "n/a", "5"][..], "n/a", 4, Inferred::Integer),
            (&["x", "1.5", "2", "2.5", "3"], "x", 0, Inferred::Real),
            (&["1.9", "1.8", "1.10", "1.7"], "1.10", 2, Inferred::Real),
            (&["1", "2", "3", "12345678901234567890"], "12345678901234567890", 3, Inferred::Real),
        ] {
            let (miss, concluded) = miss(values);
            assert_eq!(concluded, Inferred::Text, "{values:?}");
            let found = miss.just_missed().unwrap_or_else(|| panic!("{values:?}: {miss:?}"));
            assert_eq!((found.value.as_str(), found.row, miss.near()), (first, row, near), "{values:?}");
        }
    }

    #[test]
    fn codes_names_and_mixtures_miss_nothing() {
        for values in [
            &["007", "123", "456", "789"][..],
            &["1", "2", "+49", "4"],
            &["a", "b", "c"],
            &["1", "a", "2", "b"],
            &["2024-01-01", "2024-01-02"],
        ] {
            let (miss, concluded) = miss(values);
            assert_eq!(concluded, Inferred::Text);
            assert!(miss.just_missed().is_none(), "{values:?}: {miss:?}");
        }
    }
}
