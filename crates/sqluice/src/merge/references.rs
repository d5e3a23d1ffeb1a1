//! The references between tables of the result, and the new values of references to renumbered keys.
//!
//! ```text
//!  declared by REFERENCES ──────┐
//!  given as visits.place=places ├──> followed, if their parent is renumbered; checked for orphans of left-out rows
//!  found by name and values ────┘    the user must decide about found references first
//! ```
//!
//! ```text
//!           keys of places      values that refer to them       numbers in the result        added
//!  a.db     1 ... 600           1 ... 600, 650, 0               1 ... 650                    0
//!  b.db     1 ... 600           1 ... 600, 0                    651 ... 1250                 650
//! ```
//!
//! The range of numbers of a source covers its keys, and also positive values that refer to no key. So a value without a row in its
//! source does not refer to a row of another source in the result. If all keys are positive, 0 and negative values refer to nothing, and
//! stay unchanged.

use std::collections::{BTreeSet, HashMap};

use rusqlite::types::Value;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::token;
use sqluice_core::schema::{Table, quoted};
use sqluice_format::record::Shift;
use sqluice_reader::connection::unreadable;

use super::sources::Source;
use super::tables::{Around, MergedTable, Method, disjoint, has_expressions, mentions, raised};
use crate::references::{
    ColumnReference, Known, Origin, Reference, Share, by_name, described, name_of, question, share_of_keys,
};

/// All known references.
#[derive(Debug, Default)]
pub(super) struct References {
    known: Known,
    /// The offsets that are added to the values of columns, by the positions of the table and of the source.
    shifts: HashMap<(usize, usize), Vec<Shift>>,
    /// For each table, the columns with values that change in some source. Tables and columns are positions.
    followers: HashMap<usize, BTreeSet<usize>>,
}

impl References {
    /// Returns the references of tables, and renumbers the tables that need new numbers.
    ///
    /// # Errors
    /// If the user has not decided about a column that seems to refer to renumbered keys, or a column refers to them and can't be
    /// changed.
    pub(super) fn new<'s>(around: &Around<'s>, tables: &mut [MergedTable<'s>]) -> Result<References> {
        let known = Known::new(&declared(tables), &around.merge.references, &around.merge.no_references)?;
        let mut references = References { known, ..References::default() };
        let mut added = Added::default();
        for parent in 0..tables.len() {
            if is_to_be_renumbered(around, &tables[parent]) {
                references.renumber(around, tables, parent, &mut added)?;
            }
        }
        references.refuse_undecided(around, tables)?;
        references.follow(around, tables, &added)?;
        Ok(references)
    }

    /// Returns `true` if the values of any column change.
    pub(super) fn change_values(&self) -> bool {
        !self.shifts.is_empty()
    }

    /// Returns the offsets that are added to the values of a table's columns in a source. The `field` of a shift is the position of the
    /// column in the table.
    pub(super) fn shifts(&self, table: usize, source: usize) -> &[Shift] {
        self.shifts.get(&(table, source)).map_or(&[], Vec::as_slice)
    }

    /// Returns the columns of a table whose values change because they refer to renumbered keys.
    pub(super) fn followers(&self, table: usize) -> impl Iterator<Item = usize> {
        self.followers.get(&table).into_iter().flatten().copied()
    }

    /// Returns the declared and given references.
    pub(super) fn known(&self) -> &[Reference] {
        &self.known.list
    }

    /// Returns the references to a table whose keys include its rowid, each with the column that refers to the rowid.
    fn to_rowid<'r>(
        &'r self,
        tables: &'r [MergedTable<'_>],
        parent: usize,
    ) -> impl Iterator<Item = (&'r Reference, usize)> {
        let alias = tables[parent].table.rowid_alias;
        let of_parent = self.known.list.iter().filter(move |reference| reference.parent == parent);
        of_parent.filter_map(move |reference| {
            let at = reference.keys.iter().position(|key| Some(*key) == alias)?;
            Some((reference, reference.columns[at]))
        })
    }

    /// Renumbers a table so that no value of one source refers to a row of another source.
    fn renumber<'s>(
        &self,
        around: &Around<'s>,
        tables: &mut [MergedTable<'s>],
        parent: usize,
        added: &mut Added,
    ) -> Result<()> {
        let merged = &tables[parent];
        let from = if merged.members.iter().all(|member| member.rowids.0 > 0) { 1 } else { i64::MIN };
        // The sources with their ranges of numbers.
        let mut ranges: Vec<(usize, (i64, i64))> = Vec::new();
        for &(source, _) in &around.shared[merged.object].members {
            let member = merged.members.iter().find(|member| member.source == source);
            let mut range = member.map(|member| member.rowids);
            for (reference, column) in self.to_rowid(tables, parent) {
                let used = values(&around.sources[source], tables[reference.child].table, column, from)?;
                range = match (range, used) {
                    (Some(range), Some(used)) => Some((range.0.min(used.0), range.1.max(used.1))),
                    (range, used) => range.or(used),
                };
            }
            ranges.extend(range.map(|range| (source, range)));
        }
        let numbers: Vec<(i64, i64)> = ranges.iter().map(|(_, range)| *range).collect();
        if disjoint(numbers.clone()) {
            return Ok(());
        }
        if let Method::Inserted(why) = &merged.method {
            return Err(Error::usage(format!(
                "table {} can't be renumbered: SQLite inserts its rows, because {why}",
                merged.table.name
            )));
        }
        let offsets = raised(&numbers).map_err(|place| around.too_large(merged.table, ranges[place].0))?;
        if merged.method != Method::Renumbered {
            around.refuse_named_rowids(merged)?;
        }
        let merged = &mut tables[parent];
        merged.method = Method::Renumbered;
        for ((source, _), offset) in ranges.into_iter().zip(offsets) {
            if let Some(member) = merged.members.iter_mut().find(|member| member.source == source) {
                member.offset = offset;
            }
            added.offsets.insert((parent, source), offset);
        }
        added.from.insert(parent, from);
        Ok(())
    }

    /// Refuses columns that seem to refer to renumbered keys and about which the user has not decided.
    fn refuse_undecided(&self, around: &Around<'_>, tables: &[MergedTable<'_>]) -> Result<()> {
        let found =
            self.found((around.sources, around.cancel), tables, |table| tables[table].has_new_keys())?;
        if found.is_empty() {
            return Ok(());
        }
        let parents: BTreeSet<&str> =
            found.iter().map(|(found, _)| &*tables[found.parent].table.name).collect();
        let (what, get, them) =
            if parents.len() == 1 { ("table", "gets", "it") } else { ("tables", "get", "them") };
        let declared = declared(tables);
        let message = format!(
            "{what} {} {get} new numbers, and these columns seem to refer to {them}, but are not declared with REFERENCES: {}",
            parents.into_iter().collect::<Vec<_>>().join(", "),
            described(&found, &declared)
        );
        let hint = question(&found, &declared);
        Err(Error::usage(message).hint(hint))
    }

    /// Returns the columns that seem to refer to one of the tables and about which the user has not decided.
    pub(super) fn found(
        &self,
        (sources, cancel): (&[Source], &Cancel),
        tables: &[MergedTable<'_>],
        is_parent: impl Fn(usize) -> bool,
    ) -> Result<Vec<(ColumnReference, Share)>> {
        if !(0..tables.len()).any(&is_parent) {
            return Ok(Vec::new());
        }
        let declared = declared(tables);
        let mut found = Vec::new();
        for named in by_name(&declared, is_parent) {
            if self.known.is_decided(named.child, named.column) {
                continue;
            }
            let mut share = Share::default();
            let mut is_enough = false;
            for source in sources {
                cancel.check()?;
                let of_source = share_of(
                    source,
                    (declared[named.child], named.column),
                    (declared[named.parent], named.key),
                )?;
                is_enough |= of_source.is_enough();
                share.values += of_source.values;
                share.keys += of_source.keys;
            }
            if is_enough {
                found.push((named, share));
            }
        }
        Ok(found)
    }

    /// Computes the offsets for the values that refer to renumbered keys.
    fn follow(&mut self, around: &Around<'_>, tables: &[MergedTable<'_>], added: &Added) -> Result<()> {
        let mut followed: HashMap<(usize, usize), usize> = HashMap::new();
        let mut shifts: HashMap<(usize, usize), Vec<Shift>> = HashMap::new();
        let mut followers: HashMap<usize, BTreeSet<usize>> = HashMap::new();
        for parent in (0..tables.len()).filter(|parent| tables[*parent].has_new_keys()) {
            for (reference, column) in self.to_rowid(tables, parent) {
                let (child, from) = (&tables[reference.child], added.from[&parent]);
                refuse_reference(
                    around,
                    tables[parent].table,
                    child,
                    (column, reference.origin == Origin::Declared),
                )?;
                let other = followed.insert((reference.child, column), parent);
                if let Some(other) = other.filter(|other| *other != parent) {
                    let name = name_of(child.table, column);
                    let (one, other) = (&tables[parent].table.name, &tables[other].table.name);
                    return Err(Error::input(format!(
                        "{name} refers to both {other} and {one}, which get new numbers"
                    ))
                    .hint("renumber only one of them"));
                }
                if other.is_some() {
                    continue;
                }
                let default = child.table.columns[column].default.as_deref();
                let may_lack = match default {
                    None => true,
                    Some(text) if text.eq_ignore_ascii_case("null") => true,
                    Some(text) => text.parse::<i64>().is_ok_and(|value| value < from),
                };
                for &(source, _) in &around.shared[tables[parent].object].members {
                    let add = added.offsets.get(&(parent, source)).copied().unwrap_or(0);
                    if add != 0 {
                        let of_child = shifts.entry((reference.child, source)).or_default();
                        of_child.push(Shift { field: column, add, from, may_lack });
                        followers.entry(reference.child).or_default().insert(column);
                    }
                }
            }
        }
        shifts.values_mut().for_each(|shifts| shifts.sort_unstable());
        (self.shifts, self.followers) = (shifts, followers);
        Ok(())
    }
}

/// The offsets that are added to the keys of tables.
#[derive(Debug, Default)]
struct Added {
    /// The offsets by table and source, also of sources without rows.
    offsets: HashMap<(usize, usize), i64>,
    /// The smallest value that refers to a row, by parent table.
    from: HashMap<usize, i64>,
}

/// Returns `true` if a table gets new numbers when sources share numbers.
fn is_to_be_renumbered(around: &Around<'_>, merged: &MergedTable<'_>) -> bool {
    merged.table.rowid_alias.is_some()
        && !merged.is_empty
        && around.merge.renumber.iter().any(|name| name.eq_ignore_ascii_case(&merged.table.name))
}

/// Returns the declarations of the tables.
fn declared<'t>(tables: &[MergedTable<'t>]) -> Vec<&'t Table> {
    tables.iter().map(|merged| merged.table).collect()
}

/// Returns the smallest and the largest number of at least `from` in a column of a source, as integers; `None` if the source lacks the
/// column, or the column has no such number.
fn values(source: &Source, table: &Table, column: usize, from: i64) -> Result<Option<(i64, i64)>> {
    let declared = source.schema.table(&table.name);
    let Some(declared) = declared.filter(|own| own.column(&table.columns[column].name).is_some()) else {
        return Ok(None);
    };
    let (table, column) = (quoted(&declared.name), quoted(&table.columns[column].name));
    let ends = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Value>(0)?, row.get::<_, Value>(1)?));
    let read = || {
        let connection = source.snapshot.connection();
        // SQLite uses an index, if the column has one.
        let sql = format!(
            "SELECT (SELECT min({column}) FROM main.{table} WHERE {column} >= ?1), (SELECT max({column}) FROM main.{table} WHERE {column} >= ?1)"
        );
        match connection.query_row(&sql, [from], ends)? {
            (Value::Integer(first), Value::Integer(last)) => return Ok(Some((first, last))),
            (Value::Null, Value::Null) => return Ok(None),
            _ => {}
        }
        let sql = format!(
            "SELECT CAST(min({column}) AS INTEGER), CAST(max({column}) AS INTEGER) FROM main.{table}
             WHERE {column} >= ?1 AND typeof({column}) IN ('integer', 'real')"
        );
        Ok(match connection.query_row(&sql, [from], ends)? {
            (Value::Integer(first), Value::Integer(last)) => Some((first, last)),
            _ => None,
        })
    };
    read().map_err(|error| unreadable(source.snapshot.name(), error))
}

/// Returns the number of values of a column, and how many of them are keys of the parent; both are 0 if the source lacks one of the
/// columns.
fn share_of(
    source: &Source,
    (child, column): (&Table, usize),
    (parent, key): (&Table, usize),
) -> Result<Share> {
    let named = |table: &Table, column: usize| {
        let name = &table.columns[column].name;
        let own = source.schema.table(&table.name)?;
        own.column(name).map(|_| (own.name.clone(), name.clone()))
    };
    let (Some(child), Some(parent)) = (named(child, column), named(parent, key)) else {
        return Ok(Share::default());
    };
    let share = share_of_keys(&source.snapshot.connection(), (&child.0, &child.1), (&parent.0, &parent.1));
    share.map_err(|error| unreadable(source.snapshot.name(), error))
}

/// Refuses columns that refer to renumbered keys and can't be changed, or are declared to refer while `rewrite_references` is not set.
fn refuse_reference(
    around: &Around<'_>,
    parent: &Table,
    child: &MergedTable<'_>,
    (column, is_declared): (usize, bool),
) -> Result<()> {
    let table = child.table;
    let name = &table.columns[column].name;
    let refers = format!("{}.{name} refers to table {}, which is renumbered", table.name, parent.name);
    if is_declared && !around.merge.rewrite_references {
        return Err(Error::usage(refers).hint(message!["let it follow: ", Setting::RewriteReferences]));
    }
    let names = |sql: &str| mentions(sql, |word| word.eq_ignore_ascii_case(name));
    let computed = table
        .indexes
        .iter()
        .find(|index| (index.partial || has_expressions(index)) && index.sql.as_deref().is_some_and(names));
    let what = if Some(column) == table.rowid_alias {
        Some("it is the key of its own table".to_owned())
    } else if table.columns.iter().any(|column| column.generated.is_some()) {
        Some("columns of its table are computed".to_owned())
    } else if token::checks(&table.sql).into_iter().any(names) {
        Some("a CHECK of its table names it".to_owned())
    } else if let Method::Inserted(why) = &child.method {
        Some(format!("SQLite inserts the rows of its table, because {why}"))
    } else {
        computed.map(|index| format!("index {} computes with it", index.name))
    };
    what.map_or(Ok(()), |what| Err(Error::input(format!("{refers}, and can't follow: {what}"))))
}
