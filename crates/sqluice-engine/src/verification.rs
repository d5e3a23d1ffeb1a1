//! Verifies a source while its trees are copied.
//!
//! ```text
//!            what must hold                                        type that checks it
//!  pages     each used once by all trees that are read             Claims
//!  records   header and values describe the record to its end      Records
//!  sums      entries of an index == entries that the rows demand   Totals of both, compared when all trees are read
//! ```
//!
//! A tree that is copied leaf by leaf is verified during the copy ([`Piece`](crate::trees)). Trees whose entries are merged with those of
//! other trees, sorted, or inserted by SQLite are read once more for the verification (`Verification::read`).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqluice_core::error::{DamagedTree, Error, Result};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_format::check::spec::Table;
use sqluice_format::check::{Claims, Records, Totals, Wrong};
use sqluice_format::scan::{Leaf, Reader, Scan, ScanError, USED_TWICE, Visit};
use sqluice_reader::pages::{FileView, damaged};
use sqluice_reader::{Snapshot, StoredObject};

/// The number of entries between two checks of the cancel flag.
const CANCEL_ENTRIES: usize = 1 << 14;

/// The number of bytes of leaves that a thread reads at a time.
const PART_BYTES: usize = 1 << 20;

/// The verification of one source. Each attempt begins the verification again.
pub struct Verification<'a> {
    snapshot: &'a Snapshot,
    tables: Vec<Table>,
    /// For each tree, by its name in lower case: the position of its table in `tables`, and, for an index, its position in
    /// [`Table::indexes`].
    places: HashMap<String, (usize, Option<usize>)>,
    state: Mutex<State>,
}

struct State {
    claims: Arc<Claims>,
    /// The sums over the entries of each tree that was read so far, by the name of the tree in lower case.
    totals: HashMap<String, Totals>,
}

/// A tree of a source that is verified, and the verification of this source.
#[derive(Clone, Copy)]
pub struct VerifiedTree<'a> {
    /// The verification of the source.
    pub verification: &'a Verification<'a>,
    /// The table or index to which the tree belongs.
    pub object: &'a StoredObject,
}

impl<'a> Verification<'a> {
    /// Creates the verification of a source with these tables. Without tables, only pages and the form of records are verified.
    pub fn new(snapshot: &'a Snapshot, tables: Vec<Table>) -> Verification<'a> {
        let mut places = HashMap::new();
        for (number, table) in tables.iter().enumerate() {
            places.insert(table.name.to_ascii_lowercase(), (number, None));
            for (index, of_table) in table.indexes.iter().enumerate() {
                places.insert(of_table.name.to_ascii_lowercase(), (number, Some(index)));
            }
        }
        Verification { snapshot, tables, places, state: Mutex::new(State::new(snapshot)) }
    }

    /// Returns the source that is verified.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.snapshot
    }

    /// Forgets the results of an earlier attempt, so that the source is verified again from the start.
    pub(crate) fn begin(&self) {
        *self.state() = State::new(self.snapshot);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares each index that was read, except partial indexes, with its table, if the table was also read.
    ///
    /// # Errors
    /// The first index, in the order of the tables, whose entries differ from the entries that its table demands.
    pub(crate) fn finish(&self) -> Result<()> {
        let state = self.state();
        for table in &self.tables {
            let Some(rows) = state.totals.get(&table.name.to_ascii_lowercase()) else { continue };
            for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| !index.partial) {
                let Some(entries) = state.totals.get(&index.name.to_ascii_lowercase()) else { continue };
                if let Some((found, demanded)) = rows.differs(number, entries) {
                    let what = match found == demanded {
                        true => format!("index {} does not agree with table {}", index.name, table.name),
                        false => format!(
                            "index {} has {found} entries for the {demanded} rows of table {}",
                            index.name, table.name
                        ),
                    };
                    return Err(damaged(self.snapshot.name(), &what).damaged(DamagedTree {
                        is_index: true,
                        name: index.name.clone(),
                        table: table.name.clone(),
                        is_content: true,
                    }));
                }
            }
        }
        Ok(())
    }

    /// Reads trees on `threads` threads, only to verify them.
    ///
    /// # Errors
    /// The first fault in the order of the trees.
    pub(crate) fn read(trees: &[VerifiedTree<'_>], threads: usize, cancel: &Cancel) -> Result<()> {
        let scans = trees.iter().map(|tree| tree.scan(cancel)).collect::<Result<Vec<_>>>()?;
        let parts: Vec<(usize, usize)> = (scans.iter().enumerate())
            .flat_map(|(tree, scan)| (0..scan.parts()).map(move |part| (tree, part)))
            .collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut reader = Reader::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let &(tree, part) = parts.get(number)?;
                let read = trees[tree].read_part(&scans[tree], part, &mut reader, cancel);
                if let Err(error) = read {
                    // No further part is begun. The parts that are in progress are read on, because an earlier one may have an error, too.
                    next.store(parts.len(), Ordering::Relaxed);
                    return Some((number, error));
                }
            }
        };
        let first = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads.clamp(1, parts.len().max(1))).map(|_| scope.spawn(work)).collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            let errors = joined.collect::<Vec<std::thread::Result<_>>>().into_iter();
            let errors =
                errors.filter_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            errors.min_by_key(|(number, _)| *number)
        });
        first.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// If `error` says that a page is used twice, verifies the trees again on a single thread, and returns the error of this thread:
    /// several threads reach the page in any order. Returns any other error unchanged.
    pub(crate) fn in_order(error: Error, trees: &[VerifiedTree<'_>], cancel: &Cancel) -> Error {
        if !error.message().ends_with(USED_TWICE) {
            return error;
        }
        of_trees(trees).iter().for_each(|verification| verification.begin());
        trees.iter().find_map(|tree| Verification::read(&[*tree], 1, cancel).err()).unwrap_or(error)
    }
}

/// Returns the verifications of the trees, without repetitions.
pub(crate) fn of_trees<'a>(trees: &[VerifiedTree<'a>]) -> Vec<&'a Verification<'a>> {
    let mut seen = HashSet::new();
    let verifications = trees.iter().map(|tree| tree.verification);
    verifications.filter(|verification| seen.insert(std::ptr::from_ref(*verification))).collect()
}

impl State {
    fn new(snapshot: &Snapshot) -> State {
        State { claims: Arc::new(Claims::new(snapshot.page_count())), totals: HashMap::new() }
    }
}

impl<'a> VerifiedTree<'a> {
    /// Returns the pages of the source that have been read.
    pub(crate) fn claims(&self) -> Arc<Claims> {
        Arc::clone(&self.verification.state().claims)
    }

    /// Returns the verification of records for a part of the tree.
    pub(crate) fn records(&self) -> Records<'a> {
        let Verification { snapshot, tables, places, .. } = self.verification;
        match places.get(&self.object.name.to_ascii_lowercase()) {
            Some(&(table, None)) if self.object.kind == "table" => {
                Records::of_table(&tables[table], snapshot.header().used_text_encoding())
            }
            Some(&(table, Some(index))) if self.object.kind == "index" => {
                Records::of_index(&tables[table].indexes[index])
            }
            _ => Records::unknown(),
        }
    }

    /// Adds the verified records of a part.
    pub(crate) fn add(&self, records: Records<'_>) {
        let name = self.object.name.to_ascii_lowercase();
        self.verification.state().totals.entry(name).or_default().add(&records.totals());
    }

    /// Returns the error for a page of the tree.
    pub(crate) fn failed(&self, view: &FileView<'_>, error: ScanError<Error>) -> Error {
        view.failed_in(self.damaged(false), error)
    }

    /// Returns the error for a record of the tree, with its page if known.
    #[cold]
    pub(crate) fn wrong(&self, wrong: &Wrong, rowid: i64, page: Option<u32>) -> Error {
        let tree = self.object.describe();
        let page = page.map_or(String::new(), |page| format!(", page {page}"));
        let row = match (&*self.object.kind, self.object.tree.as_ref().map(|tree| tree.kind)) {
            ("table", Some(sqluice_format::scan::Kind::Table)) => format!("row {rowid}"),
            ("table", _) => "a row".to_owned(),
            _ => "an entry".to_owned(),
        };
        let what = format!("{tree}{page}, {row}: {wrong}");
        let is_content = matches!(wrong, Wrong::Value(..));
        damaged(self.verification.snapshot.name(), &what).damaged(self.damaged(is_content))
    }

    fn damaged(&self, is_content: bool) -> DamagedTree {
        let StoredObject { kind, name, table, .. } = self.object;
        DamagedTree { is_index: kind == "index", name: name.clone(), table: table.clone(), is_content }
    }

    fn scan(&self, cancel: &Cancel) -> Result<Scan> {
        let snapshot = self.verification.snapshot;
        let view = snapshot.view(&Silent, cancel);
        let stored = self.object.tree.as_ref().expect("an object that is verified has a tree");
        let tree = snapshot.tree(stored.root_page, stored.kind);
        let scan = Scan::in_parts_of(&mut view.pages(), tree, PART_BYTES);
        let scan = scan.and_then(|scan| Ok(scan.claiming(self.claims())?));
        scan.map_err(|error| self.failed(&view, error))
    }

    fn read_part(&self, scan: &Scan, part: usize, reader: &mut Reader, cancel: &Cancel) -> Result<()> {
        let view = self.verification.snapshot.view(&Silent, cancel);
        let mut look = Look { tree: *self, records: self.records(), cancel, entries: 0 };
        let read = scan.visit(part, &mut view.pages(), reader, &mut look);
        let Look { records, .. } = look;
        read.map_err(|error| self.failed(&view, error))?;
        self.add(records);
        Ok(())
    }
}

/// A visitor that verifies the records of a part.
struct Look<'l, 'a> {
    tree: VerifiedTree<'a>,
    records: Records<'a>,
    cancel: &'l Cancel,
    entries: usize,
}

impl Visit<Error> for Look<'_, '_> {
    const TAKES_LEAVES: bool = true;

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<bool> {
        self.cancel.check()?;
        for entry in 0..leaf.entries() {
            let (rowid, record) = leaf.entry(entry);
            let added = self.records.add(rowid, record);
            added.map_err(|wrong| self.tree.wrong(&wrong, rowid, Some(leaf.number())))?;
        }
        Ok(true)
    }

    fn entry(&mut self, rowid: i64, record: &[u8], _: bool) -> Result<()> {
        self.entries += 1;
        if self.entries.is_multiple_of(CANCEL_ENTRIES) {
            self.cancel.check()?;
        }
        self.records.add(rowid, record).map_err(|wrong| self.tree.wrong(&wrong, rowid, None))
    }
}
