//! Cancels the engine at Ctrl-C and other signals to stop. The engine then removes its temporary files and ends.

use anyhow::Context;
use sqluice::progress::Cancel;

/// Installs handlers, so that from now on signals to stop set `cancel`.
pub(crate) fn listen(cancel: &Cancel) -> anyhow::Result<()> {
    sqluice_platform::stop::listen(&cancel.flag()).context("cannot listen for signals")
}
