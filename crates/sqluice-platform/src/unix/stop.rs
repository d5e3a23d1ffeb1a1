//! Turns signals into requests to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::register;

use crate::system;

pub(crate) fn listen(flag: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // nohup has set SIGHUP to be ignored, and it stays ignored.
        if signal == SIGHUP && system::signals::is_ignored(SIGHUP) {
            continue;
        }
        register(signal, Arc::clone(flag))?;
    }
    // A file that exceeds its size limit must be an error of the write, which is explained and cleaned up, rather than end the process.
    register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}
