//! Finds the columns that SQLite computes from masked columns. They get new values without a mask of their own.

use sqluice_core::schema::Table;
use sqluice_core::schema::declaration::Declaration;
use sqluice_core::schema::token::{Token, TokenKind, tokens};

/// Returns, for each column of a table, `true` if SQLite computes the column from a masked column, directly or through other columns.
pub(super) fn computed_of_masked(table: &Table, is_masked: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut follows = vec![false; table.columns.len()];
    if table.columns.iter().all(|column| column.generated.is_none()) {
        return follows;
    }
    let Some(declaration) = Declaration::of(&table.sql) else { return follows };
    let sources: Vec<(usize, Vec<usize>)> = declaration
        .columns()
        .iter()
        .filter_map(|declared| {
            Some((table.column(&declared.name)?, named(table, declared.generated.as_deref()?)))
        })
        .collect();
    // Repeat, because a computed column may use one that is declared later.
    for _ in 0..sources.len() {
        for (column, of) in &sources {
            follows[*column] |= of.iter().any(|&source| is_masked(source) || follows[source]);
        }
    }
    follows
}

/// Returns the positions in the table of the columns that an expression names.
fn named(table: &Table, expression: &str) -> Vec<usize> {
    let tokens = tokens(expression);
    let is_function =
        |place: usize| tokens.get(place + 1).is_some_and(|next| next.is_symbol(expression, "("));
    let may_be_name =
        |(place, token): &(usize, &Token)| token.kind != TokenKind::String && !is_function(*place);
    let names = tokens.iter().enumerate().filter(may_be_name);
    names.filter_map(|(_, token)| table.column(&token.name(expression)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqluice_core::schema::Schema;

    #[test]
    fn columns_computed_from_masked_columns_are_found_through_other_computed_columns() {
        let sql = "CREATE TABLE t (a, lower, b AS (d || 'a'), c AS (lower(\"A\")) STORED, d AS (upper(c)), e AS (lower || 'a'))";
        let schema = Schema::parse(sql, "s".as_ref()).unwrap();
        let of = |masked: usize| computed_of_masked(&schema.tables[0], |column| column == masked);
        assert_eq!(of(0), [false, false, true, true, true, false]);
        assert_eq!(of(1), [false, false, false, false, false, true]);
    }
}
