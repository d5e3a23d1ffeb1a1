//! SQLite's default [limits](https://www.sqlite.org/limits.html). The limit of page numbers is
//! [`page::PAGE_NUMBER_MAX`](crate::page::PAGE_NUMBER_MAX).

/// The maximum size of a string, a blob or a record: `SQLITE_MAX_LENGTH`.
pub const LENGTH_MAX: usize = 1_000_000_000;

/// The maximum number of columns of a table, and of terms in a `SELECT`: `SQLITE_MAX_COLUMN`.
pub const COLUMNS_MAX: usize = 2000;

/// The largest payload that SQLite reads: SQLite counts the bytes of a payload in an `int`.
pub(crate) const PAYLOAD_BYTES_MAX: u64 = i32::MAX as u64;
