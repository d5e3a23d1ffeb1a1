//! Signals become the engine's [`Cancel`]: it removes what it wrote, and ends.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use sqluice::progress::Cancel;

/// From now on a request to stop sets `cancel`.
pub(crate) fn listen(cancel: &Cancel) -> anyhow::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(SIGHUP) {
            continue;
        }
        signal_hook::flag::register(signal, cancel.flag()).context("cannot listen for signals")?;
    }
    // A file that grows over its limit must be an error of the write, which is explained and cleaned up, not the end.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot listen for signals")?;
    Ok(())
}

/// Whether the parent process wants `signal` ignored, as nohup does with SIGHUP.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
