//! The ways to make a full-text index, and the content of one.

use std::path::Path;

use clap::ValueEnum;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::sync;

/// A way to make a full-text index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    Sqluice,
    Tenth,
    Best,
    Defaults,
}

impl Way {
    pub(super) const ALL: [Way; 4] = [Way::Sqluice, Way::Tenth, Way::Best, Way::Defaults];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Sqluice => "sqluice",
            Way::Tenth => "tenth",
            Way::Best => "best",
            Way::Defaults => "defaults",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Way::Sqluice => "`sqluice index --fts`, durable",
            Way::Tenth => "the same, a tenth of the rows",
            Way::Best => "FTS5, `automerge` 0, `hashsize` 192 MiB, `rebuild`, `optimize`; not durable",
            Way::Defaults => "FTS5, defaults, `rebuild`",
        }
    }
}

/// Makes the index by FTS5.
pub(super) fn fts5(way: Way, tokenizer: &str, file: &Path) -> anyhow::Result<()> {
    let connection = Connection::open(file)?;
    let create = format!(
        "CREATE VIRTUAL TABLE docs_fts USING fts5(body, content='docs', content_rowid='id', tokenize='{tokenizer}')"
    );
    let rebuild = "INSERT INTO docs_fts(docs_fts) VALUES ('rebuild')";
    match way {
        Way::Best => connection.execute_batch(&format!(
            "PRAGMA journal_mode = OFF;
             PRAGMA synchronous = OFF;
             PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA cache_size = -65536;
             BEGIN;
             {create};
             INSERT INTO docs_fts(docs_fts, rank) VALUES ('automerge', 0), ('hashsize', {});
             {rebuild};
             INSERT INTO docs_fts(docs_fts) VALUES ('optimize');
             COMMIT",
            192 << 20
        ))?,
        _ => connection.execute_batch(&format!("BEGIN; {create}; {rebuild}; COMMIT"))?,
    }
    connection.close().map_err(|(_, error)| error)?;
    sync(file)
}

/// The content of a full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) rows: u64,
    terms: u64,
    /// The sums of the rows and of the occurrences of all terms.
    rows_of_terms: u64,
    occurrences: u64,
    /// A sum of all terms.
    lengths: u64,
}

impl Found {
    /// Reads the index of a file.
    pub(super) fn of(file: &Path) -> anyhow::Result<Found> {
        let connection = Connection::open(file)?;
        connection.execute_batch("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, docs_fts, row)")?;
        let sql = "SELECT (SELECT count(*) FROM docs_fts_docsize), count(*), sum(doc), sum(cnt),
                          sum(length(CAST(term AS BLOB)) * (1 + unicode(term) % 97))
                   FROM temp.terms";
        Ok(connection.query_row(sql, [], |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            Ok(Found {
                rows: number(0)?,
                terms: number(1)?,
                rows_of_terms: number(2)?,
                occurrences: number(3)?,
                lengths: number(4)?,
            })
        })?)
    }
}
