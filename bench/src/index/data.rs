//! The schemas, indexes and rows of the comparison. A row is a function of its number, so CSV files and INSERTs have the same rows.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::lines;
use crate::random::{mixed, permuted};

/// The schemas of the generated tables, by the names of their files.
pub(crate) const SCHEMAS: [(&str, &str); 7] = [
    ("plain.sql", include_str!("plain.sql")),
    ("area.sql", include_str!("area.sql")),
    ("two.sql", include_str!("two.sql")),
    ("number_plain.sql", include_str!("number_plain.sql")),
    ("number.sql", include_str!("number.sql")),
    ("lower.sql", include_str!("lower.sql")),
    ("half.sql", include_str!("half.sql")),
];

/// An index that SQLite creates on a copy of a table.
#[derive(Debug)]
pub(crate) struct Index {
    /// The name of the index, as a list: the names of all indexes that the database must have.
    pub(crate) names: [&'static str; 1],
    pub(crate) create: &'static str,
    /// The schema of the table without the index, and the file of the table.
    pub(crate) schema: &'static str,
    pub(crate) table: &'static str,
}

static INDEXES: [Index; 4] = [
    Index {
        names: ["by_area"],
        create: "CREATE INDEX by_area ON user (area)",
        schema: "plain.sql",
        table: "table.db",
    },
    Index {
        names: ["by_number"],
        create: "CREATE INDEX by_number ON user (number)",
        schema: "number_plain.sql",
        table: "number.db",
    },
    Index {
        names: ["by_lower"],
        create: "CREATE INDEX by_lower ON user (lower(area))",
        schema: "plain.sql",
        table: "table.db",
    },
    Index {
        names: ["by_half"],
        create: "CREATE INDEX by_half ON user (area) WHERE active = 1",
        schema: "plain.sql",
        table: "table.db",
    },
];

impl Index {
    pub(crate) fn named(name: &str) -> anyhow::Result<&'static Index> {
        INDEXES
            .iter()
            .find(|index| index.names == [name])
            .with_context(|| format!("there is no index {name}"))
    }
}

/// The keys of the rows of table `item`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Random UUIDs, the PRIMARY KEY of a WITHOUT ROWID table
    Uuid,
    /// 1 to the number of rows, an INTEGER PRIMARY KEY
    Shuffled,
}

impl Keys {
    pub(crate) fn named(name: &str) -> anyhow::Result<Keys> {
        let mut all = [Keys::Uuid, Keys::Shuffled].into_iter();
        all.find(|keys| keys.name() == name).with_context(|| format!("there are no keys {name}"))
    }

    pub(crate) fn csv(self) -> String {
        format!("{}.csv", self.name())
    }

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
    lines(file, &format!("{},value", keys.column()), |to| {
        let mut key = String::new();
        for row in 0..rows {
            keys.write(row, rows, &mut key);
            writeln!(to, "{key},{}", value(row))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn uuids_have_the_form_of_version_4_and_are_unique() {
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
