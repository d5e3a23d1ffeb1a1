//! The function that the fuzz target of the JSON reader calls. For any bytes, the result must not depend on the size of the parts. For JSON
//! Lines that both this reader and serde_json read by the same rules, it must equal the result of serde_json.

use super::Layout;
use super::twins::{expected, options, read, taken_rows};

/// Reads a file. The first two of `bytes` choose the layout and the size of the parts, and the other bytes are the file.
///
/// # Panics
/// If the result depends on the size of the parts, or differs from the result of serde_json where the two have the same rules.
pub fn reads_as_serde_json(bytes: &[u8]) {
    let Some((&[how, part], text)) = bytes.split_first_chunk() else { return };
    let layout = [Layout::Lines, Layout::Array, Layout::Objects][usize::from(how % 3)];
    let whole = read(text, &options(layout, 1 << 20));
    assert_eq!(read(text, &options(layout, usize::from(part) + 1)), whole);
    // Only UTF-8 is compared, because serde_json takes a `str`. Text with the letter E is left out, because it may have an exponent, and a
    // number beyond the range of floats is an error of serde_json alone. Text with NUL, CR or a byte order mark is left out, too.
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
