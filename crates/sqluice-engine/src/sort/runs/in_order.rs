//! Merges the items of one range from all runs: as keys if all runs allow it, otherwise as full items.

use sqluice_core::error::Result;

use super::feed::Cuts;
use super::item_reader::RunSlice;
use super::merged_items::ItemRuns;
use super::merged_keys::KeyRuns;
use super::run::{FileRun, RunWriter, SortedRun};
use crate::sort::items::halves::word;
use crate::sort::items::keys::Form;
use crate::sort::items::order::{Item, Layout};
use crate::sort::spill::prefetch::Prefetch;

/// The items of one range in order, merged from all runs.
pub struct RunsInOrder<'a>(Kind<'a>);

/// The merge of all runs, by the form in which the items are merged: keys of one form if all runs have keys that can be read in this form,
/// otherwise full items.
enum Kind<'a> {
    Shorts(KeyRuns<'a, 1>),
    Pairs(KeyRuns<'a, 2>),
    Word(KeyRuns<'a, 2>),
    Words(KeyRuns<'a, 4>),
    Uuids(KeyRuns<'a, 4>),
    Items(ItemRuns<'a>),
}

impl<'a> RunsInOrder<'a> {
    /// Begins to merge the items between the cuts `start` and `end` from all runs. Spilled runs are read in blocks of `block_bytes` bytes.
    pub(in crate::sort) fn new(
        layout: &'a Layout,
        runs: impl Iterator<Item = &'a SortedRun>,
        (start, end): Cuts<'a>,
        block_bytes: usize,
        prefetch: &'a Prefetch,
    ) -> RunsInOrder<'a> {
        let order = &layout.order;
        let has_some = |run: &SortedRun| {
            let (first, last) = run.prefixes(order);
            start.is_none_or(|cut| cut.prefix() <= last) && end.is_none_or(|cut| first <= cut.prefix())
        };
        let runs = runs.filter(|run| has_some(run));
        let parts: Vec<_> = runs.map(|run| RunSlice { layout, run, start, end }).collect();
        let all_are =
            |forms: &[Form]| parts.iter().all(|part| part.form().is_some_and(|form| forms.contains(&form)));
        RunsInOrder(if all_are(&[Form::Short]) {
            Kind::Shorts(KeyRuns::new((order, Form::Short), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Short, Form::Pair]) {
            Kind::Pairs(KeyRuns::new((order, Form::Pair), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Word]) {
            Kind::Word(KeyRuns::new((order, Form::Word), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Word, Form::Words]) {
            Kind::Words(KeyRuns::new((order, Form::Words), parts, block_bytes, prefetch))
        } else if all_are(&[Form::Uuid]) {
            Kind::Uuids(KeyRuns::new((order, Form::Uuid), parts, block_bytes, prefetch))
        } else {
            Kind::Items(ItemRuns::new(layout, parts, block_bytes, prefetch))
        })
    }

    /// Calls `each` with each item in order, and with the first word (16 bytes) of its key, in the form in which the items are merged. If
    /// these words of two items differ, the keys of the items differ, except in the order by rowid, in which the word also has the number
    /// of the item.
    ///
    /// # Errors
    /// The errors of `each`, and errors of reading spilled items.
    #[inline]
    pub fn try_for_each(self, mut each: impl FnMut(Item<'_>, u128) -> Result<()>) -> Result<()> {
        match self.0 {
            Kind::Shorts(runs) => runs.try_for_each(
                |decoded, order, [short]| decoded.set_pair(order, order.pair_of_short(short)),
                each,
            ),
            Kind::Pairs(runs) => {
                runs.try_for_each(|decoded, order, key| decoded.set_pair(order, word(key)), each)
            }
            Kind::Word(runs) => {
                runs.try_for_each(|decoded, order, key| decoded.set(order, [word(key)]), each)
            }
            Kind::Words(runs) => runs.try_for_each(
                |decoded, order, [a, b, c, d]| decoded.set(order, [[a, b], [c, d]].map(word)),
                each,
            ),
            Kind::Uuids(runs) => runs.try_for_each(|decoded, order, key| decoded.set_uuid(order, key), each),
            Kind::Items(mut runs) => {
                while runs.advance()? {
                    each(runs.item(), runs.prefix())?;
                }
                Ok(())
            }
        }
    }

    /// Merges all items to one run in the temporary file.
    pub(in crate::sort) fn write(self, layout: &Layout, writer: &mut RunWriter) -> Result<FileRun> {
        let last_prefix = match self.0 {
            Kind::Shorts(runs) => runs.write(writer)?,
            Kind::Pairs(runs) | Kind::Word(runs) => runs.write(writer)?,
            Kind::Words(runs) | Kind::Uuids(runs) => runs.write(writer)?,
            Kind::Items(mut runs) => {
                let mut last_prefix = 0;
                while runs.advance()? {
                    writer.push(runs.bytes(), || layout.order.place(&runs.item()))?;
                    last_prefix = runs.prefix();
                }
                last_prefix
            }
        };
        writer.finish(last_prefix)
    }
}
