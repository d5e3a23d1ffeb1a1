//! Requests to stop: Ctrl-C, Ctrl-Break, and the end of the console.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};

use super::errors::unless_zero;

/// The flags that a request to stop sets.
static FLAGS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

/// The time that the process has for removing its files: the system does not wait longer.
const WAIT: Duration = Duration::from_secs(10);

pub(crate) fn listen(flag: &Arc<AtomicBool>) -> io::Result<()> {
    let mut flags = FLAGS.lock().unwrap_or_else(PoisonError::into_inner);
    if flags.is_empty() {
        // SAFETY: the handler lives as long as the process; the system calls it in a thread of its own.
        #[allow(unsafe_code, reason = "no safe call exists")]
        unless_zero(unsafe { SetConsoleCtrlHandler(Some(handle), 1) })?;
    }
    flags.push(Arc::clone(flag));
    Ok(())
}

#[allow(unsafe_code, reason = "the type of the system's handlers")]
unsafe extern "system" fn handle(event: u32) -> i32 {
    for flag in FLAGS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        flag.store(true, Ordering::SeqCst);
    }
    if event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT {
        // The process ends when this function returns. The main thread ends it earlier, once all files are removed.
        std::thread::sleep(WAIT);
    }
    1
}
