//! Random tables for property tests: declared types, STRICT or not, a column as the rowid, gaps between rowids, and rows that suit the
//! types.

use proptest::prelude::*;

use super::Random;
use super::rows::{OwnedBatch, OwnedColumn, Takes};

/// Declared types, and what a STRICT table's column of that type takes; the first six are those of STRICT tables.
const TYPES: [(&str, Takes); 18] = [
    ("INT", Takes::Ints),
    ("INTEGER", Takes::Ints),
    ("REAL", Takes::Numbers),
    ("TEXT", Takes::Texts),
    ("BLOB", Takes::Blobs),
    ("any", Takes::Anything),
    ("", Takes::Anything),
    ("NUMERIC", Takes::Anything),
    ("VARCHAR(10)", Takes::Anything),
    ("DOUBLE PRECISION", Takes::Anything),
    ("FLOAT", Takes::Anything),
    ("DATE", Takes::Anything),
    ("DECIMAL(10,5)", Takes::Anything),
    ("BIGINT UNSIGNED", Takes::Anything),
    ("CLOB", Takes::Anything),
    ("BOOLEAN", Takes::Anything),
    ("int8", Takes::Anything),
    ("STRING", Takes::Anything),
];

/// The ways to declare a column as the rowid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Alias {
    OnColumn,
    OfTable,
    OfTableDescending,
}

/// A table, and the number of its rows.
#[derive(Clone, Debug)]
pub(crate) struct RandomTable {
    pub(crate) name: String,
    /// Indexes of `TYPES`.
    types: Vec<usize>,
    strict: bool,
    alias: Option<(usize, Alias)>,
    pub(crate) first_rowid: i64,
    gaps: bool,
    null_rowids: bool,
    /// The number of rows of each batch.
    pub(crate) batches: Vec<usize>,
    seed: u64,
}

/// Returns a name in double quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl RandomTable {
    pub(crate) fn ddl(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (index, &kind) in self.types.iter().enumerate() {
            lines.push(match self.alias {
                Some((alias, Alias::OnColumn)) if alias == index => format!("c{index} INTEGER PRIMARY KEY"),
                Some((alias, _)) if alias == index => format!("c{index} integer"),
                _ => format!("c{index} {}", TYPES[kind].0),
            });
        }
        match self.alias {
            Some((alias, Alias::OfTable)) => lines.push(format!("PRIMARY KEY (c{alias})")),
            Some((alias, Alias::OfTableDescending)) => lines.push(format!("PRIMARY KEY (c{alias} DESC)")),
            _ => {}
        }
        let strict = if self.strict { " STRICT" } else { "" };
        format!("CREATE TABLE {} ({}){strict};\n", quoted(&self.name), lines.join(", "))
    }

    pub(crate) fn alias(&self) -> Option<usize> {
        self.alias.map(|(alias, _)| alias)
    }

    pub(crate) fn columns(&self) -> usize {
        self.types.len()
    }

    /// Returns the rows in batches, each with the rowids of its rows.
    pub(crate) fn rows(&self, page_bytes: usize) -> Vec<(OwnedBatch, Vec<i64>)> {
        let mut random = Random(self.seed);
        let mut budget = 4 << 20;
        let total: usize = self.batches.iter().sum();
        let numbered = self.alias.is_none() || self.null_rowids;
        // The last row may have the largest rowid there is.
        let room = if numbered || !self.gaps { (total as i64 - 1).max(0) } else { total as i64 * 4 };
        let mut rowid =
            if self.alias.is_some() && self.null_rowids { 1 } else { self.first_rowid.min(i64::MAX - room) };
        let mut batches = Vec::new();
        for &rows in &self.batches {
            let mut rowids = Vec::with_capacity(rows);
            let gaps = !numbered && self.gaps && !random.one_in(3);
            for _ in 0..rows {
                rowids.push(rowid);
                rowid = rowid.wrapping_add(if gaps { 1 + random.below(3) as i64 } else { 1 });
            }
            let columns = (0..self.types.len()).map(|index| match self.alias() {
                Some(alias) if alias == index => {
                    let mut column = OwnedColumn::rowids(&mut random, &rowids);
                    if self.null_rowids {
                        column.add_nulls(&mut random);
                    }
                    column
                }
                _ => {
                    let takes = if self.strict { TYPES[self.types[index]].1 } else { Takes::Anything };
                    OwnedColumn::random(&mut random, takes, rows, page_bytes, &mut budget)
                }
            });
            batches.push((OwnedBatch { rows, columns: columns.collect() }, rowids));
        }
        batches
    }
}

/// Generates rowids near those at which the varint becomes longer, and near other limits.
fn first_rowid() -> impl Strategy<Value = i64> {
    let edges = (1..9u32).prop_map(|n| if n == 8 { 1 << 56 } else { 1i64 << (7 * n) });
    prop_oneof![
        Just(1),
        (edges, 0..40i64).prop_map(|(edge, before)| edge - before),
        -40..40i64,
        Just(i64::MIN),
        Just(i64::MAX),
        any::<i64>(),
    ]
}

/// Generates a table of up to `columns` columns, with up to `batches` batches of up to `rows` rows.
pub(crate) fn table(columns: usize, batches: usize, rows: usize) -> impl Strategy<Value = RandomTable> {
    let alias = prop_oneof![
        2 => Just(None),
        3 => (any::<prop::sample::Index>(), prop_oneof![
            Just(Alias::OnColumn), Just(Alias::OfTable), Just(Alias::OfTableDescending)
        ]).prop_map(Some),
    ];
    let rows = prop_oneof![4 => 1..=rows.min(70), 1 => 1..=rows];
    (
        any::<bool>().prop_flat_map(move |strict| {
            let types = if strict { 0..6 } else { 0..TYPES.len() };
            (Just(strict), prop::collection::vec(types, 1..=columns))
        }),
        alias,
        first_rowid(),
        (prop::bool::ANY, prop::bool::weighted(0.2)),
        prop::collection::vec(rows, 0..=batches),
        any::<u64>(),
    )
        .prop_map(|((strict, types), alias, first_rowid, (gaps, null_rowids), batches, seed)| {
            RandomTable {
                name: "t".to_owned(),
                alias: alias.map(|(index, alias)| (index.index(types.len()), alias)),
                types,
                strict,
                first_rowid,
                gaps,
                null_rowids,
                batches,
                seed,
            }
        })
}

/// Generates the eight page sizes. Small ones are more frequent, since they give more pages.
pub(crate) fn page_bytes() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(512), 3 => Just(1024), 1 => Just(2048), 3 => Just(4096),
        1 => Just(8192), 1 => Just(16384), 1 => Just(32768), 2 => Just(65536),
    ]
}
