//! The tables of a load: the files that fill each table, and the declarations of the tables.

pub(crate) mod existing;
mod keys;
pub(crate) mod table;

use std::collections::HashMap;
use std::path::Path;

use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_core::schema::{Schema, token};
use sqluice_core::similar::nearest;
use sqluice_core::source::{NoRows, Source};
use sqluice_engine::encode::Coercion;
use sqluice_engine::trees::Job;

use crate::expressions::row::listed;
use crate::full_text::add_taking_rows;
use crate::load::files::bad_files::BadFile;
use crate::load::files::file::LoadFile;
use crate::load::request::options::NameFrom;
use crate::load::request::{Request, of_made_sql};
use table::LoadTable;

/// Assigns each file to its table. Files that do not fit their tables are added to `bad`.
pub(crate) fn assign(load: &Request, files: Vec<LoadFile>, bad: &mut Vec<BadFile>) -> Result<Vec<LoadTable>> {
    let mut tables: Vec<LoadTable> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for file in files {
        let name = file.table.clone();
        let place = *places.entry(name.to_ascii_lowercase()).or_insert(tables.len());
        match tables.get_mut(place) {
            Some(table) if load.one_table().is_some() => table.files.push(file),
            Some(table) => return Err(same_table(&table.files[0], &file, load)),
            None => tables.push(LoadTable::new(name, place, file, load)),
        }
    }
    for table in &mut tables {
        table.find_expressions(load)?;
        bad.extend(table.make_columns(load)?);
    }
    tables.retain(|table| !table.files.is_empty());
    let ends = |bad: &[BadFile]| !bad.is_empty() && !load.skip_bad_files;
    if tables.is_empty() || ends(bad) {
        return Ok(tables);
    }
    check_names(load, &tables)?;
    for bare in tables.extract_if(.., |table| table.is_bare()) {
        bad.extend(bare.files.into_iter().map(|mut file| {
            let error = file.first_fault.take().unwrap_or_else(|| no_column(&file));
            BadFile::new(&file, error)
        }));
    }
    if tables.is_empty() || ends(bad) {
        return Ok(tables);
    }
    existing::check(load, &tables)?;
    keys::check_columns(load, &tables)?;
    Ok(tables)
}

/// Returns the error for two files that would make the same table.
fn same_table(first: &LoadFile, second: &LoadFile, load: &Request) -> Error {
    let message = format!("{} and {} would both make table {}", first.name(), second.name(), second.table);
    let one_table = message![Setting::Table.to("NAME"), " loads all files into one table"];
    let folder = |file: &LoadFile| Path::new(&file.name()).parent().map(Path::to_owned);
    Error::usage(message).hint(match load.name_from {
        NameFrom::File if folder(first) != folder(second) => {
            message![Setting::NameFrom.to("path"), " names tables after their folders, too; ", one_table]
        }
        _ => one_table,
    })
}

/// Returns the error for a file that has no column to load: it is empty, or the user selects none of its columns.
fn no_column(file: &LoadFile) -> Error {
    if file.names.is_empty() {
        let error = Error::input("the file has no record, so its columns are unknown");
        return error.at(Place::file(file.input.name())).hint(message![Setting::Schema, " declares them"]);
    }
    let names: Vec<&str> = file.names.iter().map(String::as_str).collect();
    let error = Error::usage(message![Setting::Columns, format!(" names no column of {}", file.name())]);
    error.hint(format!("the columns are: {}", listed(&names)))
}

/// Checks that each column that `types` or `columns` of the load names is in some file.
fn check_names(load: &Request, tables: &[LoadTable]) -> Result<()> {
    let files = || tables.iter().flat_map(|table| &table.files);
    let is_it = |name: &str, found: &String| found.eq_ignore_ascii_case(name);
    let in_files = |name: &str| files().flat_map(LoadFile::own_names).any(|found| is_it(name, found));
    // The results of expressions may have a declared type, too, so `types` may also name them.
    let in_tables = |name: &str| files().flat_map(|file| &file.names).any(|found| is_it(name, found));
    let typed = load.types.iter().map(|(name, _)| (Setting::Type, name));
    let selected = load.columns.iter().flatten().map(|name| (Setting::Columns, name));
    check_converted(load, tables)?;
    for (flag, name) in typed.chain(selected) {
        let is_found = in_files(name) || (flag == Setting::Type && in_tables(name));
        if !is_found {
            let names: Vec<&str> = tables[0].files[0].own_names().iter().map(String::as_str).collect();
            return Err(Error::usage(message![
                flag,
                format!(" names the column {name:?}, which no file has")
            ])
            .hint(format!("the columns are: {}", listed(&names))));
        }
    }
    Ok(())
}

/// Checks that each column that is to be converted is in some file, and is loaded.
fn check_converted(load: &Request, tables: &[LoadTable]) -> Result<()> {
    let files = || tables.iter().flat_map(|table| &table.files);
    for (name, conversion) in &load.conversions {
        let is_it = |found: &String| found.eq_ignore_ascii_case(name);
        let own_names = |file: &LoadFile| match &file.inputs {
            Some(inputs) => inputs.names.clone(),
            None => file.column_names(load),
        };
        let exists = files().any(|file| own_names(file).iter().any(is_it));
        let what = match exists {
            true if load.columns.as_ref().is_none_or(|selected| selected.iter().any(is_it)) => continue,
            true => "is not loaded",
            false => "no file has",
        };
        let message = message![conversion.setting(), format!(" names the column {name:?}, which {what}")];
        let first = files().next().map_or(Vec::new(), own_names);
        let names: Vec<&str> = first.iter().map(String::as_str).collect();
        let near = nearest(name, names.iter().copied()).filter(|_| !exists);
        let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
        return Err(Error::usage(message).hint(format!("{near}the columns are: {}", listed(&names))));
    }
    Ok(())
}

/// Returns the schema of the tables to write: what the user declares, and the tables and columns that the load creates for the files.
pub(crate) fn declare(load: &Request, tables: &[LoadTable]) -> Result<Schema> {
    let mut schema = declare_new(load, tables)?;
    let is_loaded = |name: &str| tables.iter().any(|table| table.name().eq_ignore_ascii_case(name));
    add_taking_rows(&mut schema, &load.full_text, is_loaded);
    match &load.existing {
        None => Ok(schema),
        Some(existing) => existing::with_tables(schema, existing, tables),
    }
}

/// Returns the declarations of the new tables.
fn declare_new(load: &Request, tables: &[LoadTable]) -> Result<Schema> {
    let tables: Vec<&LoadTable> = tables.iter().filter(|table| !table.exists()).collect();
    let (mut sql, file) = match &load.schema {
        Some(schema) if load.indexes.is_empty() && !tables.iter().any(|table| table.makes_columns()) => {
            return Ok(schema.clone());
        }
        Some(schema) => (ended(&schema.sql), schema.file.as_path()),
        None => (String::new(), Path::new("")),
    };
    for table in &tables {
        sql += &table.ddl(load);
    }
    sql += &keys::statements(load, &tables)?;
    Schema::parse(sql, file).map_err(of_made_sql)
}

/// Returns SQL text to which statements can be appended: its last statement and its last comment are terminated.
fn ended(sql: &str) -> String {
    let open = token::tokens(sql).last().is_some_and(|last| {
        let text = &sql[last.at.clone()];
        text.starts_with("/*") && !(text.len() >= 4 && text.ends_with("*/"))
    });
    format!("{sql}{}\n;\n", if open { "*/" } else { "" })
}

/// Pairs each table of `schema`, in order, with the source of its rows at the same index of `sources`. A table without a source gets no
/// rows.
pub(crate) fn jobs<'a>(
    schema: &'a Schema,
    sources: Vec<Option<Box<dyn Source + 'a>>>,
    coercion: Coercion,
) -> Vec<Job<'a>> {
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        coercion,
        source: source.unwrap_or_else(|| Box::new(NoRows)),
    });
    jobs.collect()
}
