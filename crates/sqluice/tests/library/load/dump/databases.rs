//! Dumps of random databases, by the shell of SQLite and by our export, make the database that SQLite makes of them.

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
use crate::copy::content::{content, integrity, open};
use crate::copy::random;

/// Makes a database of a dump by the built-in SQLite. Returns `false` if SQLite refuses a statement or the dump has no COMMIT: the shell does
/// not close comments at the end of statements, and inserts rows of `sqlite_sequence` even if no table needs it.
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

fn same_as_sqlite(dump: &Path, threads: usize) {
    let (expected, loaded) = (dump.with_extension("sqlite.db"), dump.with_extension("loaded.db"));
    if !by_sqlite(dump, &expected) {
        load(dump, &loaded, threads).unwrap_err();
        assert!(!loaded.exists());
        return;
    }
    let text = || {
        let text = fs::read_to_string(dump).unwrap();
        text.lines().filter(|line| !line.starts_with("INSERT")).collect::<Vec<_>>().join("\n")
    };
    load(dump, &loaded, threads).unwrap_or_else(|error| panic!("{error}\n{}", text()));
    let mut contents = [&expected, &loaded].map(|db| content(db));
    for content in &mut contents {
        content.sort();
        content.sort_tables_of_sqlite();
        content.without_encoding();
    }
    let [expected_content, loaded_content] = contents;
    assert_eq!(expected_content.schema, loaded_content.schema);
    assert!(expected_content == loaded_content, "{}", text());
    assert_eq!(integrity(&loaded), integrity(&expected), "{}", text());
    assert!(Check::new(&loaded).run().unwrap().is_sound(), "{}", text());
}

proptest! {
    #![proptest_config(config(tries(12, 60, 1000)))]

    #[test]
    fn a_dump_of_a_random_database_makes_the_database_that_sqlite_makes(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.db");
        random::make(&mut rng, &source);
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
        // SQLite takes statements in UTF-8 only, and no row of the shell's dump that breaks a CHECK.
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
