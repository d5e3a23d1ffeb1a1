//! Descriptors of database files for raw reads beside SQLite.
//!
//! Closing any descriptor of a file drops all POSIX locks that the process holds on the file, including SQLite's. So the first of two
//! readers to finish would silently remove the locks of the other. To avoid this, a database file is opened once for all its readers, and
//! closed when the last reader is done.
//!
//! Descriptors of other libraries in the process are unknown here: another copy of SQLite loses its locks when the last reader ends.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqluice_platform::identity::{self, Identity};

/// A file that is open for reading, and the number of its [`Descriptor`] values.
type Readers = (Arc<File>, usize);

static OPEN: Mutex<BTreeMap<Identity, Readers>> = Mutex::new(BTreeMap::new());

/// A shared handle of a file that is open for reading.
#[derive(Debug)]
pub struct Descriptor {
    /// The file; `None` only while the descriptor is dropped.
    file: Option<Arc<File>>,
    identity: Identity,
}

impl Descriptor {
    /// Opens the file at `path`, or shares the descriptor if the file is already open.
    ///
    /// # Errors
    /// When the file can't be opened.
    pub fn open(path: &Path) -> io::Result<Descriptor> {
        let mut open = lock();
        if let Some((file, readers)) = open.get_mut(&identity::of_path(path)?) {
            *readers += 1;
            let file = Arc::clone(file);
            let identity = identity::of_file(&file)?;
            return Ok(Descriptor { file: Some(file), identity });
        }
        let file = Arc::new(File::open(path)?);
        let identity = identity::of_file(&file)?;
        // The path may have been renamed since the lookup. If the file is already open, its existing descriptor is used.
        let (file, readers) = open.entry(identity).or_insert((file, 0));
        *readers += 1;
        Ok(Descriptor { file: Some(Arc::clone(file)), identity })
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        self.file.as_ref().expect("it is open until it is dropped")
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        let mut open = lock();
        self.file = None;
        if let Some((_, readers)) = open.get_mut(&self.identity) {
            *readers -= 1;
            if *readers == 0 {
                open.remove(&self.identity);
            }
        }
    }
}

fn lock() -> MutexGuard<'static, BTreeMap<Identity, Readers>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the reason why a path can't be that of a database file, or `None` if it can. The check must come before the file is opened:
/// opening a named pipe waits for a writer.
pub fn no_file(name: &Path, metadata: &Metadata) -> Option<String> {
    let name = name.display();
    match () {
        () if metadata.is_file() => None,
        () if metadata.is_dir() => Some(format!("{name} is a folder, not a database file")),
        () => Some(format!("{name} is not a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_open_until_its_last_reader_is_done() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = Descriptor::open(file.path()).unwrap();
        let second = Descriptor::open(file.path()).unwrap();
        assert!(Arc::ptr_eq(first.file.as_ref().unwrap(), second.file.as_ref().unwrap()));
        let weak = Arc::downgrade(first.file.as_ref().unwrap());
        drop(first);
        assert!(weak.upgrade().is_some());
        drop(second);
        assert!(weak.upgrade().is_none());
    }
}
