//! Finds kept rows that refer to left-out rows. They are counted, or left out, too.
//!
//! ```text
//!  left-out rows of a parent ──> rows that refer only to such rows ──┬──> orphans: kept, or an error
//!                                                                    └──> left out, too: parents in the next round
//! ```
//!
//! SQLite compares the values, in the same snapshot of the source, with the keys of left-out rows in temporary tables.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use rusqlite::Connection;
use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::schema::{Table, quoted};
use sqluice_reader::connection::unreadable;

use super::keys::{KeyFile, RowKey};
use super::links::{Links, matches, refers};
use super::report::{BrokenReference, LeftOutRows};
use crate::copy::{Opened, of_application};
use crate::references::{Orphans, Reference, name_of};

/// A temporary table with the pairs of parent and child rows of a table that refers to itself.
const EDGES: &str = "temp.sqluice_edges";

/// The search for rows that refer to left-out rows.
pub(super) struct Orphaned<'a> {
    opened: &'a Opened,
    context: &'a Context<'a>,
    links: Links<'a>,
    pub(super) references: Vec<BrokenReference>,
}

/// The temporary tables with the keys of left-out rows, by the positions of their tables in the schema.
struct Keys<'c> {
    connection: &'c Connection,
    of: BTreeMap<usize, RowKey>,
}

impl<'a> Orphaned<'a> {
    /// Creates the search.
    ///
    /// # Errors
    /// If a given reference is not valid.
    pub(super) fn new(opened: &'a Opened, context: &'a Context<'a>) -> Result<Orphaned<'a>> {
        Ok(Orphaned { opened, context, links: Links::new(opened)?, references: Vec::new() })
    }

    /// Finds the rows that refer to left-out rows. With `sample_children`, adds their keys to `file` and their counts to `tables`.
    ///
    /// # Errors
    /// If kept rows refer to left-out rows, and the options neither keep nor leave out such rows.
    pub(super) fn find(
        &mut self,
        file: &mut KeyFile,
        tables: &mut BTreeMap<usize, LeftOutRows>,
    ) -> Result<()> {
        if tables.values().all(|table| table.rows == 0) {
            return Ok(());
        }
        self.context.progress.phase("references", None);
        let opened = self.opened;
        let connection = opened.snapshot.connection();
        let mut keys = Keys { connection: &connection, of: BTreeMap::new() };
        let found = self.search(file, tables, &mut keys);
        let dropped = keys.remove_tables();
        found.and(dropped.map_err(|error| unreadable(opened.snapshot.name(), error)))?;
        drop(connection);
        let copy = &opened.settled.copy;
        let is_refused = copy.orphans == Orphans::Refuse && !copy.sample_children;
        if is_refused && self.references.iter().any(|reference| reference.orphans > 0) {
            return Err(self.refused());
        }
        Ok(())
    }

    fn search(
        &mut self,
        file: &mut KeyFile,
        tables: &mut BTreeMap<usize, LeftOutRows>,
        keys: &mut Keys<'_>,
    ) -> Result<()> {
        let leaves_out = self.opened.settled.copy.sample_children;
        let mut all: Vec<(Reference, u64)> = Vec::new();
        let mut known: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut waiting: VecDeque<usize> =
            tables.iter().filter(|(_, table)| table.rows > 0).map(|(number, _)| *number).collect();
        while let Some(parent) = waiting.pop_front() {
            self.context.cancel.check()?;
            if let Entry::Vacant(vacant) = known.entry(parent) {
                let links = self.links.to(parent, keys.connection, &self.context.cancel)?;
                vacant.insert((all.len()..all.len() + links.len()).collect());
                all.extend(links.into_iter().map(|link| (link, 0)));
            }
            if known[&parent].is_empty() {
                continue;
            }
            self.load(file, keys, parent)?;
            for &number in &known[&parent] {
                let link = all[number].0.clone();
                self.load(file, keys, link.child)?;
                if !leaves_out {
                    continue;
                }
                let added = self.leave_out(keys, &link)?;
                if added > 0 {
                    all[number].1 += added;
                    let child = self.links.table(link.child);
                    file.add(link.child, child)?;
                    let rows = tables.entry(link.child).or_insert_with(|| LeftOutRows {
                        table: child.name.clone(),
                        ..LeftOutRows::default()
                    });
                    rows.children += added;
                    rows.rows += added;
                    if !waiting.contains(&link.child) {
                        waiting.push_back(link.child);
                    }
                }
            }
        }
        for (number, _) in
            keys.of.iter().filter(|(number, _)| tables.get(number).is_some_and(|table| table.children > 0))
        {
            file.receive(*number, keys.connection, &temporary(*number))?;
        }
        for (link, left_out) in all {
            let orphans = match leaves_out {
                true => 0,
                false => self.count(keys, &link, &self.is_orphan(keys, &link))?,
            };
            let broken_before = self.count(keys, &link, &self.is_broken(&link))?;
            if orphans + left_out + broken_before > 0 {
                let (child, parent) = (self.links.table(link.child), self.links.table(link.parent));
                let columns = link.columns.iter().map(|column| child.columns[*column].name.clone());
                self.references.push(BrokenReference {
                    table: child.name.clone(),
                    columns: columns.collect(),
                    parent: parent.name.clone(),
                    how: link.origin.word(),
                    orphans,
                    left_out,
                    broken_before,
                });
            }
        }
        Ok(())
    }

    /// Creates the temporary table with the keys of a table's left-out rows, unless it exists.
    fn load(&self, file: &KeyFile, keys: &mut Keys<'_>, number: usize) -> Result<()> {
        if keys.of.contains_key(&number) {
            return Ok(());
        }
        let key = RowKey::of(self.links.table(number))?;
        let name = temporary(number);
        let created = keys.connection.execute_batch(&key.create(&name));
        created.map_err(|error| unreadable(self.opened.snapshot.name(), error))?;
        keys.of.insert(number, key);
        file.send(number, keys.connection, &name)
    }

    /// Leaves out the rows that refer to left-out rows. Returns their number. If the table refers to itself, their descendants are left
    /// out, too.
    fn leave_out(&self, keys: &Keys<'_>, link: &Reference) -> Result<u64> {
        let (child, parent) = (self.links.table(link.child), self.links.table(link.parent));
        if link.child == link.parent && is_unique(parent, &link.keys) {
            let added = self.leave_out_descendants(keys, link);
            return added.map_err(|error| self.unreadable(error, child));
        }
        let key = &keys.of[&link.child];
        let name = temporary(link.child);
        let sql = format!(
            "INSERT OR IGNORE INTO {name} SELECT {} FROM main.{} AS c WHERE NOT {} AND {}",
            key.selected("c"),
            quoted(&child.name),
            key.is_in(&name, "c"),
            self.is_orphan(keys, link)
        );
        let mut all = 0;
        loop {
            self.context.cancel.check()?;
            let added = keys.connection.execute(&sql, []).map_err(|error| self.unreadable(error, child))?;
            all += added as u64;
            if added == 0 || link.child != link.parent {
                return Ok(all);
            }
        }
    }

    /// Leaves out the descendants of left-out rows of a table that refers to itself. Returns their number. The pairs of parent and child
    /// are found once, so a long chain costs no more than a short one.
    fn leave_out_descendants(&self, keys: &Keys<'_>, link: &Reference) -> rusqlite::Result<u64> {
        let (table, key) = (self.links.table(link.child), &keys.of[&link.child]);
        let (name, left_out) = (quoted(&table.name), temporary(link.child));
        let fields = |letter: char| -> Vec<String> {
            (0..key.names.len()).map(|at| format!("{letter}{at}")).collect()
        };
        let [parents, children, of_keys] = ['p', 'c', 'k'].map(fields);
        let same = parents.iter().zip(&of_keys).map(|(parent, key)| format!("e.{parent} = gone.{key}"));
        let of_edge: Vec<String> = children.iter().map(|child| format!("e.{child}")).collect();
        keys.connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS {EDGES};
             CREATE TABLE {EDGES} ({}, {});
             INSERT INTO {EDGES} SELECT {}, {} FROM main.{name} AS c JOIN main.{name} AS p ON {};
             CREATE INDEX temp.sqluice_edges_of_parents ON sqluice_edges ({})",
            parents.join(", "),
            children.join(", "),
            key.selected("p"),
            key.selected("c"),
            matches(link, table, table),
            parents.join(", "),
        ))?;
        let added = keys.connection.execute(
            &format!(
                "WITH RECURSIVE gone ({of_keys}) AS (
                   SELECT {of_keys} FROM {left_out} UNION SELECT {} FROM gone JOIN {EDGES} AS e ON {}
                 ) INSERT OR IGNORE INTO {left_out} SELECT {of_keys} FROM gone",
                of_edge.join(", "),
                same.collect::<Vec<_>>().join(" AND "),
                of_keys = of_keys.join(", "),
            ),
            [],
        )?;
        keys.connection.execute_batch(&format!("DROP TABLE {EDGES}"))?;
        Ok(added as u64)
    }

    /// Counts the kept rows of the child for which `condition` is true.
    fn count(&self, keys: &Keys<'_>, link: &Reference, condition: &str) -> Result<u64> {
        self.context.cancel.check()?;
        let child = self.links.table(link.child);
        let sql = format!(
            "SELECT count(*) FROM main.{} AS c WHERE {condition} AND NOT {}",
            quoted(&child.name),
            keys.of[&link.child].is_in(&temporary(link.child), "c")
        );
        let count: i64 = keys
            .connection
            .query_row(&sql, [], |row| row.get(0))
            .map_err(|error| self.unreadable(error, child))?;
        Ok(count.cast_unsigned())
    }

    /// Returns an SQL condition: row `c` refers to a left-out row, and to no kept row.
    fn is_orphan(&self, keys: &Keys<'_>, link: &Reference) -> String {
        let (child, parent) = (self.links.table(link.child), self.links.table(link.parent));
        let (matches, name) = (matches(link, child, parent), quoted(&parent.name));
        let is_left_out = keys.of[&link.parent].is_in(&temporary(link.parent), "p");
        let from = format!("SELECT 1 FROM main.{name} AS p WHERE {matches} AND");
        let lost = format!("EXISTS ({from} {is_left_out})");
        if is_unique(parent, &link.keys) {
            return lost;
        }
        format!("{lost} AND NOT EXISTS ({from} NOT {is_left_out})")
    }

    /// Returns an SQL condition: row `c` refers to no row of the source.
    fn is_broken(&self, link: &Reference) -> String {
        let (child, parent) = (self.links.table(link.child), self.links.table(link.parent));
        let (refers, matches) = (refers(link, child), matches(link, child, parent));
        format!("{refers} AND NOT EXISTS (SELECT 1 FROM main.{} AS p WHERE {matches})", quoted(&parent.name))
    }

    fn unreadable(&self, error: rusqlite::Error, child: &Table) -> Error {
        of_application(unreadable(self.opened.snapshot.name(), error), &child.name)
    }

    /// Returns the error for rows whose parents are left out.
    fn refused(&self) -> Error {
        let orphaned = self.references.iter().filter(|reference| reference.orphans > 0);
        let list: Vec<String> = orphaned.clone().map(BrokenReference::describe_orphans).collect();
        let message = format!("kept rows refer to rows that are left out: {}", list.join("; "));
        let mut hint: Message = message![
            "leave these out, too: ",
            Setting::SampleChildren,
            "; or keep them, although the rows that they refer to are missing: ",
            Setting::Orphans.to("keep")
        ];
        for reference in orphaned.filter(|reference| reference.how == "found") {
            let child = self.opened.schema.table(&reference.table);
            let column = child.and_then(|child| Some((child, child.column(reference.columns.first()?)?)));
            if let Some((child, column)) = column {
                hint.push("; or, if the column is no reference: ");
                hint.push(Setting::NoReference.to(name_of(child, column)));
            }
        }
        Error::input(message).hint(hint)
    }
}

impl Keys<'_> {
    /// Removes the temporary tables.
    fn remove_tables(&self) -> rusqlite::Result<()> {
        let drop =
            |number| self.connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", temporary(number)));
        self.of.keys().copied().try_for_each(drop)
    }
}

/// Returns the name of the temporary table with the keys of a table's left-out rows.
fn temporary(number: usize) -> String {
    format!("temp.sqluice_left_out_{number}")
}

/// Returns `true` if a unique key ensures that at most one row of the table has given values in the columns `keys`.
fn is_unique(table: &Table, keys: &[usize]) -> bool {
    let sorted = |columns: &[usize]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns
    };
    table.unique_keys().iter().any(|unique| sorted(unique) == sorted(keys))
}
