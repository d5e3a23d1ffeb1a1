//! Transcripts of `profile`, and of `generate --like`.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::support::{folder, names, run};
use crate::transcript::matches;

fn shop(folder: &Path) {
    let sql = "CREATE TABLE item (id INTEGER PRIMARY KEY, state TEXT NOT NULL);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
        INSERT INTO item SELECT i, CASE WHEN i % 4 = 0 THEN 'open' ELSE 'sent' END FROM n";
    Connection::open(folder.join("shop.db")).unwrap().execute_batch(sql).unwrap();
}

const PROFILE: &str = "\
-- A profile of a database without its rows: from the comments of this schema, the generator makes similar rows.
-- It shows these values of the database, each of them in at least 20 rows:
--   item.state: 2 values
-- constraints: may be dropped

CREATE TABLE item (  -- rows: 100
  id INTEGER PRIMARY KEY,  -- gen: row()
  state TEXT NOT NULL      -- gen: shares('sent': 75, 'open': 25)
);
";

#[test]
fn a_profile_is_written_to_standard_output_or_to_a_file() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    assert_eq!(run(folder, ["profile", "shop.db"]).ok().stdout, PROFILE);
    let ran = run(folder, ["profile", "shop.db", "-o", "shop.sql"]).ok();
    let expected =
        "Described 100 rows of 1 table in shop.sql: [..]s ([..] rows/s)\n  2 values of 1 column shown\n";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    assert_eq!(fs::read_to_string(folder.join("shop.sql")).unwrap(), PROFILE);
    let refused = run(folder, ["profile", "shop.db", "-o", "shop.sql"]);
    assert!(refused.stderr.contains("exists"), "{refused:?}");
    run(folder, ["profile", "shop.db", "-o", "shop.sql", "--overwrite", "--no-values"]).ok();
    assert!(!fs::read_to_string(folder.join("shop.sql")).unwrap().contains("'open'"));
    let report = run(folder, ["profile", "shop.db", "--keep-common", "30", "--json"]).ok().json();
    assert_eq!((&report["rows"], &report["tables"][0]["name"]), (&100.into(), &"item".into()));
    assert!(!report["text"].as_str().unwrap().contains("'open'"));
    assert_eq!(names(folder), ["shop.db", "shop.sql"]);
}

#[test]
fn profile_refuses_to_exclude_a_table_that_does_not_exist() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let refused = run(folder, ["profile", "shop.db", "--exclude-table", "items"]);
    assert_eq!(
        refused.stderr,
        "error: shop.db has no table or view items\n\nhint: did you mean item? There are: item\n"
    );
}

#[test]
fn generate_like_makes_a_similar_database_of_any_size_in_one_step() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    run(folder, ["generate", "like.db", "--like", "shop.db", "--rows-scale", "3"]).ok();
    let connection = Connection::open(folder.join("like.db")).unwrap();
    let open: i64 =
        connection.query_row("SELECT count(*) FROM item WHERE state = 'open'", [], |row| row.get(0)).unwrap();
    assert_eq!(open, 75);
    let preview = run(folder, ["generate", "--like", "shop.db", "--preview", "2"]).ok().stdout;
    assert!(preview.starts_with("item\n  id  state\n"), "{preview}");
    let plan = run(folder, ["generate", "new.db", "--like", "shop.db", "--dry-run"]).ok().stdout;
    assert!(plan.contains("100"), "{plan}");
    assert_eq!(names(folder), ["like.db", "shop.db"]);
}
