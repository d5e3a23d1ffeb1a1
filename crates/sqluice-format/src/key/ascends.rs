//! A fast comparison of two records with the same types and the same length, as neighbours in an index often have.
//!
//! ```text
//!           header   | text              | integer
//!  before   03 19 03 | 31 32 37 34 35 36 | 00 04 11
//!  after    03 19 03 | 31 32 37 35 30 31 | 00 01 a7
//! ```
//!
//! The first byte that differs decides, here in the text. Bytes of integers compare like bytes of text, except the first, which has the
//! sign.

use super::columns;
use super::{Collation, KeyOrder};
use crate::value::{FIXED_BYTES, SerialType};

/// The maximum size of a header that is compared as one word.
const HEADER_BYTES_MAX: usize = 8;

impl KeyOrder {
    /// Returns `true` if `after` sorts after `before` and both have the same header and length. Returns `None` if header or length differ,
    /// or if the records must be decoded.
    ///
    /// If `before` is a record with the columns of the key and the result is `Some`, `after` is such a record, too.
    #[inline]
    pub fn ascends_alike(&self, before: &[u8], after: &[u8]) -> Option<bool> {
        const EACH: u64 = u64::MAX / 0xff;
        const HIGHEST: u64 = EACH * 0x80;
        let header = usize::from(*before.first()?);
        let columns = self.columns();
        if before.len() != after.len() || !(columns.len() + 1..=HEADER_BYTES_MAX).contains(&header) {
            return None;
        }
        let (x, y) = (columns::first_word(before), columns::first_word(after));
        let after_header = u64::MAX.checked_shr(8 * header as u32).unwrap_or(0);
        let different = x ^ y;
        if different & !after_header != 0 {
            return None;
        }
        // The serial types without the header size. Records with types of several bytes, or with floats, must be decoded.
        let types = (x & !after_header) << 8;
        let without_real = types ^ (EACH * SerialType::REAL.0);
        if types & HIGHEST != 0 || without_real.wrapping_sub(EACH) & !without_real & HIGHEST != 0 {
            return None;
        }
        let Some(different_at) = first_different(different, before, after) else { return Some(false) };
        let (mut types, mut end) = (types, header);
        for column in columns {
            let (serial, start) = ((types >> 56) as usize, end);
            types <<= 8;
            end += FIXED_BYTES
                .get(serial)
                .map_or_else(|| serial.saturating_sub(12) / 2, |bytes| usize::from(*bytes));
            if different_at >= end {
                continue;
            }
            let (a, b) = (before[different_at], after[different_at]);
            let ascends = match serial {
                1..=6 if different_at == start => a.cast_signed() < b.cast_signed(),
                13.. if serial % 2 == 1 => column.collation.ascends(a, b, &before[start..different_at])?,
                _ => a < b,
            };
            return Some(ascends != column.descending);
        }
        Some(false)
    }

    /// Returns `true` if `after` sorts after `before`.
    ///
    /// # Panics
    /// Like [`KeyOrder::compare`].
    #[inline]
    pub fn ascends(&self, before: &[u8], after: &[u8]) -> bool {
        self.ascends_alike(before, after).unwrap_or_else(|| self.compare(before, after).is_lt())
    }
}

impl Collation {
    /// Returns `true` if byte `a` sorts before byte `b`. The two are the first different bytes in two texts of the same length, and `same`
    /// is the text before them. Returns `None` if these bytes alone do not decide.
    #[inline]
    fn ascends(self, a: u8, b: u8, same: &[u8]) -> Option<bool> {
        match self {
            Collation::Binary => Some(a < b),
            // A space may belong to the trailing spaces, which RTRIM ignores.
            Collation::RTrim => (a != b' ' && b != b' ').then_some(a < b),
            Collation::NoCase => {
                let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
                // NOCASE ignores characters after a NUL.
                let has_nul = same.iter().fold(false, |has_nul, &byte| has_nul | (byte == 0));
                (a != b && !has_nul).then_some(a < b)
            }
        }
    }
}

/// Returns the offset of the first different byte in two records of the same length, or `None` if they are equal. `different` is the XOR of
/// their first words.
#[inline]
fn first_different(different: u64, a: &[u8], b: &[u8]) -> Option<usize> {
    let byte = |different: u64| different.leading_zeros() as usize / 8;
    if different != 0 {
        return Some(byte(different));
    }
    let mut at = 8;
    while let (Some(x), Some(y)) =
        (a.get(at..).and_then(<[u8]>::first_chunk), b.get(at..).and_then(<[u8]>::first_chunk))
    {
        let different = u64::from_be_bytes(*x) ^ u64::from_be_bytes(*y);
        if different != 0 {
            return Some(at + byte(different));
        }
        at += 8;
    }
    // The last words overlap bytes that are known to be equal. A record without a whole word was compared entirely in the first word.
    let (x, y) = (a.last_chunk()?, b.last_chunk()?);
    let different = u64::from_be_bytes(*x) ^ u64::from_be_bytes(*y);
    (different != 0).then(|| a.len() - 8 + byte(different))
}
