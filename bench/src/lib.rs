//! Side-by-side benchmarks of sqluice, SQLite and the bare disk. `bench/README.md` has the results.
//!
//! A comparison measures several ways to do the same, such as `sqluice load` and SQLite's `.import`. A lap is one timed run of a way, in a
//! process of its own, on files that are removed afterwards. Its result is verified before its time counts.
//!
//! In each round, every way runs one lap, because on a shared machine only times from the same minutes are comparable.
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * [`words`](mod@words), [`machine`], [`process`], [`shell`], [`options`], [`sqluice`]
//! * [`lap`], [`rounds`], [`ratio`], [`house`]: a lap, rounds of laps, ratios within a round, a comparison from start to record
//! * [`script`]: the records of comparisons that are scripts in Python; [`readme`]: the page of results, from kept records
//! * [`db`], [`found`]: opens databases with SQLite, and reads the rows that a lap wrote
//!
//! A comparison is data: a list of ways, each with its part (a group of ways that run in the same rounds), its name, its title and the
//! function that runs a lap; and a list of ratios between ways, each with a claim about it in words, such as `at least 5`.
//!
//! The comparisons, none of which uses another:
//!
//! * [`billion`], [`check`], [`databases`], [`entities`], [`existing`], [`generate`], [`index`], [`load`], [`lookalike`], [`search`],
//!   [`stores`]

pub mod billion;
pub mod check;
pub mod databases;
pub mod db;
pub mod entities;
pub mod existing;
pub mod found;
pub mod generate;
pub mod house;
pub mod index;
pub mod lap;
pub mod load;
pub mod lookalike;
pub mod machine;
pub mod options;
pub mod process;
pub mod ratio;
pub mod readme;
pub mod rounds;
pub mod script;
pub mod search;
pub mod shell;
pub mod sqluice;
pub mod stores;
pub mod words;

pub use sqluice_lab::{random, scratch};

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;

/// The unsafe PRAGMAs of the article about a billion rows: as fast as SQLite gets, but a crash
/// corrupts the database.
pub const UNSAFE_PRAGMAS: &str = "PRAGMA journal_mode = OFF;
    PRAGMA synchronous = 0;
    PRAGMA cache_size = 1000000;
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA temp_store = MEMORY;";

/// Parses a count: `1000`, `1_000`, `1e9`, `10M`, `1B`.
///
/// # Errors
/// When the text is not a count.
pub fn count(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    let (digits, factor) = match plain.char_indices().last() {
        Some((end, 'k' | 'K')) => (&plain[..end], 1e3),
        Some((end, 'm' | 'M')) => (&plain[..end], 1e6),
        Some((end, 'b' | 'B' | 'g' | 'G')) => (&plain[..end], 1e9),
        _ => (plain.as_str(), 1.0),
    };
    let count = digits.parse::<f64>().map(|value| value * factor);
    match count {
        Ok(count) if count.fract() == 0.0 && (0.0..9e15).contains(&count) => Ok(count as u64),
        _ => Err(format!("{text:?} is no count such as 1000, 1_000, 1e6, 10M or 1B")),
    }
}

/// Syncs a file and its folder, so that the next lap is not slowed down by these writes.
///
/// # Errors
/// When the file or its folder can't be synced.
pub fn sync(file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().context("a file is in a folder")?;
    for path in [file, folder] {
        let opened = File::open(path).and_then(|opened| opened.sync_all());
        opened.with_context(|| format!("cannot sync {}", path.display()))?;
    }
    Ok(())
}

/// Writes a text file with a header line and other lines, and syncs it.
///
/// # Errors
/// When the file can't be written.
pub fn lines(
    file: &Path,
    header: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let write = || -> anyhow::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 20, File::create(file)?);
        writeln!(to, "{header}")?;
        write(&mut to)?;
        Ok(to.flush()?)
    };
    write().with_context(|| format!("cannot write {}", file.display()))?;
    sync(file)
}

/// Returns the size of a file.
///
/// # Errors
/// When the file does not exist.
pub fn size(file: &Path) -> anyhow::Result<u64> {
    Ok(file.metadata().with_context(|| format!("{} is missing", file.display()))?.len())
}

/// Reads a whole file, so that it is in the page cache if memory allows.
///
/// # Errors
/// When the file can't be read.
pub fn warm(file: &Path) -> anyhow::Result<()> {
    let read = File::open(file).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
    read.map(drop).with_context(|| format!("cannot read {}", file.display()))
}

/// Copies a file, syncs the copy, and reads it into the page cache. Without the sync, a later lap would have to wait for these writes.
///
/// # Errors
/// When the file can't be copied, or the copy not be synced or read.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    sync(to)?;
    warm(to)
}

pub use ::sqluice::size::grouped;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_have_separators_exponents_and_suffixes() {
        for (text, expected) in [("1e9", 1_000_000_000), ("10M", 10_000_000), ("1_000", 1000), ("2.5k", 2500)]
        {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in ["", "M", "-1", "1.5", "nan", "inf", "1e30"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
