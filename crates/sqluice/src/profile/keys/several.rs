//! Describes PRIMARY KEY and UNIQUE constraints of more than one column as generator expressions: one column has a value for each group of
//! rows, and another differs within each group.

use super::super::sample::Cell;
use super::super::scan::ColumnFacts;
use super::super::sketch::hash_int;
use super::super::texts::Texts;
use super::{Keys, name};

/// A column of a key with at most this number of different values keeps these values, however many rows are generated.
const FEW_MAX: f64 = 2000.0;

/// In a table that refers to itself, a column may count as line numbers although some numbers are too large, if most are small enough. To
/// find this, the numbers are looked up one by one, unless a group has more rows than this.
const LINES_MAX: i64 = 100_000;

impl Keys<'_> {
    /// Describes multi-column keys: a column whose rows are in groups, and a column that differs within the groups.
    pub(super) fn keys_of_several(&mut self) {
        for key in self.described.table.unique_keys().into_iter().filter(|key| key.len() > 1) {
            self.key_of_several(&key);
            self.grow(&key);
        }
    }

    /// Makes the range of one column of a key grow with the number of rows: of the column with the most different values. Does nothing if a
    /// column of the key has more values with more rows anyway, such as a reference to a parent or a line number.
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

    /// Returns the length of the range of a column of integers, or of days or seconds as texts; `None` for other columns.
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
        // Columns with few values keep these values: rows exchange them until the key is unique. Rows can't exchange the values of a key
        // that other rows of the table refer to.
        let stays = self.is_parent_of_itself(key);
        let is_few = |column: &usize| !stays && self.has_few(*column) && !self.has_lines(*column, key);
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
            // The column of a tree keeps its expression.
            free.iter().copied().find(|column| self.is_grouped[*column] && !self.refers_to_itself(*column))
        });
        if let Some(column) = within {
            let expression = self.within(column, group);
            self.is_grouped[column] = false;
            self.set(column, expression);
        }
    }

    /// Returns `true` if a column has so few different values that a key can't make them different within groups.
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
            // The roots of a tree belong to no group, so their line numbers may be larger.
            let has_few_others =
                || (least..least.saturating_add(largest)).map(of).sum::<u64>() as f64 >= rows as f64 * 0.95;
            let lines = most.saturating_sub(least) < largest
                || self.refers_to_itself(group) && largest <= LINES_MAX && has_few_others();
            Some(is_int && lines && (of(least) as f64 - groups).abs() <= groups * 0.03)
        };
        key.iter().any(|group| *group != column && self.is_grouped[*group] && lines(*group) == Some(true))
    }

    /// Returns the column of a key whose rows are in groups. If the key has no such column, the column with the fewest values is grouped.
    /// Returns `None` if no column can be grouped.
    fn group_of(&mut self, key: &[usize]) -> Option<usize> {
        let grouped = |column: &usize| {
            self.is_grouped[*column] && (self.refers_to_itself(*column) || !self.has_nulls(*column))
        };
        if let Some(column) = key.iter().copied().find(grouped) {
            return Some(column);
        }
        let free =
            key.iter().copied().filter(|column| self.made[*column].is_none() && !self.has_nulls(*column));
        let different = |column: &usize| self.described.facts_of(*column).map_or(0.0, ColumnFacts::different);
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
        facts: &ColumnFacts,
        cells: &[&Cell],
    ) -> String {
        let span = i128::from(most) - i128::from(least) + 1;
        let firsts =
            cells.iter().filter(|cell| ***cell == Cell::Int(least)).count() as f64 / cells.len() as f64;
        let groups = facts.counts.as_ref().map_or(0.0, |_| 1.0);
        let counts = self.described.facts.rows as f64 * firsts * groups;
        // Line numbers start at 0 or 1, are at most the size of the largest group, and each group has one row with the first line number.
        if (0..=1).contains(&least) && span <= i128::from(rows_max) && counts > 0.0 {
            return lines(group, least);
        }
        let more = (i128::from(rows_max) - span).max(0);
        // The ends are moved away from values if the range is large enough.
        let room = if span > 200 { span / 100 } else { 0 };
        let low = (i128::from(least) + room).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        let high = (i128::from(most) - room + more).clamp(low, i128::from(i64::MAX));
        let high = if high - low + 1 < i128::from(rows_max) { i128::from(most) + more } else { high };
        format!("within({group}, int({low}, {high}))")
    }
}

/// Returns the expression of line numbers that begin at 0 or 1.
pub(super) fn lines(group: &str, least: i64) -> String {
    if least == 1 { format!("ordinal({group})") } else { format!("ordinal({group}) - 1") }
}
