//! The function that the fuzz target of the CSV reader calls: the fast and the slow parser must agree on any bytes.

use super::twins::{Setup, Taste, fast, slow};
use super::{CsvOptions, Dialect};

/// Reads `bytes` with both parsers. The first three bytes choose the dialect, the other options and the size of the parts.
///
/// # Panics
/// When the parsers disagree.
pub fn fast_equals_slow(bytes: &[u8]) {
    let Some((&[how, part, refuses], text)) = bytes.split_first_chunk() else { return };
    let delimiters = [",", ";", "\t", "|", "||", "aba", "¦", "whitespace"];
    let mut dialect =
        Dialect { delimiter: delimiters[usize::from(how & 7)].parse().unwrap(), ..Dialect::default() };
    (dialect.escape, dialect.comment) = ((how & 8 > 0).then_some(b'\\'), (how & 16 > 0).then_some(b'#'));
    dialect.escapes_unquoted = refuses & 8 > 0;
    if dialect.check().is_err() {
        return;
    }
    let options = CsvOptions {
        dialect,
        header: how & 32 > 0,
        pad: how & 64 > 0,
        strict_quotes: how & 128 > 0,
        part_bytes: usize::from(part) + 1,
        ..CsvOptions::default()
    };
    let sink = Taste { bad_rows: part & 1 > 0, refuses: u64::from(refuses & 7), names: 2, seed: 1 };
    let setup = Setup { sink, ..Setup::from(options) };
    assert_eq!(fast(text, setup.clone()), slow(text, setup));
}
