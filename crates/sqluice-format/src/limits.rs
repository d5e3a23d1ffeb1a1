//! SQLite's [limits](https://www.sqlite.org/limits.html), as it is compiled by default. That of page numbers is
//! [`page::PAGE_NUMBER_MAX`](crate::page::PAGE_NUMBER_MAX).

/// The bytes of a string, a blob or a record, at most: `SQLITE_MAX_LENGTH`.
pub const LENGTH_MAX: usize = 1_000_000_000;

/// The columns of a table, and the terms of a `SELECT`, at most: `SQLITE_MAX_COLUMN`.
pub const COLUMNS_MAX: usize = 2000;

/// The largest payload of a cell that SQLite reads, in bytes: it counts them in an `int`.
pub(crate) const PAYLOAD_BYTES_MAX: u64 = i32::MAX as u64;
