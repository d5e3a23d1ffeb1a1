//! Mode, owner and group.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::Access;

#[derive(Clone, Debug)]
pub(crate) struct Rights {
    mode: u32,
    owner: u32,
    group: u32,
}

impl Rights {
    pub(crate) fn of(metadata: &Metadata) -> Rights {
        Rights { mode: metadata.permissions().mode() & 0o7777, owner: metadata.uid(), group: metadata.gid() }
    }

    pub(crate) fn give(&self, to: &File) -> io::Result<()> {
        // In this order: a new owner takes some bits of the mode away.
        if std::os::unix::fs::fchown(to, Some(self.owner), Some(self.group)).is_err() {
            let _ = std::os::unix::fs::fchown(to, None, Some(self.group));
        }
        to.set_permissions(Permissions::from_mode(self.mode))
    }
}

pub(crate) fn check_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, Access::WRITE_OK)?)
}
