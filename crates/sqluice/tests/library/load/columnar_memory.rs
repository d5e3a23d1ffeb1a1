//! A small Parquet file may decode to any number of bytes. The memory of its load is bounded all the same.
//!
//! Each case runs in its own process: this program again, with the case in its environment. The peak of its memory is `VmHWM`, which
//! includes the code.

#![cfg(all(feature = "parquet", target_os = "linux"))] // The test reads the peak of memory in /proc.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use crate::support::columnar::batch;
use crate::support::files::Home;
use crate::support::load::run;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice_testkit::own_process::test_of;

/// The environment variable with the name of the case that the process runs.
const CASE: &str = "SQLUICE_COLUMNAR_MEMORY_CASE";

/// The memory setting of each load, and the memory that a process needs besides: code, stacks, and losses of the allocator.
const MEMORY_BYTES: u64 = 64 << 20;
const BESIDES_BYTES: u64 = 48 << 20;

/// Writes the file of a case.
type Write = fn(&Path);

/// The files with their number of rows. `None`: the file is refused, and the hint names the setting that allows more memory.
const CASES: [(&str, Write, Option<u64>); 6] = [
    ("a long string of a dictionary", |path| dictionary(path, 120 << 20, 3), None),
    ("a long string", |path| plain(path, 120 << 20), None),
    ("a page that says it has 2 GB", says_2_gb, None),
    (
        "one string again and again, without what it shares with the one before",
        |path| prefixes(path, 1 << 20, 150),
        Some(150),
    ),
    ("the same, of longer strings", |path| prefixes(path, 40 << 20, 4), None),
    ("one string of a dictionary again and again", |path| dictionary(path, 1 << 20, 300), Some(300)),
];

#[test]
fn a_small_file_that_stands_for_much_takes_no_more_memory_than_it_may() {
    if std::env::var(CASE).is_ok() {
        return child();
    }
    for (case, write, rows) in CASES {
        let home = Home::new();
        write(&home.path("x.parquet"));
        let bytes = home.path("x.parquet").metadata().unwrap().len();
        assert!(bytes < 4 << 20, "{case}: {bytes} bytes");
        let child =
            test_of(module_path!(), "a_small_file_that_stands_for_much_takes_no_more_memory_than_it_may")
                .current_dir(home.path(""))
                .env(CASE, case)
                .output()
                .unwrap();
        assert!(child.status.success(), "{case}: {}", String::from_utf8_lossy(&child.stdout));
        let said = fs::read_to_string(home.path("said")).unwrap();
        match rows {
            Some(rows) => assert_eq!(said, format!("{rows} rows"), "{case}"),
            None => assert!(
                said.contains("of memory, and the limit is") && said.contains("`memory = "),
                "{case}: {said}"
            ),
        }
        let peak: u64 = fs::read_to_string(home.path("peak")).unwrap().parse().unwrap();
        let allowed = MEMORY_BYTES + BESIDES_BYTES;
        assert!(peak < allowed, "{case}: {peak} bytes at most, {allowed} allowed ({said})");
    }
}

/// Loads the file, and writes the result and the peak of memory into a file.
fn child() {
    let write = WriteOptions::new().threads(1).memory_bytes(MEMORY_BYTES);
    let load = Load::new("x.db", ["x.parquet"]).write(write);
    let said = match run(load) {
        Ok(report) => format!("{} rows", report.rows),
        Err(error) => error.to_string(),
    };
    fs::write("said", said).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: u64 = peak.unwrap().trim().parse().unwrap();
    fs::write("peak", (peak << 10).to_string()).unwrap();
}

fn put(path: &Path, columns: Vec<(&str, ArrayRef)>, properties: WriterPropertiesBuilder) {
    let rows = batch(columns);
    let properties = properties.set_compression(Compression::ZSTD(Default::default())).build();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

/// Writes a file with `rows` rows, all of which have the only string of a dictionary.
fn dictionary(path: &Path, bytes: usize, rows: usize) {
    let words = StringArray::from(vec!["x".repeat(bytes)]);
    let words = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0; rows]), Arc::new(words));
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(usize::MAX);
    put(path, vec![("w", Arc::new(words))], properties);
}

fn plain(path: &Path, bytes: usize) {
    let words = StringArray::from(vec!["x".repeat(bytes)]);
    put(path, vec![("w", Arc::new(words))], WriterProperties::builder().set_dictionary_enabled(false));
}

fn prefixes(path: &Path, bytes: usize, rows: usize) {
    let text = "x".repeat(bytes);
    let words = StringArray::from_iter_values((0..rows).map(|_| text.as_str()));
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    put(path, vec![("w", Arc::new(words))], properties.set_encoding(Encoding::DELTA_BYTE_ARRAY));
}

/// Writes a file with a page of a few bytes whose header states a size of 2^31 - 1 bytes.
fn says_2_gb(path: &Path) {
    plain(path, 1_000);
    let mut file = fs::read(path).unwrap();
    // The page's header in Thrift's compact protocol: 0x15 begins an integer field. The first field is the page type, 0 for a data page.
    // The second field is the uncompressed size in bytes, a zigzag varint.
    assert_eq!(file[4..7], [0x15, 0, 0x15]);
    let width = file[7..].iter().position(|byte| *byte < 128).unwrap() + 1;
    file.splice(7..7 + width, [0xfe, 0xff, 0xff, 0xff, 0x0f]);
    fs::write(path, file).unwrap();
}
