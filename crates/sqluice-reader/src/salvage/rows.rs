//! The rows of pages of a damaged file.

use sqluice_core::error::Result;
use sqluice_format::salvage::{Salvage, Types, read_types};

use super::chains::Chains;
use super::file::DamagedFile;

/// A sound row.
#[derive(Clone, Copy, Debug)]
pub struct SavedRow<'a> {
    /// The rowid; 0 on a page of an index.
    pub rowid: i64,
    /// The record.
    pub record: &'a [u8],
    /// The serial types of the record.
    pub types: &'a [u64],
    /// `true` if the rowids of the page ascend up to this row and after it.
    pub in_order: bool,
    /// `true` if a part of the record is on other pages.
    pub overflows: bool,
    /// `true` if the parts on other pages may be of another row.
    pub is_doubtful: bool,
}

/// A reader of the rows of pages, with its buffers.
#[derive(Debug, Default)]
pub struct PageRows {
    page: Vec<u8>,
    salvage: Salvage,
    types: Types,
    payload: Vec<u8>,
}

impl PageRows {
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
        let PageRows { salvage, types, payload, .. } = self;
        if salvage.read(page, number, file.geometry(), types).is_none() {
            return Ok(0);
        }
        let mut lost = salvage.lost as u64;
        for entry in &salvage.entries {
            let cell = &entry.cell;
            let mut record = &page[cell.local.clone()];
            let mut is_doubtful = false;
            if cell.overflow.is_some() {
                match chains.read(file, (number, entry.number, cell), record, payload)? {
                    Some(is_sure) => is_doubtful = !is_sure,
                    None => {
                        lost += 1;
                        continue;
                    }
                }
                record = payload;
            }
            if read_types(record, record.len(), types) != Some(true) {
                lost += 1;
                continue;
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
