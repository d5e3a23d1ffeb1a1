//! Transcripts of `index`: reports and plans of indexes and full-text indexes, and wrong usage.

use std::path::Path;

use rusqlite::Connection;

use crate::support::{folder, generate, run};
use crate::transcript::matches;

/// Returns the names of all indexes.
fn indexes(db: &Path) -> Vec<String> {
    let db = Connection::open(db).unwrap();
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn index_creates_all_requested_indexes_and_reports_them() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "10k")).ok();
    let sql = ["CREATE INDEX by_area ON user (area)", "CREATE INDEX young ON user (age) WHERE age < 10"];
    let ran = run(folder, [&["index", "x.db", "-v", "-j2"], &sql[..]].concat()).ok();
    let expected = "\
Created 2 indexes in x.db: 13,341 entries in [..]s ([..] entries/s)
  index by_area: 10,000 entries
  index young: 3,341 entries
  2 threads, journal mode delete, [..] to [..] pages of 4096 bytes
  lock [..]s, read user [..]s, sort user [..]s, merge user [..]s, sync [..]s, publish [..]s, commit [..]s
  by_area: [..] leaf, 1 interior, 0 overflow pages, root [..]
  young: [..] leaf, 1 interior, 0 overflow pages, root [..]";
    assert!(matches(ran.stderr.trim_end(), expected), "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert_eq!(indexes(&folder.join("x.db")), ["by_area", "young"]);
    run(folder, ["check", "x.db", "--full"]).ok();

    let again = "CREATE INDEX IF NOT EXISTS by_area ON user (age)";
    let ran = run(folder, ["index", "x.db", again]).ok();
    assert_eq!(ran.stderr, "note: index by_area exists already and was not changed\n");
    let ran = run(folder, ["index", "x.db", sql[0]]).failed(1, "index by_area exists already");
    assert!(ran.stderr.contains("hint: "), "{ran:?}");
}

#[test]
fn a_dry_run_of_index_prints_the_write_path_of_each_index_and_the_reason() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "100")).ok();
    let sql = "CREATE INDEX a ON user (area); CREATE INDEX b ON user (date(age));";
    let ran = run(folder, ["index", "x.db", sql, "--dry-run"]).ok();
    let expected = "\
-- x.db: one transaction, journal mode delete
-- pages of 4096 bytes, [..] threads, [..] of buffers
-- a on user: sorted, values of the table's rows are sorted
CREATE INDEX a ON user (area);
-- b on user: sorted, values that SQLite computes from the rows are sorted
CREATE INDEX b ON user (date(age));";
    assert!(matches(ran.stdout.trim_end(), expected), "{ran:?}");
    let plan = run(folder, ["index", "x.db", sql, "--dry-run", "--json"]).ok().json();
    assert_eq!(
        (&plan["indexes"][0]["write_path"], &plan["indexes"][1]["write_path"]),
        (&"sorted".into(), &"sorted".into())
    );
    assert_eq!(indexes(&folder.join("x.db")), [""; 0]);
    let report = run(folder, ["index", "x.db", sql, "--json"]).ok().json();
    assert_eq!(
        (&report["indexes"][0]["entries"], &report["journal_mode_after"]),
        (&100.into(), &"delete".into())
    );
}

#[test]
fn invalid_arguments_of_index_are_refused() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "100")).ok();
    run(folder, ["index", "x.db", "DROP TABLE user"])
        .failed(2, "this is not a CREATE INDEX statement: \"DROP TABLE user\"");
    run(folder, ["index", "x.db", "CREATE INDEX a ON user (nowhere)"])
        .failed(2, "index a: no such column: nowhere");
    let ran =
        run(folder, ["index", "x.db", "CREATE INDEX a ON usr (age)"]).failed(1, "table usr does not exist");
    assert!(ran.stderr.contains("hint: did you mean user? There are: user"), "{ran:?}");
    run(folder, ["index", "x.db"]).failed(2, "required arguments were not provided");
    run(folder, ["index", "none.db", "CREATE INDEX a ON user (age)"]).failed(1, "none.db");
    run(folder, ["index", "x.db", "CREATE INDEX a ON user (age)", "--busy-timeout", "soon"])
        .failed(2, "soon");
    assert!(!folder.join("none.db").exists());
}

#[test]
fn a_full_text_index_is_created_together_with_another_index_or_under_a_given_name() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "10k")).ok();
    let full_text = ["--fts", "user(area)", "--prefix", "2", "--triggers"];
    let ran = run(folder, [&["index", "x.db", "--dry-run"], &full_text[..]].concat()).ok();
    let expected = "\
-- x.db: one transaction, journal mode delete
-- pages of 4096 bytes, [..] threads, [..] of buffers
-- user_fts on user: full-text index, sorted, its terms are sorted on all cores
CREATE VIRTUAL TABLE \"user_fts\" USING fts5(\"area\", content=\"user\", content_rowid=\"id\", prefix='2');
-- triggers keep user_fts up to date, and make each later statement on user slower
CREATE TRIGGER \"user_fts_ai\" AFTER INSERT ON \"user\" BEGIN INSERT INTO \"user_fts\"(rowid, \"area\") VALUES (new.\"id\", new.\"area\"); END;
[..]
[..]";
    assert!(matches(ran.stdout.trim_end(), expected), "{ran:?}");
    let by_age = "CREATE INDEX by_age ON user (age)";
    let ran = run(folder, [&["index", "x.db", by_age], &full_text[..]].concat()).ok();
    let expected = "\
Created index by_age in x.db: 10,000 entries in [..] ([..] entries/s)
Created full-text index user_fts in x.db: 10,000 rows, 10,000 tokens, [..] terms in [..]";
    assert!(matches(ran.stderr.trim_end(), expected), "{ran:?}");
    let connection = Connection::open(folder.join("x.db")).unwrap();
    connection.execute_batch("INSERT INTO user_fts(user_fts, rank) VALUES ('integrity-check', 1)").unwrap();
    let ran = run(folder, ["index", "x.db", "--fts", "user(age)", "--fts-name", "ages", "--json"]).ok();
    let report = ran.json();
    assert_eq!(
        (&report["full_text"][0]["name"], &report["full_text"][0]["rows"]),
        (&"ages".into(), &10_000.into())
    );
    run(folder, ["index", "x.db", "--fts", "user(age)", "--fts-name", "ages"])
        .failed(1, "table ages exists already");
    run(folder, ["index", "x.db", "--triggers"]).failed(2, "required arguments were not provided");
    run(folder, ["index", "x.db", "--fts", "user(area)", "--fts-name", "a", "--tokenize", "snowball"])
        .failed(2, "no such tokenizer: snowball");
}

#[test]
fn the_segments_of_a_full_text_index_are_merged_and_the_index_is_rebuilt() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "1k")).ok();
    run(folder, ["index", "x.db", "--fts", "user(area)", "--triggers"]).ok();
    let ran = run(folder, ["index", "x.db", "--fts-optimize", "user_fts"]).ok();
    let expected = "Optimized full-text index user_fts in x.db: nothing to merge, in [..]";
    assert!(matches(ran.stderr.trim_end(), expected), "{ran:?}");
    let connection = Connection::open(folder.join("x.db")).unwrap();
    connection.execute_batch("UPDATE user SET area = area || ' more' WHERE id % 2").unwrap();
    drop(connection);
    let both = ["index", "x.db", "--fts-rebuild", "user_fts", "--fts-optimize", "user_fts"];
    let ran = run(folder, [&both[..], &["--dry-run"]].concat()).ok();
    let expected = "\
-- x.db: one transaction, journal mode delete
-- pages of 4096 bytes, [..] threads, [..] of buffers
-- rebuild full-text index user_fts from user, sorted, its terms are sorted on all cores
INSERT INTO \"user_fts\"(\"user_fts\") VALUES ('rebuild');
-- optimize full-text index user_fts, sorted, its segments are merged on all cores
INSERT INTO \"user_fts\"(\"user_fts\") VALUES ('optimize');";
    assert!(matches(ran.stdout.trim_end(), expected), "{ran:?}");
    let ran = run(folder, ["index", "x.db", "--fts-optimize", "user_fts"]).ok();
    let expected =
        "Optimized full-text index user_fts in x.db: [..] segments merged into one, [..] terms in [..]";
    assert!(matches(ran.stderr.trim_end(), expected), "{ran:?}");
    let ran = run(folder, ["index", "x.db", "--fts-rebuild", "user_fts"]).ok();
    let expected = "Rebuilt full-text index user_fts in x.db: 1,000 rows, 1,500 tokens, [..] terms in [..]";
    assert!(matches(ran.stderr.trim_end(), expected), "{ran:?}");
    let connection = Connection::open(folder.join("x.db")).unwrap();
    connection.execute_batch("INSERT INTO user_fts(user_fts, rank) VALUES ('integrity-check', 1)").unwrap();
    run(folder, ["index", "x.db", "--fts-optimize", "user"]).failed(1, "user is no full-text table");
}
