//! The rows of `sqlite_schema` in a damaged file.

use std::collections::BTreeSet;

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_format::page::PageKind;
use sqluice_format::record;
use sqluice_format::salvage::{Salvage, Types};
use sqluice_format::value::Value;

use super::chains::Chains;
use super::file::DamagedFile;
use super::finding::has_pointer_map;
use super::freelist::Freelist;
use super::owners::{Owners, Root, is_special};
use super::rows::PageRows;
use super::survey::PageFacts;

/// A row of `sqlite_schema`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRow {
    /// The kind: `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The table that the object belongs to.
    pub table: String,
    /// The root page; 0 for NULL, and the largest number for a value that no page can have.
    pub root: u32,
    /// The statement.
    pub sql: Option<String>,
}

/// The schema of a damaged file.
#[derive(Clone, Debug, Default)]
pub struct FoundSchema {
    /// The rows, in the order of their rowids.
    pub rows: Vec<SchemaRow>,
    /// `true` if no row is lost.
    pub is_whole: bool,
    /// The pages of the tree.
    pub pages: BTreeSet<u32>,
}

/// Returns the text of a value in this encoding; `None` if the value is no valid text.
pub fn text_of(value: Value<'_>, encoding: u32) -> Option<String> {
    let Value::Text(bytes) = value else { return None };
    let units = |unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty())
    };
    match encoding {
        2 => units(u16::from_le_bytes),
        3 => units(u16::from_be_bytes),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}

/// Reads the schema: the tree at page 1 and, if the tree is damaged, other leaves that have only rows of a schema.
///
/// # Errors
/// When the file can't be read.
pub fn read_schema(file: &DamagedFile, facts: &[PageFacts], cancel: &Cancel) -> Result<FoundSchema> {
    let map = has_pointer_map(file, facts);
    let owners = Owners::find(file, facts, &[Root { page: 1, is_index: false, order: None }], map, cancel)?;
    let geometry = file.geometry();
    let freelist = Freelist::read(file)?;
    let owned: Vec<u32> = (1..=facts.len() as u32).filter(|page| owners.of(*page).is_some()).collect();
    let is_whole = owners.lost.is_empty() && owned.iter().all(|page| facts[*page as usize - 1].is_whole);
    let mut pages = owned.clone();
    if !is_whole {
        let is_other = |page: &u32| {
            let about = &facts[*page as usize - 1];
            about.kind == Some(PageKind::LeafTable)
                && owners.of(*page).is_none()
                && !(freelist.is_whole && freelist.has(*page))
        };
        pages.extend((1..=facts.len() as u32).filter(is_other));
    }
    let chains = Chains::new(file.page_count());
    let (mut salvage, mut types) = (Salvage::default(), Types::new());
    let mut bytes = vec![0; geometry.page_bytes()];
    let mut reader = PageRows::default();
    let mut found = FoundSchema { is_whole, ..FoundSchema::default() };
    let (mut rows, mut names) = (Vec::new(), BTreeSet::new());
    for (at, &page) in pages.iter().enumerate() {
        cancel.check()?;
        let is_owned = at < owned.len();
        if facts[page as usize - 1].kind != Some(PageKind::LeafTable) {
            found.pages.insert(page);
            continue;
        }
        file.read(page, &mut bytes)?;
        salvage.read(&bytes, page, geometry, &mut types);
        for entry in salvage.entries.iter().filter(|entry| entry.cell.overflow.is_some()) {
            if !is_owned && entry.cell.payload_bytes > 1_000_000 {
                continue;
            }
            let may_have = |page: u32| owners.of(page).is_none() && !is_special(page, geometry, map);
            chains.claim(file, (page, entry.number, &entry.cell), may_have)?;
        }
        let mut of_page = Vec::new();
        let lost = reader.read_from(file, &chains, (page, &bytes), |row| {
            of_page.push((row.rowid, schema_row(row.record, file.encoding)));
            Ok(())
        })?;
        found.is_whole &= lost == 0;
        // A leaf of another table may have no row that was read here: its payloads may be too large.
        if !is_owned && (of_page.is_empty() || of_page.iter().any(|(_, row)| row.is_none())) {
            continue;
        }
        found.pages.insert(page);
        for (rowid, row) in of_page {
            let Some(row) = row else {
                found.is_whole = false;
                continue;
            };
            if names.insert((row.kind == "trigger", row.name.to_ascii_lowercase())) {
                rows.push((rowid, row));
            }
        }
    }
    rows.sort_by_key(|(rowid, _)| *rowid);
    found.rows = rows.into_iter().map(|(_, row)| row).collect();
    Ok(found)
}

/// Returns the row of a record, if it is one of a schema.
fn schema_row(record: &[u8], encoding: u32) -> Option<SchemaRow> {
    let values = record::decode(record).ok()?;
    let &[kind, name, table, root, sql] = &values[..] else { return None };
    let kind = text_of(kind, encoding)?;
    let root = match root {
        Value::Int(root) => u32::try_from(root).unwrap_or(u32::MAX),
        Value::Null => 0,
        _ => return None,
    };
    let sql = match sql {
        Value::Null => None,
        sql => Some(text_of(sql, encoding)?),
    };
    let is_one = ["table", "index", "view", "trigger"].contains(&&*kind)
        && match &sql {
            Some(sql) => sql.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("CREATE")),
            None => kind == "index",
        };
    let row = SchemaRow { kind, name: text_of(name, encoding)?, table: text_of(table, encoding)?, root, sql };
    is_one.then_some(row)
}
