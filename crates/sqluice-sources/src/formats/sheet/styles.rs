//! The meanings that the styles of cells give their numbers.

use std::collections::HashMap;

use sqluice_core::error::Result;

use super::limits::Limits;
use super::moment::Shown;

/// The formats of numbers, by the number of the style.
#[derive(Debug, Default)]
pub(super) struct Styles {
    shown: Vec<Shown>,
    /// The custom formats, by their ids.
    custom: HashMap<u32, Shown>,
}

impl Styles {
    /// Adds a custom format.
    pub(super) fn add_format(&mut self, id: u32, code: &str, limits: &Limits) -> Result<()> {
        self.custom.insert(id, Shown::of_code(code));
        self.check(limits)
    }

    /// Adds the next style, with the id of its format.
    pub(super) fn add_style(&mut self, format: u32, limits: &Limits) -> Result<()> {
        let shown = self.custom.get(&format).copied().unwrap_or_else(|| Shown::of_built_in(format));
        self.shown.push(shown);
        self.check(limits)
    }

    fn check(&self, limits: &Limits) -> Result<()> {
        limits
            .check_held("the styles of the workbook", (self.shown.len() * 2 + self.custom.len() * 32) as u64)
    }

    /// Returns what a style makes of a number. Styles that are not there show the number.
    pub(super) fn shown(&self, style: usize) -> Shown {
        self.shown.get(style).copied().unwrap_or_default()
    }
}
