//! `merge`: the result has the rows that SQLite's INSERTs of all sources would store, and is sound.

mod declarations;
mod keys;
mod many;
mod places;
mod random;
mod references;
mod refused;
mod states;
mod tables;
mod twin;
mod virtual_tables;

use std::path::PathBuf;

use rusqlite::Connection;
use sqluice::error::Result;
use sqluice::merge::{Merge, MergeReport};

/// Databases in a folder of their own, each made by a script, and a name for the result.
pub(crate) struct Made {
    _folder: tempfile::TempDir,
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) target: PathBuf,
}

impl Made {
    pub(crate) fn by(scripts: &[&str]) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let make = |(script, number): (&&str, usize)| {
            let source = folder.path().join(format!("{number}.db"));
            Connection::open(&source).unwrap().execute_batch(script).unwrap();
            source
        };
        let sources = scripts.iter().zip(1..).map(make).collect();
        let target = folder.path().join("all.db");
        Made { _folder: folder, sources, target }
    }

    pub(crate) fn merge(&self) -> Merge {
        Merge::new(&self.target, &self.sources)
    }

    /// Merges, and verifies that the result is sound.
    pub(crate) fn run(&self, merge: &Merge) -> Result<MergeReport> {
        let report = merge.run()?;
        assert_eq!(twin::integrity(&self.target), "ok");
        Ok(report)
    }

    /// Runs a merge that must be refused, asserts that it leaves no file, and returns the message.
    pub(crate) fn refused(&self, merge: &Merge) -> String {
        let error = merge.run().unwrap_err();
        assert!(!self.target.exists());
        format!("{error:#}")
    }

    /// Runs a query on the result, and returns a text for each row.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        let connection = twin::open(&self.target);
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let value = |column| {
                Ok(match row.get::<_, rusqlite::types::Value>(column)? {
                    rusqlite::types::Value::Null => "NULL".to_owned(),
                    rusqlite::types::Value::Integer(value) => value.to_string(),
                    rusqlite::types::Value::Real(value) => value.to_string(),
                    rusqlite::types::Value::Text(value) => value,
                    rusqlite::types::Value::Blob(value) => format!("{} bytes", value.len()),
                })
            };
            Ok((0..columns).map(value).collect::<rusqlite::Result<Vec<String>>>()?.join(" "))
        });
        rows.unwrap().map(std::result::Result::unwrap).collect()
    }
}
