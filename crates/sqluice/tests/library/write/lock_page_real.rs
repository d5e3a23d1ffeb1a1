//! A new file of over 1 GiB, with the lock byte at its real place. The test needs as much space for temporary files, so quick runs only
//! have `lock_page`, where the lock byte moves into small files.

use std::path::Path;

use crate::support::files::{Home, open};
use sqluice::batch::{Batch, Bytes, Column, Spans, Values};
use sqluice::check::Check;
use sqluice::error::Result;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice::source::{Part, Sink, Source};
use sqluice::write::write_tables;
use sqluice_format::page::PENDING_BYTE;
use sqluice_testkit::effort::{Effort, effort};
use sqluice_testkit::sqlite::sqlite3;

const BLOB_BYTES: usize = 300_000;
const ROWS: u64 = 3_700;
const PART_ROWS: u64 = 20;

/// A source of rows with large blobs, with a few rows in each part.
struct Blobs(u64);

struct SomeBlobs(u64);

impl Source for Blobs {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let first = self.0;
        self.0 += PART_ROWS;
        Ok((first < ROWS).then(|| Box::new(SomeBlobs(first)) as Box<dyn Part>))
    }
}

impl Part for SomeBlobs {
    fn first_row(&self) -> u64 {
        self.0
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let data: Vec<u8> = (0..BLOB_BYTES).map(|byte| (byte % 251) as u8).collect();
        for row in self.0..self.0 + PART_ROWS {
            let ints = [row as i64];
            let blob = Values::Blob(Bytes { data: &data, spans: Spans::Fixed(BLOB_BYTES) });
            let columns = vec![Column::new(Values::Int(&ints)), Column::new(blob)];
            sink.rows(&Batch { rows: 1, columns }).map_err(|refused| refused.first().1)?;
        }
        Ok(())
    }
}

#[test]
fn a_new_database_of_over_1_gib_skips_the_page_of_the_lock_byte() {
    if effort() == Effort::Quick {
        return;
    }
    let home = Home::new();
    let path = home.path("large.db");
    let schema = Schema::parse("CREATE TABLE t (a, b)".to_owned(), Path::new("test.sql")).unwrap();
    let options = WriteOptions::default();
    let sources: Vec<Box<dyn Source>> = vec![Box::new(Blobs(0))];
    let report = write_tables(Some(&path), &schema, sources, &options, &Context::default()).unwrap();
    assert!(report.bytes > u64::from(PENDING_BYTE) + (8 << 20), "{} bytes", report.bytes);
    assert_eq!(report.rows, ROWS);

    let check = Check::new(path.clone()).full(true).checksum(true);
    let checked = check.run().unwrap();
    assert!(checked.is_sound(), "{:?} {:?}", checked.report.problems, checked.sqlite_problems);
    assert_eq!(checked.rows(), ROWS);
    assert_eq!(checked.checksum, Some(report.checksum));

    let last = format!("SELECT sum(a), count(*), hex(substr(b, -2)) FROM t WHERE a >= {}", ROWS - 700);
    let expected = format!(
        "{}|700|{:02X}{:02X}",
        (ROWS - 700..ROWS).sum::<u64>(),
        (BLOB_BYTES - 2) % 251,
        (BLOB_BYTES - 1) % 251
    );
    if let Some(said) = sqlite3(&path, &format!("PRAGMA integrity_check; {last}")) {
        assert_eq!(said, format!("ok\n{expected}"));
    }
    let database = open(&path);
    let hash = "SELECT count(DISTINCT b) FROM t WHERE a % 300 = 0";
    assert_eq!(database.query_row(hash, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}
