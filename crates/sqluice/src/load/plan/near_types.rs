//! Reports columns that just missed a type, and numbers that a declared type changes, with file and line.

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::schema::Table;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{BadRow, Refused, Sink};
use sqluice_engine::plan::{ChangedText, ColumnReport, MissedType};
use sqluice_sources::infer::Inferred;

use crate::load::files::file::LoadFile;
use crate::load::files::text_causes::ONE_OF;
use crate::load::request::Request;
use crate::load::request::type_names;
use crate::load::tables::table::LoadTable;

/// Adds to `reports`, one for each column of a table, the numeric type that the column just missed, or the first value that the declared
/// type changes.
pub(crate) fn report(table: &mut LoadTable, load: &Request, declared: &Table, reports: &mut [ColumnReport]) {
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

/// Returns the numeric type that a text column with these files and fields just missed, if nearly all of its values are numbers.
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
        missed = miss.just_missed().map(|found| {
            let mut missed = MissedType::new(miss.near().name(), &found.value);
            (missed.file, missed.line) = (Some(file.input.name().to_owned()), found.line());
            missed
        });
    }
    missed.filter(|_| values >= ONE_OF * others).map(|mut missed| {
        (missed.values, missed.others) = (values, others);
        missed
    })
}

/// Returns the first value of a field that a declared type of `affinity` changes.
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
    let mut changed = ChangedText::new(&found.value, becomes);
    (changed.file, changed.line) = (file, found.line());
    Some(changed)
}

/// Finds the places of the values of a field that are reported, unless the places are known.
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

/// Returns the place of a value: the place of the error that refuses the value.
fn place_of(file: &mut LoadFile, row: u64, field: usize) -> Option<Place> {
    let map = (0..file.names.len()).map(ColumnFrom::Field).collect();
    let as_text = vec![false; file.names.len()];
    let mut source = file.sample_source(map, &as_text, u64::MAX).ok()?;
    let mut refusing = Refusing { row, field, next: 0 };
    while let Ok(Some(mut part)) = source.next_part() {
        if let Err(error) = part.decode(&mut refusing) {
            return error.place().cloned();
        }
    }
    None
}

/// A sink that refuses one value.
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
