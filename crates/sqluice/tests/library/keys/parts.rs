//! The end of a part of a sorted tree: the last chunk of a part never has a single entry, since a single entry could not become the divider
//! before the next part.
//!
//! A part has about 32 MiB of entries. The entries here are so large that a part has a few dozen of them, and a chunk two to nine. So at
//! the end of at least one part, a single entry would be left for the last chunk.

use std::path::Path;

use crate::support::files::{Home, open};
use sqluice::check::Check;
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::schema::Schema;

/// The number of rows. They have 130 MB of entries, which are four parts.
const ROWS: u32 = 130;

const SQL: &str = "
    CREATE TABLE w (
        k INTEGER PRIMARY KEY,  -- gen: int(-4000000000000, 4000000000000)
        v BLOB                  -- gen: blob(1000000, 1100000)
    ) WITHOUT ROWID;";

#[test]
fn a_sorted_table_is_complete_wherever_its_parts_end() {
    // The chunks have two entries, the minimum, or more.
    for chunk_bytes in [1 << 20, 3 << 20, 4 << 20, 8 << 20] {
        let home = Home::new();
        let target = home.path("x.db");
        let schema = Schema::parse(SQL.to_owned(), Path::new("x.sql")).unwrap();
        let write = WriteOptions::new().tune(|tuning| tuning.chunk_bytes = chunk_bytes);
        let generate = Generate::new(&target, schema).rows(ROWS.into()).seed(1).write(write);
        generate.run().unwrap();
        let sql = "SELECT count(*), count(DISTINCT k), sum(length(v)) / count(*) / 200000 FROM w";
        let found: rusqlite::Result<[u32; 3]> =
            open(&target).query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]));
        assert_eq!(found.unwrap(), [ROWS, ROWS, 5], "chunks of {chunk_bytes} bytes");
        let check = Check::new(target);
        let checked = check.run().unwrap();
        assert!(checked.is_sound(), "chunks of {chunk_bytes} bytes: {:?}", checked.report.problems);
    }
}
