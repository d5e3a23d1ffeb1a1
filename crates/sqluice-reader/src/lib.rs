//! SQLite databases as sources: one committed state of a database, page by page, while other processes may write to it.
//!
//! ```text
//!  descriptor   opened first, closed last: closing any descriptor of a file drops all locks of the process on it
//!  connection            BEGIN, first read ──────────────── locks held ───────────────────────────> closed
//!  pages                                  a page with a frame in the log: through SQLite, as its transaction sees it
//!                                         all others: from the file, on all cores
//! ```
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * [`descriptor`]: files that stay open as long as any part of the process reads them
//! * [`at_rest`]: files that are read without locks
//! * [`connection`]: read transactions; [`dbpage`]: pages through SQLite
//! * [`pages`]: pages of a file that does not change, for any number of threads
//! * [`snapshot`]: one committed state of a database; [`catalogue`]: its objects, and the B-tree of each
//! * [`rows`]: rows of its tables, views and queries, as sources

#![deny(unsafe_code)]

pub mod at_rest;
pub mod catalogue;
pub mod connection;
pub mod dbpage;
pub mod descriptor;
pub mod pages;
pub mod rows;
pub mod snapshot;

pub use catalogue::{StoredObject, StoredTree};
pub use descriptor::no_file;
pub use snapshot::Snapshot;
