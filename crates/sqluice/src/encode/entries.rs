//! Rows and index entries for the sorters: records that are not written to pages yet.
//!
//! ```text
//!  stored columns ──> | b | a | rowid |                 an index on (b, a) of a table with rowids
//!  and rowids     ──> | k | a | all other columns |     the rows of a WITHOUT ROWID table with PRIMARY KEY (k, a)
//!                 ──> | all columns |                   rows with rowids, to be sorted by those
//! ```

use sqluice_format::record;
use sqluice_format::value::{SerialType, Value};
use sqluice_format::varint;

use super::Rowids;
use super::stored::Stored;
use crate::error::Result;
use crate::schema::index::{Index, Indexed};
use crate::schema::{Generated, Table};
use crate::sort::{Buffer, Item};

/// What a column of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Column(usize),
    Rowid,
}

/// The records that a sorter gets, and where it takes them.
pub(crate) struct Entries<'s> {
    fields: Vec<Field>,
    buffer: Buffer<'s>,
    record: Vec<u8>,
}

impl<'s> Entries<'s> {
    /// The entries of an index, or the rows of a WITHOUT ROWID table.
    pub(crate) fn of_index(index: &Index, table: &Table, buffer: Buffer<'s>) -> Entries<'s> {
        let field = |value| match value {
            Indexed::Column(column) if Some(column) != table.rowid_alias => Field::Column(column),
            Indexed::Column(_) | Indexed::Rowid => Field::Rowid,
            Indexed::Expression => unreachable!("the plan gives indexes on expressions to SQLite"),
        };
        let fields = index.columns.iter().map(|column| field(column.value)).collect();
        Entries { fields, buffer, record: Vec::new() }
    }

    /// The rows of a table with rowids.
    pub(crate) fn of_rows(table: &Table, buffer: Buffer<'s>) -> Entries<'s> {
        let stored = |column: &usize| table.columns[*column].generated != Some(Generated::Virtual);
        let fields = (0..table.columns.len()).filter(stored).map(Field::Column).collect();
        Entries { fields, buffer, record: Vec::new() }
    }

    /// Gives the rows of a batch to the sorter. The first is record `number` of the source.
    pub(super) fn push(
        &mut self,
        stored: &[Stored<'_>],
        rowids: Rowids<'_>,
        rows: usize,
        number: u64,
    ) -> Result<()> {
        for row in 0..rows {
            let rowid = rowids.get(row);
            self.record.clear();
            write_record(&self.fields, stored, row, rowid, &mut self.record);
            self.buffer.push(Item { rowid, number: number + row as u64, record: &self.record })?;
        }
        Ok(())
    }

    /// Hands over what is left.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.buffer.flush()
    }
}

/// Bytes of serial types that a record header of one byte for its size has at most.
const SHORT_HEADER_TYPES: usize = 126;

fn write_record(fields: &[Field], stored: &[Stored<'_>], row: usize, rowid: i64, record: &mut Vec<u8>) {
    record.push(0);
    for field in fields {
        match *field {
            Field::Column(column) => varint::push(record, stored[column].serial(row)),
            Field::Rowid => record.push(SerialType::of_int(rowid).0 as u8),
        }
    }
    let types = record.len() - 1;
    if types <= SHORT_HEADER_TYPES {
        record[0] = types as u8 + 1;
    } else {
        let mut size = Vec::new();
        varint::push(&mut size, record::header_bytes(types) as u64);
        record.splice(..1, size);
    }
    for field in fields {
        match *field {
            Field::Column(column) => record.extend_from_slice(stored[column].content(row, &mut [0; 8])),
            Field::Rowid => record::push_content(&Value::Int(rowid), record),
        }
    }
}
