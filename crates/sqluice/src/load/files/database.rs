//! Tables of databases as files of a load: one committed state, read by pages or by SQLite.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::Batch;
use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel};
use sqluice_core::source::around::decoded_by;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Filled};
use sqluice_core::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};
use sqluice_format::database::MAGIC;
use sqluice_platform::positioned::Positioned;
use sqluice_reader::descriptor::Descriptor;
use sqluice_reader::rows::Rows;

/// A table of a database.
pub(crate) struct DatabaseTable {
    pub(crate) rows: Rows,
    pub(crate) cancel: Cancel,
}

/// Whether a file is a database, by its first bytes.
pub(crate) fn is_database(path: &Path) -> bool {
    let is_file = || path.metadata().is_ok_and(|about| about.is_file());
    let mut start = [0; MAGIC.len()];
    // It may be open already, and closing another descriptor would drop the locks on it.
    is_file()
        && Descriptor::open(path).is_ok_and(|file| file.file().read_exact_at(&mut start, 0).is_ok())
        && start == *MAGIC
}

impl DatabaseTable {
    /// What its columns are declared as in a new table.
    pub(crate) fn types(&self) -> Vec<Option<&'static str>> {
        let name = |affinity| match affinity {
            Affinity::Blob => "BLOB",
            Affinity::Text => "TEXT",
            Affinity::Numeric => "NUMERIC",
            Affinity::Integer => "INTEGER",
            Affinity::Real => "REAL",
        };
        self.rows.columns().iter().map(|column| Some(name(column.affinity))).collect()
    }

    /// Opens the rows, for the columns of the table that they go to.
    pub(crate) fn source(&self, map: Vec<ColumnFrom>, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        let fields = map.iter().map(|from| match from {
            ColumnFrom::Field(field) => Some(*field),
            ColumnFrom::Constant(_) => None,
        });
        let filled = Arc::new(Mapping {
            fields: fields.collect(),
            filled: Filled::all(map, self.rows.columns().len()),
        });
        Ok(Box::new(Mapped { source: self.rows.counted_source(rows, &self.cancel)?, mapping: filled }))
    }
}

/// What fills the columns of the table.
struct Mapping {
    filled: Vec<Filled>,
    /// The columns of the rows that they are; `None`: a constant.
    fields: Vec<Option<usize>>,
}

/// Rows as those of another table.
struct Mapped {
    source: Box<dyn Counted>,
    mapping: Arc<Mapping>,
}

impl Source for Mapped {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        let mapping = Arc::clone(&self.mapping);
        Ok(Some(decoded_by(part, move |part, sink| part.decode(&mut MappedSink { mapping: &mapping, sink }))))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

impl Counted for Mapped {
    fn rows_done(&self) -> u64 {
        self.source.rows_done()
    }
}

struct MappedSink<'s> {
    mapping: &'s Mapping,
    sink: &'s mut dyn Sink,
}

impl Sink for MappedSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let filled = self.mapping.filled.iter().map(|filled| match filled {
            Filled::Field(field) => batch.columns[*field],
            Filled::Constant(constant) => constant.column(batch.rows),
        });
        let columns = filled.collect();
        let refused = self.sink.rows(&Batch { rows: batch.rows, columns });
        // The place is that of the column that was read.
        refused.map_err(|refused| {
            let field = |column: usize| self.mapping.fields[column];
            match refused {
                Refused::Rows(rows) if rows.iter().all(|row| field(row.column).is_some()) => {
                    let rows = rows.into_iter();
                    let of_fields =
                        rows.map(|row| RefusedRow { column: field(row.column).unwrap_or_default(), ..row });
                    Refused::Rows(of_fields.collect())
                }
                refused => {
                    let (at, error) = refused.first();
                    let at = at.and_then(|(row, column)| Some((row, field(column)?)));
                    Refused::Stop { at, error }
                }
            }
        })
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.sink.bad_row(bad)
    }
}
