//! Formats the statements of a schema, with a line and an optional comment for each column. Comments of the database itself are left out,
//! as they may contain anything.
//!
//! ```text
//!  CREATE TABLE t (      -- rows: 1000
//!    id    INTEGER PRIMARY KEY,  -- gen: row()
//!    state TEXT,                 -- gen: shares('open': 12, 'paid': 88)
//!    UNIQUE (state, id)
//!  ) STRICT;
//! ```

use std::fmt::Write as _;

use sqluice_core::schema::declaration::Declaration;
use sqluice_core::schema::token::{Token, tokens};
use sqluice_core::schema::{Table, quoted};

use sqluice_core::schema::virtual_table::Parts;

/// The largest width of a column's declaration for which comments are aligned.
const WIDTH_MAX: usize = 60;

/// Returns tokens as text, with single spaces in place of white space.
fn joined(sql: &str, tokens: &[Token]) -> String {
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        let is_apart = index > 0 && tokens[index - 1].at.end < token.at.start;
        text += if is_apart { " " } else { "" };
        text += token.text(sql);
    }
    text
}

fn without_comments(sql: &str) -> Vec<Token> {
    tokens(sql).into_iter().filter(|token| !token.is_comment()).collect()
}

/// Returns a statement without comments.
pub(super) fn plain(sql: &str) -> String {
    format!("{};", joined(sql, &without_comments(sql)))
}

/// Returns a statement of a table with comments for the row count and the expressions of the columns.
pub(super) fn table(table: &Table, rows: u64, expressions: &[Option<String>]) -> String {
    let sql = &table.sql;
    if table.is_virtual {
        return virtual_table(table, rows, expressions);
    }
    let Some(declaration) = Declaration::of(sql) else { return plain(sql) };
    let (head, items, end) = declaration.lines();
    let mut columns = expressions.iter();
    let line = |(index, item): (usize, &&[Token])| {
        let is_column = index < declaration.column_count();
        let expression = if is_column { columns.next().and_then(Option::as_deref) } else { None };
        (joined(sql, item), expression)
    };
    let lines = items.iter().enumerate().map(line).collect();
    commented(&joined(sql, head), rows, lines) + &joined(sql, end) + ";"
}

/// Returns a CREATE VIRTUAL TABLE statement with comments. The arguments that are columns have the names of the columns, in their order.
fn virtual_table(table: &Table, rows: u64, expressions: &[Option<String>]) -> String {
    let sql = &table.sql;
    let Parts { head, arguments } = Parts::of(sql);
    let mut columns = table.columns.iter().zip(expressions).peekable();
    let mut lines = Vec::new();
    for argument in arguments.iter().filter(|argument| !argument.is_empty()) {
        let name = argument[0].name(sql).unwrap_or_default();
        let column = columns.next_if(|(column, _)| column.name.eq_ignore_ascii_case(&name));
        lines.push((joined(sql, argument), column.and_then(|(_, expression)| expression.as_deref())));
    }
    // A table of FTS3 or FTS4 without columns has a column that the statement does not name.
    let is_unnamed = table.columns.len() == 1 && table.columns[0].name == "content";
    let unnamed = columns.filter(|_| is_unnamed);
    let unnamed = unnamed.map(|(column, expression)| (quoted(&column.name), expression.as_deref()));
    let lines = unnamed.chain(lines).collect();
    commented(&joined(sql, &head), rows, lines) + ");"
}

/// Returns the text of a statement before its closing parenthesis: `head`, a comment with the row count, and `lines`, each with the
/// generator's expression for the column as a comment, if it has one.
fn commented(head: &str, rows: u64, mut lines: Vec<(String, Option<&str>)>) -> String {
    let last = lines.len().saturating_sub(1);
    lines[..last].iter_mut().for_each(|(line, _)| line.push(','));
    let width = lines.iter().filter(|line| line.1.is_some()).map(|line| line.0.chars().count());
    let width = width.filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0);
    let mut text = format!("{head} (  -- rows: {rows}\n");
    for (line, expression) in lines {
        // Writing to a `String` can't fail.
        let _ = match expression {
            Some(expression) => writeln!(text, "  {line:width$}  -- gen: {expression}"),
            None => writeln!(text, "  {line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqluice_core::schema::Schema;

    #[test]
    fn profiled_columns_get_generator_comments_and_lose_other_comments() {
        let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, -- secret\n \"a,b\" DECIMAL(10, 2) CHECK (\"a,b\" IN (1, 2)),c, UNIQUE (c, id)) STRICT";
        let sql = sql.replace("STRICT", "WITHOUT ROWID");
        let schema = Schema::parse(sql, "s".as_ref()).unwrap();
        let expressions = [None, Some("int(1, 2)".to_owned()), Some("row()".to_owned())];
        let text = table(&schema.tables[0], 7, &expressions);
        let expected = "CREATE TABLE t (  -- rows: 7\n  id INTEGER PRIMARY KEY,\n  \
            \"a,b\" DECIMAL(10, 2) CHECK (\"a,b\" IN (1, 2)),  -- gen: int(1, 2)\n  \
            c,                                             -- gen: row()\n  UNIQUE (c, id)\n) WITHOUT ROWID;";
        assert_eq!(text, expected);
    }
}
