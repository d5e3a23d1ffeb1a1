//! Which characters mean what.

/// The characters that separate and quote. Each is one byte of ASCII, no two are the same, and none ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: u8,
    /// Around fields; `None`: a quote is a character like any other.
    pub quote: Option<u8>,
    /// Within quotes, the next character stands for itself.
    pub escape: Option<u8>,
    /// A line that begins with it, where a record might begin, is none.
    pub comment: Option<u8>,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect { delimiter: b',', quote: Some(b'"'), escape: None, comment: None }
    }
}
