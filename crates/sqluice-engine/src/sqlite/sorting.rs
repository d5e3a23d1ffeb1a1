//! Sets the folder of SQLite's temporary files for sorting.
//!
//! SQLite has one folder for the whole process: while several runs sort, it is the folder of the run that began last. A run that ends sets
//! the folder of another running run, or the folder from before all runs. So no folder stays set that may soon be removed: in a removed
//! folder, SQLite can't create temporary files on Windows, and uses another folder elsewhere.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

static FOLDERS: Mutex<Folders> = Mutex::new(Folders { before: String::new(), in_use: Vec::new(), begun: 0 });

/// The folders of all sorting runs.
#[derive(Debug)]
struct Folders {
    /// The folder from before all runs; empty for SQLite's choice.
    before: String,
    /// The folders in use with the numbers of their runs, in the order in which the runs began.
    in_use: Vec<(u64, String)>,
    /// The number of runs that have begun so far, from which the next run gets its number.
    begun: u64,
}

impl Folders {
    fn begin(&mut self, folder: &str) -> u64 {
        self.begun += 1;
        self.in_use.push((self.begun, folder.to_owned()));
        self.begun
    }

    /// Removes the folder of a run. Returns the folder to set.
    fn end(&mut self, run: u64) -> &str {
        self.in_use.retain(|(number, _)| *number != run);
        self.in_use.last().map_or(&self.before, |(_, folder)| folder)
    }
}

fn folders() -> MutexGuard<'static, Folders> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that has set the folder in which SQLite sorts. `run` is `None` if the folder was not set.
#[derive(Debug)]
pub(super) struct SortingIn {
    run: Option<u64>,
}

impl SortingIn {
    /// Sets the folder for sorting, if SQLite can write to it.
    pub(super) fn folder(connection: &Connection, folder: Option<&Path>) -> SortingIn {
        let Some(folder) = folder.and_then(Path::to_str) else { return SortingIn { run: None } };
        let mut folders = folders();
        if folders.in_use.is_empty() {
            folders.before = current(connection);
        }
        SortingIn { run: set(connection, folder).then(|| folders.begin(folder)) }
    }

    pub(super) fn end(self, connection: &Connection) {
        let Some(run) = self.run else { return };
        let mut folders = folders();
        let folder = folders.end(run);
        if !set(connection, folder) {
            set(connection, "");
        }
    }
}

fn current(connection: &Connection) -> String {
    connection.query_row("PRAGMA temp_store_directory", [], |row| row.get(0)).unwrap_or_default()
}

/// Sets the folder if SQLite can write to it; otherwise the folder from before remains. Returns `true` if the folder was set. The result of
/// the statement does not tell: SQLite also reports an error when it sets the folder while this connection has temporary tables.
fn set(connection: &Connection, folder: &str) -> bool {
    let sql = format!("PRAGMA temp_store_directory = '{}'", folder.replace('\'', "''"));
    let _ = connection.execute_batch(&sql);
    current(connection) == folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_uses_the_temporary_folder_of_a_run_in_progress_and_after_all_runs_the_original_one() {
        let mut folders = Folders { before: "before".to_owned(), in_use: Vec::new(), begun: 0 };
        let [a, b, c] = ["a", "b", "c"].map(|folder| folders.begin(folder));
        assert_eq!(folders.end(a), "c");
        assert_eq!(folders.end(c), "b");
        let d = folders.begin("b");
        assert_eq!(folders.end(b), "b");
        assert_eq!(folders.end(d), "before");
    }
}
