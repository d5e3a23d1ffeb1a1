//! The positions of a term in a row, as FTS5 stores them.

/// Returns the bytes in which FTS5 stores the occurrences of a term in a row. `occurrences` has the column and the position of each
/// occurrence, in order. `has_positions` is `true` with `detail=full`, and `false` with `detail=column`.
pub fn stored_positions(occurrences: &[(u32, u32)], has_positions: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut column, mut before) = (None, 0);
    for &(next_column, position) in occurrences {
        let is_same = column == Some(next_column);
        if !has_positions {
            if !is_same {
                push_varint(&mut out, next_column - column.unwrap_or(0) + 2);
            }
        } else {
            if !is_same && (next_column != 0 || column.is_some()) {
                out.push(1);
                push_varint(&mut out, next_column);
                before = 0;
            }
            push_varint(&mut out, position - before + 2);
            before = position;
        }
        column = Some(next_column);
    }
    out
}

/// Appends a varint of up to five bytes.
fn push_varint(out: &mut Vec<u8>, value: u32) {
    let groups = (1..5).rev().filter(|group| value >> (7 * group) > 0);
    out.extend(groups.map(|group| (value >> (7 * group)) as u8 | 0x80));
    out.push(value as u8 & 0x7f);
}
