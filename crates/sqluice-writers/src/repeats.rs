//! Finds out from a sample whether a column has few different values, so that a dictionary makes it smaller.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// The sample consists of this many runs of rows, spread over the column. Equal values are often neighbours, which single rows would
/// miss.
const RUNS: usize = 64;
/// The number of rows of each run.
const RUN_ROWS: usize = 16;

/// Returns `true` if a dictionary is likely to make the column smaller, or if the column is so small that this does not matter.
///
/// Assume n values, of which k are different and equally likely. In a sample of s values, about s² / 2k values occur repeatedly. A
/// dictionary hardly gains anything for k = n / 2, where this number is s² / n. So the column must have more repetitions than s² / n.
pub(crate) fn repeats(column: &ArrayRef) -> bool {
    let rows = column.len();
    let sample = RUNS * RUN_ROWS;
    if rows < 4 * sample {
        return true;
    }
    let starts = (0..RUNS).map(|run| run * (rows - RUN_ROWS) / (RUNS - 1));
    let valid = starts.flat_map(|start| start..start + RUN_ROWS).filter(|&row| column.is_valid(row));
    let mut hashes: Vec<u64> = match column.data_type() {
        DataType::Int64 => valid.map(|row| hash(column.as_primitive::<Int64Type>().value(row))).collect(),
        DataType::Float64 => {
            valid.map(|row| hash(column.as_primitive::<Float64Type>().value(row).to_bits())).collect()
        }
        DataType::Date32 => valid.map(|row| hash(column.as_primitive::<Date32Type>().value(row))).collect(),
        DataType::Timestamp(..) => {
            valid.map(|row| hash(column.as_primitive::<TimestampMicrosecondType>().value(row))).collect()
        }
        DataType::Utf8 => valid.map(|row| hash(column.as_string::<i32>().value(row))).collect(),
        DataType::Binary => valid.map(|row| hash(column.as_binary::<i32>().value(row))).collect(),
        // The encoder makes no columns of other types.
        _ => return true,
    };
    let taken = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    let had_before = taken - hashes.len();
    had_before > taken * taken / rows
}

fn hash(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};

    use super::*;

    /// Returns numbers that look random, the same in each run.
    fn scrambled(number: u64) -> u64 {
        hash(number)
    }

    fn ints(rows: u64, value: impl Fn(u64) -> u64) -> ArrayRef {
        Arc::new((0..rows).map(|row| value(row) as i64).collect::<Int64Array>())
    }

    #[test]
    fn values_count_as_repeated_if_a_tenth_are_different_and_not_if_all_are_different() {
        for rows in [5_000, 100_000, 1_000_000] {
            assert!(repeats(&ints(rows, |row| scrambled(row) % (rows / 10))), "{rows}");
            assert!(repeats(&ints(rows, |row| row / 4)), "{rows}: runs");
            assert!(!repeats(&ints(rows, scrambled)), "{rows}");
            assert!(!repeats(&ints(rows, |row| row)), "{rows}: in order");
        }
    }

    #[test]
    fn text_with_few_different_values_repeats_and_nulls_do_not_count() {
        let text = |row: u64, of: u64| format!("value {}", scrambled(row) % of);
        let few: ArrayRef = Arc::new((0..50_000).map(|row| Some(text(row, 50))).collect::<StringArray>());
        assert!(repeats(&few));
        let many = (0..50_000).map(|row| (row % 2 == 0).then(|| text(row, u64::MAX)));
        let many: ArrayRef = Arc::new(many.collect::<StringArray>());
        assert!(!repeats(&many));
    }

    #[test]
    fn values_of_a_column_with_few_rows_count_as_repeated() {
        assert!(repeats(&ints(100, scrambled)));
        assert!(repeats(&ints(0, scrambled)));
    }
}
