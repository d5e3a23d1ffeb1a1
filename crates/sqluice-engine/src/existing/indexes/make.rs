//! Creates indexes on existing tables, in the open transaction.
//!
//! ```text
//!  read      rows of the table ──all cores──> sorters      from the file, under the write lock
//!  write     sorters ──merge──> pages past the end of the file
//!  publish   the last page and page 1: the database has the new pages
//!  enter     INSERT INTO sqlite_schema (..., root page, ...), and SQLite reads the schema again
//!  check     queries for the first and the last entry
//! ```
//!
//! CREATE INDEX would fill the index itself. So the row of `sqlite_schema` that CREATE INDEX would write is inserted, under `PRAGMA
//! writable_schema`, and the schema cookie is incremented: other connections read the schema again, as after CREATE INDEX.
//!
//! A table is read once for all of its indexes. An index whose entries only SQLite can compute is created by CREATE INDEX.

use std::sync::Arc;

use rusqlite::OptionalExtension;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context, Progress};
use sqluice_core::schema::index::Index;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::said;

use super::declared::{Declared, Ours};
use super::entries::{self, TreePosition};
use crate::existing::Transaction;
use crate::expressions::{Terms, prepare_by_index, terms};
use crate::phases::Phases;
use crate::sort::{Layout, Order, Prefetch, Sorted, Sorter, Spill};
use crate::trees::{Appender, IndexJob, Settings, WrittenTree, write_indexes};
use sqluice_reader::pages::{FileView, ViewedFile, damaged};

/// Creates all declared indexes. Commits nothing. Returns the tree of each index, or `None` for an index that SQLite made.
///
/// # Errors
/// If rows share a key of a unique index, the file is damaged, or the file can't be written.
pub fn make(
    transaction: &Transaction<'_>,
    declared: &[Declared<'_>],
    settings: &Settings,
    phases: &mut Phases<'_>,
) -> Result<Vec<Option<WrittenTree>>> {
    let mut made = vec![None; declared.len()];
    let groups = groups(declared);
    if !groups.is_empty() {
        let mut making = Making {
            transaction,
            settings,
            phases,
            appender: Appender::after(settings.page_count, settings.geometry, settings.chunk_bytes),
            last: None,
        };
        for group in &groups {
            let trees = making.table(group)?;
            group.iter().zip(trees).for_each(|((place, ..), tree)| made[*place] = Some(tree));
        }
        let Making { appender, last, phases, .. } = making;
        phases.begin("publish", None);
        transaction.publish(&[], appender.page_count(), last)?;
        enter(transaction, declared, &made)?;
        for (place, table, ours) in groups.iter().flatten() {
            let entries = made[*place].map_or(0, |tree| tree.entries);
            look_at_ends(transaction, table, &ours.index, entries)?;
        }
    }
    for declared in declared.iter().filter(|declared| declared.ours.is_none()) {
        phases.begin(&format!("sqlite {}", declared.statement.name), None);
        by_sqlite(transaction, declared)?;
    }
    Ok(made)
}

/// An index whose entries are written as pages, with its table and its position among all declared indexes.
type OfTable<'d> = (usize, &'d Table, &'d Ours);

/// Returns the indexes whose entries are written as pages, grouped by table. Tables are in the order of the statements.
fn groups<'d>(declared: &'d [Declared<'_>]) -> Vec<Vec<OfTable<'d>>> {
    let mut groups: Vec<Vec<OfTable<'_>>> = Vec::new();
    for (place, declared) in declared.iter().enumerate() {
        let Some(ours) = &declared.ours else { continue };
        let of_table = (place, declared.table, ours);
        match groups.iter_mut().find(|group| group[0].1.name == declared.table.name) {
            Some(group) => group.push(of_table),
            None => groups.push(vec![of_table]),
        }
    }
    groups
}

/// The state of the work that passes from table to table: the indexes of one table are written after those of another.
struct Making<'m, 'p> {
    transaction: &'m Transaction<'m>,
    settings: &'m Settings,
    phases: &'m mut Phases<'p>,
    appender: Appender,
    /// The last page that was written; `None` before the first. SQLite writes this page again, so that it counts all pages.
    last: Option<Vec<u8>>,
}

impl Making<'_, '_> {
    /// Writes the indexes of one table.
    fn table(&mut self, group: &[OfTable<'_>]) -> Result<Vec<WrittenTree>> {
        let Making { transaction, settings, phases, appender, last } = self;
        let name = &group[0].1.name;
        let cancel = transaction.cancel().child();
        let spill = Arc::new(Spill::new(settings.temp_dir.clone()));
        let share = settings.sort_bytes / 4 * 3 / group.len();
        let sorters = group
            .iter()
            .map(|(_, _, ours)| Sorter::new(layout(&ours.index), share / settings.workers, &spill));
        let sorters: Vec<Sorter> = sorters.collect();

        phases.begin(&format!("read {name}"), None);
        read(transaction, settings, phases, group, &sorters)?;

        phases.begin(&format!("sort {name}"), None);
        let ahead = Arc::new(Prefetch::new(settings.workers)?);
        let sorted =
            sorters.into_iter().map(|sorter| sorter.sorted(share, settings.workers, &ahead, &cancel));
        let sorted = sorted.collect::<Result<Vec<Sorted>>>()?;

        let items = sorted.iter().map(Sorted::items).sum();
        phases.begin(&format!("merge {name}"), Some(Amount { rows: items, bytes: 0 }));
        let jobs = group.iter().zip(&sorted);
        let jobs = jobs.map(|((_, table, ours), sorted)| IndexJob {
            sorted,
            unique: ours.index.unique.then_some((*table, &ours.index)),
        });
        let jobs: Vec<IndexJob<'_>> = jobs.collect();
        let (_, mut output) = transaction.past_the_end()?;
        let context = Context::default().progress(phases.progress()).cancel(&cancel);
        let trees = write_indexes(&jobs, settings, appender, &mut output, &context)?;
        phases.begin("sync", None);
        *last = Some(output.finish()?);
        Ok(trees)
    }
}

/// Returns the layout of the items in the sorter of an index. An item is the record of an entry; its rowid is not stored beside the record,
/// because the record ends with the rowid or primary key.
fn layout(index: &Index) -> Layout {
    let order = index.order().expect("other orders are SQLite's");
    Layout { order: Order::Record(order), rowid: false, number: false }
}

/// Reads the rows of a table, and pushes the entries of its indexes to their sorters.
fn read(
    transaction: &Transaction<'_>,
    settings: &Settings,
    phases: &Phases<'_>,
    group: &[OfTable<'_>],
    sorters: &[Sorter],
) -> Result<()> {
    let (_, table, _) = group[0];
    let Settings { geometry, page_count, workers, .. } = *settings;
    let view = transaction.view(page_count, phases.progress())?;
    let place = TreePosition { root_page: transaction.root_page(&table.name)?, geometry, page_count };
    let recipes: Vec<_> = group.iter().map(|(_, _, ours)| &ours.recipe).zip(sorters).collect();
    entries::of_rows(view, table, place, &recipes, workers)?;
    Ok(())
}

impl Transaction<'_> {
    /// Returns a view of the first `page_count` pages of the file, for reading trees that this transaction does not change.
    ///
    /// # Errors
    /// If the connection belongs to the caller, so that there is no descriptor for reads.
    pub(in crate::existing) fn view<'v>(
        &'v self,
        page_count: u32,
        progress: &'v dyn Progress,
    ) -> Result<FileView<'v>> {
        let existing = self.existing();
        let page_bytes = u64::from(page_count) * existing.geometry().page_bytes() as u64;
        // SQLite may count pages that it has not written to the file yet.
        let file = existing.descriptor()?;
        let file_bytes = file.metadata().map_or(page_bytes, |file| file.len().min(page_bytes));
        Ok(FileView {
            file: ViewedFile::Open(file),
            log: None,
            path: existing.name(),
            file_bytes,
            limit: None,
            at_rest: None,
            progress,
            cancel: self.cancel(),
        })
    }
}

/// Writes the rows of `sqlite_schema` as CREATE INDEX would, and has SQLite read the schema again.
fn enter(
    transaction: &Transaction<'_>,
    declared: &[Declared<'_>],
    made: &[Option<WrittenTree>],
) -> Result<()> {
    let connection = transaction.connection();
    let entered = || {
        connection.execute_batch("PRAGMA writable_schema = ON")?;
        for (declared, made) in declared.iter().zip(made) {
            let (Some(ours), Some(made)) = (&declared.ours, made) else { continue };
            connection.execute(
                "INSERT INTO main.sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('index', ?1, ?2, ?3, ?4)",
                (&ours.index.name, &declared.table.name, made.root_page, &ours.sql),
            )?;
        }
        let cookie: i64 = connection.query_row("PRAGMA main.schema_version", [], |row| row.get(0))?;
        // The cookie is a signed 32-bit number and wraps.
        let next = (cookie as i32).wrapping_add(1);
        connection.execute_batch(&format!("PRAGMA main.schema_version = {next}"))
    };
    let entered = entered();
    // The reset turns `writable_schema` off, also after an error, and makes SQLite read the schema again.
    let reset = connection.execute_batch("PRAGMA writable_schema = RESET");
    entered.and(reset).map_err(|error| transaction.failed(error, "change the schema of"))
}

/// Checks that SQLite finds the first and the last entry of a new index, if a query can use it. These queries pass through all levels of
/// the tree.
fn look_at_ends(transaction: &Transaction<'_>, table: &Table, index: &Index, entries: u64) -> Result<()> {
    // A query needs the terms of the index, which are found in its statement.
    let Some(Terms { key, filter }) = terms(index, table) else { return Ok(()) };
    let filter = filter.map_or_else(String::new, |filter| format!(" WHERE {filter}\n"));
    let order = |backwards: bool| {
        let terms = key.iter().zip(&index.columns).map(|(term, column)| {
            let order = if column.descending != backwards { "DESC" } else { "ASC" };
            format!("({term}\n) COLLATE {} {order}", quoted(&column.collation))
        });
        terms.collect::<Vec<_>>().join(", ")
    };
    for backwards in [false, true] {
        let (name, table) = (quoted(&index.name), quoted(&table.name));
        let order = order(backwards);
        let sql = format!("SELECT 1 FROM main.{table} INDEXED BY {name}{filter} ORDER BY {order} LIMIT 1");
        let cannot = |error| transaction.failed(error, "read an index of");
        let Some(mut query) = prepare_by_index(transaction.connection(), &sql).map_err(cannot)? else {
            return Ok(());
        };
        let found: Option<i64> = query.query_row([], |row| row.get(0)).optional().map_err(cannot)?;
        if found.is_some() != (entries > 0) {
            let what =
                format!("SQLite does not find the first or the last entry of the new index {}", index.name);
            return Err(damaged(transaction.existing().name(), &what));
        }
    }
    Ok(())
}

/// Has SQLite create an index.
fn by_sqlite(transaction: &Transaction<'_>, declared: &Declared<'_>) -> Result<()> {
    let made = transaction.connection().execute_batch(&declared.statement.sql);
    made.map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::ConstraintViolation) => {
            let name = &declared.statement.name;
            Error::input(format!("index {name}: {}", said(error)))
                .hint("nothing was changed; remove such rows, or make the index without UNIQUE")
        }
        Some(rusqlite::ErrorCode::Unknown) => {
            Error::usage(format!("index {}: {}", declared.statement.name, said(error)))
        }
        _ => transaction.failed(error, "make an index in"),
    })
}
