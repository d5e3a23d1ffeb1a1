//! `pack`: writes the files of a folder to a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_engine::attempts::{self, Outcome};
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::{IfExists, OnConflict, WriteOptions};
use sqluice_engine::output::Target;
use sqluice_engine::plan::{ExpectedRows, Plan};
use sqluice_engine::report::Report;
use sqluice_engine::target::TargetSnapshot;
use sqluice_engine::trees::Job;
use sqluice_platform::tree::Kind;

use super::files::Files;
use super::name::shown;
use super::walk::{List, Skipped};
use super::{Compression, Layout, PAGE_SIZE, Selection};

/// The packing of a folder into a database: the folder, the database and the options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pack {
    /// The database. The table of the layout is added to an existing database without such a table.
    pub target: PathBuf,
    /// The folder. Its content at any depth becomes rows, but not the folder itself.
    pub folder: PathBuf,
    /// The layout of the table.
    pub layout: Layout,
    /// The compression of file contents. A `kv` table allows no compression.
    pub compression: Compression,
    /// The files to pack.
    pub selection: Selection,
    /// The options for writing the database. With [`IfExists::Append`], a new row replaces an existing row of the same name, as with
    /// `sqlite3 -Ai`.
    pub write: WriteOptions,
}

/// A pack whose files have been listed, ready to run.
#[derive(Debug)]
pub struct PreparedPack {
    pack: Pack,
    plan: Plan,
    schema: Schema,
    list: Arc<List>,
}

/// The report of a packed folder.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PackReport {
    /// The report of the written database.
    #[serde(flatten)]
    pub report: Report,
    /// The number of files.
    pub files: u64,
    /// The number of folders.
    pub folders: u64,
    /// The number of symbolic links.
    pub links: u64,
    /// The number of bytes of all files.
    pub file_bytes: u64,
    /// The entries of the folder that were left out although the selection takes them.
    pub skipped: Vec<Skipped>,
}

impl TakesSettings for Pack {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Compress => self.compression = value.word(setting, &Compression::WORDS)?,
            Setting::Kv => self.layout = Layout::given(value)?,
            Setting::Include | Setting::Exclude => return self.selection.set(setting, value),
            _ => return self.write.set(setting, value),
        }
        Ok(true)
    }
}

setters! { Pack:
    /// Sets the layout of the table.
    layout(layout: Layout) = layout;
    /// Sets the compression of file contents.
    compression(compression: Compression) = compression;
    /// Packs only the files that `selection` selects.
    selection(selection: Selection) = selection;
    /// Sets the options for writing the database.
    write(options: WriteOptions) = options;
}

impl Pack {
    /// Creates a `Pack` of `folder` into the new database `target` as an SQLite Archive.
    pub fn new(target: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Pack {
        Pack {
            target: target.into(),
            folder: folder.into(),
            layout: Layout::default(),
            compression: Compression::default(),
            selection: Selection::default(),
            write: WriteOptions::new().page_size(PAGE_SIZE),
        }
    }

    /// Packs the folder without progress reports.
    ///
    /// # Errors
    /// As [`Pack::prepare`] and [`PreparedPack::run`].
    pub fn run(&self) -> Result<PackReport> {
        self.run_with(&Context::default())
    }

    /// Packs the folder. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Pack::prepare`] and [`PreparedPack::run`].
    pub fn run_with(&self, context: &Context<'_>) -> Result<PackReport> {
        self.prepare(context)?.run(context)
    }

    /// Walks the folder and plans the pack. Writes nothing. The names and metadata of files stay in memory, about 100 bytes each.
    ///
    /// # Errors
    /// If the options contradict each other, a file in the folder can't be read or is too large for a row, or the existing file at the
    /// target prevents the pack.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedPack> {
        if (self.layout, self.compression) == (Layout::Kv, Compression::Deflate) {
            return Err(Error::usage(
                "a kv table can't hold deflated files: it has no column for their sizes",
            )
            .hint(message!["leave ", Setting::Kv, " or ", Setting::Compress, " out"]));
        }
        if let IfExists::Upsert(_) = self.write.if_exists {
            return Err(Error::usage("a folder can't be packed as an upsert").hint(message![
                Setting::Append,
                " or ",
                Setting::ReplaceTable
            ]));
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.write.threads.unwrap_or_else(cores);
        let list =
            List::new(&self.folder, &self.target, self.layout, &self.selection, threads, &context.cancel)?;
        self.plan(Arc::new(list))
    }

    /// Plans the pack of a list of files.
    fn plan(&self, list: Arc<List>) -> Result<PreparedPack> {
        let declared = Schema::parse(format!("{};\n", self.layout.sql()), Path::new(""))?;
        let target = Target::resolve(&self.target, &self.write);
        let (schema, mut plan) = match attempts::look(Some(&target), &self.write)? {
            None => {
                let plan = Plan::of(&declared, Some(&target), None, &self.write)?;
                (declared, plan)
            }
            Some(existing) => self.add_to(declared, (&target, &existing), &list)?,
        };
        // A row takes its name twice, as the index has the name, too, and about 40 bytes for cells and pointers. Compressed sizes are not
        // known, so there is an estimate only without compression.
        let bytes = list.bytes() + 2 * list.name_bytes() + 40 * list.entries.len() as u64;
        plan.estimated_bytes = (self.compression == Compression::None).then_some(bytes);
        let rows = list.entries.len() as u64;
        for table in &mut plan.tables {
            table.rows = Some(rows);
            table.sources = vec![self.folder.display().to_string()];
        }
        Ok(PreparedPack { pack: self.clone(), plan, schema, list })
    }

    fn add_to(
        &self,
        declared: Schema,
        (target, existing): (&Target, &TargetSnapshot),
        list: &List,
    ) -> Result<(Schema, Plan)> {
        let table = self.layout.table();
        existing.refuse_name(
            table,
            &self.write.if_exists,
            message![
                Setting::Append,
                " adds rows to it, and replaces rows of the same name; ",
                Setting::ReplaceTable,
                " empties it first"
            ],
        )?;
        if let (Some(name), false) = (list.odd_name(), existing.utf8) {
            let message = format!(
                "the name {} is not UTF-8, so the UTF-16 database {} can't store it",
                shown(name),
                self.target.display()
            );
            return Err(Error::input(message).hint("pack into a database of its own"));
        }
        let schema = existing.combine(declared)?;
        // A folder has no two rows of the same name, so conflicts are only possible with existing rows.
        let adds = existing.table(table).is_some() && self.write.if_exists == IfExists::Append;
        let on_conflict = if adds { OnConflict::Replace } else { OnConflict::Abort };
        let options = self.write.clone().on_conflict(on_conflict);
        let mut plan = Plan::of(&schema, Some(target), Some(existing), &options)?;
        let rows = ExpectedRows { about: Some(list.entries.len() as u64), ..ExpectedRows::default() };
        for (index, table) in schema.tables.iter().enumerate() {
            plan.choose((index, table), existing, rows.clone(), &options)?;
        }
        Ok((schema, plan))
    }
}

impl PreparedPack {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the entries that are left out although the selection takes them: sockets, FIFOs, devices, the database itself, and links
    /// that the layout can't store.
    pub fn skipped(&self) -> &[Skipped] {
        &self.list.skipped
    }

    /// Packs the folder. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If a file can't be read any more, or the database can't be written. The database is then unchanged, or absent.
    pub fn run(self, context: &Context<'_>) -> Result<PackReport> {
        let mut prepared = self;
        let report = attempts::run(
            &mut prepared,
            |prepared| Outcome::of(prepared.attempt(context)),
            |prepared, refuted| {
                refuted.by_schema()?;
                *prepared = prepared.pack.plan(Arc::clone(&prepared.list))?;
                Ok(())
            },
        )?;
        Ok(prepared.report(report))
    }

    fn attempt(&self, context: &Context<'_>) -> Result<Report> {
        let Pack { layout, compression, .. } = self.pack;
        let total = Amount { rows: self.list.entries.len() as u64, bytes: self.list.bytes() };
        context.progress.phase("pack", Some(total));
        let source = |table| Job {
            table,
            coercion: Coercion::All,
            source: Box::new(Files::new(Arc::clone(&self.list), layout, compression, self.plan.geometry())),
        };
        let jobs = self.schema.tables.iter().map(source).collect();
        attempts::write(&self.plan, &self.schema, jobs, None, "pack", &context.child())
    }

    fn report(&self, report: Report) -> PackReport {
        let count = |kind| self.list.entries.iter().filter(|entry| entry.kind == kind).count() as u64;
        PackReport {
            report,
            files: count(Kind::File),
            folders: count(Kind::Folder),
            links: count(Kind::Link),
            file_bytes: self.list.bytes(),
            skipped: self.list.skipped.clone(),
        }
    }
}
