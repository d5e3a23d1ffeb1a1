//! Reads any bytes as JSON: rows and errors do not depend on the sizes of the pieces in which the input is read. The rows of NDJSON that is
//! read without an error are those that serde_json reads. Texts with the letter E, with NUL or CR, and with a byte order mark at the start
//! are not compared with serde_json, which reads them by other rules. The first two bytes choose the layout and the size of the pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::json::fuzzing::reads_as_serde_json(bytes));
