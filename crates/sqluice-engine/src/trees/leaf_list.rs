//! A leaf list: the file in which a process that has copied the leaves of a table lists the page number and the largest rowid of each leaf.
//! Another process reads the list and builds the interior pages.
//!
//! ```text
//!  OFFSET  SIZE  all numbers are little-endian
//!       0     8  "sqluLEAF"
//!       8     4  the first page of the range
//!      12     4  pages of the range: leaves and overflow pages
//!      16     8  rows
//!      24     8  leaves
//!      32     8  leaves that were copied unchanged
//!      40     8  checksum of the pages
//!      48    12  of each leaf, in order: page (4), largest rowid (8)
//! ```
//!
//! The first 48 bytes are the header. It is written last, so a list without the header is incomplete.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Error, Result};
use sqluice_format::tree::Child;
use sqluice_platform::durable;
use sqluice_platform::positioned::Positioned;

const MAGIC: [u8; 8] = *b"sqluLEAF";
const HEAD_BYTES: usize = 48;
const LEAF_BYTES: usize = 12;

/// The header of a leaf list: the range of pages that holds the leaves and their overflow pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeafRange {
    pub(crate) first_page: u32,
    pub(crate) pages: u32,
    pub(crate) rows: u64,
    pub(crate) leaves: u64,
    pub(crate) relocated: u64,
    pub(crate) checksum: Checksum,
}

/// A writer of a leaf list. The leaves must be added in the order of their rowids.
#[derive(Debug)]
pub(crate) struct LeafList {
    /// The file of the list and its path; `None` if the list is not written.
    file: Option<(BufWriter<File>, PathBuf)>,
}

impl LeafList {
    /// Returns a list that is not written: added leaves are dropped.
    pub(crate) fn discard() -> LeafList {
        LeafList { file: None }
    }

    /// Creates the file of a list. The space for its header is zeros until [`LeafList::finish`].
    ///
    /// # Errors
    /// If the file can't be created.
    pub(crate) fn create(path: &Path) -> Result<LeafList> {
        let file = File::create_new(path).map_err(|error| unwritten(path, error))?;
        let mut list = LeafList { file: Some((BufWriter::new(file), path.to_owned())) };
        list.push(&[0; HEAD_BYTES])?;
        Ok(list)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.file {
            Some((file, path)) => file.write_all(bytes).map_err(|error| unwritten(path, error)),
            None => Ok(()),
        }
    }

    /// Adds the next leaf.
    pub(crate) fn add(&mut self, leaf: Child) -> Result<()> {
        let mut bytes = [0; LEAF_BYTES];
        bytes[..4].copy_from_slice(&leaf.page.to_le_bytes());
        bytes[4..].copy_from_slice(&leaf.last_rowid.to_le_bytes());
        self.push(&bytes)
    }

    /// Writes the header, which completes the list, and syncs the file.
    pub(crate) fn finish(self, range: &LeafRange) -> Result<()> {
        let Some((file, path)) = self.file else { return Ok(()) };
        let finish = || {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.write_all_at(&range.head(), 0)?;
            durable::sync(&file)
        };
        finish().map_err(|error| unwritten(&path, error))
    }
}

impl LeafRange {
    fn head(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&self.first_page.to_le_bytes());
        head[12..16].copy_from_slice(&self.pages.to_le_bytes());
        let numbers = [self.rows, self.leaves, self.relocated, self.checksum.to_sum()];
        for (field, number) in head[16..].chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        head
    }

    fn of_head(head: &[u8; HEAD_BYTES]) -> Option<LeafRange> {
        let half = |at: usize| Some(u32::from_le_bytes(*head[at..].first_chunk()?));
        let whole = |at: usize| Some(u64::from_le_bytes(*head[at..].first_chunk()?));
        if head[..8] != MAGIC {
            return None;
        }
        Some(LeafRange {
            first_page: half(8)?,
            pages: half(12)?,
            rows: whole(16)?,
            leaves: whole(24)?,
            relocated: whole(32)?,
            checksum: Checksum::of_sum(whole(40)?),
        })
    }
}

/// A reader of a leaf list, whose header is read already.
#[derive(Debug)]
pub(crate) struct LeafReader {
    file: BufReader<File>,
    path: PathBuf,
    pub(crate) range: LeafRange,
}

impl LeafReader {
    /// Opens a leaf list and reads its header.
    ///
    /// # Errors
    /// If the file can't be read, or is incomplete.
    pub(crate) fn open(path: &Path) -> Result<LeafReader> {
        let mut file = BufReader::new(File::open(path).map_err(|error| Error::read(path, error))?);
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head).map_err(|error| Error::read(path, error))?;
        let range = LeafRange::of_head(&head)
            .ok_or_else(|| Error::input(format!("{} is no complete list of leaves", path.display())))?;
        Ok(LeafReader { file, path: path.to_owned(), range })
    }

    /// Passes the page and the largest rowid of each leaf to `take`, in the order of the rowids.
    ///
    /// # Errors
    /// If the file can't be read, or `take` fails.
    pub(crate) fn read(mut self, mut take: impl FnMut(Child) -> Result<()>) -> Result<()> {
        let mut bytes = [0; LEAF_BYTES];
        for _ in 0..self.range.leaves {
            self.file.read_exact(&mut bytes).map_err(|error| Error::read(&self.path, error))?;
            let [p0, p1, p2, p3, rowid @ ..] = bytes;
            let page = u32::from_le_bytes([p0, p1, p2, p3]);
            take(Child { page, last_rowid: i64::from_le_bytes(rowid) })?;
        }
        Ok(())
    }
}

fn unwritten(path: &Path, error: io::Error) -> Error {
    crate::output::explained(Error::target(format!("cannot write {}", path.display())).about(path), error)
}
