//! The options of a store.

use std::path::Path;
use std::time::Duration;

use sqluice_core::error::Result;
use sqluice_format::page::PageSize;

use super::BlobStore;

/// The page size of a new store. A store of 100,000 blobs of 8 to 12 kB in pages of 4096 bytes takes 89% of the space of as many files, or
/// 84% if neighbouring blobs are chosen to fill their pages. Pages of 1024 bytes take 85% or 83.5%, but SQLite itself then reads a third
/// slower.
pub const PAGE_SIZE: PageSize = PageSize::DEFAULT;

/// The moment at which a batch is reported as written, and so the crashes that a reported batch survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A batch is reported when it is on the disk: it survives a power failure.
    #[default]
    Full,
    /// A batch is reported before it is on the disk (`PRAGMA synchronous = NORMAL`). A power failure may undo the last batches. With a
    /// rollback journal, the power failure may in rare cases damage the database.
    Normal,
    /// A batch is reported when the operating system has it: it survives a crash of the program, but a power failure may damage the
    /// database.
    Off,
}

impl Durability {
    /// Returns the value of `PRAGMA synchronous`. EXTRA also syncs the folder after the journal was deleted: with FULL, a power failure
    /// could bring the journal back.
    pub(super) fn synchronous(self) -> &'static str {
        match self {
            Durability::Full => "EXTRA",
            Durability::Normal => "NORMAL",
            Durability::Off => "OFF",
        }
    }
}

/// The journal of a new store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Journal {
    /// A rollback journal that is deleted after each transaction: the fastest to read.
    #[default]
    Delete,
    /// A write-ahead log: readers continue during a write, also in other processes.
    Wal,
}

/// The options of a [`BlobStore`]; [`open`](Options::open) opens the store with them.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) read_only: bool,
    pub(super) shared: bool,
    pub(super) mmap_bytes: u64,
    pub(super) cache_bytes: usize,
    pub(super) durability: Durability,
    pub(super) journal: Journal,
    pub(super) page_size: PageSize,
    pub(super) busy_timeout: Duration,
    pub(super) readers_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        Options {
            read_only: false,
            shared: false,
            mmap_bytes: 0,
            cache_bytes: 16 << 20,
            durability: Durability::default(),
            journal: Journal::default(),
            page_size: PAGE_SIZE,
            busy_timeout: Duration::from_secs(5),
            readers_max: cores.clamp(4, 32) * 2,
        }
    }
}

impl Options {
    /// Creates the default options.
    pub fn new() -> Options {
        Options::default()
    }

    /// Opens the store for reading only: nothing is created or changed, and writing is an error. Default: `false`.
    #[must_use]
    pub fn read_only(mut self, yes: bool) -> Options {
        self.read_only = yes;
        self
    }

    /// Releases all locks between reads, so that other processes can write at once, even if they do not wait for locks. Otherwise, a store
    /// with a rollback journal keeps a read lock between its reads, for at most a tenth of a second. A shared store takes the lock again
    /// for every read and reads through SQLite, at about half the speed. A database in WAL mode is always shared. Default: `false`.
    #[must_use]
    pub fn shared(mut self, yes: bool) -> Options {
        self.shared = yes;
        self
    }

    /// Maps this many bytes at the start of the file into memory. SQLite allows at most 2 GB. In the mapped part, a read error of the
    /// disk ends the process with a signal. Default: 0, no map.
    #[must_use]
    pub fn mmap_bytes(mut self, bytes: u64) -> Options {
        self.mmap_bytes = bytes;
        self
    }

    /// Sets the maximum size of the pages that each reading thread caches, not counting the pages of blobs. Default: 16 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Options {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the durability of a batch that is reported as written. Default: [`Durability::Full`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// Sets the journal of a new store; an existing store keeps its own. Default: a rollback journal.
    #[must_use]
    pub fn journal(mut self, journal: Journal) -> Options {
        self.journal = journal;
        self
    }

    /// Sets the page size of a new store. Default: [`PAGE_SIZE`].
    #[must_use]
    pub fn page_size(mut self, size: PageSize) -> Options {
        self.page_size = size;
        self
    }

    /// Sets the time to wait for the locks of other processes. Default: 5 seconds.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Options {
        self.busy_timeout = timeout;
        self
    }

    /// Sets the maximum number of reading connections, and so of threads that read at the same time. Default: two per core, at least 8
    /// and at most 64.
    #[must_use]
    pub fn readers_max(mut self, readers: usize) -> Options {
        self.readers_max = readers.max(1);
        self
    }

    /// Opens the store, or creates it if the file does not exist.
    ///
    /// # Errors
    /// When the database does not exist and may not be created, has no table `kv` or `sqlar` of the right shape, has text that
    /// is not UTF-8, or can't be read.
    pub fn open(self, path: impl AsRef<Path>) -> Result<BlobStore> {
        BlobStore::open_with(path.as_ref(), self)
    }
}
