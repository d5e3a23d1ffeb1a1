//! Tests of Avro files that are written here byte by byte, valid and damaged.

mod cases;
mod damage;
mod file;
mod random;

use proptest::prelude::*;
use serde_json::Value;

use self::file::{block, file, header, of_field, packed};
use super::taken::{Cell, Outcome, read};

/// The memory of the simulated load.
const MEMORY: u64 = 64 << 20;

/// Reads `data` as records with one field of the type `kind`.
fn rows(kind: &str, records: i64, data: &[u8]) -> Outcome {
    read(&file(&of_field(kind), records, data), MEMORY)
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Returns a file with one column, `v`, of arrays of one random type, and the expected JSON of each row.
fn random_file(seed: u64) -> (Vec<u8>, Vec<Value>) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let kind = random::Kind::Array(Box::new(random::kind(3, &mut rng)));
    let schema = of_field(&kind.schema(&mut 0).to_string());
    let codec = ["null", "deflate", "snappy", "zstandard"][rng.usize(..4)];
    let mut out = header(&schema, codec);
    let mut expected = Vec::new();
    for _ in 0..rng.usize(..4) {
        let mut data = Vec::new();
        let records = rng.usize(..6);
        expected.extend((0..records).map(|_| kind.put(&mut rng, &mut data)));
        block(records as i64, &packed(codec, &data), &mut out);
    }
    (out, expected)
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(512))]

    #[test]
    fn random_avro_values_of_random_types_are_read_back(seed: u64) {
        let (file, expected) = random_file(seed);
        let outcome = read(&file, MEMORY);
        prop_assert_eq!(&outcome.error, &None);
        prop_assert_eq!(&outcome.bad, &Vec::<String>::new());
        let json = |row: &Vec<Cell>| match &row[..] {
            [Cell::Text(text)] => serde_json::from_str(text).unwrap(),
            other => panic!("{other:?} is no JSON"),
        };
        let read: Vec<Value> = outcome.rows.iter().map(json).collect();
        prop_assert_eq!(read, expected);
    }
}
