//! What affinity makes of values, against what the bundled SQLite puts into its file.
//!
//! The records are taken from the pages of SQLite's file, never by SELECT. `SQLUICE_TRIES` says how many random values each
//! test tries (100,000 by default).

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, params};
use sqluice::affinity::{Affinity, Converter, Rowid, to_rowid};
use sqluice::batch::Value;
use sqluice_format::{record, varint};

/// A declared type for each affinity.
const COLUMNS: [(&str, Affinity); 5] = [
    ("BLOB", Affinity::Blob),
    ("TEXT", Affinity::Text),
    ("NUMERIC", Affinity::Numeric),
    ("INTEGER", Affinity::Integer),
    ("REAL", Affinity::Real),
];

#[derive(Clone, Debug)]
enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Int(int) => Value::Int(*int),
            Owned::Real(real) => Value::Real(*real),
            Owned::Text(text) => Value::Text(text),
            Owned::Blob(blob) => Value::Blob(blob),
        }
    }
}

impl ToSql for Owned {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        use rusqlite::types::ValueRef;
        Ok(ToSqlOutput::Borrowed(match self {
            Owned::Null => ValueRef::Null,
            Owned::Int(int) => ValueRef::Integer(*int),
            Owned::Real(real) => ValueRef::Real(*real),
            Owned::Text(text) => ValueRef::Text(text),
            Owned::Blob(blob) => ValueRef::Blob(blob),
        }))
    }
}

/// The records of all rows of the only table in a database file, by rowid.
fn records(file: &[u8]) -> BTreeMap<i64, Vec<u8>> {
    let mut records = BTreeMap::new();
    for page in file.chunks(65536).skip(1).filter(|page| page[0] == 13) {
        let cells = u16::from_be_bytes([page[3], page[4]]) as usize;
        for pointer in page[8..8 + 2 * cells].chunks(2) {
            let cell = &page[u16::from_be_bytes([pointer[0], pointer[1]]) as usize..];
            let (payload, n) = varint::read(cell).unwrap();
            let (rowid, m) = varint::read(&cell[n..]).unwrap();
            records.insert(rowid as i64, cell[n + m..n + m + payload as usize].to_vec());
        }
    }
    records
}

/// Compares what SQLite stores for `values`, in a column of each affinity, with what we do.
fn compare(values: &[Owned]) {
    let folder = tempfile::tempdir().unwrap();
    for (declared, affinity) in COLUMNS {
        let path = folder.path().join(format!("{declared}.db"));
        let mut connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA page_size = 65536; PRAGMA synchronous = 0; PRAGMA journal_mode = OFF")
            .unwrap();
        connection.execute_batch(&format!("CREATE TABLE t (v {declared})")).unwrap();
        let transaction = connection.transaction().unwrap();
        {
            let mut insert = transaction.prepare("INSERT INTO t VALUES (?1)").unwrap();
            for value in values {
                insert.execute(params![value]).unwrap();
            }
        }
        transaction.commit().unwrap();
        drop(connection);
        let theirs = records(&std::fs::read(&path).unwrap());
        assert_eq!(theirs.len(), values.len());
        let mut converter = Converter::default();
        for (value, theirs) in values.iter().zip(theirs.values()) {
            let mut ours = Vec::new();
            record::encode(&[converter.apply(value.value(), affinity)], &mut ours);
            if ours != *theirs {
                let [ours, theirs] = [&ours, theirs].map(|bytes| record::decode(bytes));
                panic!("{value:?} in a {declared} column: we store {ours:?}, SQLite {theirs:?}");
            }
        }
    }
}

fn tries() -> usize {
    std::env::var("SQLUICE_TRIES").ok().and_then(|tries| tries.parse().ok()).unwrap_or(100_000)
}

/// Compares random values; the seed is fixed unless more tries than usual are asked for.
fn compare_random<S: Strategy>(strategy: S, owned: impl Fn(S::Value) -> Owned) {
    let mut runner = match std::env::var_os("SQLUICE_TRIES") {
        Some(_) => TestRunner::new(Config::default()),
        None => TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let mut left = tries();
    while left > 0 {
        let n = left.min(50_000);
        let values: Vec<Owned> =
            (0..n).map(|_| owned(strategy.new_tree(&mut runner).unwrap().current())).collect();
        compare(&values);
        left -= n;
    }
}

fn text(text: &str) -> Owned {
    Owned::Text(text.as_bytes().to_vec())
}

#[test]
fn odd_texts_become_what_sqlite_makes_of_them() {
    let plain = [
        "",
        " ",
        "0",
        "1",
        "-1",
        "+1",
        " 12",
        "12 ",
        "\t12\n",
        "\u{b}12\u{c}\r",
        "\u{a0}12",
        "1e3",
        "1E3",
        "1e+3",
        "1e-3",
        "1e",
        "1e+",
        "e5",
        ".e5",
        "5.e5",
        ".5",
        "5.",
        ".",
        "-",
        "+",
        "-.5",
        "+.5",
        "-.",
        "- 5",
        "--5",
        "+-5",
        "0x10",
        "0X1F",
        "1_000",
        "1,000",
        "inf",
        "Infinity",
        "-inf",
        "nan",
        "NaN",
        "007",
        "-007",
        "00.5",
        "0.0",
        "-0.0",
        "-0",
        "0e0",
        "0e999999",
        "1e400",
        "-1e400",
        "1e-400",
        "1e308",
        "1.8e308",
        "4.9e-324",
        "2e-324",
        "2.2250738585072011e-308",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "9223372036854775807.0",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740992.5",
        "12345678901234567890",
        "1844674407370955160",
        "1844674407370955161",
        "18446744073709551615",
        "18446744073709551616",
        "00000000000000000000000001",
        "0.00000000000000000000000000001",
        "3500000000000000.2500001",
        "140737488355327",
        "140737488355328",
        "-140737488355328",
        "-140737488355329",
        "140737488355328.0",
        "2251799813685248",
        "2251799813685247.0",
        "1e18",
        "1e19",
        "12\0abc",
        "12\0",
        "\012",
        "1\0.5",
        "9007199254740993\0abc",
        "2251799813685248\0x",
        "-2251799813685248\0x",
        "4503599627370497\0",
        "12 \0",
        "12 \0x",
        "1.5\0x",
        "43.930599212646484",
        "1e9999999999",
        "1e-9999999999",
        "é",
        "12é",
        "１２",
    ];
    let mut values: Vec<Owned> = plain.iter().map(|plain| text(plain)).collect();
    values.push(Owned::Text(b"12\xff".to_vec()));
    values.push(Owned::Text(vec![b'9'; 2000]));
    values.push(Owned::Text([vec![b'0'; 2000], b"12".to_vec()].concat()));
    values.push(Owned::Text([b"0.".to_vec(), vec![b'0'; 2000], b"12".to_vec()].concat()));
    compare(&values);
}

#[test]
fn integers_and_floats_at_every_boundary_become_what_sqlite_makes_of_them() {
    let mut ints = vec![0, 1, -1, i64::MIN, i64::MAX];
    for bits in 1..63 {
        for near in -2..=2 {
            ints.extend([(1_i64 << bits) + near, -(1_i64 << bits) + near]);
        }
    }
    let mut reals =
        vec![0.0, -0.0, 0.5, -0.5, 1e18, 1e19, 1e300, 5e-324, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
    reals.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN]);
    for &int in &ints {
        let real = int as f64;
        reals.extend([real, real.next_up(), real.next_down(), real + 0.5]);
    }
    let mut values = vec![Owned::Null, Owned::Blob(Vec::new()), Owned::Blob(b"12".to_vec())];
    values.extend(ints.into_iter().map(Owned::Int));
    values.extend(reals.into_iter().map(Owned::Real));
    compare(&values);
}

#[test]
fn random_text_of_number_characters_becomes_what_sqlite_makes_of_it() {
    compare_random("[ \\t\\n\\x0b\\r0-9+\\-.eExX_\\x00aAinf]{0,12}", |random| text(&random));
}

#[test]
fn random_decimals_become_what_sqlite_makes_of_them() {
    compare_random("[ ]?[-+]?[0-9]{1,25}(\\.[0-9]{0,25})?([eE][-+]?[0-9]{1,3})?[ ]?", |random| text(&random));
    compare_random("-?[0-9]{1,9}\\.[0-9]{1,9}", |random| text(&random));
}

#[test]
fn random_bits_become_what_sqlite_makes_of_them_as_floats() {
    compare_random(proptest::num::u64::ANY, |bits| Owned::Real(f64::from_bits(bits)));
    compare_random(-1_000_000_000_i64..1_000_000_000, |int| Owned::Real(int as f64 / 1000.0));
}

#[test]
fn rowids_are_what_sqlite_takes_for_them() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY)").unwrap();
    let mut values: Vec<Owned> =
        ["5.0", " 12 ", "12x", "", "1e3", "1.5", "9223372036854775807", "9223372036854775808", "-1", "0x10"]
            .iter()
            .map(|value| text(value))
            .collect();
    values.extend([
        Owned::Int(7),
        Owned::Real(5.0),
        Owned::Real(5.5),
        Owned::Real(9.3e18),
        Owned::Blob(b"5".to_vec()),
        Owned::Null,
    ]);
    for value in values {
        connection.execute("DELETE FROM t", []).unwrap();
        let inserted = connection
            .execute("INSERT INTO t VALUES (?1)", params![value])
            .map(|_| connection.last_insert_rowid());
        match to_rowid(&value.value()) {
            Rowid::Given(rowid) => assert_eq!(inserted.ok(), Some(rowid), "{value:?}"),
            Rowid::Next => assert_eq!(inserted.ok(), Some(1), "{value:?}"),
            Rowid::Mismatch => assert!(inserted.is_err(), "{value:?}"),
        }
    }
}
