//! The flags that every comparison has, and the start and the exit status of the program.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::process::{Runner, this};
use crate::shell::Programs;

/// Flags of every comparison.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// How often everything is measured, in turns
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Where the files go while they are needed [default: target/bench]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Where the record goes [default: bench/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// The program to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    sqluice: Option<PathBuf>,
    /// Other programs
    #[command(flatten)]
    pub programs: Programs,
}

impl Options {
    /// Returns the folder for temporary files.
    pub fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| here().join("../target/bench"))
    }

    /// Returns the folder for the record.
    pub fn results(&self) -> PathBuf {
        self.results.clone().unwrap_or_else(|| here().join("results"))
    }

    /// Returns the measured program.
    ///
    /// # Errors
    /// When no program is named, so that the sqluice beside this program is measured, and the path of this program is unknown.
    pub fn sqluice(&self) -> anyhow::Result<PathBuf> {
        match &self.sqluice {
            Some(file) => Ok(file.clone()),
            None => Ok(this()?.with_file_name("sqluice")),
        }
    }
}

/// Parses a factor: `0.01`, `1`.
///
/// # Errors
/// When the text is not a factor.
pub fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err(format!("{text:?} is no factor such as 0.01 or 1")),
    }
}

/// Returns the folder `bench` of the repository.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the comparison called `name`. The exit status of an interrupted run is 130.
pub fn compare(name: &'static str, run: impl FnOnce(&Runner) -> anyhow::Result<()>) -> ExitCode {
    match Runner::new(name) {
        Ok(runner) => ended(run(&runner), runner.is_stopped()),
        Err(error) => ended(Err(error), false),
    }
}

/// Prints an error, and returns the exit status.
pub fn ended(done: anyhow::Result<()>, stopped: bool) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    // An error here can't be reported anywhere.
    let _ = writeln!(io::stderr(), "error: {error:#}");
    ExitCode::from(if stopped { 130 } else { 1 })
}

/// Prints text and flushes it, so that it appears at once even if standard output is a file.
///
/// # Errors
/// When standard output is closed.
pub fn say(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}
