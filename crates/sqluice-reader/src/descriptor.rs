//! Descriptors of database files for raw reads beside SQLite.
//!
//! Closing any descriptor of a file drops all POSIX locks that the process has on it, SQLite's among them: a second reader of the
//! same database, which ends first, would take the locks of the first away, without an error. So a file that is read twice
//! at a time is opened once, and closed when its last reader is done.
//!
//! What other libraries of the process do is not known here: a SQLite of their own loses its locks when the last reader ends.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqluice_platform::identity::{self, Identity};

/// A file and the number of its readers.
type Readers = (Arc<File>, usize);

static OPEN: Mutex<BTreeMap<Identity, Readers>> = Mutex::new(BTreeMap::new());

/// A file that is open for reading.
#[derive(Debug)]
pub struct Descriptor {
    /// `None` while it is dropped.
    file: Option<Arc<File>>,
    identity: Identity,
}

impl Descriptor {
    /// Opens the file at `path`, or takes part in its being open.
    ///
    /// # Errors
    /// When it can't be opened.
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
        // It may have been renamed since it was looked for; then the one that is open already is as good.
        let (file, readers) = open.entry(identity).or_insert((file, 0));
        *readers += 1;
        Ok(Descriptor { file: Some(Arc::clone(file)), identity })
    }

    /// The file.
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

/// Why something can't be a database. To be checked before it is opened: to open a named pipe waits for a writer.
pub fn no_file(name: &Path, metadata: &Metadata) -> Option<String> {
    let name = name.display();
    match () {
        () if metadata.is_file() => None,
        () if metadata.is_dir() => Some(format!("{name} is a folder, and no database file")),
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
