//! File locks, which end with their process at the latest.

use std::fs::File;
use std::io;
use std::path::Path;

pub use crate::answers::Lock;
use crate::system;

/// Tries to lock a file exclusively for this open file. The lock does not prevent other processes from reading and writing the file.
///
/// # Errors
/// When the file system does not support locks.
pub fn try_lock(file: &File) -> io::Result<Lock> {
    system::locks::try_lock(file)
}

/// Tries to lock a file with a shared lock, which several open files may hold.
///
/// # Errors
/// When the file system does not support locks.
pub fn try_lock_shared(file: &File) -> io::Result<Lock> {
    system::locks::try_lock_shared(file)
}

/// Tries to lock a database against all connections of SQLite in other processes: none can begin to read it. On Unix, the lock ends when
/// this process closes any descriptor of the file. On Windows, it ends when `file` is closed.
///
/// # Errors
/// When the file system does not support locks.
pub fn try_lock_database(file: &File) -> io::Result<Lock> {
    system::locks::try_lock_database(file)
}

/// Opens a file in order to lock it. A link is not followed, and opening a FIFO does not wait for a writer.
///
/// # Errors
/// When the file can't be opened.
pub fn open(path: &Path) -> io::Result<File> {
    system::locks::open(path)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_lock_is_held_until_its_file_is_closed_and_keeps_nobody_from_reading() {
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(b"abc").unwrap();
        let (one, other) = (open(named.path()).unwrap(), open(named.path()).unwrap());
        assert_eq!((try_lock(&one).unwrap(), try_lock(&other).unwrap()), (Lock::Taken, Lock::Held));
        assert_eq!(try_lock_shared(&other).unwrap(), Lock::Held);
        let mut read = String::new();
        File::open(named.path()).unwrap().read_to_string(&mut read).unwrap();
        named.write_all(b"d").unwrap();
        assert_eq!(read, "abc");
        drop(one);
        let third = open(named.path()).unwrap();
        assert_eq!(try_lock_shared(&other).unwrap(), Lock::Taken);
        assert_eq!((try_lock_shared(&third).unwrap(), try_lock(&third).unwrap()), (Lock::Taken, Lock::Held));
    }
}
