//! The declaration of a full-text table in a database: CREATE VIRTUAL TABLE ... USING fts5(...), and the options that FTS5 stores.

use rusqlite::{Connection, ErrorCode, OptionalExtension};
use sqluice_core::schema::virtual_table::{Parts, VirtualTableSql, value_of};
use sqluice_core::schema::{quoted, quoted_text};
use sqluice_format::fts5::{Detail, PAGE_BYTES_DEFAULT, PAGE_BYTES_MAX, PAGE_BYTES_MIN};

use super::shadow::Shadows;
use super::tokenizer::{NoTokenizer, Tokenizer};
use super::{TextIndex, tokenize_option};

/// The place of the text of a full-text table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The full-text table itself.
    Own,
    /// Another table or a view, with the name of the rowid there.
    External {
        /// The name of the table or view.
        table: String,
        /// The name of the rowid.
        rowid: String,
    },
    /// Nowhere.
    None,
}

/// A column of a full-text table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextColumn {
    /// The name.
    pub name: String,
    /// `false` for a column that is UNINDEXED.
    pub is_indexed: bool,
}

/// The declaration of a full-text table that can be filled here.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The name of the table.
    pub name: String,
    /// The columns.
    pub columns: Vec<TextColumn>,
    /// The place of the text.
    pub content: Content,
    /// `true` with `contentless_delete=1`.
    pub has_tombstones: bool,
    /// `true` if rows may have been removed from pages in place: the option `secure-delete` changes the version of the table.
    pub(super) is_edited: bool,
    pub(super) index: TextIndex,
    pub(super) page_bytes: usize,
    /// The number of segments of a level from which they are merged; `None`: never.
    pub(super) segments_merged: Option<usize>,
}

/// The version of a table from whose pages rows may have been removed in place.
const VERSION_OF_EDITED: i64 = 5;

/// The number of segments of a level that FTS5 merges by default.
const AUTOMERGE_DEFAULT: i64 = 4;

/// The number of segments of a level that FTS5 merges even without automatic merges, by default.
const CRISISMERGE_DEFAULT: i64 = 16;

impl Declaration {
    /// Reads the declaration of the full-text table `name`. The inner error is the reason why only SQLite can fill the table, as a sentence.
    ///
    /// # Errors
    /// If SQLite can't read the schema, or the columns or the stored options of the table.
    pub fn of(connection: &Connection, name: &str) -> rusqlite::Result<Result<Declaration, String>> {
        let sql = "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)";
        let found: Option<(String, Option<String>)> =
            connection.query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((name, Some(sql))) = found else {
            return Ok(Err(format!("{name} is no full-text table")));
        };
        if !VirtualTableSql::of(&sql).module.eq_ignore_ascii_case("fts5") {
            return Ok(Err(format!("{name} is no table of FTS5")));
        }
        let encoding: String = connection.query_row("PRAGMA encoding", [], |row| row.get(0))?;
        if encoding != "UTF-8" {
            return Ok(Err("only SQLite reads texts in UTF-16".to_owned()));
        }
        let names = columns(connection, &name)?;
        let config = Shadows::new(connection, &name).config()?;
        let parsed = Parsed::of(&sql);
        Ok(parsed.and_then(|parsed| parsed.declaration(&name, names, |key| config.get(key).copied())))
    }

    /// Returns the declaration of the table `name` that the statements in `sql` create. The inner error is as that of [`Declaration::of`].
    ///
    /// # Errors
    /// If SQLite can't run the statements in an empty database, or can't read the table.
    pub fn in_schema(sql: &str, name: &str) -> rusqlite::Result<Result<Declaration, String>> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(sql)?;
        Declaration::of(&connection, name)
    }

    /// Returns the name of the tokenizer in the statement of a table, if no tokenizer of this name is known to SQLite in this process.
    pub fn unknown_tokenizer(sql: &str) -> Option<String> {
        let parsed = Parsed::of(sql).ok()?;
        let (_, tokenize) = parsed.options.into_iter().rfind(|(option, _)| option == "tokenize")?;
        let mut arguments = tokenize_option::arguments(&tokenize)?;
        let is_unknown = matches!(Tokenizer::new(&arguments), Err(NoTokenizer::Unknown));
        is_unknown.then(|| arguments.swap_remove(0))
    }

    /// Returns the quoted name of the table that keeps the text of the full-text table itself, with the names of its columns, the rowid first;
    /// `None` for other tables.
    pub fn own_content(&self) -> Option<String> {
        (self.content == Content::Own).then(|| self.content_table(0..self.columns.len()))
    }

    fn content_table(&self, columns: impl IntoIterator<Item = usize>) -> String {
        let columns = columns.into_iter().map(|column| format!(", c{column}"));
        let name = quoted(&format!("{}_content", self.name));
        format!("{name}(id{})", columns.collect::<String>())
    }

    /// Returns the quoted name of the table that keeps columns of the full-text table, with the names of its columns, the rowid first, and the
    /// numbers of the kept columns; `None` if nothing is kept, or another table has the text.
    ///
    /// # Errors
    /// If SQLite can't read the shadow table.
    pub fn kept_columns(&self, connection: &Connection) -> rusqlite::Result<Option<(String, Vec<usize>)>> {
        let names = match self.content {
            Content::External { .. } => Vec::new(),
            Content::Own | Content::None => columns(connection, &format!("{}_content", self.name))?,
        };
        let kept = names.iter().filter_map(|name| name.strip_prefix('c')?.parse().ok());
        let kept: Vec<usize> = kept.filter(|column| *column < self.columns.len()).collect();
        Ok((!kept.is_empty()).then(|| (format!("main.{}", self.content_table(kept.iter().copied())), kept)))
    }

    /// Returns the largest rowid of a table that takes rows; `None` if the table has no rows, or does not list them.
    ///
    /// # Errors
    /// If SQLite can't read the shadow table.
    pub(crate) fn last_rowid(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let Some(rows) = self.listed_rows() else { return Ok(None) };
        connection.query_row(&format!("SELECT max(id) FROM {rows}"), [], |row| row.get(0))
    }

    /// Returns the quoted name of the shadow table that has the rowid of each row as `id`, if there is one.
    pub(crate) fn listed_rows(&self) -> Option<String> {
        let suffix = match self.content {
            Content::Own => "content",
            _ if self.index.keeps_sizes => "docsize",
            _ => return None,
        };
        Some(format!("main.{}", quoted(&format!("{}_{suffix}", self.name))))
    }

    /// Returns the query for the rows of the content: the rowid, and the indexed columns; `None` without content.
    pub(super) fn content_query(&self) -> Option<String> {
        let (table, rowid, columns) = self.content()?;
        Some(format!("SELECT {rowid}{columns} FROM {table} AS t ORDER BY {rowid}"))
    }

    /// Returns the table of the content, its rowid, and the indexed columns with a comma before each, for a query that calls the table `t`.
    fn content(&self) -> Option<(String, String, String)> {
        let indexed = self.indexed();
        let (table, rowid, columns): (String, String, Vec<String>) = match &self.content {
            Content::None => return None,
            Content::Own => (
                quoted(&format!("{}_content", self.name)),
                "id".to_owned(),
                indexed.iter().map(|column| format!("c{column}")).collect(),
            ),
            Content::External { table, rowid } => (
                quoted(table),
                quoted(rowid),
                indexed.iter().map(|column| quoted(&self.columns[*column].name)).collect(),
            ),
        };
        let columns = columns.iter().map(|column| format!(", t.{column}")).collect();
        Some((format!("main.{table}"), format!("t.{rowid}"), columns))
    }

    /// Returns the rowid of the first row of the content whose texts SQLite can't read because of this error, if it can be found.
    pub(super) fn row_with(&self, connection: &Connection, code: ErrorCode) -> Option<i64> {
        let (table, rowid, columns) = self.content()?;
        let has_failed = |error: &rusqlite::Error| error.sqlite_error_code() == Some(code);
        // Without an order, SQLite computes a row when it is asked for the row.
        let mut query = connection.prepare(&format!("SELECT {rowid}{columns} FROM {table} AS t")).ok()?;
        let mut rows = query.query([]).ok()?;
        let mut before = 0_i64;
        loop {
            match rows.next() {
                Ok(Some(_)) => before += 1,
                Err(error) if has_failed(&error) => break,
                _ => return None,
            }
        }
        let sql = format!("SELECT {rowid} FROM {table} AS t LIMIT 1 OFFSET ?1");
        let found: i64 = connection.query_row(&sql, [before], |row| row.get(0)).ok()?;
        // SQLite may read rowids alone in another order.
        let sql = format!("SELECT {rowid}{columns} FROM {table} AS t WHERE {rowid} = ?1");
        connection
            .query_row(&sql, [found], |_| Ok(()))
            .is_err_and(|error| has_failed(&error))
            .then_some(found)
    }

    /// Returns the numbers of the indexed columns.
    pub(super) fn indexed(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|column| self.columns[*column].is_indexed).collect()
    }
}

/// Returns the names of the columns of a virtual table.
///
/// # Errors
/// If SQLite can't read the table.
pub fn columns(connection: &Connection, name: &str) -> rusqlite::Result<Vec<String>> {
    let list =
        format!("SELECT name FROM pragma_table_xinfo({}) WHERE hidden <> 1 ORDER BY cid", quoted_text(name));
    connection.prepare(&list)?.query_map([], |row| row.get(0))?.collect()
}

/// The arguments of CREATE VIRTUAL TABLE.
struct Parsed {
    /// `false` for each column that is UNINDEXED.
    columns: Vec<bool>,
    options: Vec<(String, String)>,
}

impl Parsed {
    fn of(sql: &str) -> Result<Parsed, String> {
        let mut parsed = Parsed { columns: Vec::new(), options: Vec::new() };
        for argument in Parts::of(sql).arguments {
            match &argument[..] {
                [name, equal, value] if equal.is_symbol(sql, "=") => {
                    let name = name.name(sql).unwrap_or_default().to_ascii_lowercase();
                    parsed.options.push((name, value_of(value, sql)));
                }
                [_] => parsed.columns.push(true),
                [_, word] if word.is_word(sql, "UNINDEXED") => parsed.columns.push(false),
                _ => return Err("only SQLite understands how its columns are declared".to_owned()),
            }
        }
        Ok(parsed)
    }

    fn declaration(
        self,
        name: &str,
        names: Vec<String>,
        config: impl Fn(&str) -> Option<i64>,
    ) -> Result<Declaration, String> {
        if self.columns.len() != names.len() {
            return Err("only SQLite understands how its columns are declared".to_owned());
        }
        let mut index = TextIndex { columns: names.len(), keeps_sizes: true, ..TextIndex::default() };
        let (mut tokenize, mut content, mut rowid) = (String::new(), None, "rowid".to_owned());
        let mut has_tombstones = false;
        for (option, value) in &self.options {
            let is_on = || match &**value {
                "0" => Ok(false),
                "1" => Ok(true),
                _ => Err(format!("only SQLite understands its option {option}")),
            };
            match &**option {
                "prefix" => {
                    let numbers = value.split([' ', ',']).filter(|number| !number.is_empty()).map(str::parse);
                    let numbers: Result<Vec<usize>, _> = numbers.collect();
                    index.prefixes.extend(numbers.map_err(|_| "only SQLite understands its prefixes")?);
                }
                "tokenize" => tokenize.clone_from(value),
                "content" => content = Some(value.clone()),
                "content_rowid" => rowid.clone_from(value),
                "columnsize" => index.keeps_sizes = is_on()?,
                "contentless_delete" => has_tombstones = is_on()?,
                // The texts are tokenized in the same way, and the columns are stored by SQLite.
                "contentless_unindexed" | "tokendata" => {
                    is_on()?;
                }
                "locale" if !is_on()? => {}
                "locale" => return Err("only SQLite knows the locales of texts".to_owned()),
                "detail" => {
                    index.detail = match &**value {
                        "full" => Detail::Full,
                        "column" => Detail::Column,
                        "none" => Detail::None,
                        _ => return Err("only SQLite understands its detail".to_owned()),
                    }
                }
                _ => return Err(format!("only SQLite knows its option {option}")),
            }
        }
        index.tokenizer = tokenize_option::arguments(&tokenize)
            .ok_or("only SQLite understands the arguments of its tokenizer")?;
        if Tokenizer::new(&index.tokenizer).is_err() {
            return Err(format!("SQLite has no tokenizer {} here", index.tokenizer[0]));
        }
        if !matches!(config("version"), Some(4 | 5)) {
            return Err("its version of FTS5 is unknown here".to_owned());
        }
        let page_bytes = config("pgsz").map_or(Ok(PAGE_BYTES_DEFAULT), usize::try_from);
        let page_bytes = page_bytes.ok().filter(|bytes| (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(bytes));
        let page_bytes = page_bytes.ok_or("its pages have a size that FTS5 can't read")?;
        let merged = match config("automerge").unwrap_or(AUTOMERGE_DEFAULT) {
            0 => config("crisismerge").unwrap_or(CRISISMERGE_DEFAULT),
            // FTS5 takes 1 for the default.
            1 => AUTOMERGE_DEFAULT,
            merged => merged,
        };
        let columns = names.into_iter().zip(self.columns);
        Ok(Declaration {
            name: name.to_owned(),
            columns: columns.map(|(name, is_indexed)| TextColumn { name, is_indexed }).collect(),
            content: match content {
                None => Content::Own,
                Some(table) if table.trim().is_empty() => Content::None,
                Some(table) => Content::External { table, rowid },
            },
            has_tombstones,
            is_edited: config("version") == Some(VERSION_OF_EDITED),
            index,
            page_bytes,
            segments_merged: usize::try_from(merged).ok().filter(|merged| *merged > 1),
        })
    }
}
