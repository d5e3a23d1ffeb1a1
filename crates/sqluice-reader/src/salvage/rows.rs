//! The rows of pages of a damaged file.

use sqluice_core::error::Result;
use sqluice_format::salvage::{Salvage, Types, read_types};
use sqluice_format::value::SerialType;
use sqluice_format::varint;
use sqluice_format::view::{CellView, PageView};

use super::chains::Chains;
use super::file::DamagedFile;

/// A sound row.
#[derive(Clone, Copy, Debug)]
pub struct SavedRow<'a> {
    /// The rowid; 0 on a page of an index.
    pub rowid: i64,
    /// The record. If its end is lost, and the reader does not need it, the fields that are needed.
    pub record: &'a [u8],
    /// The serial types of the record, as far as it is there.
    pub types: &'a [u64],
    /// `true` if the rowids of the page ascend up to this row and after it.
    pub in_order: bool,
    /// `true` if a part of the record is on other pages.
    pub overflows: bool,
    /// `true` if the parts on other pages may be of another row, or a part is beyond the end of the file, so that its bytes are zeros.
    pub is_doubtful: bool,
}

/// A reader of the rows of pages, with its buffers.
#[derive(Debug, Default)]
pub struct PageRows {
    page: Vec<u8>,
    salvage: Salvage,
    types: Types,
    payload: Vec<u8>,
    /// The number of leading fields that are needed of a row whose overflow pages are lost.
    needed_fields: Option<usize>,
}

impl PageRows {
    /// Creates a reader of the rows of a table. If overflow pages of a row are lost, this number of leading fields is enough: the others
    /// are computed again.
    pub fn needing(fields: usize) -> PageRows {
        PageRows { needed_fields: Some(fields), ..PageRows::default() }
    }

    /// Reads a page, and calls `each` with each of its sound rows. Returns the number of rows that are lost.
    ///
    /// # Errors
    /// When the file can't be read, and the errors of `each`.
    pub fn read(
        &mut self,
        file: &DamagedFile,
        chains: &Chains,
        number: u32,
        each: impl FnMut(SavedRow<'_>) -> Result<()>,
    ) -> Result<u64> {
        let mut page = std::mem::take(&mut self.page);
        page.resize(file.geometry().page_bytes(), 0);
        let read = file.read(number, &mut page);
        let lost = read.and_then(|()| self.read_from(file, chains, (number, &page), each));
        self.page = page;
        lost
    }

    /// Reads the rows of a whole leaf of a table none of whose rows overflows: calls `each` with the rowid and the record of each row.
    ///
    /// # Errors
    /// The errors of `each`. Rows of a page that is no such leaf are lost.
    pub fn read_whole(
        file: &DamagedFile,
        (number, page): (u32, &[u8]),
        mut each: impl FnMut(i64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(view) = PageView::new(page, number, file.geometry()) else { return Ok(()) };
        for entry in (0..view.cells()).filter_map(|index| view.entry(index)) {
            each(entry.rowid, &page[entry.local])?;
        }
        Ok(())
    }

    /// Reads the rows of a page in memory, as [`PageRows::read`].
    ///
    /// # Errors
    /// When the file can't be read, and the errors of `each`.
    pub fn read_from(
        &mut self,
        file: &DamagedFile,
        chains: &Chains,
        (number, page): (u32, &[u8]),
        mut each: impl FnMut(SavedRow<'_>) -> Result<()>,
    ) -> Result<u64> {
        let PageRows { salvage, types, payload, needed_fields, .. } = self;
        if salvage.read(page, number, file.geometry(), types).is_none() {
            return Ok(0);
        }
        let mut lost = salvage.lost as u64;
        for entry in &salvage.entries {
            let cell = &entry.cell;
            let mut record = &page[cell.local.clone()];
            let (mut is_doubtful, mut is_cut) = (file.is_cut_before(number, cell.local.end), false);
            if cell.overflow.is_some() {
                match chains.read(file, (number, entry.number, cell), record, payload)? {
                    Some(is_sure) => is_doubtful |= !is_sure,
                    None => {
                        let needed =
                            needed_fields.and_then(|fields| needed_bytes(record, cell, fields, types));
                        let is_enough = match needed {
                            Some(needed) => {
                                chains.read_start(file, (number, cell), (record, needed), payload)?
                            }
                            None => false,
                        };
                        if !is_enough {
                            lost += 1;
                            continue;
                        }
                        (is_doubtful, is_cut) = (true, true);
                    }
                }
                record = payload;
            }
            if let Some((at, byte)) = entry.mended {
                if cell.overflow.is_none() {
                    payload.clear();
                    payload.extend_from_slice(&page[cell.local.clone()]);
                }
                payload[at] = byte;
                record = payload;
            }
            let payload_bytes = if is_cut { cell.payload_bytes } else { record.len() };
            if read_types(record, payload_bytes, types) != Some(true) {
                lost += 1;
                continue;
            }
            if is_cut {
                types.truncate(needed_fields.unwrap_or(0));
            }
            each(SavedRow {
                rowid: cell.rowid,
                record,
                types,
                in_order: entry.in_order,
                overflows: cell.overflow.is_some(),
                is_doubtful,
            })?;
        }
        Ok(lost)
    }
}

/// Returns the number of bytes of a record up to the end of its first `fields` fields, if it has more fields, and its header is among the
/// bytes `start`.
fn needed_bytes(start: &[u8], cell: &CellView, fields: usize, types: &mut Types) -> Option<usize> {
    let is_read = read_types(start, cell.payload_bytes, types)?;
    if !is_read || types.len() <= fields {
        return None;
    }
    let (header, _) = varint::read(start)?;
    let of_fields = types[..fields].iter().map(|serial| SerialType(*serial).content_bytes().unwrap_or(0));
    Some((header + of_fields.sum::<u64>()) as usize)
}
