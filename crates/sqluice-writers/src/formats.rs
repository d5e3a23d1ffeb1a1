//! The list of formats of exported files. The command line, help texts and messages take the names and extensions from this list.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use sqluice_core::error::Error;
use sqluice_core::similar;

use crate::text::TextFormat;

/// A format of files that can be written.
#[non_exhaustive]
pub struct OutputFormat {
    /// The name in settings and reports: `csv`.
    pub name: &'static str,
    /// The name in messages: `CSV`.
    pub words: &'static str,
    /// A phrase for help texts.
    pub about: &'static str,
    /// The extensions of file names, in lower case. New files get the first one.
    pub extensions: &'static [&'static str],
    /// The encoder of the format.
    pub encoder: Encoder,
}

/// The encoder of a format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Encoder {
    /// Text: [`TextEncoder`](crate::text::TextEncoder).
    Text(TextFormat),
    /// Statements that make the whole database: [`SqlEncoder`](crate::sql::SqlEncoder).
    Sql,
    /// Typed columns: pages of Parquet, which are compressed one by one.
    Parquet,
    /// Typed columns: record batches of Arrow.
    Arrow,
}

/// All formats, in the order in which help texts list them.
pub static ALL: &[&OutputFormat] = &[&CSV, &TSV, &NDJSON, &JSON, &PARQUET, &ARROW, &SQL];

/// Fields between commas.
pub static CSV: OutputFormat = OutputFormat {
    name: "csv",
    words: "CSV",
    about: "Fields separated by commas",
    extensions: &["csv", "txt"],
    encoder: Encoder::Text(TextFormat::Csv { delimiter: b',' }),
};

/// Fields between tabs.
pub static TSV: OutputFormat = OutputFormat {
    name: "tsv",
    words: "TSV",
    about: "Fields separated by tabs",
    extensions: &["tsv", "tab"],
    encoder: Encoder::Text(TextFormat::Csv { delimiter: b'\t' }),
};

/// JSON objects, one on each line.
pub static NDJSON: OutputFormat = OutputFormat {
    name: "ndjson",
    words: "NDJSON",
    about: "JSON objects, one per line",
    extensions: &["ndjson", "jsonl", "ldjson"],
    encoder: Encoder::Text(TextFormat::Ndjson),
};

/// A JSON array of objects.
pub static JSON: OutputFormat = OutputFormat {
    name: "json",
    words: "JSON",
    about: "A JSON array of objects",
    extensions: &["json"],
    encoder: Encoder::Text(TextFormat::Json),
};

/// Parquet.
pub static PARQUET: OutputFormat = OutputFormat {
    name: "parquet",
    words: "Parquet",
    about: "Parquet",
    extensions: &["parquet", "pq"],
    encoder: Encoder::Parquet,
};

/// Arrow IPC files.
pub static ARROW: OutputFormat = OutputFormat {
    name: "arrow",
    words: "Arrow IPC",
    about: "An Arrow IPC file",
    extensions: &["arrow", "feather", "ipc"],
    encoder: Encoder::Arrow,
};

/// SQL statements that make the database.
pub static SQL: OutputFormat = OutputFormat {
    name: "sql",
    words: "SQL",
    about: "SQL statements that make the whole database",
    extensions: &["sql"],
    encoder: Encoder::Sql,
};

impl OutputFormat {
    /// Returns `true` for Parquet and Arrow, whose files store a type for each column.
    pub fn is_columnar(&self) -> bool {
        matches!(self.encoder, Encoder::Parquet | Encoder::Arrow)
    }

    /// Returns `true` if a file is an SQL dump: the declarations and rows of a whole database or of some tables.
    pub fn is_dump(&self) -> bool {
        matches!(self.encoder, Encoder::Sql)
    }

    /// Returns the format whose files have the given extension (in lower case, without the dot); `None` if no format has it.
    pub fn of_extension(extension: &str) -> Option<&'static OutputFormat> {
        ALL.iter().copied().find(|format| format.extensions.contains(&extension))
    }
}

/// Returns the names of all formats, for help texts and messages.
pub fn names() -> String {
    ALL.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

impl fmt::Debug for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for OutputFormat {
    fn eq(&self, other: &OutputFormat) -> bool {
        self.name == other.name
    }
}

impl Eq for OutputFormat {}

/// Serializes the name.
impl Serialize for OutputFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Finds a format by its name.
impl FromStr for &'static OutputFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<&'static OutputFormat, Error> {
        ALL.iter().copied().find(|format| format.name == name).ok_or_else(|| {
            let hint = similar::hint(name, ALL.iter().map(|format| format.name));
            Error::usage(format!("no format is called {name:?}")).hint(hint)
        })
    }
}
