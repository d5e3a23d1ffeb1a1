//! Turns direct I/O on and off, with `O_DIRECT`.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;

pub(crate) fn switch_on(file: &File) -> bool {
    set(file, true)
}

pub(crate) fn switch_off(file: &File) -> bool {
    let flags = rustix::fs::fcntl_getfl(file);
    flags.is_ok_and(|flags| flags.contains(OFlags::DIRECT)) && set(file, false)
}

fn set(file: &File, direct: bool) -> bool {
    let set = rustix::fs::fcntl_getfl(file).and_then(|mut flags| {
        flags.set(OFlags::DIRECT, direct);
        rustix::fs::fcntl_setfl(file, flags)
    });
    set.is_ok()
}

pub(crate) fn refuses(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}
