//! Checks if rows arrive in the order of their INTEGER PRIMARY KEY.

use sqluice_core::affinity::{Rowid, to_rowid};
use sqluice_core::batch::{Batch, Column};
use sqluice_core::error::Result;
use sqluice_core::source::{BadRow, Refused, Sink};

/// The order of a table's rows by rowid that a plan assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The rows ascend: no file has rowids, or the samples have all rows. Also used if SQLite inserts the rows, for which their order
    /// does not matter.
    Ascending,
    /// The rows in the samples ascend, and the rows after the samples are assumed to.
    AssumedAscending,
    /// The rows may be in any order, but all are assumed to have a rowid.
    Any,
    /// The rows may be in any order, and some may have NULL instead of a rowid.
    AnyWithNulls,
}

impl Order {
    /// Returns `true` if the order is only assumed, so that rows outside of the samples may contradict it.
    pub(crate) fn is_guess(self) -> bool {
        matches!(self, Order::AssumedAscending | Order::Any)
    }

    /// Returns the weaker order that the next attempt assumes, after rows have contradicted this order.
    pub(crate) fn next(self) -> Order {
        match self {
            Order::AssumedAscending => Order::Any,
            Order::Any => Order::AnyWithNulls,
            known => known,
        }
    }
}

/// A sink that checks if the values of a column ascend, and notes if any is NULL. Other values that are no rowids, and bad rows, are
/// ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ascending {
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
    pub(crate) nulls: bool,
    pub(crate) broken: bool,
}

impl Ascending {
    /// Compares the first `rows` values of a column with each other and with the values before.
    pub(crate) fn see(&mut self, column: &Column<'_>, rows: usize) {
        for row in 0..rows {
            match to_rowid(column.get(row)) {
                Rowid::Given(rowid) => {
                    self.first.get_or_insert(rowid);
                    self.broken |= self.last.is_some_and(|last| last >= rowid);
                    self.last = Some(rowid);
                }
                Rowid::Next => self.nulls = true,
                Rowid::Mismatch => {}
            }
        }
    }

    /// Extends the result by `later`, the result for the rows that follow.
    pub(crate) fn append(&mut self, later: &Ascending) {
        let falls = matches!((self.last, later.first), (Some(last), Some(first)) if last >= first);
        *self = Ascending {
            first: self.first.or(later.first),
            last: later.last.or(self.last),
            nulls: self.nulls || later.nulls,
            broken: self.broken || later.broken || falls,
        };
    }
}

impl Sink for Ascending {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        self.see(&batch.columns[0], batch.rows);
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Ascending;
    use sqluice_core::batch::{Column, Values};

    fn seen(rowids: &[i64]) -> Ascending {
        let mut ascending = Ascending::default();
        let column = Column { values: Values::Int(rowids), validity: None };
        ascending.see(&column, rowids.len());
        ascending
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn the_combined_orders_of_two_parts_equal_the_order_of_all_rows(rowids in prop::collection::vec(0..9i64, 0..6), cut in 0..6usize) {
            let cut = cut.min(rowids.len());
            let mut appended = seen(&rowids[..cut]);
            appended.append(&seen(&rowids[cut..]));
            prop_assert_eq!(appended, seen(&rowids));
        }
    }
}
