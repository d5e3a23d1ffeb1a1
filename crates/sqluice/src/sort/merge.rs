//! The items of a range, out of all runs.

use super::ahead::Ahead;
use super::item_merge::ItemMerge;
use super::key_merge::KeyMerge;
use super::order::{Cut, Item, Layout};
use super::reader::Part;
use super::run::{FileRun, Run, RunWriter};
use crate::error::Result;

/// The items of a range, one after another.
pub struct Merge<'a>(Kind<'a>);

/// By what they are held: in all runs by keys of a word, or of two at most, or otherwise.
enum Kind<'a> {
    Word(KeyMerge<'a, 1>),
    Words(KeyMerge<'a, 2>),
    Items(ItemMerge<'a>),
}

impl<'a> Merge<'a> {
    /// Merges what runs have between two cuts, each read in blocks of `block_bytes`.
    pub(super) fn new(
        layout: &'a Layout,
        runs: impl Iterator<Item = &'a Run>,
        (start, end): (Option<&'a Cut>, Option<&'a Cut>),
        block_bytes: usize,
        ahead: &'a Ahead,
    ) -> Merge<'a> {
        let parts = runs.map(|run| Part { layout, run, start, end });
        let parts = parts.filter(|part| start.is_none_or(|cut| cut.prefix() <= part.run.prefixes().1));
        let mut waiting: Vec<_> = parts.map(|part| (part.prefix_min(), part)).collect();
        waiting.sort_by_key(|(from, _)| std::cmp::Reverse(*from));
        let words = waiting.iter().try_fold(1, |most, (_, part)| Some(part.run.words()?.max(most)));
        Merge(match words {
            Some(1) => Kind::Word(KeyMerge::new(layout, waiting, block_bytes, ahead)),
            Some(_) => Kind::Words(KeyMerge::new(layout, waiting, block_bytes, ahead)),
            None => Kind::Items(ItemMerge::new(layout, waiting, block_bytes, ahead)),
        })
    }

    /// Goes on to the next item in order; says whether there is one.
    ///
    /// # Errors
    /// When what was spilled can't be read.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        match &mut self.0 {
            Kind::Word(merge) => merge.advance(),
            Kind::Words(merge) => merge.advance(),
            Kind::Items(merge) => merge.advance(),
        }
    }

    /// The item, after `advance` said that there is one.
    #[inline]
    pub fn item(&self) -> Item<'_> {
        match &self.0 {
            Kind::Word(merge) => merge.item(),
            Kind::Words(merge) => merge.item(),
            Kind::Items(merge) => merge.item(),
        }
    }

    /// The prefix of its key: items with unequal prefixes have unequal keys.
    #[inline]
    pub fn prefix(&self) -> u128 {
        match &self.0 {
            Kind::Word(merge) => merge.prefix(),
            Kind::Words(merge) => merge.prefix(),
            Kind::Items(merge) => merge.prefix(),
        }
    }

    /// Writes all items to a run.
    pub(super) fn write(self, layout: &Layout, writer: &mut RunWriter) -> Result<FileRun> {
        let last_prefix = match self.0 {
            Kind::Word(mut merge) => merge.write(writer)?,
            Kind::Words(mut merge) => merge.write(writer)?,
            Kind::Items(mut merge) => {
                let mut last_prefix = 0;
                while merge.advance()? {
                    writer.push(merge.bytes(), || layout.order.place(&merge.item()))?;
                    last_prefix = merge.prefix();
                }
                last_prefix
            }
        };
        writer.finish(last_prefix)
    }
}
