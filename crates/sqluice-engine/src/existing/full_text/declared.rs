//! A full-text index that was checked against the schema of a database: its statements, and the choice whether its rows are built here or by
//! SQLite.

use rusqlite::Connection;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::{Generated, Schema, Table, quoted, quoted_text};
use sqluice_core::similar;
use sqluice_core::sqlite_error::{failed, said};
use sqluice_format::fts5::Detail;

use super::request::{Content, Request};
use super::texts::Texts;
use crate::full_text::{TextIndex, tokenize_option, tokenizer};
use crate::options::WritePath;

/// A full-text index to create.
pub struct DeclaredTextIndex<'s> {
    /// The wanted index.
    pub request: Request,
    /// The table whose rows are indexed.
    pub table: &'s Table,
    /// The CREATE VIRTUAL TABLE statement.
    pub sql: String,
    /// The CREATE TRIGGER statements.
    pub triggers: Vec<String>,
    /// The name of the rowid in `table`.
    pub(super) rowid: String,
    /// The facts for building the rows; `None` if SQLite builds them.
    pub(super) ours: Option<Ours>,
    /// The reason for the write path, as a sentence.
    pub why: String,
}

/// The facts about an index whose rows are built here.
pub(super) struct Ours {
    pub(super) index: TextIndex,
    pub(super) texts: Texts,
}

impl DeclaredTextIndex<'_> {
    /// Returns `Sorted` if the rows are built here, or `Sqlite` if SQLite builds them.
    pub fn write_path(&self) -> WritePath {
        if self.ours.is_some() { WritePath::Sorted } else { WritePath::Sqlite }
    }
}

/// Returns the full-text indexes that are requested of a database with `schema`. `names` are the kinds and names of all objects in the
/// database; `obstacle` is a reason why SQLite must build all of them.
///
/// # Errors
/// If a name is taken, a table or column does not exist, or FTS5 refuses an option.
pub fn declared<'s>(
    requests: Vec<Request>,
    schema: &'s Schema,
    names: &[(String, String)],
    obstacle: Option<&str>,
) -> Result<Vec<DeclaredTextIndex<'s>>> {
    let mut all: Vec<DeclaredTextIndex<'_>> = Vec::new();
    for request in requests {
        if let Some(other) = all.iter().find(|other| other.request.name.eq_ignore_ascii_case(&request.name)) {
            return Err(Error::usage(format!("two full-text indexes are called {}", other.request.name))
                .hint(message![
                    "create one of them in a run of its own, with another name: ",
                    Setting::FtsName
                ]));
        }
        all.push(DeclaredTextIndex::new(request, schema, names, obstacle)?);
    }
    Ok(all)
}

/// The names that an FTS5 table adds to its own for its shadow tables.
const SHADOWS: [&str; 5] = ["data", "idx", "content", "docsize", "config"];

impl<'s> DeclaredTextIndex<'s> {
    fn new(
        request: Request,
        schema: &'s Schema,
        names: &[(String, String)],
        obstacle: Option<&str>,
    ) -> Result<DeclaredTextIndex<'s>> {
        let table = table_of(&request, schema, names)?;
        let shadows = SHADOWS.iter().map(|shadow| format!("{}_{shadow}", request.name));
        let triggers = ["ai", "ad", "au"].iter().filter(|_| request.triggers);
        let triggers = triggers.map(|trigger| format!("{}_{trigger}", request.name));
        for name in [request.name.clone()].into_iter().chain(shadows).chain(triggers) {
            if let Some((kind, _)) = names.iter().find(|(_, other)| other.eq_ignore_ascii_case(&name)) {
                return Err(Error::target(format!("{kind} {name} exists already"))
                    .hint("choose another name for the full-text table, or drop the old one"));
            }
        }
        for column in &request.columns {
            if table.column(&column.name).is_none() {
                let all = table.columns.iter().map(|column| &*column.name);
                return Err(Error::usage(format!("table {} has no column {}", table.name, column.name))
                    .hint(similar::hint(&column.name, all)));
            }
        }
        let rowid = match table.rowid_alias {
            Some(column) => table.columns[column].name.clone(),
            None => table.rowid_name().map(str::to_owned).ok_or_else(|| {
                Error::target(format!("columns of table {} have all names of the rowid", table.name))
                    .hint("FTS5 finds the rows of a table by its rowid: rename a column")
            })?,
        };
        let options = Options::of(&request)?;
        let sql = create(&request, &rowid);
        try_in_memory(&sql)?;
        let ours = match obstacle {
            Some(why) => Err(why.to_owned()),
            None => Ours::of(&request, table, options)?,
        };
        let (ours, why) = match ours {
            Ok(ours) => (Some(ours), "its terms are sorted on all cores".to_owned()),
            Err(why) => (None, why),
        };
        let triggers = match request.triggers {
            true => triggers_of(&request, "CREATE TRIGGER", &table.name, &rowid),
            false => Vec::new(),
        };
        Ok(DeclaredTextIndex { request, table, sql, triggers, rowid, ours, why })
    }
}

/// Returns the table whose rows are to be indexed.
fn table_of<'s>(request: &Request, schema: &'s Schema, names: &[(String, String)]) -> Result<&'s Table> {
    let wanted = &request.table;
    let refused =
        |what: &str| Error::target(format!("{wanted} can't have a full-text index here: it {what}"));
    if let Some(table) = schema.table(wanted) {
        return match () {
            () if table.is_virtual => Err(refused("is a virtual table")),
            () if table.without_rowid => {
                Err(refused("is WITHOUT ROWID, and FTS5 finds rows by their rowids"))
            }
            () => Ok(table),
        };
    }
    let kind = names.iter().find(|(_, name)| name.eq_ignore_ascii_case(wanted)).map(|(kind, _)| &**kind);
    match kind {
        Some("view") => Err(refused("is a view")),
        Some("table") => Err(refused("is a virtual table, or SQLite's own")),
        _ => {
            let tables = schema.tables.iter().map(|table| &*table.name);
            let tables = tables.filter(|name| !name.starts_with("sqlite_"));
            Err(Error::target(format!("table {wanted} does not exist")).hint(similar::hint(wanted, tables)))
        }
    }
}

/// The meaning of the options that decide which bytes are written.
#[derive(Clone, Copy, Debug)]
struct Options {
    detail: Detail,
    keeps_sizes: bool,
    has_locale: bool,
}

impl Options {
    /// Reads the options of FTS5 that are no flags of their own.
    fn of(request: &Request) -> Result<Options> {
        let mut all = Options { detail: Detail::Full, keeps_sizes: true, has_locale: false };
        for (index, (name, value)) in request.options.iter().enumerate() {
            if request.options[..index].iter().any(|(other, _)| other == name) {
                return Err(Error::usage(format!("the FTS5 option {name} is given twice")));
            }
            let refused =
                |words: &str| Error::usage(format!("the FTS5 option {name} must be {words}, not {value:?}"));
            let switch = || match &**value {
                "0" => Ok(false),
                "1" => Ok(true),
                _ => Err(refused("0 or 1")),
            };
            match &**name {
                "detail" => {
                    all.detail = match &**value {
                        "full" => Detail::Full,
                        "column" => Detail::Column,
                        "none" => Detail::None,
                        _ => return Err(refused("full, column or none")),
                    }
                }
                "columnsize" => all.keeps_sizes = switch()?,
                "locale" => all.has_locale = switch()?,
                "tokendata" => {
                    switch()?;
                }
                "tokenize" => return Err(of_setting(name, Setting::Tokenize)),
                "prefix" => return Err(of_setting(name, Setting::Prefix)),
                "content" => return Err(of_setting(name, Setting::FtsContent)),
                "content_rowid" => {
                    return Err(Error::usage(format!("the FTS5 option {name} follows from the table"))
                        .hint("leave it out"));
                }
                "contentless_delete" | "contentless_unindexed" => {
                    return Err(Error::usage(format!(
                        "the FTS5 option {name} is for contentless tables, and this index has content"
                    ))
                    .hint("leave it out"));
                }
                _ => {
                    return Err(Error::usage(format!("the FTS5 option {name} is not known here"))
                        .hint("the options are detail, columnsize, tokendata and locale"));
                }
            }
        }
        Ok(all)
    }
}

/// Returns the error for an option of FTS5 that has a setting of its own.
fn of_setting(option: &str, setting: Setting) -> Error {
    Error::usage(format!("the FTS5 option {option} has a setting of its own"))
        .hint(message![setting, " sets it"])
}

/// Returns the CREATE VIRTUAL TABLE statement.
fn create(request: &Request, rowid: &str) -> String {
    let columns = request.columns.iter().map(|column| {
        let unindexed = if column.is_indexed { "" } else { " UNINDEXED" };
        format!("{}{unindexed}", quoted(&column.name))
    });
    let mut arguments: Vec<String> = columns.collect();
    if request.content == Content::External {
        // Other tools look for the index of a table by these quotes.
        arguments.push(format!("content={}", quoted(&request.table)));
        arguments.push(format!("content_rowid={}", quoted(rowid)));
    }
    let mut option = |name: &str, value: &str| arguments.push(format!("{name}={}", quoted_text(value)));
    if let Some(tokenize) = &request.tokenize {
        option("tokenize", tokenize);
    }
    if let Some(prefix) = &request.prefix {
        option("prefix", prefix);
    }
    request.options.iter().for_each(|(name, value)| option(name, value));
    format!("CREATE VIRTUAL TABLE {} USING fts5({})", quoted(&request.name), arguments.join(", "))
}

/// Creates the table in an empty database, so that FTS5 refuses what it does not understand before anything is written.
fn try_in_memory(sql: &str) -> Result<()> {
    let connection = Connection::open_in_memory().map_err(|error| failed(error, "make an empty database"))?;
    connection.execute_batch(sql).map_err(|error| {
        Error::usage(format!("SQLite refuses the full-text index: {}", said(error)))
            .hint(format!("the statement is {sql}"))
    })
}

/// Returns the triggers that keep the index up to date. `create` are the first words of each statement.
pub(super) fn triggers_of(request: &Request, create: &str, table: &str, rowid: &str) -> Vec<String> {
    let (name, table) = (quoted(&request.name), quoted(table));
    let columns: Vec<String> = request.columns.iter().map(|column| quoted(&column.name)).collect();
    let values = |row: &str| {
        let columns = columns.iter().map(|column| format!(", {row}.{column}"));
        format!("{row}.{}{}", quoted(rowid), columns.collect::<String>())
    };
    let columns = columns.join(", ");
    let insert = format!("INSERT INTO {name}(rowid, {columns}) VALUES ({});", values("new"));
    let delete = match request.content {
        // FTS5 finds the terms of a row by its old values, which the table no longer has.
        Content::External => {
            format!("INSERT INTO {name}({name}, rowid, {columns}) VALUES ('delete', {});", values("old"))
        }
        Content::Own => format!("DELETE FROM {name} WHERE rowid = old.{};", quoted(rowid)),
    };
    let trigger = |suffix: &str, event: &str, body: &[&str]| {
        let trigger = quoted(&format!("{}_{suffix}", request.name));
        format!("{create} {trigger} AFTER {event} ON {table} BEGIN {} END", body.join(" "))
    };
    vec![
        trigger("ai", "INSERT", &[&insert]),
        trigger("ad", "DELETE", &[&delete]),
        trigger("au", "UPDATE", &[&delete, &insert]),
    ]
}

impl Ours {
    /// Returns the facts for building the rows. The inner error is the reason why SQLite must build them.
    fn of(request: &Request, table: &Table, options: Options) -> Result<std::result::Result<Ours, String>> {
        if options.has_locale {
            return Ok(Err("only SQLite knows the locales of texts".to_owned()));
        }
        let columns = request.columns.iter().map(|column| (column, table.column(&column.name)));
        let indexed = columns.enumerate().filter(|(_, (column, _))| column.is_indexed);
        let indexed: Vec<(usize, usize)> =
            indexed.filter_map(|(number, (_, of_table))| Some((number, of_table?))).collect();
        let is_virtual =
            |&&(_, column): &&(usize, usize)| table.columns[column].generated == Some(Generated::Virtual);
        if let Some((_, column)) = indexed.iter().find(is_virtual) {
            return Ok(Err(format!("SQLite computes column {}", table.columns[*column].name)));
        }
        let texts = match Texts::of(table, &indexed) {
            Ok(texts) => texts,
            Err(why) => return Ok(Err(why)),
        };
        let Some(arguments) = tokenize_option::arguments(request.tokenize.as_deref().unwrap_or_default())
        else {
            return Ok(Err("only SQLite understands the arguments of its tokenizer".to_owned()));
        };
        tokenizer::Tokenizer::new(&arguments)
            .map_err(|error| crate::full_text::no_tokenizer(&arguments[0], error))?;
        let prefix = request.prefix.as_deref().unwrap_or_default();
        let prefixes = prefix.split([' ', ',']).filter(|number| !number.is_empty()).map(str::parse);
        let Ok(prefixes) = prefixes.collect::<std::result::Result<Vec<usize>, _>>() else {
            return Ok(Err("only SQLite understands its prefixes".to_owned()));
        };
        let index = TextIndex {
            columns: request.columns.len(),
            detail: options.detail,
            prefixes,
            tokenizer: arguments,
            keeps_sizes: options.keeps_sizes,
        };
        Ok(Ok(Ours { index, texts }))
    }
}
