//! Turns signals into the engine's [`Cancel`]: the engine removes its files and ends.

use anyhow::Context;
use sqluice::progress::Cancel;

/// Sets `cancel` on signals that request to stop, from now on.
pub(crate) fn listen(cancel: &Cancel) -> anyhow::Result<()> {
    sqluice_platform::stop::listen(&cancel.flag()).context("cannot listen for signals")
}
