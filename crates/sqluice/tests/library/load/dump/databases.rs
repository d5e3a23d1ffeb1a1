//! Dumps of random databases, by the shell of SQLite and by our export, are loaded as the database that SQLite makes of them: the built-in
//! SQLite, and the version that is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice::check::Check;
use sqluice_testkit::config;
use sqluice_testkit::effort::tries;
use sqluice_testkit::skip::has;

use super::load;
use crate::copy::content::{Content, content, integrity, open};
use crate::copy::random;

/// Makes a database of a dump by the built-in SQLite. Returns `false` if SQLite refuses a statement or the dump has no COMMIT. This happens
/// with dumps of the shell, which does not close comments at the end of statements, and inserts rows of `sqlite_sequence` even if no table
/// needs it.
fn by_sqlite(dump: &Path, db: &Path) -> bool {
    let connection = Connection::open(db).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
    connection.execute_batch(&fs::read_to_string(dump).unwrap()).is_ok() && connection.is_autocommit()
}

/// Writes a dump of a database by the shell of SQLite. Returns `false` if the shell is not installed.
pub(super) fn dump_by_shell(db: &Path, command: &str, dump: &Path) -> bool {
    if !has("sqlite3") {
        return false;
    }
    let output = Command::new("sqlite3").arg(db).arg(command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(dump, output.stdout).unwrap();
    true
}

/// Makes a database of a dump by the shell of SQLite. Returns `false` if the shell is not installed, or does not run each statement.
/// It ends a statement at a line with a slash, and older versions do not make `sqlite_stat4`.
fn by_shell(dump: &Path, db: &Path) -> bool {
    if !has("sqlite3") {
        return false;
    }
    let statements = fs::File::open(dump).unwrap();
    let output = Command::new("sqlite3").arg(db).stdin(statements).output().unwrap();
    output.status.success()
}

/// Returns the content of a database in an order that does not depend on the order of statements.
fn sorted(db: &Path) -> Content {
    let mut content = content(db);
    content.sort();
    content.sort_tables_of_sqlite();
    content.without_encoding();
    content
}

/// Compares a load with the built-in SQLite, and with the shell if it runs the dump. Returns `true` if the shell does.
fn same_as_sqlite(dump: &Path, threads: usize) -> bool {
    let (expected, loaded) = (dump.with_extension("sqlite.db"), dump.with_extension("loaded.db"));
    if !by_sqlite(dump, &expected) {
        load(dump, &loaded, threads).unwrap_err();
        assert!(!loaded.exists());
        return false;
    }
    let text = || {
        let text = fs::read_to_string(dump).unwrap();
        text.lines().filter(|line| !line.starts_with("INSERT")).collect::<Vec<_>>().join("\n")
    };
    load(dump, &loaded, threads).unwrap_or_else(|error| panic!("{error}\n{}", text()));
    let (expected_content, loaded_content) = (sorted(&expected), sorted(&loaded));
    assert_eq!(expected_content.schema, loaded_content.schema);
    assert!(expected_content == loaded_content, "{}", text());
    let shell = dump.with_extension("shell.db");
    let is_run = by_shell(dump, &shell);
    if is_run {
        // Only some builds of SQLite make `sqlite_stat4` with other statistics, so empty tables of SQLite do not count.
        let mut contents = [shell, loaded.clone()].map(|db| sorted(&db));
        contents.iter_mut().for_each(Content::without_empty_tables_of_sqlite);
        let difference = contents[0].difference(&contents[1]);
        assert!(difference.is_none(), "the shell: {}\n{}", difference.unwrap_or_default(), text());
    }
    assert_eq!(integrity(&loaded), integrity(&expected), "{}", text());
    assert!(Check::new(&loaded).run().unwrap().is_sound(), "{}", text());
    is_run
}

proptest! {
    #![proptest_config(config(tries(12, 60, 1000)))]

    #[test]
    fn a_dump_of_a_random_database_makes_the_database_that_sqlite_makes(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.db");
        random::make(&mut rng, &source);
        open(&source).execute_batch("DROP TABLE IF EXISTS sqlite_stat4").unwrap();
        let plain = folder.path().join("plain.sql");
        if dump_by_shell(&source, ".dump", &plain) {
            prop_assert!(same_as_sqlite(&plain, rng.usize(1..4)), "the shell does not run its own dump");
        }
        #[cfg(feature = "export")]
        {
            let connection = open(&source);
            connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN").unwrap();
            crate::export::dump::add_oddities(&mut rng, &connection);
            connection.execute_batch("COMMIT").unwrap();
        }
        #[cfg(feature = "export")]
        {
            let dump = folder.path().join("export.sql");
            sqluice::export::Export::new(&source, &dump).threads(1).run().unwrap();
            same_as_sqlite(&dump, rng.usize(1..4));
        }
        // The shell writes text that is not UTF-8 and rows that break a CHECK into its dump. SQLite refuses both, so the rows are deleted.
        #[cfg(feature = "export")]
        open(&source)
            .execute_batch("DELETE FROM half_hidden WHERE a = CAST(x'61ff0d0a00' AS TEXT); DELETE FROM checked WHERE a < 0")
            .unwrap();
        for (name, command) in [("shell.sql", ".dump"), ("rowids.sql", ".dump --preserve-rowids")] {
            let dump = folder.path().join(name);
            if dump_by_shell(&source, command, &dump) {
                same_as_sqlite(&dump, rng.usize(1..4));
            }
        }
    }
}
