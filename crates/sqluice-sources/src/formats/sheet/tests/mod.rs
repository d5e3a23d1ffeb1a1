//! Tests of workbooks: cases, damaged and hostile files, random cells.

mod cases;
mod hostile;
mod random;
mod written;

use super::made::{ODS_TYPE, xlsx_of_sheet, zip};
use super::taken::{Taken, read};
use crate::formats::FormatOptions;

/// The memory of the simulated load.
const MEMORY: u64 = 16 << 20;

/// Reads the only table of an XLSX file whose sheet has these rows, given as XML.
#[track_caller]
fn rows_of(rows: &str, options: &FormatOptions) -> Taken {
    let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    one(&xlsx_of_sheet(sheet.as_bytes()), options)
}

/// Reads a workbook that must have one table, and returns the table.
#[track_caller]
fn one(file: &[u8], options: &FormatOptions) -> Taken {
    let mut tables = read(file, MEMORY, options).expect("a workbook");
    assert_eq!(tables.len(), 1);
    tables.remove(0)
}

/// Returns an ODS file with this content in its `spreadsheet` element.
fn ods(spreadsheet: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office=\"o\" xmlns:table=\"t\" xmlns:text=\"x\"><office:automatic-styles>\
         <style:style style:name=\"hidden\" style:family=\"table\"><style:table-properties table:display=\"false\"/></style:style>\
         </office:automatic-styles><office:body><office:spreadsheet>{spreadsheet}</office:spreadsheet></office:body>\
         </office:document-content>"
    );
    zip(&[("mimetype", ODS_TYPE.as_bytes()), ("content.xml", content.as_bytes())])
}
