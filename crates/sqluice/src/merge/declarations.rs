//! Tables that sources declare differently. If the declarations differ only by added columns, a joined declaration has the columns of all
//! sources.
//!
//! ```text
//!  a.db   CREATE TABLE t (id INTEGER PRIMARY KEY, zip TEXT NOT NULL)
//!  b.db   CREATE TABLE t (id INTEGER PRIMARY KEY, zip VARCHAR(9) NOT NULL, born INT CHECK (born > 1900))
//!  result CREATE TABLE t (id INTEGER PRIMARY KEY, zip TEXT NOT NULL, born INT CHECK (born > 1900))
//! ```
//!
//! Columns and constraints that all sources have must store and accept the same values. A column or
//! constraint that one source adds is copied with its whole text.

use std::collections::HashSet;

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::declaration::{Constraint, ConstraintKind, Declaration, DeclaredColumn};
use sqluice_core::schema::index::IndexOrigin;
use sqluice_core::schema::token::same;
use sqluice_core::schema::{Column, Schema, Table};

use super::sources::{Shared, Source};

/// The declaration of a table with the columns of all sources.
pub(super) struct Joined {
    /// The CREATE TABLE statement.
    pub(super) sql: String,
    /// Notes about differences that change no value.
    pub(super) notes: Vec<String>,
}

/// A column as its CREATE TABLE statement declares it, and as SQLite's PRAGMAs describe it.
type BothColumns<'s> = (DeclaredColumn<'s>, &'s Column);

/// The declaration of a table in one source.
struct Declared<'s> {
    /// The name of the source for messages.
    name: String,
    table: &'s Table,
    columns: Vec<BothColumns<'s>>,
    constraints: Vec<Constraint<'s>>,
    declaration: Declaration<'s>,
}

impl<'s> Declared<'s> {
    fn of(source: &'s Source, name: &str) -> Result<Declared<'s>> {
        let unreadable = || Error::input(format!("table {name} of {} can't be read", source.name()));
        let table = source.schema.table(name).ok_or_else(unreadable)?;
        let declaration = Declaration::of(&table.sql).ok_or_else(unreadable)?;
        let declared = declaration.columns();
        let of_catalogue = declared.iter().map(|declared| {
            let column = table.column(&declared.name).ok_or_else(unreadable)?;
            Ok(&table.columns[column])
        });
        let of_catalogue = of_catalogue.collect::<Result<Vec<_>>>()?;
        let columns = declared.into_iter().zip(of_catalogue).collect();
        let constraints = declaration.constraints();
        Ok(Declared { name: source.name(), table, columns, constraints, declaration })
    }

    fn column(&self, name: &str) -> Option<&BothColumns<'s>> {
        self.columns.iter().find(|(declared, _)| declared.name.eq_ignore_ascii_case(name))
    }

    /// Returns the names of the columns that a constraint is about, in lower case.
    fn columns_of(&self, constraint: &Constraint<'_>) -> HashSet<String> {
        let own = constraint.column.iter().cloned();
        let names = constraint.columns.iter().filter(|name| self.column(name).is_some()).cloned();
        names.chain(own).collect()
    }

    /// Returns the constraints that are only about columns that `other` also has.
    fn shared_constraints(&self, other: &Declared<'_>) -> Vec<&Constraint<'s>> {
        let is_shared = |constraint: &&Constraint<'_>| {
            let columns = self.columns_of(constraint);
            columns.iter().all(|name| other.column(name).is_some())
        };
        self.constraints.iter().filter(is_shared).collect()
    }
}

/// Returns the joined declaration of a table, which has the columns of all sources, or `None` if all declarations are the same.
/// `with_rows` are the sources that have rows of the table.
///
/// # Errors
/// If sources would store or accept different values in the columns that they share, or rows of a source have no value for a column that
/// must have one.
pub(super) fn joined(sources: &[Source], object: &Shared, with_rows: &[usize]) -> Result<Option<Joined>> {
    let sql_of = |(source, at): (usize, usize)| sources[source].objects[at].sql.as_deref().unwrap_or("");
    let first = object.members[0];
    // Sources with the same declaration are compared only once.
    let mut seen = HashSet::new();
    let others: Vec<usize> = (object.members.iter())
        .filter(|&&member| seen.insert(sql_of(member)) && !same(sql_of(first), sql_of(member)))
        .map(|(source, _)| *source)
        .collect();
    if others.is_empty() {
        return Ok(None);
    }
    let declared = |source: usize| Declared::of(&sources[source], &object.name);
    let first = declared(first.0)?;
    let others = others.into_iter().map(declared).collect::<Result<Vec<_>>>()?;
    let (mut refused, mut notes) = (Vec::new(), Vec::new());
    // The columns and constraints to add to the first declaration, each column with the first source that has it.
    let mut columns: Vec<(&Declared<'_>, &BothColumns<'_>)> = Vec::new();
    let mut constraints: Vec<&Constraint<'_>> = Vec::new();
    for (place, other) in others.iter().enumerate() {
        compare(&first, other, &mut refused, &mut notes);
        for column in other.columns.iter().filter(|(column, _)| first.column(&column.name).is_none()) {
            let known =
                columns.iter().find(|(_, (known, _))| known.name.eq_ignore_ascii_case(&column.0.name));
            match known {
                Some((of, known)) => compare_columns((*of, known), (other, column), &mut refused, &mut notes),
                None => columns.push((other, column)),
            }
        }
        let shared = other.shared_constraints(&first);
        for constraint in other.constraints.iter().filter(|one| !shared.iter().any(|known| known == one)) {
            // Skip what needs no clause of its own: the constraint of an added column, which is copied with the column's declaration, and a
            // PRIMARY KEY, which `compare` has checked.
            let is_apart = constraint.column.as_ref().is_none_or(|name| first.column(name).is_some());
            let is_known = constraints.iter().any(|known| known.says == constraint.says);
            if is_apart && !is_known && constraint.kind != ConstraintKind::PrimaryKey {
                constraints.push(constraint);
            }
        }
        // Compare the columns that this source shares with an earlier source, but not with the first.
        for before in &others[..place] {
            compare_constraints(before, other, &mut refused);
        }
    }
    refuse_missing_values((sources, object, with_rows), &first, &columns, &mut refused);
    let texts: Vec<&str> = columns.iter().map(|(_, (column, _))| column.text).collect();
    let more: Vec<&str> = constraints.iter().map(|constraint| constraint.text).collect();
    let sql = first.declaration.with(&texts, &more);
    if refused.is_empty() {
        refuse_new_keys(&sql, sources, object, &mut refused)?;
    }
    dedup(&mut refused);
    dedup(&mut notes);
    match refused.is_empty() {
        true => Ok(Some(Joined { sql, notes })),
        false => Err(Error::input(format!("table {} can't be merged: {}", object.name, refused.join("; ")))
            .hint("only columns that a source lacks can be added; change the declaration in one of them")),
    }
}

fn dedup(texts: &mut Vec<String>) {
    let mut seen = HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
}

/// Compares the shared columns of a table in two sources.
fn compare(one: &Declared<'_>, other: &Declared<'_>, refused: &mut Vec<String>, notes: &mut Vec<String>) {
    let before = (refused.len(), notes.len());
    let flags = [
        ("STRICT", one.table.strict, other.table.strict),
        ("WITHOUT ROWID", one.table.without_rowid, other.table.without_rowid),
    ];
    for (word, of_one, _) in flags.into_iter().filter(|(_, of_one, of_other)| of_one != of_other) {
        let (with, without) = if of_one { (one, other) } else { (other, one) };
        refused.push(format!("it is {word} in {} and not in {}", with.name, without.name));
    }
    for column in &one.columns {
        if let Some(of_other) = other.column(&column.0.name) {
            compare_columns((one, column), (other, of_other), refused, notes);
        }
    }
    compare_constraints(one, other, refused);
    let alias = |declared: &Declared<'_>| {
        declared.table.rowid_alias.map(|alias| declared.table.columns[alias].name.to_ascii_lowercase())
    };
    if alias(one) != alias(other) && refused.len() == before.0 {
        let (with, without) = if alias(one).is_some() { (one, other) } else { (other, one) };
        let name = alias(with).unwrap_or_default();
        refused.push(format!("column {name} is the rowid in {} and not in {}", with.name, without.name));
    }
    if one.table.autoincrement != other.table.autoincrement {
        let (with, without) = if one.table.autoincrement { (one, other) } else { (other, one) };
        notes.push(format!("it is AUTOINCREMENT in {} and not in {}", with.name, without.name));
    }
    let has_all = |declared: &Declared<'_>, of: &Declared<'_>| {
        of.columns.iter().all(|(column, _)| declared.column(&column.name).is_some())
    };
    if before == (refused.len(), notes.len()) && has_all(one, other) && has_all(other, one) {
        notes.push(format!("{} declares it in other words than {}", other.name, one.name));
    }
}

fn compare_columns(
    (one, (of_one, catalogue_of_one)): (&Declared<'_>, &BothColumns<'_>),
    (other, (of_other, catalogue_of_other)): (&Declared<'_>, &BothColumns<'_>),
    refused: &mut Vec<String>,
    notes: &mut Vec<String>,
) {
    let name = &of_one.name;
    let differ = |list: &mut Vec<String>, in_one: &str, in_other: &str| {
        let word = |word: &str| if word.is_empty() { "nothing".to_owned() } else { word.to_owned() };
        list.push(format!(
            "column {name} is {} in {} and {} in {}",
            word(in_one),
            one.name,
            word(in_other),
            other.name
        ));
    };
    let types = [catalogue_of_one, catalogue_of_other].map(|column| &*column.declared_type);
    let typed = types.map(|word| if word.is_empty() { "without a type" } else { word });
    let is_strict = one.table.strict || other.table.strict;
    let same_strict = |one: &str, other: &str| {
        let plain = |word: &str| word.to_ascii_uppercase().replace("INTEGER", "INT");
        plain(one) == plain(other)
    };
    if catalogue_of_one.affinity != catalogue_of_other.affinity
        || (is_strict && !same_strict(types[0], types[1]))
    {
        differ(refused, typed[0], typed[1]);
    } else if !types[0].eq_ignore_ascii_case(types[1]) {
        differ(notes, typed[0], typed[1]);
    }
    let collation =
        |column: &DeclaredColumn<'_>| column.collation.clone().unwrap_or_else(|| "BINARY".to_owned());
    if collation(of_one) != collation(of_other) {
        let [one, other] = [of_one, of_other].map(|column| format!("COLLATE {}", collation(column)));
        differ(refused, &one, &other);
    }
    let not_null = |column: &DeclaredColumn<'_>| match &column.not_null {
        Some(says) => says.to_ascii_uppercase(),
        None => "allowed to be NULL".to_owned(),
    };
    if of_one.not_null != of_other.not_null {
        differ(refused, &not_null(of_one), &not_null(of_other));
    }
    let generated = |column: &DeclaredColumn<'_>| match &column.generated {
        Some(says) => format!("generated as {says}"),
        None => "not generated".to_owned(),
    };
    if of_one.generated != of_other.generated {
        differ(refused, &generated(of_one), &generated(of_other));
    }
    let default = |column: &DeclaredColumn<'_>| match &column.default {
        Some(says) => format!("DEFAULT {says}"),
        None => "without a DEFAULT".to_owned(),
    };
    if of_one.default != of_other.default {
        differ(notes, &default(of_one), &default(of_other));
    }
}

/// Compares the constraints that are only about columns that both declarations have.
fn compare_constraints(one: &Declared<'_>, other: &Declared<'_>, refused: &mut Vec<String>) {
    let (of_one, of_other) = (one.shared_constraints(other), other.shared_constraints(one));
    let has = |list: &[&Constraint<'_>], wanted: &Constraint<'_>| {
        list.iter().any(|known| (known.kind, &known.says) == (wanted.kind, &wanted.says))
    };
    for (with, without, list, others) in [(one, other, &of_one, &of_other), (other, one, &of_other, &of_one)]
    {
        for constraint in list.iter().filter(|constraint| !has(others, constraint)) {
            let of_column =
                constraint.column.as_ref().map_or(String::new(), |name| format!(" of column {name}"));
            let text = constraint.text.split_whitespace().collect::<Vec<_>>().join(" ");
            refused.push(format!("{text}{of_column} is in {} and not in {}", with.name, without.name));
        }
        // A primary key with a column that the other declaration lacks is refused, too.
        let keys = with.constraints.iter().filter(|one| one.kind == ConstraintKind::PrimaryKey);
        for key in keys.filter(|key| !list.iter().any(|known| known == key)) {
            let text = key.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let of_column = key.column.as_ref().map_or(String::new(), |name| format!(" of column {name}"));
            refused.push(format!(
                "{text}{of_column} is in {}, and {} lacks a column of it",
                with.name, without.name
            ));
        }
    }
}

/// Adds an error to `refused` for each NOT NULL column without a DEFAULT that a source with rows lacks.
fn refuse_missing_values<'d>(
    (sources, object, with_rows): (&[Source], &Shared, &[usize]),
    first: &Declared<'_>,
    added: &[(&'d Declared<'d>, &'d BothColumns<'d>)],
    refused: &mut Vec<String>,
) {
    let own = first.columns.iter().map(|column| (first, column));
    let all = own.chain(added.iter().map(|(declared, column)| (*declared, *column)));
    for (declared, (column, _)) in all {
        let has_value = match column.default.as_deref() {
            None | Some("null") => column.generated.is_some(),
            Some(_) => true,
        };
        if column.not_null.is_none() || has_value {
            continue;
        }
        let lacks = |source: &&usize| {
            let table = sources[**source].schema.table(&object.name);
            table.is_some_and(|table| table.column(&column.name).is_none())
        };
        if let Some(source) = with_rows.iter().find(lacks) {
            refused.push(format!(
                "column {} is NOT NULL without a DEFAULT in {}, and the rows of {} lack it",
                column.name,
                declared.name,
                sources[*source].name()
            ));
        }
    }
}

/// Adds an error to `refused` if the result has an automatic index that no source has, because a key has an added column.
fn refuse_new_keys(sql: &str, sources: &[Source], object: &Shared, refused: &mut Vec<String>) -> Result<()> {
    let schema = Schema::parse(format!("{sql};"), &sources[0].schema.file)?;
    let Some(table) = schema.table(&object.name) else { return Ok(()) };
    let is_known = |name: &str| {
        object.members.iter().any(|(source, _)| {
            let table = sources[*source].schema.table(&object.name);
            table.is_some_and(|table| table.indexes.iter().any(|index| index.name.eq_ignore_ascii_case(name)))
        })
    };
    let automatic = table.indexes.iter().filter(|index| index.origin != IndexOrigin::Statement);
    if automatic.into_iter().any(|index| !is_known(&index.name)) {
        refused.push("sources have UNIQUE columns that others lack".to_owned());
    }
    Ok(())
}
