//! Full-text indexes, built from rows on all cores.
//!
//! ```text
//!  rows in the order of rowids, in parts
//!    │ one worker a part
//!  tokens, as SQLite's own ───> dictionary: a number for each term ──> streams: the places of each term
//!    │                                                                    │ when the memory is used up: a run
//!    │                                                            doclists of the run
//!  sizes of rows                                                          │ (term, first rowid) -> doclist
//!    │                                                                    │
//!  sorter                                                              sorter, which spills within the memory
//!    │                                                                    │ merged by term, on all cores
//!  rows of t_docsize                              one thread: doclists of a term, one after another ──> pages
//! ```
//!
//! Single occurrences are never sorted: each is appended to the stream of its term. The rows of a run are consecutive, so the doclist of a term
//! is the concatenation of the doclists of its runs; only the first rowid of each is written as a delta.
//!
//! A look-up of a term in a large table waits for memory. So many terms are looked up at once: all of their slots are read first, side by side,
//! then all of their streams. A slot holds short terms as a whole.
//!
//! Modules, from the bottom up:
//!
//! * `tokenize_option`: the arguments in the option `tokenize`; `sqlite_tokenizer`: SQLite's tokenizers; `registered`: those of the program
//! * `asked`: the tokens of words that SQLite was asked for; `split`: ASCII texts, which are split as SQLite's tokenizers do; `tokenizer`: all texts
//! * `cell`: the terms of a text
//! * `dictionary`: numbers for terms; `known`: those of frequent short terms; `streams`: the occurrences of the terms of a run
//! * `item`: doclists as items of the sorter
//! * `rows`: the worker, which takes rows; `collected`: what all workers have collected, and the merge by term
//! * `join`: doclists of several segments as one; `shadow`: the shadow tables
//! * `range`: the segments merged between two terms; `merge`: this merge with more pages than memory; `ranges`: all ranges, on all cores
//! * `triggers`: the statements of triggers
//! * `query`: rows of a query for the workers; `segments`: doclists of existing segments for the sorter
//! * `declaration`: the options of a table in a database; `given`: tables that take rows of their own; `table`: fills, optimizes and extends its index
//! * `check`: compares an index with its text
//!
//! Invariant: the terms, doclists and sizes that come out depend on the rows alone, not on parts, threads or memory.

mod asked;
mod cell;
pub mod check;
mod collected;
pub mod declaration;
mod dictionary;
pub mod given;
mod item;
mod join;
mod known;
mod merge;
mod query;
mod range;
mod ranges;
pub mod registered;
mod rows;
mod segments;
pub(crate) mod shadow;
mod split;
mod sqlite_tokenizer;
mod streams;
pub mod table;
#[cfg(test)]
mod tests;
pub(crate) mod tokenize_option;
pub(crate) mod tokenizer;
pub(crate) mod triggers;

use sqluice_format::fts5::Detail;

pub(crate) use collected::{Collected, Collector};
pub(crate) use join::Joined;
pub(crate) use rows::{RowIndexer, no_tokenizer};

/// The declaration of a full-text index.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextIndex {
    /// The number of columns, including those that are not indexed.
    pub(crate) columns: usize,
    /// The detail of the doclists.
    pub(crate) detail: Detail,
    /// The number of characters of each prefix index.
    pub(crate) prefixes: Vec<usize>,
    /// The tokenizer and its arguments.
    pub(crate) tokenizer: Vec<String>,
    /// `true` if the table keeps the sizes of rows.
    pub(crate) keeps_sizes: bool,
}

/// The content of a full-text index that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenTextIndex {
    /// The number of rows.
    pub rows: u64,
    /// The number of tokens in all texts.
    pub tokens: u64,
    /// The number of different terms, with those of prefix indexes.
    pub terms: u64,
    /// The number of leaf pages in the shadow table.
    pub leaves: u32,
    /// The bytes of the leaf pages.
    pub bytes: u64,
}

/// The totals of all rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The number of rows.
    pub(crate) rows: u64,
    /// The number of tokens of each column.
    pub(crate) tokens: Vec<u64>,
}
