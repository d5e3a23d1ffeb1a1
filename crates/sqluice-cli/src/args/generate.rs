//! What `generate` takes.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use sqluice::r#gen::{FUNCTIONS, PRESETS, Preset};

use super::Write;
use super::rows::{self, RowCount};
use crate::numbers;

/// Make a test database from a schema, or add to an existing one
///
/// The schema is ordinary CREATE TABLE statements, with a comment such as `-- gen: int(1, 100)` on a column that needs more
/// than its type says.
///
/// DB may be a URL, s3://bucket/name, gs://bucket/name or az://container/name: it is uploaded as it is made, and is complete or absent.
#[derive(Debug, ClapArgs)]
#[command(after_help = generate_help(), override_usage = "sqluice generate [OPTIONS] [DB] [SCHEMA.sql]")]
pub(crate) struct Generate {
    /// The database to make, and the schema file (not with --preset); with --discard the schema file alone
    #[arg(value_name = "DB] [SCHEMA.sql", num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    /// Rows of each table (1M), of one (orders=1M), or for each row of its parent (orders=3x), which its first FOREIGN KEY names; may
    /// be repeated. Required for tables without a parent [default: 3x for those with one; presets have their own]. Of a preset a
    /// number alone counts its main table, and the others follow
    #[arg(short = 'n', long, value_name = "[TABLE=]N", value_parser = rows::rows)]
    pub(crate) rows: Vec<RowCount>,
    /// Use a built-in schema: user, integers, kv, shop, events, or tpch with a --scale
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// How large TPC-H is: 1 is 8.7 million rows and 1.3 GB
    #[arg(long, value_name = "FACTOR", requires = "preset", conflicts_with_all = ["rows", "seed", "append", "preview", "part"])]
    pub(crate) scale: Option<f64>,
    /// Print the first N rows of each table, and write nothing
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(crate) preview: Option<u64>,
    /// Make the I-th of N shares: all of them together are the whole
    #[arg(long, value_name = "I/N", value_parser = rows::share, conflicts_with = "append")]
    pub(crate) part: Option<(u64, u64)>,
    /// The same seed makes the same file
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Add the next rows to existing tables; the schema must declare these the same [default: an existing database is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "discard"])]
    pub(crate) append: bool,
    /// Benchmark mode: build all pages, write nothing to disk, and report their checksum
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) discard: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// Examples, and the functions that the engine knows.
fn generate_help() -> String {
    let mut help = "Examples:
  sqluice generate big.db --preset user --rows 1e9
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=1M --seed 7
  sqluice generate shop.db --preset shop --rows 1M
  sqluice generate tpch.db --preset tpch --scale 0.1
  sqluice generate --preset user --rows 500M --discard
  sqluice generate shop.db schema.sql --rows customer=0 --rows orders=1M --append
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=2.5x --preview 5
  sqluice generate part-2.db schema.sql --rows 100M --part 2/4

Presets:\n"
        .to_owned();
    for Preset { name, about, .. } in PRESETS {
        let _ = writeln!(help, "  {name:28} {about}");
    }
    let _ = writeln!(
        help,
        "  {:28} the benchmark's eight tables with their keys; --scale says how large",
        "tpch"
    );
    help += "\nFunctions of a `-- gen:` comment:\n";
    for function in FUNCTIONS {
        let _ = writeln!(help, "  {:32} {}", function.signature, function.about);
    }
    help
}
