//! A database that is created at a destination, not in a local file.
//!
//! ```text
//!  only pages                       ──────────────────────────> Destination::create   uploaded as they are written
//!  pages and work of SQLite         ──> temporary file ───────> Destination::create   uploaded when SQLite is done
//! ```
//!
//! A destination gets page 1 last. So a file that SQLite has finished is uploaded in order, except for its start, which comes last.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_platform::positioned::Positioned;

use crate::output::{Destination, NewObject, Output, Replaced, Replacement, Scratch, TargetPath, Wanted};

/// The number of bytes of a finished file that are read at once.
const READ_BYTES: usize = 4 << 20;

impl Wanted {
    /// Returns the description of the new object at `destination`.
    fn object(&self, destination: &dyn Destination, lock_page: Range<u64>) -> NewObject {
        NewObject {
            memory_bytes: destination.memory_bytes(self.target.memory_bytes()),
            estimated_bytes: self.estimated_bytes,
            lock_page,
            replaces: self.replaces,
        }
    }

    /// Refuses a taken name, or a database that `destination` can't store. Returns the object to replace, if any.
    pub(in crate::output) fn refuse_at_destination(
        &self,
        destination: &dyn Destination,
    ) -> Result<Option<Replaced>> {
        let old = destination.old_bytes();
        if old.is_some() && !self.replaces {
            return Err(exists_at(destination));
        }
        destination.refuse(&self.object(destination, 0..0))?;
        Ok(old.map(|bytes| Replaced {
            bytes,
            unread: Some("objects are replaced without being read".to_owned()),
            ..Replaced::default()
        }))
    }

    /// Begins the database at `destination`. With `folder`, SQLite finishes the pages in a file in the folder first.
    pub(in crate::output) fn create_at(
        &self,
        destination: &Arc<dyn Destination>,
        lock_page: Range<u64>,
        folder: Option<&Path>,
        cancel: &Cancel,
    ) -> Result<Box<dyn Output>> {
        let Some(folder) = folder else {
            return destination.create(&self.object(&**destination, lock_page), cancel);
        };
        // A file stores the bytes of the lock-byte page, so the object skips no range.
        let new = self.object(&**destination, 0..0);
        Ok(Box::new(Finished::create(folder, self.target.path()?, Arc::clone(destination), new, cancel)?))
    }
}

/// Returns the error for a name that is taken.
pub(crate) fn exists_at(destination: &dyn Destination) -> Error {
    let name = destination.name();
    Error::target(format!("{} already exists", name.display())).about(name).hint(message![
        "rows can't be added to a database in an object store: name another object, or replace this one: ",
        Setting::Overwrite
    ])
}

/// A file that SQLite finishes. The finished file is then uploaded to the destination.
#[derive(Debug)]
struct Finished {
    file: Scratch,
    destination: Arc<dyn Destination>,
    new: NewObject,
    cancel: Cancel,
}

impl Finished {
    fn create(
        folder: &Path,
        target: &TargetPath,
        destination: Arc<dyn Destination>,
        new: NewObject,
        cancel: &Cancel,
    ) -> Result<Finished> {
        let file = Scratch::create(folder, target)?;
        Ok(Finished { file, destination, new, cancel: cancel.clone() })
    }
}

impl Output for Finished {
    fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()> {
        self.file.write(offset, pages)
    }

    fn path(&self) -> Option<&Path> {
        Some(self.file.path())
    }

    fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
        let path = self.file.path();
        let unreadable = |error| Error::read(path, error);
        let file = File::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let new = NewObject { estimated_bytes: Some(bytes), ..self.new.clone() };
        let mut output = self.destination.create(&new, &self.cancel)?;
        let mut block = vec![0; READ_BYTES];
        let mut first = vec![0; READ_BYTES.min(usize::try_from(bytes).unwrap_or(READ_BYTES))];
        file.read_exact_at(&mut first, 0).map_err(unreadable)?;
        let mut rest = &file;
        let mut at = first.len() as u64;
        std::io::Seek::seek(&mut rest, std::io::SeekFrom::Start(at)).map_err(unreadable)?;
        while at < bytes {
            self.cancel.check()?;
            let wanted = block.len().min(usize::try_from(bytes - at).unwrap_or(block.len()));
            rest.read_exact(&mut block[..wanted]).map_err(unreadable)?;
            output.write(at, &[&block[..wanted]])?;
            at += wanted as u64;
        }
        output.write(0, &[&first])?;
        output.commit()
    }

    fn describe(&self) -> &'static str {
        "spooled"
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The offset of a write, and its bytes.
    type Write = (u64, Vec<u8>);

    /// A destination that keeps all writes with their offsets.
    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Vec<Write>>>);

    impl Destination for Kept {
        fn name(&self) -> &Path {
            Path::new("x.db")
        }

        fn old_bytes(&self) -> Option<u64> {
            None
        }

        fn memory_bytes(&self, _: u64) -> u64 {
            0
        }

        fn refuse(&self, _: &NewObject) -> Result<()> {
            Ok(())
        }

        fn create(&self, _: &NewObject, _: &Cancel) -> Result<Box<dyn Output>> {
            Ok(Box::new(self.clone()))
        }
    }

    impl Output for Kept {
        fn write(&mut self, offset: u64, pages: &[&[u8]]) -> Result<()> {
            self.0.lock().unwrap().push((offset, pages.concat()));
            Ok(())
        }

        fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
            Ok(None)
        }

        fn describe(&self) -> &'static str {
            "kept"
        }
    }

    #[test]
    fn a_finished_file_is_uploaded_in_order_except_its_start_which_comes_last() {
        for bytes in [READ_BYTES + 512, 512, READ_BYTES, 2 * READ_BYTES, 3 * READ_BYTES - 512] {
            let folder = tempfile::tempdir().unwrap();
            let kept = Kept::default();
            let new = NewObject { memory_bytes: 0, estimated_bytes: None, lock_page: 0..0, replaces: false };
            let target = TargetPath::resolve(&folder.path().join("x.db")).unwrap();
            let finished =
                Finished::create(folder.path(), &target, Arc::new(kept.clone()), new, &Cancel::new())
                    .unwrap();
            let content: Vec<u8> = (0..bytes).map(|at| (at / 512 % 251) as u8).collect();
            std::fs::write(finished.path().unwrap(), &content).unwrap();
            Box::new(finished).commit().unwrap();
            let writes = std::mem::take(&mut *kept.0.lock().unwrap());
            let mut given: Vec<u8> = Vec::new();
            let (first, rest) = writes.split_last().unwrap();
            for (offset, bytes) in [first].into_iter().chain(rest) {
                assert_eq!(*offset, given.len() as u64);
                given.extend_from_slice(bytes);
            }
            assert!(given == content, "{bytes}: {} bytes", given.len());
        }
    }
}
