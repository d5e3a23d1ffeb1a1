//! What the machine is, as far as the system reports it.

use std::path::Path;

pub use crate::answers::Machine;
use crate::system;

/// This machine.
pub fn here() -> Machine {
    system::machine::here()
}

/// The type of the file system that `folder` is on, and its device.
pub fn mount(folder: &Path) -> Option<(String, String)> {
    system::machine::mount(folder)
}
