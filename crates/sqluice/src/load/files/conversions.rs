//! Assigns the conversions of text that the user requests (dates, booleans, numbers in another notation) to the fields and columns of a
//! file.

use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::Table;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_sources::convert::{Conversion, ConvertedColumn};

use crate::load::expressions::columns::FileInputs;
use crate::load::request::Request;

/// The requested conversion of each field, `None` without one, and the name of the column that the field fills.
#[derive(Default)]
pub(crate) struct FieldConversions {
    fields: Vec<Option<(String, Arc<Conversion>)>>,
    /// The conversions of the columns before expressions change them.
    inputs: Vec<(String, Arc<Conversion>)>,
}

impl FieldConversions {
    /// Returns the requested conversions of fields. `names` has a pair for each field: the name of the column that it fills, and the name
    /// by which the request may name it.
    pub(crate) fn of_columns(
        names: impl Iterator<Item = (String, Option<String>)>,
        load: &Request,
    ) -> FieldConversions {
        let conversion =
            |(name, named): (String, Option<String>)| Some((name, conversion_of(&named?, load)?));
        FieldConversions { fields: names.map(conversion).collect(), inputs: Vec::new() }
    }

    /// Adds the requested conversions of the file's own columns, before expressions change them. `names` has the names of these columns.
    pub(crate) fn add_inputs(&mut self, names: &[String], load: &Request) {
        let conversion = |name: &String| Some((name.clone(), conversion_of(name, load)?));
        self.inputs = names.iter().filter_map(conversion).collect();
    }

    /// Returns the conversions for batches of the file's own columns, before expressions change them. `map` has the origin of each column
    /// of the batches.
    pub(crate) fn of_inputs(&self, inputs: &FileInputs, map: &[ColumnFrom]) -> Vec<ConvertedColumn> {
        let columns = map.iter().enumerate().filter_map(|(index, from)| {
            let ColumnFrom::Field(field) = *from else { return None };
            let name = inputs.names.get(field)?;
            let (name, conversion) = self.inputs.iter().find(|(other, _)| other == name)?.clone();
            Some(ConvertedColumn { index, name, conversion })
        });
        columns.collect()
    }

    /// Returns the conversion of the column of this name, as it is before expressions change it; `None` without one.
    pub(crate) fn of_input(&self, name: &str) -> Option<&Conversion> {
        let (_, conversion) = self.inputs.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(conversion)
    }

    /// Returns all conversions, in the order of their fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Conversion> {
        self.fields.iter().flatten().chain(&self.inputs).map(|(_, conversion)| &**conversion)
    }

    /// Returns the conversion of a field, if any.
    pub(crate) fn of_field(&self, field: usize) -> Option<&Conversion> {
        self.fields.get(field)?.as_ref().map(|(_, conversion)| &**conversion)
    }

    /// Returns the conversion of the field that fills the column of this name, if any.
    pub(crate) fn of_column(&self, name: &str) -> Option<&Conversion> {
        let mut conversions = self.fields.iter().flatten();
        let (_, conversion) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(name))?;
        Some(conversion)
    }

    /// Makes the conversions of columns that are REAL in `table` refuse integers that no float holds.
    pub(crate) fn store_in(&mut self, table: &Table) {
        for (name, conversion) in self.fields.iter_mut().flatten().chain(&mut self.inputs) {
            let column = table.column(name).map(|index| &table.columns[index]);
            if column.is_some_and(|column| column.affinity == Affinity::Real) {
                *conversion = Arc::new(conversion.for_real());
            }
        }
    }

    /// Returns the conversions for batches of the table's columns. `map` has the field or constant that fills each column.
    pub(crate) fn converted(&self, map: &[ColumnFrom]) -> Vec<ConvertedColumn> {
        let columns = map.iter().enumerate().filter_map(|(index, from)| {
            let ColumnFrom::Field(field) = *from else { return None };
            let (name, conversion) = self.fields.get(field)?.clone()?;
            Some(ConvertedColumn { index, name, conversion })
        });
        columns.collect()
    }
}

fn conversion_of(name: &str, load: &Request) -> Option<Arc<Conversion>> {
    let mut conversions = load.conversions.iter();
    let (_, how) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(name))?;
    Some(Arc::clone(how))
}
