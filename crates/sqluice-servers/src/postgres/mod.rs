//! Databases of PostgreSQL, read as the text that pg_dump would write.
//!
//! ```text
//!  settings    the user, the host and the password, found as libpq finds them
//!  connection  messages: queries, and the rows of COPY
//!  catalog     the tables, types, sequences and constraints of the database
//!  text        their declarations, in SQL
//!  rows        the rows of all tables, read by several connections
//! ```
//!
//! **One snapshot.** First, each table whose rows are to be read is locked in ACCESS SHARE mode. LOCK TABLE itself takes no snapshot, so
//! the snapshot is taken afterwards. No TRUNCATE and no ALTER TABLE can then run between the snapshot and the reading of rows. If a table
//! is gone before it is locked, or the snapshot shows a table that was not locked, both steps are repeated. A query locks no table.

mod catalog;
mod connection;
mod rows;
mod server_error;
mod settings;
#[cfg(test)]
mod tests;
mod text;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sqluice_core::error::{Error, Message, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::similar;
use sqluice_core::source::blocks::Blocks;

use self::catalog::{Catalog, Table};
use self::connection::{Connection, Failure};
use self::rows::{Copy, Workers};
use self::settings::Settings;
use crate::address::Address;
use crate::{Dump, Request, TableOfDump, condition_of_left_out, in_order, numbered};

/// The maximum number of attempts to take a snapshot, while other sessions create, rename or truncate tables.
const SNAPSHOTS_MAX: u32 = 20;

/// The wait before the second attempt. Each further wait is longer by this amount.
const SNAPSHOT_WAIT: Duration = Duration::from_millis(5);

/// The SQLSTATE for a table that does not exist.
const NO_TABLE: &str = "42P01";

/// The oldest supported version.
const VERSION_MIN: u32 = 100_000;

/// The first version that reads a range of pages without reading the whole table.
const VERSION_OF_RANGES: u32 = 140_000;

/// Sets the session variables as pg_dump does.
const SESSION: &str = "SET DateStyle = ISO; SET IntervalStyle = postgres; SET extra_float_digits = 3; SET standard_conforming_strings = on; \
    SET synchronize_seqscans = off; SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
    SET bytea_output = hex; SET xmloption = content; SELECT pg_catalog.set_config('search_path', '', false);";

/// Starts a read-only transaction with one snapshot.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Begins to read a database.
///
/// # Errors
/// If the server can't be reached or lacks a table, or the user lacks rights.
pub(crate) fn begin(address: &Address, request: &Request, cancel: &Cancel) -> Result<Dump> {
    let stop = cancel.child();
    let password = request.password.as_ref().map(crate::address::Secret::reveal);
    let settings = Settings::of(address, password, request.timeout)?;
    let mut notes: Vec<Message> = settings.notes.iter().cloned().map(Message::from).collect();
    let mut main = open(&settings, request, &stop)?;
    let (catalog, mut text) = plan(&mut main, request)?;
    let wanted = connections(request, &catalog);
    let mut workers = None;
    if wanted > 1 {
        match export(&mut main) {
            Ok(id) => workers = Some(Workers { snapshot: id, count: wanted }),
            Err(error) => {
                let note =
                    format!("one connection reads all rows, because the server exports no snapshot: {error}");
                notes.push(note.into());
                // The failed statement has aborted the transaction, and the snapshot is lost: take a new one.
                query(&mut main, "ROLLBACK", "cannot begin a snapshot")?;
                (_, text) = plan(&mut main, request)?;
            }
        }
    }
    let connections = workers.as_ref().map_or(1, |workers| workers.count);
    let session = rows::Session {
        settings,
        memory_bytes: request.memory_bytes,
        row_security: request.row_security,
        // The user's condition or query must resolve names as in the user's own session, by the default search_path.
        resets_path: request.query.is_some() || !request.filters.is_empty(),
    };
    if session.resets_path {
        query(&mut main, "RESET search_path", "cannot prepare the session")?;
    }
    let (tables, pieces) = text.tables.into_iter().unzip();
    let start = move |order: &[usize], stop: &Cancel| -> Arc<Mutex<dyn Blocks>> {
        let list = in_order(pieces, order);
        Arc::new(Mutex::new(rows::start(main, session, list, workers, stop)))
    };
    let declarations = text.declarations;
    Ok(Dump { declarations, tables, connections, notes, start: Box::new(start), stop })
}

/// The text of a dump without its rows: the declarations, and for each table the COPY statements that read its rows.
struct Text {
    declarations: String,
    tables: Vec<(TableOfDump, Vec<Copy>)>,
}

/// Takes a snapshot, reads the catalog, and returns the text of the dump.
fn plan(main: &mut Connection, request: &Request) -> Result<(Catalog, Text)> {
    let catalog = snapshot(main, request)?;
    let text = match &request.query {
        Some((sql, table)) => {
            query(main, "RESET search_path", "cannot prepare the session")?;
            let text = of_query(main, &catalog, (sql, table))?;
            query(
                main,
                "SELECT pg_catalog.set_config('search_path', '', false)",
                "cannot prepare the session",
            )?;
            text
        }
        None => of_tables(&catalog, request, main.version)?,
    };
    Ok((catalog, text))
}

/// Opens a connection, checks the server's version, and prepares the session.
fn open(settings: &Settings, request: &Request, cancel: &Cancel) -> Result<Connection> {
    let mut connection = Connection::open(settings, cancel)?;
    if connection.version < VERSION_MIN {
        return Err(Error::input(format!("the server at {} is older than PostgreSQL 10", settings.place))
            .hint("make a dump with pg_dump, and load that"));
    }
    prepare(&mut connection, request.row_security)?;
    Ok(connection)
}

/// Sets the variables of a session.
fn prepare(connection: &mut Connection, row_security: bool) -> Result<()> {
    let row_security = if row_security { "on" } else { "off" };
    query(
        connection,
        &format!("{SESSION} SET row_security = {row_security};"),
        "cannot prepare the session",
    )?;
    Ok(())
}

fn query(connection: &mut Connection, sql: &str, doing: &str) -> Result<Vec<connection::Row>> {
    connection.query(sql).map_err(|failure| failure.into_error(doing))
}

/// Locks the tables, takes a snapshot, and reads the catalog in it.
fn snapshot(main: &mut Connection, request: &Request) -> Result<Catalog> {
    let mut changed = String::new();
    for attempt in 0..SNAPSHOTS_MAX {
        thread::sleep(SNAPSHOT_WAIT * attempt);
        let before = Catalog::tables(main)?;
        query(main, BEGIN, "cannot begin a snapshot")?;
        let is_read = |table: &&Table| {
            request.query.is_none() && !request.declarations_only && table.is_wanted(request)
        };
        let mut lost = None;
        for table in before.iter().filter(is_read) {
            let name = &table.sql_name;
            match main.query(&format!("LOCK TABLE ONLY {name} IN ACCESS SHARE MODE")) {
                Ok(_) => {}
                // Another session has renamed or dropped the table since the tables were listed.
                Err(Failure::Server(error)) if error.code == NO_TABLE => {
                    lost = Some(name.clone());
                    break;
                }
                Err(failure) => return Err(failure.into_error(&format!("cannot lock table {name}"))),
            }
        }
        if lost.is_none() {
            let catalog = Catalog::read(main)?;
            let is_locked = |table: &Table| before.iter().any(|known| known.is_same(table));
            lost = catalog
                .tables
                .iter()
                .filter(is_read)
                .find(|table| !is_locked(table))
                .map(|table| table.sql_name.clone());
            if lost.is_none() {
                return Ok(catalog);
            }
        }
        changed = lost.unwrap_or_default();
        query(main, "ROLLBACK", "cannot begin a snapshot")?;
    }
    Err(Error::input(format!(
        "no snapshot could be taken, because other sessions keep creating, renaming or truncating tables, most recently {changed}"
    ))
    .hint("name the tables to load"))
}

/// Exports the snapshot for other connections.
fn export(main: &mut Connection) -> Result<String> {
    let rows = query(main, "SELECT pg_catalog.pg_export_snapshot()", "cannot export the snapshot")?;
    let id = rows.into_iter().flatten().flatten().next();
    id.ok_or_else(|| Error::input("the server returned no name for the exported snapshot"))
}

/// Returns the number of connections that read rows.
fn connections(request: &Request, catalog: &Catalog) -> usize {
    /// The number of pages for each further connection: with fewer pages, a connection costs the server more time than it saves.
    const PAGES_MIN: u64 = 2048;
    const CONNECTIONS_MAX: usize = 8;
    let pages = catalog.pages(request);
    if request.query.is_some() || pages < PAGES_MIN {
        return 1;
    }
    let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let wanted = match request.connections {
        0 => processors.min(CONNECTIONS_MAX),
        given => given,
    };
    let fit = (request.memory_bytes / 2 / rows::WORKER_BYTES).max(1);
    wanted
        .min(usize::try_from(fit).unwrap_or(usize::MAX))
        .min(usize::try_from(pages / PAGES_MIN + 1).unwrap_or(usize::MAX))
}

/// Returns the declarations of all tables in the order of pg_dump, and the COPY statements of the tables to be read.
fn of_tables(catalog: &Catalog, request: &Request, version: u32) -> Result<Text> {
    refuse_unknown(catalog, request)?;
    let declarations = [
        text::begin(),
        text::before_rows(catalog, request),
        text::after_rows(catalog, request),
        text::END.to_owned(),
    ];
    let mut of_rows = Vec::new();
    for table in catalog.tables.iter().filter(|table| table.has_rows() && table.is_wanted(request)) {
        let columns = table.given_columns();
        if columns.is_empty() {
            continue;
        }
        let list = columns.join(", ");
        let name = &table.sql_name;
        let shared: Arc<str> = name.as_str().into();
        let copy = |sql| Copy { sql, table: Arc::clone(&shared), is_table: true };
        let pieces = match table.condition(request) {
            Some(condition) => {
                // The line end closes a `--` comment in the condition.
                vec![copy(format!("COPY (SELECT {list} FROM ONLY {name} WHERE ({condition}\n)) TO STDOUT"))]
            }
            None if table.is_heap && version >= VERSION_OF_RANGES => {
                let ranges = rows::ranges(table.pages);
                let pieces = ranges.map(|range| match range {
                    None => copy(format!("COPY {name} ({list}) TO STDOUT")),
                    Some(range) => {
                        copy(format!("COPY (SELECT {list} FROM ONLY {name} WHERE {range}) TO STDOUT"))
                    }
                });
                pieces.collect()
            }
            None => vec![copy(format!("COPY {name} ({list}) TO STDOUT"))],
        };
        let insert = format!("COPY {name} ({list}) FROM stdin;\n");
        of_rows.push((
            TableOfDump { insert, rows: table.rows(request), is_in_order: !table.is_out_of_order },
            pieces,
        ));
    }
    Ok(Text { declarations: declarations.concat(), tables: of_rows })
}

/// Returns an error if the request names a schema or a table that the database does not have.
fn refuse_unknown(catalog: &Catalog, request: &Request) -> Result<()> {
    if let Some(schema) = &request.schema_name
        && !catalog.tables.iter().any(|table| table.schema == *schema)
    {
        let mut schemas: Vec<&str> = catalog.tables.iter().map(|table| &*table.schema).collect();
        schemas.dedup();
        return Err(Error::usage(format!("the database has no schema {schema} with tables"))
            .hint(similar::hint(schema, schemas.into_iter())));
    }
    let names = || catalog.tables.iter().filter(|table| table.in_schema(request)).map(|table| &*table.name);
    let filtered = request.filters.iter().map(|(wanted, _)| wanted);
    for wanted in filtered.chain(&request.tables) {
        if !catalog.tables.iter().any(|table| table.has_name(wanted) && table.in_schema(request)) {
            return Err(Error::usage(format!("the database has no table {wanted}"))
                .hint(similar::hint(wanted, names())));
        }
    }
    for (wanted, _) in &request.filters {
        if !catalog.tables.iter().any(|table| table.has_name(wanted) && table.is_wanted(request)) {
            return Err(condition_of_left_out(wanted));
        }
    }
    Ok(())
}

/// Returns the declaration of the table that the rows of a query make, and the COPY statement of the query.
fn of_query(main: &mut Connection, catalog: &Catalog, (sql, table): (&str, &str)) -> Result<Text> {
    let sql = sql.trim().trim_end_matches(';');
    let doing = "cannot run the query";
    let columns = main.describe(sql).map_err(|failure| failure.into_error(doing))?;
    if columns.is_empty() {
        return Err(Error::usage("the query returns no columns").hint("begin it with SELECT"));
    }
    let types: Vec<String> = columns
        .iter()
        .map(|column| format!("pg_catalog.format_type({}, {})", column.type_oid, column.modifier))
        .collect();
    let types =
        query(main, &format!("SELECT {}", types.join(", ")), doing)?.into_iter().next().unwrap_or_default();
    let names = numbered(columns.iter().map(|column| column.name.as_str()));
    let declared: Vec<String> = names
        .iter()
        .zip(types)
        .map(|(name, of_type)| format!("    {} {}", text::quoted(name), of_type.unwrap_or_default()))
        .collect();
    let name = format!("public.{}", text::quoted(table));
    let list: Vec<String> = names.iter().map(|name| text::quoted(name)).collect();
    let declarations = format!(
        "{}{}CREATE TABLE {name} (\n{}\n);\n\n{}",
        text::begin(),
        text::types(catalog),
        declared.join(",\n"),
        text::END
    );
    let insert = format!("COPY {name} ({}) FROM stdin;\n", list.join(", "));
    let copy = Copy { sql: format!("COPY ({sql}\n) TO STDOUT"), table: table.into(), is_table: false };
    Ok(Text {
        declarations,
        tables: vec![(TableOfDump { insert, rows: None, is_in_order: true }, vec![copy])],
    })
}
