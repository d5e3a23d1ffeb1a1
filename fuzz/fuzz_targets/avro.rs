//! Reads any bytes as an Avro file, and again with the end cut off: the shorter file has the first rows of the whole one, and no others.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::formats::avro::fuzzing::reads_what_there_is(bytes));
