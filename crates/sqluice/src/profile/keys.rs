//! Describes the columns of keys, and the columns that refer to other tables.
//!
//! ```text
//!  INTEGER PRIMARY KEY      row(), row() * 10 + 5, keys(1, 900, 40000)
//!  UNIQUE                   distinct(keys(...)), distinct(pattern(...)), numbered(...)
//!  REFERENCES               ref(customer.id, rows(0: 12, 1: 40, 7: 3), 0.1)
//!  PRIMARY KEY (a, b)       a: ref(...) or pool(...), whose rows are in groups;  b: ordinal(a), within(a, ...), numbered(...)
//! ```

use sqluice_core::schema::{Reference, Schema, Table};

use super::describe::{Described, Made};
use super::numbers::{ENOUGH, Form, blurred};
use super::parents::{row_counts, share};
use super::sample::Cell;
use super::sketch::{Counts, hash_int};
use super::texts::Texts;

/// The largest number of different values with which a column of a key keeps its values.
const FEW_MAX: f64 = 2000.0;

/// The largest number of rows below a row of a tree whose line numbers are counted one by one.
const LINES_MAX: i64 = 100_000;

/// The row counts of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct World<'w> {
    pub(super) schema: &'w Schema,
    /// The row count of each table; `None` if the table is left out, or no described table refers to it yet.
    pub(super) rows: &'w [Option<u64>],
}

impl<'w> World<'w> {
    /// Returns the parent of a reference, its row count, and the referenced columns.
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

/// The keys and references of a table. Their expressions take precedence over the expressions of other columns.
#[derive(Debug)]
pub(super) struct Keys<'d> {
    described: Described<'d>,
    world: World<'d>,
    /// The expression of each column, if any.
    pub(super) made: Vec<Option<Made>>,
    /// `true` for each column whose rows are in groups.
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
        keys
    }

    fn set(&mut self, column: usize, expression: String) {
        // Each column is a group of its own, so that it is distinct by itself.
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
        // A column with two parents refers to the parent with fewer rows, whose keys the other parent most likely has, too.
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
                // The parent has no rows.
                None if !table.columns[first].not_null
                    && self.world.schema.table(&reference.parent).is_some() =>
                {
                    self.set(first, "NULL".to_owned());
                }
                None => {}
            }
        }
    }

    /// Describes a reference of a table to itself, as trees. If the reference has several columns, the parent is drawn by the first column
    /// that may differ between a row and its parent.
    fn reference_to_itself(&mut self, number: usize, reference: &Reference) {
        let Some((_, _, columns)) = self.world.parent(reference) else { return };
        let table = self.described.table;
        let pairs = || reference.columns.iter().copied().zip(columns.iter().copied());
        let Some((first, key)) = pairs().find(|(column, key)| column != key && self.made[*column].is_none())
        else {
            return;
        };
        let Some(facts) = self.described.facts_of(first).filter(|_| self.described.read[key].is_some())
        else {
            return;
        };
        let of_key = format!("{}.{}", name(&table.name), name(&table.columns[key].name));
        let lineage = self.described.facts.lineages.get(number).and_then(Option::as_ref);
        let made = match lineage {
            _ if facts.values() == 0 => "NULL".to_owned(),
            Some(lineage) => format!("ref({of_key}, {})", lineage.arguments(table.columns[first].not_null)),
            None => self.described.with_nulls(facts, format!("ref({of_key})")),
        };
        self.set(first, made);
        self.is_grouped[first] = lineage.is_some();
        let leader = name(&table.columns[first].name);
        for (other, key) in pairs().filter(|(other, key)| other != key && *other != first) {
            if self.made[other].is_none() {
                self.set(other, format!("{leader}.{}", name(&table.columns[key].name)));
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

    /// Returns the expression of a column without repeated values.
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
        // For few keys, the step and the first key would reveal two values, unless the keys count from 1.
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

    /// Describes multi-column keys: a column whose rows are in groups, and a column that differs within the groups.
    fn keys_of_several(&mut self) {
        for key in self.described.table.unique_keys().into_iter().filter(|key| key.len() > 1) {
            self.key_of_several(&key);
            self.grow(&key);
        }
    }

    /// Lets the range of one column of a key grow with the rows: of the column with the most different values. Does nothing if a column of
    /// the key has more values with more rows anyway, such as a reference to a parent or a line number.
    fn grow(&mut self, key: &[usize]) {
        let expression = |column: &usize| self.made[*column].as_ref().map_or("", |made| &made.expression);
        let grows = |column: &usize| {
            let made = expression(column);
            ["ref(", "ordinal(", "numbered(", "row(", "distinct(", "keys("]
                .iter()
                .any(|start| made.starts_with(start))
                || made.contains(", ref(")
                || made.starts_with("grown(")
        };
        if key.iter().any(grows) {
            return;
        }
        let spans = key.iter().filter_map(|column| {
            let facts = self.described.facts_of(*column)?;
            Some((*column, facts.different(), self.span(*column)?))
        });
        let widest = spans.max_by(|one, other| one.1.total_cmp(&other.1));
        if let Some((column, _, span)) = widest
            && let Some(made) = &mut self.made[column]
        {
            made.expression = format!("grown({}, {span}, {})", made.expression, self.described.facts.rows);
        }
    }

    /// Returns the length of the range of a column of integers, or of days or seconds as texts.
    fn span(&self, column: usize) -> Option<i64> {
        let facts = self.described.facts_of(column)?;
        let cells = self.described.cells(column);
        let span = if facts.ints == facts.values() {
            facts.bounds.1.checked_sub(facts.bounds.0)?
        } else {
            let moments: Option<Vec<(u64, bool)>> = cells
                .iter()
                .map(|cell| {
                    let text = cell.text()?;
                    let seconds = sqluice_generator::moment_of_text(text.as_bytes())?;
                    Some((seconds, text.len() == 10))
                })
                .collect();
            let moments = moments?;
            let (first, last) = (moments.iter().min()?, moments.iter().max()?);
            let seconds = last.0.checked_sub(first.0)?;
            i64::try_from(if first.1 { seconds / 86_400 } else { seconds }).ok()?
        };
        (0..1 << 40).contains(&span).then_some(span + 1)
    }

    /// Describes a key of several columns.
    fn key_of_several(&mut self, key: &[usize]) {
        if key.iter().any(|column| self.is_unique(*column) || self.described.read[*column].is_none()) {
            return;
        }
        // Columns of few values keep them, and rows exchange values until the key holds.
        let is_few = |column: &usize| self.has_few(*column) && !self.has_lines(*column, key);
        let few: Vec<usize> = key.iter().copied().filter(is_few).collect();
        for column in &few {
            if self.made[*column].is_none() {
                self.made[*column] = self.described.plain(*column);
            }
        }
        if !few.is_empty() && key.iter().all(|column| self.made[*column].is_some()) {
            return;
        }
        let Some(group) = self.group_of(key) else { return };
        let free: Vec<usize> = key.iter().copied().filter(|column| *column != group).collect();
        let within = free.iter().copied().find(|column| self.made[*column].is_none()).or_else(|| {
            // A tree is kept: rows exchange the values of other columns.
            free.iter().copied().find(|column| self.is_grouped[*column] && !self.refers_to_itself(*column))
        });
        if let Some(column) = within {
            let expression = self.within(column, group);
            self.is_grouped[column] = false;
            self.set(column, expression);
        }
    }

    /// Returns `true` if a column refers to its own table.
    fn refers_to_itself(&self, column: usize) -> bool {
        let table = self.described.table;
        let own = |reference: &Reference| reference.parent.eq_ignore_ascii_case(&table.name);
        table.references.iter().any(|reference| own(reference) && reference.columns.contains(&column))
    }

    /// Returns `true` if a column has few different values, so that a key can't make them different within groups.
    fn has_few(&self, column: usize) -> bool {
        let Some(facts) = self.described.facts_of(column).filter(|_| !self.is_grouped[column]) else {
            return false;
        };
        let different = facts.different();
        different <= FEW_MAX && different * 4.0 <= self.described.facts.rows as f64
    }

    /// Returns `true` if a column of a key has line numbers: 1, 2, 3 and so on among the rows that refer to the same parent.
    fn has_lines(&self, column: usize, key: &[usize]) -> bool {
        let counts = |column: usize| self.described.facts_of(column)?.counts.as_ref();
        let lines = |group: usize| {
            let (facts, of_group) = (self.described.facts_of(column)?, counts(group)?);
            let (rows, (least, most)) = (self.described.facts.rows, facts.bounds);
            let counts = facts.counts.as_ref()?;
            let of = |line: i64| counts.of(hash_int(line)).unwrap_or(0);
            let is_int = facts.ints == rows && (0..=1).contains(&least);
            let groups = of_group.different();
            let largest = i64::try_from(*of_group.counts().last()?).ok()?;
            // The roots of trees may have numbers of their own.
            let has_few_others =
                || (least..least + largest).map(of).sum::<u64>() as f64 >= rows as f64 * 0.95;
            let lines = most - least < largest
                || self.refers_to_itself(group) && largest <= LINES_MAX && has_few_others();
            Some(is_int && lines && (of(least) as f64 - groups).abs() <= groups * 0.03)
        };
        key.iter().any(|group| *group != column && self.is_grouped[*group] && lines(*group) == Some(true))
    }

    /// Returns the column of a key whose rows are in groups. If the key has no such column, the column with the fewest values is grouped.
    fn group_of(&mut self, key: &[usize]) -> Option<usize> {
        let grouped = |column: &usize| {
            self.is_grouped[*column] && (self.refers_to_itself(*column) || !self.has_nulls(*column))
        };
        if let Some(column) = key.iter().copied().find(grouped) {
            return Some(column);
        }
        let free =
            key.iter().copied().filter(|column| self.made[*column].is_none() && !self.has_nulls(*column));
        let different = |column: &usize| {
            self.described.facts_of(*column).map_or(0.0, super::scan::ColumnFacts::different)
        };
        let column = free.min_by(|one, other| different(one).total_cmp(&different(other)))?;
        let (facts, cells) = (self.described.facts_of(column)?, self.described.cells(column));
        let different = (facts.different().round() as u64).max(1);
        // The inner expression has as many different values as the pool.
        let inner = self.described.by_kinds(column, &cells, different, different as f64);
        self.set(column, format!("pool({different}, {inner})"));
        self.is_grouped[column] = true;
        Some(column)
    }

    /// Returns the expression of a column that differs within the groups of another column.
    fn within(&self, column: usize, group: usize) -> String {
        let table = self.described.table;
        let of_group = name(&table.columns[group].name);
        let most = self
            .described
            .facts_of(group)
            .and_then(|facts| facts.counts.as_ref()?.counts().last().copied())
            .unwrap_or(1);
        let reference = table.references.iter().find(|reference| reference.columns[..] == [column]);
        if let Some((parent, rows, columns)) = reference.and_then(|reference| self.world.parent(reference))
            && rows >= most
        {
            return format!(
                "within({of_group}, ref({}.{}))",
                name(&parent.name),
                name(&parent.columns[columns[0]].name)
            );
        }
        let cells = self.described.cells(column);
        let Some(facts) = self.described.facts_of(column) else { return "row()".to_owned() };
        if self.has_lines(column, &[group]) {
            return lines(&of_group, facts.bounds.0);
        }
        if cells.iter().all(|cell| matches!(cell, Cell::Int(_))) && !cells.is_empty() {
            return self.int_within(&of_group, facts.bounds, most, facts, &cells);
        }
        if cells.iter().all(|cell| matches!(cell, Cell::Text(..))) && !cells.is_empty() {
            let common = self.described.rules.common.unwrap_or(20);
            let texts = Texts {
                cells: &cells,
                rows: facts.values(),
                different: facts.values() as f64,
                is_unique: true,
                common,
                exponent: None,
                named: None,
            };
            return texts.expression();
        }
        "row()".to_owned()
    }

    fn int_within(
        &self,
        group: &str,
        (least, most): (i64, i64),
        rows_max: u64,
        facts: &super::scan::ColumnFacts,
        cells: &[&Cell],
    ) -> String {
        let span = i128::from(most) - i128::from(least) + 1;
        let firsts =
            cells.iter().filter(|cell| ***cell == Cell::Int(least)).count() as f64 / cells.len() as f64;
        let groups = facts.counts.as_ref().map_or(0.0, |_| 1.0);
        let counts = self.described.facts.rows as f64 * firsts * groups;
        // Line numbers start at 0 or 1, range up to the size of the largest group, and have one first line per group.
        if (0..=1).contains(&least) && span <= i128::from(rows_max) && counts > 0.0 {
            return lines(group, least);
        }
        let more = (i128::from(rows_max) - span).max(0);
        // The ends are moved away from values, if the range is large enough.
        let room = if span > 200 { span / 100 } else { 0 };
        let low = (i128::from(least) + room).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        let high = (i128::from(most) - room + more).clamp(low, i128::from(i64::MAX));
        let high = if high - low + 1 < i128::from(rows_max) { i128::from(most) + more } else { high };
        format!("within({group}, int({low}, {high}))")
    }
}

/// Returns the expression of line numbers that begin at 0 or 1.
fn lines(group: &str, least: i64) -> String {
    if least == 1 { format!("ordinal({group})") } else { format!("ordinal({group}) - 1") }
}

/// Returns quantiles of keys, which are no keys themselves if there is room between keys.
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
