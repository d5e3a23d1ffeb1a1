//! The other commands: arguments in, the engine's call, its report out as JSON.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use serde::Serialize;
use sqluice::archive::{Compression, Layout, Pack, Selection, Unpack};
use sqluice::check::{Check, Unverified};
use sqluice::convert::Convert;
use sqluice::copy::{AutoVacuum, Copy, JournalMode, MaskFile, Masking, Purpose, read_key};
use sqluice::error::{Error, Result, Setting, message};
use sqluice::export::{Export, OutputFormat, formats as output_formats};
use sqluice::generate::{Extent, Generate, Preset};
use sqluice::index::Index;
use sqluice::input::Encoding;
use sqluice::load::{FileFormat, FormatOptions, Load, NameFrom, formats as input_formats};
use sqluice::merge::{Merge, Orphans};
use sqluice::profile::Profile;
use sqluice::progress::Context;
use sqluice::remote;
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::source::json::RecordsPath;
use sqluice::tpch::Tpch;

use crate::errors::raised;
use crate::options::{self, Options, choice, requests};
use crate::read::ReadArgs;
use crate::run::run;
use crate::terms::Function;

/// What a report is in JSON.
pub(crate) fn as_json(py: Python<'_>, report: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(report)
        .map_err(|error| raised(py, &Error::usage("the report is no JSON").because(error)))
}

/// A report with its notes in the terms of the package.
#[derive(Serialize)]
pub(crate) struct Noted {
    #[serde(flatten)]
    report: Report,
    notes: Vec<String>,
}

impl Noted {
    /// With the notes of the report after those of the package itself.
    pub(crate) fn new(report: Report, function: Function, mut notes: Vec<String>) -> Noted {
        notes.extend(report.notes.iter().map(|note| function.rendered(note)));
        Noted { report: function.report(report), notes }
    }
}

/// Has the engine do `work`, and returns its report.
pub(crate) fn reported<T: Serialize + Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Context<'_>) -> Result<T> + Send,
) -> PyResult<String> {
    let report = run(py, Function::default(), progress, work)?;
    as_json(py, &report)
}

/// A character of ASCII with a role in CSV; the empty text: no character has it.
fn role(name: &str, character: Option<&String>) -> Result<Option<Option<u8>>> {
    match character.map(|character| character.as_bytes()) {
        None => Ok(None),
        Some([]) => Ok(Some(None)),
        Some([byte]) if byte.is_ascii() => Ok(Some(Some(*byte))),
        Some(_) => Err(Error::usage(format!("{name} is not one character of ASCII"))),
    }
}

/// Finds the format of files to load.
fn input_format(name: &str) -> Result<&'static FileFormat> {
    name.parse().map_err(|_| choice("format", name, &input_formats::names()))
}

/// Finds the format of files to export.
fn output_format(name: &str) -> Result<&'static OutputFormat> {
    name.parse().map_err(|_| choice("format", name, &output_formats::names()))
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LoadArgs {
    files: Vec<PathBuf>,
    table: Option<String>,
    name_from: String,
    format: Option<String>,
    delimiter: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    comment: Option<String>,
    header: Option<bool>,
    skip_lines: Option<u64>,
    null: Vec<String>,
    empty_as_text: bool,
    pad: bool,
    strict_quotes: bool,
    encoding: Option<String>,
    records: Option<String>,
    schema: Option<String>,
    schema_file: Option<PathBuf>,
    types: Vec<(String, String)>,
    date: Vec<(String, String)>,
    boolean: Vec<(String, Option<(String, String)>)>,
    decimal_comma: Vec<String>,
    thousands: Vec<(String, String)>,
    columns: Option<Vec<String>>,
    add_columns: bool,
    limit: Option<u64>,
    strict: bool,
    lossy: bool,
    decimal: String,
    timestamp: String,
    reject: Option<PathBuf>,
    overwrite_reject: bool,
    max_rejects: Option<u64>,
    skip_bad_files: bool,
    primary_key: Vec<String>,
    index: Vec<String>,
    unique: Vec<String>,
    without_rowid: bool,
}

impl LoadArgs {
    fn format(&self) -> Result<FormatOptions> {
        let mut format = FormatOptions::new()
            .format(self.format.as_deref().map(input_format).transpose()?)
            .header(self.header)
            .skip_lines(self.skip_lines)
            .null(&self.null)
            .empty_as_text(self.empty_as_text)
            .pad(self.pad)
            .strict_quotes(self.strict_quotes);
        format.delimiter = self.delimiter.as_deref().map(str::parse).transpose()?;
        format.quote = role("quote", self.quote.as_ref())?;
        format.escape = role("escape", self.escape.as_ref())?;
        format.comment = role("comment", self.comment.as_ref())?;
        format.encoding = self.encoding.as_deref().map(str::parse::<Encoding>).transpose()?;
        format.records = self.records.as_deref().map(RecordsPath::parse).transpose()?;
        Ok(format)
    }

    /// The columns whose text means something else.
    fn convert(&self) -> Vec<(String, Convert)> {
        Convert::all(&self.date, &self.boolean, &self.decimal_comma, &self.thousands)
    }

    fn load(self, target: PathBuf, write: &Options) -> Result<Load> {
        let schema = match (self.schema.clone(), &self.schema_file) {
            (Some(sql), _) => Some(Schema::parse(sql, Path::new("schema"))?),
            (None, Some(file)) => Some(Schema::read(file)?),
            (None, None) => None,
        };
        let format = self.format()?;
        let name_from = match self.name_from.as_str() {
            "file" => NameFrom::File,
            "path" => NameFrom::Path,
            other => return Err(choice("name_from", other, "file or path")),
        };
        let mut load = Load::new(target, &self.files)
            .format(format)
            .name_from(name_from)
            .schema(schema)
            .convert(self.convert())
            .types(self.types)
            .strict(self.strict)
            .add_columns(self.add_columns)
            .limit(self.limit)
            .arrow(options::arrow(&self.decimal, &self.timestamp)?)
            .lossy(self.lossy)
            .overwrite_reject(self.overwrite_reject)
            .rejects_max(self.max_rejects.unwrap_or(u64::MAX))
            .skip_bad_files(self.skip_bad_files)
            .primary_key(self.primary_key)
            .indexes(self.index)
            .uniques(self.unique)
            .without_rowid(self.without_rowid)
            .write(write.write()?);
        (load.table, load.columns, load.reject) = (self.table, self.columns, self.reject);
        Ok(load)
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
    reported(py, progress, |context| {
        let load = args.load(target, &write)?;
        Ok(Noted::new(load.run_with(context)?, Function::Load, Vec::new()))
    })
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GenerateArgs {
    schema: Option<String>,
    schema_file: Option<PathBuf>,
    preset: Option<String>,
    scale: Option<f64>,
    rows: Vec<(Option<String>, u64)>,
    like: Option<PathBuf>,
    rows_scale: Option<f64>,
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
    let report = run(py, Function::Generate, progress, |context| {
        let write = write.write()?;
        let (schema, rows) = match (args.schema, args.schema_file, args.preset) {
            (None, None, None) if args.like.is_some() => {
                let source = args.like.unwrap_or_default();
                let described = Profile::new(source).threads(write.threads).run_with(context)?;
                (described.schema()?, args.rows)
            }
            _ if args.like.is_some() => {
                return Err(Error::usage(message![
                    Setting::Like,
                    " is what the schema is made of: no other one can be given"
                ]));
            }
            (None, None, Some(name)) if name == TPCH => {
                let scale = args.scale.ok_or_else(no_scale)?;
                if !args.rows.is_empty() {
                    return Err(Error::usage("the scale says how many rows TPC-H has")
                        .hint(message!["leave out ", Setting::Rows]));
                }
                let report = Tpch::without_target(scale).target(target).write(write).run_with(context)?;
                return Ok(Noted::new(report, Function::Generate, Vec::new()));
            }
            _ if args.scale.is_some() => {
                return Err(Error::usage(message!["only the preset ", TPCH, " has a scale"])
                    .hint(message![Setting::Rows, " says how many rows"]));
            }
            (Some(sql), None, None) => (Schema::parse(sql, Path::new("schema"))?, args.rows),
            (None, Some(file), None) => (Schema::read(&file)?, args.rows),
            (None, None, Some(name)) => {
                let preset = Preset::find(&name)?;
                (preset.schema()?, preset.rows(&args.rows))
            }
            _ => {
                return Err(Error::usage("the schema is missing, or given twice").hint(message![
                    "give either ",
                    Setting::Schema,
                    " or ",
                    Setting::Preset,
                    " or ",
                    Setting::Like
                ]));
            }
        };
        let mut generate = Generate::without_target(schema).target(target).seed(args.seed).write(write);
        generate.rows = rows;
        generate.extent = Extent::new().scale(args.rows_scale);
        Ok(Noted::new(generate.run_with(context)?, Function::Generate, Vec::new()))
    })?;
    as_json(py, &report)
}

/// The preset whose size is a scale.
const TPCH: &str = "tpch";

fn no_scale() -> Error {
    Error::usage("the scale of TPC-H is missing").hint(message![
        Setting::Scale.to("1"),
        " is 8.7 million rows and 1.3 GB, ",
        Setting::Scale.to("0.01"),
        " a hundredth of that"
    ])
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
    reported(py, progress, |context| {
        let write = write.write()?;
        let index = Index::new(target, statements).busy_timeout(write.busy_timeout).write(write);
        index.run_with(context)
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
    remarks: Vec<String>,
    unverified: Vec<Unverified>,
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
    reported(py, progress, |context| {
        let checked = Check::new(target).full(full).checksum(true).threads(threads).run_with(context)?;
        Ok(CheckReport {
            sound: checked.is_sound(),
            rows: checked.rows(),
            checksum: checked.checksum,
            pages: checked.report.page_count,
            bytes: checked.bytes,
            problems: checked.report.problems.iter().map(ToString::to_string).collect(),
            problem_count: checked.report.problem_count,
            remarks: checked.report.remarks.iter().map(ToString::to_string).collect(),
            unverified: checked.unverified,
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
    reported(py, progress, |context| {
        let pack = Pack::new(target, folder)
            .layout(layout(kept_as)?.unwrap_or_default())
            .compression(if compress { Compression::Deflate } else { Compression::None })
            .selection(Selection::new(&include, &exclude)?)
            .write(write.write()?);
        pack.run_with(context)
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
    reported(py, progress, |context| {
        let unpack = Unpack::new(database, folder)
            .layout(layout(kept_as)?)
            .selection(Selection::new(&include, &exclude)?)
            .overwrite(overwrite)
            .tree(tree)
            .threads(threads);
        unpack.run_with(context)
    })
}

/// Exports tables or a query.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "all of them are named where it is called")]
pub(crate) fn export(
    py: Python<'_>,
    source: PathBuf,
    to: PathBuf,
    tables: Vec<String>,
    format: Option<String>,
    overwrite: bool,
    args: ReadArgs,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report = run(py, Function::Read, progress, |context| {
        let format = format.as_deref().map(output_format).transpose()?;
        let (mixed, options) = (args.mixed()?, args.options()?);
        let export = Export::new(source, to)
            .tables(tables)
            .query(args.query)
            .columns(args.columns)
            .filter(args.filter)
            .limit(args.limit)
            .format(format)
            .overwrite(overwrite)
            .mixed(mixed)
            .dates(args.dates)
            .threads(args.threads)
            .read(options);
        export.run_with(context)
    })?;
    as_json(py, &report)
}

/// What a copy takes besides its files and how it is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CopyArgs {
    compact: bool,
    page_size: Option<u32>,
    tables: Vec<String>,
    exclude_tables: Vec<String>,
    no_indexes: bool,
    no_verify: bool,
    force: bool,
    journal_mode: Option<String>,
    auto_vacuum: Option<String>,
    user_version: Option<i32>,
    application_id: Option<i32>,
    interior_first: bool,
    purpose: Option<String>,
    mask: Option<String>,
    mask_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    strict_mask: bool,
    busy_limit: Option<f64>,
}

impl CopyArgs {
    fn masking(&self) -> Result<Option<Masking>> {
        let file = match (&self.mask, &self.mask_file) {
            (Some(sql), _) => MaskFile::new(Schema::parse(sql.clone(), Path::new("mask"))?)?,
            (None, Some(file)) => MaskFile::read(file)?,
            (None, None) => return Ok(None),
        };
        let masking = Masking::new(file)?.strict(self.strict_mask);
        Ok(Some(match &self.key_file {
            Some(key) => masking.key(read_key(key)?),
            None => masking,
        }))
    }

    fn purpose(&self) -> Result<Option<Purpose>> {
        match self.purpose.as_deref() {
            None => Ok(None),
            Some("http") => Ok(Some(Purpose::Http)),
            Some("datasette") => Ok(Some(Purpose::Datasette)),
            Some("turso") => Ok(Some(Purpose::Turso)),
            Some("d1") => Ok(Some(Purpose::D1)),
            Some("mobile") => Ok(Some(Purpose::Mobile)),
            Some(other) => Err(choice("purpose", other, "http, datasette, turso, d1 or mobile")),
        }
    }

    fn journal_mode(&self) -> Result<Option<JournalMode>> {
        match self.journal_mode.as_deref() {
            None => Ok(None),
            Some("delete") => Ok(Some(JournalMode::Delete)),
            Some("wal") => Ok(Some(JournalMode::Wal)),
            Some(other) => Err(choice("journal_mode", other, "delete or wal")),
        }
    }

    fn auto_vacuum(&self) -> Result<Option<AutoVacuum>> {
        match self.auto_vacuum.as_deref() {
            None => Ok(None),
            Some("none") => Ok(Some(AutoVacuum::None)),
            Some("full") => Ok(Some(AutoVacuum::Full)),
            Some("incremental") => Ok(Some(AutoVacuum::Incremental)),
            Some(other) => Err(choice("auto_vacuum", other, "none, full or incremental")),
        }
    }
}

/// Copies a database.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    args: CopyArgs,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |context| {
        let (journal_mode, auto_vacuum, purpose) =
            (args.journal_mode()?, args.auto_vacuum()?, args.purpose()?);
        let copy = Copy::new(source, target)
            .mask(args.masking()?)
            .compact(args.compact)
            .page_size(args.page_size.map(options::page_size).transpose()?)
            .tables(args.tables)
            .exclude_tables(args.exclude_tables)
            .no_indexes(args.no_indexes)
            .no_verify(args.no_verify)
            .force(args.force)
            .busy_limit(args.busy_limit.map(options::seconds).transpose()?)
            .journal_mode(journal_mode)
            .auto_vacuum(auto_vacuum)
            .user_version(args.user_version)
            .application_id(args.application_id)
            .interior_first(args.interior_first)
            .purpose(purpose)
            .write(write.write()?);
        copy.run_with(context)
    })
}

/// The files that names and patterns mean.
#[pyfunction]
pub(crate) fn expand(
    py: Python<'_>,
    patterns: Vec<PathBuf>,
    timeout: Option<f64>,
    retries: Option<u32>,
) -> PyResult<Vec<OsString>> {
    let files = run(py, Function::default(), None, |context| {
        remote::expand_within(&patterns, &requests(timeout, retries)?, &context.cancel)
    })?;
    Ok(files.into_iter().map(PathBuf::into_os_string).collect())
}

/// What a merge takes besides its files and how it is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MergeArgs {
    keep_rowids: bool,
    renumber: Vec<String>,
    rewrite_references: bool,
    reference: Vec<String>,
    no_reference: Vec<String>,
    orphans: String,
    add_columns: bool,
    source_column: Option<String>,
    exclude_tables: Vec<String>,
    no_verify: bool,
    compact: bool,
    busy_limit: Option<f64>,
}

/// Merges databases.
#[pyfunction]
pub(crate) fn merge(
    py: Python<'_>,
    target: PathBuf,
    sources: Vec<PathBuf>,
    args: MergeArgs,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    reported(py, progress, |context| {
        let orphans = match &*args.orphans {
            "refuse" => Orphans::Refuse,
            "keep" => Orphans::Keep,
            other => return Err(choice("orphans", other, "refuse or keep")),
        };
        let merge = Merge::new(target, sources)
            .keep_rowids(args.keep_rowids)
            .renumber(args.renumber)
            .rewrite_references(args.rewrite_references)
            .references(args.reference)
            .no_references(args.no_reference)
            .orphans(orphans)
            .add_columns(args.add_columns)
            .source_column(args.source_column)
            .no_verify(args.no_verify)
            .exclude_tables(args.exclude_tables)
            .compact(args.compact)
            .busy_limit(args.busy_limit.map(options::seconds).transpose()?)
            .write(write.write()?);
        merge.run_with(context)
    })
}
