//! The columns of a table in its records.

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::Value;
use sqluice_core::schema::{Table, quoted};
use sqluice_format::check::spec::{self, Constant};
use sqluice_format::record;
use sqluice_format::value::SerialType;
use sqluice_format::varint;
use sqluice_reader::salvage::{PageRows, SavedRow};

use crate::check::spec::columns_of_fields;

/// The positions of a table's columns in its records.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The columns that take values, by their numbers in the table.
    pub(super) given: Vec<usize>,
    /// For each field of a record, the index of its column in `given`, and `true` if the column is REAL, so that a stored integer stands
    /// for a float. `None` if the field gives no value, such as the field of a generated column.
    fields: Vec<Option<(usize, bool)>>,
    /// For each column of `given`, the value that a record means if it ends before the column.
    missing: Vec<Constant>,
    /// The index in `given` of the column that is the rowid.
    alias: Option<usize>,
}

impl Layout {
    /// Creates the layout of a table.
    pub(super) fn new(table: &Table, spec: &spec::Table) -> Layout {
        let given: Vec<usize> =
            (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none()).collect();
        let place = |column: usize| given.iter().position(|given| *given == column);
        let mut missing = vec![Constant::Null; given.len()];
        let columns = columns_of_fields(table);
        let fields = columns.iter().zip(&spec.fields).enumerate().map(|(at, (&column, field))| {
            if columns[..at].contains(&column) || table.rowid_alias == Some(column) {
                return None;
            }
            let place = place(column)?;
            missing[place] = field.default.clone();
            Some((place, table.columns[column].affinity == Affinity::Real))
        });
        let fields = fields.collect();
        Layout { fields, alias: table.rowid_alias.and_then(place), missing, given }
    }

    /// Returns the number of leading fields of a record that have the values of all `given` columns; `None` if this is the whole record.
    pub(super) fn needed_fields(&self) -> Option<usize> {
        let needed = self.fields.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        (needed < self.fields.len()).then_some(needed)
    }

    /// Returns a reader of the rows of the table.
    pub(super) fn reader(&self) -> PageRows {
        self.needed_fields().map_or_else(PageRows::default, PageRows::needing)
    }

    /// Calls `give` with each value of a row, and the place of its column among the given columns.
    pub(super) fn values<'r>(&'r self, row: &SavedRow<'r>, mut give: impl FnMut(usize, Value<'r>)) {
        if let Some(alias) = self.alias {
            give(alias, Value::Int(row.rowid));
        }
        let header = varint::read(row.record).map_or(0, |(bytes, _)| bytes as usize);
        let mut body = row.record.get(header..).unwrap_or_default();
        for (at, field) in self.fields.iter().enumerate() {
            let value = match row.types.get(at) {
                Some(&serial) => {
                    let bytes = SerialType(serial).content_bytes().unwrap_or(0) as usize;
                    let (content, rest) = body.split_at(bytes.min(body.len()));
                    body = rest;
                    record::value(SerialType(serial), content).unwrap_or(Value::Null)
                }
                None => match field {
                    Some((place, _)) => self.missing[*place].value(),
                    None => Value::Null,
                },
            };
            let Some((place, is_real)) = *field else { continue };
            give(
                place,
                match value {
                    Value::Int(int) if is_real => Value::Real(int as f64),
                    Value::Real(real) if real.is_nan() => Value::Null,
                    other => other,
                },
            );
        }
    }
}

/// Returns a name that none of the columns, quoted or not, has.
pub(super) fn free_column(columns: &[String], wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while columns
        .iter()
        .any(|column| column.eq_ignore_ascii_case(&quoted(&name)) || column.eq_ignore_ascii_case(&name))
    {
        name.push('_');
    }
    name
}
