//! The writer: chunks in any order in, pages in order out.

use std::collections::BTreeMap;

use crossbeam_channel::Receiver;
use sqluice_format::page::{self, Geometry, PageKind};
use sqluice_format::tree::{AppendPage, Child, TableTree};

use super::appender::Appender;
use super::{Message, PartId, Returns, Sealed, Written};
use crate::encode::{Conversions, LastRowid, RowidRange, null_among_numbers, out_of_order};
use crate::error::{Error, Place, Result};
use crate::output::Output;
use crate::progress::{Amount, Cancel, Progress};
use crate::reject::RejectFile;
use crate::schema::Table;
use crate::source::BadRow;

/// Bytes that are written at once, when there is so much.
const WRITE_BYTES: usize = 32 << 20;

/// Puts what the workers make in order.
pub(super) struct Writer<'a> {
    tables: &'a [(&'a Table, Conversions)],
    output: &'a mut dyn Output,
    rejects: Option<&'a mut RejectFile>,
    progress: &'a dyn Progress,
    pub(super) appender: Appender,
    /// Finished tables.
    pub(super) written: Vec<Written>,
    tree: TableTree,
    current: Written,
    last_rowid: Option<LastRowid>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        tables: &'a [(&'a Table, Conversions)],
        geometry: Geometry,
        output: &'a mut dyn Output,
        rejects: Option<&'a mut RejectFile>,
        progress: &'a dyn Progress,
    ) -> Writer<'a> {
        Writer {
            tables,
            output,
            rejects,
            progress,
            appender: Appender::new(geometry),
            written: Vec::new(),
            tree: TableTree::new(geometry),
            current: Written::default(),
            last_rowid: None,
        }
    }

    pub(super) fn write_all(
        &mut self,
        from_workers: &Receiver<(PartId, u64, Message)>,
        returns: &[Returns],
        cancel: &Cancel,
    ) -> Result<()> {
        let mut early = BTreeMap::new();
        let mut turn = (0, 0);
        // Wait for one message, then take all that are there: so much can be written at once.
        while let Ok(message) = from_workers.recv() {
            cancel.check()?;
            for (id, sequence, message) in std::iter::once(message).chain(from_workers.try_iter()) {
                early.insert((id.part, sequence), (id.table, message));
            }
            while let Some((table, message)) = early.remove(&turn) {
                while self.written.len() < table {
                    self.finish_table()?;
                }
                match message {
                    Message::Pages(sealed) => {
                        self.append(sealed)?;
                        turn.1 += 1;
                    }
                    Message::BadRows { worker, rows } => {
                        for bad in &rows {
                            self.reject(bad)?;
                        }
                        let _ = returns[worker].bad_rows.send(());
                        turn.1 += 1;
                    }
                    Message::End { worker, input_bytes, place, rowids } => {
                        self.check_order(rowids, place)?;
                        self.progress.advance(Amount { rows: 0, bytes: input_bytes });
                        // A worker that has no more parts may be gone; so below.
                        let _ = returns[worker].parts.send(());
                        turn = (turn.0 + 1, 0);
                    }
                    Message::Failed { error, place, rowids } => {
                        // Rows that are out of order come before what else is wrong.
                        self.check_order(rowids, place)?;
                        return Err(error);
                    }
                }
                if self.appender.waiting_bytes() >= WRITE_BYTES {
                    self.flush(returns)?;
                }
            }
            self.flush(returns)?;
        }
        while self.written.len() < self.tables.len() {
            self.finish_table()?;
        }
        Ok(())
    }

    fn append(&mut self, sealed: Sealed) -> Result<()> {
        let geometry = self.appender.geometry();
        let (pages, rows) = (sealed.chunk.page_count(), sealed.chunk.rows());
        let leaves = sealed.chunk.leaves().to_vec();
        let first = self.appender.append_chunk(sealed)?;
        for leaf in &leaves {
            let page = geometry.nth_page(first, leaf.page);
            self.tree.add_leaf(Child { page, last_rowid: leaf.last_rowid }, &mut self.appender);
        }
        self.current.rows += rows;
        self.current.leaf_pages += leaves.len() as u64;
        self.current.overflow_pages += u64::from(pages) - leaves.len() as u64;
        Ok(())
    }

    /// Writes what waits, and gives the workers their chunks back.
    fn flush(&mut self, returns: &[Returns]) -> Result<()> {
        let progress = self.progress;
        self.appender.flush(self.output, |Sealed { worker, mut chunk, mut hashes }| {
            progress.advance(Amount { rows: chunk.rows(), bytes: 0 });
            chunk.clear();
            hashes.clear();
            let _ = returns[worker].chunks.send((chunk, hashes));
        })
    }

    fn reject(&mut self, bad: &BadRow) -> Result<()> {
        self.current.rejected += 1;
        self.progress.advance(Amount { rows: 1, bytes: 0 });
        match &mut self.rejects {
            Some(rejects) => rejects.add(bad),
            None => unreachable!("a worker keeps bad rows when there is a file for them"),
        }
    }

    /// The rows of a part must come after those of the part before.
    fn check_order(&mut self, rowids: Option<RowidRange>, place: Option<Place>) -> Result<()> {
        let Some(RowidRange { first, last, first_assumed }) = rowids else { return Ok(()) };
        let wrong = |error: Error| match place {
            Some(place) => Err(error.at(place)),
            None => Err(error),
        };
        let (table, _) = self.tables[self.written.len()];
        let name = table.rowid_alias.map_or("rowid", |alias| &table.columns[alias].name);
        match self.last_rowid {
            Some(before) if first_assumed && !before.counted => return wrong(null_among_numbers(name)),
            Some(before) if before.rowid >= first => {
                return wrong(out_of_order(name, before.rowid, first));
            }
            _ => self.last_rowid = Some(last),
        }
        Ok(())
    }

    fn finish_table(&mut self) -> Result<()> {
        let geometry = self.appender.geometry();
        if self.current.leaf_pages == 0 {
            let mut empty = vec![0; geometry.page_bytes()];
            page::write_header(&mut empty, PageKind::LeafTable, 0, geometry.usable_bytes());
            self.current.leaf_pages = 1;
            self.current.root_page = self.appender.append_page(&empty);
        } else {
            let tree = std::mem::replace(&mut self.tree, TableTree::new(geometry));
            self.current.root_page = tree.finish(&mut self.appender);
        }
        self.current.interior_pages = self.appender.take_appended() - u64::from(self.current.rows == 0);
        self.written.push(std::mem::take(&mut self.current));
        self.last_rowid = None;
        self.appender.check()
    }
}
