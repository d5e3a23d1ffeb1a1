//! Sorts keys and removes duplicates.
//!
//! ```text
//!  keys                     7  -2   9   7
//!  minus the smallest key   9   0  11   9
//!  sorted, each once        0   9  11          LSD radix sort; the largest difference determines the number of digits
//!  keys in order           -2   7   9
//! ```

/// The number of bits of a digit of the radix sort.
const DIGIT_BITS: u32 = 11;

/// The smallest number of keys for which the radix sort is used.
const COUNTED_MIN: usize = 1024;

/// Sorts keys, and keeps each once.
pub(super) fn in_order(keys: &mut Vec<i64>) {
    match keys.len() {
        _ if keys.is_sorted() => {}
        ..COUNTED_MIN => keys.sort_unstable(),
        _ => by_digits(keys),
    }
    keys.dedup();
}

fn by_digits(keys: &mut Vec<i64>) {
    let (min, max) = keys.iter().fold((i64::MAX, i64::MIN), |(min, max), &key| (min.min(key), max.max(key)));
    let bits = u64::BITS - max.abs_diff(min).leading_zeros();
    let mut other = vec![0; keys.len()];
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let digit = |key: i64| (key.abs_diff(min) >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut places = [0_usize; 1 << DIGIT_BITS];
        keys.iter().for_each(|&key| places[digit(key)] += 1);
        let mut next = 0;
        for place in &mut places {
            (*place, next) = (next, next + *place);
        }
        for &key in keys.iter() {
            let place = &mut places[digit(key)];
            other[*place] = key;
            *place += 1;
        }
        std::mem::swap(keys, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn in_order_returns_each_key_once_in_ascending_order(
            few in prop::collection::vec(-9..9_i64, 0..3000),
            many in prop::collection::vec(any::<i64>(), 0..3000),
            near in prop::collection::vec(-70_000..5_000_000_i64, 0..3000),
            ends in prop::option::of(Just([i64::MIN, i64::MAX])),
        ) {
            for keys in [few, many, near] {
                let keys: Vec<i64> = keys.into_iter().chain(ends.into_iter().flatten()).collect();
                let expected: Vec<i64> = std::collections::BTreeSet::from_iter(keys.clone()).into_iter().collect();
                let mut sorted = keys;
                in_order(&mut sorted);
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
