//! The work of SQLite on a new file, after the engine has written the pages and before the file gets its name.
//!
//! The rows that only SQLite can store are in a *staging database*: a temporary file, to which the engine has written them as pages.
//!
//! ```text
//!  rows          of tables that only SQLite can fill:      staging database ── INSERT ... SELECT ──> the file
//!  indexes       CREATE INDEX, or REINDEX if the index is automatic: indexes that only SQLite can make
//!                (before the rows, if conflicts decide which rows stay and the index may refuse a row)
//!  objects       virtual tables, views, triggers: after the rows, so that no trigger fires for the rows
//!  more rows     of virtual tables:                        staging database ── INSERT ... SELECT ──> the file
//!                then the indexes of full-text tables, on all cores
//!  last          statements of the caller, such as the statements of a dump that store no rows
//!  constraints   FOREIGN KEY: queries over the rows
//!  analyze       ANALYZE
//! ```
//!
//! Invariant: a failure leaves no sidecar files (journal or WAL). The pages of the file may then be in any state, so the file is discarded.
//! So nothing is synced here, and journals stay in memory. SQLite's temporary files for sorting have no names.
//!
//! Invariant: freed pages are zeroed, so the written bytes do not depend on earlier contents of memory.

mod foreign_keys;
mod indexes;
mod names;
mod rows;
mod sorting;

pub(crate) use foreign_keys::{check as check_foreign_keys, refuse_cascade};
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::progress::{Cancel, Context, Progress};
use sqluice_core::schema::index::{Index, IndexColumn, Indexed};
use sqluice_core::schema::token::{self, Token};
use sqluice_core::schema::{Object, Schema, Table};

use crate::full_text::declaration::{Content, Declaration};
use crate::full_text::table::{Means, TextTable, rebuild};
use crate::options::{OnConflict, WritePath};
use crate::plan::{Plan, TablePlan};
use sqluice_core::database_path::immutable_uri;
use sqluice_core::error::{Error, Result};
use sqluice_core::sqlite_error::failed;

use sorting::SortingIn;

/// The work that SQLite still has to do on a file: the tables, indexes and other objects that the engine does not write as pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) plan: &'a Plan,
}

impl<'a> Work<'a> {
    /// Returns `true` if any work is left. If not, the file is not opened, and the engine writes views and triggers itself.
    pub(crate) fn is_needed(&self) -> bool {
        self.plan.analyze
            || self.plan.last.is_some()
            || self.has_indexes()
            || self.filled().next().is_some()
            || self.has_foreign_keys()
            || self.schema.others.iter().any(is_virtual_table)
    }

    /// Does the work in the file at `path`, which must be a complete database:
    ///
    /// * every table that is not virtual exists, those of [`WritePath::Sqlite`] without rows;
    /// * all automatic indexes exist, those of [`WritePath::Sqlite`] without entries;
    /// * other indexes of [`WritePath::Sqlite`], virtual tables and their shadow tables, views and triggers do not exist.
    ///
    /// `staging` is a database of [`Work::staging_schema`], with the rows for the tables of [`WritePath::Sqlite`]; their rowids
    /// are the numbers of the records.
    ///
    /// Returns the number of rows of each table of [`WritePath::Sqlite`], in the order of the schema.
    ///
    /// # Errors
    /// If rows violate a constraint, SQLite can't write, or `cancel` is set. The file must then be discarded.
    pub(crate) fn finish(
        &self,
        path: &Path,
        staging: Option<&Path>,
        context: &Context<'_>,
    ) -> Result<Vec<u64>> {
        context.cancel.check()?;
        // An absolute path is never parsed as a URI.
        let path = std::path::absolute(path).map_err(|e| Error::read(path, e))?;
        let mut connection =
            open(&path, self.plan, &context.cancel).map_err(|error| failed(error, "open the new file"))?;
        let sorting = SortingIn::folder(&connection, self.plan.temp_dir.as_deref().or(path.parent()));
        let done = self.whole(&mut connection, &path, staging, context);
        sorting.end(&connection);
        let stored = done?;
        connection.close().map_err(|(_, error)| failed(error, "close the new file"))?;
        context.cancel.check()?;
        refuse_siblings(&path)?;
        Ok(stored)
    }

    /// Does the work in an existing database, in an open transaction. The rows of all tables are in place, and so are the unique indexes
    /// that decided which rows stay. The schema's first tables are those of the plan; other tables may follow, as parents of foreign keys.
    ///
    /// # Errors
    /// The errors of [`Work::finish`]. The transaction must then be rolled back.
    pub(crate) fn finish_in(
        &self,
        connection: &Connection,
        path: &Path,
        context: &Context<'_>,
    ) -> Result<()> {
        let set = sorting_memory(self.plan);
        connection.execute_batch(&set).map_err(|error| failed(error, "take memory"))?;
        let sorting = SortingIn::folder(connection, self.plan.temp_dir.as_deref().or(path.parent()));
        let filled = self.fill_all(connection, path, None, context);
        let done = filled.and_then(|_| self.verify(connection, context.progress));
        sorting.end(connection);
        done
    }

    /// Returns the schema of the staging database, or `None` if it has no tables: the tables of [`WritePath::Sqlite`] with the columns that
    /// take values, of the same types and with no constraints except NOT NULL. STRICT tables stay STRICT, because ANY has another meaning
    /// in other tables.
    ///
    /// # Errors
    /// If the columns of a table have all names of the rowid, so that its rows can't be numbered.
    pub(crate) fn staging_schema(&self) -> Result<Option<Schema>> {
        let mut sql = String::new();
        for (table, _) in self.filled() {
            sql += &rows::staging_table(table)?;
        }
        (!sql.is_empty()).then(|| Schema::parse(sql, &self.schema.file)).transpose()
    }

    /// Does all work in a new file.
    fn whole(
        &self,
        connection: &mut Connection,
        path: &Path,
        staging: Option<&Path>,
        context: &Context<'_>,
    ) -> Result<Vec<u64>> {
        let progress = context.progress;
        let check = |ignores| {
            let set = connection.pragma_update(None, "ignore_check_constraints", ignores);
            set.map_err(|error| failed(error, "change the check of constraints"))
        };
        check(self.plan.ignores_checks)?;
        let stored = self.fill_all(connection, path, staging, context)?;
        check(false)?;
        if let Some(last) = &self.plan.last {
            (last.0)(connection, progress)?;
        }
        self.verify(connection, progress)?;
        Ok(stored)
    }

    /// Inserts rows, and makes indexes and other objects.
    fn fill_all(
        &self,
        connection: &Connection,
        path: &Path,
        staging: Option<&Path>,
        context: &Context<'_>,
    ) -> Result<Vec<u64>> {
        let progress = context.progress;
        let staging = staging.filter(|_| self.filled().next().is_some());
        let mut stored = vec![0; if staging.is_some() { self.filled().count() } else { 0 }];
        if let Some(staging) = staging {
            self.fill(connection, staging, &mut stored, None, progress)?;
        }
        if self.has_indexes() {
            progress.phase("indexes", None);
        }
        for (table, plan) in self.tables() {
            let first = self.indexes_first(plan);
            indexes::make(connection, table, plan, |index| !(first && may_refuse(table, index)))?;
        }
        self.make_others(connection)?;
        let means = self.means_of_text(path, context);
        if let Some(staging) = staging {
            self.fill(connection, staging, &mut stored, Some(&means), progress)?;
        }
        self.fill_full_text(connection, &means)?;
        Ok(stored)
    }

    /// Checks foreign keys, and runs ANALYZE if the user wants it.
    fn verify(&self, connection: &Connection, progress: &dyn Progress) -> Result<()> {
        if self.has_foreign_keys() {
            progress.phase("constraints", None);
        }
        for (table, _) in self.tables().filter(|(table, plan)| self.looks_for_parents(table, plan)) {
            foreign_keys::check(connection, self.schema, table)?;
        }
        if self.plan.analyze {
            progress.phase("analyze", None);
            connection.execute_batch("ANALYZE main").map_err(|error| failed(error, "run ANALYZE"))?;
        }
        Ok(())
    }

    /// Copies the staged rows into the tables that SQLite fills: only into virtual tables if `virtual_tables` is given, otherwise only into
    /// the other tables. `stored` has an element for each table that SQLite fills, and gets its number of rows.
    fn fill(
        &self,
        connection: &Connection,
        staging: &Path,
        stored: &mut [u64],
        virtual_tables: Option<&Means<'_>>,
        progress: &dyn Progress,
    ) -> Result<()> {
        let filled = || {
            let numbered = self.filled().enumerate();
            numbered.filter(|(_, (table, _))| table.is_virtual == virtual_tables.is_some())
        };
        if filled().next().is_none() {
            return Ok(());
        }
        let cannot_open = |error| failed(error, "open the temporary database with the rows to insert");
        connection.execute("ATTACH ?1 AS staging", [immutable_uri(staging)?]).map_err(cannot_open)?;
        progress.phase("rows", rows::amount(connection, filled().map(|(_, (table, _))| table))?);
        for (number, (table, plan)) in filled() {
            if self.indexes_first(plan) {
                indexes::make(connection, table, plan, |index| may_refuse(table, index))?;
            }
            let indexed = match virtual_tables {
                Some(means) => self.index_texts(connection, table, means)?,
                None => None,
            };
            stored[number] = match indexed {
                Some(rows) => rows,
                None => rows::copy(connection, table, self.plan.on_conflict, progress)?,
            };
        }
        connection.execute_batch("DETACH staging").map_err(cannot_open)
    }

    /// Creates virtual tables, views and triggers in order, as each object may need earlier objects.
    fn make_others(&self, connection: &Connection) -> Result<()> {
        let others =
            self.schema.others.iter().filter(|other| other.kind != "table" || is_virtual_table(other));
        for other in others {
            if let Some(sql) = &other.sql {
                let what = format!("make {} {}", other.kind, other.name);
                connection.execute_batch(sql).map_err(|error| failed(error, &what))?;
            }
        }
        Ok(())
    }

    /// Builds, from the staged rows, the index of a full-text table that keeps no texts. Returns the number of rows. If the rows of the
    /// table must be inserted, changes nothing and returns `None`.
    fn index_texts(&self, connection: &Connection, table: &Table, means: &Means<'_>) -> Result<Option<u64>> {
        let failed = |error| failed(error, &format!("fill table {}", table.name));
        let Ok(declaration) = Declaration::of(connection, &table.name).map_err(failed)? else {
            return Ok(None);
        };
        if declaration.content != Content::None || self.plan.on_conflict != OnConflict::Abort {
            return Ok(None);
        }
        let Some(texts) = rows::texts(connection, table, &declaration)? else { return Ok(None) };
        // Without BEGIN, each INSERT would be a transaction of its own.
        connection.execute_batch("BEGIN").map_err(failed)?;
        let filled = TextTable::new(connection, &declaration, means.clone()).fill(&texts.indexed)?;
        let rows = match filled {
            Some(filled) => {
                if let Some(kept) = &texts.kept {
                    connection.execute_batch(kept).map_err(failed)?;
                }
                Some(filled.rows)
            }
            None => None,
        };
        connection.execute_batch("COMMIT").map_err(failed)?;
        Ok(rows)
    }

    /// Returns the threads, memory and folder for building full-text indexes.
    fn means_of_text<'m>(&self, path: &Path, context: &'m Context<'m>) -> Means<'m> {
        let folder = self.plan.temp_dir.as_deref().or(path.parent());
        Means {
            workers: self.plan.threads,
            // Half of the memory is for the full-text indexes, and half for the page cache of SQLite.
            memory_bytes: (self.plan.memory_bytes / 2) as usize,
            temp_dir: folder.map_or_else(std::env::temp_dir, Path::to_owned),
            cancel: &context.cancel,
            progress: context.progress,
        }
    }

    /// Builds the indexes of full-text tables whose text is in other tables, and of those that keep their text, which is stored by now.
    fn fill_full_text(&self, connection: &Connection, means: &Means<'_>) -> Result<()> {
        let with_text = self.filled().filter(|(table, _)| table.is_virtual);
        let with_text: Vec<&str> = with_text.map(|(table, _)| &*table.name).collect();
        let with_text = with_text.into_iter().filter(|name| rows::own_content(connection, name).is_some());
        let others = self.plan.full_text.iter().map(|name| &**name);
        let all: Vec<&str> = with_text.chain(others).collect();
        all.iter().try_for_each(|name| rebuild(connection, name, means).map(drop))
    }

    fn tables(&self) -> impl Iterator<Item = (&'a Table, &'a TablePlan)> + use<'a> {
        self.schema.tables.iter().zip(&self.plan.tables)
    }

    /// Returns the tables whose rows SQLite inserts.
    fn filled(&self) -> impl Iterator<Item = (&'a Table, &'a TablePlan)> + use<'a> {
        self.tables().filter(|(_, plan)| plan.write_path == WritePath::Sqlite)
    }

    /// Returns `true` if the indexes that may refuse a row are created before the rows, because conflicts decide which rows stay.
    fn indexes_first(&self, plan: &TablePlan) -> bool {
        plan.write_path == WritePath::Sqlite && self.plan.on_conflict != OnConflict::Abort
    }

    fn has_indexes(&self) -> bool {
        let of_sqlite = |(table, plan)| indexes::to_make(table, plan, &|_| true).next().is_some();
        self.tables().any(of_sqlite)
    }

    fn has_foreign_keys(&self) -> bool {
        self.tables().any(|(table, plan)| self.looks_for_parents(table, plan))
    }

    fn looks_for_parents(&self, table: &Table, plan: &TablePlan) -> bool {
        self.plan.foreign_keys && table.foreign_keys && !plan.parents_known
    }
}

/// Returns `true` if an index may refuse a row: for a key that another row has, or that SQLite can't compute.
fn may_refuse(table: &Table, index: &Index) -> bool {
    let is_computed = |column: &IndexColumn| match column.value {
        Indexed::Column(column) => table.columns[column].generated.is_some(),
        Indexed::Rowid => false,
        Indexed::Expression => true,
    };
    index.unique || index.partial || index.columns.iter().any(is_computed)
}

/// Returns `true` if a schema object is a virtual table, which creates its shadow tables itself.
pub fn is_virtual_table(object: &Object) -> bool {
    let sql = object.sql.as_deref().unwrap_or_default();
    let tokens = token::tokens(sql);
    let mut words = tokens.iter().filter(|token: &&Token| !token.is_comment());
    object.kind == "table" && words.nth(1).is_some_and(|word| word.is_word(sql, "VIRTUAL"))
}

/// Opens the file so that no other connection can use it.
fn open(path: &Path, plan: &Plan, cancel: &Cancel) -> rusqlite::Result<Connection> {
    // With SQLITE_OPEN_URI, ATTACH takes the staging database as a URI.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let cancel = cancel.clone();
    connection.progress_handler(1000, Some(move || cancel.check().is_err()))?;
    connection.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
         PRAGMA secure_delete = ON; PRAGMA temp_store = FILE; PRAGMA foreign_keys = OFF;",
    )?;
    connection.execute_batch(&sorting_memory(plan))?;
    Ok(connection)
}

/// Returns the PRAGMAs that divide SQLite's memory: each sorting thread takes as much as the page cache.
fn sorting_memory(plan: &Plan) -> String {
    let threads = plan.threads.min(8);
    let cache_kib = (plan.memory_bytes / (threads as u64 + 2)) >> 10;
    format!("PRAGMA cache_size = -{cache_kib}; PRAGMA threads = {threads}")
}

/// Checks that SQLite left no journal and no WAL beside the database.
fn refuse_siblings(path: &Path) -> Result<()> {
    for suffix in ["-journal", "-wal", "-shm"] {
        let mut sibling = OsString::from(path);
        sibling.push(suffix);
        if Path::new(&sibling).exists() {
            let message = format!("SQLite left {} beside the new file", sibling.display());
            return Err(Error::target(message).hint("look at what it holds, and remove it"));
        }
    }
    Ok(())
}
