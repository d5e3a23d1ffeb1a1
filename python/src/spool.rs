//! A spool: rows that wait in a file without a name until all are there.
//!
//! ```text
//!  rows of Python    a word: how many rows     a column, a column, ...     again and again
//!  rows of Arrow     an IPC stream
//! ```

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use sqluice::error::{Error, Result};
use sqluice::source::Source;
use sqluice::write::PreparedWrite;

use crate::arrow::ArrowFeed;
use crate::cells::{Cells, Seen, read_word, write_word};
use crate::errors::{raised, usage};
use crate::options::Options;
use crate::rows::{RowFeed, Shape};
use crate::run::{Feed, run_fed};
use crate::source::{Piece, RowSource, RowsOfPython};
use crate::write::{Given, TableArgs, of_arrow, wanted};

/// The rows of a table that wait.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Spool(Mutex<Waiting>);

struct Waiting {
    folder: PathBuf,
    content: Content,
    rows: u64,
}

enum Content {
    Nothing,
    Rows { file: BufWriter<File>, names: Vec<String>, seen: Vec<Seen> },
    Arrow { stream: Box<StreamWriter<BufWriter<File>>>, schema: SchemaRef, ended: bool },
}

#[pymethods]
impl Spool {
    #[new]
    fn new(folder: PathBuf) -> Spool {
        Spool(Mutex::new(Waiting { folder, content: Content::Nothing, rows: 0 }))
    }

    /// Adds rows; returns how many. When that fails some of them may be there: the spool is good for nothing then.
    fn append(&self, py: Python<'_>, given: Given<'_>) -> PyResult<u64> {
        let before = self.waiting().rows;
        let mut feed: Box<dyn Feed> = match given {
            Given::Rows(shape, names, rows) => {
                self.waiting().expect_rows(&names).map_err(|error| raised(py, &error))?;
                let shape = Shape::new(py, &shape, &names);
                Box::new(RowFeed::new(py, &rows, shape, names)?)
            }
            Given::Arrow(first, more) => {
                let feed = ArrowFeed::new(&first, more.as_ref())?;
                self.waiting().expect_arrow(&feed.schema).map_err(|error| raised(py, &error))?;
                Box::new(feed)
            }
        };
        while let Some(piece) = feed.next(py)? {
            py.check_signals()?;
            py.detach(|| self.waiting().push(piece)).map_err(|error| raised(py, &error))?;
        }
        Ok(self.waiting().rows - before)
    }
}

impl Spool {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::target("cannot keep the rows that wait").because(error)
}

fn broken(error: ArrowError) -> Error {
    Error::target("cannot keep the rows that wait").because(error)
}

impl Waiting {
    fn file(&self) -> Result<BufWriter<File>> {
        let file = tempfile::tempfile_in(&self.folder);
        file.map(BufWriter::new)
            .map_err(|error| Error::target(format!("cannot write {}", self.folder.display())).because(error))
    }

    fn expect_rows(&mut self, given: &[String]) -> Result<()> {
        match &self.content {
            Content::Nothing => {
                let (file, names) = (self.file()?, given.to_vec());
                let seen = vec![Seen::default(); names.len()];
                self.content = Content::Rows { file, names, seen };
                Ok(())
            }
            Content::Rows { names, .. } if names == given => Ok(()),
            Content::Rows { names, .. } => {
                Err(Error::usage("these rows have other columns than those before")
                    .hint(format!("they had {}", names.join(", "))))
            }
            Content::Arrow { .. } => Err(mixed()),
        }
    }

    fn expect_arrow(&mut self, given: &SchemaRef) -> Result<()> {
        match &self.content {
            Content::Nothing => {
                let stream = StreamWriter::try_new(self.file()?, given).map_err(broken)?;
                let (stream, schema) = (Box::new(stream), given.clone());
                self.content = Content::Arrow { stream, schema, ended: false };
                Ok(())
            }
            Content::Arrow { schema, .. } if schema.fields() == given.fields() => Ok(()),
            Content::Arrow { .. } => Err(Error::usage("this data has other columns than that before")),
            Content::Rows { .. } => Err(mixed()),
        }
    }

    fn push(&mut self, piece: Piece) -> Result<()> {
        match (&mut self.content, piece) {
            (Content::Rows { file, seen, .. }, Piece::Rows(RowsOfPython { rows, columns })) => {
                self.rows += rows as u64;
                write_word(file, rows as u64).map_err(failed)?;
                for (seen, cells) in seen.iter_mut().zip(&columns) {
                    *seen = seen.and(cells.seen());
                    cells.write(file).map_err(failed)?;
                }
                Ok(())
            }
            (Content::Arrow { stream, schema, .. }, Piece::Batch(batch)) => {
                self.rows += batch.num_rows() as u64;
                let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec()).map_err(broken)?;
                stream.write(&batch).map_err(broken)
            }
            _ => Err(mixed()),
        }
    }

    /// The columns of the rows, and the types that they have.
    fn columns(&self, args: &TableArgs) -> Result<Vec<(String, String)>> {
        match &self.content {
            Content::Nothing => Ok(args.declared()),
            Content::Rows { names, seen, .. } => {
                let columns = names.iter().zip(seen);
                Ok(columns.map(|(name, seen)| (name.clone(), seen.declared_type().to_owned())).collect())
            }
            Content::Arrow { schema, .. } => Ok(args.types_of(schema.fields(), args.arrow()?)),
        }
    }

    /// The rows from the first on.
    fn source(
        &mut self,
        args: &TableArgs,
        prepared: &PreparedWrite,
        index: usize,
    ) -> Result<Box<dyn Source>> {
        let again = |file: &File| -> std::io::Result<BufReader<File>> {
            let mut file = file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            Ok(BufReader::with_capacity(1 << 20, file))
        };
        match &mut self.content {
            Content::Nothing => Ok(Box::new(sqluice::source::NoRows)),
            Content::Rows { file, names, .. } => {
                file.flush().map_err(failed)?;
                let (from, columns, left) = (again(file.get_ref()).map_err(failed)?, names.len(), self.rows);
                let rows = SpooledRows { from, columns, left };
                Ok(Box::new(RowSource::new(rows, prepared.filled(index).1.to_vec())))
            }
            Content::Arrow { stream, schema, ended } => {
                if !*ended {
                    stream.finish().map_err(broken)?;
                    stream.flush().map_err(broken)?;
                    *ended = true;
                }
                let from = again(stream.get_ref().get_ref()).map_err(failed)?;
                let batches = StreamReader::try_new(from, None).map_err(broken)?;
                let batches = batches.map(|batch| batch.map_err(broken));
                Ok(of_arrow(batches, schema.fields().len(), prepared, index, args.arrow()?))
            }
        }
    }
}

fn mixed() -> Error {
    Error::usage("a table takes rows of Python or of Arrow, not both")
        .hint("give all of them as Arrow data, or none")
}

/// Rows of Python that waited.
struct SpooledRows {
    from: BufReader<File>,
    columns: usize,
    left: u64,
}

impl Iterator for SpooledRows {
    type Item = Result<RowsOfPython>;

    fn next(&mut self) -> Option<Result<RowsOfPython>> {
        if self.left == 0 {
            return None;
        }
        let mut read = || -> std::io::Result<RowsOfPython> {
            let rows = read_word(&mut self.from)?;
            let columns = (0..self.columns).map(|_| Cells::read(&mut self.from)).collect::<Result<_, _>>()?;
            self.left = self.left.saturating_sub(rows);
            Ok(RowsOfPython { rows: rows as usize, columns })
        };
        Some(read().map_err(failed))
    }
}

/// Writes what waits for each table, all in one. Returns the report as JSON.
#[pyfunction]
pub(crate) fn write_spools(
    py: Python<'_>,
    target: PathBuf,
    tables: Vec<(TableArgs, Py<Spool>)>,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    if tables.is_empty() {
        return Err(usage(py, "no table is given rows"));
    }
    let options = write.write().map_err(|error| raised(py, &error))?;
    let mut in_any_order = false;
    loop {
        let written = run_fed(py, progress, None, |progress, cancel| {
            let columns = tables.iter().map(|(args, spool)| Ok((args, spool.get().waiting().columns(args)?)));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let prepared = wanted(&target, &options, columns, in_any_order)?.0.prepare()?;
            let sources = tables
                .iter()
                .enumerate()
                .map(|(index, (args, spool))| spool.get().waiting().source(args, &prepared, index));
            let sources = sources.collect::<Result<Vec<_>>>()?;
            prepared.run(sources, progress, cancel)
        })?;
        match written {
            Ok(report) => return crate::doors::as_json(py, &report),
            Err(error) if error.is_out_of_order() && !in_any_order => in_any_order = true,
            Err(error) => return Err(raised(py, &error)),
        }
    }
}
