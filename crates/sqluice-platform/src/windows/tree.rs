//! File operations below a folder that stays open: neither this folder nor a folder above can then be renamed or removed, so its path stays
//! valid.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windows_sys::Win32::Foundation::{ERROR_FILENAME_EXCED_RANGE, ERROR_INVALID_NAME};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY, FILE_SHARE_READ,
    FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES,
};

use super::errors::{self, is};
use super::{identity, paths, reserved};
use crate::answers::{About, Fault, Kind};

/// The longest name that a Windows file system accepts, in UTF-16 units.
const COMPONENT_MAX: usize = 255;

#[derive(Debug)]
pub(crate) struct Folder {
    /// The absolute path with the prefix `\\?\`, so that no part of it is interpreted.
    path: PathBuf,
    _held: File,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        Folder::hold(path.canonicalize()?)
    }

    /// Opens a folder. Fails if the path is a link.
    fn hold(path: PathBuf) -> io::Result<Folder> {
        let held = OpenOptions::new()
            .access_mode(FILE_LIST_DIRECTORY)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
            .open(&path)?;
        match held.metadata()?.file_type().is_dir() {
            true => Ok(Folder { path, _held: held }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Folder> {
        let mut folder = Folder::hold(self.path.clone())?;
        for component in name.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
            folder = Folder::hold(folder.at(component)?)?;
        }
        Ok(folder)
    }

    /// Returns the path of an entry.
    fn at(&self, component: &[u8]) -> io::Result<PathBuf> {
        let refused = |number: u32| Err(io::Error::from_raw_os_error(number.cast_signed()));
        if reserved::why_refused(component).is_some() {
            return refused(ERROR_INVALID_NAME);
        }
        let path = paths::from_bytes(component);
        // The system's own error would only say that the name is invalid.
        match path.as_os_str().encode_wide().count() > COMPONENT_MAX {
            true => refused(ERROR_FILENAME_EXCED_RANGE),
            false => Ok(self.path.join(path)),
        }
    }

    pub(crate) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<(Vec<u8>, Kind)>>> {
        Ok(fs::read_dir(&self.path)?.map(|entry| {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned().into_bytes();
            Ok((name, kind_of(entry.file_type()?)))
        }))
    }

    pub(crate) fn about(&self, component: &[u8]) -> io::Result<About> {
        let path = self.at(component)?;
        let about = path.symlink_metadata()?;
        let kind = kind_of(about.file_type());
        let mode = match kind {
            Kind::Folder => 0o040_755,
            Kind::Link => 0o120_777,
            _ if about.permissions().readonly() => 0o100_444,
            _ => 0o100_644,
        };
        let mtime = seconds(about.modified()?);
        Ok(About { kind, mode, mtime, bytes: about.len(), identity: identity::of_link(&path)? })
    }

    pub(crate) fn link(&self, component: &[u8]) -> io::Result<Vec<u8>> {
        Ok(paths::bytes(fs::read_link(self.at(component)?)?.as_os_str()).into_owned())
    }

    pub(crate) fn file(&self, component: &[u8]) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(self.at(component)?)?;
        match file.metadata()?.file_type().is_symlink() {
            true => Err(io::ErrorKind::NotADirectory.into()),
            false => Ok(file),
        }
    }

    pub(crate) fn create_file(&self, component: &[u8], _: Option<u32>) -> io::Result<File> {
        let path = self.at(component)?;
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.map_err(|error| if_folder(error, &path, errors::exists))
    }

    pub(crate) fn create_folder(&self, component: &[u8]) -> io::Result<()> {
        fs::create_dir(self.at(component)?)
    }

    /// Returns an error: creating links requires a special privilege, and a link may lead out of the folder.
    pub(crate) fn create_link(&self, _: &[u8], _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        let to = self.at(to)?;
        fs::rename(self.at(from)?, &to).map_err(|error| if_folder(error, &to, errors::is_folder))
    }

    pub(crate) fn remove(&self, component: &[u8]) -> io::Result<()> {
        fs::remove_file(self.at(component)?)
    }

    /// Does nothing: a folder has no read-only attribute for its files.
    pub(crate) fn set_mode(&self, _: u32) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn set_time(&self, mtime: i64) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.access_mode(FILE_WRITE_ATTRIBUTES);
        let folder = options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(&self.path)?;
        set_time(&folder, mtime)
    }

    pub(crate) fn set_link_time(&self, _: &[u8], _: i64) -> io::Result<()> {
        Ok(())
    }
}

/// Replaces the error if a folder is in the way of a file: the system only says that access is denied.
fn if_folder(error: io::Error, path: &Path, other: fn() -> io::Error) -> io::Error {
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    if denied && path.symlink_metadata().is_ok_and(|about| about.is_dir()) { other() } else { error }
}

/// Makes the file read-only if `mode` does not let its owner write.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    if mode & 0o200 != 0 {
        return Ok(());
    }
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(true);
    file.set_permissions(permissions)
}

pub(crate) fn set_time(file: &File, mtime: i64) -> io::Result<()> {
    let from_1970 = Duration::from_secs(mtime.unsigned_abs());
    let time = match mtime < 0 {
        true => UNIX_EPOCH.checked_sub(from_1970),
        false => UNIX_EPOCH.checked_add(from_1970),
    };
    file.set_modified(time.ok_or(io::ErrorKind::InvalidInput)?)
}

/// Returns the seconds since 1970, rounded down.
fn seconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_secs() as i64,
        Err(before) => {
            let before = before.duration();
            -(before.as_secs() as i64) - i64::from(before.subsec_nanos() > 0)
        }
    }
}

fn kind_of(file_type: FileType) -> Kind {
    match () {
        () if file_type.is_symlink() => Kind::Link,
        () if file_type.is_dir() => Kind::Folder,
        () if file_type.is_file() => Kind::File,
        () => Kind::Other,
    }
}

pub(crate) fn fault(error: &io::Error) -> Option<Fault> {
    if is(error, ERROR_FILENAME_EXCED_RANGE) {
        return Some(Fault::TooLong);
    }
    Some(match error.kind() {
        io::ErrorKind::AlreadyExists => Fault::Exists,
        io::ErrorKind::IsADirectory | io::ErrorKind::DirectoryNotEmpty => Fault::IsFolder,
        io::ErrorKind::NotADirectory => Fault::NoFolder,
        io::ErrorKind::NotFound => Fault::Missing,
        io::ErrorKind::PermissionDenied => Fault::Denied,
        io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => Fault::BadName,
        io::ErrorKind::Unsupported => Fault::NoLinks,
        _ => return None,
    })
}

pub(crate) fn refused_component(component: &[u8]) -> Option<&'static str> {
    reserved::why_refused(component)
}

pub(crate) fn umask() -> Option<u32> {
    None
}
