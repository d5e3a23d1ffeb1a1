//! Turns uncached I/O on and off, with `F_NOCACHE`.

use std::fs::File;
use std::io;

pub(crate) fn switch_on(file: &File) -> bool {
    rustix::fs::fcntl_nocache(file, true).is_ok()
}

pub(crate) fn switch_off(file: &File) -> bool {
    rustix::fs::fcntl_nocache(file, false).is_ok()
}

/// Returns `false`: the system accepts blocks of any size at any offset.
pub(crate) fn refuses(_: &io::Error) -> bool {
    false
}
