//! Columns of files whose text the user says means something else: which they are, and what is said about them.

use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Result, message};
use sqluice_core::schema::Table;
use sqluice_core::similar::nearest;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_engine::plan::ColumnReport;
use sqluice_sources::convert::{Conversion, ConvertedColumn};

use super::files::{Content, LoadFile};
use super::request::Request;
use super::tables::{LoadTable, listed};

impl LoadFile {
    /// Finds how the text of its columns is converted, once their names are known.
    ///
    /// # Errors
    /// When a column has values of types that the file itself tells.
    pub(super) fn find_conversions(&mut self, load: &Request) -> Result<()> {
        if load.conversions.is_empty() {
            return Ok(());
        }
        let conversion_of = |name: String| {
            let mut conversions = load.conversions.iter();
            let (_, how) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(&name))?;
            Some((name, Arc::clone(how)))
        };
        self.conversions = self.column_names(load).into_iter().map(conversion_of).collect();
        let mut conversions = self.conversions.iter().flatten().map(|(_, conversion)| conversion);
        let misplaced: Option<&Arc<Conversion>> = match self.content {
            #[cfg(feature = "parquet")]
            Content::Columnar(_) => conversions.next(),
            Content::Json(_) => conversions.find(|conversion| conversion.is_number()),
            Content::Csv(_) | Content::Unknown => None,
        };
        misplaced.map_or(Ok(()), |conversion| Err(self.typed(conversion)))
    }

    /// Notes which of its columns are REAL in their table.
    pub(super) fn convert_for(&mut self, table: &Table, load: &Request) -> Result<()> {
        self.find_conversions(load)?;
        for (name, conversion) in self.conversions.iter_mut().flatten() {
            let column = table.column(name).map(|index| &table.columns[index]);
            if column.is_some_and(|column| column.affinity == Affinity::Real) {
                *conversion = Arc::new(conversion.for_real());
            }
        }
        Ok(())
    }

    /// The names of the columns that its fields go to.
    fn column_names(&self, load: &Request) -> Vec<String> {
        match load.declared(&self.table).filter(|_| self.is_by_position(load)) {
            None => self.names.clone(),
            Some(table) => {
                let taking = table.columns.iter().filter(|column| column.generated.is_none());
                taking.map(|column| column.name.clone()).take(self.names.len()).collect()
            }
        }
    }

    fn typed(&self, conversion: &Conversion) -> Error {
        let message = message![
            conversion.setting(),
            format!(" is for text, and {} ({}) has numbers of its own", self.name(), self.words)
        ];
        Error::usage(message).hint(message!["leave out ", conversion.setting()])
    }

    /// How the text of a field is converted, if it is.
    pub(super) fn conversion(&self, field: usize) -> Option<&Conversion> {
        self.conversions.get(field)?.as_ref().map(|(_, conversion)| &**conversion)
    }

    /// The columns of a source with such fields that are converted.
    pub(super) fn converted(&self, map: &[ColumnFrom]) -> Vec<ConvertedColumn> {
        let columns = map.iter().enumerate().filter_map(|(index, from)| {
            let ColumnFrom::Field(field) = *from else { return None };
            let (name, conversion) = self.conversions.get(field)?.clone()?;
            Some(ConvertedColumn { index, name, conversion })
        });
        columns.collect()
    }
}

impl LoadTable {
    /// How the text for a column is converted, if it is.
    pub(super) fn conversion(&self, name: &str) -> Option<&Conversion> {
        let mut conversions = self.files.iter().flat_map(|file| file.conversions.iter().flatten());
        let (_, conversion) = conversions.find(|(column, _)| column.eq_ignore_ascii_case(name))?;
        Some(conversion)
    }

    /// Finds how the text for each column is converted, once their types are known.
    pub(super) fn find_conversions(&mut self, declared: &Table, load: &Request) -> Result<()> {
        self.files.iter_mut().try_for_each(|file| file.convert_for(declared, load))
    }
}

/// Every column that is to be converted must be loaded.
pub(super) fn check_names(load: &Request, tables: &[LoadTable]) -> Result<()> {
    let files = || tables.iter().flat_map(|table| &table.files);
    for (name, conversion) in &load.conversions {
        let is_it = |found: &String| found.eq_ignore_ascii_case(name);
        let is_there = files().any(|file| file.column_names(load).iter().any(is_it));
        let what = match is_there {
            true if is_selected(load, name) => continue,
            true => "is not loaded",
            false => "no file has",
        };
        let message = message![conversion.setting(), format!(" names the column {name:?}, which {what}")];
        let first = files().next().map_or(Vec::new(), |file| file.column_names(load));
        let names: Vec<&str> = first.iter().map(String::as_str).collect();
        let near = nearest(name, names.iter().copied()).filter(|_| !is_there);
        let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
        return Err(Error::usage(message).hint(format!("{near}there are: {}", listed(&names))));
    }
    Ok(())
}

fn is_selected(load: &Request, name: &str) -> bool {
    let mut selected = load.columns.iter().flatten();
    load.columns.is_none() || selected.any(|column| column.eq_ignore_ascii_case(name))
}

/// Says in `reports`, one for each column of a table, which are converted, and how.
pub(super) fn report(table: &LoadTable, declared: &Table, reports: &mut [ColumnReport]) {
    for (column, report) in declared.columns.iter().zip(reports) {
        report.conversion = table.conversion(&column.name).map(ToString::to_string);
    }
}
