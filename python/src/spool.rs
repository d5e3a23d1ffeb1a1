//! A spool: an unnamed temporary file in which the rows of a table wait until all have arrived.
//!
//! ```text
//!  rows of Python    parts, one after another: 8 bytes with the number of rows, then the columns. A column of Arrow is two IPC streams,
//!                    each after 8 bytes with its length: one without batches, for the type of the data, and one with the imported values,
//!                    in which text is binary data
//!  rows of Arrow     an IPC stream
//! ```

use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read as _, Seek, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use sqluice::error::{Assumption, Error, Result};
use sqluice::infer::Inferred;
use sqluice::source::Source;
use sqluice::source::arrow::foreign::ForeignBatches;
use sqluice::source::arrow::{ArrowOptions, guessed_type};
use sqluice::source::cells::{Cells, read_word, write_word};
use sqluice::write::PreparedWrite;

use crate::arrow::{ArrowFeed, with_decimals};
use crate::commands::Noted;
use crate::errors::{raised_by_write, usage};
use crate::options::Options;
use crate::rows::{RowFeed, Shape};
use crate::run::{Feed, run_fed};
use crate::source::{ColumnOfPython, Forms, FoundColumn, Piece, RowSource, RowsOfPython};
use crate::terms::Function;
use crate::write::{Given, TableArgs, column_names, forms_of, of_arrow, wanted};

/// The waiting rows of a table.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Spool(Mutex<Waiting>);

struct Waiting {
    folder: PathBuf,
    content: Content,
    /// The forms of timestamps in the table, if it exists.
    forms: Forms,
    rows: u64,
    /// Notes about columns that got other names.
    notes: Vec<String>,
}

enum Content {
    Nothing,
    Rows {
        file: BufWriter<File>,
        names: Vec<String>,
        found: Vec<FoundColumn>,
    },
    /// Rows of Arrow. `schema` and `kinds` are those of the data as it was given; in the file, text is stored as binary data.
    Arrow {
        stream: Box<StreamWriter<BufWriter<File>>>,
        schema: SchemaRef,
        kinds: Vec<DataType>,
        names: Vec<String>,
        /// The types that keep all digits of columns of decimals whose type follows from their values; `None` for other columns.
        decimals: Vec<Option<Inferred>>,
        ended: bool,
    },
}

#[pymethods]
impl Spool {
    #[new]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        target: PathBuf,
        table: TableArgs,
        write: Options,
    ) -> PyResult<Spool> {
        let forms = || forms_of(&target, &table, &write.write()?);
        let forms = py.detach(forms).map_err(|error| raised_by_write(py, &error))?;
        let waiting = Waiting { folder, content: Content::Nothing, forms, rows: 0, notes: Vec::new() };
        Ok(Spool(Mutex::new(waiting)))
    }

    /// Adds rows, and returns their number. After an error, the spool may have some of the rows, and must not be used any more.
    fn append(&self, py: Python<'_>, given: Given<'_>) -> PyResult<u64> {
        let before = self.waiting().rows;
        let mut feed: Box<dyn Feed> = match given {
            Given::Rows(shape, keys, rows) => {
                let shape = Shape::new(py, &shape, &keys);
                let (names, notes) = column_names(keys);
                self.waiting().expect_rows(&names, notes).map_err(|error| raised_by_write(py, &error))?;
                let forms = self.waiting().forms.clone();
                Box::new(RowFeed::new(py, &rows, shape, names, &forms)?)
            }
            Given::Arrow(first, more) => {
                let feed = ArrowFeed::new(&first, more.as_ref())?;
                self.waiting()
                    .expect_arrow(&feed.schema, &feed.batches)
                    .map_err(|error| raised_by_write(py, &error))?;
                Box::new(feed)
            }
        };
        while let Some(piece) = feed.next(py)? {
            py.check_signals()?;
            py.detach(|| self.waiting().push(piece)).map_err(|error| raised_by_write(py, &error))?;
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
    Error::target("cannot store the rows in a temporary file until all have arrived").because(error)
}

fn broken(error: ArrowError) -> Error {
    Error::target("cannot store the rows in a temporary file until all have arrived").because(error)
}

impl Waiting {
    fn file(&self) -> Result<BufWriter<File>> {
        let file = tempfile::tempfile_in(&self.folder);
        file.map(BufWriter::new).map_err(|error| {
            let message = format!("cannot write {}", self.folder.display());
            Error::target(message).about(&self.folder).because(error)
        })
    }

    fn expect_rows(&mut self, given: &[String], notes: Vec<String>) -> Result<()> {
        match &self.content {
            Content::Nothing => {
                let (file, names) = (self.file()?, given.to_vec());
                let found = vec![FoundColumn::default(); names.len()];
                self.content = Content::Rows { file, names, found };
                self.notes = notes;
                Ok(())
            }
            Content::Rows { names, .. } if names == given => Ok(()),
            Content::Rows { names, .. } => {
                Err(Error::usage("these rows have other columns than the rows before")
                    .hint(format!("give rows with the columns {}", names.join(", "))))
            }
            Content::Arrow { .. } => Err(mixed()),
        }
    }

    fn expect_arrow(&mut self, given: &SchemaRef, batches: &ForeignBatches) -> Result<()> {
        match &self.content {
            Content::Nothing => {
                let stream = StreamWriter::try_new(self.file()?, batches.schema()).map_err(broken)?;
                let (stream, schema) = (Box::new(stream), given.clone());
                let kinds = batches.kinds().to_vec();
                let fields = schema.fields().iter();
                let (names, notes) = column_names(fields.map(|field| field.name().clone()).collect());
                let decimals = kinds.iter().map(|kind| guessed_type(kind, ArrowOptions::default())).collect();
                self.content = Content::Arrow { stream, schema, kinds, names, decimals, ended: false };
                self.notes = notes;
                Ok(())
            }
            Content::Arrow { schema, .. } if schema.fields() == given.fields() => Ok(()),
            Content::Arrow { .. } => Err(Error::usage("this data has other columns than the data before")),
            Content::Rows { .. } => Err(mixed()),
        }
    }

    fn push(&mut self, piece: Piece) -> Result<()> {
        match (&mut self.content, piece) {
            (Content::Rows { file, found, .. }, Piece::Rows(RowsOfPython { rows, columns })) => {
                self.rows += rows as u64;
                write_word(file, rows as u64).map_err(failed)?;
                for (found, column) in found.iter_mut().zip(&columns) {
                    *found = std::mem::take(found).and(column.found());
                    write_column(column, file)?;
                }
                Ok(())
            }
            (Content::Arrow { stream, decimals, .. }, Piece::Batch(batch)) => {
                self.rows += batch.num_rows() as u64;
                *decimals = with_decimals(decimals, &batch);
                stream.write(&batch).map_err(broken)
            }
            _ => Err(mixed()),
        }
    }

    /// Returns the names of the columns and the types that a new table declares for them.
    fn columns(&self, args: &TableArgs) -> Result<Vec<(String, String)>> {
        match &self.content {
            Content::Nothing => Ok(args.declared()),
            Content::Rows { names, found, .. } => Ok(args.types_found(names, found, args.arrow()?)),
            Content::Arrow { schema, names, decimals, .. } => {
                let options = args.arrow()?;
                let types = args
                    .types_of(names, schema.fields(), options)
                    .into_iter()
                    .zip(decimals)
                    .zip(schema.fields());
                let types = types.map(|(((name, declared), decimals), field)| {
                    match decimals.filter(|_| guessed_type(field.data_type(), options).is_some()) {
                        Some(decimals) => (name, decimals.name().to_owned()),
                        None => (name, declared),
                    }
                });
                Ok(types.collect())
            }
        }
    }

    /// Returns a source that reads the rows from the beginning of the file.
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
                Ok(Box::new(RowSource::new(rows, prepared.filled(index), args.arrow()?, &self.forms)))
            }
            Content::Arrow { stream, kinds, ended, .. } => {
                if !*ended {
                    stream.finish().map_err(broken)?;
                    stream.flush().map_err(broken)?;
                    *ended = true;
                }
                let from = again(stream.get_ref().get_ref()).map_err(failed)?;
                let batches = StreamReader::try_new(from, None).map_err(broken)?;
                let batches = batches.map(|batch| batch.map_err(broken));
                Ok(of_arrow(batches, kinds, prepared, index, args.arrow()?, &self.forms))
            }
        }
    }
}

fn mixed() -> Error {
    Error::usage("a table takes rows of Python or of Arrow, not both")
        .hint("give all rows as Arrow data, or none")
}

/// Writes a column to a spool.
fn write_column(column: &ColumnOfPython, to: &mut BufWriter<File>) -> Result<()> {
    match column {
        ColumnOfPython::Cells(cells) => {
            write_word(to, 0).map_err(failed)?;
            cells.write(to).map_err(failed)
        }
        ColumnOfPython::Arrow(array, kind) => {
            let schema =
                |kind: &DataType| Arc::new(Schema::new(vec![Field::new("values", kind.clone(), true)]));
            let of_type = StreamWriter::try_new(Vec::new(), &schema(kind)).map_err(broken)?;
            let schema = schema(array.data_type());
            let batch = RecordBatch::try_new(schema.clone(), vec![Arc::clone(array)]).map_err(broken)?;
            let mut stream = StreamWriter::try_new(Vec::new(), &schema).map_err(broken)?;
            stream.write(&batch).map_err(broken)?;
            for stream in [of_type, stream] {
                let bytes = stream.into_inner().map_err(broken)?;
                write_word(to, bytes.len() as u64).map_err(failed)?;
                to.write_all(&bytes).map_err(failed)?;
            }
            Ok(())
        }
    }
}

/// Reads a column that [`write_column`] has written.
fn read_column(from: &mut BufReader<File>) -> std::io::Result<ColumnOfPython> {
    let bytes = read_word(from)? as usize;
    if bytes == 0 {
        return Cells::read(from).map(ColumnOfPython::Cells);
    }
    let of_type = read_stream(from, bytes)?;
    let bytes = read_word(from)? as usize;
    let batch = read_stream(from, bytes)?.next().transpose().map_err(std::io::Error::other)?;
    let batch = batch.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let kind = of_type.schema().field(0).data_type().clone();
    Ok(ColumnOfPython::Arrow(Arc::clone(batch.column(0)), kind))
}

fn read_stream(from: &mut BufReader<File>, bytes: usize) -> std::io::Result<StreamReader<Cursor<Vec<u8>>>> {
    let mut stream = vec![0; bytes];
    from.read_exact(&mut stream)?;
    StreamReader::try_new(Cursor::new(stream), None).map_err(std::io::Error::other)
}

/// An iterator that reads rows of Python from the file.
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
            let columns = (0..self.columns).map(|_| read_column(&mut self.from)).collect::<Result<_, _>>()?;
            self.left = self.left.saturating_sub(rows);
            Ok(RowsOfPython { rows: rows as usize, columns })
        };
        Some(read().map_err(failed))
    }
}

/// Writes the waiting rows of all tables in one transaction. Returns the report as JSON.
#[pyfunction]
pub(crate) fn write_spools(
    py: Python<'_>,
    target: PathBuf,
    tables: Vec<(TableArgs, Py<Spool>)>,
    write: Options,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    if tables.is_empty() {
        return Err(usage(py, "no table has been given rows"));
    }
    let options = write.write().map_err(|error| raised_by_write(py, &error))?;
    let mut in_any_order = false;
    loop {
        let written = run_fed(py, progress, None, |context| {
            let columns = tables.iter().map(|(args, spool)| Ok((args, spool.get().waiting().columns(args)?)));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let prepared = wanted(&target, &options, columns, in_any_order)?.0.prepare(context)?;
            let sources = tables
                .iter()
                .enumerate()
                .map(|(index, (args, spool))| spool.get().waiting().source(args, &prepared, index));
            let sources = sources.collect::<Result<Vec<_>>>()?;
            prepared.run(sources, context)
        })?;
        match written {
            Ok(report) => {
                let notes = tables.iter().flat_map(|(args, spool)| {
                    let notes = std::mem::take(&mut spool.get().waiting().notes);
                    notes.into_iter().map(|note| format!("{}: {note}", args.table())).collect::<Vec<_>>()
                });
                return crate::commands::as_json(py, &Noted::new(report, Function::Write, notes.collect()));
            }
            Err(error) if error.refuted() == Some(Assumption::RowOrder) && !in_any_order => {
                in_any_order = true
            }
            Err(error) => return Err(raised_by_write(py, &error)),
        }
    }
}
