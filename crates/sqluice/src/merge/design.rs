//! The design of a merged database: its objects, the way in which each table is merged, and the changes of values.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::index::{IndexColumn, Indexed, key_order};
use sqluice_core::schema::token::{same, terminated};
use sqluice_core::schema::{Generated, Schema, Table};
use sqluice_core::similar;
use sqluice_engine::trees::Changes;
use sqluice_format::key::KeyOrder;
use sqluice_format::record::Shift;
use sqluice_reader::StoredObject;

use super::Merge;
use super::references::References;
use super::sources::{Shared, Source};
use super::tables::{self, Around, Member, MergedTable};
use super::virtual_tables::{self, VirtualTable};

/// The prefix of the names of SQLite's own tables.
const INTERNAL: &str = "sqlite_";

/// The design of a merged database.
pub(super) struct Design<'s> {
    /// The objects that are written as pages, as positions among the shared objects, in order.
    pub(super) written: Vec<usize>,
    pub(super) tables: Vec<MergedTable<'s>>,
    /// For each shared object that is a table or an SQL index, by its position: the position in `tables` of the table that it is or belongs
    /// to.
    pub(super) table_of: HashMap<usize, usize>,
    /// The references between tables, and the new values of references to renumbered keys.
    pub(super) references: References,
    /// The virtual tables that SQLite creates and fills after the pages are written.
    pub(super) virtual_tables: Vec<VirtualTable>,
    /// The left-out objects, with the reasons.
    pub(super) left_out: Vec<String>,
    /// The order of entries in the result, by the position of the object among the shared objects. Only the B-trees of tables that a source
    /// with an old schema format has are listed: this format ignores DESC.
    orders: HashMap<usize, KeyOrder>,
}

impl<'s> Design<'s> {
    pub(super) fn new(
        merge: &'s Merge,
        sources: &'s [Source],
        shared: &'s [Shared],
        cancel: &'s Cancel,
    ) -> Result<Design<'s>> {
        refuse_unknown(merge, shared)?;
        let encoding = sources[0].snapshot.header().used_text_encoding();
        let foreign: Vec<Option<String>> = (sources.iter())
            .map(|source| {
                let own = source.snapshot.header().used_text_encoding();
                let is_foreign = own != encoding && !source.objects.is_empty();
                is_foreign.then(|| format!("{} has another text encoding", source.name()))
            })
            .collect();
        let mut indexes: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, index) in shared.iter().enumerate().filter(|(_, object)| object.kind == "index") {
            indexes.entry(index.object(sources).table.to_ascii_lowercase()).or_default().push(place);
        }
        let around = Around { merge, sources, shared, foreign, indexes, cancel };
        let is_excluded =
            |name: &str| merge.exclude_tables.iter().any(|other| other.eq_ignore_ascii_case(name));
        let mut design = Design {
            written: Vec::new(),
            tables: Vec::new(),
            table_of: HashMap::new(),
            references: References::default(),
            virtual_tables: Vec::new(),
            left_out: Vec::new(),
            orders: HashMap::new(),
        };
        let rebuilt = virtual_tables::rebuilt(sources, shared, &is_excluded)?;
        let shadows: HashSet<String> = rebuilt.iter().flat_map(|table| table.shadows.clone()).collect();
        for (place, object) in shared.iter().enumerate() {
            let of_table = &object.object(sources).table;
            let is_internal = object.name.starts_with(INTERNAL);
            if is_excluded(of_table) || is_excluded(&virtual_tables::owner(object, sources)) {
                design.left_out.push(object.describe());
            } else if is_internal && object.kind == "table" && object.name.starts_with("sqlite_stat") {
                design.left_out.push(format!("statistics ({})", object.name));
            } else if shadows.contains(&of_table.to_ascii_lowercase())
                || rebuilt.iter().any(|table| table.object == place)
            {
                // Virtual tables and their shadow tables are rebuilt.
            } else {
                let is_table = object.kind == "table" && !object.is_virtual(sources) && !is_internal;
                if is_table && !is_shadow(sources, object)? {
                    let table = around.table(place)?;
                    let at = design.tables.len();
                    design.table_of.extend(table.indexes.iter().map(|&index| (index, at)));
                    design.table_of.insert(place, at);
                    design.find_orders(sources, shared, &table)?;
                    design.tables.push(table);
                } else if !is_internal {
                    refuse_other_statement(sources, object)?;
                }
                design.written.push(place);
            }
        }
        design.references = References::new(&around, &mut design.tables)?;
        design.virtual_tables = rebuilt;
        Ok(design)
    }

    /// Returns the changes to make to a table's entries that come from `member`: new rowids, and new values of references.
    pub(super) fn table_changes(&self, merged: &MergedTable<'_>, member: &Member) -> Changes<'static> {
        let shifts = self.shifts_of(merged, member);
        let fields = shifts
            .iter()
            .filter_map(|&shift| Some(Shift { field: stored_field(merged.table, shift.field)?, ..shift }));
        let mut fields: Vec<Shift> = fields.collect();
        fields.sort_unstable();
        Changes { rowid: member.offset, fields: Cow::Owned(fields), left_out: Cow::Owned(Vec::new()) }
    }

    /// Returns the changes of the entries of an index, like [`Design::table_changes`].
    pub(super) fn index_changes(
        &self,
        merged: &MergedTable<'_>,
        member: &Member,
        name: &str,
    ) -> Changes<'static> {
        let shifts = self.shifts_of(merged, member);
        let index = merged.table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name));
        let columns = index.map_or(&[][..], |index| &index.columns);
        let shift_of = |field: usize, value: Indexed| match value {
            Indexed::Rowid => Some(Shift::all(field, member.offset)),
            Indexed::Column(column) if Some(column) == merged.table.rowid_alias => {
                Some(Shift::all(field, member.offset))
            }
            Indexed::Column(column) => {
                let shift = shifts.iter().find(|shift| shift.field == column)?;
                Some(Shift { field, ..*shift })
            }
            Indexed::Expression => None,
        };
        let fields = columns.iter().enumerate().filter_map(|(field, column)| shift_of(field, column.value));
        let fields: Vec<Shift> = fields.filter(|shift| shift.add != 0).collect();
        Changes { rowid: 0, fields: Cow::Owned(fields), left_out: Cow::Owned(Vec::new()) }
    }

    /// Returns the names of the columns whose values change because they refer to renumbered keys.
    pub(super) fn following(&self, merged: &MergedTable<'_>) -> Vec<String> {
        let columns = self.references.followers(self.table_of[&merged.object]);
        columns.map(|column| merged.table.columns[column].name.clone()).collect()
    }

    fn shifts_of(&self, merged: &MergedTable<'_>, member: &Member) -> &[Shift] {
        self.references.shifts(self.table_of[&merged.object], member.source)
    }

    /// Returns the order of a tree's entries in the result, or `None` for rows with rowids or if the order is unknown.
    pub(super) fn order(&self, place: usize, object: &StoredObject) -> Option<KeyOrder> {
        let stored = object.tree.as_ref()?.order.clone()?;
        Some(self.orders.get(&place).cloned().unwrap_or(stored))
    }

    /// Finds the orders of a table's trees in the result, if one of the sources has a schema format that ignores DESC.
    fn find_orders(&mut self, sources: &[Source], shared: &[Shared], merged: &MergedTable<'_>) -> Result<()> {
        let is_old = |member: &Member| sources[member.source].snapshot.header().schema_format < SCHEMA_FORMAT;
        if !merged.members.iter().any(is_old) {
            return Ok(());
        }
        let statements = merged.indexes.iter().filter_map(|&at| shared[at].object(sources).sql.as_deref());
        let statements = std::iter::once(&*merged.table.sql).chain(statements);
        let sql: String = statements.map(terminated).collect();
        let schema = Schema::parse(sql, &sources[0].schema.file)?;
        let Some(table) = schema.table(&merged.table.name) else { return Ok(()) };
        let order = |columns: &[IndexColumn]| {
            key_order(columns.iter().map(|column| (&*column.collation, column.descending)))
        };
        for &place in &merged.indexes {
            let name = &shared[place].name;
            let index = table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name));
            if let Some(order) = index.and_then(|index| order(&index.columns)) {
                self.orders.insert(place, order);
            }
        }
        if let Some(order) = table.clustered.as_ref().and_then(|key| order(&key.columns[..key.key_columns])) {
            self.orders.insert(merged.object, order);
        }
        Ok(())
    }

    /// Returns the schema of the written tables.
    pub(super) fn schema(&self, sources: &[Source]) -> Schema {
        let mut schema = sources[0].schema.clone();
        schema.tables = self.tables.iter().map(|merged| merged.table.clone()).collect();
        schema
    }
}

/// The schema format of results, the first that honors DESC in indexes.
pub(super) const SCHEMA_FORMAT: u32 = 4;

/// Returns the index of a column's field in the records of the table, or `None` if SQLite computes the column on read.
fn stored_field(table: &Table, column: usize) -> Option<usize> {
    let is_stored = |column: usize| table.columns[column].generated != Some(Generated::Virtual);
    match &table.clustered {
        _ if !is_stored(column) => None,
        Some(key) => key.columns.iter().position(|of_key| of_key.value == Indexed::Column(column)),
        None => Some((0..column).filter(|&before| is_stored(before)).count()),
    }
}

/// Refuses names of tables that no source has.
fn refuse_unknown(merge: &Merge, shared: &[Shared]) -> Result<()> {
    let tables = || shared.iter().filter(|shared| shared.kind == "table").map(|shared| shared.name.as_str());
    for name in merge.exclude_tables.iter().chain(&merge.renumber) {
        if !tables().any(|table| table.eq_ignore_ascii_case(name)) {
            let error = Error::usage(format!("no database has a table {name}"));
            return Err(error.hint(similar::hint(name, tables())));
        }
    }
    Ok(())
}

/// Refuses a view, a trigger or an index that sources declare differently.
fn refuse_other_statement(sources: &[Source], object: &Shared) -> Result<()> {
    let sql_of = |(source, at): (usize, usize)| sources[source].objects[at].sql.as_deref().unwrap_or("");
    let first = object.members[0];
    match object.members.iter().find(|&&member| !same(sql_of(first), sql_of(member))) {
        Some(&other) => Err(tables::differently(sources, object, first, other)),
        None => Ok(()),
    }
}

/// Returns `true` if a table is a shadow table of a virtual table in one source.
///
/// # Errors
/// If a source has it as a shadow table, and several sources have a table of this name.
fn is_shadow(sources: &[Source], object: &Shared) -> Result<bool> {
    let lower = object.name.to_ascii_lowercase();
    let mut shadows = object.members.iter().filter(|(source, _)| sources[*source].shadows.contains(&lower));
    match (shadows.next(), object.members.len()) {
        (Some((source, _)), 2..) => Err(Error::input(format!(
            "{} of {} belongs to a virtual table and is in several sources: the rows of such tables can't be merged",
            object.describe(),
            sources[*source].name()
        ))
        .hint("leave the virtual table out, or drop it in the sources")),
        (shadow, _) => Ok(shadow.is_some()),
    }
}
