//! Finds orphans: rows whose parent was in their source, but is left out of the result because another row has one of its keys.
//!
//! ```text
//!  left-out rows ──> their keys ──> keys that no other row of the result has ──> rows of their source that refer to these keys
//! ```

use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params_from_iter};
use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Table, quoted};
use sqluice_reader::Snapshot;
use sqluice_reader::connection::unreadable;

use super::known::{LeftOut, Run};
use super::report::OrphanedRows;
use super::tables::{MergedTable, Method};
use crate::references::{Origin, Reference};

/// The name of a temporary table of keys.
const MISSING: &str = "temp.sqluice_missing_keys";

/// Returns the error for rows whose parents are left out.
pub(super) fn refused(orphans: &[OrphanedRows]) -> Error {
    let list: Vec<String> = orphans.iter().map(ToString::to_string).collect();
    let message = format!(
        "some rows refer to rows that are left out as duplicates (another row has the same key): {}",
        list.join("; ")
    );
    Error::input(message).hint(message![
        "keep them, although the rows that they refer to are missing: ",
        Setting::Orphans.to("keep"),
        "; or give the same row the same key in all sources"
    ])
}

/// Finds the orphans of all references.
pub(super) fn find(run: &Run<'_>, left_out: &LeftOut, cancel: &Cancel) -> Result<Vec<OrphanedRows>> {
    let Run { sources, design, inserted, .. } = *run;
    let tables = &design.tables;
    let mut loses = vec![false; tables.len()];
    left_out.iter().filter(|(_, rows)| !rows.is_empty()).for_each(|((_, table), _)| loses[*table] = true);
    if let Some(inserted) = inserted {
        loses.iter_mut().zip(&inserted.left_out).for_each(|(loses, rows)| *loses |= *rows > 0);
    }
    let known = design.references.known().iter().filter(|reference| loses[reference.parent]).cloned();
    // Search only references that may lose their parents: a search reads whole tables.
    let may_lose = |table: usize| {
        let key = tables[table].table.primary_key();
        loses[table] && key.is_some_and(|key| !is_only_key(&tables[table], &key))
    };
    let found = design.references.found((sources, cancel), tables, may_lose)?;
    let found = found.into_iter().map(|(found, _)| Reference::of_column(found, Origin::Found));
    let mut orphans: Vec<OrphanedRows> = Vec::new();
    for reference in
        known.chain(found).filter(|reference| !is_only_key(&tables[reference.parent], &reference.keys))
    {
        let search = Search { run, left_out, reference: &reference, cancel };
        let rows = search.rows()?;
        if rows > 0 {
            let child = tables[reference.child].table;
            orphans.push(OrphanedRows {
                table: child.name.clone(),
                columns: reference.columns.iter().map(|column| child.columns[*column].name.clone()).collect(),
                parent: tables[reference.parent].table.name.clone(),
                rows,
            });
        }
    }
    Ok(orphans)
}

/// Returns `true` if rows of `parent` are left out only because another row has the same `keys`. A reference to `keys` then finds the other
/// row.
fn is_only_key(parent: &MergedTable<'_>, keys: &[usize]) -> bool {
    let table = parent.table;
    let unique = table.indexes.iter().filter(|index| index.unique).count();
    let has_hidden =
        !table.without_rowid && table.rowid_alias.is_none() && parent.method == Method::Interleaved;
    let count = unique + usize::from(table.clustered.is_some() || table.rowid_alias.is_some() || has_hidden);
    let sorted = |columns: &[usize]| {
        let mut columns = columns.to_vec();
        columns.sort_unstable();
        columns
    };
    count == 1 && table.unique_keys().iter().any(|key| sorted(key) == sorted(keys))
}

/// The search for the orphans of a reference.
struct Search<'r, 's> {
    run: &'r Run<'s>,
    left_out: &'r LeftOut,
    reference: &'r Reference,
    cancel: &'r Cancel,
}

impl Search<'_, '_> {
    /// Counts the rows of the result that are orphans.
    fn rows(&self) -> Result<u64> {
        let Search { run, reference, .. } = *self;
        let design = run.design;
        let (parent, child) = (&design.tables[reference.parent], &design.tables[reference.child]);
        let (mut of_sources, mut of_result) = (0, 0);
        for member in &parent.members {
            self.cancel.check()?;
            let source = &run.sources[member.source];
            // A source may lack the child table.
            let Some(own) = source.schema.table(&child.table.name) else { continue };
            let has_column = |column: &usize| own.column(&child.table.columns[*column].name).is_some();
            if !reference.columns.iter().all(has_column) {
                continue;
            }
            let missing = self.missing(member.source)?;
            if missing.is_empty() {
                continue;
            }
            match run.inserted.filter(|inserted| inserted.left_out[reference.child] > 0) {
                Some(inserted) => {
                    let rows = self.referring(&inserted.snapshot, &missing, None)?;
                    of_result = rows.max(of_result);
                }
                None => of_sources += self.referring(&source.snapshot, &missing, Some(member.source))?,
            }
        }
        Ok(of_sources + of_result)
    }

    /// Returns the keys of left-out rows of a source that no row of the result has, as the source stores them.
    fn missing(&self, source: usize) -> Result<Vec<Vec<Value>>> {
        let Search { run, left_out, reference, .. } = *self;
        let merged = &run.design.tables[reference.parent];
        if let (Method::Inserted(_), Some(inserted)) = (&merged.method, run.inserted) {
            return match inserted.left_out[reference.parent] {
                0 => Ok(Vec::new()),
                _ => {
                    let all = self.keys(&run.sources[source].snapshot, None)?;
                    self.not_in(&inserted.snapshot, all, (0, 0), &[])
                }
            };
        }
        let Some(rows) = left_out.get(&(source, reference.parent)) else { return Ok(Vec::new()) };
        let mut missing = self.keys(&run.sources[source].snapshot, Some(rows))?;
        let offset_of = |source| {
            let member = merged.members.iter().find(|member| member.source == source);
            member.map_or(0, |member| member.offset)
        };
        for member in merged.members.iter().filter(|member| member.source != source) {
            let left_out = left_out.get(&(member.source, reference.parent));
            let (from, to) = (offset_of(source), member.offset);
            let snapshot = &run.sources[member.source].snapshot;
            missing = self.not_in(snapshot, missing, (from, to), left_out.map_or(&[], Vec::as_slice))?;
        }
        Ok(missing)
    }

    fn parent(&self) -> &Table {
        self.run.design.tables[self.reference.parent].table
    }

    /// Returns the keys of the rows with these rowids, or of all rows if `rowids` is `None`. Keys with a NULL are left out.
    fn keys(&self, snapshot: &Snapshot, rowids: Option<&[i64]>) -> Result<Vec<Vec<Value>>> {
        let parent = self.parent();
        let keys = &self.reference.keys;
        if let (Some(rowids), [key]) = (rowids, &keys[..])
            && Some(*key) == parent.rowid_alias
        {
            return Ok(rowids.iter().map(|rowid| vec![Value::Integer(*rowid)]).collect());
        }
        let read = || -> rusqlite::Result<Vec<Vec<Value>>> {
            let names: Vec<String> = keys.iter().map(|key| quoted(&parent.columns[*key].name)).collect();
            let from = format!("SELECT {} FROM main.{}", names.join(", "), quoted(&parent.name));
            let connection = snapshot.connection();
            let mut all = Vec::new();
            let mut take = |statement: &mut Statement<'_>, rowid: Option<i64>| -> rusqlite::Result<()> {
                let mut rows = statement.query(params_from_iter(rowid))?;
                while let Some(row) = rows.next()? {
                    let key =
                        (0..names.len()).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>()?;
                    if !key.contains(&Value::Null) {
                        all.push(key);
                    }
                }
                Ok(())
            };
            match (rowids, rowid_name(parent)) {
                (None, _) => take(&mut connection.prepare(&from)?, None)?,
                (Some(rowids), Some(name)) => {
                    let mut statement = connection.prepare(&format!("{from} WHERE {name} = ?1"))?;
                    rowids.iter().try_for_each(|rowid| take(&mut statement, Some(*rowid)))?;
                }
                // Columns hide the rowid of the table, so its rows can't be found.
                (Some(_), None) => {}
            }
            Ok(all)
        };
        read().map_err(|error| unreadable(snapshot.name(), error))
    }

    /// Returns the members of `keys` that no row of a database has; rows with the rowids `left_out` do not count. `from` and `to` are the
    /// offsets that the merge adds to the rowids of the keys' source and of the database: rowid `r` in `keys` is `r + from - to` in the
    /// database.
    fn not_in(
        &self,
        snapshot: &Snapshot,
        keys: Vec<Vec<Value>>,
        (from, to): (i64, i64),
        left_out: &[i64],
    ) -> Result<Vec<Vec<Value>>> {
        let parent = self.parent();
        let read = || -> rusqlite::Result<Vec<Vec<Value>>> {
            let connection = snapshot.connection();
            let named = self.reference.keys.iter().zip(1..);
            let equal =
                named.map(|(key, number)| format!("{} = ?{number}", quoted(&parent.columns[*key].name)));
            let equal = equal.collect::<Vec<_>>().join(" AND ");
            let rowid = rowid_name(parent).unwrap_or_else(|| "0".to_owned());
            let sql = format!("SELECT {rowid} FROM main.{} WHERE {equal}", quoted(&parent.name));
            let mut statement = connection.prepare(&sql)?;
            let mut missing = Vec::new();
            for key in keys {
                let wanted = key.iter().zip(&self.reference.keys).map(|(value, column)| match value {
                    Value::Integer(int) if Some(*column) == parent.rowid_alias => {
                        Value::Integer(int.saturating_add(from).saturating_sub(to))
                    }
                    other => other.clone(),
                });
                let rows = statement.query_map(params_from_iter(wanted), |row| row.get::<_, i64>(0))?;
                let rows = rows.collect::<rusqlite::Result<Vec<i64>>>()?;
                if rows.iter().all(|rowid| left_out.binary_search(rowid).is_ok()) {
                    missing.push(key);
                }
            }
            Ok(missing)
        };
        read().map_err(|error| unreadable(snapshot.name(), error))
    }

    /// Counts the rows of a database that refer to these keys. Left-out rows of a source are not counted.
    fn referring(&self, snapshot: &Snapshot, keys: &[Vec<Value>], source: Option<usize>) -> Result<u64> {
        let connection = snapshot.connection();
        let counted = self.make(&connection, keys).and_then(|()| self.count(&connection, source));
        let dropped = connection.execute_batch(&format!("DROP TABLE IF EXISTS {MISSING}"));
        counted.and_then(|rows| dropped.map(|()| rows)).map_err(|error| unreadable(snapshot.name(), error))
    }

    /// Creates the temporary table of keys. Its columns compare like the columns of the parent.
    fn make(&self, connection: &Connection, keys: &[Vec<Value>]) -> rusqlite::Result<()> {
        let parent = self.parent();
        let indexes = parent.clustered.iter().chain(&parent.indexes).filter(|index| index.unique);
        let collation_of = |column: usize| {
            use sqluice_core::schema::index::Indexed::Column;
            let mut columns = indexes.clone().flat_map(|index| &index.columns[..index.key_columns]);
            columns
                .find(|indexed| indexed.value == Column(column))
                .map_or("BINARY", |indexed| &indexed.collation)
        };
        let columns = self.reference.keys.iter().enumerate().map(|(at, key)| {
            let affinity = match parent.columns[*key].affinity {
                Affinity::Blob => "BLOB",
                Affinity::Text => "TEXT",
                Affinity::Numeric => "NUMERIC",
                Affinity::Integer => "INTEGER",
                Affinity::Real => "REAL",
            };
            format!("k{at} {affinity} COLLATE {}", quoted(collation_of(*key)))
        });
        let columns: Vec<String> = columns.collect();
        let names: Vec<String> = (0..columns.len()).map(|at| format!("k{at}")).collect();
        let key = names.join(", ");
        connection.execute_batch(&format!(
            "CREATE TABLE {MISSING} ({}, PRIMARY KEY ({key})) WITHOUT ROWID",
            columns.join(", ")
        ))?;
        let places = vec!["?"; names.len()].join(", ");
        let mut insert = connection.prepare(&format!("INSERT OR IGNORE INTO {MISSING} VALUES ({places})"))?;
        keys.iter().try_for_each(|key| insert.execute(params_from_iter(key)).map(drop))
    }

    fn count(&self, connection: &Connection, source: Option<usize>) -> rusqlite::Result<u64> {
        let Search { run, left_out, reference, .. } = *self;
        let child = run.design.tables[reference.child].table;
        let equal = reference.columns.iter().enumerate();
        let equal = equal.map(|(at, column)| format!("m.k{at} = c.{}", quoted(&child.columns[*column].name)));
        let equal = equal.collect::<Vec<_>>().join(" AND ");
        let rowid = rowid_name(child).map_or("0".to_owned(), |name| format!("c.{name}"));
        let sql = format!(
            "SELECT {rowid} FROM main.{} AS c WHERE EXISTS (SELECT 1 FROM {MISSING} AS m WHERE {equal})",
            quoted(&child.name)
        );
        let left_out = source.and_then(|source| left_out.get(&(source, reference.child)));
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let rowid: i64 = row.get(0)?;
            count += u64::from(left_out.is_none_or(|left_out| left_out.binary_search(&rowid).is_err()));
        }
        Ok(count)
    }
}

/// Returns SQL that means the rowid, or `None` if columns hide the rowid.
fn rowid_name(table: &Table) -> Option<String> {
    let alias = table.rowid_alias.map(|alias| quoted(&table.columns[alias].name));
    alias.or_else(|| table.rowid_name().map(str::to_owned))
}
