//! Databases for tests: made by SQLite, or assembled from the crate's parts.

pub(crate) mod damage;
pub(crate) mod index;
pub(crate) mod slow_key;
pub(crate) mod values;

use std::path::PathBuf;

use rusqlite::Connection;
use sqluice_format::cell;
use sqluice_format::check::{self, Options, Parts, Report};
use sqluice_format::chunk::Chunk;
use sqluice_format::database::{Header, SchemaEntry, write_schema};
use sqluice_format::page::{Geometry, PENDING_BYTE, PageSize};
use sqluice_format::record;
use sqluice_format::tree::{AppendPage, Child, TableTree};
use sqluice_format::value::Value;
use sqluice_format::varint;
pub(crate) use sqluice_testkit::cases;
pub(crate) use sqluice_testkit::sqlite::{integrity, open};

/// A row as rowid and record.
pub(crate) type Row = (i64, Vec<u8>);

/// The eight page sizes.
pub(crate) const PAGE_SIZES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

pub(crate) fn geometry(page_bytes: u32, reserved: u8) -> Geometry {
    Geometry::new(PageSize::new(page_bytes).unwrap(), reserved).unwrap()
}

/// A temporary folder and the path of a database in it. The folder is removed when the value is dropped.
pub(crate) struct Home {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.sqlite");
        Home { _folder: folder, path }
    }

    /// Writes a database and opens it.
    pub(crate) fn open_with(&self, bytes: &[u8]) -> Connection {
        std::fs::write(&self.path, bytes).unwrap();
        open(&self.path)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }
}

/// Returns the bytes of the database that SQLite makes of `sql`.
pub(crate) fn sqlite(sql: &str) -> Vec<u8> {
    let home = Home::new();
    let db = open(&home.path);
    db.execute_batch(sql).unwrap();
    drop(db);
    home.bytes()
}

pub(crate) fn check_bytes(bytes: &[u8]) -> Report {
    check_with(bytes, PENDING_BYTE)
}

/// Returns the findings of a check, and asserts that a check in parts, from the last to the first, finds the same.
pub(crate) fn check_with(bytes: &[u8], pending_byte: u32) -> Report {
    let options = Options { pending_byte, ..Options::default() };
    let Ok(report) = check::check(&mut &bytes[..], bytes.len() as u64, &options);
    let Ok(parts) = Parts::new(&mut &bytes[..], bytes.len() as u64, &options);
    let done = (0..parts.len()).rev().map(|part| {
        let Ok(done) = parts.run(part, &mut &bytes[..]);
        done
    });
    let done = done.collect();
    let Ok(in_parts) = parts.finish(done, &mut &bytes[..]);
    assert_eq!((problems(&in_parts), &in_parts.trees), (problems(&report), &report.trees));
    assert_eq!(format!("{in_parts:?}"), format!("{report:?}"));
    report
}

/// Returns problems as lines of text.
pub(crate) fn problems(report: &Report) -> String {
    report.problems.iter().map(|problem| format!("{problem}\n")).collect()
}

pub(crate) fn assert_sound(bytes: &[u8]) -> Report {
    let report = check_bytes(bytes);
    assert!(report.is_sound(), "{}", problems(&report));
    report
}

/// A file in memory.
pub(crate) struct Pages {
    pub(crate) geometry: Geometry,
    pub(crate) bytes: Vec<u8>,
}

impl Pages {
    /// Returns a file with an empty page 1.
    pub(crate) fn new(geometry: Geometry) -> Pages {
        Pages { geometry, bytes: vec![0; geometry.page_bytes()] }
    }

    /// Returns the number of the next page.
    pub(crate) fn next(&mut self) -> u32 {
        let number = (self.bytes.len() / self.geometry.page_bytes()) as u32 + 1;
        let skipped = self.geometry.skip_lock_page(number);
        if skipped != number {
            self.bytes.resize(self.bytes.len() + self.geometry.page_bytes(), 0);
        }
        skipped
    }

    /// Appends a finished chunk, and its leaves to `tree`.
    pub(crate) fn append_chunk(&mut self, chunk: &mut Chunk, tree: &mut TableTree) {
        let first = self.next();
        chunk.relocate(first);
        for page in chunk.bytes().chunks(self.geometry.page_bytes()) {
            self.append_page(page);
        }
        for leaf in chunk.leaves() {
            let page = self.geometry.nth_page(first, leaf.page);
            tree.add_leaf(Child { page, last_rowid: leaf.last_rowid }, self);
        }
    }

    /// Writes a table in chunks of `capacity` pages, and returns its root. One chunk is reused throughout.
    pub(crate) fn table(&mut self, rows: &[Row], capacity: u32) -> u32 {
        let mut chunk = Chunk::new(self.geometry, capacity);
        let mut tree = TableTree::new(self.geometry);
        for (rowid, record) in rows {
            if !chunk.push(*rowid, record) {
                chunk.finish();
                self.append_chunk(&mut chunk, &mut tree);
                chunk.clear();
                assert!(chunk.push(*rowid, record), "an empty chunk takes any row");
            }
        }
        chunk.finish();
        self.append_chunk(&mut chunk, &mut tree);
        tree.finish(self)
    }

    /// Writes schema and header, which completes the database.
    pub(crate) fn finish(mut self, entries: &[SchemaEntry]) -> Vec<u8> {
        let mut page_1 = write_schema(entries, self.geometry, &mut self);
        let count = (self.bytes.len() / self.geometry.page_bytes()) as u32;
        page_1[..100].copy_from_slice(&Header::new(self.geometry, count, 3_054_001).to_bytes());
        self.bytes[..page_1.len()].copy_from_slice(&page_1);
        self.bytes
    }
}

impl AppendPage for Pages {
    fn append_page(&mut self, page: &[u8]) -> u32 {
        let number = self.next();
        self.bytes.extend_from_slice(page);
        number
    }
}

pub(crate) fn entry(name: &str, root_page: u32, sql: &str) -> SchemaEntry {
    let (name, sql) = (name.to_owned(), Some(sql.to_owned()));
    SchemaEntry { kind: "table".to_owned(), name: name.clone(), table: name, root_page, sql }
}

/// Returns a database with the table `t (a)`.
pub(crate) fn database(geometry: Geometry, rows: &[Row], capacity: u32) -> Vec<u8> {
    let mut pages = Pages::new(geometry);
    let root = pages.table(rows, capacity);
    pages.finish(&[entry("t", root, "CREATE TABLE t (a)")])
}

/// Returns every row of the table B-tree at `root`, read from the pages.
pub(crate) fn rows(bytes: &[u8], root: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    read_rows(bytes, Header::from_bytes(bytes).unwrap().geometry, root, &mut rows);
    rows
}

fn read_rows(bytes: &[u8], geometry: Geometry, number: u32, rows: &mut Vec<Row>) {
    let page_at = |number: u32| &bytes[geometry.offset(number) as usize..][..geometry.usable_bytes()];
    let word = |page: &[u8], at: usize| u32::from_be_bytes(page[at..at + 4].try_into().unwrap());
    let page = page_at(number);
    let header = if number == 1 { 100 } else { 0 };
    let leaf = page[header] == 13;
    assert!(leaf || page[header] == 5, "page {number} is no page of a table");
    let count = usize::from(u16::from_be_bytes([page[header + 3], page[header + 4]]));
    let pointers = header + if leaf { 8 } else { 12 };
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
        read_rows(bytes, geometry, word(page, header + 8), rows);
    }
}

/// Returns a record of exactly `bytes` bytes: a blob, and a NULL where the blob's growing header skips a size.
pub(crate) fn record_of(bytes: usize, fill: u8) -> Vec<u8> {
    let blob = vec![fill; bytes];
    for body in (bytes.saturating_sub(12)..bytes).rev() {
        for values in [&[Value::Blob(&blob[..body])][..], &[Value::Blob(&blob[..body]), Value::Null]] {
            let mut record = Vec::new();
            record::encode(values, &mut record);
            if record.len() == bytes {
                return record;
            }
        }
    }
    panic!("no record of {bytes} bytes");
}
