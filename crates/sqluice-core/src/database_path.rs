//! Refuses `:memory:`, SQLite's name for a database in memory, as a target, and makes URIs of files that no program writes any more.

use std::fmt::Write as _;
use std::path::Path;

use sqluice_platform::paths;

use crate::error::{Error, Result};

/// Refuses SQLite's name for a database in memory: only files can be written.
///
/// # Errors
/// If `target` is `:memory:`.
pub fn refuse_memory(target: &Path) -> Result<()> {
    if target != Path::new(":memory:") {
        return Ok(());
    }
    Err(Error::usage(":memory: is SQLite's name for a database in memory, and only files can be written")
        .hint("name a file, such as target.db; ./:memory: is a file of this name"))
}

/// Returns the URI of a file that no program writes any more: SQLite takes no locks on it, and looks for no journal.
///
/// # Errors
/// If `path` is relative and the working directory is not known.
pub fn immutable_uri(path: &Path) -> Result<String> {
    let path = std::path::absolute(path).map_err(|e| Error::read(path, e))?;
    let mut uri = String::from("file:");
    for &byte in &*paths::of_uri(&path) {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => write!(uri, "%{byte:02x}").map_err(|e| Error::target("cannot name a file").because(e))?,
        }
    }
    Ok(uri + "?mode=ro&immutable=1")
}
