//! Opens SQLite databases: each table is loaded like a file of its own. All tables are read in one committed state, from pages or by SQLite.

use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::{Amount, Cancel};
use sqluice_core::source::around::decoded_by;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Filled};
use sqluice_core::source::recognised::Recognised;
use sqluice_core::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};
use sqluice_reader::rows::{Rows, Selection};

use super::opened::{Columns, Content, OpenRequest, Opened, SampledRows, WantedRows};
use super::sample::SampleFacts;
use super::{FileFormat, Format};
use crate::input::InputFile;

/// The maximum number of rows in a sample.
const SAMPLE_ROWS: u64 = 16 << 10;

/// The reader of SQLite databases.
pub(super) struct Sqlite;

impl Format for Sqlite {
    fn open(
        &self,
        this: &'static FileFormat,
        _: InputFile,
        request: &OpenRequest<'_>,
    ) -> Result<Vec<Opened>> {
        let snapshot = Arc::new((request.open_database)()?);
        let schema = snapshot.schema()?;
        let names: Vec<&str> = match request.tables {
            [] => schema.tables.iter().map(|table| &*table.name).collect(),
            named => {
                let mut names: Vec<&str> = Vec::new();
                for name in named {
                    if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                        names.push(name);
                    }
                }
                names
            }
        };
        if names.is_empty() {
            return Err(Error::input("the database has no tables").at(Place::file(request.path)));
        }
        let open = |name: &str| {
            let rows = Rows::of_table(&snapshot, &schema, name, &Selection::default())?;
            table(this, snapshot.name(), rows, request)
        };
        names.into_iter().map(open).collect()
    }
}

/// Opens a table of a database, which is called `database` in messages.
fn table(
    format: &'static FileFormat,
    database: &std::path::Path,
    rows: Rows,
    request: &OpenRequest<'_>,
) -> Result<Opened> {
    let input = (request.open_again)()?;
    let table = DatabaseTable { rows, cancel: request.cancel.clone() };
    let mut source = table.source(Vec::new(), 0..SAMPLE_ROWS.min(request.rows_max))?;
    while source.next_part()?.is_some() {}
    let sample = source.rows_done();
    let all = (sample < SAMPLE_ROWS).then_some(sample);
    drop(source);
    let names: Vec<String> = table.rows.columns().iter().map(|column| column.name.clone()).collect();
    let types = table.types();
    let types = types.map(|name| if request.strict && name == "NUMERIC" { "ANY" } else { name });
    Ok(Opened {
        table: Some(table.rows.name().to_owned()),
        columns: Columns { places: Some(vec![Place::file(database); names.len()]), names, notes: Vec::new() },
        types: types.map(Some).collect(),
        guesses: Vec::new(),
        moments: Vec::new(),
        recognised: Recognised::new(format.name),
        words: format!("table {} of a database", table.rows.name()),
        sample: SampleFacts::of_rows(sample, all.is_some()),
        rows: SampledRows::Declared { sample, all },
        all_malformed: None,
        content: Box::new(table),
        input,
    })
}

/// An opened table of a database.
struct DatabaseTable {
    rows: Rows,
    cancel: Cancel,
}

impl DatabaseTable {
    /// Returns the declared type for each column of the new table, by the affinity of the old column.
    fn types(&self) -> impl Iterator<Item = &'static str> + use<> {
        let name = |affinity| match affinity {
            Affinity::Blob => "BLOB",
            Affinity::Text => "TEXT",
            Affinity::Numeric => "NUMERIC",
            Affinity::Integer => "INTEGER",
            Affinity::Real => "REAL",
        };
        let types: Vec<_> = self.rows.columns().iter().map(|column| name(column.affinity)).collect();
        types.into_iter()
    }

    /// Opens the rows of the table. `map` has the field or the constant that fills each column of the new table.
    fn source(&self, map: Vec<ColumnFrom>, rows: std::ops::Range<u64>) -> Result<Box<dyn Counted>> {
        let fields = map.iter().map(|from| match from {
            ColumnFrom::Field(field) => Some(*field),
            ColumnFrom::Constant(_) => None,
        });
        let mapping = Arc::new(Mapping {
            fields: fields.collect(),
            filled: Filled::all(map, self.rows.columns().len()),
        });
        Ok(Box::new(Mapped { source: self.rows.counted_source(rows, &self.cancel)?, mapping }))
    }
}

impl Content for DatabaseTable {
    fn source(&mut self, _: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>> {
        DatabaseTable::source(self, wanted.map, wanted.rows)
    }

    fn sample_source(
        &mut self,
        input: &mut InputFile,
        _: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>> {
        Content::source(self, input, wanted)
    }

    fn has_untyped_values(&self) -> bool {
        false
    }
}

/// The values for the columns of the new table: fields of the old table, and constants.
struct Mapping {
    filled: Vec<Filled>,
    /// The field of the old table for each column; `None` if the column is filled with a constant.
    fields: Vec<Option<usize>>,
}

/// A source that reads rows of the old table and returns them with the columns of the new table.
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
        // An error names a column of the old table, not of the new one.
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
