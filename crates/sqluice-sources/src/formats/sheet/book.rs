//! The interface of an open workbook, whatever its format: its sheets, and readers of their rows.

use sqluice_core::error::{Place, Result};

use super::row::{Fault, Rows};
use crate::formats::address::Area;

/// A sheet of a workbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sheet {
    pub(super) name: String,
    pub(super) kind: SheetKind,
    pub(super) is_hidden: bool,
}

/// The kind of a sheet's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SheetKind {
    Cells,
    /// A sheet without cells, such as a chart. The text says what it is: `a chart`.
    Other(&'static str),
}

/// An open workbook. Its sheets can be read several times, and at the same time.
pub(super) trait Book: Send + Sync {
    /// Returns the sheets, in the order in which programs show them.
    fn sheets(&self) -> &[Sheet];

    /// Opens a reader of a sheet's rows. `sheet` is the index of the sheet in [`Book::sheets`].
    fn rows(&self, sheet: usize) -> Result<Box<dyn Rows>>;

    /// Returns the merged cells whose first row is `row`.
    fn merged(&self, sheet: usize, row: u32) -> Result<Vec<Area>, Fault>;

    /// Returns the compressed size of a sheet in the file, for progress; `None` if the format does not store sheets separately.
    fn sheet_bytes(&self, sheet: usize) -> Option<u64>;

    /// Returns the place of a sheet for messages: the file and the name of the sheet.
    fn place(&self, sheet: usize) -> Place;
}
