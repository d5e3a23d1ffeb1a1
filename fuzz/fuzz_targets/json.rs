//! Reads any bytes as JSON: rows and errors do not depend on the sizes of the pieces in which the input is read, and the rows of NDJSON are
//! those that serde_json reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::json::fuzzing::reads_as_serde_json(bytes));
