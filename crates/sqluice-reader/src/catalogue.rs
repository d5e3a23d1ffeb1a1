//! The objects of a database as stored in `sqlite_schema`, and the B-tree of each object
//! ([§2.6](https://www.sqlite.org/fileformat2.html#storage_of_the_sql_database_schema)).

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use sqluice_core::error::Result;
use sqluice_core::progress::{Cancel, Silent};
use sqluice_core::schema::index::key_order;
use sqluice_format::key::{KeyColumn, KeyOrder};
use sqluice_format::scan::{Cursor, Kind, Reader, Scan, Tree};

use crate::connection::unreadable;
use crate::pages::damaged;
use crate::snapshot::Snapshot;

/// The root page of `sqlite_schema`.
const SCHEMA_ROOT: u32 = 1;

/// The first schema format in which an index's DESC takes effect ([§1.3.8](https://www.sqlite.org/fileformat2.html#schema_format_number)).
const DESCENDING_FORMAT: u32 = 4;

/// The text encoding UTF-8 in the header.
const UTF_8: u32 = 1;

/// A row of `sqlite_schema`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredObject {
    /// The kind: `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The table that the object belongs to; the object's own name for tables and views.
    pub table: String,
    /// The statement that created the object; `None` for automatic indexes.
    pub sql: Option<String>,
    /// The stored row, in the encoding of the database.
    pub record: Vec<u8>,
    /// The B-tree of the object; `None` for views, triggers and virtual tables.
    pub tree: Option<StoredTree>,
}

/// The B-tree of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredTree {
    /// The root page of the tree.
    pub root_page: u32,
    /// The kind of entries: rows of a rowid table, or entries of an index or a WITHOUT ROWID table.
    pub kind: Kind,
    /// The order of the entries; `None` for rowid tables, and if the order is unknown.
    pub order: Option<KeyOrder>,
    /// The reason why the order of the entries is unknown; `None` if the order is known, and for rowid tables.
    pub unknown_order: Option<String>,
}

impl StoredObject {
    /// Returns the kind and name, for messages.
    pub fn describe(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

impl Snapshot {
    /// Returns the objects of the database, in the order of `sqlite_schema`.
    ///
    /// # Errors
    /// When `sqlite_schema` can't be read or is damaged, SQLite can't parse the statement of an object, or two objects have the same root
    /// page.
    pub fn objects(&self, cancel: &Cancel) -> Result<Vec<StoredObject>> {
        if self.page_count() == 0 {
            return Ok(Vec::new());
        }
        let mut records = self.schema_records(cancel)?;
        let read = || {
            let connection = self.connection();
            Ok((list(&connection)?, without_rowid(&connection)?))
        };
        let (listed, without_rowid) = read().map_err(|error| unreadable(self.name(), error))?;
        let mut roots: HashMap<u32, String> = HashMap::new();
        let mut objects = Vec::new();
        for Listed { rowid, kind, name, table, root_page, sql } in listed {
            let record = records.remove(&rowid);
            let record = record.ok_or_else(|| damaged(self.name(), "sqlite_schema has lost a row"))?;
            let mut object = StoredObject { kind, name, table, sql, record, tree: None };
            if root_page > 0 {
                let other = roots.insert(root_page, object.describe());
                if let Some(other) = other {
                    let what =
                        format!("{other} and {} have the same root page, {root_page}", object.describe());
                    return Err(damaged(self.name(), &what));
                }
                let is_clustered =
                    object.kind == "table" && without_rowid.contains(&object.name.to_ascii_lowercase());
                let tree = self.tree_of(&object, root_page, is_clustered);
                object.tree = Some(tree.map_err(|error| unreadable(self.name(), error))?);
            }
            objects.push(object);
        }
        Ok(objects)
    }

    /// Returns the stored rows of `sqlite_schema` by their rowids.
    fn schema_records(&self, cancel: &Cancel) -> Result<HashMap<i64, Vec<u8>>> {
        let view = self.view(&Silent, cancel);
        let mut pages = view.pages();
        let tree = self.tree(SCHEMA_ROOT, Kind::Table);
        let scan = Scan::new(&mut pages, tree).map_err(|error| view.failed(error))?;
        let mut records = HashMap::new();
        for part in 0..scan.parts() {
            let each = |rowid, record: &[u8]| -> Result<()> {
                records.insert(rowid, record.to_vec());
                Ok(())
            };
            scan.read(part, &mut pages, &mut Reader::default(), each).map_err(|error| view.failed(error))?;
        }
        Ok(records)
    }

    /// Returns the smallest and the largest rowid of a table, or 0 and 0 for an index. Returns `None` if the tree is empty.
    ///
    /// # Errors
    /// When the first or last pages of the tree can't be read or are damaged.
    pub fn rowid_range(&self, tree: &StoredTree, cancel: &Cancel) -> Result<Option<(i64, i64)>> {
        let view = self.view(&Silent, cancel);
        let mut pages = view.pages();
        let mut cursor = Cursor::new(self.tree(tree.root_page, tree.kind));
        let has_some = cursor.seek(&mut pages, |_, _| false).map_err(|error| view.failed(error))?;
        let first = cursor.rowid();
        cursor.last(&mut pages).map_err(|error| view.failed(error))?;
        Ok(has_some.then(|| (first, cursor.rowid())))
    }

    /// Returns the names of all shadow tables, the tables in which virtual tables keep their content, in lower case.
    ///
    /// # Errors
    /// When SQLite can't list them.
    pub fn shadow_tables(&self) -> Result<HashSet<String>> {
        let list = || -> rusqlite::Result<HashSet<String>> {
            let connection = self.connection();
            let sql = "SELECT lower(name) FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'";
            let mut statement = connection.prepare(sql)?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        list().map_err(|error| unreadable(self.name(), error))
    }

    /// Returns the root page of the table with exactly this name in `sqlite_schema`, or `None` if it has no root page.
    pub(crate) fn root_of_table(&self, name: &str) -> rusqlite::Result<Option<u32>> {
        // The list is read once: for a single table, SQLite would walk the whole schema each time.
        if let Some(roots) = self.roots.get() {
            return Ok(roots.get(name).copied());
        }
        let roots = {
            let connection = self.connection();
            let sql = "SELECT name, rootpage FROM main.sqlite_schema WHERE type = 'table' AND rootpage BETWEEN 1 AND 4294967295";
            let mut statement = connection.prepare(sql)?;
            let roots = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            roots.collect::<rusqlite::Result<HashMap<String, u32>>>()?
        };
        Ok(self.roots.get_or_init(|| roots).get(name).copied())
    }

    /// Returns the largest rowid that each AUTOINCREMENT table has assigned, by the name of the table in lower case.
    ///
    /// # Errors
    /// When SQLite can't read `sqlite_sequence`.
    pub fn sequences(&self) -> Result<HashMap<String, i64>> {
        let read = || -> rusqlite::Result<HashMap<String, i64>> {
            let connection = self.connection();
            let mut has =
                connection.prepare("SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_sequence'")?;
            if !has.exists([])? {
                return Ok(HashMap::new());
            }
            let sql = "SELECT lower(name), max(seq) FROM main.sqlite_sequence
                       WHERE typeof(name) = 'text' AND typeof(seq) = 'integer' GROUP BY lower(name)";
            let mut statement = connection.prepare(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        read().map_err(|error| unreadable(self.name(), error))
    }

    /// Returns the tree with this root page.
    pub fn tree(&self, root_page: u32, kind: Kind) -> Tree {
        Tree { root_page, kind, geometry: self.geometry(), page_count: self.page_count() }
    }

    /// Returns the tree of an object. `is_clustered` is `true` for a WITHOUT ROWID table.
    fn tree_of(
        &self,
        object: &StoredObject,
        root_page: u32,
        is_clustered: bool,
    ) -> rusqlite::Result<StoredTree> {
        let connection = self.connection();
        let mut tree = StoredTree { root_page, kind: Kind::Table, order: None, unknown_order: None };
        let columns = match &*object.kind {
            "index" => columns(&connection, &object.name)?,
            _ if is_clustered => {
                // The key makes rows unique; the columns after the key are not sorted.
                let mut columns = clustered(&connection, &object.name)?;
                columns.retain(|column| column.is_key);
                columns
            }
            _ => return Ok(tree),
        };
        tree.kind = Kind::Index;
        let descends = self.header().schema_format >= DESCENDING_FORMAT;
        let collations = columns.iter().map(|column| (&*column.collation, column.descending && descends));
        match key_order(collations) {
            _ if columns.is_empty() => tree.unknown_order = Some("its columns are not known".to_owned()),
            Some(order) if self.header().used_text_encoding() == UTF_8 || is_binary(&order) => {
                tree.order = Some(order);
            }
            Some(_) => {
                tree.unknown_order = Some("NOCASE and RTRIM of UTF-16 are known to SQLite alone".to_owned())
            }
            None => {
                let known = |column: &&Column| key_order([(&*column.collation, false)].into_iter()).is_none();
                let unknown = columns.iter().find(known).map_or("", |column| &column.collation);
                tree.unknown_order = Some(format!("collation {unknown} is known to its application alone"));
            }
        }
        Ok(tree)
    }
}

fn is_binary(order: &KeyOrder) -> bool {
    let binary = KeyColumn::default().collation;
    order.columns().iter().all(|column| column.collation == binary)
}

/// A row of `sqlite_schema`, as SQLite reads it.
struct Listed {
    rowid: i64,
    kind: String,
    name: String,
    table: String,
    root_page: u32,
    sql: Option<String>,
}

fn list(connection: &Connection) -> rusqlite::Result<Vec<Listed>> {
    let sql = "SELECT rowid, type, name, tbl_name, coalesce(rootpage, 0), sql FROM main.sqlite_schema ORDER BY rowid";
    let mut statement = connection.prepare(sql)?;
    let listed = statement.query_map([], |row| {
        Ok(Listed {
            rowid: row.get(0)?,
            kind: row.get(1)?,
            name: row.get(2)?,
            table: row.get(3)?,
            root_page: row.get(4)?,
            sql: row.get(5)?,
        })
    })?;
    listed.collect()
}

/// The properties of a column of an index or a WITHOUT ROWID table that determine the order of the entries.
struct Column {
    collation: String,
    descending: bool,
    is_key: bool,
}

fn columns(connection: &Connection, index: &str) -> rusqlite::Result<Vec<Column>> {
    let mut statement = connection
        .prepare_cached("SELECT coll, \"desc\", key FROM pragma_index_xinfo(?1, 'main') ORDER BY seqno")?;
    let columns = statement.query_map([index], |row| {
        Ok(Column { collation: row.get(0)?, descending: row.get(1)?, is_key: row.get(2)? })
    })?;
    columns.collect()
}

/// Returns the names of all WITHOUT ROWID tables, in lower case. One query reads the list of all tables: a query for a single table would
/// make SQLite walk the whole list, too.
fn without_rowid(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let sql = "SELECT lower(name) FROM pragma_table_list WHERE schema = 'main' AND wr";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Returns the columns of a WITHOUT ROWID table.
fn clustered(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM pragma_index_list(?1, 'main') WHERE origin = 'pk'")?;
    let key = statement.query_map([table], |row| row.get::<_, String>(0))?.next().transpose()?;
    key.map_or(Ok(Vec::new()), |key| columns(connection, &key))
}
