//! Reads the schema table, and checks the B-trees that it names
//! ([§2.6](https://www.sqlite.org/fileformat2.html#storage_of_the_sql_database_schema)).

use std::collections::HashMap;

use super::checker::Checker;
use super::claims::Use;
use super::content::{Content, Keep, Walk};
use super::done::Done;
use super::done::PageInTree;
use super::{ReadPage, Tree, TreeKind};
use crate::page::PageKind;
use crate::record;
use crate::value::{Class, SerialType};
use crate::varint;

/// The maximum number of bytes that are read of a schema row: names come first, and statements are rarely that long.
const ROW_BYTES_MAX: usize = 1 << 20;

/// The columns of a schema row that matter for the check.
#[derive(Debug)]
pub(super) struct Row {
    kind: String,
    name: String,
    table: String,
    /// The root page; 0 for a row without a B-tree.
    pub(super) root_page: i64,
    /// The statement in lower case; `None` if the object has none.
    sql: Option<String>,
    /// `true` if the entire row was read.
    sql_whole: bool,
}

impl Row {
    fn says(&self, word: &str) -> bool {
        !self.sql_whole || self.sql.as_ref().is_some_and(|sql| sql.contains(word))
    }

    /// Returns the fault of the row, if any.
    fn fault(&self) -> Option<String> {
        let (kind, name) = (&self.kind, &self.name);
        let has_root = match kind.as_str() {
            "table" => !self.sql.as_ref().is_some_and(|sql| sql.starts_with("create virtual")),
            "index" => true,
            "view" | "trigger" => false,
            _ => return Some(format!("the schema has a {kind} {name}: no such kind exists")),
        };
        if self.sql.is_none() && kind != "index" {
            return Some(format!("{kind} {name} has no statement"));
        }
        let root = self.root_page;
        match has_root {
            // Page 1 is the root of the schema table.
            true if !(2..=i64::from(u32::MAX)).contains(&root) => {
                Some(format!("{kind} {name} can't have root page {root}"))
            }
            true => None,
            false => (root != 0).then(|| format!("{kind} {name} has root page {root}, not 0")),
        }
    }
}

impl<P: ReadPage> Checker<'_, '_, P> {
    /// Reads the schema table.
    pub(super) fn schema_table(&mut self) -> Result<Vec<Row>, P::Error> {
        let name = || "sqlite_schema".to_owned();
        self.begin_tree(Tree::new(TreeKind::Table, name(), name(), 1));
        let encoding = self.common.header.used_text_encoding();
        let mut rows = Vec::new();
        let mut wrong = 0;
        let mut take = |bytes: &[u8], payload: u64| match decode(bytes, payload, encoding) {
            Some(row) => rows.push(row),
            None => wrong += 1,
        };
        let mut keep = Keep { bytes_max: ROW_BYTES_MAX, take: &mut take };
        self.claim(1, Use::Root, 0)?;
        let depth = self.subtree(&mut Walk::new(true, Content::Schema(&mut keep)), PageInTree::root(1))?;
        self.tree().depth = depth.unwrap_or(0);
        if wrong > 0 {
            let rows = if wrong == 1 { "row does" } else { "rows do" };
            let what =
                format!("{wrong} {rows} not have valid values of type, name, tbl_name, rootpage and sql");
            self.problem(None, what);
        }
        for row in &rows {
            if let Some(what) = row.fault() {
                self.problem(None, what);
            }
        }
        Ok(rows)
    }

    /// Returns the B-tree of a schema row, if the row has one.
    pub(super) fn tree_of(&self, row: &Row) -> Option<Tree> {
        let kind = match row.kind.as_str() {
            "table" => TreeKind::Table,
            "index" => TreeKind::Index,
            _ => return None,
        };
        let root_page = u32::try_from(row.root_page).ok().filter(|&root| root > 1)?;
        Some(Tree::new(kind, row.name.clone(), row.table.clone(), root_page))
    }

    /// Checks the current tree, apart from the parts that are `done`. The tree belongs to `row` and its root is claimed.
    pub(super) fn walk(&mut self, row: &Row, done: Option<&HashMap<u32, Done>>) -> Result<(), P::Error> {
        let root = self.tree().root_page;
        let found = PageKind::from_byte(self.read(root)?[0]);
        let index = matches!(found, Some(PageKind::InteriorIndex | PageKind::LeafIndex));
        if index && self.tree().kind == TreeKind::Table {
            self.tree().kind = TreeKind::WithoutRowid;
            if !row.says("without") {
                self.problem(Some(root), "a table with rowids has its rows in an index".to_owned());
            }
        }
        let common = self.common;
        let table = self.tree().kind == TreeKind::Table;
        if table && common.table(&self.tree().name).is_some_and(|table| table.key.is_some()) {
            self.problem(Some(root), "a table without rowids has its rows in a table".to_owned());
        }
        let mut walk = Walk::new(table, Content::of(self.tree(), common));
        walk.parts = done;
        walk.edges = common.options.only.is_some_and(|only| only.edges);
        self.tree().depth = self.subtree(&mut walk, PageInTree::root(root))?.unwrap_or(0);
        walk.compute();
        if let Some(current) = self.current {
            self.details[current].sums = walk.sums;
        }
        Ok(())
    }

    /// Checks that each index belongs to a table, and that an index without a WHERE has as many entries as its table has rows.
    pub(super) fn compare_counts(&mut self, rows: &[Row]) {
        // Tables and indexes share one namespace.
        let counts: HashMap<String, u64> =
            self.report.trees[1..].iter().map(|tree| (tree.name.to_lowercase(), tree.rows)).collect();
        for row in rows.iter().filter(|row| row.kind == "index") {
            let whole = row.sql.is_none() || !row.says("where");
            let name = &row.name;
            match (counts.get(&name.to_lowercase()), counts.get(&row.table.to_lowercase())) {
                (Some(entries), Some(rows)) if whole && entries != rows => {
                    self.problem(None, format!("index {name} has {entries} entries for {rows} rows"));
                }
                (_, None) => {
                    self.problem(None, format!("index {name} is of {}, which is not a table", row.table))
                }
                _ => {}
            }
        }
    }
}

/// Decodes a schema row from the first bytes of its record, which is well-formed and has `payload` bytes. Returns `None` if the record does
/// not have the five columns, a value has the wrong class, or the bytes end before the end of the root page.
fn decode(bytes: &[u8], payload: u64, encoding: u32) -> Option<Row> {
    let (header_bytes, mut at) = varint::read(bytes)?;
    let mut body = bytes.get(usize::try_from(header_bytes).ok()?..)?;
    let mut column = || {
        let (serial, n) = varint::read(bytes.get(at..header_bytes as usize)?)?;
        at += n;
        let serial = SerialType(serial);
        let (content, rest) = body.split_at(body.len().min(serial.content_bytes()? as usize));
        body = rest;
        Some((serial, content))
    };
    let columns = [column()?, column()?, column()?, column()?, column()?];
    if column().is_some() {
        return None;
    }
    let text = |(serial, content): (SerialType, &[u8])| {
        (serial.class() == Some(Class::Text)).then(|| text(content, encoding))
    };
    let (root, root_bytes) = columns[3];
    let root_page = match (root.class()?, root.0) {
        (Class::Null, _) => 0,
        (Class::Int, 8 | 9) => root.0 as i64 - 8,
        // The integer is complete unless names of a megabyte precede it.
        (Class::Int, _) if Some(root_bytes.len() as u64) == root.content_bytes() => record::int(root_bytes),
        _ => return None,
    };
    let sql = match columns[4].0.class()? {
        Class::Null => None,
        _ => Some(text(columns[4])?.to_lowercase()),
    };
    Some(Row {
        kind: text(columns[0])?,
        name: text(columns[1])?,
        table: text(columns[2])?,
        root_page,
        sql,
        sql_whole: bytes.len() as u64 == payload,
    })
}

/// Decodes text in the encoding of the database.
fn text(bytes: &[u8], encoding: u32) -> String {
    let units = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match encoding {
        2 => units(|[low, high]| u16::from_be_bytes([high, low])),
        3 => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn a_row_of_the_schema_table_that_is_cut_off_within_its_statement_is_read() {
        let mut record = Vec::new();
        let (name, sql) = (Value::Text(b"t"), Value::Text(b"CREATE TABLE t (a)"));
        record::encode(&[Value::Text(b"table"), name, name, Value::Int(70_000), sql], &mut record);
        let payload = record.len() as u64;
        let whole = decode(&record, payload, 1).unwrap();
        assert!(whole.sql_whole && whole.root_page == 70_000 && !whole.says("where") && whole.says("(a)"));
        let cut = decode(&record[..record.len() - 1], payload, 1).unwrap();
        assert_eq!(cut.sql.as_deref(), Some("create table t (a"));
        // The unread rest may contain any word, so `says` returns true.
        assert!(!cut.sql_whole && cut.says("where"));
        // A row that is cut off within the root page can't be read.
        let root_end = record.len() - "CREATE TABLE t (a)".len();
        assert!(decode(&record[..root_end], payload, 1).is_some());
        assert!(decode(&record[..root_end - 1], payload, 1).is_none());
        assert!(decode(&record[..root_end - 3], payload, 1).is_none());
    }
}
