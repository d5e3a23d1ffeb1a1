//! Removes literals from statements where the schema still works without them.
//!
//! | place | without the literal |
//! |---|---|
//! | DEFAULT | an empty text, an empty blob, or 0; a text that begins with `$`, such as a path in JSON, becomes `$` |
//! | CHECK | the CHECK is removed |
//! | view, trigger | as in DEFAULT, but a text of one character stays |
//! | generated column, name | unchanged |

use std::ops::Range;

use sqluice_core::schema::declaration::Declaration;
use sqluice_core::schema::token::{Token, tokens};

use super::literals::{Literal, LiteralKind, Names, literals};

/// Returns a view or a trigger without its literals. Texts of a single character stay, such as the character of ESCAPE.
pub(crate) fn stripped_body(sql: &str, names: &Names) -> String {
    let is_removed = |literal: &Literal| {
        literal.is_value
            && (literal.kind != LiteralKind::Text || literal.spelled.chars().count() > "'x'".len())
    };
    let removed = literals(sql, names).into_iter().filter(is_removed);
    edited(sql, removed.map(|literal| (literal.at.clone(), empty(&literal))).collect())
}

/// Returns a CREATE TABLE statement without CHECKs that have literals, and without the literals of its DEFAULTs. `may_lose_default` gets
/// the name of a column and the text of its DEFAULT, and returns `true` if the literals of the DEFAULT may be removed.
pub(crate) fn stripped_table(
    sql: &str,
    names: &Names,
    may_lose_default: impl Fn(&str, &str) -> bool,
) -> String {
    let found: Vec<Literal> = literals(sql, names).into_iter().filter(|literal| literal.is_value).collect();
    let Some(declaration) = Declaration::of(sql) else { return sql.to_owned() };
    let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let within = |at: &Range<usize>| {
        found.iter().filter(|literal| at.contains(&literal.at.start)).collect::<Vec<&Literal>>()
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for check in checks(sql, &tokens) {
        if !within(&check).is_empty() {
            edits.push((check, String::new()));
        }
    }
    let (_, items, _) = declaration.lines();
    for column in &items[..declaration.column_count()] {
        let Some(name) = column.first().and_then(|token| token.name(sql)) else { continue };
        for default in defaults(sql, column) {
            let of_default = within(&default);
            if !of_default.is_empty() && may_lose_default(&name, &spelled(sql, &default, &of_default)) {
                edits.extend(of_default.into_iter().map(|literal| (literal.at.clone(), empty(literal))));
            }
        }
    }
    edited(sql, edits)
}

/// Returns the value that replaces a literal.
fn empty(literal: &Literal) -> String {
    match literal.kind {
        LiteralKind::Text if literal.spelled.starts_with("'$") => "'$'",
        LiteralKind::Text => "''",
        LiteralKind::Blob => "x''",
        LiteralKind::Number => "0",
    }
    .to_owned()
}

/// Returns a range of a statement in which the texts in double quotes are written in single quotes.
fn spelled(sql: &str, at: &Range<usize>, inside: &[&Literal]) -> String {
    let edits = inside
        .iter()
        .map(|literal| (literal.at.start - at.start..literal.at.end - at.start, literal.spelled.clone()));
    edited(&sql[at.clone()], edits.collect())
}

/// Returns a text with some ranges replaced.
fn edited(sql: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(at, _)| at.start);
    let mut text = String::with_capacity(sql.len());
    let mut end = 0;
    for (at, with) in edits {
        text += &sql[end..at.start];
        text += &with;
        end = at.end;
    }
    text + &sql[end..]
}

/// Returns the position after the group of parentheses that begins at a token.
fn end_of_group(sql: &str, tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        depth += i32::from(token.is_symbol(sql, "("));
        depth -= i32::from(token.is_symbol(sql, ")"));
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the range of each CHECK constraint, with its name. If the constraint is a separate item of the list, the range also has the
/// comma before it.
fn checks(sql: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let is = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| token.is_word(sql, word) || token.is_symbol(sql, word))
    };
    let mut found = Vec::new();
    for at in (1..tokens.len()).filter(|&at| is(at, "CHECK") && is(at + 1, "(")) {
        let mut begin = if at >= 2 && is(at - 2, "CONSTRAINT") { at - 2 } else { at };
        let mut end = end_of_group(sql, tokens, at + 1);
        if is(end, "ON") && is(end + 1, "CONFLICT") {
            end += 3;
        }
        if begin > 0 && is(begin - 1, ",") && (is(end, ",") || is(end, ")")) {
            begin -= 1;
        }
        let last = end.min(tokens.len()) - 1;
        found.push(tokens[begin].at.start..tokens[last].at.end);
    }
    found
}

/// Returns the range of the value of each DEFAULT in a column's declaration.
fn defaults(sql: &str, column: &[Token]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for at in 1..column.len() {
        if !column[at].is_word(sql, "DEFAULT") || column[at - 1].is_word(sql, "SET") {
            continue;
        }
        let Some(next) = column.get(at + 1) else { continue };
        let end = match next.text(sql) {
            "(" => end_of_group(sql, column, at + 1),
            "+" | "-" => at + 3,
            _ => at + 2,
        };
        found.push(next.at.start..column[end.min(column.len()) - 1].at.end);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn checks_with_literals_are_removed_and_default_values_become_empty() {
        let sql = "CREATE TABLE t (a TEXT DEFAULT \"Ann\" CONSTRAINT n CHECK (a <> 'Bob') ON CONFLICT IGNORE NOT NULL, b INT DEFAULT -12345, \
            c DEFAULT ('x' || \"Cid\"), d AS (a || 'Dee'), CHECK (b > 0), CONSTRAINT m CHECK (c <> \"Eve\"), CHECK (a <> 'Fay') UNIQUE (a))";
        let made = stripped_table(sql, &Names::default(), |_, _| true);
        let expected = "CREATE TABLE t (a TEXT DEFAULT ''  NOT NULL, b INT DEFAULT -0, c DEFAULT ('' || ''), d AS (a || 'Dee'), \
            CHECK (b > 0),  UNIQUE (a))";
        assert_eq!(made, expected);
        Connection::open_in_memory().unwrap().execute_batch(&made).unwrap();
        let kept = stripped_table(sql, &Names::default(), |column, default| {
            assert!(["'Ann'", "-12345", "('x' || 'Cid')"].contains(&default), "{default}");
            column == "b"
        });
        assert!(
            kept.contains("DEFAULT \"Ann\"") && kept.contains("DEFAULT -0") && !kept.contains("Bob"),
            "{kept}"
        );
    }

    #[test]
    fn literals_in_views_become_empty_except_for_names_and_single_characters() {
        let sql = "CREATE VIEW v AS SELECT a AS 'Alias', json_extract(a, '$.Ann') FROM t WHERE a LIKE 'Bob\\%' ESCAPE '\\' AND b > 100000 AND c = x'00ff'";
        let expected = "CREATE VIEW v AS SELECT a AS 'Alias', json_extract(a, '$') FROM t WHERE a LIKE '' ESCAPE '\\' AND b > 0 AND c = x''";
        assert_eq!(stripped_body(sql, &Names::default()), expected);
    }
}
