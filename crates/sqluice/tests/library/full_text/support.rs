//! Databases with texts, and queries of a full-text table.

use std::path::Path;
use std::sync::Once;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use sqluice::error::{Error, Result as Outcome};
use sqluice::index::{FullText, Index, Report};
use sqluice::options::WriteOptions;
use sqluice::tokenizers::{Purpose, Token, Tokenize, register};

/// The rows of a query, or SQLite's message.
pub(super) type Answer = Result<Vec<Vec<Value>>, String>;

/// Returns a value. A text that is no UTF-8 becomes a blob: a snippet of a blob can be such a text.
fn value_of(value: ValueRef<'_>) -> Value {
    value
        .try_into()
        .unwrap_or_else(|_| Value::Blob(value.as_bytes_or_null().ok().flatten().unwrap_or_default().to_vec()))
}

/// Returns the rows of a query.
pub(super) fn ask(connection: &Connection, sql: &str, parameters: &[&str]) -> Answer {
    let mut query = connection.prepare(sql).map_err(|error| error.to_string())?;
    let columns = query.column_count();
    let rows = query.query_map(params_from_iter(parameters), |row| {
        (0..columns).map(|column| row.get_ref(column).map(value_of)).collect::<rusqlite::Result<Vec<Value>>>()
    });
    rows.and_then(Iterator::collect).map_err(|error| error.to_string())
}

/// Makes full-text indexes with `threads` threads and `memory` bytes of memory.
pub(super) fn make(db: &Path, full_text: FullText, threads: usize, memory: u64) -> Result<Report, Error> {
    let write = WriteOptions::new()
        .threads(threads)
        .memory_bytes(memory)
        .tune(|tuning| tuning.chunk_bytes = (memory / 16 / threads as u64) as usize);
    Index::new(db, [""; 0]).full_text(full_text).write(write).run()
}

/// Returns a random text: words with punctuation, of which `every` is in most texts.
pub(super) fn text(random: &mut fastrand::Rng) -> String {
    let words = [
        "every",
        "every",
        "run",
        "running",
        "Café",
        "naïve",
        "東京都",
        "жизнь",
        "it's",
        "a-b",
        "x9",
        "stop.",
        "ﬁne",
        "extraordinary",
        "e\u{301}",
        "nul\0byte",
        "A",
        "an",
        "ant",
        "antler",
    ];
    let count = match random.u8(0..20) {
        0 => 0,
        1 => random.usize(200..2000),
        _ => random.usize(1..30),
    };
    let mut text = String::new();
    for _ in 0..count {
        match random.u8(0..3) {
            0 => text += &format!("w{}", random.u32(0..3_000)),
            _ => text += words[random.usize(..words.len())],
        }
        text += [" ", ", ", "\n"][random.usize(0..3)];
    }
    text
}

/// Returns a random value: mostly texts.
pub(super) fn value(random: &mut fastrand::Rng) -> Value {
    match random.u8(0..12) {
        0 => Value::Null,
        1 => Value::Integer([0, 1, -5, 1 << 47, i64::MIN][random.usize(0..5)]),
        2 => Value::Real([0.1, 5.0, -0.0, 1e300, 1e15][random.usize(0..5)]),
        3 => Value::Blob(text(random).into_bytes()),
        4 => Value::Blob(vec![0xff, b'a', b' ', 0xc3, b'b', 0x80]),
        _ => Value::Text(text(random)),
    }
}

/// Inserts `count` rows into the columns `a`, `b` and `c` of the table `t`, with rowids from `from` on.
pub(super) fn insert(connection: &Connection, from: i64, count: usize, random: &mut fastrand::Rng) {
    connection.execute_batch("BEGIN").unwrap();
    let mut rowid = from;
    for _ in 0..count {
        rowid += random.i64(1..5);
        let values: Vec<Value> = (0..3).map(|_| value(random)).collect();
        let row = [&[Value::Integer(rowid)], &values[..]].concat();
        connection
            .execute("INSERT INTO t (rowid, a, b, c) VALUES (?1, ?2, ?3, ?4)", params_from_iter(row))
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

/// Returns the queries of a full-text table `f` with the columns `a`, `b` and perhaps others, each with its parameter.
pub(super) fn queries() -> Vec<(String, &'static str)> {
    let matches = [
        "every",
        "run AND every",
        "run OR antler NOT every",
        "\"every run\"",
        "NEAR(every run, 3)",
        "ant*",
        "e*",
        "a : every",
        "{a b} : run + running",
        "^every",
        "nothing_has_this",
        "w7 OR w70 OR w700",
        "\"5.0\"",
        "東京都",
        "cafe",
    ];
    let ask = |matched: &'static str| {
        [
            ("SELECT rowid, rank, bm25(f, 2.0, 1.0) FROM f WHERE f MATCH ?1 ORDER BY rank, rowid", matched),
            ("SELECT rowid FROM f WHERE f MATCH ?1 ORDER BY rowid DESC", matched),
            (
                "SELECT rowid, highlight(f, 0, '<', '>'), snippet(f, -1, '<', '>', '...', 5) FROM f
                 WHERE f MATCH ?1 ORDER BY rowid LIMIT 50",
                matched,
            ),
        ]
    };
    matches.into_iter().flat_map(ask).map(|(sql, matched)| (sql.to_owned(), matched)).collect()
}

/// Asserts that two databases give the same answers about their full-text tables `f`, and that SQLite finds both sound.
pub(super) fn same(ours: &Connection, twin: &Connection, what: &str) {
    for connection in [ours, twin] {
        let checked = connection.execute_batch("INSERT INTO f(f, rank) VALUES ('integrity-check', 1)");
        assert_eq!(checked.map_err(|error| error.to_string()), Ok(()), "{what}");
        assert_eq!(sqluice_testkit::sqlite::integrity(connection), "ok", "{what}");
    }
    for kind in ["row", "col", "instance"] {
        let vocabulary = format!(
            "DROP TABLE IF EXISTS temp.v; CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, f, {kind})"
        );
        for connection in [ours, twin] {
            connection.execute_batch(&vocabulary).unwrap();
        }
        let list = "SELECT * FROM temp.v";
        assert!(ask(ours, list, &[]) == ask(twin, list, &[]), "{what}: {kind}");
    }
    for (sql, matched) in queries() {
        assert_eq!(ask(ours, &sql, &[matched]), ask(twin, &sql, &[matched]), "{what}: {sql} {matched}");
    }
}

/// Splits texts at blanks, and gives each second word two synonyms at its position.
#[derive(Default)]
pub(super) struct Synonyms {
    suffix: String,
}

impl Tokenize for Synonyms {
    fn tokenize(&self, text: &[u8], purpose: Purpose, token: &mut dyn FnMut(Token<'_>)) -> Outcome<()> {
        let mut start = 0;
        for (number, word) in text.split(u8::is_ascii_whitespace).enumerate() {
            let end = start + word.len();
            if !word.is_empty() {
                token(Token { term: word, start, end, is_colocated: false });
                let has_synonyms = number % 2 == 1 && purpose == Purpose::Document;
                for synonym in ["every", "ant"].into_iter().filter(|_| has_synonyms) {
                    let term = [synonym, &self.suffix].concat();
                    token(Token { term: term.as_bytes(), start, end, is_colocated: true });
                }
            }
            start = end + 1;
        }
        Ok(())
    }
}

/// Registers the tokenizer `synonyms` once.
pub(super) fn register_synonyms() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register("synonyms", |arguments| match arguments {
            [] => Ok(Synonyms::default()),
            [suffix] => Ok(Synonyms { suffix: (*suffix).to_owned() }),
            _ => Err(Error::usage("one argument")),
        })
        .unwrap();
    });
}
