//! Rows in random order of their keys. A row is a function of its number, so that a file and an INSERT have the same rows.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;

use crate::random::{mixed, permuted};
use crate::sync;

/// A column of table `user` that gets an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// Six random digits, as text
    Area,
    /// A random integer
    Number,
    /// `lower()` of the six digits
    Lower,
    /// The six digits, of half of the rows
    Half,
}

impl Column {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Column::Area => "area",
            Column::Number => "number",
            Column::Lower => "lower",
            Column::Half => "half",
        }
    }

    /// Returns the statement that creates the index.
    pub(crate) fn index(self) -> &'static str {
        match self {
            Column::Area => "CREATE INDEX by_area ON user (area)",
            Column::Number => "CREATE INDEX by_number ON user (number)",
            Column::Lower => "CREATE INDEX by_lower ON user (lower(area))",
            Column::Half => "CREATE INDEX by_half ON user (area) WHERE active = 1",
        }
    }

    /// Returns the schema without the index.
    pub(crate) fn schema(self) -> &'static str {
        match self {
            Column::Area | Column::Lower | Column::Half => "plain.sql",
            Column::Number => "number_plain.sql",
        }
    }

    /// Returns the file of the table without the index.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Column::Area | Column::Lower | Column::Half => "table.db",
            Column::Number => "number.db",
        }
    }
}

/// The keys of the rows of table `item`.
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

    /// Returns the column of the key.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Keys::Uuid => "uuid",
            Keys::Shuffled => "id",
        }
    }

    /// Returns the declaration of the table, as a load of the file creates it.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Keys::Uuid => {
                "CREATE TABLE item (uuid TEXT NOT NULL, value INTEGER, PRIMARY KEY (uuid)) WITHOUT ROWID"
            }
            Keys::Shuffled => "CREATE TABLE item (id INTEGER PRIMARY KEY, value INTEGER)",
        }
    }

    /// Writes the key of row `row`, counted from 0, of `rows` into `key`.
    pub(crate) fn write(self, row: u64, rows: u64, key: &mut String) {
        key.clear();
        // Writing to a String can't fail.
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

/// Returns the value of row `row`.
pub(crate) fn value(row: u64) -> i64 {
    (mixed(!row) % 1_000_000) as i64
}

/// Writes the rows as a CSV file, and syncs it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_uuid_looks_like_one_and_is_unique() {
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
