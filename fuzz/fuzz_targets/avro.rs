//! Reads any bytes as an Avro file, and again with the end cut off: the rows and bad rows of the cut file are the first of the whole file.
//! The last byte decides how much is cut off.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::formats::avro::fuzzing::reads_what_there_is(bytes));
