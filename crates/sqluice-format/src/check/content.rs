//! The kinds of payloads in a tree (rows, index entries or unknown), and checks of these payloads against the schema.

use std::collections::HashMap;

use super::checker::Checker;
use super::digest::{self, Entry, Sum};
use super::done::Done;
use super::entries::{self, Demanded};
use super::fields::Fields;
use super::layout::Cell;
use super::sequence::{Keys, Misplaced, Rowids};
use super::spec::{Computed, ComputedEntries, Index, Key, Table};
use super::{Common, ReadPage, Tree, TreeKind};
use crate::record::RecordError;
use crate::value::{Class, Value};

/// The state of a walk through a tree or a part of a tree.
pub(super) struct Walk<'w> {
    /// `true` if the tree's pages are those of a table.
    pub(super) table: bool,
    pub(super) content: Content<'w>,
    pub(super) rowids: Rowids,
    pub(super) keys: Keys,
    /// For an index, the sum over its entries. For a table, a sum for each of its indexes, over the entries that the index must have; the
    /// sum of a partial index stays empty unless its entries are computed.
    pub(super) sums: Vec<Sum>,
    /// The parts of the tree that have already been read, by the number of the page at which each begins; `None` if the tree was not
    /// divided.
    pub(super) parts: Option<&'w HashMap<u32, Done>>,
    /// `true` if only the first and the last child of each interior page are read, and no overflow pages.
    pub(super) edges: bool,
    /// A callback for each entry, if the caller wants the entries.
    pub(super) listener: Option<&'w mut dyn FnMut(Found)>,
    fields: Fields,
    demanded: Demanded,
    computing: Option<Computing<'w>>,
}

/// The computation of the index entries of a table's rows, for entries that the caller computes.
struct Computing<'w> {
    table: &'w Table,
    computed: &'w Computed,
    /// The computation; `None` before the first row.
    by: Option<Box<dyn ComputedEntries>>,
    /// The rows whose entries are not computed yet: for each row its page, and its rowid if the table has rowids.
    rows: Vec<(u32, Option<i64>)>,
}

/// The kind of a tree's payloads.
pub(super) enum Content<'w> {
    /// The kind is unknown: the schema does not describe the tree.
    Unknown,
    /// Rows of the schema table.
    Schema(&'w mut Keep<'w>),
    /// Rows of a table, and the number of fields to read of each.
    Rows { table: &'w Table, fields_read: usize },
    /// Entries of an index.
    Entries(&'w Index),
}

/// A callback that takes the first bytes of each payload, and the size of the payload.
pub(super) struct Keep<'k> {
    pub(super) bytes_max: usize,
    pub(super) take: &'k mut dyn FnMut(&[u8], u64),
}

/// An entry of an index, or an entry that a row demands.
pub(super) struct Found {
    /// The position of the index in the table's `indexes`, if a row demands the entry.
    pub(super) index: usize,
    pub(super) entry: Entry,
    pub(super) page: u32,
    /// The rowid of the row, if it has one.
    pub(super) rowid: Option<i64>,
}

impl<'w> Content<'w> {
    /// Returns the kind of a tree's payloads.
    pub(super) fn of(tree: &Tree, common: &Common<'w>) -> Content<'w> {
        let Some(table) = common.table(&tree.table) else { return Content::Unknown };
        match tree.kind {
            TreeKind::Index => {
                let found = table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&tree.name));
                found.map_or(Content::Unknown, Content::Entries)
            }
            kind if (kind == TreeKind::WithoutRowid) == table.key.is_some() => Content::rows(table),
            _ => Content::Unknown,
        }
    }

    fn rows(table: &'w Table) -> Content<'w> {
        let numeric = table.fields.iter().rposition(|field| field.takes.text && !field.takes.numeric_text);
        let fields_read = match &table.key {
            Some(Key { order: Some(_), .. }) => usize::MAX,
            _ => {
                let computed =
                    table.computed.as_ref().and_then(|computed| computed.fields.iter().max().copied());
                Demanded::of(table).last_field().max(numeric).max(computed).map_or(0, |last| last + 1)
            }
        };
        Content::Rows { table, fields_read }
    }

    /// Returns the sort key of the records, if they have one.
    pub(super) fn key(&self) -> Option<&'w Key> {
        match self {
            Content::Rows { table, .. } => table.key.as_ref(),
            Content::Entries(index) => Some(&index.key),
            _ => None,
        }
    }
}

impl<'w> Walk<'w> {
    pub(super) fn new(table: bool, content: Content<'w>) -> Walk<'w> {
        let computing = match &content {
            Content::Rows { table, .. } => table.computed.as_ref().map(|computed| (*table, computed)),
            _ => None,
        };
        let computing =
            computing.map(|(table, computed)| Computing { table, computed, by: None, rows: Vec::new() });
        let (sums, demanded) = match &content {
            Content::Rows { table, .. } => (table.indexes.len(), Demanded::of(table)),
            Content::Entries(_) => (1, Demanded::default()),
            _ => (0, Demanded::default()),
        };
        Walk {
            table,
            content,
            rowids: Rowids::default(),
            keys: Keys::default(),
            sums: vec![Sum::default(); sums],
            parts: None,
            edges: false,
            listener: None,
            fields: Fields::default(),
            demanded,
            computing,
        }
    }

    /// Computes the entries of the rows in [`Computing::rows`], and adds them to the sums.
    pub(super) fn compute(&mut self) {
        let Walk { computing: Some(Computing { table, by: Some(by), rows, .. }), sums, listener, .. } = self
        else {
            return;
        };
        let is_complete = by.compute(&mut |index, row, values| {
            let mut entry = Entry::EMPTY;
            values.iter().for_each(|value| entry.push(digest::value(*value)));
            sums[index].add(entry);
            let (page, rowid) = rows[row];
            if let Some(listener) = listener {
                listener(Found { index, entry, page, rowid });
            }
        });
        rows.clear();
        if !is_complete {
            for (sum, _) in sums.iter_mut().zip(&table.indexes).filter(|(_, index)| index.computed) {
                sum.is_unknown = true;
            }
        }
    }
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Checks a record of the tree. `start` is the whole record, or its first bytes if the other bytes are not needed.
    #[inline]
    pub(super) fn record(&mut self, walk: &mut Walk<'_>, number: u32, cell: &Cell, start: &[u8]) {
        let payload = u64::from(cell.payload);
        if let Err(error) = walk.fields.read(start, payload) {
            let why = why_no_record(error);
            return self
                .problem(Some(number), format!("the cell at byte {} is not a record: {why}", cell.start));
        }
        match &mut walk.content {
            Content::Unknown => {}
            Content::Schema(keep) => (keep.take)(&start[..start.len().min(keep.bytes_max)], payload),
            Content::Rows { table, .. } => {
                let table = *table;
                self.fields_of_row(walk, table, number, cell, start);
                self.entries_of_row(walk, table, number, cell, start);
                if let Some(key) = &table.key {
                    self.key(walk, key, number, cell, start);
                }
            }
            Content::Entries(index) => {
                let index = *index;
                self.entry(walk, index, number, cell, start);
            }
        }
    }

    /// Checks that each field of a row holds a permitted value.
    #[inline]
    fn fields_of_row(&mut self, walk: &mut Walk<'_>, table: &Table, number: u32, cell: &Cell, start: &[u8]) {
        if !walk.fields.fits() && self.fields_fit(walk, table, number, cell, start) {
            walk.fields.set_fits();
        }
    }

    /// Checks the fields of a row against their columns. Returns `true` if the fields are right for all rows with the same header.
    fn fields_fit(&mut self, walk: &Walk<'_>, table: &Table, number: u32, cell: &Cell, start: &[u8]) -> bool {
        let encoding = self.common.header.used_text_encoding();
        entries::misfits(table, &walk.fields, (start, encoding), |field, what| {
            let row = row_name(walk.table, cell);
            self.problem(
                Some(number),
                format!("{row} has {what} in {}, which does not take that", field.name),
            );
        })
    }

    /// Adds up the entries that a row demands of the table's indexes.
    #[inline]
    fn entries_of_row(&mut self, walk: &mut Walk<'_>, table: &Table, number: u32, cell: &Cell, start: &[u8]) {
        if table.indexes.is_empty() {
            return;
        }
        let rowid = walk.table.then_some(cell.rowid);
        if let Some(Computing { computed, by, rows, .. }) = &mut walk.computing {
            let value = |field: &usize| {
                let default = || table.fields[*field].default.value();
                walk.fields.value(*field, start).unwrap_or_else(default)
            };
            rows.push((number, rowid));
            let by = by.get_or_insert_with(|| computed.by.begin());
            if by.push(cell.rowid, &mut computed.fields.iter().map(value)) {
                walk.compute();
            }
        }
        let Walk { demanded, fields, sums, listener, .. } = walk;
        demanded.of_row(table, fields, (cell.rowid, start), |index, entry| {
            sums[index].add(entry);
            if let Some(listener) = listener {
                listener(Found { index, entry, page: number, rowid });
            }
        });
    }

    /// Checks an entry of an index and adds it to the sum.
    #[inline]
    fn entry(&mut self, walk: &mut Walk<'_>, index: &Index, number: u32, cell: &Cell, record: &[u8]) {
        let (found, expected) = (walk.fields.len(), index.fields.len());
        if found != expected {
            let at = cell.start;
            return self.problem(
                Some(number),
                format!("the entry in the cell at byte {at} has {found} fields, not {expected}"),
            );
        }
        let entry = entries::found(index, &walk.fields, record);
        walk.sums[0].add(entry);
        if let Some(listener) = &mut walk.listener {
            listener(Found {
                index: 0,
                entry,
                page: number,
                rowid: entries::rowid_of(index, &walk.fields, record),
            });
        }
        self.key(walk, &index.key, number, cell, record);
    }

    /// Checks that keys ascend, and that unique keys are not repeated.
    #[inline]
    fn key(&mut self, walk: &mut Walk<'_>, key: &Key, number: u32, cell: &Cell, record: &[u8]) {
        let Some(order) = &key.order else { return };
        if self.again {
            return;
        }
        let at = cell.start;
        let fields = order.columns().len();
        if walk.fields.len() < fields {
            let what = format!("the record in the cell at byte {at} ends within its key");
            return self.problem(Some(number), what);
        }
        let is_nan = |field| {
            walk.fields.class(field) == Some(Class::Real)
                && matches!(walk.fields.value(field, record), Some(Value::Real(real)) if real.is_nan())
        };
        if (0..fields).any(is_nan) {
            let what = format!("the key in the cell at byte {at} holds a float that is not a number");
            return self.problem(Some(number), what);
        }
        let what = match walk.keys.add(key, record) {
            None => return,
            Some(Misplaced::Order) => "does not ascend",
            Some(Misplaced::Unique) => "equals the key before it, which UNIQUE forbids",
        };
        self.problem(Some(number), format!("the key in the cell at byte {at} {what}"));
    }
}

/// Returns the reason why a payload is not a record, for messages.
pub(super) fn why_no_record(error: RecordError) -> &'static str {
    match error {
        RecordError::Header => "its header does not end where it should",
        RecordError::ReservedType => "it has a serial type of 10 or 11",
        RecordError::Body => "its values take more or fewer bytes than it has",
    }
}

/// Returns the name of a row for messages.
fn row_name(rowids: bool, cell: &Cell) -> String {
    if rowids { format!("row {}", cell.rowid) } else { format!("the row in the cell at byte {}", cell.start) }
}
