//! Fills, optimizes and extends the index of a full-text table through SQLite's connection.
//!
//! ```text
//!  rebuild    rows of the content ───────────────> one segment instead of all others
//!  optimize   all segments, side by side ────────> one segment
//!  append     new rows, segments of lower levels ─> the newest segment
//! ```
//!
//! SQLite inserts the rows of the shadow tables, which are a small part of the work, in the order of their keys.
//!
//! Invariant: the connection does not read the full-text table before these functions, as SQLite would keep its structure in memory. SQLite
//! reads the table again after another connection has committed, or after it was created in the same transaction.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::{failed, said};
use sqluice_format::fts5::read::{Level, SegmentSpan, Structure};
use sqluice_format::fts5::{SegmentWriter, averages, level_of, structure_of_none};

use super::declaration::{Content, Declaration};
use super::join::Joiner;
use super::query::{NotCollected, Query};
use super::ranges::{RangeMeans, merge_all};
use super::shadow::{NewSegment, Shadows, WrittenSegment};
use super::{Collected, Collector, WrittenTextIndex, segments};
use crate::options::WritePath;
use crate::sort::Spill;

/// The number of doclists between two reports of the progress.
const REPORTED: u64 = 4096;

/// The largest number of a segment that SQLite allots itself.
const SEGMENT_MAX: u16 = 2000;

/// The threads, the memory and the folder for work on an index.
#[derive(Clone)]
pub struct Means<'m> {
    /// The number of worker threads.
    pub workers: usize,
    /// The bytes of memory.
    pub memory_bytes: usize,
    /// The folder for temporary files.
    pub temp_dir: PathBuf,
    /// The cancellation.
    pub cancel: &'m Cancel,
    /// The progress.
    pub progress: &'m dyn Progress,
}

/// A full-text table whose index is written here.
pub struct TextTable<'t> {
    pub(super) declaration: &'t Declaration,
    pub(super) shadows: Shadows<'t>,
    pub(super) means: Means<'t>,
}

impl<'t> TextTable<'t> {
    /// Returns access to the table of a declaration, with the errors for a file without other users.
    pub fn new(connection: &'t Connection, declaration: &'t Declaration, means: Means<'t>) -> TextTable<'t> {
        let mut shadows = Shadows::new(connection, &declaration.name);
        shadows.has_content = declaration.content != Content::None;
        TextTable { declaration, shadows, means }
    }

    /// Sets the errors for failures of SQLite.
    pub(crate) fn with_errors(self, failed: impl Fn(rusqlite::Error, &str) -> Error + 't) -> TextTable<'t> {
        TextTable { shadows: self.shadows.with_errors(failed), ..self }
    }

    /// Makes the whole index again from the content. Returns `None`, and changes nothing, if the table has no content, or if only SQLite
    /// can do so, as two rows of a view have one rowid.
    ///
    /// # Errors
    /// If the content can't be read, or the index can't be written.
    pub fn rebuild(&self) -> Result<Option<WrittenTextIndex>> {
        let Some(sql) = self.declaration.content_query() else { return Ok(None) };
        self.fill(&sql)
    }

    /// Makes the whole index from the rows of a query: the rowid, and the indexed columns, in the order of rowids. Returns `None`, and changes
    /// nothing, if rowids do not ascend.
    ///
    /// # Errors
    /// As [`TextTable::rebuild`].
    pub fn fill(&self, sql: &str) -> Result<Option<WrittenTextIndex>> {
        let Declaration { name, index, has_tombstones, .. } = self.declaration;
        let Means { progress, cancel, .. } = self.means;
        let spill = Arc::new(Spill::new(self.means.temp_dir.clone()));
        let collector = self.collector(&spill);
        progress.phase(&format!("read texts of {name}"), None);
        if !self.collect_rows(sql, (i64::MIN, i64::MAX), &collector)? {
            return Ok(None);
        }
        let collected = self.sorted(collector)?;
        let cookie = self.shadows.cookie()?;
        self.shadows.clear(index.keeps_sizes)?;
        let written = self.write(1, true, &collected)?;
        self.shadows.insert_sizes(&collected, has_tombstones.then_some(1), || cancel.check())?;
        let totals = &collected.totals;
        let mut structure = Structure {
            cookie,
            has_tombstones: *has_tombstones,
            write_counter: written.leaves.into(),
            levels: Vec::new(),
        };
        let new = SegmentSpan {
            id: 1,
            first: 1,
            last: written.leaves,
            origins: (1, 1),
            rows: totals.rows,
            ..SegmentSpan::default()
        };
        let block = match written.leaves {
            0 => structure_of_none(cookie, *has_tombstones),
            leaves => {
                place(&mut structure, level_of(leaves) as usize, new);
                structure.to_block()
            }
        };
        // A table without rows has no averages.
        let averages = if totals.rows == 0 { Vec::new() } else { averages(totals.rows, &totals.tokens) };
        self.shadows.put(&averages, &block)?;
        Ok(Some(self.result(&collected, written)))
    }

    /// Merges all segments into one. Returns the number of merged segments, which is 0 if there was nothing to merge, and the new segment,
    /// whose rows and tokens are not counted.
    ///
    /// # Errors
    /// If the index is damaged, or can't be written.
    pub fn optimize(&self) -> Result<(usize, WrittenTextIndex)> {
        let structure = self.shadows.structure()?;
        let inputs: Vec<SegmentSpan> = structure.segments().map(|(_, segment)| *segment).collect();
        if inputs.len() < 2 && inputs.iter().all(|segment| segment.tombstone_pages == 0) {
            return Ok((0, WrittenTextIndex::default()));
        }
        let id = free_id(&structure)?;
        let written = self.write_merged(id, &structure)?;
        inputs.iter().try_for_each(|segment| self.shadows.remove(segment))?;
        let rest = Structure { levels: Vec::new(), ..structure };
        let new = merged(&inputs, None, (id, written.leaves));
        self.put_structure(rest, level_of(written.leaves) as usize, new)?;
        let WrittenSegment { leaves, terms, bytes } = written;
        Ok((inputs.len(), WrittenTextIndex { leaves, terms, bytes, ..WrittenTextIndex::default() }))
    }

    /// Writes a segment of all others, whose rows are in order already.
    fn write_merged(&self, id: u16, structure: &Structure) -> Result<WrittenSegment> {
        let Declaration { name, index, page_bytes, .. } = self.declaration;
        let Means { workers, memory_bytes, cancel, progress, .. } = self.means;
        progress.phase(&format!("merge {name}"), None);
        let writer = SegmentWriter::new(id, index.detail, *page_bytes);
        let mut segment = NewSegment::begin(&self.shadows, writer)?;
        let means = RangeMeans {
            detail: index.detail,
            page_bytes: *page_bytes,
            workers,
            memory_bytes,
            cancel,
            progress,
        };
        merge_all(&self.shadows, structure, &means, &mut segment)?;
        segment.finish()
    }

    /// Adds the rows of a query to the index: the rowid, and the indexed columns, in the order of rowids. `rowids` are the parameters of the
    /// query. Returns `None`, and changes nothing, if rowids do not ascend.
    ///
    /// # Errors
    /// If the rows can't be read, or the index is damaged or can't be written.
    pub fn append(&self, sql: &str, rowids: (i64, i64)) -> Result<Option<WrittenTextIndex>> {
        let Declaration { name, index, has_tombstones, .. } = self.declaration;
        let Means { progress, cancel, .. } = self.means;
        let mut structure = self.shadows.structure()?;
        let (rows_before, tokens_before) = self.shadows.averages(index.columns)?;
        let spill = Arc::new(Spill::new(self.means.temp_dir.clone()));
        let collector = self.collector(&spill);
        progress.phase(&format!("read texts of {name}"), None);
        if !self.collect_rows(sql, rowids, &collector)? {
            return Ok(None);
        }
        let totals = collector.totals();
        let (level, inputs) = self.inputs(&structure, self.estimated_leaves(totals.tokens.iter().sum()));
        progress.phase(&format!("read segments of {name}"), None);
        self.collect_segments(&inputs, &collector)?;
        let collected = self.sorted(collector)?;
        let id = free_id(&structure)?;
        for segment in &inputs {
            self.shadows.remove(segment)?;
        }
        let origin = 1 + structure.segments().map(|(_, segment)| segment.origins.1).max().unwrap_or(0);
        for level in structure.levels.iter_mut().take(level) {
            *level = Level::default();
        }
        let is_oldest = structure.segments().next().is_none();
        let written = self.write(id, is_oldest, &collected)?;
        self.shadows.insert_sizes(&collected, has_tombstones.then_some(origin), || cancel.check())?;
        let rows = rows_before + totals.rows;
        let tokens: Vec<u64> =
            tokens_before.iter().zip(&totals.tokens).map(|(before, new)| before + new).collect();
        let new = merged(&inputs, Some((origin, totals.rows)), (id, written.leaves));
        structure.write_counter += u64::from(written.leaves);
        if rows > 0 {
            self.shadows.put_averages(&averages(rows, &tokens))?;
        }
        self.put_structure(structure, level, new)?;
        Ok(Some(self.result(&collected, written)))
    }

    /// Writes the structure with a new segment, which is left out if it has no leaf.
    fn put_structure(&self, mut structure: Structure, level: usize, new: SegmentSpan) -> Result<()> {
        if new.last > 0 {
            place(&mut structure, level, new);
        }
        if structure.segments().next().is_none() {
            structure.levels.clear();
        }
        self.shadows.put_structure(&structure.to_block())
    }

    /// Returns the level for a new segment of about this number of leaves, and the segments to merge into it, the newest first.
    fn inputs(&self, structure: &Structure, leaves: u64) -> (usize, Vec<SegmentSpan>) {
        let mut level = least_level(leaves);
        let limit = self.declaration.segments_merged.unwrap_or(usize::MAX);
        // Lower levels are newer, and would hide new rows that have the rowids of deleted ones. So they are merged into the new segment.
        while structure.levels.get(level).is_some_and(|level| level.segments.len() + 1 >= limit) {
            level += 1;
        }
        let inputs = structure.segments().filter(|(number, _)| *number < level);
        (level, inputs.map(|(_, segment)| *segment).collect())
    }

    /// Estimates the number of leaves of the segment for new rows. The estimate depends on the rows alone.
    fn estimated_leaves(&self, tokens: u64) -> u64 {
        let indexes = 1 + self.declaration.index.prefixes.len() as u64;
        // An occurrence in a short text takes about 3 bytes, with its share of the entry.
        tokens * indexes * 3 / self.declaration.page_bytes as u64 + 1
    }

    fn collector<'c>(&'c self, spill: &Arc<Spill>) -> Collector<'c> {
        let Means { workers, memory_bytes, .. } = self.means;
        // A quarter is for batches of rows, and for pages of segments.
        Collector::new(&self.declaration.index, workers, memory_bytes / 4 * 3, spill)
    }

    fn collect_rows(&self, sql: &str, rowids: (i64, i64), collector: &Collector<'_>) -> Result<bool> {
        let Means { workers, memory_bytes, cancel, progress, .. } = self.means;
        let query =
            Query { connection: self.shadows.connection, sql, columns: &self.declaration.indexed(), rowids };
        match query.collect(&|| collector.worker(), (workers, memory_bytes / 4), (cancel, progress)) {
            Ok(()) => Ok(true),
            Err(NotCollected::Rowids) => Ok(false),
            Err(NotCollected::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::TooBig) => {
                Err(self.too_big(error))
            }
            Err(NotCollected::Sqlite(error)) => Err(self.shadows.cannot("read the texts of")(error)),
            Err(NotCollected::Failed(error)) => Err(error),
        }
    }

    /// Returns the error for a row that is too big for SQLite.
    fn too_big(&self, error: rusqlite::Error) -> Error {
        let Declaration { name, content, .. } = self.declaration;
        let row = match self.declaration.row_with(self.shadows.connection, ErrorCode::TooBig) {
            Some(rowid) => format!("the row with rowid {rowid}"),
            None => "a row".to_owned(),
        };
        let of = match content {
            Content::External { table, .. } => format!(" of {table}"),
            Content::Own | Content::None => String::new(),
        };
        Error::input(format!("{row}{of} is too big for the full-text index {name}"))
            .because(said(error))
            .hint("SQLite reads at most 1,000,000,000 bytes of a row: shorten its text, or leave the row out")
    }

    fn collect_segments(&self, inputs: &[SegmentSpan], collector: &Collector<'_>) -> Result<()> {
        let Means { workers, memory_bytes, cancel, progress, .. } = self.means;
        let means = (workers, memory_bytes / 4);
        segments::collect(&self.shadows, inputs, collector, means, (cancel, progress))
    }

    fn sorted(&self, collector: Collector<'_>) -> Result<Collected> {
        let Means { workers, memory_bytes, cancel, progress, .. } = self.means;
        progress.phase(&format!("sort {}", self.declaration.name), None);
        collector.sorted(workers, memory_bytes, cancel)
    }

    /// Writes the segment of all doclists.
    fn write(&self, id: u16, is_oldest: bool, collected: &Collected) -> Result<WrittenSegment> {
        let Declaration { name, index, page_bytes, .. } = self.declaration;
        let Means { cancel, progress, .. } = self.means;
        let total = Amount { rows: collected.doclists(), bytes: 0 };
        progress.phase(&format!("merge {name}"), Some(total));
        let writer = SegmentWriter::new(id, index.detail, *page_bytes);
        let mut segment = NewSegment::begin(&self.shadows, writer)?;
        let mut joiner = Joiner::new(index.detail, is_oldest);
        let mut doclists = 0;
        collected.each_doclist(|term, age, doclist| {
            joiner.push(term, age, doclist, &mut segment)?;
            doclists += 1;
            if doclists % REPORTED == 0 {
                cancel.check()?;
                progress.advance(Amount { rows: REPORTED, bytes: 0 });
            }
            Ok(())
        })?;
        joiner.finish(&mut segment)?;
        segment.finish()
    }

    fn result(&self, collected: &Collected, written: WrittenSegment) -> WrittenTextIndex {
        let WrittenSegment { leaves, terms, bytes } = written;
        let totals = &collected.totals;
        WrittenTextIndex { rows: totals.rows, tokens: totals.tokens.iter().sum(), terms, leaves, bytes }
    }
}

/// Makes the index of the full-text table `name` from its content, in a file without other users: on all cores, or by SQLite, if only SQLite
/// can. The rows of the content must be in place.
///
/// # Errors
/// If the content can't be read, or the index can't be written.
pub fn rebuild(connection: &Connection, name: &str, means: &Means<'_>) -> Result<WritePath> {
    let cannot = |error| failed(error, &format!("fill full-text table {name}"));
    let run = |sql: &str| connection.execute_batch(sql).map_err(cannot);
    if let Ok(declaration) = Declaration::of(connection, name).map_err(cannot)? {
        // Without a transaction, SQLite would commit after each inserted row.
        let is_begun = connection.is_autocommit();
        if is_begun {
            run("BEGIN")?;
        }
        let filled = TextTable::new(connection, &declaration, means.clone()).rebuild()?;
        if is_begun {
            run("COMMIT")?;
        }
        if filled.is_some() {
            return Ok(WritePath::Sorted);
        }
    }
    let quoted = quoted(name);
    run(&format!("INSERT INTO {quoted} ({quoted}) VALUES ('rebuild')"))?;
    Ok(WritePath::Sqlite)
}

/// Adds the newest segment of a level.
fn place(structure: &mut Structure, level: usize, new: SegmentSpan) {
    if structure.levels.len() <= level {
        structure.levels.resize(level + 1, Level::default());
    }
    structure.levels[level].segments.push(new);
}

/// Returns the level for the segment of an append: the one on which automatic merges would leave a segment of this size.
fn least_level(leaves: u64) -> usize {
    let mut level = 0;
    while level < 15 && leaves > 16 << (2 * level) {
        level += 1;
    }
    level
}

/// Returns the new segment. `inputs` are the merged segments, the newest first, and `new_rows` the origin and the number of rows that are
/// added.
fn merged(inputs: &[SegmentSpan], new_rows: Option<(u64, u64)>, (id, leaves): (u16, u32)) -> SegmentSpan {
    let (origin, rows) = new_rows.map_or((None, 0), |(origin, rows)| (Some(origin), rows));
    let oldest = inputs.last().map(|segment| segment.origins.0);
    let newest = inputs.first().map(|segment| segment.origins.1);
    let old_rows: u64 = inputs.iter().map(|segment| segment.rows.saturating_sub(segment.tombstones)).sum();
    SegmentSpan {
        id,
        first: 1,
        last: leaves,
        origins: (oldest.or(origin).unwrap_or(1), origin.or(newest).unwrap_or(1)),
        tombstone_pages: 0,
        tombstones: 0,
        rows: rows + old_rows,
    }
}

/// Returns the lowest number that no segment has.
fn free_id(structure: &Structure) -> Result<u16> {
    let mut used: Vec<u16> = structure.segments().map(|(_, segment)| segment.id).collect();
    used.sort_unstable();
    let mut free = 1;
    for id in used {
        free += u16::from(id == free);
    }
    if free <= SEGMENT_MAX { Ok(free) } else { Err(Error::target("a full-text table has too many segments")) }
}
