//! The ADBC objects that a driver manager uses: driver, database, connection and statement.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{
    InfoCode, IngestMode, ObjectDepth, OptionConnection, OptionDatabase, OptionStatement, OptionValue,
};
use adbc_core::schemas::GET_TABLE_TYPES_SCHEMA;
use adbc_core::{CancelHandle, Optionable, PartitionedResult};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::errors::{error, unknown_option};
use crate::info::info;
use crate::ingest::ingest;
use crate::names::{database, quoted, shared_memory};
use crate::objects::{Wanted, objects};
use crate::query::{BATCH_ROWS, Parameters, Results, execute};
use crate::raw;
use crate::shared::Shared;
use crate::target::Target;

/// A stream of Arrow batches.
type Reader = Box<dyn RecordBatchReader + Send>;

/// The option for the maximum number of rows in a batch of a result. Arrow's own SQLite driver has an option with this name.
const OPTION_BATCH_ROWS: &str = "adbc.sqlite.query.batch_rows";

/// The option to bind columns to parameters by name, not by position.
const OPTION_BY_NAME: &str = "adbc.statement.bind_by_name";

/// The driver.
#[derive(Default)]
pub struct Driver;

impl adbc_core::Driver for Driver {
    type DatabaseType = Database;

    fn new_database(&mut self) -> Result<Database> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<Database> {
        let (mut uri, mut batch_rows) = (None, BATCH_ROWS);
        for (key, value) in options {
            match key {
                OptionDatabase::Uri => uri = Some(text(key.as_ref(), value)?),
                OptionDatabase::Other(key) if key == OPTION_BATCH_ROWS => batch_rows = rows_of(&value)?,
                key => return Err(unknown_option("database", key.as_ref(), &shown(&value))),
            }
        }
        match uri {
            Some(uri) => Ok(Database { name: database(&uri), uri, batch_rows, keeps: None }),
            // SQLite drops a database in memory when its last connection is closed, so one connection is kept open.
            None => {
                let name = shared_memory();
                let keeps = Some(Shared::open(&name)?);
                Ok(Database { uri: name.clone(), name, batch_rows, keeps })
            }
        }
    }
}

/// A database, as the name with which connections open it.
pub struct Database {
    uri: String,
    /// The name that SQLite opens.
    name: String,
    batch_rows: usize,
    /// An open connection, so that a database in memory is not dropped; `None` if the program has named a database by its URI.
    #[expect(dead_code, reason = "it is kept, and not used")]
    keeps: Option<Arc<Shared>>,
}

impl adbc_core::Database for Database {
    type ConnectionType = Connection;

    fn new_connection(&self) -> Result<Connection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<Connection> {
        let mut connection = Connection { shared: Shared::open(&self.name)?, batch_rows: self.batch_rows };
        for (key, value) in options {
            connection.set_option(key, value)?;
        }
        Ok(connection)
    }
}

impl Optionable for Database {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, value: OptionValue) -> Result<()> {
        if key.as_ref() == OPTION_BATCH_ROWS {
            self.batch_rows = rows_of(&value)?;
            return Ok(());
        }
        Err(unknown_option("database", key.as_ref(), &shown(&value)))
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        self.option(&key).and_then(as_text).ok_or_else(|| no_option("database", key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        Err(no_option("database", key.as_ref()))
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        self.option(&key).and_then(as_int).ok_or_else(|| no_option("database", key.as_ref()))
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        Err(no_option("database", key.as_ref()))
    }
}

impl Database {
    /// Returns the value of an option, if the option is known.
    fn option(&self, key: &OptionDatabase) -> Option<OptionValue> {
        match key {
            OptionDatabase::Uri => Some(OptionValue::String(self.uri.clone())),
            key if key.as_ref() == OPTION_BATCH_ROWS => Some(of_rows(self.batch_rows)),
            _ => None,
        }
    }
}

/// A connection. Its statements and results keep the connection of SQLite open.
pub struct Connection {
    shared: Arc<Shared>,
    batch_rows: usize,
}

/// The handle that cancels the running operation of a connection.
struct Interrupt(Arc<Shared>);

impl CancelHandle for Interrupt {
    fn try_cancel(&self) -> Result<()> {
        self.0.interrupt();
        Ok(())
    }
}

impl adbc_core::Connection for Connection {
    type StatementType = Statement;

    fn new_statement(&mut self) -> Result<Statement> {
        Ok(Statement {
            shared: Arc::clone(&self.shared),
            sql: None,
            target: Target::default(),
            bound: None,
            by_name: false,
            batch_rows: self.batch_rows,
        })
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Interrupt(Arc::clone(&self.shared)))
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        Ok(reader(info(codes.as_ref())?))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Reader> {
        let wanted = Wanted {
            depth,
            catalog,
            schema: db_schema,
            table: table_name,
            kinds: table_type,
            column: column_name,
        };
        Ok(reader(objects(&self.shared.lock(), &wanted)?))
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        if db_schema.is_some_and(|schema| !schema.is_empty()) {
            return Err(error(Status::NotImplemented, "tables have no schema, only a catalog"));
        }
        let table = format!("{}.{}", quoted(catalog.unwrap_or("main")), quoted(table_name));
        let sql = format!("SELECT * FROM {table} LIMIT {BATCH_ROWS}");
        let statement = raw::Statement::new(&self.shared, &sql).map_err(|found| {
            match found.message.contains("no such table") {
                true => error(Status::NotFound, format!("no such table: {table}")),
                false => found,
            }
        })?;
        Ok(Results::new(statement, None, BATCH_ROWS)?.schema().as_ref().clone())
    }

    fn get_table_types(&self) -> Result<Reader> {
        let kinds = Arc::new(StringArray::from(vec!["table", "view"]));
        Ok(reader(RecordBatch::try_new(Arc::clone(&GET_TABLE_TYPES_SCHEMA), vec![kinds])?))
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Err(unsupported("statistics"))
    }

    fn get_statistics(&self, _: Option<&str>, _: Option<&str>, _: Option<&str>, _: bool) -> Result<Reader> {
        Err(unsupported("statistics"))
    }

    fn commit(&mut self) -> Result<()> {
        self.shared.lock().end("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        self.shared.lock().end("ROLLBACK")
    }

    fn read_partition(&self, _: impl AsRef<[u8]>) -> Result<Reader> {
        Err(unsupported("partitions"))
    }
}

impl Optionable for Connection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        match key {
            OptionConnection::AutoCommit => self.shared.lock().set_autocommit(bool::try_from(value)?),
            OptionConnection::Other(key) if key == OPTION_BATCH_ROWS => {
                self.batch_rows = rows_of(&value)?;
                Ok(())
            }
            key => Err(unknown_option("connection", key.as_ref(), &shown(&value))),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        self.option(&key).and_then(as_text).ok_or_else(|| no_option("connection", key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        Err(no_option("connection", key.as_ref()))
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        self.option(&key).and_then(as_int).ok_or_else(|| no_option("connection", key.as_ref()))
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        Err(no_option("connection", key.as_ref()))
    }
}

impl Connection {
    /// Returns the value of an option, if the option is known.
    fn option(&self, key: &OptionConnection) -> Option<OptionValue> {
        match key {
            OptionConnection::AutoCommit => {
                Some(OptionValue::String(self.shared.lock().autocommit.to_string()))
            }
            OptionConnection::CurrentCatalog => Some(OptionValue::String("main".to_owned())),
            OptionConnection::CurrentSchema => Some(OptionValue::String(String::new())),
            key if key.as_ref() == OPTION_BATCH_ROWS => Some(of_rows(self.batch_rows)),
            _ => None,
        }
    }
}

/// A statement: SQL, or a table into which bound rows are written.
pub struct Statement {
    shared: Arc<Shared>,
    sql: Option<String>,
    target: Target,
    bound: Option<Reader>,
    by_name: bool,
    batch_rows: usize,
}

impl Statement {
    fn prepared(&self) -> Result<raw::Statement> {
        match &self.sql {
            Some(sql) => raw::Statement::new(&self.shared, sql),
            None => Err(error(Status::InvalidState, "the statement has no SQL and no table for rows")),
        }
    }

    /// Prepares the SQL. Returns the statement, and the rows that were bound to its parameters, if any.
    fn with_parameters(&mut self) -> Result<(raw::Statement, Option<Parameters>)> {
        let (statement, bound) = (self.prepared()?, self.bound.take());
        if bound.is_none() && statement.parameters() > 0 {
            let message =
                format!("parameter count mismatch: expected {} but found 0", statement.parameters());
            return Err(error(Status::InvalidState, message));
        }
        Ok((statement, bound.map(|rows| Parameters::new(rows, self.by_name))))
    }

    /// Writes the bound rows to the target table. Returns their number, or `None` if the statement has SQL and no target table.
    fn ingested(&mut self) -> Result<Option<i64>> {
        if self.target.table.is_none() {
            return Ok(None);
        }
        let Some(rows) = self.bound.take() else {
            return Err(error(Status::InvalidState, "no rows are bound for the table"));
        };
        ingest(&self.shared, &self.target, rows).map(Some)
    }
}

impl adbc_core::Statement for Statement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        self.bound = Some(reader(batch));
        Ok(())
    }

    fn bind_stream(&mut self, rows: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(rows);
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        if self.ingested()?.is_some() {
            return Ok(reader(RecordBatch::new_empty(Arc::new(Schema::empty()))));
        }
        let (statement, parameters) = self.with_parameters()?;
        if statement.columns() == 0 {
            execute(statement, parameters)?;
            return Ok(empty(&Arc::new(Schema::empty())));
        }
        self.shared.lock().begin()?;
        Ok(Box::new(Results::new(statement, parameters, self.batch_rows)?))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        if let Some(rows) = self.ingested()? {
            return Ok(Some(rows));
        }
        let (statement, parameters) = self.with_parameters()?;
        execute(statement, parameters)
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let statement = self.prepared()?;
        if !statement.only_reads() {
            return Err(unsupported("the schema of a statement that writes"));
        }
        // No parameters are bound: SQLite reads them as NULL.
        Ok(Results::new(statement, None, self.batch_rows)?.schema().as_ref().clone())
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(unsupported("partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        let statement = self.prepared()?;
        let fields = (1..=statement.parameters()).map(|number| {
            let name = statement.parameter_name(number);
            // A parameter without a name is called by the position of its column, counted from 0.
            let name = if name.is_empty() { (number - 1).to_string() } else { name };
            Field::new(name, DataType::Null, true)
        });
        Ok(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn prepare(&mut self) -> Result<()> {
        self.prepared().map(drop)
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.sql = Some(query.as_ref().to_owned());
        self.target = Target::default();
        Ok(())
    }

    fn set_substrait_plan(&mut self, _: impl AsRef<[u8]>) -> Result<()> {
        Err(unsupported("Substrait"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Interrupt(Arc::clone(&self.shared)))
    }
}

impl Optionable for Statement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        match key {
            OptionStatement::TargetTable => {
                self.target.table = Some(text(key.as_ref(), value)?);
                self.sql = None;
            }
            OptionStatement::TargetCatalog => self.target.catalog = Some(text(key.as_ref(), value)?),
            OptionStatement::Temporary => self.target.temporary = bool::try_from(value)?,
            OptionStatement::IngestMode => self.target.mode = Some(IngestMode::try_from(&value)?),
            OptionStatement::TargetDbSchema => {
                return Err(error(Status::NotImplemented, format!("{} not supported", key.as_ref())));
            }
            OptionStatement::Other(key) if key == OPTION_BATCH_ROWS => self.batch_rows = rows_of(&value)?,
            OptionStatement::Other(key) if key == OPTION_BY_NAME => self.by_name = bool::try_from(value)?,
            key => return Err(unknown_option("statement", key.as_ref(), &shown(&value))),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        self.option(&key).and_then(as_text).ok_or_else(|| no_option("statement", key.as_ref()))
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(no_option("statement", key.as_ref()))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        self.option(&key).and_then(as_int).ok_or_else(|| no_option("statement", key.as_ref()))
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        Err(no_option("statement", key.as_ref()))
    }
}

impl Statement {
    /// Returns the value of an option, if the option is known.
    fn option(&self, key: &OptionStatement) -> Option<OptionValue> {
        match key.as_ref() {
            OPTION_BY_NAME => Some(OptionValue::String(self.by_name.to_string())),
            OPTION_BATCH_ROWS => Some(of_rows(self.batch_rows)),
            _ => None,
        }
    }
}

/// Returns an option's value if it is a text.
fn as_text(value: OptionValue) -> Option<String> {
    match value {
        OptionValue::String(text) => Some(text),
        _ => None,
    }
}

/// Returns an option's value if it is an integer.
fn as_int(value: OptionValue) -> Option<i64> {
    match value {
        OptionValue::Int(int) => Some(int),
        _ => None,
    }
}

fn of_rows(rows: usize) -> OptionValue {
    OptionValue::Int(i64::try_from(rows).unwrap_or(i64::MAX))
}

/// Returns a stream of one batch.
fn reader(batch: RecordBatch) -> Reader {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

/// Returns a stream without batches.
fn empty(schema: &SchemaRef) -> Reader {
    Box::new(RecordBatchIterator::new([], Arc::clone(schema)))
}

fn text(key: &str, value: OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text),
        other => Err(invalid(key, &other)),
    }
}

fn rows_of(value: &OptionValue) -> Result<usize> {
    let rows = match value {
        OptionValue::Int(rows) => Some(*rows),
        OptionValue::String(rows) => rows.parse().ok(),
        _ => None,
    };
    let rows = rows.and_then(|rows| usize::try_from(rows).ok()).filter(|rows| *rows > 0);
    rows.ok_or_else(|| invalid(OPTION_BATCH_ROWS, value))
}

fn invalid(key: &str, value: &OptionValue) -> Error {
    error(Status::InvalidArguments, format!("invalid value of the option {key}: {}", shown(value)))
}

fn no_option(of: &str, key: &str) -> Error {
    error(Status::NotFound, format!("Unknown {of} option {key}"))
}

fn unsupported(what: &str) -> Error {
    error(Status::NotImplemented, format!("not supported: {what}"))
}

fn shown(value: &OptionValue) -> String {
    match value {
        OptionValue::String(text) => format!("'{text}'"),
        OptionValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => format!("'{text}'"),
            _ => format!("({} bytes)", bytes.len()),
        },
        OptionValue::Int(int) => int.to_string(),
        OptionValue::Double(real) => format!("{real:?}"),
        _ => "(unknown)".to_owned(),
    }
}
