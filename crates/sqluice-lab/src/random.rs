//! Pseudo-random numbers, each a function of its index: the code that writes rows and the code that checks them compute the same numbers.

use sqluice::splitmix;

/// Maps a number to a pseudo-random number. Different numbers have different results.
pub fn mixed(number: u64) -> u64 {
    splitmix::nth(number)
}

/// Returns the place of `number` in a shuffle of the numbers below `rows`. The numbers with as many bits as `rows` are permuted, again and
/// again until the result is below `rows`.
pub fn permuted(number: u64, rows: u64) -> u64 {
    let bits = (64 - (rows - 1).leading_zeros()).max(2);
    let mask = (1 << bits) - 1;
    let mut x = number;
    loop {
        for factor in [0x9E37_79B9_7F4A_7C15u64, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
            x = x.wrapping_mul(factor) & mask;
            x ^= x >> (bits / 2);
            x = x.wrapping_add(factor >> 7) & mask;
        }
        if x < rows {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_shuffle_has_every_number_once_in_random_order() {
        for rows in [1, 2, 3, 10, 1000, 4096, 4097] {
            let numbers: BTreeSet<u64> = (0..rows).map(|row| permuted(row, rows)).collect();
            assert_eq!(numbers.len() as u64, rows);
            assert!(numbers.last() < Some(&rows));
        }
        let follows = (0..999).filter(|&row| permuted(row + 1, 1000) == permuted(row, 1000) + 1).count();
        assert!(follows < 20, "{follows} rows come after the one before");
    }
}
