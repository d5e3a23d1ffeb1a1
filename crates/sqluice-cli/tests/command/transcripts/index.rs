//! `index`.

use std::path::Path;

use rusqlite::Connection;

use crate::support::{folder, generate, run};
use crate::transcript::matches;

/// The names of all indexes.
fn indexes(db: &Path) -> Vec<String> {
    let db = Connection::open(db).unwrap();
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn index_makes_all_that_is_asked_for_and_says_so() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "10k")).ok();
    let sql = ["CREATE INDEX by_area ON user (area)", "CREATE INDEX young ON user (age) WHERE age < 10"];
    let ran = run(folder, [&["index", "x.db", "-v", "-j2"], &sql[..]].concat()).ok();
    let expected = "\
Created 2 indexes in x.db: 10,000 entries in [..]s ([..] entries/s)
  index by_area: 10,000 entries
  index young: made by SQLite
  2 threads, journal mode delete, [..] to [..] pages of 4096 bytes
  lock [..]s, read user [..]s, sort user [..]s, merge user [..]s, sync [..]s, publish [..]s, sqlite young [..]s, commit [..]s
  by_area: [..] leaf, 1 interior, 0 overflow pages, root [..]";
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
fn a_dry_run_prints_the_write_path_of_each_index_and_why() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "100")).ok();
    let sql = "CREATE INDEX a ON user (area); CREATE INDEX b ON user (age + 1);";
    let ran = run(folder, ["index", "x.db", sql, "--dry-run"]).ok();
    let expected = "\
-- x.db: one transaction, journal mode delete
-- pages of 4096 bytes, [..] threads, [..] of buffers
-- a on user: sorted, what the table holds is sorted
CREATE INDEX a ON user (area);
-- b on user: sqlite, SQLite computes its expressions
CREATE INDEX b ON user (age + 1);";
    assert!(matches(ran.stdout.trim_end(), expected), "{ran:?}");
    let plan = run(folder, ["index", "x.db", sql, "--dry-run", "--json"]).ok().json();
    assert_eq!(
        (&plan["indexes"][0]["write_path"], &plan["indexes"][1]["write_path"]),
        (&"sorted".into(), &"sqlite".into())
    );
    assert_eq!(indexes(&folder.join("x.db")), [""; 0]);
    let report = run(folder, ["index", "x.db", sql, "--json"]).ok().json();
    assert_eq!(
        (&report["indexes"][0]["entries"], &report["journal_mode_after"]),
        (&100.into(), &"delete".into())
    );
}

#[test]
fn what_makes_no_sense_is_wrong_usage() {
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
