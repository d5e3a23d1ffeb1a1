//! The functions of the operating system that sqluice needs, on Linux, macOS and Windows.
//!
//! ```text
//!  identity, names, temporary, ...     the public modules: each function is documented and tested once
//!    │
//!    ├─ linux    ┐
//!    ├─ macos    ├─ unix               the implementation for each system: a file of the same name in its folder
//!    └─ windows
//! ```
//!
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * `answers`: the types of results
//! * `unix`: code that Linux and macOS share; `linux`, `macos`, `windows`: code for a single system
//! * [`errors`]: system errors for failures that this program detects itself; [`paths`]: paths as bytes, and bytes as paths
//! * [`identity`]: identities of files; [`rights`]: permissions of files
//! * [`positioned`]: reads and writes at an offset; [`unbuffered`]: direct I/O; [`ranges`]: disk space of parts of files; [`durable`]:
//!   content on the disk
//! * [`names`]: durable names that are not overwritten; [`locks`]: locks of living processes on files; [`temporary`]: files without a name
//! * [`users`]: processes that have a file open; [`open_files`]: the limit of open files; [`space`]: disk space; [`memory`]: memory of the
//!   machine and the process
//! * [`tree`]: files, folders and links below a folder, named relative to it
//! * [`local_sockets`]: connections to programs of this machine
//! * [`streams`]: standard input and other streams; [`shell`]: words of command lines; [`stop`]: requests to end the process; [`machine`]:
//!   properties of the machine
//!
//! Invariant: no other crate names an operating system (`sqluice/tests/tidy`). If a system lacks a feature, the function returns the value
//! that its module documents for this case.

#![deny(unsafe_code)]

mod answers;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("sqluice runs on Linux, macOS and Windows: another system needs a folder in sqluice-platform");

pub mod durable;
pub mod errors;
pub mod identity;
pub mod local_sockets;
pub mod locks;
pub mod machine;
pub mod memory;
pub mod names;
pub mod open_files;
pub mod paths;
pub mod positioned;
pub mod ranges;
pub mod rights;
pub mod shell;
pub mod space;
pub mod stop;
pub mod streams;
pub mod temporary;
pub mod tree;
pub mod unbuffered;
pub mod users;
