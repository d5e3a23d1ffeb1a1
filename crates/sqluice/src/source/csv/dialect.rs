//! Which bytes mean something in a file.

/// A way to write records. All four are ASCII and differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Stands between fields.
    pub delimiter: u8,
    /// Stands around a field; twice for itself within one. `None`: no field is quoted.
    pub quote: Option<u8>,
    /// Takes the meaning from the byte that follows.
    pub escape: Option<u8>,
    /// Begins a line that is no record.
    pub comment: Option<u8>,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect { delimiter: b',', quote: Some(b'"'), escape: None, comment: None }
    }
}
