//! The package's words for what messages name as data: parameters of its functions.
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

/// Whose parameters they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Function {
    /// Of `load`, and of all that have the same.
    #[default]
    Load,
    /// Of `generate`.
    Generate,
    /// Of `read` and `export`.
    Read,
    /// Of `write` and `Writer`.
    Write,
}

impl Function {
    /// A message in these terms. A setting without a parameter is named as the engine has it.
    pub(crate) fn rendered(self, message: &Message) -> String {
        message.render(|setting, value| self.term(setting, value))
    }

    /// A report with its notes in these terms.
    pub(crate) fn report(self, report: Report) -> Report {
        report.in_terms(|setting, value| self.term(setting, value))
    }

    fn term(self, setting: Setting, value: Option<&str>) -> String {
        self.parameter(setting, value).unwrap_or_else(|| setting.name().replace('_', " "))
    }

    /// A hint in these terms; `None`: it names something that can't be set here.
    pub(crate) fn hint(self, message: &Message) -> Option<String> {
        let all_known = message.settings().all(|setting| self.parameter(setting, None).is_some());
        all_known.then(|| self.rendered(message))
    }

    /// A setting as an argument, with its value if it has one, or as the name of the parameter; `None`: no parameter sets it.
    fn parameter(self, setting: Setting, value: Option<&str>) -> Option<String> {
        if self == Function::Write && !is_of_write(setting) {
            return None;
        }
        match setting {
            // The types of columns are a part of the schema there.
            Setting::Type if self == Function::Write => {
                return Some(
                    value.map_or("`schema`".to_owned(), |column| format!("schema={}", typed(column))),
                );
            }
            // `read` takes the number of a part.
            Setting::Part if self == Function::Read => {
                return Some(value.map_or("`part`".to_owned(), |part| format!("part={part}")));
            }
            Setting::Upsert => {
                // Made-up rows have no key to find others by.
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

/// Returns the parameter that sets a setting, and the word that does so if the parameter takes one of several words; `None`: no parameter
/// of its own sets it.
pub(crate) fn place(setting: Setting, declaration: &Declaration) -> Option<(String, Option<String>)> {
    let (name, word) = match setting {
        Setting::Append => ("if_exists", Some("append")),
        Setting::ReplaceTable => ("if_exists", Some("replace")),
        Setting::Upsert => ("if_exists", Some("upsert")),
        Setting::Kv => ("layout", Some("kv")),
        // `header` sets it.
        Setting::NoHeader => return None,
        Setting::ExcludeTable => ("exclude_tables", None),
        // The table of `load` is one for most files.
        Setting::Table if declaration.value_name != "NAME" => ("tables", None),
        _ => (setting.name(), None),
    };
    Some((name.to_owned(), word.map(str::to_owned)))
}

/// Returns a value as Python writes it.
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

/// One name, or a list of those with commas between them.
fn strings(names: &str) -> String {
    match names.contains(',') {
        true => format!("{:?}", names.split(',').map(str::trim).collect::<Vec<_>>()),
        false => format!("{names:?}"),
    }
}

/// Bytes, which may be given in a binary unit.
fn bytes(size: &str) -> String {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let in_unit = units.iter().find_map(|(unit, bits)| {
        let count = size.strip_suffix(unit)?.trim();
        count.parse::<u64>().is_ok().then(|| format!("{count} << {bits}"))
    });
    in_unit.unwrap_or_else(|| size.to_owned())
}

/// How many rows: of all tables, or of one.
fn rows(rows: &str) -> String {
    match rows.split_once('=') {
        Some((table, count)) => format!("{{{table:?}: {}}}", integer(count)),
        None => integer(rows),
    }
}

/// A number of rows with a unit, as Python writes it.
fn integer(count: &str) -> String {
    let units = [("K", "_000"), ("M", "_000_000"), ("G", "_000_000_000")];
    let in_unit = units.iter().find_map(|(unit, zeros)| {
        let count = count.strip_suffix(unit)?;
        count.parse::<u64>().is_ok().then(|| format!("{count}{zeros}"))
    });
    in_unit.unwrap_or_else(|| count.to_owned())
}

/// A column with its type: `price=REAL`.
fn typed(column: &str) -> String {
    match column.rsplit_once('=') {
        Some((column, declared)) => format!("{{{column:?}: {declared:?}}}"),
        None => column.to_owned(),
    }
}

/// A column with the words for true and false: `paid=ja/nein`.
fn words(column: &str) -> String {
    let parts = column.rsplit_once('=').and_then(|(column, words)| Some((column, words.split_once('/')?)));
    match parts {
        Some((column, (yes, no))) => format!("{{{column:?}: ({yes:?}, {no:?})}}"),
        None => strings(column),
    }
}

/// All settings and what they are called here, without a value and with one; for tests.
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
