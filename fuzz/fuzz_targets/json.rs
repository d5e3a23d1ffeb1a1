//! Any bytes as JSON: rows and errors do not depend on how the input is cut, and lines are what serde_json reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::json::fuzzing::reads_as_serde_json(bytes));
