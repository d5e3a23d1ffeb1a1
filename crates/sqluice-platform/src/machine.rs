//! Properties of the machine, as far as the system reports them.

use std::path::Path;

pub use crate::answers::Machine;
use crate::system;

/// Returns the properties of this machine.
pub fn here() -> Machine {
    system::machine::here()
}

/// Returns the type of the file system that contains `folder`, such as `ext4`, and its device, or `None` if they are unknown.
pub fn mount(folder: &Path) -> Option<(String, String)> {
    system::machine::mount(folder)
}
