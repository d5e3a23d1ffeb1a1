//! The arguments of `generate`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::Args as ClapArgs;
use sqluice::r#gen::{FUNCTIONS, PRESETS, Preset};

use super::Write;
use super::rows::{self, RowCount};
use crate::numbers;

/// Generate test data from a schema or a preset
///
/// The schema is a file of ordinary CREATE TABLE statements. Types, keys, CHECK, REFERENCES and column names say most of what the values look
/// like; a comment such as `-- gen: int(1, 100)` on a column says the rest. The same seed generates the same file, on any number of cores.
///
/// DB may be a URL: s3://bucket/name, gs://bucket/name or az://container/name. It is uploaded as it is written and appears only once complete.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES_AND_PRESETS.as_str(), after_long_help = long_help(), override_usage = "sqluice generate [OPTIONS] [DB] [SCHEMA.sql]")]
pub(crate) struct Generate {
    /// The database, then the schema file (unless --preset or --like is given); with --discard only the schema file
    #[arg(value_name = "DB] [SCHEMA.sql", num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    /// Number of rows: 1M for each table, orders=1M, or orders=3x per parent row; repeatable
    #[arg(long_help = "Number of rows: for each table (1M), for one table (orders=1M), or for each row of the parent table (orders=3x), which the first FOREIGN KEY names; repeatable. Required for tables without a parent; others get 3x. For a preset, a single number is the row count of its main table, and the other tables follow", short = 'n', long, value_name = "[TABLE=]N", value_parser = rows::rows)]
    pub(crate) rows: Vec<RowCount>,
    /// Use a built-in schema: user, integers, kv, shop, events, or tpch with --scale
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// The size of the preset tpch: 1 is 8.7 million rows and 1.3 GB
    #[arg(long, value_name = "FACTOR", requires = "preset", conflicts_with_all = ["rows", "seed", "append", "preview", "part"])]
    pub(crate) scale: Option<f64>,
    /// Generate a database like this one: describes it first, as `sqluice profile` does
    #[arg(long, value_name = "DB", conflicts_with_all = ["preset", "append"])]
    pub(crate) like: Option<PathBuf>,
    /// Multiply the row counts of the schema's comments, or of --like
    #[arg(long, value_name = "FACTOR", conflicts_with_all = ["preset", "append"])]
    pub(crate) rows_scale: Option<f64>,
    /// The seed: the same seed generates the same file
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the first N rows of each table, and write nothing
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(crate) preview: Option<u64>,
    /// Add rows to existing tables, which the schema must declare the same [default: an existing table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "discard"])]
    pub(crate) append: bool,
    /// Generate only the I-th of N parts; all N parts together are the whole
    #[arg(long, value_name = "I/N", value_parser = rows::share, conflicts_with = "append", hide_short_help = true)]
    pub(crate) part: Option<(u64, u64)>,
    /// Benchmark mode: build all pages, write nothing to disk, and report their checksum
    #[arg(long, conflicts_with = "overwrite", hide_short_help = true)]
    pub(crate) discard: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// Examples and presets.
static EXAMPLES_AND_PRESETS: LazyLock<String> = LazyLock::new(|| {
    let examples = "Examples:
  sqluice generate shop.db --preset shop --rows 1M
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=1M --seed 7
  sqluice generate shop.db schema.sql --rows customer=10k --preview 5";
    format!("{examples}\n\n{}", presets())
});

fn presets() -> String {
    let presets = PRESETS.iter().map(|Preset { name, about, .. }| format!("  {name:9} {about}"));
    let tpch = "  tpch      the benchmark's eight tables with their keys; --scale sets the size".to_owned();
    format!("Presets:\n{}", presets.chain([tpch]).collect::<Vec<_>>().join("\n"))
}

/// All examples, presets, and the functions that a schema may use.
fn long_help() -> String {
    let mut help = "Examples:
  sqluice generate big.db --preset user --rows 1e9
  sqluice generate shop.db --preset shop --rows 1M
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=1M --seed 7
  sqluice generate shop.db schema.sql --rows customer=0 --rows orders=1M --append
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=2.5x --preview 5
  sqluice generate tpch.db --preset tpch --scale 0.1
  sqluice generate test.db --like prod.db --rows-scale 0.1
  sqluice generate part-2.db schema.sql --rows 100M --part 2/4
  sqluice generate --preset user --rows 500M --discard\n\n"
        .to_owned();
    help += &presets();
    help += "\n\nFunctions of a `-- gen:` comment:\n";
    for function in FUNCTIONS {
        let _ = writeln!(help, "  {:32} {}", function.signature, function.about);
    }
    help
}
