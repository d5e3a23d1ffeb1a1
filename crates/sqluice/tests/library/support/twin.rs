//! Compares the load of a CSV file with a twin: csv-core reads the fields, and SQLite inserts each as bound text.
//!
//! ```text
//!          ┌─ load, --empty-as-text ────────────────> ours.db ─┐
//! file.csv ┤                                                   ├─ the same types, literals and record bytes
//!          └─ csv-core ─> INSERT of text into the table ─> twin.db ─┘
//! ```
//!
//! Fields go through one record at a time, and both databases are read side by side: a file may be large.

use std::path::Path;

use rusqlite::{Connection, Row, params_from_iter};
use sqluice::load::{FormatOptions, Load};
use sqluice::schema::Schema;
use sqluice_format::page::PENDING_BYTE;

use super::files::{Home, assert_sound, integrity, open, records};
use super::tables::quoted;

/// Loads a file into the table that is named after it, and checks that each of its `rows` rows is what SQLite stores.
/// Without a schema each column of the header is TEXT.
pub(crate) fn assert_equals_twin(file: &Path, rows: usize, schema: Option<&Schema>) {
    let table = file.file_stem().unwrap().to_str().unwrap();
    let input = std::fs::read(file).unwrap();
    let home = Home::new();
    let (path, twin_path) = (home.path("ours.db"), home.path("twin.db"));
    let columns = insert(&input, &twin_path, table, rows, schema);
    load(file, &path, rows, schema.cloned(), &columns);

    let (bytes, twin_bytes) = (std::fs::read(&path).unwrap(), std::fs::read(&twin_path).unwrap());
    assert_sound(&bytes, PENDING_BYTE);
    let (ours, twin) = (open(&path), open(&twin_path));
    assert_eq!(integrity(&ours), "ok");
    assert_same_values(&ours, &twin, table, &columns, rows);
    assert!(records(&ours, &bytes, table) == records(&twin, &twin_bytes, table), "the same record bytes");
}

fn load(file: &Path, target: &Path, rows: usize, schema: Option<Schema>, columns: &[String]) {
    let types = match schema {
        Some(_) => Vec::new(),
        None => columns.iter().map(|name| (name.clone(), "TEXT".to_owned())).collect(),
    };
    let format = FormatOptions::new().empty_as_text(true);
    let load = Load::new(target, [file]).schema(schema).format(format).types(types);
    let report = load.run().unwrap();
    assert_eq!(report.rows, rows as u64);
}

/// Makes the twin; returns the names of its columns, which are those of the header.
pub(crate) fn insert(
    input: &[u8],
    path: &Path,
    table: &str,
    rows: usize,
    schema: Option<&Schema>,
) -> Vec<String> {
    let mut records = CsvCore::new(input);
    let header: Vec<String> = records.next().unwrap().to_vec();
    let mut twin = open(path);
    // The twin has just this table, so its foreign keys would have no parents.
    twin.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let transaction = twin.transaction().unwrap();
    transaction.execute_batch(&declaration(table, &header, schema)).unwrap();
    let places = vec!["?"; header.len()].join(", ");
    let mut insert =
        transaction.prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(table))).unwrap();
    let mut inserted = 0;
    while let Some(record) = records.next() {
        insert.execute(params_from_iter(record)).unwrap();
        inserted += 1;
    }
    assert_eq!(inserted, rows, "the file is the known one");
    drop(insert);
    transaction.commit().unwrap();
    header
}

fn declaration(table: &str, header: &[String], schema: Option<&Schema>) -> String {
    let Some(schema) = schema else {
        let columns: Vec<String> = header.iter().map(|name| format!("{} TEXT", quoted(name))).collect();
        return format!("CREATE TABLE {} ({})", quoted(table), columns.join(", "));
    };
    let table = schema.table(table).unwrap();
    let columns = table.columns.iter().map(|column| &column.name);
    assert!(columns.eq(header), "the schema has the columns of the file, in their order");
    table.sql.clone()
}

/// Asserts that all values have the same types and literals in both databases.
pub(crate) fn assert_same_values(
    ours: &Connection,
    twin: &Connection,
    table: &str,
    columns: &[String],
    rows: usize,
) {
    let selected: Vec<String> =
        columns.iter().map(|name| format!("typeof({0}), quote({0})", quoted(name))).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY rowid", selected.join(", "), quoted(table));
    let (mut ours, mut twin) = (ours.prepare(&sql).unwrap(), twin.prepare(&sql).unwrap());
    let (mut ours, mut twin) = (ours.query([]).unwrap(), twin.query([]).unwrap());
    for number in 1..=rows {
        let (ours, twin) = (ours.next().unwrap().unwrap(), twin.next().unwrap().unwrap());
        for (index, name) in columns.iter().enumerate() {
            assert_eq!(value(ours, index), value(twin, index), "row {number}, column {name}");
        }
    }
    assert!(ours.next().unwrap().is_none() && twin.next().unwrap().is_none(), "more than {rows} rows");
}

fn value<'a>(row: &'a Row<'_>, column: usize) -> [&'a str; 2] {
    [0, 1].map(|part| row.get_ref(column * 2 + part).unwrap().as_str().unwrap())
}

/// The records of a file, the header among them, as csv-core reads them.
pub(crate) struct CsvCore<'a> {
    reader: csv_core::Reader,
    rest: &'a [u8],
    bytes: Vec<u8>,
    ends: Vec<usize>,
    record: Vec<String>,
}

impl CsvCore<'_> {
    pub(crate) fn new(input: &[u8]) -> CsvCore<'_> {
        let (bytes, ends) = (vec![0; 1 << 16], vec![0; 256]);
        CsvCore { reader: csv_core::Reader::new(), rest: input, bytes, ends, record: Vec::new() }
    }

    pub(crate) fn next(&mut self) -> Option<&[String]> {
        let (mut written, mut ended) = (0, 0);
        loop {
            let (result, read, bytes, ends) =
                self.reader.read_record(self.rest, &mut self.bytes[written..], &mut self.ends[ended..]);
            (self.rest, written, ended) = (&self.rest[read..], written + bytes, ended + ends);
            match result {
                csv_core::ReadRecordResult::Record => break,
                csv_core::ReadRecordResult::End => return None,
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::OutputFull | csv_core::ReadRecordResult::OutputEndsFull => {
                    panic!("a record is larger than this test expects")
                }
            }
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let fields = starts.zip(&self.ends[..ended]).map(|(start, &end)| &self.bytes[start..end]);
        self.record.clear();
        self.record.extend(fields.map(|field| std::str::from_utf8(field).unwrap().to_owned()));
        Some(&self.record)
    }
}
