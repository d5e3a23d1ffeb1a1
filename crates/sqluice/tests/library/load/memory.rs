//! Memory is bounded by the setting, not by the input.
//!
//! Each case runs in its own process: this program again, with the case in its environment. The peak of its memory (`VmHWM`, which includes
//! the code) must stay below the memory setting plus [`BESIDES_BYTES`].

#![cfg(all(feature = "load", target_os = "linux"))] // The test reads the peak of memory in /proc.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::support::files::Home;
use crate::support::load::{feed, gzip, plain, run, schema};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
#[cfg(feature = "archives")]
use sqluice_testkit::archives;
use sqluice_testkit::effort::tries;
use sqluice_testkit::own_process::test_of;

/// The environment variable with the name of the case that the process runs.
const CASE: &str = "SQLUICE_MEMORY_CASE";

/// The memory that a process needs besides the setting: code, stacks, samples, blocks that are read ahead and decompressed, losses of
/// the allocator.
const BESIDES_BYTES: u64 = 32 << 20;

/// The way in which the input arrives.
#[derive(Clone, Copy, PartialEq)]
enum From {
    Path,
    Pipe,
    Gzip,
    /// A member of a ZIP archive.
    #[cfg(feature = "archives")]
    Zip,
    /// A member of a compressed tar archive.
    #[cfg(feature = "archives")]
    Tar,
}

impl From {
    fn file(self) -> &'static str {
        match self {
            #[cfg(feature = "archives")]
            From::Zip => "t.zip",
            #[cfg(feature = "archives")]
            From::Tar => "t.tar.gz",
            _ => "t.csv",
        }
    }
}

/// The kind of rows, and the settings of the load.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    Declared,
    /// The last row makes a column TEXT, which refutes the guessed type.
    Inferred,
    Rejected,
}

const CASES: &[(&str, From, Rows)] = &[
    ("declared, path", From::Path, Rows::Declared),
    ("declared, pipe", From::Pipe, Rows::Declared),
    ("declared, gzip", From::Gzip, Rows::Declared),
    ("inferred, path", From::Path, Rows::Inferred),
    ("inferred, pipe", From::Pipe, Rows::Inferred),
    ("inferred, gzip", From::Gzip, Rows::Inferred),
    ("rejected, path", From::Path, Rows::Rejected),
    ("rejected, gzip", From::Gzip, Rows::Rejected),
    #[cfg(feature = "archives")]
    ("inferred, zip", From::Zip, Rows::Inferred),
    #[cfg(feature = "archives")]
    ("declared, tar", From::Tar, Rows::Declared),
];

#[test]
fn memory_is_bounded_whatever_the_size_of_the_input() {
    if let Ok(case) = std::env::var(CASE) {
        return child(&case);
    }
    for &(case, from, rows) in CASES {
        let home = Home::new();
        put(&home.path(from.file()), from, rows);
        for memory_mib in
            if from == From::Pipe { vec![32] } else { tries(vec![32], vec![32, 64], vec![32, 64]) }
        {
            let child = test_of(module_path!(), "memory_is_bounded_whatever_the_size_of_the_input")
                .current_dir(home.path(""))
                .env(CASE, format!("{case};{memory_mib}"))
                .output()
                .unwrap();
            assert!(child.status.success(), "{case}: {}", String::from_utf8_lossy(&child.stdout));
            let peak: u64 = std::fs::read_to_string(home.path("peak")).unwrap().parse().unwrap();
            let allowed = (memory_mib << 20) + BESIDES_BYTES;
            assert!(peak < allowed, "{case}, {memory_mib} MiB: {peak} bytes at most, {allowed} allowed");
        }
    }
}

/// Returns the number of times that a block of 1 MiB is repeated.
fn blocks(rows: Rows) -> usize {
    let mib = tries(50, 50, 1000);
    if rows == Rows::Rejected { mib / 20 } else { mib }
}

/// Writes the input, which is the same block repeated.
fn put(path: &Path, from: From, rows: Rows) {
    let (header, row, last) = match rows {
        Rows::Rejected => ("a\n", "x\n", ""),
        _ => ("a,b,c,d\n", "1234567,some text or other,17.25,2024-02-29\n", "x,,,\n"),
    };
    let block = row.repeat((1 << 20) / row.len()).into_bytes();
    let packed = |bytes: &[u8]| if from == From::Gzip { gzip(bytes) } else { bytes.to_vec() };
    let (header, block, last) = (packed(header.as_bytes()), packed(&block), packed(last.as_bytes()));
    let write = move |out: &mut std::fs::File| {
        let mut out = BufWriter::new(out);
        out.write_all(&header).unwrap();
        (0..blocks(rows)).for_each(|_| out.write_all(&block).unwrap());
        out.write_all(&last).unwrap();
    };
    match from {
        From::Pipe => feed(path, write),
        From::Path | From::Gzip => write(&mut std::fs::File::create(path).unwrap()),
        #[cfg(feature = "archives")]
        From::Zip | From::Tar => {
            let plain = path.with_extension("plain");
            write(&mut std::fs::File::create(&plain).unwrap());
            let members = [("t.csv", std::fs::read(&plain).unwrap())];
            let packed = match from {
                From::Zip => archives::zip(&members),
                _ => archives::gzip(&archives::tar(&members)),
            };
            std::fs::write(path, packed).unwrap();
        }
    }
}

/// Loads the file, and writes the peak of memory into a file.
fn child(case: &str) {
    let (case, memory_mib) = case.split_once(';').unwrap();
    let (_, from, rows) = *CASES.iter().find(|(name, ..)| *name == case).unwrap();
    let memory_bytes = memory_mib.parse::<u64>().unwrap() << 20;
    let target = format!("{memory_mib}.db");
    let schema = match rows {
        Rows::Declared => Some(schema("CREATE TABLE t (a TEXT, b TEXT, c REAL, d TEXT)")),
        Rows::Inferred => None,
        Rows::Rejected => Some(schema("CREATE TABLE t (a INTEGER NOT NULL) STRICT")),
    };
    let mut load = Load::new(&target, [from.file()])
        .format(plain())
        .schema(schema)
        // All rows are bad.
        .rejects_max(u64::MAX - 1)
        .write(WriteOptions::new().threads(2).memory_bytes(memory_bytes));
    load.reject = (rows == Rows::Rejected).then(|| "/dev/null".into());
    let report = run(load).unwrap();
    let expected = blocks(rows) as u64 * (1 << 20) / 2;
    assert!(report.rejected == if rows == Rows::Rejected { expected } else { 0 });
    std::fs::remove_file(target).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let peak: u64 = peak.unwrap().trim().parse().unwrap();
    std::fs::write("peak", (peak << 10).to_string()).unwrap();
}
