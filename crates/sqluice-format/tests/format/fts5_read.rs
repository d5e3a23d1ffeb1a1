//! Readers of full-text indexes: all that SQLite has written is read, and damage never makes a reader panic.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice_format::fts5::read::{
    Advanced, IndexPage, MergedReader, MergedRow, Pages, Positions, ReadError, SegmentReader, SegmentSpan,
    Step, Structure, parse_averages, parse_docsize,
};
use sqluice_format::fts5::{AVERAGES_ID, Detail, STRUCTURE_ID};

pub(crate) const DETAILS: [(&str, Detail); 3] =
    [("full", Detail::Full), ("column", Detail::Column), ("none", Detail::None)];

/// The rows of `t_data`.
#[derive(Clone, Debug)]
pub(crate) struct Data(pub(crate) HashMap<i64, Vec<u8>>);

impl Pages for Data {
    type Error = Infallible;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> Result<bool, Infallible> {
        block.clear();
        let found = self.0.get(&id);
        found.inspect(|found| block.extend_from_slice(found));
        Ok(found.is_some())
    }
}

/// An occurrence: the term, the rowid, the column and the position.
pub(crate) type Occurrence = (Vec<u8>, i64, u32, u32);

pub(crate) fn data_of(connection: &Connection) -> Data {
    let mut query = connection.prepare("SELECT id, block FROM t_data").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    Data(rows.collect::<rusqlite::Result<_>>().unwrap())
}

/// Reads all segments. Returns the occurrences of terms in rows that were not deleted.
fn read_all(data: &mut Data, detail: Detail) -> Result<Vec<Occurrence>, ReadError<Infallible>> {
    let structure = Structure::parse(data.0.get(&STRUCTURE_ID).map_or(&[][..], |block| block))?;
    for (_, segment) in structure.segments() {
        index_pages(segment, data)?;
    }
    let mut all = Vec::new();
    let mut merged = MergedReader::new(&structure, detail, data)?;
    while let Some(MergedRow { term, rowid, positions }) = merged.next(data)? {
        if detail == Detail::None {
            all.push((term.to_vec(), rowid, 0, 0));
        }
        for position in Positions::new(detail, 0, positions) {
            let (column, position) = position?;
            all.push((term.to_vec(), rowid, column, position));
        }
    }
    Ok(all)
}

/// A row of a term: the term, the rowid, the marks and the positions.
type StoredRow = (Vec<u8>, i64, (bool, bool), Vec<u8>);

/// Reads the rows of a segment one by one.
fn rows_one_by_one(
    data: &mut Data,
    segment: &SegmentSpan,
    detail: Detail,
) -> Result<Vec<StoredRow>, ReadError<Infallible>> {
    let (mut all, mut term) = (Vec::new(), Vec::new());
    let mut reader = SegmentReader::new(segment, detail);
    while let Some(step) = reader.step(data)? {
        match step {
            Step::Term(found) => term = found.to_vec(),
            Step::Row(row) => {
                let marks = (row.is_deleted, row.is_present);
                all.push((term.clone(), row.rowid, marks, row.positions.to_vec()));
            }
        }
    }
    Ok(all)
}

/// Reads the rows of a segment, as many at once as lie side by side.
fn rows_side_by_side(
    data: &mut Data,
    segment: &SegmentSpan,
    detail: Detail,
) -> Result<Vec<StoredRow>, ReadError<Infallible>> {
    let mut all = Vec::new();
    let mut reader = SegmentReader::new(segment, detail);
    while let Some(advanced) = reader.advance(data)? {
        if advanced == Advanced::Term {
            continue;
        }
        let (rows, start) = (reader.rows(), all.len());
        for entry in rows.doclist.entries(detail) {
            let entry = entry.expect("the reader has read all entries");
            let marks = (entry.is_deleted, entry.is_present);
            all.push((reader.term().to_vec(), entry.rowid, marks, entry.positions.to_vec()));
        }
        let found = &all[start..];
        assert_eq!(found.last().map(|row| row.1), Some(rows.doclist.last));
        assert_eq!(rows.has_marks, found.iter().any(|(_, _, marks, _)| *marks != (false, true)));
    }
    Ok(all)
}

/// Asserts that both ways to read segments have the same result.
fn both_ways_agree(data: &mut Data, detail: Detail) {
    let Some(Ok(structure)) = data.0.get(&STRUCTURE_ID).map(|block| Structure::parse(block)) else { return };
    for (_, segment) in structure.segments() {
        let one_by_one = rows_one_by_one(data, segment, detail);
        let side_by_side = rows_side_by_side(data, segment, detail);
        assert_eq!(one_by_one.is_err(), side_by_side.is_err());
        assert!(one_by_one.is_err() || one_by_one == side_by_side);
    }
}

/// Reads the pages of doclist indexes of a segment. Returns how many there are.
fn index_pages(segment: &SegmentSpan, data: &Data) -> Result<usize, ReadError<Infallible>> {
    let range = IndexPage::id(segment.id, 0, 0)..IndexPage::id(segment.id + 1, 0, 0) - (1 << 36);
    let mut count = 0;
    for (id, block) in data.0.iter().filter(|(id, _)| range.contains(id)) {
        IndexPage::parse(*id, block)?;
        count += 1;
    }
    Ok(count)
}

/// Returns the occurrences as SQLite reads them.
pub(crate) fn expected(connection: &Connection, detail: Detail) -> Vec<Occurrence> {
    connection.execute_batch("CREATE VIRTUAL TABLE IF NOT EXISTS v USING fts5vocab(t, instance)").unwrap();
    let mut query = connection.prepare("SELECT term, doc, col, offset FROM v").unwrap();
    let rows = query.query_map([], |row| {
        let (term, column): (String, Option<String>) = (row.get(0)?, row.get(2)?);
        let position: Option<u32> = row.get(3)?;
        let column = u32::from(column.as_deref() == Some("b"));
        Ok(([b"0", term.as_bytes()].concat(), row.get(1)?, column, position.unwrap_or(0)))
    });
    let mut all: Vec<Occurrence> = rows.unwrap().collect::<rusqlite::Result<_>>().unwrap();
    all.sort();
    if detail == Detail::None {
        all.dedup();
    }
    all
}

/// The changes to make of a table.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) seed: u64,
    pub(crate) detail: usize,
    pub(crate) page_bytes: usize,
    pub(crate) is_contentless: bool,
    pub(crate) secure_delete: bool,
    pub(crate) columnsize: bool,
    pub(crate) steps: usize,
}

pub(crate) fn any_history() -> impl Strategy<Value = History> {
    (
        any::<u64>(),
        0..3_usize,
        prop_oneof![32_usize..100, 100usize..5000],
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1..40_usize,
    )
        .prop_map(|(seed, detail, page_bytes, is_contentless, secure_delete, columnsize, steps)| {
            History {
                seed,
                detail,
                page_bytes,
                is_contentless,
                secure_delete: secure_delete && !is_contentless,
                columnsize: columnsize || is_contentless,
                steps,
            }
        })
}

/// Makes a table whose rows were inserted, deleted and replaced.
pub(crate) fn made(history: &History) -> Connection {
    let random = &mut fastrand::Rng::with_seed(history.seed);
    let connection = Connection::open_in_memory().unwrap();
    let content = if history.is_contentless { ", content='', contentless_delete=1" } else { "" };
    let (detail, _) = DETAILS[history.detail];
    connection
        .execute_batch(&format!(
            "CREATE VIRTUAL TABLE t USING fts5(a, b, detail={detail}, columnsize={}{content});
             INSERT INTO t(t, rank) VALUES ('pgsz', {}), ('secure-delete', {})",
            u8::from(history.columnsize),
            history.page_bytes,
            u8::from(history.secure_delete),
        ))
        .unwrap();
    let mut live: Vec<i64> = Vec::new();
    for _ in 0..history.steps {
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..random.usize(1..12) {
            if !live.is_empty() && random.u8(..4) == 0 {
                let rowid = live.swap_remove(random.usize(..live.len()));
                connection.execute("DELETE FROM t WHERE rowid = ?1", [rowid]).unwrap();
                continue;
            }
            let rowid = [random.i64(-50..200), random.i64(..)][usize::from(random.u8(..9) == 0)];
            if live.contains(&rowid) {
                continue;
            }
            let words = [5, 60][usize::from(random.u8(..6) == 0)];
            let mut text = || {
                let words = (0..random.usize(..words)).map(|_| match random.u8(..20) {
                    0 => "long".repeat(random.usize(1..40)),
                    1..10 => "every".to_owned(),
                    _ => format!("w{}", random.u8(..60)),
                });
                words.collect::<Vec<String>>().join(" ")
            };
            connection
                .execute("INSERT INTO t (rowid, a, b) VALUES (?1, ?2, ?3)", (rowid, text(), text()))
                .unwrap();
            live.push(rowid);
        }
        connection.execute_batch("COMMIT").unwrap();
        if random.u8(..8) == 0 {
            let pages = random.i32(-10..20);
            connection.execute("INSERT INTO t(t, rank) VALUES ('merge', ?1)", [pages]).unwrap();
        }
    }
    connection
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(120))]
    #[test]
    fn all_terms_and_positions_that_sqlite_wrote_are_read(history in any_history()) {
        let connection = made(&history);
        let (_, detail) = DETAILS[history.detail];
        let mut data = data_of(&connection);
        let read = read_all(&mut data, detail).unwrap();
        prop_assert_eq!(read, expected(&connection, detail));
        both_ways_agree(&mut data, detail);
        let block = &data.0[&STRUCTURE_ID];
        prop_assert_eq!(&Structure::parse(block).unwrap().to_block(), block);
        let (rows, tokens) = parse_averages(&data.0[&AVERAGES_ID], 2).unwrap();
        if history.columnsize {
            let mut query = connection.prepare("SELECT id, sz FROM t_docsize").unwrap();
            let sizes = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?))).unwrap();
            let (mut count, mut sums) = (0, vec![0; 2]);
            for size in sizes {
                let (rowid, size) = size.unwrap();
                let size = parse_docsize(rowid, &size, 2).unwrap();
                sums.iter_mut().zip(size).for_each(|(sum, tokens)| *sum += tokens);
                count += 1;
            }
            prop_assert_eq!((rows, tokens), (count, sums));
        }
    }

    #[test]
    fn damaged_bytes_never_make_a_reader_panic(history in any_history(), damages: u64) {
        let connection = made(&history);
        let (_, detail) = DETAILS[history.detail];
        let data = data_of(&connection);
        let mut ids: Vec<i64> = data.0.keys().copied().collect();
        ids.sort_unstable();
        let random = &mut fastrand::Rng::with_seed(damages);
        for _ in 0..20 {
            let mut damaged = data.clone();
            for _ in 0..random.usize(1..4) {
                let id = ids[random.usize(..ids.len())];
                let block = damaged.0.get_mut(&id).unwrap();
                let offset = random.usize(..block.len() + 1);
                match random.u8(..4) {
                    0 => block.truncate(offset),
                    1 => block.insert(offset, random.u8(..)),
                    _ if offset < block.len() => block[offset] = [0, 1, 0x7f, 0xff, random.u8(..)][random.usize(..5)],
                    _ => {}
                }
            }
            let _ = read_all(&mut damaged, detail);
            both_ways_agree(&mut damaged, detail);
        }
    }
}

#[test]
fn a_reader_begins_at_any_page_that_has_a_term() {
    let history = History {
        seed: 7,
        detail: 0,
        page_bytes: 64,
        is_contentless: false,
        secure_delete: false,
        columnsize: true,
        steps: 60,
    };
    let connection = made(&history);
    connection.execute_batch("INSERT INTO t(t) VALUES ('optimize')").unwrap();
    let data = &mut data_of(&connection);
    let structure = Structure::parse(&data.0[&STRUCTURE_ID]).unwrap();
    let (_, segment) = structure.segments().next().unwrap();
    let mut starts = Vec::new();
    let mut reader = SegmentReader::new(segment, Detail::Full);
    let mut terms = Vec::new();
    while let Some(step) = reader.step(data).unwrap() {
        if let Step::Term(term) = step {
            terms.push(term.to_vec());
            if reader.is_first_term() {
                starts.push((reader.page(), terms.len() - 1));
            }
        }
    }
    assert!(starts.len() > 10 && segment.leaves() > starts.len() as u32, "{starts:?}");
    for (page, number) in starts {
        let mut reader = SegmentReader::of_pages(segment.id, (page, segment.last), Detail::Full);
        let mut found = Vec::new();
        while let Some(step) = reader.step(data).unwrap() {
            if let Step::Term(term) = step {
                found.push(term.to_vec());
            }
        }
        assert_eq!(found, terms[number..], "{page}");
    }
}

#[test]
fn a_doclist_index_lists_the_first_rowid_of_each_page() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE t USING fts5(a);
             INSERT INTO t(t, rank) VALUES ('pgsz', 64);
             WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 3000)
             INSERT INTO t SELECT 'every every' || iif(n % 500, '', replace(hex(zeroblob(100)), '0', ' every')) FROM n",
        )
        .unwrap();
    let data = &mut data_of(&connection);
    let structure = Structure::parse(&data.0[&STRUCTURE_ID]).unwrap();
    let (_, segment) = structure.segments().next().unwrap();
    let mut firsts: BTreeMap<u32, i64> = BTreeMap::new();
    let mut reader = SegmentReader::new(segment, Detail::Full);
    while let Some(step) = reader.step(data).unwrap() {
        if let Step::Row(row) = step
            && row.is_first_of_page
        {
            firsts.insert(row.page, row.rowid);
        }
    }
    let mut listed = BTreeMap::new();
    let mut pages = 0;
    while let Some(block) = data.0.get(&IndexPage::id(segment.id, 0, 1 + pages)) {
        let page = IndexPage::parse(IndexPage::id(segment.id, 0, 1 + pages), block).unwrap();
        let children = page.rowids.iter().enumerate();
        listed.extend(children.filter_map(|(n, rowid)| Some((page.first_child + n as u32, (*rowid)?))));
        pages += 1;
    }
    assert!(pages > 2, "{pages}");
    assert_eq!(firsts, listed);
}
