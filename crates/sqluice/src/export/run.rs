//! Runs an export: writes all files under temporary names, and then renames them.

use std::sync::Arc;
use std::time::Instant;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::source::Source;
use sqluice_engine::output::{WholeFiles, explained};
use sqluice_reader::pages::DAMAGED_HINT;
use sqluice_reader::rows::{PART_BYTES, Rows};
#[cfg(feature = "parquet")]
use sqluice_writers::arrow::{ArrowFile, ArrowPiece};
use sqluice_writers::formats::Encoder;
use sqluice_writers::in_order::InOrder;
#[cfg(feature = "parquet")]
use sqluice_writers::parquet::ParquetFile;
use sqluice_writers::sql::SqlPiece;
use sqluice_writers::text::{TextEncoder, TextFormat, TextPiece};
use sqluice_writers::unfit::Nulled;

use super::dump::{Dump, STATEMENT_LIMITS, Step};
use super::options::Export;
use super::out::Out;
#[cfg(feature = "parquet")]
use super::out::OutWriter;
use super::plan::{Content, ExportPlan, Wanted};
use super::report::{DumpedTable, ExportReport, ExportedFile};
#[cfg(feature = "parquet")]
use super::typed::{BATCH_BYTES, GROUP_BYTES, Typed, ValueOptions};
use crate::inserts::is_internal;

/// An export with its plan, which [`Export::prepare`] returns.
#[derive(Clone, Debug)]
pub struct PreparedExport {
    export: Export,
    plan: ExportPlan,
}

impl PreparedExport {
    /// Returns the plan of the export.
    pub fn plan(&self) -> &ExportPlan {
        &self.plan
    }

    /// Exports the present state of the database. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Export::run_with`].
    pub fn run(self, context: &Context<'_>) -> Result<ExportReport> {
        self.export.run_with(context)
    }
}

impl Export {
    /// Examines the database and plans the export. Writes nothing but a temporary file, if the database is downloaded.
    ///
    /// # Errors
    /// As [`Export::run_with`], except for errors that only the run finds.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedExport> {
        context.cancel.check()?;
        let plan = self.plan(context)?;
        Ok(PreparedExport { export: self.clone(), plan })
    }

    /// Exports without progress reports.
    ///
    /// # Errors
    /// As [`Export::run_with`].
    pub fn run(&self) -> Result<ExportReport> {
        self.run_with(&Context::default())
    }

    /// Exports. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If the database can't be read, the format can't store a value, or a file can't be written. No file appears then, with one
    /// exception: if several tables are exported and some of them are damaged, the files of the others appear.
    pub fn run_with(&self, context: &Context<'_>) -> Result<ExportReport> {
        let started = Instant::now();
        let context = &context.child();
        let opened = self.open(context)?;
        let folder = opened.new_folder.as_deref();
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|error| {
                let failure = Error::target(format!("cannot make the folder {}", folder.display()));
                explained(failure.about(folder), error)
            })?;
        }
        let mut whole = WholeFiles::new(self.overwrite, opened.wanted.len());
        let mut files = Vec::new();
        let mut unreadable = Vec::new();
        for wanted in &opened.wanted {
            let run = FileRun { export: self, threads: opened.threads, context };
            let written = Out::create(wanted.path.as_deref(), &mut whole)
                .and_then(|out| run.write(wanted, out))
                .and_then(|(file, out)| out.end(&mut whole).map(|()| file));
            match written {
                Ok(file) => files.push(file),
                // Go on with the other tables of a damaged database, which may be readable.
                Err(error) if opened.wanted.len() > 1 && error.is_damaged() => {
                    unreadable.push(error);
                }
                Err(error) => {
                    drop(whole);
                    // `remove_dir` fails unless the folder is empty.
                    folder.map(std::fs::remove_dir);
                    return Err(error);
                }
            }
        }
        let (removed, complete) = (whole.removed(), files.len());
        whole.finish()?;
        if let Some(error) = unexported(unreadable, complete) {
            if complete == 0 {
                folder.map(std::fs::remove_dir);
            }
            return Err(error);
        }
        Ok(ExportReport {
            source: opened.snapshot.name().to_owned(),
            fetched: opened.snapshot.is_fetched(),
            journal_mode: opened.snapshot.journal_mode().to_owned(),
            lets_others_commit: opened.snapshot.lets_others_commit(),
            threads: opened.threads,
            seconds: started.elapsed().as_secs_f64(),
            files,
            removed,
        })
    }
}

/// Returns one error for all damaged tables, which says that `complete` files of other tables were written. Returns `None` if all tables
/// were read.
fn unexported(mut unreadable: Vec<Error>, complete: usize) -> Option<Error> {
    if unreadable.len() < 2 && complete == 0 {
        return unreadable.pop();
    }
    let (damaged, all) = (unreadable.len(), unreadable.len() + complete);
    let what =
        format!("{damaged} of {all} tables could not be exported; the files of the others are complete:");
    (damaged > 0).then(|| Error::several(what, unreadable).hint(DAMAGED_HINT))
}

/// The state that is shared while a file is written.
struct FileRun<'r> {
    export: &'r Export,
    threads: usize,
    context: &'r Context<'r>,
}

impl FileRun<'_> {
    fn write(&self, wanted: &Wanted, mut out: Out) -> Result<(ExportedFile, Out)> {
        let wanted_rows = match &wanted.content {
            Content::Rows(rows) => rows,
            Content::Dump(dump) => {
                let file = self.dump(wanted, dump, &mut out)?;
                return Ok((file, out));
            }
        };
        let names: Vec<String> = wanted_rows.columns().iter().map(|column| column.name.clone()).collect();
        let nulled = Arc::new(Nulled::new(names.len()));
        let (rows, notes) = match wanted.format.encoder {
            Encoder::Text(format) => self.text((wanted, wanted_rows), format, &names, &nulled, &mut out),
            #[cfg(feature = "parquet")]
            Encoder::Parquet => self.parquet(wanted_rows, &names, &nulled, &mut out),
            #[cfg(feature = "parquet")]
            Encoder::Arrow => self.arrow(wanted_rows, &names, &nulled, &mut out),
            _ => {
                let what = format!("this build does not write {}", wanted.format.words);
                Err(Error::without_feature(what, "parquet"))
            }
        }?;
        let nulled = names.into_iter().zip(nulled.counts()).filter(|(_, count)| *count > 0).collect();
        let file = ExportedFile {
            table: self.export.query.is_none().then(|| wanted_rows.name().to_owned()),
            path: wanted.path.clone(),
            format: wanted.format,
            rows,
            bytes: out.bytes(),
            nulled,
            notes,
            tables: Vec::new(),
        };
        Ok((file, out))
    }

    /// Writes a dump.
    fn dump(&self, wanted: &Wanted, dump: &Dump, out: &mut Out) -> Result<ExportedFile> {
        let mut tables = Vec::new();
        for step in &dump.steps {
            let inserts = match step {
                Step::Statements(sql) => {
                    out.write(&wanted.compression.piece(sql.clone().into_bytes())?)?;
                    continue;
                }
                Step::Rows(inserts) => inserts,
            };
            let encoder = inserts.encoder(STATEMENT_LIMITS).compressed(wanted.compression);
            let source = inserts.rows.source(PART_BYTES, &self.context.cancel)?;
            self.begin(&inserts.rows, &*source);
            let mut all = 0;
            for piece in InOrder::start(source, encoder, self.threads, &self.context.cancel) {
                let SqlPiece { bytes, rows, input_bytes, .. } = piece?;
                out.write(&bytes)?;
                all += rows;
                if !self.goes_on(out, rows, input_bytes)? {
                    break;
                }
            }
            if !is_internal(inserts.rows.name()) {
                tables.push(DumpedTable { table: inserts.rows.name().to_owned(), rows: all });
            }
            if out.is_closed() {
                break;
            }
        }
        Ok(ExportedFile {
            table: None,
            path: wanted.path.clone(),
            format: wanted.format,
            rows: tables.iter().map(|table| table.rows).sum(),
            bytes: out.bytes(),
            nulled: Vec::new(),
            notes: dump.notes.clone(),
            tables,
        })
    }

    fn begin(&self, rows: &Rows, source: &dyn Source) {
        self.context.progress.phase(&format!("export {}", rows.name()), source.total());
    }

    /// Reports progress. Returns `false` if no more rows are wanted, because the pipe is closed.
    fn goes_on(&self, out: &Out, rows: u64, bytes: u64) -> Result<bool> {
        self.context.progress.advance(Amount { rows, bytes });
        self.context.cancel.check()?;
        Ok(!out.is_closed())
    }

    fn text(
        &self,
        (wanted, wanted_rows): (&Wanted, &Rows),
        format: TextFormat,
        names: &[String],
        nulled: &Arc<Nulled>,
        out: &mut Out,
    ) -> Result<(u64, Vec<String>)> {
        let (mixed, nulled) = (self.export.mixed, Arc::clone(nulled));
        let encoder = TextEncoder::new(format, names.to_vec(), wanted.compression, mixed, nulled);
        let source = wanted_rows.source(PART_BYTES, &self.context.cancel)?;
        self.begin(wanted_rows, &*source);
        out.write(&encoder.head()?)?;
        let (separator, tail) = (encoder.separator()?, encoder.tail()?);
        let mut pieces = InOrder::start(source, encoder, self.threads, &self.context.cancel);
        let mut all = 0;
        for piece in pieces.by_ref() {
            let TextPiece { bytes, rows, input_bytes } = piece?;
            if rows > 0 && all > 0 {
                out.write(&separator)?;
            }
            out.write(&bytes)?;
            all += rows;
            if !self.goes_on(out, rows, input_bytes)? {
                break;
            }
        }
        out.write(&tail)?;
        let mixed = pieces.encoder().ambiguous();
        let note = |column: &&str| {
            format!("column {column} has numbers and text, and a reader of the CSV can't tell which is which")
        };
        Ok((all, mixed.iter().map(note).collect()))
    }

    #[cfg(feature = "parquet")]
    fn parquet(
        &self,
        wanted_rows: &Rows,
        names: &[String],
        nulled: &Arc<Nulled>,
        out: &mut Out,
    ) -> Result<(u64, Vec<String>)> {
        let Typed { encoder, source, .. } = Typed::open(
            wanted_rows,
            names,
            self.values(),
            nulled,
            GROUP_BYTES,
            self.threads,
            &self.context.cancel,
        )?;
        self.begin(wanted_rows, &*source);
        let mut writer = OutWriter { out, failed: None };
        let begun = ParquetFile::begin(&mut writer, encoder);
        let (mut file, encoder) = begun?;
        let mut all = 0;
        let mut written = Ok(());
        for piece in InOrder::start(source, encoder, self.threads, &self.context.cancel) {
            let piece = piece?;
            let (rows, bytes) = (piece.rows, piece.input_bytes);
            all += rows;
            written = file.write(piece);
            if written.is_err() {
                break;
            }
            self.context.progress.advance(Amount { rows, bytes });
            self.context.cancel.check()?;
        }
        let written = written.and_then(|()| file.finish());
        writer.explained(written)?;
        Ok((all, Vec::new()))
    }

    #[cfg(feature = "parquet")]
    fn arrow(
        &self,
        wanted_rows: &Rows,
        names: &[String],
        nulled: &Arc<Nulled>,
        out: &mut Out,
    ) -> Result<(u64, Vec<String>)> {
        let Typed { encoder, source, .. } = Typed::open(
            wanted_rows,
            names,
            self.values(),
            nulled,
            BATCH_BYTES,
            self.threads,
            &self.context.cancel,
        )?;
        self.begin(wanted_rows, &*source);
        let mut writer = OutWriter { out, failed: None };
        let schema = Arc::clone(encoder.schema());
        let mut all = 0;
        let written = (|| {
            let mut file = ArrowFile::begin(&mut writer, &schema)?;
            for piece in InOrder::start(source, encoder, self.threads, &self.context.cancel) {
                let ArrowPiece { batches, rows, input_bytes } = piece?;
                batches.iter().try_for_each(|batch| file.write(batch))?;
                all += rows;
                self.context.progress.advance(Amount { rows, bytes: input_bytes });
                self.context.cancel.check()?;
            }
            file.finish()
        })();
        writer.explained(written)?;
        Ok((all, Vec::new()))
    }

    #[cfg(feature = "parquet")]
    fn values(&self) -> ValueOptions {
        ValueOptions { mixed: self.export.mixed, dates: self.export.dates }
    }
}
