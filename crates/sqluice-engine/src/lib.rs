//! Rows to pages on all cores, and pages into new and existing databases.
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * [`destination`]: where pages go
//! * [`options`]: how a database is written; [`phases`]: what a run does, timed
//! * `tournament`: which of several streams is first
//! * [`sort`]: index entries and rows in the order of their keys, in memory and on disk
//! * [`encode`]: batches of rows to pages
//! * [`output`]: files that appear once complete; [`reject`]: the file of bad rows
//! * [`verification`]: what is verified of a source while it is copied
//! * [`target`]: what is known of an existing database; [`plan`]: what will be done, and why
//! * [`trees`]: what makes B-trees: workers make leaves, one writer puts pages in order
//! * [`report`]: what was done
//! * [`sqlite`]: what only SQLite can do to a file; [`insert`]: rows that SQLite inserts
//! * [`existing`]: an existing database, locked and written to
//! * [`attempts`]: attempts until one is done, each from start to end: a new database, an existing one, a copy, leaves in the file of
//!   another process

#![deny(unsafe_code)]

pub mod attempts;
pub mod destination;
pub mod encode;
#[doc(hidden)]
pub mod existing;
#[doc(hidden)]
pub mod insert;
pub mod options;
pub mod output;
pub mod phases;
pub mod plan;
pub mod reject;
pub mod report;
#[doc(hidden)]
pub mod sort;
pub mod sqlite;
pub mod target;
mod tournament;
pub mod trees;
pub mod verification;
