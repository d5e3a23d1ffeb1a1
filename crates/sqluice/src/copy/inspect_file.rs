//! Writes a file for Datasette's `--inspect-file`: the hash, size and row counts that Datasette would otherwise compute at startup.
//!
//! ```text
//!  {"NAME": {"hash": SHA-256 of the file, "size": bytes, "file": "NAME.db", "tables": {"t": {"count": rows}, ...}}}
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::failed;
use sqluice_engine::output::{WholeFile, explained};

/// The number of bytes read at once.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns the path of the inspect file of a database, in the same folder.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut name = database.file_stem().unwrap_or_default().to_owned();
    name.push("-inspect.json");
    database.with_file_name(name)
}

/// Writes the inspect file. `counts` has the row counts that are known; the others are computed by SQL.
///
/// # Errors
/// If the database can't be read, or the file can't be written.
pub(super) fn write(
    database: &Path,
    counts: &[(String, u64)],
    overwrite: bool,
    cancel: &Cancel,
) -> Result<PathBuf> {
    let (hash, bytes) = hash(database, cancel)?;
    let mut tables = serde_json::Map::new();
    let connection = Connection::open_with_flags(
        std::path::absolute(database).map_err(|error| Error::read(database, error))?,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    );
    let cannot = |error| failed(error, "count rows");
    let connection = connection.map_err(cannot)?;
    let mut names = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
        .map_err(cannot)?;
    let names = names.query_map([], |row| row.get::<_, String>(0)).map_err(cannot)?;
    for name in names {
        let name = name.map_err(cannot)?;
        let known = counts.iter().find(|(table, _)| table.eq_ignore_ascii_case(&name));
        let count = match known {
            Some((_, count)) => Some(*count),
            // The count is null if SQLite can't count the rows, as of a virtual table whose module is missing.
            None => connection
                .query_row(&format!("SELECT count(*) FROM {}", quoted(&name)), [], |row| row.get::<_, i64>(0))
                .ok()
                .map(i64::cast_unsigned),
        };
        tables.insert(name, serde_json::json!({ "count": count }));
    }
    let name = database.file_stem().unwrap_or_default().to_string_lossy();
    let file = database.file_name().unwrap_or_default().to_string_lossy();
    let about = serde_json::json!({ "hash": hash, "size": bytes, "file": file, "tables": tables });
    let about = serde_json::json!({ name: about });
    let path = path(database);
    let mut file = WholeFile::create(&path, overwrite)?;
    file.write(format!("{about:#}\n").as_bytes())?;
    file.finish()?;
    Ok(path)
}

/// Returns the SHA-256 of a file, in hexadecimal, and its number of bytes.
fn hash(path: &Path, cancel: &Cancel) -> Result<(String, u64)> {
    let cannot =
        |error| explained(Error::target(format!("cannot read {}", path.display())).about(path), error);
    let mut file = File::open(path).map_err(cannot)?;
    let (mut hasher, mut block, mut bytes) = (Sha256::new(), vec![0; BLOCK_BYTES], 0);
    loop {
        cancel.check()?;
        let read = file.read(&mut block).map_err(cannot)?;
        if read == 0 {
            break;
        }
        hasher.update(&block[..read]);
        bytes += read as u64;
    }
    let digits = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((digits, bytes))
}
