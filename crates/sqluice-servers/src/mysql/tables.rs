//! The tables of a database: their definitions, their columns, and the SELECT statements that read their rows.

use sqluice_core::error::{Error, Message, Result};
use sqluice_core::similar;

use super::connection::{Connection, failure, quoted, text_literal};
use crate::{Request, condition_of_left_out};

/// The size of a piece of a table, in bytes of the server's estimate of the table's data.
const PIECE_BYTES: u64 = 8 << 20;

/// The maximum number of pieces of a table.
const PIECES_MAX: u64 = 1 << 16;

/// The kind of an entry of `information_schema.tables`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    View,
    Sequence,
}

/// A table, as `information_schema` describes it.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) engine: String,
    /// The server's estimate of the number of rows.
    pub(super) rows: u64,
    /// The server's estimate of the number of bytes of the rows.
    pub(super) bytes: u64,
}

/// Lists the tables that a request names, or all tables, views and sequences if the request names none.
///
/// # Errors
/// If a name is unknown.
pub(super) fn list(connection: &mut Connection, database: &str, request: &Request) -> Result<Vec<Table>> {
    let sql = format!(
        "SELECT table_name, table_type, engine, table_rows, data_length FROM information_schema.tables \
         WHERE table_schema = {} ORDER BY table_name",
        text_literal(database)
    );
    let rows = connection.rows(&sql).map_err(|fault| failure(fault, "listing the tables"))?;
    let mut all = Vec::new();
    for row in rows {
        let [Some(name), kind, engine, rows, bytes] = &row[..] else { continue };
        let kind = match kind.as_deref() {
            Some("BASE TABLE" | "SYSTEM VERSIONED") => Kind::Table,
            Some("VIEW") => Kind::View,
            Some("SEQUENCE") => Kind::Sequence,
            Some(_) => continue,
            // The server can't open the table now: a statement is changing it, or it is damaged. Locking the table waits for the statement,
            // or reports the damage.
            None => Kind::Table,
        };
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
        all.push(Table {
            name: name.clone(),
            kind,
            engine: engine.clone().unwrap_or_default(),
            rows: number(rows),
            bytes: number(bytes),
        });
    }
    let names = all.iter().filter(|table| table.kind == Kind::Table).map(|table| table.name.as_str());
    let find = |given: &str| -> Result<String> {
        let within = given.strip_prefix(database).and_then(|rest| rest.strip_prefix('.'));
        let candidates = [Some(given), within];
        let known = all.iter().find(|table| candidates.contains(&Some(table.name.as_str())));
        match known {
            Some(table) if table.kind == Kind::Table => Ok(table.name.clone()),
            Some(table) => Err(Error::input(format!("{} is a view or a sequence, not a table", table.name))
                .hint("load the rows of a view with a query instead")),
            None => Err(Error::input(format!("the database {database} has no table {given}"))
                .hint(similar::hint(given, names.clone()))),
        }
    };
    for (table, _) in &request.filters {
        find(table)?;
    }
    if request.tables.is_empty() {
        return Ok(all);
    }
    let wanted = request.tables.iter().map(|name| find(name)).collect::<Result<Vec<String>>>()?;
    for (table, _) in &request.filters {
        if !wanted.contains(&find(table)?) {
            return Err(condition_of_left_out(table));
        }
    }
    all.retain(|table| wanted.contains(&table.name));
    Ok(all)
}

/// The declaration of a table, and the parts of the statements that read its rows.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    /// The beginning of INSERT statements up to VALUES.
    pub(super) insert: String,
    /// The beginning of the statement that reads rows, up to the name of the table.
    select: String,
    /// The `DROP TABLE` and `CREATE TABLE` statements of the table, as mysqldump writes them.
    pub(super) declaration: String,
    /// The user's condition for the rows of the table.
    filter: Option<String>,
    /// The first column of the primary key, if it is an integer: pieces of the table are ranges of its values.
    key: Option<String>,
    /// `true` if the table has stored columns. A table with generated columns only is not read, as SQLite can't have such tables.
    has_rows: bool,
    bytes: u64,
}

/// Reads the declarations of tables.
///
/// # Errors
/// If the server reports an error.
pub(super) fn plans(
    connection: &mut Connection,
    database: &str,
    tables: &[Table],
    request: &Request,
) -> Result<Vec<Plan>> {
    let within = format!("WHERE table_schema = {}", text_literal(database));
    let doing = |fault| failure(fault, "reading the definitions of the tables");
    let columns = connection
        .rows(&format!(
            "SELECT table_name, column_name, extra, data_type FROM information_schema.columns {within} \
             ORDER BY table_name, ordinal_position"
        ))
        .map_err(doing)?;
    let keys = connection
        .rows(&format!(
            "SELECT table_name, column_name FROM information_schema.statistics {within} \
             AND index_name = 'PRIMARY' AND seq_in_index = 1"
        ))
        .map_err(doing)?;
    let mut plans = Vec::new();
    for table in tables.iter().filter(|table| table.kind == Kind::Table) {
        let name = &table.name;
        let sql = format!("SHOW CREATE TABLE {}", quoted(name));
        let shown =
            connection.rows(&sql).map_err(|fault| failure(fault, &format!("reading the table {name}")))?;
        let Some([_, Some(create), ..]) = shown.first().map(Vec::as_slice) else {
            return Err(Error::input(format!("the server does not show the definition of the table {name}")));
        };
        let of_table = |row: &&Vec<Option<String>>| row.first().and_then(Option::as_deref) == Some(name);
        let mut stored = Vec::new();
        let mut has_generated = false;
        for column in columns.iter().filter(of_table) {
            let [_, Some(column), Some(extra), _] = &column[..] else { continue };
            if is_generated(extra) { has_generated = true } else { stored.push(quoted(column)) }
        }
        let is_integer = |column: &str| {
            let mut of = columns.iter().filter(of_table);
            of.any(|row| {
                let [_, Some(name), _, Some(kind)] = &row[..] else { return false };
                name == column
                    && matches!(kind.as_str(), "tinyint" | "smallint" | "mediumint" | "int" | "bigint")
            })
        };
        let has_rows = !stored.is_empty();
        let key =
            keys.iter().find(of_table).and_then(|row| row.get(1)?.clone()).filter(|key| is_integer(key));
        let stored = stored.join(", ");
        let names = if has_generated { format!(" ({stored})") } else { String::new() };
        let quoted_name = quoted(name);
        let declaration = format!(
            "\n--\n-- Table structure for table {quoted_name}\n--\n\nDROP TABLE IF EXISTS {quoted_name};\n{create};\n"
        );
        let filters = request.filters.iter().filter(|(table, _)| {
            table == name
                || table.strip_prefix(database).and_then(|rest| rest.strip_prefix('.')) == Some(name)
        });
        let filter: Vec<String> = filters.map(|(_, condition)| format!("({condition}\n)")).collect();
        plans.push(Plan {
            name: name.clone(),
            insert: format!("INSERT INTO {quoted_name}{names} VALUES\n"),
            select: format!("SELECT /*!40001 SQL_NO_CACHE */ {stored} FROM {quoted_name}"),
            declaration,
            filter: Some(filter.join(" AND ")).filter(|filter| !filter.is_empty()),
            key,
            has_rows,
            bytes: table.bytes,
        });
    }
    Ok(plans)
}

/// Returns `true` if `extra` of `information_schema.columns` describes a generated column, which INSERT statements leave out. A column with
/// `DEFAULT_GENERATED` (MySQL 8) is not generated: its default is an expression.
fn is_generated(extra: &str) -> bool {
    let extra = extra.to_ascii_uppercase();
    ["VIRTUAL", "STORED GENERATED", "PERSISTENT"].iter().any(|word| extra.contains(word))
}

impl Plan {
    /// Returns the SELECT statements that read the rows: one, or one for each range of the key if there are several connections.
    ///
    /// # Errors
    /// If the server reports an error.
    pub(super) fn statements(&self, connection: &mut Connection, connections: usize) -> Result<Vec<String>> {
        if !self.has_rows {
            return Ok(Vec::new());
        }
        let ranges = match &self.key {
            Some(key) if connections > 1 && self.bytes > PIECE_BYTES => {
                let quoted_key = quoted(key);
                let sql = format!("SELECT min({quoted_key}), max({quoted_key}) FROM {}", quoted(&self.name));
                let found = connection
                    .rows(&sql)
                    .map_err(|fault| failure(fault, &format!("reading the table {}", self.name)))?;
                let ends = found
                    .first()
                    .map(|row| row.iter().map(|end| end.as_ref()?.parse::<i128>().ok()).collect::<Vec<_>>());
                match ends.as_deref() {
                    Some([Some(least), Some(most)]) => ranges(&quoted_key, *least, *most, self.bytes),
                    _ => vec![String::new()],
                }
            }
            _ => vec![String::new()],
        };
        let hint = if ranges.len() > 1 { " FORCE INDEX (PRIMARY)" } else { "" };
        let statement = |range: String| {
            let conditions: Vec<&str> = [Some(range.as_str()), self.filter.as_deref()]
                .into_iter()
                .flatten()
                .filter(|condition| !condition.is_empty())
                .collect();
            match conditions.is_empty() {
                true => self.select.clone(),
                false => format!("{}{hint} WHERE {}", self.select, conditions.join(" AND ")),
            }
        };
        Ok(ranges.into_iter().map(statement).collect())
    }
}

/// Returns SQL conditions that split the values `least..=most` of a key into ranges of about the same length, one for each `PIECE_BYTES` of
/// the table. The first range has no lower bound, and the last has no upper bound.
fn ranges(key: &str, least: i128, most: i128, bytes: u64) -> Vec<String> {
    let span = (most - least).max(0) + 1;
    let count = i128::from(bytes.div_ceil(PIECE_BYTES).clamp(1, PIECES_MAX)).min(span);
    let begin = |piece: i128| least + span * piece / count;
    (0..count)
        .map(|piece| {
            let from = (piece > 0).then(|| format!("{key} >= {}", begin(piece)));
            let to = (piece + 1 < count).then(|| format!("{key} < {}", begin(piece + 1)));
            from.into_iter().chain(to).collect::<Vec<_>>().join(" AND ")
        })
        .collect()
}

/// Returns the statements that declare sequences, which come before the tables of a dump, and the statements that declare triggers and
/// views, which come after the tables.
///
/// # Errors
/// If the connection breaks. An object whose definition the user may not see is left out, with a note.
pub(super) fn others(
    connection: &mut Connection,
    tables: &[Table],
    notes: &mut Vec<Message>,
) -> Result<(String, String)> {
    let mut before = String::new();
    let mut behind = String::new();
    let triggers =
        connection.rows("SHOW TRIGGERS").map_err(|fault| failure(fault, "listing the triggers"))?;
    let of_tables = triggers.iter().filter_map(|row| match &row[..] {
        [Some(trigger), _, Some(table), ..] if tables.iter().any(|known| known.name == *table) => {
            Some(("TRIGGER", trigger.as_str()))
        }
        _ => None,
    });
    let of_kind = |kind: Kind, word: &'static str| {
        tables.iter().filter(move |table| table.kind == kind).map(move |table| (word, table.name.as_str()))
    };
    let all = of_kind(Kind::Sequence, "SEQUENCE").chain(of_tables).chain(of_kind(Kind::View, "VIEW"));
    for (word, name) in all {
        let shown = connection.rows(&format!("SHOW CREATE {word} {}", quoted(name)));
        let at = if word == "TRIGGER" { 2 } else { 1 };
        let create = match shown {
            Ok(rows) => rows.first().and_then(|row| row.get(at).cloned().flatten()),
            Err(super::packets::Fault::Server(_)) => None,
            Err(fault) => {
                return Err(failure(fault, &format!("reading the {} {name}", word.to_ascii_lowercase())));
            }
        };
        match (create, word) {
            (None, _) => {
                let word = word.to_ascii_lowercase();
                let note =
                    format!("the {word} {name} is left out, because the server does not show its definition");
                notes.push(note.into());
            }
            (Some(create), "SEQUENCE") => before.push_str(&format!("\n{create};\n")),
            (Some(create), "TRIGGER") => {
                behind.push_str(&format!("\nDELIMITER ;;\n{create} ;;\nDELIMITER ;\n"))
            }
            (Some(create), _) => behind.push_str(&format!("\n{create};\n")),
        }
    }
    Ok((before, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_ranges_of_a_table_cover_each_key_exactly_once() {
        for (least, most, bytes) in [
            (1, 1, 1 << 30),
            (0, 9, 3 * PIECE_BYTES),
            (-5, 1000, 10 * PIECE_BYTES + 1),
            (i128::from(i64::MIN), i128::from(u64::MAX), 7 * PIECE_BYTES),
            (5, 6, 0),
        ] {
            let found = ranges("k", least, most, bytes);
            assert!(found.len() as u64 <= bytes.div_ceil(PIECE_BYTES).max(1));
            let mut next = None;
            for range in &found {
                let ends: Vec<&str> = range.split(" AND ").filter(|end| !end.is_empty()).collect();
                let from = ends.iter().find_map(|end| end.strip_prefix("k >= "));
                assert_eq!(from.map(str::to_owned), next, "{found:?}");
                next = ends.iter().find_map(|end| end.strip_prefix("k < ")).map(str::to_owned);
            }
            assert_eq!(next, None, "{found:?}");
        }
    }

    #[test]
    fn a_default_that_is_an_expression_is_no_generated_column() {
        for (extra, expected) in [
            ("VIRTUAL GENERATED", true),
            ("STORED GENERATED, INVISIBLE", true),
            ("PERSISTENT", true),
            ("DEFAULT_GENERATED", false),
            ("DEFAULT_GENERATED on update CURRENT_TIMESTAMP", false),
            ("auto_increment", false),
            ("", false),
        ] {
            assert_eq!(is_generated(extra), expected, "{extra}");
        }
    }
}
