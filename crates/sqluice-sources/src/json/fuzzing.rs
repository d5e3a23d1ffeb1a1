//! The function that the fuzz target of the JSON reader calls: this reader and serde_json must agree on any bytes.

use super::Layout;
use super::twins::{expected, options, read, taken_rows};

/// Reads a file. The first two of `bytes` choose the layout and the size of the parts, and the others are the file.
///
/// # Panics
/// If the result depends on the cuts, or differs from the result of serde_json.
pub fn reads_as_serde_json(bytes: &[u8]) {
    let Some((&[how, part], text)) = bytes.split_first_chunk() else { return };
    let layout = [Layout::Lines, Layout::Array, Layout::Objects][usize::from(how % 3)];
    let whole = read(text, &options(layout, 1 << 20));
    assert_eq!(read(text, &options(layout, usize::from(part) + 1)), whole);
    // Not compared with serde_json, which has other rules: numbers beyond the range of floats, and bytes that are not UTF-8.
    let Ok(text) = str::from_utf8(text) else { return };
    if layout != Layout::Lines
        || text.contains(['e', 'E', '\0', '\r'])
        || text.starts_with('\u{feff}')
        || whole.error.is_some()
    {
        return;
    }
    let lines = text.split('\n').filter(|line| !line.trim_matches([' ', '\t']).is_empty());
    let mut records: Vec<_> = lines.map(expected).collect();
    for record in records.iter_mut().flatten() {
        record.retain(|_, cell| *cell != super::twins::Cell::Null);
    }
    assert_eq!(taken_rows(&whole), records);
}
