//! Sums of entries: an index and the text of its rows agree if the sums of their entries do.
//!
//! ```text
//!  term ──> TermHash ──with rowid, column, position──> EntryHash ──+──> the sum of one of many buckets, by rowid
//! ```
//!
//! The sums do not depend on the order of the entries. If two sums differ, the rows of these buckets alone are compared one by one. The
//! hash detects accidents, not forgeries.

use std::collections::HashMap;

use super::super::doclist::Detail;
use super::super::read::{Damage, Positions};
use super::segment::Entry;

/// The number of buckets into which rowids are divided.
const BUCKETS: usize = 4096;

/// Odd numbers with as many ones as zeros, taken from the fractional digits of pi and e. They have no other special property.
const KEYS: [u64; 4] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xb7e1_5162_8aed_2a6b, 0xa784_d904_5190_cfef];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TermHash(u64);

impl TermHash {
    /// Returns the hash of a term. `index` is the first byte of all terms of its index; `token` is the token, or its beginning in a prefix
    /// index.
    #[inline]
    pub fn new(index: u8, token: &[u8]) -> TermHash {
        // The index and the length are mixed before the token: otherwise they could cancel bytes of a short one.
        let mut hash = fold(KEYS[0] ^ token.len() as u64 ^ u64::from(index) << 32, KEYS[3]);
        let (words, rest) = token.as_chunks::<8>();
        for word in words {
            hash = fold(hash ^ u64::from_be_bytes(*word), KEYS[1]);
        }
        let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        TermHash(fold(hash ^ rest, KEYS[2]))
    }

    /// Returns the hash of an entry: the term at a position in a row.
    #[inline]
    pub fn at(self, rowid: i64, column: u32, position: u32) -> EntryHash {
        let place = u64::from(column) << 32 | u64::from(position);
        EntryHash(fold(fold(self.0 ^ rowid as u64, KEYS[3]) ^ place, KEYS[1]))
    }
}

/// The hash of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHash(u64);

/// The sums over entries: a sum for each bucket of rows, or a sum for each row of some buckets.
#[derive(Clone, Debug)]
pub struct Digest {
    sums: Vec<u64>,
    /// The buckets whose rows have a sum each (`true` for such a bucket), and the sum of each row by its rowid; `None` if each bucket has a
    /// sum.
    rows: Option<(Vec<bool>, HashMap<i64, u64>)>,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest { sums: vec![0; BUCKETS], rows: None }
    }
}

fn bucket(rowid: i64) -> usize {
    fold(rowid as u64 ^ KEYS[2], KEYS[3]) as usize % BUCKETS
}

impl Digest {
    /// Returns an empty digest with a sum for each row of the buckets in which two digests differ.
    pub fn of_rows_that_differ(&self, other: &Digest) -> Digest {
        let differ = self.sums.iter().zip(&other.sums).map(|(one, other)| one != other);
        Digest { sums: Vec::new(), rows: Some((differ.collect(), HashMap::new())) }
    }

    /// Returns the number of buckets in which two digests differ.
    pub fn differing_buckets(&self, other: &Digest) -> usize {
        self.sums.iter().zip(&other.sums).filter(|(one, other)| one != other).count()
    }

    /// Adds an entry of a row. A digest that sums rows one by one ignores the rows of other buckets.
    #[inline]
    pub fn add(&mut self, rowid: i64, EntryHash(hash): EntryHash) {
        let bucket = bucket(rowid);
        match &mut self.rows {
            None => self.sums[bucket] = self.sums[bucket].wrapping_add(hash),
            Some((buckets, rows)) if buckets[bucket] => {
                let sum = rows.entry(rowid).or_default();
                *sum = sum.wrapping_add(hash);
            }
            Some(_) => {}
        }
    }

    /// Adds all entries of another digest of the same buckets.
    pub fn add_all(&mut self, other: &Digest) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum = sum.wrapping_add(*other));
        if let (Some((_, rows)), Some((_, others))) = (&mut self.rows, &other.rows) {
            for (rowid, other) in others {
                let sum = rows.entry(*rowid).or_default();
                *sum = sum.wrapping_add(*other);
            }
        }
    }

    /// Returns the rows whose sums differ, in order. Both digests sum rows one by one.
    pub fn differing_rows(&self, other: &Digest) -> Vec<i64> {
        let (Some((_, one)), Some((_, other))) = (&self.rows, &other.rows) else { return Vec::new() };
        let sum = |rows: &HashMap<i64, u64>, rowid| rows.get(rowid).copied().unwrap_or_default();
        let mut differ: Vec<i64> = one
            .keys()
            .chain(other.keys())
            .filter(|rowid| sum(one, rowid) != sum(other, rowid))
            .copied()
            .collect();
        differ.sort_unstable();
        differ.dedup();
        differ
    }

    /// Adds an entry of an index. `hash` is the hash of its term. Returns the last column that has the term.
    ///
    /// # Errors
    /// If the positions are damaged.
    pub fn add_stored(&mut self, hash: TermHash, entry: &Entry<'_>, detail: Detail) -> Result<u32, Damage> {
        let mut last = 0;
        if detail == Detail::None {
            self.add(entry.rowid, hash.at(entry.rowid, 0, 0));
        }
        for position in Positions::new(detail, 0, entry.positions) {
            let (column, position) = position?;
            self.add(entry.rowid, hash.at(entry.rowid, column, position));
            last = last.max(column);
        }
        Ok(last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn terms_of_all_indexes_and_lengths_have_different_hashes() {
        let mut hashes = HashSet::new();
        let mut terms = 0;
        for index in b'0'..=b'0' + 8 {
            for len in 0..=9 {
                for number in 0..1_u32 << (2 * len.min(6)) {
                    // Tokens differ in few bits, of their first or of their last bytes.
                    let mut token = vec![b'0'; len];
                    let start = if number % 2 == 0 { 0 } else { len.saturating_sub(6) };
                    for (at, byte) in token[start..].iter_mut().take(6).enumerate() {
                        *byte ^= (number >> (2 * at)) as u8 & 3;
                    }
                    hashes.insert((token.clone(), index, TermHash::new(index, &token).0));
                    terms += 1;
                }
            }
        }
        let different: HashSet<u64> = hashes.iter().map(|(_, _, hash)| *hash).collect();
        assert!(hashes.len() > terms / 2);
        assert_eq!(different.len(), hashes.len());
    }
}
