//! Writes Arrow rows to a table: as pages, or with an `INSERT ... SELECT` for each batch.
//!
//! Either all rows are written or none: the inserts run within a savepoint. Without an open transaction, the savepoint is the transaction.

use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use arrow_array::RecordBatchReader;
use arrow_schema::Schema;
use sqluice_core::rows;

use crate::errors::{error, of_sqlite};
use crate::names::quoted;
use crate::pages::{self, Rows};
use crate::shared::{Shared, State};
use crate::target::{Target, make_table};
use crate::values::cells;

/// Writes all rows of a stream to the target table and returns their number.
pub(crate) fn ingest(
    shared: &Arc<Shared>,
    target: &Target,
    rows: Box<dyn RecordBatchReader + Send>,
) -> Result<i64> {
    let name = target.name()?;
    let cancellations = shared.cancellations();
    {
        let state = shared.lock();
        // Two threads would share the savepoint: the first to end would also release or roll back the rows of the other.
        if state.is_ingesting.get() {
            let message =
                "rows are being written by this connection already: use a connection for each thread";
            return Err(error(Status::InvalidState, message));
        }
        state.is_ingesting.set(true);
    }
    let _ending = Ending(shared);
    let mut rows = Rows::new(rows)?;
    match pages::write(shared, target, &name, &mut rows, cancellations)? {
        Some(written) => Ok(written),
        None => insert_all(shared, target, &name, rows, cancellations),
    }
}

/// Inserts all rows with SQL and returns their number.
fn insert_all(
    shared: &Arc<Shared>,
    target: &Target,
    name: &str,
    rows: Rows,
    cancellations: u64,
) -> Result<i64> {
    let schema = rows.schema();
    {
        let state = shared.lock();
        state.begin()?;
        state.run("SAVEPOINT sqluice_ingest")?;
    }
    let made = make_table(&shared.lock(), target, name, &schema);
    // The lock is not held here: the stream of rows may use this connection.
    let written = made.and_then(|()| insert(shared, name, &schema, rows, cancellations));
    let state = shared.lock();
    match written {
        Ok(rows) => {
            state.run("RELEASE sqluice_ingest").inspect_err(|_| take_back(&state))?;
            Ok(rows)
        }
        Err(error) => {
            take_back(&state);
            Err(error)
        }
    }
}

/// Marks the end of an ingestion when it is dropped, also by a panic.
struct Ending<'s>(&'s Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().is_ingesting.set(false);
    }
}

/// Rolls back to the savepoint. After some errors, SQLite has already rolled back the whole transaction.
fn take_back(state: &State) {
    state.note_transaction(true, true);
    let _ = state.run("ROLLBACK TO sqluice_ingest");
    let _ = state.run("RELEASE sqluice_ingest");
}

fn insert(shared: &Arc<Shared>, name: &str, schema: &Schema, rows: Rows, cancellations: u64) -> Result<i64> {
    let columns: Vec<String> = schema.fields().iter().map(|field| quoted(field.name())).collect();
    let places: Vec<String> = (1..=columns.len()).map(|number| format!("c{number}")).collect();
    let sql = format!(
        "INSERT INTO {name} ({}) SELECT {} FROM sqluice_rows(?1)",
        columns.join(", "),
        places.join(", ")
    );
    // Prepared once without rows: a missing table or column is an error even if the stream is empty. A cached statement would not notice
    // that the table was dropped.
    let failed = |found: &rusqlite::Error| {
        let error = of_sqlite(found, "cannot insert the rows");
        match error.message.contains("has no column named") {
            true => Error { status: Status::AlreadyExists, ..error },
            false if error.message.contains("no such table") => Error { status: Status::NotFound, ..error },
            false => error,
        }
    };
    drop(shared.lock().connection.prepare(&sql).map_err(|found| failed(&found))?);
    let mut written = 0;
    for batch in rows {
        let batch = batch?;
        let rows = rows::Rows::from_cells(batch.num_rows(), cells(&batch)?);
        // The lock is held only for a batch: between batches, the stream of rows may use the connection.
        let state = shared.lock();
        shared.check_cancelled(cancellations)?;
        let mut statement = state.connection.prepare_cached(&sql).map_err(|found| failed(&found))?;
        let inserted = rows.lend(&mut statement, 1, |insert| insert.execute());
        let inserted = inserted.and_then(|inserted| inserted).map_err(|found| failed(&found))?;
        written += i64::try_from(inserted).unwrap_or(i64::MAX);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use adbc_core::options::IngestMode;
    use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator};
    use arrow_schema::ArrowError;

    use super::*;
    use crate::names::shared_memory;
    use crate::query::execute;
    use crate::raw::Statement;

    type Found = std::result::Result<RecordBatch, ArrowError>;

    fn connection() -> Arc<Shared> {
        let shared = Shared::open(&shared_memory()).unwrap();
        shared.lock().run("CREATE TABLE t (a UNIQUE)").unwrap();
        shared
    }

    fn batch(number: i64) -> RecordBatch {
        RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![number])) as _)]).unwrap()
    }

    /// Ingests batches from an iterator, which may use the connection.
    fn written(
        shared: &Arc<Shared>,
        batches: impl Iterator<Item = RecordBatch> + Send + 'static,
    ) -> Result<i64> {
        let rows = batches.map(|batch| -> Found { Ok(batch) });
        let target =
            Target { table: Some("t".to_owned()), mode: Some(IngestMode::Append), ..Target::default() };
        ingest(shared, &target, Box::new(RecordBatchIterator::new(rows, batch(0).schema())))
    }

    fn sql(shared: &Arc<Shared>, sql: &str) -> Result<()> {
        execute(Statement::new(shared, sql)?, None).map(drop)
    }

    fn count(shared: &Shared) -> i64 {
        let state = shared.lock();
        state.connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_commit_of_a_transaction_that_sqlite_has_rolled_back_fails() {
        let shared = connection();
        shared.lock().set_autocommit(false).unwrap();
        sql(&shared, "INSERT INTO t VALUES (1)").unwrap();
        sql(&shared, "INSERT OR ROLLBACK INTO t VALUES (1)").unwrap_err();
        sql(&shared, "INSERT INTO t VALUES (2)").unwrap();
        let error = shared.lock().end("COMMIT").unwrap_err();
        assert!(error.message.contains("has rolled the transaction back"), "{}", error.message);
        assert_eq!(count(&shared), 0);

        sql(&shared, "INSERT OR ROLLBACK INTO t VALUES (3), (3)").unwrap_err();
        shared.lock().end("ROLLBACK").unwrap();
        sql(&shared, "INSERT INTO t VALUES (4)").unwrap();
        shared.lock().end("COMMIT").unwrap();

        sql(&shared, "INSERT OR ROLLBACK INTO t VALUES (5), (5)").unwrap_err();
        shared.lock().set_autocommit(true).unwrap_err();
        shared.lock().set_autocommit(true).unwrap();
        assert_eq!(count(&shared), 1);
    }

    #[test]
    fn a_second_ingestion_on_a_connection_is_refused_during_the_first() {
        let shared = connection();
        let inner = Arc::clone(&shared);
        let batches = (1..4).map(move |number| {
            let refused = written(&inner, std::iter::once(batch(9))).unwrap_err();
            assert!(refused.message.contains("already"), "{}", refused.message);
            batch(number)
        });
        assert_eq!(written(&shared, batches).unwrap(), 3);
        assert_eq!(written(&shared, std::iter::once(batch(9))).unwrap(), 1);
        assert_eq!(count(&shared), 4);

        shared.lock().set_autocommit(false).unwrap();
        let inner = Arc::clone(&shared);
        let batches = (11..13).map(move |number| {
            inner.lock().end("COMMIT").unwrap_err();
            batch(number)
        });
        assert_eq!(written(&shared, batches).unwrap(), 2);
        shared.lock().end("ROLLBACK").unwrap();
        assert_eq!(count(&shared), 4);
    }

    #[test]
    fn a_missing_table_is_an_error_even_without_rows() {
        let shared = connection();
        assert_eq!(written(&shared, std::iter::once(batch(9))).unwrap(), 1);
        sql(&shared, "DROP TABLE t").unwrap();
        assert_eq!(written(&shared, std::iter::empty()).unwrap_err().status, Status::NotFound);
    }

    #[test]
    fn a_cancellation_between_two_batches_ends_the_ingestion() {
        let shared = connection();
        let inner = Arc::clone(&shared);
        let batches = (1..9).map(move |number| {
            if number == 5 {
                inner.interrupt();
            }
            batch(number)
        });
        assert_eq!(written(&shared, batches).unwrap_err().status, Status::Cancelled);
        assert_eq!(count(&shared), 0);
        assert_eq!(written(&shared, std::iter::once(batch(9))).unwrap(), 1);
    }
}
