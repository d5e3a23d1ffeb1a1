//! Damages the bytes of a database at random, for tests of `recover`.

/// A generator of random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// The kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flips,
    Zeros,
    Swaps,
    Copies,
    Cut,
    NoPageOne,
    Foreign,
    Header,
    Range,
    Garbage,
}

/// All kinds of damage.
pub(crate) const KINDS: [Kind; 10] = [
    Kind::Flips,
    Kind::Zeros,
    Kind::Swaps,
    Kind::Copies,
    Kind::Cut,
    Kind::NoPageOne,
    Kind::Foreign,
    Kind::Header,
    Kind::Range,
    Kind::Garbage,
];

/// Damages the bytes of a database. `other` is another database.
pub(crate) fn damage(kind: Kind, bytes: &mut Vec<u8>, page_bytes: usize, other: &[u8], random: &mut Random) {
    let pages = bytes.len() / page_bytes;
    let some = 1 + random.below((pages / 12).max(2));
    // The page is never page 1, which kinds of its own damage.
    let page = |random: &mut Random| (1 + random.below(pages - 1)) * page_bytes;
    match kind {
        Kind::Flips => {
            for _ in 0..some {
                let at = page(random) + random.below(page_bytes);
                bytes[at] ^= 1 << random.below(8);
            }
        }
        Kind::Zeros => {
            for _ in 0..some {
                let at = page(random);
                bytes[at..at + page_bytes].fill(0);
            }
        }
        Kind::Swaps => {
            let (one, two) = (page(random), page(random));
            for at in 0..page_bytes {
                bytes.swap(one + at, two + at);
            }
        }
        Kind::Copies => {
            for _ in 0..some {
                let (from, to) = (page(random), page(random));
                bytes.copy_within(from..from + page_bytes, to);
            }
        }
        Kind::Cut => bytes.truncate(page_bytes + random.below(bytes.len() - page_bytes)),
        Kind::NoPageOne => bytes[..page_bytes].fill(0),
        Kind::Foreign => {
            for _ in 0..some {
                let at = page(random);
                let from = random.below(other.len() / page_bytes) * page_bytes;
                bytes[at..at + page_bytes].copy_from_slice(&other[from..from + page_bytes]);
            }
        }
        Kind::Header => {
            for _ in 0..3 {
                bytes[random.below(100)] = random.next() as u8;
            }
        }
        Kind::Range => {
            let from = random.below(bytes.len());
            let to = (from + random.below(bytes.len() / 3)).min(bytes.len());
            bytes[from..to].fill(0);
        }
        Kind::Garbage => {
            for _ in 0..some {
                let at = page(random);
                bytes[at..at + page_bytes].iter_mut().for_each(|byte| *byte = random.next() as u8);
            }
        }
    }
}
