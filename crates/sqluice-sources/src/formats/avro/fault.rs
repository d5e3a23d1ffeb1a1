//! The reasons why the bytes of an Avro file are refused.

use sqluice_core::error::Error;

/// The reason why a header or a block can't be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The bytes break the rules of Avro.
    Damaged(&'static str),
    /// The bytes break the rules of Avro, in the words of a library.
    DamagedAs(String),
    /// The error of an intact file that is too large or of an unsupported kind.
    Refused(Error),
    /// The error of reading the file.
    Unreadable(std::io::Error),
}

impl Fault {
    /// Returns a fault with the words of a library.
    pub(super) fn of(error: impl std::fmt::Display) -> Fault {
        Fault::DamagedAs(error.to_string())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Refused(error)
    }
}
