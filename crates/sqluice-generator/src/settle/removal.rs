//! Removes constraints from the text of a schema. Comments stay.

use std::collections::HashSet;
use std::ops::Range;

use sqluice_core::schema::declaration::{Constraint as Declared, ConstraintKind, Declaration};
use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::token::{Token, tokens};
use sqluice_core::schema::{Schema, Table};

use super::Unkept;
use super::rules::Constraint;

/// Returns the statements of a schema without the constraints `unkept`, and all removed constraints: foreign keys that refer to a removed
/// key are removed, too. A unique index becomes an index that is not unique.
pub fn without(schema: &Schema, unkept: &[Unkept]) -> (String, Vec<Unkept>) {
    let mut removed: Vec<Unkept> = Vec::new();
    let mut open = unkept.to_vec();
    while let Some(one) = open.pop() {
        if !removed.contains(&one) {
            open.extend(referring(schema, &one));
            removed.push(one);
        }
    }
    removed.sort_by_key(|one| one.table);
    let sql = &schema.sql;
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let starts = schema.declared_tables();
    for (number, table) in schema.tables.iter().enumerate() {
        let of: Vec<&Constraint> =
            removed.iter().filter(|one| one.table == number).map(|one| &one.constraint).collect();
        let body = table.sql.find('(').unwrap_or(0);
        let start = starts.get(&table.name.to_ascii_lowercase()).copied().unwrap_or(0);
        if let Some(at) = sql.get(start..).and_then(|rest| rest.find(&table.sql[body..])) {
            let shift = start + at;
            let moved = |cut: Range<usize>| cut.start + shift - body..cut.end + shift - body;
            cuts.extend(cuts_of_table(table, &of).into_iter().map(moved));
        }
    }
    let indexes: HashSet<String> = removed
        .iter()
        .filter_map(|one| match &one.constraint {
            Constraint::Index(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect();
    cuts.extend(cuts_of_indexes(sql, &indexes));
    cuts.sort_by_key(|cut| cut.start);
    let mut text = String::new();
    let mut at = 0;
    for cut in cuts {
        if cut.start >= at {
            text += &sql[at..cut.start];
            at = cut.end;
        }
    }
    (text + &sql[at..], removed)
}

/// Returns the foreign keys that refer to a key.
fn referring(schema: &Schema, one: &Unkept) -> Vec<Unkept> {
    let parent = &schema.tables[one.table];
    let mut key: Vec<usize> = match &one.constraint {
        Constraint::Key(columns) => columns.clone(),
        Constraint::Index(name) => {
            let index = parent.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name));
            let column = |value| if let Indexed::Column(column) = value { Some(column) } else { None };
            let columns = index.map(|index| {
                index.columns[..index.key_columns]
                    .iter()
                    .map(|it| column(it.value))
                    .collect::<Option<Vec<_>>>()
            });
            columns.flatten().unwrap_or_default()
        }
        Constraint::Check(_) | Constraint::Foreign(_) => Vec::new(),
    };
    key.sort_unstable();
    let mut found = Vec::new();
    for (table, child) in schema.tables.iter().enumerate() {
        for (number, reference) in child.references.iter().enumerate() {
            let columns = match reference.parent_columns.is_empty() {
                true => parent.primary_key(),
                false => reference.parent_columns.iter().map(|name| parent.column(name)).collect(),
            };
            let mut columns: Vec<usize> = columns.unwrap_or_default();
            columns.sort_unstable();
            if !key.is_empty() && columns == key && reference.parent.eq_ignore_ascii_case(&parent.name) {
                found.push(Unkept { table, constraint: Constraint::Foreign(number) });
            }
        }
    }
    found
}

/// Returns the byte ranges of a CREATE TABLE statement that declare the constraints to remove.
fn cuts_of_table(table: &Table, removed: &[&Constraint]) -> Vec<Range<usize>> {
    let sql = &table.sql;
    let mut cuts = Vec::new();
    let Some(declaration) = Declaration::of(sql) else { return cuts };
    let list: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    for constraint in declaration.constraints() {
        if !removed.iter().any(|one| is_same(table, &constraint, one)) {
            continue;
        }
        let start = constraint.text.as_ptr() as usize - sql.as_ptr() as usize;
        let end = start + constraint.text.len();
        let Some(first) = list.iter().position(|token| token.at.start >= start) else { continue };
        let mut next = list.iter().position(|token| token.at.start >= end).unwrap_or(list.len());
        if list.get(next).is_some_and(|token| token.is_word(sql, "ON"))
            && list.get(next + 1).is_some_and(|token| token.is_word(sql, "CONFLICT"))
        {
            next += 3;
        }
        let is_named = first >= 2 && list[first - 2].is_word(sql, "CONSTRAINT");
        let first = if is_named { first - 2 } else { first };
        cuts.push(list[first].at.start..list[next - 1].at.end);
        let is_symbol =
            |at: usize, symbol: &str| list.get(at).is_some_and(|token| token.is_symbol(sql, symbol));
        if first > 0 && is_symbol(first - 1, ",") && (is_symbol(next, ",") || is_symbol(next, ")")) {
            cuts.push(list[first - 1].at.clone());
        }
        if constraint.kind == ConstraintKind::PrimaryKey && table.without_rowid {
            cuts.extend(cut_of_rowid(sql, &list));
        }
    }
    cuts
}

/// Returns the byte range of the option WITHOUT ROWID and of a comma beside the option; `None` if the table does not have the option. A
/// table whose PRIMARY KEY is removed must have rowids.
fn cut_of_rowid(sql: &str, list: &[Token]) -> Option<Range<usize>> {
    let at = list.iter().rposition(|token| token.is_word(sql, "WITHOUT"))?;
    let last = list.get(at + 1)?;
    let is_comma = |at: usize| list.get(at).is_some_and(|token| token.is_symbol(sql, ","));
    Some(match (is_comma(at - 1), is_comma(at + 2)) {
        (true, _) => list[at - 1].at.start..last.at.end,
        (_, true) => list[at].at.start..list[at + 2].at.end,
        _ => list[at].at.start..last.at.end,
    })
}

/// Returns `true` if the declared constraint is the removed one.
fn is_same(table: &Table, declared: &Declared<'_>, removed: &Constraint) -> bool {
    let names = |columns: &[usize]| -> Vec<String> {
        let mut names: Vec<String> =
            columns.iter().map(|column| table.columns[*column].name.to_ascii_lowercase()).collect();
        names.sort_unstable();
        names
    };
    let mut columns = declared.columns.clone();
    columns.sort_unstable();
    match (removed, declared.kind) {
        (Constraint::Check(text), ConstraintKind::Check) => declared.text == text,
        (Constraint::Key(key), ConstraintKind::PrimaryKey | ConstraintKind::Unique) => columns == names(key),
        (Constraint::Foreign(number), ConstraintKind::References) => {
            let reference = &table.references[*number];
            let list = tokens(declared.text);
            let list: Vec<&Token> = list.iter().filter(|token| !token.is_comment()).collect();
            let at = list.iter().position(|token| token.is_word(declared.text, "REFERENCES"));
            let parent = at.and_then(|at| list.get(at + 1)?.name(declared.text));
            columns == names(&reference.columns)
                && parent.is_some_and(|parent| parent.eq_ignore_ascii_case(&reference.parent))
        }
        _ => false,
    }
}

/// Returns the byte ranges of the word UNIQUE in the CREATE INDEX statements of these indexes.
fn cuts_of_indexes(sql: &str, names: &HashSet<String>) -> Vec<Range<usize>> {
    let list: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let mut cuts = Vec::new();
    for (at, token) in list.iter().enumerate() {
        let is_index = list.get(at + 1).is_some_and(|next| next.is_word(sql, "INDEX"));
        if !token.is_word(sql, "UNIQUE") || !is_index {
            continue;
        }
        let mut name = at + 2;
        if list.get(name).is_some_and(|token| token.is_word(sql, "IF")) {
            name += 3;
        }
        if list.get(name + 1).is_some_and(|token| token.is_symbol(sql, ".")) {
            name += 2;
        }
        let name = list.get(name).and_then(|token| token.name(sql));
        if name.is_some_and(|name| names.contains(&name.to_ascii_lowercase())) {
            cuts.push(token.at.clone());
        }
    }
    cuts
}
