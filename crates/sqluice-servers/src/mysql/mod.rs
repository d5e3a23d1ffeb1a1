//! Databases of MySQL and MariaDB, read as the text that `mysqldump --hex-blob` would write.
//!
//! Modules, from the bottom up:
//!
//! * `option_files`, `settings`: how to connect
//! * `packets`, `handshake`, `connection`: the protocol
//! * `session`: the snapshot; `tables`: definitions
//! * `values`: literals; `rows`: INSERT statements
//!
//! The snapshot is a snapshot of InnoDB. Tables of engines without transactions are not part of it; a note in the report names them.

mod connection;
mod handshake;
mod option_files;
mod packets;
mod rows;
mod session;
mod settings;
mod tables;
mod values;

use std::sync::{Arc, Mutex};

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::Blocks;

use self::connection::{Connection, failure, quoted};
use self::rows::Piece;
use self::session::Locking;
use self::settings::Settings;
use self::tables::{Kind, Table};
use crate::address::Address;
use crate::pieces::blocks_max;
use crate::{Dump, Request, TableOfDump, in_order, numbered};

/// The error number for a client that lacks the authentication plugin of an account: ER_NOT_SUPPORTED_AUTH_MODE.
const NO_PLUGIN: u16 = 1251;

/// The maximum number of connections if the user gives no number.
const CONNECTIONS_MAX: usize = 8;

/// Connects to a server, begins a snapshot, and begins to read the database.
///
/// # Errors
/// If the server can't be reached or refuses the user, or if a table is unknown.
pub(crate) fn begin(address: &Address, request: &Request, cancel: &Cancel) -> Result<Dump> {
    let settings = Arc::new(Settings::of(address, request.password.as_ref(), request.timeout)?);
    let stop = cancel.child();
    let mut notes = Vec::new();
    let count = connections(request, &mut notes);
    let mut readers = Vec::new();
    for _ in 0..count {
        readers.push(session::open(&settings, &stop)?);
    }
    let of_query = match &request.query {
        Some((sql, table)) => Some(of_query(&mut readers[0], sql, table)?),
        None => None,
    };
    let mut tables = Vec::new();
    // One listing is enough if the user names the tables: a table that the listing lacks is then an error.
    let is_named = request.query.is_some() || !request.tables.is_empty();
    let lists = if is_named { 1 } else { session::LISTS };
    session::begin(&mut readers, &settings, lists, &stop, &mut |connection| match &request.query {
        Some((sql, table)) => Ok(vec![Locking::query(sql, table)]),
        None => {
            tables = tables::list(connection, &settings.database, request)?;
            let of_rows = tables.iter().filter(|table| table.kind == Kind::Table);
            Ok(of_rows.map(|table| Locking::table(&table.name)).collect())
        }
    })?;
    let text = match of_query {
        Some(text) => text,
        None => {
            notes.extend(outside_of_snapshot(&mut readers[0], &tables)?);
            of_tables(&mut readers[0], &settings.database, &tables, request, count, &mut notes)?
        }
    };
    let declarations = format!("{}{}{}", rows::header(&readers[0].version), text.declarations, rows::FOOTER);
    let (mut tables, mut pieces) = (Vec::new(), Vec::new());
    for (table, of_table) in text.tables {
        tables.push(table);
        pieces.push(of_table);
    }
    let blocks_max = blocks_max(request.memory_bytes, count);
    let start = move |order: &[usize], stop: &Cancel| -> Arc<Mutex<dyn Blocks>> {
        let list = in_order(pieces, order);
        Arc::new(Mutex::new(rows::start(readers, list, blocks_max, stop)))
    };
    Ok(Dump { declarations, tables, connections: count, notes, start: Box::new(start), stop })
}

/// The text of a dump without its rows: the declarations, and for each table the statements that read its rows.
struct Text {
    declarations: String,
    tables: Vec<(TableOfDump, Vec<Piece>)>,
}

/// Returns the number of connections that read rows. It is 1 for a query, if only declarations are read, and if the user does not allow a
/// lock. Adds a note if the user asked for several connections without a lock.
fn connections(request: &Request, notes: &mut Vec<Message>) -> usize {
    let wanted = match request.connections {
        0 => std::thread::available_parallelism().map_or(1, usize::from).min(CONNECTIONS_MAX),
        count => count,
    };
    if request.query.is_some() || request.declarations_only {
        return 1;
    }
    if !request.lock {
        if request.connections > 1 {
            notes.push(message![
                "one connection reads all rows: several see the same snapshot only with ",
                Setting::Lock
            ]);
        }
        return 1;
    }
    wanted
}

/// Returns the declarations of a database's tables, and the statements that read their rows.
fn of_tables(
    connection: &mut Connection,
    database: &str,
    tables: &[Table],
    request: &Request,
    connections: usize,
    notes: &mut Vec<Message>,
) -> Result<Text> {
    let (mut declarations, behind) = tables::others(connection, tables, notes)?;
    let mut of_rows = Vec::new();
    for plan in tables::plans(connection, database, tables, request)? {
        declarations.push_str(&plan.declaration);
        let what: Arc<str> = format!("the table {}", plan.name).into();
        let insert: Arc<str> = plan.insert.as_str().into();
        let mut pieces = Vec::new();
        if !request.declarations_only {
            for select in plan.statements(connection, connections)? {
                pieces.push(Piece { what: Arc::clone(&what), insert: Arc::clone(&insert), select });
            }
        }
        let rows = tables.iter().find(|table| table.name == plan.name).map(|table| table.rows);
        let rows = rows.filter(|_| request.filters.is_empty());
        of_rows.push((TableOfDump { insert: plan.insert, rows, is_in_order: true }, pieces));
    }
    declarations.push_str(&behind);
    Ok(Text { declarations, tables: of_rows })
}

/// Returns the declaration of the table that the rows of a query make, and the query as the statement that reads the rows.
fn of_query(connection: &mut Connection, sql: &str, table: &str) -> Result<Text> {
    let doing = "preparing the query";
    let columns = connection.columns_of(sql).map_err(|fault| failure(fault, doing))?;
    if columns.is_empty() {
        return Err(Error::input("the query returns no columns").hint("give a query that begins with SELECT"));
    }
    let names = numbered(columns.iter().map(|column| column.name.as_str()));
    let name = quoted(table);
    let declared: Vec<String> = columns
        .iter()
        .zip(&names)
        .map(|(column, name)| format!("  {} {}", quoted(name), values::declared(column)))
        .collect();
    let declarations = format!("\nCREATE TABLE {name} (\n{}\n);\n", declared.join(",\n"));
    let insert = format!("INSERT INTO {name} VALUES\n");
    let piece = Piece {
        what: format!("the query for the table {table}").into(),
        insert: insert.as_str().into(),
        select: sql.to_owned(),
    };
    Ok(Text {
        declarations,
        tables: vec![(TableOfDump { insert, rows: None, is_in_order: true }, vec![piece])],
    })
}

/// Returns a note about the tables whose engine has no transactions.
fn outside_of_snapshot(connection: &mut Connection, tables: &[Table]) -> Result<Option<Message>> {
    let sql = "SELECT engine FROM information_schema.engines WHERE transactions = 'YES'";
    let engines = connection.rows(sql).map_err(|fault| failure(fault, "listing the engines"))?;
    let has_snapshot = |table: &&Table| {
        engines
            .iter()
            .filter_map(|row| row.first()?.as_deref())
            .any(|engine| engine.eq_ignore_ascii_case(&table.engine))
    };
    let outside: Vec<String> = tables
        .iter()
        .filter(|table| table.kind == Kind::Table && !has_snapshot(table))
        .map(|table| format!("{} ({})", table.name, table.engine))
        .collect();
    Ok((!outside.is_empty()).then(|| {
        format!("outside of the snapshot, because their engine has no transactions: {}", outside.join(", "))
            .into()
    }))
}

#[cfg(test)]
mod tests;
