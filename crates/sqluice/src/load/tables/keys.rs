//! Checks that each key and index that a load requests fits some table, and writes the CREATE INDEX statements of the requested indexes.

use sqluice_core::error::{Error, Result, Setting, message};

use super::table::LoadTable;
use crate::expressions::row::listed;
use crate::load::request::Request;
use crate::load::request::key_specs::specs;
use crate::load::request::names::names_in;

/// Checks that each requested key and index has a new table with all of its columns.
pub(crate) fn check_columns(load: &Request, tables: &[LoadTable]) -> Result<()> {
    // Existing tables get no new keys, so only new tables are checked.
    let tables: Vec<&LoadTable> = tables.iter().filter(|table| !table.exists()).collect();
    if tables.is_empty() {
        return Ok(());
    }
    let needs = |flag: Setting, names: &[&str]| match tables.iter().any(|table| table.has_all(load, names)) {
        true => Ok(()),
        false => Err(no_table(load, &tables, flag, names)),
    };
    let key: Vec<&str> = load.primary_key.iter().map(String::as_str).collect();
    needs(Setting::PrimaryKey, &key)?;
    specs(load)?.iter().try_for_each(|spec| needs(spec.flag(), &spec.names()))
}

fn no_table(load: &Request, tables: &[&LoadTable], flag: Setting, names: &[&str]) -> Error {
    let unknown = names.iter().find(|name| !tables.iter().any(|table| table.has_all(load, &[name])));
    let columns = tables[0].column_names(load);
    let hint = match tables {
        [_] => format!("the columns are: {}", listed(&columns)),
        [first, ..] => format!("those of table {} are: {}", first.name(), listed(&columns)),
        [] => String::new(),
    };
    match unknown {
        Some(name) => {
            Error::usage(message![flag, format!(" names the column {name:?}, which no table has")]).hint(hint)
        }
        None => {
            Error::usage(message!["no table has all columns of ", flag, ": ", names.join(", ")]).hint(hint)
        }
    }
}

/// Returns the CREATE INDEX statements of the requested indexes, for each of `tables` that has all columns of the index.
pub(crate) fn statements(load: &Request, tables: &[&LoadTable]) -> Result<String> {
    let mut taken = load.schema.as_ref().map(names_in).unwrap_or_default();
    taken.extend(load.existing.iter().flat_map(|existing| names_in(&existing.schema)));
    taken.extend(tables.iter().map(|table| table.name().to_ascii_lowercase()));
    let mut sql = String::new();
    for spec in specs(load)? {
        let names = spec.names();
        for table in tables.iter().filter(|table| table.has_all(load, &names)) {
            let own: Vec<&str> = names.iter().map(|name| table.spelled(load, name)).collect();
            sql += &spec.statement(table.name(), &own, &mut taken);
        }
    }
    Ok(sql)
}
