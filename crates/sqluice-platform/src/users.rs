//! Processes that have a file open, as far as the system lets this one see them.
//!
//! | system | how | not seen |
//! |---|---|---|
//! | Linux | `/proc`, as `lsof` does | processes of others, unless we are root, and of other containers |
//! | macOS | `libproc`, as `lsof` does | processes of others, unless we are root |
//! | Windows | the Restart Manager | none on this machine; an open file can't be replaced anyway |
//!
//! Processes of other machines are never seen.

use std::path::Path;

use crate::answers::Identity;
use crate::system;

/// Names another process that has the file at `path` open, as `process 4711 (sqlite3)`.
pub fn find(path: &Path, identity: Identity) -> Option<String> {
    system::users::find(path, identity)
}
