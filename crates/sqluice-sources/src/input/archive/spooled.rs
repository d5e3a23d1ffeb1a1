//! Copies an archive to an unnamed temporary file: an archive that can't be read at any offset, or a compressed tar archive.
//!
//! Invariant: a copy leaves some space free on its disk. If an archive unpacks to more than the disk can hold, the error comes before the disk is
//! full.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::size::Bytes;
use sqluice_platform::space;

use super::Whole;
use crate::input::InputFile;
use crate::input::file::cannot_spool;

/// The number of bytes that are copied at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// The number of bytes that are copied between two checks of the free space.
const LOOK_BYTES: u64 = 64 << 20;

/// The minimum number of bytes that must stay free on the disk.
const ROOM_BYTES_MIN: u64 = 1 << 20;
/// The divisor of the space that was free before the copy: one part in 20 of this space must also stay free.
const ROOM_FRACTION: u64 = 20;

/// Copies the decompressed bytes of an input to a temporary file in `folder`.
pub(super) fn copy(mut input: InputFile, folder: &Path, context: &Context<'_>) -> Result<Whole> {
    let name = input.name().to_owned();
    let mut file = tempfile::tempfile_in(folder).map_err(|error| cannot_spool(folder, error))?;
    let mut opened = input.open_bytes()?;
    let mut room = Room::new(folder);
    let mut block = vec![0; BLOCK_BYTES];
    let (mut copied, mut reported) = (0, 0);
    loop {
        context.cancel.check()?;
        let read = opened.reader.read(&mut block).map_err(|error| Error::from_read(&name, error))?;
        let raw = opened.bytes_read.load(Ordering::Relaxed);
        context.progress.advance(Amount { rows: 0, bytes: raw - reported });
        reported = raw;
        if read == 0 {
            break;
        }
        if !room.take(read as u64) {
            return Err(Error::target(format!(
                "this archive has more bytes than the disk of {} has room for: {} so far",
                folder.display(),
                Bytes(copied)
            ))
            .at(Place::file(&name))
            .hint(message!["choose a folder with enough space: ", Setting::TempDir.to("DIR")]));
        }
        file.write_all(&block[..read]).map_err(|error| cannot_spool(folder, error))?;
        copied += read as u64;
    }
    Ok(Whole::File { file: Arc::new(file), start: 0, bytes: copied })
}

/// The free space of a disk.
struct Room<'a> {
    folder: &'a Path,
    /// The number of bytes that must stay free.
    kept: u64,
    /// The number of bytes that may be written before the free space is checked again.
    left: u64,
}

impl<'a> Room<'a> {
    fn new(folder: &'a Path) -> Room<'a> {
        let kept = free_bytes(folder).map_or(0, |free| (free / ROOM_FRACTION).max(ROOM_BYTES_MIN));
        Room { folder, kept, left: 0 }
    }

    /// Returns `true` if the disk has space for `bytes` more bytes, at most a block. If the file system does not report its free space, it is
    /// assumed to have space.
    fn take(&mut self, bytes: u64) -> bool {
        if self.left < bytes {
            self.left = free_bytes(self.folder)
                .map_or(LOOK_BYTES, |free| free.saturating_sub(self.kept).min(LOOK_BYTES));
        }
        let has_room = self.left >= bytes;
        self.left = self.left.saturating_sub(bytes);
        has_room
    }
}

/// Returns the number of free bytes on the disk of `folder`; `None` if it is unknown.
fn free_bytes(folder: &Path) -> Option<u64> {
    space::free_bytes(folder).ok().flatten()
}
