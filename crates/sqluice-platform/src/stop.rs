//! Requests to end the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::system;

/// From now on a request to stop sets `flag`: Ctrl-C, and SIGTERM or SIGHUP, or the end of the console. A file that grows over its
/// limit is an error of the write, and no longer ends the process.
///
/// # Errors
/// When the system does not take the handlers.
pub fn listen(flag: &Arc<AtomicBool>) -> io::Result<()> {
    system::stop::listen(flag)
}
