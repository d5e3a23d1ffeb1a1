//! A piece: a tree of one database that is copied into another database, alone or together with pieces of other databases.

use std::borrow::Cow;

use sqluice_core::error::{Error, Result};
use sqluice_format::record::{self, Shift, ShiftError};
use sqluice_format::scan::{Scan, ScanError};
use sqluice_reader::pages::{FileView, damaged};

use crate::verification::VerifiedTree;

/// A tree of a source database that is copied: it becomes a whole tree of the copy, or a part of a tree.
pub(crate) struct Piece<'a> {
    /// The name of the tree in messages: `index i`.
    pub(crate) what: &'a str,
    pub(crate) scan: Scan,
    pub(crate) view: FileView<'a>,
    /// `true` if full leaves are copied unchanged where no row in them changes or is left out. This requires that pages have the same
    /// layout in both databases.
    pub(crate) takes_leaves: bool,
    pub(crate) changes: Changes<'a>,
    /// The verification of the tree while the tree is read; `None` if the tree is not verified by the reader of this piece.
    pub(crate) verified: Option<VerifiedTree<'a>>,
}

/// The changes to rows and index entries when they are copied into another database: new numbers for rowids and for references to rowids.
#[derive(Clone, Debug, Default)]
pub struct Changes<'a> {
    /// The number that is added to the rowid of each row of a table. In an index, the rowid is a field of the record, so `fields` changes
    /// it.
    pub rowid: i64,
    /// The numbers that are added to fields of each record, in ascending order of the fields.
    pub fields: Cow<'a, [Shift]>,
    /// The rowids in the source of the rows that are not copied, in ascending order.
    pub left_out: Cow<'a, [i64]>,
}

impl Changes<'_> {
    /// Returns `true` if all entries are copied unchanged.
    pub fn is_none(&self) -> bool {
        self.rowid == 0 && self.fields.is_empty() && self.left_out.is_empty()
    }

    /// Returns `true` if the row that has this rowid in the source is not copied.
    #[inline]
    pub(crate) fn leaves_out(&self, rowid: i64) -> bool {
        !self.left_out.is_empty() && self.left_out.binary_search(&rowid).is_ok()
    }
}

impl Piece<'_> {
    /// Converts the error of reading the tree to the error that is reported.
    pub(crate) fn failed(&self, error: ScanError<Error>) -> Error {
        match &self.verified {
            Some(verified) => verified.failed(&self.view, error),
            None => self.view.failed(error),
        }
    }

    /// Returns the rowid that a row of this tree has in the copy.
    #[inline]
    pub(crate) fn rowid(&self, rowid: i64) -> Result<i64> {
        rowid.checked_add(self.changes.rowid).ok_or_else(|| self.unshifted(ShiftError::TooLarge))
    }

    /// Returns the record that an entry of this tree has in the copy. A changed record is written to `room`.
    #[inline]
    pub(crate) fn record<'r>(&self, record: &'r [u8], room: &'r mut Vec<u8>) -> Result<&'r [u8]> {
        if self.changes.fields.is_empty() {
            return Ok(record);
        }
        room.clear();
        record::shift(record, &self.changes.fields, room).map_err(|error| self.unshifted(error))?;
        Ok(room)
    }

    /// Returns the rowid in the source that an index entry has in its last field.
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
                "some rows of {what} of {path} are older than one of its columns, and the DEFAULT of this column, which they show, refers to a row that gets a new number"
            ))
            .hint("store the value in these rows: UPDATE the table, and SET the column to itself"),
            ShiftError::NotAnInteger => Error::input(format!(
                "{what} of {path} refers to a renumbered row by a value that is not an integer"
            )),
            ShiftError::TooLarge => {
                Error::input(format!("{what} of {path} can't be renumbered: its rowids are too large"))
            }
        }
    }
}

/// Finds the part with the number `part`, counted from 0 over all pieces. Returns the position of its piece in `pieces`, and the number of
/// the part within this piece.
pub(crate) fn part_of(pieces: &[Piece<'_>], mut part: usize) -> (usize, usize) {
    for (number, piece) in pieces.iter().enumerate() {
        match part.checked_sub(piece.scan.parts()) {
            Some(rest) => part = rest,
            None => return (number, part),
        }
    }
    unreachable!("a part belongs to a piece")
}
