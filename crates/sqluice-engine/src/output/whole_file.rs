//! A file of any content that is written under a temporary name and renamed when it is complete.
//!
//! Bytes are collected into blocks, which are written past the page cache if the file system can: they are on the disk when the last block
//! is written, and do not evict other data from the cache. Pipes and devices are written to directly.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_format::aligned::AlignedBuffer;
use sqluice_platform::durable;
use sqluice_platform::names::{Folder, rename_over, rename_to_new};
use sqluice_platform::shell::quoted;

use super::direct::Direct;
use super::explained;
use super::leftover::{self, Leftovers};
use super::target_path::TargetPath;

/// The number of bytes written at once.
const BLOCK_BYTES: usize = 4 << 20;

/// A file that gets its name when it is complete. If dropped before, the temporary file is removed.
#[derive(Debug)]
pub struct WholeFile {
    /// The path that the user gave, for messages.
    name: PathBuf,
    /// The open file; `None` if the file is complete and was closed because many others are open.
    file: Option<File>,
    unnamed: Option<Unnamed>,
    overwrite: bool,
    /// The number of bytes written to the file. The bytes that follow are in `block`.
    written: u64,
    block: AlignedBuffer,
    direct: Direct,
    /// `true` if all bytes are on the disk.
    is_complete: bool,
    removed: Vec<PathBuf>,
}

#[derive(Debug)]
struct Unnamed {
    temporary: PathBuf,
    target: TargetPath,
    folder: Arc<InFolder>,
}

/// The open folder of a written file, with a list of the temporary files that it had before.
#[derive(Debug)]
pub(super) struct InFolder {
    path: PathBuf,
    folder: Folder,
    leftovers: Leftovers,
}

impl InFolder {
    fn open(path: &Path) -> io::Result<InFolder> {
        Ok(InFolder { path: path.to_owned(), folder: Folder::open(path)?, leftovers: Leftovers::list(path) })
    }
}

impl WholeFile {
    fn of(name: &Path, file: File, unnamed: Option<Unnamed>, overwrite: bool) -> WholeFile {
        let direct = if unnamed.is_some() { Direct::new(&file, BLOCK_BYTES) } else { Direct::never() };
        let (name, block) = (name.to_owned(), AlignedBuffer::default());
        let file = Some(file);
        let (written, is_complete, removed) = (0, false, Vec::new());
        WholeFile { name, file, unnamed, overwrite, written, block, direct, is_complete, removed }
    }

    /// Begins the file.
    ///
    /// # Errors
    /// If its name is taken and may not be overwritten, or its folder can't be written to.
    pub fn create(path: &Path, overwrite: bool) -> Result<WholeFile> {
        WholeFile::create_in(&mut None, path, overwrite)
    }

    /// Begins one of several files. `folder` is the open folder of the previous file, or `None`. If this file is in the same folder, the
    /// open folder is used again. Otherwise the folder of this file is opened and put into `folder`, for the next file.
    pub(super) fn create_in(
        folder: &mut Option<Arc<InFolder>>,
        path: &Path,
        overwrite: bool,
    ) -> Result<WholeFile> {
        let failed = |error: io::Error| cannot("create", path, error);
        if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(WholeFile::of(path, file, None, overwrite));
        }
        let target = TargetPath::resolve(path)?;
        WholeFile::refuse(path, overwrite)?;
        let folder = match folder {
            Some(same) if same.path == target.folder => Arc::clone(same),
            other => Arc::clone(other.insert(Arc::new(InFolder::open(&target.folder).map_err(failed)?))),
        };
        let removed = folder.leftovers.remove_stale(&target.file_name);
        let (file, temporary) = leftover::create(&target.folder, &target.file_name).map_err(failed)?;
        let unnamed = Some(Unnamed { temporary, target, folder });
        let mut whole = WholeFile::of(path, file, unnamed, overwrite);
        whole.removed = removed;
        Ok(whole)
    }

    /// Returns the temporary files that killed processes left behind and that were removed.
    pub fn removed(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Refuses a taken name, unless `overwrite` is set.
    ///
    /// # Errors
    /// If the name is that of a folder, or is taken and `overwrite` is `false`.
    pub fn refuse(path: &Path, overwrite: bool) -> Result<()> {
        match path.metadata() {
            Ok(about) if about.is_dir() => Err(Error::target(format!("{} is a folder", path.display()))
                .about(path)
                .hint("name a file in it")),
            Ok(about) if about.is_file() && !overwrite => Err(exists(path)),
            _ => Ok(()),
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// If the bytes can't be written.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.unnamed.is_none() {
            self.written += bytes.len() as u64;
            let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
            return written.map_err(|error| cannot("write", &self.name, error));
        }
        while !bytes.is_empty() {
            let room = BLOCK_BYTES - self.block.bytes().len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            if self.block.bytes().len() == BLOCK_BYTES {
                self.write_block()?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        let WholeFile { file, block, direct, written, .. } = self;
        let Some(file) = file else { return Ok(()) };
        direct.write(file, *written, &[block.bytes()]).map_err(|error| cannot("write", &self.name, error))?;
        self.written += self.block.bytes().len() as u64;
        self.block.set_len(0);
        Ok(())
    }

    /// Returns the number of bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.written + self.block.bytes().len() as u64
    }

    /// Makes the bytes of the file durable. No more bytes are written afterwards.
    ///
    /// # Errors
    /// If the bytes can't be made durable.
    pub(super) fn complete(&mut self) -> Result<()> {
        if self.is_complete {
            return Ok(());
        }
        if let (Some(_), Some(file)) = (&self.unnamed, &self.file)
            && !self.block.bytes().is_empty()
        {
            // The last block may be incomplete, which direct I/O can't write.
            self.direct.off(file);
            self.write_block()?;
        }
        let failed = |what, error| cannot(what, &self.name, error);
        if let (Some(Unnamed { target, .. }), Some(file)) = (&self.unnamed, &self.file) {
            let given = leftover::rights_of_file(&target.path()).give(file);
            given.map_err(|error| failed("create", error))?;
            durable::sync(file).map_err(|error| failed("write", error))?;
        }
        self.block = AlignedBuffer::default();
        self.is_complete = true;
        Ok(())
    }

    /// Closes a complete file, and so gives up its lock. From now on, another process that writes a file of the same name takes this one
    /// for the leftover of a killed process, and removes it.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// Makes the file durable, and gives it its name.
    ///
    /// # Errors
    /// If a step fails. No temporary file is left behind.
    pub fn finish(mut self) -> Result<()> {
        match self.give_name()? {
            Some(folder) => self.sync_name(&folder),
            None => Ok(()),
        }
    }

    /// Gives the file its name, but does not make the name durable. Returns the folder of the file, which the caller syncs, or `None` if
    /// the file had its name from the start, such as a pipe.
    pub(super) fn give_name(&mut self) -> Result<Option<Arc<InFolder>>> {
        self.complete()?;
        let Some(Unnamed { temporary, target, folder }) = &self.unnamed else { return Ok(None) };
        let renamed = match self.overwrite {
            true => rename_over(temporary, &target.path()),
            false => rename_to_new(temporary, &target.path()),
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.name),
            _ => cannot("give its name to", &self.name, error),
        })?;
        let folder = Arc::clone(folder);
        self.unnamed = None;
        Ok(Some(folder))
    }

    /// Makes the names of files in `folder` durable: after a crash, they exist.
    pub(super) fn sync_name(&self, folder: &InFolder) -> Result<()> {
        folder.folder.sync().map_err(|error| cannot("make durable the name of", &self.name, error))
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(Unnamed { temporary, .. }) = &self.unnamed {
            let _ = fs::remove_file(temporary);
        }
    }
}

fn cannot(what: &str, name: &Path, error: io::Error) -> Error {
    let failure = Error::target(format!("cannot {what} {}", name.display())).about(name);
    match (error.kind(), name.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => failure
            .because(error)
            .hint(format!("make its folder first: mkdir -p {}", quoted(&folder.to_string_lossy()))),
        _ => explained(failure, error),
    }
}

fn exists(name: &Path) -> Error {
    Error::target(format!("{} already exists", name.display()))
        .about(name)
        .hint(message!["name another file, or replace this one: ", Setting::Overwrite])
}
