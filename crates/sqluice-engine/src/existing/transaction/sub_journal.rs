//! A VFS for SQLite that can replace the records of the sub-journal when SQLite reads them.
//!
//! SQLite saves the pages that a savepoint changes in the sub-journal, and ROLLBACK TO copies them back into the page cache. Each record of
//! the sub-journal is a page number and the page:
//!
//! ```text
//!  sub-journal    | 1 | old page 1       | 1 | old page 1       | ...        written by SQLite
//!  ROLLBACK TO    | 7 | our new page 7   | 9 | our new page 9   | ...        read by SQLite while records are lent
//! ```
//!
//! All other files are those of SQLite's default VFS, byte for byte and lock for lock. Only the sub-journal has methods of this module,
//! which pass on all calls except these reads.

#![allow(unsafe_code, reason = "a file system of SQLite's is a struct of C functions")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

const NAME: &CStr = c"sqluice";

/// The size of the page number before each page of the sub-journal, in bytes.
pub(super) const NUMBER_BYTES: usize = 4;

/// The default VFS, to which the VFS of this module passes calls on.
struct Base(*mut sqlite3_vfs);

// SAFETY: the pointer serves only to call functions of a registered VFS, which any thread may call.
unsafe impl Send for Base {}
// SAFETY: as for `Send`; the VFS never changes, and lives as long as the process.
unsafe impl Sync for Base {}

static BASE: OnceLock<Option<Base>> = OnceLock::new();

/// Returns the name of the VFS, or `None` if the default VFS is not SQLite's own and may treat files differently.
pub(in crate::existing) fn name() -> Option<&'static CStr> {
    BASE.get_or_init(register).as_ref().map(|_| NAME)
}

fn register() -> Option<Base> {
    // SAFETY: SQLite has no requirement for either call; the VFS lives as long as the process.
    let base = unsafe {
        if ffi::sqlite3_initialize() != ffi::SQLITE_OK {
            return None;
        }
        ffi::sqlite3_vfs_find(ptr::null())
    };
    // SAFETY: a VFS that SQLite returns has a NUL-terminated name.
    let is_own = !base.is_null()
        && unsafe {
            let name = CStr::from_ptr((*base).zName).to_bytes();
            name.starts_with(b"unix") || name.starts_with(b"win32")
        };
    if !is_own {
        return None;
    }
    // SAFETY: SQLite's own VFSes may be copied: their functions use only their shared data.
    let mut ours = unsafe { *base };
    ours.zName = NAME.as_ptr();
    ours.pNext = ptr::null_mut();
    ours.szOsFile += size_of::<SubJournal>() as c_int;
    ours.xOpen = Some(open);
    // SAFETY: the VFS lives as long as the process, and has all functions of the default VFS.
    let registered = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 0) };
    (registered == ffi::SQLITE_OK).then_some(Base(base))
}

/// The pages that a rollback reads in place of the records of the sub-journal.
struct Lent<'p> {
    pages: &'p [(u32, &'p [u8])],
    /// The number of these pages that the rollback has read so far.
    read: usize,
    /// The first record, a page number and a page, that SQLite read from the sub-journal itself, after all lent pages. `None` until then.
    own: Option<(u32, Vec<u8>)>,
}

thread_local! {
    static LENT: RefCell<Option<Lent<'static>>> = const { RefCell::new(None) };
}

/// The records that a rollback has read.
pub(super) struct Played {
    /// The number of lent records that were read.
    pub(super) lent: usize,
    /// The first record, a page number and a page, that SQLite read from the sub-journal itself, if it read any.
    pub(super) own: Option<(u32, Vec<u8>)>,
}

/// Runs `roll_back`. SQLite reads `pages` as the first records of the sub-journal.
pub(super) fn lend<T>(pages: &[(u32, &[u8])], roll_back: impl FnOnce() -> T) -> (T, Played) {
    /// A guard that takes the pages back, also in a panic.
    struct TakeBack;
    impl Drop for TakeBack {
        fn drop(&mut self) {
            LENT.set(None);
        }
    }
    // SAFETY: the pages are borrowed for this call, and taken back before it ends.
    let pages: &'static [(u32, &'static [u8])] = unsafe { std::mem::transmute(pages) };
    let take_back = TakeBack;
    LENT.set(Some(Lent { pages, read: 0, own: None }));
    let done = roll_back();
    let lent = LENT.take();
    drop(take_back);
    let played = lent.map(|lent| Played { lent: lent.read, own: lent.own });
    (done, played.unwrap_or(Played { lent: 0, own: None }))
}

impl Lent<'_> {
    /// Reads from the lent records. Returns `None` if no record is left, and an error if SQLite reads an unexpected number of bytes.
    fn read(&mut self, into: &mut [u8]) -> Option<Result<(), ()>> {
        let (number, page) = self.pages.get(self.read)?;
        if into.len() == NUMBER_BYTES {
            into.copy_from_slice(&number.to_be_bytes());
            return Some(Ok(()));
        }
        if into.len() != page.len() {
            return Some(Err(()));
        }
        into.copy_from_slice(page);
        self.read += 1;
        Some(Ok(()))
    }

    /// Keeps the first record that SQLite reads from the sub-journal itself: first the page number, then the page.
    fn note(&mut self, bytes: &[u8]) {
        match &mut self.own {
            None => self.own = bytes.try_into().ok().map(|number| (u32::from_be_bytes(number), Vec::new())),
            Some((_, page)) if page.is_empty() => *page = bytes.to_vec(),
            Some(_) => {}
        }
    }
}

/// The beginning of the memory that SQLite allocates for an open sub-journal: a `sqlite3_file` with the methods of this module. The file
/// object of the default VFS follows in the same memory.
#[repr(C, align(8))]
struct SubJournal {
    file: sqlite3_file,
}

/// Returns the file object of the default VFS, which follows the [`SubJournal`] at `file` in memory.
///
/// # Safety
/// `file` must be an open [`SubJournal`].
unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite has allocated `szOsFile` bytes, and `SubJournal` takes the first of them.
    unsafe { file.cast::<SubJournal>().add(1).cast() }
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(Base(base)) = BASE.get().and_then(Option::as_ref) else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments come from SQLite, for a VFS that can open files.
    unsafe {
        let Some(open) = (**base).xOpen else { return ffi::SQLITE_CANTOPEN };
        if flags & ffi::SQLITE_OPEN_SUBJOURNAL == 0 {
            return open(*base, name, file, flags, out_flags);
        }
        (*file).pMethods = ptr::null();
        let opened = open(*base, name, inner(file), flags, out_flags);
        if opened == ffi::SQLITE_OK {
            (*file).pMethods = &METHODS;
        }
        opened
    }
}

unsafe extern "C" fn read(file: *mut sqlite3_file, into: *mut c_void, bytes: c_int, at: i64) -> c_int {
    let Ok(len) = usize::try_from(bytes) else { return ffi::SQLITE_IOERR_READ };
    LENT.with_borrow_mut(|lent| {
        // SAFETY: SQLite passes a buffer of `len` bytes.
        let buffer = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), len) };
        match lent.as_mut().and_then(|lent| lent.read(buffer)) {
            Some(Ok(())) => return ffi::SQLITE_OK,
            Some(Err(())) => return ffi::SQLITE_IOERR_READ,
            None => {}
        }
        // SAFETY: SQLite calls methods only of files that it has opened. `open` has opened this file and its inner file, so both have
        // methods.
        let done = unsafe {
            let inner = inner(file);
            match (*(*inner).pMethods).xRead {
                Some(read) => read(inner, into, bytes, at),
                None => ffi::SQLITE_IOERR_READ,
            }
        };
        if let (ffi::SQLITE_OK, Some(lent)) = (done, lent) {
            lent.note(buffer);
        }
        done
    })
}

/// Defines functions for methods of the sub-journal that only call the same method of the default VFS's file object.
macro_rules! pass_on {
    ($($ours:ident = $method:ident($($given:ident: $kind:ty),*) or $otherwise:expr;)*) => {$(
        unsafe extern "C" fn $ours(file: *mut sqlite3_file, $($given: $kind),*) -> c_int {
            // SAFETY: SQLite calls methods only of files that it has opened. `open` has opened this file and its inner file, so both have
            // methods.
            unsafe {
                let inner = inner(file);
                match (*(*inner).pMethods).$method {
                    Some(method) => method(inner, $($given),*),
                    None => $otherwise,
                }
            }
        }
    )*};
}

pass_on! {
    close = xClose() or ffi::SQLITE_OK;
    write = xWrite(bytes: *const c_void, count: c_int, at: i64) or ffi::SQLITE_IOERR_WRITE;
    truncate = xTruncate(size: i64) or ffi::SQLITE_IOERR_TRUNCATE;
    sync = xSync(flags: c_int) or ffi::SQLITE_OK;
    file_size = xFileSize(size: *mut i64) or ffi::SQLITE_IOERR_FSTAT;
    lock = xLock(level: c_int) or ffi::SQLITE_OK;
    unlock = xUnlock(level: c_int) or ffi::SQLITE_OK;
    check_reserved_lock = xCheckReservedLock(is_locked: *mut c_int) or ffi::SQLITE_OK;
    file_control = xFileControl(operation: c_int, argument: *mut c_void) or ffi::SQLITE_NOTFOUND;
    sector_size = xSectorSize() or 0;
    device_characteristics = xDeviceCharacteristics() or 0;
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};
