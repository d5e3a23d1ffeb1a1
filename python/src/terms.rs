//! Renders the settings in messages as parameters of Python functions.
//!
//! ```text
//!  temp_dir, DIR       temp_dir="DIR"             append          if_exists="append"
//!  primary_key, A,B    primary_key=["A", "B"]     no_header       header=False
//!  memory, 64MiB       memory=64 << 20            columns         `columns`
//!  preview             no parameter: a hint that names it is left out
//!  types, A=TEXT       types={"A": "TEXT"}, but schema={"A": "TEXT"} of `write`
//! ```

use pyo3::prelude::*;
use sqluice::error::{Message, Setting};
use sqluice::report::Report;
use sqluice::settings::{Declaration, Kind, Taker, Verb};

/// The function whose parameters a message names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Function {
    /// `load`, and all functions that are not listed here.
    #[default]
    Load,
    /// `generate`.
    Generate,
    /// `read`, `export` and `profile`.
    Read,
    /// `write` and `Writer`.
    Write,
}

impl Function {
    /// Returns the text of a message. A setting for which the function has no parameter is named in plain words.
    pub(crate) fn rendered(self, message: &Message) -> String {
        message.render(|setting, value| self.term(setting, value))
    }

    /// Returns a report whose notes name settings as parameters.
    pub(crate) fn report(self, report: Report) -> Report {
        report.in_terms(|setting, value| self.term(setting, value))
    }

    fn term(self, setting: Setting, value: Option<&str>) -> String {
        self.parameter(setting, value).unwrap_or_else(|| setting.name().replace('_', " "))
    }

    /// Returns the text of a hint; `None` if it names a setting for which the function has no parameter.
    pub(crate) fn hint(self, message: &Message) -> Option<String> {
        let all_known = message.settings().all(|setting| self.parameter(setting, None).is_some());
        all_known.then(|| self.rendered(message))
    }

    /// Returns a setting as an argument, such as `table="a"`, or without a value as the name of the parameter; `None` if no parameter sets
    /// it.
    fn parameter(self, setting: Setting, value: Option<&str>) -> Option<String> {
        if self == Function::Write && !is_of_write(setting) {
            return None;
        }
        match setting {
            // `write` takes types of columns as its parameter `schema`.
            Setting::Type if self == Function::Write => {
                return Some(
                    value.map_or("`schema`".to_owned(), |column| format!("schema={}", typed(column))),
                );
            }
            // The parameter `part` of `read` is a pair of numbers.
            Setting::Part if self == Function::Read => {
                return Some(value.map_or("`part`".to_owned(), |part| format!("part={part}")));
            }
            Setting::Upsert => {
                // `generate` has no parameter `primary_key`.
                let key = value.filter(|_| self != Function::Generate);
                let key = key.map_or(String::new(), |key| format!(", primary_key={}", strings(key)));
                return Some(format!("if_exists=\"upsert\"{key}"));
            }
            Setting::Discard => return Some("db=None".to_owned()),
            Setting::NoHeader => return Some("header=False".to_owned()),
            Setting::Compress => {
                let compresses = value != Some("none");
                return Some(if compresses { "compress=True" } else { "compress=False" }.to_owned());
            }
            Setting::Quote if value == Some("none") => return Some("quote=\"\"".to_owned()),
            Setting::ExcludeTable => {
                return Some(match value {
                    Some(table) => format!("exclude_tables=[{table:?}]"),
                    None => "`exclude_tables`".to_owned(),
                });
            }
            _ => {}
        }
        let mut declarations = Verb::ALL.iter().filter_map(|verb| verb.declaration(setting));
        let declaration = declarations.find(|declaration| declaration.taker != Taker::Command)?;
        let (name, word) = place(setting, declaration)?;
        match (word, value) {
            (Some(word), _) => Some(format!("{name}={word:?}")),
            (None, _) if matches!(declaration.kind, Kind::Switch | Kind::YesOrNo) => {
                Some(format!("{name}=True"))
            }
            (None, None) => Some(format!("`{name}`")),
            (None, Some(value)) => Some(format!("{name}={}", argument(declaration.kind, value))),
        }
    }
}

/// Returns the parameter that sets a setting. If the parameter takes one of several words, also returns the word that means this setting,
/// such as `append` of `if_exists`. Returns `None` if no parameter sets it.
pub(crate) fn place(setting: Setting, declaration: &Declaration) -> Option<(String, Option<String>)> {
    let (name, word) = match setting {
        Setting::Append => ("if_exists", Some("append")),
        Setting::ReplaceTable => ("if_exists", Some("replace")),
        Setting::Upsert => ("if_exists", Some("upsert")),
        Setting::Kv => ("layout", Some("kv")),
        // The parameter `header` sets it, with the opposite meaning.
        Setting::NoHeader => return None,
        Setting::ExcludeTable => ("exclude_tables", None),
        // `load` calls the parameter `table`, because a load usually names one table.
        Setting::Table if declaration.value_name != "NAME" => ("tables", None),
        _ => (setting.name(), None),
    };
    Some((name.to_owned(), word.map(str::to_owned)))
}

/// Returns a value in Python syntax.
fn argument(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Booleans if value.contains('=') => words(value),
        Kind::Booleans | Kind::Columns | Kind::Names => strings(value),
        Kind::Indexes => format!("[{value:?}]"),
        Kind::Bytes => bytes(value),
        Kind::RowCounts => rows(value),
        Kind::Types | Kind::Dates | Kind::Separators | Kind::Expressions | Kind::Renames => typed(value),
        Kind::Count | Kind::Unsigned | Kind::Integer(..) | Kind::Real | Kind::Duration | Kind::PageSize => {
            value.to_owned()
        }
        _ => format!("{value:?}"),
    }
}

/// Returns `true` if `write` or `Writer` has a parameter for a setting.
fn is_of_write(setting: Setting) -> bool {
    use Setting::*;
    matches!(
        setting,
        Analyze
            | Append
            | AssumeUnused
            | BusyTimeout
            | Columns
            | Decimal
            | ForeignKeys
            | Index
            | Memory
            | OnConflict
            | Overwrite
            | PageSize
            | PrimaryKey
            | ReplaceTable
            | Retries
            | Schema
            | Strict
            | Table
            | TempDir
            | Threads
            | Timeout
            | Timestamp
            | Type
            | Unique
            | Upsert
            | WithoutRowid
    )
}

/// Returns names in Python syntax: a str, or a list if there are commas.
fn strings(names: &str) -> String {
    match names.contains(',') {
        true => format!("{:?}", names.split(',').map(str::trim).collect::<Vec<_>>()),
        false => format!("{names:?}"),
    }
}

/// Returns a number of bytes in Python syntax: `64MiB` is `64 << 20`.
fn bytes(size: &str) -> String {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let in_unit = units.iter().find_map(|(unit, bits)| {
        let count = size.strip_suffix(unit)?.trim();
        count.parse::<u64>().is_ok().then(|| format!("{count} << {bits}"))
    });
    in_unit.unwrap_or_else(|| size.to_owned())
}

/// Returns a row count in Python syntax: a number for all tables, or a dict for one table.
fn rows(rows: &str) -> String {
    match rows.split_once('=') {
        Some((table, count)) => format!("{{{table:?}: {}}}", integer(count)),
        None => integer(rows),
    }
}

/// Returns a row count with a unit in Python syntax: `10K` is `10_000`.
fn integer(count: &str) -> String {
    let units = [("K", "_000"), ("M", "_000_000"), ("G", "_000_000_000")];
    let in_unit = units.iter().find_map(|(unit, zeros)| {
        let count = count.strip_suffix(unit)?;
        count.parse::<u64>().is_ok().then(|| format!("{count}{zeros}"))
    });
    in_unit.unwrap_or_else(|| count.to_owned())
}

/// Returns a pair such as `price=REAL` as a dict in Python syntax.
fn typed(column: &str) -> String {
    match column.rsplit_once('=') {
        Some((column, declared)) => format!("{{{column:?}: {declared:?}}}"),
        None => column.to_owned(),
    }
}

/// Returns a column with its words for true and false, such as `paid=ja/nein`, as a dict in Python syntax.
fn words(column: &str) -> String {
    let parts = column.rsplit_once('=').and_then(|(column, words)| Some((column, words.split_once('/')?)));
    match parts {
        Some((column, (yes, no))) => format!("{{{column:?}: ({yes:?}, {no:?})}}"),
        None => strings(column),
    }
}

/// Returns all settings with their terms for each function, without a value and with one; for tests.
#[pyfunction]
pub(crate) fn setting_terms() -> Vec<(&'static str, Vec<Option<String>>)> {
    let all = Setting::all().map(|setting| {
        let functions = [Function::Load, Function::Generate, Function::Read, Function::Write];
        let terms = functions.iter().flat_map(|function| {
            [None, Some("A")].into_iter().map(|value| function.parameter(setting, value))
        });
        (setting.name(), terms.collect())
    });
    all.collect()
}
