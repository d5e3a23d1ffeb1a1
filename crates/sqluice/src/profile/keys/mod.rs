//! Describes the columns of keys, and the columns that refer to other tables.
//!
//! ```text
//!  INTEGER PRIMARY KEY      row(), row() * 10 + 5, keys(1, 900, 40000)
//!  UNIQUE                   distinct(keys(...)), distinct(pattern(...)), numbered(...)
//!  REFERENCES               ref(customer.id, rows(0: 12, 1: 40, 7: 3), 0.1)
//!  REFERENCES itself        ref(staff.id, tree(rows(5: 1): 1, rows(0: 5): 5))
//!  PRIMARY KEY (a, b)       a: ref(...) or pool(...), whose rows are in groups;  b: ordinal(a), within(a, ...), numbered(...)
//! ```

mod several;
mod trees;

use sqluice_core::schema::{Reference, Schema, Table};

use super::describe::{Described, Made};
use super::numbers::{ENOUGH, Form, blurred};
use super::parents::{row_counts, share};
use super::sample::Cell;
use super::sketch::Counts;
use super::texts::Texts;

/// The schema, and the row counts of the tables that are known so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct World<'w> {
    pub(super) schema: &'w Schema,
    /// The row count of each table; `None` if the table is left out, or no described table refers to it yet.
    pub(super) rows: &'w [Option<u64>],
}

impl<'w> World<'w> {
    /// Returns the parent of a reference, its row count, and the referenced columns; `None` if the parent is unknown or has no rows.
    fn parent(&self, reference: &Reference) -> Option<(&'w Table, u64, Vec<usize>)> {
        let position = self.schema.place(&reference.parent)?;
        let table = &self.schema.tables[position];
        let rows = self.rows[position]?;
        let columns = match reference.parent_columns.is_empty() {
            true => table.primary_key()?,
            false => reference.parent_columns.iter().map(|name| table.column(name)).collect::<Option<_>>()?,
        };
        (columns.len() == reference.columns.len() && rows > 0).then_some((table, rows, columns))
    }
}

/// Returns the groups of columns whose values are counted together: the columns of multi-column references.
pub(super) fn counted_groups(table: &Table) -> Vec<Vec<usize>> {
    let several = table.references.iter().filter(|reference| reference.columns.len() > 1);
    several.map(|reference| reference.columns.clone()).collect()
}

/// Returns a name as written in an expression.
pub(super) fn name(name: &str) -> String {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    let keywords = ["null", "case", "when", "then", "else", "end", "and", "or", "not", "in", "is"];
    match is_word && !keywords.contains(&&*name.to_ascii_lowercase()) {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}

/// The keys and references of a table. The expressions from keys and references take precedence over other expressions of columns.
#[derive(Debug)]
pub(super) struct Keys<'d> {
    described: Described<'d>,
    world: World<'d>,
    /// The expression of each column; `None` if neither a key nor a reference determines it.
    pub(super) made: Vec<Option<Made>>,
    /// `true` for each column whose equal values are in neighbouring rows.
    is_grouped: Vec<bool>,
}

impl<'d> Keys<'d> {
    pub(super) fn of(described: Described<'d>, world: World<'d>) -> Keys<'d> {
        let columns = described.table.columns.len();
        let mut keys = Keys { described, world, made: vec![None; columns], is_grouped: vec![false; columns] };
        if described.facts.rows == 0 {
            return keys;
        }
        keys.references();
        keys.single_keys();
        keys.keys_of_several();
        keys.trees_in_groups();
        keys
    }

    fn set(&mut self, column: usize, expression: String) {
        // In `distinct(x, group)`, columns of one group are distinct only in combination. With a group for each column, the values of the
        // column alone are distinct.
        let expression = match expression.strip_suffix(')').filter(|_| expression.starts_with("distinct(")) {
            Some(inner) => format!("{inner}, {})", column + 1),
            None => expression,
        };
        self.made[column] = Some(Made { expression, kept: Vec::new() });
    }

    fn is_unique(&self, column: usize) -> bool {
        self.described.table.unique_keys().iter().any(|key| key[..] == [column])
    }

    fn has_nulls(&self, column: usize) -> bool {
        self.described.facts_of(column).is_none_or(|facts| facts.values() < self.described.facts.rows)
    }

    /// Describes all references. Multi-column references come first, as their expressions also serve a column that refers alone.
    fn references(&mut self) {
        let table = self.described.table;
        let mut group = 0;
        let mut references: Vec<(usize, &Reference, Option<&Counts>)> = Vec::new();
        for (number, reference) in table.references.iter().enumerate() {
            let counts = match &reference.columns[..] {
                [column] => self.described.facts_of(*column).and_then(|facts| facts.counts.as_ref()),
                _ => {
                    group += 1;
                    self.described.facts.groups.get(group - 1)
                }
            };
            references.push((number, reference, counts));
        }
        // If a column has two parents, it refers to the parent with fewer rows: the other parent most likely has the same keys, too.
        references.sort_by_key(|(_, reference, _)| {
            let parents = self.world.parent(reference).map_or(u64::MAX, |(_, rows, _)| rows);
            (std::cmp::Reverse(reference.columns.len()), parents)
        });
        for (number, reference, counts) in references {
            if reference.parent.eq_ignore_ascii_case(&table.name) {
                self.reference_to_itself(number, reference);
                continue;
            }
            let Some(&first) = reference.columns.first().filter(|first| self.made[**first].is_none()) else {
                continue;
            };
            match self.world.parent(reference) {
                Some((parent, rows, columns)) => {
                    self.reference((first, reference), (parent, rows, &columns), counts)
                }
                // The parent table has no rows, so every reference to it is NULL.
                None if !table.columns[first].not_null
                    && self.world.schema.table(&reference.parent).is_some() =>
                {
                    self.set(first, "NULL".to_owned());
                }
                None => {}
            }
        }
    }

    /// Describes a reference of one or several columns: the first column draws the parent, and the other columns follow.
    fn reference(
        &mut self,
        (first, reference): (usize, &Reference),
        (parent, parent_rows, columns): (&Table, u64, &[usize]),
        counts: Option<&Counts>,
    ) {
        let Some(facts) = self.described.facts_of(first) else { return };
        let (rows, values) = (self.described.facts.rows, facts.values());
        let column =
            |index: usize| format!("{}.{}", name(&parent.name), name(&parent.columns[columns[index]].name));
        if values == 0 {
            return self.set(first, "NULL".to_owned());
        }
        if reference.columns.len() == 1 && (self.is_unique(first) || counts.is_none()) {
            let made = format!("distinct(ref({}))", column(0));
            let made = self.described.with_nulls(facts, made);
            return self.set(first, made);
        }
        let Some(counts) = counts.filter(|counts| counts.different() > 0.0) else { return };
        let outside = if values < rows { format!(", {}", share(rows - values, rows)) } else { String::new() };
        self.set(first, format!("ref({}, {}{outside})", column(0), row_counts(counts, parent_rows)));
        self.is_grouped[first] = true;
        let leader = name(&self.described.table.columns[first].name);
        for (index, &other) in reference.columns.iter().enumerate().skip(1) {
            if self.made[other].is_none() {
                self.set(other, format!("{leader}.{}", name(&parent.columns[columns[index]].name)));
            }
        }
    }

    fn single_keys(&mut self) {
        let table = self.described.table;
        for key in table.unique_keys() {
            let [column] = key[..] else { continue };
            if self.made[column].is_none()
                && let Some(expression) = self.single_key(column, table.rowid_alias == Some(column))
            {
                self.set(column, expression);
            }
        }
    }

    /// Returns the expression of a column without repeated values; `None` unless all values are texts, or all are integers.
    fn single_key(&self, column: usize, is_rowid: bool) -> Option<String> {
        let facts = self.described.facts_of(column)?;
        let cells = self.described.cells(column);
        if facts.values() == 0 || cells.is_empty() {
            return None;
        }
        let all_texts = cells.iter().all(|cell| matches!(cell, Cell::Text(..)));
        let all_ints = cells.iter().all(|cell| matches!(cell, Cell::Int(_)));
        let made = if all_texts {
            let (rows, common) = (facts.values(), self.described.rules.common.unwrap_or(20));
            Texts {
                cells: &cells,
                rows,
                different: rows as f64,
                is_unique: true,
                common,
                exponent: None,
                named: self.described.named(column),
            }
            .expression()
        } else if all_ints {
            self.ints(
                column,
                is_rowid || self.described.table.without_rowid && self.is_first_of_key(column),
                &cells,
            )
        } else {
            return None;
        };
        Some(self.described.with_nulls(facts, made))
    }

    fn is_first_of_key(&self, column: usize) -> bool {
        self.described.table.primary_key().is_some_and(|key| key[..] == [column])
    }

    /// Returns the expression for unique integers, in the order of the rows or shuffled.
    fn ints(&self, column: usize, is_ordered: bool, cells: &[&Cell]) -> String {
        let (least, most) = self.described.facts_of(column).map_or((1, 1), |facts| facts.bounds);
        let values = self.described.facts_of(column).map_or(0, super::scan::ColumnFacts::values);
        let mut ints: Vec<i64> = cells
            .iter()
            .filter_map(|cell| if let Cell::Int(int) = cell { Some(*int) } else { None })
            .collect();
        ints.sort_unstable();
        let span = i128::from(most) - i128::from(least);
        let step = span / i128::from(values.max(2) - 1);
        let fits = |int: &i64| step > 0 && (i128::from(*int) - i128::from(least)) % step == 0;
        // The step and the first key of a few keys would reveal two of them, unless the keys are 1, 2, 3 and so on.
        let is_said = values >= ENOUGH as u64 || (step == 1 && least == 1);
        let is_regular = is_said
            && step > 0
            && span == step * i128::from(values - 1)
            && ints.iter().all(fits)
            && step < 1 << 40;
        if is_ordered && is_regular {
            let first = i128::from(least) - step;
            let scaled = if step == 1 { "row()".to_owned() } else { format!("row() * {step}") };
            return match first {
                0 => scaled,
                1.. => format!("{scaled} + {first}"),
                _ => format!("{scaled} - {}", -first),
            };
        }
        let keys = if is_regular && step == 1 {
            format!("keys({least}, {most})")
        } else {
            key_quantiles(&ints, least, most)
        };
        if is_ordered { keys } else { format!("distinct({keys})") }
    }
}

/// Returns quantiles of keys. The quantiles are not keys themselves if there is room between the keys.
fn key_quantiles(sorted: &[i64], least: i64, most: i64) -> String {
    let numbers: Vec<f64> = sorted.iter().map(|int| *int as f64).collect();
    if let Some(ends) = blurred(&numbers, Form::Int) {
        return format!("keys({}, {})", ends[0], ends[1]);
    }
    let steps = (sorted.len() / 4).clamp(1, 20);
    let span = (i128::from(most) - i128::from(least)).max(1) as f64;
    let grid = 10f64.powi((span / 150.0).max(1.0).log10().floor() as i32);
    let mut points: Vec<i64> = (0..=steps)
        .map(|step| {
            let value = sorted[(sorted.len() - 1) * step / steps] as f64;
            let rounded = if step == 0 {
                (value / grid).ceil()
            } else if step == steps {
                (value / grid).floor()
            } else {
                (value / grid).round()
            };
            (rounded * grid) as i64
        })
        .collect();
    let is_free = |point: &i64| sorted.binary_search(point).is_err();
    for point in &mut points {
        *point = (0..20).map(|tries| point.saturating_add(tries)).find(is_free).unwrap_or(*point);
    }
    points.sort_unstable();
    let shown: Vec<String> = points.iter().map(i64::to_string).collect();
    format!("keys({})", if shown.len() < 2 { format!("{least}, {most}") } else { shown.join(", ") })
}
