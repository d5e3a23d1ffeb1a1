//! Variable-length integers, one to nine bytes, big-endian
//! ([§1.6](https://www.sqlite.org/fileformat2.html#varint)).
//!
//! ```text
//!  0xxxxxxx                                       7 bits  up to 127
//!  1xxxxxxx 0xxxxxxx                             14 bits  up to 16,383
//!  ...
//!  1xxxxxxx * 8, xxxxxxxx                        64 bits  all the rest, negative numbers among them
//! ```
//!
//! The first eight bytes carry seven bits each and a flag that says whether another follows; a ninth carries
//! eight bits. Writers use the shortest form. Readers accept any.

/// The longest varint, in bytes.
pub const BYTES_MAX: usize = 9;

/// Bytes that [`write()`] uses for `value`: 1 to 9.
#[inline]
pub const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 { 9 } else { bits.div_ceil(7) }
}

/// Writes `value` to the start of `out` and says how many bytes it took.
///
/// # Panics
/// When `out` is shorter than [`len`]`(value)`.
#[inline]
pub fn write(out: &mut [u8], value: u64) -> usize {
    if value < 0x80 {
        out[0] = value as u8;
        return 1;
    }
    write_long(out, value)
}

/// Apart from [`write()`], which is inlined because most are of one byte.
#[inline(never)]
fn write_long(out: &mut [u8], value: u64) -> usize {
    let n = len(value);
    let out = &mut out[..n];
    if n <= 4 {
        // Seven bits of the value a byte, all at once.
        let groups = (0..4).fold(0, |groups, i| groups | (value & 0x7f << (7 * i)) << i);
        let bytes = (groups as u32 | 0x8080_8000).to_be_bytes();
        match n {
            2 => out.copy_from_slice(&bytes[2..]),
            3 => out.copy_from_slice(&bytes[1..]),
            _ => out.copy_from_slice(&bytes),
        }
        return n;
    }
    let mut rest = value;
    let mut seven_bit_groups = n;
    if n == 9 {
        out[8] = rest as u8;
        rest >>= 8;
        seven_bit_groups = 8;
    }
    for (i, byte) in out[..seven_bit_groups].iter_mut().rev().enumerate() {
        let flag = if i == 0 && n < 9 { 0 } else { 0x80 };
        *byte = (rest as u8 & 0x7f) | flag;
        rest >>= 7;
    }
    n
}

/// Appends `value` to `out`.
pub fn push(out: &mut Vec<u8>, value: u64) {
    let mut buffer = [0; BYTES_MAX];
    let n = write(&mut buffer, value);
    out.extend_from_slice(&buffer[..n]);
}

/// As [`read`], faster where varints are short and other bytes follow, as in the cells of a page.
#[inline]
pub fn first(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes.first_chunk::<BYTES_MAX>() {
        Some(&[byte @ ..0x80, ..]) => Some((u64::from(byte), 1)),
        // Of a fixed size, so that no byte need be looked for.
        Some(bytes) => read(bytes),
        None => read(bytes),
    }
}

/// Reads a varint from the start of `bytes`: the value and how many bytes it takes, or `None` when `bytes`
/// ends within it.
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
