//! Any bytes as a ZIP archive: its members are read or refused, and none has other bytes when it is read again.
#![no_main]

use sqluice_sources::input::archive::{ArchiveKind, fuzzing};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::reads_what_there_is(bytes, ArchiveKind::Zip));
