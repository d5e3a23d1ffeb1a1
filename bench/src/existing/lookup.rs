//! The laps of the part `in`: ways to pass many ids in memory to SQLite, for `WHERE id IN (...)`.

use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use sqluice::rows::{self, Rows};
use sqluice_lab::carray::Array;

use crate::db::open;
use crate::random::mixed;

/// The number of times that ids are looked up.
pub(crate) const TIMES: u64 = 20;

/// The result of a lap: the number of found rows, the sum of their ages, and the seconds of all [`TIMES`] lookups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LookedUp {
    pub(crate) found: i64,
    pub(crate) sum: i64,
    pub(crate) seconds: f64,
}

/// Sets a page cache that is large enough for the whole table, and reads the table into it.
const PRAGMAS: &str = "PRAGMA cache_size = -1000000; SELECT sum(age) FROM user;";

/// Looks up `count` of `rows` ids [`TIMES`] times, as `way` says.
pub(crate) fn look_up(file: &Path, rows: u64, count: u64, way: &str) -> anyhow::Result<LookedUp> {
    let db = open(file, PRAGMAS)?;
    rows::register(&db)?;
    let table = |declared: &str| db.execute_batch(&format!("CREATE TEMP TABLE wanted (id{declared})"));
    let ids = match way {
        "rows" => "SELECT c1 FROM sqluice_rows(?1)",
        "carray" | "carray-sorted" => "SELECT value FROM carray(?1, ?2, 'int64')",
        _ => "SELECT id FROM wanted",
    };
    let mut sql = format!("SELECT count(*), sum(age) FROM user WHERE id IN ({ids})");
    match way {
        "join" => "SELECT count(*), sum(age) FROM sqluice_rows(?1) JOIN user ON id = c1".clone_into(&mut sql),
        "temp" => table("")?,
        "temp-key" => table(" INTEGER PRIMARY KEY ON CONFLICT IGNORE")?,
        _ => {}
    }
    let mut query = db.prepare(&sql)?;
    let found = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let mut all = LookedUp { found: 0, sum: 0, seconds: 0.0 };
    for time in 0..TIMES {
        let mut ids: Vec<i64> = (0..count).map(|at| (mixed(time << 32 | at) % rows) as i64 + 1).collect();
        let start = Instant::now();
        let (found, sum): (i64, i64) = match way {
            "rows" | "join" => query.query_row([Rows::keys(ids)], found)?,
            "carray" | "carray-sorted" => {
                if way == "carray-sorted" {
                    ids.sort_unstable();
                    ids.dedup();
                }
                let run = |query: &mut rusqlite::Statement<'_>| match query.raw_query().next()? {
                    Some(row) => found(row),
                    None => Err(rusqlite::Error::QueryReturnedNoRows),
                };
                Array::with(&ids, &mut query, run)?
            }
            "temp" | "temp-key" => {
                fill(&db, ids)?;
                query.query_row([], found)?
            }
            other => bail!("there is no way {other}"),
        };
        all.seconds += start.elapsed().as_secs_f64();
        (all.found, all.sum) = (all.found + found, all.sum + sum);
    }
    Ok(all)
}

/// Replaces the rows of the temporary table `wanted` by `ids`, in one transaction.
fn fill(db: &Connection, ids: Vec<i64>) -> rusqlite::Result<()> {
    db.execute_batch("BEGIN; DELETE FROM wanted")?;
    let mut insert = db.prepare_cached("INSERT INTO wanted VALUES (?1)")?;
    for id in ids {
        insert.raw_bind_parameter(1, id)?;
        insert.raw_execute()?;
    }
    db.execute_batch("COMMIT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::existing::sqlite::insert_rows;

    #[test]
    fn every_way_of_lookup_finds_the_same_ids() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("user.db");
        insert_rows(&file, 1000).unwrap();
        let all = ["rows", "join", "carray", "carray-sorted", "temp", "temp-key"];
        let found = all.map(|ids| look_up(&file, 1000, 100, ids).unwrap()).map(|all| (all.found, all.sum));
        assert!(found[0].0 > 80 * TIMES as i64, "{found:?}");
        assert_eq!(found, [found[0]; 6]);
    }
}
