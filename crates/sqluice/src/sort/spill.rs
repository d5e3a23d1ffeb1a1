//! Temporary space on disk, handed out in pieces.
//!
//! ```text
//!  +---------+---------+---------+---------+--------
//!  | run 0   | run 1   | run 0   |  free   | run 1       a run has any pieces, in its own order
//!  +---------+---------+---------+---------+--------
//!   PIECE_BYTES each  <── cached | direct ──>
//! ```
//!
//! The first pieces go through the page cache, as many as it keeps without writing them: most sorts never wait for the disk then. What
//! is more goes past it (O_DIRECT), for writing much through the cache is slower and pushes out what others have there.
//!
//! Invariant: the files have no names, so nothing is left of them however the process ends. They are written and read in whole blocks
//! of [`BLOCK_BYTES`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sqluice_format::aligned::AlignedBuffer;

use super::ahead::{Behind, Underway};
use super::file::{self, Road, SpillFile};
use super::memory;
use crate::error::{Error, Result};

/// Reads and writes begin and end at multiples of this, as direct I/O wants it.
pub(super) const BLOCK_BYTES: usize = 4096;
/// What is handed out at a time.
pub(super) const PIECE_BYTES: u64 = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// Temporary space, shared by all sorters of a run. There is no file until something is spilled.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    /// What begins before this goes through the page cache: whole pieces.
    cached_bytes: u64,
    cached: OnceLock<Arc<SpillFile>>,
    direct: OnceLock<Arc<SpillFile>>,
    behind: OnceLock<Behind>,
    places: Mutex<Places>,
}

/// Where the file has room.
#[derive(Debug, Default)]
struct Places {
    free: Vec<u64>,
    end: u64,
}

impl Spill {
    /// Space in this folder.
    pub fn new(folder: PathBuf) -> Spill {
        // By default Linux begins to write when a tenth of the memory that can be had waits for it.
        let cached_bytes = memory::available_bytes() / 10 / PIECE_BYTES * PIECE_BYTES;
        Spill::with_cached(folder, cached_bytes)
    }

    /// The same, so many bytes of it through the page cache: a multiple of [`PIECE_BYTES`].
    pub(super) fn with_cached(folder: PathBuf, cached_bytes: u64) -> Spill {
        let (cached, direct, behind) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Spill { folder, cached_bytes, cached, direct, behind, places: Mutex::default() }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a piece begins that is free, and no more.
    pub(super) fn take_piece(&self) -> u64 {
        let mut places = self.places();
        places.free.pop().unwrap_or_else(|| {
            places.end += PIECE_BYTES;
            places.end - PIECE_BYTES
        })
    }

    /// Where the file ends.
    #[cfg(test)]
    pub(super) fn end(&self) -> u64 {
        self.places().end
    }

    /// Pieces that nobody needs any more.
    pub(super) fn give_back(&self, pieces: &mut Vec<u64>) {
        self.places().free.append(pieces);
    }

    /// Begins to write blocks.
    pub(super) fn write(&self, offset: u64, blocks: AlignedBuffer) -> Result<Underway> {
        let file = self.file(offset)?;
        let behind = match self.behind.get() {
            Some(behind) => behind,
            // Two may start one at the same time: the second ends its own, which has nothing to do.
            None => {
                let behind = Behind::new()?;
                self.behind.get_or_init(|| behind)
            }
        };
        Ok(behind.write(file, offset, blocks))
    }

    /// Reads blocks.
    pub(super) fn read(&self, offset: u64, blocks: &mut [u8]) -> Result<()> {
        self.file(offset)?.read(offset, blocks)
    }

    /// The file that has what begins there.
    fn file(&self, offset: u64) -> Result<&Arc<SpillFile>> {
        let (opened, road) = match offset < self.cached_bytes {
            true => (&self.cached, Road::Cached),
            false => (&self.direct, Road::Direct),
        };
        if let Some(file) = opened.get() {
            return Ok(file);
        }
        // Two may open one at the same time: the second closes its own, which is gone then.
        let file = Arc::new(SpillFile::create(&self.folder, road)?);
        Ok(opened.get_or_init(|| file))
    }

    /// What was read is not what was written.
    pub(super) fn damaged(&self) -> Error {
        file::damaged(&self.folder)
    }
}
