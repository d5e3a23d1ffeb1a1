//! Frees the disk space of parts of files with `FSCTL_SET_ZERO_DATA`, which has this effect only in sparse files.

use std::fs::File;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{FILE_ZERO_DATA_INFORMATION, FSCTL_SET_SPARSE, FSCTL_SET_ZERO_DATA};

pub(crate) fn free(file: &File, offset: u64, bytes: u64) {
    let (Ok(first), Ok(end)) = (i64::try_from(offset), i64::try_from(offset + bytes)) else { return };
    let range = FILE_ZERO_DATA_INFORMATION { FileOffset: first, BeyondFinalZero: end };
    // In a file that can't be sparse, the call would write zeros and free nothing.
    if control::<()>(file, FSCTL_SET_SPARSE, None) {
        control(file, FSCTL_SET_ZERO_DATA, Some(&range));
    }
}

/// Sends the request `what` to the file system. Returns `true` on success.
fn control<T>(file: &File, what: u32, with: Option<&T>) -> bool {
    let (start, bytes) = with.map_or((ptr::null(), 0), |with| (ptr::from_ref(with).cast(), size_of::<T>()));
    let mut returned = 0;
    // SAFETY: the handle is open as long as `file`; the call reads `bytes` bytes, and writes only the number of those that it returns.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let done = unsafe {
        DeviceIoControl(
            file.as_raw_handle(),
            what,
            start,
            bytes as u32,
            ptr::null_mut(),
            0,
            &raw mut returned,
            ptr::null_mut(),
        )
    };
    done != 0
}
