//! The items of a range, out of all runs.

use sqluice_core::error::Result;

use super::feed::Cuts;
use super::halves::word;
use super::item_merge::ItemMerge;
use super::key_merge::KeyMerge;
use super::keys::Form;
use super::order::{Item, Layout};
use super::prefetch::Prefetch;
use super::reader::RunSlice;
use super::run::{FileRun, RunWriter, SortedRun};

/// The items of a range, one after another.
pub struct Merge<'a>(Kind<'a>);

/// The form in which all runs hold their items: short pairs, pairs, keys of one word or of two at most, UUIDs, or whole items.
enum Kind<'a> {
    Shorts(KeyMerge<'a, 1>),
    Pairs(KeyMerge<'a, 2>),
    Word(KeyMerge<'a, 2>),
    Words(KeyMerge<'a, 4>),
    Uuids(KeyMerge<'a, 4>),
    Items(ItemMerge<'a>),
}

impl<'a> Merge<'a> {
    /// Merges what runs have between two cuts, each read in blocks of `block_bytes`.
    pub(super) fn new(
        layout: &'a Layout,
        runs: impl Iterator<Item = &'a SortedRun>,
        (start, end): Cuts<'a>,
        block_bytes: usize,
        prefetch: &'a Prefetch,
    ) -> Merge<'a> {
        let order = &layout.order;
        let has_some = |run: &SortedRun| {
            let (first, last) = run.prefixes(order);
            start.is_none_or(|cut| cut.prefix() <= last) && end.is_none_or(|cut| first <= cut.prefix())
        };
        let runs = runs.filter(|run| has_some(run));
        let parts: Vec<_> = runs.map(|run| RunSlice { layout, run, start, end }).collect();
        let all_are =
            |forms: &[Form]| parts.iter().all(|part| part.form().is_some_and(|form| forms.contains(&form)));
        Merge(if all_are(&[Form::Short]) {
            Kind::Shorts(KeyMerge::new((order, Form::Short), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Short, Form::Pair]) {
            Kind::Pairs(KeyMerge::new((order, Form::Pair), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Word]) {
            Kind::Word(KeyMerge::new((order, Form::Word), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Word, Form::Words]) {
            Kind::Words(KeyMerge::new((order, Form::Words), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Uuid]) {
            Kind::Uuids(KeyMerge::new((order, Form::Uuid), parts, block_bytes, prefetch))
        } else {
            Kind::Items(ItemMerge::new(layout, parts, block_bytes, prefetch))
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
            Kind::Shorts(merge) => merge.try_for_each(
                |decoded, order, [short]| decoded.set_pair(order, order.pair_of_short(short)),
                each,
            ),
            Kind::Pairs(merge) => {
                merge.try_for_each(|decoded, order, key| decoded.set_pair(order, word(key)), each)
            }
            Kind::Word(merge) => {
                merge.try_for_each(|decoded, order, key| decoded.set(order, [word(key)]), each)
            }
            Kind::Words(merge) => merge.try_for_each(
                |decoded, order, [a, b, c, d]| decoded.set(order, [[a, b], [c, d]].map(word)),
                each,
            ),
            Kind::Uuids(merge) => {
                merge.try_for_each(|decoded, order, key| decoded.set_uuid(order, key), each)
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
            Kind::Shorts(merge) => merge.write(writer)?,
            Kind::Pairs(merge) | Kind::Word(merge) => merge.write(writer)?,
            Kind::Words(merge) | Kind::Uuids(merge) => merge.write(writer)?,
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
