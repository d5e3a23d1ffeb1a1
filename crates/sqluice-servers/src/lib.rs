//! Databases of PostgreSQL, MySQL and MariaDB servers, read as the text of a dump.
//!
//! ```text
//!  server ── one snapshot ──> declarations, as one text ──────────────────────────> the plan of a load
//!                        └──> connections ──> blocks of rows, table by table ──> readers of dumps
//! ```
//!
//! While this crate reads the server, it writes the text that `pg_dump` or `mysqldump` would write of the database. The readers of dump
//! files then read this text, so declarations, types and values are translated in one place. Parts of a dump that these readers ignore are
//! not written. All declarations come first, with keys and indexes, so that the load can write the rows as pages while they arrive.
//!
//! Invariant: all rows of a dump are those of one snapshot, or reading it fails. Only MySQL's tables of engines without transactions are
//! outside of the snapshot; a note names them.
//!
//! Invariant: a message contains no password, and no query of a URL.
//!
//! Modules, from the bottom up:
//!
//! * `address`: URLs; `tls`: encryption; `socket`: connections
//! * `pieces`: rows that several connections read, in order
//! * `mysql`, `postgres`: the two kinds of servers

#![deny(unsafe_code)]

pub mod address;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod pieces;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod socket;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod tls;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(any(feature = "mysql", feature = "postgres"))]
use sqluice_core::error::Error;
use sqluice_core::error::{Message, Result};
#[cfg(any(feature = "mysql", feature = "postgres"))]
use sqluice_core::message;
use sqluice_core::progress::Cancel;
#[cfg(not(all(feature = "mysql", feature = "postgres")))]
use sqluice_core::remote;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use sqluice_core::settings::Setting;
use sqluice_core::source::blocks::Blocks;

use self::address::Address;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use self::address::Kind;

/// The tables, rows or query to read, and the options for reading them.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The tables to read, as `name` or `schema.name`; all if empty.
    pub tables: Vec<String>,
    /// The schema of PostgreSQL whose tables are read; `None`: all schemas except those of the system.
    pub schema_name: Option<String>,
    /// Tables, each with the condition that its rows must fulfil, in SQL of the server.
    pub filters: Vec<(String, String)>,
    /// A query instead of tables, and the name of the table that its rows make.
    pub query: Option<(String, String)>,
    /// `true` if only declarations are read, and no rows.
    pub declarations_only: bool,
    /// The maximum number of connections that read rows. 0, the default, means one for each processor, 8 at most. A query, a small database
    /// of PostgreSQL, and a MySQL database without `lock` are read by one connection, a larger database of PostgreSQL by as many as its
    /// size and `memory_bytes` permit.
    pub connections: usize,
    /// `true` if all tables of a MySQL server may be locked until all connections see the same snapshot. Else one connection reads.
    pub lock: bool,
    /// `true` if a table with row security is read with the rows that the user may see. Else such a table is an error.
    pub row_security: bool,
    /// The password, for callers that have it. It is never shown.
    pub password: Option<address::Secret>,
    /// The maximum time without a byte from the server.
    pub timeout: Option<Duration>,
    /// The memory for rows that were received and wait for the reader, in bytes.
    pub memory_bytes: u64,
}

/// Returns the error about a condition for a table that is not read.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn condition_of_left_out(table: &str) -> Error {
    Error::usage(format!(
        "the table {table} has a condition for its rows, and is not among the tables to load"
    ))
    .hint(message!["load the table, too: ", Setting::Table.to(table)])
}

/// A table of a dump.
#[derive(Clone, Debug)]
pub struct TableOfDump {
    /// The beginning of the statement that the rows of the table have in a dump: `COPY ... FROM stdin;` or `INSERT INTO ... VALUES`.
    pub insert: String,
    /// The number of rows that the server expects to send.
    pub rows: Option<u64>,
    /// `false` if the server knows that rows are not in the order of their primary key.
    pub is_in_order: bool,
}

/// Starts to read the rows of the tables with the given numbers (indices into [`Dump::tables`]), in the given order.
type Start = Box<dyn FnOnce(&[usize], &Cancel) -> Arc<Mutex<dyn Blocks>> + Send>;

/// A database that is about to be read as a dump: the declarations are known, and a snapshot of the rows is held open.
pub struct Dump {
    /// All statements but those with rows, as `pg_dump` or `mysqldump` write them.
    pub declarations: String,
    /// The tables with rows. The number of a table is its index in this list.
    pub tables: Vec<TableOfDump>,
    /// The number of connections that read rows.
    pub connections: usize,
    /// Notes for the report, such as tables outside of the snapshot, a password file that was not read, or the reason why only one
    /// connection reads rows.
    pub notes: Vec<Message>,
    start: Start,
    /// The flag that stops all connections.
    stop: Cancel,
}

impl Dump {
    /// Connects to a server, and begins to read its database.
    ///
    /// # Errors
    /// If the server can't be reached, refuses the user, or lacks a table.
    pub fn begin(address: &Address, request: &Request, cancel: &Cancel) -> Result<Dump> {
        match address.kind {
            #[cfg(feature = "postgres")]
            Kind::Postgres => postgres::begin(address, request, cancel),
            #[cfg(feature = "mysql")]
            Kind::MySql => mysql::begin(address, request, cancel),
            #[cfg(not(all(feature = "mysql", feature = "postgres")))]
            _ => {
                let _ = (request, cancel);
                Err(remote::server_not_supported(address.name()))
            }
        }
    }

    /// Starts to read the rows of the tables whose indexes in [`Dump::tables`] are in `order`, until `cancel` is set. A block is a text of
    /// whole lines of COPY data, or of whole INSERT statements.
    pub fn rows(self, order: &[usize], cancel: &Cancel) -> Arc<Mutex<dyn Blocks>> {
        self.stop.follow(cancel);
        (self.start)(order, &self.stop)
    }
}

/// Returns the names of a query's columns, made unique as SQLite compares them: a repeated name gets a number, such as `id_2`.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn numbered<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for given in names {
        let numbers = (2..).map(|number| format!("{given}_{number}"));
        let is_new = |name: &String| !all.iter().any(|known| known.eq_ignore_ascii_case(name));
        let name = std::iter::once(given.to_owned()).chain(numbers).find(is_new).unwrap_or_default();
        all.push(name);
    }
    all
}

/// Returns the pieces (parts that one thread reads) of the tables whose indexes in `tables` are in `order`, in this order. Each piece has
/// the index of its table.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn in_order<P>(mut tables: Vec<Vec<P>>, order: &[usize]) -> Vec<(usize, P)> {
    let of_table = |&table: &usize| {
        let pieces = tables.get_mut(table).map(std::mem::take).unwrap_or_default();
        pieces.into_iter().map(move |piece| (table, piece))
    };
    order.iter().flat_map(of_table).collect()
}

impl fmt::Debug for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dump").field("notes", &self.notes).finish_non_exhaustive()
    }
}
