//! Records which file descriptors belong to the SQLite of this library, to tell them from those of another SQLite in the same process.
//!
//! SQLite opens and closes files with two functions that a program may replace. The functions here call the replaced ones and record the
//! descriptors. On systems without file descriptors, SQLite has no such functions, and nothing is recorded.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::ffi;
use sqluice_platform::identity;

type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
type Close = unsafe extern "C" fn(c_int) -> c_int;

/// The functions that opened and closed files before they were replaced.
static REAL: OnceLock<(Open, Close)> = OnceLock::new();

static OPEN: Mutex<BTreeSet<c_int>> = Mutex::new(BTreeSet::new());

fn open_now() -> MutexGuard<'static, BTreeSet<c_int>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the descriptors that the SQLite of this library has open.
pub fn open() -> Vec<c_int> {
    open_now().iter().copied().collect()
}

/// Returns `true` if this process has opened a file in another way than through the SQLite of this library. When such a descriptor is
/// closed, the system releases the process's locks on the file. Returns `false` if the system does not list descriptors.
pub fn is_open_elsewhere(file: &Path) -> bool {
    let Ok(wanted) = identity::of_path(file) else { return false };
    let Ok(listed) = fs::read_dir("/dev/fd") else { return false };
    // Hold the lock until all descriptors are compared, so that this library's SQLite opens and closes no file meanwhile. The descriptor of
    // a file that it opened would be missing in `ours`, and the number of one that it closed could be reused by other code of the process.
    let ours = open_now();
    let descriptors = listed.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<c_int>().ok());
    descriptors.filter(|descriptor| !ours.contains(descriptor)).any(|descriptor| {
        let path = format!("/dev/fd/{descriptor}");
        identity::of_path(Path::new(&path)).is_ok_and(|found| found == wanted)
    })
}

/// Starts to record descriptors. Must be called before SQLite opens its first file.
pub fn note_from_now_on() {
    // SAFETY: `vfs` is NULL or SQLite's default VFS, which lives as long as the process. From version 3 on, a VFS has the two functions.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(std::ptr::null());
        if vfs.is_null() || (*vfs).iVersion < 3 {
            return;
        }
        let (Some(get), Some(set)) = ((*vfs).xGetSystemCall, (*vfs).xSetSystemCall) else { return };
        let current = |name: &CStr| get(vfs, name.as_ptr());
        let (Some(open), Some(close)) = (current(c"open"), current(c"close")) else { return };
        // `Open` and `Close` have the parameters with which SQLite calls these functions.
        let open = std::mem::transmute::<unsafe extern "C" fn(), Open>(open);
        let close = std::mem::transmute::<unsafe extern "C" fn(), Close>(close);
        if REAL.set((open, close)).is_err() {
            return;
        }
        let (open, close): (Open, Close) = (noted_open, noted_close);
        let replace = |name: &CStr, function: unsafe extern "C" fn()| set(vfs, name.as_ptr(), Some(function));
        replace(c"open", std::mem::transmute::<Open, unsafe extern "C" fn()>(open));
        replace(c"close", std::mem::transmute::<Close, unsafe extern "C" fn()>(close));
    }
}

unsafe extern "C" fn noted_open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    let Some((real, _)) = REAL.get() else { return -1 };
    // The lock is held during the call, so that no other thread sees the new descriptor before it is recorded.
    let mut open = open_now();
    // SAFETY: `real` is SQLite's own function, and gets the arguments with which SQLite called this function.
    let descriptor = unsafe { real(path, flags, mode) };
    if descriptor >= 0 {
        open.insert(descriptor);
    }
    descriptor
}

unsafe extern "C" fn noted_close(descriptor: c_int) -> c_int {
    let Some((_, real)) = REAL.get() else { return -1 };
    let mut open = open_now();
    open.remove(&descriptor);
    // SAFETY: `real` is SQLite's own function, and gets the argument with which SQLite called this function.
    unsafe { real(descriptor) }
}
