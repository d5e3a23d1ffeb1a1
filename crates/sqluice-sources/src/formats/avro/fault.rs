//! The reasons why bytes are refused.

use sqluice_core::error::Error;

/// Why a header or a block can't be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The bytes break the rules of Avro.
    Damaged(&'static str),
    /// The bytes break the rules of Avro, as a library says.
    DamagedAs(String),
    /// The error of a file that is intact, but of a kind that is not supported, or too large.
    Refused(Error),
    /// The error of the file itself.
    Unreadable(std::io::Error),
}

impl Fault {
    /// A fault whose words are a library's.
    pub(super) fn of(error: impl std::fmt::Display) -> Fault {
        Fault::DamagedAs(error.to_string())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Refused(error)
    }
}
