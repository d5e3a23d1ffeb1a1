//! Reads the rows of an archive through SQLite. Rows are not trusted, as an archive may be malicious.
//!
//! Several connections read the same state of the database. If another process changes the database while they begin their transactions,
//! all of them begin again.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row};
use serde::Serialize;
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::sqlite_error::said;
use sqluice_reader::no_file;

use super::Layout;
use super::name::shown;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// A database with an archive.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    pub(crate) layout: Layout,
    /// A name under which SQL can select the rowid; `None` if the table has no rowids or no such name is free.
    rowid: Option<String>,
    /// The smallest and the largest rowid; `None` if the table is empty. Without a name for the rowid, both are 0, also for an empty table.
    pub(crate) rowids: Option<(i64, i64)>,
    pub(crate) rows: u64,
}

/// A row that can be restored.
#[derive(Debug)]
pub(crate) struct Item<'r> {
    pub(crate) name: Cow<'r, [u8]>,
    pub(crate) kind: Kind,
    pub(crate) mode: Option<u32>,
    pub(crate) mtime: Option<i64>,
    /// The number of bytes of the file.
    pub(crate) bytes: u64,
    /// The content of the file, deflated if its length is not `bytes`; or the target of the link. Empty if only a list was requested.
    pub(crate) data: &'r [u8],
}

/// A row that can't be restored, with the reason.
#[derive(Debug)]
pub(crate) struct BadItem {
    /// The name, for messages.
    pub(crate) name: String,
    pub(crate) why: String,
}

/// The maximum number of attempts to begin all connections while another process keeps changing the database.
const TRIES: usize = 20;

impl Archive {
    /// Opens the table of `layout` or, if `layout` is `None`, the table that exists. Returns the archive and `connections` connections
    /// (at least 1), all of which see the same rows.
    ///
    /// # Errors
    /// If the database has no archive, or can't be read.
    pub(crate) fn open(
        path: &Path,
        layout: Option<Layout>,
        connections: usize,
    ) -> Result<(Archive, Vec<Connection>)> {
        let metadata = std::fs::metadata(path).map_err(|error| Error::read(path, error))?;
        if let Some(why) = no_file(path, &metadata) {
            return Err(Error::input(why).hint("name a database file"));
        }
        let failed = |error| unreadable(path, error);
        let watch = connect(path).map_err(failed)?;
        let version = || watch.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0));
        for _ in 0..TRIES {
            let before = version().map_err(failed)?;
            let begun = (0..connections.max(1)).map(|_| begin(path)).collect::<rusqlite::Result<Vec<_>>>();
            let begun = begun.map_err(failed)?;
            if version().map_err(failed)? == before {
                return Ok((Archive::find(path, layout, &begun[0])?, begun));
            }
        }
        Err(Error::input(format!(
            "{} keeps changing, so its rows can't be read in one state",
            path.display()
        )))
    }

    fn find(path: &Path, layout: Option<Layout>, connection: &Connection) -> Result<Archive> {
        let failed = |error| unreadable(path, error);
        let schema = Schema::from_catalogue(connection, String::new(), path).map_err(failed)?;
        let layouts = layout.map_or(vec![Layout::Sqlar, Layout::Kv], |layout| vec![layout]);
        let found = layouts.into_iter().find_map(|layout| Some((layout, schema.table(layout.table())?)));
        let Some((layout, table)) = found else { return Err(no_archive(path, layout)) };
        if let Some(missing) = columns(layout).into_iter().find(|name| table.column(name).is_none()) {
            let message = format!("table {} of {} has no column {missing}", table.name, path.display());
            return Err(Error::input(message).hint(format!("an archive is declared so: {}", layout.sql())));
        }
        let rowid = rowid_of(table);
        let name = quoted(&table.name);
        let rows = connection
            .query_row(&format!("SELECT count(*) FROM main.{name}"), [], |row| row.get::<_, i64>(0));
        let rowids = match &rowid {
            // Without a name for the rowid, all rows are one range.
            None => Some((0, 0)),
            Some(rowid) => {
                let sql = format!(
                    "SELECT (SELECT min({rowid}) FROM main.{name}), (SELECT max({rowid}) FROM main.{name})"
                );
                let ends = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
                let ends: (Option<i64>, Option<i64>) = ends.map_err(failed)?;
                ends.0.zip(ends.1)
            }
        };
        Ok(Archive {
            path: path.to_owned(),
            layout,
            rowid,
            rowids,
            rows: rows.map_err(failed)?.unsigned_abs(),
        })
    }

    /// Passes the rows with rowids from `first` to `last` to `take`, in the order of their rowids, each with its rowid. If no name means
    /// the rowid, passes all rows, in any order, with 0 as the rowid.
    ///
    /// # Errors
    /// If the rows can't be read, or `take` returns an error.
    pub(crate) fn read(
        &self,
        connection: &Connection,
        (first, last): (i64, i64),
        take: impl FnMut(i64, std::result::Result<Item<'_>, BadItem>) -> Result<()>,
    ) -> Result<()> {
        let filter = match &self.rowid {
            Some(rowid) => format!("{rowid} BETWEEN ?1 AND ?2 ORDER BY {rowid}"),
            None => "?1 <= ?2".to_owned(),
        };
        self.each(connection, true, &filter, &[first, last], take)
    }

    /// Passes all rows to `take`, in the order of their names, without their data.
    ///
    /// # Errors
    /// If the rows can't be read, or `take` returns an error.
    pub(crate) fn list(
        &self,
        connection: &Connection,
        mut take: impl FnMut(std::result::Result<Item<'_>, BadItem>) -> Result<()>,
    ) -> Result<()> {
        let filter = format!("1 ORDER BY {}", columns(self.layout)[0]);
        self.each(connection, false, &filter, &[], |_, item| take(item))
    }

    fn each(
        &self,
        connection: &Connection,
        data: bool,
        filter: &str,
        parameters: &[i64],
        mut take: impl FnMut(i64, std::result::Result<Item<'_>, BadItem>) -> Result<()>,
    ) -> Result<()> {
        let failed = |error| unreadable(&self.path, error);
        let mut statement = connection.prepare_cached(&self.select(data, filter)).map_err(failed)?;
        let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let rowid = row.get(0).map_err(failed)?;
            take(rowid, self.item(row, data))?;
        }
        Ok(())
    }

    /// Passes the row of a name to `take`. Returns `false` if no row has the name.
    pub(crate) fn find_name(
        &self,
        connection: &Connection,
        name: &[u8],
        take: impl FnOnce(std::result::Result<Item<'_>, BadItem>) -> Result<()>,
    ) -> Result<bool> {
        let failed = |error| unreadable(&self.path, error);
        // Compare the name as text: if the key column is an integer, SQLite converts the text to a number.
        let filter = format!("{} = ?1", columns(self.layout)[0]);
        let mut statement = connection.prepare(&self.select(true, &filter)).map_err(failed)?;
        let name = rusqlite::types::ToSqlOutput::Borrowed(ValueRef::Text(name));
        let mut rows = statement.query([name]).map_err(failed)?;
        match rows.next().map_err(failed)? {
            None => Ok(false),
            Some(row) => take(self.item(row, true)).map(|()| true),
        }
    }

    /// Returns the name of a row inside the folder `folder`, at any depth; `None` if the folder has no rows inside.
    pub(crate) fn name_below(&self, connection: &Connection, folder: &[u8]) -> Result<Option<Vec<u8>>> {
        let (table, column) = (quoted(self.layout.table()), columns(self.layout)[0]);
        let sql = format!("SELECT {column} FROM main.{table} WHERE {column} > ?1 AND {column} < ?2 LIMIT 1");
        // Names inside the folder are those between `folder/` and `folder0`: `0` is the character after `/`.
        let text = |start: &[u8], end: &[u8]| [start, folder, end].concat();
        for start in [&b""[..], b"./"] {
            let (from, to) = (text(start, b"/"), text(start, b"0"));
            let text = |bytes| rusqlite::types::ToSqlOutput::Borrowed(ValueRef::Text(bytes));
            let found = connection
                .prepare_cached(&sql)
                .and_then(|mut statement| {
                    let name = |row: &Row<'_>| Ok(row.get_ref(0)?.as_bytes()?.to_vec());
                    statement.query_row([text(&from), text(&to)], name).optional()
                })
                .map_err(|error| unreadable(&self.path, error))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the kind of the row with this name, if it exists and is valid.
    pub(crate) fn kind_of(&self, connection: &Connection, name: &[u8]) -> Result<Option<Kind>> {
        for name in [name.to_vec(), [b"./", name].concat()] {
            let mut kind = None;
            self.find_name(connection, &name, |item| {
                kind = item.ok().map(|item| item.kind);
                Ok(())
            })?;
            if kind.is_some() {
                return Ok(kind);
            }
        }
        Ok(None)
    }

    fn select(&self, data: bool, filter: &str) -> String {
        let rowid = self.rowid.as_deref().unwrap_or("0");
        let name = quoted(self.layout.table());
        let what = match (self.layout, data) {
            (Layout::Sqlar, true) => "name, mode, mtime, sz, data",
            (Layout::Sqlar, false) => "name, mode, mtime, sz, typeof(data), length(data)",
            (Layout::Kv, true) => "k, NULL, NULL, NULL, v",
            (Layout::Kv, false) => "k, NULL, NULL, NULL, typeof(v), length(CAST(v AS BLOB))",
        };
        format!("SELECT {rowid}, {what} FROM main.{name} WHERE {filter}")
    }

    /// Parses a row, or returns the reason why it can't be restored. `data` is `true` if the row was selected with its data.
    fn item<'r>(&self, row: &'r Row<'_>, data: bool) -> std::result::Result<Item<'r>, BadItem> {
        let value = |column| row.get_ref(column).unwrap_or(ValueRef::Null);
        let name = match (value(1), self.layout) {
            (ValueRef::Text(name), _) => Cow::Borrowed(name),
            (ValueRef::Integer(key), Layout::Kv) => Cow::Owned(key.to_string().into_bytes()),
            (other, _) => {
                let why = format!("its name is {}, not text", class(other));
                return Err(BadItem { name: described(other), why });
            }
        };
        let bad = |why: String| BadItem { name: shown(&name), why };
        let item = match (self.layout, data) {
            (Layout::Sqlar, true) => of_sqlar([value(2), value(3), value(4)], value(5)),
            (Layout::Sqlar, false) => of_sqlar_listed([value(2), value(3), value(4)], value(5)),
            (Layout::Kv, true) => bytes_of(value(5), "v").map(|data| file(data.len() as u64, data)),
            (Layout::Kv, false) => {
                integer(value(6), "length(v)").map(|bytes| file(bytes.unwrap_or(0) as u64, &[]))
            }
        };
        match item {
            Ok(item) => Ok(Item { name, ..item }),
            Err(why) => Err(bad(why)),
        }
    }
}

fn file(bytes: u64, data: &[u8]) -> Item<'_> {
    Item { name: Cow::Borrowed(&[]), kind: Kind::File, mode: None, mtime: None, bytes, data }
}

/// Parses a row of `sqlar`, except its name.
fn of_sqlar<'r>(
    [mode, mtime, sz]: [ValueRef<'r>; 3],
    data: ValueRef<'r>,
) -> std::result::Result<Item<'r>, String> {
    let no_data = matches!(data, ValueRef::Null);
    let item = about([mode, mtime, sz], no_data)?;
    let data = match (item.kind, data) {
        (Kind::Folder, ValueRef::Null) => &[][..],
        (Kind::Folder, _) => return Err("it is a folder, but has data".to_owned()),
        (Kind::File, ValueRef::Null) if item.bytes == 0 => &[],
        (_, data) => bytes_of(data, "data")?,
    };
    Ok(Item { data, ..item })
}

/// Parses a row of `sqlar` that was selected with the type of its data instead of the data.
fn of_sqlar_listed<'r>(
    [mode, mtime, sz]: [ValueRef<'r>; 3],
    class: ValueRef<'r>,
) -> std::result::Result<Item<'r>, String> {
    about([mode, mtime, sz], matches!(class, ValueRef::Text(b"null")))
}

/// Parses the mode, time and size of a row.
fn about<'r>([mode, mtime, sz]: [ValueRef<'r>; 3], no_data: bool) -> std::result::Result<Item<'r>, String> {
    const TYPE: i64 = 0o170_000;
    let mode = integer(mode, "mode")?;
    let mtime = integer(mtime, "mtime")?;
    let sz = integer(sz, "sz")?;
    let kind = match (mode.unwrap_or(0) & TYPE, sz) {
        (0o100_000, _) => Kind::File,
        (0o040_000, _) => Kind::Folder,
        (0o120_000, _) => Kind::Link,
        // A row whose mode has no type is a link if its size is -1, a folder if it has no data and its size is 0 or NULL, and a file
        // otherwise.
        (0, Some(-1)) => Kind::Link,
        (0, None | Some(0)) if no_data => Kind::Folder,
        (0, _) => Kind::File,
        (_, _) => return Err(format!("its mode {:o} is not of a file, folder or link", mode.unwrap_or(0))),
    };
    let bytes = match (kind, sz) {
        (Kind::File, Some(sz)) => u64::try_from(sz).map_err(|_| format!("its sz is {sz}"))?,
        (Kind::File, None) => return Err("its sz is NULL".to_owned()),
        _ => 0,
    };
    if bytes > super::FILE_BYTES_MAX {
        return Err(format!("its sz is {bytes}, and an archive holds files of at most 1,000,000,000 bytes"));
    }
    Ok(Item { kind, mode: mode.map(|mode| mode as u32), mtime, ..file(bytes, &[]) })
}

fn integer(value: ValueRef<'_>, column: &str) -> std::result::Result<Option<i64>, String> {
    match value {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(integer) => Ok(Some(integer)),
        other => Err(format!("its {column} is {}, not an integer", class(other))),
    }
}

fn bytes_of<'r>(value: ValueRef<'r>, column: &str) -> std::result::Result<&'r [u8], String> {
    match value {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Ok(bytes),
        other => Err(format!("its {column} is {}, not a blob", class(other))),
    }
}

fn class(value: ValueRef<'_>) -> &'static str {
    match value {
        ValueRef::Null => "NULL",
        ValueRef::Integer(_) => "an integer",
        ValueRef::Real(_) => "a real",
        ValueRef::Text(_) => "text",
        ValueRef::Blob(_) => "a blob",
    }
}

/// Describes a value in place of a name, for messages.
fn described(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Integer(integer) => integer.to_string(),
        ValueRef::Real(real) => real.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => shown(bytes),
        ValueRef::Null => "NULL".to_owned(),
    }
}

fn columns(layout: Layout) -> Vec<&'static str> {
    match layout {
        Layout::Sqlar => vec!["name", "mode", "mtime", "sz", "data"],
        Layout::Kv => vec!["k", "v"],
    }
}

/// Returns a name that means the rowid in SQL, or `None` if the table has no rowids or columns have all such names.
fn rowid_of(table: &Table) -> Option<String> {
    match table.rowid_alias {
        Some(alias) => Some(quoted(&table.columns[alias].name)),
        None => table.rowid_name().filter(|_| !table.without_rowid).map(str::to_owned),
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // An absolute path is never parsed as a URI.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(absolute, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // The creator of the database is not trusted, so its schema may use only harmless functions and virtual tables, and cells are checked.
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(connection)
}

/// Opens a connection in a read transaction.
fn begin(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn unreadable(path: &Path, error: rusqlite::Error) -> Error {
    let name = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::input(format!("{name} is not a SQLite database"))
            .because(said(error))
            .hint("name an archive that sqluice pack or sqlite3 -Ac has made"),
        Some(ErrorCode::DatabaseBusy) => Error::input(format!("{name} is in use"))
            .because(said(error))
            .hint("another program writes to it: run again when that is done"),
        _ => Error::input(format!("cannot read {name}")).about(path).because(said(error)),
    }
}

fn no_archive(path: &Path, layout: Option<Layout>) -> Error {
    let message = match layout {
        Some(layout) => format!("{} has no table {}", path.display(), layout.table()),
        None => format!("{} is not an archive: it has neither a table sqlar nor a table kv", path.display()),
    };
    Error::input(message)
        .hint("sqluice pack and sqlite3 -Ac make archives; sqluice info shows what is in a database")
}
