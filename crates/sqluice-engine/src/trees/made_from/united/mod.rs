//! United trees: trees of several databases whose keys interleave are merged to one tree. Each source tree is a piece.
//!
//! ```text
//!  pieces   a.db   [.......|..........|...]         each is in order
//!           b.db   [...|..............|.......]
//!                      ^   cuts       ^             keys from interior pages
//!  parts         0     │       1      │   2
//! ```
//!
//! Each part has at least two entries, so that one can be the divider before the next part. Cuts are chosen from samples of the keys of all
//! pieces. Each piece is sampled at other relative positions: if similar pieces were sampled at the same positions, the samples would lie
//! in clusters, and the parts would differ in size.
//!
//! A part has the entries after one cut up to the next cut. If a piece is out of order, an entry of it might be in no part. So the writer
//! checks that in every piece, each part begins where the part before ended.

pub(crate) mod onto_pages;

use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicBool};

use sqluice_core::batch::describe;
use sqluice_core::error::{Assumption, Duplicate, DuplicateRows, Error, Result};
use sqluice_core::schema::Table;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_format::key::KeyOrder;
use sqluice_format::record;
use sqluice_format::scan::{Cursor, Kind, Reader};
use sqluice_reader::pages::{FilePages, damaged};

use crate::tournament::Tournament;
use crate::trees::keys::unique::CANCEL_ITEMS;
use crate::trees::made_from::source_tree::Piece;
use crate::trees::workers::part_ends::PiecePositions;

/// The number of samples of keys in each part, if the pieces are large enough. With few samples, parts differ in size.
pub(crate) const SAMPLES_OF_PART: usize = 4;

/// The largest number of samples of keys from all pieces together. All samples are in memory at the same time.
const SAMPLES_MAX: usize = 1 << 16;

/// A tree that is merged from trees of several databases.
pub(crate) struct UnionTree<'a> {
    /// The name of the tree in messages: `index i`.
    what: &'a str,
    kind: Kind,
    pieces: Vec<Piece<'a>>,
    /// The order of the entries of an index. The order for a table has no columns, because rows are ordered by rowid.
    order: KeyOrder,
    /// The number of leading columns of a unique index: no two entries may have the same values in all of them, unless one is NULL. `None`
    /// if the index is not unique, or the tree is a table.
    unique: Option<usize>,
    names: KeyNames<'a>,
    cuts: Vec<Cut>,
    /// `true` if the entries of a piece were found out of order.
    out_of_order: AtomicBool,
}

/// The table, and the index if known, from which messages take the names of the key columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyNames<'a> {
    pub(crate) table: &'a str,
    pub(crate) declared: Option<(&'a Table, Option<&'a Index>)>,
}

/// A cut between two parts: the largest key that the part before the cut may have. A table uses `rowid`, an index `record`.
#[derive(Debug, Default)]
struct Cut {
    rowid: i64,
    record: Vec<u8>,
    prefix: u128,
}

/// An entry of a united tree, with the changes for the copy.
#[derive(Clone, Copy)]
pub(crate) struct UnionEntry<'e> {
    /// The position in the tree's `pieces` of the piece that has the entry.
    pub(crate) piece: usize,
    /// The rowid, or 0 if the entry belongs to an index.
    pub(crate) rowid: i64,
    pub(crate) record: &'e [u8],
    cursor: &'e Cursor,
}

impl UnionEntry<'_> {
    /// Returns the rowid and the record as they are in the source, without the changes for the copy.
    pub(crate) fn stored(&self) -> (i64, &[u8]) {
        (self.cursor.rowid(), self.cursor.record())
    }
}

impl<'a> UnionTree<'a> {
    /// Creates the tree that unites `pieces`, and chooses the cuts between its parts. An index some of whose rows are left out is a single
    /// part.
    pub(crate) fn new(
        (what, kind): (&'a str, Kind),
        pieces: Vec<Piece<'a>>,
        order: Option<KeyOrder>,
        unique: Option<usize>,
        names: KeyNames<'a>,
    ) -> Result<UnionTree<'a>> {
        let order = order.unwrap_or_else(|| KeyOrder::new([]));
        let (cuts, out_of_order) = (Vec::new(), AtomicBool::new(false));
        let mut tree = UnionTree { what, kind, pieces, order, unique, names, cuts, out_of_order };
        // Each part must have an entry as the divider before the next part. If rows are left out of an index, a part might have no entries.
        if kind == Kind::Table || tree.pieces.iter().all(|piece| piece.changes.left_out.is_empty()) {
            tree.cuts = tree.cut()?;
        }
        Ok(tree)
    }

    fn cut(&self) -> Result<Vec<Cut>> {
        let mut samples: Vec<Cut> = Vec::new();
        let parts: usize = self.pieces.iter().map(|piece| piece.scan.parts()).sum();
        let of_run = parts.div_ceil(SAMPLES_MAX);
        for (number, piece) in self.pieces.iter().enumerate() {
            let mut pages = piece.view.pages();
            let mut room = Vec::new();
            let each = |rowid, record: &[u8]| {
                let rowid = piece.rowid(rowid)?;
                let (record, prefix) = match self.kind {
                    Kind::Table => (Vec::new(), prefix_of(rowid)),
                    Kind::Index => {
                        self.check_record(piece, record)?;
                        let record = piece.record(record, &mut room)?.to_vec();
                        let prefix = self.order.prefix(&record);
                        (record, prefix)
                    }
                };
                samples.push(Cut { rowid, record, prefix });
                Ok(())
            };
            let place = (2 * number + 1, 2 * self.pieces.len());
            let read = piece.scan.samples(of_run, place, &mut pages, &mut Reader::default(), each);
            read.map_err(|error| piece.failed(error))?;
        }
        let compare = |a: &Cut, b: &Cut| self.compare_cut(a.rowid, &a.record, b);
        samples.sort_by(|a, b| compare(a, b));
        samples.dedup_by(|a, b| compare(a, b).is_eq());
        // The last sample can't be a cut, because the part after it might have no entries.
        samples.pop();
        let of_part = (SAMPLES_OF_PART / of_run).max(2);
        Ok(samples.into_iter().skip(of_part - 1).step_by(of_part).collect())
    }

    /// Compares an entry with a cut. Entries of a unique index are compared only by the columns of its key, so entries with the same key
    /// are on the same side of the cut.
    #[inline]
    fn compare_cut(&self, rowid: i64, record: &[u8], cut: &Cut) -> Ordering {
        match self.kind {
            Kind::Table => rowid.cmp(&cut.rowid),
            Kind::Index => {
                let columns = self.unique.unwrap_or(self.order.columns().len());
                self.order.compare_columns(record, &cut.record, columns)
            }
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Returns `true` if the entries of a piece were found out of order.
    pub(crate) fn is_out_of_order(&self) -> bool {
        self.out_of_order.load(atomic::Ordering::Relaxed)
    }

    /// Returns an error if, in a piece, the part `after` does not begin where the part `before` ended.
    pub(crate) fn check_follows(&self, before: &PiecePositions, after: &PiecePositions) -> Result<()> {
        let differs = before.end.iter().zip(&after.first).position(|(end, first)| end != first);
        differs.map_or(Ok(()), |piece| Err(self.disorder(&self.pieces[piece])))
    }

    #[cold]
    fn disorder(&self, piece: &Piece<'_>) -> Error {
        match self.kind {
            Kind::Table => damaged(piece.view.path, &format!("the rowids of {} do not ascend", self.what)),
            Kind::Index => {
                self.out_of_order.store(true, atomic::Ordering::Relaxed);
                let name = piece.view.path.display();
                Error::input(format!("{} of {name} is out of order", self.what))
                    .refuting(Assumption::EntryOrder)
            }
        }
    }

    /// Returns an error if an entry is not a valid record with all columns of the order.
    #[inline]
    fn check_record(&self, piece: &Piece<'_>, record: &[u8]) -> Result<()> {
        if record::count_fields(record).is_ok_and(|fields| fields >= self.order.columns().len()) {
            return Ok(());
        }
        Err(damaged(piece.view.path, &format!("an entry of {} is not a valid record", self.what)))
    }

    /// Calls `each` with the entries of a part, merged in order. Entries with the same key come in the order of their pieces. Also returns
    /// the positions in the pieces at which the part begins and ends.
    pub(crate) fn visit(
        &self,
        part: usize,
        each: &mut dyn FnMut(&UnionEntry<'_>) -> Result<()>,
    ) -> (Result<()>, PiecePositions) {
        let mut positions = PiecePositions::default();
        let start = part.checked_sub(1).map(|before| &self.cuts[before]);
        let walk = Walk { tree: self, end: self.cuts.get(part), heads: Vec::new() };
        let walked = walk.walk(start, &mut positions, each);
        (walked, positions)
    }

    /// Returns the error for two entries of different pieces that have the same unique key.
    #[cold]
    pub(crate) fn repeated(&self, before: &LastEntry, entry: &UnionEntry<'_>) -> Error {
        let (one, other) = (&self.pieces[before.piece], &self.pieces[entry.piece]);
        let key = self.names.key(self.unique, entry.rowid, entry.record);
        let (one, other) = (one.view.path.display(), other.view.path.display());
        let table = self.names.table.to_owned();
        let index = match self.names.declared {
            Some((_, Some(index))) if self.kind == Kind::Index => index.name.clone(),
            _ => table.clone(),
        };
        let duplicate = Duplicate { table, index, rows: DuplicateRows::Databases };
        Error::input(format!("{key} is in both {one} and {other}")).duplicate(duplicate)
    }

    /// Returns `true` if the entry `before` and the next entry are from different pieces and have the same unique key.
    #[inline]
    pub(crate) fn repeats(&self, before: &LastEntry, entry: &UnionEntry<'_>) -> bool {
        match (self.kind, self.unique) {
            _ if before.piece == entry.piece => false,
            (Kind::Table, _) => before.rowid == entry.rowid,
            (Kind::Index, Some(columns)) => {
                self.order.compare_columns(&before.record, entry.record, columns).is_eq()
                    && !self.order.has_null(entry.record, columns)
            }
            (Kind::Index, None) => false,
        }
    }

    /// Calls `group` with each group of rows in a part that have the same key. A row whose key no other row has is a group of its own.
    /// `group` must empty the list that it gets; the first list is empty already. Each row is given as the position of its piece in the
    /// tree's `pieces`, and its rowid in the source.
    pub(crate) fn groups(&self, part: usize, mut group: impl FnMut(&mut Vec<(u32, i64)>)) -> Result<()> {
        let mut last: Option<LastEntry> = None;
        let mut rows = Vec::new();
        let (visited, _) = self.visit(part, &mut |entry| {
            if !last.as_ref().is_some_and(|last| self.repeats(last, entry)) {
                group(&mut rows);
            }
            let rowid = match (self.kind, entry.stored()) {
                (Kind::Table, (rowid, _)) => rowid,
                (Kind::Index, (_, record)) => self.pieces[entry.piece].rowid_of_entry(record)?,
            };
            rows.push((entry.piece as u32, rowid));
            last.get_or_insert_default().set(entry);
            Ok(())
        });
        visited?;
        group(&mut rows);
        Ok(())
    }

    /// Returns the name of the table, or of the table to which the index belongs.
    pub(crate) fn table(&self) -> &str {
        self.names.table
    }

    /// Returns `true` if no two entries of the tree may have the same key: for a table or a unique index.
    pub(crate) fn is_unique(&self) -> bool {
        self.kind == Kind::Table || self.unique.is_some()
    }
}

impl KeyNames<'_> {
    /// Formats the key of an entry for messages, such as `t.a, t.b = (1, 'x')`. Without `columns`, the key is the rowid.
    fn key(&self, columns: Option<usize>, rowid: i64, record: &[u8]) -> String {
        let KeyNames { table, declared } = *self;
        let rowid_name = || {
            let alias = declared.and_then(|(table, _)| Some(&table.columns[table.rowid_alias?].name));
            format!("{table}.{}", alias.map_or("rowid", String::as_str))
        };
        let Some(columns) = columns else { return format!("{} = {rowid}", rowid_name()) };
        let values = record::decode(record).unwrap_or_default();
        let values: Vec<String> = values.iter().take(columns).map(describe).collect();
        let name_of = |column: usize| match declared {
            Some((table, Some(index))) => match index.columns.get(column).map(|column| column.value) {
                Some(Indexed::Column(column)) => format!("{}.{}", table.name, table.columns[column].name),
                Some(Indexed::Rowid) => rowid_name(),
                _ => format!("an expression of {}", index.name),
            },
            _ => format!("a key of {table}"),
        };
        let names: Vec<String> = (0..columns).map(name_of).collect();
        let value = if values.len() == 1 { values.concat() } else { format!("({})", values.join(", ")) };
        format!("{} = {value}", names.join(", "))
    }
}

/// A copy of an entry, kept to compare the next entry with it.
#[derive(Debug, Default)]
pub(crate) struct LastEntry {
    pub(crate) piece: usize,
    pub(crate) rowid: i64,
    pub(crate) record: Vec<u8>,
}

impl LastEntry {
    #[inline]
    pub(crate) fn set(&mut self, entry: &UnionEntry<'_>) {
        (self.piece, self.rowid) = (entry.piece, entry.rowid);
        self.record.clear();
        self.record.extend_from_slice(entry.record);
    }
}

/// Converts a rowid to an unsigned number that sorts like the rowid.
fn prefix_of(rowid: i64) -> u128 {
    u128::from((rowid ^ i64::MIN) as u64)
}

/// The reader of one piece while a part is merged, and its current entry.
struct Head<'t, 'a> {
    piece: &'t Piece<'a>,
    number: usize,
    pages: FilePages<'a>,
    cursor: Cursor,
    rowid: i64,
    /// The record of the current index entry with its changes, or of the current row if changes apply to it.
    record: Vec<u8>,
    /// The prefix of the current key: a number by which most keys can be compared. In an index, the prefix is `None` until it is needed:
    /// neighbouring entries can mostly be compared without prefixes.
    prefix: Option<u128>,
    /// The record of the entry before the current entry, in an index.
    before: Vec<u8>,
    is_first: bool,
}

struct Walk<'t, 'a> {
    tree: &'t UnionTree<'a>,
    end: Option<&'t Cut>,
    heads: Vec<Head<'t, 'a>>,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn walk(
        mut self,
        start: Option<&Cut>,
        positions: &mut PiecePositions,
        each: &mut dyn FnMut(&UnionEntry<'_>) -> Result<()>,
    ) -> Result<()> {
        let tree = self.tree;
        positions.end = vec![None; tree.pieces.len()];
        for (number, piece) in tree.pieces.iter().enumerate() {
            let mut head = Head::new(number, piece);
            let is_left = head.seek(tree, start)?;
            positions.first.push(head.cursor.position());
            if is_left && head.enter(tree, self.end)? {
                self.heads.push(head);
            } else {
                positions.end[number] = head.cursor.position();
            }
        }
        let mut tournament = Tournament::default();
        self.heads.iter_mut().for_each(|head| _ = head.prefix(tree));
        tournament.rebuild(self.heads.len(), |a, b| self.is_less(a, b));
        let mut entries = 0;
        while !self.heads.is_empty() {
            entries += 1;
            if entries % CANCEL_ITEMS == 0 {
                tree.pieces[0].view.cancel.check()?;
            }
            let head = &mut self.heads[tournament.winner()];
            each(&head.entry())?;
            if head.next(tree, self.end)? {
                if !tournament.goes_on(|a, b| self.is_less_alike(a, b)) {
                    self.heads[tournament.winner()].prefix(tree);
                    tournament.replay(|a, b| self.is_less(a, b));
                }
            } else {
                positions.end[head.number] = head.cursor.position();
                self.heads.remove(tournament.winner());
                tournament.rebuild(self.heads.len(), |a, b| self.is_less(a, b));
            }
        }
        Ok(())
    }

    /// Returns `true` if the current entry of reader `a` is before that of reader `b`, and this can be seen without their prefixes. Returns
    /// `false` if unknown.
    #[inline]
    fn is_less_alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heads[a], &self.heads[b]);
        match self.tree.kind {
            Kind::Table => a.rowid < b.rowid,
            Kind::Index => self.tree.order.ascends_alike(&a.record, &b.record) == Some(true),
        }
    }

    /// Returns `true` if the current entry of reader `a` is before that of reader `b`; of entries with the same key, the entry of the
    /// earlier piece is the first. The prefixes of both must be computed already.
    #[inline]
    fn is_less(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heads[a], &self.heads[b]);
        if a.prefix != b.prefix {
            return a.prefix < b.prefix;
        }
        let order = match self.tree.kind {
            Kind::Table => Ordering::Equal,
            Kind::Index if self.tree.order.ascends_alike(&a.record, &b.record) == Some(true) => {
                Ordering::Less
            }
            Kind::Index => self.tree.order.compare(&a.record, &b.record),
        };
        order.then(a.number.cmp(&b.number)).is_lt()
    }
}

impl<'t, 'a> Head<'t, 'a> {
    fn new(number: usize, piece: &'t Piece<'a>) -> Head<'t, 'a> {
        Head {
            piece,
            number,
            pages: piece.view.pages(),
            cursor: Cursor::new(*piece.scan.tree()),
            rowid: 0,
            record: Vec::new(),
            prefix: None,
            before: Vec::new(),
            is_first: true,
        }
    }

    /// Moves to the first entry after the cut `start`, or to the first entry of the piece. Returns `true` if there is such an entry.
    fn seek(&mut self, tree: &UnionTree<'a>, start: Option<&Cut>) -> Result<bool> {
        let Head { piece, pages, cursor, record: room, .. } = self;
        let mut failed = None;
        let sought = cursor.seek(pages, |rowid, record| {
            let Some(cut) = start else { return false };
            let order = match tree.kind {
                Kind::Table => piece.rowid(rowid).map(|rowid| rowid.cmp(&cut.rowid)),
                Kind::Index => tree
                    .check_record(piece, record)
                    .and_then(|()| piece.record(record, room))
                    .map(|record| tree.compare_cut(0, record, cut)),
            };
            match order {
                Ok(order) => order.is_le(),
                Err(error) => {
                    failed.get_or_insert(error);
                    false
                }
            }
        });
        failed.map_or(Ok(()), Err)?;
        sought.map_err(|error| piece.failed(error))
    }

    /// Moves to the next entry that is not left out. Returns `false` if no further entry of the piece is before the cut `end`.
    #[inline]
    fn next(&mut self, tree: &UnionTree<'a>, end: Option<&Cut>) -> Result<bool> {
        let is_left = self.cursor.next(&mut self.pages).map_err(|error| self.piece.failed(error))?;
        if is_left { self.enter(tree, end) } else { Ok(false) }
    }

    /// Makes the entry at the cursor the current entry, or the next entry if it is left out. Returns `false` if no further entry of the
    /// piece is before the cut `end`.
    #[inline]
    fn enter(&mut self, tree: &UnionTree<'a>, end: Option<&Cut>) -> Result<bool> {
        loop {
            let is_in_order = match tree.kind {
                Kind::Table => self.take_row()?,
                Kind::Index => self.take_entry(tree)?,
            };
            if !is_in_order && !self.is_first {
                return Err(tree.disorder(self.piece));
            }
            self.is_first = false;
            if end.is_some_and(|cut| self.is_after(tree, cut)) {
                return Ok(false);
            }
            let left_out = !self.piece.changes.left_out.is_empty() && {
                let rowid = match tree.kind {
                    Kind::Table => self.cursor.rowid(),
                    Kind::Index => self.piece.rowid_of_entry(self.cursor.record())?,
                };
                self.piece.changes.leaves_out(rowid)
            };
            if !left_out {
                return Ok(true);
            }
            if !self.cursor.next(&mut self.pages).map_err(|error| self.piece.failed(error))? {
                return Ok(false);
            }
        }
    }

    #[inline]
    fn is_after(&mut self, tree: &UnionTree<'a>, cut: &Cut) -> bool {
        let is_before = match tree.kind {
            Kind::Table => false,
            Kind::Index => tree.order.ascends_alike(&self.record, &cut.record) == Some(true),
        };
        // The records are compared only if the prefix does not show that the entry is before the cut.
        !is_before
            && self.prefix(tree) >= cut.prefix
            && tree.compare_cut(self.rowid, &self.record, cut).is_gt()
    }

    /// Returns the prefix of the key of the current entry, and computes it if necessary.
    #[inline]
    fn prefix(&mut self, tree: &UnionTree<'a>) -> u128 {
        *self.prefix.get_or_insert_with(|| tree.order.prefix(&self.record))
    }

    /// Makes the row at the cursor the current entry. Returns `true` if its rowid is greater than that of the row before; for the first
    /// row, the result has no meaning.
    #[inline]
    fn take_row(&mut self) -> Result<bool> {
        let rowid = self.piece.rowid(self.cursor.rowid())?;
        let is_after = rowid > self.rowid;
        self.rowid = rowid;
        self.prefix = Some(prefix_of(rowid));
        if !self.piece.changes.fields.is_empty() {
            self.piece.record(self.cursor.record(), &mut self.record)?;
        }
        Ok(is_after)
    }

    /// Makes the index entry at the cursor the current entry. Returns `true` if it sorts after the entry before.
    #[inline]
    fn take_entry(&mut self, tree: &UnionTree<'a>) -> Result<bool> {
        std::mem::swap(&mut self.record, &mut self.before);
        let prefix_before = self.prefix.take();
        let stored = self.cursor.record();
        let changes = !self.piece.changes.fields.is_empty();
        if !changes {
            self.record.clear();
            self.record.extend_from_slice(stored);
            // An entry that can be compared without decoding has the same header as the entry before. That entry is valid, so this one is,
            // too.
            if !self.is_first
                && let Some(is_after) = tree.order.ascends_alike(&self.before, stored)
            {
                return Ok(is_after);
            }
        }
        tree.check_record(self.piece, stored)?;
        if changes {
            self.piece.record(stored, &mut self.record)?;
        }
        if self.is_first {
            return Ok(true);
        }
        let before = prefix_before.unwrap_or_else(|| tree.order.prefix(&self.before));
        let order = before.cmp(&self.prefix(tree));
        Ok(order.then_with(|| tree.order.compare(&self.before, &self.record)).is_lt())
    }

    #[inline]
    fn entry(&self) -> UnionEntry<'_> {
        let is_stored = self.piece.scan.tree().kind == Kind::Table && self.piece.changes.fields.is_empty();
        let record = if is_stored { self.cursor.record() } else { &self.record };
        UnionEntry { piece: self.number, rowid: self.rowid, record, cursor: &self.cursor }
    }
}
