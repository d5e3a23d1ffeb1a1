//! The target of a run: the file or object that the database is written to. A target is resolved once, at the start, and all later steps
//! use the result. `wanted` describes a new database at a target, and checks the existing files there; `free_space` checks the free space
//! of the disk.
//!
//! ```text
//!  as the user named it          resolved
//!  x.db, or a link to a file     a folder and a name in it: NewFile makes the file, or a transaction changes it
//!  s3://bucket/x.db              a destination: an object, whose pages are uploaded
//! ```

mod free_space;
pub(super) mod wanted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use free_space::refuse_growth;
pub use wanted::Wanted;

use sqluice_core::error::Result;

use super::replace::WaitOptions;
use super::target_path::{Unresolved, resolve};
use super::{Destination, Scratch, TargetPath};
use crate::options::WriteOptions;

/// The file, or the object in an object store, that a database is written to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The path or URL that the user gave, for messages.
    name: PathBuf,
    /// The path of the file. For an object: the path from which its temporary files have their names.
    path: std::result::Result<TargetPath, Unresolved>,
    destination: Option<Arc<dyn Destination>>,
    /// The folder for temporary files, if the user named one.
    temp_dir: Option<PathBuf>,
    memory_bytes: u64,
    wait: WaitOptions,
}

impl Target {
    /// Resolves a name. A name that can't be the name of a database is an error of the first step that needs the file.
    pub fn resolve(name: &Path, options: &WriteOptions) -> Target {
        let destination = options.destination.clone();
        let path = resolve(destination.as_ref().map_or(name, |destination| destination.name()));
        Target {
            name: name.to_owned(),
            path,
            destination,
            temp_dir: options.temp_dir.clone(),
            memory_bytes: options.memory_bytes,
            wait: WaitOptions::of(options),
        }
    }

    /// Returns the target as the user named it, for messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the destination if the database is an object in an object store, or `None` if it is a file.
    pub fn destination(&self) -> Option<&Arc<dyn Destination>> {
        self.destination.as_ref()
    }

    /// Returns `true` if a file or object has the name.
    pub(crate) fn exists(&self) -> bool {
        match &self.destination {
            Some(destination) => destination.old_bytes().is_some(),
            None => self.name.exists(),
        }
    }

    /// Returns the folder and the name of the file.
    ///
    /// # Errors
    /// If the name can't be the name of a file.
    pub fn path(&self) -> Result<&TargetPath> {
        let name = self.destination.as_ref().map_or(&*self.name, |destination| destination.name());
        self.path.as_ref().map_err(|unresolved| unresolved.error(name))
    }

    /// Returns the folder for temporary files: the folder that the user named, or the folder of the target, or the folder of the system.
    ///
    /// # Errors
    /// The errors of [`Target::path`].
    pub fn temp_dir(&self) -> Result<PathBuf> {
        match &self.temp_dir {
            Some(folder) => Ok(folder.clone()),
            None if self.destination.is_none() => Ok(self.path()?.folder.clone()),
            None => Ok(std::env::temp_dir()),
        }
    }

    /// Creates a temporary file in [`Target::temp_dir`].
    ///
    /// # Errors
    /// The errors of [`Target::path`], or if the folder is not writable.
    pub fn scratch(&self) -> Result<Scratch> {
        Scratch::create(&self.temp_dir()?, self.path()?)
    }

    /// Returns the number of bytes of memory that the run may use.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Returns the options for taking over a database that may be in use.
    pub(super) fn wait(&self) -> WaitOptions {
        self.wait
    }
}
