//! Experiments on the cost of integers and tables: the size of integers, booleans, kinds of tables, automatic keys.

use crate::case::Experiment;
use crate::insert::{Insert, Way};
use crate::random::mixed;
use crate::scale::{Counts, Scale};
use crate::sql::UNSAFE;
use crate::table::{Fill, Table, int32};

use super::inserts::{ARRAY, ROWS, UNROLLED};

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    vec![sizes(scale), booleans(scale), table_types(scale), automatic_keys(scale)]
}

/// A function from the row number to the value of a column.
type Value = fn(u64) -> i64;

const SIZES: [(&str, Value); 6] = [
    ("all zeros", |_| 0),
    ("all ones", |_| 1),
    ("int8", |row| i64::from(mixed(row) as i8)),
    ("int16", |row| i64::from(mixed(row) as i16)),
    ("int32", int32),
    ("int64", |row| mixed(row) as i64),
];

fn sizes(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 2_000_000, 100_000_000).at(scale);
    let insert = |value, way| Insert::new(&Table::integers(rows, value), way).case();
    let all =
        SIZES.iter().fold(Experiment::new("integer-size", "rows/s", rows), |experiment, (name, value)| {
            experiment.published(name, insert(*value, Way::Carray(ARRAY)))
        });
    SIZES.iter().fold(all, |experiment, (name, value)| {
        experiment.sqluice(&format!("{name}, sqluice pages"), insert(*value, Way::Pages))
    })
}

fn booleans(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 2_000_000, 2_000_000_000).at(scale);
    let table = Table::integers(rows, |row| (mixed(row) >> 63) as i64);
    let insert = |way| Insert::new(&table, way);
    Experiment::new("booleans", "rows/s", rows)
        .published("carray", insert(Way::Carray(ARRAY)).case())
        .published("carray, unsafe PRAGMAs", insert(Way::Carray(ARRAY)).pragmas(UNSAFE).case())
        .published("bound parameters, unrolled insert", insert(Way::Bound(UNROLLED)).case())
        .sqluice("sqluice_rows", insert(Way::Rows(ROWS)).case())
        .sqluice("sqluice pages", insert(Way::Pages).case())
}

fn table_types(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 1_500_000, 100_000_000).at(scale);
    let types = [
        ("default rowid", "value INTEGER"),
        ("INTEGER PRIMARY KEY", "value INTEGER PRIMARY KEY"),
        ("INT PRIMARY KEY WITHOUT ROWID", "value INT PRIMARY KEY) WITHOUT ROWID"),
    ];
    let insert = |declared, way| {
        let table = Table::of_ints(declared, rows, |row| row as i64 + 1);
        Insert::new(&table, way).case()
    };
    let experiment = Experiment::new("table-type", "rows/s", rows);
    let all = types.iter().fold(experiment, |experiment, (name, declared)| {
        experiment.published(name, insert(declared, Way::Carray(ARRAY)))
    });
    types.iter().fold(all, |experiment, (name, declared)| {
        experiment.sqluice(&format!("{name}, sqluice pages"), insert(declared, Way::Pages))
    })
}

fn automatic_keys(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 1_500_000, 100_000_000).at(scale);
    let table = |key: &str, automatic_key| Table {
        name: "integers",
        create: format!("CREATE TABLE integers ({key}value INTEGER)"),
        columns: vec![("value".to_owned(), Fill::Int(std::sync::Arc::new(int32)))],
        rows,
        automatic_key,
    };
    let rowid = table("", None);
    let key = table("id INTEGER PRIMARY KEY, ", Some("id"));
    let counted = table("id INTEGER PRIMARY KEY AUTOINCREMENT, ", Some("id"));
    let carray = |table| Insert::new(table, Way::Carray(ARRAY)).case();
    Experiment::new("automatic-key", "rows/s", rows)
        .published("default rowid", carray(&rowid))
        .published("INTEGER PRIMARY KEY", carray(&key))
        .published("AUTOINCREMENT", carray(&counted))
        .sqluice("default rowid, sqluice pages", Insert::new(&rowid, Way::Pages).case())
        .sqluice("INTEGER PRIMARY KEY, sqluice_rows", Insert::new(&key, Way::Rows(ROWS)).case())
        .sqluice("INTEGER PRIMARY KEY, sqluice pages", Insert::new(&key, Way::Pages).case())
}
