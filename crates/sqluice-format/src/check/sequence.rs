//! The keys of a tree in the order in which they are met: of each child before the cell that points to it.
//!
//! What a part of a tree begins and ends with is kept, so that parts can be joined.

use super::spec::Key;

/// Rowids.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rowids {
    /// The first, and whether it is on an interior page.
    first: Option<(i64, bool)>,
    last: Option<i64>,
}

impl Rowids {
    /// Adds a rowid; false when it does not ascend. Those on interior pages are at least the last one below their child.
    #[inline]
    pub(super) fn add(&mut self, rowid: i64, interior: bool) -> bool {
        self.first.get_or_insert((rowid, interior));
        match self.last.replace(rowid) {
            None => true,
            Some(last) if interior => rowid >= last,
            Some(last) => rowid > last,
        }
    }

    /// Adds those of the next part; false when they do not ascend from here.
    pub(super) fn join(&mut self, next: Rowids) -> bool {
        let Some((rowid, interior)) = next.first else { return true };
        let ascends = self.add(rowid, interior);
        self.last = next.last;
        ascends
    }
}

/// What is wrong with the place of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// A key does not follow the one before it.
    Order,
    /// A key equals the one before it, but must be unique.
    Unique,
}

/// Keys of an index, or of a table without rowids.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    first: Option<Vec<u8>>,
    last: Vec<u8>,
    /// The beginning of the last one's normalized form.
    last_prefix: u128,
}

impl Keys {
    /// Adds a record that has the fields of the key, among them no NaN.
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

    /// Adds a record, or what it is converted to.
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

    /// Adds those of the next part; false when the first is misplaced.
    pub(super) fn join(&mut self, key: &Key, next: &Keys) -> bool {
        let Some(first) = &next.first else { return true };
        let fits = self.add_comparable(key, first).is_none();
        self.last.clone_from(&next.last);
        self.last_prefix = next.last_prefix;
        fits
    }
}
