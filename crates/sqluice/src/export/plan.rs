//! The plan of an export: the rows and columns of each file, and the method of reading them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::remote::without_secrets;
use sqluice_core::schema::Schema;
use sqluice_engine::output::WholeFile;
use sqluice_engine::plan::path_as_text;
use sqluice_platform::paths::ends_with_separator;
use sqluice_platform::tree::refused_component;
use sqluice_reader::Snapshot;
use sqluice_reader::rows::{ReadPath, Rows, Selection};
use sqluice_writers::compression::Compression;

use sqluice_writers::formats::OutputFormat;

use super::dump::Dump;
use super::options::{Export, Target};
use crate::remote;

/// The plan of an export.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExportPlan {
    /// The database.
    pub source: PathBuf,
    /// `true` if the database was downloaded to a temporary file first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// The journal mode of the database.
    pub journal_mode: String,
    /// `true` if other processes can commit to the database while it is read.
    pub lets_others_commit: bool,
    /// The number of threads.
    pub threads: usize,
    /// The files.
    pub files: Vec<PlannedFile>,
}

/// The content of a planned file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedFile {
    /// The table or view; `None` for a query and for a dump.
    pub table: Option<String>,
    /// The file; `None` for standard output.
    #[serde(serialize_with = "path_as_text")]
    pub path: Option<PathBuf>,
    /// The format.
    pub format: &'static OutputFormat,
    /// The program that reads the rows: `pages` if this crate reads the pages, or `sqlite`. For a dump, `sqlite` if SQLite reads some of
    /// the tables.
    pub read_by: &'static str,
    /// The names of the columns; empty for a dump.
    pub columns: Vec<String>,
    /// The tables of a dump, in the order of `sqlite_schema`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<String>,
    /// Notes about differences that loading the file back would make, as far as they are known before the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The content of a file.
pub(super) enum Content {
    Rows(Rows),
    Dump(Dump),
}

/// A file to write, and its content.
pub(super) struct Wanted {
    pub(super) content: Content,
    /// The path of the file; `None` for standard output.
    pub(super) path: Option<PathBuf>,
    pub(super) format: &'static OutputFormat,
    pub(super) compression: Compression,
}

/// An open database, and the files to write.
pub(super) struct Opened {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) wanted: Vec<Wanted>,
    pub(super) threads: usize,
    /// The folder to create; `None` if it exists, or for a single file.
    pub(super) new_folder: Option<PathBuf>,
}

impl Export {
    /// Opens the database, and finds the rows that the options select.
    pub(super) fn open(&self, context: &Context<'_>) -> Result<Opened> {
        self.check()?;
        let folder = std::env::temp_dir();
        let snapshot = remote::snapshot(&self.source, &folder, &self.read, context)?;
        let snapshot = Arc::new(snapshot);
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.threads.unwrap_or_else(cores);
        if self.is_dump() {
            let dump = Dump::new(&snapshot, &self.tables, &context.cancel)?;
            let wanted = vec![self.dump(dump, &snapshot)?];
            return Ok(Opened { snapshot, wanted, threads, new_folder: None });
        }
        let schema = snapshot.schema()?;
        let folder = self.folder(&schema);
        let mut wanted = Vec::new();
        if let Some(sql) = &self.query {
            let rows = Rows::of_query(&snapshot, sql, self.limit)?;
            if let Some(folder) = folder {
                return Err(Error::usage(format!("{} is a folder", folder.display()))
                    .hint("name a file for the rows of the query"));
            }
            wanted.push(self.wanted(rows, None, &HashSet::new())?);
        } else {
            let selection = Selection::default()
                .columns(self.columns.clone())
                .filter(self.filter.clone())
                .limit(self.limit);
            let tables = self.tables_of(&schema, folder.is_some())?;
            // A table whose name is a valid file name keeps it, even if the name of an earlier table is changed to the same file name.
            let kept = tables.iter().filter(|table| as_file_name(table) == **table);
            let mut taken: HashSet<String> = kept.map(|table| table.to_ascii_lowercase()).collect();
            for table in tables {
                let rows = Rows::of_table(&snapshot, &schema, &table, &selection)?;
                let file = self.wanted(rows, folder, &taken)?;
                let stem = file.path.as_deref().and_then(Path::file_stem);
                taken.extend(stem.map(|stem| stem.to_string_lossy().to_ascii_lowercase()));
                wanted.push(file);
            }
        }
        let paths: Vec<&PathBuf> = wanted.iter().filter_map(|wanted| wanted.path.as_ref()).collect();
        let mut seen: HashSet<OsString> = HashSet::new();
        for path in paths {
            if !seen.insert(path.as_os_str().to_ascii_lowercase()) {
                return Err(Error::usage(format!("two tables would be the file {}", path.display()))
                    .hint("export them one by one"));
            }
            refuse_source(path, &snapshot)?;
            WholeFile::refuse(path, self.overwrite)?;
        }
        let new_folder = folder.filter(|folder| !folder.is_dir()).map(Path::to_owned);
        Ok(Opened { snapshot, wanted, threads, new_folder })
    }

    /// Returns the file for a dump.
    fn dump(&self, dump: Dump, snapshot: &Snapshot) -> Result<Wanted> {
        let path = match &self.target {
            Target::Path(path) => Some(path.clone()),
            Target::Stdout => None,
        };
        if let Some(path) = &path {
            if path.is_dir() || ends_with_separator(path) {
                let message = format!("{} is a folder, and SQL is one file for all tables", path.display());
                return Err(Error::usage(message).hint(message![
                    "name a file: ",
                    Setting::To.to(path.join("dump.sql").display().to_string())
                ]));
            }
            refuse_source(path, snapshot)?;
            WholeFile::refuse(path, self.overwrite)?;
        }
        let (format, compression) = self.format_of(path.as_deref())?;
        Ok(Wanted { content: Content::Dump(dump), path, format, compression })
    }

    /// Returns the folder for the files, or `None` for a single file.
    fn folder(&self, schema: &Schema) -> Option<&Path> {
        let Target::Path(path) = &self.target else { return None };
        let several = match (&self.query, self.tables.len()) {
            (Some(_), _) => false,
            // If no tables are named, each table gets a file in a folder, unless the database has only one table or the path is that of a
            // file.
            (None, 0) => schema.tables.len() != 1 && !is_file_name(path),
            (None, tables) => tables > 1,
        };
        let ends_in_slash = ends_with_separator(path);
        (several || ends_in_slash || path.is_dir()).then_some(path)
    }

    fn tables_of(&self, schema: &Schema, into_folder: bool) -> Result<Vec<String>> {
        if !self.tables.is_empty() {
            if self.tables.len() > 1 && self.target == Target::Stdout {
                return Err(Error::usage("several tables do not fit into one output")
                    .hint(message!["name a folder for them: ", Setting::To.to("FOLDER")]));
            }
            return Ok(self.tables.clone());
        }
        let names = || schema.tables.iter().map(|table| table.name.clone());
        match schema.tables.len() {
            0 => Err(Error::input(format!("{} has no tables", without_secrets(&self.source).display()))
                .hint("name a view, or give a query")),
            1 => Ok(names().collect()),
            _ if into_folder => Ok(names().collect()),
            _ => {
                let names: Vec<String> = names().collect();
                let message = format!(
                    "{} has several tables: {}",
                    without_secrets(&self.source).display(),
                    names.join(", ")
                );
                Err(Error::usage(message)
                    .hint(message!["name one, or a folder for all of them: ", Setting::To.to("FOLDER")]))
            }
        }
    }

    /// Returns the file for `rows`. A file in `folder` gets the name of its table; a name that is not valid for a file is changed to one
    /// that `taken` does not have.
    fn wanted(&self, rows: Rows, folder: Option<&Path>, taken: &HashSet<String>) -> Result<Wanted> {
        let path = match (&self.target, folder) {
            (Target::Stdout, _) => None,
            (Target::Path(path), None) => Some(path.clone()),
            (Target::Path(_), Some(folder)) => {
                let (format, _) = self.format_of(None).map_err(|_| {
                    Error::usage(format!("no format is known for the files in {}", folder.display()))
                        .hint(message!["say which: ", Setting::Format.to("csv")])
                })?;
                Some(folder.join(file_name(rows.name(), format.extensions[0], taken)))
            }
        };
        let (format, compression) = self.format_of(path.as_deref())?;
        Ok(Wanted { content: Content::Rows(rows), path, format, compression })
    }

    /// Returns the plan of the export.
    pub(super) fn plan(&self, context: &Context<'_>) -> Result<ExportPlan> {
        let opened = self.open(context)?;
        let read_by = |path: ReadPath| match path {
            ReadPath::Pages => "pages",
            ReadPath::Sqlite => "sqlite",
        };
        let planned = |Wanted { content, path, format, .. }: &Wanted| {
            let (table, reader, columns, tables, notes) = match content {
                Content::Rows(rows) => {
                    let table = self.query.is_none().then(|| rows.name().to_owned());
                    let columns = rows.columns().iter().map(|column| column.name.clone()).collect();
                    (table, rows.read_path(), columns, Vec::new(), Vec::new())
                }
                Content::Dump(dump) => {
                    let by_sqlite = dump.tables().any(|table| table.rows.read_path() == ReadPath::Sqlite);
                    let reader = if by_sqlite { ReadPath::Sqlite } else { ReadPath::Pages };
                    let tables = dump.tables().map(|table| table.rows.name().to_owned()).collect();
                    (None, reader, Vec::new(), tables, dump.notes.clone())
                }
            };
            let (path, read_by) = (path.clone(), read_by(reader));
            PlannedFile { table, path, format, read_by, columns, tables, notes }
        };
        Ok(ExportPlan {
            source: opened.snapshot.name().to_owned(),
            fetched: opened.snapshot.is_fetched(),
            journal_mode: opened.snapshot.journal_mode().to_owned(),
            lets_others_commit: opened.snapshot.lets_others_commit(),
            threads: opened.threads,
            files: opened.wanted.iter().map(planned).collect(),
        })
    }
}

/// Returns the name of a table, with `_` in place of characters that a file name can't have, or before a name that no file may have.
fn as_file_name(table: &str) -> String {
    let mut name: String = table.chars().map(|c| if "/\\\0".contains(c) { '_' } else { c }).collect();
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    // Change names that an operating system reserves.
    if refused_component(name.as_bytes()).is_some() {
        name = name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
    }
    if refused_component(name.as_bytes()).is_some() {
        name.insert(0, '_');
    }
    name
}

/// Returns the file name for a table: the name of the table if it is a valid file name, or else a changed name that is not in `taken`.
/// The names in `taken` are in lower case and without extensions.
fn file_name(table: &str, extension: &str, taken: &HashSet<String>) -> String {
    let plain = as_file_name(table);
    let is_taken = |name: &str| taken.contains(&name.to_ascii_lowercase());
    let mut name = plain.clone();
    let mut number = 2;
    while plain != table && is_taken(&name) {
        name = format!("{plain}-{number}");
        number += 1;
    }
    format!("{name}.{extension}")
}

/// Returns `true` if a path has the extension of an export file.
fn is_file_name(path: &Path) -> bool {
    Export::new("", path).format_of(Some(path)).is_ok()
}

/// Refuses to overwrite the database that is read.
fn refuse_source(path: &Path, snapshot: &Snapshot) -> Result<()> {
    match sqluice_platform::paths::canonical(path) {
        Ok(target) if target == snapshot.path() => {
            Err(Error::usage(format!("{} is the database that is read", path.display()))
                .hint("name another file"))
        }
        _ => Ok(()),
    }
}

/// Formats the plan as `--dry-run` prints it.
impl fmt::Display for ExportPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = match self.lets_others_commit {
            true => "others can commit meanwhile",
            false => "others cannot commit until all is read",
        };
        let ExportPlan { source, journal_mode, threads, .. } = self;
        writeln!(f, "{}: journal mode {journal_mode}, {others}; {threads} threads", source.display())?;
        for PlannedFile { table, path, format, read_by, columns, tables, notes } in &self.files {
            let what = match (table, format.is_dump()) {
                (Some(table), _) => format!("table {table}"),
                (None, true) => "database".to_owned(),
                (None, false) => "query".to_owned(),
            };
            let path = path.as_ref().map_or("standard output".to_owned(), |path| path.display().to_string());
            let how = match *read_by {
                "pages" => "by pages, on all cores",
                _ if format.is_dump() => "by pages and by SQLite",
                _ => "by SQLite",
            };
            writeln!(f, "{what} to {path} ({}), read {how}", format.words)?;
            let parts = if format.is_dump() { tables } else { columns };
            if !parts.is_empty() {
                writeln!(f, "  {}", parts.join(", "))?;
            }
            for note in notes {
                writeln!(f, "  {note}")?;
            }
        }
        Ok(())
    }
}
