//! Chooses, for each column, an expression by which the generator makes similar values.
//!
//! ```text
//!  keys and references ──> row(), keys(...), ref(..., rows(...)), within(...)        `keys`
//!  common values ────────> shares('open': 12, 'paid': 88)                 if they may be shown
//!  all others, by kind ──> quantiles, patterns, lengths, pools of as many different values
//!  NULLs ────────────────> nulls(0.1, ...)
//! ```

use std::collections::HashMap;

use sqluice_core::schema::Table;

use super::json;
use super::numbers::{ENOUGH, Form, form_of_reals, numbers};
use super::parents::share;
use super::sample::Cell;
use super::scan::{ColumnFacts, TableFacts};
use super::skew;
use super::texts::{Texts, lengths, pool, quoted};
use crate::personal::{self, Personal};

/// The maximum number of different texts of a column that counts as a column of few values.
const FEW_TEXTS: f64 = 200.0;
const FEW_NUMBERS: f64 = 24.0;

/// The maximum number of bytes of a shown value.
const SHOWN_BYTES_MAX: usize = 100;

/// The approximate number of values of a column that are searched for personal data.
const LOOKED_AT: usize = 2000;

/// The maximum number of texts whose forms are examined.
const TEXTS_MAX: usize = 10_000;

/// The rules that decide which values of the database the profile may show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The minimum number of rows that a shown value must have; `None` if no values are shown.
    pub(super) common: Option<u64>,
}

/// A table to describe, with the counts and samples of its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described<'t> {
    pub(super) table: &'t Table,
    pub(super) facts: &'t TableFacts,
    /// The position of each column of the table among the read columns; `None` if SQLite computes the column.
    pub(super) read: &'t [Option<usize>],
    /// The literals in the table's statement, which are shown anyway.
    pub(super) stated: &'t [String],
    /// The kind of personal data of each column, if any.
    pub(super) personal: &'t [Option<Personal>],
    pub(super) rules: Rules,
}

/// The chosen expression of a column.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) expression: String,
    /// The values that the expression shows, as literals; empty if it shows none.
    pub(super) kept: Vec<String>,
}

impl<'t> Described<'t> {
    pub(super) fn facts_of(&self, column: usize) -> Option<&'t ColumnFacts> {
        self.read[column].map(|read| &self.facts.columns[read])
    }

    pub(super) fn cells(&self, column: usize) -> Vec<&'t Cell> {
        let Some(read) = self.read[column] else { return Vec::new() };
        self.facts.sample.column(read).filter(|cell| **cell != Cell::Null).collect()
    }

    /// Returns the kind of personal data that each column seems to have, if any.
    pub(super) fn find_personal(&self) -> Vec<Option<Personal>> {
        let names: Vec<&str> = self.table.columns.iter().map(|column| &*column.name).collect();
        personal::of_table(&self.table.name, &names, |column| {
            let cells = self.cells(column);
            let texts = cells.iter().step_by(cells.len() / LOOKED_AT + 1).map(|cell| as_text(cell));
            let texts: Vec<String> = texts.collect();
            personal::by_values(texts.iter().map(String::as_bytes))
        })
    }

    /// Describes a column that is no key and no reference; `None` if SQLite computes the column, or the table has no rows.
    pub(super) fn plain(&self, column: usize) -> Option<Made> {
        let facts = self.facts_of(column)?;
        if self.facts.rows == 0 {
            return None;
        }
        if facts.values() == 0 {
            return Some(Made { expression: "NULL".to_owned(), kept: Vec::new() });
        }
        let made = self.kept(column, facts).unwrap_or_else(|| {
            let cells = self.cells(column);
            let shaped = self.shaped(facts, &cells);
            let expression =
                shaped.unwrap_or_else(|| self.by_kinds(column, &cells, facts.values(), facts.different()));
            Made { expression, kept: Vec::new() }
        });
        Some(Made { expression: self.with_nulls(facts, made.expression), ..made })
    }

    /// Returns an expression of the column's common values with their shares, or `None` if they may not be shown, or are fewer than half of
    /// the values that are not NULL.
    fn kept(&self, column: usize, facts: &ColumnFacts) -> Option<Made> {
        let common = self.rules.common?;
        let counts = facts.counts.as_ref().filter(|counts| counts.is_exact())?;
        let only_numbers = facts.texts + facts.blobs == 0;
        let different = counts.different();
        if different > if only_numbers { FEW_NUMBERS } else { FEW_TEXTS } || self.personal[column].is_some() {
            return None;
        }
        let mut rows_of: HashMap<u64, (String, u64)> = HashMap::new();
        let mut rest: Vec<&Cell> = Vec::new();
        for cell in self.cells(column) {
            let hash = cell.hash().unwrap_or(0);
            if rows_of.contains_key(&hash) {
                continue;
            }
            let rows = counts.of(hash).unwrap_or(0);
            match literal(cell).filter(|shown| rows >= common || self.stated.contains(shown)) {
                Some(shown) => drop(rows_of.insert(hash, (shown, rows))),
                None => rest.push(cell),
            }
        }
        let mut kept: Vec<(String, u64)> = rows_of.into_values().collect();
        kept.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let shown: u64 = kept.iter().map(|(_, rows)| rows).sum();
        if 2 * shown < facts.values() {
            return None;
        }
        let mut options: Vec<String> = kept.iter().map(|(value, rows)| format!("{value}: {rows}")).collect();
        let (rows, others) = (facts.values() - shown, different - kept.len() as f64);
        let kept: Vec<String> = kept.into_iter().map(|(value, _)| value).collect();
        // A range of a few numbers would show these numbers.
        let hides_rest = rows < ENOUGH as u64 && rest.iter().all(|cell| cell.number().is_some());
        let described = match hides_rest {
            true => beside(&kept, &rest, others),
            false => Some(self.by_kinds(column, &rest, rows, others)),
        };
        if let Some(described) = described.filter(|_| rows > 0 && !rest.is_empty()) {
            options.push(format!("{described}: {rows}"));
        }
        let expression = match &options[..] {
            [_] if rows == 0 || hides_rest => kept[0].clone(),
            _ => format!("shares({})", options.join(", ")),
        };
        Some(Made { expression, kept })
    }

    /// Returns an expression for few texts that may not be shown: other texts with the same lengths and frequencies. Returns `None` for
    /// other values, for many texts and for short ones.
    fn shaped(&self, facts: &ColumnFacts, cells: &[&Cell]) -> Option<String> {
        let counts = facts.counts.as_ref().filter(|counts| counts.is_exact())?;
        if facts.texts < facts.values()
            || counts.different() > FEW_NUMBERS
            || 2.0 * counts.different() > facts.texts as f64
        {
            return None;
        }
        let mut lengths: HashMap<u64, (u32, u64)> = HashMap::new();
        for cell in cells {
            if let Cell::Text(_, length, hash) = cell {
                lengths.insert(*hash, (*length, counts.of(*hash)?));
            }
        }
        let mut options: Vec<(u64, u32)> =
            lengths.into_values().map(|(length, rows)| (rows, length)).collect();
        options.sort_unstable_by(|one, other| other.cmp(one));
        // Generated short texts would be equal too often.
        if options.len() < 2 || options.iter().any(|(_, length)| *length < 3) {
            return None;
        }
        let option = |(rows, length): &(u64, u32)| format!("pool(1, text({length})): {rows}");
        Some(format!("shares({})", options.iter().map(option).collect::<Vec<_>>().join(", ")))
    }

    /// Returns an expression with the share of each kind of value.
    pub(super) fn by_kinds(&self, column: usize, cells: &[&Cell], rows: u64, different: f64) -> String {
        let kinds: [fn(&Cell) -> bool; 4] = [
            |cell| matches!(cell, Cell::Int(_)),
            |cell| matches!(cell, Cell::Real(_)),
            |cell| matches!(cell, Cell::Text(..)),
            |cell| matches!(cell, Cell::Blob(..)),
        ];
        let parts: Vec<Vec<&Cell>> = kinds
            .iter()
            .map(|is| cells.iter().copied().filter(|cell| is(cell)).collect::<Vec<_>>())
            .filter(|part| !part.is_empty())
            .collect();
        let all = distinct(cells).max(1) as f64;
        let part = |part: &Vec<&Cell>| {
            let share = part.len() as f64 / cells.len() as f64;
            let its_rows = ((rows as f64 * share).round() as u64).max(1);
            let its_different = (different * distinct(part) as f64 / all).clamp(1.0, its_rows as f64);
            self.of_kind(column, part, its_rows, its_different)
        };
        match &parts[..] {
            [] => "NULL".to_owned(),
            [only] => part(only),
            _ => {
                let options: Vec<String> =
                    parts.iter().map(|cells| format!("{}: {}", part(cells), cells.len())).collect();
                format!("shares({})", options.join(", "))
            }
        }
    }

    fn of_kind(&self, column: usize, cells: &[&Cell], rows: u64, different: f64) -> String {
        match cells[0] {
            Cell::Int(_) | Cell::Real(_) => {
                let mut values: Vec<f64> = cells.iter().filter_map(|cell| cell.number()).collect();
                values.sort_unstable_by(f64::total_cmp);
                let form = if let Cell::Int(_) = cells[0] { Form::Int } else { form_of_reals(&values) };
                numbers(&values, form, rows, Some(different))
            }
            Cell::Text(..) => {
                let common = self.rules.common.unwrap_or(20);
                let cells: Vec<&Cell> = cells.iter().copied().step_by(cells.len() / TEXTS_MAX + 1).collect();
                let cells = &cells[..];
                let (exponent, named) = (self.exponent(column, rows), self.named(column));
                let texts = Texts { cells, rows, different, is_unique: false, common, exponent, named };
                json::object(&texts).unwrap_or_else(|| texts.expression())
            }
            Cell::Blob(..) | Cell::Null => pool(different, rows, &format!("blob({})", lengths(cells, rows))),
        }
    }

    /// Returns the exponent of Zipf's distribution for the numbers of rows with the same text. Returns `None` if the column also has
    /// values other than the `rows` texts, or all texts have about the same number of rows.
    fn exponent(&self, column: usize, rows: u64) -> Option<f64> {
        let facts = self.facts_of(column).filter(|facts| facts.texts == rows && facts.values() == rows)?;
        skew::exponent(facts.counts.as_ref()?)
    }

    /// Returns the function for texts that the column's name announces, such as names of persons; `None` if it announces none.
    pub(super) fn named(&self, column: usize) -> Option<&'static str> {
        let known = ["first_name()", "last_name()", "name()"];
        let announced = sqluice_generator::expression_of_name(&self.table.name, &self.table.columns[column])?;
        known.into_iter().find(|function| *function == announced)
    }

    /// Adds NULL to an expression, with the share of NULLs in the column.
    pub(super) fn with_nulls(&self, facts: &ColumnFacts, expression: String) -> String {
        match self.facts.rows - facts.values() {
            0 => expression,
            nulls => format!("nulls({}, {expression})", share(nulls, self.facts.rows)),
        }
    }
}

/// Returns the number of different values in a sample.
fn distinct(cells: &[&Cell]) -> usize {
    cells.iter().filter_map(|cell| cell.hash()).collect::<std::collections::HashSet<_>>().len()
}

/// Returns a value as a literal of the generator's language, or `None` for values that are not shown: NULL, blobs, infinities, long texts
/// and texts with line breaks or NUL.
pub(super) fn literal(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Int(int) => Some(int.to_string()),
        Cell::Real(real) if real.is_finite() => Some(format!("{real:?}")),
        Cell::Text(bytes, ..) if bytes.len() <= SHOWN_BYTES_MAX => {
            // A comment ends at the end of the line, so a value with a line break can't be shown.
            cell.text().filter(|text| !text.contains(['\n', '\r', '\0'])).map(quoted)
        }
        _ => None,
    }
}

/// Returns a value as text, for guesses about its kind.
fn as_text(cell: &Cell) -> String {
    match cell {
        Cell::Int(int) => int.to_string(),
        Cell::Real(real) => real.to_string(),
        Cell::Text(bytes, ..) => String::from_utf8_lossy(bytes).into_owned(),
        Cell::Null | Cell::Blob(..) => String::new(),
    }
}
/// Returns an expression for the numbers of few rows, beside integers that are shown: integers after the largest shown one, or before the
/// smallest shown one. The expression reveals only on which side most of the numbers are. Returns `None` if a shown value is no integer.
fn beside(kept: &[String], rest: &[&Cell], different: f64) -> Option<String> {
    let kept: Option<Vec<i64>> = kept.iter().map(|value| value.parse().ok()).collect();
    let kept = kept?;
    let (least, most) = (*kept.iter().min()?, *kept.iter().max()?);
    let below = rest.iter().filter(|cell| cell.number().is_some_and(|number| number < least as f64)).count();
    let more = (different.round() as i64).max(1);
    Some(match 2 * below > rest.len() {
        true => format!("int({}, {})", least.checked_sub(more)?, least - 1),
        false => format!("int({}, {})", most.checked_add(1)?, most.checked_add(more)?),
    })
}
