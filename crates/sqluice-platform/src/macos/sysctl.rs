//! Reads named values of the kernel, with `sysctlbyname`.

use std::ffi::CStr;
use std::ptr;

/// Reads a value into `into`. Returns the size of the value, or `None` if the kernel has no such value or it is larger than `into`.
fn read(name: &CStr, into: &mut [u8]) -> Option<usize> {
    let mut bytes = into.len();
    // SAFETY: the call writes at most `bytes` bytes to the buffer, and sets nothing, for the new value is null.
    #[allow(unsafe_code, reason = "no safe call exists")]
    let failed = unsafe {
        libc::sysctlbyname(name.as_ptr(), into.as_mut_ptr().cast(), &raw mut bytes, ptr::null_mut(), 0)
    };
    (failed == 0).then_some(bytes)
}

/// Returns a value that is an integer of four or eight bytes.
pub(super) fn integer(name: &CStr) -> Option<u64> {
    let mut value = [0; 8];
    match read(name, &mut value)? {
        4 => Some(u64::from(u32::from_ne_bytes([value[0], value[1], value[2], value[3]]))),
        8 => Some(u64::from_ne_bytes(value)),
        _ => None,
    }
}

/// Returns a value that is text of at most 255 bytes.
pub(super) fn text(name: &CStr) -> Option<String> {
    let mut value = [0; 256];
    let bytes = read(name, &mut value)?;
    let text = CStr::from_bytes_until_nul(value.get(..bytes)?).ok()?;
    Some(text.to_string_lossy().into_owned())
}
