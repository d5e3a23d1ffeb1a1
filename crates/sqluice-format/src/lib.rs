//! The SQLite file format: bytes in, bytes out.
//!
//! This crate does no I/O, starts no threads and depends on no other crate. The caller owns the buffers; this crate decides their content.
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! | module | content | [file format](https://www.sqlite.org/fileformat2.html) |
//! |---|---|---|
//! | [`limits`] | the largest values, records and tables | |
//! | [`aligned`] | buffers for direct I/O | |
//! | [`varint`] | integers of one to nine bytes | §1.6 |
//! | [`value`] | the five storage classes and their serial types | §2.1 |
//! | [`record`] | a row as bytes: header of serial types, then the values | §2.1 |
//! | [`key`] | the order of keys in an index, and byte strings that sort in this order | §2.3 |
//! | [`page`] | page sizes, page numbers, the lock-byte page, B-tree page headers | §1.3, §1.6 |
//! | [`cell`] | the cells of B-tree pages, and their overflow pages | §1.6, §1.7 |
//! | [`chunk`] | rows or index entries in, leaf and overflow pages without page numbers out | §1.6 |
//! | [`tree`] | leaves in, interior pages of a table or index out | §1.6 |
//! | [`database`] | the header, page 1 and the schema table | §1.3, §2.6 |
//! | [`view`] | a page of an existing file; every number is checked before use | §1.6 |
//! | [`check`] | a check of a database against every rule of the format | all |
//! | [`scan`] | a reader of a tree's content that trusts no byte of it | §1.6, §1.7 |
//! | [`salvage`] | the entries of a page that may be damaged | §1.6 |
//! | [`fts5`] | the rows of a full-text index | |
#![forbid(unsafe_code)]
// Everything in a SQLite file is big-endian.
#![deny(clippy::little_endian_bytes, clippy::host_endian_bytes)]

pub mod aligned;
pub mod cell;
pub mod check;
pub mod chunk;
pub mod database;
pub mod fts5;
pub mod key;
pub mod limits;
pub mod page;
pub mod record;
pub mod salvage;
pub mod scan;
pub mod tree;
pub mod value;
pub mod varint;
pub mod view;
