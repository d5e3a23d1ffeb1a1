//! Writes a copy as SQL statements, in files of limited size, for the import of Cloudflare D1.
//!
//! ```text
//!  0001.sql    PRAGMA defer_foreign_keys; CREATE TABLE ...; INSERT INTO ...; INSERT INTO ...
//!  0002.sql    PRAGMA defer_foreign_keys; INSERT INTO ...
//!  0003.sql    PRAGMA defer_foreign_keys; INSERT INTO ...; CREATE INDEX ...; CREATE VIEW ...; CREATE TRIGGER ...
//! ```
//!
//! The files must be run in order. Parent tables come before the tables that refer to them. Triggers are created last, so none fires for
//! an inserted row. Rowids are also written for tables without an INTEGER PRIMARY KEY, unless columns have all names of the rowid: no
//! statement can then name the rowid, and rows get new rowids. The limits are [those of
//! D1](https://developers.cloudflare.com/d1/platform/limits/).
//!
//! Invariant: all files have the same committed state of the source. They get their final names only when the last file is complete.

use std::path::PathBuf;
use std::time::Instant;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Cancel, Context};
use sqluice_core::schema::token::terminated;
use sqluice_core::schema::{Schema, Table, parents_first, quoted_text};
use sqluice_engine::output::{WholeFile, WholeFiles, explained};
use sqluice_reader::StoredObject;
use sqluice_reader::rows::PART_BYTES;
use sqluice_writers::in_order::InOrder;
use sqluice_writers::sql::{SqlPiece, StatementLimits};

use super::Opened;
use super::report::{CopiedTable, CopyReport};
use crate::inserts::{Inserts, is_internal};

/// The maximum number of bytes of a statement.
pub(super) const STATEMENT_BYTES_MAX: usize = 100_000;

/// The limits of INSERT statements.
const STATEMENT_LIMITS: StatementLimits = StatementLimits {
    several_rows_bytes_max: STATEMENT_BYTES_MAX,
    one_row_bytes_max: STATEMENT_BYTES_MAX,
    hint: "leave its table out, or keep such values elsewhere, as in a store of objects",
};

/// The maximum number of columns of a table.
const COLUMNS_MAX: usize = 100;

/// The maximum number of bytes of a file. If the import of a file fails, D1 rolls back the whole file, and it must be imported again.
const FILE_BYTES_MAX: u64 = 100_000_000;

/// The first statement of each file: it allows rows to refer to later rows of the same file.
const HEAD: &[u8] = b"PRAGMA defer_foreign_keys = TRUE;\n";

/// Writes the files.
pub(super) fn write(opened: &Opened, context: &Context<'_>) -> Result<CopyReport> {
    let started = Instant::now();
    let Opened { settled, snapshot, schema, objects, selection, .. } = opened;
    let copy = &settled.copy;
    let kept: Vec<&StoredObject> = objects.iter().filter(|object| selection.has(object)).collect();
    refuse_unfit(&kept, schema)?;
    let folder = Folder::new(copy.target.clone(), copy.write.overwrite)?;
    let done = WholeFiles::new(folder.overwrite, 0);
    let mut files = Files { folder: &folder, done, open: None, cancel: &context.cancel };
    context.progress.phase("copy", Some(Amount { rows: 0, bytes: snapshot.bytes() }));
    let is_table = |object: &&&StoredObject| object.kind == "table" && !is_internal(&object.name);
    let declared = kept.iter().filter(is_table).map(|object| {
        let table = schema.table(&object.name);
        table.ok_or_else(|| Error::input(format!("{} can't be read", object.describe())))
    });
    let declared = declared.collect::<Result<Vec<&Table>>>()?;
    let tables: Vec<&Table> = parents_first(&declared).into_iter().map(|index| declared[index]).collect();
    for table in &tables {
        files.statement(&table.sql)?;
    }
    let mut report = CopyReport::of_statements(opened);
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    report.threads = copy.write.threads.unwrap_or_else(cores);
    for table in &tables {
        let inserts = Inserts::of_table(snapshot, schema, table, None)?;
        let encoder = inserts.encoder(STATEMENT_LIMITS);
        let source = inserts.rows.source(PART_BYTES, &context.cancel)?;
        let mut count = 0;
        for piece in InOrder::start(source, encoder, report.threads, &context.cancel) {
            let SqlPiece { bytes, ends, rows, input_bytes } = piece?;
            let mut from = 0;
            for end in ends {
                files.write(&bytes[from..end])?;
                from = end;
            }
            count += rows;
            context.progress.advance(Amount { rows, bytes: input_bytes });
            context.cancel.check()?;
        }
        report.rows += count;
        report.tables.push(CopiedTable::of_statements(&table.name, count));
    }
    for sql in sequences(opened, &tables)? {
        files.statement(&sql)?;
    }
    for kind in ["index", "view", "trigger"] {
        for object in kept.iter().filter(|object| object.kind == kind) {
            // Skip automatic indexes: they have no statement of their own.
            let Some(sql) = &object.sql else { continue };
            files.statement(sql)?;
            report.others += 1;
        }
    }
    (report.files, report.bytes) = files.finish()?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// Refuses objects that D1 does not accept.
fn refuse_unfit(kept: &[&StoredObject], schema: &Schema) -> Result<()> {
    for object in kept {
        if object.kind == "table" && object.tree.is_none() {
            let message = format!("virtual table {} can't be written as statements for D1", object.name);
            return Err(Error::input(message).hint("leave it out, and create it again in D1"));
        }
        let columns = schema.table(&object.name).map_or(0, |table| table.columns.len());
        if object.kind == "table" && columns > COLUMNS_MAX {
            let message =
                format!("table {} has {columns} columns; D1 allows {COLUMNS_MAX} at most", object.name);
            return Err(Error::input(message).hint("divide it, or leave it out"));
        }
    }
    Ok(())
}

/// Returns statements that set the largest rowids of AUTOINCREMENT tables in `sqlite_sequence`.
fn sequences(opened: &Opened, tables: &[&Table]) -> Result<Vec<String>> {
    let largest = opened.snapshot.sequences()?;
    let mut statements = Vec::new();
    for table in tables.iter().filter(|table| table.autoincrement) {
        let name = quoted_text(&table.name);
        if let Some(largest) = largest.get(&table.name.to_ascii_lowercase()) {
            statements.push(format!("DELETE FROM sqlite_sequence WHERE name = {name}"));
            statements.push(format!("INSERT INTO sqlite_sequence (name, seq) VALUES ({name}, {largest})"));
        }
    }
    Ok(statements)
}

/// The folder for the files. If this run has created it and it is still empty, dropping the value removes it.
struct Folder {
    path: PathBuf,
    overwrite: bool,
    is_new: bool,
}

impl Folder {
    fn new(path: PathBuf, overwrite: bool) -> Result<Folder> {
        let cannot = |error| {
            let failure = Error::target(format!("cannot make the folder {}", path.display()));
            explained(failure.about(&path), error)
        };
        if path.metadata().is_ok_and(|about| !about.is_dir()) {
            let message = format!("{} is a file; the statements for D1 need a folder", path.display());
            return Err(Error::target(message).about(&path).hint("name a new folder"));
        }
        let is_new = !path.is_dir();
        if is_new {
            std::fs::create_dir(&path).map_err(cannot)?;
        } else if !overwrite && std::fs::read_dir(&path).map_err(cannot)?.next().is_some() {
            let message = format!("the folder {} is not empty", path.display());
            return Err(Error::target(message)
                .about(&path)
                .hint(message!["name a new folder, or replace the statements in it: ", Setting::Overwrite]));
        }
        Ok(Folder { path, overwrite, is_new })
    }

    fn file(&self, number: usize) -> PathBuf {
        self.path.join(format!("{number:04}.sql"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_new {
            // `remove_dir` fails unless the folder is empty.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The files that are being written, of which the last one is open.
struct Files<'f> {
    folder: &'f Folder,
    done: WholeFiles,
    open: Option<WholeFile>,
    cancel: &'f Cancel,
}

impl Files<'_> {
    /// Writes a statement of the schema.
    fn statement(&mut self, sql: &str) -> Result<()> {
        let statement = terminated(sql) + "\n";
        if statement.len() > STATEMENT_BYTES_MAX {
            let start: String = sql.chars().take(60).collect();
            let message = format!(
                "a statement of {} bytes is longer than D1 allows ({STATEMENT_BYTES_MAX}): {start}...",
                statement.len()
            );
            return Err(Error::input(message));
        }
        self.write(statement.as_bytes())
    }

    fn write(&mut self, statement: &[u8]) -> Result<()> {
        let is_full = |file: &WholeFile| file.bytes() + statement.len() as u64 > FILE_BYTES_MAX;
        if self.open.as_ref().is_some_and(is_full) {
            self.close()?;
        }
        let file = match &mut self.open {
            Some(file) => file,
            open => {
                self.cancel.check()?;
                let path = self.folder.file(self.done.files().len() + 1);
                let file = open.insert(self.done.create(&path)?);
                file.write(HEAD)?;
                file
            }
        };
        file.write(statement)
    }

    /// Ends the open file, if any.
    fn close(&mut self) -> Result<()> {
        self.open.take().map_or(Ok(()), |file| self.done.add(file))
    }

    /// Gives all files their final names. Returns their paths, and their number of bytes together.
    fn finish(mut self) -> Result<(Vec<PathBuf>, u64)> {
        self.close()?;
        let bytes = self.done.files().iter().map(WholeFile::bytes).sum();
        let paths: Vec<PathBuf> =
            (1..=self.done.files().len()).map(|number| self.folder.file(number)).collect();
        self.done.finish()?;
        // If the files replace an older, longer series, the rest of the older series is removed.
        let replaced = (paths.len() + 1..).map(|number| self.folder.file(number));
        for path in replaced.take_while(|path| self.folder.overwrite && path.is_file()) {
            std::fs::remove_file(&path).map_err(|error| {
                explained(Error::target(format!("cannot remove {}", path.display())).about(&path), error)
            })?;
        }
        Ok((paths, bytes))
    }
}
