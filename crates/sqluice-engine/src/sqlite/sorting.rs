//! The folder where SQLite sorts what does not fit the memory.
//!
//! SQLite has one for the whole process: while several runs sort, it is that of the one that began last. A run that ends leaves the folder
//! of another that goes on, or the one from before them all. So none stays that may soon be gone: in such a folder SQLite can't make
//! temporary files on Windows, and elsewhere it looks for another one.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

static FOLDERS: Mutex<Folders> = Mutex::new(Folders { before: String::new(), in_use: Vec::new(), begun: 0 });

/// The folders of all runs that sort now.
#[derive(Debug)]
struct Folders {
    /// The one from before them; empty: the choice is SQLite's.
    before: String,
    /// In the order in which the runs began, by their numbers.
    in_use: Vec<(u64, String)>,
    /// Runs that have begun.
    begun: u64,
}

impl Folders {
    fn begin(&mut self, folder: &str) -> u64 {
        self.begun += 1;
        self.in_use.push((self.begun, folder.to_owned()));
        self.begun
    }

    /// Forgets the folder of a run; returns where to sort from now on.
    fn end(&mut self, run: u64) -> &str {
        self.in_use.retain(|(number, _)| *number != run);
        self.in_use.last().map_or(&self.before, |(_, folder)| folder)
    }
}

fn folders() -> MutexGuard<'static, Folders> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that sorts in a folder of its own; `None`: where SQLite does anyway.
#[derive(Debug)]
pub(super) struct SortingIn {
    run: Option<u64>,
}

impl SortingIn {
    /// Sorts in that folder from now on, if SQLite can.
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

/// Takes this folder, if SQLite can write to it: if not, the one from before remains. Returns whether it did, which an error does not tell:
/// SQLite also reports one when it takes the folder, and this connection has temporary tables that stay where they are.
fn set(connection: &Connection, folder: &str) -> bool {
    let sql = format!("PRAGMA temp_store_directory = '{}'", folder.replace('\'', "''"));
    let _ = connection.execute_batch(&sql);
    current(connection) == folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_run_that_has_ended_does_not_stay() {
        let mut folders = Folders { before: "before".to_owned(), in_use: Vec::new(), begun: 0 };
        let [a, b, c] = ["a", "b", "c"].map(|folder| folders.begin(folder));
        assert_eq!(folders.end(a), "c");
        assert_eq!(folders.end(c), "b");
        let d = folders.begin("b");
        assert_eq!(folders.end(b), "b");
        assert_eq!(folders.end(d), "before");
    }
}
