//! Checks that the settings of a load fit the tables that the database already has, and builds the schema of all tables that the load
//! writes.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::{Schema, Table};
use sqluice_engine::options::IfExists;
use sqluice_engine::target::TargetSnapshot;

use super::table::LoadTable;
use crate::expressions::row::listed;
use crate::load::request::{Request, of_made_sql};

/// Checks that the load's types, declarations and upsert columns fit the tables that the database already has.
pub(crate) fn check(load: &Request, tables: &[LoadTable]) -> Result<()> {
    if let Some(first) = tables.first().filter(|_| tables.iter().all(LoadTable::exists)) {
        refuse_declarations(load, first)?;
    }
    if let Some((column, _)) = load.types.iter().find(|(column, _)| !is_new(column, tables, load)) {
        let message = message![
            Setting::Type,
            format!(" can't change the type of column {column}: the existing table has this column already")
        ];
        return Err(Error::usage(message).hint("leave it out; values are converted as the table says"));
    }
    for table in tables {
        if let (IfExists::Upsert(keys), Some(own)) = (&load.write.if_exists, load.has(table.name())) {
            check_keys(keys, table, own, load)?;
        }
    }
    Ok(())
}

/// Refuses settings that declare new tables (STRICT, keys, WITHOUT ROWID and others) if the load creates no table.
fn refuse_declarations(load: &Request, table: &LoadTable) -> Result<()> {
    let said = [
        (Setting::Strict, load.strict, "the table stays as it is".into()),
        (
            Setting::PrimaryKey,
            !load.primary_key.is_empty(),
            message!["the table has its keys; ", Setting::Upsert, " names one of them"],
        ),
        (Setting::WithoutRowid, load.without_rowid, "the table stays as it is".into()),
        (Setting::Unique, !load.uniques.is_empty(), "create it afterwards: CREATE UNIQUE INDEX ...".into()),
        (Setting::Index, !load.indexes.is_empty(), "create it afterwards: CREATE INDEX ...".into()),
    ];
    match said.into_iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((flag, _, hint)) => {
            let message = message![
                flag,
                format!(" is for new tables, and {} has table {}", load.target.display(), table.name())
            ];
            Err(Error::usage(message).hint(message!["leave it out: ", hint]))
        }
    }
}

/// Returns `true` if the load adds a column of this name to some table, or expressions may use a column of this name of the files.
fn is_new(column: &str, tables: &[LoadTable], load: &Request) -> bool {
    let in_files = |table: &LoadTable| table.files.iter().any(|file| file.gives(load, column));
    tables
        .iter()
        .any(|table| table.makes(column) || (!table.exists() && in_files(table)) || table.has_input(column))
}

/// Checks that the columns of an upsert are in the files, and that they are a key of the table.
fn check_keys(keys: &[String], table: &LoadTable, own: &Table, load: &Request) -> Result<()> {
    check_columns(keys, own)?;
    let is_given =
        |key: &&String| table.given(own, load).any(|(index, given)| Some(index) == own.column(key) && given);
    if let Some(key) = keys.iter().find(|key| !is_given(key)) {
        let message = message![Setting::Upsert, format!(" names the column {key:?}, which no file has")];
        return Err(Error::usage(message).hint("rows are found by the values of these columns"));
    }
    check_key(keys, own)
}

/// Checks that a table has the columns of an upsert.
fn check_columns(keys: &[String], own: &Table) -> Result<()> {
    let Some(key) = keys.iter().find(|key| own.column(key).is_none()) else { return Ok(()) };
    let names: Vec<&str> = own.columns.iter().map(|column| column.name.as_str()).collect();
    let message = message![
        Setting::Upsert,
        format!(" names the column {key:?}, which table {} does not have", own.name)
    ];
    Err(Error::usage(message).hint(format!("the columns are: {}", listed(&names))))
}

/// Checks that the columns of an upsert are a key of a table.
pub(crate) fn check_key(keys: &[String], own: &Table) -> Result<()> {
    check_columns(keys, own)?;
    let name = &own.name;
    let is_key = |names: &Vec<&str>| {
        names.len() == keys.len()
            && keys.iter().all(|key| names.iter().any(|name| name.eq_ignore_ascii_case(key)))
    };
    let name_of = |column: usize| own.columns[column].name.as_str();
    let named = |key: Vec<usize>| key.into_iter().map(name_of).collect();
    let known: Vec<Vec<&str>> = own.unique_keys().into_iter().map(named).collect();
    if known.iter().any(is_key) {
        return Ok(());
    }
    let message = format!("no PRIMARY KEY or UNIQUE constraint of table {name} is on {}", keys.join(", "));
    let known: Vec<String> = known.iter().map(|names| names.join(",")).collect();
    Err(Error::usage(message).hint(match known.is_empty() {
        true => format!("create one: CREATE UNIQUE INDEX ... ON {name} ({})", keys.join(", ")).into(),
        false => message![Setting::Upsert, format!(" can name {}", known.join(", or "))],
    }))
}

/// Returns the schema of the tables to write: the new tables of `declared`, and the existing tables that get rows. Other existing tables
/// are left out.
pub(crate) fn with_tables(
    declared: Schema,
    existing: &TargetSnapshot,
    tables: &[LoadTable],
) -> Result<Schema> {
    let mut schema = existing.combine(declared)?;
    schema.tables.retain(|table| existing.table(&table.name).is_none());
    for table in tables {
        if let Some(own) = existing.table(table.name()) {
            schema.tables.push(altered(own, table)?);
        }
    }
    // Tables are created in the order of their files, and tables without rows last.
    let place =
        |table: &Table| tables.iter().position(|loaded| loaded.name().eq_ignore_ascii_case(&table.name));
    schema.tables.sort_by_key(|table| place(table).unwrap_or(usize::MAX));
    Ok(schema)
}

/// Returns the declaration of the existing table `own` after the load has added its new columns by ALTER TABLE.
fn altered(own: &Table, table: &LoadTable) -> Result<Table> {
    let mut altered = own.clone();
    let alter: Vec<String> = table.alter().collect();
    if !alter.is_empty() {
        let sql = format!("{}\n;\n{};\n", own.sql, alter.join(";\n"));
        let schema = Schema::parse(sql, std::path::Path::new("")).map_err(of_made_sql)?;
        let columns = schema.tables.into_iter().flat_map(|table| table.columns);
        altered.columns.extend(columns.skip(own.columns.len()));
    }
    Ok(altered)
}
