//! Parses references that the user gives, such as `visits.place_id=places.id`, and builds the question about references that were found.

use std::collections::HashMap;

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::schema::{Table, quoted, token};
use sqluice_core::similar;

use super::{ColumnReference, Share};

/// A parser of the names of tables and columns.
pub(crate) struct Names<'t> {
    tables: Vec<&'t Table>,
    /// The positions of the tables by their names in lower case.
    places: HashMap<String, usize>,
}

impl<'t> Names<'t> {
    /// Creates a parser for the names of these tables.
    pub(crate) fn new(tables: Vec<&'t Table>) -> Names<'t> {
        let place = |(place, table): (usize, &&Table)| (table.name.to_ascii_lowercase(), place);
        let places = tables.iter().enumerate().map(place).collect();
        Names { tables, places }
    }

    /// Returns the position of the table and the position in it of the column that `table.column` names; `None` if no table has the column.
    /// Names may be in quotes.
    pub(crate) fn find(&self, text: &str) -> Option<(usize, usize)> {
        text.match_indices('.').find_map(|(dot, _)| {
            let table = *self.places.get(&unquoted(&text[..dot]).to_ascii_lowercase())?;
            Some((table, self.tables[table].column(&unquoted(&text[dot + 1..]))?))
        })
    }

    /// Returns the column that `table.column` names.
    ///
    /// # Errors
    /// If no table has this column.
    pub(crate) fn column(&self, text: &str) -> Result<(usize, usize)> {
        self.find(text).ok_or_else(|| {
            let tables = self.tables.iter();
            let all: Vec<String> = tables
                .flat_map(|table| (0..table.columns.len()).map(|column| name_of(table, column)))
                .collect();
            unknown_column(text, &all)
        })
    }

    /// Parses `child.column=parent.key`, or `child.column=parent`.
    ///
    /// # Errors
    /// If the text is not a reference to a key.
    pub(crate) fn reference(&self, text: &str) -> Result<ColumnReference> {
        let halves = || text.match_indices('=').map(|(at, _)| (&text[..at], &text[at + 1..]));
        let found = halves().find_map(|(left, right)| {
            let ((child, column), parent) = (self.find(left)?, right);
            let named = self.find(parent).map(|(parent, key)| (parent, Some(key)));
            let whole = || {
                let table = *self.places.get(&unquoted(parent).to_ascii_lowercase())?;
                let key = self.tables[table].primary_key().filter(|key| key.len() == 1);
                Some((table, key.map(|key| key[0])))
            };
            let (parent, key) = named.or_else(whole)?;
            Some((child, column, parent, key))
        });
        let Some((child, column, parent, key)) = found else {
            let Some((left, right)) = halves().next() else {
                return Err(Error::usage(format!("{text} is not a reference"))
                    .hint("write TABLE.COLUMN=TABLE.COLUMN, such as visits.place_id=places.id"));
            };
            self.column(left)?;
            return Err(self
                .column(right)
                .err()
                .unwrap_or_else(|| Error::usage(format!("{text} is not a reference"))));
        };
        let table = self.tables[parent];
        let is_key = |key: &usize| table.unique_keys().iter().any(|unique| unique[..] == [*key]);
        match key.filter(is_key) {
            Some(key) if (child, column) != (parent, key) => {
                Ok(ColumnReference { child, column, parent, key })
            }
            _ => Err(Error::usage(format!("{text} does not refer to a key of table {}", table.name))
                .hint("name its PRIMARY KEY, or a UNIQUE column")),
        }
    }
}

/// Returns the error for `text`, which is not the name of a column. `all` are the names of all columns.
fn unknown_column(text: &str, all: &[String]) -> Error {
    let near = similar::nearest(text, all.iter().map(String::as_str));
    let error = Error::usage(format!("no table has a column {text}"));
    match near {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint("name the table and the column: TABLE.COLUMN"),
    }
}

/// Returns `table.column`, in the syntax that [`Names::column`] parses.
pub(crate) fn name_of(table: &Table, column: usize) -> String {
    column_name(&table.name, &table.columns[column].name)
}

/// Returns `table.column`, with quotes around names that are not words.
pub(crate) fn column_name(table: &str, column: &str) -> String {
    let name = |name: &str| {
        let is_word =
            name.chars().all(|letter| letter.is_alphanumeric() || letter == '_') && !name.is_empty();
        if is_word { name.to_owned() } else { quoted(name) }
    };
    format!("{}.{}", name(table), name(column))
}

/// Returns a name without quotes.
pub(crate) fn unquoted(name: &str) -> String {
    match token::tokens(name).as_slice() {
        [only] if only.kind == token::TokenKind::QuotedName => only.name(name).unwrap_or_default(),
        _ => name.to_owned(),
    }
}

/// Refuses the setting `no_reference` for a column with a reference, declared or given by another setting (`is_given`).
pub(crate) fn refuse_no_reference(given: &str, table: &Table, column: usize, is_given: bool) -> Result<()> {
    let is_declared = table.references.iter().any(|reference| reference.columns.contains(&column));
    let how = match (is_declared, is_given) {
        (true, _) => "is declared as a reference",
        (false, true) => "is given as a reference, too",
        (false, false) => return Ok(()),
    };
    let name = name_of(table, column);
    Err(Error::usage(format!("{name} {how}")).hint(message!["leave out ", Setting::NoReference.to(given)]))
}

/// Describes found references, such as `visits.place_id (9 of 10 values are keys of places)`.
pub(crate) fn described(found: &[(ColumnReference, Share)], tables: &[&Table]) -> String {
    let describe = |(found, share): &(ColumnReference, Share)| {
        let child = name_of(tables[found.child], found.column);
        let parent = &tables[found.parent].name;
        format!("{child} ({} of {} values are keys of {parent})", share.keys, share.values)
    };
    found.iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// Returns the hint that asks the user about found references, in the order of their columns.
pub(crate) fn question(found: &[(ColumnReference, Share)], tables: &[&Table]) -> Message {
    let mut hint: Message = message!["say for each column if it is a reference: "];
    let of_columns =
        found.chunk_by(|(one, _), (other, _)| (one.child, one.column) == (other.child, other.column));
    for (number, of_column) in of_columns.enumerate() {
        hint.push(if number > 0 { "; " } else { "" });
        for (found, _) in of_column {
            let [child, key] = [(found.child, found.column), (found.parent, found.key)]
                .map(|(table, column)| name_of(tables[table], column));
            hint.push(Setting::Reference.to(format!("{child}={key}")));
            hint.push(" or ");
        }
        let found = of_column[0].0;
        hint.push(Setting::NoReference.to(name_of(tables[found.child], found.column)));
    }
    hint
}
