//! The other doors: arguments in, the engine's call, its report out as JSON.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use serde::Serialize;
use sqluice::archive::{Compression, Layout, Pack, Selection, Unpack};
use sqluice::check::Check;
use sqluice::error::{Error, Result};
use sqluice::generate::{Generate, Preset};
use sqluice::index::Index;
use sqluice::input::Encoding;
use sqluice::load::{FileKind, Format, Load};
use sqluice::progress::{Cancel, Progress};
use sqluice::schema::Schema;

use crate::errors::raised;
use crate::options::{self, Options, choice};
use crate::run::run;

/// What a report is in JSON.
pub(crate) fn as_json(py: Python<'_>, report: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(report)
        .map_err(|error| raised(py, &Error::usage("the report is no JSON").because(error)))
}

/// Has the engine do `work`, and tells what came of it.
fn reported<T: Serialize + Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Progress, &Cancel) -> Result<T> + Send,
) -> PyResult<String> {
    let report = run(py, progress, work)?;
    as_json(py, &report)
}

/// A character of ASCII.
fn ascii(name: &str, character: Option<&String>) -> Result<Option<u8>> {
    match character.map(|character| character.as_bytes()) {
        None => Ok(None),
        Some([byte]) if byte.is_ascii() => Ok(Some(*byte)),
        Some(_) => Err(Error::usage(format!("{name} is not one character of ASCII"))),
    }
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LoadArgs {
    files: Vec<PathBuf>,
    table: Option<String>,
    format: Option<String>,
    delimiter: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    comment: Option<String>,
    header: Option<bool>,
    skip_lines: u64,
    null: Vec<String>,
    empty_as_text: bool,
    encoding: Option<String>,
    schema: Option<String>,
    types: Vec<(String, String)>,
    columns: Option<Vec<String>>,
    add_columns: bool,
    limit: Option<u64>,
    strict: bool,
    lossy: bool,
    decimal: String,
    timestamp: String,
    reject: Option<PathBuf>,
    max_rejects: Option<u64>,
    primary_key: Vec<String>,
    index: Vec<String>,
    unique: Vec<String>,
    without_rowid: bool,
}

impl LoadArgs {
    fn format(&self) -> Result<Format> {
        let kind = match self.format.as_deref() {
            None => None,
            Some("csv" | "tsv") => Some(FileKind::Csv),
            Some("ndjson") => Some(FileKind::Ndjson),
            Some("json") => Some(FileKind::Json),
            Some("parquet") => Some(FileKind::Parquet),
            Some("arrow") => Some(FileKind::Arrow),
            Some(other) => return Err(choice("format", other, "csv, tsv, ndjson, json, parquet or arrow")),
        };
        let tab = (self.format.as_deref() == Some("tsv")).then_some(b'\t');
        Ok(Format {
            kind,
            delimiter: ascii("delimiter", self.delimiter.as_ref())?.or(tab),
            quote: match &self.quote {
                Some(none) if none.is_empty() => Some(None),
                quote => ascii("quote", quote.as_ref())?.map(Some),
            },
            escape: ascii("escape", self.escape.as_ref())?,
            comment: ascii("comment", self.comment.as_ref())?,
            header: self.header,
            skip_lines: self.skip_lines,
            null: self.null.clone(),
            empty_as_text: self.empty_as_text,
            encoding: self.encoding.as_deref().map(str::parse::<Encoding>).transpose()?,
        })
    }

    fn load(self, target: PathBuf, write: &Options) -> Result<Load> {
        Ok(Load {
            format: self.format()?,
            table: self.table,
            schema: self.schema.map(|sql| Schema::parse(sql, Path::new("schema"))).transpose()?,
            types: self.types,
            strict: self.strict,
            columns: self.columns,
            add_columns: self.add_columns,
            limit: self.limit,
            arrow: options::arrow(&self.decimal, &self.timestamp)?,
            lossy: self.lossy,
            reject: self.reject,
            rejects_max: self.max_rejects.unwrap_or(u64::MAX),
            primary_key: self.primary_key,
            indexes: self.index,
            uniques: self.unique,
            without_rowid: self.without_rowid,
            write: write.write()?,
            ..Load::new(target, self.files)
        })
    }
}

/// Loads files.
#[pyfunction]
pub(crate) fn load(
    py: Python<'_>,
    target: PathBuf,
    args: LoadArgs,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |progress, cancel| args.load(target, &write)?.prepare(cancel)?.run(progress))
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GenerateArgs {
    schema: Option<String>,
    schema_file: Option<PathBuf>,
    preset: Option<String>,
    rows: Vec<(Option<String>, u64)>,
    seed: u64,
}

/// Makes rows up.
#[pyfunction]
pub(crate) fn generate(
    py: Python<'_>,
    target: Option<PathBuf>,
    args: GenerateArgs,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |progress, cancel| {
        let (schema, rows) = match (args.schema, args.schema_file, args.preset) {
            (Some(sql), None, None) => (Schema::parse(sql, Path::new("schema"))?, args.rows),
            (None, Some(file), None) => (Schema::read(&file)?, args.rows),
            (None, None, Some(name)) => {
                let preset = Preset::find(&name)?;
                (preset.schema(&args.rows)?, preset.rows(&args.rows))
            }
            _ => return Err(Error::usage("one of a schema, its file and a preset says what is made")),
        };
        let generate = Generate { target, schema, rows, seed: args.seed, write: write.write()? };
        generate.prepare()?.run(progress, cancel)
    })
}

/// Makes indexes.
#[pyfunction]
pub(crate) fn index(
    py: Python<'_>,
    target: PathBuf,
    statements: Vec<String>,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |progress, cancel| {
        let write = write.write()?;
        let index = Index { busy_timeout: write.busy_timeout, write, ..Index::new(target, statements) };
        index.run(progress, cancel)
    })
}

/// What a check found.
#[derive(Serialize)]
struct CheckReport {
    sound: bool,
    checksum: Option<String>,
    pages: u32,
    bytes: u64,
    rows: u64,
    problems: Vec<String>,
    problem_count: u64,
    sqlite_problems: Vec<String>,
    seconds: f64,
}

/// Looks whether a database is sound.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    target: PathBuf,
    full: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |progress, cancel| {
        let checked = Check { target, full, checksum: true, threads }.run(progress, cancel)?;
        Ok(CheckReport {
            sound: checked.is_sound(),
            rows: checked.rows(),
            checksum: checked.checksum,
            pages: checked.report.page_count,
            bytes: checked.bytes,
            problems: checked.report.problems.iter().map(ToString::to_string).collect(),
            problem_count: checked.report.problem_count,
            sqlite_problems: checked.sqlite_problems,
            seconds: checked.seconds,
        })
    })
}

fn layout(name: &str) -> Result<Option<Layout>> {
    match name {
        "auto" => Ok(None),
        "sqlar" => Ok(Some(Layout::Sqlar)),
        "kv" => Ok(Some(Layout::Kv)),
        other => Err(choice("layout", other, "sqlar or kv")),
    }
}

/// Packs a folder.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "all of them are named where it is called")]
pub(crate) fn pack(
    py: Python<'_>,
    target: PathBuf,
    folder: PathBuf,
    kept_as: &str,
    compress: bool,
    include: Vec<String>,
    exclude: Vec<String>,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |progress, cancel| {
        let pack = Pack {
            layout: layout(kept_as)?.unwrap_or_default(),
            compression: if compress { Compression::Deflate } else { Compression::None },
            selection: Selection::new(&include, &exclude)?,
            write: write.write()?,
            ..Pack::new(target, folder)
        };
        pack.prepare(cancel)?.run(progress, cancel)
    })
}

/// Unpacks an archive.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "all of them are named where it is called")]
pub(crate) fn unpack(
    py: Python<'_>,
    database: PathBuf,
    folder: PathBuf,
    kept_as: &str,
    include: Vec<String>,
    exclude: Vec<String>,
    overwrite: bool,
    tree: bool,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |progress, cancel| {
        let unpack = Unpack {
            layout: layout(kept_as)?,
            selection: Selection::new(&include, &exclude)?,
            overwrite,
            tree,
            threads,
            ..Unpack::new(database, folder)
        };
        unpack.run(progress, cancel)
    })
}
