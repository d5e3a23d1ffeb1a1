//! Tests of the JSON reader: `cases` has an example for each rule, `properties` compares random records with serde_json.

mod cases;
mod properties;

use std::io::Cursor;
use std::path::Path;

use sqluice_core::source::Source;

use super::twins::{Cell, Outcome, Taken, Taker, expected, options, read, read_by, taken_rows, text};
use super::{ColumnFrom, JsonColumn, JsonOptions, JsonSource, Layout, RecordsPath};
