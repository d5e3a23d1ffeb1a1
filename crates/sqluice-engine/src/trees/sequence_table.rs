//! Writes `sqlite_sequence`, the table in which SQLite keeps the largest rowid of each AUTOINCREMENT table
//! ([§2.6.2](https://www.sqlite.org/fileformat2.html#the_sqlite_sequence_table)).

use sqluice_core::error::Result;
use sqluice_format::chunk::Chunk;
use sqluice_format::page::PageKind;
use sqluice_format::record;
use sqluice_format::tree::{Child, TableTree};
use sqluice_format::value::Value;

use super::WrittenTree;
use super::writer::page_numbers::{Appender, append_empty_leaf};

/// The name of the table in the schema.
pub(crate) const NAME: &str = "sqlite_sequence";

/// The number of pages of `sqlite_sequence` that are built at a time.
const CHUNK_PAGES: u32 = 8;

/// Writes the table `sqlite_sequence`. Each of `rows` is the name of an AUTOINCREMENT table and its largest rowid.
pub(crate) fn write(rows: &[(String, i64)], appender: &mut Appender) -> Result<WrittenTree> {
    let geometry = appender.geometry();
    let mut made = WrittenTree { entries: rows.len() as u64, ..WrittenTree::default() };
    if rows.is_empty() {
        (made.root_page, made.leaf_pages) = (append_empty_leaf(PageKind::LeafTable, appender), 1);
        return Ok(made);
    }
    let mut chunk = Chunk::new(geometry, CHUNK_PAGES);
    let mut tree = TableTree::new(geometry);
    for (rowid, (name, number)) in (1..).zip(rows) {
        let mut record = Vec::new();
        record::encode(&[Value::Text(name.as_bytes()), Value::Int(*number)], &mut record);
        if !chunk.push(rowid, &record) {
            let full = std::mem::replace(&mut chunk, Chunk::new(geometry, CHUNK_PAGES));
            made.leaf_pages += append_leaves(full, &mut tree, appender)?;
            chunk.push(rowid, &record);
        }
    }
    made.leaf_pages += append_leaves(chunk, &mut tree, appender)?;
    made.root_page = tree.finish(appender);
    Ok(made)
}

/// Appends the leaves and overflow pages of a chunk, and adds the leaves to the tree. Returns the number of leaves.
fn append_leaves(mut chunk: Chunk, tree: &mut TableTree, pages: &mut Appender) -> Result<u64> {
    chunk.finish();
    let leaves = chunk.leaves().to_vec();
    let first = pages.append_whole(chunk)?;
    for leaf in &leaves {
        let page = pages.geometry().nth_page(first, leaf.page);
        tree.add_leaf(Child { page, last_rowid: leaf.last_rowid }, pages);
    }
    Ok(leaves.len() as u64)
}
