//! Any bytes as a workbook: they are read or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::formats::sheet::fuzzing::reads_or_refuses(bytes));
