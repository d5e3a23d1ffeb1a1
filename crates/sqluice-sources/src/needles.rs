//! The search of a block for a few bytes, the needles: the positions of the needles, as bits.
//!
//! On x86-64, one instruction turns the results of comparing 16 bytes (SSE2, which every processor has) or 32 bytes (AVX2) into bits.
//! Compilers do not find this instruction by themselves, and calls of it are `unsafe`.

#![cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "calls that have no safe form"))]

/// The positions of needles in a block: a bit for each byte, from the lowest bit on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    /// A bit is set if the byte is one of the needles.
    pub(crate) all: u64,
    /// A bit is set if the byte is the first one in the list of needles.
    pub(crate) first: u64,
}

/// Computes the masks of as many blocks as `masks` has room for.
pub(crate) fn masks<const N: usize>(blocks: &[[u8; 64]], needles: [u8; N], masks: &mut [Masks]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, the only condition of the function.
        return unsafe { many_by_avx2(blocks, needles, masks) };
    }
    for (masks, block) in masks.iter_mut().zip(blocks) {
        *masks = Masks { all: mask(block, needles), first: mask(block, [needles[0]]) };
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn many_by_avx2<const N: usize>(blocks: &[[u8; 64]], needles: [u8; N], masks: &mut [Masks]) {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    };
    for (masks, block) in masks.iter_mut().zip(blocks) {
        *masks = Masks::default();
        for (index, half) in block.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: 32 bytes are read, which `half` has; they need no alignment.
            let half = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
            let first = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(needles[0].cast_signed()));
            let mut all = first;
            for needle in &needles[1..] {
                all = _mm256_or_si256(all, _mm256_cmpeq_epi8(half, _mm256_set1_epi8(needle.cast_signed())));
            }
            masks.all |= u64::from(_mm256_movemask_epi8(all).cast_unsigned()) << (32 * index);
            masks.first |= u64::from(_mm256_movemask_epi8(first).cast_unsigned()) << (32 * index);
        }
    }
}

/// Returns the positions of needles in a block, as bits.
#[inline]
pub(crate) fn mask<const N: usize>(block: &[u8; 64], needles: [u8; N]) -> u64 {
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

/// Returns the same bits as [`mask`], on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn plain<const N: usize>(block: &[u8; 64], needles: [u8; N]) -> u64 {
    // Compilers make this a few vector instructions.
    let mut equal = [0u8; 64];
    for (equal, &byte) in equal.iter_mut().zip(block) {
        *equal = needles.iter().fold(0, |equal, &needle| equal | u8::from(byte == needle));
    }
    gathered(&equal)
}

/// Returns a bit for each byte, which is 0 or 1.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn gathered(bytes: &[u8; 64]) -> u64 {
    // Gathers the lowest bit of every byte in the top byte.
    let gather = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let words = bytes.as_chunks().0.iter().enumerate();
    words.fold(0, |mask, (index, word)| mask | gather(word) << (index * 8))
}

/// Returns the positions of the bytes from `FIRST` to `LAST` in a block.
#[inline]
pub(crate) fn range<const FIRST: u8, const LAST: u8>(block: &[u8; 64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { range_by_sse2::<FIRST, LAST>(block) };
    #[cfg(not(target_arch = "x86_64"))]
    plain_range::<FIRST, LAST>(block)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn range_by_sse2<const FIRST: u8, const LAST: u8>(block: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8, _mm_sub_epi8,
    };
    let mut bits = 0;
    for (index, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
        let quarter = u128::from_le_bytes(*quarter);
        let quarter = _mm_set_epi64x((quarter >> 64) as i64, quarter as i64);
        // Bytes below the first wrap around to more than the length of the range.
        let distance = _mm_sub_epi8(quarter, _mm_set1_epi8(FIRST.cast_signed()));
        let nearest = _mm_min_epu8(distance, _mm_set1_epi8((LAST - FIRST).cast_signed()));
        let within = _mm_movemask_epi8(_mm_cmpeq_epi8(distance, nearest));
        bits |= u64::from(within.cast_unsigned()) << (16 * index);
    }
    bits
}

/// Returns the same bits as [`range`], on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn plain_range<const FIRST: u8, const LAST: u8>(block: &[u8; 64]) -> u64 {
    let mut within = [0u8; 64];
    for (within, &byte) in within.iter_mut().zip(block) {
        *within = u8::from(byte.wrapping_sub(FIRST) <= LAST - FIRST);
    }
    gathered(&within)
}

/// Returns the position of the first byte of a block that is one of the needles.
#[inline]
pub(crate) fn first<const N: usize>(block: &[u8; 16], needles: [u8; N]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    let bits = unsafe { first_by_sse2(block, needles) };
    #[cfg(not(target_arch = "x86_64"))]
    let bits = plain_first(block, needles);
    (bits != 0).then_some(bits.trailing_zeros() as usize)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn first_by_sse2<const N: usize>(block: &[u8; 16], needles: [u8; N]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_setzero_si128,
    };
    let bytes = u128::from_le_bytes(*block);
    let bytes = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
    let mut equal = _mm_setzero_si128();
    for needle in needles {
        equal = _mm_or_si128(equal, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(needle.cast_signed())));
    }
    _mm_movemask_epi8(equal).cast_unsigned()
}

/// Returns the positions of needles in a block, on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn plain_first<const N: usize>(block: &[u8; 16], needles: [u8; N]) -> u32 {
    block.iter().enumerate().fold(0, |bits, (bit, byte)| bits | u32::from(needles.contains(byte)) << bit)
}

/// Sets each bit for which the number of set bits, up to and including this bit, is odd.
#[inline]
pub(crate) fn odd(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(bits, |bits, distance| bits ^ bits << distance)
}

/// Returns a block that begins with `bytes`, fewer than 64, and a mask of the bits of `bytes`.
pub(crate) fn short(bytes: &[u8]) -> ([u8; 64], u64) {
    let mut block = [0; 64];
    block[..bytes.len()].copy_from_slice(bytes);
    (block, !(u64::MAX << bytes.len()))
}

/// Returns the positions of the bytes that end a run of characters within a JSON string: quotes, backslashes and control characters.
#[inline]
pub(crate) fn string_ends(block: &[u8; 16]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64.
    return unsafe { string_ends_by_sse2(block) };
    #[cfg(not(target_arch = "x86_64"))]
    plain_string_ends(block)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn string_ends_by_sse2(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let bytes = u128::from_le_bytes(*block);
    let bytes = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
    let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()));
    let control = _mm_cmpeq_epi8(bytes, _mm_min_epu8(bytes, _mm_set1_epi8(0x1f)));
    let any = _mm_or_si128(control, _mm_or_si128(equal(b'"'), equal(b'\\')));
    _mm_movemask_epi8(any).cast_unsigned()
}

/// Returns the same bits as [`string_ends`], on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn plain_string_ends(block: &[u8; 16]) -> u32 {
    let bits = block.iter().enumerate();
    bits.fold(0, |bits, (bit, byte)| bits | u32::from(matches!(byte, b'"' | b'\\' | 0..b' ')) << bit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        Masks, first, mask, masks, plain, plain_first, plain_range, plain_string_ends, range, string_ends,
    };

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn string_ends_finds_the_bytes_that_a_simple_loop_finds(
            block in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), 0..0x21u8, any::<u8>()], 16),
        ) {
            let block = block.first_chunk().unwrap();
            prop_assert_eq!(string_ends(block), plain_string_ends(block));
        }

        #[test]
        fn first_returns_the_position_that_a_simple_search_returns(
            block in prop::collection::vec(prop_oneof![Just(b'"'), any::<u8>()], 16),
            needle: u8,
        ) {
            let block = block.first_chunk().unwrap();
            let needles = [b'"', needle];
            prop_assert_eq!(first(block, needles), block.iter().position(|byte| needles.contains(byte)));
            let bits = plain_first(block, needles);
            prop_assert_eq!(first(block, needles), (bits != 0).then_some(bits.trailing_zeros() as usize));
        }

        #[test]
        fn range_finds_the_bytes_that_a_simple_loop_finds(block in prop::collection::vec(any::<u8>(), 64)) {
            let block = block.first_chunk().unwrap();
            prop_assert_eq!(range::<b',', b'9'>(block), plain_range::<b',', b'9'>(block));
            prop_assert_eq!(range::<0, 0x1f>(block), plain_range::<0, 0x1f>(block));
            prop_assert_eq!(range::<0x80, 0xff>(block), plain_range::<0x80, 0xff>(block));
        }

        #[test]
        fn mask_and_masks_find_the_bytes_that_a_simple_loop_finds(
            block in prop::collection::vec(prop_oneof![Just(b','), any::<u8>()], 64),
            needles: [u8; 3],
        ) {
            let block = block.first_chunk().unwrap();
            let needles = [b',', needles[0], needles[1], needles[2]];
            let all = plain(block, needles);
            prop_assert_eq!(mask(block, needles), all);
            let mut found = [Masks::default(); 2];
            masks(&[*block, [b','; 64]], needles, &mut found);
            let first = plain(block, [b',']);
            prop_assert_eq!(found, [Masks { all, first }, Masks { all: u64::MAX, first: u64::MAX }]);
        }
    }
}
