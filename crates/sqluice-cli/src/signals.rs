//! Signals become the engine's [`Cancel`]: it removes what it wrote, and ends.

use anyhow::Context;
use sqluice::progress::Cancel;

/// From now on a request to stop sets `cancel`.
pub(crate) fn listen(cancel: &Cancel) -> anyhow::Result<()> {
    sqluice_platform::stop::listen(&cancel.flag()).context("cannot listen for signals")
}
