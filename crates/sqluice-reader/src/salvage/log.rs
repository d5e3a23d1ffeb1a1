//! The pages in the log or journal beside a damaged database, found as SQLite finds them, without writing anything.
//!
//! ```text
//!  -wal       header, frames: a page, up to the last frame that commits and has a right checksum
//!  -journal   header, records: a page as it was before a transaction that was not finished
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sqluice_format::page::PageSize;
use sqluice_platform::positioned::Positioned;

const WAL_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const WAL_MAGIC: u32 = 0x377f_0682;
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Pages that take the place of pages of the database file.
#[derive(Debug)]
pub struct Overlay {
    file: File,
    pages: HashMap<u32, u64>,
    /// The first bytes of the file. They change when a log is begun anew, or a journal has been rolled back.
    start: Vec<u8>,
    /// The size of a page.
    pub page_size: PageSize,
    /// The number of pages of the database, as the file states it.
    pub page_count: u32,
}

impl Overlay {
    /// Returns the number of pages.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Returns the numbers of the pages.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + Clone {
        self.pages.keys().copied()
    }

    /// Reads a page. Returns `false` if the overlay does not have the page.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(&self, number: u32, into: &mut [u8]) -> io::Result<bool> {
        let Some(&at) = self.pages.get(&number) else { return Ok(false) };
        self.file.read_exact_at(into, at)?;
        Ok(true)
    }

    /// Returns `true` if the pages are still those that were found. A writer begins a log anew, with another header, and overwrites its
    /// frames, when all of them are in the database.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        let mut now = vec![0; self.start.len()];
        match self.file.read_exact_at(&mut now, 0) {
            Ok(()) => Ok(now == self.start),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads the committed pages of a write-ahead log. Returns `None` if there are none.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of_wal(path: &Path) -> io::Result<Option<Overlay>> {
        let Some(file) = open(path)? else { return Ok(None) };
        let mut from = BufReader::with_capacity(1 << 20, &file);
        let mut header = [0; WAL_HEADER_BYTES];
        if !fill(&mut from, &mut header)? {
            return Ok(None);
        }
        let magic = word(&header, 0);
        let size = word(&header, 8);
        let Some(page_size) = PageSize::new(size).filter(|_| magic & !1 == WAL_MAGIC) else {
            return Ok(None);
        };
        let is_big_endian = magic & 1 == 1;
        let mut sum = checksum(is_big_endian, (0, 0), &header[..24]);
        if sum != (word(&header, 24), word(&header, 28)) || word(&header, 4) != 3_007_000 {
            return Ok(None);
        }
        let salts = (word(&header, 16), word(&header, 20));
        let mut frame = vec![0; FRAME_HEADER_BYTES + page_size.bytes()];
        let (mut pages, mut pending, mut page_count) = (HashMap::new(), Vec::new(), 0);
        let mut at = WAL_HEADER_BYTES as u64;
        while fill(&mut from, &mut frame)? {
            let (head, page) = frame.split_at(FRAME_HEADER_BYTES);
            sum = checksum(is_big_endian, checksum(is_big_endian, sum, &head[..8]), page);
            let is_right =
                (word(head, 8), word(head, 12)) == salts && (word(head, 16), word(head, 20)) == sum;
            if !is_right || word(head, 0) == 0 {
                break;
            }
            pending.push((word(head, 0), at + FRAME_HEADER_BYTES as u64));
            if word(head, 4) != 0 {
                page_count = word(head, 4);
                pages.extend(pending.drain(..));
            }
            at += frame.len() as u64;
        }
        drop(from);
        pages.retain(|number, _| *number <= page_count);
        let start = header.to_vec();
        Ok((page_count > 0).then_some(Overlay { file, pages, start, page_size, page_count }))
    }

    /// Reads the pages that a hot journal restores. Returns `None` if the journal has no valid header, its transaction was committed, or
    /// the database had no pages before.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of_journal(path: &Path) -> io::Result<Option<Overlay>> {
        let Some(file) = open(path)? else { return Ok(None) };
        let bytes = file.metadata()?.len();
        if let Some(other) = super_journal(&file, bytes)?
            && !other.exists()
        {
            return Ok(None);
        }
        let mut from = BufReader::with_capacity(1 << 20, &file);
        let mut pages = HashMap::new();
        let mut known: Option<(PageSize, u64, u32)> = None;
        let mut at = 0;
        let mut header = [0; 28];
        loop {
            from.seek(SeekFrom::Start(at))?;
            if !fill(&mut from, &mut header)? || header[..8] != JOURNAL_MAGIC {
                break;
            }
            let (count, nonce) = (word(&header, 8), word(&header, 12));
            let (page_size, sector, _) = match known {
                Some(known) => known,
                None => {
                    let sector = u64::from(word(&header, 20));
                    let size = PageSize::new(word(&header, 24));
                    let is_sector = sector.is_power_of_two() && (32..=65536).contains(&sector);
                    let Some(size) = size.filter(|_| is_sector) else { return Ok(None) };
                    *known.insert((size, sector, word(&header, 16)))
                }
            };
            let record_bytes = page_size.bytes() as u64 + 8;
            at += sector;
            let count = match count {
                u32::MAX => bytes.saturating_sub(at) / record_bytes,
                count => u64::from(count),
            };
            from.seek(SeekFrom::Start(at))?;
            let mut record = vec![0; record_bytes as usize];
            for _ in 0..count {
                let right = fill(&mut from, &mut record)? && {
                    let page = &record[4..4 + page_size.bytes()];
                    word(&record, 4 + page_size.bytes()) == journal_checksum(nonce, page)
                };
                if !right || word(&record, 0) == 0 {
                    return Ok(known.and_then(|known| of_pages(file, pages, known)));
                }
                pages.entry(word(&record, 0)).or_insert(at + 4);
                at += record_bytes;
            }
            at = at.next_multiple_of(sector);
        }
        Ok(known.and_then(|known| of_pages(file, pages, known)))
    }
}

fn of_pages(
    file: File,
    mut pages: HashMap<u32, u64>,
    (page_size, _, page_count): (PageSize, u64, u32),
) -> Option<Overlay> {
    pages.retain(|number, _| *number <= page_count);
    let start = JOURNAL_MAGIC.to_vec();
    (page_count > 0).then_some(Overlay { file, pages, start, page_size, page_count })
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fills `into`. Returns `false` if the file ends before.
fn fill(from: &mut impl Read, into: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(into) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().map_or(0, u32::from_be_bytes)
}

/// Adds bytes to the checksum of a write-ahead log, whose words are big-endian or little-endian.
fn checksum(is_big_endian: bool, (mut a, mut b): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let number = |bytes: [u8; 4]| match is_big_endian {
        true => u32::from_be_bytes(bytes),
        false => u32::from_le_bytes(bytes),
    };
    for pair in bytes.as_chunks::<8>().0 {
        let &[a0, a1, a2, a3, b0, b1, b2, b3] = pair;
        a = a.wrapping_add(number([a0, a1, a2, a3])).wrapping_add(b);
        b = b.wrapping_add(number([b0, b1, b2, b3])).wrapping_add(a);
    }
    (a, b)
}

/// Returns the checksum of a record of a journal: every 200th byte counts, from the end on.
fn journal_checksum(nonce: u32, page: &[u8]) -> u32 {
    let mut sum = nonce;
    let mut at = page.len().saturating_sub(200);
    while at > 0 {
        sum = sum.wrapping_add(u32::from(page[at]));
        at = at.saturating_sub(200);
    }
    sum
}

/// Returns the super-journal that a journal names at its end, if any. If the super-journal is gone, the transaction was committed.
fn super_journal(file: &File, bytes: u64) -> io::Result<Option<PathBuf>> {
    let mut end = [0; 16];
    if bytes < 16 {
        return Ok(None);
    }
    file.read_exact_at(&mut end, bytes - 16)?;
    let length = u64::from(word(&end, 0));
    if end[8..] != JOURNAL_MAGIC || length == 0 || length > 4096 || length + 16 > bytes {
        return Ok(None);
    }
    let mut name = vec![0; length as usize];
    file.read_exact_at(&mut name, bytes - 16 - length)?;
    let sum = name.iter().fold(0u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    Ok(String::from_utf8(name).ok().filter(|_| sum == word(&end, 4)).map(PathBuf::from))
}
