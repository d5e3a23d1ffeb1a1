//! Collects the members of an archive in a list, which must fit the memory of the load.

use std::collections::HashMap;
use std::path::Path;

use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::size::Mebibytes;

use super::{Member, Method, Refusal};

/// The number of headers between two checks for cancellation.
const CHECK_HEADERS: u64 = 1 << 12;

/// The memory that a member takes without its path: in the lists, and while members are compared with each other.
const MEMBER_BYTES: u64 = (size_of::<Member>() + size_of::<Found>() + 64) as u64;

/// The location of a member in a ZIP archive, as the directory states it.
#[derive(Clone, Debug)]
pub(super) struct ZipPlace {
    /// The offset of the local header.
    pub(super) header: u64,
    /// The number of compressed bytes.
    pub(super) raw_bytes: u64,
    /// The maximum end of the member's bytes: the next local header, or the directory.
    pub(super) end: u64,
    pub(super) crc: u32,
    pub(super) method: Method,
}

/// The location of a member in its archive.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Zip(ZipPlace),
    /// In a tar archive, the offset of the member's bytes.
    Tar {
        start: u64,
    },
}

/// The members that have been found so far.
pub(super) struct Listing<'a> {
    /// The name of the archive in messages.
    pub(super) name: &'a Path,
    cancel: &'a Cancel,
    memory_bytes: u64,
    taken_bytes: u64,
    /// The number of headers so far.
    headers: u64,
    pub(super) members: Vec<Member>,
    pub(super) found: Vec<Found>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(name: &'a Path, memory_bytes: u64, cancel: &'a Cancel) -> Listing<'a> {
        Listing {
            name,
            cancel,
            memory_bytes,
            taken_bytes: 0,
            headers: 0,
            members: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Counts a header of the archive, and checks for cancellation after every `CHECK_HEADERS` headers.
    pub(super) fn step(&mut self) -> Result<()> {
        self.headers += 1;
        if self.headers.is_multiple_of(CHECK_HEADERS) { self.cancel.check() } else { Ok(()) }
    }

    /// Adds a member. Returns an error if the list takes too much memory.
    pub(super) fn add(&mut self, member: Member, found: Found) -> Result<()> {
        // A growing list may have twice the capacity that it needs.
        self.taken_bytes += 2 * MEMBER_BYTES + member.path.capacity() as u64;
        if self.taken_bytes > self.memory_bytes {
            let (count, memory) = (self.members.len(), Mebibytes(self.memory_bytes));
            return Err(Error::input(format!(
                "the names of more than {count} files in this archive need more memory than {memory}"
            ))
            .at(Place::file(self.name))
            .hint(message![
                "raise the limit with ",
                Setting::Memory.to("SIZE"),
                ", or extract the archive"
            ]));
        }
        self.members.push(member);
        self.found.push(found);
        Ok(())
    }

    /// Returns the error for a damaged archive.
    pub(super) fn damaged(&self, what: String) -> Error {
        Error::input(what)
            .at(Place::file(self.name))
            .hint("was it copied or downloaded to its end, or is it still being written?")
    }

    /// Returns the members and their locations. If several files have the same path, only the last is accepted: other programs would overwrite
    /// the earlier ones.
    pub(super) fn finish(mut self) -> (Vec<Member>, Vec<Found>) {
        let mut replaced = Vec::new();
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (index, member) in self.members.iter().enumerate() {
            if !member.is_folder
                && !matches!(member.refusal, Some(Refusal::NoName))
                && let Some(earlier) = last.insert(&member.path, index)
            {
                replaced.push(earlier);
            }
        }
        for index in replaced {
            self.members[index].refusal.get_or_insert(Refusal::Replaced);
        }
        (self.members, self.found)
    }
}
