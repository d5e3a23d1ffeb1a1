//! The functions of this crate for macOS: each file implements the module of the same name one folder up. `unix` has the functions that
//! Linux and macOS share; `sysctl` reads values of the kernel.

pub(crate) mod durable;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod ranges;
mod sysctl;
pub(crate) mod temporary;
pub(crate) mod unbuffered;
pub(crate) mod users;

pub(crate) use self::process as signals;
pub(crate) use self::process as tree_of_system;
pub(crate) use crate::unix::{
    errors, identity, local_sockets, locks, names, open_files, paths, positioned, rights, space, stop,
    streams, tree,
};
