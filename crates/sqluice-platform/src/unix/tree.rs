//! File operations relative to an open folder.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use crate::answers::Identity;
use crate::answers::{About, Fault, Kind};
pub(crate) use crate::system::tree_of_system::umask;

const TO_ENTER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The flags for reading. Opening a file that has meanwhile become a FIFO must not wait for a writer.
const TO_READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

const TO_MAKE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        // The flag `DIRECTORY` keeps the call from waiting for a FIFO's writer.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(rustix::fs::open(path, flags, Mode::empty())?))
    }

    pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Folder> {
        let enter = |folder: &OwnedFd, component: &[u8]| {
            rustix::fs::openat(folder, component, TO_ENTER, Mode::empty()).map(Folder)
        };
        // `O_NOFOLLOW` refuses a link in the last component only, so each is opened by itself.
        let mut components = name.split(|byte| *byte == b'/').filter(|component| !component.is_empty());
        let first = enter(&self.0, components.next().unwrap_or(b"."))?;
        Ok(components.try_fold(first, |folder, component| enter(&folder.0, component))?)
    }

    pub(crate) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<(Vec<u8>, Kind)>>> {
        let entries = Dir::read_from(&self.0)?;
        Ok(entries.filter_map(|found| {
            let found = match found {
                Ok(found) => found,
                Err(error) => return Some(Err(error.into())),
            };
            let name = found.file_name().to_bytes();
            if name == b"." || name == b".." {
                return None;
            }
            let kind = match found.file_type() {
                FileType::Unknown => self.about(name).map(|about| about.kind),
                known => Ok(kind_of(known)),
            };
            Some(kind.map(|kind| (name.to_vec(), kind)))
        }))
    }

    #[allow(clippy::unnecessary_cast, reason = "these have other types on other systems")]
    pub(crate) fn about(&self, component: &[u8]) -> io::Result<About> {
        let about = rustix::fs::statat(&self.0, component, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(About {
            kind: kind_of(FileType::from_raw_mode(about.st_mode)),
            mode: about.st_mode as u32,
            mtime: about.st_mtime as i64,
            bytes: about.st_size as u64,
            identity: Identity { device: about.st_dev as u64, number: about.st_ino as u64 },
        })
    }

    pub(crate) fn link(&self, component: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, component, Vec::new())?.into_bytes())
    }

    pub(crate) fn file(&self, component: &[u8]) -> io::Result<File> {
        Ok(rustix::fs::openat(&self.0, component, TO_READ, Mode::empty())?.into())
    }

    pub(crate) fn create_file(&self, component: &[u8], mode: Option<u32>) -> io::Result<File> {
        let mode = permissions(mode.unwrap_or(0o666));
        Ok(rustix::fs::openat(&self.0, component, TO_MAKE, mode)?.into())
    }

    pub(crate) fn create_folder(&self, component: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, component, permissions(0o777))?)
    }

    pub(crate) fn create_link(&self, target: &[u8], component: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, component)?)
    }

    pub(crate) fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(crate) fn remove(&self, component: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, component, AtFlags::empty())?)
    }

    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&self.0, permissions(mode))?)
    }

    pub(crate) fn set_time(&self, mtime: i64) -> io::Result<()> {
        Ok(rustix::fs::futimens(&self.0, &times(mtime))?)
    }

    pub(crate) fn set_link_time(&self, component: &[u8], mtime: i64) -> io::Result<()> {
        match rustix::fs::utimensat(&self.0, component, &times(mtime), AtFlags::SYMLINK_NOFOLLOW) {
            // Some file systems do not store the times of links.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file.as_fd(), permissions(mode))?)
}

pub(crate) fn set_time(file: &File, mtime: i64) -> io::Result<()> {
    Ok(rustix::fs::futimens(file.as_fd(), &times(mtime))?)
}

pub(crate) fn fault(error: &io::Error) -> Option<Fault> {
    let code = Errno::from_io_error(error)?;
    Some(match code {
        Errno::EXIST => Fault::Exists,
        Errno::ISDIR | Errno::NOTEMPTY => Fault::IsFolder,
        Errno::NOTDIR | Errno::LOOP => Fault::NoFolder,
        Errno::NOENT => Fault::Missing,
        Errno::NAMETOOLONG => Fault::TooLong,
        Errno::ACCESS | Errno::PERM => Fault::Denied,
        Errno::INVAL | Errno::ILSEQ => Fault::BadName,
        _ => return None,
    })
}

pub(crate) fn refused_component(_: &[u8]) -> Option<&'static str> {
    None
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::Unknown => Kind::Other,
    }
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o777) as RawMode)
}

fn times(mtime: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime, tv_nsec: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_behind_a_link_is_refused_in_every_component_of_a_name() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path();
        std::fs::create_dir_all(path.join("outside/a/b")).unwrap();
        std::fs::create_dir_all(path.join("tree/c/d")).unwrap();
        std::os::unix::fs::symlink("../outside/a", path.join("tree/a")).unwrap();
        std::os::unix::fs::symlink("../../outside/a", path.join("tree/c/a")).unwrap();
        let tree = Folder::open(&path.join("tree")).unwrap();
        for inside in ["", "c", "c/d"] {
            tree.folder(inside.as_bytes()).unwrap();
        }
        for behind in ["a", "a/b", "c/a", "c/a/b"] {
            let error = tree.folder(behind.as_bytes()).map(drop).unwrap_err();
            assert_eq!(fault(&error), Some(Fault::NoFolder), "{behind}: {error}");
        }
    }
}
