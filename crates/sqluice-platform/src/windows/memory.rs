//! Reads the memory of the machine and of the process from the Windows API.

use std::fs::File;
use std::io;

use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Returns the system's figures of the machine's memory.
pub(super) fn of_machine() -> Option<MEMORYSTATUSEX> {
    let bytes = size_of::<MEMORYSTATUSEX>() as u32;
    let mut about = MEMORYSTATUSEX { dwLength: bytes, ..MEMORYSTATUSEX::default() };
    // SAFETY: the call fills the structure, whose size it knows from its first field.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let known = unsafe { GlobalMemoryStatusEx(&raw mut about) } != 0;
    known.then_some(about)
}

fn counters() -> Option<PROCESS_MEMORY_COUNTERS> {
    let bytes = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    let mut about = PROCESS_MEMORY_COUNTERS::default();
    // SAFETY: the handle of the process itself is always open, and the call writes at most `bytes` bytes.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let known = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut about, bytes) } != 0;
    known.then_some(about)
}

pub(crate) fn available_bytes() -> u64 {
    of_machine().map_or(0, |about| about.ullAvailPhys)
}

/// Does nothing: large pages require a special privilege.
pub(crate) fn advise_large<T>(_: &mut Vec<T>) {}

pub(crate) fn of_process() -> Option<u64> {
    counters().map(|about| about.WorkingSetSize as u64)
}

pub(crate) fn peak_of_process() -> Option<u64> {
    counters().map(|about| about.PeakWorkingSetSize as u64)
}

/// Returns `false`: the system keeps the peak as long as the process lives.
pub(crate) fn forget_peak() -> bool {
    false
}

pub(crate) fn drop_cached(_: &File) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "Windows has no call that drops the cache of a file"))
}
