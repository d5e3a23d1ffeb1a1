//! Copies one database, or merges several databases into one. The trees are written one after another, then the schema and page 1. At last,
//! the file gets its name.
//!
//! ```text
//!  sources                                       target
//!  sqlite_schema  ── in its order ─────────────> page 1, with new roots
//!  trees          ── as leaves or entries ─────> pages 2, 3, ... without free pages
//! ```
//!
//! An attempt copies each index in its existing order, and fails if the entries are not in the declared order of the index. The next
//! attempt sorts the entries of this index.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Assumption, Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Cancel, Context};
use sqluice_core::schema::Schema;
use sqluice_core::schema::index::Index;
use sqluice_core::schema::{self, Table};
use sqluice_core::sqlite_error::failed;
use sqluice_format::database::{Header, write_schema_records};
use sqluice_format::key::KeyOrder;
use sqluice_format::page::{DATABASE_HEADER_BYTES, Geometry};
use sqluice_format::record;
use sqluice_format::scan::Scan;
use sqluice_format::value::Value;
use sqluice_platform::names;
use sqluice_reader::{Snapshot, StoredObject, StoredTree};

use super::Outcome;
use super::placed_leaves::{PlacedLeaves, PlacedRanges};
use crate::existing::indexes::entries::{self, TreePosition};
use crate::options::{OnConflict, WriteOptions};
use crate::output::{
    self, Created, Discard, Exclusive, Output, ReadBack, Replaced, Replacement, Target, Wanted,
};
use crate::phases::{PhaseReport, Phases};
use crate::plan::Memory;
use crate::sort::{Layout, Order, Prefetch, Sorter, Spill};
use crate::trees::{
    self, Appender, Changes, CopyTree, IndexJob, Keep, KeyNames, Piece, SAMPLES_OF_PART, Settings, TreeCopy,
    UnionTree, WrittenTree, sequence_table,
};
use crate::verification::{self, Verification, VerifiedTree};

/// The number of the field `rootpage` in a row of `sqlite_schema`, counted from 0.
const ROOT_FIELD: usize = 3;

/// The objects and the settings of a copy to make.
pub struct CopyJob<'a> {
    /// The schema of the copy.
    pub schema: &'a Schema,
    /// The objects that are copied, in the order in which their trees and schema rows are written.
    pub objects: &'a [CopiedObject<'a>],
    /// The number of bytes of all sources, for the progress; and the number of bytes of their pages in use, from which the size of the copy
    /// is estimated.
    pub source_bytes: (u64, u64),
    /// The database header of the copy. Its page count is filled in when it is known.
    pub header: Header,
    /// The target of the copy.
    pub target: &'a Target,
    /// `true` if all leaves are built anew from their entries, so that the copy has no deleted bytes. Trees that were made for this copy
    /// have no deleted bytes, so their leaves are copied unchanged.
    pub compact: bool,
    /// `true` if all interior pages come directly after page 1, before all leaves. With auto_vacuum, SQLite writes the copy and puts only
    /// the roots after page 1.
    pub interior_first: bool,
    /// The mode of `PRAGMA auto_vacuum` of the copy: 0 (NONE), 1 (FULL) or 2 (INCREMENTAL). With FULL and INCREMENTAL, SQLite writes the
    /// pages of the copy.
    pub auto_vacuum: u8,
    /// The source, locked by this process, if the copy replaces the source.
    pub exclusive: Option<Arc<Exclusive>>,
    /// The source that the copy replaces, if any. On systems that can't replace open files, the file of this snapshot is closed before the
    /// replacement.
    pub replaced: Option<&'a Snapshot>,
    /// The source trees that are verified although no object copies them, because SQLite reads their rows.
    pub also_verified: Vec<VerifiedTree<'a>>,
    /// A function that changes the finished file with SQLite before the file gets its name, if needed.
    pub finish: Option<&'a Finish<'a>>,
    /// The options: threads, memory, temporary space, and replacement of an existing database.
    pub options: &'a WriteOptions,
}

impl<'a> CopyJob<'a> {
    /// Returns all source trees to verify.
    fn all_verified(&self) -> Vec<VerifiedTree<'a>> {
        let pieces = self.objects.iter().flat_map(|object| object.tree.pieces());
        let of_pieces = pieces.filter_map(|piece| piece.verified);
        self.also_verified.iter().copied().chain(of_pieces).collect()
    }

    /// Returns the source trees that are read only to be verified: their entries are sorted, merged or read by SQLite, so they can't be
    /// verified while they are copied. `sorts` is `true` for each object whose entries are sorted.
    fn read_for_verification(&self, sorts: &[bool]) -> Vec<VerifiedTree<'a>> {
        let is_copied = |object: &CopiedObject<'_>| matches!(object.tree, TreeContent::Copied(_));
        let objects = self.objects.iter().zip(sorts);
        let others = objects.filter(|(object, sorts)| **sorts || !is_copied(object));
        let pieces = others.flat_map(|(object, _)| object.tree.pieces());
        let of_pieces = pieces.filter_map(|piece| piece.verified);
        self.also_verified.iter().copied().chain(of_pieces).collect()
    }

    /// Returns the leaves that other processes have written already, if a table has such leaves.
    fn placed(&self) -> Option<PlacedLeaves<'a>> {
        self.objects.iter().find_map(|copied| match copied.tree {
            TreeContent::Placed(placed) => Some(placed),
            _ => None,
        })
    }
}

/// A function that changes the file at a path with SQLite, before the file gets its name.
pub type Finish<'a> = dyn Fn(&Path) -> Result<()> + 'a;

/// An object that is copied.
pub struct CopiedObject<'a> {
    /// The object as a source has it, with its row of `sqlite_schema`.
    pub object: &'a StoredObject,
    /// The source of the entries of the object's tree.
    pub tree: TreeContent<'a>,
    /// The filter of the copied rows; `None` if all rows are copied.
    pub keep: Option<Box<Keep<'a>>>,
}

/// The source of the entries of a copied tree.
pub enum TreeContent<'a> {
    /// The object has no tree, such as a view or a trigger.
    None,
    /// One tree, or several trees of the same kind, which are copied one after another. If the trees are tables, all rowids of a table are
    /// greater than the rowids of the table before.
    Copied(Vec<CopiedPiece<'a>>),
    /// Several trees of the same kind whose keys interleave, so that their entries are merged.
    United(Vec<CopiedPiece<'a>>),
    /// One or several trees of an index, and the order that their entries must have in the copy, which is not that of the trees. The
    /// entries are sorted.
    Sorted(Vec<CopiedPiece<'a>>, KeyOrder),
    /// The rows of `sqlite_sequence`: the name of each table and its largest rowid.
    Sequences(Vec<(String, i64)>),
    /// A table whose leaves other processes have written into the file already.
    Placed(PlacedLeaves<'a>),
}

/// A tree of a source that is copied, alone or together with trees of other sources.
pub struct CopiedPiece<'a> {
    /// The source database.
    pub snapshot: &'a Snapshot,
    /// The tree in the source database.
    pub tree: &'a StoredTree,
    /// The changes to the entries when they are copied, such as new rowids.
    pub changes: Changes<'a>,
    /// `true` if the tree was made for this copy. Its full leaves then hold no deleted bytes, and are copied unchanged even if `compact` is
    /// set.
    pub is_new: bool,
    /// The verification of the tree; `None` if the tree was made for this copy.
    pub verified: Option<VerifiedTree<'a>>,
}

impl<'a> CopiedPiece<'a> {
    fn new(snapshot: &'a Snapshot, tree: &'a StoredTree) -> CopiedPiece<'a> {
        CopiedPiece { snapshot, tree, changes: Changes::default(), is_new: false, verified: None }
    }

    /// Returns the piece that copies the tree of `object` without changes and verifies it, or `None` if the object has no tree.
    pub fn of_source(
        verification: &'a Verification<'a>,
        object: &'a StoredObject,
    ) -> Option<CopiedPiece<'a>> {
        let verified = Some(VerifiedTree { verification, object });
        let tree = object.tree.as_ref()?;
        Some(CopiedPiece { verified, ..CopiedPiece::new(verification.snapshot(), tree) })
    }

    /// Returns the piece that copies a tree that was made for this copy. It is not verified.
    pub fn of_new(snapshot: &'a Snapshot, tree: &'a StoredTree) -> CopiedPiece<'a> {
        CopiedPiece { is_new: true, ..CopiedPiece::new(snapshot, tree) }
    }
}

impl<'a> TreeContent<'a> {
    /// Returns the source trees that are copied, merged or sorted; none if the tree has another source.
    pub fn pieces(&self) -> &[CopiedPiece<'a>] {
        match self {
            TreeContent::Copied(pieces) | TreeContent::United(pieces) | TreeContent::Sorted(pieces, _) => {
                pieces
            }
            TreeContent::None | TreeContent::Sequences(_) | TreeContent::Placed(_) => &[],
        }
    }
}

/// The result of a copy.
#[derive(Debug)]
#[non_exhaustive]
pub struct Copied {
    /// The tree of each object, in the order of the objects; `None` if the object has no tree. If SQLite wrote the pages, the page numbers
    /// are not those of the file.
    pub trees: Vec<Option<CopiedTree>>,
    /// The number of pages of the file.
    pub pages: u32,
    /// The checksum of all pages; `None` if SQLite wrote them.
    pub checksum: Option<Checksum>,
    /// The kind of I/O that wrote the pages: `direct` or `buffered` for a file, `uploaded` or `spooled` for an object in an object store
    /// (as pages are made, or from a finished file), and `sqlite` if SQLite wrote them.
    pub output: &'static str,
    /// The existing database that the copy replaced, if any.
    pub replaced: Option<Replaced>,
    /// The method by which the copy replaced the existing database; `None` if it replaced none.
    pub replacement: Option<Replacement>,
    /// The temporary files that killed processes left behind, which were removed.
    pub removed: Vec<PathBuf>,
    /// The time that each phase took.
    pub phases: Vec<PhaseReport>,
    /// The number of worker threads.
    pub threads: usize,
    /// The seconds that the copy took.
    pub seconds: f64,
}

/// The result of copying one tree.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CopiedTree {
    /// The root page and the page counts in the copy.
    pub tree: WrittenTree,
    /// The number of leaves that were copied unchanged.
    pub relocated: u64,
    /// `true` if the entries were sorted, because the source has them out of order or in another order.
    pub sorted: bool,
}

/// Copies the objects of `job` to its target.
///
/// # Errors
/// If a source can't be read or is damaged, or the target can't be written. An existing target is unchanged then, and a new target does
/// not exist.
pub fn copy(job: &CopyJob<'_>, context: &Context<'_>) -> Result<Copied> {
    // `true` for each object whose entries are sorted. A failed attempt sets it for an index that is out of order.
    let is_sorted = |copied: &CopiedObject<'_>| matches!(copied.tree, TreeContent::Sorted(..));
    let mut sorts: Vec<bool> = job.objects.iter().map(is_sorted).collect();
    super::run(
        &mut sorts,
        |sorts| {
            let attempted = attempt(job, sorts, &context.child());
            // If a page is used twice, `in_order` reads the trees again. It gets the caller's cancel flag, because a failed attempt has set
            // its own flag.
            Outcome::of(
                attempted
                    .map_err(|error| Verification::in_order(error, &job.all_verified(), &context.cancel)),
            )
        },
        |_, refuted| match refuted.assumption {
            Assumption::EntryOrder => Ok(()),
            _ => Err(refuted.error),
        },
    )
}

fn attempt(job: &CopyJob<'_>, sorts: &mut [bool], context: &Context<'_>) -> Result<Copied> {
    let started = Instant::now();
    let total = Amount { rows: 0, bytes: job.source_bytes.0 };
    context.progress.phase("copy", Some(total));
    let mut phases = Phases::new(context.progress, "copy");
    let geometry = job.header.geometry;
    let memory = Memory::divide(job.options, sorts.contains(&true))?;
    let settings = Settings {
        geometry,
        workers: memory.threads,
        chunk_bytes: job.options.tuning.chunk_bytes,
        chunks_per_worker: memory.chunks_per_worker,
        sort_bytes: memory.sort_bytes as usize,
        temp_dir: job.target.temp_dir()?,
        ignores_checks: false,
        on_conflict: OnConflict::Abort,
        page_count: 1,
        counted_from: 0,
    };
    let mut wanted = Wanted::new(job.target.clone(), job.options.overwrite);
    wanted.estimated_bytes = Some(job.source_bytes.1);
    if let Some(placed) = job.placed() {
        // The file exists already and has most of its pages, so the free space on the disk is not checked.
        (wanted.continues, wanted.estimated_bytes) = (Some(placed.file.to_owned()), None);
    }
    let folder = (job.auto_vacuum > 0 || job.finish.is_some()).then_some(&*settings.temp_dir);
    let Created { output: mut file, replaced, mut removed } =
        output::create(&wanted, geometry, job.exclusive.as_ref(), folder, &context.cancel)?;
    let mut copying = Copying { job, header: job.header, settings: &settings, phases: &mut phases, context };
    if job.auto_vacuum > 0 || job.finish.is_some() {
        // Version 1 means a rollback journal mode, in which SQLite needs no WAL to change the file. `with_versions` sets the final versions
        // afterwards.
        copying.header = Header { write_version: 1, read_version: 1, ..job.header };
    }
    let with_versions = |path: &Path| {
        output::set_versions(path, [job.header.write_version, job.header.read_version]).map_err(|error| {
            let name = job.target.name();
            let failure = Error::target(format!("cannot write {}", name.display())).about(name);
            output::explained(failure, error)
        })
    };
    let (trees, pages, checksum) = if job.auto_vacuum == 0 {
        // If interior pages come first, their number must be known before the leaves are written. It does not depend on their position, so
        // the copy is made once without output to count them.
        let first_singles = match job.interior_first {
            true => Some(copying.pages(sorts, None, &mut Discard)?.singles),
            false => None,
        };
        let WrittenPages { trees, page_count, checksum, .. } =
            copying.pages(sorts, first_singles, &mut *file)?;
        match (job.finish, file.path()) {
            (Some(finish), Some(path)) => {
                let path = path.to_owned();
                copying.phases.begin("sqlite", None);
                finish(&path)?;
                with_versions(&path)?;
                let ReadBack { page_count, checksum } = output::read_back(&path, geometry, context)?;
                (trees, page_count, Some(checksum))
            }
            _ => (trees, page_count, Some(checksum)),
        }
    } else {
        let mut scratch = job.target.scratch()?;
        removed.extend(scratch.removed().iter().cloned());
        let WrittenPages { trees, .. } = copying.pages(sorts, None, &mut scratch)?;
        phases.begin("sqlite", None);
        let to = file.path().expect("a new file has a path until it has its name");
        if let Some(finish) = job.finish {
            finish(scratch.path())?;
        }
        let pages = vacuum_into(scratch.path(), to, job.auto_vacuum, &context.cancel)?;
        with_versions(to)?;
        (trees, pages, None)
    };
    context.cancel.check()?;
    phases.begin("sync", None);
    let output = if job.auto_vacuum == 0 { file.describe() } else { "sqlite" };
    if let (Some(snapshot), false) = (job.replaced, names::OPEN_FILES_ARE_REPLACED) {
        snapshot.close_file();
    }
    let replacement = file.commit()?;
    let by_sqlite = matches!(replacement, Some(Replacement::Transaction { .. }));
    Ok(Copied {
        trees,
        pages,
        checksum: checksum.filter(|_| !by_sqlite),
        output: if by_sqlite { "sqlite" } else { output },
        replaced,
        replacement,
        removed,
        phases: phases.finish(),
        threads: settings.workers,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// Returns the table and the index of an object whose entries must have different keys: a unique index or a WITHOUT ROWID table. Returns
/// `None` for other objects.
fn unique_of<'s>(schema: &'s Schema, object: &StoredObject) -> Option<(&'s Table, &'s Index)> {
    let table = schema.table(&object.table)?;
    let index = match &*object.kind {
        "table" => table.clustered.as_ref(),
        _ => table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&object.name)),
    };
    index.filter(|index| index.unique).map(|index| (table, index))
}

/// Returns the names with which messages describe the keys of an object.
fn key_names<'s>(schema: &'s Schema, object: &'s StoredObject) -> KeyNames<'s> {
    let declared = schema.table(&object.table);
    let declared = declared.map(|table| (table, unique_of(schema, object).map(|(_, index)| index)));
    KeyNames { table: &object.table, declared }
}

impl<'a> CopiedPiece<'a> {
    /// Opens the tree and divides it into parts of about `part_bytes` bytes. `what` names the tree in messages, and `target` is the layout
    /// of the copy's pages.
    pub(crate) fn piece(
        &'a self,
        what: &'a str,
        target: Geometry,
        (compact, part_bytes): (bool, usize),
        context: &'a Context<'a>,
    ) -> Result<Piece<'a>> {
        let CopiedPiece { snapshot, tree, changes, is_new, verified } = self;
        let view = snapshot.view(context.progress, &context.cancel);
        let scanned = snapshot.tree(tree.root_page, tree.kind);
        let scan = Scan::in_parts_of(&mut view.pages(), scanned, part_bytes);
        let failed = |error| match verified {
            Some(verified) => verified.failed(&view, error),
            None => view.failed(error),
        };
        let scan = scan.map_err(failed)?;
        let takes_leaves = (*is_new || !compact) && same_layout(snapshot.geometry(), target);
        Ok(Piece { what, scan, view, takes_leaves, changes: changes.clone(), verified: *verified })
    }

    /// Opens the tree like [`CopiedPiece::piece`]. If the tree is verified, also marks its pages as used while they are read: a page that
    /// is used twice is an error.
    pub(crate) fn claiming(
        &'a self,
        what: &'a str,
        target: Geometry,
        size: (bool, usize),
        context: &'a Context<'a>,
    ) -> Result<Piece<'a>> {
        let mut piece = self.piece(what, target, size, context)?;
        if let Some(verified) = self.verified {
            let claimed = piece.scan.claiming(verified.claims());
            piece.scan = claimed.map_err(|damage| verified.failed(&piece.view, damage.into()))?;
        }
        Ok(piece)
    }
}

/// A table or an index whose tree is united from the trees of several sources, in which rows of different sources may share keys.
pub struct SharedTree<'a> {
    /// The table or index, as one of the sources has it.
    pub object: &'a StoredObject,
    /// The tree of the object in each source, in the order of the sources.
    pub pieces: Vec<CopiedPiece<'a>>,
}

/// Finds the rows of a table that `on_conflict` leaves out because another row has the same key, as if the rows of one source after another
/// were inserted. Returns each row as the number of its source and its rowid in this source, in ascending order. Each element of `trees` is
/// the table or one of its unique indexes; all elements must list the sources in the same order.
///
/// # Errors
/// If a source can't be read or is damaged, or more rows share keys than the memory can hold.
pub fn repeated_rows(
    schema: &Schema,
    trees: &[SharedTree<'_>],
    on_conflict: OnConflict,
    options: &WriteOptions,
    context: &Context<'_>,
) -> Result<Vec<(u32, i64)>> {
    let memory = Memory::divide(options, true)?;
    let names: Vec<String> = trees.iter().map(|tree| tree.object.describe()).collect();
    let unions = trees.iter().zip(&names).map(|(SharedTree { object, pieces }, what)| {
        let size = (true, options.tuning.chunk_bytes / 2 / SAMPLES_OF_PART);
        let first = pieces.first().expect("a tree that is shared has pieces");
        let read = pieces.iter().map(|piece| piece.piece(what, first.snapshot.geometry(), size, context));
        let read = read.collect::<Result<Vec<_>>>()?;
        let order = first.tree.order.clone();
        let unique = unique_of(schema, object).map(|(_, index)| index.key_columns);
        UnionTree::new((what, first.tree.kind), read, order, unique, key_names(schema, object))
    });
    let unions = unions.collect::<Result<Vec<_>>>()?;
    trees::repeated_rows(&unions, on_conflict, memory.threads, memory.sort_bytes, &context.cancel)
}

/// The result of writing all pages of a copy.
struct WrittenPages {
    trees: Vec<Option<CopiedTree>>,
    page_count: u32,
    /// The number of single pages, which were appended one by one: interior pages, empty roots, and pages of the schema.
    singles: u32,
    checksum: Checksum,
}

/// The state of one attempt to make the copy.
struct Copying<'c, 'p> {
    job: &'c CopyJob<'c>,
    header: Header,
    settings: &'c Settings,
    phases: &'c mut Phases<'p>,
    context: &'c Context<'c>,
}

impl Copying<'_, '_> {
    /// Verifies the sources and writes all pages of the copy. If `first_singles` is given, interior pages and other single pages come
    /// directly after page 1, and `first_singles` is their number. If it is `None`, they come between the leaves.
    fn pages(
        &mut self,
        sorts: &mut [bool],
        first_singles: Option<u32>,
        output: &mut dyn Output,
    ) -> Result<WrittenPages> {
        let verifications = verification::of_trees(&self.job.all_verified());
        verifications.iter().for_each(|verification| verification.begin());
        let read = self.job.read_for_verification(sorts);
        Verification::read(&read, self.settings.workers, &self.context.cancel)?;
        let written = self.write(sorts, first_singles, output)?;
        verifications.iter().try_for_each(|verification| verification.finish())?;
        Ok(written)
    }

    /// Writes all pages of the copy. Verifies only the trees that are verified while they are copied. `sorts` and `first_singles` are as in
    /// [`Copying::pages`].
    fn write(
        &mut self,
        sorts: &mut [bool],
        first_singles: Option<u32>,
        output: &mut dyn Output,
    ) -> Result<WrittenPages> {
        let Copying { job, settings, .. } = *self;
        let (geometry, chunk_bytes) = (settings.geometry, settings.chunk_bytes);
        let mut placed = job.placed().map(|placed| PlacedRanges::open(&placed, geometry)).transpose()?;
        let mut appender = match (first_singles, &placed) {
            (Some(singles), _) => Appender::after_singles(singles, geometry, chunk_bytes),
            (None, Some(ranges)) => {
                Appender::after_placed(ranges.last_page, ranges.checksum, geometry, chunk_bytes)
            }
            (None, None) => Appender::after(settings.page_count, geometry, chunk_bytes),
        };
        let mut made: Vec<Option<CopiedTree>> = vec![None; job.objects.len()];
        let has_tree = |copied: &CopiedObject<'_>| !matches!(copied.tree, TreeContent::None);
        let with_trees: Vec<usize> =
            (0..job.objects.len()).filter(|&at| has_tree(&job.objects[at])).collect();
        let is_alone: Vec<bool> = (job.objects.iter().zip(&*sorts))
            .map(|(copied, sorts)| {
                *sorts || matches!(copied.tree, TreeContent::Sequences(_) | TreeContent::Placed(_))
            })
            .collect();
        for group in with_trees.chunk_by(|a, b| !is_alone[*a] && !is_alone[*b]) {
            match (group, &job.objects[group[0]].tree) {
                ([place], TreeContent::Sequences(rows)) => {
                    let tree = sequence_table::write(rows, &mut appender)?;
                    made[*place] = Some(CopiedTree { tree, ..CopiedTree::default() });
                }
                ([place], TreeContent::Placed(_)) => {
                    let ranges = placed.take().expect("one table has placed leaves");
                    let name = &job.objects[*place].object.name;
                    let (tree, relocated) = ranges.write_levels(name, geometry, &mut appender)?;
                    made[*place] = Some(CopiedTree { tree, relocated, sorted: false });
                }
                ([place], _) if is_alone[*place] => {
                    let tree = self.sort(*place, &mut appender, output)?;
                    made[*place] = Some(CopiedTree { tree, relocated: 0, sorted: true });
                }
                _ => {
                    let copied = self.copy(group, sorts, &mut appender, output)?;
                    for (place, copied) in group.iter().zip(copied) {
                        made[*place] = Some(copied);
                    }
                }
            }
        }
        let roots = made.iter().map(|made| made.map(|made| made.tree.root_page));
        let records = job.objects.iter().zip(roots).map(|(copied, root)| match root {
            Some(root) => with_root(&copied.object.record, root)
                .ok_or_else(|| Error::input("a row of sqlite_schema is not a valid record")),
            None => Ok(copied.object.record.clone()),
        });
        let records = records.collect::<Result<Vec<_>>>()?;
        let mut page_1 = write_schema_records(&records, settings.geometry, &mut appender);
        let (page_count, singles) = (appender.page_count(), appender.singles());
        let header = Header { page_count, ..self.header };
        page_1[..DATABASE_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let checksum = appender.finish(&page_1, output)?;
        Ok(WrittenPages { trees: made, page_count, singles, checksum })
    }

    /// Copies or merges, in one pass, the trees of the objects at the positions `group` of [`CopyJob::objects`]. If the entries of a tree
    /// are out of order, sets its element of `sorts` and returns an error.
    fn copy(
        &mut self,
        group: &[usize],
        sorts: &mut [bool],
        appender: &mut Appender,
        output: &mut dyn Output,
    ) -> Result<Vec<CopiedTree>> {
        let Copying { job, settings, context, .. } = *self;
        let names: Vec<String> = group.iter().map(|&place| job.objects[place].object.describe()).collect();
        let part_bytes = settings.chunk_bytes / 2;
        let trees = group.iter().zip(&names).map(|(&place, what)| {
            let CopiedObject { object, tree, keep } = &job.objects[place];
            let first = tree.pieces().first().expect("a tree that is copied has a piece").tree;
            let part_bytes = match tree {
                TreeContent::United(_) => part_bytes / SAMPLES_OF_PART,
                _ => part_bytes,
            };
            let size = (job.compact, part_bytes);
            let pieces = tree.pieces().iter().map(|piece| match tree {
                TreeContent::United(_) => piece.piece(what, settings.geometry, size, context),
                _ => piece.claiming(what, settings.geometry, size, context),
            });
            let pieces = pieces.collect::<Result<Vec<_>>>()?;
            if let TreeContent::United(_) = tree {
                let unique = unique_of(job.schema, object).map(|(_, index)| index.key_columns);
                let names = key_names(job.schema, object);
                let tree = UnionTree::new((what, first.kind), pieces, first.order.clone(), unique, names)?;
                return Ok(TreeCopy::United(tree));
            }
            let tree = CopyTree::new(what, first.kind, pieces, first.order.clone(), settings.geometry);
            Ok(TreeCopy::Copied(CopyTree { keep: keep.as_deref(), ..tree }))
        });
        let trees = trees.collect::<Result<Vec<TreeCopy<'_>>>>()?;
        let made = trees::write_copies(&trees, settings, appender, output, context);
        for (&place, tree) in group.iter().zip(&trees) {
            sorts[place] |= tree.is_out_of_order();
        }
        let relocated = trees.iter().map(TreeCopy::relocated);
        let copied = made?.into_iter().zip(relocated);
        Ok(copied.map(|(tree, relocated)| CopiedTree { tree, relocated, sorted: false }).collect())
    }

    /// Sorts the entries of the object at position `place` of [`CopyJob::objects`], an index or a WITHOUT ROWID table, and writes its tree.
    fn sort(
        &mut self,
        place: usize,
        appender: &mut Appender,
        output: &mut dyn Output,
    ) -> Result<WrittenTree> {
        let Copying { job, settings, context, .. } = *self;
        let CopiedObject { object, tree, .. } = &job.objects[place];
        self.phases.begin(&format!("sort {}", object.name), None);
        let order = match tree {
            TreeContent::Sorted(_, order) => Some(order.clone()),
            _ => tree.pieces().first().and_then(|first| first.tree.order.clone()),
        };
        let order = order.expect("only entries with an order can be out of order");
        let fields = order.columns().len()..=usize::MAX;
        let spill = Arc::new(Spill::new(settings.temp_dir.clone()));
        let share = settings.sort_bytes / 4 * 3;
        let layout = Layout { order: Order::Record(order), rowid: false, number: false };
        let sorter = Sorter::new(layout, share / settings.workers, &spill);
        for CopiedPiece { snapshot, tree, changes, .. } in tree.pieces() {
            let position = TreePosition {
                root_page: tree.root_page,
                geometry: snapshot.geometry(),
                page_count: snapshot.page_count(),
            };
            let entries = (&*object.name, fields.clone(), changes);
            let view = snapshot.view(context.progress, &context.cancel);
            entries::of_index(view, entries, position, &sorter, settings.workers)?;
        }
        let ahead = Arc::new(Prefetch::new(settings.workers)?);
        let sorted = sorter.sorted(share, settings.workers, &ahead, &context.cancel)?;
        self.phases.begin(&format!("merge {}", object.name), Some(Amount { rows: sorted.items(), bytes: 0 }));
        let jobs = [IndexJob { sorted: &sorted, unique: unique_of(job.schema, object) }];
        let made = trees::write_indexes(&jobs, settings, appender, output, context)?;
        self.phases.begin("copy", None);
        Ok(made.into_iter().next().unwrap_or_default())
    }
}

/// Returns `true` if pages of both databases have the same layout, so that leaves can be copied unchanged.
fn same_layout(source: Geometry, target: Geometry) -> bool {
    (source.page_bytes(), source.reserved_bytes()) == (target.page_bytes(), target.reserved_bytes())
}

/// Returns the record of a row of `sqlite_schema`, changed to the root page `root_page`, or `None` if `record` is not a valid record with
/// this field.
fn with_root(record: &[u8], root_page: u32) -> Option<Vec<u8>> {
    let mut values = record::decode(record).ok()?;
    *values.get_mut(ROOT_FIELD)? = Value::Int(i64::from(root_page));
    let mut record = Vec::new();
    record::encode(&values, &mut record);
    Some(record)
}

/// Lets SQLite copy the database at `from` to the empty file `to` with VACUUM INTO. The copy has the mode `auto_vacuum`. Returns the number
/// of pages of the copy.
fn vacuum_into(from: &Path, to: &Path, auto_vacuum: u8, cancel: &Cancel) -> Result<u32> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| Error::read(path, error));
    let (from, to): (PathBuf, PathBuf) = (absolute(from)?, absolute(to)?);
    let vacuum = || -> rusqlite::Result<u32> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&from, flags)?;
        let cancel = cancel.clone();
        connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
        connection.execute_batch(&format!("PRAGMA auto_vacuum = {auto_vacuum}"))?;
        let to = to.to_str().ok_or(rusqlite::Error::InvalidPath(to.clone()))?;
        connection.execute_batch(&format!("VACUUM INTO {}", schema::quoted_text(to)))?;
        drop(connection);
        let copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        copy.query_row("PRAGMA page_count", [], |row| row.get(0))
    };
    let pages = vacuum().map_err(|error| {
        let code_is_general = error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown);
        let error = failed(error, "write the copy");
        match code_is_general {
            // The usual cause of this error is a collation or function that only the database's own application defines.
            true => error.hint(message![
                Setting::AutoVacuum.to("none"),
                " makes the copy without SQLite, so that the application's functions and collations are not needed"
            ]),
            false => error,
        }
    });
    cancel.check()?;
    pages
}
