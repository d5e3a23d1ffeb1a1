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

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sqluice_format::aligned::AlignedBuffer;

use crate::error::{Error, Result};

/// Reads and writes begin and end at multiples of this, as direct I/O wants it.
pub(super) const BLOCK_BYTES: usize = 4096;
/// What is handed out at a time.
pub(super) const PIECE_BYTES: u64 = if cfg!(test) { 16 << 10 } else { 1 << 20 };

/// Temporary space, shared by all sorters of a run. There is no file until something is spilled.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    file: OnceLock<File>,
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
        Spill { folder, file: OnceLock::new(), places: Mutex::default() }
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

    /// Writes blocks.
    pub(super) fn write(&self, mut offset: u64, mut blocks: &[u8]) -> Result<()> {
        let file = self.file()?;
        while !blocks.is_empty() {
            match rustix::io::pwrite(file, blocks, offset) {
                Ok(0) => return Err(self.failed("write", Errno::IO)),
                Ok(n) => {
                    blocks = &blocks[n..];
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                // A file system may take the flag and refuse the write, or have written a part that is no whole block.
                Err(Errno::INVAL) if unset_direct(file) => {}
                Err(error) => return Err(self.failed("write", error)),
            }
        }
        Ok(())
    }

    /// Reads blocks.
    pub(super) fn read(&self, mut offset: u64, mut blocks: &mut [u8]) -> Result<()> {
        let file = self.file()?;
        while !blocks.is_empty() {
            match rustix::io::pread(file, &mut *blocks, offset) {
                Ok(0) => return Err(self.failed("read", io::ErrorKind::UnexpectedEof)),
                Ok(n) => {
                    blocks = &mut blocks[n..];
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::INVAL) if unset_direct(file) => {}
                Err(error) => return Err(self.failed("read", error)),
            }
        }
        Ok(())
    }

    fn file(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        // Two may open one at the same time: the second closes its own, which is gone then.
        let file = create(&self.folder).map_err(|error| self.failed("create", error))?;
        Ok(self.file.get_or_init(|| file))
    }

    /// What was read is not what was written.
    pub(super) fn damaged(&self) -> Error {
        self.failed("read", io::ErrorKind::InvalidData)
    }

    fn failed(&self, what: &str, error: impl Into<io::Error>) -> Error {
        let (error, folder) = (error.into(), self.folder.display());
        let failure = Error::target(format!("cannot {what} a temporary file for sorting in {folder}"));
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "choose a folder that is there, with --temp-dir",
            io::ErrorKind::NotADirectory => "choose a folder with --temp-dir: this path has a file in it",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a folder that you may write to, with --temp-dir"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space, choose another folder with --temp-dir, or sort more in memory with --memory"
            }
            io::ErrorKind::FileTooLarge => {
                "raise the limit on file sizes (ulimit -f) or choose another file system with --temp-dir"
            }
            _ => return failure.because(error),
        };
        failure.because(error).hint(hint)
    }
}

/// A file without a name.
fn create(folder: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    for direct in [OFlags::DIRECT, OFlags::empty()] {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC | direct;
        match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok(file.into()),
            // No direct I/O here, or no files without names: what a kernel or file system says that knows none of these.
            Err(Errno::INVAL | Errno::NOTSUP | Errno::ISDIR | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    create_named(folder)
}

/// A file that loses its name at once.
fn create_named(folder: &Path) -> io::Result<File> {
    let process = std::process::id();
    for attempt in 0.. {
        let path = folder.join(format!(".sqluice-sort-{process}-{attempt}"));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                set_direct(&file, true);
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("the loop ends by returning")
}

/// Switches direct I/O off; says whether it was on.
fn unset_direct(file: &File) -> bool {
    let flags = rustix::fs::fcntl_getfl(file);
    flags.is_ok_and(|flags| flags.contains(DIRECT)) && !DIRECT.is_empty() && set_direct(file, false)
}

#[cfg(target_os = "linux")]
const DIRECT: OFlags = OFlags::DIRECT;
#[cfg(not(target_os = "linux"))]
const DIRECT: OFlags = OFlags::empty();

/// Switches direct I/O; says whether that worked.
fn set_direct(file: &File, direct: bool) -> bool {
    let set = rustix::fs::fcntl_getfl(file).and_then(|mut flags| {
        flags.set(DIRECT, direct);
        rustix::fs::fcntl_setfl(file, flags)
    });
    set.is_ok()
}

/// Threads that read blocks before they are needed, for all that is merged at a time.
#[derive(Debug)]
pub struct Ahead {
    requests: Option<Sender<Request>>,
    threads: Vec<JoinHandle<()>>,
}

/// Blocks that will be needed.
struct Request {
    spill: Arc<Spill>,
    offset: u64,
    /// As long as what is to be read.
    buffer: AlignedBuffer,
    reply: Sender<Result<AlignedBuffer>>,
}

impl Ahead {
    /// So many threads.
    ///
    /// # Errors
    /// When they can't be started.
    pub fn new(threads: usize) -> Result<Ahead> {
        let (sender, receiver) = unbounded::<Request>();
        let read = |receiver: Receiver<Request>| {
            for Request { spill, offset, mut buffer, reply } in receiver {
                let read = spill.read(offset, buffer.bytes_mut());
                // Whoever asked may be gone.
                let _ = reply.send(read.map(|()| buffer));
            }
        };
        let mut ahead = Ahead { requests: Some(sender), threads: Vec::new() };
        for _ in 0..threads {
            let receiver = receiver.clone();
            let thread = std::thread::Builder::new().name("sqluice-ahead".to_owned());
            let started = thread.spawn(move || read(receiver));
            ahead.threads.push(started.map_err(|e| Error::target("cannot start a thread").because(e))?);
        }
        Ok(ahead)
    }

    /// Begins to read as many blocks as the buffer is long.
    pub(super) fn read(
        &self,
        spill: &Arc<Spill>,
        offset: u64,
        buffer: AlignedBuffer,
    ) -> Receiver<Result<AlignedBuffer>> {
        let (reply, result) = bounded(1);
        let request = Request { spill: Arc::clone(spill), offset, buffer, reply };
        if let Some(requests) = &self.requests {
            // The threads live as long as this sender.
            let _ = requests.send(request);
        }
        result
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.requests = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
