//! Temporary space on disk: one file without a name, handed out in pieces.
//!
//! ```text
//!  +---------+---------+---------+---------+--------
//!  | run 0   | run 1   | run 0   |  free   | run 1       a run has any pieces, in its own order
//!  +---------+---------+---------+---------+--------
//!   PIECE_BYTES each
//! ```
//!
//! Invariant: the file has no name, so nothing is left of it however the process ends. It is written and read past the page
//! cache where the file system can (O_DIRECT), in whole blocks of [`BLOCK_BYTES`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sqluice_format::aligned::AlignedBuffer;

use super::ahead::{Behind, Underway};
use super::file::{self, SpillFile};
use crate::error::{Error, Result};

/// Reads and writes begin and end at multiples of this, as direct I/O wants it.
pub(super) const BLOCK_BYTES: usize = 4096;
/// What is handed out at a time.
pub(super) const PIECE_BYTES: u64 = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// Temporary space, shared by all sorters of a run. There is no file until something is spilled.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    opened: OnceLock<Opened>,
    places: Mutex<Places>,
}

#[derive(Debug)]
struct Opened {
    file: Arc<SpillFile>,
    behind: Behind,
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
        Spill { folder, opened: OnceLock::new(), places: Mutex::default() }
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
        Ok(self.opened()?.behind.write(offset, blocks))
    }

    /// Reads blocks.
    pub(super) fn read(&self, offset: u64, blocks: &mut [u8]) -> Result<()> {
        self.opened()?.file.read(offset, blocks)
    }

    fn opened(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        // Two may open one at the same time: the second closes its own, which is gone then.
        let file = Arc::new(SpillFile::create(&self.folder)?);
        let behind = Behind::new(&file)?;
        Ok(self.opened.get_or_init(|| Opened { file, behind }))
    }

    /// What was read is not what was written.
    pub(super) fn damaged(&self) -> Error {
        file::damaged(&self.folder)
    }
}
