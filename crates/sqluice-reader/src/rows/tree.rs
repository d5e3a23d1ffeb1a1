//! A source of the rows of a table, which decodes them from the pages of the table. Any thread can decode any part.

use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::batch::describe;
use sqluice_core::error::{DamagedTree, Error, Place, Result};
use sqluice_core::progress::{Amount, Cancel, Silent};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::{Part, Sink, Source};
use sqluice_format::record;
use sqluice_format::scan::{Kind, Leaf, Reader, Scan, Tree, Visit};

use super::cells::{self, Block};
use super::layout::{BadRecord, Layout};
use crate::pages::DAMAGED_HINT;
use crate::snapshot::Snapshot;

/// A table that is read page by page.
#[derive(Debug)]
pub(super) struct TreeRows {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) table: String,
    /// The names of the columns, for messages.
    pub(super) columns: Vec<String>,
    pub(super) tree: Tree,
    pub(super) layout: Layout,
    /// The share of the pages that is read: its index, and the number of shares.
    pub(super) part: (u32, u32),
    /// `true` if errors show the key of their row.
    pub(super) shows_keys: bool,
    /// The number of the record's leading columns that are the PRIMARY KEY of a WITHOUT ROWID table.
    pub(super) key_columns: usize,
}

/// The state of a source that all of its parts share.
struct Shared {
    rows: Arc<TreeRows>,
    scan: Scan,
    part_bytes: usize,
    cancel: Cancel,
    spare: Mutex<Vec<(Reader, Block)>>,
}

/// A source of the parts.
pub(super) struct TreeSource {
    shared: Arc<Shared>,
    next: usize,
    end: usize,
    counter: Option<Counter>,
    rows_done: u64,
    rows_end: u64,
}

/// A reader that counts the rows of parts before they are decoded.
struct Counter {
    scan: Scan,
    reader: Reader,
}

impl TreeRows {
    fn scan(&self, part_bytes: usize, cancel: &Cancel) -> Result<Scan> {
        let view = self.snapshot.view(&Silent, cancel);
        let mut pages = view.pages();
        let mut scan = Scan::in_parts_of(&mut pages, self.tree, part_bytes);
        if self.part.1 > 1 {
            scan = scan.and_then(|scan| scan.with_parts(&mut pages, self.part.1 as usize));
        }
        Ok(scan.map_err(|error| view.failed_in(self.damaged(), error))?.with_fields(self.layout.fields()))
    }

    /// Adds the name of a row to an error, and the name of a column if it is known.
    fn located(&self, row: &str, column: Option<usize>, error: Error) -> Error {
        let column = column.map_or(String::new(), |column| format!(", column {}", self.columns[column]));
        error.with_words(format!(" ({row}{column})"))
    }

    fn damaged(&self) -> DamagedTree {
        let (name, table) = (self.table.clone(), self.table.clone());
        DamagedTree { is_index: false, name, table, is_content: false }
    }

    /// Returns a name for a row of a part, for messages.
    fn describe(&self, part: usize, row: usize, part_bytes: usize) -> String {
        if !self.shows_keys {
            return format!("table {}", self.table);
        }
        let mut left = row;
        let mut found = String::new();
        let each = |rowid: i64, record: &[u8]| {
            if left == 0 {
                found = self.describe_key(rowid, record);
                return Err(Error::interrupted());
            }
            left -= 1;
            Ok(())
        };
        let cancel = Cancel::new();
        if let Ok(scan) = self.scan(part_bytes, &cancel) {
            // The scan reads complete records, since the key may be anywhere in them.
            let scan = scan.with_fields(usize::MAX);
            let mut pages = self.snapshot.view(&Silent, &cancel).pages();
            // `each` ends the scan with an error when it has found the row.
            let _ = scan.read(part, &mut pages, &mut Reader::default(), each);
        }
        format!("table {}, {found}", self.table)
    }

    fn describe_key(&self, rowid: i64, record: &[u8]) -> String {
        match self.tree.kind {
            Kind::Table => format!("rowid {rowid}"),
            Kind::Index => {
                let values = record::decode(record).unwrap_or_default();
                let key: Vec<String> = values.iter().take(self.key_columns).map(describe).collect();
                format!("key {}", key.join(", "))
            }
        }
    }
}

impl TreeSource {
    /// Creates a source of all rows of the share [`TreeRows::part`], or of its first `limit` rows. If `counted` is `true`, each part knows
    /// the number of its first row. With `counted` or a limit, the rows of each part are counted before they are decoded, so the tree is
    /// read twice.
    pub(super) fn new(
        rows: &Arc<TreeRows>,
        part_bytes: usize,
        limit: Option<u64>,
        counted: bool,
        cancel: &Cancel,
    ) -> Result<TreeSource> {
        let scan = rows.scan(part_bytes, cancel)?;
        let counter = match counted || limit.is_some() {
            true => Some(Counter { scan: rows.scan(part_bytes, cancel)?, reader: Reader::default() }),
            false => None,
        };
        // Adjacent shares have a cut in common, so all shares together are all parts.
        let (part, parts) = rows.part;
        let cut = |part: u32| (scan.parts() as u64 * u64::from(part) / u64::from(parts)) as usize;
        let (next, end) = (cut(part), cut(part + 1));
        let rows = Arc::clone(rows);
        let shared = Shared { rows, scan, part_bytes, cancel: cancel.clone(), spare: Mutex::default() };
        Ok(TreeSource {
            shared: Arc::new(shared),
            next,
            end,
            counter,
            rows_done: 0,
            rows_end: limit.unwrap_or(u64::MAX),
        })
    }

    /// Numbers the rows from `rows.start` on. The source ends before the row with the number `rows.end`.
    pub(super) fn numbered(mut self, rows: std::ops::Range<u64>) -> TreeSource {
        (self.rows_done, self.rows_end) = (rows.start, rows.end);
        self
    }
}

impl Source for TreeSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Shared { rows, cancel, .. } = &*self.shared;
        if self.next >= self.end || self.rows_done >= self.rows_end {
            return Ok(None);
        }
        let part = self.next;
        let (first_row, rows_max) = (self.rows_done, self.rows_end - self.rows_done);
        if let Some(Counter { scan, reader }) = &mut self.counter {
            let view = rows.snapshot.view(&Silent, cancel);
            let mut number = 0;
            let counted = scan.visit(part, &mut view.pages(), reader, Count(&mut number));
            counted.map_err(|error| view.failed_in(rows.damaged(), error))?;
            self.rows_done += number.min(rows_max);
        }
        self.next += 1;
        Ok(Some(Box::new(TreePart { shared: Arc::clone(&self.shared), part, first_row, rows_max })))
    }

    fn total(&self) -> Option<Amount> {
        Some(Amount { rows: 0, bytes: self.shared.bytes_of_part() * (self.end - self.next) as u64 })
    }
}

impl Counted for TreeSource {
    fn rows_done(&self) -> u64 {
        self.rows_done
    }
}

/// A visitor that counts the entries of a tree.
struct Count<'n>(&'n mut u64);

impl Visit<Error> for Count<'_> {
    const TAKES_LEAVES: bool = true;

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool> {
        *self.0 += leaf.entries() as u64;
        Ok(true)
    }

    fn entry(&mut self, _: i64, _: &[u8], _: bool) -> Result<()> {
        *self.0 += 1;
        Ok(())
    }
}

impl Shared {
    /// Returns the approximate size of a part in bytes.
    fn bytes_of_part(&self) -> u64 {
        (self.part_bytes as u64).min(self.rows.snapshot.bytes() / self.scan.parts() as u64)
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<(Reader, Block)>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct TreePart {
    shared: Arc<Shared>,
    part: usize,
    first_row: u64,
    rows_max: u64,
}

/// The reason why a part is not read any further.
enum Stop {
    /// The wanted number of rows has been read.
    Enough,
    /// An error in a row of the part, with the column if it is known.
    Row(usize, Option<usize>, Error),
    /// An error of the sink, or of reading the pages.
    Error(Error),
}

/// A part while it is read.
struct PartRun<'r> {
    rows: &'r TreeRows,
    /// The index of the part, and the approximate size of a part in bytes.
    part: usize,
    part_bytes: usize,
    layout: &'r Layout,
    block: &'r mut Block,
    sink: &'r mut dyn Sink,
    /// The number of rows that the sink has taken.
    taken: usize,
    rows_max: u64,
}

impl PartRun<'_> {
    #[inline]
    fn take(&mut self, rowid: i64, record: &[u8]) -> Result<(), Stop> {
        if (self.taken + self.block.rows) as u64 == self.rows_max {
            return Err(Stop::Enough);
        }
        if let Err(BadRecord) = self.layout.push(rowid, record, self.block) {
            let row = self.taken + self.block.rows;
            let error = Error::input("the record is damaged").hint(DAMAGED_HINT);
            return Err(Stop::Row(row, None, error.damaged(self.rows.damaged())));
        }
        if self.rows.tree.kind == Kind::Table {
            self.block.rowids.push(rowid);
        }
        if self.block.is_full() { self.give() } else { Ok(()) }
    }

    /// Gives the rows of the block to the sink.
    fn give(&mut self) -> Result<(), Stop> {
        if self.block.rows == 0 {
            return Ok(());
        }
        let PartRun { rows, layout, block, sink, taken, part, part_bytes, .. } = self;
        let mut locate = |block: &Block, row: usize, column, error: Error| {
            let row = match block.rowids.get(row) {
                Some(rowid) if rows.shows_keys => format!("table {}, rowid {rowid}", rows.table),
                _ => rows.describe(*part, *taken + row, *part_bytes),
            };
            // The file of bad rows names the database of each row.
            rows.located(&row, Some(column), error).at(Place::file(rows.snapshot.name()))
        };
        block.give(*sink, layout.keeps_bytes(), &mut locate).map_err(|stop| match stop {
            cells::Stop::Row(row, column, error) => Stop::Row(*taken + row, column, error),
            cells::Stop::Error(error) => Stop::Error(error),
        })?;
        *taken += block.rows;
        block.clear();
        Ok(())
    }
}

impl Part for TreePart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.shared.bytes_of_part()
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Shared { rows, scan, cancel, part_bytes, .. } = &*self.shared;
        let spare = self.shared.spare().pop();
        let (mut reader, mut block) =
            spare.unwrap_or_else(|| (Reader::default(), Block::new(rows.columns.len())));
        block.clear();
        let view = rows.snapshot.view(&Silent, cancel);
        let mut run = PartRun {
            rows,
            part: self.part,
            part_bytes: *part_bytes,
            layout: &rows.layout,
            block: &mut block,
            sink,
            taken: 0,
            rows_max: self.rows_max,
        };
        let mut stop = None;
        let read = scan.read(self.part, &mut view.pages(), &mut reader, |rowid, record| {
            run.take(rowid, record).map_err(|why| {
                stop = Some(why);
                Error::interrupted()
            })
        });
        let stop = match (stop, read) {
            (Some(Stop::Enough), _) | (None, Ok(())) => run.give().err(),
            (None, Err(error)) => Some(Stop::Error(view.failed_in(rows.damaged(), error))),
            (stop, _) => stop,
        };
        self.shared.spare().push((reader, block));
        match stop {
            None | Some(Stop::Enough) => Ok(()),
            Some(Stop::Error(error)) => Err(error),
            Some(Stop::Row(row, column, error)) => {
                let row = rows.describe(self.part, row, *part_bytes);
                Err(rows.located(&row, column, error))
            }
        }
    }
}
