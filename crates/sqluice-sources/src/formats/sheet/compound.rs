//! Reads compound files: the container of streams that Excel, Word and PowerPoint wrote before 2007, and still write for encrypted files.
//!
//! ```text
//!  header      the size of a sector, and the places of the table and the directory
//!  table       for each sector, the next sector of its stream: a stream is a chain of sectors
//!  directory   for each stream, its name, first sector and size
//! ```
//!
//! A short stream has sectors of 64 bytes, which are stored within one longer stream.
//!
//! Invariant: a chain with more sectors than the file is an error, so that a circular chain ends.

use std::io::{self, Read};

use sqluice_core::error::{Error, Result};

use super::limits::Limits;
use super::package::{Bytes, damaged};

/// The first bytes of a compound file.
pub(super) const MAGIC: [u8; 8] = *b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

const HEADER_BYTES: usize = 512;
const ENTRY_BYTES: usize = 128;
const SHORT_SECTOR_BYTES: u64 = 64;

/// The highest sector number. Higher numbers are not sectors, but mark the end of a chain.
const SECTOR_MAX: u32 = 0xffff_fffa;

/// A compound file.
pub(super) struct Compound {
    source: Bytes,
    sector_bytes: u64,
    /// For each sector, the number of the next sector of its chain.
    table: Vec<u32>,
    /// The streams: their names, first sectors and sizes.
    streams: Vec<(String, u32, u64)>,
    /// The sectors of the stream that contains the short streams; and for each short sector, the next short sector of its chain.
    short: (Vec<u32>, Vec<u32>),
    /// A stream of fewer bytes than this is a short stream.
    short_max: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Compound {
    pub(super) fn open(source: Bytes, limits: &Limits) -> Result<Compound> {
        let mut header = [0; HEADER_BYTES];
        source.read(0, &mut header)?;
        let shift = header[30];
        if header[..8] != MAGIC || !matches!(shift, 9 | 12) {
            return Err(damaged("it does not have the header of a compound file"));
        }
        let mut file = Compound {
            sector_bytes: 1 << shift,
            source,
            table: Vec::new(),
            streams: Vec::new(),
            short: (Vec::new(), Vec::new()),
            short_max: u64::from(u32_at(&header, 56)),
        };
        file.read_table(&header, limits)?;
        let directory = file.chain(u32_at(&header, 48), limits)?;
        let mut root = None;
        let mut sector = vec![0; file.sector_bytes as usize];
        for number in directory {
            file.read_sector(number, &mut sector)?;
            for entry in sector.chunks_exact(ENTRY_BYTES) {
                let name_bytes = usize::from(u16::from_le_bytes([entry[64], entry[65]])).clamp(2, 64) - 2;
                let units =
                    entry[..name_bytes].as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
                let name = String::from_utf16_lossy(&units.collect::<Vec<_>>());
                let (start, bytes) = (u32_at(entry, 116), u64::from(u32_at(entry, 120)));
                match entry[66] {
                    2 => file.streams.push((name, start, bytes)),
                    5 => root = Some(start),
                    _ => {}
                }
            }
            limits.check_held("the directory of the workbook", (file.streams.len() * ENTRY_BYTES) as u64)?;
        }
        let short_stream =
            root.filter(|root| *root <= SECTOR_MAX).map(|root| file.chain(root, limits)).transpose()?;
        let mut short_table = Vec::new();
        if u32_at(&header, 60) <= SECTOR_MAX {
            for number in file.chain(u32_at(&header, 60), limits)? {
                file.read_sector(number, &mut sector)?;
                short_table.extend(sector.chunks_exact(4).map(|entry| u32_at(entry, 0)));
            }
        }
        file.short = (short_stream.unwrap_or_default(), short_table);
        Ok(file)
    }

    /// Reads the table of sectors. The sectors of the table itself are listed in the header and, if they are many, in further sectors.
    fn read_table(&mut self, header: &[u8], limits: &Limits) -> Result<()> {
        let sectors_max = self.source.bytes / self.sector_bytes + 1;
        limits.check_held("the table of the workbook's sectors", sectors_max * 8)?;
        let mut of_table: Vec<u32> = (0..109).map(|index| u32_at(header, 76 + 4 * index)).collect();
        let mut next = u32_at(header, 68);
        let mut sector = vec![0; self.sector_bytes as usize];
        let mut lists = 0;
        while next <= SECTOR_MAX {
            lists += 1;
            if lists > sectors_max {
                return Err(damaged("the list of its table is a circle"));
            }
            self.read_sector(next, &mut sector)?;
            let (numbers, last) = sector.split_at(sector.len() - 4);
            of_table.extend(numbers.chunks_exact(4).map(|number| u32_at(number, 0)));
            next = u32_at(last, 0);
        }
        of_table.retain(|number| *number <= SECTOR_MAX);
        if of_table.len() as u64 * (self.sector_bytes / 4) > sectors_max + self.sector_bytes {
            return Err(damaged("its table has more sectors than the file"));
        }
        for number in of_table {
            self.read_sector(number, &mut sector)?;
            self.table.extend(sector.chunks_exact(4).map(|entry| u32_at(entry, 0)));
        }
        Ok(())
    }

    /// Reads a sector. The last sector of the file may be cut short.
    fn read_sector(&self, number: u32, out: &mut [u8]) -> Result<()> {
        let at = (u64::from(number) + 1) * self.sector_bytes;
        let left = self.source.bytes.saturating_sub(at).min(out.len() as u64) as usize;
        if left == 0 {
            return Err(damaged("it names a sector beyond its end"));
        }
        out[left..].fill(0);
        self.source.read(at, &mut out[..left])
    }

    /// Returns the numbers of the sectors of a chain, in order.
    fn chain(&self, first: u32, limits: &Limits) -> Result<Vec<u32>> {
        follow(first, &self.table, limits)
    }

    /// Returns `true` if the file has a stream of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.streams.iter().any(|(known, ..)| known == name)
    }

    /// Opens a stream at the offset `from`.
    pub(super) fn stream(&self, name: &str, from: u64, limits: &Limits) -> Result<Stream> {
        let found = self.streams.iter().find(|(known, ..)| known == name);
        let (_, first, bytes) = found.ok_or_else(|| damaged(format!("it has no stream {name}")))?;
        let places = if *bytes < self.short_max {
            let per_sector = self.sector_bytes / SHORT_SECTOR_BYTES;
            let place = |number: u32| {
                let sector = self.short.0.get((u64::from(number) / per_sector) as usize)?;
                let within = u64::from(number) % per_sector * SHORT_SECTOR_BYTES;
                Some((u64::from(*sector) + 1) * self.sector_bytes + within)
            };
            let numbers = follow(*first, &self.short.1, limits)?;
            let places: Option<Vec<u64>> = numbers.into_iter().map(place).collect();
            Places::Short(places.ok_or_else(|| damaged("a short stream has a sector beyond its end"))?)
        } else {
            Places::Sectors(self.chain(*first, limits)?, self.sector_bytes)
        };
        Ok(Stream { source: self.source.clone(), places, at: from, end: *bytes })
    }

    pub(super) fn source(&self) -> &Bytes {
        &self.source
    }
}

fn follow(first: u32, table: &[u32], limits: &Limits) -> Result<Vec<u32>> {
    let (mut chain, mut next) = (Vec::new(), first);
    while next <= SECTOR_MAX {
        if chain.len() >= table.len() {
            return Err(damaged("a chain of its sectors is a circle"));
        }
        if chain.len().is_multiple_of(1 << 16) {
            limits.check_cancel()?;
        }
        chain.push(next);
        next = *table
            .get(next as usize)
            .ok_or_else(|| damaged("a chain of its sectors leads out of the file"))?;
    }
    Ok(chain)
}

enum Places {
    /// The numbers of the sectors of a stream, and the size of a sector.
    Sectors(Vec<u32>, u64),
    /// The offset of each short sector.
    Short(Vec<u64>),
}

/// A stream, read from an offset to its end.
pub(super) struct Stream {
    source: Bytes,
    places: Places,
    at: u64,
    end: u64,
}

impl Stream {
    /// Returns the current offset in the stream.
    pub(super) fn at(&self) -> u64 {
        self.at
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = match self.places {
            Places::Sectors(_, bytes) => bytes,
            Places::Short(_) => SHORT_SECTOR_BYTES,
        };
        let (index, within) = ((self.at / bytes) as usize, self.at % bytes);
        let wanted = (buffer.len() as u64).min(self.end.saturating_sub(self.at)).min(bytes - within);
        if wanted == 0 {
            return Ok(0);
        }
        let start = match &self.places {
            Places::Sectors(sectors, bytes) => {
                sectors.get(index).map(|sector| (u64::from(*sector) + 1) * bytes)
            }
            Places::Short(places) => places.get(index).copied(),
        };
        let start = start.ok_or_else(|| io::Error::from(damaged("a stream is shorter than its size")))?;
        self.source.read(start + within, &mut buffer[..wanted as usize]).map_err(io::Error::from)?;
        self.at += wanted;
        Ok(wanted as usize)
    }
}

/// Returns the error for a compound file that has no workbook, such as a document of Word.
pub(super) fn no_workbook() -> Error {
    let error = Error::input("the file is an old Microsoft Office file without a workbook");
    error.hint("copy its tables to a spreadsheet, save them as CSV, and load these")
}
