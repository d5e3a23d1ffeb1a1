//! Variable-length integers, one to nine bytes, big-endian
//! ([§1.6](https://www.sqlite.org/fileformat2.html#varint)).
//!
//! ```text
//!  0xxxxxxx                                       7 bits  up to 127
//!  1xxxxxxx 0xxxxxxx                             14 bits  up to 16,383
//!  ...
//!  1xxxxxxx * 8, xxxxxxxx                        64 bits  all others, including negative numbers
//! ```
//!
//! The first eight bytes carry seven bits each and a flag that says if another byte follows; a ninth byte carries eight bits. Writers use
//! the shortest form. Readers accept any form.

/// The size of the longest varint.
pub const BYTES_MAX: usize = 9;

/// Returns the number of bytes that [`write()`] uses for `value`: 1 to 9.
#[inline]
pub const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 { 9 } else { bits.div_ceil(7) }
}

/// Writes `value` to the start of `out` and returns the number of bytes written.
///
/// # Panics
/// If `out` is shorter than [`len`]`(value)`.
#[inline]
pub fn write(out: &mut [u8], value: u64) -> usize {
    if value < 0x80 {
        out[0] = value as u8;
        return 1;
    }
    write_long(out, value)
}

/// Writes a varint of several bytes. It is separate from [`write()`], which is inlined because most varints have one byte.
#[inline(never)]
fn write_long(out: &mut [u8], value: u64) -> usize {
    if value >= SHORT_END {
        out[..8].copy_from_slice(&(spread(value >> 8) | FLAGS | 0x80).to_be_bytes());
        out[8] = value as u8;
        return 9;
    }
    let (bytes, n) = short(value);
    let out = &mut out[..n];
    match n {
        2 => out.copy_from_slice(&bytes[..2]),
        3 => out.copy_from_slice(&bytes[..3]),
        _ => {
            out[..4].copy_from_slice(&bytes[..4]);
            out[n - 4..].copy_from_slice(&bytes[n - 4..n]);
        }
    }
    n
}

/// The smallest number whose varint takes nine bytes.
pub const SHORT_END: u64 = 1 << 56;

/// The highest bits of all bytes but the last: they say that another byte follows.
const FLAGS: u64 = 0x8080_8080_8080_8000;

/// Returns the varint of a `value` below [`SHORT_END`], padded with zeros, and its size, which is at most 8.
#[inline]
pub const fn short(value: u64) -> ([u8; 8], usize) {
    debug_assert!(value < SHORT_END);
    let n = len(value);
    (((spread(value) | FLAGS) << (64 - 8 * n)).to_be_bytes(), n)
}

/// Spreads the bits of `value` over the eight bytes of the result, seven bits in each byte; the lowest seven bits are in the lowest byte.
#[inline]
const fn spread(value: u64) -> u64 {
    let of_28 = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let of_14 = of_28 & 0x0000_3fff_0000_3fff | (of_28 & 0x0fff_c000_0fff_c000) << 2;
    of_14 & 0x007f_007f_007f_007f | (of_14 & 0x3f80_3f80_3f80_3f80) << 1
}

/// Appends `value` to `out`.
pub fn push(out: &mut Vec<u8>, value: u64) {
    if value >= SHORT_END {
        let mut buffer = [0; BYTES_MAX];
        write(&mut buffer, value);
        out.extend_from_slice(&buffer);
        return;
    }
    // A copy of a fixed size is faster than one of the size of the varint.
    let (bytes, n) = short(value);
    let end = out.len() + n;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

/// Reads a varint like [`read`]. It is faster if varints are short and other bytes follow, as in the cells of a page.
#[inline]
pub fn first(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes.first_chunk::<BYTES_MAX>() {
        Some(&[byte @ ..0x80, ..]) => Some((u64::from(byte), 1)),
        // The fixed size saves bounds checks.
        Some(bytes) => read(bytes),
        None => read(bytes),
    }
}

/// Reads a varint from the start of `bytes`. Returns the value and the size of the varint, or `None` if `bytes` ends within the varint.
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for i in 0..8 {
        let byte = *bytes.get(i)?;
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    Some(((value << 8) | u64::from(*bytes.get(8)?), 9))
}
