//! Reads any bytes as the rows of an FTS5 index: readers and the checker return a result or an error, without a panic.
#![no_main]

use std::collections::HashMap;
use std::convert::Infallible;

use libfuzzer_sys::fuzz_target;
use sqluice_format::fts5::check::{Declared, Rows, check};
use sqluice_format::fts5::read::{
    Advanced, IndexPage, Leaf, Pages, Positions, SegmentReader, Step, Structure, Tombstones, parse_averages,
    parse_docsize,
};
use sqluice_format::fts5::{Detail, STRUCTURE_ID};

struct Data(HashMap<i64, Vec<u8>>);

impl Pages for Data {
    type Error = Infallible;

    fn page(&mut self, id: i64, block: &mut Vec<u8>) -> Result<bool, Infallible> {
        block.clear();
        let found = self.0.get(&id);
        found.inspect(|found| block.extend_from_slice(found));
        Ok(found.is_some())
    }
}

/// Each byte of the structure record is taken as a page number, and gets a split key; the keys ascend.
impl Rows for Data {
    fn next_split_key(&mut self, _: u16, after: &mut Option<Vec<u8>>) -> Result<Option<i64>, Infallible> {
        let number = after.as_ref().map_or(0, |after| after.len() + 1);
        let page = self.0[&STRUCTURE_ID].get(number).map(|byte| i64::from(*byte));
        *after = Some(vec![b'0'; number]);
        Ok(page)
    }

    fn ids(&mut self, each: &mut dyn FnMut(i64)) -> Result<(), Infallible> {
        self.0.keys().for_each(|id| each(*id));
        Ok(())
    }
}

// `structure` is the structure record, and `pages` are leaves 1, 2, … of segment 1.
fuzz_target!(|parts: (Vec<u8>, Vec<Vec<u8>>)| {
    let (structure, pages) = parts;
    let mut data = Data(HashMap::from([(STRUCTURE_ID, structure)]));
    let _ = parse_averages(&data.0[&STRUCTURE_ID], 2);
    let _ = parse_docsize(1, &data.0[&STRUCTURE_ID], 2);
    for (number, page) in pages.iter().enumerate() {
        let _ = IndexPage::parse(0, page);
        if let Ok(leaf) = Leaf::parse(0, page) {
            let mut last = Vec::new();
            let _ = leaf.last_term(&mut last);
            assert!(leaf.first_term() != Ok(None) || last.is_empty());
            let _ = leaf.terms().count();
        }
        data.0.insert(1 << 37 | (number as i64 + 1), page.clone());
        data.0.insert(Tombstones::id(1, number as u32), page.clone());
    }
    for detail in [Detail::Full, Detail::Column, Detail::None] {
        let declared = Declared { detail, columns: 2, prefixes: 1, is_edited: false };
        let _ = check::<_, Infallible>(&mut data, &declared, &mut |_| Ok(()));
    }
    let Ok(found) = Structure::parse(&data.0[&STRUCTURE_ID]) else { return };
    assert_eq!(Structure::parse(&found.to_block()).as_ref(), Ok(&found));
    for (_, segment) in found.segments() {
        let _ = Tombstones::read(segment, &mut data);
        for detail in [Detail::Full, Detail::Column, Detail::None] {
            let mut reader = SegmentReader::new(segment, detail);
            while let Ok(Some(step)) = reader.step(&mut data) {
                if let Step::Row(row) = step {
                    Positions::new(detail, 0, row.positions).for_each(drop);
                }
            }
            let mut reader = SegmentReader::new(segment, detail);
            while let Ok(Some(_)) = reader.advance(&mut data) {
                assert!(reader.rows().doclist.entries(detail).all(|entry| entry.is_ok()));
            }
            // This reader skips the rows of every second term.
            let mut reader = SegmentReader::new(segment, detail);
            let mut terms = 0;
            while let Ok(Some(advanced)) = reader.advance(&mut data) {
                terms += usize::from(advanced == Advanced::Term);
                if terms % 2 == 1 {
                    reader.skip_rows();
                }
            }
        }
    }
});
