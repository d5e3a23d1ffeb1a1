//! Laps, which are printed as soon as they are over, and the file of the record.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::grouped;
use crate::options::say;
use crate::process::Took;
use crate::stats::Spread;

/// One lap of one round.
#[derive(Clone, Debug, Serialize)]
pub struct Lap {
    /// The number of rows; 0 if there are none.
    pub rows: u64,
    /// The number of bytes on the disk.
    pub bytes: u64,
    /// The time from the start of the process to its end, in seconds.
    pub seconds: f64,
    /// The CPU time of all threads together, in seconds.
    pub cpu_seconds: f64,
    /// The peak memory of the process, in bytes.
    pub memory_bytes: u64,
    /// The kind of output, if it is known: direct, buffered, discarded. The write paths of tables and indexes precede it if there are
    /// several.
    pub output: Option<String>,
}

impl Lap {
    /// Creates the lap of a process that wrote rows and bytes.
    pub fn new(took: &Took, rows: u64, bytes: u64, output: Option<String>) -> Lap {
        let Took { seconds, cpu_seconds, memory_bytes, .. } = *took;
        Lap { rows, bytes, seconds, cpu_seconds, memory_bytes, output }
    }

    /// Returns the number of rows per second.
    pub fn rate(&self) -> f64 {
        self.rows as f64 / self.seconds
    }

    /// Verifies and removes the files of the lap; then its time counts, and is printed.
    ///
    /// # Errors
    /// The error of `verify`.
    pub fn verified(self, name: &str, verify: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Lap> {
        verify()?;
        say(&format!("  {name:9} {}\n", self.line()))?;
        Ok(self)
    }

    fn line(&self) -> String {
        let rate = match self.rows {
            0 => String::new(),
            _ => format!("{:.1} M rows/s, ", self.rate() / 1e6),
        };
        let output = self.output.as_deref().map_or(String::new(), |output| format!(", {output}"));
        format!(
            "{:8.2} s  {rate}{:.2} GB/s, {:.1} s on cores, {:.0} MiB{output}",
            self.seconds,
            self.bytes as f64 / self.seconds / 1e9,
            self.cpu_seconds,
            mib(self.memory_bytes as f64)
        )
    }
}

/// The head of a Markdown table of [`row`]s.
pub const HEAD: &str =
    "| | rows | seconds: median (min..max) | M rows/s | peak memory |\n|---|---|---|---|---|\n";

/// Formats a row of a table: the times of the laps of one way, of which there must be at least one.
pub fn row(title: &str, laps: &[&Lap]) -> String {
    let spread = |value: &dyn Fn(&Lap) -> f64| Spread::of(laps.iter().map(|lap| value(lap)));
    format!(
        "| {title} | {} | {:.2} | {:.2} | {:.0} MiB |",
        grouped(laps[0].rows),
        spread(&|lap| lap.seconds),
        spread(&|lap| lap.rate() / 1e6),
        mib(spread(&|lap| lap.memory_bytes as f64).max)
    )
}

/// Converts bytes to MiB.
pub fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// Saves the record of a run in a folder; returns the file.
///
/// # Errors
/// When the file can't be written.
pub fn save(record: &impl Serialize, benchmark: &str, taken: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let file = folder.join(format!("{benchmark}-{}.json", taken.replace(':', "")));
    let json = serde_json::to_string_pretty(record)? + "\n";
    let save = || std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, json));
    save().with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
