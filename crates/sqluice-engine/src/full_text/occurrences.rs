//! The occurrences of terms in consecutive rows, sorted by the numbers of the terms.
//!
//! An occurrence is the number of a term, a cell and a position. Cells are numbered row by row: the row of a run times the number of
//! columns, plus the column. Occurrences come in the order of cells and positions, so a stable sort by number keeps this order.

/// An occurrence of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Occurrence {
    pub(super) term: u32,
    pub(super) cell: u32,
    pub(super) position: u32,
}

/// The memory that an occurrence takes, with its place in the copy that sorting makes.
pub(super) const OCCURRENCE_BYTES: usize = 2 * size_of::<Occurrence>();

/// The largest number of bits by which a pass sorts.
const DIGIT_BITS_MAX: u32 = 11;

/// Sorts the occurrences by term. `terms` is greater than all numbers of terms; `scratch` is a buffer.
pub(super) fn sort(occurrences: &mut Vec<Occurrence>, terms: usize, scratch: &mut Vec<Occurrence>) {
    scratch.resize(occurrences.len(), Occurrence::default());
    let bits = usize::BITS - terms.saturating_sub(1).leading_zeros();
    // Passes of equal width write to fewer places at once.
    let passes = bits.div_ceil(DIGIT_BITS_MAX);
    let digit_bits = bits.div_ceil(passes.max(1));
    for pass in 0..passes {
        let shift = pass * digit_bits;
        let mask = (1 << digit_bits) - 1;
        let digit = |occurrence: &Occurrence| (occurrence.term >> shift) as usize & mask;
        let mut places = [0_u32; 1 << DIGIT_BITS_MAX];
        occurrences.iter().for_each(|occurrence| places[digit(occurrence)] += 1);
        let mut start = 0;
        for place in &mut places[..=mask] {
            start += std::mem::replace(place, start);
        }
        for occurrence in &*occurrences {
            let place = &mut places[digit(occurrence)];
            scratch[*place as usize] = *occurrence;
            *place += 1;
        }
        std::mem::swap(occurrences, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_of_a_term_keep_their_order() {
        for terms in [1_usize, 2, 2048, 2049, 5_000_000, u32::MAX as usize] {
            let random = |n: u32| n.wrapping_mul(2_654_435_761) ^ n >> 3;
            let mut occurrences: Vec<Occurrence> = (0..10_000)
                .map(|n| Occurrence {
                    term: (u64::from(random(n)) % terms as u64) as u32,
                    cell: n / 7,
                    position: n,
                })
                .collect();
            let mut expected = occurrences.clone();
            expected.sort_by_key(|occurrence| occurrence.term);
            sort(&mut occurrences, terms, &mut Vec::new());
            assert_eq!(occurrences, expected, "{terms}");
        }
    }
}
