//! Random declarations of full-text tables, and their rows.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::support::Random;

/// The place of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The full-text table `f`.
    Own,
    /// The table `t`.
    Table,
    /// The view `v` of the table `t`.
    View,
    /// Nowhere.
    Nowhere,
}

/// A full-text table `f`, and perhaps the table `t` with its texts.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) content: Content,
    /// The options, each with its value.
    pub(super) options: Vec<(&'static str, String)>,
    /// `true` if `t` has its rowid as the column `id`.
    pub(super) has_id: bool,
    /// `true` if triggers of `t` keep `f` up to date.
    pub(super) has_triggers: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) is_indexed: bool,
    /// The declared type in `t`.
    declared: &'static str,
}

/// The rows of a table, by their rowids.
pub(super) type Rows = BTreeMap<i64, Vec<Value>>;

/// The names of columns.
const NAMES: [&str; 4] = ["a", "b c", "d", "Été"];

const TOKENIZERS: [&str; 16] = [
    "",
    "",
    "unicode61",
    "ascii",
    "porter",
    "porter ascii",
    "unicode61 remove_diacritics 0",
    "unicode61 remove_diacritics 2 tokenchars '-_'",
    "unicode61 separators 'e' categories 'L* N* Co Zs'",
    "porter unicode61 tokenchars ''''",
    "trigram",
    "trigram case_sensitive 1",
    "trigram remove_diacritics 1",
    "synonyms",
    "porter synonyms x",
    "ascii separators 'xyz'",
];

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Table {
    pub(super) fn random(random: &mut Random) -> Table {
        let content = random.pick(&[
            Content::Own,
            Content::Own,
            Content::Table,
            Content::Table,
            Content::View,
            Content::Nowhere,
            Content::Nowhere,
        ]);
        let count = 1 + random.below(NAMES.len());
        let mut columns: Vec<Column> = NAMES[..count]
            .iter()
            .map(|name| Column {
                name,
                is_indexed: !random.one_in(4),
                declared: random.pick(&["", "", "TEXT", "REAL", "INT", "BLOB"]),
            })
            .collect();
        columns[0].is_indexed = true;
        let mut options = Vec::new();
        let mut option = |name, value: &str| options.push((name, value.to_owned()));
        option("detail", random.pick(&["full", "full", "column", "none"]));
        if random.one_in(2) {
            option("prefix", random.pick(&["1", "2 3", "3,3", "1 2 3 4 5 6 7", "999"]));
        }
        let tokenizer = random.pick(&TOKENIZERS);
        if !tokenizer.is_empty() {
            option("tokenize", tokenizer);
        }
        if random.one_in(6) {
            option("tokendata", random.pick(&["1", "1", "0"]));
        }
        let has_locale = random.one_in(10);
        if has_locale {
            option("locale", random.pick(&["1", "1", "0"]));
        }
        let mut has_sizes = !random.one_in(5);
        if content == Content::Nowhere {
            if random.one_in(2) {
                option("contentless_delete", "1");
                has_sizes = true;
            }
            // SQLite takes the table for damaged if it has locales, too.
            if random.one_in(3) && !has_locale {
                option("contentless_unindexed", "1");
            }
        }
        if !has_sizes {
            option("columnsize", "0");
        }
        let has_id = content == Content::View || random.one_in(2);
        match content {
            Content::Own => {}
            Content::Table => option("content", "t"),
            Content::View => option("content", "v"),
            Content::Nowhere => option("content", ""),
        }
        if has_id && matches!(content, Content::Table | Content::View) {
            option("content_rowid", "id");
        }
        let has_triggers = content == Content::View || random.one_in(2);
        Table { columns, content, options, has_id, has_triggers }
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|option| option.0 == name).map(|(_, value)| &**value)
    }

    pub(super) fn is_external(&self) -> bool {
        matches!(self.content, Content::Table | Content::View)
    }

    /// Returns `true` if DELETE and UPDATE work on `f`.
    fn takes_deletes(&self) -> bool {
        self.content == Content::Own || self.option("contentless_delete") == Some("1")
    }

    /// Returns the name of the shadow table with all rowids, if there is one.
    pub(super) fn listed(&self) -> Option<&'static str> {
        match self.content {
            Content::Own => Some("f_content"),
            _ if self.option("columnsize").is_none() => Some("f_docsize"),
            _ => None,
        }
    }

    /// Returns `true` if SQLite 3.40 can read the table.
    pub(super) fn is_old(&self) -> bool {
        let newer = ["tokendata", "locale", "contentless_delete", "contentless_unindexed"];
        // The older trigram splits bytes that are no UTF-8 in another way.
        let tokenizer = self.option("tokenize").unwrap_or_default();
        newer.iter().all(|name| self.option(name).is_none())
            && !tokenizer.contains("synonyms")
            && !tokenizer.contains("trigram")
    }

    fn names(&self, before: &str) -> String {
        let names = self.columns.iter().map(|column| format!(", {before}{}", quoted(column.name)));
        names.collect()
    }

    /// Returns the name of the rowid of `t`.
    pub(super) fn rowid(&self) -> &'static str {
        if self.has_id { "id" } else { "rowid" }
    }

    /// Returns the statement for the table with the texts.
    pub(super) fn base(&self) -> String {
        let columns =
            self.columns.iter().map(|column| format!(", {} {}", quoted(column.name), column.declared));
        let columns: String = columns.collect();
        let base = match (self.is_external(), self.has_id) {
            (false, _) => String::new(),
            (true, true) => format!("CREATE TABLE t (id INTEGER PRIMARY KEY{columns});"),
            (true, false) => format!("CREATE TABLE t ({});", &columns[2..]),
        };
        match self.content {
            Content::View => format!("{base} CREATE VIEW v AS SELECT id{} FROM t;", self.names("")),
            _ => base,
        }
    }

    /// Returns the statement for the full-text table.
    pub(super) fn virtual_table(&self) -> String {
        let columns = self.columns.iter().map(|column| {
            let unindexed = if column.is_indexed { "" } else { " UNINDEXED" };
            format!("{}{unindexed}", quoted(column.name))
        });
        let options =
            self.options.iter().map(|(name, value)| format!("{name}='{}'", value.replace('\'', "''")));
        let arguments: Vec<String> = columns.chain(options).collect();
        format!("CREATE VIRTUAL TABLE f USING fts5({});", arguments.join(", "))
    }

    /// Returns the statements for the triggers.
    pub(super) fn triggers(&self) -> String {
        if !self.is_external() || !self.has_triggers {
            return String::new();
        }
        let (names, rowid) = (self.names(""), self.rowid());
        let delete =
            format!("INSERT INTO f(f, rowid{names}) VALUES ('delete', old.{rowid}{});", self.names("old."));
        let insert = format!("INSERT INTO f(rowid{names}) VALUES (new.{rowid}{});", self.names("new."));
        format!(
            "CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN {insert} END;
             CREATE TRIGGER t_ad AFTER DELETE ON t BEGIN {delete} END;
             CREATE TRIGGER t_au AFTER UPDATE ON t BEGIN {delete} {insert} END;"
        )
    }

    fn run(connection: &Connection, sql: &str, rowid: Option<i64>, values: &[Value]) -> rusqlite::Result<()> {
        let rowid = rowid.map_or(Value::Null, Value::Integer);
        let parameters = [&[rowid], values].concat();
        connection.prepare_cached(sql)?.execute(params_from_iter(parameters)).map(drop)
    }

    fn parameters(&self) -> String {
        (0..self.columns.len()).map(|number| format!(", ?{}", number + 2)).collect()
    }

    /// Has SQLite insert a row.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        rowid: Option<i64>,
        values: &[Value],
    ) -> rusqlite::Result<()> {
        let (names, parameters) = (self.names(""), self.parameters());
        if !self.is_external() {
            let sql = format!("INSERT INTO f(rowid{names}) VALUES (?1{parameters})");
            return Self::run(connection, &sql, rowid, values);
        }
        let sql = format!("INSERT INTO t({}{names}) VALUES (?1{parameters})", self.rowid());
        Self::run(connection, &sql, rowid, values)?;
        if !self.has_triggers {
            let sql = format!(
                "INSERT INTO f(rowid{names}) SELECT {rowid}{names} FROM t WHERE {rowid} = ?1",
                rowid = self.rowid()
            );
            Self::run(connection, &sql, Some(connection.last_insert_rowid()), &[])?;
        }
        Ok(())
    }

    /// Has SQLite delete a row, whose values are `old`.
    pub(super) fn delete(&self, connection: &Connection, rowid: i64, old: &[Value]) -> rusqlite::Result<()> {
        let names = self.names("");
        if self.takes_deletes() {
            return Self::run(connection, "DELETE FROM f WHERE rowid = ?1", Some(rowid), &[]);
        }
        if !self.is_external() {
            let sql = format!("INSERT INTO f(f, rowid{names}) VALUES ('delete', ?1{})", self.parameters());
            return Self::run(connection, &sql, Some(rowid), old);
        }
        if !self.has_triggers {
            let sql = format!(
                "INSERT INTO f(f, rowid{names}) SELECT 'delete', {rowid}{names} FROM t WHERE {rowid} = ?1",
                rowid = self.rowid()
            );
            Self::run(connection, &sql, Some(rowid), &[])?;
        }
        let sql = format!("DELETE FROM t WHERE {} = ?1", self.rowid());
        Self::run(connection, &sql, Some(rowid), &[])
    }

    /// Has SQLite change a row, whose values are `old`.
    pub(super) fn update(
        &self,
        connection: &Connection,
        rowid: i64,
        (old, new): (&[Value], &[Value]),
    ) -> rusqlite::Result<()> {
        let set = |table: &str, rowid: &str| {
            let columns = self.columns.iter().enumerate();
            let columns =
                columns.map(|(number, column)| format!("{} = ?{}", quoted(column.name), number + 2));
            let columns = columns.collect::<Vec<_>>().join(", ");
            format!("UPDATE {table} SET {columns} WHERE {rowid} = ?1")
        };
        if self.takes_deletes() {
            return Self::run(connection, &set("f", "rowid"), Some(rowid), new);
        }
        if self.is_external() && self.has_triggers {
            return Self::run(connection, &set("t", self.rowid()), Some(rowid), new);
        }
        self.delete(connection, rowid, old)?;
        self.insert(connection, Some(rowid), new)
    }
}

/// Words of which most texts are made.
const WORDS: [&str; 28] = [
    "every",
    "every",
    "run",
    "running",
    "runs",
    "Café",
    "cafe\u{301}",
    "naïve",
    "東京都",
    "東京",
    "жизнь",
    "it's",
    "a-b",
    "x9",
    "stop.",
    "ﬁne",
    "extraordinary",
    "e\u{301}",
    "nul\0byte",
    "A",
    "an",
    "ant",
    "antler",
    "\u{1f600}",
    "w_w",
    "\u{fffd}",
    "ßẞ",
    "İi",
];

/// Returns a random text.
pub(super) fn text(random: &mut Random) -> String {
    let count = match random.below(24) {
        0 => 0,
        1 => 100 + random.below(1500),
        2..5 => 30 + random.below(60),
        _ => 1 + random.below(12),
    };
    let mut text = String::new();
    for _ in 0..count {
        match random.below(12) {
            0..3 => text += &format!("w{}", random.below(2_000)),
            3 => text += &format!("{:x}", random.next()),
            4 if random.one_in(20) => text += &"long".repeat(random.below(200)),
            _ => text += random.pick(&WORDS),
        }
        text += random.pick(&[" ", " ", ", ", "\n", "\0"]);
    }
    text
}

/// Returns a text of about a megabyte, most of which is not one frequent word: the time of SQLite's `snippet` is quadratic in the
/// occurrences of a word.
fn long_text(random: &mut Random) -> String {
    let bytes = 1_000_000;
    match random.below(3) {
        0 => "every ".repeat(4_000) + &"x".repeat(bytes),
        1 => (0..bytes / 8).map(|number| format!("n{number} ")).collect(),
        _ => (0..bytes / 80)
            .map(|number| format!("{} n{number} ", WORDS[number % 28].repeat(1 + number / 28 % 40)))
            .collect(),
    }
}

/// Numbers that all versions of SQLite write as the same text, and others.
pub(super) const REALS: [&[f64]; 2] =
    [&[0.1, 5.0, -0.0, 1e300], &[0.1, 1e15, -1e-7, 123456789.125, 0.1 + 0.2, 1e100]];

/// Returns the values of a random row. `reals` are the numbers in it.
pub(super) fn row(columns: usize, in_every_row: bool, reals: &[f64], random: &mut Random) -> Vec<Value> {
    let value = |random: &mut Random| match random.below(14) {
        0 => Value::Null,
        1 => Value::Integer(random.pick(&[0, 1, -5, 1 << 47, i64::MIN])),
        2 => Value::Real(random.pick(reals)),
        3 => Value::Blob(text(random).into_bytes()),
        4 => Value::Blob(vec![0xff, b'a', b' ', 0xc3, b'b', 0x80, b' ', 0xe3, 0x81, b'x', b'y', b'z']),
        5 => Value::Text(String::new()),
        _ => Value::Text(text(random)),
    };
    let mut row: Vec<Value> = (0..columns).map(|_| value(random)).collect();
    if in_every_row {
        row[0] = Value::Text(format!("every {}", text(random)));
    }
    if random.one_in(3000) {
        let column = random.below(columns);
        row[column] = Value::Text(long_text(random));
    }
    row
}
