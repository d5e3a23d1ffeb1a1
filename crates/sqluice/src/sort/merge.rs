//! The items of a range, out of all runs.

use super::ahead::Ahead;
use super::item_merge::ItemMerge;
use super::key_merge::KeyMerge;
use super::keys::Form;
use super::order::{Cut, Item, Layout};
use super::reader::Part;
use super::run::{FileRun, Run, RunWriter};
use crate::error::Result;

/// The items of a range, one after another.
pub struct Merge<'a>(Kind<'a>);

/// By what they are held: in all runs, if there are any, by pairs, by keys of a word, or of two at most, or otherwise.
enum Kind<'a> {
    Pairs(KeyMerge<'a, 1>),
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
        let order = &layout.order;
        let parts = runs.map(|run| Part { layout, run, start, end });
        let parts = parts.filter(|part| start.is_none_or(|cut| cut.prefix() <= part.run.prefixes(order).1));
        let parts: Vec<_> = parts.collect();
        let all_are =
            |forms: &[Form]| parts.iter().all(|part| part.form().is_some_and(|form| forms.contains(&form)));
        Merge(if all_are(&[Form::Pair]) {
            Kind::Pairs(KeyMerge::new((order, Form::Pair), parts, block_bytes, ahead))
        } else if all_are(&[Form::Word]) {
            Kind::Word(KeyMerge::new((order, Form::Word), parts, block_bytes, ahead))
        } else if all_are(&[Form::Word, Form::Words]) {
            Kind::Words(KeyMerge::new((order, Form::Words), parts, block_bytes, ahead))
        } else {
            Kind::Items(ItemMerge::new(layout, parts, block_bytes, ahead))
        })
    }

    /// Calls `each` with the items in order, and with what their keys begin with, in some form: items of which that is not equal have
    /// unequal keys.
    ///
    /// # Errors
    /// What `each` says, and when what was spilled can't be read.
    #[inline]
    pub fn try_for_each(self, mut each: impl FnMut(Item<'_>, u128) -> Result<()>) -> Result<()> {
        match self.0 {
            Kind::Pairs(mut merge) => {
                let order = merge.order;
                merge.try_for_each(|told, [pair]| {
                    told.set_pair(order, pair);
                    each(told.item(), pair)
                })
            }
            Kind::Word(mut merge) => {
                let order = merge.order;
                merge.try_for_each(|told, key| {
                    told.set(order, key);
                    each(told.item(), key[0])
                })
            }
            Kind::Words(mut merge) => {
                let order = merge.order;
                merge.try_for_each(|told, key| {
                    told.set(order, key);
                    each(told.item(), key[0])
                })
            }
            Kind::Items(mut merge) => {
                while merge.advance()? {
                    each(merge.item(), merge.prefix())?;
                }
                Ok(())
            }
        }
    }

    /// Writes all items to a run.
    pub(super) fn write(self, layout: &Layout, writer: &mut RunWriter) -> Result<FileRun> {
        let last_prefix = match self.0 {
            Kind::Pairs(mut merge) | Kind::Word(mut merge) => merge.write(writer)?,
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
