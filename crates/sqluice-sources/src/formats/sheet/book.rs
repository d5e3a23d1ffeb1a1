//! A workbook, whatever its format: its sheets, and readers of their rows.

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

/// The content of a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SheetKind {
    Cells,
    /// A sheet without cells of its own, in words: `a chart`.
    Other(&'static str),
}

/// An open workbook. Its sheets can be read several times, and side by side.
pub(super) trait Book: Send + Sync {
    /// Returns the sheets, in the order in which programs show them.
    fn sheets(&self) -> &[Sheet];

    /// Opens the rows of a sheet, by its index. `place` is the place of the sheet.
    fn rows(&self, sheet: usize) -> Result<Box<dyn Rows>>;

    /// Returns the merged cells whose first row is `row`.
    fn merged(&self, sheet: usize, row: u32) -> Result<Vec<Area>, Fault>;

    /// Returns the number of bytes that the part of a sheet has in the file, for progress.
    fn sheet_bytes(&self, sheet: usize) -> Option<u64>;

    /// Returns the place of a sheet, for messages.
    fn place(&self, sheet: usize) -> Place;
}
