//! What SQLite does, in processes of its own.

use std::path::Path;

use anyhow::Context;
use rusqlite::{Connection, OpenFlags};

/// The indexes: text, a composite, one with two keys only, one that descends.
pub(crate) const INDEXES: &str = "
    CREATE INDEX user_area ON user (area);
    CREATE INDEX user_age_area ON user (age, area);
    CREATE INDEX user_active ON user (active);
    CREATE INDEX user_area_id ON user (area DESC, id);";

/// Pages that SQLite may keep, in KiB: as much as makes no difference any more.
const CACHE_KIB: u32 = 200_000;

/// Makes the indexes.
pub(crate) fn index(file: &Path) -> anyhow::Result<()> {
    let connection = Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let pragmas = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA threads = 2;";
    connection
        .execute_batch(&format!("{pragmas} PRAGMA cache_size = -{CACHE_KIB}; {INDEXES}"))
        .context("cannot make the indexes")
}

/// What `PRAGMA integrity_check` says.
pub(crate) fn integrity_check(file: &Path) -> anyhow::Result<String> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", file.display()))?;
    connection.execute_batch(&format!("PRAGMA cache_size = -{CACHE_KIB}"))?;
    Ok(connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?)
}
