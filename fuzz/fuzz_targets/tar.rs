//! Opens any bytes as a tar archive. If this succeeds, the beginning of each member is read twice: both readings return the same bytes, at
//! most as many as the archive states, and fewer only after an error.
#![no_main]

use sqluice_sources::input::archive::{ArchiveKind, fuzzing};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::reads_what_there_is(bytes, ArchiveKind::Tar));
