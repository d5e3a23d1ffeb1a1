//! Inserts the rows of a source through SQLite, where pages are not possible or not worth it.
//!
//! ```text
//!  source ──> parts ──> workers (one a core) ──> batches of their own ──> calling thread
//!                       decode, convert, refuse    in order, bounded      INSERT ... SELECT c1, c2 FROM sqluice_rows(?1)
//!                            ^                                                   │
//!                            └───────────────── empty batches ───────────────────┘
//! ```
//!
//! * One statement for every few thousand rows, in the transaction that the caller has begun: triggers fire, generated columns
//!   are computed, and SQLite handles defaults, CHECKs and keys. Values reach it converted, and refused with their places, as
//!   on the way to pages.
//! * Conflicts are about keys alone, as everywhere here: `OR IGNORE` would leave out rows with a failing CHECK as well, so it is
//!   `ON CONFLICT DO NOTHING`. ON CONFLICT clauses of the schema are not followed.
//! * FOREIGN KEYs hold at the end of a statement: a row without a parent passes if a later one of its batch replaces it.
//! * A statement that may be undone keeps what it changes of every page, and writes that to a file when it is much. So where a
//!   statement can be left half done it is `OR FAIL`: the caller takes everything back anyway.
//! * Rows go in the order of the input, not of a key: see `benches/rows.rs` for the effect of sorting a batch.
//! * Rows whose rowids follow the last one of the table, each by one, go in without them where SQLite numbers them the same: it
//!   need not look for each in the table, which takes a third of the time of such an INSERT.
//!
//! Invariant: memory is a few batches a worker, whatever the number of rows. A batch ends with the part that it was read from, so
//! batches depend on the input alone.
//!
//! Invariant: what is stored, and which error is reported, does not depend on the number of workers.

mod decode;
mod explain;
mod statement;

use rusqlite::{Connection, Statement};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context, Progress};
use sqluice_core::rows::{self, Cells, Rows};
use sqluice_core::schema::Table;
use sqluice_core::source::{BadRow, Source};
use sqluice_core::sqlite_error::{failed, is_of_values};

use crate::encode::Coercion;
use crate::options::OnConflict;
use crate::reject::Rejected;
use decode::{Decoded, Message};
use statement::Statements;

/// Rows of a statement. More would not be faster: a statement costs as much as a few rows.
const BATCH_ROWS: usize = 4096;

/// Bytes of a batch at which it takes no more rows.
const BATCH_BYTES: usize = 1 << 20;

/// How rows are inserted.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The columns that the source gives, of the table's, in any order; generated ones are not among them. The others take their
    /// DEFAULT. (Batches have all columns.)
    pub columns: Vec<usize>,
    /// What a declared type may do to text.
    pub coercion: Coercion,
    /// How a row is handled that has the key of another row.
    pub on_conflict: OnConflict,
    /// If not empty, a row that has the same values in these columns as an existing one updates that instead. They are the
    /// columns of a key of the table, in any order.
    pub upsert: Vec<String>,
    /// Threads that decode, besides the calling one; at least one.
    pub workers: usize,
    /// Rows of a statement.
    pub batch_rows: usize,
    /// Bytes that each worker may take for batches.
    pub worker_bytes: usize,
}

impl Insert {
    /// All given columns of a table, by one worker.
    pub fn new(table: &Table) -> Insert {
        let given = |column: &usize| table.columns[*column].generated.is_none();
        Insert {
            columns: (0..table.columns.len()).filter(given).collect(),
            coercion: Coercion::Lossless,
            on_conflict: OnConflict::Abort,
            upsert: Vec::new(),
            workers: 1,
            batch_rows: BATCH_ROWS,
            worker_bytes: 8 << 20,
        }
    }

    /// Batches that a worker may have under way.
    fn batches(&self) -> usize {
        (self.worker_bytes / BATCH_BYTES).clamp(2, 8)
    }
}

/// The counts of a finished insertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inserted {
    /// Rows that were inserted, or that updated an existing one. Under REPLACE, those too that a later row has replaced.
    pub rows: u64,
    /// Rows that were left out, because of their keys or by a trigger.
    pub ignored: u64,
    /// Rows that went to `rejects`.
    pub rejected: Rejected,
}

/// Takes the bad rows, in their order.
pub type Rejects<'a> = dyn FnMut(&BadRow) -> Result<()> + 'a;

/// Inserts the rows of `source` into a table of the connection's main database, in the transaction that is open. Bad rows go to
/// `rejects`, or the first of them ends the run. `cancel` is set when the run fails: this unblocks readers that wait on a pipe.
///
/// # Errors
/// If the columns of an upsert are no key, rows can't be read or stored, SQLite can't write, or `cancel` is set. The caller rolls
/// back what has been done. An error about a record names it ([`Error::record`]).
pub fn insert(
    connection: &Connection,
    table: &Table,
    source: Box<dyn Source + '_>,
    how: &Insert,
    rejects: Option<&mut Rejects<'_>>,
    context: &Context<'_>,
) -> Result<Inserted> {
    if connection.is_autocommit() {
        return Err(Error::usage("rows are inserted in a transaction, and none is open"));
    }
    rows::register(connection).map_err(|error| failed(error, "take rows"))?;
    let statements = Statements::new(connection, table, how)?;
    let keep_bad_rows = rejects.is_some();
    let prepare = |sql: &str| {
        connection.prepare(sql).map_err(|error| statement::cannot_insert(connection, table, error))
    };
    let numbered = statements.numbered.as_ref().map(|sql| {
        Ok(Numbered { given: sql.given, insert: prepare(&sql.insert)?, last: prepare(&sql.last)? })
    });
    let mut inserting = Inserting {
        connection,
        table,
        how,
        insert: prepare(&statements.all)?,
        numbered: numbered.transpose()?,
        statements: &statements,
        rejects,
        progress: context.progress,
        inserted: Inserted::default(),
    };
    decode::each(source, table, how, keep_bad_rows, &context.cancel, |message| inserting.take(message))?;
    Ok(inserting.inserted)
}

/// The calling thread's part.
struct Inserting<'a, 'r, 'f> {
    connection: &'a Connection,
    table: &'a Table,
    how: &'a Insert,
    statements: &'a Statements,
    insert: Statement<'a>,
    numbered: Option<Numbered<'a>>,
    rejects: Option<&'r mut Rejects<'f>>,
    progress: &'a dyn Progress,
    inserted: Inserted,
}

/// Inserts rows that SQLite would number as they are.
struct Numbered<'a> {
    /// The rowid's place among the given columns.
    given: usize,
    insert: Statement<'a>,
    last: Statement<'a>,
}

impl Numbered<'_> {
    /// Whether the rowids of these rows follow the last one, each by one.
    fn fits(&mut self, cells: &[Cells]) -> rusqlite::Result<bool> {
        let Some(rowids @ [first, ..]) = cells[self.given].ints() else { return Ok(false) };
        if !rowids.is_sorted_by(|one, next| one.checked_add(1) == Some(*next)) {
            return Ok(false);
        }
        let last: Option<i64> = self.last.query_row([], |row| row.get(0))?;
        // The first row of a table gets 1.
        Ok(last.unwrap_or(0).checked_add(1) == Some(*first))
    }
}

impl Inserting<'_, '_, '_> {
    /// Takes the message whose turn it is; gives back a batch that may be filled again.
    fn take(&mut self, message: Message) -> Result<Option<Decoded>> {
        match message {
            Message::Rows(batch) => return self.insert(batch).map(Some),
            Message::BadRows(rows) => {
                for bad in &rows {
                    if let Some(rejects) = &mut self.rejects {
                        rejects(bad)?;
                    }
                    self.inserted.rejected.add(bad);
                }
            }
            Message::End { input_bytes } => self.progress.advance(Amount { rows: 0, bytes: input_bytes }),
            Message::Failed(error) => return Err(error),
        }
        Ok(None)
    }

    fn insert(&mut self, batch: Decoded) -> Result<Decoded> {
        let Decoded { cells, rows: number, records } = batch;
        let statement = match &mut self.numbered {
            Some(numbered) => match numbered.fits(&cells) {
                Ok(true) => &mut numbered.insert,
                Ok(false) => &mut self.insert,
                Err(error) => return Err(statement::cannot_insert(self.connection, self.table, error)),
            },
            None => &mut self.insert,
        };
        let rows = Rows::from_cells(number, cells);
        let savepoint = |sql: &str| match self.statements.savepoint {
            true => self.connection.execute_batch(sql),
            false => Ok(()),
        };
        let changed = savepoint("SAVEPOINT sqluice_batch")
            .and_then(|()| rows.lend(statement, 1, |insert| insert.execute())?)
            .and_then(|changed| savepoint("RELEASE sqluice_batch").map(|()| changed));
        let changed = match changed {
            Ok(changed) => changed as u64,
            Err(error) if is_of_values(&error) => {
                let failure = explain::Failure {
                    connection: self.connection,
                    table: self.table,
                    columns: &self.how.columns,
                    statements: self.statements,
                    rows: &rows,
                    records: &records,
                };
                return Err(failure.explain(error));
            }
            Err(error) => return Err(statement::cannot_insert(self.connection, self.table, error)),
        };
        self.inserted.rows += changed;
        self.inserted.ignored += (number as u64).saturating_sub(changed);
        self.progress.advance(Amount { rows: number as u64, bytes: 0 });
        Ok(Decoded { cells: rows.into_cells(), rows: number, records })
    }
}
