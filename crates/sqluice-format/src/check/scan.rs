//! A record's header, read as its bytes go by.
//!
//! A record may be a gigabyte, and even its header may overflow; this holds no more than one varint of it.

use crate::record::RecordError;
use crate::value::SerialType;
use crate::varint;

/// Adds up what a record's header says. See [`crate::record`] for its layout.
#[derive(Debug)]
pub(super) struct RecordScan {
    payload: u64,
    /// Bytes of the header that are still to come, once its size is known.
    header_left: Option<u64>,
    header: u64,
    body: u64,
    /// The varint that is coming in.
    partial: [u8; varint::BYTES_MAX],
    partial_bytes: usize,
    error: Option<RecordError>,
}

impl RecordScan {
    /// Expects a record of `payload` bytes.
    pub(super) fn new(payload: u64) -> RecordScan {
        RecordScan {
            payload,
            header_left: None,
            header: 0,
            body: 0,
            partial: [0; varint::BYTES_MAX],
            partial_bytes: 0,
            error: None,
        }
    }

    /// Takes the next bytes of the record.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.error.is_some() || self.header_left == Some(0) {
                return;
            }
            self.partial[self.partial_bytes] = byte;
            self.partial_bytes += 1;
            if let Some(left) = &mut self.header_left {
                *left -= 1;
            }
            if let Some((value, n)) = varint::read(&self.partial[..self.partial_bytes]) {
                self.partial_bytes = 0;
                self.error = self.take(value, n).err();
            }
        }
    }

    /// Takes the header's size or a serial type, which took `n` bytes.
    fn take(&mut self, value: u64, n: usize) -> Result<(), RecordError> {
        if self.header_left.is_some() {
            let bytes = SerialType(value).content_bytes().ok_or(RecordError::ReservedType)?;
            // No overflow: 2^62 at most, of 2^31 values at most.
            self.body = self.body.checked_add(bytes).ok_or(RecordError::Body)?;
            return Ok(());
        }
        // A row has a column.
        if value <= n as u64 || value > self.payload {
            return Err(RecordError::Header);
        }
        self.header = value;
        self.header_left = Some(value - n as u64);
        Ok(())
    }

    /// Whether all that was fed is a record.
    pub(super) fn finish(self) -> Result<(), RecordError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.header_left != Some(0) || self.partial_bytes != 0 {
            return Err(RecordError::Header);
        }
        if self.header.checked_add(self.body) == Some(self.payload) { Ok(()) } else { Err(RecordError::Body) }
    }
}
