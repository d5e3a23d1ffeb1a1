//! Reads any bytes as the XML of a sheet in an XLSX file: the reader returns rows or an error, without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::formats::sheet::fuzzing::reads_or_refuses_a_sheet(bytes));
