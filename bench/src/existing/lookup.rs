//! `WHERE id IN (...)` with many ids in memory: the ways to pass them to SQLite.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use rusqlite::{Connection, ffi};
use serde::{Deserialize, Serialize};
use sqluice::rows::{self, Rows};

use crate::random::mixed;

/// The place of the ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ids {
    /// In `sqluice_rows`
    Rows,
    /// In `sqluice_rows`, joined
    Join,
    /// In `carray`
    Carray,
    /// In `carray`, in order and each once
    CarraySorted,
    /// In a temporary table
    Temp,
    /// In a temporary table, as its INTEGER PRIMARY KEY
    TempKey,
}

/// The number of lookups, each with other ids.
pub(crate) const TIMES: u64 = 20;

/// The result of the lookups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LookedUp {
    /// The number of found rows.
    pub(crate) found: i64,
    /// The sum of their ages.
    pub(crate) sum: i64,
    /// The seconds of all lookups, without preparations that are needed only once.
    pub(crate) seconds: f64,
}

/// The statements that read the whole table into the cache, so that lookups read no pages from the file.
const PRAGMAS: &str = "PRAGMA cache_size = -1000000; SELECT sum(age) FROM user;";

/// Looks up `count` random ids among `rows`, repeatedly.
pub(crate) fn look_up(file: &Path, rows: u64, count: u64, ids: Ids) -> anyhow::Result<LookedUp> {
    let db = Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    rows::register(&db)?;
    db.execute_batch(PRAGMAS)?;
    let by_in = select("SELECT c1 FROM sqluice_rows(?1)");
    let find: &mut dyn FnMut(Vec<i64>) -> anyhow::Result<(i64, i64)> = match ids {
        Ids::Rows => &mut by_rows(&db, &by_in)?,
        Ids::Join => &mut by_rows(&db, JOIN)?,
        Ids::Carray => &mut by_carray(&db, false)?,
        Ids::CarraySorted => &mut by_carray(&db, true)?,
        Ids::Temp => &mut by_table(&db, "")?,
        Ids::TempKey => &mut by_table(&db, " INTEGER PRIMARY KEY ON CONFLICT IGNORE")?,
    };
    let mut all = LookedUp { found: 0, sum: 0, seconds: 0.0 };
    for time in 0..TIMES {
        let ids: Vec<i64> = (0..count).map(|at| (mixed(time << 32 | at) % rows) as i64 + 1).collect();
        let start = Instant::now();
        let (found, sum) = find(ids)?;
        all.seconds += start.elapsed().as_secs_f64();
        (all.found, all.sum) = (all.found + found, all.sum + sum);
    }
    Ok(all)
}

fn select(ids: &str) -> String {
    format!("SELECT count(*), sum(age) FROM user WHERE id IN ({ids})")
}

/// The query for ids that are unique.
const JOIN: &str = "SELECT count(*), sum(age) FROM sqluice_rows(?1) JOIN user ON id = c1";

fn by_rows(db: &Connection, sql: &str) -> anyhow::Result<impl FnMut(Vec<i64>) -> anyhow::Result<(i64, i64)>> {
    let mut query = db.prepare(sql)?;
    Ok(move |ids: Vec<i64>| Ok(query.query_row([Rows::keys(ids)], |row| Ok((row.get(0)?, row.get(1)?)))?))
}

fn by_table(
    db: &Connection,
    declared: &str,
) -> anyhow::Result<impl FnMut(Vec<i64>) -> anyhow::Result<(i64, i64)>> {
    db.execute_batch(&format!("CREATE TEMP TABLE wanted (id{declared})"))?;
    let mut insert = db.prepare("INSERT INTO wanted VALUES (?1)")?;
    let mut query = db.prepare(&select("SELECT id FROM wanted"))?;
    Ok(move |ids: Vec<i64>| {
        db.execute_batch("BEGIN; DELETE FROM wanted")?;
        for id in ids {
            insert.raw_bind_parameter(1, id)?;
            insert.raw_execute()?;
        }
        db.execute_batch("COMMIT")?;
        Ok(query.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?)
    })
}

fn by_carray(
    db: &Connection,
    sorted: bool,
) -> anyhow::Result<impl FnMut(Vec<i64>) -> anyhow::Result<(i64, i64)>> {
    let mut query = CarrayQuery::new(db, &select("SELECT value FROM carray(?1)"))?;
    Ok(move |mut ids: Vec<i64>| {
        if sorted {
            ids.sort_unstable();
            ids.dedup();
        }
        query.row(&ids)
    })
}

/// A statement with an array bound to its first parameter by SQLite's C interface.
struct CarrayQuery<'a> {
    db: &'a Connection,
    statement: *mut ffi::sqlite3_stmt,
}

impl<'a> CarrayQuery<'a> {
    fn new(db: &'a Connection, sql: &str) -> anyhow::Result<CarrayQuery<'a>> {
        let sql = CString::new(sql)?;
        let mut query = CarrayQuery { db, statement: std::ptr::null_mut() };
        let (statement, tail) = (&raw mut query.statement, std::ptr::null_mut());
        // SAFETY: the connection is open while it is borrowed, and the text ends with a NUL.
        query.ok(unsafe { ffi::sqlite3_prepare_v2(db.handle(), sql.as_ptr(), -1, statement, tail) })?;
        Ok(query)
    }

    /// Returns the first two columns of the only row.
    fn row(&mut self, ids: &[i64]) -> anyhow::Result<(i64, i64)> {
        let count = i32::try_from(ids.len())?;
        // SAFETY: SQLite reads the ids and does not write them; they stay where they are until the parameter is cleared below.
        let bound = unsafe {
            let ids = ids.as_ptr().cast_mut().cast();
            ffi::sqlite3_carray_bind(self.statement, 1, ids, count, ffi::SQLITE_CARRAY_INT64, None)
        };
        // SAFETY: the statement is prepared, and its columns are read while it stands at a row.
        let (stepped, row) = unsafe {
            let stepped = ffi::sqlite3_step(self.statement);
            let column = |at| ffi::sqlite3_column_int64(self.statement, at);
            let row = if stepped == ffi::SQLITE_ROW { (column(0), column(1)) } else { (0, 0) };
            ffi::sqlite3_reset(self.statement);
            ffi::sqlite3_clear_bindings(self.statement);
            (stepped, row)
        };
        self.ok(bound)?;
        ensure!(stepped == ffi::SQLITE_ROW, "carray: SQLite says {stepped}");
        Ok(row)
    }

    fn ok(&self, code: i32) -> anyhow::Result<()> {
        // SAFETY: the connection is open, and the message stays until its next call.
        let said = || unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.db.handle())) };
        ensure!(code == ffi::SQLITE_OK, "carray: {}", said().to_string_lossy());
        Ok(())
    }
}

impl Drop for CarrayQuery<'_> {
    fn drop(&mut self) {
        // SAFETY: a prepared statement, or null, which is not used afterwards.
        unsafe { ffi::sqlite3_finalize(self.statement) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::existing::sqlite::insert_rows;

    #[test]
    fn ids_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("user.db");
        insert_rows(&file, 1000).unwrap();
        let all = [Ids::Rows, Ids::Join, Ids::Carray, Ids::CarraySorted, Ids::Temp, Ids::TempKey];
        let found = all.map(|ids| look_up(&file, 1000, 100, ids).unwrap()).map(|all| (all.found, all.sum));
        assert!(found[0].0 > 80 * TIMES as i64, "{found:?}");
        assert_eq!(found, [found[0]; 6]);
    }
}
