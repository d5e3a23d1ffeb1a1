//! The laps of SQLite in the comparison of checks, each in its own process: CREATE INDEX, and `PRAGMA integrity_check`.

use std::path::Path;

use crate::db::{open, read};

/// The indexes: one on text, one on two columns, one on a column with only two different values, and one in descending order.
pub(crate) const INDEXES: &str = "
    CREATE INDEX user_area ON user (area);
    CREATE INDEX user_age_area ON user (age, area);
    CREATE INDEX user_active ON user (active);
    CREATE INDEX user_area_id ON user (area DESC, id);";

/// The size of SQLite's page cache in KiB. A larger cache makes no difference.
const CACHE_KIB: u32 = 200_000;

/// Creates the indexes of [`INDEXES`], with two sorting threads and without a journal.
pub(crate) fn index(file: &Path) -> anyhow::Result<()> {
    let pragmas = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA threads = 2;";
    open(file, &format!("{pragmas} PRAGMA cache_size = -{CACHE_KIB}; {INDEXES}")).map(drop)
}

/// Returns the result of `PRAGMA integrity_check`.
pub(crate) fn integrity_check(file: &Path) -> anyhow::Result<String> {
    let connection = read(file)?;
    connection.execute_batch(&format!("PRAGMA cache_size = -{CACHE_KIB}"))?;
    Ok(connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?)
}
