//! Signals become the engine's [`Cancel`]: it removes what it wrote, and ends.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use sqluice::progress::Cancel;

/// From now on a request to stop sets `cancel`.
pub(crate) fn listen(cancel: &Cancel) -> anyhow::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, cancel.flag()).context("cannot listen for signals")?;
    }
    // A file that grows over its limit must be an error of the write, which is explained and cleaned up, not the end.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot listen for signals")?;
    Ok(())
}
