//! `copy`: copies a database, or some of its tables, to a new file without free pages.
//!
//! ```no_run
//! use sqluice::copy::Copy;
//!
//! let report = Copy::new("app.db", "backup.db").run()?;
//! println!("{} to {} bytes", report.source_bytes, report.bytes);
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! The copy is one committed state of the source. Other processes may use the source meanwhile. In WAL mode they may also write; with a
//! rollback journal, their commits wait for the end of the copy. Tables keep their rowids, and `sqlite_schema` keeps its order and text,
//! unless the copy is masked. Full leaves are copied unchanged and other leaves are rewritten, or all are ([`Copy::compact`]). The order of
//! indexes is verified, except by a collation of an application.
//!
//! A copy may leave out rows by conditions and samples ([`Copy::filter`], [`Copy::sample`]), and the rows that refer to them
//! ([`Copy::sample_children`]).
//!
//! A copy may be **masked** ([`Masking`]): the columns in a mask file get other values.
//!
//! If the source is also the target, the copy replaces the source, like VACUUM, and no other process may use the database meanwhile. The
//! new file is renamed, or, if other processes might have the old one open without being noticed, a transaction writes its pages into the
//! old file ([`Replacement`]).

mod by_sqlite;
#[cfg(feature = "export")]
mod inspect_file;
mod mask;
mod options;
mod plan;
mod purpose;
mod report;
mod selection;
#[cfg(feature = "export")]
mod sql_pieces;
mod subset;
mod verify;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sqluice_core::error::{DamagedTree, Error, Message, Result, Setting, message};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::schema::Schema;
use sqluice_core::schema::index::Index;
use sqluice_engine::attempts::copied_database::{self, CopiedObject, CopiedPiece, CopyJob, TreeContent};
#[cfg(feature = "export")]
use sqluice_engine::output::WholeFile;
use sqluice_engine::output::{Exclusive, Replacement, Target, Wanted};
use sqluice_engine::plan::Memory;
use sqluice_engine::report::PhaseReport;
use sqluice_engine::verification::Verification;
use sqluice_format::database::Header;
use sqluice_format::page::{Geometry, PageSize};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

pub(crate) use by_sqlite::{begin_temporary, in_new_file, means_of_text};
pub use mask::{
    CopiedLiteral, MaskFile, MaskKey, MaskPlan, MaskWarning, MaskedColumn, Masking, Remark, SecondPlace,
    StrippedText, read_key,
};
use mask::{FullText, MaskedTables, Masks, Texts, is_sample, sequences};
pub use options::{AutoVacuum, Copy, JournalMode, Sample};
pub use plan::{CopyPlan, PlannedTree};
use purpose::Settled;
pub use purpose::{ChosenSetting, Purpose};
pub use report::{CopiedIndex, CopiedTable, CopyReport};
use selection::Selection;
pub(crate) use selection::owner;
pub use subset::{BrokenReference, LeftOutRows, RowSelection, SelectedRows};
use subset::{Conditions, Subset};
pub(crate) use verify::{of_application, verification, with_remedy, without_table};

pub use crate::references::Orphans;
use crate::remote;
use sqluice_generator::Preview;
use sqluice_platform::identity::is_same;

/// A copy with its plan, which [`Copy::prepare`] returns.
#[derive(Clone, Debug)]
pub struct PreparedCopy {
    copy: Copy,
    plan: CopyPlan,
}

/// The source, opened for the plan or the run, and everything that is known about the copy.
struct Opened {
    /// The copy with the settings of its purpose.
    settled: Settled,
    snapshot: Arc<Snapshot>,
    schema: Schema,
    objects: Vec<StoredObject>,
    selection: Selection,
    conditions: Conditions,
    /// The rows that are left out; `None` until they are known, or if all rows are copied.
    subset: Option<Subset>,
    masked: Option<Masked>,
}

/// The reason why the rows of a table are encoded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remade {
    /// Columns are masked, and rows may be left out.
    Masked,
    /// Rows are left out.
    Reduced,
}

/// The parts of a copy that only a masked copy has.
struct Masked {
    masks: Masks,
    full_text: Vec<FullText>,
    plan: MaskPlan,
    /// The time that the search for personal data in unmasked columns took.
    search: PhaseReport,
}

impl Opened {
    /// Finds the rows that are left out, if the copy has conditions or samples.
    fn without_rows(mut self, context: &Context<'_>) -> Result<Opened> {
        if !self.conditions.is_empty() {
            self.subset = Some(Subset::new(&self, context)?);
        }
        Ok(self)
    }

    /// Returns the reason why the rows of a table are encoded again; `None` if its tree is copied.
    fn remade(&self, table: &str) -> Option<Remade> {
        if self.masked.as_ref().is_some_and(|masked| masked.masks.has(&self.schema, table)) {
            return Some(Remade::Masked);
        }
        let is_it = |number: usize| self.schema.tables[number].name.eq_ignore_ascii_case(table);
        let is_reduced = match &self.subset {
            Some(subset) => subset.tables().any(is_it),
            None => self.conditions.has(&self.schema, table),
        };
        is_reduced.then_some(Remade::Reduced)
    }

    /// Determines the masks, if the copy is masked, and searches for personal data that they leave in the copy.
    fn masked(mut self, context: &Context<'_>) -> Result<Opened> {
        if let Some(masking) = self.settled.copy.mask.clone() {
            self.masked = Some(Masked::new(&masking, &mut self, context)?);
        }
        Ok(self)
    }

    /// Returns the setting that leaves out a damaged table or index, as a hint; `None` if no setting does.
    fn without(&self, DamagedTree { is_index, name, table, .. }: &DamagedTree) -> Option<Message> {
        let is_it = |index: &&Index| index.name.eq_ignore_ascii_case(name);
        let index = self.schema.table(table).and_then(|table| table.indexes.iter().find(is_it));
        if *is_index && index.is_some_and(|index| !index.unique && index.sql.is_some()) {
            return Some(message![Setting::NoIndexes, " leaves indexes out, and keeps all rows"]);
        }
        let shadows = self.snapshot.shadow_tables().unwrap_or_default();
        without_table(owner(table, &shadows, &self.objects))
    }
}

impl Copy {
    /// If the target is a URL, connects to its store, so that [`Copy::wanted`] knows the store. Without this call, the plan and the run
    /// connect.
    ///
    /// # Errors
    /// If the store can't be reached.
    #[doc(hidden)]
    pub fn connect(mut self, context: &Context<'_>) -> Result<Copy> {
        remote::connect(Some(&self.target), &mut self.write, &context.cancel)?;
        Ok(self)
    }

    /// Examines the source and plans the copy. Writes nothing but a temporary file, if the source is downloaded.
    ///
    /// # Errors
    /// As [`Copy::run_with`], except for errors that only the run finds.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedCopy> {
        context.cancel.check()?;
        let copy = self.clone().connect(context)?;
        let plan = copy.plan(context)?;
        Ok(PreparedCopy { copy, plan })
    }

    fn plan(&self, context: &Context<'_>) -> Result<CopyPlan> {
        let settled = Settled::new(self)?;
        settled.copy.refuse_target(&settled.wanted)?;
        // Find the replacement before the source is read: the search opens and closes the source's file, and closing a file drops all
        // locks of this process on the file.
        let replacement = settled.copy.replacement(&settled.wanted)?;
        let opened = Copy::open(settled, None, context)?.masked(context)?;
        let copy = &opened.settled.copy;
        let mode = copy.mode(opened.snapshot.journal_mode() == "wal");
        let header = copy.header(&opened.snapshot, mode)?;
        Ok(CopyPlan::new(&opened, &header, mode, replacement))
    }

    /// Returns the first copied rows of each masked table, `rows` at most, with their new values. Without a key file, the new values
    /// differ in each run. If conditions or samples leave out rows, a temporary file is written with the keys of these rows.
    ///
    /// # Errors
    /// As [`Copy::prepare`], or if the copy has no masks.
    pub fn preview(&self, rows: u64, context: &Context<'_>) -> Result<Vec<Preview>> {
        let opened = Copy::open(Settled::new(self)?, None, context)?;
        match &self.mask {
            Some(masking) => {
                let opened = opened.without_rows(context)?;
                let masks = Masked::masks(masking, &opened, &context.cancel)?;
                mask::preview(&opened, &masks, rows, &context.cancel)
            }
            None => Err(Error::usage("a preview shows masked rows, and this copy has no masks")
                .hint(message!["name a file of masks: ", Setting::Mask.to("FILE")])),
        }
    }

    /// Copies without progress reports.
    ///
    /// # Errors
    /// As [`Copy::run_with`].
    pub fn run(&self) -> Result<CopyReport> {
        self.run_with(&Context::default())
    }

    /// Copies. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If the source can't be read or is damaged, a condition or a mask can't be applied, left-out objects or rows break copied ones, or
    /// the target exists or can't be written. The target is then unchanged, or absent; it is complete only if the error is about the file
    /// that a copy for Datasette has beside it.
    pub fn run_with(&self, context: &Context<'_>) -> Result<CopyReport> {
        if remote::is_unconnected(Some(&self.target), &self.write) {
            return self.clone().connect(context)?.run_with(context);
        }
        let settled = Settled::new(self)?;
        settled.copy.refuse_target(&settled.wanted)?;
        context.progress.phase("lock", None);
        // The lock is dropped after the snapshot, when the whole source has been read.
        let exclusive = match self.is_in_place() {
            true => {
                Some(Arc::new(Exclusive::take(&Target::resolve(&self.source, &self.write), &context.cancel)?))
            }
            false => None,
        };
        let is_wal = exclusive.as_ref().is_some_and(|exclusive| exclusive.is_wal());
        let opened = Copy::open(settled, exclusive.as_deref(), context)?;
        let opened = opened.without_rows(context)?.masked(context)?;
        #[cfg(feature = "export")]
        if self.purpose == Some(Purpose::D1) {
            return sql_pieces::write(&opened, context);
        }
        let report = opened.settled.copy.write_file(&opened, exclusive, is_wal, context)?;
        drop(opened);
        #[cfg(feature = "export")]
        let report = report.finish(self, &context.cancel)?;
        Ok(report)
    }

    /// Writes the new file.
    fn write_file(
        &self,
        opened: &Opened,
        exclusive: Option<Arc<Exclusive>>,
        is_wal: bool,
        context: &Context<'_>,
    ) -> Result<CopyReport> {
        let Opened { snapshot, schema, objects, selection, masked, subset, .. } = opened;
        let header = self.header(snapshot, self.mode(is_wal))?;
        let verification = verification(snapshot, schema, self.no_verify)?;
        let none = Masks::default();
        let masks = masked.as_ref().map_or(&none, |masked| &masked.masks);
        let is_reduced = opened.subset.as_ref().is_some_and(|subset| subset.tables().next().is_some());
        let made = match masked.is_some() || is_reduced {
            true => Some(MaskedTables::make((self, opened, masks), &header, context)?),
            false => None,
        };
        let of_rows =
            if masked.is_none() && is_reduced { FullText::of_fewer_rows(opened)? } else { Vec::new() };
        let full_text = masked.as_ref().map_or(&of_rows[..], |masked| &masked.full_text);
        let shadows = if full_text.is_empty() { HashSet::new() } else { snapshot.shadow_tables()? };
        let is_made_again = |object: &StoredObject| {
            let lower = object.table.to_ascii_lowercase();
            full_text
                .iter()
                .any(|table| table.name.eq_ignore_ascii_case(&lower) || table.owns(&lower, &shadows))
        };
        let is_left_out = |object: &StoredObject| {
            let is_remade = masked.is_some() || is_reduced;
            is_remade && (is_sample(&object.name) || is_made_again(object))
        };
        let copied: Vec<CopiedObject<'_>> = objects
            .iter()
            .filter(|object| selection.has(object) && !is_left_out(object))
            .map(|object| {
                let tree = self.content(opened, made.as_ref(), (&verification, object))?;
                Ok(CopiedObject { object, tree, keep: selection.keep(object, snapshot.header()) })
            })
            .collect::<Result<_>>()?;
        let finish = |path: &Path| FullText::finish(full_text, snapshot, (path, &self.write), context);
        let job = CopyJob {
            schema,
            objects: &copied,
            source_bytes: (snapshot.bytes(), snapshot.used_bytes()),
            header,
            target: &opened.settled.wanted.target,
            compact: self.compact || masked.is_some(),
            interior_first: self.interior_first,
            auto_vacuum: self.auto_vacuum_of(snapshot).number(),
            replaced: exclusive.is_some().then_some(&**snapshot),
            exclusive,
            also_verified: Vec::new(),
            finish: (!full_text.is_empty()).then_some(&finish),
            options: &self.write,
        };
        let written = copied_database::copy(&job, context);
        let written = written.map_err(|error| with_remedy(error, |tree| opened.without(tree)))?;
        let report = CopyReport::new(opened, &copied, &written, header.geometry);
        let report = made.iter().fold(report, |report, made| report.after(&made.phases));
        let report =
            masked.iter().fold(report, |report, masked| report.after(std::slice::from_ref(&masked.search)));
        Ok(subset.iter().fold(report, |report, subset| report.after(std::slice::from_ref(&subset.phase))))
    }

    /// Returns the source of the pages or rows of an object.
    fn content<'a>(
        &self,
        opened: &'a Opened,
        made: Option<&'a MaskedTables>,
        (verification, object): (&'a Verification<'a>, &'a StoredObject),
    ) -> Result<TreeContent<'a>> {
        let piece = CopiedPiece::of_source(verification, object);
        let Some(piece) = piece else { return Ok(TreeContent::None) };
        let Some(made) = made else { return Ok(TreeContent::Copied(vec![piece])) };
        if let Some(masked) = &opened.masked
            && object.name.eq_ignore_ascii_case("sqlite_sequence")
        {
            return Ok(TreeContent::Sequences(masked_sequences(&opened.snapshot, &masked.masks, made)?));
        }
        if opened.remade(&object.table).is_none() {
            return Ok(TreeContent::Copied(vec![piece]));
        }
        let (snapshot, object) = made.object(object)?;
        let piece = object.tree.as_ref().map(|tree| CopiedPiece::of_new(snapshot, tree));
        Ok(piece.map_or(TreeContent::None, |piece| TreeContent::Copied(vec![piece])))
    }

    /// Opens the source, without masks. `exclusive` is the connection that has locked the source, if the copy replaces the source.
    fn open(mut settled: Settled, exclusive: Option<&Exclusive>, context: &Context<'_>) -> Result<Opened> {
        let this = settled.copy.clone();
        if this.write.threads == Some(0) {
            return Err(Error::usage(message![Setting::Threads, " must be at least 1"]));
        }
        // Checks that the memory suffices. Sorting needs more memory, but only the run finds out which B-trees are out of order.
        Memory::divide(&this.write, false)?;
        let mut options = ReadOptions::new();
        options.busy_timeout = this.write.busy_timeout;
        options.requests = this.write.requests;
        options.busy_limit = this.busy_limit;
        options.pending_byte = Some(this.write.tuning.pending_byte);
        let snapshot = match exclusive {
            Some(exclusive) => Snapshot::of_exclusive(&this.source, exclusive.connection(), &options)?,
            None => {
                let folder = settled.wanted.target.temp_dir()?;
                remote::snapshot(&this.source, &folder, &options, context)?
            }
        };
        settled.look_at(snapshot.header())?;
        this.refuse_interior_first(&snapshot)?;
        let objects = snapshot.objects(&context.cancel)?;
        let schema = snapshot.schema()?;
        let selection = Selection::new(&this, &snapshot, &schema, &objects)?;
        let conditions = Conditions::new(&this, (&snapshot, &schema), &objects, &selection)?;
        if !conditions.is_empty() {
            refuse_old_descending(&snapshot, &schema)?;
        }
        let snapshot = Arc::new(snapshot);
        let (subset, masked) = (None, None);
        Ok(Opened { settled, snapshot, schema, objects, selection, conditions, subset, masked })
    }

    /// Refuses options that contradict each other, and a target that exists and may not be replaced. Must be called before the source is
    /// read, as closing the source's file would drop its locks.
    fn refuse_target(&self, wanted: &Wanted) -> Result<()> {
        self.refuse_masked()?;
        self.refuse_without_rows()?;
        if self.is_in_place() {
            return self.refuse_statements_in_place();
        }
        self.refuse_beside()?;
        if self.purpose == Some(Purpose::D1) {
            return Ok(());
        }
        let is_file = self.write.destination.is_none();
        if is_file && !self.write.overwrite && self.target.metadata().is_ok_and(|metadata| !metadata.is_dir())
        {
            return Err(Error::target(format!("{} already exists", self.target.display()))
                .about(&self.target)
                .hint(message!["name another file, or replace this one: ", Setting::Overwrite]));
        }
        wanted.refuse()
    }

    /// Refuses options that contradict a masked copy.
    fn refuse_masked(&self) -> Result<()> {
        match self.purpose {
            _ if self.mask.is_none() => Ok(()),
            _ if self.is_in_place() => Err(Error::usage("a masked copy can't replace its source")
                .hint("name another file: the source has what the masks hide")),
            Some(Purpose::D1) => Err(Error::usage("a copy for d1 can't be masked")
                .hint("make a masked copy first, then copy that database for d1")),
            _ => Ok(()),
        }
    }

    /// Refuses options that contradict left-out rows. If all rows are copied, refuses options that only concern left-out rows.
    fn refuse_without_rows(&self) -> Result<()> {
        if self.leaves_rows_out() {
            return match self.purpose {
                _ if self.is_in_place() => {
                    Err(Error::usage("a copy without some rows can't replace its source")
                        .hint("name another file: the left-out rows would be lost"))
                }
                Some(Purpose::D1) => Err(Error::usage("a copy for d1 can't leave out rows")
                    .hint("copy without these rows to a database first, then copy that database for d1")),
                _ => Ok(()),
            };
        }
        let given = [
            (self.sample_children, Setting::SampleChildren),
            (self.orphans == Orphans::Keep, Setting::Orphans),
            (self.mask.is_none() && !self.references.is_empty(), Setting::Reference),
            (self.mask.is_none() && !self.no_references.is_empty(), Setting::NoReference),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, setting)) => {
                let message =
                    message![setting, " is for copies that leave rows out, and this copy has all rows"];
                let hint = message![Setting::Where, " and ", Setting::Sample, " leave rows out"];
                Err(Error::usage(message).hint(hint))
            }
            None => Ok(()),
        }
    }

    fn refuse_statements_in_place(&self) -> Result<()> {
        match self.purpose {
            Some(Purpose::D1) => Err(Error::usage(
                "a copy for d1 is a folder of SQL files, which can't replace the source database",
            )
            .hint("name a new folder as the target")),
            _ => self.refuse_beside(),
        }
    }

    /// Refuses a purpose that this build does not have, a purpose with several files if the target is a URL, and an existing file at the
    /// path of the file that the purpose writes beside the copy.
    fn refuse_beside(&self) -> Result<()> {
        match self.purpose {
            Some(purpose @ (Purpose::D1 | Purpose::Datasette)) if self.write.destination.is_some() => {
                Err(Error::usage(format!(
                    "a copy for {} has several files, and can't go to a URL",
                    purpose.name()
                ))
                .hint("copy to a local folder, and send all of them"))
            }
            #[cfg(feature = "export")]
            Some(Purpose::Datasette) => {
                WholeFile::refuse(&inspect_file::path(&self.target), self.write.overwrite)
            }
            #[cfg(not(feature = "export"))]
            Some(purpose @ (Purpose::D1 | Purpose::Datasette)) => {
                Err(Error::usage(format!("copies for {} are not built in", purpose.name())))
            }
            _ => Ok(()),
        }
    }

    /// Refuses `interior_first` for a file whose first pages SQLite needs for something else, such as auto_vacuum.
    fn refuse_interior_first(&self, snapshot: &Snapshot) -> Result<()> {
        if !self.interior_first || self.auto_vacuum_of(snapshot) == AutoVacuum::None {
            return Ok(());
        }
        let whose = if self.auto_vacuum.is_some() { "" } else { ", as its source has it" };
        let message = format!(
            "interior pages cannot be first in a copy with auto_vacuum{whose}: SQLite needs the root pages there"
        );
        Err(Error::usage(message)
            .hint(message!["make a copy without auto_vacuum: ", Setting::AutoVacuum.to("none")]))
    }

    /// Returns `true` if the copy replaces the source.
    pub fn is_in_place(&self) -> bool {
        is_same(&self.source, &self.target)
    }

    /// Returns the method that will replace the file at the target; `None` if no file is replaced.
    fn replacement(&self, wanted: &Wanted) -> Result<Option<Replacement>> {
        if self.purpose == Some(Purpose::D1) || !(self.is_in_place() || self.write.overwrite) {
            return Ok(None);
        }
        wanted.replacing().replacement(self.page_size.map(PageSize::bytes))
    }

    /// Returns the request for the new file: its path, and the replacement of an existing file.
    pub fn wanted(&self) -> Wanted {
        Wanted::new(Target::resolve(&self.target, &self.write), self.write.overwrite)
    }

    /// Returns the journal mode of the copy. `is_wal` is `true` if the source is in WAL mode.
    fn mode(&self, is_wal: bool) -> JournalMode {
        let unasked = if is_wal && self.is_in_place() { JournalMode::Wal } else { JournalMode::Delete };
        self.journal_mode.unwrap_or(unasked)
    }

    /// Returns the header of the copy.
    fn header(&self, snapshot: &Snapshot, mode: JournalMode) -> Result<Header> {
        let source = snapshot.header();
        let reserved = source.geometry.reserved_bytes();
        let page_size = self.page_size.unwrap_or(source.geometry.page_size());
        let geometry = Geometry::new(page_size, reserved).ok_or_else(|| {
            Error::usage(format!(
                "pages of {} bytes with {reserved} reserved ones are too small for SQLite",
                page_size.bytes()
            ))
            .hint("choose a larger page size")
        })?;
        let geometry = geometry.with_pending_byte(self.write.tuning.pending_byte);
        let version = match mode {
            JournalMode::Delete => 1,
            JournalMode::Wal => 2,
        };
        let sqlite_version = u32::try_from(rusqlite::version_number()).unwrap_or_default();
        Ok(Header {
            write_version: version,
            read_version: version,
            schema_cookie: source.schema_cookie.wrapping_add(1),
            // Rebuilt trees have the newest schema format.
            schema_format: if self.mask.is_some() || self.leaves_rows_out() {
                4
            } else {
                source.schema_format.clamp(1, 4)
            },
            default_cache_size: source.default_cache_size,
            text_encoding: source.used_text_encoding(),
            user_version: self.user_version.map_or(source.user_version, i32::cast_unsigned),
            application_id: self.application_id.map_or(source.application_id, i32::cast_unsigned),
            ..Header::new(geometry, 0, sqlite_version)
        })
    }

    /// Returns the auto_vacuum mode of the copy.
    fn auto_vacuum_of(&self, snapshot: &Snapshot) -> AutoVacuum {
        self.auto_vacuum.unwrap_or_else(|| AutoVacuum::of(snapshot.header()))
    }
}

impl PreparedCopy {
    /// Returns the plan of the copy.
    pub fn plan(&self) -> &CopyPlan {
        &self.plan
    }

    /// Copies the present state of the source. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Copy::run_with`].
    pub fn run(self, context: &Context<'_>) -> Result<CopyReport> {
        self.copy.run_with(context)
    }
}

impl Masked {
    /// Determines the masks, rewrites the SQL text of the schema, and searches for personal data that the masks leave in the copy.
    fn new(masking: &Masking, opened: &mut Opened, context: &Context<'_>) -> Result<Masked> {
        let masks = Masked::masks(masking, opened, &context.cancel)?;
        let texts = Texts::rewrite(opened, &masks, masking.strip_literals)?;
        let opened = &*opened;
        let Opened { objects, selection, .. } = opened;
        let copied: Vec<&StoredObject> = objects.iter().filter(|object| selection.has(object)).collect();
        let full_text = FullText::all(&copied, &masks)?;
        let started = Instant::now();
        let plan = mask::look(opened, masking, &masks, (&full_text, &texts), context)?;
        let search = PhaseReport::new("search", started.elapsed().as_secs_f64());
        mask::refuse_findings(masking, opened, &plan)?;
        Ok(Masked { masks, full_text, plan, search })
    }

    /// Determines the masks of all columns.
    fn masks(masking: &Masking, opened: &Opened, cancel: &Cancel) -> Result<Masks> {
        let Opened { snapshot, schema, objects, selection, .. } = opened;
        refuse_old_descending(snapshot, schema)?;
        let is_copied = |name: &str| {
            let named = objects.iter().find(|object| object.name.eq_ignore_ascii_case(name));
            named.is_some_and(|object| selection.has(object))
        };
        Masks::new(masking, (snapshot, schema), &is_copied, cancel)
    }
}

/// Refuses a database with an old schema format, in which DESC indexes are in ascending order: rebuilt indexes would be in descending
/// order.
fn refuse_old_descending(snapshot: &Snapshot, schema: &Schema) -> Result<()> {
    let descends = |index: &Index| index.columns.iter().any(|column| column.descending);
    let mut indexes = schema.tables.iter().flat_map(|table| table.clustered.iter().chain(&table.indexes));
    match (snapshot.header().schema_format, indexes.find(|index| descends(index))) {
        (0..4, Some(index)) => {
            let message = format!(
                "index {} is declared DESC, but ascends in the old schema format of {}",
                index.name,
                snapshot.name().display()
            );
            Err(Error::input(message).hint("VACUUM changes a database to the new format"))
        }
        _ => Ok(()),
    }
}

/// Returns the rows of `sqlite_sequence` for a masked copy. For a table with masked rowids, the number is the largest new rowid.
fn masked_sequences(snapshot: &Snapshot, masks: &Masks, made: &MaskedTables) -> Result<Vec<(String, i64)>> {
    let new = made.sequences()?;
    let old = sequences(&snapshot.connection())?;
    let of = |(name, number): (String, i64)| match masks.has_rowids_of(&name) {
        true => {
            let new = new.get(&name.to_ascii_lowercase()).copied().unwrap_or(0);
            (name, new)
        }
        false => (name, number),
    };
    Ok(old.into_iter().map(of).collect())
}
