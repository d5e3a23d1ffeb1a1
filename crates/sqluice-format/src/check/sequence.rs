//! The order of keys during a walk through a tree. Each child is read before the cell that points to it.
//!
//! The first and the last key of each part of a tree are kept so that parts can be joined.

use super::spec::Key;

/// The first and the last of a sequence of rowids.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rowids {
    /// The first rowid, and `true` if it is on an interior page.
    first: Option<(i64, bool)>,
    last: Option<i64>,
}

impl Rowids {
    /// Adds a rowid. Returns `false` if the rowids do not ascend. A rowid on an interior page may equal the rowid before, which is the last
    /// one below its left child.
    #[inline]
    pub(super) fn add(&mut self, rowid: i64, interior: bool) -> bool {
        self.first.get_or_insert((rowid, interior));
        match self.last.replace(rowid) {
            None => true,
            Some(last) if interior => rowid >= last,
            Some(last) => rowid > last,
        }
    }

    /// Adds the rowids of the next part of the tree. Returns `false` if they do not ascend from the last rowid so far.
    pub(super) fn join(&mut self, next: Rowids) -> bool {
        let Some((rowid, interior)) = next.first else { return true };
        let ascends = self.add(rowid, interior);
        self.last = next.last;
        ascends
    }
}

/// The fault in the position of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// The key is not larger than the previous key.
    Order,
    /// The key equals the previous key, but must be unique.
    Unique,
}

/// The first and the last of a sequence of keys of an index or a WITHOUT ROWID table.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    first: Option<Vec<u8>>,
    last: Vec<u8>,
    /// The start of the last key's normalized form.
    last_prefix: u128,
}

impl Keys {
    /// Adds a record that has all fields of the key, none of them NaN. Returns the fault if the key is misplaced; `None` also if the order
    /// of the keys is unknown.
    #[inline]
    pub(super) fn add(&mut self, key: &Key, record: &[u8]) -> Option<Misplaced> {
        match key.converted {
            None => self.add_comparable(key, record),
            Some(encoding) => {
                let comparable = encoding.comparable(key.order.as_ref()?, record)?;
                self.add_comparable(key, &comparable)
            }
        }
    }

    /// Adds a record, converted if necessary.
    #[inline]
    fn add_comparable(&mut self, key: &Key, record: &[u8]) -> Option<Misplaced> {
        let order = key.order.as_ref()?;
        let prefix = order.prefix(record);
        let mut fault = None;
        if self.first.is_none() {
            self.first = Some(record.to_vec());
        } else {
            let ascends = match prefix == self.last_prefix {
                true => order.compare(&self.last, record).is_lt(),
                false => self.last_prefix < prefix,
            };
            let same = |&fields: &usize| {
                order.compare_columns(&self.last, record, fields).is_eq() && !order.has_null(record, fields)
            };
            if !ascends {
                fault = Some(Misplaced::Order);
            } else if key.unique_fields.as_ref().is_some_and(same) {
                fault = Some(Misplaced::Unique);
            }
        }
        self.last.clear();
        self.last.extend_from_slice(record);
        self.last_prefix = prefix;
        fault
    }

    /// Adds the keys of the next part of the tree. Returns `false` if the first key of this part is misplaced.
    pub(super) fn join(&mut self, key: &Key, next: &Keys) -> bool {
        let Some(first) = &next.first else { return true };
        let fits = self.add_comparable(key, first).is_none();
        self.last.clone_from(&next.last);
        self.last_prefix = next.last_prefix;
        fits
    }
}
