//! Runs the other programs of comparisons: the shell `sqlite3`, and Python with other packages.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use clap::Args;

use crate::process::{Runner, Took};

/// The flags that name the files of other programs.
#[derive(Clone, Debug, Args)]
pub struct Programs {
    /// SQLite's shell, for comparisons with it
    #[arg(long, default_value = "sqlite3", value_name = "FILE")]
    pub sqlite3: PathBuf,
    /// Python with the packages that are compared
    #[arg(long, default_value = "python3", value_name = "FILE")]
    pub python: PathBuf,
    /// The program that loads NDJSON files
    #[arg(long, default_value = "sqlite-utils", value_name = "FILE")]
    pub sqlite_utils: PathBuf,
    /// The generator of TPC-H
    #[arg(long, default_value = "tpchgen-cli", value_name = "FILE")]
    pub tpchgen: PathBuf,
}

impl Programs {
    /// Returns a command that runs SQLite's shell on a database, without the user's settings (`~/.sqliterc`).
    pub fn shell(&self, database: &Path) -> Command {
        let mut command = Command::new(&self.sqlite3);
        command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(database);
        command
    }

    /// Runs a Python program that prints the seconds of its steps as JSON. The lap has the sum of these seconds, without Python's start and
    /// imports, and the time of the first step as its output.
    ///
    /// # Errors
    /// When Python fails, or prints something else.
    pub fn timed(
        &self,
        runner: &Runner,
        (program, step): (&str, &str),
        words: &[impl AsRef<OsStr>],
    ) -> anyhow::Result<(Took, Option<String>)> {
        let took = self.python(runner, program, words)?;
        let steps: BTreeMap<String, f64> =
            serde_json::from_str(&took.stdout).context("Python says something else than seconds")?;
        let first = ["read", "fetch"].iter().find_map(|name| steps.get(*name)).copied().unwrap_or(0.0);
        Ok((Took { seconds: steps.values().sum(), ..took }, Some(format!("{step} {first:.2} s"))))
    }

    /// Runs a Python program.
    ///
    /// # Errors
    /// When the program fails.
    pub fn python(
        &self,
        runner: &Runner,
        program: &str,
        words: &[impl AsRef<OsStr>],
    ) -> anyhow::Result<Took> {
        runner.run(Command::new(&self.python).args(["-c", program]).args(words))
    }

    /// Returns the versions that a Python program prints.
    ///
    /// # Errors
    /// When `needs` are not installed.
    pub fn versions(&self, runner: &Runner, program: &str, needs: &str) -> anyhow::Result<String> {
        let said = self.python(runner, program, &["versions"]).with_context(|| {
            format!("{} lacks {needs}: tools/setup bench installs them", self.python.display())
        })?;
        Ok(said.stdout.trim().to_owned())
    }
}

/// Returns the output of a program for `--version`.
///
/// # Errors
/// When the program does not run.
pub fn version_of(runner: &Runner, program: &Path) -> anyhow::Result<String> {
    let missing = || format!("{} does not run: tools/setup bench installs it", program.display());
    let said = runner.run(Command::new(program).arg("--version")).with_context(missing)?;
    Ok(said.stdout.trim().to_owned())
}

/// Quotes a path for the dot-commands of SQLite's shell, such as `.import`.
///
/// # Errors
/// When the path is not UTF-8.
pub fn quoted(path: &Path) -> anyhow::Result<String> {
    let path = path.to_str().context("a path is UTF-8")?;
    Ok(format!("\"{}\"", path.replace('\\', r"\\").replace('"', "\\\"")))
}
