//! The tables of a store, and the SQL statements on them.
//!
//! ```text
//!  CREATE TABLE sqluice_entity_type (name TEXT NOT NULL PRIMARY KEY, definition TEXT NOT NULL)
//!
//!    person   {"key":"text","fields":[{"name":"email","path":"$.email","unique":true}, ...]}
//!
//!  CREATE TABLE "person" (key TEXT NOT NULL, "email", "age", value TEXT NOT NULL)     keys of integers: key INTEGER PRIMARY KEY
//!
//!    'ann'   'ann@example.com'   41   {"id":"ann","email":"ann@example.com","age":41}
//!
//!  CREATE UNIQUE INDEX "person.key" ON "person" (key)                                 for keys of text
//!  CREATE UNIQUE INDEX "person.email" ON "person" ("email")
//!  CREATE INDEX "person.age" ON "person" ("age")
//! ```
//!
//! Fields have no declared type, so SQLite does not convert them. They precede the value, so that SQLite can read a field without reading
//! through a long value.
//!
//! The rows of a batch are passed as `sqluice_rows(?1)`: c1 is the key, c2 and so on are the fields, and the last column is the value.

use std::fmt::Write as _;

use sqluice_core::schema::quoted;

use super::define::{Definition, KeyKind};

/// The statement that creates the table of types.
pub(super) const CREATE_TYPES: &str =
    "CREATE TABLE sqluice_entity_type (name TEXT NOT NULL PRIMARY KEY, definition TEXT NOT NULL)";

pub(super) const HAS_TYPES: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'sqluice_entity_type')";
pub(super) const HAS_ANYTHING: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_schema)";
pub(super) const HAS_OBJECT: &str =
    "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE)";
pub(super) const DEFINITION: &str = "SELECT definition FROM sqluice_entity_type WHERE name = ?1";
pub(super) const DEFINE: &str = "REPLACE INTO sqluice_entity_type VALUES (?1, ?2)";

/// The name of a table while it is rebuilt.
const REBUILT: &str = "sqluice_rebuilt";

/// The SQL for the column and the index of a field.
#[derive(Debug)]
pub(super) struct FieldSql {
    /// The quoted name of the column.
    pub(super) column: String,
    pub(super) unique: bool,
    pub(super) create_index: String,
    pub(super) drop_index: String,
}

/// The SQL for the table of a type.
#[derive(Debug)]
pub(super) struct Sql {
    /// The quoted name of the table.
    pub(super) table: String,
    pub(super) fields: Vec<FieldSql>,
    kind: KeyKind,
    create_key: Option<String>,
    pub(super) is_empty: String,
    pub(super) insert: String,
    /// A query for the rows of a batch whose keys exist: the row's number, the rowid, a flag that is `true` if the stored JSON (`value`) is
    /// equal, and the stored fields. The JSON may be long, so it is read only if all fields are equal, apart from unique fields that were
    /// set to NULL ([`give_up_unique`](Self::give_up_unique)).
    pub(super) compare: String,
    pub(super) read: String,
    pub(super) read_many: String,
    pub(super) delete: String,
    pub(super) delete_many: String,
}

impl Sql {
    pub(super) fn new(name: &str, definition: &Definition) -> Sql {
        let table = quoted(name);
        let index_name = |part: &str| quoted(&format!("{name}.{part}"));
        let field = |field: &super::define::FieldDefinition| {
            let (index, column) = (index_name(&field.name), quoted(&field.name));
            let unique = if field.unique { "UNIQUE " } else { "" };
            FieldSql {
                create_index: format!("CREATE {unique}INDEX {index} ON {table} ({column})"),
                drop_index: format!("DROP INDEX {index}"),
                unique: field.unique,
                column,
            }
        };
        let fields: Vec<FieldSql> = definition.fields.iter().map(field).collect();
        let create_key = (definition.key == KeyKind::Text)
            .then(|| format!("CREATE UNIQUE INDEX {} ON {table} (key)", index_name("key")));
        let rows = "FROM sqluice_rows(?1) AS r";
        let by_key = format!("{rows} CROSS JOIN {table} AS t ON t.key = r.c1");
        let columns: String = fields.iter().map(|field| format!(", t.{}", field.column)).collect();
        let maybe_same = fields.iter().zip(2..).fold("true".to_owned(), |mut all, (field, number)| {
            let column = &field.column;
            // Writing to a string can't fail.
            let _ = match field.unique {
                true => write!(all, " AND (t.{column} IS r.c{number} OR t.{column} IS NULL)"),
                false => write!(all, " AND t.{column} IS r.c{number}"),
            };
            all
        });
        let last = fields.len() + 2;
        Sql {
            is_empty: format!("SELECT NOT EXISTS (SELECT 1 FROM {table})"),
            insert: insert(&table, fields.len()),
            compare: format!(
                "SELECT r.rowid, t.rowid, CASE WHEN {maybe_same} THEN t.value = r.c{last} ELSE false END{columns} {by_key}"
            ),
            read: format!("SELECT value FROM {table} WHERE key = ?1"),
            read_many: format!("SELECT r.rowid, t.value {by_key}"),
            delete: format!("DELETE FROM {table} WHERE key = ?1"),
            delete_many: format!("DELETE FROM {table} WHERE key IN (SELECT c1 {rows})"),
            kind: definition.key,
            table,
            fields,
            create_key,
        }
    }

    /// Returns SQL that creates the table and its indexes.
    pub(super) fn create(&self) -> String {
        self.create_table(&self.table) + ";" + &self.create_indexes()
    }

    fn create_table(&self, table: &str) -> String {
        let key = match self.kind {
            KeyKind::Integer => "INTEGER PRIMARY KEY",
            KeyKind::Text => "TEXT NOT NULL",
        };
        let columns: String = self.fields.iter().map(|field| format!("{}, ", field.column)).collect();
        format!("CREATE TABLE {table} (key {key}, {columns}value TEXT NOT NULL)")
    }

    /// Returns SQL that creates all indexes.
    pub(super) fn create_indexes(&self) -> String {
        let fields = self.fields.iter().map(|field| field.create_index.as_str());
        self.create_key.as_deref().into_iter().chain(fields).collect::<Vec<_>>().join(";")
    }

    /// Returns SQL that creates the table under a temporary name, for the rebuilt rows.
    pub(super) fn create_rebuilt(&self) -> String {
        self.create_table(REBUILT)
    }

    pub(super) fn insert_rebuilt(&self) -> String {
        insert(REBUILT, self.fields.len())
    }

    /// Returns SQL that selects the entities with rowids of ?1 and above, in the order of their rowids.
    pub(super) fn scan(&self) -> String {
        format!("SELECT rowid, key, value FROM {} WHERE rowid >= ?1 ORDER BY rowid", self.table)
    }

    /// Returns SQL that drops the old table and gives its name to the rebuilt table.
    pub(super) fn swap_rebuilt(&self) -> String {
        format!("DROP TABLE {0}; ALTER TABLE {REBUILT} RENAME TO {0}", self.table)
    }

    /// Returns SQL that counts the rows, but no further than ?1.
    pub(super) fn count_up_to(&self) -> String {
        format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT ?1)", self.table)
    }

    /// Returns SQL that changes the stored JSON and the given fields of a row: ?1 is the rowid, ?2 the JSON, and ?3 and so on are the
    /// fields.
    pub(super) fn update(&self, fields: &[usize]) -> String {
        let mut sql = format!("UPDATE OR FAIL {} SET value = ?2", self.table);
        for (field, parameter) in fields.iter().zip(3..) {
            let _ = write!(sql, ", {} = ?{parameter}", self.fields[*field].column);
        }
        sql + " WHERE rowid = ?1"
    }

    /// Returns the index of each unique field in the definition of the type, and the quoted column of the field.
    pub(super) fn unique(&self) -> impl Iterator<Item = (usize, &str)> {
        let unique = self.fields.iter().enumerate().filter(|(_, field)| field.unique);
        unique.map(|(number, field)| (number, field.column.as_str()))
    }

    /// Returns SQL that sets the unique fields of a batch's existing rows to NULL, or `None` if the type has no unique fields.
    pub(super) fn give_up_unique(&self) -> Option<String> {
        let set: Vec<String> = self.unique().map(|(_, column)| format!("{column} = NULL")).collect();
        let keys = "WHERE key IN (SELECT c1 FROM sqluice_rows(?1))";
        (!set.is_empty()).then(|| format!("UPDATE {} SET {} {keys}", self.table, set.join(", ")))
    }

    /// Returns SQL for two keys with the same value of a unique field. The first statement compares a batch with the table, the second
    /// one the rows of a batch with each other.
    pub(super) fn same_unique(&self, field: usize) -> [String; 2] {
        let (table, column, number) = (&self.table, &self.fields[field].column, field + 2);
        [
            format!(
                "SELECT t.key, r.c1, r.c{number} FROM sqluice_rows(?1) AS r CROSS JOIN {table} AS t \
                 ON t.{column} = r.c{number} WHERE t.key <> r.c1 LIMIT 1"
            ),
            format!(
                "SELECT min(c1), max(c1), c{number} FROM sqluice_rows(?1) WHERE c{number} IS NOT NULL \
                 GROUP BY c{number} HAVING count(*) > 1 LIMIT 1"
            ),
        ]
    }

    /// Returns SQL for two keys of the table with the same value of a unique field. The statement works without an index on the field.
    pub(super) fn same_unique_in_table(&self, field: usize) -> String {
        let (table, column) = (&self.table, &self.fields[field].column);
        format!(
            "SELECT min(key), max(key), {column} FROM {table} WHERE {column} IS NOT NULL \
             GROUP BY {column} HAVING count(*) > 1 LIMIT 1"
        )
    }
}

fn insert(table: &str, fields: usize) -> String {
    let columns: Vec<String> = (1..=fields + 2).map(|number| format!("c{number}")).collect();
    format!("INSERT OR FAIL INTO {table} SELECT {} FROM sqluice_rows(?1)", columns.join(", "))
}
