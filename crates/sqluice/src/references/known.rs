//! The references that a schema declares, and those that the user gives.

use std::collections::HashSet;

use sqluice_core::error::Result;
use sqluice_core::schema::Table;

use super::{ColumnReference, Names, refuse_no_reference};

/// The source of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The schema declares the reference.
    Declared,
    /// The user gave the reference.
    Given,
    /// Names and values show the reference.
    Found,
}

/// A reference from one table to another, or to itself. Tables are positions among the examined tables, columns are positions in their
/// table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The child table. Its referring columns are in `columns`.
    pub(crate) child: usize,
    pub(crate) columns: Vec<usize>,
    /// The parent table. Its referenced columns are in `keys`.
    pub(crate) parent: usize,
    pub(crate) keys: Vec<usize>,
    pub(crate) origin: Origin,
}

/// The known references of tables.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The declared references in the order of the tables, then the given references. None of them occurs twice.
    pub(crate) list: Vec<Reference>,
    /// The columns for which the user has given a reference, or has said that there is none.
    decided: HashSet<(usize, usize)>,
}

impl Origin {
    /// Returns the word for the origin in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Origin::Declared => "declared",
            Origin::Given => "given",
            Origin::Found => "found",
        }
    }
}

impl Reference {
    /// Returns the reference of a single column.
    pub(crate) fn of_column(reference: ColumnReference, origin: Origin) -> Reference {
        let ColumnReference { child, column, parent, key } = reference;
        Reference { child, columns: vec![column], parent, keys: vec![key], origin }
    }
}

impl Known {
    /// Returns the references that `tables` declare and that `references` give. Columns of `no_references` refer to nothing.
    ///
    /// # Errors
    /// If a name is unknown, a given reference names no key, or `no_references` names a column with a reference.
    pub(crate) fn new(tables: &[&Table], references: &[String], no_references: &[String]) -> Result<Known> {
        let mut known = Known::default();
        declared(tables).for_each(|reference| known.add(reference));
        let names = Names::new(tables.to_vec());
        for given in references {
            let reference = names.reference(given)?;
            known.decided.insert((reference.child, reference.column));
            known.add(Reference::of_column(reference, Origin::Given));
        }
        for given in no_references {
            let (child, column) = names.column(given)?;
            let is_given = !known.decided.insert((child, column));
            refuse_no_reference(given, tables[child], column, is_given)?;
        }
        Ok(known)
    }

    fn add(&mut self, reference: Reference) {
        let Reference { child, columns, parent, keys, .. } = &reference;
        let is_same = |known: &Reference| {
            (known.child, known.parent) == (*child, *parent)
                && (&known.columns, &known.keys) == (columns, keys)
        };
        if !self.list.iter().any(is_same) {
            self.list.push(reference);
        }
    }

    /// Returns the columns for which the user has given a reference, or has said that there is none.
    pub(crate) fn decided(&self) -> impl Iterator<Item = (usize, usize)> {
        self.decided.iter().copied()
    }

    /// Returns `true` if the user has given the parent of a column, or that the column refers to nothing.
    pub(crate) fn is_decided(&self, child: usize, column: usize) -> bool {
        self.decided.contains(&(child, column))
    }
}

/// Returns the declared references whose parents and keys exist.
fn declared(tables: &[&Table]) -> impl Iterator<Item = Reference> {
    let of_table = move |child: usize| {
        tables[child].references.iter().filter_map(move |reference| {
            let parent =
                tables.iter().position(|table| table.name.eq_ignore_ascii_case(&reference.parent))?;
            let keys = match &reference.parent_columns[..] {
                [] => tables[parent].primary_key()?,
                named => named.iter().map(|name| tables[parent].column(name)).collect::<Option<_>>()?,
            };
            let columns = reference.columns.clone();
            let is_whole = keys.len() == columns.len();
            is_whole.then_some(Reference { child, columns, parent, keys, origin: Origin::Declared })
        })
    };
    (0..tables.len()).flat_map(of_table)
}
