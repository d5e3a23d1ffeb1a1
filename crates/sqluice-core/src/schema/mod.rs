//! The schema of a database or of a file of DDL: tables, columns, indexes and other objects, as SQLite understands them.
//!
//! SQLite parses the SQL: the statements run in an in-memory database, and the schema is read back with SQLite's PRAGMAs. So all DDL that
//! SQLite accepts is understood. Details that no PRAGMA shows, such as CHECKs, come from the tokens of the statements ([`token`]).

pub mod declaration;
pub mod index;
pub mod token;
pub mod virtual_table;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::affinity::Affinity;
use crate::error::{Error, Place, Result};
use crate::given::Value;
use index::{Index, IndexOrigin, Indexed, StoredIndexes};
use token::Token;

/// The declarations of a file of DDL.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Schema {
    /// The file, as the user named it, for messages.
    pub file: PathBuf,
    /// The whole text of the file.
    pub sql: String,
    /// The tables, in the order of `sqlite_schema`. Virtual tables that a caller fills with rows may follow them; these are in `others`,
    /// too.
    pub tables: Vec<Table>,
    /// The other objects: views, triggers, all virtual tables, in the order of `sqlite_schema`.
    pub others: Vec<Object>,
    /// The kinds and names of all objects, in the order of `sqlite_schema`, without the shadow tables that `tables` lacks.
    pub objects: Vec<(String, String)>,
    /// `PRAGMA user_version`.
    pub user_version: i32,
    /// `PRAGMA application_id`.
    pub application_id: i32,
    /// The positions of tables by their names.
    places: Places,
}

/// The positions of tables by their names in lower case, as of the last lookup.
#[derive(Debug, Default)]
struct Places(Mutex<Known>);

/// The positions of tables, and the address, length, first and last name of their list: if these have changed, the positions are stale.
#[derive(Debug, Default)]
struct Known {
    list: (usize, usize, Option<[String; 2]>),
    places: HashMap<String, usize>,
}

impl Clone for Places {
    /// Returns an empty map: the list of the clone has another address.
    fn clone(&self) -> Places {
        Places::default()
    }
}

impl Known {
    fn is_of(&self, tables: &[Table]) -> bool {
        let (at, len, ends) = &self.list;
        let own = ends.as_ref().map(|ends| ends.each_ref().map(String::as_str));
        (*at, *len) == (tables.as_ptr().addr(), tables.len()) && own == ends_of(tables)
    }
}

/// Returns the names of the first and the last table; `None` for an empty list.
fn ends_of(tables: &[Table]) -> Option<[&str; 2]> {
    Some([&tables.first()?.name, &tables.last()?.name])
}

impl Places {
    /// Returns the position of the first table with the given name; `None` if no table has the name.
    fn of(&self, name: &str, tables: &[Table]) -> Option<usize> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |known: &Known| known.places.get(&name.to_ascii_lowercase()).copied();
        if known.is_of(tables) {
            let place = find(&known);
            if place.is_none_or(|place| tables[place].name.eq_ignore_ascii_case(name)) {
                return place;
            }
        }
        let ends = ends_of(tables).map(|ends| ends.map(str::to_owned));
        known.list = (tables.as_ptr().addr(), tables.len(), ends);
        known.places.clear();
        for (place, table) in tables.iter().enumerate() {
            known.places.entry(table.name.to_ascii_lowercase()).or_insert(place);
        }
        find(&known)
    }
}

/// A table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// The name of the table.
    pub name: String,
    /// The CREATE TABLE statement, as `sqlite_schema` keeps it.
    pub sql: String,
    /// The columns, including generated ones.
    pub columns: Vec<Column>,
    /// The index of the column that is an alias of the rowid; `None` if the table has no such column.
    pub rowid_alias: Option<usize>,
    /// `true` if the table is declared STRICT.
    pub strict: bool,
    /// `true` if the table is declared WITHOUT ROWID.
    pub without_rowid: bool,
    /// `true` if the table is declared AUTOINCREMENT.
    pub autoincrement: bool,
    /// The largest rowid that the rows of an AUTOINCREMENT table have ever had, if it is not known from the rows alone but, for example,
    /// from a sequence of a dump.
    pub largest_given: Option<i64>,
    /// `true` if the table has a CHECK constraint.
    pub checks: bool,
    /// `true` if the table has a FOREIGN KEY.
    pub foreign_keys: bool,
    /// The FOREIGN KEYs, in the order of their declarations.
    pub references: Vec<Reference>,
    /// The indexes, including automatic ones, in the order of `sqlite_schema`.
    pub indexes: Vec<Index>,
    /// The index whose entries are the rows of a WITHOUT ROWID table; `None` for a table with rowids.
    pub clustered: Option<Index>,
    /// `true` if the table is a virtual table. Its module stores the rows, so SQLite inserts them, and the table has no B-tree of its own.
    pub is_virtual: bool,
}

/// A column.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Column {
    /// The name of the column.
    pub name: String,
    /// The declared type; may be empty.
    pub declared_type: String,
    /// The affinity of the declared type; BLOB for ANY in a STRICT table.
    pub affinity: Affinity,
    /// `true` if the column is declared NOT NULL.
    pub not_null: bool,
    /// The text of the DEFAULT; `None` without one.
    pub default: Option<String>,
    /// The kind of a generated column, which takes no values; `None` for a column that is not generated.
    pub generated: Option<Generated>,
}

impl Column {
    /// Creates a nullable column with the given name and declared type.
    pub fn new(name: impl Into<String>, declared_type: impl Into<String>) -> Column {
        let declared_type = declared_type.into();
        Column {
            name: name.into(),
            affinity: Affinity::of_declared_type(&declared_type),
            declared_type,
            not_null: false,
            default: None,
            generated: None,
        }
    }
}

/// A FOREIGN KEY.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reference {
    /// The indexes of the columns in [`Table::columns`].
    pub columns: Vec<usize>,
    /// The referenced table, as written. It need not exist.
    pub parent: String,
    /// The columns of the parent; empty if the key refers to its PRIMARY KEY.
    pub parent_columns: Vec<String>,
}

/// The time at which a generated column is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// The column is computed when a row is read: the record has no value for the column.
    Virtual,
    /// The column is computed when a row is written: the record has the value.
    Stored,
}

/// A schema object without rows of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// `view`, `trigger` or `table` (a virtual one).
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The table of a trigger. Any other object has its own name here.
    pub table: String,
    /// The statement; `None` if SQLite stores none.
    pub sql: Option<String>,
}

impl Schema {
    /// Reads a schema file.
    ///
    /// # Errors
    /// If the file can't be read, is no SQL that SQLite accepts, or does more than declare.
    pub fn read(file: &Path) -> Result<Schema> {
        let bytes = std::fs::read(file).map_err(|e| Error::read(file, e))?;
        let sql = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let valid = String::from_utf8_lossy(&e.as_bytes()[..at]).into_owned();
            Error::input("a schema file must be UTF-8, and this byte is not")
                .at(Place::in_text(file, &valid, at))
        })?;
        Schema::parse(sql, file)
    }

    /// Reads the schema that a user gives: the path of a file, or statements, which messages call `name`.
    ///
    /// # Errors
    /// As [`Schema::read`].
    pub fn given(value: &Value, name: &str) -> Result<Schema> {
        match value {
            Value::Path(file) => Schema::read(file),
            statements => Schema::parse(statements.to::<String>()?, Path::new(name)),
        }
    }

    /// Parses DDL, which messages call `file`.
    ///
    /// # Errors
    /// If the text is no SQL that SQLite accepts, or does more than declare.
    pub fn parse(sql: impl Into<String>, file: &Path) -> Result<Schema> {
        let sql = sql.into();
        let (mut connection, denied) = guarded().map_err(catalogue)?;
        let executed = connection.execute_batch(&sql);
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(catalogue)?;
        if let Err(error) = executed {
            let denied = denied.lock().expect("nothing panics under this lock").take();
            return Err(explain(&sql, file, error, denied));
        }
        let schema = Schema::from_catalogue(&connection, sql, file).map_err(catalogue)?;
        // The authorizer does not see that CREATE TABLE AS inserts rows, so the tables are searched for rows.
        let text = &schema.sql;
        let may_fill = token::tokens(text).iter().any(|token| token.is_word(text, "AS"));
        for table in schema.tables.iter().filter(|_| may_fill) {
            let any = format!("SELECT EXISTS (SELECT 1 FROM {})", quoted(&table.name));
            if connection.query_row(&any, [], |row| row.get(0)).map_err(catalogue)? {
                let message = format!(
                    "a schema file may only have declarations, but this one puts rows into {}",
                    table.name
                );
                return Err(Error::input(message)
                    .at(schema.place_of_table(&table.name))
                    .hint("write CREATE TABLE with columns, not with AS SELECT"));
            }
        }
        Ok(schema)
    }

    #[doc(hidden)]
    /// Reads the schema of a connection's database. `sql` and `file` are for messages.
    pub fn from_catalogue(connection: &Connection, sql: String, file: &Path) -> rusqlite::Result<Schema> {
        Schema::of_catalogue(connection, sql, file, false)
    }

    #[doc(hidden)]
    /// Reads the schema of a connection's database with all tables that have rows of their own: also the shadow tables of virtual tables,
    /// and SQLite's own tables except for `sqlite_schema`. `file` is for messages.
    pub fn with_all_tables(connection: &Connection, file: &Path) -> rusqlite::Result<Schema> {
        Schema::of_catalogue(connection, String::new(), file, true)
    }

    fn of_catalogue(
        connection: &Connection,
        sql: String,
        file: &Path,
        all_tables: bool,
    ) -> rusqlite::Result<Schema> {
        let mut schema = Schema {
            file: file.to_owned(),
            sql,
            tables: Vec::new(),
            others: Vec::new(),
            objects: Vec::new(),
            user_version: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
            application_id: connection.query_row("PRAGMA application_id", [], |row| row.get(0))?,
            places: Places::default(),
        };
        let mut objects =
            connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")?;
        let objects = objects.query_map([], |row| {
            Ok(Object { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? })
        })?;
        let objects = objects.collect::<rusqlite::Result<Vec<Object>>>()?;
        let indexes = StoredIndexes::new(&objects);
        let listed = Listed::all(connection)?;
        for object in objects {
            schema.objects.push((object.kind.clone(), object.name.clone()));
            let about = listed.get(&object.name).filter(|_| object.kind == "table");
            let kind = about.map(|about| about.kind.as_str());
            // Skip the shadow tables of virtual tables. SQLite recognises them by their names, and takes a user's table for one, too, if it
            // is the content table of an FTS5 table. So a table that the text declares is kept.
            let is_shadow = kind == Some("shadow");
            if is_shadow && !all_tables && schema.place_of_table(&object.name).line.is_none() {
                schema.objects.pop();
                continue;
            }
            // SQLite creates sqlite_sequence and similar tables itself when another object needs them.
            if object.kind == "table" && !all_tables && object.name.starts_with("sqlite_") {
                continue;
            }
            // Indexes are read with their tables.
            if object.kind == "index" {
                continue;
            }
            match (&object.sql, about) {
                (Some(sql), Some(about)) if is_shadow || kind == Some("table") => {
                    let table = Table::from_catalogue(connection, (&object.name, about), sql, &indexes)?;
                    schema.tables.push(table);
                }
                _ => schema.others.push(object),
            }
        }
        Ok(schema)
    }

    /// Returns the schema of the objects that `keeps` selects, as if a file with the text `sql` declared them. The text is not parsed,
    /// because SQLite takes longer for a statement the more tables there are.
    #[must_use]
    pub fn in_text(&self, sql: String, file: &Path, keeps: impl Fn(&str) -> bool) -> Schema {
        Schema {
            file: file.to_owned(),
            sql,
            tables: self.tables.iter().filter(|table| keeps(&table.name)).cloned().collect(),
            others: self.others.iter().filter(|object| keeps(&object.name)).cloned().collect(),
            objects: self.objects.iter().filter(|(_, name)| keeps(name)).cloned().collect(),
            places: Places::default(),
            ..*self
        }
    }

    /// Returns the place of a table's declaration in the file; the file as a whole if it does not declare the table.
    pub fn place_of_table(&self, name: &str) -> Place {
        match self.declared_tables().get(&name.to_ascii_lowercase()) {
            Some(at) => Place::in_text(&self.file, &self.sql, *at),
            None => Place::file(&self.file),
        }
    }

    /// Returns the byte offsets of the names of declared tables, by the names in lower case.
    pub fn declared_tables(&self) -> HashMap<String, usize> {
        let tokens: Vec<Token> =
            token::tokens(&self.sql).into_iter().filter(|token| !token.is_comment()).collect();
        let sql = &self.sql;
        let declared = tokens.iter().enumerate().filter(|(_, token)| token.is_word(sql, "TABLE"));
        // The name may follow IF NOT EXISTS, and a schema with a dot.
        let name_after = |(at, _): (usize, &Token)| {
            let mut rest = &tokens[at + 1..];
            for word in ["IF", "NOT", "EXISTS"] {
                if let [first, others @ ..] = rest
                    && first.is_word(sql, word)
                {
                    rest = others;
                }
            }
            rest.get(if rest.get(1).is_some_and(|dot| dot.is_symbol(sql, ".")) { 2 } else { 0 }).cloned()
        };
        let mut places = HashMap::new();
        for token in declared.filter_map(name_after) {
            if let Some(name) = token.name(sql) {
                places.entry(name.to_ascii_lowercase()).or_insert(token.at.start);
            }
        }
        places
    }

    /// Returns the table with the given name; `None` if the schema has none. Names are compared as SQLite does: ASCII letters in either
    /// case.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.place(name).map(|place| &self.tables[place])
    }

    /// Returns the position of a table by its name; `None` if the schema does not have the table.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.of(name, &self.tables)
    }
}

/// Returns the positions of tables in an order in which each table follows the tables that its FOREIGN KEYs refer to. In a circle of
/// references, the table that is reached first comes last: by its position, or by a reference of a table outside of the circle.
pub fn parents_first(tables: &[&Table]) -> Vec<usize> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (index, table) in tables.iter().enumerate() {
        places.entry(table.name.to_ascii_lowercase()).or_insert(index);
    }
    let mut order = Vec::with_capacity(tables.len());
    let mut seen = vec![false; tables.len()];
    for first in 0..tables.len() {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        // A chain of references may have any length, so the search is not recursive.
        let mut path = vec![(first, tables[first].references.iter())];
        while let Some((index, references)) = path.last_mut() {
            let Some(reference) = references.next() else {
                order.push(*index);
                path.pop();
                continue;
            };
            let parent = places.get(&reference.parent.to_ascii_lowercase());
            if let Some(&parent) = parent
                && !std::mem::replace(&mut seen[parent], true)
            {
                path.push((parent, tables[parent].references.iter()));
            }
        }
    }
    order
}

impl Table {
    /// Returns `true` if any constraint of the table has an ON CONFLICT clause.
    pub fn says_on_conflict(&self) -> bool {
        let mut tokens = token::tokens(&self.sql);
        tokens.retain(|token| !token.is_comment());
        let is = |token: &Token, word| token.is_word(&self.sql, word);
        tokens.windows(2).any(|pair| is(&pair[0], "ON") && is(&pair[1], "CONFLICT"))
    }

    /// Returns a name of the rowid that is not the name of a column; `None` if columns have all three names, or the table has no rowids.
    pub fn rowid_name(&self) -> Option<&'static str> {
        let free = |name: &&str| self.column(name).is_none();
        ["rowid", "_rowid_", "oid"].into_iter().find(free).filter(|_| !self.without_rowid)
    }

    /// Returns the table with one more column, for rows that bring their rowids. The column is an alias of the rowid, and records do not
    /// have it.
    #[must_use]
    pub fn with_rowid_column(&self, name: &str) -> Table {
        let mut table = self.clone();
        table.rowid_alias = Some(table.columns.len());
        table.columns.push(Column { generated: Some(Generated::Virtual), ..Column::new(name, "INTEGER") });
        table
    }

    /// Returns the columns of the PRIMARY KEY, if the table has one.
    pub fn primary_key(&self) -> Option<Vec<usize>> {
        if let Some(alias) = self.rowid_alias {
            return Some(vec![alias]);
        }
        let declared = |index: &&Index| index.origin == IndexOrigin::PrimaryKey;
        let key = self.clustered.as_ref().or_else(|| self.indexes.iter().find(declared))?;
        let columns = key.columns[..key.key_columns].iter().map(|column| match column.value {
            Indexed::Column(column) => Some(column),
            Indexed::Rowid | Indexed::Expression => None,
        });
        columns.collect()
    }

    /// Returns the columns of each key that makes rows unique, first a primary key that is the rowid or orders the rows of a WITHOUT ROWID
    /// table. Partial indexes don't make all rows unique, and indexes on expressions have no column names: both are left out.
    pub fn unique_keys(&self) -> Vec<Vec<usize>> {
        let columns = |index: &Index| {
            let columns = index.columns[..index.key_columns].iter().map(|column| match column.value {
                Indexed::Column(column) => Some(column),
                Indexed::Rowid | Indexed::Expression => None,
            });
            columns.collect::<Option<Vec<_>>>()
        };
        let alias = self.rowid_alias.map(|alias| vec![alias]);
        let indexes = self.clustered.iter().chain(&self.indexes);
        let unique = indexes.filter(|index| index.unique && !index.partial);
        alias.into_iter().chain(unique.filter_map(columns)).collect()
    }

    #[doc(hidden)]
    /// Reads a table that the statement `sql` has created in a connection's database. The time does not depend on the number of tables in
    /// the database. The statements of the table's indexes are left out.
    pub fn of_connection(connection: &Connection, name: &str, sql: &str) -> rusqlite::Result<Table> {
        let tokens = token::tokens(sql);
        let end = tokens.iter().rposition(|token| token.is_symbol(sql, ")")).unwrap_or(0);
        let has = |word| tokens[end..].iter().any(|token: &Token| token.is_word(sql, word));
        let listed =
            Listed { kind: "table".to_owned(), without_rowid: has("WITHOUT"), strict: has("STRICT") };
        Table::from_catalogue(connection, (name, &listed), sql, &StoredIndexes::new(&[]))
    }

    fn from_catalogue(
        connection: &Connection,
        (name, &Listed { without_rowid, strict, .. }): (&str, &Listed),
        sql: &str,
        stored: &StoredIndexes,
    ) -> rusqlite::Result<Table> {
        let mut columns = Vec::new();
        let mut keys = Vec::new();
        let mut statement = connection.prepare_cached(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1) ORDER BY cid",
        )?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            let declared_type: String = row.get(1)?;
            let any = strict && declared_type.eq_ignore_ascii_case("ANY");
            if row.get::<_, i64>(4)? > 0 {
                keys.push(columns.len());
            }
            columns.push(Column {
                name: row.get(0)?,
                affinity: if any { Affinity::Blob } else { Affinity::of_declared_type(&declared_type) },
                declared_type,
                not_null: row.get(2)?,
                default: row.get(3)?,
                generated: match row.get::<_, i64>(5)? {
                    2 => Some(Generated::Virtual),
                    3 => Some(Generated::Stored),
                    _ => None,
                },
            });
        }
        let mut indexes = Index::from_catalogue(connection, name, stored)?;
        let primary_key = indexes.iter().position(|index| index.origin == IndexOrigin::PrimaryKey);
        // `a INTEGER PRIMARY KEY DESC` is no alias of the rowid, but `PRIMARY KEY (a DESC)` is: only the missing index shows the
        // difference.
        let rowid_alias = match keys[..] {
            [key]
                if !without_rowid
                    && columns[key].declared_type.eq_ignore_ascii_case("INTEGER")
                    && primary_key.is_none() =>
            {
                Some(key)
            }
            _ => None,
        };
        let clustered = if without_rowid { primary_key.map(|index| indexes.remove(index)) } else { None };
        let references = references(connection, name, &columns)?;
        let tokens = token::tokens(sql);
        let has = |word| tokens.iter().any(|token: &Token| token.is_word(sql, word));
        Ok(Table {
            name: name.to_owned(),
            sql: sql.to_owned(),
            columns,
            rowid_alias,
            strict,
            without_rowid,
            autoincrement: has("AUTOINCREMENT"),
            largest_given: None,
            checks: has("CHECK"),
            foreign_keys: !references.is_empty(),
            references,
            indexes,
            clustered,
            is_virtual: false,
        })
    }

    /// Creates a virtual table with columns of these names, which have no declared types. `sql` is its CREATE VIRTUAL TABLE statement.
    #[must_use]
    pub fn of_virtual(name: &str, sql: &str, columns: impl IntoIterator<Item = String>) -> Table {
        Table {
            name: name.to_owned(),
            sql: sql.to_owned(),
            columns: columns.into_iter().map(|name| Column::new(name, "")).collect(),
            rowid_alias: None,
            strict: false,
            without_rowid: false,
            autoincrement: false,
            largest_given: None,
            checks: false,
            foreign_keys: false,
            references: Vec::new(),
            indexes: Vec::new(),
            clustered: None,
            is_virtual: true,
        }
    }

    /// Adds the column `rowid` in the first place, for a virtual table whose rows may be given with their rowids. No other column has this
    /// name: the module FTS5 refuses it.
    #[must_use]
    pub fn with_rowid(mut self) -> Table {
        self.columns.insert(0, Column::new("rowid".to_owned(), "INTEGER"));
        self.rowid_alias = Some(0);
        self
    }

    /// Returns the index of the column with the given name; `None` if the table has none. Names are compared as SQLite does.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}

/// Returns the FOREIGN KEYs of a table.
fn references(connection: &Connection, table: &str, columns: &[Column]) -> rusqlite::Result<Vec<Reference>> {
    // SQLite numbers FOREIGN KEYs from the last to the first.
    let mut statement = connection.prepare_cached(
        "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1) ORDER BY id DESC, seq",
    )?;
    let mut rows = statement.query([table])?;
    let mut references: Vec<(i64, Reference)> = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, from): (i64, String) = (row.get(0)?, row.get(2)?);
        if references.last().is_none_or(|(last, _)| *last != id) {
            let parent = row.get(1)?;
            references.push((id, Reference { columns: Vec::new(), parent, parent_columns: Vec::new() }));
        }
        if let Some((_, reference)) = references.last_mut() {
            let column = columns.iter().position(|column| column.name.eq_ignore_ascii_case(&from));
            reference.columns.extend(column);
            reference.parent_columns.extend(row.get::<_, Option<String>>(3)?);
        }
    }
    Ok(references.into_iter().map(|(_, reference)| reference).collect())
}

/// A row of `PRAGMA table_list`. The list is read once, because SQLite walks the whole list for each table.
struct Listed {
    /// `table`, `view`, `virtual`, or `shadow` for a table that belongs to a virtual one.
    kind: String,
    without_rowid: bool,
    strict: bool,
}

impl Listed {
    fn all(connection: &Connection) -> rusqlite::Result<HashMap<String, Listed>> {
        let mut list = connection
            .prepare("SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main'")?;
        let listed = list.query_map([], |row| {
            Ok((row.get(0)?, Listed { kind: row.get(1)?, without_rowid: row.get(2)?, strict: row.get(3)? }))
        })?;
        listed.collect()
    }
}

/// Quotes a name for SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a text for SQL.
pub fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Describes an action that a schema file must not do; `None` if the action is allowed. Changes of the shadow tables of `virtual_tables`
/// are allowed, because virtual tables fill these while they are created.
fn forbidden(action: &AuthAction<'_>, virtual_tables: &[String]) -> Option<String> {
    let internal = |table: &str| {
        let shadow =
            |name: &String| table.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('_'));
        table.to_ascii_lowercase().starts_with("sqlite_") || virtual_tables.iter().any(shadow)
    };
    match action {
        AuthAction::Insert { table_name } | AuthAction::Delete { table_name } if !internal(table_name) => {
            Some(format!("changes rows of {table_name}"))
        }
        AuthAction::Update { table_name, .. } if !internal(table_name) => {
            Some(format!("changes rows of {table_name}"))
        }
        AuthAction::Attach { filename } => Some(format!("attaches {filename}")),
        AuthAction::Detach { .. } => Some("detaches a database".to_owned()),
        AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. } => Some("makes something temporary".to_owned()),
        AuthAction::Pragma { pragma_name: "page_size" | "data_version", pragma_value: None } => None,
        // SQLite itself runs this PRAGMA for ALTER TABLE ADD COLUMN, to check the existing rows.
        AuthAction::Pragma { pragma_name: "quick_check", .. } => None,
        AuthAction::Pragma { pragma_name, .. } => {
            let harmless = ["foreign_keys", "user_version", "application_id"];
            let known = harmless.iter().any(|name| pragma_name.eq_ignore_ascii_case(name));
            (!known).then(|| format!("sets PRAGMA {pragma_name}"))
        }
        _ => None,
    }
}

/// Opens a database in memory that refuses the actions that are [`forbidden`] in a schema file. Also returns the place where the first
/// refused action is stored, in words.
fn guarded() -> rusqlite::Result<(Connection, Arc<Mutex<Option<String>>>)> {
    let mut connection = Connection::open_in_memory()?;
    let denied = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&denied);
    let mut virtual_tables: Vec<String> = Vec::new();
    let authorize = move |context: AuthContext<'_>| {
        if let AuthAction::CreateVtable { table_name, .. } = context.action {
            virtual_tables.push(table_name.to_owned());
        }
        match forbidden(&context.action, &virtual_tables) {
            None => Authorization::Allow,
            Some(what) => {
                seen.lock().expect("nothing panics under this lock").get_or_insert(what);
                Authorization::Deny
            }
        }
    };
    connection.authorizer(Some(authorize))?;
    Ok((connection, denied))
}

fn explain(sql: &str, file: &Path, error: rusqlite::Error, denied: Option<String>) -> Error {
    let statement = || match failing_statement(sql) {
        Some(at) => Place::in_text(file, sql, at),
        None => Place::file(file),
    };
    if let Some(what) = denied {
        return Error::input(format!("a schema file may only have declarations, but this one {what}"))
            .at(statement())
            .hint("keep only the CREATE statements in the file");
    }
    match error {
        rusqlite::Error::SqlInputError { msg, sql: rest, offset, .. } => {
            let at = sql.len() - rest.len().min(sql.len()) + usize::try_from(offset).unwrap_or(0);
            Error::input(msg).at(Place::in_text(file, sql, at))
        }
        rusqlite::Error::SqliteFailure(_, Some(message)) => Error::input(message).at(statement()),
        other => Error::input("SQLite does not accept this schema").at(statement()).because(other),
    }
}

/// Returns the byte offset of the first statement that fails, or `None` if none fails: for some errors, SQLite does not report the position
/// itself.
fn failing_statement(sql: &str) -> Option<usize> {
    let (connection, _) = guarded().ok()?;
    let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let ends = tokens.iter().filter(|token| token.is_symbol(sql, ";")).map(|token| token.at.end);
    let mut start = 0;
    for end in ends.chain([sql.len()]) {
        match connection.execute_batch(&sql[start..end]) {
            Ok(()) => start = end,
            // The semicolon ends a statement within a trigger.
            Err(error) if end < sql.len() && error.to_string().contains("incomplete input") => {}
            Err(_) => break,
        }
    }
    tokens.iter().map(|token| token.at.start).find(|&at| at >= start)
}

fn catalogue(error: rusqlite::Error) -> Error {
    Error::input("cannot read the schema back from SQLite").because(error)
}
