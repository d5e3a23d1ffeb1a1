//! A file that loses its name at once: macOS has none without one.

pub(crate) use crate::unix::temporary::unlinked as unnamed;
