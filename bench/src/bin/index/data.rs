//! Rows in no order of their keys: each is a function of its number, so that a file and an INSERT have the same.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use sqluice_bench::sync;

/// What the rows of table `item` are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keys {
    /// Random UUIDs, the PRIMARY KEY of a WITHOUT ROWID table
    Uuid,
    /// 1 to the number of rows, an INTEGER PRIMARY KEY
    Shuffled,
}

impl Keys {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Keys::Uuid => "uuid",
            Keys::Shuffled => "shuffled",
        }
    }

    /// The column that the key is in.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Keys::Uuid => "uuid",
            Keys::Shuffled => "id",
        }
    }

    /// The table, as a load of the file makes it.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Keys::Uuid => {
                "CREATE TABLE item (uuid TEXT NOT NULL, value INTEGER, PRIMARY KEY (uuid)) WITHOUT ROWID"
            }
            Keys::Shuffled => "CREATE TABLE item (id INTEGER PRIMARY KEY, value INTEGER)",
        }
    }

    /// The key of row `row` of so many, both counted from 0, into `key`.
    pub(crate) fn write(self, row: u64, rows: u64, key: &mut String) {
        key.clear();
        // Writing to a string does not fail.
        let _ = match self {
            Keys::Uuid => {
                let (high, low) = (mixed(2 * row), mixed(2 * row + 1));
                let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
                let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
                write!(key, "{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
            }
            Keys::Shuffled => write!(key, "{}", permuted(row, rows) + 1),
        };
    }
}

/// The value of row `row`.
pub(crate) fn value(row: u64) -> i64 {
    (mixed(!row) % 1_000_000) as i64
}

/// Splitmix64 of a number.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Where a shuffle of the numbers below `rows` puts `number`: steps that can be undone, of as many bits as the numbers have,
/// until it is below `rows` again.
pub(crate) fn permuted(number: u64, rows: u64) -> u64 {
    let bits = (64 - (rows - 1).leading_zeros()).max(2);
    let mask = (1 << bits) - 1;
    let mut x = number;
    loop {
        for factor in [0x9E37_79B9_7F4A_7C15u64, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
            x = x.wrapping_mul(factor) & mask;
            x ^= x >> (bits / 2);
            x = x.wrapping_add(factor >> 7) & mask;
        }
        if x < rows {
            return x;
        }
    }
}

/// Writes the rows as a CSV file, on the disk.
pub(crate) fn csv(keys: Keys, rows: u64, file: &Path) -> anyhow::Result<()> {
    let write = || -> std::io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 20, File::create(file)?);
        writeln!(to, "{},value", keys.column())?;
        let mut key = String::new();
        for row in 0..rows {
            keys.write(row, rows, &mut key);
            writeln!(to, "{key},{}", value(row))?;
        }
        to.flush()
    };
    write().with_context(|| format!("cannot write {}", file.display()))?;
    sync(file)
}

/// Reads a file from its start to its end: it is in the page cache then, if there is room.
pub(crate) fn warm(file: &Path) -> anyhow::Result<()> {
    let read = File::open(file).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
    read.map(drop).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_shuffle_has_every_number_once() {
        for rows in [1, 2, 3, 10, 1000, 4096, 4097] {
            let numbers: BTreeSet<u64> = (0..rows).map(|row| permuted(row, rows)).collect();
            assert_eq!(numbers.len() as u64, rows);
            assert!(numbers.last() < Some(&rows));
        }
        let follows = (0..999).filter(|&row| permuted(row + 1, 1000) == permuted(row, 1000) + 1).count();
        assert!(follows < 20, "{follows} rows come after the one before");
    }

    #[test]
    fn a_uuid_looks_like_one_and_comes_once() {
        let mut key = String::new();
        let keys: BTreeSet<String> = (0..10_000)
            .map(|row| {
                Keys::Uuid.write(row, 10_000, &mut key);
                let dashes: Vec<usize> = key.match_indices('-').map(|(at, _)| at).collect();
                assert_eq!((key.len(), &dashes[..], &key[14..15]), (36, &[8, 13, 18, 23][..], "4"), "{key}");
                key.clone()
            })
            .collect();
        assert_eq!(keys.len(), 10_000);
    }
}
