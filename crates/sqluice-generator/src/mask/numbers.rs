//! Masks of numbers: permuted integers, and numbers with noise.

use sqluice_core::batch::Value;

use super::equality::{Equality, ValueHash};
use super::key::MaskKey;
use super::permutation::{LANES, Permutation, Rectangle};
use crate::random::unit;

/// The boundary between the ranges of `permute()`: integers of 32 bits stay integers of 32 bits.
const HALF: i64 = 1 << 31;

/// The maximum number of decimal places that noise keeps.
const PLACES_MAX: u32 = 9;

/// A permutation of the integers of a range.
#[derive(Clone)]
pub(super) struct Permute {
    permutation: Permutation,
    /// The ranges that integers stay in: the user's range, or four ranges of all integers, by sign and by whether 32 bits suffice.
    ranges: Vec<Range>,
}

/// A range of integers, `first` and `last` included.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: i64,
    last: i64,
    /// The number of integers in the range. In the range of all 2^64 integers, the last integer keeps its value.
    of: Rectangle,
}

impl Range {
    fn new((first, last): (i64, i64)) -> Range {
        let more = last.wrapping_sub(first).cast_unsigned();
        Range { first, last, of: Rectangle::new(more.saturating_add(1)) }
    }

    #[inline(always)]
    fn has(&self, int: i64) -> bool {
        self.first <= int && int <= self.last
    }

    #[inline(always)]
    fn offset(&self, int: i64) -> u64 {
        int.wrapping_sub(self.first).cast_unsigned()
    }
}

impl Permute {
    pub(super) fn new(key: &MaskKey, range: Option<(i64, i64)>) -> Permute {
        let all = [(0, HALF - 1), (HALF, i64::MAX), (-HALF, -1), (i64::MIN, -HALF - 1)];
        let ranges = range.map_or_else(|| all.map(Range::new).to_vec(), |range| vec![Range::new(range)]);
        Permute { permutation: Permutation::new(key.derived("permute")), ranges }
    }

    /// Returns the integer that replaces `int`; `None` if `int` lies outside of the range.
    #[inline]
    pub(super) fn int(&self, int: i64) -> Option<i64> {
        let range = self.ranges.iter().find(|range| range.has(int))?;
        let offset = range.offset(int);
        let placed = match offset {
            u64::MAX => offset,
            offset => self.permutation.number(offset, &range.of),
        };
        Some(range.first.wrapping_add_unsigned(placed))
    }

    /// Replaces integers in place. Integers outside of the range become 0 if `counts` is false for their index, as for NULL.
    ///
    /// # Errors
    /// When an integer lies outside of the range and `counts` is true for its index. The error is the first such index.
    pub(super) fn ints(&self, ints: &mut [i64], counts: impl Fn(usize) -> bool) -> Result<(), usize> {
        let usual = &self.ranges[0];
        for (chunk, ints) in ints.chunks_mut(LANES).enumerate() {
            if let Ok(four) = <&mut [i64; LANES]>::try_from(&mut *ints)
                && four.iter().all(|int| usual.has(*int) && usual.offset(*int) < u64::MAX)
            {
                let placed = self.permutation.numbers(four.map(|int| usual.offset(int)), [&usual.of; LANES]);
                *four = placed.map(|placed| usual.first.wrapping_add_unsigned(placed));
                continue;
            }
            for (at, int) in ints.iter_mut().enumerate() {
                let row = chunk * LANES + at;
                *int = match self.int(*int) {
                    Some(placed) => placed,
                    None if counts(row) => return Err(row),
                    None => 0,
                };
            }
        }
        Ok(())
    }
}

/// The mask `noise(share)`: changes a number by at most the fraction `share` of its size, but by at least one unit of its last decimal
/// place. Zero stays zero.
#[derive(Clone)]
pub(super) struct Noise {
    hash: ValueHash,
    share: f64,
}

impl Noise {
    pub(super) fn new(key: &MaskKey, share: f64) -> Noise {
        Noise { hash: ValueHash::new(key, "noise"), share }
    }

    /// Returns a number of the same class, with as many decimal places if they are at most [`PLACES_MAX`]; `None` if the value is no
    /// number.
    #[inline]
    pub(super) fn number(&self, old: Value<'_>, equality: Equality) -> Option<Value<'static>> {
        let bits = self.hash.of(old, equality, &mut Vec::new());
        // A random factor between `1 - share` and `1 + share`.
        let factor = 1.0 + self.share * (2.0 * unit(bits) - 1.0);
        match old {
            Value::Int(0) => Some(Value::Int(0)),
            Value::Int(int) => {
                let moved = (int as f64 * factor).round() as i64;
                // Noise on a small number would often round to the same number.
                let step = if bits & 1 == 0 { -1 } else { 1 };
                Some(Value::Int(if moved == int { int.saturating_add(step) } else { moved }))
            }
            Value::Real(real) => {
                let moved = real * factor;
                let Some(scale) = places(real).map(|places| 10_f64.powi(places as i32)) else {
                    return Some(Value::Real(if moved.is_finite() { moved } else { real }));
                };
                let (units, step) = ((moved * scale).round(), if bits & 1 == 0 { -1.0 } else { 1.0 });
                let is_same = units / scale == real && real != 0.0;
                Some(Value::Real(if is_same { units + step } else { units } / scale))
            }
            _ => None,
        }
    }
}

/// Returns the number of decimal places of a real; `None` if it exceeds [`PLACES_MAX`].
fn places(real: f64) -> Option<u32> {
    (0..=PLACES_MAX).find(|&places| {
        let scaled = real * 10_f64.powi(places as i32);
        scaled.abs() < 1e15 && (scaled - scaled.round()).abs() < 1e-9 * scaled.abs().max(1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> MaskKey {
        MaskKey::new([3; 16]).unwrap()
    }

    #[test]
    fn integers_are_permuted_within_their_range() {
        let permute = Permute::new(&key(), Some((-5, 14)));
        let mut seen: Vec<i64> = (-5..=14).map(|int| permute.int(int).unwrap()).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(-5..=14));
        assert_eq!((permute.int(-6), permute.int(15)), (None, None));

        let all = Permute::new(&key(), None);
        for (low, high) in [(i64::MIN, -HALF - 1), (-HALF, -1), (0, HALF - 1), (HALF, i64::MAX)] {
            let ints = (0..500).flat_map(|at| [low + at, high - at]);
            let mut placed: Vec<i64> = ints.map(|int| all.int(int).unwrap()).collect();
            assert!(placed.iter().all(|int| (low..=high).contains(int)));
            placed.sort_unstable();
            placed.dedup();
            assert_eq!(placed.len(), 1000);
        }
        let mut many: Vec<i64> = (-9..50).chain([HALF, i64::MIN]).collect();
        let alone: Vec<i64> = many.iter().map(|int| all.int(*int).unwrap()).collect();
        all.ints(&mut many, |_| true).unwrap();
        assert_eq!(many, alone);
        assert_eq!(permute.ints(&mut [1, 2, 3, 4, 15], |_| true), Err(4));
        assert_eq!(permute.ints(&mut [1, 2, 3, 4, 15], |_| false), Ok(()));
        let whole = Permute::new(&key(), Some((i64::MIN, i64::MAX)));
        assert_eq!(whole.int(i64::MAX), Some(i64::MAX));
        assert_ne!(whole.int(5), Some(5));
    }

    #[test]
    fn noise_stays_within_the_share_or_one_unit_and_keeps_decimal_places() {
        let noise = Noise::new(&key(), 0.1);
        for cents in 1..2000 {
            let old = f64::from(cents) / 100.0;
            let Some(Value::Real(made)) = noise.number(Value::Real(old), Equality::default()) else {
                panic!()
            };
            let unit = [1.0, 0.1, 0.01][places(old).unwrap() as usize];
            assert!(
                made != old && (made - old).abs() <= (old * 0.1 + unit / 2.0).max(unit) + 1e-9,
                "{old} {made}"
            );
            assert_eq!(made, (made * 100.0).round() / 100.0);
            let Some(Value::Int(int)) = noise.number(Value::Int(cents.into()), Equality::default()) else {
                panic!()
            };
            assert!(int != i64::from(cents) && (int - i64::from(cents)).abs() <= i64::from(cents / 10 + 1));
        }
        assert_eq!(noise.number(Value::Int(0), Equality::default()), Some(Value::Int(0)));
        assert_eq!(noise.number(Value::Text(b"5"), Equality::default()), None);
    }
}
