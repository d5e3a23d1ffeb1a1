//! Arrays of integers as parameters of a statement, which SQLite's [carray](https://www.sqlite.org/carray.html) reads as a table.
//!
//! ```text
//!  ?1 ──> pointer ──> 7 9 2 ...       INSERT INTO t SELECT value FROM carray(?1, ?2, 'int64')
//!  ?2 ──> count
//! ```
//!
//! SQLite keeps only a pointer to the array, without its lifetime. So the pointer is bound only while [`Array::with`] runs the statement to
//! its end.

use rusqlite::types::{Null, ToSql, ToSqlOutput};
use rusqlite::{Connection, Error, Statement};

/// Returns `true` if this build of SQLite has carray, which is optional.
pub(crate) fn is_available() -> bool {
    let found = Connection::open_in_memory().and_then(|db| {
        db.query_row("SELECT count(*) FROM carray(NULL, 0, 'int64')", [], |row| row.get::<_, i64>(0))
    });
    found.is_ok()
}

/// An array of integers that is lent to a statement.
#[derive(Debug)]
pub struct Array<'a>(&'a [i64]);

impl ToSql for Array<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Pointer((self.0.as_ptr().cast(), c"carray", None)))
    }
}

impl Array<'_> {
    /// Binds integers to the first two parameters while `run` runs the statement to its end.
    ///
    /// # Errors
    /// When SQLite reports an error, or there are 2^31 or more integers.
    pub fn with<R>(
        ints: &[i64],
        statement: &mut Statement<'_>,
        run: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<R>,
    ) -> rusqlite::Result<R> {
        // SQLite counts the elements in 31 bits.
        let count = i32::try_from(ints.len()).map_err(|e| Error::ToSqlConversionFailure(Box::new(e)))?;
        statement.raw_bind_parameter(1, Array(ints))?;
        statement.raw_bind_parameter(2, count)?;
        let done = run(statement);
        statement.raw_bind_parameter(1, Null)?;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_elements_of_an_array_are_stored_in_order() {
        assert!(is_available());
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, value)").unwrap();
        let mut insert =
            db.prepare("INSERT INTO t (value) SELECT value FROM carray(?1, ?2, 'int64')").unwrap();
        for ints in [&[i64::MIN, 0, i64::MAX][..], &[], &[-1]] {
            let inserted = Array::with(ints, &mut insert, |insert| insert.raw_execute()).unwrap();
            assert_eq!(inserted, ints.len());
        }
        let mut all = db.prepare("SELECT value FROM t ORDER BY id").unwrap();
        let all: Vec<i64> = all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(all, [i64::MIN, 0, i64::MAX, -1]);
    }
}
