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

/// By what they are held: in all runs by keys of one word and form, or of two at most, or otherwise.
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
        let order = &layout.order;
        let parts = runs.map(|run| Part { layout, run, start, end });
        let parts = parts.filter(|part| start.is_none_or(|cut| cut.prefix() <= part.run.prefixes(order).1));
        let parts: Vec<_> = parts.collect();
        let all_are =
            |forms: &[Form]| parts.iter().all(|part| part.form().is_some_and(|form| forms.contains(&form)));
        Merge(if all_are(&[Form::Pair]) {
            Kind::Word(KeyMerge::new((order, Form::Pair), parts, block_bytes, ahead))
        } else if all_are(&[Form::Word]) {
            Kind::Word(KeyMerge::new((order, Form::Word), parts, block_bytes, ahead))
        } else if all_are(&[Form::Word, Form::Words]) {
            Kind::Words(KeyMerge::new((order, Form::Words), parts, block_bytes, ahead))
        } else {
            Kind::Items(ItemMerge::new(layout, parts, block_bytes, ahead))
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

    /// Its key begins with this, in some form: items of which it is not equal have unequal keys.
    #[inline]
    pub fn prefix(&self) -> u128 {
        match &self.0 {
            Kind::Word(merge) => merge.first_word(),
            Kind::Words(merge) => merge.first_word(),
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
