//! The result of ADBC's `GetObjects`: catalogs, tables, columns and constraints. A catalog is a database of the connection: `main`, `temp`
//! or an attached one. It has one schema, with an empty name.

use std::sync::Arc;

use adbc_core::error::Result;
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA,
    USAGE_SCHEMA,
};
use arrow_array::{
    ArrayRef, Int16Array, Int32Array, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use rusqlite::params;

use crate::errors::of_sqlite;
use crate::names::quoted;
use crate::shared::State;

/// The requested objects. Names are LIKE patterns.
pub(crate) struct Wanted<'a> {
    pub(crate) depth: ObjectDepth,
    pub(crate) catalog: Option<&'a str>,
    pub(crate) schema: Option<&'a str>,
    pub(crate) table: Option<&'a str>,
    pub(crate) kinds: Option<Vec<&'a str>>,
    pub(crate) column: Option<&'a str>,
}

impl Wanted<'_> {
    fn tables(&self) -> bool {
        !matches!(self.depth, ObjectDepth::Catalogs | ObjectDepth::Schemas)
    }

    fn columns(&self) -> bool {
        matches!(self.depth, ObjectDepth::All | ObjectDepth::Columns)
    }
}

struct Table {
    name: String,
    kind: String,
    columns: Vec<Column>,
    constraints: Vec<Constraint>,
}

struct Column {
    name: String,
    ordinal: i32,
    declared: String,
    default: Option<String>,
    nullable: bool,
}

struct Constraint {
    kind: &'static str,
    columns: Vec<String>,
    /// For a foreign key, the parent table and column of each of its columns, with an empty name if the key names no parent column; `None`
    /// for other constraints.
    references: Option<Vec<(String, String)>>,
}

/// Returns the requested objects as an Arrow batch.
pub(crate) fn objects(state: &State, wanted: &Wanted<'_>) -> Result<RecordBatch> {
    let failed = |found: rusqlite::Error| of_sqlite(&found, "cannot describe the database");
    let catalogs = texts(
        state,
        "SELECT name FROM pragma_database_list WHERE name LIKE ifnull(?1, '%') ORDER BY seq",
        &[&wanted.catalog],
    )
    .map_err(failed)?;
    let has_schema: bool = state
        .connection
        .query_row("SELECT '' LIKE ifnull(?1, '%')", [wanted.schema], |row| row.get(0))
        .map_err(failed)?;
    let mut tables = Vec::new();
    for catalog in &catalogs {
        tables.push(match wanted.tables() && has_schema {
            true => tables_of(state, catalog, wanted).map_err(failed)?,
            false => Vec::new(),
        });
    }
    let schemas_of_each = usize::from(has_schema);
    let all: Vec<&Table> = tables.iter().flatten().collect();
    let tables_array = tables_array(&all, catalogs_of(&catalogs, &tables), wanted)?;
    let schemas = schemas_of_each * catalogs.len();
    let of_schemas = match wanted.tables() {
        true => {
            list(&TABLE_SCHEMA, tables_array, &tables.iter().take(schemas).map(Vec::len).collect::<Vec<_>>())
        }
        false => new_null_array(&DataType::new_list(TABLE_SCHEMA.clone(), true), schemas),
    };
    let names: ArrayRef = Arc::new(StringArray::from(vec![""; schemas]));
    let schemas_array = structs(&OBJECTS_DB_SCHEMA_SCHEMA, vec![names, of_schemas])?;
    let of_catalogs = match wanted.depth {
        ObjectDepth::Catalogs => {
            new_null_array(&DataType::new_list(OBJECTS_DB_SCHEMA_SCHEMA.clone(), true), catalogs.len())
        }
        _ => list(&OBJECTS_DB_SCHEMA_SCHEMA, schemas_array, &vec![schemas_of_each; catalogs.len()]),
    };
    let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(catalogs)), of_catalogs];
    Ok(RecordBatch::try_new(Arc::clone(&GET_OBJECTS_SCHEMA), columns)?)
}

/// Returns the catalog of each table.
fn catalogs_of<'a>(catalogs: &'a [String], tables: &[Vec<Table>]) -> Vec<&'a str> {
    let each = catalogs.iter().zip(tables);
    each.flat_map(|(catalog, tables)| vec![catalog.as_str(); tables.len()]).collect()
}

fn texts(state: &State, sql: &str, parameters: &[&dyn rusqlite::ToSql]) -> rusqlite::Result<Vec<String>> {
    state.connection.prepare(sql)?.query_map(parameters, |row| row.get(0))?.collect()
}

fn tables_of(state: &State, catalog: &str, wanted: &Wanted<'_>) -> rusqlite::Result<Vec<Table>> {
    let sql = format!(
        "SELECT name, type FROM {}.sqlite_schema
         WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name LIKE ifnull(?1, '%') ORDER BY rowid",
        quoted(catalog)
    );
    let mut statement = state.connection.prepare(&sql)?;
    let named = statement.query_map([wanted.table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let named: Vec<(String, String)> = named.collect::<rusqlite::Result<_>>()?;
    let is_wanted = |kind: &str| wanted.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind));
    let mut tables = Vec::new();
    for (name, kind) in named.into_iter().filter(|(_, kind)| is_wanted(kind)) {
        let (columns, constraints) = match wanted.columns() {
            true => {
                (columns_of(state, catalog, &name, wanted.column)?, constraints_of(state, catalog, &name)?)
            }
            false => (Vec::new(), Vec::new()),
        };
        // A table without a requested column is left out.
        if wanted.columns() && wanted.column.is_some() && columns.is_empty() {
            continue;
        }
        tables.push(Table { name, kind, columns, constraints });
    }
    Ok(tables)
}

fn columns_of(
    state: &State,
    catalog: &str,
    table: &str,
    pattern: Option<&str>,
) -> rusqlite::Result<Vec<Column>> {
    let sql = "SELECT name, cid + 1, type, dflt_value, \"notnull\" FROM pragma_table_info(?1, ?2) WHERE name LIKE ifnull(?3, '%') ORDER BY cid";
    let mut statement = state.connection.prepare(sql)?;
    let columns = statement.query_map(params![table, catalog, pattern], |row| {
        Ok(Column {
            name: row.get(0)?,
            ordinal: row.get(1)?,
            declared: row.get(2)?,
            default: row.get(3)?,
            nullable: row.get::<_, i64>(4)? == 0,
        })
    })?;
    columns.collect()
}

fn constraints_of(state: &State, catalog: &str, table: &str) -> rusqlite::Result<Vec<Constraint>> {
    let key = "SELECT name FROM pragma_table_info(?1, ?2) WHERE pk > 0 ORDER BY pk";
    let key = texts(state, key, &[&table, &catalog])?;
    let mut constraints = Vec::new();
    if !key.is_empty() {
        constraints.push(Constraint { kind: "PRIMARY KEY", columns: key, references: None });
    }
    let sql = "SELECT id, \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1, ?2) ORDER BY id, seq";
    let mut statement = state.connection.prepare(sql)?;
    let mut rows = statement.query([table, catalog])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let (id, from, parent): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let to: Option<String> = row.get(3)?;
        if last != Some(id) {
            constraints.push(Constraint {
                kind: "FOREIGN KEY",
                columns: Vec::new(),
                references: Some(Vec::new()),
            });
            last = Some(id);
        }
        if let Some(constraint) = constraints.last_mut() {
            constraint.columns.push(from);
            constraint.references.get_or_insert_default().push((parent, to.unwrap_or_default()));
        }
    }
    Ok(constraints)
}

fn tables_array(tables: &[&Table], catalogs: Vec<&str>, wanted: &Wanted<'_>) -> Result<StructArray> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(tables.iter().map(|table| &table.name)));
    let kinds: ArrayRef = Arc::new(StringArray::from_iter_values(tables.iter().map(|table| &table.kind)));
    let (columns, constraints) = match wanted.columns() {
        true => {
            let lengths: Vec<usize> = tables.iter().map(|table| table.columns.len()).collect();
            let columns = list(&COLUMN_SCHEMA, columns_array(tables)?, &lengths);
            let lengths: Vec<usize> = tables.iter().map(|table| table.constraints.len()).collect();
            (columns, list(&CONSTRAINT_SCHEMA, constraints_array(tables, &catalogs)?, &lengths))
        }
        false => (
            new_null_array(&DataType::new_list(COLUMN_SCHEMA.clone(), true), tables.len()),
            new_null_array(&DataType::new_list(CONSTRAINT_SCHEMA.clone(), true), tables.len()),
        ),
    };
    structs(&TABLE_SCHEMA, vec![names, kinds, columns, constraints])
}

fn columns_array(tables: &[&Table]) -> Result<StructArray> {
    let all: Vec<&Column> = tables.iter().flat_map(|table| &table.columns).collect();
    let fields = fields(&COLUMN_SCHEMA);
    let arrays = fields.iter().map(|field| -> ArrayRef {
        match field.name().as_str() {
            "column_name" => Arc::new(StringArray::from_iter_values(all.iter().map(|column| &column.name))),
            "ordinal_position" => {
                Arc::new(Int32Array::from_iter_values(all.iter().map(|column| column.ordinal)))
            }
            "xdbc_type_name" => {
                Arc::new(StringArray::from_iter_values(all.iter().map(|column| &column.declared)))
            }
            "xdbc_nullable" => {
                Arc::new(Int16Array::from_iter_values(all.iter().map(|column| i16::from(column.nullable))))
            }
            "xdbc_column_def" => {
                Arc::new(all.iter().map(|column| column.default.as_deref()).collect::<StringArray>())
            }
            "xdbc_is_nullable" => {
                let said = all.iter().map(|column| if column.nullable { "YES" } else { "NO" });
                Arc::new(StringArray::from_iter_values(said))
            }
            _ => new_null_array(field.data_type(), all.len()),
        }
    });
    structs(&COLUMN_SCHEMA, arrays.collect())
}

fn constraints_array(tables: &[&Table], catalogs: &[&str]) -> Result<StructArray> {
    let of_tables = tables.iter().zip(catalogs);
    let all: Vec<(&Constraint, &str)> =
        of_tables.flat_map(|(table, catalog)| table.constraints.iter().map(|one| (one, *catalog))).collect();
    let nameless = new_null_array(&DataType::Utf8, all.len());
    let kinds: ArrayRef = Arc::new(StringArray::from_iter_values(all.iter().map(|(one, _)| one.kind)));
    let names: ArrayRef =
        Arc::new(StringArray::from_iter_values(all.iter().flat_map(|(one, _)| &one.columns)));
    let lengths: Vec<usize> = all.iter().map(|(one, _)| one.columns.len()).collect();
    let names = list_of(Field::new_list_field(DataType::Utf8, true), names, &lengths, None);
    let references =
        all.iter().flat_map(|(one, catalog)| one.references.iter().flatten().map(move |to| (to, *catalog)));
    let references: Vec<(&(String, String), &str)> = references.collect();
    let usage = structs(
        &USAGE_SCHEMA,
        vec![
            Arc::new(StringArray::from_iter_values(references.iter().map(|(_, catalog)| *catalog))),
            Arc::new(StringArray::from(vec![""; references.len()])),
            Arc::new(StringArray::from_iter_values(references.iter().map(|((table, _), _)| table))),
            Arc::new(StringArray::from_iter_values(references.iter().map(|((_, column), _)| column))),
        ],
    )?;
    let lengths: Vec<usize> =
        all.iter().map(|(one, _)| one.references.as_ref().map_or(0, Vec::len)).collect();
    let valid = NullBuffer::from_iter(all.iter().map(|(one, _)| one.references.is_some()));
    let usage =
        list_of(Field::new_list_field(USAGE_SCHEMA.clone(), true), Arc::new(usage), &lengths, Some(valid));
    structs(&CONSTRAINT_SCHEMA, vec![nameless, kinds, names, usage])
}

fn fields(kind: &DataType) -> Fields {
    match kind {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    }
}

fn structs(kind: &DataType, arrays: Vec<ArrayRef>) -> Result<StructArray> {
    Ok(StructArray::try_new(fields(kind), arrays, None)?)
}

/// Divides an array of structs into lists: the first list has `lengths[0]` of the structs, and so on.
fn list(kind: &DataType, values: StructArray, lengths: &[usize]) -> ArrayRef {
    list_of(Field::new_list_field(kind.clone(), true), Arc::new(values), lengths, None)
}

fn list_of(field: Field, values: ArrayRef, lengths: &[usize], valid: Option<NullBuffer>) -> ArrayRef {
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(Arc::new(field), offsets, values, valid))
}
