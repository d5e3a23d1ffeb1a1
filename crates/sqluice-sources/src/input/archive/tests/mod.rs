//! Tests of archives that are written here, that other programs have written, and that are damaged.

mod damaged_tars;
mod damaged_zips;
mod documents;
mod inputs;
mod names;
mod others;
mod tars;
mod written_tars;
mod written_zips;
mod zips;

use sqluice_core::error::Result;
use sqluice_testkit::effort::tries;

use super::taken::{input, open, read};
use super::{Archive, ArchiveKind, Refusal};

/// The memory for the list of members.
const MEMORY_BYTES: u64 = 64 << 20;

/// Opens bytes as a ZIP archive with the name `d.zip`.
fn open_zip(bytes: &[u8]) -> Result<Archive> {
    open(input(bytes, "d.zip"), ArchiveKind::Zip, MEMORY_BYTES)
}

/// Opens bytes as a tar archive with the name `d.tar`.
fn open_tar(bytes: &[u8]) -> Result<Archive> {
    open(input(bytes, "d.tar"), ArchiveKind::Tar, MEMORY_BYTES)
}

/// Returns the bytes of a member, which must be readable to its end.
#[track_caller]
fn whole(archive: &Archive, index: usize) -> Vec<u8> {
    let (bytes, error) = read(archive, index, u64::MAX);
    assert!(error.is_none(), "{error:?}");
    bytes
}

/// Returns the paths of all members.
fn paths(archive: &Archive) -> Vec<&str> {
    archive.members().iter().map(|member| &*member.path).collect()
}

/// Returns the refusals of all members.
fn refusals(archive: &Archive) -> Vec<Option<Refusal>> {
    archive.members().iter().map(|member| member.refusal).collect()
}

/// Returns `bytes` random bytes, which hardly compress.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..bytes).map(|_| random.u8(..)).collect()
}

/// Returns offsets at which tests damage an archive of `bytes` bytes: all or, in a long archive, some.
fn places(bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes).step_by(tries(bytes / 400, bytes / 4000, 1).max(1))
}
