//! Index B-trees for tests: assembled from the crate's parts, and read from the pages.

use sqluice_format::cell;
use sqluice_format::chunk::Chunk;
use sqluice_format::database::{Header, SchemaEntry};
use sqluice_format::page::{Geometry, PageKind, write_header};
use sqluice_format::tree::{AppendPage, IndexTree};
use sqluice_format::varint;

use super::Pages;

impl Pages {
    /// Writes an index in chunks of `capacity` pages, and returns its root. If `cut` is true for the number of an entry, a chunk begins
    /// with this entry, unless the chunk before it would have fewer than two entries. All chunks are written with the same object.
    pub(crate) fn index(&mut self, entries: &[Vec<u8>], capacity: u32, cut: impl Fn(usize) -> bool) -> u32 {
        if entries.is_empty() {
            let mut leaf = vec![0; self.geometry.page_bytes()];
            write_header(&mut leaf, PageKind::LeafIndex, 0, self.geometry.usable_bytes());
            return self.append_page(&leaf);
        }
        let mut chunk = Chunk::new(self.geometry, capacity);
        let mut tree = IndexTree::new(self.geometry);
        let mut finished = 0;
        for (i, entry) in entries.iter().enumerate() {
            if chunk.rows() >= 2 && cut(i) || !chunk.push_entry(entry) {
                chunk.finish_entries(true);
                assert_eq!(chunk.dividers().len(), chunk.leaves().len());
                self.append_entries(&mut chunk, &mut tree);
                // A reused chunk must not keep earlier bytes.
                chunk.bytes_mut().fill(0xaa);
                chunk.clear();
                finished = 0;
                assert!(chunk.push_entry(entry), "an empty chunk takes any entry");
            }
            assert!(chunk.finished_pages() >= finished, "what is finished stays so");
            finished = chunk.finished_pages();
        }
        chunk.finish_entries(false);
        assert_eq!(chunk.dividers().len(), chunk.leaves().len() - 1);
        self.append_entries(&mut chunk, &mut tree);
        tree.finish(self)
    }

    /// Writes an index of the entries of a chunk and of `rest`, which go to a second chunk. Returns its root.
    pub(crate) fn index_of_chunk(&mut self, chunk: &mut Chunk, rest: &[Vec<u8>]) -> u32 {
        let mut tree = IndexTree::new(self.geometry);
        chunk.finish_entries(!rest.is_empty());
        self.append_entries(chunk, &mut tree);
        if !rest.is_empty() {
            chunk.clear();
            for entry in rest {
                assert!(chunk.push_entry(entry), "a chunk has room for two entries");
            }
            chunk.finish_entries(false);
            self.append_entries(chunk, &mut tree);
        }
        tree.finish(self)
    }

    /// Appends a finished chunk, and its leaves and dividers to `tree`.
    fn append_entries(&mut self, chunk: &mut Chunk, tree: &mut IndexTree) {
        let first = self.next();
        chunk.relocate(first);
        for page in chunk.bytes().chunks(self.geometry.page_bytes()) {
            self.append_page(page);
        }
        let dividers = chunk.dividers().map(Some).chain([None]);
        for (leaf, divider) in chunk.leaves().iter().zip(dividers) {
            let page = self.geometry.nth_page(first, leaf.page);
            tree.add(page, divider.map(|divider| divider.cell), self);
        }
    }
}

pub(crate) fn index_entry(name: &str, table: &str, root_page: u32, sql: &str) -> SchemaEntry {
    let (name, table, sql) = (name.to_owned(), table.to_owned(), Some(sql.to_owned()));
    SchemaEntry { kind: "index".to_owned(), name, table, root_page, sql }
}

/// Returns every entry of the index B-tree at `root`, read from the pages.
pub(crate) fn entries(bytes: &[u8], root: u32) -> Vec<Vec<u8>> {
    let mut entries = Vec::new();
    read_entries(bytes, Header::from_bytes(bytes).unwrap().geometry, root, &mut entries);
    entries
}

fn read_entries(bytes: &[u8], geometry: Geometry, number: u32, entries: &mut Vec<Vec<u8>>) {
    let page_at = |number: u32| &bytes[geometry.offset(number) as usize..][..geometry.usable_bytes()];
    let word = |page: &[u8], at: usize| u32::from_be_bytes(page[at..at + 4].try_into().unwrap());
    let page = page_at(number);
    let leaf = page[0] == 10;
    assert!(leaf || page[0] == 2, "page {number} is no page of an index");
    let count = usize::from(u16::from_be_bytes([page[3], page[4]]));
    let header = if leaf { 8 } else { 12 };
    for pointer in page[header..header + count * 2].chunks(2) {
        let mut cell = &page[usize::from(u16::from_be_bytes([pointer[0], pointer[1]]))..];
        if !leaf {
            read_entries(bytes, geometry, word(cell, 0), entries);
            cell = &cell[4..];
        }
        let (payload, n) = varint::read(cell).unwrap();
        let split = cell::index_split(payload as usize, geometry);
        let mut record = cell[n..][..split.local].to_vec();
        let mut next = if split.overflow_pages > 0 { word(cell, n + split.local) } else { 0 };
        while next != 0 {
            let left = payload as usize - record.len();
            let page = page_at(next);
            record.extend_from_slice(&page[4..][..left.min(page.len() - 4)]);
            next = word(page, 0);
        }
        assert_eq!(record.len(), payload as usize);
        entries.push(record);
    }
    if !leaf {
        read_entries(bytes, geometry, word(page, 8), entries);
    }
}
