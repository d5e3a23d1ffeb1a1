//! Parses elements that XLS and XLSB have in common: fields of records, numbers in 30 bits, error codes, and texts in UTF-16.

use sqluice_core::error::{Error, Result};

use super::package::damaged;

/// A reader of the fields of a record.
pub(super) struct Fields<'r> {
    rest: &'r [u8],
}

impl<'r> Fields<'r> {
    pub(super) fn new(record: &'r [u8]) -> Fields<'r> {
        Fields { rest: record }
    }

    /// Reads the next `bytes` bytes.
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<&'r [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(short)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    pub(super) fn rest(&self) -> &'r [u8] {
        self.rest
    }
}

fn short() -> Error {
    damaged("a record is shorter than its fields")
}

/// Returns the 16-bit units of a text in little-endian UTF-16.
pub(super) fn utf16(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit))
}

/// Appends a text in UTF-16. A half of a surrogate pair becomes U+FFFD: Excel itself may cut pairs in two.
pub(super) fn push_utf16(units: impl Iterator<Item = u16>, out: &mut String) {
    out.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

/// Decodes an RK value: the upper 30 bits are an integer or the upper bits of a float, and the lowest bit is set if this number is to be
/// divided by 100.
pub(super) fn rk(bits: u32) -> f64 {
    let number = match bits & 2 {
        0 => f64::from_bits(u64::from(bits & !3) << 32),
        _ => f64::from(bits.cast_signed() >> 2),
    };
    if bits & 1 == 0 { number } else { number / 100.0 }
}

/// Returns the text of an error by its code, such as `#N/A`.
pub(super) fn error_name(code: u8) -> &'static str {
    match code {
        0x00 => "#NULL!",
        0x07 => "#DIV/0!",
        0x0f => "#VALUE!",
        0x17 => "#REF!",
        0x1d => "#NAME?",
        0x24 => "#NUM!",
        0x2a => "#N/A",
        0x2b => "#GETTING_DATA",
        _ => "#ERROR!",
    }
}

#[cfg(test)]
mod tests {
    use super::rk;

    #[test]
    fn an_rk_value_is_an_integer_or_a_float_and_may_be_divided_by_100() {
        assert_eq!(rk(0x3ff0_0000), 1.0);
        assert_eq!(rk(0x3ff0_0001), 0.01);
        assert_eq!(rk(12_345_678 << 2 | 2), 12_345_678.0);
        assert_eq!(rk(12_345_678 << 2 | 3), 123_456.78);
        assert_eq!(rk((-5_i32 << 2).cast_unsigned() | 2), -5.0);
    }
}
