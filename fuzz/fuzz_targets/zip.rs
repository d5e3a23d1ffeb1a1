//! Reads the members of any bytes as a ZIP archive, twice: both times their bytes are equal.
#![no_main]

use sqluice_sources::input::archive::{ArchiveKind, fuzzing};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::reads_what_there_is(bytes, ArchiveKind::Zip));
