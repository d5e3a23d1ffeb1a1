//! Experiments for questions that the write-ups of [`crate::published`] ask, or answer without figures.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;
use sqluice::rows::{self, Rows};

use crate::carray::{self, Array};
use crate::case::{Case, Digest, Experiment, Ground, Result, Took};
use crate::insert::{Insert, Way, pages};
use crate::kv::{Blobs, From, Layout};
use crate::random::mixed;
use crate::record::Skip;
use crate::scale::{Counts, Scale};
use crate::sql::{self, Pragma, UNSAFE};
use crate::table::{Table, shuffled};

use super::blobs::{self, Reading};
use super::inserts::{ARRAY, ROWS, UNROLLED};
use super::keys::{CACHE_2000, CACHE_2000000, KEYED};
use super::{entities, pragmas};

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    vec![
        growth(scale),
        array_in(scale),
        sparse_ids(scale),
        batch_size(scale),
        long_statement(scale),
        entities::without_index(scale),
        break_even(scale),
        pragmas::recommended(scale),
    ]
}

fn growth(scale: Scale) -> Experiment {
    let rows = Counts::new(20_000, 1_200_000, 100_000_000).at(scale);
    let case = |part: u64, pragmas: &'static [Pragma]| {
        let rows = (rows / part).max(1);
        let table = Table::of_ints(KEYED, rows, shuffled(rows));
        Insert::new(&table, Way::Carray(ARRAY)).pragmas(pragmas).case()
    };
    let table = Table::of_ints(KEYED, rows, shuffled(rows));
    Experiment::new("growth", "rows/s", rows)
        .added("an eighth of the rows, 2000 pages of cache", case(8, CACHE_2000))
        .added("a quarter of the rows, 2000 pages of cache", case(4, CACHE_2000))
        .added("half of the rows, 2000 pages of cache", case(2, CACHE_2000))
        .added("all rows, 2000 pages of cache", case(1, CACHE_2000))
        .added("all rows, 2000000 pages of cache", case(1, CACHE_2000000))
        .sqluice("all rows put in order, sqluice pages", Insert::new(&table, Way::Pages).sorted().case())
        .note("A rate that stays the same is linear time. 2000 pages hold about a million keys.")
}

/// The way in which a query gets the ids to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ids {
    Carray,
    Temp,
    TempKey,
    Text,
    Rows,
    RowsJoin,
}

fn array_in(scale: Scale) -> Experiment {
    let rows = Counts::new(5_000, 500_000, 100_000_000).at(scale);
    let case = |ids| look_up_case(rows, (rows / 20).max(1), ids);
    Experiment::new("array-in", "rows/s", rows / 20)
        .added("id IN carray", case(Ids::Carray))
        .added("a temporary table", case(Ids::Temp))
        .added("a temporary table with an INTEGER PRIMARY KEY", case(Ids::TempKey))
        .added("a long IN list", case(Ids::Text))
        .sqluice("id IN sqluice_rows", case(Ids::Rows))
        .sqluice("sqluice_rows, joined", case(Ids::RowsJoin))
        .note(format!("Ids looked up a second: each statement has {} of them, among {rows} rows.", rows / 20))
}

/// The number of queries, each with different ids.
const TIMES: u64 = 5;

/// Returns the ids of query number `turn`; ids may repeat.
fn wanted(rows: u64, count: u64, turn: u64) -> Vec<i64> {
    (0..count).map(|at| (mixed(turn << 40 | at) % rows) as i64 + 1).collect()
}

/// Returns the value of the row with this id.
fn age(id: i64) -> i64 {
    (mixed(id as u64) % 100) as i64
}

fn look_up_case(rows: u64, count: u64, ids: Ids) -> Case {
    let command = match ids {
        Ids::Carray => "SELECT id, age FROM user WHERE id IN (SELECT value FROM carray(?1, ?2, 'int64'))",
        Ids::Temp | Ids::TempKey => "SELECT id, age FROM user WHERE id IN (SELECT id FROM wanted)",
        Ids::Text => "SELECT id, age FROM user WHERE id IN (7, 9, ...)",
        Ids::Rows => "SELECT id, age FROM user WHERE id IN (SELECT c1 FROM sqluice_rows(?1))",
        Ids::RowsJoin => "SELECT id, age FROM sqluice_rows(?1) JOIN user ON id = c1",
    };
    if ids == Ids::Carray && !carray::is_available() {
        return Case::skipped(command, Skip::NotInstalled);
    }
    let run = move |ground: &Ground<'_>| {
        let file = ground.file();
        fill_users(&file, rows)?;
        let db = sql::open(&file, &[("cache_size", "-1000000")])?;
        rows::register(&db)?;
        if ground.must_drop() {
            // The deleted row is one of those that are looked up, so its loss must be noticed.
            db.execute("DELETE FROM user WHERE id = ?1", [wanted(rows, count, 0)[0]])?;
        }
        sql::digest(&db, "SELECT id, age FROM user")?;
        match ids {
            Ids::Temp => db.execute_batch("CREATE TEMP TABLE wanted (id INTEGER)")?,
            Ids::TempKey => {
                db.execute_batch("CREATE TEMP TABLE wanted (id INTEGER PRIMARY KEY ON CONFLICT IGNORE)")?
            }
            _ => {}
        }
        let turns: Vec<Vec<i64>> = (0..TIMES).map(|turn| wanted(rows, count, turn)).collect();
        let (digest, seconds) = ground.time(|| {
            let mut found = Vec::new();
            for ids_of_turn in turns {
                found.push(look_up(&db, ids, command, ids_of_turn)?);
            }
            Ok(found)
        })?;
        Ok(Took::rate(count * TIMES, seconds, digest))
    };
    let expected = move || {
        let digest = |turn| {
            let ids: BTreeSet<i64> = wanted(rows, count, turn).into_iter().collect();
            Digest {
                rows: ids.len() as u64,
                sum: ids.iter().map(|id| (id ^ age(*id) << 40) as u64).fold(0, u64::wrapping_add),
            }
        };
        Ok((0..TIMES).map(digest).collect())
    };
    Case::new(command, run, expected).disk(rows * 30 + (1 << 20)).memory(rows * 30)
}

fn fill_users(file: &Path, rows: u64) -> Result {
    let mut table = Table::of_ints("value INTEGER", rows, |row| age(row as i64 + 1));
    table.name = "user";
    table.automatic_key = Some("id");
    table.columns[0].0 = "age".to_owned();
    pages(file, "CREATE TABLE user (id INTEGER PRIMARY KEY, age INTEGER)", table)
}

fn look_up(db: &Connection, how: Ids, sql: &str, ids: Vec<i64>) -> Result<Digest> {
    let sum = |statement: &mut rusqlite::Rows<'_>| -> rusqlite::Result<Digest> {
        let mut digest = Digest::default();
        while let Some(row) = statement.next()? {
            let (id, age): (i64, i64) = (row.get(0)?, row.get(1)?);
            digest = Digest { rows: digest.rows + 1, sum: digest.sum.wrapping_add((id ^ age << 40) as u64) };
        }
        Ok(digest)
    };
    match how {
        Ids::Carray => {
            Ok(Array::with(&ids, &mut *db.prepare_cached(sql)?, |select| sum(&mut select.raw_query()))?)
        }
        Ids::Rows | Ids::RowsJoin => Ok(sum(&mut db.prepare_cached(sql)?.query([Rows::keys(ids)])?)?),
        Ids::Text => {
            let list: Vec<String> = ids.iter().map(i64::to_string).collect();
            let sql = format!("SELECT id, age FROM user WHERE id IN ({})", list.join(", "));
            Ok(sum(&mut db.prepare(&sql)?.query([])?)?)
        }
        Ids::Temp | Ids::TempKey => {
            db.execute_batch("BEGIN; DELETE FROM wanted")?;
            let mut insert = db.prepare_cached("INSERT INTO wanted VALUES (?1)")?;
            for id in ids {
                insert.execute([id])?;
            }
            db.execute_batch("COMMIT")?;
            Ok(sum(&mut db.prepare_cached(sql)?.query([])?)?)
        }
    }
}

fn sparse_ids(scale: Scale) -> Experiment {
    let rows = Counts::new(10_000, 500_000, 100_000_000).at(scale);
    // `mixed` (SplitMix64) maps different rows to different numbers, so keys do not repeat.
    let sampled = Table::of_ints(KEYED, rows, |row| mixed(row) as i64);
    // These keys ascend, and are as far apart on average as the sampled keys would be if they were sorted.
    let step = (u64::MAX / rows).max(1);
    let ascending =
        Table::of_ints(KEYED, rows, move |row| (row * step + mixed(row) % step).wrapping_add(1 << 63) as i64);
    let contiguous = Table::of_ints(KEYED, rows, |row| row as i64 + 1);
    let insert = |table: &Table, way| Insert::new(table, way);
    Experiment::new("sparse-ids", "rows/s", rows)
        .added("contiguous", insert(&contiguous, Way::Carray(ARRAY)).case())
        .added("contiguous, shuffled", {
            insert(&Table::of_ints(KEYED, rows, shuffled(rows)), Way::Carray(ARRAY)).case()
        })
        .added("sampled from 64 bits", insert(&sampled, Way::Carray(ARRAY)).case())
        .added("sampled from 64 bits, in order", insert(&ascending, Way::Carray(ARRAY)).case())
        .sqluice("contiguous, sqluice pages", insert(&contiguous, Way::Pages).case())
        .sqluice("sampled from 64 bits, in order, sqluice pages", insert(&ascending, Way::Pages).case())
        .sqluice(
            "sampled from 64 bits, put in order, sqluice pages",
            insert(&sampled, Way::Pages).sorted().case(),
        )
}

fn batch_size(scale: Scale) -> Experiment {
    let rows = Counts::new(10_000, 500_000, 100_000_000).at(scale);
    let few = Counts::new(20, 200, 2_000).at(scale);
    let case = |rows, transaction| {
        let table = Table::user(rows, false);
        Insert::new(&table, Way::Bound(1)).transaction_rows(transaction).case()
    };
    Experiment::new("batch-size", "rows/s", rows)
        .added("1", case(few, 1))
        .added("100", case((few * 20).min(rows), 100))
        .added("1,000", case((few * 200).min(rows), 1_000))
        .added("10,000", case(rows, 10_000))
        .added("100,000", case(rows, 100_000))
        .added("all", case(rows, 0))
        .sqluice("all, sqluice pages", Insert::new(&Table::user(rows, false), Way::Pages).case())
        .note("Small transactions are tried with fewer rows; the rate is per row.")
}

fn long_statement(scale: Scale) -> Experiment {
    let rows = Counts::new(10_000, 300_000, 10_000_000).at(scale);
    let table = Table::user(rows, false);
    let case = |way| Insert::new(&table, way).case();
    Experiment::new("long-statement", "rows/s", rows)
        .added("text, 1 row", case(Way::Text(1)))
        .added("text, 100 rows", case(Way::Text(100)))
        .added("text, 1,000 rows", case(Way::Text(1_000)))
        .added("text, 10,000 rows", case(Way::Text(10_000)))
        .added("bound, 1 row", case(Way::Bound(1)))
        .added("bound, 20 rows", case(Way::Bound(UNROLLED)))
        .added("bound, 1,000 rows", case(Way::Bound(1_000)))
        .added("bound, 10,000 rows", case(Way::Bound(10_000)))
        .sqluice("sqluice_rows", case(Way::Rows(ROWS)))
        .sqluice("sqluice pages", case(Way::Pages))
}

/// The sizes of blobs in bytes, with their names in variants.
const SIZES: [(u64, &str); 4] =
    [(1_000, "1 kB"), (10_000, "10 kB"), (100_000, "100 kB"), (1_000_000, "1 MB")];

fn break_even(scale: Scale) -> Experiment {
    // The total size and the maximum number of blobs: many small files take long to create.
    let all = Counts::new(1_000_000, 20_000_000, 1_000_000_000).at(scale);
    let most = Counts::new(200, 1_000, 100_000).at(scale);
    let of = |size: u64| Blobs { count: (all / size).min(most).max(2), bytes: (size * 4 / 5, size * 6 / 5) };
    let read = |blobs, from, pragmas: &'static [Pragma], cold| {
        Reading { blobs, from, files: Layout::Flat, pragmas, cold }.case()
    };
    let mut experiment = Experiment::new("blob-break-even", "times", of(10_000).count);
    for (size, name) in SIZES {
        experiment = experiment
            .added(&format!("{name}, SELECT"), read(of(size), From::Select, &[], false))
            .added(&format!("{name}, SELECT, cold"), read(of(size), From::Select, &[], true))
            .sqluice(&format!("{name}, BlobStore"), read(of(size), From::Store, &[], false))
            .sqluice(&format!("{name}, BlobStore, cold"), read(of(size), From::Store, &[], true));
    }
    let mid = of(10_000);
    let overwritten = (mid.count / 10).max(1);
    experiment
        .added("10 kB, a transaction per read", read(mid, From::SelectEach, &[], false))
        .added("10 kB, name in the database, content in a file", read(mid, From::Named, &[], false))
        .added("100 kB, with SQLITE_DIRECT_OVERFLOW_READ", overflow_read(of(100_000), true))
        .added("100 kB, without SQLITE_DIRECT_OVERFLOW_READ", overflow_read(of(100_000), false))
        .added("10 kB, overwritten, nosync", blobs::against_files(mid, overwritten, &[("synchronous", "OFF")]))
        .added("10 kB, overwritten, no journal, nosync", blobs::against_files(mid, overwritten, UNSAFE))
        .note("The figure is the time with files, divided by the time with the database: below 1, files are faster. Overwritten files are not synced either.")
}

/// Measures a read with or without SQLite's direct overflow read; only the mode that this build has is run.
fn overflow_read(blobs: Blobs, direct: bool) -> Case {
    let options = Connection::open_in_memory().and_then(|db| {
        let mut options = db.prepare("PRAGMA compile_options")?;
        let names = options.query_map([], |row| row.get::<_, String>(0))?;
        names.collect::<rusqlite::Result<Vec<_>>>()
    });
    // The option is on by default, and listed if it is on.
    let is_direct = options.is_ok_and(|all| all.iter().any(|one| one == "DIRECT_OVERFLOW_READ"));
    let reading = Reading { blobs, from: From::Select, files: Layout::Flat, pragmas: &[], cold: false };
    if is_direct == direct {
        reading.case()
    } else {
        Case::skipped("a SQLite compiled with the other setting", Skip::NotInstalled)
    }
}
