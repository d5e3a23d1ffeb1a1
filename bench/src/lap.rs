//! The measurements of a lap (one timed run of a way), which are printed when it ends, and tables of laps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use sqluice_lab::figures::Spread;

use crate::grouped;
use crate::options::say;
use crate::process::Took;

/// The figures of one lap, which a way ran in one round.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lap {
    /// The number of rows; 0 if there are none.
    pub rows: u64,
    /// The number of bytes on the disk.
    pub bytes: u64,
    /// The time from the start of the process to its end, or the time that the process itself measured, in seconds.
    pub seconds: f64,
    /// The CPU time of all threads together, in seconds.
    pub cpu_seconds: f64,
    /// The peak memory of the process, in bytes.
    pub memory_bytes: u64,
    /// A note that is printed with the lap: the kind of output (direct, buffered or discarded), for a load after the write paths of tables
    /// and indexes, or for a Python program the time of its first step. `None` if nothing of this is known.
    pub output: Option<String>,
    /// Other measurements of the same lap, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<&'static str, f64>,
}

impl Lap {
    /// Creates the lap of a process that wrote rows and bytes.
    pub fn new(took: &Took, rows: u64, bytes: u64, output: Option<String>) -> Lap {
        let Took { seconds, cpu_seconds, memory_bytes, .. } = *took;
        Lap { rows, bytes, seconds, cpu_seconds, memory_bytes, output, also: BTreeMap::new() }
    }

    /// Returns the number of rows per second.
    pub fn rate(&self) -> f64 {
        self.rows as f64 / self.seconds
    }

    /// Runs `verify`, which checks and removes the files of the lap, then prints and returns the lap.
    ///
    /// # Errors
    /// The error of `verify`, or when standard output is closed.
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

/// A column in a table of laps: its head, and the function from the laps of a way to the text of the cell.
pub type Column<'a> = (&'a str, &'a dyn Fn(&[&Lap]) -> String);

/// The columns of most tables.
pub const USUAL: [Column<'static>; 4] = [
    ("rows", &rows),
    ("seconds: median (min..max)", &seconds),
    ("M rows/s", &rate),
    ("peak memory", &memory),
];

/// Formats the cell with the number of rows, which all laps of a way share; empty for 0 rows.
pub fn rows(laps: &[&Lap]) -> String {
    match laps[0].rows {
        0 => String::new(),
        rows => grouped(rows),
    }
}

/// Formats the cell with the seconds of the laps: median, minimum and maximum.
pub fn seconds(laps: &[&Lap]) -> String {
    format!("{:.2}", spread(laps, |lap| lap.seconds))
}

/// Formats the cell with the CPU seconds of all cores together: median, minimum and maximum of the laps; empty if they were not measured.
pub fn cores(laps: &[&Lap]) -> String {
    if laps.iter().all(|lap| lap.cpu_seconds == 0.0) {
        return String::new();
    }
    format!("{:.2}", spread(laps, |lap| lap.cpu_seconds))
}

/// Formats the cell with the millions of rows per second: median, minimum and maximum of the laps; empty for 0 rows.
pub fn rate(laps: &[&Lap]) -> String {
    match laps[0].rows {
        0 => String::new(),
        _ => format!("{:.2}", spread(laps, |lap| lap.rate() / 1e6)),
    }
}

/// Formats the cell with the gigabytes per second: median, minimum and maximum of the laps.
pub fn throughput(laps: &[&Lap]) -> String {
    format!("{:.2}", spread(laps, |lap| lap.bytes as f64 / lap.seconds / 1e9))
}

/// Formats the cell with the peak memory in MiB, the highest of all laps; empty if it was not measured.
pub fn memory(laps: &[&Lap]) -> String {
    if laps.iter().all(|lap| lap.memory_bytes == 0) {
        return String::new();
    }
    format!("{:.0} MiB", mib(spread(laps, |lap| lap.memory_bytes as f64).max))
}

/// Returns the spread of a value of laps, of which there must be at least one.
pub fn spread(laps: &[&Lap], value: impl Fn(&Lap) -> f64) -> Spread {
    let values: Vec<f64> = laps.iter().map(|lap| value(lap)).collect();
    Spread::of_samples(&values).unwrap_or_default()
}

/// Formats the head of a table in Markdown.
pub fn head(first: &str, columns: &[Column<'_>]) -> String {
    let heads: String = columns.iter().map(|(head, _)| format!(" {head} |")).collect();
    format!("| {first} |{heads}\n|---|{}\n", "---|".repeat(columns.len()))
}

/// Formats a row of a table: the laps of one way. Returns an empty text if the way has no laps.
pub fn row(title: &str, columns: &[Column<'_>], laps: &[&Lap]) -> String {
    if laps.is_empty() {
        return String::new();
    }
    let mut text = format!("| {title} |");
    for (_, cell) in columns {
        // Writing to a String can't fail.
        let _ = write!(text, " {} |", cell(laps));
    }
    text + "\n"
}

/// Converts bytes to MiB.
pub fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}
