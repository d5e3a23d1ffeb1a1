//! What can be said to `sqluice lab`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use sqluice_lab::Scale;

/// Measure every published way to fill SQLite fast, on this machine
///
/// Five write-ups say how to insert fast into SQLite, read blobs faster than files, and which PRAGMAs to set. Their
/// experiments are run here, and sqluice's own ways beside them. Every variant gets a new database, runs in turns with the others, and
/// counts only if all its rows exist with the expected values. Without a name all experiments are run.
///
/// The programs that some variants need, such as python3, are taken from the system; what is not installed is left out, and the
/// table says so. Ctrl-C ends the run after the variant that is running, and what was measured is reported and written.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice lab --list
  sqluice lab insert-method unroll-degree
  sqluice lab --scale small --export-html lab.html --export-json lab.json
  sqluice lab pragma-mix --dir /mnt/disk --compare lab.json")]
pub(crate) struct Lab {
    /// Experiments to run, such as --list names them [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// How much: tiny (a minute), small (ten minutes), medium (ten times small), full (as published), or how many times small
    #[arg(long, value_name = "SCALE", default_value = "small", help_heading = "Measuring")]
    pub(crate) scale: Scale,
    /// How often each variant is measured [default: 3, and once if tiny]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Measuring")]
    pub(crate) runs: Option<u32>,
    /// How often each variant is run before that
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000), help_heading = "Measuring")]
    pub(crate) warmup: u32,
    /// The folder to measure in; what is made there is removed [default: the current folder]
    #[arg(long, value_name = "DIR", help_heading = "Measuring")]
    pub(crate) dir: Option<PathBuf>,
    /// Write a page with charts, tables and advice
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) export_html: Option<PathBuf>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) export_json: Option<PathBuf>,
    /// Write the tables in Markdown
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Show beside each figure what another run has measured, whose JSON this is
    #[arg(long, value_name = "OLD.json", help_heading = "Reports")]
    pub(crate) compare: Option<PathBuf>,
    /// Print the names of all experiments, one a line, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
}
