//! Tests of several CSV files that are read one after another as one source (a chain), and of the reported progress.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::sample::select;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::Source;
use sqluice_core::source::chain::{Chain, Counted};

use super::super::{ColumnFrom, CsvOptions, CsvReader};
use super::{Taken, Taking, Taste, options, reader, source};

/// Returns all rows of a source, bad rows included, and the error that ended the source.
fn all(mut source: impl Source) -> (Vec<Taken>, Option<Error>) {
    let mut taken = Vec::new();
    let taste = Taste { bad_rows: true, ..Taste::default() };
    let error = loop {
        let mut part = match source.next_part() {
            Ok(Some(part)) => part,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        assert_eq!(part.first_row(), taken.len() as u64);
        let next_row = part.first_row();
        part.decode(&mut Taking { taste, next_row, taken: &mut taken }).unwrap();
    };
    (taken, error)
}

/// Returns the columns that [`Taking`] expects: the first field, and the constant 7.
fn columns() -> Vec<ColumnFrom> {
    vec![ColumnFrom::Field(0), ColumnFrom::Constant(super::Constant::Int(7))]
}

/// Returns the files as one source, and counts the opened files in `opened`.
fn chain(
    files: Vec<Vec<u8>>,
    options: CsvOptions,
    rows_max: Option<u64>,
    opened: Arc<AtomicUsize>,
) -> impl Source {
    let mut files = files.into_iter();
    let open = move |rows| -> Option<Result<Box<dyn Counted>>> {
        let file = files.next()?;
        opened.fetch_add(1, Ordering::Relaxed);
        let source = reader(&file, options.clone()).map(|reader| reader.into_source(columns(), rows));
        Some(source.map(|source| Box::new(source) as Box<dyn Counted>))
    };
    Chain::new(open, rows_max, Some(Amount { rows: 0, bytes: 7 }))
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn a_chain_of_csv_files_has_the_rows_of_one_file_after_another(
        files in prop::collection::vec(prop::collection::vec(select(vec!["1\n", "x", "\r\n", "\n", "2,3\n", "\"\n\"\n"]), 0..8), 0..5),
        rows_max in prop::option::of(0..12u64),
        part_bytes in 1..8usize,
    ) {
        let with_header = |lines: &Vec<&str>| [b"a\n", lines.concat().as_bytes()].concat();
        let files: Vec<Vec<u8>> = files.iter().map(with_header).collect();
        let opened = Arc::default();
        let (taken, error) = all(chain(files.clone(), options(part_bytes), rows_max, Arc::clone(&opened)));
        prop_assert!(error.is_none());

        let mut expected: Vec<Taken> = Vec::new();
        let mut needed = 0;
        for file in &files {
            if rows_max.is_none_or(|max| (expected.len() as u64) < max) {
                needed += 1;
            }
            expected.extend(all(source(file, options(part_bytes), columns())).0);
        }
        expected.truncate(rows_max.map_or(usize::MAX, |max| max as usize));
        prop_assert_eq!(taken, expected);
        prop_assert_eq!(opened.load(Ordering::Relaxed), needed);
    }
}

#[test]
fn a_csv_file_of_a_chain_is_opened_after_the_previous_file_was_read() {
    let opened = Arc::default();
    let files = vec![b"a\n1\n2\n".to_vec(), b"a\n\xff".to_vec()];
    let mut chain = chain(files, options(1), None, Arc::clone(&opened));
    assert_eq!(chain.total().unwrap().bytes, 7);
    for expected in [1, 1, 2] {
        assert!(chain.next_part().unwrap().is_some());
        assert_eq!(opened.load(Ordering::Relaxed), expected);
    }
}

#[test]
fn a_file_that_can_not_be_opened_ends_the_chain_of_csv_files() {
    let files = vec![b"a\n1\n".to_vec(), Vec::new(), b"a\n2\n".to_vec()];
    let (taken, error) = all(chain(files, options(1), None, Arc::default()));
    assert_eq!(taken.len(), 1);
    assert_eq!(error.unwrap().without_hint(), "in.csv: the file is empty");
}

#[test]
fn progress_follows_the_counter_of_the_bytes_read_from_the_file() {
    let read = Arc::new(AtomicU64::new(5));
    let mut source = source(b"a\n1\n2\n3\n", options(1), columns());
    assert_eq!(source.total(), None);
    source = source.with_progress(Some(Arc::clone(&read)), Some(100));
    assert_eq!(source.total().unwrap().bytes, 100);
    assert_eq!(source.next_part().unwrap().unwrap().input_bytes(), 5);
    read.store(75, Ordering::Relaxed);
    assert_eq!(source.next_part().unwrap().unwrap().input_bytes(), 70);
    assert_eq!(source.next_part().unwrap().unwrap().input_bytes(), 0);
}

#[test]
fn rows_are_numbered_from_the_given_start() {
    let input = Cursor::new(b"a\n1\n2\n".to_vec());
    let reader = CsvReader::new(Box::new(input), Path::new("in.csv"), options(1)).unwrap();
    let mut source = reader.into_source(columns(), 40..41);
    assert_eq!(source.next_part().unwrap().unwrap().first_row(), 40);
    assert_eq!(source.rows_done(), 1);
    assert!(source.next_part().unwrap().is_none());
}
