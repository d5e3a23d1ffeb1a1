//! The functions that the fuzz targets of the spreadsheet reader call.

use super::taken::read;
use crate::formats::FormatOptions;

/// The memory of the simulated load.
const MEMORY_BYTES: u64 = 64 << 20;

/// Reads `bytes` as a workbook, which must not panic.
pub fn reads_or_refuses(bytes: &[u8]) {
    _ = read(bytes, MEMORY_BYTES, &FormatOptions::new());
}

/// Reads `bytes` as the sheet of an otherwise valid XLSX file, which must not panic.
pub fn reads_or_refuses_a_sheet(bytes: &[u8]) {
    reads_or_refuses(&super::made::xlsx_of_sheet(bytes));
}

/// Reads `bytes` as the content of an otherwise valid ODS file, which must not panic.
pub fn reads_or_refuses_content(bytes: &[u8]) {
    reads_or_refuses(&super::made::zip(&[
        ("mimetype", super::made::ODS_TYPE.as_bytes()),
        ("content.xml", bytes),
    ]));
}
