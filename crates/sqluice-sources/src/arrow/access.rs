//! Accesses the values of arrays: through dictionaries and runs, and as text.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{AnyDictionaryArray, Array};
use arrow_schema::DataType;

/// Returns the key of a row: the index of its value in the dictionary. The row must not be NULL.
pub(super) fn key(dictionary: &dyn AnyDictionaryArray, row: usize) -> usize {
    let keys = dictionary.keys();
    match keys.data_type() {
        DataType::Int8 => keys.as_primitive::<Int8Type>().value(row) as usize,
        DataType::Int16 => keys.as_primitive::<Int16Type>().value(row) as usize,
        DataType::Int32 => keys.as_primitive::<Int32Type>().value(row) as usize,
        DataType::Int64 => keys.as_primitive::<Int64Type>().value(row) as usize,
        DataType::UInt8 => keys.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => keys.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => keys.as_primitive::<UInt32Type>().value(row) as usize,
        _ => keys.as_primitive::<UInt64Type>().value(row) as usize,
    }
}

/// Returns the array of the values of runs, and the index of a row's value in it.
pub(super) fn run(array: &dyn Array, row: usize) -> (&dyn Array, usize) {
    if let Some(runs) = array.as_run_opt::<Int16Type>() {
        return (runs.values(), runs.get_physical_index(row));
    }
    if let Some(runs) = array.as_run_opt::<Int32Type>() {
        return (runs.values(), runs.get_physical_index(row));
    }
    let runs = array.as_run::<Int64Type>();
    (runs.values(), runs.get_physical_index(row))
}

/// Returns bytes as text, or an error if they are not UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, String> {
    str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let start = String::from_utf8_lossy(&bytes[at.saturating_sub(20)..bytes.len().min(at + 20)]);
        format!("byte {at} of a text, 0x{:02x} in {start:?}, is not UTF-8", bytes[at])
    })
}
