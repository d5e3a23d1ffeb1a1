//! Temporary files whose names are removed at once: macOS has no files that never have a name.

pub(crate) use crate::unix::temporary::unlinked as unnamed;
