//! The database header, page 1 and the schema table
//! ([§1.3](https://www.sqlite.org/fileformat2.html#the_database_header),
//! [§2.6](https://www.sqlite.org/fileformat2.html#storage_of_the_sql_database_schema)).
//!
//! ```text
//!  OFFSET SIZE                                        OFFSET SIZE
//!   0     16   "SQLite format 3\0"                     44     4   schema format: 4
//!  16      2   page size, 65536 as 1                   48     4   suggested cache size
//!  18      1   write version: 1, rollback journal      52     4   largest root page, when auto_vacuum
//!  19      1   read version: 1                         56     4   text encoding: 1, UTF-8
//!  20      1   reserved bytes of each page             60     4   user version
//!  21      3   payload fractions: 64, 32, 32           64     4   incremental vacuum: 0
//!  24      4   change counter                          68     4   application id
//!  28      4   pages in the file                       72    20   zeros
//!  32      4   first freelist trunk page               92     4   change counter at which 28 and 96 are valid
//!  36      4   freelist pages                          96     4   SQLITE_VERSION_NUMBER of the writer
//!  40      4   schema cookie
//! ```

use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::page::{self, CELL_POINTER_BYTES, DATABASE_HEADER_BYTES, Geometry, PageKind, PageSize};
use crate::record;
use crate::tree::{self, AppendPage, Child, TableTree};
use crate::value::Value;
use crate::varint;

/// The first 16 bytes of every SQLite database.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The offset of the write version; the read version follows.
pub const VERSIONS_AT: usize = 18;

/// The header's fields, except those that never vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Page size and reserved bytes.
    pub geometry: Geometry,
    /// The write version: 1 for a rollback journal, 2 for a write-ahead log.
    pub write_version: u8,
    /// The read version: 1 for a rollback journal, 2 for a write-ahead log.
    pub read_version: u8,
    /// A counter that goes up with every transaction in rollback-journal mode.
    pub change_counter: u32,
    /// The number of pages in the file. It is valid only if `valid_for` equals `change_counter`.
    pub page_count: u32,
    /// The first freelist trunk page, or 0 if the freelist is empty.
    pub freelist_trunk: u32,
    /// The number of pages on the freelist.
    pub freelist_pages: u32,
    /// A counter that goes up with every change of the schema.
    pub schema_cookie: u32,
    /// The schema format: 4, or 1 to 3 in old files; 0 before the first table is created.
    pub schema_format: u32,
    /// The value of `PRAGMA default_cache_size`, in pages.
    pub default_cache_size: u32,
    /// The largest root page if auto_vacuum is on, else 0.
    pub largest_root: u32,
    /// The text encoding: 1 for UTF-8, 2 for UTF-16le, 3 for UTF-16be; 0 before the first table is created.
    pub text_encoding: u32,
    /// The value of `PRAGMA user_version`.
    pub user_version: u32,
    /// A number other than 0 if auto_vacuum is incremental.
    pub incremental_vacuum: u32,
    /// The value of `PRAGMA application_id`.
    pub application_id: u32,
    /// The change counter at which `page_count` and `sqlite_version` were written.
    pub valid_for: u32,
    /// The `SQLITE_VERSION_NUMBER` of the library that wrote last.
    pub sqlite_version: u32,
}

/// The reason why the first 100 bytes are not a database header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The file has fewer than 100 bytes.
    Short,
    /// The bytes do not begin with [`MAGIC`].
    Magic,
    /// The page size is invalid, or fewer than 480 bytes remain beside the reserved bytes.
    PageSize,
    /// The payload fractions are not 64, 32, 32.
    PayloadFractions,
}

/// Returns the name of a text encoding as in [`PRAGMA encoding`](https://www.sqlite.org/pragma.html#pragma_encoding): `UTF-16le` for 2,
/// `UTF-16be` for 3, `UTF-8` for others.
pub const fn encoding_name(text_encoding: u32) -> &'static str {
    match text_encoding {
        2 => "UTF-16le",
        3 => "UTF-16be",
        _ => "UTF-8",
    }
}

impl Header {
    /// Returns the text encoding that SQLite uses for the value of `text_encoding`: 1 is UTF-8, 2 UTF-16le, 3 UTF-16be.
    pub fn used_text_encoding(&self) -> u32 {
        // SQLite looks at two bits, and takes 0 for UTF-8.
        match self.text_encoding & 3 {
            0 => 1,
            encoding => encoding,
        }
    }

    /// Returns the header of a new UTF-8 database.
    pub const fn new(geometry: Geometry, page_count: u32, sqlite_version: u32) -> Header {
        Header {
            geometry,
            write_version: 1,
            read_version: 1,
            change_counter: 1,
            page_count,
            freelist_trunk: 0,
            freelist_pages: 0,
            schema_cookie: 1,
            schema_format: 4,
            default_cache_size: 0,
            largest_root: 0,
            text_encoding: 1,
            user_version: 0,
            incremental_vacuum: 0,
            application_id: 0,
            valid_for: 1,
            sqlite_version,
        }
    }

    /// Returns the 100 bytes of the header.
    pub fn to_bytes(&self) -> [u8; DATABASE_HEADER_BYTES] {
        let mut bytes = [0; DATABASE_HEADER_BYTES];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..18].copy_from_slice(&self.geometry.page_size().to_header().to_be_bytes());
        bytes[VERSIONS_AT] = self.write_version;
        bytes[VERSIONS_AT + 1] = self.read_version;
        bytes[20] = self.geometry.reserved_bytes();
        bytes[21..24].copy_from_slice(&[64, 32, 32]);
        let words = [
            (24, self.change_counter),
            (28, self.page_count),
            (32, self.freelist_trunk),
            (36, self.freelist_pages),
            (40, self.schema_cookie),
            (44, self.schema_format),
            (48, self.default_cache_size),
            (52, self.largest_root),
            (56, self.text_encoding),
            (60, self.user_version),
            (64, self.incremental_vacuum),
            (68, self.application_id),
            (92, self.valid_for),
            (96, self.sqlite_version),
        ];
        for (at, word) in words {
            bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Parses the header from the first bytes of a file.
    ///
    /// # Errors
    /// When a SQLite database does not begin with these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Header, HeaderError> {
        let bytes: &[u8; DATABASE_HEADER_BYTES] = bytes.first_chunk().ok_or(HeaderError::Short)?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if &bytes[..16] != MAGIC {
            return Err(HeaderError::Magic);
        }
        if bytes[21..24] != [64, 32, 32] {
            return Err(HeaderError::PayloadFractions);
        }
        let page_size = PageSize::from_header(u16::from_be_bytes([bytes[16], bytes[17]]));
        let geometry =
            page_size.and_then(|size| Geometry::new(size, bytes[20])).ok_or(HeaderError::PageSize)?;
        Ok(Header {
            geometry,
            write_version: bytes[VERSIONS_AT],
            read_version: bytes[VERSIONS_AT + 1],
            change_counter: word(24),
            page_count: word(28),
            freelist_trunk: word(32),
            freelist_pages: word(36),
            schema_cookie: word(40),
            schema_format: word(44),
            default_cache_size: word(48),
            largest_root: word(52),
            text_encoding: word(56),
            user_version: word(60),
            incremental_vacuum: word(64),
            application_id: word(68),
            valid_for: word(92),
            sqlite_version: word(96),
        })
    }
}

/// A row of `sqlite_schema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaEntry {
    /// The kind: `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The table that the object belongs to; the object's own name for tables and views.
    pub table: String,
    /// The root page; 0 for views, triggers and virtual tables.
    pub root_page: u32,
    /// The statement that created the object; `None` for automatic indexes.
    pub sql: Option<String>,
}

impl SchemaEntry {
    /// Encodes the row as a record in UTF-8.
    pub fn to_record(&self) -> Vec<u8> {
        let mut record = Vec::new();
        let sql = self.sql.as_ref().map_or(Value::Null, |sql| Value::Text(sql.as_bytes()));
        record::encode(
            &[
                Value::Text(self.kind.as_bytes()),
                Value::Text(self.name.as_bytes()),
                Value::Text(self.table.as_bytes()),
                Value::Int(i64::from(self.root_page)),
                sql,
            ],
            &mut record,
        );
        record
    }
}

/// Writes the schema table. Returns page 1 with the root, after 100 zero bytes for the database header; all other pages go to `pages`.
/// Entries get the rowids 1, 2, 3, ...
pub fn write_schema(entries: &[SchemaEntry], geometry: Geometry, pages: &mut impl AppendPage) -> Vec<u8> {
    let records: Vec<Vec<u8>> = entries.iter().map(SchemaEntry::to_record).collect();
    write_schema_records(&records, geometry, pages)
}

/// Writes the schema table like [`write_schema`], from rows that are already encoded.
pub fn write_schema_records(records: &[Vec<u8>], geometry: Geometry, pages: &mut impl AppendPage) -> Vec<u8> {
    let cells: Vec<Vec<u8>> =
        (1..).zip(records).map(|(rowid, record)| leaf_cell(rowid, record, geometry, pages)).collect();
    let mut page_1 = vec![0; geometry.page_bytes()];
    if leaf_bytes(&cells) <= geometry.usable_bytes() - DATABASE_HEADER_BYTES {
        write_leaf(&mut page_1, DATABASE_HEADER_BYTES, geometry, &cells);
        return page_1;
    }
    let mut tree = TableTree::new(geometry);
    let mut first = 0;
    while first < cells.len() {
        let rest = &cells[first..];
        let n = (1..=rest.len())
            .take_while(|&n| leaf_bytes(&rest[..n]) <= geometry.usable_bytes())
            .last()
            .expect("a cell fits a leaf");
        let mut page = vec![0; geometry.page_bytes()];
        write_leaf(&mut page, 0, geometry, &rest[..n]);
        first += n;
        let leaf = Child { page: pages.append_page(&page), last_rowid: first as i64 };
        tree.add_leaf(leaf, pages);
    }
    let children = tree.finish_root(DATABASE_HEADER_BYTES, pages);
    tree::write_interior(&mut page_1, DATABASE_HEADER_BYTES, geometry, &children);
    page_1
}

/// Returns a table leaf cell and writes its overflow pages. The last overflow page is written first, so that each page can name the next.
fn leaf_cell(rowid: i64, payload: &[u8], geometry: Geometry, pages: &mut impl AppendPage) -> Vec<u8> {
    let split = cell::table_leaf_split(payload.len(), geometry);
    let (local, overflow) = payload.split_at(split.local);
    let mut next = 0u32;
    for content in overflow.chunks(cell::overflow_page_payload(geometry)).rev() {
        let mut page = vec![0; geometry.page_bytes()];
        page[..PAGE_NUMBER_BYTES].copy_from_slice(&next.to_be_bytes());
        page[PAGE_NUMBER_BYTES..][..content.len()].copy_from_slice(content);
        next = pages.append_page(&page);
    }
    let mut cell = Vec::new();
    varint::push(&mut cell, payload.len() as u64);
    varint::push(&mut cell, rowid as u64);
    cell.extend_from_slice(local);
    if next != 0 {
        cell.extend_from_slice(&next.to_be_bytes());
    }
    cell
}

/// Returns the size of a leaf with these cells, including its header.
fn leaf_bytes(cells: &[Vec<u8>]) -> usize {
    PageKind::LeafTable.header_bytes()
        + cells.iter().map(|cell| cell.len() + CELL_POINTER_BYTES).sum::<usize>()
}

/// Writes a table leaf to a zeroed page whose B-tree header begins at `header_at`.
fn write_leaf(page: &mut [u8], header_at: usize, geometry: Geometry, cells: &[Vec<u8>]) {
    let mut content = geometry.usable_bytes();
    let mut pointer = header_at + PageKind::LeafTable.header_bytes();
    for cell in cells {
        content -= cell.len();
        page[content..content + cell.len()].copy_from_slice(cell);
        page[pointer..pointer + CELL_POINTER_BYTES].copy_from_slice(&(content as u16).to_be_bytes());
        pointer += CELL_POINTER_BYTES;
    }
    page::write_header(&mut page[header_at..], PageKind::LeafTable, cells.len(), content);
}
