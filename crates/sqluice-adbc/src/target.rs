//! The table into which a statement writes bound rows, as the options of the statement name it, and the creation of this table.

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::IngestMode;
use arrow_schema::Schema;

use crate::errors::error;
use crate::names::quoted;
use crate::shared::State;
use crate::values::declared;

/// The options of a statement that name the table to write, and how to create it.
#[derive(Clone, Default)]
pub(crate) struct Target {
    pub(crate) table: Option<String>,
    pub(crate) catalog: Option<String>,
    pub(crate) temporary: bool,
    pub(crate) mode: Option<IngestMode>,
}

impl Target {
    /// Returns the quoted name of the table, with its catalog.
    pub(crate) fn name(&self) -> Result<String> {
        let catalog = match (&self.catalog, self.temporary) {
            (Some(_), true) => {
                let message = "Cannot set both adbc.ingest.target_catalog and adbc.ingest.temporary";
                return Err(error(Status::InvalidState, message));
            }
            (_, true) => "temp",
            (catalog, false) => catalog.as_deref().unwrap_or("main"),
        };
        Ok(format!("{}.{}", quoted(catalog), quoted(self.table.as_deref().unwrap_or_default())))
    }
}

/// Creates or replaces the table, or does nothing, depending on the ingest mode. `name` is quoted.
pub(crate) fn make_table(state: &State, target: &Target, name: &str, schema: &Schema) -> Result<()> {
    let mode = target.mode.unwrap_or(IngestMode::Create);
    let unless = match mode {
        IngestMode::Append => return Ok(()),
        IngestMode::CreateAppend => "IF NOT EXISTS ",
        IngestMode::Replace => {
            state.run(&format!("DROP TABLE IF EXISTS {name}"))?;
            ""
        }
        IngestMode::Create => "",
    };
    if schema.fields().is_empty() {
        return Err(error(Status::InvalidArguments, "a table can't be created from rows without columns"));
    }
    let columns = schema.fields().iter().map(|field| {
        let declared = declared(field.data_type());
        let space = if declared.is_empty() { "" } else { " " };
        format!("{}{space}{declared}", quoted(field.name()))
    });
    let columns: Vec<String> = columns.collect();
    let sql = format!("CREATE TABLE {unless}{name} ({})", columns.join(", "));
    state.run(&sql).map_err(|found| match found.message.contains("already exists") {
        true => Error { status: Status::AlreadyExists, ..found },
        false => found,
    })
}
