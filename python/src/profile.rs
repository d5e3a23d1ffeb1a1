//! What a database is like, for `profile`.

use std::path::PathBuf;

use pyo3::prelude::*;
use sqluice::profile::{Profile, ReadOptions};

use crate::commands::as_json;
use crate::options;
use crate::run::run;
use crate::terms::Function;

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ProfileArgs {
    keep_common: u64,
    no_values: bool,
    tables: Vec<String>,
    exclude_tables: Vec<String>,
    threads: Option<usize>,
    busy_timeout: f64,
    timeout: Option<f64>,
    retries: Option<u32>,
    busy_limit: Option<f64>,
}

/// Describes a database.
#[pyfunction]
pub(crate) fn profile(
    py: Python<'_>,
    source: PathBuf,
    args: ProfileArgs,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let report = run(py, Function::Read, progress, |context| {
        let mut read = ReadOptions::new();
        read.busy_timeout = options::seconds(args.busy_timeout)?;
        read.busy_limit = args.busy_limit.map(options::seconds).transpose()?;
        read.requests = options::requests(args.timeout, args.retries)?;
        Profile::new(source)
            .keep_common(args.keep_common)
            .no_values(args.no_values)
            .tables(args.tables)
            .exclude_tables(args.exclude_tables)
            .threads(args.threads)
            .read(read)
            .run_with(context)
    })?;
    as_json(py, &report)
}
