//! Inserts the rows of a source by INSERT statements of SQLite: where rows can't be written as pages, or where writing pages would be
//! slower.
//!
//! ```text
//!  source ──> parts ──> workers (one per core) ─> batches ──────────────> calling thread
//!                       decode, convert, refuse    in order, bounded      INSERT ... SELECT c1, c2 FROM sqluice_rows(?1)
//!                            ^                                                   │
//!                            └───────────────── empty batches ───────────────────┘
//! ```
//!
//! * One statement inserts a few thousand rows, in the transaction of the caller: triggers fire, generated columns are computed, and SQLite
//!   handles defaults, CHECKs and keys. Values are converted before, and refused with their places, as for pages.
//! * Conflicts are only about keys, as everywhere in this crate: `OR IGNORE` would also leave out rows with a failing CHECK, so `ON
//!   CONFLICT DO NOTHING` is used. ON CONFLICT clauses of the schema are ignored.
//! * FOREIGN KEYs are checked at the end of a statement: a row without a parent passes if a later row of its batch replaces it.
//! * A statement that may be undone saves every page that it changes, in a file if there are many. So `OR FAIL` is used if a statement may
//!   be left half done: the caller rolls back everything anyway.
//! * Rows are inserted in the order of the input, not of a key: see `benches/rows.rs` for the effect of sorting a batch.
//! * Rows whose rowids continue the table's last rowid in steps of one are inserted without rowids, if SQLite assigns the same rowids:
//!   SQLite then does not search the table for each rowid, which saves a third of the time.
//!
//! Invariant: the memory is a few batches per worker, for any number of rows. A batch ends with its part, so batches depend only on the
//! input.
//!
//! Invariant: the stored rows and the reported error do not depend on the number of workers.

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

/// The largest number of rows that one statement inserts. More rows would not be faster: a statement itself costs only as much time as a
/// few rows.
const BATCH_ROWS: usize = 4096;

/// The number of bytes at which a batch ends, even if it has fewer rows than [`BATCH_ROWS`].
const BATCH_BYTES: usize = 1 << 20;

/// The options for inserting rows.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The columns that are inserted, as positions in the table, in any order and without generated columns. The other columns get their
    /// DEFAULT. The batches of the source have all columns of the table.
    pub columns: Vec<usize>,
    /// The conversions of text that a declared type may do.
    pub coercion: Coercion,
    /// The treatment of a row with the key of another row.
    pub on_conflict: OnConflict,
    /// The columns of an upsert, if any: a row with the same values in these columns as an existing row updates that row. The columns are a
    /// key of the table, in any order.
    pub upsert: Vec<String>,
    /// The quoted name of the table that gets the rows instead, which has the same columns and a rowid; `None` for the table itself.
    pub into: Option<String>,
    /// The number of threads that decode, in addition to the calling thread; at least 1.
    pub workers: usize,
    /// The largest number of rows that one statement inserts.
    pub batch_rows: usize,
    /// The bytes that each worker may take for batches.
    pub worker_bytes: usize,
}

impl Insert {
    /// Returns options for all columns of a table that take values, with one worker.
    pub fn new(table: &Table) -> Insert {
        let given = |column: &usize| table.columns[*column].generated.is_none();
        Insert {
            columns: (0..table.columns.len()).filter(given).collect(),
            coercion: Coercion::Lossless,
            on_conflict: OnConflict::Abort,
            upsert: Vec::new(),
            into: None,
            workers: 1,
            batch_rows: BATCH_ROWS,
            worker_bytes: 8 << 20,
        }
    }

    /// Returns the number of batches that a worker may have in progress.
    fn batches(&self) -> usize {
        (self.worker_bytes / BATCH_BYTES).clamp(2, 8)
    }
}

/// The counts of a finished insertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inserted {
    /// The number of rows that were inserted or updated an existing row. With REPLACE, this includes rows that a later row has replaced.
    pub rows: u64,
    /// The number of rows that were left out because of their keys or by a trigger.
    pub ignored: u64,
    /// The rows that went to `rejects`.
    pub rejected: Rejected,
}

/// A consumer of the bad rows, in order.
pub type Rejects<'a> = dyn FnMut(&BadRow) -> Result<()> + 'a;

/// Inserts the rows of `source` into a table of the connection's main database, in the open transaction. Bad rows go to `rejects`, or the
/// first bad row ends the run. If the run fails, `cancel` is set, which unblocks readers that wait on a pipe.
///
/// # Errors
/// If the columns of an upsert are no key, rows can't be read or stored, SQLite can't write, or `cancel` is set. The caller must roll back.
/// An error about a record has its number ([`Error::record`]).
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

/// The state of the thread that runs the INSERT statements.
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

/// The statements for rows whose given rowids are the rowids that SQLite would assign.
struct Numbered<'a> {
    /// The index of the rowid in [`Insert::columns`].
    given: usize,
    insert: Statement<'a>,
    last: Statement<'a>,
}

impl Numbered<'_> {
    /// Returns `true` if the rowids of these rows continue the last rowid in steps of one.
    fn fits(&mut self, cells: &[Cells]) -> rusqlite::Result<bool> {
        let Some(rowids @ [first, ..]) = cells[self.given].ints() else { return Ok(false) };
        if !rowids.is_sorted_by(|one, next| one.checked_add(1) == Some(*next)) {
            return Ok(false);
        }
        let last: Option<i64> = self.last.query_row([], |row| row.get(0))?;
        // SQLite assigns rowid 1 to the first row of a table.
        Ok(last.unwrap_or(0).checked_add(1) == Some(*first))
    }
}

impl Inserting<'_, '_, '_> {
    /// Handles the next message in the order of the parts. Returns an emptied batch, if any.
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
