//! Reads memory figures with sysctl and `libproc`.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;

use super::sysctl;

/// Returns the size of pages that are free, purgeable or backed by files.
pub(crate) fn available_bytes() -> u64 {
    let pages = [c"vm.page_free_count", c"vm.page_purgeable_count", c"vm.page_pageable_external_count"];
    let pages: u64 = pages.iter().filter_map(|name| sysctl::integer(name)).sum();
    pages * rustix::param::page_size() as u64
}

/// Does nothing: the kernel chooses the size of pages by itself.
pub(crate) fn advise_large<T>(_: &mut Vec<T>) {}

/// Returns the resident size of the task.
pub(crate) fn of_process() -> Option<u64> {
    let mut about = MaybeUninit::<libc::proc_taskinfo>::zeroed();
    let bytes = size_of::<libc::proc_taskinfo>() as i32;
    let process = i32::try_from(std::process::id()).ok()?;
    // SAFETY: the call writes at most `bytes` bytes to the structure, for which zeros are valid.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let (read, about) = unsafe {
        let read = libc::proc_pidinfo(process, libc::PROC_PIDTASKINFO, 0, about.as_mut_ptr().cast(), bytes);
        (read, about.assume_init())
    };
    (read == bytes).then_some(about.pti_resident_size)
}

pub(crate) fn peak_of_process() -> Option<u64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure, for which zeros are valid.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let (failed, usage) =
        unsafe { (libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), usage.assume_init()) };
    (failed == 0).then(|| u64::try_from(usage.ru_maxrss).ok()).flatten()
}

/// Returns `false`: the kernel keeps the peak as long as the process lives.
pub(crate) fn forget_peak() -> bool {
    false
}

pub(crate) fn drop_cached(_: &File) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "macOS has no call that drops the cache of a file"))
}
