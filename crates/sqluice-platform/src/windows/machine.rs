//! Properties of the machine from the Windows API.

use std::path::Path;
use std::ptr;

use windows_sys::Win32::Storage::FileSystem::{GetVolumeInformationW, GetVolumePathNameW};

use super::memory;
use super::paths::wide;
use crate::answers::Machine;

pub(crate) fn here() -> Machine {
    Machine {
        cpu: std::env::var("PROCESSOR_IDENTIFIER").ok(),
        memory_bytes: memory::of_machine().map(|about| about.ullTotalPhys),
        kernel: std::env::var("OS").unwrap_or_else(|_| "Windows".to_owned()),
        load: None,
    }
}

pub(crate) fn mount(folder: &Path) -> Option<(String, String)> {
    let (folder, mut volume, mut name) = (wide(folder), [0; 300], [0; 100]);
    // SAFETY: names end with a NUL, and the calls write at most the given number of units.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let known = unsafe {
        GetVolumePathNameW(folder.as_ptr(), volume.as_mut_ptr(), volume.len() as u32) != 0
            && GetVolumeInformationW(
                volume.as_ptr(),
                ptr::null_mut(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                name.as_mut_ptr(),
                name.len() as u32,
            ) != 0
    };
    known.then(|| (text(&name), text(&volume)))
}

/// Returns the text before the first NUL.
pub(super) fn text(units: &[u16]) -> String {
    String::from_utf16_lossy(units.split(|unit| *unit == 0).next().unwrap_or(&[]))
}
