//! The shadow tables of a full-text table, which SQLite reads and writes.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Statement};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::failed;
use sqluice_format::fts5::read::{
    Damage, Fault, Pages, ReadError, SegmentSpan, Structure, Tombstones, parse_averages,
};
use sqluice_format::fts5::{AVERAGES_ID, Doclist, STRUCTURE_ID, SegmentError, SegmentRows, SegmentWriter};

use super::Collected;
use super::join::Joined;

/// The number of rows of sizes between two checks for cancellation.
const CHECKED: u64 = 4096;

/// The number of the bits of a page number in an `id` of `t_data`, with the bits of doclist indexes.
const SEGMENT_SHIFT: u32 = 37;

/// The number of the bits of an `id` up to the mark of tombstones.
const TOMBSTONE_SHIFT: u32 = 53;

/// The shadow tables of a full-text table.
pub(crate) struct Shadows<'c> {
    pub(super) connection: &'c Connection,
    /// The name of the full-text table.
    pub(super) name: String,
    /// `true` if the index can be made again from texts.
    pub(super) has_content: bool,
    failed: Box<Failed<'c>>,
}

/// A function that returns the error for a failure of SQLite to do something, such as `write to`.
pub(crate) type Failed<'c> = dyn Fn(rusqlite::Error, &str) -> Error + 'c;

/// A statement that reads rows of `t_data`.
pub(super) struct Blocks<'c>(Statement<'c>);

impl<'c> Blocks<'c> {
    /// Creates a reader. `data` is the quoted name of the table.
    pub(super) fn new(connection: &'c Connection, data: &str) -> rusqlite::Result<Blocks<'c>> {
        connection.prepare(&format!("SELECT block FROM {data} WHERE id = ?1")).map(Blocks)
    }
}

impl Pages for Blocks<'_> {
    type Error = rusqlite::Error;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> rusqlite::Result<bool> {
        block.clear();
        let found = self.0.query_row([id], |row| {
            block.extend_from_slice(row.get_ref(0)?.as_bytes().unwrap_or_default());
            Ok(())
        });
        Ok(found.optional()?.is_some())
    }
}

impl<'c> Shadows<'c> {
    /// Returns access to the shadow tables of a full-text table, with the errors for a file without other users.
    pub(crate) fn new(connection: &'c Connection, name: &str) -> Shadows<'c> {
        let table = format!("full-text table {name}");
        let failed = move |error, what: &str| failed(error, &format!("{what} {table}"));
        Shadows { connection, name: name.to_owned(), has_content: true, failed: Box::new(failed) }
    }

    /// Sets the errors for failures of SQLite.
    pub(crate) fn with_errors(self, failed: impl Fn(rusqlite::Error, &str) -> Error + 'c) -> Shadows<'c> {
        Shadows { failed: Box::new(failed), ..self }
    }

    /// Returns the quoted name of a shadow table.
    pub(crate) fn table(&self, suffix: &str) -> String {
        format!("main.{}", quoted(&format!("{}_{suffix}", self.name)))
    }

    /// Returns the error for a failure of SQLite.
    pub(super) fn cannot(&self, what: &'static str) -> impl Fn(rusqlite::Error) -> Error + use<'_, 'c> {
        move |error| (self.failed)(error, what)
    }

    /// Returns the error for a fault of the index.
    pub(super) fn damaged(&self, damage: Damage) -> Error {
        damaged((&self.name, self.has_content), damage)
    }

    fn block(&self, id: i64) -> Result<Option<Vec<u8>>> {
        let sql = format!("SELECT block FROM {} WHERE id = ?1", self.table("data"));
        let block = self.connection.query_row(&sql, [id], |row| row.get(0)).optional();
        block.map_err(self.cannot("read"))
    }

    /// Returns the reader of rows of `t_data`.
    pub(super) fn blocks(&self) -> Result<Blocks<'c>> {
        Blocks::new(self.connection, &self.table("data")).map_err(self.cannot("read"))
    }

    /// Returns the first bytes of the structure, which SQLite changes with the options of the table; 0 without a structure.
    pub(crate) fn cookie(&self) -> Result<[u8; 4]> {
        let block = self.block(STRUCTURE_ID)?.unwrap_or_default();
        Ok(block.first_chunk().copied().unwrap_or_default())
    }

    /// Returns the structure.
    ///
    /// # Errors
    /// If the structure can't be read, is missing or is damaged.
    pub(super) fn structure(&self) -> Result<Structure> {
        let missing = Damage { row: STRUCTURE_ID, offset: 0, fault: Fault::Missing };
        let block = self.block(STRUCTURE_ID)?.ok_or_else(|| self.damaged(missing))?;
        Structure::parse(&block).map_err(|damage| self.damaged(damage))
    }

    /// Returns the number of rows, and the total of tokens of each column.
    ///
    /// # Errors
    /// If the averages can't be read, or are damaged.
    pub(super) fn averages(&self, columns: usize) -> Result<(u64, Vec<u64>)> {
        let block = self.block(AVERAGES_ID)?.unwrap_or_default();
        parse_averages(&block, columns).map_err(|damage| self.damaged(damage))
    }

    /// Returns the options that are stored as numbers.
    pub(super) fn config(&self) -> rusqlite::Result<HashMap<String, i64>> {
        let sql = format!("SELECT k, v FROM {} WHERE typeof(v) = 'integer'", self.table("config"));
        let mut query = self.connection.prepare(&sql)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// Reads the tombstones of a segment.
    ///
    /// # Errors
    /// If the tombstones can't be read, or are damaged.
    pub(super) fn tombstones(&self, segment: &SegmentSpan) -> Result<Tombstones> {
        if segment.tombstone_pages == 0 {
            return Ok(Tombstones::default());
        }
        Tombstones::read(segment, &mut self.blocks()?).map_err(|error| match error {
            ReadError::Stopped(error) => self.cannot("read")(error),
            ReadError::Damaged(damage) => self.damaged(damage),
        })
    }

    /// Calls `each` with the number, the `id` and the block of each leaf of a segment.
    ///
    /// # Errors
    /// The error of `each`, or if a leaf can't be read or is missing.
    pub(super) fn each_leaf(
        &self,
        segment: &SegmentSpan,
        mut each: impl FnMut(u32, i64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let id = |page: u32| i64::from(segment.id) << SEGMENT_SHIFT | i64::from(page);
        let sql =
            format!("SELECT id, block FROM {} WHERE id BETWEEN ?1 AND ?2 ORDER BY id", self.table("data"));
        let mut query = self.connection.prepare(&sql).map_err(self.cannot("read"))?;
        let mut rows = query.query([id(segment.first), id(segment.last)]).map_err(self.cannot("read"))?;
        for page in segment.first..=segment.last {
            let missing = || self.damaged(Damage { row: id(page), offset: 0, fault: Fault::Missing });
            let row = rows.next().map_err(self.cannot("read"))?.ok_or_else(missing)?;
            let found: i64 = row.get(0).map_err(self.cannot("read"))?;
            if found != id(page) {
                return Err(missing());
            }
            each(page, found, row.get_ref(1).map_err(self.cannot("read"))?.as_bytes().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Removes the rows of a segment.
    pub(super) fn remove(&self, segment: &SegmentSpan) -> Result<()> {
        let run = |sql: String, (first, last): (i64, i64)| {
            self.connection.execute(&sql, [first, last]).map(drop).map_err(self.cannot("write to"))
        };
        let of_data = format!("DELETE FROM {} WHERE id BETWEEN ?1 AND ?2", self.table("data"));
        let start = i64::from(segment.id) << SEGMENT_SHIFT;
        let end = start + (1 << SEGMENT_SHIFT) - 1;
        run(of_data.clone(), (start, end))?;
        if segment.tombstone_pages > 0 {
            run(of_data, (start + (1 << TOMBSTONE_SHIFT), end + (1 << TOMBSTONE_SHIFT)))?;
        }
        let id = i64::from(segment.id);
        run(format!("DELETE FROM {} WHERE segid BETWEEN ?1 AND ?2", self.table("idx")), (id, id))
    }

    /// Removes all rows of the index, also those of no segment, and the sizes of rows.
    pub(super) fn clear(&self, keeps_sizes: bool) -> Result<()> {
        let tables = ["data", "idx", "docsize"];
        for table in &tables[..if keeps_sizes { 3 } else { 2 }] {
            let sql = format!("DELETE FROM {}", self.table(table));
            self.connection.execute_batch(&sql).map_err(self.cannot("write to"))?;
        }
        Ok(())
    }

    /// Writes the averages and the structure.
    pub(crate) fn put(&self, averages: &[u8], structure: &[u8]) -> Result<()> {
        self.put_averages(averages)?;
        self.put_structure(structure)
    }

    /// Writes the averages.
    pub(super) fn put_averages(&self, block: &[u8]) -> Result<()> {
        self.put_block(AVERAGES_ID, block)
    }

    /// Writes the structure.
    pub(super) fn put_structure(&self, block: &[u8]) -> Result<()> {
        self.put_block(STRUCTURE_ID, block)
    }

    fn put_block(&self, id: i64, block: &[u8]) -> Result<()> {
        let sql = format!("REPLACE INTO {}(id, block) VALUES (?1, ?2)", self.table("data"));
        self.connection.execute(&sql, (id, block)).map(drop).map_err(self.cannot("write to"))
    }

    /// Inserts the sizes of rows, with the origin of the rows if the table keeps it. `check` is called now and then.
    pub(crate) fn insert_sizes(
        &self,
        collected: &Collected,
        origin: Option<u64>,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let (columns, values) =
            if origin.is_some() { ("id, sz, origin", "?1, ?2, ?3") } else { ("id, sz", "?1, ?2") };
        let sql = format!("INSERT INTO {}({columns}) VALUES ({values})", self.table("docsize"));
        let mut insert = None;
        let mut count = 0_u64;
        collected.each_size(|rowid, size| {
            let insert = match &mut insert {
                Some(insert) => insert,
                none => none.insert(self.connection.prepare(&sql).map_err(self.cannot("write to"))?),
            };
            count += 1;
            if count.is_multiple_of(CHECKED) {
                check()?;
            }
            let inserted = match origin {
                Some(origin) => insert.execute((rowid, size, origin as i64)),
                None => insert.execute((rowid, size)),
            };
            inserted.map(drop).map_err(self.cannot("write to"))
        })
    }
}

/// Returns the error for a fault of the index of the full-text table `name`, which may have no content.
pub(super) fn damaged((name, has_content): (&str, bool), damage: Damage) -> Error {
    let error = Error::target(format!("full-text table {name} is damaged: {name}_data, {damage}"));
    match has_content {
        true => error.hint(message!["make the index again from its texts: ", Setting::FtsRebuild.to(name)]),
        false => error.hint(NO_TEXTS),
    }
}

/// The hint for a damaged index that can't be made again.
const NO_TEXTS: &str =
    "the table keeps no texts: drop it, make it again, and insert its rows from their source";

/// The rows of a new segment, on their way to SQLite.
struct ShadowRows<'c> {
    data: Statement<'c>,
    idx: Statement<'c>,
    bytes: u64,
}

impl SegmentRows for ShadowRows<'_> {
    type Error = rusqlite::Error;

    fn leaf(&mut self, id: i64, block: &[u8]) -> rusqlite::Result<()> {
        self.bytes += block.len() as u64;
        self.data.execute((id, block)).map(drop)
    }

    fn split_key(&mut self, segment: u16, key: &[u8], page: i64) -> rusqlite::Result<()> {
        self.idx.execute((i64::from(segment), key, page)).map(drop)
    }
}

/// A segment that is being written to the shadow tables.
pub(crate) struct NewSegment<'s, 'c> {
    shadows: &'s Shadows<'c>,
    writer: SegmentWriter,
    rows: ShadowRows<'s>,
    last_term: Vec<u8>,
    terms: u64,
}

/// A segment that was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrittenSegment {
    pub(crate) leaves: u32,
    /// The number of different terms.
    pub(crate) terms: u64,
    /// The bytes of the leaves.
    pub(crate) bytes: u64,
}

impl<'s, 'c> NewSegment<'s, 'c> {
    /// Begins the segment with this writer.
    ///
    /// # Errors
    /// If SQLite can't prepare the statements.
    pub(crate) fn begin(shadows: &'s Shadows<'c>, writer: SegmentWriter) -> Result<NewSegment<'s, 'c>> {
        let prepare = |sql: String| shadows.connection.prepare(&sql).map_err(shadows.cannot("write to"));
        let (data, idx) = (shadows.table("data"), shadows.table("idx"));
        let rows = ShadowRows {
            data: prepare(format!("INSERT INTO {data}(id, block) VALUES (?1, ?2)"))?,
            idx: prepare(format!("INSERT INTO {idx}(segid, term, pgno) VALUES (?1, ?2, ?3)"))?,
            bytes: 0,
        };
        Ok(NewSegment { shadows, writer, rows, last_term: Vec::new(), terms: 0 })
    }

    /// Ends the segment.
    ///
    /// # Errors
    /// If SQLite can't write, or the segment is full.
    pub(crate) fn finish(mut self) -> Result<WrittenSegment> {
        let shadows = self.shadows;
        let (segment, indexes) =
            self.writer.finish(&mut self.rows).map_err(|error| refused(shadows, error))?;
        let bytes = self.rows.bytes;
        for (id, block) in &indexes {
            self.rows.leaf(*id, block).map_err(shadows.cannot("write to"))?;
        }
        Ok(WrittenSegment { leaves: segment.leaves, terms: self.terms, bytes })
    }
}

impl Joined for NewSegment<'_, '_> {
    fn take(&mut self, term: &[u8], doclist: &Doclist<'_>) -> Result<()> {
        let shadows = self.shadows;
        let failed = |error| refused(shadows, error);
        // No term is empty: the first byte is that of its index.
        if term != self.last_term {
            self.last_term.clear();
            self.last_term.extend_from_slice(term);
            self.writer.term(term, &mut self.rows).map_err(failed)?;
            self.terms += 1;
        }
        self.writer.doclist(doclist, &mut self.rows).map_err(failed)
    }

    fn malformed(&self) -> Error {
        refused(self.shadows, SegmentError::Malformed)
    }
}

fn refused(shadows: &Shadows<'_>, error: SegmentError<rusqlite::Error>) -> Error {
    let name = &shadows.name;
    match error {
        SegmentError::Stopped(error) => shadows.cannot("write to")(error),
        SegmentError::Malformed => {
            let message = format!(
                "a doclist of {name} is malformed: its index is damaged, or temporary files have changed"
            );
            match shadows.has_content {
                true => Error::target(message).hint(message![
                    "run again; if it fails again, make the index again from its texts: ",
                    Setting::FtsRebuild.to(name)
                ]),
                false => Error::target(message).hint(NO_TEXTS),
            }
        }
        SegmentError::Full => Error::target(format!("{name} would have more pages than FTS5 can number")),
    }
}
