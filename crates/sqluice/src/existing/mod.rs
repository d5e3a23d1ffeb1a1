//! A database that is there.
pub(crate) mod declared;
pub(crate) mod entries;
pub(crate) mod read;
pub(crate) mod statement;
pub(crate) mod twin;
