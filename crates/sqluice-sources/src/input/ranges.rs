//! Reads a file behind a URL at any offset. The ranges that will be needed are fetched in blocks, each block only once unless it is
//! dropped.
//!
//! ```text
//!  the file       |......[ column a ]......[ column c ]..........[footer]|
//!  wanted ranges         |--|--|--|-|      |--|--|-|                        cut into blocks
//!  a reader reads         ^     the next blocks are fetched ahead, also of the next range
//!  fetched blocks         in an unnamed temporary file; the least recently used are dropped
//! ```
//!
//! Several threads read the same column, each from the start of the column to its own rows, so fetched blocks are kept. Bytes outside of
//! the wanted ranges are fetched each time they are read, and not kept.
//!
//! Invariant: bytes outside of the wanted ranges are only fetched if they are read.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::remote::RemoteFile;
use sqluice_platform::positioned::Positioned;

/// The size of a block in bytes.
const BLOCK_BYTES: u64 = 1 << 20;

/// The number of blocks that are fetched ahead of the block that is read.
const AHEAD: usize = 3;

/// The maximum total size of the blocks that are kept, in bytes.
const KEPT_BYTES: u64 = 1 << 30;

/// The maximum time between two checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(20);

/// A file behind a URL that can be read at any offset.
#[derive(Debug)]
pub struct RemoteRanges {
    remote: Arc<dyn RemoteFile>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The temporary file. A block has the same offset in it as in the remote file.
    file: File,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The wanted ranges, sorted and without overlaps.
    wanted: Vec<Range<u64>>,
    /// The blocks that are fetched or being fetched, by the offsets of their first bytes.
    blocks: BTreeMap<u64, Block>,
    /// The number of times that a read has looked for a block. It serves as the time of a block's last use.
    clock: u64,
    kept_bytes: u64,
    /// The errors of blocks that could not be fetched. An error is removed when it is reported.
    failed: HashMap<u64, Error>,
    /// The error of the last failed read. The library that reads the format does not keep the cause of its errors.
    failure: Option<Error>,
}

#[derive(Debug)]
struct Block {
    end: u64,
    here: bool,
    last_used: u64,
}

impl RemoteRanges {
    /// Creates the file, without wanted ranges. Fetched blocks are stored in a temporary file in `folder`.
    ///
    /// # Errors
    /// If no file can be created in `folder`.
    pub fn new(remote: Arc<dyn RemoteFile>, folder: &Path) -> Result<RemoteRanges> {
        let file = tempfile::tempfile_in(folder).map_err(|error| {
            Error::target(format!(
                "cannot store fetched bytes of {} in a temporary file in {}",
                remote.name().display(),
                folder.display()
            ))
            .about(folder)
            .because(error)
            .hint(message!["choose another folder: ", Setting::TempDir.to("DIR")])
        })?;
        let shared = Shared { file, state: Mutex::default(), changed: Condvar::new() };
        Ok(RemoteRanges { remote, shared: Arc::new(shared) })
    }

    /// Adds ranges to the wanted ranges.
    pub fn want(&self, ranges: impl IntoIterator<Item = Range<u64>>) {
        let mut state = self.shared.lock();
        let mut all: Vec<Range<u64>> = state.wanted.iter().cloned().chain(ranges).collect();
        all.retain(|range| !range.is_empty());
        all.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in all {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        if merged != state.wanted {
            // All blocks are dropped: blocks begin at the starts of ranges, so the old blocks are cut at other offsets.
            (state.wanted, state.kept_bytes) = (merged, 0);
            state.blocks.clear();
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.shared.lock().failure.is_some()
    }

    /// Returns the error of the last failed read, and clears it.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.shared.lock().failure.take()
    }

    /// Reads bytes from the offset `at` on: at least one, except at the end of the file.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.read(buffer, at).map_err(|error| {
            let said = error.message();
            self.shared.lock().failure = Some(error);
            io::Error::other(said)
        })
    }

    fn read(&self, buffer: &mut [u8], at: u64) -> Result<usize> {
        let bytes = self.remote.bytes().unwrap_or(0);
        let wanted = (buffer.len() as u64).min(bytes.saturating_sub(at));
        if wanted == 0 {
            return Ok(0);
        }
        let mut state = self.shared.lock();
        let Some(block) = state.block_at(at) else {
            drop(state);
            let read = self.remote.read(at..at + wanted)?;
            buffer[..read.len()].copy_from_slice(&read);
            return Ok(read.len());
        };
        loop {
            for block in state.missing(&block) {
                self.fetch(block);
            }
            if let Some(error) = state.failed.remove(&block.start) {
                return Err(error);
            }
            if state.use_block(block.start) {
                let end = (at + wanted).min(block.end);
                let buffer = &mut buffer[..(end - at) as usize];
                // The block can't be dropped while the lock is held.
                self.shared.file.read_exact_at(buffer, at).map_err(|error| {
                    Error::target("cannot read fetched bytes of a remote file from a temporary file")
                        .because(error)
                })?;
                return Ok(buffer.len());
            }
            self.remote.check()?;
            let waited = self.shared.changed.wait_timeout(state, PATIENCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Starts to fetch a block, which must already be in `State::blocks`.
    fn fetch(&self, block: Range<u64>) {
        let shared = Arc::clone(&self.shared);
        let at = block.clone();
        self.remote.fetch(block, Box::new(move |read| shared.take(at, read)));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a fetched block in the temporary file, or the error of its request in `State::failed`.
    fn take(&self, block: Range<u64>, read: Result<Vec<u8>>) {
        let written = read.and_then(|bytes| {
            self.file.write_all_at(&bytes, block.start).map_err(|error| {
                Error::target("cannot store fetched bytes of a remote file in a temporary file")
                    .because(error)
                    .hint(message!["choose a folder with enough space: ", Setting::TempDir.to("DIR")])
            })
        });
        let mut state = self.lock();
        let is_noted = state.blocks.get(&block.start).is_some_and(|noted| noted.end == block.end);
        match written {
            Ok(()) if is_noted => {
                let clock = state.clock;
                if let Some(noted) = state.blocks.get_mut(&block.start) {
                    (noted.here, noted.last_used) = (true, clock);
                }
                state.kept_bytes += block.end - block.start;
                self.drop_oldest(&mut state);
            }
            Ok(()) => {}
            Err(error) => {
                if is_noted {
                    state.blocks.remove(&block.start);
                }
                state.failed.insert(block.start, error);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Drops the least recently used blocks if the kept blocks are too large. The temporary file only shrinks on file systems with holes.
    fn drop_oldest(&self, state: &mut State) {
        while state.kept_bytes > KEPT_BYTES {
            let here = state.blocks.iter().filter(|(_, block)| block.here);
            let Some((&start, block)) = here.min_by_key(|(_, block)| block.last_used) else { return };
            let bytes = block.end - start;
            state.blocks.remove(&start);
            state.kept_bytes -= bytes;
            sqluice_platform::ranges::free(&self.file, start, bytes);
        }
    }
}

impl State {
    /// Returns the range of the block that contains the byte at `at`, if the byte is in a wanted range.
    fn block_at(&self, at: u64) -> Option<Range<u64>> {
        let range = self.wanted.iter().find(|range| range.contains(&at))?;
        let start = range.start + (at - range.start) / BLOCK_BYTES * BLOCK_BYTES;
        Some(start..(start + BLOCK_BYTES).min(range.end))
    }

    /// Returns the blocks that are neither fetched nor being fetched among `block` and the next `AHEAD` blocks, and marks them as being
    /// fetched.
    fn missing(&mut self, block: &Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut next = Some(block.clone());
        for _ in 0..=AHEAD {
            let Some(block) = next else { break };
            let last_used = self.clock;
            self.blocks.entry(block.start).or_insert_with(|| {
                missing.push(block.clone());
                Block { end: block.end, here: false, last_used }
            });
            let later = self.wanted.iter().find(|range| range.end > block.end);
            next = later.and_then(|range| self.block_at(range.start.max(block.end)));
        }
        missing
    }

    /// Returns `true` if the block at `start` has been fetched, and records its use.
    fn use_block(&mut self, start: u64) -> bool {
        self.clock += 1;
        let clock = self.clock;
        self.blocks.get_mut(&start).is_some_and(|block| {
            block.last_used = clock;
            block.here
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use sqluice_core::remote::Fetched;

    use super::*;

    /// A file in memory that counts the fetched bytes, and fails at one request.
    #[derive(Debug)]
    struct Counted {
        bytes: Vec<u8>,
        fetched: AtomicU64,
        requests: AtomicUsize,
        fails_at: Option<usize>,
    }

    impl RemoteFile for Counted {
        fn name(&self) -> &Path {
            Path::new("s3://b/x")
        }

        fn bytes(&self) -> Option<u64> {
            Some(self.bytes.len() as u64)
        }

        fn has_ranges(&self) -> bool {
            true
        }

        fn check(&self) -> Result<()> {
            Ok(())
        }

        fn fetch(&self, range: Range<u64>, done: Fetched) {
            let read = self.read(range);
            std::thread::spawn(move || done(read));
        }

        fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
            if self.fails_at == Some(self.requests.fetch_add(1, Ordering::Relaxed)) {
                return Err(Error::input("the connection is closed"));
            }
            self.fetched.fetch_add(range.end - range.start, Ordering::Relaxed);
            Ok(self.bytes[range.start as usize..range.end as usize].to_vec())
        }

        fn stream(&self) -> Result<Box<dyn Read + Send>> {
            Ok(Box::new(Cursor::new(self.bytes.clone())))
        }
    }

    fn file(bytes: usize, fails_at: Option<usize>) -> (Arc<Counted>, RemoteRanges) {
        let bytes = (0..bytes).map(|at| (at * 7 / 3) as u8).collect();
        let counted =
            Arc::new(Counted { bytes, fetched: AtomicU64::new(0), requests: AtomicUsize::new(0), fails_at });
        let ranges = RemoteRanges::new(counted.clone(), &std::env::temp_dir()).unwrap();
        (counted, ranges)
    }

    fn read(ranges: &RemoteRanges, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut out = vec![0; (range.end - range.start) as usize];
        let mut filled = 0;
        while filled < out.len() {
            match ranges.read_at(&mut out[filled..], range.start + filled as u64)? {
                0 => break,
                bytes => filled += bytes,
            }
        }
        out.truncate(filled);
        Ok(out)
    }

    #[test]
    fn wanted_ranges_are_fetched_once_and_other_bytes_whenever_they_are_read() {
        let (counted, ranges) = file(9 << 20, None);
        let wanted = [100..(5 << 20) + 1, (7 << 20)..(7 << 20) + 10];
        ranges.want(wanted.clone());
        for _ in 0..3 {
            for range in &wanted {
                let expected = &counted.bytes[range.start as usize..range.end as usize];
                assert!(read(&ranges, range.clone()).unwrap() == expected);
            }
        }
        let all: u64 = wanted.iter().map(|range| range.end - range.start).sum();
        assert_eq!(counted.fetched.load(Ordering::Relaxed), all);
        assert_eq!(read(&ranges, 5..25).unwrap(), &counted.bytes[5..25]);
        assert_eq!(counted.fetched.load(Ordering::Relaxed), all + 20);
        let end = counted.bytes.len() as u64;
        assert_eq!(read(&ranges, end - 3..end + 3).unwrap(), &counted.bytes[end as usize - 3..]);
    }

    #[test]
    fn several_threads_read_the_right_bytes_of_a_remote_file() {
        let (counted, ranges) = file(6 << 20, None);
        ranges.want(std::iter::once(3..6 << 20));
        std::thread::scope(|scope| {
            for reader in 0..4 {
                let (counted, ranges) = (&counted, &ranges);
                scope.spawn(move || {
                    for at in (3..(6 << 20) - 5000).step_by(4001 + reader) {
                        let range = at..at + 5000;
                        assert!(
                            read(ranges, range.clone()).unwrap()
                                == counted.bytes[range.start as usize..range.end as usize]
                        );
                    }
                });
            }
        });
        assert_eq!(counted.fetched.load(Ordering::Relaxed), (6 << 20) - 3);
    }

    #[test]
    fn a_block_that_can_not_be_fetched_is_an_error_of_the_read_that_needs_it() {
        for fails_at in 0..4 {
            let (_, ranges) = file(4 << 20, Some(fails_at));
            ranges.want(std::iter::once(0..4 << 20));
            assert!(read(&ranges, 0..4 << 20).is_err(), "request {fails_at}");
        }
    }
}
