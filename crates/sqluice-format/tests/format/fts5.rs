//! Tests of the writer of full-text indexes: it makes the rows that SQLite's `optimize` leaves, byte for byte.

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_format::fts5::{
    AVERAGES_ID, Detail, EntryList, PAGE_BYTES_DEFAULT, SegmentRows, SegmentWriter, averages, index_byte,
    prefix_bytes, push_docsize,
};
use sqluice_testkit::full_text::stored_positions;

/// The rows of `t_data` and `t_idx`.
#[derive(Debug, Default, PartialEq)]
struct Rows {
    data: Vec<(i64, Vec<u8>)>,
    split_keys: Vec<(i64, Vec<u8>, i64)>,
}

impl SegmentRows for Rows {
    type Error = std::convert::Infallible;

    fn leaf(&mut self, id: i64, block: &[u8]) -> Result<(), Self::Error> {
        self.data.push((id, block.to_vec()));
        Ok(())
    }

    fn split_key(&mut self, segment: u16, key: &[u8], page: i64) -> Result<(), Self::Error> {
        self.split_keys.push((i64::from(segment), key.to_vec(), page));
        Ok(())
    }
}

/// The options of a table.
#[derive(Clone, Debug)]
struct Options {
    detail: Detail,
    prefixes: Vec<usize>,
    page_bytes: usize,
    /// The number of parts in which `optimize` gets the doclist of each term.
    parts: usize,
}

/// A row: its rowid, and the text of two columns.
type Document = (i64, [String; 2]);

/// A word of a document: the term, the rowid, the column and the position.
type Word = (Vec<u8>, i64, u32, u32);

/// Returns a database with the table `t`, which `optimize` has made of several segments, and the words of the documents.
fn twin(documents: &[Document], options: &Options) -> (Connection, Vec<Word>) {
    let connection = Connection::open_in_memory().unwrap();
    let detail = match options.detail {
        Detail::Full => "full",
        Detail::Column => "column",
        Detail::None => "none",
    };
    let prefixes: Vec<String> = options.prefixes.iter().map(ToString::to_string).collect();
    let prefixes = prefixes.join(" ");
    connection
        .execute_batch(&format!(
            "CREATE VIRTUAL TABLE t USING fts5(a, b, detail={detail}, prefix='{prefixes}');
             CREATE VIRTUAL TABLE words USING fts5(a, b);
             CREATE VIRTUAL TABLE instances USING fts5vocab(words, instance);
             INSERT INTO t(t, rank) VALUES ('pgsz', {}), ('automerge', 0)",
            options.page_bytes
        ))
        .unwrap();
    for some in documents.chunks(documents.len().div_ceil(3).max(1)) {
        connection.execute_batch("BEGIN").unwrap();
        for (rowid, [a, b]) in some {
            for table in ["t", "words"] {
                let sql = format!("INSERT INTO {table} (rowid, a, b) VALUES (?1, ?2, ?3)");
                connection.execute(&sql, (rowid, a, b)).unwrap();
            }
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    connection.execute_batch("INSERT INTO t(t) VALUES ('optimize')").unwrap();
    let mut instances = connection.prepare("SELECT term, doc, col, offset FROM instances").unwrap();
    let words = instances.query_map([], |row| {
        let (term, column): (String, String) = (row.get(0)?, row.get(2)?);
        Ok((term.into_bytes(), row.get(1)?, u32::from(column == "b"), row.get(3)?))
    });
    let words = words.unwrap().collect::<rusqlite::Result<_>>().unwrap();
    drop(instances);
    (connection, words)
}

/// Returns the terms of all indexes in order, each with its occurrences.
fn terms(words: &[Word], prefixes: &[usize]) -> Vec<Word> {
    let mut terms = Vec::new();
    for (word, rowid, column, position) in words {
        let term = |index: usize, token: &[u8]| [&[index_byte(index)], token].concat();
        terms.push((term(0, word), *rowid, *column, *position));
        for (index, characters) in prefixes.iter().enumerate() {
            if let Some(bytes) = prefix_bytes(word, *characters) {
                terms.push((term(index + 1, &word[..bytes]), *rowid, *column, *position));
            }
        }
    }
    terms.sort();
    terms
}

fn written(segment: u16, terms: &[Word], options: &Options) -> (Rows, u32) {
    let mut rows = Rows::default();
    let mut writer = SegmentWriter::new(segment, options.detail, options.page_bytes);
    for of_term in terms.chunk_by(|one, other| one.0 == other.0) {
        writer.term(&of_term[0].0, &mut rows).unwrap();
        let of_rows: Vec<&[Word]> = of_term.chunk_by(|one, other| one.1 == other.1).collect();
        for part in of_rows.chunks(of_rows.len().div_ceil(options.parts)) {
            let mut list = EntryList::default();
            for words in part {
                let occurrences: Vec<(u32, u32)> = words.iter().map(|word| (word.2, word.3)).collect();
                let positions = stored_positions(&occurrences, options.detail == Detail::Full);
                list.push_row(options.detail, words[0].1, (false, true), &positions);
            }
            writer.doclist(&list.doclist().unwrap(), &mut rows).unwrap();
        }
    }
    let (segment, indexes) = writer.finish(&mut rows).unwrap();
    rows.data.extend(indexes);
    (rows, segment.leaves)
}

/// Compares what the writer makes of the documents with what SQLite has made. Returns the number of leaves, and the number of terms with a
/// doclist index.
fn compare(documents: &[Document], options: &Options) -> (u32, usize) {
    let (connection, words) = twin(documents, options);
    let list = |sql: &str| -> Vec<(i64, Vec<u8>)> {
        let mut query = connection.prepare(sql).unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    };
    let mut query = connection.prepare("SELECT segid, term, pgno FROM t_idx ORDER BY segid, term").unwrap();
    let split_keys = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let split_keys: Vec<(i64, Vec<u8>, i64)> = split_keys.collect::<rusqlite::Result<_>>().unwrap();
    let expected = Rows { data: list("SELECT id, block FROM t_data WHERE id > 10 ORDER BY id"), split_keys };
    let segment = expected.split_keys.first().map_or(1, |(segment, ..)| *segment as u16);
    let (rows, leaves) = written(segment, &terms(&words, &options.prefixes), options);
    for (ours, theirs) in rows.data.iter().zip(&expected.data) {
        assert_eq!(ours, theirs);
    }
    assert!(rows == expected, "{} and {} rows", rows.data.len(), expected.data.len());
    let sizes = documents.iter().map(|(rowid, _)| {
        let of_column = |column| words.iter().filter(|word| word.1 == *rowid && word.2 == column).count();
        let mut size = Vec::new();
        push_docsize(&mut size, &[0, 1].map(|column| of_column(column) as u32));
        (*rowid, size)
    });
    if documents.len() < 100 {
        assert_eq!(sizes.collect::<Vec<_>>(), list("SELECT id, sz FROM t_docsize ORDER BY id"));
    }
    let tokens = [0, 1].map(|column| words.iter().filter(|word| word.2 == column).count() as u64);
    let expected_averages = list(&format!("SELECT id, block FROM t_data WHERE id = {AVERAGES_ID}"));
    assert_eq!(averages(documents.len() as u64, &tokens), expected_averages[0].1);
    (leaves, rows.split_keys.iter().filter(|(_, _, page)| page & 1 == 1).count())
}

/// Returns documents of random words, some of which are frequent. `every` is in each document.
fn documents(count: i64, words: usize, random: &mut fastrand::Rng) -> Vec<Document> {
    let syllables = ["ka", "lo", "ter", "ö", "é", "жи", "東", "ing", "x", "pro"];
    let vocabulary: Vec<String> =
        (0..2000).map(|_| (0..random.usize(1..6)).map(|_| syllables[random.usize(..10)]).collect()).collect();
    let mut text = |most: usize| {
        let words = (0..random.usize(..=most)).map(|_| {
            let skewed = random.f64() * random.f64() * random.f64();
            vocabulary[(skewed * vocabulary.len() as f64) as usize].clone()
        });
        words.collect::<Vec<String>>().join(" ")
    };
    (1..=count).map(|row| (3 * row - 50, [format!("every {}", text(5)), text(words)])).collect()
}

const DETAILS: [Detail; 3] = [Detail::Full, Detail::Column, Detail::None];

#[test]
fn a_segment_has_the_bytes_of_optimize() {
    let random = &mut fastrand::Rng::with_seed(1);
    let documents = documents(400, 60, random);
    for detail in DETAILS {
        for prefixes in [vec![], vec![1, 3]] {
            for page_bytes in [32, 64, 256, PAGE_BYTES_DEFAULT] {
                let options = Options { detail, prefixes: prefixes.clone(), page_bytes, parts: 2 };
                compare(&documents, &options);
            }
        }
    }
}

#[test]
fn a_segment_of_thousands_of_leaves_has_the_bytes_of_optimize() {
    let documents = documents(1500, 30, &mut fastrand::Rng::with_seed(2));
    let options = Options { detail: Detail::Full, prefixes: vec![2], page_bytes: 64, parts: 5 };
    let (leaves, _) = compare(&documents, &options);
    assert!(leaves > 2_500, "{leaves}");
}

#[test]
fn doclist_indexes_of_several_levels_have_the_bytes_of_optimize() {
    let documents = documents(4000, 3, &mut fastrand::Rng::with_seed(3));
    for detail in DETAILS {
        let options = Options { detail, prefixes: vec![], page_bytes: 32, parts: 3 };
        let (connection, _) = twin(&documents, &options);
        let highest: i64 = connection
            .query_row("SELECT max(id >> 31 & 31) FROM t_data WHERE id >> 36 & 1", [], |row| row.get(0))
            .unwrap();
        assert!(highest >= 1, "{detail:?}: {highest}");
        let (_, indexes) = compare(&documents, &options);
        assert!(indexes > 0);
    }
}

#[test]
fn segments_of_long_values_and_tokens_have_the_bytes_of_optimize() {
    let long = "x".repeat(3_000);
    let documents = vec![
        (i64::MIN, [String::new(), "same ".repeat(20_000)]),
        (-5, ["same other".to_owned(), format!("{long}a {long}b same")]),
        (0, [format!("{long}a"), String::new()]),
        (i64::MAX, [(0..5_000).map(|n| format!("w{n} ")).collect(), "other".repeat(9)]),
    ];
    for detail in DETAILS {
        for page_bytes in [32, 100, PAGE_BYTES_DEFAULT] {
            compare(&documents, &Options { detail, prefixes: vec![1], page_bytes, parts: 1 });
        }
    }
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(60))]
    #[test]
    fn segments_of_random_documents_have_the_bytes_of_optimize(
        seed: u64,
        count in 3i64..120,
        words in 0usize..60,
        page_bytes in prop_oneof![32usize..200, 200usize..5_000],
        detail in prop::sample::select(&DETAILS[..]),
        prefixes in prop::collection::vec(1usize..5, 0..3),
        parts in 1usize..4,
    ) {
        let documents = documents(count, words, &mut fastrand::Rng::with_seed(seed));
        compare(&documents, &Options { detail, prefixes, page_bytes, parts });
    }
}
