//! A file of any content that is written beside its name and gets it when it is whole.
//!
//! Bytes are collected to blocks, which go past the page cache where the file system can: they are on the disk when the last is
//! written, and the cache keeps what others read. Pipes and devices exist already, and are written to as bytes arrive.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_format::aligned::AlignedBuffer;
use sqluice_platform::durable;
use sqluice_platform::names::{Folder, rename_over, rename_to_new};

use super::direct::Direct;
use super::place::{TargetPath, place};
use super::{explained, leftover};

/// Bytes that are written at once.
const BLOCK_BYTES: usize = 4 << 20;

/// A file that gets its name when it is whole. Dropped before that, it leaves nothing behind.
#[derive(Debug)]
pub struct WholeFile {
    /// As the user named it; for messages.
    name: PathBuf,
    file: File,
    unnamed: Option<Unnamed>,
    overwrite: bool,
    /// Bytes that are in the file, and those that follow.
    written: u64,
    block: AlignedBuffer,
    direct: Direct,
    removed: Vec<PathBuf>,
}

#[derive(Debug)]
struct Unnamed {
    temporary: PathBuf,
    place: TargetPath,
    folder: Folder,
}

impl WholeFile {
    fn of(name: &Path, file: File, unnamed: Option<Unnamed>, overwrite: bool) -> WholeFile {
        let direct = if unnamed.is_some() { Direct::new(&file, BLOCK_BYTES) } else { Direct::never() };
        let (name, block) = (name.to_owned(), AlignedBuffer::default());
        WholeFile { name, file, unnamed, overwrite, written: 0, block, direct, removed: Vec::new() }
    }

    /// Begins the file.
    ///
    /// # Errors
    /// When its name is taken and may not be taken over, or its folder can't be written to.
    pub fn create(path: &Path, overwrite: bool) -> Result<WholeFile> {
        let failed = |error: io::Error| cannot("create", path, error);
        if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(WholeFile::of(path, file, None, overwrite));
        }
        let place = place(path)?;
        WholeFile::refuse(path, overwrite)?;
        let removed = leftover::remove_stale(&place.folder, &place.file_name);
        let folder = Folder::open(&place.folder).map_err(failed)?;
        let (file, temporary) = leftover::create(&place.folder, &place.file_name).map_err(failed)?;
        let unnamed = Some(Unnamed { temporary, place, folder });
        let mut whole = WholeFile::of(path, file, unnamed, overwrite);
        whole.removed = removed;
        Ok(whole)
    }

    /// The temporary files that killed runs had left, which were removed.
    pub fn removed(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Refuses a name that is taken, unless it may be taken over.
    ///
    /// # Errors
    /// When it is.
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
    /// When they can't be written.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.unnamed.is_none() {
            self.written += bytes.len() as u64;
            return self.file.write_all(bytes).map_err(|error| cannot("write", &self.name, error));
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
        direct.write(file, *written, &[block.bytes()]).map_err(|error| cannot("write", &self.name, error))?;
        self.written += self.block.bytes().len() as u64;
        self.block.set_len(0);
        Ok(())
    }

    /// Bytes that it has.
    pub fn bytes(&self) -> u64 {
        self.written + self.block.bytes().len() as u64
    }

    /// Makes it durable, and gives it its name.
    ///
    /// # Errors
    /// When it can't be: nothing is left behind, then.
    pub fn finish(mut self) -> Result<()> {
        if self.unnamed.is_some() && !self.block.bytes().is_empty() {
            // The last block is no whole one.
            self.direct.off(&self.file);
            self.write_block()?;
        }
        let failed = |what, error| cannot(what, &self.name, error);
        let Some(Unnamed { temporary, place, folder }) = &self.unnamed else { return Ok(()) };
        let given = leftover::rights_of_file(&place.path()).give(&self.file);
        given.map_err(|error| failed("create", error))?;
        durable::sync(&self.file).map_err(|error| failed("write", error))?;
        let renamed = match self.overwrite {
            true => rename_over(temporary, &place.path()),
            false => rename_to_new(temporary, &place.path()),
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.name),
            _ => failed("give its name to", error),
        })?;
        let synced = folder.sync().map_err(|error| failed("make durable the name of", error));
        self.unnamed = None;
        synced
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
        (io::ErrorKind::NotFound, Some(folder)) => {
            failure.because(error).hint(format!("make its folder first: mkdir -p {}", folder.display()))
        }
        _ => explained(failure, error),
    }
}

fn exists(name: &Path) -> Error {
    Error::target(format!("{} already exists", name.display()))
        .about(name)
        .hint(message!["name another file, or replace this one: ", Setting::Overwrite])
}
