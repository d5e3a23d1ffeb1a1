//! Reports three kinds of columns: text columns of which nearly all values are numbers; columns that keep NULL markers as text; and
//! columns whose declared type changes a value. Each report has the file and line of a value, if they are found.
//!
//! The reports follow from the samples of the files, or from all values of a column if these were read for its type. No file is read beyond
//! its sample only for a report.

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::Value;
use sqluice_core::error::Place;
use sqluice_core::schema::Table;
use sqluice_engine::plan::{ChangedText, ColumnReport, MissedType, NullMarkers};
use sqluice_sources::convert::Reading;
use sqluice_sources::infer::{Found, Inferred, Kinds};

use crate::load::files::file::LoadFile;
use crate::load::request::Request;
use crate::load::request::type_names;
use crate::load::tables::table::{LoadTable, Places};

/// A column just misses a numeric type if at most one in `ONE_OF` of its values is no number.
const ONE_OF: u64 = 5;

/// Completes `reports`, which has a report for each column of the table. Adds the numeric type that a text column just missed, the NULL
/// markers that it keeps as text, or the first value that its declared type changes.
pub(crate) fn report(table: &mut LoadTable, load: &Request, declared: &Table, reports: &mut [ColumnReport]) {
    let taking = declared.columns.iter().filter(|column| column.generated.is_none());
    let places: Vec<&str> = taking.map(|column| column.name.as_str()).collect();
    for (column, report) in declared.columns.iter().zip(reports) {
        let (is_made, inferred) = (table.makes(&column.name), table.inferred_type(&column.name));
        let is_text = inferred == Some(Inferred::Text);
        if inferred.is_some() && !is_text {
            continue;
        }
        let place = places.iter().position(|name| *name == column.name);
        let fields: Vec<Option<usize>> =
            table.files.iter().map(|file| file.field_of(load, &column.name, place)).collect();
        let mut values = Values::of(table, &column.name, &fields);
        report.nulls = nulls(&mut values, is_text);
        if is_text {
            report.missed = just_missed(&mut values, &column.name);
        } else if !is_made && column.affinity.is_numeric() {
            let is_number = type_names::means_number(&column.declared_type);
            report.changed = changed(&mut values, column.affinity, is_number);
        }
    }
}

/// The values of a column that were read for its type.
struct Values<'t> {
    kinds: Kinds,
    /// The values that a report may show, with their places; `None` if only the samples were read, whose values have no places yet.
    places: Option<Places>,
    files: &'t mut [LoadFile],
    /// The index of the column among the fields of each file; `None` for a file without the column.
    fields: &'t [Option<usize>],
}

impl<'t> Values<'t> {
    fn of(table: &'t mut LoadTable, name: &str, fields: &'t [Option<usize>]) -> Values<'t> {
        if let Some((kinds, places)) = table.kinds_of_all(name) {
            let (kinds, places) = (kinds.clone(), Some(places.clone()));
            return Values { kinds, places, files: &mut table.files, fields };
        }
        let mut kinds = Kinds::default();
        for (file, field) in table.files.iter().zip(fields) {
            if let Some(field) = *field {
                kinds.follow(&file.kinds[field]);
            }
        }
        Values { kinds, places: None, files: &mut table.files, fields }
    }

    /// Returns the place of a value in its file, if it is found.
    fn place(&mut self, found: &Found) -> Option<Place> {
        if let Some(places) = &self.places {
            let place = places.iter().find(|(value, _)| value == found).and_then(|(_, place)| place.clone());
            // No line is known for a pipe that was read to its end. If the table has a single file, the value is in this file.
            let only = if let [file] = &*self.files { Some(Place::file(file.input.name())) } else { None };
            return place.or(only);
        }
        let mut found = found.clone();
        for (file, field) in self.files.iter_mut().zip(self.fields) {
            let Some(field) = *field else { continue };
            let parts = file.kinds[field].parts();
            if found.part < parts {
                let place = file.place_of_value(field, &found);
                return place.or_else(|| Some(Place::file(file.input.name())));
            }
            found.part -= parts;
        }
        None
    }
}

/// Returns the NULL markers that a column keeps, if at least four fifths of its other values are numbers or dates, or if a marker has no
/// other meaning.
fn nulls(values: &mut Values<'_>, is_inferred: bool) -> Option<NullMarkers> {
    let kinds = &values.kinds;
    let known = kinds.numbers.max(kinds.dates).max(kinds.numbers + kinds.noted);
    let is_of_numbers = !kinds.given_up && known > 0 && known * ONE_OF >= kinds.values() * (ONE_OF - 1);
    if !is_of_numbers && !kinds.has_sure_marker() {
        return None;
    }
    let (tokens, found) = kinds.markers()?;
    let found = found.clone();
    let mut nulls = NullMarkers::new(tokens.into_iter().map(str::to_owned).collect(), &found.value);
    let all_numbers = kinds.numbers > 0 && kinds.numbers == kinds.values() && !kinds.given_up;
    nulls.near = (all_numbers && is_inferred).then(|| kinds.concluded()).flatten().map(Inferred::name);
    nulls.readable = !kinds.typed;
    (nulls.nulls, nulls.values) = (kinds.nulls(), kinds.nulls() + kinds.values());
    if let Some(place) = values.place(&found) {
        (nulls.file, nulls.line) = (Some(place.file), place.line);
    }
    Some(nulls)
}

/// Returns the numeric type that a text column just missed, if nearly all of its values are numbers, or if a setting makes numbers of the
/// other values.
fn just_missed(values: &mut Values<'_>, column: &str) -> Option<MissedType> {
    let kinds = &values.kinds;
    let all = kinds.values();
    let (others, reading) = match kinds.reading() {
        // The setting must read all values that are no numbers, as it refuses the values that it does not read.
        Some((reading, found)) if kinds.noted == all - kinds.numbers => (0, Some((reading, found))),
        _ => (all - kinds.numbers, None),
    };
    // Apart from NULL markers, all values have the inferred type.
    let is_settled = others == 0 && reading.is_none() && kinds.concluded().is_some();
    let texts = others - kinds.quoted.min(others);
    let is_rare = reading.is_none() && kinds.numbers < (ONE_OF - 1) * texts.max(1);
    if is_settled || is_rare || kinds.given_up || kinds.are_codes() || all == 0 || texts * ONE_OF > all {
        return None;
    }
    let found = match reading {
        Some((_, found)) => found.clone(),
        None => kinds.first_noted().or(kinds.first_cause())?.clone(),
    };
    let near = match reading {
        Some((reading, _)) if reading.has_decimal_comma() || reading.has_percent() => Inferred::Real,
        _ => kinds.near(),
    };
    let mut missed = MissedType::new(near.name(), &found.value);
    (missed.values, missed.others) = (all, all - kinds.numbers);
    missed.at_most = kinds.has_unread;
    missed.quoted = kinds.quoted > 0 && kinds.quoted == missed.others;
    if reading.is_none() && kinds.first_noted().is_some() {
        missed.signs = Reading::marks(found.value.as_bytes());
    }
    for setting in reading.into_iter().flat_map(|(reading, _)| reading.settings(column)) {
        missed.read_by.push((setting.setting.name(), setting.value));
    }
    if let Some(place) = values.place(&found) {
        (missed.file, missed.line) = (Some(place.file), place.line);
    }
    Some(missed)
}

/// Returns the first value that a declared type of `affinity` changes; `None` if it changes none.
fn changed(values: &mut Values<'_>, affinity: Affinity, is_number_type: bool) -> Option<ChangedText> {
    let found = values.kinds.changed(is_number_type)?.clone();
    let becomes = match text_to_number(found.value.as_bytes(), affinity) {
        Value::Int(int) => int.to_string(),
        Value::Real(real) => real.to_string(),
        _ => return None,
    };
    let mut changed = ChangedText::new(&found.value, becomes);
    if let Some(place) = values.place(&found) {
        (changed.file, changed.line) = (Some(place.file), place.line);
    }
    Some(changed)
}
