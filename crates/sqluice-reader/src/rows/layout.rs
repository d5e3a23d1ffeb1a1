//! The positions of the wanted columns in the records of a table.
//!
//! ```text
//!  CREATE TABLE t (a, id INTEGER PRIMARY KEY, b REAL, v AS (a + 1), c DEFAULT 7)
//!
//!  record    | a | NULL | b |          an old record: c was added later
//!  columns     a   id     b   c        id is the rowid, b a float, c its DEFAULT, v is computed by SQLite
//! ```

use rusqlite::Connection;
use rusqlite::types::Value as Owned;
use sqluice_core::affinity::Affinity;
use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::{Column, Generated, Table};
use sqluice_format::record::int;
use sqluice_format::value::Value;
use sqluice_format::varint;

use super::cells::Block;

/// The mapping from the fields of a record to the columns of a batch.
#[derive(Debug)]
pub(super) struct Layout {
    /// The fields of the record, up to the last wanted field.
    fields: Vec<Field>,
    /// The indexes of the columns of the batch that get the rowid.
    rowids: Vec<usize>,
    text: Encoding,
}

/// A field of the record.
#[derive(Debug)]
struct Field {
    /// The index of the column of the batch that gets the field; `None` if the field is not wanted.
    column: Option<usize>,
    /// `true` if integers in the field are read as floats: SQLite stores whole numbers of REAL columns as integers.
    is_real: bool,
    /// The value of the field in records that end before the field.
    missing: Owned,
}

/// The text encoding of the database.
#[derive(Clone, Copy, Debug)]
enum Encoding {
    Utf8,
    Utf16(fn([u8; 2]) -> u16),
}

/// The error for a damaged record.
#[derive(Debug)]
pub(super) struct BadRecord;

/// The origin of a column of the batch: a column of the table, or the rowid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// A column of the table.
    Column(usize),
    /// The rowid of the row.
    Rowid,
}

impl Layout {
    /// Creates the layout for a table. Returns `None` if the records do not have all wanted columns, for example [`Generated::Virtual`]
    /// columns: SQLite must then read the rows.
    pub(super) fn new(
        table: &Table,
        wanted: &[From],
        text_encoding: u32,
    ) -> rusqlite::Result<Option<Layout>> {
        let stored = |column: &usize| table.columns[*column].generated != Some(Generated::Virtual);
        let order: Vec<usize> = match &table.clustered {
            None if table.without_rowid => return Ok(None),
            None => (0..table.columns.len()).filter(stored).collect(),
            Some(clustered) => {
                let columns = clustered.columns.iter().map(|column| match column.value {
                    Indexed::Column(column) => Some(column),
                    Indexed::Rowid | Indexed::Expression => None,
                });
                let Some(columns) = columns.collect::<Option<Vec<_>>>() else { return Ok(None) };
                columns
            }
        };
        let is_rowid =
            |from: &From| *from == From::Rowid || table.rowid_alias.map(From::Column) == Some(*from);
        let rowids = (0..wanted.len()).filter(|column| is_rowid(&wanted[*column])).collect();
        let mut fields = Vec::new();
        for (at, &column) in order.iter().enumerate() {
            let of_batch = wanted.iter().position(|from| *from == From::Column(column) && !is_rowid(from));
            let declared = &table.columns[column];
            fields.push(Field {
                // A key may contain a column twice, with different collations. The batch gets the column from the first of these fields.
                column: of_batch.filter(|_| !order[..at].contains(&column)),
                is_real: declared.affinity == Affinity::Real,
                missing: if of_batch.is_some() { missing(declared)? } else { Owned::Null },
            });
        }
        let found = fields.iter().filter(|field| field.column.is_some()).count();
        let wanted_fields = wanted.iter().filter(|from| !is_rowid(from)).count();
        if found < wanted_fields {
            return Ok(None);
        }
        let last = fields.iter().rposition(|field| field.column.is_some());
        fields.truncate(last.map_or(0, |last| last + 1));
        let text = match text_encoding {
            2 => Encoding::Utf16(u16::from_le_bytes),
            3 => Encoding::Utf16(u16::from_be_bytes),
            _ => Encoding::Utf8,
        };
        Ok(Some(Layout { fields, rowids, text }))
    }

    /// Returns the layout with only these columns of the batch, given by their indexes.
    pub(super) fn with_columns(&self, columns: &[usize]) -> Layout {
        let of = |column: usize| columns.iter().position(|wanted| *wanted == column);
        let mut fields: Vec<Field> = self
            .fields
            .iter()
            .map(|field| Field {
                column: field.column.and_then(of),
                missing: field.missing.clone(),
                ..*field
            })
            .collect();
        let last = fields.iter().rposition(|field| field.column.is_some());
        fields.truncate(last.map_or(0, |last| last + 1));
        Layout {
            fields,
            rowids: self.rowids.iter().filter_map(|column| of(*column)).collect(),
            text: self.text,
        }
    }

    /// Returns `true` if the texts of a batch are the bytes in the file; `false` if they are converted from UTF-16.
    pub(super) fn keeps_bytes(&self) -> bool {
        matches!(self.text, Encoding::Utf8)
    }

    /// Returns the number of fields at the start of a record that are read.
    pub(super) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// Appends a row to the block.
    #[inline]
    pub(super) fn push(&self, rowid: i64, record: &[u8], block: &mut Block) -> Result<(), BadRecord> {
        for &column in &self.rowids {
            block.columns[column].int(rowid);
        }
        let damaged = BadRecord;
        let Some((header, mut at)) = varint::read(record) else { return Err(damaged) };
        let header = usize::try_from(header).unwrap_or(usize::MAX);
        let (Some(types), Some(mut body)) = (record.get(..header), record.get(header..)) else {
            return Err(damaged);
        };
        for field in &self.fields {
            let serial = match types.get(at) {
                Some(&byte) if byte < 0x80 => {
                    at += 1;
                    u64::from(byte)
                }
                Some(_) => {
                    let Some((serial, n)) = varint::read(&types[at..]) else { return Err(damaged) };
                    at += n;
                    serial
                }
                None => {
                    if let Some(column) = field.column {
                        block.columns[column].value(&borrowed(&field.missing));
                    }
                    continue;
                }
            };
            let bytes = match serial {
                0 | 8 | 9 => 0,
                1..=4 => serial as usize,
                5 => 6,
                6 | 7 => 8,
                10 | 11 => return Err(damaged),
                text => usize::try_from((text - 12) / 2).unwrap_or(usize::MAX),
            };
            let from = body;
            let Some((content, rest)) = body.split_at_checked(bytes) else { return Err(damaged) };
            body = rest;
            let Some(column) = field.column else { continue };
            let cells = &mut block.columns[column];
            match serial {
                0 => cells.null(),
                1..=6 | 8 | 9 => {
                    let int = if serial >= 8 { serial as i64 - 8 } else { int(content) };
                    match field.is_real {
                        true => cells.real(int as f64),
                        false => cells.int(int),
                    }
                }
                7 => cells.real(f64::from_bits(int(content) as u64)),
                _ if serial % 2 == 0 => cells.blob(content),
                _ => match self.text {
                    Encoding::Utf8 => cells.text_at_start(from, bytes),
                    Encoding::Utf16(unit) => cells.utf16(content, unit),
                },
            }
        }
        // After the last field of a record, no bytes may be left.
        if at >= types.len() && !body.is_empty() {
            return Err(damaged);
        }
        block.rows += 1;
        block.bytes += record.len();
        Ok(())
    }
}

/// Returns the value that the column has in records that are older than the column. SQLite computes the value in a scratch database.
fn missing(column: &Column) -> rusqlite::Result<Owned> {
    let Some(default) = &column.default else { return Ok(Owned::Null) };
    let declared = match column.affinity {
        Affinity::Blob => "",
        Affinity::Text => "TEXT",
        Affinity::Numeric => "NUMERIC",
        Affinity::Integer => "INTEGER",
        Affinity::Real => "REAL",
    };
    let scratch = Connection::open_in_memory()?;
    scratch.execute_batch("CREATE TABLE old (a); INSERT INTO old VALUES (1)")?;
    // SQLite does not add a column whose DEFAULT is not constant to a table with rows. Its value in old records is NULL.
    match scratch.execute_batch(&format!("ALTER TABLE old ADD COLUMN b {declared} DEFAULT {default}")) {
        Ok(()) => scratch.query_row("SELECT b FROM old", [], |row| row.get(0)),
        Err(_) => Ok(Owned::Null),
    }
}

pub(super) fn borrowed(value: &Owned) -> Value<'_> {
    match value {
        Owned::Null => Value::Null,
        Owned::Integer(int) => Value::Int(*int),
        Owned::Real(real) => Value::Real(*real),
        Owned::Text(text) => Value::Text(text.as_bytes()),
        Owned::Blob(blob) => Value::Blob(blob),
    }
}
