//! Whether the rows of a table come in the order of the INTEGER PRIMARY KEY that they bring.
//!
//! ```text
//!  the samples of all files      strictly ascending, and all that there is    pages
//!                                strictly ascending                           pages; where that fails: again, sorted
//!                                NULL among numbers                           sorted, one row after another
//!                                anything else                                sorted; where there is NULL: one after another
//! ```
//!
//! NULL stands for the next number. Among numbers, what is next depends on all rows before.

use sqluice_core::affinity::{Rowid, to_rowid};
use sqluice_core::batch::{Batch, Column};
use sqluice_core::error::Result;
use sqluice_core::schema::Schema;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{BadRow, Refused, Sink};

use super::request::Request;
use super::tables::LoadTable;

/// What is known of the order of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// They come in it: they bring no rowids, or all have been seen.
    Ascending,
    /// Nothing speaks against it so far.
    AssumedAscending,
    /// They do not.
    Any,
    /// They do not, and some have NULL for a number.
    AnyWithNulls,
}

impl Order {
    /// Whether rows that nobody has seen yet may show that it is another.
    pub(super) fn is_guess(self) -> bool {
        matches!(self, Order::AssumedAscending | Order::Any)
    }

    /// What is to be taken for granted next, when it is another.
    pub(super) fn next(self) -> Order {
        match self {
            Order::AssumedAscending => Order::Any,
            Order::Any => Order::AnyWithNulls,
            known => known,
        }
    }
}

/// What the samples say.
pub(super) fn of_samples(table: &mut LoadTable, load: &Request, schema: &Schema) -> Order {
    let declared = &schema.tables[table.index_in(schema)];
    let Some(alias) = declared.rowid_alias else { return Order::Ascending };
    // Whoever opens the files tells what is wrong with them.
    let Ok(maps) = table.maps(declared, load) else { return Order::AssumedAscending };
    let given = |map: &Vec<ColumnFrom>| matches!(map[alias], ColumnFrom::Field(_));
    match maps.iter().filter(|map| given(map)).count() {
        0 => return Order::Ascending,
        files if files < maps.len() => return Order::AnyWithNulls,
        _ => {}
    }
    let mut ascending = Ascending::default();
    let mut seen = true;
    for (file, mut map) in table.files.iter_mut().zip(maps) {
        seen &= file.seen;
        if let (ColumnFrom::Field(field), Some((observed, values))) = (&map[alias], &file.rowids)
            && field == observed
        {
            ascending.append(values);
            continue;
        }
        let Ok(mut source) = file.sample_source(vec![map.swap_remove(alias)], &[]) else {
            return Order::AssumedAscending;
        };
        while let Ok(Some(mut part)) = source.next_part() {
            if part.decode(&mut ascending).is_err() {
                break;
            }
        }
    }
    table.first_rowid = ascending.first;
    match () {
        () if ascending.nulls && ascending.last.is_some() => Order::AnyWithNulls,
        () if ascending.broken => Order::Any,
        () if seen => Order::Ascending,
        () => Order::AssumedAscending,
    }
}

/// Sees whether the values of a column ascend; those that are no rowids, and bad rows, say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ascending {
    first: Option<i64>,
    last: Option<i64>,
    nulls: bool,
    broken: bool,
}

impl Ascending {
    /// Sees the values of some more rows.
    pub(super) fn see(&mut self, column: &Column<'_>, rows: usize) {
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

    /// Adds the values of rows that follow.
    fn append(&mut self, later: &Ascending) {
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
        #[test]
        fn files_one_after_the_other_are_seen_as_one(rowids in prop::collection::vec(0..9i64, 0..6), cut in 0..6usize) {
            let cut = cut.min(rowids.len());
            let mut appended = seen(&rowids[..cut]);
            appended.append(&seen(&rowids[cut..]));
            prop_assert_eq!(appended, seen(&rowids));
        }
    }
}
