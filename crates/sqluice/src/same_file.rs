//! Whether two names are of one file.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether both exist and are the same.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}
