//! Reads any bytes as a workbook (XLSX, XLSB, XLS or ODS): the reader returns rows or an error, without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::formats::sheet::fuzzing::reads_or_refuses(bytes));
