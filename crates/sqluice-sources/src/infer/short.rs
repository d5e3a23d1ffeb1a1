//! The evidence of short values, which are read 16 bytes at once. To add a value takes fewer steps than with [`Evidence`](super::Evidence),
//! to which the evidence of many values is converted at the end.

use sqluice_core::affinity::{POINT, Padded, Short, repeat};

use super::printers::Notation;

/// The digits of 2^53, up to which floats hold all integers, in the form of [`Padded`], the first digit in the highest byte.
const HELD_MAX_DIGITS: u128 = 0x0900_0007_0109_0902_0504_0704_0009_0902;

/// The evidence of the short values of a column, which are read 16 bytes at once.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// `true` if a value is not a number.
    pub(super) no_number: bool,
    /// `true` if R would have written a value in the other notation, with or without an exponent.
    pub(super) not_as_r: bool,
    /// Bit `n`: a value has `n` decimals; bit `16 + n`: a value's `n` decimals end in a zero.
    decimals: u32,
    /// Bit `n`: a value has `n` digits before the point.
    pub(super) wholes: u32,
    /// The exponent of ten, negated, of the smallest value below 0.001, except 0.
    pub(super) small_max: u16,
}

impl Seen {
    /// Adds a value of digits with at most one point, with few branches. Returns `false` for all other values.
    #[inline(always)]
    pub(super) fn add(&mut self, text: &[u8], Padded { negative, bytes, word }: Padded) -> bool {
        let zero_first = text[text.len() - bytes] == b'0';
        // The top bit of each byte that is not a digit. No carry leaves a byte.
        let others = (((word & repeat(0x7f)) + repeat(0x76)) | word) & repeat(0x80);
        if others == 0 {
            if bytes > 15 && word.swap_bytes() > HELD_MAX_DIGITS {
                return false;
            }
            self.no_number |= zero_first & (negative | (bytes > 1));
            self.decimals |= 1;
            self.wholes |= 1 << bytes;
            // One branch for two conditions, because few values but 0 end in that many zeros.
            if (word >> 88) as u64 | u64::from(zero_first) == 0 {
                self.not_as_r |= is_shorter_with_exponent(bytes, word);
            }
            return true;
        }
        // Packs both halves into one word of 64 bits: bit 6 of a byte is the flag from the lower half, bit 7 the flag from the upper half.
        let others = (others as u64) >> 1 | (others >> 64) as u64;
        let lowest = others.trailing_zeros() as usize;
        let point = lowest / 8 + lowest % 2 * 8;
        if others & (others - 1) != 0 || text[text.len() + point - 16] != b'.' {
            return false;
        }
        // 16 bytes have 15 digits and the point.
        let decimals = 15 - point;
        let whole = bytes - 1 - decimals;
        // `&&` makes a branch, because a column has few such values or none.
        let minus_zero = negative & zero_first && word == ZERO[point];
        self.no_number |= (whole == 0) | (decimals == 0) | (zero_first & (whole > 1)) | minus_zero;
        let ends_in_zero = word >> 120 == 0;
        self.decimals |= (1 + (u32::from(ends_in_zero) << 16)) << decimals;
        self.wholes |= 1 << whole;
        // `if` makes a branch, because few values begin with 0.000 and have four decimals or more.
        let after = word & THREE_AFTER[point];
        if (after >> 64) as u64 | after as u64 | u64::from(!zero_first) == 0 {
            let (small, not_as_r) = small(decimals, word);
            self.small_max = self.small_max.max(small);
            self.not_as_r |= not_as_r;
        }
        true
    }

    /// Adds a value of at most 8 bytes in a third of the steps of [`Seen::add`]. Returns `false` also for rare numbers that [`Seen::add`]
    /// takes: those that begin with three zeros or end in them.
    #[inline(always)]
    pub(super) fn add_short(&mut self, Short { negative, bytes, word }: Short) -> bool {
        let zero_first = (word >> (64 - 8 * bytes)) as u8 == 0;
        let others = (((word & repeat(0x7f) as u64) + repeat(0x76) as u64) | word) & repeat(0x80) as u64;
        if others == 0 {
            if word >> 40 | u64::from(zero_first) == 0 {
                return false;
            }
            self.no_number |= zero_first & (negative | (bytes > 1));
            self.decimals |= 1;
            self.wholes |= 1 << bytes;
            return true;
        }
        let point = others.trailing_zeros() as usize / 8;
        let from_point = word >> (8 * point);
        let is_small = zero_first & (point < 4) & (from_point as u32 >> 8 == 0);
        if others & (others - 1) != 0 || from_point as u8 != POINT || point == 7 || is_small {
            return false;
        }
        let decimals = 7 - point;
        let whole = bytes - 1 - decimals;
        let minus_zero = negative & (word == u64::from(POINT) << (8 * point));
        self.no_number |= (whole == 0) | (zero_first & (whole > 1)) | minus_zero;
        let ends_in_zero = word >> 56 == 0;
        self.decimals |= (1 + (u32::from(ends_in_zero) << 16)) << decimals;
        self.wholes |= 1 << whole;
        true
    }

    /// Returns the numbers of decimals of all values, as bits: bit `n` is set if a value has `n` decimals.
    pub(super) fn decimals(&self) -> u16 {
        self.decimals as u16
    }

    /// Returns the numbers of decimals that end in a zero, as bits: bit `n` is set if a value has `n` decimals, the last of which is a
    /// zero.
    pub(super) fn zeros(&self) -> u16 {
        (self.decimals >> 16) as u16
    }
}

/// Returns `true` if a whole number that ends in zeros is shorter with an exponent.
#[cold]
#[inline(never)]
fn is_shorter_with_exponent(bytes: usize, word: u128) -> bool {
    let zeros = word.leading_zeros() as usize / 8;
    zeros < bytes && Notation { digits: bytes - zeros, exponent: bytes as i32 - 1 }.is_shorter_with_exponent()
}

/// Returns the exponent of ten, negated, of a number below 0.001, and `true` if the number is shorter with the exponent. Returns 0 for 0.
#[cold]
#[inline(never)]
fn small(decimals: usize, word: u128) -> (u16, bool) {
    let fraction = word >> (8 * (16 - decimals));
    if fraction == 0 {
        return (0, false);
    }
    let small = fraction.trailing_zeros() as u16 / 8 + 1;
    (small, small > 4 || fraction >> (8 * small) == 0)
}

/// For each place of the point, the mask of the three bytes after the point, or of all bytes if less than four bytes follow the point.
const THREE_AFTER: [u128; 16] = {
    let mut masks = [u128::MAX; 16];
    let mut point = 0;
    while point < 12 {
        masks[point] = 0xff_ffff << (8 * (point + 1));
        point += 1;
    }
    masks
};

/// The [`Padded::word`] of a zero with a point, by the place of the point.
const ZERO: [u128; 16] = {
    let mut zeros = [0; 16];
    let mut point = 0;
    while point < 16 {
        zeros[point] = (POINT as u128) << (8 * point);
        point += 1;
    }
    zeros
};
