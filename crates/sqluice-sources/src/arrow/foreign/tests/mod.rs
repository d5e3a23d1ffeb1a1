//! Imports random arrays of every layout, valid and corrupted, and compares the values with those of a slow, simple reader.

mod memory;
mod random;
mod tree;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Fields, Schema};
use fastrand::Rng;
use serde_json::Value;
use sqluice_core::batch::Values;
use sqluice_testkit::effort::tries;

use self::memory::Memory;
use self::random::{corrupt, rows};
use self::tree::{Illegal, Read, Tree};
use super::super::ArrowOptions;
use super::super::column::{Refusal, Wanted, convert, is_text};
use super::super::nested::{self, Json};
use super::ForeignBatches;

fn fields(tree: &Tree) -> Fields {
    let DataType::Struct(fields) = &tree.kind else { unreachable!() };
    fields.clone()
}

/// Returns a row of a batch as JSON, or the message of a bad row.
fn row_of(batch: &RecordBatch, kinds: &[DataType], row: usize) -> Result<Value, String> {
    let mut text = String::new();
    let mut json = Json::new(&mut text, usize::MAX);
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let members = names.zip(kinds).zip(batch.columns()).map(|((name, kind), column)| (name, kind, column));
    nested::members_of(members, row, &mut json);
    match json.fault {
        Some(fault) => Err(fault),
        None => Ok(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))),
    }
}

/// Converts every column of a batch. The result must contain the texts of `rows`, or an error about a row with an invalid text.
fn convert_columns(batch: &RecordBatch, kinds: &[DataType], rows: &[Read]) {
    for (index, (column, kind)) in batch.columns().iter().zip(kinds).enumerate() {
        let options = ArrowOptions::new();
        let converted = match convert(column, Wanted { as_text: false, kind, options }, usize::MAX) {
            Ok(converted) => converted,
            Err(Refusal::Fault(fault)) => {
                assert_eq!(rows[fault.row], Err(Illegal), "{}", fault.message);
                continue;
            }
            Err(Refusal::Room(bytes)) => panic!("{bytes} bytes"),
        };
        let column = converted.column();
        let (Values::Text(bytes), true) = (&column.values, is_text(kind)) else {
            continue;
        };
        for (row, expected) in rows.iter().enumerate() {
            let Ok(Value::Object(values)) = expected else { continue };
            let is_null = column.validity.is_some_and(|validity| !validity.get(row));
            let text = (!is_null).then(|| str::from_utf8(bytes.get(row)).expect("a column has UTF-8"));
            assert_eq!(values[&format!("c{index}")].as_str(), text);
        }
    }
}

#[test]
fn bytes_of_arrow_buffers_that_belong_to_no_row_do_not_change_the_imported_values() {
    for seed in 0..tries(200, 2_000, 20_000) {
        let rng = &mut Rng::with_seed(seed);
        let mut tree = rows(rng);
        let reached = vec![true; tree.length];
        tree.fill_with_garbage(&reached, rng);
        let mut memory = Memory::default();
        let mut batches = ForeignBatches::new(&Schema::new(fields(&tree)));
        // The array is imported twice, because the second import finds its dictionaries already stored.
        for _ in 0..2 {
            let array = memory.ffi(&tree, &mut Rng::with_seed(seed));
            // SAFETY: `array` is a valid array of the interface: its buffers have the sizes that its content declares.
            let batch = unsafe { batches.import(array) };
            let batch = batch.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{tree:#?}"));
            let rows: Vec<Read> = (0..tree.length).map(|row| tree.read(row)).collect();
            for (row, expected) in rows.iter().enumerate() {
                let found = row_of(&batch, batches.kinds(), row);
                assert_eq!(found.as_ref(), Ok(expected.as_ref().unwrap()), "seed {seed}, row {row}");
            }
            convert_columns(&batch, batches.kinds(), &rows);
        }
    }
}

#[test]
fn corrupted_arrays_are_refused_or_read_like_the_slow_reader() {
    let (mut refused, mut bad, mut sound) = (0, 0, 0);
    for seed in 0..tries(500, 10_000, 100_000) {
        let rng = &mut Rng::with_seed(seed);
        let mut tree = rows(rng);
        for _ in 0..1 + rng.usize(..3) {
            corrupt(&mut tree, rng);
        }
        let mut memory = Memory::default();
        let mut batches = ForeignBatches::new(&Schema::new(fields(&tree)));
        let array = memory.ffi(&tree, rng);
        // SAFETY: the corruption changes no sizes: the buffers have the sizes that the array's content declares.
        let batch = match unsafe { batches.import(array) } {
            Ok(batch) => batch,
            Err(error) => {
                assert!(!error.message().contains("crashed"), "seed {seed}: a panic: {error}");
                refused += 1;
                continue;
            }
        };
        assert_eq!(batch.num_rows(), tree.length);
        let rows: Vec<Read> = (0..tree.length).map(|row| tree.read(row)).collect();
        for (row, expected) in rows.iter().enumerate() {
            match (row_of(&batch, batches.kinds(), row), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(&found, expected, "seed {seed}, row {row}");
                    sound += 1;
                }
                (Err(_), Err(Illegal)) => bad += 1,
                (found, expected) => panic!("seed {seed}, row {row}: {found:?} and {expected:?}\n{tree:#?}"),
            }
        }
        convert_columns(&batch, batches.kinds(), &rows);
    }
    assert!(refused > 50 && bad > 0 && sound > 500, "{refused} refused, {bad} bad rows, {sound} sound ones");
}
