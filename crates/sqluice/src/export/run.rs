//! The run: all files are written, and then get their names.

use std::sync::Arc;
use std::time::Instant;

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_reader::rows::PART_BYTES;
use sqluice_writers::in_order::InOrder;
use sqluice_writers::text::{TextEncoder, TextFormat, TextPiece};
use sqluice_writers::unfit::Nulled;

use super::options::{Export, FileFormat};
use super::out::Out;
use super::plan::Wanted;
use super::report::{ExportReport, ExportedFile};

impl Export {
    /// Does it.
    ///
    /// # Errors
    /// When the database can't be read, a value has no place in the format, or a file can't be written: no file appears, then.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<ExportReport> {
        let started = Instant::now();
        let cancel = &cancel.child();
        let prepared = self.prepare(cancel)?;
        let folder = prepared.new_folder.as_deref();
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|error| {
                let failure = sqluice_core::error::Error::target(format!(
                    "cannot make the folder {}",
                    folder.display()
                ));
                sqluice_engine::output::explained(failure.about(folder), error)
            })?;
        }
        let mut written = Vec::new();
        let mut files = Vec::new();
        for wanted in &prepared.wanted {
            let mut run = FileRun { export: self, threads: prepared.threads, progress, cancel };
            let out = Out::create(wanted.path.as_deref(), self.overwrite);
            let file = out.and_then(|out| run.write(wanted, out));
            match file {
                Ok((file, out)) => {
                    files.push(file);
                    written.push(out);
                }
                Err(error) => {
                    drop(written);
                    // Only if it is empty.
                    folder.map(std::fs::remove_dir);
                    return Err(error);
                }
            }
        }
        written.into_iter().try_for_each(Out::finish)?;
        Ok(ExportReport {
            source: self.source.clone(),
            journal_mode: prepared.snapshot.journal_mode().to_owned(),
            lets_others_commit: prepared.snapshot.lets_others_commit(),
            threads: prepared.threads,
            seconds: started.elapsed().as_secs_f64(),
            files,
        })
    }
}

/// How a file is written.
struct FileRun<'r> {
    export: &'r Export,
    threads: usize,
    progress: &'r dyn Progress,
    cancel: &'r Cancel,
}

impl FileRun<'_> {
    fn write(&mut self, wanted: &Wanted, mut out: Out) -> Result<(ExportedFile, Out)> {
        let Wanted { rows, path, format, compression } = wanted;
        let names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
        let nulled = Arc::new(Nulled::new(names.len()));
        let text = match format {
            FileFormat::Csv => TextFormat::Csv { delimiter: b',' },
            FileFormat::Tsv => TextFormat::Csv { delimiter: b'\t' },
            FileFormat::Ndjson => TextFormat::Ndjson,
            FileFormat::Json => TextFormat::Json,
            FileFormat::Parquet | FileFormat::Arrow => {
                return Err(sqluice_core::error::Error::usage("this format is not built in"));
            }
        };
        let encoder =
            TextEncoder::new(text, names.clone(), *compression, self.export.mixed, Arc::clone(&nulled));
        let (rows_done, notes) = self.text(wanted, encoder, &mut out)?;
        let nulled = names.into_iter().zip(nulled.counts()).filter(|(_, count)| *count > 0).collect();
        let file = ExportedFile {
            table: self.export.query.is_none().then(|| rows.name().to_owned()),
            path: path.clone(),
            format: *format,
            rows: rows_done,
            bytes: out.bytes(),
            nulled,
            notes,
        };
        Ok((file, out))
    }

    fn text(&self, wanted: &Wanted, encoder: TextEncoder, out: &mut Out) -> Result<(u64, Vec<String>)> {
        let source = wanted.rows.source(PART_BYTES, self.cancel)?;
        self.progress.phase(&format!("export {}", wanted.rows.name()), source.total());
        out.write(&encoder.head()?)?;
        let (separator, tail) = (encoder.separator()?, encoder.tail()?);
        let mut pieces = InOrder::start(source, encoder, self.threads, self.cancel);
        let mut all = 0;
        while let Some(piece) = pieces.next() {
            let TextPiece { bytes, rows, input_bytes } = piece?;
            self.cancel.check()?;
            if rows > 0 && all > 0 {
                out.write(&separator)?;
            }
            out.write(&bytes)?;
            all += rows;
            self.progress.advance(Amount { rows, bytes: input_bytes });
            if out.is_closed() {
                break;
            }
        }
        out.write(&tail)?;
        let mixed = pieces.encoder().ambiguous();
        let note =
            |column: &&str| format!("column {column} has numbers and text, which CSV does not tell apart");
        Ok((all, mixed.iter().map(note).collect()))
    }
}
