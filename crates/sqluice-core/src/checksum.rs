//! A checksum of a database's pages: proof that two files, or a file and a run that wrote no file, have the same bytes.
//!
//! The checksum is the sum, modulo 2⁶⁴, of a hash of each page and its number, so pages may be added in any order. The lock-byte page,
//! which has no content, is left out. The checksum detects accidental changes, not forgeries: it is no cryptographic hash.
//!
//! The hash of a page is [XXH3](https://xxhash.com) (64 bits, no seed) of its bytes. The hash of a page and its number is XXH3 of the eight
//! bytes of the page's hash, the least significant byte first, with the number as seed.

use sqluice_format::page::Geometry;
use twox_hash::XxHash3_64;

/// The checksum of the pages that were added so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(u64);

/// The hash of one page's bytes, before its number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHash(u64);

impl PageHash {
    /// Returns the hash of a page.
    #[inline]
    pub fn of(page: &[u8]) -> PageHash {
        PageHash(XxHash3_64::oneshot(page))
    }
}

impl Checksum {
    /// Adds a page.
    #[inline]
    pub fn add(&mut self, number: u32, page: PageHash) {
        let of_number = XxHash3_64::oneshot_with_seed(u64::from(number), &page.0.to_le_bytes());
        self.0 = self.0.wrapping_add(of_number);
    }

    /// Adds all pages of another sum.
    pub fn add_all(&mut self, other: Checksum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// Returns the sum as a number.
    pub fn to_sum(self) -> u64 {
        self.0
    }

    /// Creates the checksum from a number that [`Checksum::to_sum`] has returned.
    pub fn of_sum(sum: u64) -> Checksum {
        Checksum(sum)
    }

    /// Returns the sum as 16 hexadecimal digits.
    pub fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Returns the checksum of the pages 1 to `page_count`, without the lock-byte page. `read` fills the given buffer with a page; pages are
/// read in order.
///
/// # Errors
/// If `read` fails.
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
    fn a_changed_bit_or_page_number_changes_the_checksum() {
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
    fn the_checksum_does_not_depend_on_the_order_of_pages() {
        let hashes = [PageHash::of(&[1; 512]), PageHash::of(&[2; 512])];
        let (mut one, mut other) = (Checksum::default(), Checksum::default());
        one.add(1, hashes[0]);
        one.add(2, hashes[1]);
        other.add(2, hashes[1]);
        other.add(1, hashes[0]);
        assert_eq!(one, other);
        // Users keep checksums of their databases, so the value must be the same in every version.
        assert_eq!(one.to_hex(), "6704720df8613de5");
    }
}
