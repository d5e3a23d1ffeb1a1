//! Finds rows that break rules, and gives them other values with which they satisfy the rules. A row exchanges values with another row,
//! which leaves the set of values of each column unchanged, or takes values of other rows. Columns that depend on each other form a
//! component, and move together. Each change lets the row break fewer rules, and is followed by further changes until the row satisfies all
//! rules. Then the row is placed: later rows must not have its keys.
//!
//! ```text
//!  rows in order ── satisfies all rules ──> placed
//!        └───────── breaks a rule ────────> exchanges a component with a random row, breaks fewer rules ──────> placed
//!                                           else takes the component of a random row ──────────────────────────> placed
//!                                           else takes a combination that no row has ──────────────────────────> placed
//!                                           else the rule is given up: no row has to satisfy it any more
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use rusqlite::types::Value as Sql;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;

use super::judge::{BATCH, Judge, Verdict, parts};
use super::rules::{Condition, Constraint, Rule};
use super::values::{Component, Values};
use crate::moves::Moved;
use crate::random::{Key, below64};

/// The maximum number of tests of rows by SQLite for one table, unless [`ATTEMPTS_A_ROW`] permits more. The rows that break rules share
/// these attempts.
const ATTEMPTS_MAX: u64 = 400_000;

/// The number of attempts for each row, if the table is so large that this is more than [`ATTEMPTS_MAX`].
const ATTEMPTS_A_ROW: u64 = 8;

/// The maximum number of attempts to find an exchange for a row.
const EXCHANGES: u64 = 600;

/// The minimum number of attempts to find an exchange for a row that breaks only CHECKs or foreign keys. After each such row without an
/// exchange, the next one gets half as many attempts, but not less than this number, as long as the table has enough attempts left.
const EXCHANGES_MIN: u64 = 40;

/// The maximum number of attempts to take values of another row.
const TAKINGS: u64 = 300;

/// The maximum number of attempts to take a combination that no row has.
const TAKINGS_FREE: u64 = 100;

/// The number of kinds of attempts that share the attempts of a table: exchanges and takings.
const KINDS: u64 = 2;

/// The numbers of attempts in the first and in the largest batch. The first attempts often succeed, so each row gets at least the first
/// batch.
const JUDGED: [u64; 2] = [4, 64];

/// The maximum number of combinations of values among which unused ones are searched.
const COMBINATIONS_MAX: usize = 20_000;

/// The result of the search: the moved rows of each column, and the constraints that were given up.
pub(super) type Found = (Vec<(usize, Moved)>, Vec<Constraint>);

/// A change of a row: some of its components take the values of other rows.
struct Attempt<T> {
    /// The data that the caller needs to apply the attempt.
    with: T,
    /// The index of each component that changes, with the row whose values the component takes.
    taken: Vec<(usize, u64)>,
}

/// Returns each component with the row whose values the component takes.
fn taking(components: &[usize], sources: &[u64]) -> Vec<(usize, u64)> {
    components.iter().copied().zip(sources.iter().copied()).collect()
}

/// Divides attempts into batches, which SQLite tests together. Each batch is twice as large as the one before, up to a limit.
fn batches(attempts: u64) -> impl Iterator<Item = Range<u64>> {
    let [first, most] = JUDGED;
    let next = move |part: &Range<u64>| {
        let count = (2 * (part.end - part.start)).min(most);
        (part.end < attempts).then(|| part.end..(part.end + count).min(attempts))
    };
    std::iter::successors((attempts > 0).then_some(0..first.min(attempts)), next)
}

/// The search for values with which all rows of a table satisfy the rules.
pub(super) struct Search<'s> {
    pub(super) rules: &'s [Rule],
    pub(super) judge: &'s Judge,
    pub(super) values: &'s Values,
    pub(super) rows: u64,
    pub(super) key: Key,
    pub(super) components: Vec<Component>,
    cancel: &'s Cancel,
    /// The index of the component that each column belongs to.
    component_of: HashMap<usize, usize>,
    given_up: Vec<bool>,
    /// The hashes of the keys of placed rows, for each rule.
    placed: Vec<HashSet<u64>>,
    /// The rows that are not placed yet.
    broken: BTreeSet<u64>,
    /// The number of attempts that the table has left.
    attempts: u64,
    /// The number of attempts to exchange values of the next row that breaks a CHECK or a foreign key.
    exchanges: u64,
    /// The combinations of values that no row has, by the index of the rule. A combination is a list of rows: each component takes the
    /// values of the row at its place in the list.
    free: HashMap<usize, Vec<Vec<u64>>>,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        rules: &'s [Rule],
        (judge, values): (&'s Judge, &'s Values),
        (rows, key): (u64, Key),
        components: Vec<Component>,
        cancel: &'s Cancel,
    ) -> Search<'s> {
        let numbered = components.iter().enumerate();
        let component_of = numbered
            .flat_map(|(number, of)| of.columns.iter().map(move |column| (*column, number)))
            .collect();
        Search {
            rules,
            judge,
            values,
            rows,
            key,
            components,
            cancel,
            component_of,
            given_up: vec![false; rules.len()],
            placed: vec![HashSet::new(); rules.len()],
            broken: BTreeSet::new(),
            attempts: ATTEMPTS_MAX.max(ATTEMPTS_A_ROW * rows),
            exchanges: EXCHANGES,
            free: HashMap::new(),
        }
    }

    /// Returns the moved rows of each column, and the constraints that were given up.
    pub(super) fn run(mut self) -> Result<Found> {
        for (first, count) in parts(self.rows) {
            self.cancel.check()?;
            let verdicts = self.judge.rows(self.rules, self.values.rows(first, count)?)?;
            for (row, verdict) in (first..).zip(verdicts) {
                if self.is_kept(&verdict) {
                    self.place(&verdict);
                } else {
                    self.broken.insert(row);
                }
            }
        }
        while let Some(row) = self.broken.first().copied() {
            self.cancel.check()?;
            self.settle(row)?;
            self.broken.remove(&row);
        }
        let moved = self.components.into_iter().flat_map(|component| {
            let Component { columns, moved, .. } = component;
            columns.into_iter().map(move |column| (column, moved.clone()))
        });
        let given_up = self.rules.iter().zip(&self.given_up).filter(|(_, given_up)| **given_up);
        Ok((moved.collect(), given_up.map(|(rule, _)| rule.constraint.clone()).collect()))
    }

    /// Returns `true` if a row satisfies a rule, also in comparison with all placed rows, or if the rule is given up.
    fn keeps(&self, verdict: &Verdict, rule: usize) -> bool {
        self.given_up[rule]
            || !verdict.broken[rule] && verdict.keys[rule].is_none_or(|key| !self.placed[rule].contains(&key))
    }

    fn is_kept(&self, verdict: &Verdict) -> bool {
        (0..self.rules.len()).all(|rule| self.keeps(verdict, rule))
    }

    fn place(&mut self, verdict: &Verdict) {
        for (placed, key) in self.placed.iter_mut().zip(&verdict.keys) {
            placed.extend(key);
        }
    }

    /// Removes the keys of a placed row: undoes [`Search::place`].
    fn displace(&mut self, verdict: &Verdict) {
        for (placed, key) in self.placed.iter_mut().zip(&verdict.keys) {
            if let Some(key) = key {
                placed.remove(key);
            }
        }
    }

    /// Tests a row with the components in `taken` replaced by those of other rows.
    fn verdict(&self, row: u64, taken: &[(usize, u64)]) -> Result<Verdict> {
        let values = self.values_of(row, taken)?;
        Ok(self.judge.rows(self.rules, vec![values])?.remove(0))
    }

    fn values_of(&self, row: u64, taken: &[(usize, u64)]) -> Result<Vec<Sql>> {
        self.values.row(|column| {
            let number = self.component_of[&column];
            let taken = taken.iter().find(|(component, _)| *component == number);
            taken.map_or_else(|| self.components[number].source(row), |(_, source)| *source)
        })
    }

    /// Returns the components that a rule names.
    fn named(&self, rule: usize) -> BTreeSet<usize> {
        self.rules[rule].columns.iter().map(|column| self.component_of[column]).collect()
    }

    /// Returns the components that a rule names and whose values can be exchanged.
    fn movable(&self, rule: usize) -> Vec<usize> {
        self.named(rule).into_iter().filter(|component| self.components[*component].moves).collect()
    }

    /// Changes a row until it satisfies all rules, and places it. Gives a rule up if no attempt helps.
    fn settle(&mut self, row: u64) -> Result<()> {
        loop {
            let verdict = self.verdict(row, &[])?;
            let broken = self.broken_by(&verdict);
            let Some(&rule) = broken.first() else {
                self.place(&verdict);
                return Ok(());
            };
            let mut components: Vec<usize> = broken.iter().flat_map(|rule| self.movable(*rule)).collect();
            components.sort_unstable();
            components.dedup();
            let is_better = !components.is_empty()
                && (self.exchange(row, &components, &broken)?
                    || self.take(row, &components, &broken)?
                    || self.take_free(row, rule, &broken)?);
            if !is_better {
                self.given_up[rule] = true;
            }
        }
    }

    /// Returns the rules that a row breaks.
    fn broken_by(&self, verdict: &Verdict) -> Vec<usize> {
        (0..self.rules.len()).filter(|rule| !self.keeps(verdict, *rule)).collect()
    }

    /// Returns `true` if a row breaks fewer of these rules than before, and no other rule.
    fn is_better(&self, verdict: &Verdict, broken: &[usize]) -> bool {
        let still = self.broken_by(verdict);
        still.len() < broken.len() && still.iter().all(|rule| broken.contains(rule))
    }

    /// Returns a random row for an attempt.
    fn other(&self, row: u64, attempt: u64) -> u64 {
        below64(self.key.child(row).word(attempt), self.rows)
    }

    /// Returns the number of attempts of one kind for the next row, `most` at most.
    fn share(&self, most: u64) -> u64 {
        // A first batch is reserved for each other row that is not placed, as most rows need few attempts.
        let others = (self.broken.len() as u64).saturating_sub(1);
        let free = self.attempts.saturating_sub(KINDS * JUDGED[0] * others);
        most.min((free / KINDS).max(JUDGED[0]))
    }

    /// Tests a row with each of several changes.
    fn judged<T>(&mut self, row: u64, attempts: Vec<Attempt<T>>) -> Result<Vec<(Attempt<T>, Verdict)>> {
        self.attempts = self.attempts.saturating_sub(attempts.len() as u64);
        let values: Result<Vec<Vec<Sql>>> =
            attempts.iter().map(|attempt| self.values_of(row, &attempt.taken)).collect();
        Ok(attempts.into_iter().zip(self.judge.rows(self.rules, values?)?).collect())
    }

    /// Returns the attempts after which the row breaks fewer rules, with their test results.
    fn better<T>(
        &mut self,
        row: u64,
        attempts: Vec<Attempt<T>>,
        broken: &[usize],
    ) -> Result<Vec<(Attempt<T>, Verdict)>> {
        let mut judged = self.judged(row, attempts)?;
        judged.retain(|(_, verdict)| self.is_better(verdict, broken));
        Ok(judged)
    }

    /// Makes components of a row take the values of other rows.
    fn apply(&mut self, row: u64, taken: &[(usize, u64)]) {
        taken.iter().for_each(|(component, source)| self.components[*component].take(row, *source));
    }

    /// Exchanges a component with a random row, so that `row` breaks fewer rules. If the random row is placed, it must still satisfy all
    /// rules.
    fn exchange(&mut self, row: u64, components: &[usize], broken: &[usize]) -> Result<bool> {
        // A CHECK or a foreign key does not compare rows, so a few attempts show whether exchanges help.
        let is_alone = broken.iter().all(|rule| !matches!(self.rules[*rule].condition, Condition::Different));
        let most = self.share(if is_alone { self.exchanges } else { EXCHANGES });
        for attempts in batches(most) {
            let attempt = |attempt: u64| {
                let component = components[attempt as usize % components.len()];
                let other = self.other(row, attempt);
                let [own, others] = [row, other].map(|row| self.components[component].source(row));
                (own != others).then(|| Attempt { with: (other, own), taken: vec![(component, others)] })
            };
            for (attempt, verdict) in self.better(row, attempts.filter_map(attempt).collect(), broken)? {
                let (other, own) = attempt.with;
                let gets = [(attempt.taken[0].0, own)];
                if self.broken.contains(&other) || self.replace(other, &gets, &verdict)? {
                    self.apply(row, &attempt.taken);
                    self.apply(other, &gets);
                    self.exchanges = (2 * self.exchanges).min(EXCHANGES);
                    return Ok(true);
                }
            }
        }
        if is_alone {
            self.exchanges = (self.exchanges / 2).max(EXCHANGES_MIN);
        }
        Ok(false)
    }

    /// Gives a placed row other values if it then satisfies all rules, also together with the row whose result is `beside`. Returns `true`
    /// if the row was changed.
    fn replace(&mut self, row: u64, taken: &[(usize, u64)], beside: &Verdict) -> Result<bool> {
        let before = self.verdict(row, &[])?;
        let new = self.verdict(row, taken)?;
        // The new values may have the row's own old keys, so these must not count as used.
        self.displace(&before);
        let is_same = |rule: usize| {
            beside.keys[rule].is_some() && beside.keys[rule] == new.keys[rule] && !self.given_up[rule]
        };
        let is_kept = self.is_kept(&new) && !(0..self.rules.len()).any(is_same);
        self.place(if is_kept { &new } else { &before });
        Ok(is_kept)
    }

    /// Copies one component from a random row, or two components from two rows, or all components from one row, so that the row breaks
    /// fewer rules.
    fn take(&mut self, row: u64, components: &[usize], broken: &[usize]) -> Result<bool> {
        let components: Vec<usize> =
            components.iter().copied().filter(|component| self.components[*component].repeats).collect();
        if components.is_empty() {
            return Ok(false);
        }
        for attempts in batches(self.share(TAKINGS)) {
            let attempt = |attempt: u64| {
                let source = |component: usize, attempt: u64| {
                    (component, self.components[component].source(self.other(row, attempt)))
                };
                let at = |number: u64| components[(attempt / 3 + number) as usize % components.len()];
                let next = EXCHANGES + attempt;
                let taken = match attempt % 3 {
                    0 => vec![source(at(0), next)],
                    1 if components.len() > 1 => vec![source(at(0), next), source(at(1), next + TAKINGS)],
                    _ => components.iter().map(|component| source(*component, next)).collect(),
                };
                Attempt { with: (), taken }
            };
            let better = self.better(row, attempts.map(attempt).collect(), broken)?;
            if let Some((attempt, _)) = better.first() {
                self.apply(row, &attempt.taken);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives a row values that no other row has together, in the columns of the key `rule`.
    fn take_free(&mut self, row: u64, rule: usize, broken: &[usize]) -> Result<bool> {
        let components = self.movable(rule);
        let repeats = components.iter().all(|component| self.components[*component].repeats);
        if !matches!(self.rules[rule].condition, Condition::Different)
            || self.named(rule).len() > components.len()
            || !repeats
        {
            return Ok(false);
        }
        if !self.free.contains_key(&rule) {
            let free = self.find_free(row, rule, &components)?;
            self.free.insert(rule, free);
        }
        let own: Vec<u64> =
            components.iter().map(|component| self.components[*component].source(row)).collect();
        let mut free = self.free.remove(&rule).unwrap_or_default();
        // Combinations that change the fewest components of the row are tried first.
        let mut order: Vec<usize> = (0..free.len()).collect();
        order.sort_by_cached_key(|at| free[*at].iter().zip(&own).filter(|(one, other)| one != other).count());
        let mut used = false;
        // Combinations that are no longer free: other rows have taken them since the list was made, or this row takes it now.
        let mut gone: HashSet<usize> = HashSet::new();
        'tried: for attempts in batches(TAKINGS_FREE.min(order.len() as u64)) {
            let attempt = |attempt: u64| {
                let with = order[attempt as usize];
                Attempt { with, taken: taking(&components, &free[with]) }
            };
            for (attempt, verdict) in self.judged(row, attempts.map(attempt).collect())? {
                used = self.keeps(&verdict, rule) && self.is_better(&verdict, broken);
                if used || !self.keeps(&verdict, rule) {
                    gone.insert(attempt.with);
                }
                if used {
                    self.apply(row, &attempt.taken);
                    break 'tried;
                }
            }
        }
        let mut number = 0..;
        free.retain(|_| number.next().is_none_or(|number| !gone.contains(&number)));
        self.free.insert(rule, free);
        Ok(used)
    }

    /// Returns the combinations of values that no row has; an empty list if there are more than [`COMBINATIONS_MAX`] combinations.
    fn find_free(&self, row: u64, rule: usize, components: &[usize]) -> Result<Vec<Vec<u64>>> {
        let mut seen: Vec<HashMap<u64, u64>> = vec![HashMap::new(); components.len()];
        for (first, count) in parts(self.rows) {
            self.cancel.check()?;
            for (number, values) in (first..).zip(self.values.rows(first, count)?) {
                for (seen, component) in seen.iter_mut().zip(components) {
                    let hash = self.values.hash_of(&values, &self.components[*component].columns);
                    seen.entry(hash).or_insert(number);
                }
            }
            let product = seen.iter().map(HashMap::len).try_fold(1_usize, |all, of| all.checked_mul(of));
            if product.is_none_or(|product| product > COMBINATIONS_MAX) {
                return Ok(Vec::new());
            }
        }
        let mut combinations: Vec<Vec<u64>> = vec![Vec::new()];
        for seen in seen {
            let mut rows: Vec<u64> = seen.into_values().collect();
            rows.sort_unstable();
            combinations = combinations
                .into_iter()
                .flat_map(|begun| {
                    rows.iter().map(move |row| [&begun[..], &[*row]].concat()).collect::<Vec<_>>()
                })
                .collect();
        }
        let mut free = Vec::new();
        for some in combinations.chunks(BATCH) {
            self.cancel.check()?;
            let values: Result<Vec<Vec<Sql>>> =
                some.iter().map(|sources| self.values_of(row, &taking(components, sources))).collect();
            let verdicts = self.judge.rows(self.rules, values?)?;
            let kept = some.iter().zip(&verdicts).filter(|(_, verdict)| self.keeps(verdict, rule));
            free.extend(kept.map(|(sources, _)| sources.clone()));
        }
        Ok(free)
    }
}
