//! The functions of this crate for Windows: each file implements the module of the same name one folder up. `reserved` knows the names
//! that Windows refuses.

pub(crate) mod durable;
pub(crate) mod errors;
pub(crate) mod identity;
pub(crate) mod local_sockets;
pub(crate) mod locks;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod open_files;
pub(crate) mod paths;
pub(crate) mod positioned;
pub(crate) mod ranges;
mod reserved;
pub(crate) mod rights;
pub(crate) mod space;
pub(crate) mod stop;
pub(crate) mod streams;
pub(crate) mod temporary;
pub(crate) mod tree;
pub(crate) mod unbuffered;
pub(crate) mod users;
