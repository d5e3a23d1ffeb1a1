//! A tree of one database that is copied into another database, alone or with other trees.

use std::borrow::Cow;

use sqluice_core::error::{Error, Result};
use sqluice_format::record::{self, Shift, ShiftError};
use sqluice_format::scan::{Scan, ScanError};
use sqluice_reader::pages::{FileView, damaged};

use crate::verification::VerifiedTree;

/// A tree that is read from a source.
pub(crate) struct Piece<'a> {
    /// The name of the tree in messages: `index i`.
    pub(crate) what: &'a str,
    pub(crate) scan: Scan,
    pub(crate) view: FileView<'a>,
    /// `true` if full leaves are copied unchanged, because pages have the same layout in both databases.
    pub(crate) takes_leaves: bool,
    pub(crate) changes: Changes<'a>,
    /// The verification of the tree while it is read; `None` if the tree is not verified, or another reader verifies the tree.
    pub(crate) verified: Option<VerifiedTree<'a>>,
}

/// The changes of entries that are copied into another database.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// The number that is added to the rowids of a table. In an index, `fields` changes the rowids.
    pub rowid: i64,
    /// The numbers that are added to fields of records, by ascending field.
    pub fields: Cow<'a, [Shift]>,
    /// The rows that are left out, by their rowids before the change, in ascending order.
    pub left_out: Cow<'a, [i64]>,
}

impl Changes<'_> {
    /// Returns `true` if no entry changes.
    pub fn is_none(&self) -> bool {
        self.rowid == 0 && self.fields.is_empty() && self.left_out.is_empty()
    }

    /// Returns `true` if the row with this rowid is left out.
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

    /// Returns the rowid after the change.
    #[inline]
    pub(crate) fn rowid(&self, rowid: i64) -> Result<i64> {
        rowid.checked_add(self.changes.rowid).ok_or_else(|| self.unshifted(ShiftError::TooLarge))
    }

    /// Returns the record after the change. A changed record is written to `room`.
    #[inline]
    pub(crate) fn record<'r>(&self, record: &'r [u8], room: &'r mut Vec<u8>) -> Result<&'r [u8]> {
        if self.changes.fields.is_empty() {
            return Ok(record);
        }
        room.clear();
        record::shift(record, &self.changes.fields, room).map_err(|error| self.unshifted(error))?;
        Ok(room)
    }

    /// Returns the rowid at the end of an index entry.
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

/// Returns the number of the piece to which part `part` of all pieces belongs, and the number of the part within the piece.
pub(crate) fn part_of(pieces: &[Piece<'_>], mut part: usize) -> (usize, usize) {
    for (number, piece) in pieces.iter().enumerate() {
        match part.checked_sub(piece.scan.parts()) {
            Some(rest) => part = rest,
            None => return (number, part),
        }
    }
    unreachable!("a part belongs to a piece")
}
