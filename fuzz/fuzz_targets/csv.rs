//! Any bytes as CSV, in dialects and parts that the first bytes choose: rows and errors are those of the slow parser.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::csv::fuzzing::fast_equals_slow(bytes));
