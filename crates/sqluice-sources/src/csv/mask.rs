//! Which of 64 bytes are one of a few, as bits.
//!
//! On x86-64 an instruction gathers the bits of a comparison, which compilers do not find by themselves. It belongs to SSE2, which every such
//! processor has; still, the compiler takes a call of it for unsafe.

#![cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "one call, which has no safe form"))]

/// Where a block has one of the needles.
#[inline]
pub(super) fn mask<const N: usize>(block: &[u8; 64], needles: [u8; N]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { by_sse2(block, needles) };
    #[cfg(not(target_arch = "x86_64"))]
    plain(block, needles)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn by_sse2<const N: usize>(block: &[u8; 64], needles: [u8; N]) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_setzero_si128,
    };
    let mut bits = 0;
    for (index, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
        let quarter = u128::from_le_bytes(*quarter);
        let quarter = _mm_set_epi64x((quarter >> 64) as i64, quarter as i64);
        let mut equal = _mm_setzero_si128();
        for needle in needles {
            equal = _mm_or_si128(equal, _mm_cmpeq_epi8(quarter, _mm_set1_epi8(needle.cast_signed())));
        }
        bits |= u64::from(_mm_movemask_epi8(equal).cast_unsigned()) << (16 * index);
    }
    bits
}

/// The same on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn plain<const N: usize>(block: &[u8; 64], needles: [u8; N]) -> u64 {
    // Compilers make this a few vector instructions.
    let mut equal = [0u8; 64];
    for (equal, &byte) in equal.iter_mut().zip(block) {
        *equal = needles.iter().fold(0, |equal, &needle| equal | u8::from(byte == needle));
    }
    // Gathers the lowest bit of every byte in the top byte.
    let gather = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let words = equal.as_chunks().0.iter().enumerate();
    words.fold(0, |mask, (index, word)| mask | gather(word) << (index * 8))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{mask, plain};

    proptest! {
        #[test]
        fn a_mask_is_that_of_the_plain_loop(
            block in prop::collection::vec(prop_oneof![Just(b','), any::<u8>()], 64),
            needles: [u8; 3],
        ) {
            let block = block.first_chunk().unwrap();
            let needles = [b',', needles[0], needles[1], needles[2]];
            prop_assert_eq!(mask(block, needles), plain(block, needles));
        }
    }
}
