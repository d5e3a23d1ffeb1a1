//! The rows of an index, which SQLite reads.

use rusqlite::{OptionalExtension, Statement};
use sqluice_format::fts5::check::Rows;
use sqluice_format::fts5::read::Pages;

use super::TextCheck;
use crate::full_text::shadow::Blocks;

/// The rows of the index, which SQLite reads.
pub(super) struct ShadowRows<'c> {
    blocks: Blocks<'c>,
    first_key: Statement<'c>,
    next_key: Statement<'c>,
    ids: Statement<'c>,
}

impl<'c> ShadowRows<'c> {
    pub(super) fn new(check: &TextCheck<'c>) -> rusqlite::Result<ShadowRows<'c>> {
        let prepare = |sql: String| check.connection.prepare(&sql);
        let (data, idx) = (check.shadow("data"), check.shadow("idx"));
        Ok(ShadowRows {
            blocks: Blocks::new(check.connection, &data)?,
            first_key: prepare(format!(
                "SELECT term, pgno FROM {idx} WHERE segid = ?1 ORDER BY term LIMIT 1"
            ))?,
            next_key: prepare(format!(
                "SELECT term, pgno FROM {idx} WHERE segid = ?1 AND term > ?2 ORDER BY term LIMIT 1"
            ))?,
            ids: prepare(format!("SELECT id FROM {data}"))?,
        })
    }
}

impl Pages for ShadowRows<'_> {
    type Error = rusqlite::Error;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> rusqlite::Result<bool> {
        self.blocks.page(id, block)
    }
}

impl Rows for ShadowRows<'_> {
    fn next_split_key(&mut self, segment: u16, after: &mut Option<Vec<u8>>) -> rusqlite::Result<Option<i64>> {
        let segment = i64::from(segment);
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get_ref(0)?.as_bytes().unwrap_or_default().to_vec(), row.get(1)?))
        };
        let found = match &*after {
            None => self.first_key.query_row([segment], read),
            Some(key) => self.next_key.query_row((segment, key), read),
        };
        Ok(found.optional()?.map(|(key, page)| {
            *after = Some(key);
            page
        }))
    }

    fn ids(&mut self, each: &mut dyn FnMut(i64)) -> rusqlite::Result<()> {
        let mut rows = self.ids.query([])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?);
        }
        Ok(())
    }
}
