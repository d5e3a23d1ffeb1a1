//! Reads any bytes as CSV, with the fast parser and with the slow one: rows and errors are equal. The first three bytes choose the dialect,
//! the other options, and the size of the pieces that the fast parser reads.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::csv::fuzzing::fast_equals_slow(bytes));
