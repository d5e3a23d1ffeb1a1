//! `copy --mask`: no byte of the copy has a masked value, and all other values are unchanged. SQLite reads both for the comparison.

mod bytes;
mod canaries;
mod content;
mod full_text;
mod keys;
mod looks;
mod refusals;
mod schema_text;
mod search;
mod secrets;
mod undeclared;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sqluice::copy::{Copy, CopyReport, MaskFile, MaskKey, Masking};
use sqluice::error::Error;
use sqluice::schema::Schema;
use tempfile::TempDir;

/// A database that is copied, and its copies.
struct Lab {
    folder: TempDir,
    source: PathBuf,
}

/// Returns the masks that a text declares, with a fixed key.
fn masking(sql: &str) -> Masking {
    masking_with(sql, "the key of the tests")
}

fn masking_with(sql: &str, key: &str) -> Masking {
    let file = MaskFile::new(Schema::parse(sql, Path::new("mask.sql")).unwrap()).unwrap();
    Masking::new(file).unwrap().key(MaskKey::new(key).unwrap())
}

impl Lab {
    /// Makes a database by these statements.
    fn new(sql: &str) -> Lab {
        let lab = Lab::empty();
        Connection::open(&lab.source).unwrap().execute_batch(sql).unwrap();
        lab
    }

    fn empty() -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.db");
        Lab { folder, source }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn copy(&self, masking: Masking) -> Copy {
        Copy::new(&self.source, self.path("copy.db")).mask(masking)
    }

    fn try_mask(&self, sql: &str) -> Result<CopyReport, Error> {
        self.copy(masking(sql)).run()
    }

    /// Makes a masked copy, and checks that it is a sound database.
    #[track_caller]
    fn mask(&self, sql: &str) -> CopyReport {
        let report = self.try_mask(sql).unwrap();
        self.assert_sound();
        report
    }

    #[track_caller]
    fn assert_sound(&self) {
        assert_eq!(sqluice_testkit::sqlite::integrity_of(&self.path("copy.db")), "ok");
    }

    fn old(&self) -> Connection {
        Connection::open(&self.source).unwrap()
    }

    fn new_one(&self) -> Connection {
        Connection::open(self.path("copy.db")).unwrap()
    }
}

/// Returns the number that a query gives.
#[track_caller]
fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Returns the texts that a query gives.
#[track_caller]
fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok(format!("{:?}", row.get_ref(0)?))).unwrap();
    rows.map(Result::unwrap).collect()
}
