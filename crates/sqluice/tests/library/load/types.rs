//! Guessed types of columns: they follow from all values, not just from the sample, and each stored value prints as it was written.

#![cfg(feature = "load")]

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, plain, run, schema};
use crate::support::tables::quoted;
use crate::support::twin::CsvCore;
use crate::support::{Random, cases, tpch};
use proptest::prelude::*;
use rusqlite::types::ValueRef;
use sqluice::infer::{Evidence, Inferred};
use sqluice::load::Load;
use sqluice::options::WriteOptions;

/// The kinds of values of a random column.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Ints,
    /// Decimals with this number of digits after the point.
    Decimals(usize),
    /// Decimals with as many digits as their value needs.
    Shortest,
    Text,
    Empty,
    Anything,
}

impl Kind {
    fn value(self, random: &mut Random) -> String {
        match self {
            Kind::Ints => (random.next() as i64 >> random.below(64)).to_string(),
            Kind::Decimals(decimals) => {
                format!("{:.decimals$}", random.below(2_000_000) as f64 / 100.0 - 10_000.0)
            }
            Kind::Shortest => (random.below(100_000) as f64 / 1000.0).to_string(),
            Kind::Text => random.pick(&["a", "x y", "007", "1e5", "-0", "+1", "é", "inf", "0x1f"]).to_owned(),
            Kind::Empty => String::new(),
            Kind::Anything => random
                .pick(&[
                    "1",
                    "1.5",
                    "2.50",
                    "-3",
                    "12345678901234567890",
                    "9007199254740993",
                    "0.1",
                    "-0.0",
                    "x",
                ])
                .to_owned(),
        }
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => Just(Kind::Ints),
        3 => (1..4usize).prop_map(Kind::Decimals),
        3 => Just(Kind::Shortest),
        1 => Just(Kind::Text),
        1 => Just(Kind::Empty),
        2 => Just(Kind::Anything),
    ]
}

/// A column with values of one kind up to some row, of another kind from there on, and with NULLs.
#[derive(Clone, Debug)]
struct RandomColumn {
    kinds: [Kind; 2],
    turn: usize,
    /// One in this number of values is NULL. 0: no NULLs.
    sparse: usize,
}

fn column() -> impl Strategy<Value = RandomColumn> {
    let turn = prop_oneof![Just(usize::MAX), 0..80usize];
    (kind(), kind(), turn, select_sparse()).prop_map(|(first, second, turn, sparse)| RandomColumn {
        kinds: [first, second],
        turn,
        sparse,
    })
}

fn select_sparse() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), Just(2), Just(10)]
}

/// The values of a row; `None` is NULL.
type Row = Vec<Option<String>>;

fn rows(columns: &[RandomColumn], count: usize, seed: u64) -> Vec<Row> {
    let mut random = Random(seed);
    let mut value = |row: usize, column: &RandomColumn| {
        let kind = column.kinds[usize::from(row >= column.turn)];
        let null = column.sparse > 0 && random.one_in(column.sparse);
        Some(kind.value(&mut random)).filter(|value| !null && !value.is_empty())
    };
    (0..count).map(|row| columns.iter().map(|column| value(row, column)).collect()).collect()
}

/// Returns the rows as CSV, with an additional first column, so that no line is empty.
fn csv(rows: &[Row], columns: usize) -> String {
    let header: String = (0..columns).map(|column| format!(",c{column}")).collect();
    let line = |row: &Row| {
        let fields: String = row.iter().map(|value| format!(",{}", value.as_deref().unwrap_or(""))).collect();
        format!("k{fields}\n")
    };
    format!("k{header}\n") + &rows.iter().map(line).collect::<String>()
}

/// Returns the evidence for the type that all values of a column give.
fn evidence<'a>(values: impl Iterator<Item = &'a Option<String>>) -> Evidence {
    let mut evidence = Evidence::new();
    values.flatten().for_each(|value| evidence.add(value.as_bytes()));
    evidence
}

/// Returns the declared types, by column.
fn declared(database: &Path, table: &str) -> BTreeMap<String, String> {
    let database = open(database);
    let mut types = database.prepare("SELECT name, type FROM pragma_table_info(?1)").unwrap();
    let types = types.query_map([table], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    types.map(Result::unwrap).collect()
}

/// Prints a float as Python (`1.0`), JavaScript (`1`), and R, which writes all digits of a whole number.
const PRINTERS: [fn(f64) -> String; 3] = [
    |real| format!("{real:?}"),
    |real| real.to_string(),
    |real| if real.fract() == 0.0 { format!("{real:.0}") } else { real.to_string() },
];

/// Asserts that stored values print as they were written. Floats are printed with the number of decimals that all values of the column
/// have, or, if that varies, all by the same one of [`PRINTERS`].
fn assert_prints_back<I: Iterator<Item = Row>>(
    database: &Path,
    table: &str,
    names: &[String],
    rows: impl Fn() -> I,
) {
    let mut decimals = vec![(usize::MAX, 0); names.len()];
    for row in rows() {
        for (value, (least, most)) in row.iter().zip(&mut decimals) {
            let Some(value) = value else { continue };
            let digits = value.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            (*least, *most) = ((*least).min(digits), (*most).max(digits));
        }
    }
    let database = open(database);
    assert_eq!(integrity(&database), "ok");
    let columns: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let sql = format!("SELECT {} FROM {} ORDER BY rowid", columns.join(", "), quoted(table));
    let mut stored = database.prepare(&sql).unwrap();
    let mut stored = stored.query([]).unwrap();
    let mut printers = vec![PRINTERS.to_vec(); names.len()];
    for (number, row) in rows().enumerate() {
        let stored = stored.next().unwrap().expect("as many rows as records");
        for (column, written) in row.iter().enumerate() {
            let place = || format!("row {number}, column {}", names[column]);
            let printed = match stored.get_ref(column).unwrap() {
                ValueRef::Null => None,
                ValueRef::Integer(int) => Some(int.to_string()),
                ValueRef::Real(real) if decimals[column].0 == decimals[column].1 => {
                    Some(format!("{real:.*}", decimals[column].0))
                }
                ValueRef::Real(real) => {
                    printers[column].retain(|print| Some(print(real)) == *written);
                    assert!(!printers[column].is_empty(), "{}: {real:?} of {written:?}", place());
                    continue;
                }
                ValueRef::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                ValueRef::Blob(_) => panic!("no field is a blob"),
            };
            assert_eq!(&printed, written, "{}", place());
        }
    }
    assert!(stored.next().unwrap().is_none());
}

/// Returns options with chunks of two pages, so that there are several chunks.
fn write(threads: usize) -> WriteOptions {
    WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = 8192)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn guessed_types_fit_all_values_and_each_stored_value_prints_as_in_the_file(
        columns in prop::collection::vec(column(), 1..5),
        count in 0..160usize,
        seed: u64,
        part_bytes in 1..600usize,
        tries in prop::collection::vec((0..800usize, 0..4usize, 1..4usize), 1..4),
    ) {
        let rows = rows(&columns, count, seed);
        let csv = csv(&rows, columns.len());
        let home = Home::new();
        let mut expected: Option<Vec<u8>> = None;
        let tries = [(1 << 20, 0, 1)].into_iter().chain(tries);
        for (number, (sample_bytes, way, threads)) in tries.enumerate() {
            let target = home.path(&format!("{number}.db"));
            let file = Way::ALL[way].put(&home, &format!("{number}.csv"), csv.as_bytes());
            let load = Load::new(&target, [file])
                .table("t")
                .format(plain())
                .write(write(threads))
                .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (sample_bytes, part_bytes));
            let report = run(load).unwrap();
            prop_assert_eq!(report.rows, count as u64);
            let bytes = std::fs::read(&target).unwrap();
            prop_assert!(*expected.get_or_insert_with(|| bytes.clone()) == bytes);
        }
        let names: Vec<String> = (0..columns.len()).map(|column| format!("c{column}")).collect();
        let declared = declared(&home.path("0.db"), "t");
        for (column, name) in names.iter().enumerate() {
            let all = evidence(rows.iter().map(|row| &row[column]));
            prop_assert_eq!(&declared[name], all.conclude().name());
        }
        assert_prints_back(&home.path("0.db"), "t", &names, || rows.iter().cloned());
    }

    /// The types follow from the records up to the limit that are well-formed, also from those that the table refuses.
    #[test]
    fn guessed_types_fit_all_well_formed_records_up_to_the_limit(
        columns in prop::collection::vec(column(), 1..4),
        counts in (1..60usize, 0..60usize),
        seed: u64,
        limit in prop_oneof![Just(None), (0..130u64).prop_map(Some)],
        sizes in prop::collection::vec((0..900usize, 1..4usize), 1..4),
    ) {
        let (count, bad) = counts;
        let rows = rows(&columns, count, seed);
        let mut random = Random(seed);
        let mut lines: Vec<String> = csv(&rows, columns.len()).lines().map(str::to_owned).collect();
        // The row of each line after the header; `None` for a bad line.
        let mut numbers: Vec<Option<usize>> = (0..count).map(Some).collect();
        for _ in 0..bad {
            let at = random.below(numbers.len() + 1);
            numbers.insert(at, None);
            lines.insert(at + 1, "too,many,fields,in,this,record".to_owned());
        }
        // The table refuses this record, since k is NOT NULL, but its values count for the types.
        let refused: Vec<bool> = numbers.iter().map(|_| random.one_in(5)).collect();
        for (line, (refused, number)) in lines[1..].iter_mut().zip(refused.iter().zip(&numbers)) {
            if *refused && number.is_some() {
                *line = line.trim_start_matches('k').to_owned();
            }
        }
        let cut = 1 + random.below(lines.len());
        let home = Home::new();
        let (first, second) = (home.path("a.csv"), home.path("b.csv"));
        std::fs::write(&first, lines[..cut].join("\n") + "\n").unwrap();
        std::fs::write(&second, lines[..1].iter().chain(&lines[cut..]).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let mut expected = None;
        for (number, (sample_bytes, threads)) in [(1 << 20, 1)].into_iter().chain(sizes).enumerate() {
            let target = home.path(&format!("{number}.db"));
            let reject = home.path(&format!("{number}.rejected"));
            let load = Load::new(&target, [&first, &second])
                .table("t")
                .format(plain())
                .write(write(threads))
                .schema(schema("CREATE TABLE t (k TEXT NOT NULL)"))
                .add_columns(true)
                .limit(limit)
                .reject(reject)
                .rejects_max(u64::MAX - 1)
                .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (sample_bytes, 100));
            run(load).unwrap();
            let bytes = std::fs::read(&target).unwrap();
            prop_assert!(*expected.get_or_insert_with(|| bytes.clone()) == bytes);
        }
        let read = limit.map_or(numbers.len(), |limit| numbers.len().min(limit as usize));
        let declared = declared(&home.path("0.db"), "t");
        for column in 0..columns.len() {
            let values = numbers[..read].iter().flatten().map(|&row| &rows[row][column]);
            prop_assert_eq!(&declared[&format!("c{column}")], evidence(values).conclude().name());
        }
        let kept = |index: &usize| numbers[*index].is_some() && !refused[*index];
        let loaded: i64 = open(&home.path("0.db")).query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        prop_assert_eq!(loaded as usize, (0..read).filter(kept).count());
    }
}

fn assert_inferred(table: &str, write: fn(&Path) -> usize, integers: &[&str], reals: &[&str]) {
    let home = Home::new();
    let (file, target) = (home.path(&format!("{table}.csv")), home.path("x.db"));
    let count = write(&file);
    let text = std::fs::read(&file).unwrap();
    let mut header = CsvCore::new(&text);
    let names = header.next().unwrap().to_vec();
    let rows = || {
        let mut records = CsvCore::new(&text);
        records.next();
        std::iter::from_fn(move || Some(records.next()?.iter().cloned().map(Some).collect()))
    };
    assert_eq!(rows().count(), count);
    run(Load::new(&target, [&file])).unwrap();
    let declared = declared(&target, table);
    for name in &names {
        let expected = if integers.contains(&&name[2..]) {
            Inferred::Integer
        } else if reals.contains(&&name[2..]) {
            Inferred::Real
        } else {
            Inferred::Text
        };
        assert_eq!(declared[name], expected.name(), "{name}");
    }
    assert_prints_back(&target, table, &names, rows);
}

#[test]
fn line_items_of_tpch_get_integer_keys_and_float_prices_that_print_as_in_the_file() {
    let integers = ["orderkey", "partkey", "suppkey", "linenumber", "quantity"];
    assert_inferred("lineitem", tpch::write_line_items, &integers, &["extendedprice", "discount", "tax"]);
}

#[test]
fn orders_of_tpch_get_integer_keys_and_float_prices_that_print_as_in_the_file() {
    assert_inferred("orders", tpch::write_orders, &["orderkey", "custkey", "shippriority"], &["totalprice"]);
}
