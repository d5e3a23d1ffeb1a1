//! The result of ADBC's `GetInfo`: names and versions of the driver, of SQLite and of Arrow.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::Result;
use adbc_core::options::InfoCode;
use adbc_core::schemas::GET_INFO_SCHEMA;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray,
    new_empty_array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

/// The type ids of texts, booleans and integers in the Arrow union that holds the values.
const TEXT: i8 = 0;
const TRUTH: i8 = 1;
const INT: i8 = 2;

/// The supported info codes.
const CODES: [InfoCode; 7] = [
    InfoCode::VendorName,
    InfoCode::VendorVersion,
    InfoCode::VendorSql,
    InfoCode::DriverName,
    InfoCode::DriverVersion,
    InfoCode::DriverArrowVersion,
    InfoCode::DriverAdbcVersion,
];

/// The version of the Arrow crates. A test compares it with `Cargo.lock`.
const ARROW_VERSION: &str = "60.1.0";

/// Returns the values of the requested codes. If `codes` is `None`, returns those that Arrow's own SQLite driver returns.
pub(crate) fn info(codes: Option<&HashSet<InfoCode>>) -> Result<RecordBatch> {
    let (mut names, mut kinds, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let (mut texts, mut truths, mut ints) = (Vec::new(), Vec::new(), Vec::new());
    // Arrow's own SQLite driver does not return VendorSql, so programs that request no codes do not expect it.
    let is_wanted =
        |code: &&InfoCode| codes.map_or(**code != InfoCode::VendorSql, |codes| codes.contains(code));
    for code in CODES.iter().filter(is_wanted) {
        names.push(u32::from(code));
        let mut text = |text: &'static str| {
            texts.push(text);
            (TEXT, texts.len() - 1)
        };
        let (kind, offset) = match code {
            // Programs look for this name to choose the dialect of SQL.
            InfoCode::VendorName => text("SQLite"),
            InfoCode::VendorVersion => text(rusqlite::version()),
            InfoCode::DriverName => text("sqluice"),
            InfoCode::DriverArrowVersion => text(ARROW_VERSION),
            InfoCode::DriverVersion => text(env!("CARGO_PKG_VERSION")),
            InfoCode::VendorSql => {
                truths.push(true);
                (TRUTH, truths.len() - 1)
            }
            _ => {
                ints.push(i64::from(ADBC_VERSION_1_1_0));
                (INT, ints.len() - 1)
            }
        };
        kinds.push(kind);
        offsets.push(i32::try_from(offset).unwrap_or_default());
    }
    let DataType::Union(fields, _) = GET_INFO_SCHEMA.field(1).data_type() else { return Ok(empty()) };
    let children = fields.iter().map(|(kind, field)| -> ArrayRef {
        match kind {
            TEXT => Arc::new(StringArray::from(texts.clone())),
            TRUTH => Arc::new(BooleanArray::from(truths.clone())),
            INT => Arc::new(Int64Array::from(ints.clone())),
            _ => new_empty_array(field.data_type()),
        }
    });
    let children = children.collect();
    let values = UnionArray::try_new(
        fields.clone(),
        ScalarBuffer::from(kinds),
        Some(ScalarBuffer::from(offsets)),
        children,
    )?;
    let columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(names)), Arc::new(values) as Arc<dyn Array>];
    Ok(RecordBatch::try_new(Arc::clone(&GET_INFO_SCHEMA), columns)?)
}

fn empty() -> RecordBatch {
    RecordBatch::new_empty(Arc::clone(&GET_INFO_SCHEMA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_version_of_arrow_is_that_of_cargo_lock() {
        let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let lock = std::fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
        assert!(lock.contains(&format!("name = \"arrow-schema\"\nversion = \"{ARROW_VERSION}\"")));
    }

    #[test]
    fn info_returns_one_row_for_each_requested_code() {
        let all = info(Some(&CODES.into_iter().collect())).unwrap();
        assert_eq!((all.num_rows(), info(None).unwrap().num_rows()), (CODES.len(), CODES.len() - 1));
    }
}
