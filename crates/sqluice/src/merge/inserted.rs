//! Tables whose rows SQLite inserts into a temporary database, because their B-trees can't be made from those of the sources.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, ffi, params_from_iter};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::quoted;
use sqluice_core::sqlite_error::failed;
use sqluice_engine::options::OnConflict;
use sqluice_engine::output::{Scratch, Target};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_reader::{Snapshot, StoredObject};

use super::Merge;
use super::sources::{Shared, Source};
use super::tables::{Member, MergedTable, Method};
use crate::copy::{begin_temporary, of_application};
use crate::index::Index;

/// The number of rows between two progress reports.
const REPORTED_ROWS: u64 = 4096;

/// The inserted tables, with all rows and indexes.
pub(super) struct InsertedTables {
    pub(super) snapshot: Snapshot,
    objects: Vec<StoredObject>,
    /// The position of each object in `objects`. The key is `true` for a trigger, and the name in lower case: triggers have their own
    /// namespace.
    places: HashMap<(bool, String), usize>,
    /// The number of left-out rows of each table, in the order of the merged tables.
    pub(super) left_out: Vec<u64>,
    _file: Scratch,
}

impl InsertedTables {
    /// Returns the object of a kind and name; `None` if it was not inserted.
    pub(super) fn object(&self, kind: &str, name: &str) -> Option<&StoredObject> {
        let place = self.places.get(&(kind == "trigger", name.to_ascii_lowercase()))?;
        self.objects.get(*place).filter(|object| object.kind == kind)
    }
}

/// Fills the tables whose rows SQLite inserts. Returns `None` if there is no such table.
pub(super) fn insert(
    (merge, target): (&Merge, &Target),
    sources: &[Source],
    shared: &[Shared],
    tables: &[MergedTable<'_>],
    context: &Context<'_>,
) -> Result<Option<InsertedTables>> {
    let is_inserted = |merged: &&MergedTable<'_>| matches!(merged.method, Method::Inserted(_));
    if !tables.iter().any(|merged| is_inserted(&merged)) {
        return Ok(None);
    }
    context.progress.phase("insert", None);
    let file = target.scratch()?;
    let connection = begin_temporary(file.path(), sources[0].snapshot.header(), &context.cancel)?;
    let mut left_out = vec![0; tables.len()];
    for (merged, left_out) in tables.iter().zip(&mut left_out).filter(|(merged, _)| is_inserted(merged)) {
        let filling = Filling { merge, sources, shared, merged, connection: &connection, context };
        *left_out = filling.fill()?;
    }
    let cannot = |error| failed(error, "write a temporary database");
    connection.execute_batch("COMMIT").map_err(cannot)?;
    connection.close().map_err(|(_, error)| cannot(error))?;
    context.cancel.check()?;
    for merged in tables.iter().filter(is_inserted) {
        make_indexes(merge, file.path(), (sources, shared, merged), context)?;
    }
    let mut options = ReadOptions::new();
    options.pending_byte = Some(merge.write.tuning.pending_byte);
    let snapshot = Snapshot::begin(file.path(), &options, &context.cancel)?;
    let objects = snapshot.objects(&context.cancel)?;
    let named = objects.iter().enumerate();
    let places = named.map(|(at, object)| ((object.kind == "trigger", object.name.to_ascii_lowercase()), at));
    let places = places.collect();
    Ok(Some(InsertedTables { snapshot, objects, places, left_out, _file: file }))
}

/// Returns the statements of the indexes of a table, each with `true` if no two rows may share a key.
fn indexes<'i>(
    sources: &'i [Source],
    shared: &'i [Shared],
    merged: &'i MergedTable<'_>,
) -> impl Iterator<Item = (&'i str, bool)> {
    let statements = merged.indexes.iter().filter_map(|&at| shared[at].object(sources).sql.as_deref());
    statements.map(|sql| {
        let index = merged.table.indexes.iter().find(|index| index.sql.as_deref() == Some(sql));
        (sql, index.is_none_or(|index| index.unique))
    })
}

/// Makes the non-unique indexes of a table, on all cores, in the temporary database at `path`.
fn make_indexes(
    merge: &Merge,
    path: &Path,
    (sources, shared, merged): (&[Source], &[Shared], &MergedTable<'_>),
    context: &Context<'_>,
) -> Result<()> {
    let others = indexes(sources, shared, merged).filter(|(_, is_unique)| !is_unique);
    let statements: Vec<&str> = others.map(|(sql, _)| sql).collect();
    if statements.is_empty() {
        return Ok(());
    }
    // The temporary database is a file, also where the merge goes to an object store.
    let mut write = merge.write.clone();
    write.destination = None;
    let index = Index::new(path, statements).write(write);
    index.run_with(context).map(drop).map_err(|error| of_application(error, &merged.table.name))
}

/// The state of filling a table.
struct Filling<'f, 's> {
    merge: &'f Merge,
    sources: &'f [Source],
    shared: &'f [Shared],
    merged: &'f MergedTable<'s>,
    connection: &'f Connection,
    context: &'f Context<'f>,
}

impl Filling<'_, '_> {
    /// Inserts the rows of all sources. Returns the number of left-out rows.
    fn fill(&self) -> Result<u64> {
        let Filling { merge, sources, shared, merged, connection, .. } = *self;
        let table = merged.table;
        let cannot =
            |error| of_application(failed(error, &format!("make table {}", table.name)), &table.name);
        let sql = merged.joined.as_ref().map_or(&table.sql, |joined| &joined.sql);
        connection.execute_batch(sql).map_err(cannot)?;
        if let Some(name) = &merge.source_column {
            if table.column(name).is_some() {
                let message = format!("table {} already has a column {name}", table.name);
                return Err(Error::usage(message).hint("give the added column another name"));
            }
            let sql = format!("ALTER TABLE {} ADD COLUMN {} TEXT", quoted(&table.name), quoted(name));
            connection.execute_batch(&sql).map_err(cannot)?;
        }
        for (sql, is_unique) in indexes(sources, shared, merged) {
            match is_unique {
                true => connection.execute_batch(sql).map_err(cannot)?,
                // An index that only an application can make is refused before rows are read.
                false => drop(connection.prepare(sql).map_err(cannot)?),
            }
        }
        let mut read = 0;
        for member in &merged.members {
            read += self.insert(member)?;
        }
        let left_out = match merge.write.on_conflict {
            OnConflict::Abort => 0,
            // An inserted row may replace several rows, so the remaining rows are counted.
            OnConflict::Ignore | OnConflict::Replace => {
                let count = format!("SELECT count(*) FROM {}", quoted(&table.name));
                let kept: i64 = connection.query_row(&count, [], |row| row.get(0)).map_err(cannot)?;
                read.saturating_sub(kept.cast_unsigned())
            }
        };
        Ok(left_out)
    }

    /// Inserts the rows of a source. Returns the number of its rows.
    fn insert(&self, member: &Member) -> Result<u64> {
        let Filling { merge, sources, merged, connection, context, .. } = *self;
        let source = &sources[member.source];
        let Some(table) = source.schema.table(&merged.table.name) else { return Ok(0) };
        let given = table.columns.iter().filter(|column| column.generated.is_none());
        let mut columns: Vec<String> = given.map(|column| quoted(&column.name)).collect();
        let rowid = table
            .rowid_name()
            .filter(|_| merge.keep_rowids && table.rowid_alias.is_none() && !table.without_rowid);
        columns.extend(rowid.map(str::to_owned));
        let cannot_read = |error| failed(error, &format!("read table {} of {}", table.name, source.name()));
        let snapshot = source.snapshot.connection();
        let not_indexed = if table.without_rowid { "" } else { " NOT INDEXED" };
        let select = format!("SELECT {} FROM {}{not_indexed}", columns.join(", "), quoted(&table.name));
        let mut select = snapshot.prepare(&select).map_err(cannot_read)?;
        let read = columns.len();
        columns.extend(merge.source_column.as_deref().map(quoted));
        let places = vec!["?"; columns.len()].join(", ");
        let (or, then) = match merge.write.on_conflict {
            OnConflict::Abort => (" OR ABORT", ""),
            OnConflict::Ignore => ("", " ON CONFLICT DO NOTHING"),
            OnConflict::Replace => (" OR REPLACE", ""),
        };
        let (name, listed) = (quoted(&table.name), columns.join(", "));
        let insert = format!("INSERT{or} INTO {name} ({listed}) VALUES ({places}){then}");
        let cannot_fill = |error| failed(error, &format!("fill table {}", table.name));
        let mut insert = connection.prepare(&insert).map_err(cannot_fill)?;
        let mut rows = select.query([]).map_err(cannot_read)?;
        let mut count = 0;
        let own_name = source.name();
        while let Some(row) = rows.next().map_err(cannot_read)? {
            let values = (0..read).map(|column| row.get_ref(column).map(ToSqlOutput::Borrowed));
            let mut values = values.collect::<rusqlite::Result<Vec<_>>>().map_err(cannot_read)?;
            if columns.len() > read {
                values.push(ToSqlOutput::Owned(Value::Text(own_name.clone())));
            }
            insert.execute(params_from_iter(values)).map_err(|error| {
                not_inserted(error, &format!("the rows of table {} of {own_name}", table.name))
            })?;
            count += 1;
            if count % REPORTED_ROWS == 0 {
                context.cancel.check()?;
                context.progress.advance(Amount { rows: REPORTED_ROWS, bytes: 0 });
            }
        }
        Ok(count)
    }
}

/// Returns the error for rows that SQLite refuses, with a remedy if other rows have their keys.
pub(super) fn not_inserted(error: rusqlite::Error, rows: &str) -> Error {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    let error = failed(error, &format!("insert {rows}"));
    match code {
        // Virtual tables return only the primary result code, so it counts as a repeated key, too.
        ffi::SQLITE_CONSTRAINT
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID
        | ffi::SQLITE_CONSTRAINT_UNIQUE => error.hint(message![
            "if rows of several sources have the same key, ",
            Setting::OnConflict.to("ignore"),
            " keeps the first, ",
            Setting::OnConflict.to("replace"),
            " the last"
        ]),
        _ => error,
    }
}
