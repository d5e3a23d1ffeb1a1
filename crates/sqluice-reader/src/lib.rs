//! SQLite databases as sources. One committed state of a database is read page by page, while other processes may write to the database.
//!
//! ```text
//!  descriptor   opened first, closed last: closing any descriptor of a file drops all locks of the process on it
//!  connection            BEGIN, first read ──────────────── locks held ───────────────────────────> closed
//!  pages                                  a page with a frame in the log: through SQLite, as its transaction sees it
//!                                         all others: from the file, on all cores
//! ```
//!
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * [`descriptor`]: files that stay open as long as any part of the process reads them
//! * [`at_rest`]: files that are read without locks
//! * [`connection`]: read transactions; [`dbpage`]: pages read through SQLite
//! * [`pages`]: pages of a file that does not change, for any number of threads
//! * [`snapshot`]: one committed state of a database; [`catalogue`]: its objects and their B-trees
//! * [`salvage`]: what is left of a damaged database
//! * [`rows`]: the rows of tables, views and queries, as sources

#![deny(unsafe_code)]

pub mod at_rest;
pub mod catalogue;
pub mod connection;
pub mod dbpage;
pub mod descriptor;
pub mod pages;
pub mod rows;
pub mod salvage;
pub mod snapshot;

pub use catalogue::{StoredObject, StoredTree};
pub use descriptor::no_file;
pub use snapshot::Snapshot;
