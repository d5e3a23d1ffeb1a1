//! The function that the fuzz targets of the readers of archives call.

use super::ArchiveKind;
use super::taken::{input, open, read};

/// The memory for the list of members.
const MEMORY_BYTES: u64 = 1 << 20;

/// The maximum number of bytes that are read from a member.
const READ_BYTES: u64 = 1 << 20;

/// Opens `bytes` as an archive, and reads each of its members twice.
///
/// # Panics
/// If a member has more bytes than the archive states, ends earlier without an error, or has other bytes when it is read again.
pub fn reads_what_there_is(bytes: &[u8], kind: ArchiveKind) {
    let Ok(archive) = open(input(bytes, "x"), kind, MEMORY_BYTES) else { return };
    for (index, member) in archive.members().iter().enumerate() {
        let (first, error) = read(&archive, index, READ_BYTES);
        assert!(first.len() as u64 <= member.bytes);
        if error.is_none() {
            assert_eq!(first.len() as u64, member.bytes.min(READ_BYTES));
        }
        assert!(first == read(&archive, index, READ_BYTES).0);
    }
}
