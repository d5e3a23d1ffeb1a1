//! What sqluice asks of the operating system, on Linux, macOS and Windows.
//!
//! ```text
//!  identity, names, temporary, ...     what it means, documented and tested once
//!    │
//!    ├─ linux    ┐
//!    ├─ macos    ├─ unix               how a system does it: a file of the same name in its folder
//!    └─ windows
//! ```
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * `answers`: what systems answer
//! * `unix`: what Linux and macOS share; `linux`, `macos`, `windows`: one system each
//! * [`errors`]: errors that the system did not return itself; [`paths`]: paths as bytes, and bytes as paths
//! * [`identity`]: which file a name means; [`rights`]: who may use a file
//! * [`positioned`]: reads and writes at a place; [`unbuffered`]: past the page cache; [`ranges`]: parts of files given back;
//!   [`durable`]: what is on the disk
//! * [`names`]: names that are taken once, and are durable; [`locks`]: files of living processes; [`temporary`]: files without a name
//! * [`users`]: processes that have a file open; [`open_files`]: how many the process may have; [`space`]: of disks; [`memory`]: of the machine and the process
//! * [`tree`]: files, folders and links below a folder, and never elsewhere
//! * [`streams`]: standard input and the like; [`stop`]: requests to end the process; [`machine`]: what it is
//!
//! Invariant: no other crate names an operating system (`sqluice/tests/tidy`). A system that lacks something says so by the value that
//! the module documents.

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
pub mod locks;
pub mod machine;
pub mod memory;
pub mod names;
pub mod open_files;
pub mod paths;
pub mod positioned;
pub mod ranges;
pub mod rights;
pub mod space;
pub mod stop;
pub mod streams;
pub mod temporary;
pub mod tree;
pub mod unbuffered;
pub mod users;
