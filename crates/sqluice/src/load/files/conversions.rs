//! Fields of a file whose text means something else, as the user says: dates, booleans, numbers in another notation.

use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::Table;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_sources::convert::{Conversion, ConvertedColumn};

use crate::load::request::Request;

/// How the text of each field is converted, with the name of the column that it goes to.
#[derive(Default)]
pub(crate) struct FieldConversions(Vec<Option<(String, Arc<Conversion>)>>);

impl FieldConversions {
    /// The conversions that the request has for fields which go to the columns of these names.
    pub(crate) fn of_columns(names: Vec<String>, load: &Request) -> FieldConversions {
        let conversion_of = |name: String| {
            let mut conversions = load.conversions.iter();
            let (_, how) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(&name))?;
            Some((name, Arc::clone(how)))
        };
        FieldConversions(names.into_iter().map(conversion_of).collect())
    }

    /// All conversions, in the order of their fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Conversion> {
        self.0.iter().flatten().map(|(_, conversion)| &**conversion)
    }

    /// How the text of a field is converted, if it is.
    pub(crate) fn of_field(&self, field: usize) -> Option<&Conversion> {
        self.0.get(field)?.as_ref().map(|(_, conversion)| &**conversion)
    }

    /// How the text for the column of that name is converted, if it is.
    pub(crate) fn of_column(&self, name: &str) -> Option<&Conversion> {
        let mut conversions = self.0.iter().flatten();
        let (_, conversion) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(name))?;
        Some(conversion)
    }

    /// Notes which columns are REAL in their table.
    pub(crate) fn store_in(&mut self, table: &Table) {
        for (name, conversion) in self.0.iter_mut().flatten() {
            let column = table.column(name).map(|index| &table.columns[index]);
            if column.is_some_and(|column| column.affinity == Affinity::Real) {
                *conversion = Arc::new(conversion.for_real());
            }
        }
    }

    /// The columns of a source with the columns of `map` that are converted.
    pub(crate) fn converted(&self, map: &[ColumnFrom]) -> Vec<ConvertedColumn> {
        let columns = map.iter().enumerate().filter_map(|(index, from)| {
            let ColumnFrom::Field(field) = *from else { return None };
            let (name, conversion) = self.0.get(field)?.clone()?;
            Some(ConvertedColumn { index, name, conversion })
        });
        columns.collect()
    }
}
