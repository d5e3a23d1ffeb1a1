//! Computes the memory for pages whose values are stored as differences.
//!
//! ```text
//!  DELTA_LENGTH_BYTE_ARRAY   lengths | bytes
//!  DELTA_BYTE_ARRAY          lengths of prefixes | lengths of suffixes | suffixes
//!  lengths                   values of a block, miniblocks of a block, count, first length | block | block ...
//!  block                     minimum difference | bit widths of its miniblocks | miniblocks
//! ```
//!
//! A value that shares all its bytes with the value before it takes hardly a bit in the page, but the reader copies it completely. The
//! reader also allocates as many lengths as the page declares. Both sizes are computed here first, without a list of the lengths.

use parquet::basic::Encoding;

use super::thrift::varint;

/// The memory that the reader allocates for a page in addition to the page's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extra {
    /// The bytes of the lists of lengths, while the page is read.
    pub(super) lengths: u64,
    /// The bytes of copied prefixes, for the values of one batch.
    pub(super) prefixes: u64,
}

/// Returns `true` if this encoding stores lists of lengths.
pub(super) fn have_lengths(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
}

/// Returns the memory that the reader allocates in addition for the values `bytes` of a page. There are at most `values` values, of which at
/// most `window` are in one batch. Returns `None` if the page is damaged.
pub(super) fn extra(bytes: &[u8], encoding: Encoding, values: u64, window: u64) -> Option<Extra> {
    const LENGTH_BYTES: u64 = 4;
    let lists = if encoding == Encoding::DELTA_BYTE_ARRAY { 2 } else { 1 };
    let mut rest = bytes;
    let mut extra = Extra { lengths: 0, prefixes: 0 };
    for list in 0..lists {
        let mut lengths = Lengths::new(rest)?;
        if lengths.left > values {
            return None;
        }
        extra.lengths += lengths.left * LENGTH_BYTES;
        if lists == 2 && list == 0 {
            extra.prefixes = most_together(&mut lengths, window)?;
            rest = lengths.rest;
        }
    }
    Some(extra)
}

/// Returns an upper bound of the sum of any `window` consecutive lengths: the maximum sum of two neighbouring windows.
fn most_together(lengths: &mut Lengths<'_>, window: u64) -> Option<u64> {
    let (mut most, mut before) = (0, 0);
    while lengths.left > 0 {
        let mut sum: u64 = 0;
        for _ in 0..window.max(1).min(lengths.left) {
            sum = sum.saturating_add(u64::try_from(lengths.next()?).ok()?);
        }
        most = most.max(sum.saturating_add(before));
        before = sum;
    }
    Some(most)
}

/// An iterator over an encoded list of lengths.
struct Lengths<'a> {
    /// The rest of the current block, followed by the next blocks.
    rest: &'a [u8],
    /// The number of lengths that are not read yet.
    left: u64,
    last: i32,
    is_first: bool,
    /// The number of lengths in each miniblock.
    miniblock: u64,
    miniblocks: usize,
    /// The minimum difference of the current block.
    least: i32,
    /// The bit widths of the remaining miniblocks of the current block.
    widths: &'a [u8],
    /// The bits of the current miniblock.
    bits: Bits<'a>,
    /// The number of lengths of the current miniblock that are not read yet.
    in_miniblock: u64,
}

/// Numbers of a fixed bit width, packed from the lowest bit upwards.
#[derive(Clone, Copy, Default)]
struct Bits<'a> {
    bytes: &'a [u8],
    width: u32,
    at: usize,
}

impl Bits<'_> {
    fn next(&mut self) -> u32 {
        // 32 bits at any bit position are within five bytes.
        let byte = self.at / 8;
        let mut word = [0; 8];
        let there = self.bytes.get(byte..).unwrap_or_default();
        let there = &there[..there.len().min(5)];
        word[..there.len()].copy_from_slice(there);
        let shifted = u64::from_le_bytes(word) >> (self.at % 8);
        self.at += self.width as usize;
        (shifted & ((1 << self.width) - 1)) as u32
    }
}

impl<'a> Lengths<'a> {
    fn new(mut rest: &'a [u8]) -> Option<Lengths<'a>> {
        let block = varint(&mut rest)?;
        let miniblocks = varint(&mut rest)?;
        let left = varint(&mut rest)?;
        let first = zigzag(varint(&mut rest)?);
        let miniblock = block.checked_div(miniblocks)?;
        if miniblock == 0 || miniblock % 8 != 0 {
            return None;
        }
        Some(Lengths {
            rest,
            left,
            last: first,
            is_first: true,
            miniblock,
            miniblocks: usize::try_from(miniblocks).ok()?,
            least: 0,
            widths: &[],
            bits: Bits::default(),
            in_miniblock: 0,
        })
    }

    fn next(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        if self.is_first {
            self.is_first = false;
            return Some(self.last);
        }
        if self.in_miniblock == 0 {
            self.next_miniblock()?;
        }
        self.in_miniblock -= 1;
        // Differences have 32 bits and wrap around, as in the reader.
        let difference = self.least.wrapping_add(self.bits.next().cast_signed());
        self.last = self.last.wrapping_add(difference);
        Some(self.last)
    }

    fn next_miniblock(&mut self) -> Option<()> {
        if self.widths.is_empty() {
            self.least = zigzag(varint(&mut self.rest)?);
            (self.widths, self.rest) = self.rest.split_at_checked(self.miniblocks)?;
        }
        let (&width, widths) = self.widths.split_first()?;
        let bytes = usize::try_from(self.miniblock.checked_mul(u64::from(width))? / 8).ok()?;
        // The last miniblock may be cut short.
        let (bytes, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        (self.widths, self.rest) = (widths, rest);
        self.bits = Bits { bytes, width: u32::from(width), at: 0 };
        self.in_miniblock = self.miniblock;
        (width <= 32).then_some(())
    }
}

fn zigzag(number: u64) -> i32 {
    // The reader also keeps only 32 bits.
    ((number >> 1) as i64 ^ -((number & 1) as i64)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the encoded form of lengths, in blocks of 128 differences.
    fn written(lengths: &[i32]) -> Vec<u8> {
        let mut out = vec![0x80, 1, 4];
        let number = |out: &mut Vec<u8>, mut number: u64| {
            while number > 127 {
                out.push(number as u8 | 128);
                number >>= 7;
            }
            out.push(number as u8);
        };
        let zigzag = |number: i64| (number << 1 ^ number >> 63) as u64;
        number(&mut out, lengths.len() as u64);
        number(&mut out, zigzag(lengths.first().copied().unwrap_or(0).into()));
        let steps: Vec<i64> =
            lengths.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect();
        for block in steps.chunks(128) {
            let least = *block.iter().min().unwrap();
            number(&mut out, zigzag(least));
            let width = |steps: &[i64]| steps.iter().map(|step| 64 - (step - least).leading_zeros()).max();
            let chunks: Vec<&[i64]> = block.chunks(32).collect();
            out.extend((0..4).map(|at| chunks.get(at).map_or(77, |steps| width(steps).unwrap() as u8)));
            for steps in chunks {
                let width = width(steps).unwrap() as usize;
                let mut packed = vec![0; width * 4];
                for (index, step) in steps.iter().enumerate() {
                    for bit in 0..width {
                        let at = index * width + bit;
                        packed[at / 8] |= (((step - least) >> bit & 1) as u8) << (at % 8);
                    }
                }
                out.extend(packed);
            }
        }
        out
    }

    proptest::proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn encoded_lengths_are_read_unchanged(
            lengths in proptest::collection::vec(proptest::prop_oneof![0..9_i32, 0..i32::MAX, proptest::strategy::Just(1 << 20)], 0..700),
            window in 1_u64..300,
        ) {
            let mut bytes = written(&lengths);
            let end = bytes.len();
            bytes.extend(written(&lengths));
            let mut read = Lengths::new(&bytes).unwrap();
            let all: Vec<i32> = std::iter::from_fn(|| (read.left > 0).then(|| read.next().unwrap())).collect();
            proptest::prop_assert_eq!(&all, &lengths);
            proptest::prop_assert_eq!(read.rest.len(), bytes.len() - end);
            let values = lengths.len() as u64;
            let both = extra(&bytes, Encoding::DELTA_BYTE_ARRAY, values, window).unwrap();
            proptest::prop_assert_eq!(both.lengths, 8 * values);
            let sums = lengths.windows(lengths.len().min(window as usize).max(1));
            let most = sums.map(|some| some.iter().map(|length| *length as u64).sum::<u64>()).max().unwrap_or(0);
            proptest::prop_assert!((most..=2 * most).contains(&both.prefixes), "{} {:?}", most, both);
            proptest::prop_assert_eq!(extra(&bytes, Encoding::DELTA_BYTE_ARRAY, values.saturating_sub(1), window).is_none(), values > 0);
        }

        #[test]
        fn no_bytes_make_the_reader_of_parquet_lengths_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
            for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
                extra(&bytes, encoding, 10_000, 7);
                extra(&[&[0x80, 1, 4], &bytes[..]].concat(), encoding, 10_000, 7);
            }
        }
    }
}
