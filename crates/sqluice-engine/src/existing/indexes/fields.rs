//! The fields of a table's records, and the values of fields that a record lacks, because it is older than their columns.

use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::{Generated, Table};
use sqluice_format::record;
use sqluice_format::value::{SerialType, Value};
use sqluice_format::varint;

/// The value that replaces a field missing from a record.
#[derive(Clone, Debug)]
pub(in crate::existing) struct Missing {
    pub(in crate::existing) serial: u64,
    pub(in crate::existing) content: Vec<u8>,
}

/// Returns the index of a column's field in the records of the table, or `None` if the column is VIRTUAL, so that no record has it.
pub(in crate::existing) fn stored_field(table: &Table, column: usize) -> Option<usize> {
    let is_stored = |column: usize| table.columns[column].generated != Some(Generated::Virtual);
    if !is_stored(column) {
        return None;
    }
    match &table.clustered {
        Some(key) => key.columns.iter().position(|of_key| of_key.value == Indexed::Column(column)),
        None => Some((0..column).filter(|column| is_stored(*column)).count()),
    }
}

impl Missing {
    /// Returns the first value of `record`, the index entry of a row that lacks the field; `None` if the record is malformed.
    pub(in crate::existing) fn of(record: &[u8]) -> Option<Missing> {
        let (header, at) = varint::read(record)?;
        let (serial, _) = varint::read(record.get(at..)?)?;
        let start = usize::try_from(header).ok()?;
        let bytes = usize::try_from(SerialType(serial).content_bytes()?).ok()?;
        Some(Missing { serial, content: record.get(start..start + bytes)?.to_vec() })
    }

    /// Returns the value; `None` if its serial type is reserved.
    pub(in crate::existing) fn value(&self) -> Option<Value<'_>> {
        record::value(SerialType(self.serial), &self.content)
    }
}
