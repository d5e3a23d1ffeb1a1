//! Any bytes as an Avro file: they are read or refused, and a file that is cut short has no other rows than the whole one.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sqluice_sources::formats::avro::fuzzing::reads_what_there_is(bytes));
