//! Temporary space on disk for sorted runs, handed out in pieces.
//!
//! ```text
//!  +---------+---------+---------+---------+--------
//!  | run 0   | run 1   | run 0   |  free   | run 1       a run lists its pieces, which may be anywhere
//!  +---------+---------+---------+---------+--------
//!   PIECE_BYTES each  <── cached | direct ──>
//! ```
//!
//! The first pieces, up to a tenth of the available memory, go through the page cache: by default, Linux keeps this much in the cache for
//! half a minute before it writes it to the disk. So most sorts are over before they wait for the disk. All other pieces go past the cache
//! (O_DIRECT), because large writes through the cache are slower and evict the data of other processes.
//!
//! Invariant: the files have no names, so the system removes them when the process ends, even if it is killed. All writes and reads are in
//! whole blocks of [`BLOCK_BYTES`].

pub(in crate::sort) mod prefetch;
mod spill_file;
pub(in crate::sort) mod write_behind;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sqluice_core::error::{Error, Result};
use sqluice_format::aligned::AlignedBuffer;
use sqluice_platform::memory;

use spill_file::{How, SpillFile};
use write_behind::{Underway, WriteBehind};

/// The size in bytes of a block, of which each read and write has a whole number, as direct I/O requires.
pub(in crate::sort) const BLOCK_BYTES: usize = 4096;
/// The size in bytes of a piece, the unit in which temporary space is handed out.
pub(in crate::sort) const PIECE_BYTES: u64 = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// Temporary space on disk, shared by several sorters. Its files are created when the first run is spilled.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    /// The offset below which pieces go through the page cache: a multiple of [`PIECE_BYTES`].
    cached_bytes: OnceLock<u64>,
    cached: OnceLock<Arc<SpillFile>>,
    direct: OnceLock<Arc<SpillFile>>,
    behind: OnceLock<WriteBehind>,
    places: Mutex<Places>,
}

/// The offsets of the pieces that were given back, and the offset after the last piece ever taken.
#[derive(Debug, Default)]
struct Places {
    free: Vec<u64>,
    end: u64,
}

impl Spill {
    /// Creates temporary space in `folder`.
    pub fn new(folder: PathBuf) -> Spill {
        let (cached_bytes, cached) = (OnceLock::new(), OnceLock::new());
        let (direct, behind) = (OnceLock::new(), OnceLock::new());
        Spill { folder, cached_bytes, cached, direct, behind, places: Mutex::default() }
    }

    /// Creates temporary space whose first `bytes` bytes, a multiple of [`PIECE_BYTES`], go through the page cache.
    #[cfg(test)]
    pub(in crate::sort) fn with_cached(folder: PathBuf, bytes: u64) -> Spill {
        Spill { cached_bytes: OnceLock::from(bytes), ..Spill::new(folder) }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free or a new piece, and returns its offset in the temporary space.
    pub(in crate::sort) fn take_piece(&self) -> u64 {
        let mut places = self.places();
        places.free.pop().unwrap_or_else(|| {
            places.end += PIECE_BYTES;
            places.end - PIECE_BYTES
        })
    }

    /// Returns the offset after the last piece ever taken.
    #[cfg(test)]
    pub(in crate::sort) fn end(&self) -> u64 {
        self.places().end
    }

    /// Makes the pieces that a run no longer needs free again, and empties the list `pieces`.
    pub(in crate::sort) fn give_back(&self, pieces: &mut Vec<u64>) {
        self.places().free.append(pieces);
    }

    /// Begins to write blocks at an offset of the temporary space. The returned channel delivers the buffer back when it is written, or the
    /// error.
    pub(in crate::sort) fn write(&self, offset: u64, blocks: AlignedBuffer) -> Result<Underway> {
        let (file, offset) = self.file(offset)?;
        let behind = match self.behind.get() {
            Some(behind) => behind,
            // Two threads may create a `WriteBehind` at the same time. The second one is dropped unused, which ends its thread.
            None => {
                let behind = WriteBehind::new()?;
                self.behind.get_or_init(|| behind)
            }
        };
        Ok(behind.write(file, offset, blocks))
    }

    /// Reads blocks from an offset of the temporary space.
    pub(in crate::sort) fn read(&self, offset: u64, blocks: &mut [u8]) -> Result<()> {
        let (file, offset) = self.file(offset)?;
        file.read(offset, blocks)
    }

    /// Returns the file for an offset of the temporary space, cached or direct, and the offset in this file. Creates the file if it does
    /// not exist yet.
    fn file(&self, offset: u64) -> Result<(&Arc<SpillFile>, u64)> {
        // By default, Linux begins to write the page cache to disk when a tenth of the available memory is dirty. The sorters' buffers are
        // already allocated when the first run is spilled, so the available memory does not include them.
        let tenth = || memory::available_bytes() / 10 / PIECE_BYTES * PIECE_BYTES;
        let cached_bytes = *self.cached_bytes.get_or_init(tenth);
        let (opened, how, offset) = match offset.checked_sub(cached_bytes) {
            None => (&self.cached, How::Cached, offset),
            Some(offset) => (&self.direct, How::Direct, offset),
        };
        if let Some(file) = opened.get() {
            return Ok((file, offset));
        }
        // Two threads may create a file at the same time: the second file is closed, which removes it.
        let file = Arc::new(SpillFile::create(&self.folder, how)?);
        Ok((opened.get_or_init(|| file), offset))
    }

    /// Returns the error for blocks that can't be what was written.
    pub(crate) fn damaged(&self) -> Error {
        spill_file::damaged(&self.folder)
    }
}
