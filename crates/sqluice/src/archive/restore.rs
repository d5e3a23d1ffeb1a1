//! Files, folders and links below a folder, and never elsewhere.
//!
//! ```text
//!  a/b/c    openat(root, "a") ──> openat(a, "b") ──> openat(b, "c", O_CREAT | O_EXCL)
//!           each O_NOFOLLOW: no symbolic link is followed, whichever process made it
//! ```
//!
//! Invariant: a name that existed before means what it meant, or, when it may be replaced, the whole new file: that is written beside it
//! and then renamed. Under a name that is new a file grows as it is written; one that can't be finished is removed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use sqluice_core::error::Error;

use super::PERMISSIONS;
use super::name::SafeName;

/// Why something is not restored.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The row is at fault, or an existing file in its place. Other rows may succeed.
    Refused(String),
    /// Something of its name exists, which may be replaced.
    Exists,
    /// Something else has its name, or that of a folder on its way: perhaps another row.
    InTheWay(String),
    /// The disk is full, or breaks: nothing else will go, either.
    Ends(io::Error),
}

/// Makes things below a folder; each thread has its own.
#[derive(Debug)]
pub(crate) struct Below<'r> {
    root: BorrowedFd<'r>,
    overwrite: bool,
    /// Bits that new files lack, if that is known.
    umask: Option<u32>,
    /// The folder that was used last.
    current: Option<(Vec<u8>, OwnedFd)>,
}

/// Who may do what with a restored file, and when it was changed; `None`: as for any new file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct About {
    pub(crate) mode: Option<u32>,
    pub(crate) mtime: Option<i64>,
}

const TO_ENTER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const TO_MAKE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Names of temporary files that are tried.
const TEMPORARIES_MAX: u32 = 1000;

/// Why something is refused whose name is taken.
pub(crate) const EXISTS: &str = "a file or link of its name exists";

impl<'r> Below<'r> {
    pub(crate) fn new(root: BorrowedFd<'r>, overwrite: bool) -> Below<'r> {
        Below { root, overwrite, umask: umask(), current: None }
    }

    /// Makes a file; `write` gives it its content.
    pub(crate) fn file(
        &mut self,
        name: &SafeName,
        about: About,
        write: impl FnOnce(&mut File) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let (overwrite, umask) = (self.overwrite, self.umask);
        let (folder, component) = self.place(name)?;
        let (file, temporary) = match create(folder, component, about.mode) {
            Ok(file) => (file, None),
            Err(Errno::EXIST) if overwrite => {
                let (file, temporary) = create_beside(folder, about.mode)?;
                (file, Some(temporary))
            }
            Err(error) => return Err(of_errno(error)),
        };
        let finish = |mut file: File| {
            write(&mut file)?;
            about.give(&file, umask)?;
            drop(file);
            match &temporary {
                Some(temporary) => {
                    rustix::fs::renameat(folder, temporary.as_str(), folder, component).map_err(of_errno)
                }
                None => Ok(()),
            }
        };
        let done = finish(file);
        if done.is_err() {
            let made = temporary.as_ref().map_or(component, |temporary| temporary.as_bytes());
            let _ = rustix::fs::unlinkat(folder, made, AtFlags::empty());
        }
        done
    }

    /// Makes a symbolic link.
    pub(crate) fn link(&mut self, name: &SafeName, target: &[u8], mtime: Option<i64>) -> Result<(), Failed> {
        if target.contains(&0) {
            return Err(Failed::Refused("its link target contains a NUL".to_owned()));
        }
        let overwrite = self.overwrite;
        let (folder, component) = self.place(name)?;
        match rustix::fs::symlinkat(target, folder, component) {
            Ok(()) => set_link_time(folder, component, mtime),
            Err(Errno::EXIST) if overwrite => {
                let make = |temporary: &str| rustix::fs::symlinkat(target, folder, temporary);
                let ((), temporary) = make_beside(make)?;
                set_link_time(folder, temporary.as_bytes(), mtime)
                    .and_then(|()| {
                        rustix::fs::renameat(folder, temporary.as_str(), folder, component).map_err(of_errno)
                    })
                    .inspect_err(|_| {
                        let _ = rustix::fs::unlinkat(folder, temporary.as_str(), AtFlags::empty());
                    })
            }
            Err(error) => Err(of_errno(error)),
        }
    }

    /// Creates a folder, if it does not exist.
    pub(crate) fn folder(&mut self, name: &SafeName) -> Result<(), Failed> {
        self.enter(name.bytes()).map(drop)
    }

    /// Gives a folder its mode and time. Nothing is made in it after that.
    pub(crate) fn finish_folder(&mut self, name: &SafeName, about: About) -> Result<(), Failed> {
        let umask = self.umask;
        let folder = self.enter(name.bytes())?;
        // An existing folder keeps its mode.
        let done =
            about.mode.map_or(Ok(()), |mode| rustix::fs::fchmod(folder, permissions(mode)).map_err(of_errno));
        done.and_then(|()| About { mode: None, ..about }.give(folder, umask))
    }

    /// The folder of a name, and its last component.
    fn place<'n>(&mut self, name: &'n SafeName) -> Result<(BorrowedFd<'_>, &'n [u8]), Failed> {
        let (folder, component) = name.split();
        if component.is_empty() {
            return Err(Failed::Refused("it has the name of the folder itself".to_owned()));
        }
        Ok((self.enter(folder)?, component))
    }

    /// Opens a folder, and makes it and those on the way where they are missing.
    fn enter(&mut self, name: &[u8]) -> Result<BorrowedFd<'_>, Failed> {
        if name.is_empty() {
            return Ok(self.root);
        }
        if self.current.as_ref().is_none_or(|(current, _)| current != name) {
            let (mut at, rest) = match self.current.take() {
                // Below the one that is open.
                Some((current, folder)) if name.starts_with(&current) && name[current.len()] == b'/' => {
                    (Some(folder), &name[current.len() + 1..])
                }
                _ => (None, name),
            };
            for component in rest.split(|&byte| byte == b'/') {
                let folder = at.as_ref().map_or(self.root, AsFd::as_fd);
                at = Some(step(folder, component)?);
            }
            self.current = at.map(|folder| (name.to_vec(), folder));
        }
        Ok(self.current.as_ref().map_or(self.root, |(_, folder)| folder.as_fd()))
    }
}

/// Opens a folder in another; creates it, if the name is free.
fn step(folder: BorrowedFd<'_>, component: &[u8]) -> Result<OwnedFd, Failed> {
    let open = || rustix::fs::openat(folder, component, TO_ENTER, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) => match rustix::fs::mkdirat(folder, component, Mode::from_raw_mode(0o777)) {
            // Another thread may have been first.
            Ok(()) | Err(Errno::EXIST) => open(),
            Err(error) => Err(error),
        },
        other => other,
    };
    opened.map_err(|error| match error {
        Errno::NOTDIR | Errno::LOOP => {
            let about = rustix::fs::statat(folder, component, AtFlags::SYMLINK_NOFOLLOW);
            let is_link =
                about.is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Symlink);
            let what = if is_link { "a symbolic link" } else { "no folder" };
            Failed::InTheWay(format!("{} on its way is {what}", super::name::shown(component)))
        }
        error => of_errno(error),
    })
}

fn create(folder: BorrowedFd<'_>, component: &[u8], mode: Option<u32>) -> Result<File, Errno> {
    let mode = mode.map_or(Mode::from_raw_mode(0o666), permissions);
    rustix::fs::openat(folder, component, TO_MAKE, mode).map(File::from)
}

/// Makes a file that gets its name later.
fn create_beside(folder: BorrowedFd<'_>, mode: Option<u32>) -> Result<(File, String), Failed> {
    make_beside(|temporary| create(folder, temporary.as_bytes(), mode))
}

/// Makes something under a name that nothing has.
fn make_beside<T>(make: impl Fn(&str) -> Result<T, Errno>) -> Result<(T, String), Failed> {
    for number in 0..TEMPORARIES_MAX {
        let temporary = format!(".sqluice-tmp-{}-{number}", std::process::id());
        match make(&temporary) {
            Err(Errno::EXIST) => {}
            Ok(made) => return Ok((made, temporary)),
            Err(error) => return Err(of_errno(error)),
        }
    }
    Err(of_errno(Errno::EXIST))
}

impl About {
    /// Gives a file that is complete its mode and time.
    fn give(self, file: impl AsFd, umask: Option<u32>) -> Result<(), Failed> {
        // A new file has the bits of its mode already, but for those of the umask.
        if let Some(mode) = self.mode.filter(|mode| umask.is_none_or(|umask| mode & umask & PERMISSIONS != 0))
        {
            rustix::fs::fchmod(&file, permissions(mode)).map_err(of_errno)?;
        }
        match self.mtime {
            Some(mtime) => rustix::fs::futimens(&file, &times(mtime)).map_err(of_errno),
            None => Ok(()),
        }
    }
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & PERMISSIONS)
}

fn times(mtime: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime, tv_nsec: 0 },
    }
}

fn set_link_time(folder: BorrowedFd<'_>, component: &[u8], mtime: Option<i64>) -> Result<(), Failed> {
    let Some(mtime) = mtime else { return Ok(()) };
    match rustix::fs::utimensat(folder, component, &times(mtime), AtFlags::SYMLINK_NOFOLLOW) {
        // Not every file system keeps times of links.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(of_errno(error)),
    }
}

/// What a system error means for the rows that follow.
pub(crate) fn of_io(error: io::Error) -> Failed {
    match error.raw_os_error() {
        Some(code) => of_errno(Errno::from_raw_os_error(code)),
        None => Failed::Ends(error),
    }
}

fn of_errno(error: Errno) -> Failed {
    let in_the_way = |why: &str| Failed::InTheWay(why.to_owned());
    let why = match error {
        Errno::EXIST => return Failed::Exists,
        Errno::ISDIR | Errno::NOTEMPTY => return in_the_way("a folder of its name exists"),
        Errno::NOTDIR | Errno::LOOP => {
            return in_the_way("its path leads through something that is not a folder");
        }
        Errno::NAMETOOLONG => "a component of its name is longer than the file system takes",
        Errno::ACCESS | Errno::PERM => "permission denied",
        Errno::INVAL | Errno::ILSEQ | Errno::NOENT => {
            "the file system does not take its name, or what it names"
        }
        _ => return Failed::Ends(error.into()),
    };
    Failed::Refused(why.to_owned())
}

impl Failed {
    /// The error that ends the run.
    pub(crate) fn ends(error: io::Error, name: &str) -> Error {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space; what was restored so far stays"
            }
            io::ErrorKind::ReadOnlyFilesystem => "choose a folder that you may write to",
            _ => "what was restored so far stays",
        };
        Error::target(format!("cannot write {name}")).about(name).because(error).hint(hint)
    }
}

/// Bits that new files lack. To ask by `umask` would change it for all threads.
fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(umask.trim(), 8).ok()
}
