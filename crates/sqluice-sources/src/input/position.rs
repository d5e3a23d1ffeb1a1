//! The line and column in a text, counted while the text is read.

/// The line and the column of the next character. Lines end with LF, CRLF or CR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The line, counted from 1.
    pub(super) line: u64,
    /// The column in characters, counted from 1.
    pub(super) column: u64,
    /// `true` if the last character was a carriage return: a line feed that follows belongs to the same line end.
    after_return: bool,
}

impl Position {
    pub(super) fn start() -> Position {
        Position { line: 1, column: 1, after_return: false }
    }

    /// Moves past `text`, which must consist of whole UTF-8 characters.
    pub(super) fn advance(&mut self, text: &[u8]) {
        let Some(last) = text.last() else { return };
        let rest = if self.after_return { text.strip_prefix(b"\n").unwrap_or(text) } else { text };
        self.after_return = *last == b'\r';
        let mut line_start = None;
        for at in memchr::memchr2_iter(b'\n', b'\r', rest) {
            let ends_before = rest[at] == b'\n' && at > 0 && rest[at - 1] == b'\r';
            self.line += u64::from(!ends_before);
            line_start = Some(at + 1);
        }
        if line_start.is_some() {
            self.column = 1;
        }
        let in_line = &rest[line_start.unwrap_or(0)..];
        self.column += in_line.iter().filter(|byte| !is_continuation(**byte)).count() as u64;
    }
}

/// Returns `true` if a byte of UTF-8 is not the first byte of its character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
