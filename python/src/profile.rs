//! The function `profile`, which describes a database without its rows.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sqluice::profile::Profile;
use sqluice::settings::Verb;

use crate::commands::as_json;
use crate::options::given;
use crate::run::run;
use crate::terms::Function;

/// Describes a database without its rows. Returns the report as JSON.
#[pyfunction]
pub(crate) fn profile(
    py: Python<'_>,
    source: PathBuf,
    arguments: &Bound<'_, PyDict>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = given(Verb::Profile, arguments)?;
    let report = run(py, Function::Read, progress, |context| {
        let mut profile = Profile::new(source);
        given.hand_over(&mut [&mut profile])?;
        profile.run_with(context)
    })?;
    as_json(py, &report)
}
