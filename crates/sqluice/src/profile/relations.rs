//! Finds columns that depend on another column of the same table. In each row, the dependent column has the same value, a time that is
//! never earlier than the time in the other column, or a value that the value of the other column determines.
//!
//! Relations are guessed from the sample: a relation that holds in all sampled rows is assumed to hold in all rows.

use std::collections::{BTreeMap, HashMap};

use sqluice_generator::moment_of_text;

use super::describe::{Described, Made, literal};
use super::keys::name;
use super::numbers::{Form, numbers};
use super::parents::share;
use super::sample::Cell;

/// The minimum number of sampled rows for a guess.
const ROWS_MIN: usize = 100;

/// The maximum number of different values of a column that determines another column.
const DETERMINING_MAX: usize = 60;

/// Sets the expressions of columns that depend on other columns. `is_free` is `true` for columns that may depend. `made` has the
/// expressions chosen for all columns.
pub(super) fn relate(described: &Described<'_>, made: &mut [Option<Made>], is_free: &[bool]) {
    let columns: Vec<usize> = (0..is_free.len()).filter(|column| is_free[*column]).collect();
    let mut depends = vec![false; is_free.len()];
    for (at, &column) in columns.iter().enumerate() {
        let earlier = columns[..at].iter().copied().filter(|other| !depends[*other]);
        if let Some(other) = earlier.into_iter().find(|other| are_equal(described, *other, column)) {
            let expression = name(&described.table.columns[other].name);
            made[column] = Some(Made { expression, kept: Vec::new() });
            depends[column] = true;
        }
    }
    follow(described, made, &columns, &mut depends);
    for &column in &columns {
        let others = columns.iter().copied().filter(|other| *other != column && !depends[*other]);
        let found = others.into_iter().find_map(|other| determined(described, made, other, column));
        if let (false, Some(expression)) = (depends[column], found) {
            let kept = made[column].take().map_or(Vec::new(), |made| made.kept);
            made[column] = Some(Made { expression, kept });
            depends[column] = true;
        }
    }
}

/// Returns the pair of values of two columns, for each sampled row.
fn pairs<'d>(described: &Described<'d>, one: usize, other: usize) -> Vec<(&'d Cell, &'d Cell)> {
    let (Some(one), Some(other)) = (described.read[one], described.read[other]) else { return Vec::new() };
    described.facts.sample.rows.iter().map(|row| (&row.cells[one], &row.cells[other])).collect()
}

fn are_equal(described: &Described<'_>, one: usize, other: usize) -> bool {
    let pairs = pairs(described, one, other);
    let (Some(of_one), Some(of_other)) = (described.facts_of(one), described.facts_of(other)) else {
        return false;
    };
    let same = |(one, other): &(&Cell, &Cell)| one.hash() == other.hash() && one.text() == other.text();
    pairs.len() >= ROWS_MIN
        && of_one.different() > 1.0
        && of_one.values() == of_other.values()
        && pairs.iter().all(same)
}

/// Returns a time in days or seconds, and its form: `Some(true)` for a day as text, `Some(false)` for a second as text, `None` for an
/// integer. An integer is a time if, as seconds since 1970, it lies between the years 1973 and 2286.
fn moment(cell: &Cell) -> Option<(f64, Option<bool>)> {
    match cell {
        Cell::Int(int) if (100_000_000..10_000_000_000).contains(int) => Some((*int as f64, None)),
        Cell::Text(..) => {
            let text = cell.text()?;
            let seconds = moment_of_text(text.as_bytes())?;
            let is_day = text.len() == 10;
            Some(((if is_day { seconds / 86_400 } else { seconds }) as f64, Some(is_day)))
        }
        _ => None,
    }
}

/// Finds columns with times that are never earlier than the time in another column of the same row, such as `shipped` after `created`. Sets
/// their expressions in `made`.
fn follow(described: &Described<'_>, made: &mut [Option<Made>], columns: &[usize], depends: &mut [bool]) {
    let middle = |column: usize| {
        let mut moments: Vec<f64> =
            described.cells(column).into_iter().filter_map(|cell| Some(moment(cell)?.0)).collect();
        moments.sort_unstable_by(f64::total_cmp);
        (moments.len() >= ROWS_MIN).then(|| moments[moments.len() / 2])
    };
    let mut ordered: Vec<(usize, f64)> = columns
        .iter()
        .filter(|column| !depends[**column])
        .filter_map(|column| Some((*column, middle(*column)?)))
        .collect();
    ordered.sort_by(|one, other| one.1.total_cmp(&other.1));
    for at in 1..ordered.len() {
        let column = ordered[at].0;
        let before = ordered[..at].iter().rev().filter_map(|(other, _)| follows(described, *other, column));
        if let Some(expression) = before.into_iter().next() {
            made[column] = Some(Made { expression, kept: Vec::new() });
            depends[column] = true;
        }
    }
}

/// Returns an expression for column `then` from the times of column `first`. Returns `None` if a sampled time of `then` is earlier than
/// that of `first`, if `first` has NULLs or values that are no times, if there are too few times, or if the expression would not preserve
/// the distribution of the times.
fn follows(described: &Described<'_>, first: usize, then: usize) -> Option<String> {
    let (of_first, of_then) = (described.facts_of(first)?, described.facts_of(then)?);
    if of_first.values() < described.facts.rows {
        return None;
    }
    let mut all = Vec::new();
    for (one, other) in pairs(described, first, then).into_iter().filter(|(_, other)| **other != Cell::Null) {
        let ((one, form), (other, other_form)) = (moment(one)?, moment(other)?);
        if form != other_form || one > other {
            return None;
        }
        all.push((one, other, form));
    }
    let form = all.first()?.2;
    let (_, last) = all.iter().fold((0.0, 0.0_f64), |(_, last), (one, ..)| (0.0, last.max(*one)));
    let begin = all.iter().map(|(_, other, _)| *other).fold(f64::INFINITY, f64::min);
    if all.len() < ROWS_MIN || last <= begin {
        return None;
    }
    let mut steps: Vec<f64> = all.iter().map(|(one, other, _)| other - one).collect();
    steps.sort_unstable_by(f64::total_cmp);
    if !stays(&all, &steps) {
        return None;
    }
    let steps = numbers(&steps, Form::Int, of_then.values(), None);
    let first = name(&described.table.columns[first].name);
    let made = if form.is_none() { format!("{first} + {steps}") } else { format!("later({first}, {steps})") };
    Some(match described.facts.rows - of_then.values() {
        0 => made,
        nulls => format!("nulls({}, {made})", share(nulls, described.facts.rows)),
    })
}

/// Returns `true` if the first times plus steps that are drawn at random have about the same distribution as the second times.
fn stays(all: &[(f64, f64, Option<bool>)], steps: &[f64]) -> bool {
    let mut made: Vec<f64> =
        all.iter().enumerate().map(|(at, (one, ..))| one + steps[at * 7919 % steps.len()]).collect();
    let mut found: Vec<f64> = all.iter().map(|(_, other, _)| *other).collect();
    made.sort_unstable_by(f64::total_cmp);
    found.sort_unstable_by(f64::total_cmp);
    let range = found[found.len() - 1] - found[0];
    (0..=10).all(|tenth| {
        let at = (found.len() - 1) * tenth / 10;
        (made[at] - found[at]).abs() <= 0.015 * range
    })
}

/// Returns the expression of a column whose values are all shown and determined by another column; `None` for other columns.
fn determined(described: &Described<'_>, made: &[Option<Made>], by: usize, column: usize) -> Option<String> {
    let shown = |column: usize| made[column].as_ref().map(|made| made.kept.len()).filter(|count| *count > 1);
    let (determining, values) = (shown(by)?, shown(column)?);
    let all_shown = |column: usize, count: usize| {
        described
            .facts_of(column)
            .is_some_and(|facts| facts.different() == count as f64 && facts.values() == described.facts.rows)
    };
    if determining <= values
        || determining > DETERMINING_MAX
        || !all_shown(by, determining)
        || !all_shown(column, values)
    {
        return None;
    }
    let mut value_of: HashMap<String, String> = HashMap::new();
    for (one, other) in pairs(described, by, column) {
        let (one, other) = (literal(one)?, literal(other)?);
        if value_of.entry(one).or_insert_with(|| other.clone()) != &other {
            return None;
        }
    }
    let mut cases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    value_of.into_iter().for_each(|(one, other)| cases.entry(other).or_default().push(one));
    let by = name(&described.table.columns[by].name);
    let (last, cases): (Vec<_>, Vec<_>) = {
        let mut cases: Vec<(String, Vec<String>)> = cases.into_iter().collect();
        let last = cases.pop()?;
        (vec![last], cases)
    };
    let when = |(value, mut ones): (String, Vec<String>)| {
        ones.sort_unstable();
        format!("when {by} in ({}) then {value}", ones.join(", "))
    };
    let whens: Vec<String> = cases.into_iter().map(when).collect();
    Some(format!("case({} else {})", whens.join(" "), last[0].0))
}
