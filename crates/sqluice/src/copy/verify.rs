//! Verifies the sources of copies and merges, and adds remedies to errors about damaged sources.

use sqluice_core::error::{DamagedTree, Error, Message, Result, Setting, message};
use sqluice_core::schema::Schema;
use sqluice_core::sqlite_error::needs_application;
use sqluice_engine::verification::Verification;
use sqluice_reader::Snapshot;
use sqluice_reader::connection::unreadable;

use crate::check::spec;

/// Returns the checks for the pages of a source. With `no_verify`, two checks are off: that index entries match their rows, and that
/// values suit their columns.
///
/// # Errors
/// If SQLite can't compute the defaults of columns.
pub(crate) fn verification<'a>(
    snapshot: &'a Snapshot,
    schema: &Schema,
    no_verify: bool,
) -> Result<Verification<'a>> {
    let encoding = snapshot.header().used_text_encoding();
    let tables = match no_verify {
        true => Vec::new(),
        false => spec::tables(schema, encoding).map_err(|error| unreadable(snapshot.name(), error))?,
    };
    Ok(Verification::new(snapshot, tables))
}

/// Adds a remedy to the error for a damaged table or index. `without` returns the setting that leaves the object out, if any.
pub(crate) fn with_remedy(mut error: Error, without: impl FnOnce(&DamagedTree) -> Option<Message>) -> Error {
    let Some(tree) = error.take_damaged() else { return error };
    let mut hint = Message::default();
    if tree.is_content && tree.is_index {
        hint.push("REINDEX in the source makes its indexes anew; ");
    }
    if let Some(without) = without(&tree) {
        hint.push(without);
        hint.push("; ");
    }
    if tree.is_content {
        hint.push(Setting::NoVerify);
        hint.push(" copies it as it is; ");
    }
    hint.push("`sqluice check` lists the faults");
    error.hint(hint)
}

/// If a table can't be read because it needs a collation, function, tokenizer or module of an application, adds the setting that leaves the
/// table out to the error.
pub(crate) fn of_application(error: Error, table: &str) -> Error {
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    match without_table(table) {
        Some(without) if needs_application(&cause) => error.hint(message![
            "the table needs a collation, function, tokenizer or module that only the program that uses the table has; ",
            without
        ]),
        _ => error,
    }
}

/// Returns the setting that leaves a table out, as a hint; `None` for SQLite's own tables.
pub(crate) fn without_table(table: &str) -> Option<Message> {
    let is_internal = table.to_ascii_lowercase().starts_with("sqlite_");
    let leaves_out = || message![Setting::ExcludeTable.to(table), " leaves the table out"];
    (!is_internal).then(leaves_out)
}
