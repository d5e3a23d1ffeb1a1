//! Compares the collector with `naive`, which indexes one row after another, and the tokenizers with the tokens in an FTS5 table that
//! SQLite fills.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_core::progress::Cancel;
use sqluice_format::fts5::{Detail, index_byte, prefix_bytes, push_docsize};
use sqluice_testkit::cases;
use sqluice_testkit::full_text::stored_positions;

mod table;

use super::tokenizer::{NoTokenizer, Tokenizer};
use super::{Collector, TextIndex, Totals};
use crate::sort::Spill;

/// A row: its rowid, and the texts of its columns.
type Row = (i64, Vec<Option<String>>);

/// The rows of a term, each with its positions as they are stored.
type Rows = Vec<(i64, Vec<u8>)>;

/// The terms, sizes and totals of rows.
#[derive(Debug, Default, PartialEq)]
struct Found {
    terms: BTreeMap<Vec<u8>, Rows>,
    sizes: Vec<(i64, Vec<u8>)>,
    totals: Totals,
}

fn index(detail: Detail, prefixes: &[usize], columns: usize) -> TextIndex {
    let tokenizer = vec!["unicode61".to_owned()];
    TextIndex { columns, detail, prefixes: prefixes.to_vec(), tokenizer, keeps_sizes: true }
}

/// Indexes the rows one after another.
fn naive(rows: &[Row], index: &TextIndex) -> Found {
    let mut tokenizer = Tokenizer::new(&index.tokenizer).unwrap();
    let mut found = Found { totals: Totals { rows: 0, tokens: vec![0; index.columns] }, ..Found::default() };
    for (rowid, texts) in rows {
        let mut of_row: BTreeMap<Vec<u8>, Vec<(u32, u32)>> = BTreeMap::new();
        let mut sizes = vec![0; index.columns];
        for (column, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            tokenizer
                .tokenize(text.as_bytes(), &mut |token: &[u8], _| {
                    let mut add = |number: usize, bytes: usize| {
                        let term = [&[index_byte(number)], &token[..bytes]].concat();
                        of_row.entry(term).or_default().push((column as u32, sizes[column]));
                    };
                    add(0, token.len());
                    for (number, characters) in index.prefixes.iter().enumerate() {
                        prefix_bytes(token, *characters).into_iter().for_each(|bytes| add(number + 1, bytes));
                    }
                    sizes[column] += 1;
                })
                .unwrap();
        }
        for (term, occurrences) in of_row {
            let positions = match index.detail {
                Detail::None => Vec::new(),
                detail => stored_positions(&occurrences, detail == Detail::Full),
            };
            found.terms.entry(term).or_default().push((*rowid, positions));
        }
        let mut size = Vec::new();
        push_docsize(&mut size, &sizes);
        found.sizes.push((*rowid, size));
        found.totals.rows += 1;
        found.totals.tokens.iter_mut().zip(&sizes).for_each(|(all, size)| *all += u64::from(*size));
    }
    found
}

/// Indexes the rows in parts, which workers take in turn.
fn collected(rows: &[Row], index: &TextIndex, workers: usize, part_rows: usize, memory: usize) -> Found {
    let folder = tempfile::tempdir().unwrap();
    let spill = Arc::new(Spill::new(folder.path().to_owned()));
    let collector = Collector::new(index, workers, memory, &spill);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let collector = &collector;
            scope.spawn(move || {
                let mut indexer = collector.worker().unwrap();
                for part in rows.chunks(part_rows).skip(worker).step_by(workers) {
                    for (rowid, texts) in part {
                        indexer.begin_row(*rowid);
                        for (column, text) in texts.iter().enumerate() {
                            text.iter().for_each(|text| indexer.text(column, text.as_bytes()).unwrap());
                        }
                        indexer.end_row().unwrap();
                    }
                    indexer.end_part().unwrap();
                }
                indexer.finish().unwrap();
            });
        }
    });
    let collected = collector.sorted(workers, memory, &Cancel::new()).unwrap();
    let mut found = Found { totals: collected.totals.clone(), ..Found::default() };
    let mut last_term = Vec::new();
    collected
        .each_doclist(|term, _, doclist| {
            assert!(term >= &last_term[..], "terms ascend");
            last_term = term.to_vec();
            let rows = found.terms.entry(last_term.clone()).or_default();
            for entry in doclist.entries(index.detail) {
                let entry = entry.unwrap();
                rows.push((entry.rowid, entry.positions.to_vec()));
            }
            assert_eq!(rows.last().unwrap().0, doclist.last);
            Ok(())
        })
        .unwrap();
    collected
        .each_size(|rowid, size| {
            found.sizes.push((rowid, size.to_vec()));
            Ok(())
        })
        .unwrap();
    found
}

/// Returns rows of random words; the word `every` is in each text.
fn rows(count: usize, columns: usize, random: &mut fastrand::Rng) -> Vec<Row> {
    let syllables = ["ka", "lo", "ter", "ö", "é", "жи", "東", "ing", "extraordinary", "pro"];
    let mut rowid = i64::from(random.i32(..));
    let row = |_| {
        rowid += random.i64(1..1000);
        let texts = (0..columns).map(|_| match random.u8(0..8) {
            0 => None,
            1 => Some(String::new()),
            _ => {
                let word = |random: &mut fastrand::Rng| -> String {
                    let length = if random.u8(0..3) == 0 { random.usize(1..5) } else { 1 };
                    (0..length).map(|_| syllables[random.usize(..syllables.len())]).collect()
                };
                let words: Vec<String> = (0..random.usize(0..30)).map(|_| word(random)).collect();
                Some(format!("every {}", words.join(" ")))
            }
        });
        (rowid, texts.collect())
    };
    (0..count).map(row).collect()
}

const DETAILS: [Detail; 3] = [Detail::Full, Detail::Column, Detail::None];

proptest! {
    #![proptest_config(cases(40))]
    #[test]
    fn workers_collect_what_one_loop_finds(
        seed: u64,
        count in 0usize..300,
        columns in 1usize..4,
        detail in prop::sample::select(&DETAILS[..]),
        prefixes in prop::collection::vec(1usize..5, 0..3),
        workers in 1usize..4,
        part_rows in 1usize..100,
        memory in prop_oneof![Just(64_usize << 10), Just(4 << 20)],
    ) {
        let rows = rows(count, columns, &mut fastrand::Rng::with_seed(seed));
        let index = index(detail, &prefixes, columns);
        let expected = naive(&rows, &index);
        let found = collected(&rows, &index, workers, part_rows, memory);
        prop_assert!(found == expected);
    }
}

#[test]
fn many_terms_are_merged_in_ranges_side_by_side() {
    let rows = rows(6_000, 2, &mut fastrand::Rng::with_seed(5));
    let index = index(Detail::Full, &[2], 2);
    let expected = naive(&rows, &index);
    for (workers, memory) in [(1, 300 << 10), (3, 300 << 10), (3, 64 << 20)] {
        assert!(collected(&rows, &index, workers, 500, memory) == expected, "{workers} {memory}");
    }
}

#[test]
fn an_error_of_the_caller_ends_the_merge() {
    let rows = rows(6_000, 2, &mut fastrand::Rng::with_seed(6));
    let index = index(Detail::Full, &[], 2);
    let folder = tempfile::tempdir().unwrap();
    let spill = Arc::new(Spill::new(folder.path().to_owned()));
    let collector = Collector::new(&index, 1, 1 << 20, &spill);
    let mut indexer = collector.worker().unwrap();
    for (rowid, texts) in &rows {
        indexer.begin_row(*rowid);
        for (column, text) in texts.iter().enumerate() {
            text.iter().for_each(|text| indexer.text(column, text.as_bytes()).unwrap());
        }
        indexer.end_row().unwrap();
    }
    indexer.finish().unwrap();
    let collected = collector.sorted(4, 1 << 20, &Cancel::new()).unwrap();
    let mut count = 0;
    let error = collected.each_doclist(|_, _, _| {
        count += 1;
        if count < 10 { Ok(()) } else { Err(sqluice_core::error::Error::usage("enough")) }
    });
    assert_eq!(error.unwrap_err().message(), "enough");
    assert_eq!(count, 10);
}

#[test]
fn tokenizers_give_the_tokens_of_a_table() {
    let texts = [
        "Every naïve Café, running runners RAN: 東京都 — end",
        "it's a-b_c x.y 12.5 ﬁne ßtraße ÅÉ a\u{301}e\u{308}",
        "",
        "nul\0byte and 🦀 crabs",
        "ab",
    ];
    for option in [
        "",
        "ascii",
        "unicode61 remove_diacritics 0",
        "unicode61 tokenchars '-_.' separators 'x'",
        "porter",
        "porter ascii",
        "porter unicode61 remove_diacritics 2 tokenchars ''''",
        "trigram",
        "trigram case_sensitive 1",
        "unicode61 categories 'L* N* Co'",
    ] {
        let connection = Connection::open_in_memory().unwrap();
        let quoted = option.replace('\'', "''");
        connection
            .execute_batch(&format!(
                "CREATE VIRTUAL TABLE t USING fts5(a, tokenize='{quoted}');
                 CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)"
            ))
            .unwrap();
        let mut tokenizer = Tokenizer::new(&super::tokenize_option::arguments(option).unwrap()).unwrap();
        let mut tokens: Vec<(i64, i64, Vec<u8>)> = Vec::new();
        for (rowid, text) in (1..).zip(texts) {
            connection.execute("INSERT INTO t(rowid, a) VALUES (?1, ?2)", (rowid, text)).unwrap();
            let mut position = -1;
            tokenizer
                .tokenize(text.as_bytes(), &mut |token: &[u8], is_colocated| {
                    position += i64::from(!is_colocated);
                    tokens.push((rowid, position, token.to_vec()));
                })
                .unwrap();
        }
        let mut query =
            connection.prepare("SELECT doc, offset, CAST(term AS BLOB) FROM v ORDER BY 1, 2, 3").unwrap();
        let expected = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let expected: Vec<(i64, i64, Vec<u8>)> = expected.collect::<rusqlite::Result<_>>().unwrap();
        assert_eq!(tokens, expected, "{option:?}");
    }
}

#[test]
fn a_tokenizer_of_an_application_is_unknown() {
    let of = |words: &[&str]| Tokenizer::new(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert!(matches!(of(&["snowball", "english"]), Err(NoTokenizer::Unknown)));
    assert!(matches!(of(&["unicode61", "remove_diacritics", "9"]), Err(NoTokenizer::Refused)));
    assert!(matches!(of(&["porter", "snowball"]), Err(NoTokenizer::Refused)));
}

#[test]
fn a_panic_of_the_closure_passes_through_sqlite() {
    let mut tokenizer = Tokenizer::new(&["porter".to_owned()]).unwrap();
    let mut count = 0;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tokenizer.tokenize(b"a b c", &mut |_: &[u8], _| {
            count += 1;
            assert!(count < 2, "the second token");
        })
    }));
    assert!(panicked.is_err() && count == 2);
    assert!(tokenizer.tokenize(b"d", &mut |_: &[u8], _| count += 1).is_ok() && count == 3);
}
