//! Pages of indexes and WITHOUT ROWID tables are at least as full as those that SQLite itself makes of the same entries: by
//! CREATE INDEX, which REINDEX repeats, and by VACUUM, which copies a table in the order of its key.

use std::path::Path;

use crate::support::files::{Home, integrity, open};
use rusqlite::Connection;
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::schema::Schema;
use sqluice_format::page::PageSize;

const SQL: &str = "
    CREATE TABLE t (
        id    INTEGER PRIMARY KEY,
        small INTEGER,  -- gen: choice(0, 1)
        big   INTEGER,  -- gen: int(-4000000000000, 4000000000000)
        area  CHAR(6),  -- gen: digits(6)
        name  TEXT,     -- gen: text(0, 40)
        long  TEXT,     -- gen: text(100, 500)
        huge  BLOB      -- gen: choice(NULL, NULL, NULL, 'x', blob(1000, 6000))
    );
    CREATE INDEX by_small ON t (small);
    CREATE INDEX by_small_desc ON t (small DESC, id);
    CREATE INDEX by_big ON t (big);
    CREATE INDEX by_area ON t (area);
    CREATE INDEX by_name ON t (name COLLATE NOCASE, small);
    CREATE INDEX by_long ON t (long);
    CREATE INDEX by_huge ON t (huge);
    CREATE TABLE w (
        k TEXT,     -- gen: text(12, 30)
        v INTEGER,  -- gen: int(0, 1000)
        PRIMARY KEY (k)
    ) WITHOUT ROWID;
    CREATE INDEX w_by_v ON w (v);";

/// The size of a chunk, so small that trees have several chunks.
const CHUNK_BYTES: usize = 1 << 20;

/// Returns the numbers of leaf, interior and overflow pages of each tree.
fn pages(database: &Connection) -> Vec<(String, [i64; 3])> {
    let sql = "SELECT name, count(*) FILTER (WHERE pagetype = 'leaf'), count(*) FILTER (WHERE pagetype = 'internal'),
                   count(*) FILTER (WHERE pagetype = 'overflow')
               FROM dbstat WHERE name <> 'sqlite_schema' GROUP BY name ORDER BY name";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn assert_full(page_bytes: u32, rows: u64) {
    let home = Home::new();
    let path = home.path("x.db");
    let write = WriteOptions::new()
        .page_size(PageSize::new(page_bytes).unwrap())
        .tune(|tuning| tuning.chunk_bytes = CHUNK_BYTES);
    let schema = Schema::parse(SQL.to_owned(), Path::new("x.sql")).unwrap();
    let generate = Generate::new(path.clone(), schema).rows(rows).seed(1).write(write);
    let report = generate.run().unwrap();
    let database = open(&path);
    assert_eq!(integrity(&database), "ok");
    let ours = pages(&database);
    assert_eq!(ours.len(), 10);
    for index in report.tables.iter().flat_map(|table| &table.indexes) {
        let (_, [leaves, interior, overflow]) = ours.iter().find(|(name, _)| *name == index.name).unwrap();
        let reported = [index.leaf_pages, index.interior_pages, index.overflow_pages];
        assert_eq!(reported, [leaves, interior, overflow].map(|pages| *pages as u64), "{}", index.name);
    }
    // VACUUM comes first: it also copies indexes, entry by entry. REINDEX then builds them as CREATE INDEX does.
    database.execute_batch("VACUUM; REINDEX").unwrap();
    for ((name, ours), (same, theirs)) in ours.iter().zip(&pages(&database)) {
        assert_eq!(name, same);
        let [ours_in_all, theirs_in_all] = [ours, theirs].map(|pages| pages.iter().sum::<i64>());
        let what = format!("{name}, {rows} rows, pages of {page_bytes}: {ours:?}, SQLite {theirs:?}");
        // A chunk of a table with rowids keeps no pages in reserve for overflow: its last leaf may lack a row whose overflow pages have no
        // room in the chunk. Fewer than one leaf in a thousand is such a leaf.
        let spare = |pages: i64| if name == "t" { pages / 1000 } else { 0 };
        assert!(ours_in_all <= theirs_in_all + spare(theirs_in_all), "{what}");
        assert!(ours[0] <= theirs[0] + spare(theirs[0]), "{what}");
    }
}

#[test]
fn pages_are_at_least_as_full_as_those_that_sqlite_writes() {
    for (page_bytes, rows) in [(4096, 30_000), (512, 2000), (1024, 5000), (65536, 20_000)] {
        assert_full(page_bytes, rows);
    }
}

#[test]
fn small_tables_and_indexes_take_no_more_pages_than_those_of_sqlite() {
    for rows in [0, 1, 2, 7, 30, 80] {
        assert_full(512, rows);
    }
}
