//! A copy of a database from start to end: its trees, one after another, its schema, page 1, and then its name.
//!
//! ```text
//!  source                                        target
//!  sqlite_schema  ── in its order ─────────────> page 1, with new roots
//!  trees          ── leaf by leaf, or entry ───> pages 2, 3, ... with no free page between
//!                       by entry, or sorted
//! ```
//!
//! An attempt takes every index to be in the order that it declares. One that is not is sorted by the next attempt.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::checksum::Checksum;
use sqluice_core::error::{Assumption, Error, Result};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_core::schema::Schema;
use sqluice_core::schema::index::Index;
use sqluice_core::schema::{self, Table};
use sqluice_core::sqlite_error::failed;
use sqluice_format::cell;
use sqluice_format::database;
use sqluice_format::database::{Header, write_schema_records};
use sqluice_format::page::{DATABASE_HEADER_BYTES, Geometry};
use sqluice_format::record;
use sqluice_format::scan::{Kind, Scan};
use sqluice_format::value::Value;
use sqluice_reader::pages::damaged;
use sqluice_reader::{Snapshot, StoredObject, StoredTree};

use crate::existing::entries::{self, TreePosition};
use crate::options::{OnConflict, WriteOptions};
use crate::output::{self, Discard, Exclusive, NewFile, Output, Replaced, Scratch, Wanted};
use crate::phases::{PhaseReport, Phases};
use crate::pipeline::{self, Appender, CopyTree, IndexJob, Keep, Settings, WrittenTree};
use crate::plan::Memory;
use crate::run::{self, Outcome};
use crate::sort::{Layout, Order, Prefetch, Sorter, Spill};

/// The place of the root page among the fields of a row of `sqlite_schema`.
const ROOT_FIELD: usize = 3;

/// What is copied, and how.
pub struct CopyJob<'a> {
    /// The source.
    pub snapshot: &'a Snapshot,
    /// Its schema.
    pub schema: &'a Schema,
    /// What is copied of it, in order.
    pub objects: &'a [CopiedObject<'a>],
    /// The header of the copy; the number of its pages is not known yet.
    pub header: Header,
    /// The file that is wanted.
    pub target: &'a Path,
    /// Whether all leaves are written anew.
    pub compact: bool,
    /// Whether all interior pages follow page 1. A copy with auto_vacuum has its roots there, and SQLite writes it.
    pub interior_first: bool,
    /// The mode of `PRAGMA auto_vacuum` that SQLite gives the copy: 1 is FULL, 2 INCREMENTAL; 0: it has none, and no SQLite is needed.
    pub auto_vacuum: u8,
    /// The source, if the copy takes its place.
    pub exclusive: Option<Arc<Exclusive>>,
    /// Threads, memory, temporary space, whether a database is replaced.
    pub options: &'a WriteOptions,
}

/// An object that is copied.
pub struct CopiedObject<'a> {
    /// The object.
    pub object: &'a StoredObject,
    /// Which rows are copied; `None`: all.
    pub keep: Option<Box<Keep<'a>>>,
}

/// What was copied.
#[derive(Debug)]
#[non_exhaustive]
pub struct Copied {
    /// The tree of each object, in their order; `None`: it has none. If SQLite wrote the pages, their numbers are unknown.
    pub trees: Vec<Option<CopiedTree>>,
    /// Pages of the file.
    pub pages: u32,
    /// The checksum of all pages; `None`: SQLite wrote them.
    pub checksum: Option<Checksum>,
    /// How pages got to the disk.
    pub output: &'static str,
    /// The database that was replaced.
    pub replaced: Option<Replaced>,
    /// What the time went into.
    pub phases: Vec<PhaseReport>,
    /// Worker threads.
    pub threads: usize,
    /// Seconds that it took.
    pub seconds: f64,
}

/// The copy of a tree.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CopiedTree {
    /// The tree.
    pub tree: WrittenTree,
    /// Leaves that were taken as they are.
    pub relocated: u64,
    /// Whether it was out of order, and was sorted.
    pub sorted: bool,
}

/// Copies.
///
/// # Errors
/// When the source can't be read or is damaged, or the target can't be written: it is as it was, or absent, then.
pub fn copy(job: &CopyJob<'_>, progress: &dyn Progress, cancel: &Cancel) -> Result<Copied> {
    // The trees that are sorted.
    let mut sorts = vec![false; job.objects.len()];
    run::run(
        &mut sorts,
        |sorts| Outcome::of(attempt(job, sorts, progress, &cancel.child())),
        |_, refuted| match refuted.assumption {
            Assumption::EntryOrder => Ok(()),
            _ => Err(refuted.error),
        },
    )
}

fn attempt(
    job: &CopyJob<'_>,
    sorts: &mut [bool],
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Copied> {
    let started = Instant::now();
    let total = Amount { rows: 0, bytes: job.snapshot.bytes() };
    progress.phase("copy", Some(total));
    let mut phases = Phases::new(progress, "copy");
    let geometry = job.header.geometry;
    let memory = Memory::divide(job.options, sorts.contains(&true))?;
    let place = output::place(job.target)?;
    let temp_dir = job.options.temp_dir.clone().unwrap_or_else(|| place.folder.clone());
    let settings = Settings {
        geometry,
        workers: memory.threads,
        chunk_bytes: job.options.tuning.chunk_bytes,
        chunks_per_worker: memory.chunks_per_worker,
        sort_bytes: memory.sort_bytes as usize,
        temp_dir,
        on_conflict: OnConflict::Abort,
        page_count: 1,
    };
    let wanted = Wanted {
        path: job.target,
        replaces: job.options.overwrite,
        estimated_bytes: Some(job.estimated_bytes()),
    };
    let file = match &job.exclusive {
        Some(exclusive) => NewFile::create_instead_of(exclusive, &wanted, geometry.page_bytes())?,
        None => NewFile::create(&wanted, geometry.page_bytes())?,
    };
    let replaced = file.replaced().cloned();
    let mut file: Box<dyn Output> = Box::new(file);
    let mut copying = Copying { job, header: job.header, settings: &settings, phases: &mut phases, cancel };
    let (trees, pages, checksum) = if job.auto_vacuum == 0 {
        // Interior pages are as many and as large wherever they stand: so they are counted first.
        let first_singles = match job.interior_first {
            true => Some(copying.pages(sorts, None, &mut Discard)?.singles),
            false => None,
        };
        let WrittenPages { trees, page_count, checksum, .. } =
            copying.pages(sorts, first_singles, &mut *file)?;
        (trees, page_count, Some(checksum))
    } else {
        let mut scratch = Scratch::create(&settings.temp_dir, &place)?;
        // SQLite reads it without a log beside it.
        copying.header = Header { write_version: 1, read_version: 1, ..job.header };
        let WrittenPages { trees, .. } = copying.pages(sorts, None, &mut scratch)?;
        phases.begin("sqlite", None);
        let to = file.path().expect("a new file has a path until it has its name");
        let pages = vacuum_into(scratch.path(), to, job.auto_vacuum, cancel)?;
        set_versions(to, &job.header).map_err(|error| {
            let what = format!("cannot write {}", job.target.display());
            output::explained(Error::target(what).about(job.target), error)
        })?;
        (trees, pages, None)
    };
    cancel.check()?;
    phases.begin("sync", None);
    let output = if job.auto_vacuum == 0 { file.describe() } else { "sqlite" };
    file.commit()?;
    Ok(Copied {
        trees,
        pages,
        checksum,
        output,
        replaced,
        phases: phases.finish(),
        threads: settings.workers,
        seconds: started.elapsed().as_secs_f64(),
    })
}

impl CopyJob<'_> {
    fn estimated_bytes(&self) -> u64 {
        let free = u64::from(self.snapshot.header().freelist_pages);
        self.snapshot.bytes().saturating_sub(free * self.snapshot.geometry().page_bytes() as u64)
    }

    /// The declaration of an object whose entries must have different keys.
    fn unique(&self, object: &StoredObject) -> Option<(&Table, &Index)> {
        let table = self.schema.table(&object.table)?;
        let index = match &*object.kind {
            "table" => table.clustered.as_ref(),
            _ => table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&object.name)),
        };
        index.filter(|index| index.unique).map(|index| (table, index))
    }
}

/// All pages of a copy.
struct WrittenPages {
    trees: Vec<Option<CopiedTree>>,
    page_count: u32,
    /// Pages that were appended one by one: interior pages, empty roots, those of the schema.
    singles: u32,
    checksum: Checksum,
}

/// On the way through the trees.
struct Copying<'c, 'p> {
    job: &'c CopyJob<'c>,
    header: Header,
    settings: &'c Settings,
    phases: &'c mut Phases<'p>,
    cancel: &'c Cancel,
}

impl Copying<'_, '_> {
    /// Writes all pages of the copy; if `first_singles` are given, that many pages that are no leaves first.
    fn pages(
        &mut self,
        sorts: &mut [bool],
        first_singles: Option<u32>,
        output: &mut dyn Output,
    ) -> Result<WrittenPages> {
        let Copying { job, settings, .. } = *self;
        let mut appender = match first_singles {
            Some(singles) => Appender::after_singles(singles, settings.geometry, settings.chunk_bytes),
            None => Appender::after(settings.page_count, settings.geometry, settings.chunk_bytes),
        };
        let mut made: Vec<Option<CopiedTree>> = vec![None; job.objects.len()];
        let with_trees: Vec<(usize, &StoredTree)> = (0..)
            .zip(job.objects)
            .filter_map(|(place, copied)| Some((place, copied.object.tree.as_ref()?)))
            .collect();
        let planned = sorts.to_vec();
        for group in with_trees.chunk_by(|(a, _), (b, _)| !planned[*a] && !planned[*b]) {
            match group {
                [(place, tree)] if planned[*place] => {
                    let tree = self.sort(*place, tree, &mut appender, output)?;
                    made[*place] = Some(CopiedTree { tree, relocated: 0, sorted: true });
                }
                _ => {
                    let copied = self.copy(group, sorts, &mut appender, output)?;
                    for ((place, _), copied) in group.iter().zip(copied) {
                        made[*place] = Some(copied);
                    }
                }
            }
        }
        let roots = made.iter().map(|made| made.map(|made| made.tree.root_page));
        let records = job.objects.iter().zip(roots).map(|(copied, root)| match root {
            Some(root) => with_root(&copied.object.record, root)
                .ok_or_else(|| damaged(job.snapshot.name(), "a row of sqlite_schema is no valid record")),
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

    /// Copies trees that are in order; notes those that are not.
    fn copy(
        &mut self,
        group: &[(usize, &StoredTree)],
        sorts: &mut [bool],
        appender: &mut Appender,
        output: &mut dyn Output,
    ) -> Result<Vec<CopiedTree>> {
        let Copying { job, settings, .. } = *self;
        let progress = self.phases.progress();
        let view = job.snapshot.view(progress, self.cancel);
        let takes_leaves = !job.compact && same_layout(job.snapshot.geometry(), settings.geometry);
        let mut pages = view.pages();
        let trees = group.iter().map(|(place, tree)| {
            let copied = &job.objects[*place];
            let source = job.snapshot.tree(tree.root_page, tree.kind);
            let scan = Scan::in_parts_of(&mut pages, source, settings.chunk_bytes / 2);
            Ok(CopyTree {
                what: copied.object.describe(),
                scan: scan.map_err(|error| view.failed(error))?,
                view,
                order: tree.order.clone(),
                takes_leaves,
                payload_bytes_max: match tree.kind {
                    Kind::Table => cell::table_leaf_local_max(settings.geometry),
                    Kind::Index => cell::index_local_max(settings.geometry),
                },
                keep: copied.keep.as_deref(),
                relocated: AtomicU64::new(0),
                out_of_order: AtomicBool::new(false),
            })
        });
        let trees = trees.collect::<Result<Vec<CopyTree<'_>>>>()?;
        let made = pipeline::copy_trees(&trees, settings, appender, output, progress, self.cancel);
        for ((place, _), tree) in group.iter().zip(&trees) {
            sorts[*place] |= tree.out_of_order.load(Ordering::Relaxed);
        }
        let relocated = trees.iter().map(|tree| tree.relocated.load(Ordering::Relaxed));
        let copied = made?.into_iter().zip(relocated);
        Ok(copied.map(|(tree, relocated)| CopiedTree { tree, relocated, sorted: false }).collect())
    }

    /// Sorts the entries of an index, and writes them.
    fn sort(
        &mut self,
        place: usize,
        tree: &StoredTree,
        appender: &mut Appender,
        output: &mut dyn Output,
    ) -> Result<WrittenTree> {
        let Copying { job, settings, cancel, .. } = *self;
        let object = job.objects[place].object;
        self.phases.begin(&format!("sort {}", object.name), None);
        let progress = self.phases.progress();
        let order = tree.order.clone().expect("only entries that have an order are out of it");
        let fields = order.columns().len()..=usize::MAX;
        let spill = Arc::new(Spill::new(settings.temp_dir.clone()));
        let share = settings.sort_bytes / 4 * 3;
        let layout = Layout { order: Order::Record(order), rowid: false, number: false };
        let sorter = Sorter::new(layout, share / settings.workers, &spill);
        let snapshot = job.snapshot;
        let position = TreePosition {
            root_page: tree.root_page,
            geometry: snapshot.geometry(),
            page_count: snapshot.page_count(),
        };
        let view = snapshot.view(progress, cancel);
        entries::of_index(view, (&object.name, fields), position, &sorter, settings.workers)?;
        let ahead = Arc::new(Prefetch::new(settings.workers)?);
        let sorted = sorter.sorted(share, settings.workers, &ahead, cancel)?;
        self.phases.begin(&format!("merge {}", object.name), Some(Amount { rows: sorted.items(), bytes: 0 }));
        let jobs = [IndexJob { sorted: &sorted, unique: job.unique(object) }];
        let made = pipeline::merge_indexes(&jobs, settings, appender, output, progress, cancel)?;
        self.phases.begin("copy", None);
        Ok(made.into_iter().next().unwrap_or_default())
    }
}

/// Whether pages of both databases have the same layout, so that leaves can be taken as they are.
fn same_layout(source: Geometry, target: Geometry) -> bool {
    (source.page_bytes(), source.reserved_bytes()) == (target.page_bytes(), target.reserved_bytes())
}

/// A row of `sqlite_schema` with another root page; `None`: it is no valid record.
fn with_root(record: &[u8], root_page: u32) -> Option<Vec<u8>> {
    let mut values = record::decode(record).ok()?;
    *values.get_mut(ROOT_FIELD)? = Value::Int(i64::from(root_page));
    let mut record = Vec::new();
    record::encode(&values, &mut record);
    Some(record)
}

/// Has SQLite write the database at `from` to the empty file `to`, with that mode of auto_vacuum. Returns its pages.
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
    let pages = vacuum().map_err(|error| failed(error, "write the copy"));
    cancel.check()?;
    pages
}

/// Gives a database that nothing has open the journal mode of a header: SQLite's statement would leave a log beside it.
fn set_versions(path: &Path, header: &Header) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.write_all_at(&[header.write_version, header.read_version], database::VERSIONS_AT as u64)
}
