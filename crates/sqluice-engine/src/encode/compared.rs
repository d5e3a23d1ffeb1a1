//! Computes, for `sqluice check`, the entries that indexes should have, from the rows of their table. The caller compares them with the
//! stored entries.
//!
//! ```text
//!  rows in records ──> batch ──> SQLite evaluates (as for new rows) ──> | lower(b) | rowid |    the values of each entry
//! ```

use std::sync::Arc;

use sqluice_core::batch::{Batch, Column, Value, Values};
use sqluice_core::error::Result;
use sqluice_core::rows::Cells;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::{Generated, Table};

use super::computed::{Completed, Computed};
use super::convert::value_of;
use super::stored::Scratch;
use super::{ColumnRules, IndexPlace, Rowids, index_places, of_records};
use crate::expressions::Expressions;

/// The indexes of a table whose entries SQLite computes: partial indexes, and indexes on expressions and VIRTUAL columns.
#[derive(Debug)]
pub struct ComputedIndexes {
    table: Table,
    expressions: Expressions,
    /// The indexes, as positions in [`Table::indexes`].
    indexes: Vec<usize>,
    /// The positions in the table of the stored columns on which the entries depend, in ascending order.
    columns: Vec<usize>,
}

impl ComputedIndexes {
    /// Finds the computed indexes of a table. `encoding` is the text encoding of the database, as `PRAGMA encoding` names it. Indexes that
    /// can't be computed here are returned with the reason. Returns `None` if the table has no computed index.
    pub fn of(table: &Table, encoding: &'static str) -> Option<(ComputedIndexes, Vec<(usize, String)>)> {
        let is_virtual = |column: usize| table.columns[column].generated == Some(Generated::Virtual);
        let is_computed = |index: &Index| {
            let is_computed = |value: Indexed| match value {
                Indexed::Column(column) => is_virtual(column) && table.rowid_alias != Some(column),
                Indexed::Rowid => false,
                Indexed::Expression => true,
            };
            index.partial || index.columns.iter().any(|column| is_computed(column.value))
        };
        let wanted: Vec<usize> =
            (0..table.indexes.len()).filter(|at| is_computed(&table.indexes[*at])).collect();
        if wanted.is_empty() {
            return None;
        }
        let expressions = Expressions::of_database(table, encoding)?;
        let reason = |at: &usize| Some((*at, expressions.of_index(*at).err()?.to_owned()));
        let refused: Vec<(usize, String)> = wanted.iter().filter_map(reason).collect();
        let is_refused = |at: &usize| refused.iter().any(|(refused, _)| refused == at);
        let indexes: Vec<usize> = wanted.into_iter().filter(|at| !is_refused(at)).collect();
        let mut columns = expressions.named().to_vec();
        for index in &indexes {
            columns.extend(table.indexes[*index].columns.iter().filter_map(|column| match column.value {
                Indexed::Column(column) => Some(column),
                Indexed::Rowid | Indexed::Expression => None,
            }));
        }
        let is_in_records = |column: &usize| {
            *column < table.columns.len() && !is_virtual(*column) && table.rowid_alias != Some(*column)
        };
        columns.retain(is_in_records);
        columns.sort_unstable();
        columns.dedup();
        Some((ComputedIndexes { table: table.clone(), expressions, indexes, columns }, refused))
    }

    /// Returns the indexes, as positions in [`Table::indexes`].
    pub fn indexes(&self) -> &[usize] {
        &self.indexes
    }

    /// Returns the positions in the table of the stored columns on which the entries depend, in ascending order.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Begins to compute entries on one thread.
    ///
    /// # Errors
    /// If SQLite can't prepare the expressions.
    pub fn begin(self: &Arc<ComputedIndexes>) -> Result<EntriesOfRows> {
        let rules = ColumnRules::of(&self.table);
        let computed = Computed::new(&self.expressions, (&self.table, &rules), &self.indexes, (true, true))?;
        Ok(EntriesOfRows {
            scratch: rules.iter().map(|_| Scratch::default()).collect(),
            rules,
            computed,
            places: index_places(&self.expressions, &self.table),
            of: Arc::clone(self),
        })
    }
}

/// The computation of entries on one thread.
#[derive(Debug)]
pub struct EntriesOfRows {
    of: Arc<ComputedIndexes>,
    rules: Vec<ColumnRules>,
    scratch: Vec<Scratch>,
    computed: Computed,
    places: Vec<IndexPlace>,
}

impl EntriesOfRows {
    /// Computes the entries of at most [`ROWS_MAX`](sqluice_core::batch::ROWS_MAX) rows. `cells` has the values of
    /// [`ComputedIndexes::columns`], as records have them. Calls `each` with the position of the index in [`Table::indexes`], the position
    /// of the row in `rowids`, and the values of the entry.
    ///
    /// # Errors
    /// If an expression can't be evaluated for a row.
    pub fn compute(
        &mut self,
        cells: &[Cells],
        rowids: &[i64],
        mut each: impl FnMut(usize, usize, &[Value<'_>]),
    ) -> Result<()> {
        let EntriesOfRows { of, rules, scratch, computed, places } = self;
        let values: Vec<Vec<Value<'_>>> = cells
            .iter()
            .map(|cells| (0..rowids.len()).map(|row| cells.get(row).unwrap_or(Value::Null)).collect())
            .collect();
        let mut columns = vec![Column::NULL; of.table.columns.len()];
        for (column, values) in of.columns.iter().zip(&values) {
            columns[*column] = Column::new(Values::Any(values));
        }
        let batch = Batch { rows: rowids.len(), columns };
        let stored = of_records(rules, scratch, of.table.rowid_alias, &batch);
        let completed = computed.complete(rules, stored, Rowids::Each(rowids), batch.rows, Vec::new());
        let Completed { columns, kept } = completed.map_err(|refused| refused.first().1)?;
        for &at in &of.indexes {
            let (index, place) = (&of.table.indexes[at], places[at]);
            let mut terms = place.first_term..;
            let fields = index.columns.iter().map(|column| match column.value {
                Indexed::Column(column) if Some(column) != of.table.rowid_alias => Some(column),
                Indexed::Column(_) | Indexed::Rowid => None,
                Indexed::Expression => terms.next(),
            });
            let fields: Vec<Option<usize>> = fields.collect();
            let is_kept = |row: usize| place.kept.is_none_or(|kept_at| kept[kept_at][row]);
            for row in (0..rowids.len()).filter(|row| is_kept(*row)) {
                let mut numbers = vec![[0; 8]; fields.len()];
                let values = fields.iter().zip(&mut numbers).map(|(field, number)| match field {
                    Some(column) => value_of(&columns[*column], row, number),
                    None => Value::Int(rowids[row]),
                });
                each(at, row, &values.collect::<Vec<_>>());
            }
        }
        Ok(())
    }
}
