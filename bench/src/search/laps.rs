//! Creates full-text indexes with FTS5, and reads the content of an index.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::db::{close, numbers, open};

/// Creates the index with FTS5: with the settings of the way `best`, or with its defaults.
pub(super) fn fts5(way: &str, tokenizer: &str, file: &Path) -> anyhow::Result<()> {
    let connection = open(file, "")?;
    let create = format!(
        "CREATE VIRTUAL TABLE docs_fts USING fts5(body, content='docs', content_rowid='id', tokenize='{tokenizer}')"
    );
    let rebuild = "INSERT INTO docs_fts(docs_fts) VALUES ('rebuild')";
    match way {
        "best" => connection.execute_batch(&format!(
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
    close(connection, file)
}

/// The content of a full-text index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) rows: u64,
    terms: i64,
    /// The sums, over all terms, of the number of rows that have the term, and of its occurrences.
    rows_of_terms: i64,
    occurrences: i64,
    /// The sum, over all terms, of the length in bytes times a factor that depends on the first character.
    lengths: i64,
}

impl Found {
    /// Reads the index of a file.
    pub(super) fn of(file: &Path) -> anyhow::Result<Found> {
        let connection = open(file, "CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, docs_fts, row)")?;
        let sql = "SELECT (SELECT count(*) FROM docs_fts_docsize), count(*), sum(doc), sum(cnt),
                          sum(length(CAST(term AS BLOB)) * (1 + unicode(term) % 97))
                   FROM temp.terms";
        let found = numbers(&connection, sql)?;
        let [rows, terms, rows_of_terms, occurrences, lengths] =
            found.try_into().map_err(|_| anyhow::anyhow!("five numbers are asked for"))?;
        Ok(Found { rows: i64::cast_unsigned(rows), terms, rows_of_terms, occurrences, lengths })
    }
}
