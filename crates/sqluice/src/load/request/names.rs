//! Names of columns, tables and indexes, as requests and messages use them.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::Schema;
use sqluice_engine::target::TargetSnapshot;
use sqluice_sources::convert::MomentForm;

/// Returns an error if two of the names are the same to SQLite, which ignores the case of ASCII letters.
pub(crate) fn refuse_twice(flag: Setting, names: &[String]) -> Result<()> {
    let is_again =
        |index: &usize| names[..*index].iter().any(|name| name.eq_ignore_ascii_case(&names[*index]));
    match (0..names.len()).find(is_again) {
        Some(index) => {
            Err(Error::usage(message![flag, format!(" names the column {:?} twice", names[index])])
                .hint("SQLite ignores the case of ASCII letters in names"))
        }
        None => Ok(()),
    }
}

/// Refuses a name with a NUL character, as SQL text ends at NUL. `what` is the named thing, such as a column.
pub(crate) fn refuse_nul(what: &str, name: &str) -> Result<()> {
    if !name.contains('\0') {
        return Ok(());
    }
    let message =
        format!("the name {name:?} of {what} has a NUL character, which no name in SQLite can have");
    Err(Error::input(message).hint("rename it").of_column(name))
}

/// Returns, for each column of an existing table, the notation of its timestamps; `None` if the column has no timestamps, or they have
/// the notation of a new table.
pub(crate) fn moment_forms(existing: &TargetSnapshot, table: &str) -> Vec<Option<MomentForm>> {
    let last_texts = existing.about(table).map_or(&[][..], |about| &about.last_texts);
    last_texts.iter().map(|text| MomentForm::of(text.as_deref()?)).collect()
}

/// Returns the names of the tables, indexes and views of a schema, in lower case.
pub(crate) fn names_in(schema: &Schema) -> Vec<String> {
    let indexes = schema.tables.iter().flat_map(|table| &table.indexes).map(|index| &index.name);
    let tables = schema.tables.iter().map(|table| &table.name);
    let others = schema.others.iter().map(|object| &object.name);
    tables.chain(indexes).chain(others).map(|name| name.to_ascii_lowercase()).collect()
}
