//! The command line of `lab` and the text of `--help`. All flags are declared here and not in `settings`, because the library has no such
//! settings.

use std::path::PathBuf;

use clap::Args as ClapArgs;
#[cfg(feature = "lab")]
use sqluice_lab::Scale;

/// The type of `--scale` in a build without the lab, where any text is accepted and not used.
#[cfg(not(feature = "lab"))]
type Scale = String;

/// Measure published ways to fill SQLite on this machine
///
/// Runs the experiments of five published articles about fast inserts, PRAGMAs, and blobs against files, and sqluice's own ways beside
/// them. Every variant gets a new database and takes turns with the others. A result counts only if all rows exist with the expected
/// values. Without a name, all experiments run.
///
/// Some variants need programs such as python3. Variants whose program is not installed are left out, and the table says so. Ctrl-C ends
/// the run after the current variant; the results so far are reported and written.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice lab --list
  sqluice lab insert-method unroll-degree
  sqluice lab --scale small --export-html lab.html --export-json lab.json
  sqluice lab pragma-mix --dir /mnt/disk --compare lab.json")]
pub(crate) struct Lab {
    /// Experiments to run; --list prints their names [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiments: Vec<String>,
    /// The size: tiny (a minute), small (ten minutes), medium (ten times small), full (as published), or a multiple of small
    #[arg(long, value_name = "SCALE", default_value = "small", help_heading = "Measuring")]
    pub(crate) scale: Scale,
    /// How many times each variant is measured [default: 3; 1 with --scale tiny]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Measuring")]
    pub(crate) runs: Option<u32>,
    /// How many unmeasured runs each variant gets first
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000), help_heading = "Measuring")]
    pub(crate) warmup: u32,
    /// The folder to measure in; all files made there are removed [default: the current folder]
    #[arg(long, value_name = "DIR", help_heading = "Measuring")]
    pub(crate) dir: Option<PathBuf>,
    /// Write an HTML page with charts, tables and advice
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) export_html: Option<PathBuf>,
    /// Write all results as JSON
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) export_json: Option<PathBuf>,
    /// Write the tables as Markdown
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Compare with the results of another run, from its --export-json file
    #[arg(long, value_name = "OLD.json", help_heading = "Reports")]
    pub(crate) compare: Option<PathBuf>,
    /// Print the names of all experiments, one per line, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
}
