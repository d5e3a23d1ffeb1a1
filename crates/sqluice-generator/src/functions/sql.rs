//! `sql`: any SQLite expression over the columns of the row, evaluated by SQLite for some rows at a time.
//!
//! A trial as a generated column ensures that the expression depends on the row alone. The columns that it reads are generated and
//! inserted into an in-memory table with the types that the row's own table declares, so they have the affinities of
//! that table.

use std::fmt;
use std::sync::{Arc, Mutex};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::{Column, quoted};

use super::{Arguments, Fault, Function, Generate, fill_all, references, size_of_all};
use crate::generator::{Class, Scope, Size};
use crate::vector::{RowRange, Vector};

pub(super) const SQL: Function = Function {
    name: "sql",
    signature: "sql('expression')",
    about: "the value of an SQL expression over other columns of the row, computed by SQLite",
    example: "sql('printf(''%s-%05d'', upper(status), id)')",
    build,
};

/// The average size of a value that SQLite computes, roughly, in bytes.
const MEAN_BYTES: u64 = 10;

struct Computed {
    expression: String,
    /// The statement that creates the in-memory table with the columns that the expression reads.
    create: String,
    insert: String,
    select: String,
    columns: Vec<Arc<dyn Generate>>,
    /// Open connections that are not in use. A thread takes one, or opens another, and puts it back.
    connections: Mutex<Vec<Connection>>,
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sql({})", self.expression)
    }
}

fn build(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    arguments.count(1)?;
    let expression = arguments.text(0)?;
    let at = arguments.place(0);
    let context = arguments.context;
    let declared: &[Column] = context.names.tables.get(context.table).map_or(&[], |table| &table.columns);
    let read = names_read(expression, declared)
        .map_err(|error| arguments.fault(at, format!("SQLite does not accept it: {}", message_of(&error))))?;
    let mut columns = Vec::new();
    let mut declarations = Vec::new();
    for column in declared.iter().filter(|column| read.contains(&column.name)) {
        columns.push(references::column(None, &column.name, at, context)?);
        declarations.push(format!("{} {}", quoted(&column.name), column.declared_type));
    }
    // A column that is not used: SQLite rejects a table without columns, and the expression may name none.
    declarations.push("\"\" INTEGER".to_owned());
    let places = vec!["?"; columns.len() + 1].join(", ");
    Ok(Arc::new(Computed {
        expression: expression.to_owned(),
        create: format!("CREATE TABLE t ({})", declarations.join(", ")),
        insert: format!("INSERT INTO t VALUES ({places})"),
        select: format!("SELECT ({expression}\n) FROM t ORDER BY rowid"),
        columns,
        connections: Mutex::default(),
    }))
}

/// Returns SQLite's message without the statement, which the user has not written.
fn message_of(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

/// Returns the columns that an expression reads. SQLite reports an error if the expression depends on anything else.
fn names_read(expression: &str, columns: &[Column]) -> rusqlite::Result<Vec<String>> {
    let mut connection = Connection::open_in_memory()?;
    let mut declarations: Vec<String> =
        columns.iter().map(|column| format!("{} {}", quoted(&column.name), column.declared_type)).collect();
    declarations.push("\"\" INTEGER".to_owned());
    let declarations = declarations.join(", ");
    connection.execute_batch(&format!("CREATE TABLE t ({declarations})"))?;
    connection.execute_batch(&format!("CREATE TABLE probe ({declarations}, \" \" AS ({expression}\n))"))?;
    let read = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&read);
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if let (AuthAction::Read { column_name, .. }, Ok(mut seen)) = (context.action, seen.lock()) {
            seen.push(column_name.to_owned());
        }
        Authorization::Allow
    }))?;
    connection.prepare(&format!("SELECT ({expression}\n) FROM t"))?;
    let names = read.lock().map(|names| names.clone());
    Ok(names.unwrap_or_default())
}

impl Computed {
    fn run(
        &self,
        connection: &Connection,
        values: &[Vector],
        rows: RowRange,
        out: &mut Vector,
    ) -> rusqlite::Result<()> {
        connection.execute_batch("BEGIN; DELETE FROM t")?;
        let mut insert = connection.prepare_cached(&self.insert)?;
        for row in 0..rows.count {
            let given = values.iter().map(|value| match value.get(row) {
                Value::Null => Sql::Null,
                Value::Int(int) => Sql::Integer(int),
                Value::Real(real) => Sql::Real(real),
                Value::Text(text) => Sql::Text(String::from_utf8_lossy(text).into_owned()),
                Value::Blob(blob) => Sql::Blob(blob.to_vec()),
            });
            insert.execute(params_from_iter(given.chain([Sql::Null])))?;
        }
        let mut select = connection.prepare_cached(&self.select)?;
        let mut found = select.query([])?;
        out.values();
        while let Some(row) = found.next()? {
            out.push(match row.get_ref(0)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(int) => Value::Int(int),
                ValueRef::Real(real) => Value::Real(real),
                ValueRef::Text(text) => Value::Text(text),
                ValueRef::Blob(blob) => Value::Blob(blob),
            });
        }
        out.settle();
        drop(found);
        connection.execute_batch("COMMIT")
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let free = self.connections.lock().ok().and_then(|mut free| free.pop());
        if let Some(free) = free {
            return Ok(free);
        }
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(&self.create)?;
        Ok(connection)
    }
}

impl Generate for Computed {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let values = fill_all(&self.columns, at, rows)?;
        let failed = |error: rusqlite::Error| {
            let (first, last) = (rows.first + 1, rows.first + rows.count as u64);
            Error::input(format!(
                "sql('{}') in one of rows {first} to {last}: {}",
                self.expression,
                message_of(&error)
            ))
        };
        let connection = self.connect().map_err(failed)?;
        self.run(&connection, &values, rows, out).map_err(failed)?;
        if let Ok(mut free) = self.connections.lock() {
            free.push(connection);
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size { mean: MEAN_BYTES, max: 2 * size_of_all(&self.columns).max + 64 }
    }

    fn class(&self) -> Class {
        Class::Any
    }
}
