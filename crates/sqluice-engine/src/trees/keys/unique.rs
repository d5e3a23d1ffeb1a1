//! Unique keys, and the search for rows that share a unique key.

use sqluice_core::batch::describe;
use sqluice_core::error::{Duplicate, DuplicateRows, Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::Table;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_format::key::KeyOrder;
use sqluice_format::record;
use sqluice_format::value::Value;

use crate::options::{OnConflict, WritePath};
use crate::plan::TablePlan;
use crate::sort::{Item, Sorted};
use crate::trees::Settings;

/// The number of items or entries that are processed between two checks for cancellation.
pub(crate) const CANCEL_ITEMS: usize = 4096;

/// A unique key of a table: no two rows may have the same values in its columns.
pub(crate) struct Unique<'a> {
    pub(crate) table: &'a Table,
    /// The index of the key; `None` if the key is the rowid.
    pub(crate) index: Option<&'a Index>,
    /// The order in which the entries of the index are sorted; `None` if the key is the rowid.
    pub(crate) order: Option<KeyOrder>,
    /// The way in which error messages identify the rows that share a key.
    pub(crate) rows: KnownRows,
}

/// The way in which error messages identify rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownRows {
    /// Messages name the numbers of the records in the input, which the sorted items hold.
    Numbered,
    /// Messages name the rowids, or, if no column of the table is the rowid, the numbers of the records, which follow from the rowids.
    Loaded {
        /// The rowid that the first row follows.
        counted_from: i64,
    },
    /// Messages name the rowids or the PRIMARY KEY: rows were in the database already and have no record numbers.
    Stored,
}

/// A copy of an item, kept while the merge goes on to the next items.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnedItem {
    rowid: i64,
    number: u64,
    record: Vec<u8>,
}

impl OwnedItem {
    pub(crate) fn of(item: Item<'_>) -> OwnedItem {
        OwnedItem { rowid: item.rowid, number: item.number, record: item.record.to_vec() }
    }

    pub(crate) fn set(&mut self, item: Item<'_>) {
        (self.rowid, self.number) = (item.rowid, item.number);
        self.record.clear();
        self.record.extend_from_slice(item.record);
    }

    pub(crate) fn item(&self) -> Item<'_> {
        Item { rowid: self.rowid, number: self.number, record: &self.record }
    }
}

impl<'a> Unique<'a> {
    /// Returns the key by which the rows of a table are stored: the rowid, or the PRIMARY KEY of a WITHOUT ROWID table.
    pub(crate) fn of_rows(table: &'a Table) -> Unique<'a> {
        let index = table.clustered.as_ref();
        Unique { table, index, order: index.map(primary_key), rows: KnownRows::Numbered }
    }

    pub(crate) fn of_index(
        table: &'a Table,
        index: &'a Index,
        plan: &TablePlan,
        settings: &Settings,
    ) -> Unique<'a> {
        Unique {
            table,
            index: Some(index),
            order: Some(key_order(index)),
            rows: match numbered(table, plan, settings.on_conflict) {
                true => KnownRows::Numbered,
                false => KnownRows::Loaded { counted_from: settings.counted_from },
            },
        }
    }
}

impl Unique<'_> {
    /// Returns `true` if the index is sorted only by the columns of this key, and by no columns after them. Then items with different
    /// prefixes have different keys, and need not be compared.
    pub(crate) fn is_whole_order(&self) -> bool {
        let order = self.order.as_ref().zip(self.index);
        order.is_some_and(|(order, index)| order.columns().len() == index.key_columns)
    }

    /// Returns `true` if two items have the same key. Keys with NULL are never the same.
    fn is_same(&self, a: Item<'_>, b: Item<'_>) -> bool {
        match (&self.order, self.index) {
            (Some(order), Some(index)) => {
                order.compare_columns(a.record, b.record, index.key_columns).is_eq()
                    && !order.has_null(b.record, index.key_columns)
            }
            _ => a.rowid == b.rowid,
        }
    }

    pub(crate) fn check(&self, a: Item<'_>, b: Item<'_>) -> Result<()> {
        if self.is_same(a, b) { Err(self.error(a, b)) } else { Ok(()) }
    }

    /// Calls `group` for each group of at least two records that share this key. `group` gets the numbers that the records have in the
    /// input, in ascending order.
    pub(crate) fn groups(
        &self,
        sorted: &Sorted,
        cancel: &Cancel,
        group: &mut dyn FnMut(&[u64]),
    ) -> Result<()> {
        let mut before: Option<OwnedItem> = None;
        let mut numbers = Vec::new();
        let mut items = 0;
        for range in 0..sorted.ranges() {
            sorted.range(range)?.try_for_each(|item, _| {
                items += 1;
                if items % CANCEL_ITEMS == 0 {
                    cancel.check()?;
                }
                match &mut before {
                    None => before = Some(OwnedItem::of(item)),
                    Some(before) => {
                        if !self.is_same(before.item(), item) {
                            report(&mut numbers, group);
                        }
                        before.set(item);
                    }
                }
                numbers.push(item.number);
                Ok(())
            })?;
        }
        report(&mut numbers, group);
        Ok(())
    }

    fn error(&self, a: Item<'_>, b: Item<'_>) -> Error {
        let Table { name: table, columns, rowid_alias, .. } = self.table;
        let name_of = |value| match value {
            Indexed::Column(column) => format!("{table}.{}", columns[column].name),
            Indexed::Rowid => format!("{table}.rowid"),
            // An expression has no name. Messages of SQLite name the index instead.
            Indexed::Expression => "an expression".to_owned(),
        };
        let values = record::decode(b.record).unwrap_or_default();
        let (names, values): (Vec<String>, Vec<String>) = match self.index {
            Some(index) => {
                let key = index.columns.iter().zip(&values).take(index.key_columns);
                key.map(|(column, value)| (name_of(column.value), describe(value))).unzip()
            }
            None => {
                let name = rowid_alias.map_or(Indexed::Rowid, Indexed::Column);
                (vec![name_of(name)], vec![b.rowid.to_string()])
            }
        };
        let value = if values.len() == 1 { values.concat() } else { format!("({})", values.join(", ")) };
        let computed = self.index.filter(|index| {
            index.columns[..index.key_columns].iter().any(|column| column.value == Indexed::Expression)
        });
        let names = match computed {
            Some(index) => format!("index '{}'", index.name),
            None => names.join(", "),
        };
        let message = format!("UNIQUE constraint failed: {names} = {value}");
        let rowid = |item: Item<'_>| match record::decode(item.record).unwrap_or_default().last() {
            Some(Value::Int(rowid)) => *rowid,
            _ => item.rowid,
        };
        let rows = match (self.rows, rowid_alias) {
            (KnownRows::Stored, _) => return self.stored_error(a, b, message, rowid),
            (KnownRows::Numbered, _) => {
                DuplicateRows::Records(a.number.min(b.number), a.number.max(b.number))
            }
            (KnownRows::Loaded { counted_from }, None) => {
                // The first row follows `counted_from`, and its record has the number 0.
                let record = |item| rowid(item).wrapping_sub(counted_from).wrapping_sub(1).cast_unsigned();
                DuplicateRows::Records(record(a).min(record(b)), record(a).max(record(b)))
            }
            (KnownRows::Loaded { .. }, Some(_)) => DuplicateRows::Rowids(rowid(a), rowid(b)),
        };
        let index = self.index.map_or(table, |index| &index.name).clone();
        Error::input(message).duplicate(Duplicate { table: table.clone(), index, rows }).hint(message![
            Setting::OnConflict.to("ignore"),
            " keeps the first such row, ",
            Setting::OnConflict.to("replace"),
            " the last"
        ])
    }

    /// Returns the error for two items that share this key if rows were in the database already.
    fn stored_error(
        &self,
        a: Item<'_>,
        b: Item<'_>,
        message: String,
        rowid: impl Fn(Item<'_>) -> i64,
    ) -> Error {
        let table = self.table;
        let (rows, duplicate) = match &table.clustered {
            None => {
                let rows = DuplicateRows::Rowids(rowid(a), rowid(b));
                (rows.to_string(), Some(rows))
            }
            Some(key) => {
                let of = |item| self.primary_key_of(key, item);
                (format!("the rows {} and {}", of(a), of(b)), None)
            }
        };
        let error = Error::input(message)
            .with_words(format!(" in {rows}"))
            .hint("nothing was changed; remove such rows, or make the index without UNIQUE");
        let index = self.index.map_or(&table.name, |index| &index.name).clone();
        match duplicate {
            Some(rows) => error.duplicate(Duplicate { table: table.name.clone(), index, rows }),
            None => error,
        }
    }

    /// Formats the PRIMARY KEY of the row of an index entry, for messages.
    fn primary_key_of(&self, key: &Index, item: Item<'_>) -> String {
        let values = record::decode(item.record).unwrap_or_default();
        let columns = self.index.map_or(&[][..], |index| &index.columns);
        let of_key = key.columns[..key.key_columns].iter().map(|of_key| {
            let at = columns.iter().position(|column| column.value == of_key.value);
            at.and_then(|at| values.get(at)).map_or("?".to_owned(), describe)
        });
        format!("({})", of_key.collect::<Vec<_>>().join(", "))
    }
}

fn report(numbers: &mut Vec<u64>, group: &mut dyn FnMut(&[u64])) {
    if numbers.len() > 1 {
        numbers.sort_unstable();
        group(numbers);
    }
    numbers.clear();
}

/// Returns `true` if the index entries of a table must hold the numbers of their records while they are sorted: because rows may be left
/// out by these numbers, or because messages name rows by numbers that are not their rowids.
pub(crate) fn numbered(table: &Table, plan: &TablePlan, on_conflict: OnConflict) -> bool {
    let leaves_out = plan.write_path == WritePath::Sorted && on_conflict != OnConflict::Abort;
    leaves_out || plan.in_sequence || table.clustered.is_some()
}

/// Returns the order by which the entries of an index are sorted: by all columns that make the entries unique.
pub(crate) fn key_order(index: &Index) -> KeyOrder {
    index.order().expect("the plan gives other orders to SQLite")
}

/// Returns the order of the rows of a WITHOUT ROWID table: the columns of its PRIMARY KEY.
pub(crate) fn primary_key(clustered: &Index) -> KeyOrder {
    KeyOrder::new(&key_order(clustered).columns()[..clustered.key_columns])
}
