//! Takes any bytes as a ZIP archive and reads each member twice: both readings return the same bytes, and at most as many as the archive
//! states.
#![no_main]

use sqluice_sources::input::archive::{ArchiveKind, fuzzing};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::reads_what_there_is(bytes, ArchiveKind::Zip));
