//! The options of an export.

use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;
use sqluice_reader::snapshot::ReadOptions;
use sqluice_writers::compression::Compression;
use sqluice_writers::formats::OutputFormat;
use sqluice_writers::unfit::Mixed;

/// The destination of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A file, or a folder for a file of each table.
    Path(PathBuf),
    /// Standard output.
    Stdout,
}

/// An export of tables, or of the rows of a query, to files. A file in the format [`SQL`](crate::export::formats::SQL) gets the whole
/// database, or the given tables with their indexes and triggers.
///
/// ```no_run
/// use sqluice::export::Export;
///
/// let export = Export::new("shop.db", "orders.csv.gz").tables(["orders"]);
/// let report = export.run()?;
/// println!("{} rows", report.rows());
/// # Ok::<(), sqluice::error::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Export {
    /// The database.
    pub source: PathBuf,
    /// The destination of the rows.
    pub target: Target,
    /// The tables and views. If empty: the only table of the database, or all tables if the target is a folder or an SQL file.
    pub tables: Vec<String>,
    /// A query instead of tables; `None` for tables.
    pub query: Option<String>,
    /// The columns, in order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// An SQL condition: only rows for which it is true are exported. `None` for all rows.
    pub filter: Option<String>,
    /// The maximum number of rows of each table; `None` for all.
    pub limit: Option<u64>,
    /// The format; `None` for the format that the extension of the file names.
    pub format: Option<&'static OutputFormat>,
    /// `true` if existing files are replaced.
    pub overwrite: bool,
    /// The treatment of values of another kind than their column, such as a text in a column of integers.
    pub mixed: Mixed,
    /// `true` if text in columns declared DATE, DATETIME or TIMESTAMP becomes dates and timestamps, in formats that have these types.
    pub dates: bool,
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// The options for reading the database.
    pub read: ReadOptions,
}

impl TakesSettings for Export {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Query => self.query = Some(value.to()?),
            Setting::Columns => self.columns = Some(value.to()?),
            Setting::Where => self.filter = Some(value.to()?),
            Setting::Limit => self.limit = Some(value.to()?),
            Setting::Format => self.format = Some(value.to::<String>()?.parse()?),
            Setting::Overwrite => self.overwrite = value.to()?,
            Setting::Mixed => self.mixed = given_mixed(value)?,
            Setting::Dates => self.dates = value.to()?,
            Setting::Threads => self.threads = Some(value.to()?),
            _ => return self.read.set(setting, value),
        }
        Ok(true)
    }
}

/// Parses the setting `mixed`, the treatment of values of another kind than their column, such as a text in a column of integers.
pub(crate) fn given_mixed(value: &Value) -> Result<Mixed> {
    let words = [("error", Mixed::Error), ("text", Mixed::Text), ("null", Mixed::Null)];
    value.word(Setting::Mixed, &words)
}

setters! { Export:
    /// Sets the tables and views.
    tables(tables: impl IntoIterator<Item = impl Into<String>>) = tables.into_iter().map(Into::into).collect();
    /// Sets a query whose rows are exported, instead of tables.
    query(query: impl Into<Option<String>>) = query.into();
    /// Sets the columns, in order; `None` for all.
    columns(columns: impl Into<Option<Vec<String>>>) = columns.into();
    /// Exports only rows for which an SQL condition is true.
    filter(filter: impl Into<Option<String>>) = filter.into();
    /// Sets the maximum number of rows of each table; `None` for all.
    limit(limit: impl Into<Option<u64>>) = limit.into();
    /// Sets the format; `None` for the format that the extension of the file names.
    format(format: impl Into<Option<&'static OutputFormat>>) = format.into();
    /// Replaces existing files.
    overwrite(overwrite: bool) = overwrite;
    /// Sets the treatment of values of another kind than their column, such as a text in a column of integers.
    mixed(mixed: Mixed) = mixed;
    /// Converts text in columns declared DATE, DATETIME or TIMESTAMP to dates and timestamps, in formats that have these types.
    dates(dates: bool) = dates;
    /// Sets the number of threads; `None` for one per core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets the options for reading the database.
    read(read: ReadOptions) = read;
}

impl Export {
    /// Creates an export from the database `source` to a file or folder.
    pub fn new(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Export {
        Export::of(source.into(), Target::Path(target.into()))
    }

    /// Creates an export from the database `source` to standard output.
    pub fn to_stdout(source: impl Into<PathBuf>) -> Export {
        Export::of(source.into(), Target::Stdout)
    }

    fn of(source: PathBuf, target: Target) -> Export {
        Export {
            source,
            target,
            tables: Vec::new(),
            query: None,
            columns: None,
            filter: None,
            limit: None,
            format: None,
            overwrite: false,
            mixed: Mixed::default(),
            dates: false,
            threads: None,
            read: ReadOptions::new(),
        }
    }

    /// Returns `true` if the export is an SQL dump.
    pub(super) fn is_dump(&self) -> bool {
        let Target::Path(path) = &self.target else { return self.format.is_some_and(OutputFormat::is_dump) };
        self.format_of(Some(path)).is_ok_and(|(format, _)| format.is_dump())
    }

    /// Refuses options that contradict a dump.
    fn check_dump(&self) -> Result<()> {
        let given = [
            (Setting::Query, self.query.is_some()),
            (Setting::Columns, self.columns.is_some()),
            (Setting::Where, self.filter.is_some()),
            (Setting::Limit, self.limit.is_some()),
            (Setting::Mixed, self.mixed != Mixed::default()),
            (Setting::Dates, self.dates),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((setting, _)) => {
                let message = message![*setting, " has no meaning for SQL, which has whole tables"];
                Err(Error::usage(message)
                    .hint("leave it out, or export the rows in another format, such as CSV"))
            }
            None => Ok(()),
        }
    }

    /// Refuses contradictory options.
    pub(super) fn check(&self) -> Result<()> {
        let both = |one: Setting, other: Setting| {
            let message = message![one, " and ", other, " do not go together"];
            Err(Error::usage(message).hint("a query names tables, columns and conditions itself"))
        };
        match () {
            () if self.threads == Some(0) => {
                Err(Error::usage(message![Setting::Threads, " must be at least 1"]))
            }
            () if self.is_dump() => self.check_dump(),
            () if self.query.is_none() => Ok(()),
            () if self.columns.is_some() => both(Setting::Query, Setting::Columns),
            () if self.filter.is_some() => both(Setting::Query, Setting::Where),
            () if !self.tables.is_empty() => {
                let message = message![Setting::Query, " is given, and tables are too"];
                Err(Error::usage(message).hint("leave one of the two out"))
            }
            () => Ok(()),
        }
    }

    /// Returns the format, from the setting or the extension of the file, and the compression, from the extension. `path` is `None` for
    /// standard output.
    pub(super) fn format_of(&self, path: Option<&Path>) -> Result<(&'static OutputFormat, Compression)> {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let last = path.and_then(extension);
        let compression = match last.as_deref() {
            Some("gz" | "gzip") => Compression::Gzip,
            Some("zst" | "zstd") => Compression::Zstd,
            _ => Compression::None,
        };
        let named = match compression {
            Compression::None => last,
            _ => path.and_then(Path::file_stem).and_then(|stem| extension(Path::new(stem))),
        };
        let format = self.format.or_else(|| OutputFormat::of_extension(&named?));
        let Some(format) = format else {
            let what = path.map_or("standard output".to_owned(), |path| path.display().to_string());
            return Err(Error::usage(format!("no format is known for {what}"))
                .hint(message!["say which: ", Setting::Format.to("csv")]));
        };
        if format.is_columnar() && compression != Compression::None {
            return Err(Error::usage(format!("{} files are not compressed as a whole", format.words))
                .hint("leave the last extension, such as .gz or .zst, out of the name"));
        }
        Ok((format, compression))
    }
}
