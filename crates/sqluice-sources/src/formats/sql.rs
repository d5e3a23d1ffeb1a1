//! Recognises SQL dumps. A load reads them with [`dump`](crate::dump), because a dump creates a whole database.

use sqluice_core::error::{Error, Result};

use super::{FileFormat, Format, OpenRequest, Opened, Start};
use crate::dump::recognise::{begins_dump, is_undecided};
use crate::input::InputFile;

/// The format of dumps.
pub(super) struct Sql;

impl Format for Sql {
    fn looks_like(&self, start: &Start<'_>) -> Option<bool> {
        if !start.whole && is_undecided(start.head) {
            return None;
        }
        Some(begins_dump(start.head))
    }

    fn open(&self, _: &'static FileFormat, input: InputFile, _: &OpenRequest<'_>) -> Result<Vec<Opened>> {
        let message = format!("{} is a dump, which makes a whole database", input.name().display());
        Err(Error::usage(message).hint("load it alone"))
    }
}
