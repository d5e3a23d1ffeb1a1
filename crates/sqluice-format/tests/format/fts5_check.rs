//! The check of full-text indexes: it finds no fault in what SQLite has written, except pages that SQLite leaves of empty segments. It
//! finds planted faults.

use std::collections::BTreeMap;
use std::convert::Infallible;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_format::fts5::check::{Checked, Declared, Digest, Entry, Finding, Rows, TermHash, check};
use sqluice_format::fts5::read::{IndexPage, MergedReader, MergedRow, Pages, Structure};
use sqluice_format::fts5::{Detail, STRUCTURE_ID};

use crate::fts5_read::{DETAILS, Data, any_history, data_of, expected, made};

/// The rows of `t_data` and `t_idx`.
#[derive(Clone, Debug)]
struct Index {
    data: Data,
    keys: BTreeMap<(u16, Vec<u8>), i64>,
}

impl Index {
    fn of(connection: &Connection) -> Index {
        let mut query = connection.prepare("SELECT segid, term, pgno FROM t_idx").unwrap();
        let keys = query.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).unwrap();
        Index { data: data_of(connection), keys: keys.collect::<rusqlite::Result<_>>().unwrap() }
    }

    fn structure(&self) -> Structure {
        Structure::parse(&self.data.0[&STRUCTURE_ID]).unwrap()
    }
}

impl Pages for Index {
    type Error = Infallible;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> Result<bool, Infallible> {
        self.data.page(id, block)
    }
}

impl Rows for Index {
    fn next_split_key(
        &mut self,
        segment: u16,
        after: &mut Option<Vec<u8>>,
    ) -> Result<Option<i64>, Infallible> {
        let next = self
            .keys
            .iter()
            .find(|((id, key), _)| *id == segment && after.as_ref().is_none_or(|after| key > after));
        Ok(next.map(|((_, key), page)| {
            *after = Some(key.clone());
            *page
        }))
    }

    fn ids(&mut self, each: &mut dyn FnMut(i64)) -> Result<(), Infallible> {
        self.data.0.keys().for_each(|id| each(*id));
        Ok(())
    }
}

fn checked(index: &mut Index, detail: Detail, is_edited: bool) -> Checked {
    let declared = Declared { detail, columns: 2, prefixes: 0, is_edited };
    check::<_, Infallible>(index, &declared, &mut |_| Ok(())).unwrap()
}

/// Returns the digest of the rows that the index has.
fn digest(index: &mut Index, detail: Detail) -> Digest {
    let structure = index.structure();
    let mut digest = Digest::default();
    let mut merged = MergedReader::new(&structure, detail, index).unwrap();
    while let Some(MergedRow { term, rowid, positions }) = merged.next(index).unwrap() {
        let entry = Entry { term, rowid, positions, is_first: true };
        digest.add_stored(TermHash::new(term[0], &term[1..]), &entry, detail).unwrap();
    }
    digest
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(200))]
    #[test]
    fn an_index_that_sqlite_wrote_has_no_faults_and_the_same_checksum_as_the_text(history in any_history()) {
        let connection = made(&history);
        let (_, detail) = DETAILS[history.detail];
        let index = &mut Index::of(&connection);
        let checked = checked(index, detail, history.secure_delete);
        // SQLite leaves a page of a segment that has lost all of its rows. The check reports the page as foreign, and such findings do not
        // count here.
        let is_left = |finding: &Finding| matches!(finding, Finding::Foreign { .. });
        let findings: Vec<_> = checked.findings.iter().filter(|finding| !is_left(finding)).collect();
        prop_assert!(findings.is_empty(), "{:?}", findings);
        prop_assert!(checked.is_whole);

        let mut of_text = Digest::default();
        for (term, rowid, column, position) in expected(&connection, detail) {
            of_text.add(rowid, TermHash::new(term[0], &term[1..]).at(rowid, column, position));
        }
        let of_index = digest(index, detail);
        prop_assert_eq!(of_text.differing_buckets(&of_index), 0);
    }

    #[test]
    fn comparing_checksums_finds_the_row_of_a_changed_entry(history in any_history(), number: usize) {
        let connection = made(&history);
        let (_, detail) = DETAILS[history.detail];
        let all = expected(&connection, detail);
        prop_assume!(!all.is_empty());
        let changed = number % all.len();
        let sums = |digest: &mut Digest, offset: u32| {
            for (at, (term, rowid, column, position)) in all.iter().enumerate() {
                let column = column + if at == changed { offset } else { 0 };
                digest.add(*rowid, TermHash::new(term[0], &term[1..]).at(*rowid, column, *position));
            }
        };
        let [mut one, mut other] = [Digest::default(), Digest::default()];
        sums(&mut one, 0);
        sums(&mut other, 7);
        prop_assert_eq!(one.differing_buckets(&other), 1);
        let [mut one, mut other] = [one.of_rows_that_differ(&other), other.of_rows_that_differ(&one)];
        sums(&mut one, 0);
        sums(&mut other, 7);
        prop_assert_eq!(one.differing_rows(&other), [all[changed].1]);
    }

    #[test]
    fn a_missing_or_wrong_split_key_is_found(history in any_history(), number: usize, is_missing: bool) {
        prop_assume!(!history.secure_delete);
        let connection = made(&history);
        let (_, detail) = DETAILS[history.detail];
        let mut index = Index::of(&connection);
        // Only some keys are needed. Searches find the first page of a segment without a key, and an unfinished merge leaves keys of pages
        // that it has moved. So neither kind of key is changed.
        let structure = index.structure();
        let spans: Vec<_> = structure.segments().map(|(_, span)| *span).collect();
        let is_of = |segment: u16, page: i64| {
            let span = spans.iter().find(|span| span.id == segment && span.leaves() > 0);
            span.is_some_and(|span| page >> 1 > i64::from(span.first))
        };
        let keys = index.keys.iter().filter(|((segment, _), page)| is_of(*segment, **page));
        let keys: Vec<_> = keys.map(|(key, page)| (key.clone(), *page)).collect();
        prop_assume!(!keys.is_empty());
        let ((segment, key), page) = keys[number % keys.len()].clone();
        index.keys.remove(&(segment, key.clone()));
        if !is_missing {
            index.keys.insert((segment, [&key[..], &[0xff]].concat()), page);
        }
        let found = checked(&mut index, detail, false).findings;
        let page = (page >> 1) as u32;
        // The wrong key may also be greater than the key of the next page, and then the right one is reported as missing.
        let missing = found.contains(&Finding::NoSplitKey { segment, page });
        let is_found = missing || !is_missing && found.contains(&Finding::SplitKey { segment, page });
        prop_assert!(is_found, "{:?}", found);
    }

    #[test]
    fn a_row_of_the_data_table_that_belongs_to_no_segment_is_found(history in any_history(), id in 2..9_i64, segment in 1900..2000_i64) {
        let connection = made(&history);
        let (_, detail) = DETAILS[history.detail];
        for row in [id, segment << 37 | 1, i64::from(i32::MAX) << 31] {
            let mut index = Index::of(&connection);
            let foreign = Finding::Foreign { row };
            let is_found = |index: &mut Index| {
                let found = checked(index, detail, history.secure_delete).findings;
                found.contains(&foreign)
            };
            prop_assert!(!is_found(&mut index));
            index.data.0.insert(row, vec![0, 0, 0, 4]);
            prop_assert!(is_found(&mut index));
        }
    }
}

/// Returns an index with doclist indexes of two heights.
fn with_doclist_indexes() -> Index {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE t USING fts5(a, b);
             INSERT INTO t(t, rank) VALUES ('pgsz', 64);
             WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 4000)
             INSERT INTO t SELECT 'every every', 'word' || (n % 7) FROM n;
             INSERT INTO t(t) VALUES ('optimize')",
        )
        .unwrap();
    Index::of(&connection)
}

#[test]
fn damage_to_a_doclist_index_is_found() {
    let index = with_doclist_indexes();
    assert_eq!(checked(&mut index.clone(), Detail::Full, false).findings, []);
    let structure = index.structure();
    let (_, span) = structure.segments().next().unwrap();
    let marked: Vec<_> = index.keys.iter().filter(|(_, page)| *page & 1 == 1).collect();
    assert!(marked.len() > 3, "{marked:?}");
    for ((segment, key), page) in marked {
        let term_page = (page >> 1) as u32;
        let mut without = index.clone();
        without.keys.insert((*segment, key.clone()), page & !1);
        let found = checked(&mut without, Detail::Full, false).findings;
        assert!(found.contains(&Finding::Unmarked { segment: *segment, page: term_page }), "{found:?}");

        let expected = [Finding::DoclistIndex { segment: *segment, page: term_page }];
        for height in 0..2 {
            let id = IndexPage::id(span.id, height, term_page);
            let Some(block) = index.data.0.get(&id) else { continue };
            for offset in 0..block.len() {
                let mut damaged = index.clone();
                damaged.data.0.get_mut(&id).unwrap()[offset] ^= 1;
                let found = checked(&mut damaged, Detail::Full, false).findings;
                assert!(found.starts_with(&expected), "{height} {offset} {found:?}");
            }
            let mut missing = index.clone();
            missing.data.0.remove(&id);
            let found = checked(&mut missing, Detail::Full, false).findings;
            assert!(found.starts_with(&expected), "{found:?}");
        }
    }
}

#[test]
fn a_segment_that_ends_too_early_is_found() {
    let index = with_doclist_indexes();
    let mut structure = index.structure();
    let last = structure.levels.iter_mut().flat_map(|level| &mut level.segments).next_back().unwrap();
    last.last -= 1;
    let mut damaged = index;
    damaged.data.0.insert(STRUCTURE_ID, structure.to_block());
    assert!(!checked(&mut damaged, Detail::Full, false).findings.is_empty());
}
