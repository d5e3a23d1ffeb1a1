//! The program that runs the comparisons. Its first argument names a comparison.
//!
//! All comparisons are in one program, because each program would be linked with all of sqluice and SQLite.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use serde_json::Value;
use sqluice_bench::options::{compare, ended, say};
use sqluice_bench::words::Words;
use sqluice_bench::{
    billion, check, databases, entities, existing, generate, index, load, lookalike, readme, script, search,
    stores,
};
use sqluice_lab::record::Run;
use sqluice_lab::report;

#[derive(Debug, Parser)]
#[command(
    name = "sqluice-bench",
    about = "Compares sqluice with SQLite, other programs and plain writes to the disk"
)]
struct Arguments {
    #[command(subcommand)]
    comparison: Comparison,
}

#[derive(Debug, Subcommand)]
enum Comparison {
    Billion(billion::Settings),
    Check(check::Settings),
    #[command(subcommand)]
    Databases(databases::Part),
    Entities(entities::Settings),
    Existing(existing::Settings),
    Generate(generate::Settings),
    Index(index::Settings),
    Load(load::Settings),
    Lookalike(lookalike::Settings),
    Readme(readme::Settings),
    Search(search::Settings),
    Stores(stores::Settings),
    Report(Report),
    #[command(hide = true)]
    Lap(Lap),
    #[command(hide = true)]
    Script(script::Settings),
}

/// Runs a single lap in this process. Only the process of a comparison calls this.
#[derive(Debug, Args)]
struct Lap {
    comparison: String,
    name: String,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Lap {
    fn run(&self) -> anyhow::Result<()> {
        let lap = match &*self.comparison {
            "billion" => billion::lap,
            "check" => check::lap,
            "entities" => entities::lap,
            "existing" => existing::lap,
            "generate" => generate::lap,
            "index" => index::lap,
            "load" => load::lap,
            "search" => search::lap,
            "stores" => stores::lap,
            other => bail!("{other} has no laps of its own"),
        };
        let said = lap(&self.name, &mut Words::new(self.words.clone()))?;
        if said != Value::Null {
            serde_json::to_writer(io::stdout(), &said)?;
        }
        Ok(io::stdout().flush()?)
    }
}

/// A report of a record of any comparison, by the reports of `sqluice lab`
#[derive(Debug, Args)]
struct Report {
    /// The record, in bench/results
    record: PathBuf,
    /// An older record of the same comparison, whose figures are compared
    #[arg(long, value_name = "RECORD")]
    before: Option<PathBuf>,
    /// Prints a page in HTML instead of text
    #[arg(long, conflicts_with = "markdown")]
    html: bool,
    /// Prints tables in Markdown instead of text
    #[arg(long)]
    markdown: bool,
}

impl Report {
    fn run(&self) -> anyhow::Result<()> {
        let read = |file: &PathBuf| -> anyhow::Result<Run> {
            let json = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            serde_json::from_slice(&json).with_context(|| format!("{} is no record", file.display()))
        };
        let (run, before) = (read(&self.record)?, self.before.as_ref().map(read).transpose()?);
        say(&match (self.html, self.markdown) {
            (true, _) => report::html(&run, before.as_ref()),
            (_, true) => report::markdown(&run),
            _ => report::text(&run, before.as_ref()),
        })
    }
}

fn main() -> ExitCode {
    match &Arguments::parse().comparison {
        Comparison::Billion(settings) => compare("billion", |runner| billion::run(settings, runner)),
        Comparison::Check(settings) => compare("check", |runner| check::run(settings, runner)),
        Comparison::Databases(part) => compare("databases", |runner| part.run(runner)),
        Comparison::Entities(settings) => compare("entities", |runner| entities::run(settings, runner)),
        Comparison::Existing(settings) => compare("existing", |runner| existing::run(settings, runner)),
        Comparison::Generate(settings) => compare("generate", |runner| generate::run(settings, runner)),
        Comparison::Index(settings) => compare("index", |runner| index::run(settings, runner)),
        Comparison::Load(settings) => compare("load", |runner| load::run(settings, runner)),
        Comparison::Lookalike(settings) => compare("lookalike", |runner| lookalike::run(settings, runner)),
        Comparison::Readme(settings) => ended(readme::run(settings), false),
        Comparison::Search(settings) => compare("search", |runner| search::run(settings, runner)),
        Comparison::Stores(settings) => compare("stores", |runner| stores::run(settings, runner)),
        Comparison::Report(report) => ended(report.run(), false),
        Comparison::Lap(lap) => ended(lap.run(), false),
        Comparison::Script(settings) => ended(script::run(settings), false),
    }
}
