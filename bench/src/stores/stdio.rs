//! Reads a file with the functions of the C library, as SQLite's `kvtest.c` does: <https://sqlite.org/src/file/test/kvtest.c>.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;

/// Reads a whole file into newly allocated memory.
pub(crate) fn read(path: &CStr) -> io::Result<Vec<u8>> {
    let mut about = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a NUL, and `about` has room for a `stat`.
    let bytes = unsafe {
        if libc::stat(path.as_ptr(), about.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        about.assume_init().st_size as usize
    };
    let mut content: Vec<u8> = Vec::with_capacity(bytes);
    // SAFETY: both texts end with a NUL; `fread` writes at most `bytes` bytes, which fit into `content`, and returns 1 only if it wrote all
    // of them; the file is closed once.
    unsafe {
        let file = libc::fopen(path.as_ptr(), c"rb".as_ptr());
        if file.is_null() {
            return Err(io::Error::last_os_error());
        }
        let read = libc::fread(content.as_mut_ptr().cast(), bytes, 1, file);
        libc::fclose(file);
        if read != 1 && bytes > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        content.set_len(bytes);
    }
    Ok(content)
}
