//! How a store is opened.

use std::path::Path;
use std::time::Duration;

use sqluice_core::error::Result;
use sqluice_format::page::PageSize;

use super::BlobStore;

/// The page size of a new store. Of 100,000 blobs of 8 to 12 kB pages of 4096 bytes take 89% of the space of as many files, 84% when
/// neighbours are chosen so that they fill their pages; 1024 bytes take 85 and 83.5%, but SQLite itself then reads a third slower.
pub const PAGE_SIZE: PageSize = PageSize::DEFAULT;

/// When a batch counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// When it is on the disk: it survives a power failure.
    #[default]
    Full,
    /// A power failure may undo the last batches; in a rollback mode it may, rarely, damage the database
    /// (`PRAGMA synchronous = NORMAL`).
    Normal,
    /// When the system has it: it survives a crash of the program; a power failure may damage the database.
    Off,
}

impl Durability {
    /// As SQLite says it. EXTRA syncs the folder as well when the journal is gone: FULL could bring it back after a power failure.
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
    /// A rollback journal, which is deleted: the fastest to read.
    #[default]
    Delete,
    /// A log: readers go on during a write, in other processes, too.
    Wal,
}

/// Options of [`BlobStore`]; [`open`](Options::open) ends them.
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
    /// The default options.
    pub fn new() -> Options {
        Options::default()
    }

    /// Nothing is made or changed: writing is an error. Default: no.
    #[must_use]
    pub fn read_only(mut self, yes: bool) -> Options {
        self.read_only = yes;
        self
    }

    /// Nothing is locked between reads: other processes can write to the database at once, also those that do not wait for locks.
    /// Without this a store with a rollback journal keeps a read lock between its reads, for a tenth of a second at most. With it
    /// every read takes the lock again, and goes through SQLite, at about half the speed. A database in WAL mode is always shared.
    /// Default: no.
    #[must_use]
    pub fn shared(mut self, yes: bool) -> Options {
        self.shared = yes;
        self
    }

    /// Bytes at the start of the file that are mapped into memory, which SQLite limits to 2 GB; reading errors of the disk are
    /// signals then. Default: 0, none.
    #[must_use]
    pub fn mmap_bytes(mut self, bytes: u64) -> Options {
        self.mmap_bytes = bytes;
        self
    }

    /// Bytes of pages that each reading thread keeps at most, those of blobs not among them. Default: 16 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Options {
        self.cache_bytes = bytes;
        self
    }

    /// When a batch counts as done. Default: when it is on the disk.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// The journal of a new store; an existing one keeps its own. Default: a rollback journal.
    #[must_use]
    pub fn journal(mut self, journal: Journal) -> Options {
        self.journal = journal;
        self
    }

    /// The page size of a new store. Default: [`PAGE_SIZE`].
    #[must_use]
    pub fn page_size(mut self, size: PageSize) -> Options {
        self.page_size = size;
        self
    }

    /// How long to wait for the locks of others. Default: 5 seconds.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Options {
        self.busy_timeout = timeout;
        self
    }

    /// Connections for reading, at most: as many threads read at a time. Default: two for each core, 8 at least.
    #[must_use]
    pub fn readers_max(mut self, readers: usize) -> Options {
        self.readers_max = readers.max(1);
        self
    }

    /// Opens the store, or makes it where nothing is.
    ///
    /// # Errors
    /// When the database does not exist, or is one without a table `kv` or `sqlar` of the right shape, or it can't be read or made.
    pub fn open(self, path: impl AsRef<Path>) -> Result<BlobStore> {
        BlobStore::open_with(path.as_ref(), self)
    }
}
