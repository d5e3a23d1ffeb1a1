//! The styles of cells, which decide whether a number is a date, a time or a duration.

use std::collections::HashMap;

use sqluice_core::error::Result;

use super::limits::Limits;
use super::moment::Shown;

/// The meaning of a number for each cell style, by the index of the style.
#[derive(Debug, Default)]
pub(super) struct Styles {
    shown: Vec<Shown>,
    /// The meaning of each custom format, by its id.
    custom: HashMap<u32, Shown>,
}

impl Styles {
    /// Adds a custom format.
    pub(super) fn add_format(&mut self, id: u32, code: &str, limits: &Limits) -> Result<()> {
        self.custom.insert(id, Shown::of_code(code));
        self.check(limits)
    }

    /// Adds the next style. `format` is the id of its number format.
    pub(super) fn add_style(&mut self, format: u32, limits: &Limits) -> Result<()> {
        let shown = self.custom.get(&format).copied().unwrap_or_else(|| Shown::of_built_in(format));
        self.shown.push(shown);
        self.check(limits)
    }

    fn check(&self, limits: &Limits) -> Result<()> {
        limits
            .check_held("the styles of the workbook", (self.shown.len() * 2 + self.custom.len() * 32) as u64)
    }

    /// Returns the meaning of a number in a cell with this style. With an unknown style, it is a plain number.
    pub(super) fn shown(&self, style: usize) -> Shown {
        self.shown.get(style).copied().unwrap_or_default()
    }
}
