//! The memory of a load of a dump is bounded by the setting: for rows of one statement, for many statements, and for a statement without
//! an end.
//!
//! Each case is a process of its own: this program again, with the case in its environment. The peak is `VmHWM`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice_testkit::effort::tries;
use sqluice_testkit::own_process::test_of;

/// The environment variable with the name of the case that the process runs.
const CASE: &str = "SQLUICE_DUMP_MEMORY_CASE";

const MEMORY_BYTES: u64 = 32 << 20;

/// The memory that a process takes besides the setting: its code, SQLite, blocks that are decompressed.
const BESIDES_BYTES: u64 = 40 << 20;

/// Returns the size of a dump, in bytes.
fn bytes() -> usize {
    tries(150 << 20, 300 << 20, 2 << 30)
}

/// The cases, with `true` for dumps that are loaded.
const CASES: [(&str, bool); 6] = [
    ("one statement", true),
    ("many statements", true),
    ("copy", true),
    ("string without an end", false),
    ("statement without an end", false),
    ("comment without an end", false),
];

#[test]
fn memory_is_bounded_whatever_the_statements_of_a_dump() {
    if let Ok(case) = std::env::var(CASE) {
        return child(&case);
    }
    for (case, is_loaded) in CASES {
        for packed in [false, true] {
            // Rows after COPY need a build that reads dumps of servers.
            if case == "copy" && !cfg!(feature = "dialects") {
                continue;
            }
            let home = tempfile::tempdir().unwrap();
            write(&home.path().join("dump.sql"), case, packed);
            let child = test_of(module_path!(), "memory_is_bounded_whatever_the_statements_of_a_dump")
                .current_dir(home.path())
                .env(CASE, case)
                .output()
                .unwrap();
            assert!(child.status.success(), "{case}: {}", String::from_utf8_lossy(&child.stdout));
            let seen = fs::read_to_string(home.path().join("peak")).unwrap();
            let (peak, result) = seen.split_once(' ').unwrap();
            let (peak, allowed) = (peak.parse::<u64>().unwrap(), MEMORY_BYTES + BESIDES_BYTES);
            assert!(peak < allowed, "{case}, packed {packed}: {peak} bytes at most, {allowed} allowed");
            assert_eq!(result.starts_with("loaded"), is_loaded, "{case}: {result}");
        }
    }
}

fn write(path: &Path, case: &str, packed: bool) {
    let (start, row, end) = match case {
        "one statement" => (
            "CREATE TABLE t (a, b);\nINSERT INTO t VALUES (0,'')",
            ",\n(1234567,'some text or other')",
            ";\n",
        ),
        "many statements" => ("CREATE TABLE t (a, b);\n", "INSERT INTO t VALUES(1234567,'some text');\n", ""),
        "copy" => (
            "--\n-- PostgreSQL database dump\n--\nCREATE TABLE t (a integer, b text);\nCOPY t (a, b) FROM stdin;\n",
            "1234567\tsome text or other\n",
            "\\.\n--\n-- PostgreSQL database dump complete\n--\n",
        ),
        "string without an end" => {
            ("CREATE TABLE t (a, b);\nINSERT INTO t VALUES (1, '", "text without an end\n", "")
        }
        "statement without an end" => ("CREATE TABLE t (a, b);\nUPDATE t SET a = 1", " + 1", ""),
        _ => ("CREATE TABLE t (a, b);\n/*", " no end\n", ""),
    };
    let file = File::create(path).unwrap();
    let mut out: Box<dyn Write> = match packed {
        true => Box::new(GzEncoder::new(file, Compression::fast())),
        false => Box::new(BufWriter::new(file)),
    };
    out.write_all(start.as_bytes()).unwrap();
    let block = row.repeat((1 << 20) / row.len());
    for _ in 0..bytes() >> 20 {
        out.write_all(block.as_bytes()).unwrap();
    }
    out.write_all(end.as_bytes()).unwrap();
}

/// Loads the dump, and notes the peak of the memory and the result.
fn child(case: &str) {
    let write = WriteOptions::new().threads(2).memory_bytes(MEMORY_BYTES);
    let result = match Load::new("x.db", ["dump.sql"]).write(write).run() {
        Ok(report) => format!("loaded {}", report.rows),
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("is longer than"), "{case}: {message}");
            assert!(!Path::new("x.db").exists());
            message
        }
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: u64 = peak.unwrap().trim().parse().unwrap();
    fs::write("peak", format!("{} {result}", peak << 10)).unwrap();
}
