//! The functions of this crate that Linux and macOS share: each file implements the module of the same name one folder up.

pub(crate) mod errors;
pub(crate) mod identity;
pub(crate) mod local_sockets;
pub(crate) mod locks;
pub(crate) mod names;
pub(crate) mod open_files;
pub(crate) mod paths;
pub(crate) mod positioned;
pub(crate) mod rights;
pub(crate) mod space;
pub(crate) mod stop;
pub(crate) mod streams;
pub(crate) mod temporary;
pub(crate) mod tree;
