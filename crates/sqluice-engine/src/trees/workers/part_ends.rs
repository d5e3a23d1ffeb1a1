//! The first and the last entry of a part. Workers process the parts of a tree independently, and the writer checks that each part follows
//! the part before.

use sqluice_core::error::{Place, Result};
use sqluice_format::scan::Position;

use crate::encode::RowidRange;
use crate::sort::Item;
use crate::trees::keys::unique::{OwnedItem, Unique};

/// The first and the last entry of a part, which the writer compares with the parts before and after. Their form depends on the source of
/// the tree.
#[derive(Default)]
pub(crate) enum PartEnds {
    /// Nothing to compare: the part may follow any other part.
    #[default]
    None,
    /// The first and the last rowid of a part of a source, and the place in the input where the part begins, for errors.
    Rowids { rowids: RowidRange, place: Option<Place> },
    /// The first and the last item of a part of sorted runs.
    Items(Box<ItemEnds>),
    /// The first and the last entry of a part of a copied index.
    Entries(Box<EntryEnds>),
    /// The positions at which a part of a united tree begins and ends in the tree of each database.
    Positions(Box<PiecePositions>),
}

/// The first and the last item of a part of sorted runs.
#[derive(Default)]
pub(crate) struct ItemEnds {
    /// The first and the last item; `None` if the part has no item, or if the tree has no unique key to check.
    pub(crate) outer: Option<(OwnedItem, OwnedItem)>,
    /// The prefix of the last item.
    prefix: u128,
    /// The largest rowid of all rows of the part, including the rows that were left out; `None` if there are none.
    pub(crate) largest_rowid: Option<i64>,
}

/// The records of the first and the last entry of a part of a copied index. Both are empty if the part has no entries.
#[derive(Default)]
pub(crate) struct EntryEnds {
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

/// The positions at which a part of a united tree begins and ends in each piece, which is the tree of one database.
#[derive(Debug, Default)]
pub(crate) struct PiecePositions {
    pub(crate) first: Vec<Option<Position>>,
    pub(crate) end: Vec<Option<Position>>,
}

impl ItemEnds {
    /// Takes `item`, the next item of the part, as its last item so far. `prefix` is the prefix of `item`. Returns an error if `item` and
    /// the item before share the unique key.
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
