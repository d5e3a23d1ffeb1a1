//! The types of the results of this crate: identities of files, locks, streams, entries of folders, and processes that use a file.

/// The identity of a file, independent of its names: the device and the number of the file on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub(crate) device: u64,
    pub(crate) number: u64,
}

/// The result of an attempt to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The lock is taken, and lasts until this open file is closed.
    Taken,
    /// The lock is not taken: another open file has a lock that excludes it.
    Held,
}

/// The capabilities of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// A file, which can be read at any offset, with its size in bytes.
    File(u64),
    /// A folder, which can't be read.
    Folder,
    /// A pipe, a terminal or similar, which can be read only once.
    Once,
}

/// The processor, the memory, the system and the load of this machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The name of the processor, if known.
    pub cpu: Option<String>,
    /// The size of the main memory (RAM) in bytes, if known.
    pub memory_bytes: Option<u64>,
    /// The name and version of the system.
    pub kernel: String,
    /// The average number of running and runnable processes in the last minute, if known.
    pub load: Option<f64>,
}

/// The kind of an entry of a folder.
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
    /// An entry of another kind.
    Other,
}

/// The properties of an entry of a folder.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The kind of the entry.
    pub kind: Kind,
    /// The mode, as in `st_mode`; on Windows, a mode that matches the properties.
    pub mode: u32,
    /// The time of the last change, in seconds since 1970.
    pub mtime: i64,
    /// The size of the entry in bytes.
    pub bytes: u64,
    /// The identity of the file.
    pub identity: Identity,
}

/// The reason why a call failed, if the cause is the name of the file and not the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A file or folder with this name exists already.
    Exists,
    /// A folder has this name.
    IsFolder,
    /// A component of the path is not a folder, or is a link.
    NoFolder,
    /// The file does not exist.
    Missing,
    /// A component is too long.
    TooLong,
    /// The process lacks the permission.
    Denied,
    /// The file system does not accept the name.
    BadName,
    /// Symbolic links can't be created here.
    NoLinks,
}

/// The other processes that have a certain file open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// The processes that were found.
    pub seen: Vec<User>,
    /// The reason why another process with the file open may have been overlooked; `None` if all processes were inspected.
    pub unseen: Option<Unseen>,
}

/// A process that has a file open, with one of its descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id of the process.
    pub process: u32,
    /// The descriptor; 0 if the system does not report it.
    pub descriptor: u32,
    /// The name of the process, such as `process 4711 (sqlite3)`.
    pub name: String,
}

/// The reason why a process that has the file open may be overlooked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// Some processes of this machine are hidden, for the reason in this sentence.
    Processes(&'static str),
    /// The file system is shared with other machines.
    Machines,
}
