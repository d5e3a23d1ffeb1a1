//! The code that all tests of this module share.

mod cases;
mod properties;

use std::io::Cursor;
use std::path::Path;

use sqluice_core::source::Source;

use super::twins::{Cell, Outcome, Taken, Taker, expected, options, read, read_by, taken_rows, text};
use super::{ColumnFrom, JsonColumn, JsonOptions, JsonSource, Layout, RecordsPath};
