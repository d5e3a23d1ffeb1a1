//! Encodes rows into pages on all cores, and writes pages to new and existing databases.
//!
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * [`destination`]: destinations of pages
//! * [`options`]: the options of a write; [`phases`]: the timed phases of a run
//! * `tournament`: the first of several sorted streams
//! * [`sort`]: index entries and rows in the order of their keys, in memory and on disk
//! * `full_text`: full-text indexes, built from rows on all cores
//! * `present_time`: rows for which a schema would depend on the present time
//! * `expressions`: the generated columns, CHECKs and computed keys of a table's declaration
//! * [`encode`]: encodes batches of rows into pages
//! * [`output`]: files that appear once complete; [`reject`]: the file of bad rows
//! * [`verification`]: verifies a source while it is copied
//! * [`target`]: snapshots of existing databases and their tables; [`plan`]: the plan of a run
//! * [`trees`]: builds B-trees: several threads build leaves, and one writer orders the pages
//! * [`report`]: the report of a run
//! * [`sqlite`]: work on a file that only SQLite can do; [`insert`]: rows that SQLite inserts
//! * [`existing`]: transactions in an existing database
//! * [`attempts`]: complete attempts of a run: a new database, an existing database, a copy, leaves in the file of another process

#![deny(unsafe_code)]

pub mod attempts;
pub mod destination;
pub mod encode;
#[doc(hidden)]
pub mod existing;
mod expressions;
#[doc(hidden)]
pub mod full_text;
#[doc(hidden)]
pub mod insert;
pub mod options;
pub mod output;
pub mod phases;
pub mod plan;
mod present_time;
pub mod reject;
pub mod report;
#[doc(hidden)]
pub mod sort;
pub mod sqlite;
pub mod target;
mod tournament;
pub mod trees;
pub mod verification;
