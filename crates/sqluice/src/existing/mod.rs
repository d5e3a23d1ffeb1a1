//! A database that is there.
pub(crate) mod entries;
pub(crate) mod read;
pub(crate) mod twin;
