//! What systems answer.

/// Identifies a file independently of its names: the device and the number of the file on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub(crate) device: u64,
    pub(crate) number: u64,
}

/// What an attempt to lock a file has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// This open file has the lock until it is closed.
    Taken,
    /// Another open file has one that excludes it.
    Held,
}

/// What a stream can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// A file, which can be read at any place, and its bytes.
    File(u64),
    /// A folder, which can't be read.
    Folder,
    /// A pipe, a terminal or the like, which is read once.
    Once,
}

/// The processor, the memory and the system.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The processor's name.
    pub cpu: Option<String>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// The system and its version.
    pub kernel: String,
    /// How many processes ran or wanted to run in the last minute.
    pub load: Option<f64>,
}

/// What something in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Something else.
    Other,
}

/// What is known of something in a folder.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// What it is.
    pub kind: Kind,
    /// As `st_mode`; on Windows what matches it.
    pub mode: u32,
    /// Seconds since 1970 of its last change.
    pub mtime: i64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Which file it is.
    pub identity: Identity,
}

/// Why a call has failed, where the name is at fault and not the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The name is taken.
    Exists,
    /// A folder has the name.
    IsFolder,
    /// No folder, or a link, is on the way.
    NoFolder,
    /// It does not exist.
    Missing,
    /// A component is too long.
    TooLong,
    /// The process may not.
    Denied,
    /// The file system does not take the name.
    BadName,
    /// Links are not made here.
    NoLinks,
}

/// The other processes that have a file open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// The users that were seen.
    pub seen: Vec<User>,
    /// The reason why another user may have been overlooked; `None`: all processes were looked at.
    pub unseen: Option<Unseen>,
}

/// A process that has a file open, by one of its descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The number of the process.
    pub process: u32,
    /// The descriptor; 0 where the system does not say it.
    pub descriptor: u32,
    /// The name of the process, such as `process 4711 (sqlite3)`.
    pub name: String,
}

/// The reason why a process that has a file open may be overlooked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// Some processes of this machine are hidden, for this reason: a sentence.
    Processes(&'static str),
    /// The file system is shared with other machines.
    Machines,
}
