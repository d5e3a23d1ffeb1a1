//! Writes tables and indexes that are copied or merged from trees of other databases.

use sqluice_core::error::Result;
use sqluice_core::progress::Context;

use super::made_from::{TreeCopy, Trees};
use super::pass;
use super::writer::PassContext;
use super::writer::page_numbers::Appender;
use super::{Settings, WrittenTree};
use crate::output::Output;

/// Writes copies of trees, one after another. The root of each tree is built last.
///
/// # Errors
/// If a tree is damaged, or an index is out of order, or the pages can't be written. In this case, `context.cancel` is set, so that all
/// threads stop.
pub(crate) fn write_copies(
    trees: &[TreeCopy<'_>],
    settings: &Settings,
    appender: &mut Appender,
    output: &mut dyn Output,
    context: &Context<'_>,
) -> Result<Vec<WrittenTree>> {
    let mut around =
        PassContext { output, rejects: None, progress: context.progress, cancel: &context.cancel };
    let made = pass::run(&Trees::Copy(trees), Vec::new(), settings, appender, &mut around)?;
    Ok(made.into_iter().map(|made| made.tree).collect())
}
