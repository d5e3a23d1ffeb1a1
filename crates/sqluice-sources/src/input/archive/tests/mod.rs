//! Tests of archives: those that the writers here make, those that other programs made, and those that are damaged.

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

/// Opens bytes as a ZIP archive, which messages call `d.zip`.
fn open_zip(bytes: &[u8]) -> Result<Archive> {
    open(input(bytes, "d.zip"), ArchiveKind::Zip, MEMORY_BYTES)
}

/// Opens bytes as a tar archive, which messages call `d.tar`.
fn open_tar(bytes: &[u8]) -> Result<Archive> {
    open(input(bytes, "d.tar"), ArchiveKind::Tar, MEMORY_BYTES)
}

/// Returns the bytes of a member that is sound.
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

/// Returns a number of random bytes that hardly compress.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..bytes).map(|_| random.u8(..)).collect()
}

/// Returns the places to damage in an archive: all, or some of many.
fn places(bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes).step_by(tries(bytes / 400, bytes / 4000, 1).max(1))
}
