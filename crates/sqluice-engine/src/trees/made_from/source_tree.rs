//! A tree of one database, which goes into another alone or with others.

use std::borrow::Cow;

use sqluice_core::error::{Error, Result};
use sqluice_format::record::{self, Shift, ShiftError};
use sqluice_format::scan::{Scan, ScanError};
use sqluice_reader::pages::{FileView, damaged};

use crate::verification::VerifiedTree;

/// A tree that is read.
pub(crate) struct Piece<'a> {
    /// What it is, for messages: `index i`.
    pub(crate) what: &'a str,
    pub(crate) scan: Scan,
    pub(crate) view: FileView<'a>,
    /// Whether pages have the same layout in both databases, and leaves that are packed are taken as they are.
    pub(crate) takes_leaves: bool,
    pub(crate) changes: Changes<'a>,
    /// The verification on the way; `None`: the tree is not verified, or another reader verifies the tree.
    pub(crate) verified: Option<VerifiedTree<'a>>,
}

/// What changes of entries that go into another database.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// Is added to rowids of a table; those in an index are a field.
    pub rowid: i64,
    /// The numbers that are added to fields of records, by ascending field.
    pub fields: Cow<'a, [Shift]>,
    /// The rows that are left out, by their rowids before the change, in ascending order.
    pub left_out: Cow<'a, [i64]>,
}

impl Changes<'_> {
    /// Whether nothing changes.
    pub fn is_none(&self) -> bool {
        self.rowid == 0 && self.fields.is_empty() && self.left_out.is_empty()
    }

    /// Whether the row with that rowid is left out.
    #[inline]
    pub(crate) fn leaves_out(&self, rowid: i64) -> bool {
        !self.left_out.is_empty() && self.left_out.binary_search(&rowid).is_ok()
    }
}

impl Piece<'_> {
    /// Returns the error for a tree that could not be read.
    pub(crate) fn failed(&self, error: ScanError<Error>) -> Error {
        match &self.verified {
            Some(verified) => verified.failed(&self.view, error),
            None => self.view.failed(error),
        }
    }

    /// The rowid after the change.
    #[inline]
    pub(crate) fn rowid(&self, rowid: i64) -> Result<i64> {
        rowid.checked_add(self.changes.rowid).ok_or_else(|| self.unshifted(ShiftError::TooLarge))
    }

    /// The record after the change, which may be put into `room`.
    #[inline]
    pub(crate) fn record<'r>(&self, record: &'r [u8], room: &'r mut Vec<u8>) -> Result<&'r [u8]> {
        if self.changes.fields.is_empty() {
            return Ok(record);
        }
        room.clear();
        record::shift(record, &self.changes.fields, room).map_err(|error| self.unshifted(error))?;
        Ok(room)
    }

    /// The rowid that an entry of an index ends with.
    pub(crate) fn rowid_of_entry(&self, record: &[u8]) -> Result<i64> {
        record::last_int(record).ok_or_else(|| self.unshifted(ShiftError::Record))
    }

    #[cold]
    fn unshifted(&self, error: ShiftError) -> Error {
        let Piece { what, view, .. } = self;
        let path = view.path.display();
        match error {
            ShiftError::Record => damaged(view.path, &format!("an entry of {what} is not a valid record")),
            ShiftError::Lacking => Error::input(format!(
                "rows of {what} of {path} are from before a column was added, and its DEFAULT refers to a renumbered row"
            ))
            .hint("store it in these rows: UPDATE the table, and set the column to itself"),
            ShiftError::NotAnInteger => Error::input(format!(
                "{what} of {path} refers to a renumbered row by a value that is not an integer"
            )),
            ShiftError::TooLarge => {
                Error::input(format!("{what} of {path} can't be renumbered: its rowids are too large"))
            }
        }
    }
}

/// The piece and its part that a part of all pieces is.
pub(crate) fn part_of(pieces: &[Piece<'_>], mut part: usize) -> (usize, usize) {
    for (number, piece) in pieces.iter().enumerate() {
        match part.checked_sub(piece.scan.parts()) {
            Some(rest) => part = rest,
            None => return (number, part),
        }
    }
    unreachable!("a part belongs to a piece")
}
