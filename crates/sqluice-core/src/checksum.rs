//! A checksum of a database's pages: proof that two files, or a file and a run that wrote none, are the same bytes.
//!
//! The sum over all pages of a 64-bit hash of (page number, bytes), so pages may be added in any order. The lock-byte page,
//! which holds nothing, is left out. It detects accidental changes, not forgeries: it is no cryptographic hash.

use sqluice_format::page::Geometry;

/// The sum so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(u64);

/// The hash of one page's bytes, before its number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHash(u64);

/// Odd numbers with as many ones as zeros; nothing else is special about them (the fractions of e).
const KEYS: [u64; 4] =
    [0xb7e1_5162_8aed_2a6b, 0xbf71_5880_9cf4_f3c7, 0x62e7_160f_38b4_da57, 0xa784_d904_5190_cfef];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl PageHash {
    /// The hash of a page, whose size is a multiple of 64 bytes as all page sizes are.
    #[inline]
    pub fn of(page: &[u8]) -> PageHash {
        let (blocks, rest) = page.as_chunks::<64>();
        debug_assert!(rest.is_empty());
        // Four lanes, so that one multiplication need not wait for another. They begin with other numbers than the second
        // word of each pair is mixed with: else the two words of the first block could be swapped.
        let mut lanes = KEYS.map(|key| key.rotate_left(23));
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            for (i, lane) in lanes.iter_mut().enumerate() {
                let [a, b] = [words[2 * i], words[2 * i + 1]].map(u64::from_le_bytes);
                *lane = fold(*lane ^ a, KEYS[i] ^ b);
            }
        }
        let [a, b, c, d] = lanes;
        PageHash(fold(a ^ c.rotate_left(32), KEYS[0] ^ b) ^ fold(d ^ c, KEYS[1] ^ a))
    }
}

impl Checksum {
    /// Adds a page.
    #[inline]
    pub fn add(&mut self, number: u32, page: PageHash) {
        let mixed = fold(page.0 ^ KEYS[2], KEYS[3] ^ u64::from(number));
        self.0 = self.0.wrapping_add(fold(mixed ^ KEYS[1], page.0 ^ KEYS[0]));
    }

    /// Adds all pages of another sum.
    pub fn add_all(&mut self, other: Checksum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// The sum as 16 hexadecimal digits.
    pub fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The sum over the pages 1 to `page_count`, which `read` puts into the given buffer: in their order, without the lock-byte page.
///
/// # Errors
/// When `read` fails.
pub fn of_pages<E>(
    geometry: Geometry,
    page_count: u32,
    mut read: impl FnMut(u32, &mut [u8]) -> Result<(), E>,
) -> Result<Checksum, E> {
    let mut page = vec![0; geometry.page_bytes()];
    let mut sum = Checksum::default();
    for number in (1..=page_count).filter(|&number| number != geometry.lock_page()) {
        read(number, &mut page)?;
        sum.add(number, PageHash::of(&page));
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_and_the_page_number_count() {
        let mut page = [7; 512];
        let sum = |page: &[u8], number| {
            let mut sum = Checksum::default();
            sum.add(number, PageHash::of(page));
            sum
        };
        let mut seen = vec![sum(&page, 1), sum(&page, 2)];
        for bit in 0..512 * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            seen.push(sum(&page, 1));
            page[bit / 8] ^= 1 << (bit % 8);
        }
        seen.sort_by_key(|sum| sum.0);
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_order_of_pages_does_not_matter() {
        let hashes = [PageHash::of(&[1; 512]), PageHash::of(&[2; 512])];
        let (mut one, mut other) = (Checksum::default(), Checksum::default());
        one.add(1, hashes[0]);
        one.add(2, hashes[1]);
        other.add(2, hashes[1]);
        other.add(1, hashes[0]);
        assert_eq!(one, other);
        assert_eq!(one.to_hex().len(), 16);
    }
}
