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
//! * [`pipeline`]: workers encode and merge, one writer puts pages in order
//! * [`report`]: what was done; `sequence_table`: the numbers of AUTOINCREMENT tables
//! * [`sqlite`]: what only SQLite can do to a file; [`insert`]: rows that SQLite inserts
//! * `new_database`, [`existing`], `existing_database`: one attempt to write, from start to end
//! * [`run`]: attempts until one is done; [`placed_leaves`]: a table whose leaves other processes have written
//! * [`copied_database`]: a copy of a database, from start to end; [`copied_leaves`]: the leaves of a table, into the file of another process

#![deny(unsafe_code)]

pub mod copied_database;
pub mod copied_leaves;
pub mod destination;
pub mod encode;
#[doc(hidden)]
pub mod existing;
mod existing_database;
#[doc(hidden)]
pub mod insert;
mod new_database;
pub mod options;
pub mod output;
pub mod phases;
pub mod pipeline;
pub mod placed_leaves;
pub mod plan;
pub mod reject;
pub mod report;
pub mod run;
mod sequence_table;
#[doc(hidden)]
pub mod sort;
pub mod sqlite;
pub mod target;
mod tournament;
pub mod verification;
