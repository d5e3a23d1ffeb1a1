//! A temporary folder for tests, and functions that read database files page by page.

use std::path::PathBuf;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sqluice::checksum::{Checksum, PageHash};
use sqluice_format::cell;
use sqluice_format::check::{self, Options, Report};
use sqluice_format::database::Header;
use sqluice_format::page::{Geometry, PENDING_BYTE};
use sqluice_format::varint;
pub(crate) use sqluice_testkit::sqlite::{integrity, open};

use super::tables::quoted;

/// A temporary folder, which is removed when this is dropped.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the names of the files in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        sqluice_testkit::names(self.0.path())
    }
}

/// Checks the file with our own checker, asserts that it finds no fault, and returns its report.
pub(crate) fn assert_sound(bytes: &[u8], pending_byte: u32) -> Report {
    let options = Options { pending_byte, ..Options::default() };
    let Ok(report) = check::check(&mut &*bytes, bytes.len() as u64, &options);
    let problems: String = report.problems.iter().map(|problem| format!("{problem}\n")).collect();
    assert!(report.is_sound(), "{problems}");
    report
}

/// Returns the checksum of a file's pages.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    checksum_around(bytes, PENDING_BYTE)
}

pub(crate) fn checksum_around(bytes: &[u8], pending_byte: u32) -> String {
    let geometry = Header::from_bytes(bytes).unwrap().geometry.with_pending_byte(pending_byte);
    let mut sum = Checksum::default();
    for (number, page) in (1..).zip(bytes.chunks(geometry.page_bytes())) {
        if number != geometry.lock_page() {
            sum.add(number, PageHash::of(page));
        }
    }
    sum.to_hex()
}

/// Returns the rowid and the record of every row of the table with that name, read from the pages.
pub(crate) fn records(connection: &Connection, bytes: &[u8], table: &str) -> Vec<(i64, Vec<u8>)> {
    let root = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1 AND type = 'table'", [table], |row| {
            row.get(0)
        })
        .unwrap();
    let mut rows = Vec::new();
    read_rows(bytes, Header::from_bytes(bytes).unwrap().geometry, root, &mut rows);
    rows
}

fn read_rows(bytes: &[u8], geometry: Geometry, number: u32, rows: &mut Vec<(i64, Vec<u8>)>) {
    let page_at = |number: u32| &bytes[geometry.offset(number) as usize..][..geometry.usable_bytes()];
    let word = |page: &[u8], at: usize| u32::from_be_bytes(page[at..at + 4].try_into().unwrap());
    let page = page_at(number);
    let leaf = page[0] == 13;
    assert!(leaf || page[0] == 5, "page {number} is no page of a table");
    let count = usize::from(u16::from_be_bytes([page[3], page[4]]));
    let pointers = if leaf { 8 } else { 12 };
    for pointer in page[pointers..pointers + count * 2].chunks(2) {
        let cell = &page[usize::from(u16::from_be_bytes([pointer[0], pointer[1]]))..];
        if !leaf {
            read_rows(bytes, geometry, word(cell, 0), rows);
            continue;
        }
        let (payload, n) = varint::read(cell).unwrap();
        let (rowid, m) = varint::read(&cell[n..]).unwrap();
        let split = cell::table_leaf_split(payload as usize, geometry);
        let mut record = cell[n + m..][..split.local].to_vec();
        let mut next = if record.len() < payload as usize { word(cell, n + m + split.local) } else { 0 };
        while next != 0 {
            let left = payload as usize - record.len();
            let page = page_at(next);
            record.extend_from_slice(&page[4..][..left.min(page.len() - 4)]);
            next = word(page, 0);
        }
        assert_eq!(record.len(), payload as usize);
        rows.push((rowid as i64, record));
    }
    if !leaf {
        read_rows(bytes, geometry, word(page, 8), rows);
    }
}

/// Returns the rows of a table in words, by their rowids: `7: 1 integer, 'a' text`. Text that is not UTF-8 is shown as bytes.
pub(crate) fn rows_of(database: &Connection, table: &str) -> Vec<String> {
    let mut names = database.prepare("SELECT name FROM pragma_table_xinfo(?1)").unwrap();
    let names = names.query_map([table], |row| row.get::<_, String>(0)).unwrap();
    let columns: String = names
        .map(|name| quoted(&name.unwrap()))
        .map(|name| format!(", {name}, quote(CAST({name} AS BLOB)), quote({name}), typeof({name})"))
        .collect();
    let sql = format!("SELECT rowid{columns} FROM {} ORDER BY rowid", quoted(table));
    let mut statement = database.prepare(&sql).unwrap();
    let values = statement.column_count() / 4;
    let rows = statement.query_map([], |row| {
        let shown = (0..values).map(|value| {
            let at = 1 + value * 4;
            Ok(match row.get_ref(at)? {
                ValueRef::Text(text) => match std::str::from_utf8(text) {
                    Ok(text) => format!("'{}' text", text.replace('\'', "''")),
                    Err(_) => format!("{} text", row.get::<_, String>(at + 1)?),
                },
                _ => format!("{} {}", row.get::<_, String>(at + 2)?, row.get::<_, String>(at + 3)?),
            })
        });
        let shown = shown.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(format!("{}: {}", row.get::<_, i64>(0)?, shown.join(", ")))
    });
    rows.unwrap().map(|row| row.unwrap()).collect()
}
