//! Advice from the figures of a run. Experiments (left) give the piece of advice on the right:
//!
//! ```text
//!  insert-method, mixed-user, billion-variants               ──> method
//!  unsafe-pragmas, insert-method, booleans, mixed-user       ──> pragmas: a safe variant beside the unsafe one of the same name
//!  pragma-mix, wal-normal                                    ──> wal
//!  batch-size, pragma-mix, transaction                       ──> transaction
//!  unroll-degree                                             ──> statement
//!  index-order ──> index    key-sequence ──> order    page-cache ──> cache    table-type ──> table-type    blob-break-even ──> blobs
//! ```
//!
//! Invariant: advice uses only figures that this run measured, not published ones, nor variants that failed or were skipped. If the samples
//! of two variants overlap, they are reported without a clear difference.

pub(crate) mod durability;
mod tables;
mod writing;

use serde::Serialize;

use crate::figures::{self, Spread};
use crate::record::{Experiment, Outcome, Provenance, Run, Variant};
use durability::Risk;

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The subject, a short word: `method`, `pragmas`, `wal`, ...
    pub about: &'static str,
    /// The question that the advice answers.
    pub question: &'static str,
    /// The recommendation.
    pub say: String,
    /// The figures that support the recommendation.
    pub because: Vec<String>,
    /// The costs besides time: durability, memory. Empty if there are none.
    pub gives_up: Vec<String>,
    /// The experiments that the advice is based on.
    pub experiments: Vec<String>,
}

/// Returns the advice from a run, the most important first.
pub fn of(run: &Run) -> Vec<Advice> {
    let each: [fn(&Run) -> Option<Advice>; 10] = [
        writing::method,
        writing::pragmas,
        writing::wal,
        writing::transaction,
        writing::statement,
        tables::index,
        tables::order,
        tables::cache,
        tables::table_type,
        tables::blobs,
    ];
    let advice = each.into_iter().filter_map(|advice| advice(run));
    advice.map(|advice| if is_too_short(run, &advice) { advice.without_verdict() } else { advice }).collect()
}

/// The minimum time of a run, in seconds. Shorter times depend on the machine's other work.
const SECONDS_MIN: f64 = 0.01;

/// Returns `true` if all runs that the advice is based on were too short for a difference to show.
fn is_too_short(run: &Run, advice: &Advice) -> bool {
    let drawn_from = run.experiments.iter().filter(|experiment| advice.experiments.contains(&experiment.id));
    let runs =
        drawn_from.flat_map(|experiment| &experiment.variants).filter_map(|variant| match &variant.outcome {
            Outcome::Measured { seconds, .. } => Some(seconds),
            _ => None,
        });
    let mut longest = runs.flatten().copied().reduce(f64::max).into_iter();
    longest.any(|longest| longest < SECONDS_MIN)
}

impl Advice {
    /// Replaces the recommendation by the remark that the runs were too short; the figures stay.
    fn without_verdict(self) -> Advice {
        let say =
            "Too few rows to tell: each run took less than 10 ms. Measure at a larger scale.".to_owned();
        Advice { say, gives_up: Vec::new(), ..self }
    }
}

/// A measured variant, with the spread of its samples and its risk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    pub(crate) variant: &'a Variant,
    pub(crate) spread: Spread,
    pub(crate) risk: Risk,
}

/// The measured variants of an experiment, and methods to compare them.
#[derive(Clone, Debug)]
pub(crate) struct Ways<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) all: Vec<Way<'a>>,
}

impl<'a> Ways<'a> {
    /// Returns the variants of the experiment `id`; `None` if none of them was measured.
    pub(crate) fn of(run: &'a Run, id: &str) -> Option<Ways<'a>> {
        run.experiments.iter().find(|experiment| experiment.id == id).and_then(Ways::new)
    }

    pub(crate) fn new(experiment: &'a Experiment) -> Option<Ways<'a>> {
        let way = |variant| {
            let spread = Spread::of(variant).filter(|spread| spread.median > 0.0)?;
            Some(Way { variant, spread, risk: durability::risk_of(variant) })
        };
        let all: Vec<Way<'a>> = experiment.variants.iter().filter_map(way).collect();
        (!all.is_empty()).then_some(Ways { experiment, all })
    }

    /// Returns the variant called `name`.
    pub(crate) fn named(&self, name: &str) -> Option<Way<'a>> {
        self.all.iter().find(|way| way.variant.name == name).copied()
    }

    /// Returns the variant with the best median among those for which `wanted` is true.
    pub(crate) fn best(&self, wanted: impl Fn(&Way<'a>) -> bool) -> Option<Way<'a>> {
        let better = |a: Way<'a>, b: Way<'a>| if self.is_better(&b, &a) { b } else { a };
        self.all.iter().filter(|way| wanted(way)).copied().reduce(better)
    }

    /// Returns the one of sqluice's own variants without a risk that has the best median.
    pub(crate) fn best_of_sqluice(&self) -> Option<Way<'a>> {
        self.best(|way| way.variant.provenance == Provenance::Sqluice && way.risk == Risk::Nothing)
    }

    pub(crate) fn is_better(&self, a: &Way<'_>, b: &Way<'_>) -> bool {
        a.spread.is_better(&b.spread, self.experiment.more_is_better)
    }

    /// Returns the ratio of the medians of `a` and `b`, above 1 if `a` is better.
    pub(crate) fn times(&self, a: &Way<'_>, b: &Way<'_>) -> f64 {
        a.spread.times(&b.spread, self.experiment.more_is_better).unwrap_or(1.0)
    }

    /// Returns `true` if `a` is better than `b` and the samples do not overlap. If one of them has only one sample, the ratio of the
    /// medians must be above [`NEARLY`] instead.
    pub(crate) fn is_clearly_better(&self, a: &Way<'_>, b: &Way<'_>) -> bool {
        let is_apart =
            if have_spreads(a, b) { a.spread.is_apart(&b.spread) } else { self.times(a, b) > NEARLY };
        self.is_better(a, b) && is_apart
    }

    /// Formats the median of a variant.
    pub(crate) fn figure(&self, way: &Way<'_>) -> String {
        figures::figure(way.spread.median, &self.experiment.unit)
    }

    /// Compares two variants in words: `carray: 7.90 M rows/s, 2.93× as fast as bound parameters (2.70 M rows/s)`.
    pub(crate) fn against(&self, a: &Way<'_>, b: &Way<'_>) -> String {
        let (name, other) = (&a.variant.name, &b.variant.name);
        let (figure, other_figure) = (self.figure(a), self.figure(b));
        if have_spreads(a, b) && !a.spread.is_apart(&b.spread) {
            return format!("{name}: {figure}, no clear difference from {other} ({other_figure})");
        }
        format!("{name}: {figure}, {} {other} ({other_figure})", figures::compared(self.times(a, b)))
    }

    /// Returns the ratio of two variants in words: `2.93× as fast`, `3.40× slower` or `no clear difference`.
    pub(crate) fn how_much(&self, a: &Way<'_>, b: &Way<'_>) -> String {
        if have_spreads(a, b) && !a.spread.is_apart(&b.spread) {
            "no clear difference".to_owned()
        } else {
            let compared = figures::compared(self.times(a, b));
            compared.trim_end_matches(" as").trim_end_matches(" than").to_owned()
        }
    }

    /// Returns the first of `ways` that is nearly as good as the best of them: worse by at most the factor [`NEARLY`].
    pub(crate) fn first_as_good_as_the_best(&self, ways: &[Way<'a>]) -> Option<Way<'a>> {
        let best = ways.iter().copied().reduce(|a, b| if self.is_better(&b, &a) { b } else { a })?;
        ways.iter().find(|way| self.times(&best, way) <= NEARLY).copied()
    }
}

/// The factor below which an improvement is not worth a setting.
const NEARLY: f64 = 1.05;

/// Returns `true` if both variants ran more than once and thus have spreads.
fn have_spreads(a: &Way<'_>, b: &Way<'_>) -> bool {
    a.spread.runs > 1 && b.spread.runs > 1
}

/// Returns the first whole number in a name, with or without separators: `1,000 operations per transaction` gives 1,000.
pub(crate) fn number_in(name: &str) -> Option<u64> {
    let from = name.find(|c: char| c.is_ascii_digit())?;
    let digits = name[from..].split(|c: char| !c.is_ascii_digit() && c != ',' && c != '_').next()?;
    digits.replace([',', '_'], "").parse().ok()
}

/// Copies the ids of experiments.
fn ids(experiments: &[&str]) -> Vec<String> {
    experiments.iter().map(|id| (*id).to_owned()).collect()
}
