//! The statements of triggers, as far as they matter to full-text tables.
//!
//! The documentation of FTS5 has this form of a trigger that keeps a full-text table up to date:
//!
//! ```sql
//!  CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN
//!    INSERT INTO f(rowid, a, b) VALUES (new.id, new.a, new.b);
//!  END
//! ```

use sqluice_core::schema::token::{Token, tokens};
use sqluice_core::schema::virtual_table::VirtualTableSql;
use sqluice_core::schema::{Object, Schema};

/// Returns `true` if a trigger of a new database would do something for loaded rows: it fires for inserted rows, and does not only add them
/// to a full-text table, which gets all rows without it.
pub(crate) fn misses_loaded_rows(trigger: &Object, schema: &Schema) -> bool {
    let sql = trigger.sql.as_deref().unwrap_or_default();
    let is_filled = |name: &str| {
        schema.others.iter().any(|object| {
            let made = VirtualTableSql::of(object.sql.as_deref().unwrap_or_default());
            object.kind == "table"
                && object.name.eq_ignore_ascii_case(name)
                && made.module.eq_ignore_ascii_case("fts5")
                && made.option("content").is_some_and(|content| content.eq_ignore_ascii_case(&trigger.table))
        })
    };
    event(sql).is_none_or(|event| event == "INSERT")
        && documented(sql, &trigger.table).is_none_or(|(full_text, _)| !is_filled(&full_text))
}

/// Returns the event for which a trigger fires.
pub(crate) fn event(sql: &str) -> Option<&'static str> {
    let tokens = code(sql);
    let mut words = tokens.iter().skip(3);
    words.find_map(|token| ["INSERT", "DELETE", "UPDATE"].into_iter().find(|event| token.is_word(sql, event)))
}

/// Returns the tokens of a statement that are no comments.
pub(crate) fn code(sql: &str) -> Vec<Token> {
    tokens(sql).into_iter().filter(|token| !token.is_comment()).collect()
}

/// Returns the full-text table of a trigger of the documented form, and its columns, each with the column of the new row.
pub(crate) fn documented(sql: &str, table: &str) -> Option<(String, Vec<(String, String)>)> {
    let tokens = code(sql);
    let mut rest = &tokens[..];
    let words = |rest: &mut &[Token], expected: &[&str]| {
        let (head, tail) = rest.split_at_checked(expected.len())?;
        *rest = tail;
        head.iter().zip(expected).all(|(token, word)| token.is_word(sql, word)).then_some(())
    };
    let symbol = |rest: &mut &[Token], expected: &str| {
        let (token, tail) = rest.split_first()?;
        *rest = tail;
        token.is_symbol(sql, expected).then_some(())
    };
    let name = |rest: &mut &[Token]| {
        let (token, tail) = rest.split_first()?;
        *rest = tail;
        token.name(sql)
    };
    words(&mut rest, &["CREATE", "TRIGGER"])?;
    name(&mut rest)?;
    words(&mut rest, &["AFTER", "INSERT", "ON"])?;
    name(&mut rest).filter(|name| name.eq_ignore_ascii_case(table))?;
    if rest.first()?.is_word(sql, "FOR") {
        words(&mut rest, &["FOR", "EACH", "ROW"])?;
    }
    words(&mut rest, &["BEGIN", "INSERT", "INTO"])?;
    let full_text = name(&mut rest)?;
    let mut columns = Vec::new();
    symbol(&mut rest, "(")?;
    loop {
        columns.push(name(&mut rest)?);
        if rest.first()?.is_symbol(sql, ")") {
            break;
        }
        symbol(&mut rest, ",")?;
    }
    symbol(&mut rest, ")")?;
    words(&mut rest, &["VALUES"])?;
    symbol(&mut rest, "(")?;
    let mut pairs = Vec::new();
    for (number, column) in columns.into_iter().enumerate() {
        if number > 0 {
            symbol(&mut rest, ",")?;
        }
        words(&mut rest, &["NEW"])?;
        symbol(&mut rest, ".")?;
        pairs.push((column, name(&mut rest)?));
    }
    symbol(&mut rest, ")")?;
    symbol(&mut rest, ";")?;
    words(&mut rest, &["END"])?;
    rest.is_empty().then_some((full_text, pairs))
}
