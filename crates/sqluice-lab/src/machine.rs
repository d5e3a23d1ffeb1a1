//! Describes the machine on which figures are measured, as far as the system reports it.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use sqluice::archive;
use sqluice_platform::machine;

pub use crate::record::Machine;

impl Machine {
    /// Describes this machine and the file system of `folder`. Values that the system does not report are `unknown` or 0.
    pub fn here(folder: &Path) -> Machine {
        let machine = machine::here();
        let unknown = || "unknown".to_owned();
        let (file_system, device) = machine::mount(folder).unwrap_or_else(|| (unknown(), unknown()));
        Machine {
            cpu: machine.cpu.unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: machine.memory_bytes.unwrap_or(0),
            kernel: machine.kernel,
            file_system,
            device,
            sqlite: rusqlite::version().to_owned(),
            compile_options: compile_options().unwrap_or_default(),
            python: python(),
            load_before: machine.load.unwrap_or(0.0),
        }
    }
}

/// Writes a description of the machine in one line, without SQLite's compile options.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cpu, cores, kernel, file_system, device, sqlite, load_before, .. } = self;
        let memory = self.memory_bytes as f64 / 1e9;
        write!(
            f,
            "{cpu}, {cores} cores, {memory:.0} GB; {kernel}; {file_system} on {device}; SQLite {sqlite}; \
             load {load_before:.2}"
        )
    }
}

/// Returns SQLite's compile options.
fn compile_options() -> rusqlite::Result<Vec<String>> {
    let db = rusqlite::Connection::open_in_memory()?;
    let mut options = db.prepare("PRAGMA compile_options")?;
    options.query_map([], |row| row.get(0))?.collect()
}

/// Returns the versions of the system's Python and of its SQLite; `None` if one is missing.
fn python() -> Option<String> {
    const ASK: &str = "import platform, sqlite3; print('Python', platform.python_version() + ', SQLite', sqlite3.sqlite_version)";
    let output = Command::new("python3").args(["-c", ASK]).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}

/// Returns the current time, as `2026-11-21T12:03:09Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    utc(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// Formats seconds since 1970 as a date and a time with the zone.
fn utc(seconds: i64) -> String {
    archive::utc(seconds).replace(' ', "T") + "Z"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_right_near_leap_days() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(utc(1_798_761_599), "2026-12-31T23:59:59Z");
    }

    #[test]
    fn the_description_of_this_machine_has_cores_memory_and_compile_options() {
        let machine = Machine::here(Path::new("/"));
        assert!(machine.cores > 0 && machine.memory_bytes > 0, "{machine}");
        assert!(machine.compile_options.iter().any(|option| option.starts_with("THREADSAFE")));
    }
}
