//! Parses the head and the footer of a leaf, which have the offsets of its first rowid, of the end of its content, and of its terms.

use super::super::segment::HEAD_BYTES;
use super::{Damage, Fault, Numbers};

/// A leaf of a segment, with the offsets from its head and footer.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a> {
    block: &'a [u8],
    id: i64,
    /// The offset of the first rowid, if a rowid precedes the first term.
    pub first_rowid: Option<usize>,
    /// The end of the content.
    pub end: usize,
}

impl<'a> Leaf<'a> {
    /// Parses the head of the leaf with this `id` in `t_data`.
    ///
    /// # Errors
    /// If the block is shorter than the head, or an offset lies outside of the page.
    pub fn parse(id: i64, block: &'a [u8]) -> Result<Leaf<'a>, Damage> {
        let damage = |offset, fault| Damage { row: id, offset, fault };
        let Some(&[a, b, c, d]) = block.first_chunk::<HEAD_BYTES>() else {
            return Err(damage(block.len(), Fault::Short));
        };
        let (first_rowid, end) =
            (usize::from(u16::from_be_bytes([a, b])), usize::from(u16::from_be_bytes([c, d])));
        if !(HEAD_BYTES..=block.len()).contains(&end) {
            return Err(damage(2, Fault::Range));
        }
        if first_rowid != 0 && !(HEAD_BYTES..end).contains(&first_rowid) {
            return Err(damage(0, Fault::Range));
        }
        Ok(Leaf { block, id, first_rowid: Some(first_rowid).filter(|offset| *offset != 0), end })
    }

    /// Returns `true` if a term starts on the page.
    pub fn has_term(&self) -> bool {
        self.block.len() > self.end
    }

    /// Returns the first term that starts on the page; `None` if no term does.
    ///
    /// # Errors
    /// If an offset or the size of the term is out of range.
    pub fn first_term(&self) -> Result<Option<&'a [u8]>, Damage> {
        let Some(start) = self.terms().next().transpose()? else { return Ok(None) };
        let mut numbers = Numbers::new(self.id, &self.block[..self.end], start);
        let bytes = numbers.at_most(self.end as u64)? as usize;
        let term = self.block[..self.end].get(numbers.at..numbers.at + bytes);
        term.map(Some).ok_or(numbers.damage(Fault::Short))
    }

    /// Replaces `term` by the last term that starts on the page. It is empty if no term does.
    ///
    /// # Errors
    /// If an offset or the size of a term is out of range.
    pub fn last_term(&self, term: &mut Vec<u8>) -> Result<(), Damage> {
        term.clear();
        for (number, start) in self.terms().enumerate() {
            let mut numbers = Numbers::new(self.id, &self.block[..self.end], start?);
            let shared = if number == 0 { 0 } else { numbers.at_most(term.len() as u64)? as usize };
            let bytes = numbers.at_most(self.end as u64)? as usize;
            let new = self.block[..self.end].get(numbers.at..numbers.at + bytes);
            term.truncate(shared);
            term.extend_from_slice(new.ok_or(numbers.damage(Fault::Short))?);
        }
        Ok(())
    }

    /// Returns the offsets of the terms, in order.
    pub fn terms(&self) -> impl Iterator<Item = Result<usize, Damage>> + use<'a> {
        let mut numbers = Numbers::new(self.id, self.block, self.end);
        let (end, mut term, mut is_first) = (self.end, 0, true);
        std::iter::from_fn(move || {
            if numbers.is_at_end() {
                return None;
            }
            let next = next_term(&mut numbers, term, std::mem::take(&mut is_first), end);
            match next {
                Ok(offset) => term = offset,
                Err(_) => numbers.at = usize::MAX,
            }
            Some(next)
        })
    }
}

/// Returns the offset of the term after the one at `before`, and steps to the next number of the footer.
pub(super) fn next_term(
    footer: &mut Numbers<'_>,
    before: usize,
    is_first: bool,
    end: usize,
) -> Result<usize, Damage> {
    let place = footer.damage(Fault::Range);
    let offset = before + footer.at_most(u16::MAX.into())? as usize;
    let least = if is_first { HEAD_BYTES } else { before + 1 };
    if (least..end).contains(&offset) { Ok(offset) } else { Err(place) }
}
