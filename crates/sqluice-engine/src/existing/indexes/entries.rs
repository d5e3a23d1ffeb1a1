//! Builds index entries from the rows of an existing table, on all cores, and passes them to the sorters.
//!
//! ```text
//!  record of the table     | types | a | b | c |              b, c may be missing, if they were added later
//!                                     └───┐
//!  entry of an index on b  | types | b | rowid |              the same bytes that CREATE INDEX would write
//! ```
//!
//! The table is read once for all of its indexes. CREATE INDEX copies the stored value, whatever the affinity of the column: a REAL that is
//! stored as an integer is an integer in the index, too.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::Table;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::scan::{Kind, Reader, Scan, Tree};
use sqluice_format::value::{FIXED_BYTES, SerialType};
use sqluice_format::varint;
use sqluice_reader::pages::{FileView, damaged};

use super::computed::{ComputedEntries, ComputedIndex};
use super::fields::{Missing, stored_field};
use super::probe_table::ProbeTable;
use crate::sort::{Buffer, Item, SLACK_BYTES, Sorter};
use crate::trees::Changes;

/// The position of a tree in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreePosition {
    pub(crate) root_page: u32,
    pub(crate) geometry: Geometry,
    pub(crate) page_count: u32,
}

/// The way to make the entries of an index.
pub(crate) enum Recipe {
    /// The entries consist of fields of the records.
    Fields(Projection),
    /// SQLite computes parts of the entries.
    Computed(Box<ComputedIndex>),
}

impl Recipe {
    fn wanted(&self) -> usize {
        match self {
            Recipe::Fields(projection) => projection.wanted(),
            Recipe::Computed(index) => index.wanted(),
        }
    }
}

/// The fields of a table's records that the entries of an index contain.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    fields: Vec<Field>,
}

/// The source of one column of an index entry.
#[derive(Clone, Debug)]
enum Field {
    Rowid,
    /// A field stored in the record.
    Stored {
        field: usize,
        missing: Missing,
    },
}

impl Projection {
    /// Returns the projection for the entries of `index`. `probe` gives the value of a column in records that end before the column.
    ///
    /// # Errors
    /// Returns the reason why SQLite must make the entries, as a sentence.
    pub(crate) fn new(
        table: &Table,
        index: &Index,
        probe: &mut ProbeTable,
    ) -> std::result::Result<Projection, String> {
        let fields = index.columns.iter().map(|column| match column.value {
            Indexed::Rowid => Ok(Field::Rowid),
            Indexed::Column(column) if Some(column) == table.rowid_alias => Ok(Field::Rowid),
            Indexed::Column(column) => {
                let name = &table.columns[column].name;
                let field =
                    stored_field(table, column).ok_or_else(|| format!("SQLite computes column {name}"))?;
                let missing = probe.missing(table, column).ok().and_then(|record| Missing::of(&record));
                let missing =
                    missing.ok_or_else(|| format!("only SQLite knows the default of column {name}"))?;
                Ok(Field::Stored { field, missing })
            }
            Indexed::Expression => Err("SQLite computes its expressions".to_owned()),
        });
        Ok(Projection { fields: fields.collect::<std::result::Result<_, String>>()? })
    }

    /// Returns the number of leading fields of a record that must be parsed.
    fn wanted(&self) -> usize {
        let wanted = self.fields.iter().map(|field| match field {
            Field::Rowid => 0,
            Field::Stored { field, .. } => field + 1,
        });
        wanted.max().unwrap_or(0)
    }
}

/// Pushes the entries of all rows to the sorter of each index. Returns the number of rows.
///
/// # Errors
/// If the file can't be read or is damaged, temporary space runs out, or an expression can't be evaluated for a row.
pub(crate) fn of_rows(
    view: FileView<'_>,
    table: &Table,
    place: TreePosition,
    indexes: &[(&Recipe, &Sorter)],
    threads: usize,
) -> Result<u64> {
    let kind = if table.without_rowid { Kind::Index } else { Kind::Table };
    let wanted = indexes.iter().map(|(recipe, _)| recipe.wanted()).max().unwrap_or(0);
    let scan = place.scan(view, kind)?.with_fields(wanted);
    let rows = AtomicU64::new(0);
    in_parts((view, &table.name), &scan, threads, || {
        let (mut plain, mut computed) = (Vec::new(), Vec::new());
        for (recipe, sorter) in indexes {
            match recipe {
                Recipe::Fields(projection) => plain.push(OfIndex::new(projection, sorter.buffer())),
                Recipe::Computed(index) => computed.push(index.entries(sorter)?),
            }
        }
        let found = Vec::with_capacity(wanted);
        Ok(RowsTaker { wanted, found, indexes: plain, computed, rows: 0, all_rows: &rows })
    })?;
    Ok(rows.into_inner())
}

/// Pushes the entries of the index `name` to a sorter of records, with the rowids and references to rowids that `changes` gives them. The
/// number of fields in each entry must be within `fields`. Entries of rows that `changes` leaves out are not pushed. Returns the number of
/// pushed entries.
///
/// # Errors
/// The errors of [`of_rows`].
pub(crate) fn of_index(
    view: FileView<'_>,
    (name, fields, changes): (&str, RangeInclusive<usize>, &Changes<'_>),
    place: TreePosition,
    sorter: &Sorter,
    threads: usize,
) -> Result<u64> {
    let scan = place.scan(view, Kind::Index)?;
    let entries = AtomicU64::new(0);
    in_parts((view, name), &scan, threads, || {
        Ok(EntriesTaker {
            fields: fields.clone(),
            changes,
            changed: Vec::new(),
            buffer: sorter.buffer(),
            entries: 0,
            all_entries: &entries,
        })
    })?;
    Ok(entries.into_inner())
}

impl TreePosition {
    fn scan(self, view: FileView<'_>, kind: Kind) -> Result<Scan> {
        let TreePosition { root_page, geometry, page_count } = self;
        let tree = Tree { root_page, kind, geometry, page_count };
        Scan::new(&mut view.pages(), tree).map_err(|error| view.failed(error))
    }
}

/// A consumer of a tree's entries, on one thread.
pub(in crate::existing) trait Take {
    /// Takes an entry. Returns `Err(None)` if the entry is no valid record of the tree.
    fn take(&mut self, rowid: i64, record: &[u8]) -> std::result::Result<(), Option<Error>>;

    /// Ends a part of the tree: the next entry may be anywhere else in the tree.
    fn end_part(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends the input of this thread: passes on what is still buffered.
    fn finish(self) -> Result<()>;
}

/// Reads the entries of the tree `name` in parts, on `threads` threads. `taker` creates the consumer of each thread.
///
/// # Errors
/// The error of a consumer, or if the tree can't be read or is damaged.
pub(in crate::existing) fn in_parts<T: Take>(
    (view, name): (FileView<'_>, &str),
    scan: &Scan,
    threads: usize,
    taker: impl Fn() -> Result<T> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut pages, mut reader, mut taker) = (view.pages(), Reader::default(), taker()?);
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= scan.parts() {
                return taker.finish();
            }
            let each = |rowid, record: &[u8]| {
                taker.take(rowid, record).map_err(|error| {
                    error.unwrap_or_else(|| {
                        // Entries of indexes have no rowids.
                        let which = if rowid == 0 { "an entry".to_owned() } else { format!("row {rowid}") };
                        damaged(view.path, &format!("{which} of {name} is not a valid record"))
                    })
                })
            };
            let read = scan.read(part, &mut pages, &mut reader, each);
            let read = read.map_err(|error| view.failed(error)).and_then(|()| taker.end_part());
            read.inspect_err(|_| {
                // After an error, no thread begins another part of the tree.
                next.store(scan.parts(), Ordering::Relaxed);
            })?;
        }
    };
    std::thread::scope(|scope| {
        let threads = threads.clamp(1, scan.parts());
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for worker in workers {
            let other = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(other);
        }
        result
    })
}

/// A consumer that builds the entries of the indexes from the rows of their table.
struct RowsTaker<'a> {
    wanted: usize,
    /// The serial types and offsets of the parsed fields of the current record.
    found: Vec<(u64, usize)>,
    indexes: Vec<OfIndex<'a>>,
    computed: Vec<ComputedEntries<'a>>,
    rows: u64,
    all_rows: &'a AtomicU64,
}

/// The builder of the entries of one index, on one thread.
struct OfIndex<'a> {
    fields: &'a [Field],
    /// The values of the entry of the current row.
    pieces: Vec<Piece<'a>>,
    buffer: Buffer<'a>,
}

/// A value of the entry that is being built.
#[derive(Clone, Copy)]
struct Piece<'a> {
    serial: u64,
    bytes: usize,
    content: Content<'a>,
}

#[derive(Clone, Copy)]
enum Content<'a> {
    /// An integer, whose lowest `bytes` bytes are stored.
    Int(i64),
    /// The offset of the value in the record.
    Record(usize),
    Missing(&'a [u8]),
}

impl Take for RowsTaker<'_> {
    #[inline]
    fn take(&mut self, rowid: i64, record: &[u8]) -> std::result::Result<(), Option<Error>> {
        find_fields(record, self.wanted, &mut self.found).ok_or(None)?;
        self.rows += 1;
        self.indexes.iter_mut().try_for_each(|index| index.push(rowid, record, &self.found).map_err(Some))?;
        self.computed.iter_mut().try_for_each(|index| index.push(rowid, record, &self.found).map_err(Some))
    }

    fn finish(mut self) -> Result<()> {
        self.all_rows.fetch_add(self.rows, Ordering::Relaxed);
        self.indexes.iter_mut().try_for_each(|index| index.buffer.flush())?;
        self.computed.iter_mut().try_for_each(ComputedEntries::finish)
    }
}

/// Finds the serial types and offsets of the first `wanted` fields of a record, or of all fields if it has fewer: the record may be older
/// than a column. Returns `None` if the record is malformed.
#[inline]
pub(in crate::existing) fn find_fields(
    record: &[u8],
    wanted: usize,
    found: &mut Vec<(u64, usize)>,
) -> Option<()> {
    found.clear();
    let short = |at: usize| match *record.get(at)? {
        byte @ ..0x80 => Some((u64::from(byte), 1)),
        _ => varint::read(&record[at..]),
    };
    let (header, mut at) = short(0)?;
    let header = usize::try_from(header).ok().filter(|header| (at..=record.len()).contains(header))?;
    let mut start = header;
    while at < header && found.len() < wanted {
        let (serial, n) = short(at)?;
        at += n;
        found.push((serial, start));
        start = start.checked_add(usize::try_from(SerialType(serial).content_bytes()?).ok()?)?;
    }
    (at <= header && start <= record.len()).then_some(())
}

impl<'a> OfIndex<'a> {
    fn new(projection: &'a Projection, buffer: Buffer<'a>) -> OfIndex<'a> {
        OfIndex { fields: &projection.fields, pieces: Vec::new(), buffer }
    }

    #[inline]
    fn push(&mut self, rowid: i64, record: &[u8], found: &[(u64, usize)]) -> Result<()> {
        let OfIndex { fields, pieces, buffer } = self;
        if let [Field::Stored { field, .. }, Field::Rowid] = *fields
            && let Some(&(serial, start)) = found.get(*field)
            && push_key((serial, start), record, rowid, buffer)?
        {
            return Ok(());
        }
        pieces.clear();
        let (mut types, mut body) = (0, 0);
        for field in *fields {
            let piece = match field {
                Field::Rowid => Piece::of_int(rowid),
                Field::Stored { field, missing } => match found.get(*field) {
                    Some(&(serial, start)) => Piece::of_field(serial, start, record),
                    None => Piece::of_missing(missing),
                },
            };
            types += if piece.serial < 0x80 { 1 } else { varint::len(piece.serial) };
            body += piece.bytes;
            pieces.push(piece);
        }
        let header = record::header_bytes(types);
        buffer.push_with(0, 0, header + body, |room| {
            let mut at = varint::write(room, header as u64);
            for piece in &*pieces {
                at += varint::write(&mut room[at..], piece.serial);
            }
            for piece in &*pieces {
                piece.write(record, &mut room[at..]);
                at += piece.bytes;
            }
        })
    }
}

/// Pushes the index entry of a field and a rowid as a sort key alone, if the sorter can make the entry's record from the key. `start` is
/// the offset of the field in the record. Returns `true` if the entry was pushed.
#[inline]
fn push_key(
    (serial, start): (u64, usize),
    record: &[u8],
    rowid: i64,
    buffer: &mut Buffer<'_>,
) -> Result<bool> {
    let value = match serial {
        13.. if serial % 2 == 1 && buffer.takes_texts() => {
            return buffer.push_text(record, (start, start + ((serial - 13) / 2) as usize), rowid);
        }
        0 => None,
        1..=6 => Some(record::int(&record[start..start + usize::from(FIXED_BYTES[serial as usize])])),
        8 | 9 => Some(serial as i64 - 8),
        _ => return Ok(false),
    };
    buffer.push_pair_of([value, Some(rowid)])
}

impl<'a> Piece<'a> {
    #[inline]
    fn of_int(int: i64) -> Piece<'a> {
        let serial = SerialType::of_int(int).0;
        Piece { serial, bytes: usize::from(FIXED_BYTES[serial as usize]), content: Content::Int(int) }
    }

    /// Returns the field at offset `start` of a record. Its serial type determines its length.
    #[inline]
    fn of_field(serial: u64, start: usize, record: &[u8]) -> Piece<'a> {
        match serial {
            // Other writers may store an integer in more bytes than needed. The entry gets the shortest form, as SQLite would store it.
            1..=6 => {
                Piece::of_int(record::int(&record[start..start + usize::from(FIXED_BYTES[serial as usize])]))
            }
            7 if is_nan(&record[start..start + 8]) => Piece { serial: 0, bytes: 0, content: Content::Int(0) },
            0..=9 => {
                let bytes = usize::from(FIXED_BYTES[serial as usize]);
                Piece { serial, bytes, content: Content::Record(start) }
            }
            _ => Piece { serial, bytes: ((serial - 12) / 2) as usize, content: Content::Record(start) },
        }
    }

    fn of_missing(missing: &'a Missing) -> Piece<'a> {
        let content = Content::Missing(&missing.content);
        Piece { serial: missing.serial, bytes: missing.content.len(), content }
    }

    /// Writes the value to the start of `room`, which is [`SLACK_BYTES`] longer than the value: a short value is stored as a whole word, as
    /// a call of `memcpy` takes longer than the copy.
    #[inline]
    fn write(&self, record: &[u8], room: &mut [u8]) {
        match self.content {
            Content::Int(int) => {
                let word = int.checked_shl(64 - 8 * self.bytes as u32).unwrap_or(0);
                room[..8].copy_from_slice(&word.to_be_bytes());
            }
            Content::Record(start) => match record[start..].first_chunk::<SLACK_BYTES>() {
                Some(word) if self.bytes <= SLACK_BYTES => room[..SLACK_BYTES].copy_from_slice(word),
                _ => room[..self.bytes].copy_from_slice(&record[start..start + self.bytes]),
            },
            Content::Missing(content) => room[..self.bytes].copy_from_slice(content),
        }
    }
}

/// Returns `true` if a float is NaN. SQLite treats NaN as NULL.
#[inline]
fn is_nan(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|bytes| f64::from_be_bytes(*bytes).is_nan())
}

/// A consumer that pushes the entries of an old index to the sorter of the new one.
struct EntriesTaker<'a> {
    fields: RangeInclusive<usize>,
    changes: &'a Changes<'a>,
    /// The buffer of a changed record.
    changed: Vec<u8>,
    buffer: Buffer<'a>,
    entries: u64,
    all_entries: &'a AtomicU64,
}

impl Take for EntriesTaker<'_> {
    fn take(&mut self, _: i64, record: &[u8]) -> std::result::Result<(), Option<Error>> {
        // A malformed record can't be sorted.
        if !record::count_fields(record).is_ok_and(|fields| self.fields.contains(&fields)) {
            return Err(None);
        }
        if !self.changes.left_out.is_empty() && self.changes.leaves_out(record::last_int(record).ok_or(None)?)
        {
            return Ok(());
        }
        self.entries += 1;
        let mut record = record;
        if !self.changes.fields.is_empty() {
            self.changed.clear();
            record::shift(record, &self.changes.fields, &mut self.changed).map_err(|_| None)?;
            record = &self.changed;
        }
        self.buffer.push(Item { rowid: 0, number: 0, record }).map_err(Some)
    }

    fn finish(mut self) -> Result<()> {
        self.all_entries.fetch_add(self.entries, Ordering::Relaxed);
        self.buffer.flush()
    }
}
