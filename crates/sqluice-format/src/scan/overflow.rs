//! Assembles records from a cell and its overflow pages ([§1.7](https://www.sqlite.org/fileformat2.html#ovflpgs)).

use super::{Damage, ScanError, Tree};
use crate::cell::{self, PAGE_NUMBER_BYTES};
use crate::check::ReadPage;
use crate::value::SerialType;
use crate::varint;

/// A payload that overflows.
pub(super) struct Overflowing<'a> {
    /// The page of the cell.
    pub(super) page: u32,
    pub(super) local: &'a [u8],
    /// The size of the whole payload.
    pub(super) payload_bytes: usize,
    /// The first overflow page of the payload.
    pub(super) first: u32,
}

impl Overflowing<'_> {
    /// Assembles a record, at least its header and first `fields` fields. Calls `take_page` before each page is read.
    pub(super) fn assemble<P: ReadPage>(
        &self,
        pages: &mut P,
        (tree, fields): (&Tree, usize),
        (record, overflow_page): (&mut Vec<u8>, &mut Vec<u8>),
        mut take_page: impl FnMut(u32) -> Result<(), Damage>,
    ) -> Result<(), ScanError<P::Error>> {
        let room = cell::overflow_page_payload(tree.geometry);
        let broken = |page| Damage { page, what: "an overflow chain breaks off" };
        record.clear();
        record.extend_from_slice(self.local);
        let (mut parent, mut next) = (self.page, self.first);
        while record.len() < wanted_bytes(record, self.payload_bytes, fields) {
            if next < 2 || !tree.may_have(next) {
                return Err(broken(parent).into());
            }
            take_page(next)?;
            overflow_page.resize(tree.geometry.page_bytes(), 0);
            pages.read_page(next, overflow_page).map_err(ScanError::Stopped)?;
            let (head, rest) = overflow_page.split_at(PAGE_NUMBER_BYTES);
            let bytes = room.min(self.payload_bytes - record.len());
            record.extend_from_slice(&rest[..bytes]);
            parent = next;
            next = head.first_chunk().copied().map_or(0, u32::from_be_bytes);
        }
        // The chain of a record that is read in part is not followed to its end.
        if record.len() == self.payload_bytes && next != 0 {
            return Err(Damage { page: parent, what: "an overflow chain goes on after its end" }.into());
        }
        Ok(())
    }
}

/// Returns the number of bytes of a record's header and its first `fields` fields, as far as its `start` shows. The result is at most
/// `payload_bytes`.
fn wanted_bytes(start: &[u8], payload_bytes: usize, fields: usize) -> usize {
    if fields == usize::MAX {
        return payload_bytes;
    }
    let Some((header, mut at)) = varint::read(start) else { return payload_bytes.min(varint::BYTES_MAX) };
    let header = usize::try_from(header).unwrap_or(usize::MAX).min(payload_bytes);
    let Some(types) = start.get(..header) else { return header };
    let mut end = header as u64;
    for _ in 0..fields {
        let Some((serial, n)) = types.get(at..).and_then(varint::read) else { break };
        at += n;
        end = end.saturating_add(SerialType(serial).content_bytes().unwrap_or(0));
    }
    usize::try_from(end).unwrap_or(usize::MAX).min(payload_bytes)
}
