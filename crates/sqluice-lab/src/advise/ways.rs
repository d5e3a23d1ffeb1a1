//! The ways to fill a database, each a method to insert rows with settings, and the code that runs a way.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Instant;

use rusqlite::{Connection, types};
use sqluice::batch;
use sqluice::error::{Error, Result};
use sqluice::options::PageSize;
use sqluice::options::WriteOptions;
use sqluice::progress::Cancel;
use sqluice::rows::{self, Column};
use sqluice::schema::Schema;

use super::outcome;
use super::rows::{SampleRows, TableRows, generate, quoted};
use crate::record::{Experiment, Provenance, Variant};

/// The number of rows in a statement with `sqluice_rows`.
const STATEMENT_ROWS: usize = 4096;

/// The page size that is compared with 4096.
pub(super) const OTHER_PAGE_BYTES: u32 = 16384;

/// The number of rows for ways with a transaction for each row, which are slow.
const ALONE_ROWS: u64 = 60;

/// The method that inserts rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Pages written by sqluice.
    Pages,
    /// A prepared INSERT of one row.
    Prepared,
    /// INSERT ... SELECT from `sqluice_rows`.
    Rows,
}

/// A way to fill the database: a method with its settings.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The ids of the experiments that the way takes part in, with the way's name in each.
    pub(super) of: Vec<(&'static str, String)>,
    pub(super) method: Method,
    pub(super) settings: Vec<String>,
    pub(super) page_bytes: u32,
    pub(super) indexes_after: bool,
    /// The number of rows in a transaction; `None`: all rows.
    pub(super) transaction_rows: Option<usize>,
    /// The maximum number of rows of each table; `None`: all rows.
    pub(super) rows_max: Option<u64>,
}

/// The result of one run of a way.
#[derive(Clone, Debug)]
pub(super) enum WayRun {
    /// The run ended after this number of seconds.
    Done { seconds: f64 },
    /// The rows differ from the expected rows, or SQLite reported an error.
    Wrong(String),
}

/// The description of each experiment.
const EXPERIMENTS: &[(&str, &str)] = &[
    ("method", "all rows into a new database, in one transaction, indexes included"),
    ("index", "indexes made before the rows, and after them"),
    ("page-size", "pages of 4096 bytes, and larger ones"),
    ("transaction", "rows of a transaction, inserted one by one"),
];

/// Returns all ways for a schema.
pub(super) fn all(schema: &Schema) -> Vec<Way> {
    let indexed = has_indexes(schema);
    let way = |of: &[(&'static str, &str)], method, settings: &[&str]| Way {
        of: of.iter().map(|(id, name)| (*id, (*name).to_owned())).collect(),
        method,
        settings: settings.iter().map(|setting| (*setting).to_owned()).collect(),
        page_bytes: 4096,
        indexes_after: true,
        transaction_rows: None,
        rows_max: None,
    };
    let wal = ["journal_mode=WAL", "synchronous=NORMAL"];
    let off = ["journal_mode=OFF", "synchronous=OFF"];
    let other = format!("sqluice, pages of {OTHER_PAGE_BYTES}");
    let other_rows = format!("sqluice_rows, pages of {OTHER_PAGE_BYTES}");
    let mut ways = vec![
        way(&[("method", "sqluice, pages"), ("page-size", "sqluice, pages of 4096")], Method::Pages, &[]),
        way(
            &[
                ("method", "sqluice_rows, defaults"),
                ("page-size", "sqluice_rows, pages of 4096"),
                ("index", "sqluice_rows, indexes after"),
            ],
            Method::Rows,
            &[],
        ),
        way(&[("method", "sqluice_rows, WAL and NORMAL")], Method::Rows, &wal),
        way(&[("method", "sqluice_rows, unsafe")], Method::Rows, &off),
        way(
            &[
                ("method", "prepared INSERT, defaults"),
                ("index", "prepared INSERT, indexes after"),
                ("transaction", "all rows a transaction"),
            ],
            Method::Prepared,
            &[],
        ),
        way(&[("method", "prepared INSERT, WAL and NORMAL")], Method::Prepared, &wal),
        way(&[("method", "prepared INSERT, unsafe")], Method::Prepared, &off),
        Way { page_bytes: OTHER_PAGE_BYTES, ..way(&[("page-size", &other)], Method::Pages, &[]) },
        Way { page_bytes: OTHER_PAGE_BYTES, ..way(&[("page-size", &other_rows)], Method::Rows, &[]) },
        Way {
            transaction_rows: Some(1000),
            ..way(&[("transaction", "1,000 rows a transaction")], Method::Prepared, &[])
        },
        alone(way(&[("transaction", "1 row a transaction")], Method::Prepared, &[])),
        alone(way(&[("transaction", "1 row a transaction, WAL and NORMAL")], Method::Prepared, &wal)),
    ];
    if indexed {
        let before = |way: Way| Way { indexes_after: false, ..way };
        ways.push(before(way(&[("index", "sqluice_rows, indexes before")], Method::Rows, &[])));
        ways.push(before(way(&[("index", "prepared INSERT, indexes before")], Method::Prepared, &[])));
    } else {
        ways.iter_mut().for_each(|way| way.of.retain(|(id, _)| *id != "index"));
    }
    ways
}

/// Returns `way` with a transaction for each row. As this is slow, only [`ALONE_ROWS`] rows are written. Indexes exist from the start.
fn alone(way: Way) -> Way {
    Way { transaction_rows: Some(1), rows_max: Some(ALONE_ROWS), indexes_after: false, ..way }
}

/// Returns `true` if the schema has CREATE INDEX statements.
fn has_indexes(schema: &Schema) -> bool {
    schema.tables.iter().flat_map(|table| &table.indexes).any(|index| index.sql.is_some())
}

/// Returns the measured experiments for the record.
pub(super) fn experiments(ways: &[Way], tried: &[Vec<WayRun>], rows: &SampleRows) -> Vec<Experiment> {
    let of = |id: &str| {
        let mut variants = Vec::new();
        for (way, tried) in ways.iter().zip(tried) {
            let named = way.of.iter().filter(|(of, _)| *of == id);
            variants.extend(named.map(|(_, name)| way.variant(name, tried, rows)));
        }
        variants
    };
    let all = EXPERIMENTS.iter().map(|(id, what)| Experiment {
        id: (*id).to_owned(),
        source: "advise".to_owned(),
        what: (*what).to_owned(),
        unit: "rows/s".to_owned(),
        more_is_better: true,
        count: rows.tables.iter().map(|table| table.len() as u64).sum(),
        published_count: None,
        variants: of(id),
        notes: Vec::new(),
    });
    all.filter(|experiment| !experiment.variants.is_empty()).collect()
}

impl Way {
    fn variant(&self, name: &str, tried: &[WayRun], rows: &SampleRows) -> Variant {
        let provenance =
            if self.method == Method::Prepared { Provenance::Added } else { Provenance::Sqluice };
        let mut settings = self.settings.clone();
        settings.push(format!("page_size={}", self.page_bytes));
        Variant {
            name: name.to_owned(),
            provenance,
            published: None,
            published_note: None,
            settings,
            command: rows.tables.iter().map(|table| self.statement(table)).collect::<Vec<_>>().join("; "),
            outcome: outcome(tried, self.rows(rows)),
        }
    }

    /// Returns the statement that inserts into a table.
    fn statement(&self, table: &TableRows) -> String {
        let (name, columns) = (quoted(&table.name), table.column_list());
        let each = |prefix: &str| {
            (1..=table.columns.len()).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>().join(", ")
        };
        match self.method {
            Method::Pages => format!("sqluice generate, {name}"),
            Method::Prepared => format!("INSERT INTO {name} ({columns}) VALUES ({})", each("?")),
            Method::Rows => {
                format!("INSERT INTO {name} ({columns}) SELECT {} FROM sqluice_rows(?1)", each("c"))
            }
        }
    }

    /// Returns `true` if the way never syncs.
    pub(super) fn is_unsynced(&self) -> bool {
        self.settings.iter().any(|setting| setting == "synchronous=OFF")
    }

    /// Returns the number of rows that the way writes to all tables.
    pub(super) fn rows(&self, rows: &SampleRows) -> u64 {
        let max = self.rows_max.unwrap_or(u64::MAX);
        rows.tables.iter().map(|table| (table.len() as u64).min(max)).sum()
    }

    /// Runs the way once, in a new database that is removed afterwards.
    pub(super) fn run(
        &self,
        schema: &Schema,
        rows: &SampleRows,
        folder: &Path,
        cancel: &Cancel,
    ) -> Result<WayRun> {
        let folder = tempfile::Builder::new().prefix("way-").tempdir_in(folder);
        let folder =
            folder.map_err(|error| Error::target("cannot make a folder to measure in").because(error))?;
        let file = folder.path().join("way.db");
        let started = Instant::now();
        let done = match self.method {
            Method::Pages => {
                let page_size = PageSize::new(self.page_bytes).unwrap_or(PageSize::DEFAULT);
                let write = WriteOptions::new().page_size(page_size);
                generate(schema, &file, rows.per_table, write, cancel)
                    .map(|()| started.elapsed().as_secs_f64())?
            }
            Method::Prepared | Method::Rows => match self.insert(schema, rows, &file, cancel) {
                Ok(seconds) => seconds,
                Err(error) => {
                    cancel.check()?;
                    return Ok(WayRun::Wrong(error.to_string()));
                }
            },
        };
        if let Some(wrong) = rows.differs(&file, self.rows_max)? {
            return Ok(WayRun::Wrong(wrong));
        }
        // An unsafe way leaves pages in the system's page cache. They are synced now, so that the next way is not slowed down.
        let writable = OpenOptions::new().write(true).open(&file);
        writable.and_then(|file| file.sync_all()).map_err(|error| Error::read(&file, error))?;
        Ok(WayRun::Done { seconds: done })
    }

    /// Inserts all rows and returns the seconds, from the first PRAGMA to the closed database.
    fn insert(
        &self,
        schema: &Schema,
        rows: &SampleRows,
        file: &Path,
        cancel: &Cancel,
    ) -> rusqlite::Result<f64> {
        let lent: Vec<Vec<Vec<batch::Value<'_>>>> = match self.method {
            Method::Rows => rows.tables.iter().map(lend).collect(),
            _ => Vec::new(),
        };
        let started = Instant::now();
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "page_size", self.page_bytes)?;
        connection.pragma_update(None, "foreign_keys", "OFF")?;
        for (name, value) in self.settings.iter().filter_map(|setting| setting.split_once('=')) {
            connection.pragma_update_and_check(None, name, value, |_| Ok(())).or_else(
                |error| match error {
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    error => Err(error),
                },
            )?;
        }
        rows::register(&connection)?;
        let tables = schema.tables.iter().map(|table| table.sql.as_str());
        let indexes: Vec<&str> = schema
            .tables
            .iter()
            .flat_map(|table| &table.indexes)
            .filter_map(|index| index.sql.as_deref())
            .collect();
        let (before, after) =
            if self.indexes_after { (&[][..], &indexes[..]) } else { (&indexes[..], &[][..]) };
        connection.execute_batch(&[tables.collect::<Vec<_>>(), before.to_vec()].concat().join(";\n"))?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for (at, table) in rows.tables.iter().enumerate() {
            match self.method {
                Method::Rows => insert_lent(&connection, &self.statement(table), table, &lent[at], cancel)?,
                _ => self.insert_each(&connection, table, cancel)?,
            }
        }
        connection.execute_batch(&after.join(";\n"))?;
        connection.execute_batch("COMMIT")?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Inserts row by row, with a COMMIT after a fixed number of rows.
    fn insert_each(
        &self,
        connection: &Connection,
        table: &TableRows,
        cancel: &Cancel,
    ) -> rusqlite::Result<()> {
        let max = self.rows_max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
        let mut statement = connection.prepare(&self.statement(table))?;
        for row in 0..table.len().min(max) {
            if self.transaction_rows.is_some_and(|rows| row > 0 && row.is_multiple_of(rows)) {
                connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
            }
            if row.is_multiple_of(STATEMENT_ROWS) && cancel.check().is_err() {
                return Err(rusqlite::Error::QueryReturnedNoRows);
            }
            for (at, column) in table.values.iter().enumerate() {
                statement.raw_bind_parameter(at + 1, &column[row])?;
            }
            if statement.raw_execute()? != 1 {
                return Err(rusqlite::Error::StatementChangedRows(0));
            }
        }
        Ok(())
    }
}

/// Inserts rows with `sqluice_rows`, some thousand in each statement.
fn insert_lent(
    connection: &Connection,
    sql: &str,
    table: &TableRows,
    columns: &[Vec<batch::Value<'_>>],
    cancel: &Cancel,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    for from in (0..table.len()).step_by(STATEMENT_ROWS) {
        if cancel.check().is_err() {
            return Err(rusqlite::Error::QueryReturnedNoRows);
        }
        let to = (from + STATEMENT_ROWS).min(table.len());
        let columns = columns.iter().map(|column| Column::from(&column[from..to]));
        let rows = rows::Rows::new(columns)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let inserted = rows.lend(&mut statement, 1, |statement| statement.execute())??;
        if inserted != to - from {
            return Err(rusqlite::Error::StatementChangedRows(inserted));
        }
    }
    Ok(())
}

/// Borrows the values of a table, column by column, in the form that `sqluice_rows` reads.
fn lend(table: &TableRows) -> Vec<Vec<batch::Value<'_>>> {
    table.values.iter().map(|column| column.iter().map(as_lent).collect()).collect()
}

/// Returns the value as a batch value that borrows its text or blob.
fn as_lent(value: &types::Value) -> batch::Value<'_> {
    match value {
        types::Value::Null => batch::Value::Null,
        types::Value::Integer(int) => batch::Value::Int(*int),
        types::Value::Real(real) => batch::Value::Real(*real),
        types::Value::Text(text) => batch::Value::Text(text.as_bytes()),
        types::Value::Blob(blob) => batch::Value::Blob(blob),
    }
}
