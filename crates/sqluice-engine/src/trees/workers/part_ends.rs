//! The ends of parts: each part of a tree must fit the part before it.

use sqluice_core::error::{Place, Result};
use sqluice_format::scan::Position;

use crate::encode::RowidRange;
use crate::sort::Item;
use crate::trees::keys::unique::{OwnedItem, Unique};

/// The ends of a part, by the source of its tree.
#[derive(Default)]
pub(crate) enum PartEnds {
    /// No ends: the part fits any other part.
    #[default]
    None,
    /// The rowids of the part, and the place in the input where the part begins.
    Rowids { rowids: RowidRange, place: Option<Place> },
    /// The first and the last item of a part of sorted runs.
    Items(Box<ItemEnds>),
    /// The first and the last entry of a part of a copied index.
    Entries(Box<EntryEnds>),
    /// The positions of a part of a united tree.
    Positions(Box<PiecePositions>),
}

/// The first and the last item of a part of sorted runs.
#[derive(Default)]
pub(crate) struct ItemEnds {
    /// Both items; `None` if the part has no item, or items of different parts may be equal.
    pub(crate) outer: Option<(OwnedItem, OwnedItem)>,
    /// The prefix of the last item.
    prefix: u128,
    /// The largest rowid of all rows, including those that were left out.
    pub(crate) largest_rowid: Option<i64>,
}

/// The first and the last entry of a part of an index. Both are empty if the part has no entries.
#[derive(Default)]
pub(crate) struct EntryEnds {
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

/// The positions at which a part begins and ends in each piece of a united tree.
#[derive(Debug, Default)]
pub(crate) struct PiecePositions {
    pub(crate) first: Vec<Option<Position>>,
    pub(crate) end: Vec<Option<Position>>,
}

impl ItemEnds {
    /// Compares the next item, whose prefix is `prefix`, with the item before. Returns an error if both have the same unique key.
    #[inline]
    pub(crate) fn check(&mut self, unique: Option<&Unique<'_>>, item: Item<'_>, prefix: u128) -> Result<()> {
        match unique {
            None => Ok(()),
            Some(unique) => self.check_unique(unique, item, prefix),
        }
    }

    fn check_unique(&mut self, unique: &Unique<'_>, item: Item<'_>, prefix: u128) -> Result<()> {
        match &mut self.outer {
            outer @ None => *outer = Some((OwnedItem::of(item), OwnedItem::of(item))),
            Some((_, last)) => {
                if prefix == self.prefix || !unique.is_whole_order() {
                    unique.check(last.item(), item)?;
                }
                last.set(item);
            }
        }
        self.prefix = prefix;
        Ok(())
    }
}

impl EntryEnds {
    pub(crate) fn set_last(&mut self, record: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(record);
    }
}
