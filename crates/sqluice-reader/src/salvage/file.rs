//! A file that may be damaged, as pages. Nothing is written, and no byte of the file is trusted.
//!
//! ```text
//!  descriptor   opened first, closed last
//!  lock              SQLite's read lock, without its schema: held while pages are read
//!  overlay           pages of the log, or of a journal that is hot
//! ```

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::size::{Mebibytes, grouped};
use sqluice_format::database::{Header, MAGIC, encoding_name};
use sqluice_format::page::{DATABASE_HEADER_BYTES, Geometry, PageSize};
use sqluice_format::salvage::{Salvage, Types};
use sqluice_platform::memory::available_bytes;
use sqluice_platform::paths::canonical;
use sqluice_platform::positioned::Positioned;

use super::log::Overlay;
use crate::connection::unreadable;
use crate::descriptor::{Descriptor, no_file};

/// The number of pages that are read to find the geometry and the encoding, or to check those in the header.
const SAMPLE_PAGES: u64 = 400;

/// The number of bytes that are skipped where the disk can't read. A failing disk takes seconds for each try.
const SECTOR_BYTES: usize = 4096;

/// The largest number of pages of a database.
const PAGES_MAX: u64 = 0xffff_fffe;

/// The largest number of pages beyond the end of the file that only a log names. A frame with a right checksum may name any page.
const BEYOND_MAX: u32 = 1 << 20;

/// The number of bytes of memory that the facts of a page take, with the claims to it.
const MEMORY_OF_PAGE: u64 = 120;

/// A file that may be damaged.
#[derive(Debug)]
pub struct DamagedFile {
    // Dropped first: closing the descriptor drops the locks of the process on the file.
    lock: Option<Mutex<Connection>>,
    descriptor: Descriptor,
    path: PathBuf,
    bytes: u64,
    before: (u64, Option<std::time::SystemTime>),
    overlay: Option<Overlay>,
    cancel: Cancel,
    /// The number of bytes that the disk could not read. Bytes that are read twice count twice.
    unreadable_bytes: AtomicU64,
    geometry: Geometry,
    page_count: u32,
    header: Option<Header>,
    /// `true` if the first bytes of the header are damaged.
    pub is_mended: bool,
    /// The text encoding, as numbered in the header.
    pub encoding: u32,
    /// The remarks about the header, the log and the journal.
    pub remarks: Vec<String>,
}

/// The options for opening a damaged file.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// The time to wait for a writer.
    pub busy_timeout: Duration,
    /// `true` if the log and the journal are not read.
    pub ignore_wal: bool,
    /// The byte of SQLite's locks.
    pub pending_byte: u32,
}

impl DamagedFile {
    /// Opens a file, and takes SQLite's read lock if SQLite can read the header.
    ///
    /// # Errors
    /// When the file can't be read, a writer is active, no page of the file is a page of a database, or its pages need too much memory.
    pub fn open(path: &Path, options: OpenOptions, cancel: &Cancel) -> Result<DamagedFile> {
        cancel.check()?;
        let failed = |error| Error::read(path, error);
        // The metadata is checked before the file is opened, as opening a named pipe waits for a writer.
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if let Some(why) = no_file(path, &metadata) {
            return Err(Error::input(why).hint("name a database file"));
        }
        let real = canonical(path).map_err(failed)?;
        let descriptor = Descriptor::open(&real).map_err(failed)?;
        let mut remarks = Vec::new();
        // SQLite deletes the log beside an empty database, also if it only reads. So it must not open an empty file.
        let locked = match metadata.len() {
            0 => Ok(None),
            _ => lock(&real, options.busy_timeout, cancel).map(Some),
        };
        let (lock, is_hot) = match locked {
            Ok(lock) => (lock, false),
            Err(error) => {
                use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, OperationInterrupted, ReadOnly};
                match error.sqlite_error_code() {
                    Some(DatabaseBusy | DatabaseLocked | OperationInterrupted) => {
                        return Err(unreadable(path, error));
                    }
                    Some(ReadOnly | CannotOpen) => (None, true),
                    _ => (None, false),
                }
            }
        };
        let metadata = descriptor.file().metadata().map_err(failed)?;
        let beside = |suffix: &str| {
            let mut name = real.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        let has = |suffix| std::fs::metadata(beside(suffix)).is_ok_and(|about| about.len() > 0);
        let mut overlay = None;
        if options.ignore_wal {
            for suffix in ["-wal", "-journal"] {
                if has(suffix) {
                    remarks.push(format!("the file {suffix} was not used, as requested"));
                }
            }
        } else {
            if is_hot && has("-journal") {
                overlay = Overlay::of_journal(&beside("-journal")).map_err(failed)?;
                remarks.push(match &overlay {
                    Some(overlay) if overlay.pages() == 0 => {
                        "an unfinished transaction was undone: the -journal restores the size of the database, and no page"
                            .to_owned()
                    }
                    Some(overlay) => format!(
                        "an unfinished transaction was undone: {} pages come from the -journal",
                        overlay.pages()
                    ),
                    None => "the -journal has nothing to undo, and was not used".to_owned(),
                });
            }
            if overlay.is_none() && has("-wal") {
                overlay = Overlay::of_wal(&beside("-wal")).map_err(failed)?;
                remarks.push(match &overlay {
                    Some(overlay) => {
                        format!("{} pages come from committed transactions in the -wal", overlay.pages())
                    }
                    None => "the -wal has no committed transaction, and was not used".to_owned(),
                });
            }
        }
        let geometry = Geometry::new(PageSize::DEFAULT, 0).ok_or_else(|| no_page(path, UNKNOWN_FILE))?;
        let mut file = DamagedFile {
            lock: lock.map(Mutex::new),
            descriptor,
            path: path.to_owned(),
            bytes: metadata.len(),
            before: seen(&metadata),
            overlay,
            cancel: cancel.clone(),
            unreadable_bytes: AtomicU64::new(0),
            geometry,
            page_count: 0,
            header: None,
            is_mended: false,
            encoding: 1,
            remarks,
        };
        file.understand(options.pending_byte)?;
        Ok(file)
    }

    /// Finds out page size, reserved bytes and encoding: from the header, or from the pages if the header is lost.
    fn understand(&mut self, pending_byte: u32) -> Result<()> {
        let mut start = [0; DATABASE_HEADER_BYTES];
        let failed = |error| Error::read(&self.path, error);
        let mut is_there = self.bytes >= start.len() as u64;
        if is_there {
            self.descriptor.file().read_exact_at(&mut start, 0).map_err(failed)?;
        }
        if let Some(overlay) = &self.overlay {
            let mut page = vec![0; overlay.page_size.bytes()];
            if overlay.read(1, &mut page).map_err(failed)? {
                start.copy_from_slice(&page[..DATABASE_HEADER_BYTES]);
                is_there = true;
            }
        }
        let mut header = Header::from_bytes(&start).ok().filter(|_| is_there);
        if header.is_none()
            && let Some(mended) = mended(&start).filter(|_| is_there)
            && self.plausible(mended.geometry)? > 0
        {
            header = Some(mended);
            self.is_mended = true;
            self.remarks
                .push("the first bytes of the header are damaged; its other fields were used".to_owned());
        }
        let stated = header.map(|header| header.geometry);
        let stated = match (&self.overlay, stated) {
            (Some(overlay), Some(stated)) if stated.page_size() != overlay.page_size => None,
            (_, stated) => stated,
        };
        // The header may be damaged where it looks right: pages decide.
        let found = match stated.map(|stated| self.plausible(stated)).transpose()? {
            Some(count) if count > 0 => stated,
            _ => self.likely()?,
        };
        let Some(geometry) = found.or(stated.filter(|_| self.bytes == 0)) else {
            let why = match () {
                () if self.bytes == 0 => "it is empty",
                () if self.has_only_zeros()? => "all of its bytes are zero",
                () => UNKNOWN_FILE,
            };
            return Err(no_page(&self.path, why));
        };
        if stated != Some(geometry) {
            let (bytes, reserved) = (geometry.page_bytes(), geometry.reserved_bytes());
            self.remarks.push(format!(
                "the header is lost: the pages show a page size of {bytes}, and {reserved} reserved bytes"
            ));
        }
        self.header = header.filter(|_| stated == Some(geometry));
        self.geometry = geometry.with_pending_byte(pending_byte);
        let of_file = self.bytes.div_ceil(geometry.page_bytes() as u64).min(PAGES_MAX) as u32;
        // The page count in a journal has no checksum, so it is not used: the largest number of a page that exists in the file or the log
        // counts.
        let in_log = self.overlay.as_ref().map_or(0, Overlay::pages) as u32;
        let most = of_file.saturating_add(in_log).saturating_add(BEYOND_MAX);
        let of_log = self.overlay.iter().flat_map(Overlay::numbers);
        let far = of_log.clone().filter(|number| *number > most).count();
        if far > 0 {
            self.remarks.push(format!(
                "{far} pages of the log were not used: their numbers are far beyond the end of the file"
            ));
        }
        let of_log = of_log.filter(|number| *number <= most).max().unwrap_or(0);
        self.page_count = of_file.max(of_log);
        self.refuse_more_than_memory()?;
        let stated = self.header.filter(|header| (1..=3).contains(&header.text_encoding));
        let stated = stated.map(|header| header.used_text_encoding());
        let (likely, is_sure) = self.likely_encoding()?;
        self.encoding = stated.filter(|stated| *stated == likely || !is_sure).unwrap_or(likely);
        if stated.is_some_and(|stated| stated != self.encoding) {
            let name = encoding_name(self.encoding);
            self.remarks.push(format!("the encoding in the header is wrong: the texts are in {name}"));
        }
        Ok(())
    }

    /// Returns `true` if the file has no byte other than zero. Reads up to the first other byte.
    fn has_only_zeros(&self) -> Result<bool> {
        let mut bytes = vec![0; 1 << 20];
        let mut at = 0;
        while at < self.bytes {
            let count = bytes.len().min((self.bytes - at).try_into().unwrap_or(usize::MAX));
            let chunk = &mut bytes[..count];
            self.descriptor
                .file()
                .read_exact_at(chunk, at)
                .map_err(|error| Error::read(&self.path, error))?;
            if chunk.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += count as u64;
        }
        Ok(true)
    }

    /// Refuses a file whose pages need more memory than there is.
    fn refuse_more_than_memory(&self) -> Result<()> {
        let needed = u64::from(self.page_count) * MEMORY_OF_PAGE;
        let available = available_bytes();
        // `available_bytes` is 0 if the system does not tell the number.
        if available == 0 || needed <= available {
            return Ok(());
        }
        let (path, pages) = (self.path.display(), grouped(u64::from(self.page_count)));
        let (needed, available) = (Mebibytes::at_least(needed), Mebibytes::at_least(available));
        Err(Error::input(format!("{path} has {pages} pages: finding rows takes {needed} of memory"))
            .because(format!("{available} are available"))
            .hint("recover the file on a machine with more memory"))
    }

    /// Returns the number of sampled pages that are whole with this geometry, and have content.
    fn plausible(&self, geometry: Geometry) -> Result<u64> {
        let bytes = geometry.page_bytes() as u64;
        let count = self.bytes.div_ceil(bytes).min(PAGES_MAX);
        let step = (count / SAMPLE_PAGES).max(1);
        let (mut page, mut salvage, mut types) = (vec![0; bytes as usize], Salvage::default(), Types::new());
        let mut found = 0;
        let of_log = self.overlay.iter().flat_map(Overlay::numbers).take(50);
        for number in (0..count).step_by(step as usize).map(|index| index as u32 + 1).chain(of_log) {
            self.read_with(number, &mut page, geometry)?;
            let kind = salvage.read(&page, number, geometry, &mut types);
            let has_content = !salvage.entries.is_empty() || !salvage.children.is_empty();
            found += u64::from(kind.is_some() && salvage.is_whole && (has_content || number == 1));
        }
        Ok(found)
    }

    /// Returns the geometry with which the most bytes are whole pages.
    fn likely(&self) -> Result<Option<Geometry>> {
        let mut best = (0, None);
        let sizes = (9..=16).map(|bits| 1u32 << bits).filter_map(PageSize::new);
        let of_log = self.overlay.as_ref().map(|overlay| overlay.page_size);
        for size in sizes.filter(|size| of_log.is_none_or(|of_log| of_log == *size)) {
            for reserved in [0u8, 8, 12, 16, 20, 24, 28, 32, 48, 64] {
                let Some(geometry) = Geometry::new(size, reserved) else { continue };
                let found = self.plausible(geometry)?;
                let step = (self.bytes.div_ceil(size.bytes() as u64) / SAMPLE_PAGES).max(1);
                let bytes = found * step * size.bytes() as u64;
                if bytes > best.0 {
                    best = (bytes, Some(geometry));
                }
            }
        }
        Ok(best.1)
    }

    /// Returns the encoding that most texts of sampled leaves have, and `true` if the texts can't have another: UTF-16 has no text of an
    /// odd number of bytes, and zeros in every second byte are no UTF-8.
    fn likely_encoding(&self) -> Result<(u32, bool)> {
        let geometry = self.geometry;
        let (mut page, mut salvage, mut types) =
            (vec![0; geometry.page_bytes()], Salvage::default(), Types::new());
        let (mut votes, mut odd, mut all) = ([0u64; 3], 0u64, 0u64);
        let step = (u64::from(self.page_count) / SAMPLE_PAGES).max(1) as usize;
        for number in (1..=self.page_count).step_by(step) {
            self.read(number, &mut page)?;
            if salvage.read(&page, number, geometry, &mut types).is_none() {
                continue;
            }
            for entry in &salvage.entries {
                let record = &page[entry.cell.local.clone()];
                let Ok(values) = sqluice_format::record::decode(record) else { continue };
                for value in values {
                    let sqluice_format::value::Value::Text(text) = value else { continue };
                    let zeros =
                        |odd: usize| text.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
                    let is_most = |zeros: usize| {
                        text.len() >= 2 && text.len().is_multiple_of(2) && zeros * 4 > text.len()
                    };
                    all += 1;
                    odd += u64::from(text.len() % 2 == 1);
                    match () {
                        () if is_most(zeros(1)) => votes[1] += 1,
                        () if is_most(zeros(0)) => votes[2] += 1,
                        () => votes[0] += u64::from(!text.is_empty()),
                    }
                }
            }
        }
        let likely =
            (1..=3).max_by_key(|encoding| (votes[*encoding as usize - 1], 4 - encoding)).unwrap_or(1);
        let is_sure = match likely {
            1 => odd * 10 > all && votes[1] + votes[2] == 0,
            other => votes[other as usize - 1] * 10 > all * 9,
        };
        Ok((likely, is_sure))
    }

    /// Returns the geometry.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the number of pages: those of the file, or more if the log has more.
    pub fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Returns the size of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the header, unless it is lost.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns `true` if the file ends within this page.
    pub fn is_cut(&self, page: u32) -> bool {
        let bytes = self.geometry.page_bytes() as u64;
        !self.bytes.is_multiple_of(bytes) && u64::from(page) == self.bytes.div_ceil(bytes)
    }

    /// Returns `true` if the file ends within this page, before the byte `end` of the page.
    pub fn is_cut_before(&self, page: u32, end: usize) -> bool {
        self.is_cut(page) && (self.bytes % self.geometry.page_bytes() as u64) < end as u64
    }

    /// Returns `true` if the file ends within a page.
    pub fn ends_within_a_page(&self) -> bool {
        !self.bytes.is_multiple_of(self.geometry.page_bytes() as u64)
    }

    /// Returns `true` if the disk could not read a part of the file. Such bytes count as zeros.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable_bytes.load(Ordering::Relaxed) > 0
    }

    /// Returns the path, as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a page. Bytes beyond the end of the file, and those that the disk can't read, are zeros.
    ///
    /// # Errors
    /// When the log or journal can't be read, or the work is cancelled.
    pub fn read(&self, number: u32, into: &mut [u8]) -> Result<()> {
        self.read_with(number, into, self.geometry)
    }

    fn read_with(&self, number: u32, into: &mut [u8], geometry: Geometry) -> Result<()> {
        self.read_run(number, into, geometry)
    }

    /// Reads consecutive pages. Bytes beyond the end of the file, and those that the disk can't read, are zeros.
    ///
    /// # Errors
    /// When the log or journal can't be read, or the work is cancelled.
    pub fn read_pages(&self, first: u32, into: &mut [u8]) -> Result<()> {
        self.read_run(first, into, self.geometry)
    }

    fn read_run(&self, first: u32, into: &mut [u8], geometry: Geometry) -> Result<()> {
        let failed = |error| Error::read(&self.path, error);
        let at = geometry.offset(first);
        let there = self.bytes.saturating_sub(at).min(into.len() as u64) as usize;
        let mut done = 0;
        while done < there {
            match self.descriptor.file().read_at(&mut into[done..there], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // A bad sector loses the pages that it holds, and no others.
                Err(_) => {
                    self.cancel.check()?;
                    let offset = (at + done as u64) % SECTOR_BYTES as u64;
                    let next = (done + SECTOR_BYTES - offset as usize).min(there);
                    into[done..next].fill(0);
                    self.unreadable_bytes.fetch_add((next - done) as u64, Ordering::Relaxed);
                    done = next;
                }
            }
        }
        into[done..].fill(0);
        if let Some(overlay) =
            self.overlay.as_ref().filter(|overlay| overlay.page_size == geometry.page_size())
        {
            for (number, page) in (first..).zip(into.chunks_exact_mut(geometry.page_bytes())) {
                overlay.read(number, page).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Checks that the file, and the log or journal that is used, have not changed since the file was opened.
    ///
    /// # Errors
    /// When one of them has changed.
    pub fn check_unchanged(&self) -> Result<()> {
        let failed = |error| Error::read(&self.path, error);
        let now = self.descriptor.file().metadata().map_err(failed)?;
        let is_same_log = match &self.overlay {
            Some(overlay) => overlay.is_unchanged().map_err(failed)?,
            None => true,
        };
        if is_same_log && (self.lock.is_some() || seen(&now) == self.before) {
            return Ok(());
        }
        Err(Error::target(format!("{} was written while it was read", self.path.display())).hint(
            "stop the program that writes to it, copy the file with its -wal and -journal, and recover the copy",
        ))
    }
}

/// Returns the header with its fixed bytes put right, if at least half of them are right already.
fn mended(start: &[u8; DATABASE_HEADER_BYTES]) -> Option<Header> {
    const FRACTIONS: [u8; 3] = [64, 32, 32];
    let fixed = MAGIC.iter().zip(start).chain(FRACTIONS.iter().zip(&start[21..]));
    let right = fixed.filter(|(wanted, found)| wanted == found).count();
    if right * 2 < MAGIC.len() + FRACTIONS.len() {
        return None;
    }
    let mut mended = *start;
    mended[..MAGIC.len()].copy_from_slice(MAGIC);
    mended[21..24].copy_from_slice(&FRACTIONS);
    Header::from_bytes(&mended).ok()
}

/// Begins a read transaction that reads no schema.
fn lock(path: &Path, busy_timeout: Duration, cancel: &Cancel) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy_timeout)?;
    let cancel = cancel.clone();
    connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
    connection.execute_batch("BEGIN")?;
    connection.query_row("PRAGMA user_version", [], |_| Ok(()))?;
    Ok(connection)
}

fn seen(metadata: &Metadata) -> (u64, Option<std::time::SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}

/// The reason why a file with content has no page of a database.
const UNKNOWN_FILE: &str = "it is another kind of file, or it is encrypted";

fn no_page(path: &Path, why: &str) -> Error {
    let hint = match why == UNKNOWN_FILE {
        true => {
            "name another file; an encrypted database is recovered after its own program has decrypted it"
        }
        false => "name another file, such as a backup: this one has nothing to recover",
    };
    Error::input(format!("{} has no page of a SQLite database", path.display())).because(why).hint(hint)
}
