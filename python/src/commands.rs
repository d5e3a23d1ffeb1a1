//! The functions `load`, `generate`, `index`, `check`, `pack`, `unpack`, `export`, `copy`, `merge` and `recover`: each converts the
//! arguments, runs the verb of the crate `sqluice`, and returns its report as JSON. `expand` returns the paths that a merge reads.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use sqluice::archive::{Pack, Unpack};
use sqluice::check::{Check, Unverified};
use sqluice::copy::Copy;
use sqluice::error::{Error, Result, Setting, message};
use sqluice::export::Export;
use sqluice::generate::{Generate, Preset};
use sqluice::given::{Given, RowCount};
use sqluice::index::Index;
use sqluice::load::Load;
use sqluice::merge::Merge;
use sqluice::profile::Profile;
use sqluice::progress::Context;
use sqluice::recover::Recover;
use sqluice::remote;
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice::settings::Verb;
use sqluice::tpch::Tpch;

use crate::errors::raised;
use crate::options::{given, statements};
use crate::run::run;
use crate::terms::Function;

/// Returns a report as JSON.
pub(crate) fn as_json(py: Python<'_>, report: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(report)
        .map_err(|error| raised(py, &Error::usage("cannot convert the report to JSON").because(error)))
}

/// A report whose notes name settings as the parameters of a Python function.
#[derive(Serialize)]
pub(crate) struct Noted {
    #[serde(flatten)]
    report: Report,
    notes: Vec<String>,
}

impl Noted {
    /// Appends the notes of the report to `notes`, the notes of the package itself.
    pub(crate) fn new(report: Report, function: Function, mut notes: Vec<String>) -> Noted {
        notes.extend(report.notes.iter().map(|note| function.rendered(note)));
        Noted { report: function.report(report), notes }
    }
}

/// Runs `work` on a thread of the engine, and returns its report as JSON.
pub(crate) fn reported<T: Serialize + Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Context<'_>) -> Result<T> + Send,
) -> PyResult<String> {
    let report = run(py, Function::default(), progress, work)?;
    as_json(py, &report)
}

/// Loads files.
#[pyfunction]
pub(crate) fn load(
    py: Python<'_>,
    target: PathBuf,
    files: Vec<PathBuf>,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Load, arguments)?;
    reported(py, progress, |context| {
        let mut load = Load::new(target, &files);
        given.hand_over(&mut [&mut load])?;
        Ok(Noted::new(load.run_with(context)?, Function::Load, Vec::new()))
    })
}

/// Generates test data.
#[pyfunction]
pub(crate) fn generate(
    py: Python<'_>,
    target: Option<PathBuf>,
    schema: Option<&Bound<'_, PyAny>>,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let schema = schema.map(statements).transpose()?;
    let given = given(Verb::Generate, arguments)?;
    let report = run(py, Function::Generate, progress, |context| {
        let rows = row_counts(&given);
        let (like, preset) = (given.get::<PathBuf>(Setting::Like), given.get::<String>(Setting::Preset));
        let (schema, rows) = match (schema, preset, like) {
            (None, None, Some(source)) => {
                let threads: Option<usize> = given.get(Setting::Threads);
                let described = Profile::new(source).threads(threads).run_with(context)?;
                (described.schema()?, rows)
            }
            (_, _, Some(_)) => {
                return Err(Error::usage(message![
                    Setting::Like,
                    " gives the schema: no other one can be given"
                ]));
            }
            (None, Some(name), None) if name == TPCH => {
                let scale = given.get(Setting::Scale).ok_or_else(no_scale)?;
                if !rows.is_empty() {
                    return Err(Error::usage("the preset tpch takes no row counts: its scale sets them")
                        .hint(message!["leave out ", Setting::Rows]));
                }
                let mut tpch = Tpch::without_target(scale).target(target);
                given.hand_over(&mut [&mut tpch])?;
                return Ok(Noted::new(tpch.run_with(context)?, Function::Generate, Vec::new()));
            }
            _ if given.has(Setting::Scale) => {
                return Err(Error::usage(message!["only the preset ", TPCH, " has a scale"])
                    .hint(message![Setting::Rows, " says how many rows"]));
            }
            (Some(schema), None, None) => (Schema::given(&schema, "schema")?, rows),
            (None, Some(name), None) => {
                let preset = Preset::find(&name)?;
                (preset.schema()?, preset.rows(&rows))
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
        let mut generate = Generate::without_target(schema).target(target);
        given.hand_over(&mut [&mut generate])?;
        generate.rows = rows;
        Ok(Noted::new(generate.run_with(context)?, Function::Generate, Vec::new()))
    })?;
    as_json(py, &report)
}

/// Returns the row counts of the setting `rows`. Python has no counts that depend on the rows of a parent.
fn row_counts(given: &Given) -> Vec<(Option<String>, u64)> {
    let rows: Vec<RowCount> = given.get(Setting::Rows).unwrap_or_default();
    let counts = rows.into_iter().filter_map(|rows| match rows {
        RowCount::Count(table, rows) => Some((table, rows)),
        RowCount::PerParent(..) => None,
    });
    counts.collect()
}

/// The preset whose size is set by `scale` instead of `rows`.
const TPCH: &str = "tpch";

fn no_scale() -> Error {
    Error::usage("the scale of TPC-H is missing").hint(message![
        Setting::Scale.to("1"),
        " is 8.7 million rows and 1.3 GB, ",
        Setting::Scale.to("0.01"),
        " a hundredth of that"
    ])
}

/// Creates indexes.
#[pyfunction]
pub(crate) fn index(
    py: Python<'_>,
    target: PathBuf,
    statements: Vec<String>,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Index, arguments)?;
    reported(py, progress, |context| {
        let mut index = Index::new(target, statements);
        given.hand_over(&mut [&mut index])?;
        index.run_with(context)
    })
}

/// The report of `check`.
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

/// Verifies a database.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    target: PathBuf,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Check, arguments)?;
    reported(py, progress, |context| {
        let mut check = Check::new(target).checksum(true);
        given.hand_over(&mut [&mut check])?;
        let checked = check.run_with(context)?;
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

/// Packs a folder into a database.
#[pyfunction]
pub(crate) fn pack(
    py: Python<'_>,
    target: PathBuf,
    folder: PathBuf,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Pack, arguments)?;
    reported(py, progress, |context| {
        let mut pack = Pack::new(target, folder);
        given.hand_over(&mut [&mut pack])?;
        pack.run_with(context)
    })
}

/// Unpacks an archive.
#[pyfunction]
pub(crate) fn unpack(
    py: Python<'_>,
    database: PathBuf,
    folder: PathBuf,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Unpack, arguments)?;
    reported(py, progress, |context| {
        let mut unpack = Unpack::new(database, folder);
        given.hand_over(&mut [&mut unpack])?;
        unpack.run_with(context)
    })
}

/// Exports tables or a query.
#[pyfunction]
pub(crate) fn export(
    py: Python<'_>,
    source: PathBuf,
    tables: Vec<String>,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Export, arguments)?;
    let report = run(py, Function::Read, progress, |context| {
        let to: PathBuf = given.get(Setting::To).unwrap_or_default();
        let mut export = Export::new(source, to).tables(tables);
        given.hand_over(&mut [&mut export])?;
        export.run_with(context)
    })?;
    as_json(py, &report)
}

/// Copies a database.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Copy, arguments)?;
    reported(py, progress, |context| {
        let mut copy = Copy::new(source, target);
        given.hand_over(&mut [&mut copy])?;
        copy.run_with(context)
    })
}

/// Returns the paths of the sources of a merge, with patterns replaced by the files that match.
#[pyfunction]
pub(crate) fn expand(
    py: Python<'_>,
    patterns: Vec<PathBuf>,
    arguments: &Bound<'_, PyDict>,
) -> PyResult<Vec<OsString>> {
    let given = given(Verb::Merge, arguments)?;
    let files = run(py, Function::default(), None, |context| {
        let mut merge = Merge::new(PathBuf::new(), patterns);
        given.hand_over(&mut [&mut merge])?;
        remote::expand_within(&merge.sources, &merge.write.requests, &context.cancel)
    })?;
    Ok(files.into_iter().map(PathBuf::into_os_string).collect())
}

/// Merges databases.
#[pyfunction]
pub(crate) fn merge(
    py: Python<'_>,
    target: PathBuf,
    sources: Vec<PathBuf>,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Merge, arguments)?;
    reported(py, progress, |context| {
        let mut merge = Merge::new(target, sources);
        given.hand_over(&mut [&mut merge])?;
        merge.run_with(context)
    })
}

/// Saves the sound rows of a damaged database.
#[pyfunction]
pub(crate) fn recover(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Recover, arguments)?;
    reported(py, progress, |context| {
        let mut recover = Recover::new(source, target);
        given.hand_over(&mut [&mut recover])?;
        recover.run_with(context)
    })
}
