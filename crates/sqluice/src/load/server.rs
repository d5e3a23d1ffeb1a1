//! Loads from the database of a server. Its declarations are read like those of a dump, and its rows are written as pages while they
//! arrive.
//!
//! ```text
//!  prepare   a snapshot: only its declarations are read ──> the plan
//!  run       another snapshot: its declarations ──> the plan ──> its rows are written as pages while they arrive
//! ```

pub(super) use implementation::Sender;

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod implementation {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use sqluice_core::error::{Error, Message, Result};
    use sqluice_core::progress::Cancel;
    use sqluice_core::source::blocks::Blocks;
    use sqluice_servers::address::{Address, Secret};
    use sqluice_servers::{Dump, Request as ServerRequest, TableOfDump};

    use super::super::request::Request;

    /// A connection to a server, with the tables and notes of its last snapshot.
    pub(crate) struct Sender {
        address: Address,
        wanted: ServerRequest,
        /// The open snapshot, until its rows are read; `None` if no snapshot is open.
        dump: Option<Dump>,
        tables: Vec<TableOfDump>,
        notes: Vec<Message>,
    }

    impl Sender {
        /// Parses the URL of a database. With `declarations_only`, no connections are opened for the rows.
        ///
        /// # Errors
        /// If the URL is malformed.
        pub(crate) fn new(request: &Request, url: &Path, declarations_only: bool) -> Result<Sender> {
            let options = &request.server;
            let wanted = ServerRequest {
                tables: if options.query.is_some() { Vec::new() } else { request.tables.clone() },
                schema_name: options.schema_name.clone(),
                filters: options.filters.clone(),
                query: options.query.clone().zip(request.one_table().map(str::to_owned)),
                declarations_only,
                connections: options.connections,
                lock: options.lock,
                row_security: options.row_security,
                password: options.password.as_ref().map(Secret::new),
                timeout: request.write.requests.timeout,
                memory_bytes: request.write.memory_bytes,
            };
            let address = Address::parse(url)?;
            Ok(Sender { address, wanted, dump: None, tables: Vec::new(), notes: Vec::new() })
        }

        /// Returns the name of the database for messages.
        pub(crate) fn name(&self) -> &Path {
            self.address.name()
        }

        /// Begins a snapshot. Returns its declarations.
        ///
        /// # Errors
        /// If the server can't be reached, or refuses the request.
        pub(crate) fn begin(&mut self, cancel: &Cancel) -> Result<String> {
            // First end the previous snapshot, and close its connections.
            self.dump = None;
            let mut dump = Dump::begin(&self.address, &self.wanted, cancel)?;
            self.notes = std::mem::take(&mut dump.notes);
            if self.wanted.declarations_only && dump.connections > 1 {
                let note = format!("{} connections read rows, all in one snapshot", dump.connections);
                self.notes.push(note.into());
            }
            self.tables.clone_from(&dump.tables);
            let declarations = std::mem::take(&mut dump.declarations);
            self.dump = (!self.wanted.declarations_only).then_some(dump);
            Ok(declarations)
        }

        /// Returns, for each table, the beginning of the INSERT statement for its rows.
        pub(crate) fn inserts(&self) -> impl Iterator<Item = &str> {
            self.tables.iter().map(|table| &*table.insert)
        }

        /// Returns the server's estimate of the number of rows of a table; `None` if it has none.
        pub(crate) fn rows_of(&self, table: usize) -> Option<u64> {
            self.tables.get(table)?.rows
        }

        /// Returns `false` if the server knows that the rows of a table are not in the order of their primary key.
        pub(crate) fn is_in_order(&self, table: usize) -> bool {
            self.tables.get(table).is_none_or(|table| table.is_in_order)
        }

        /// Returns notes about the snapshot, for the plan.
        pub(crate) fn notes(&self) -> impl Iterator<Item = Message> {
            self.notes.iter().cloned()
        }

        /// Starts to read the rows of these tables, in this order.
        ///
        /// # Errors
        /// If no snapshot is open.
        pub(crate) fn rows(&mut self, tables: &[usize], cancel: &Cancel) -> Result<Arc<Mutex<dyn Blocks>>> {
            let dump = self.dump.take();
            let dump = dump.ok_or_else(|| {
                Error::input("the rows of the server have already been read")
                    .hint("open a new load to read them again")
            })?;
            Ok(dump.rows(tables, cancel))
        }
    }
}

#[cfg(not(any(feature = "postgres", feature = "mysql")))]
mod implementation {
    use std::convert::Infallible;
    use std::iter;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use sqluice_core::error::{Message, Result};
    use sqluice_core::progress::Cancel;
    use sqluice_core::remote;
    use sqluice_core::source::blocks::Blocks;

    use super::super::request::Request;

    /// The type [`Sender`] of a build without the features `postgres` and `mysql`: no value of it exists.
    pub(crate) struct Sender(Infallible);

    impl Sender {
        pub(crate) fn new(_: &Request, url: &Path, _: bool) -> Result<Sender> {
            Err(remote::server_not_supported(url))
        }

        pub(crate) fn name(&self) -> &Path {
            match self.0 {}
        }

        pub(crate) fn begin(&mut self, _: &Cancel) -> Result<String> {
            match self.0 {}
        }

        pub(crate) fn inserts(&self) -> iter::Empty<&str> {
            match self.0 {}
        }

        pub(crate) fn rows_of(&self, _: usize) -> Option<u64> {
            match self.0 {}
        }

        pub(crate) fn is_in_order(&self, _: usize) -> bool {
            match self.0 {}
        }

        pub(crate) fn notes(&self) -> iter::Empty<Message> {
            match self.0 {}
        }

        pub(crate) fn rows(&mut self, _: &[usize], _: &Cancel) -> Result<Arc<Mutex<dyn Blocks>>> {
            match self.0 {}
        }
    }
}
