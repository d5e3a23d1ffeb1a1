//! Writes the trees of indexes from sorted entries, without writing the tables to which they belong.

use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_core::schema::Table;
use sqluice_core::schema::index::Index;

use super::keys::on_conflict::Dropped;
use super::keys::unique::{KnownRows, Unique, key_order, primary_key};
use super::made_from::Trees;
use super::made_from::sorted_runs::RunsTree;
use super::pass;
use super::writer::PassContext;
use super::writer::page_numbers::Appender;
use super::{Settings, WrittenTree};
use crate::output::Output;
use crate::sort::Sorted;

/// An index to write, or a WITHOUT ROWID table, which is stored like an index: its sorted entries, and the unique key.
pub(crate) struct IndexJob<'a> {
    pub(crate) sorted: &'a Sorted,
    /// The table, and the index whose key no two of its rows may share; `None` if rows may share keys.
    pub(crate) unique: Option<(&'a Table, &'a Index)>,
}

/// Writes the trees of indexes, one after another. The root of each tree is built last.
///
/// # Errors
/// If rows share a unique key, or the pages can't be written. In this case, `context.cancel` is set, so that all threads stop.
pub(crate) fn write_indexes(
    jobs: &[IndexJob<'_>],
    settings: &Settings,
    appender: &mut Appender,
    output: &mut dyn Output,
    context: &Context<'_>,
) -> Result<Vec<WrittenTree>> {
    let nothing = Dropped::default();
    let trees = jobs.iter().map(|&IndexJob { sorted, unique }| {
        let unique = unique.map(|(table, index)| {
            let is_clustered = table.clustered.as_ref().is_some_and(|clustered| clustered.name == index.name);
            let order = if is_clustered { primary_key(index) } else { key_order(index) };
            Unique { table, index: Some(index), order: Some(order), rows: KnownRows::Stored }
        });
        RunsTree { sorted, rowids: false, unique, dropped: &nothing, root_page: None }
    });
    let mut around =
        PassContext { output, rejects: None, progress: context.progress, cancel: &context.cancel };
    let made = pass::run(&Trees::Runs(trees.collect()), Vec::new(), settings, appender, &mut around)?;
    Ok(made.into_iter().map(|made| made.tree).collect())
}
