//! Writes the tables of `bench/README.md` from kept records, so that each figure in a block has a record with its machine, commit and laps.
//!
//! ```text
//!  bench/results/load-….json ──(named on the command line)──> bench/records/load-csv.json ──> the block of this name in bench/README.md
//!
//!  <!-- record load-csv -->
//!  the command, the day, the commit of the measured program, and the machine
//!
//!  the tables and ratios that the comparison printed
//!  <!-- end of record -->
//! ```
//!
//! The text outside of blocks is written by hand. `bench/results` is not committed, `bench/records` is.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde::Deserialize;
use sqluice_lab::record::Run;

use crate::options::{here, say};

/// Writes the tables of bench/README.md from the kept records
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Records to keep, each as BLOCK=FILE: the name of its block in bench/README.md, and a file in bench/results
    #[arg(value_name = "BLOCK=FILE")]
    records: Vec<String>,
    /// Changes nothing, and fails if a block differs from its record
    #[arg(long, conflicts_with = "records")]
    check: bool,
}

const BEGIN: &str = "<!-- record ";
const END: &str = "<!-- end of record -->\n";

/// The fields of a record that the page shows.
#[derive(Debug, Deserialize)]
struct Kept {
    #[serde(flatten)]
    run: Run,
    commit: String,
    #[serde(default)]
    beside: Vec<String>,
    report: String,
}

impl Kept {
    fn read(file: &Path) -> anyhow::Result<Kept> {
        let json = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&json)
            .with_context(|| format!("{} is no record of a comparison", file.display()))
    }

    /// Formats the content of the block.
    fn block(&self) -> String {
        let Kept { run, commit, beside, report } = self;
        // The work tree may have moved on since the program was built.
        let commit = run.sqluice.lines().find_map(|line| line.strip_prefix("commit ")).unwrap_or(commit);
        let day = run.taken.split('T').next().unwrap_or_default();
        let beside =
            if beside.is_empty() { String::new() } else { format!(" Beside: {}.", beside.join("; ")) };
        let rounds = if run.runs == 1 { "one round".to_owned() } else { format!("{} rounds", run.runs) };
        format!(
            "`{}`, {day}, commit {commit}, {rounds}. {}.{beside}\n\n{}\n",
            run.command,
            run.machine,
            report.trim()
        )
    }
}

/// Keeps the given records, and writes the blocks of all kept records.
///
/// # Errors
/// When a file can't be read or written, a block has no record, a named record has no block, and with `--check` when a block differs.
pub fn run(settings: &Settings) -> anyhow::Result<()> {
    let page = here().join("README.md");
    let before = std::fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    for record in &settings.records {
        let (block, file) =
            record.split_once('=').with_context(|| format!("{record:?} is not BLOCK=FILE"))?;
        ensure!(before.contains(&format!("{BEGIN}{block} -->\n")), "{} has no block {block}", page.display());
        Kept::read(Path::new(file))?;
        std::fs::create_dir_all(here().join("records")).context("cannot make bench/records")?;
        std::fs::copy(file, kept(block)).with_context(|| format!("cannot keep {file}"))?;
    }
    let after = written(&before, |block| Ok(Kept::read(&kept(block))?.block()))?;
    if settings.check {
        ensure!(after == before, "a block of {} differs from its record: run bench/readme", page.display());
        return Ok(());
    }
    std::fs::write(&page, after).with_context(|| format!("cannot write {}", page.display()))?;
    say(&format!("written: {}\n", page.display()))
}

fn kept(block: &str) -> PathBuf {
    here().join("records").join(format!("{block}.json"))
}

/// Returns the page with the content of each block replaced by the result of `block` for its name.
fn written(page: &str, block: impl Fn(&str) -> anyhow::Result<String>) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let Some((name, after)) = after.split_once(" -->\n") else { bail!("a block without a name") };
        let Some((_, after)) = after.split_once(END) else { bail!("the block {name} has no end") };
        text += &format!("{before}{BEGIN}{name} -->\n{}{END}", block(name)?);
        rest = after;
    }
    Ok(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_results_has_the_tables_of_its_records() {
        run(&Settings { records: Vec::new(), check: true }).unwrap();
    }

    #[test]
    fn only_the_content_of_blocks_is_replaced() {
        let page = "a\n<!-- record x -->\nold\n<!-- end of record -->\nb\n<!-- record y -->\n<!-- end of record -->\n";
        let after = written(page, |name| Ok(format!("new {name}\n"))).unwrap();
        assert_eq!(
            after,
            "a\n<!-- record x -->\nnew x\n<!-- end of record -->\nb\n<!-- record y -->\nnew y\n<!-- end of record -->\n"
        );
        assert_eq!(written(&after, |name| Ok(format!("new {name}\n"))).unwrap(), after);
        for open in ["<!-- record x", "<!-- record x -->\n"] {
            assert!(written(open, |_| Ok(String::new())).is_err(), "{open}");
        }
    }
}
