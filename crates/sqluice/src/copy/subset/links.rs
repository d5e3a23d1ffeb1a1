//! Finds the references between tables: declared by the schema, given by the user, or suggested by names and values.

use rusqlite::Connection;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Table, quoted};
use sqluice_reader::connection::unreadable;

use crate::copy::Opened;
use crate::references::{Known, Origin, Reference, by_name, share_of_keys};

/// The known references between copied tables, and a search for references that neither the schema nor the user declares.
pub(super) struct Links<'a> {
    opened: &'a Opened,
    tables: Vec<&'a Table>,
    known: Known,
}

impl<'a> Links<'a> {
    /// Returns the declared and given references between copied tables.
    ///
    /// # Errors
    /// If a given reference is not valid.
    pub(super) fn new(opened: &'a Opened) -> Result<Links<'a>> {
        let tables: Vec<&Table> = opened.schema.tables.iter().collect();
        let copy = &opened.settled.copy;
        let known = Known::new(&tables, &copy.references, &copy.no_references)?;
        let mut links = Links { opened, tables, known };
        let list = std::mem::take(&mut links.known.list);
        let is_copied = |link: &Reference| links.is_copied(link.child) && links.is_copied(link.parent);
        let list = list.into_iter().filter(is_copied).collect();
        links.known.list = list;
        Ok(links)
    }

    /// Returns `true` if the rows of a table are copied.
    fn is_copied(&self, table: usize) -> bool {
        let name = &self.tables[table].name;
        let object = self.opened.objects.iter().find(|object| {
            object.kind == "table" && object.tree.is_some() && object.name.eq_ignore_ascii_case(name)
        });
        object.is_some_and(|object| self.opened.selection.has(object))
    }

    /// Returns the references to a table, including those that only names and values suggest.
    ///
    /// # Errors
    /// If the values can't be read.
    pub(super) fn to(
        &self,
        parent: usize,
        connection: &Connection,
        cancel: &Cancel,
    ) -> Result<Vec<Reference>> {
        let mut links: Vec<Reference> =
            self.known.list.iter().filter(|link| link.parent == parent).cloned().collect();
        for found in by_name(&self.tables, |table| table == parent) {
            if self.known.is_decided(found.child, found.column) || !self.is_copied(found.child) {
                continue;
            }
            cancel.check()?;
            let name = |table: usize, column: usize| -> (&str, &str) {
                (&self.tables[table].name, &self.tables[table].columns[column].name)
            };
            let share =
                share_of_keys(connection, name(found.child, found.column), name(found.parent, found.key));
            let share = share.map_err(|error| unreadable(self.opened.snapshot.name(), error))?;
            if share.is_enough() {
                links.push(Reference::of_column(found, Origin::Found));
            }
        }
        Ok(links)
    }

    /// Returns the table at a position in the schema.
    pub(super) fn table(&self, number: usize) -> &'a Table {
        self.tables[number]
    }
}

/// Returns an SQL condition: row `p` of the parent has the key to which row `c` of the child refers.
///
/// The values are compared as SQLite compares foreign keys: with the affinity and the collation of the parent's column. The sign before
/// the child's column removes the affinity of that column.
pub(super) fn matches(reference: &Reference, child: &Table, parent: &Table) -> String {
    let equal = reference.columns.iter().zip(&reference.keys).map(|(column, key)| {
        format!("p.{} = +c.{}", quoted(&parent.columns[*key].name), quoted(&child.columns[*column].name))
    });
    equal.collect::<Vec<_>>().join(" AND ")
}

/// Returns an SQL condition: row `c` of the child has no NULL among the referring columns, and so refers to a row.
pub(super) fn refers(reference: &Reference, child: &Table) -> String {
    let columns = reference.columns.iter();
    let known = columns.map(|column| format!("c.{} IS NOT NULL", quoted(&child.columns[*column].name)));
    known.collect::<Vec<_>>().join(" AND ")
}
