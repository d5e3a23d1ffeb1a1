//! The conversions of text that the user requests for columns: dates, booleans, numbers in another notation.

use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::Table;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_sources::convert::{Conversion, ConvertedColumn};

use crate::load::request::Request;

/// The conversion of each field, if any, with the name of the column that the field fills.
#[derive(Default)]
pub(crate) struct FieldConversions(Vec<Option<(String, Arc<Conversion>)>>);

impl FieldConversions {
    /// Returns the conversions of the request for the fields that fill the columns of these names.
    pub(crate) fn of_columns(names: Vec<String>, load: &Request) -> FieldConversions {
        let conversion_of = |name: String| {
            let mut conversions = load.conversions.iter();
            let (_, how) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(&name))?;
            Some((name, Arc::clone(how)))
        };
        FieldConversions(names.into_iter().map(conversion_of).collect())
    }

    /// Returns all conversions, in the order of their fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Conversion> {
        self.0.iter().flatten().map(|(_, conversion)| &**conversion)
    }

    /// Returns the conversion of a field, if any.
    pub(crate) fn of_field(&self, field: usize) -> Option<&Conversion> {
        self.0.get(field)?.as_ref().map(|(_, conversion)| &**conversion)
    }

    /// Returns the conversion of the field that fills the column of this name, if any.
    pub(crate) fn of_column(&self, name: &str) -> Option<&Conversion> {
        let mut conversions = self.0.iter().flatten();
        let (_, conversion) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(name))?;
        Some(conversion)
    }

    /// Makes the conversions of columns that are REAL in `table` refuse integers that no float holds.
    pub(crate) fn store_in(&mut self, table: &Table) {
        for (name, conversion) in self.0.iter_mut().flatten() {
            let column = table.column(name).map(|index| &table.columns[index]);
            if column.is_some_and(|column| column.affinity == Affinity::Real) {
                *conversion = Arc::new(conversion.for_real());
            }
        }
    }

    /// Returns the columns of the table whose values are converted. `map` has the field or constant that fills each column.
    pub(crate) fn converted(&self, map: &[ColumnFrom]) -> Vec<ConvertedColumn> {
        let columns = map.iter().enumerate().filter_map(|(index, from)| {
            let ColumnFrom::Field(field) = *from else { return None };
            let (name, conversion) = self.0.get(field)?.clone()?;
            Some(ConvertedColumn { index, name, conversion })
        });
        columns.collect()
    }
}
