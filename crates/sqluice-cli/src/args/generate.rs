//! The command line of `generate` and the text of `--help`. The flags are declared in `settings::Generate`. Here are the arguments
//! `DB` and `SCHEMA.sql`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::Args as ClapArgs;
use sqluice::r#gen::{FUNCTIONS, PRESETS, Preset};

use crate::settings::{self, Flags};

/// Generate test data from a schema or a preset
///
/// The schema is a file of ordinary CREATE TABLE statements. Types, keys, CHECK, REFERENCES and column names say most of what the values
/// look like; a comment such as `-- gen: int(1, 100)` on a column says the rest. The same seed generates the same file, on any number of
/// cores.
///
/// DB may be a URL: s3://bucket/name, gs://bucket/name or az://container/name. It is uploaded as it is written and appears only once
/// complete.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES_AND_PRESETS.as_str(), after_long_help = long_help(), override_usage = "sqluice generate [OPTIONS] [DB] [SCHEMA.sql]")]
pub(crate) struct Generate {
    /// The database, then the schema file (unless --preset or --like is given); with --discard only the schema file
    #[arg(value_name = "DB] [SCHEMA.sql", num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Generate>,
}

/// The help text with examples and presets.
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

/// Returns the help text with all examples, presets, and the functions of the generator.
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
