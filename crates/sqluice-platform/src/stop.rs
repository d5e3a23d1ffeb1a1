//! Requests to end the process, such as Ctrl-C: a handler sets a flag.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::system;

/// Sets `flag` at every later request to stop: Ctrl-C, SIGTERM, SIGHUP unless it is ignored, or the end of the console. A file that exceeds
/// its size limit becomes an error of the write, and no longer ends the process.
///
/// # Errors
/// When the handlers can't be installed.
pub fn listen(flag: &Arc<AtomicBool>) -> io::Result<()> {
    system::stop::listen(flag)
}
