//! A run beside what was published, and beside another run.
//!
//! * A publication gives no spreads. What it says of two variants is contradicted when it names one as the better by at least 5 %,
//!   and here every run of the other was better than every run of that one.
//! * Two runs are compared variant by variant where both measured the same number of rows in the same unit; a change is one when every
//!   sample of the one is beyond every sample of the other.

use crate::record::{Experiment, Run, Variant};

use crate::figures::Spread;

/// What publications say is read as a difference from here on: the same setting run twice differs by as much in one of them.
const PUBLISHED_TIMES_MIN: f64 = 1.05;

/// Two variants that came out in the other order.
#[derive(Clone, Copy, Debug)]
pub struct Contradiction<'a> {
    /// What is better here, and was published as the worse.
    pub better: (&'a Variant, Spread),
    /// What is worse here, and was published as the better.
    pub worse: (&'a Variant, Spread),
    /// How many times as good the one was published to be that is the worse here.
    pub published_times: f64,
    /// How many times as good the other is here.
    pub times: f64,
}

/// What became of a variant since another run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// What it was.
    pub before: Spread,
    /// How many times as good it is now: above 1 it is better.
    pub times: f64,
    /// Whether it is beyond the spreads of both.
    pub is_beyond_spreads: bool,
}

/// The published figure, where it can stand beside what was measured: a number.
pub(super) fn published(variant: &Variant) -> Option<f64> {
    variant.published.filter(|value| value.is_finite())
}

/// What was measured, divided by what was published, whether more is better or not.
pub fn times_published(variant: &Variant) -> Option<f64> {
    let times = Spread::of(variant)?.median / published(variant)?;
    (times.is_finite() && times > 0.0).then_some(times)
}

/// What this run contradicts, the plainest first.
pub fn contradictions(experiment: &Experiment) -> Vec<Contradiction<'_>> {
    let more = experiment.more_is_better;
    let comparable: Vec<(&Variant, Spread, f64)> = experiment
        .variants
        .iter()
        .filter_map(|variant| {
            let published = published(variant).filter(|value| *value > 0.0)?;
            Some((variant, Spread::of(variant)?, published))
        })
        .collect();
    let mut found = Vec::new();
    for (better, spread, published) in &comparable {
        for (worse, other, other_published) in &comparable {
            let published_times =
                if more { other_published / published } else { published / other_published };
            let reversed = spread.is_better(other, more) && spread.is_apart(other);
            let times = spread.times(other, more).filter(|_| reversed);
            if let Some(times) = times.filter(|_| published_times >= PUBLISHED_TIMES_MIN) {
                let (better, worse) = ((*better, *spread), (*worse, *other));
                found.push(Contradiction { better, worse, published_times, times });
            }
        }
    }
    found.sort_by(|a, b| (b.published_times * b.times).total_cmp(&(a.published_times * a.times)));
    found
}

/// What became of a variant since the old run; `None` where there is nothing to compare with.
pub fn change(experiment: &Experiment, variant: &Variant, old: &Run) -> Option<Change> {
    let of_old = old.experiments.iter().find(|one| one.id == experiment.id)?;
    let same = of_old.unit == experiment.unit && of_old.count == experiment.count;
    let before = of_old.variants.iter().find(|one| one.name == variant.name).filter(|_| same)?;
    let (now, before) = (Spread::of(variant)?, Spread::of(before)?);
    let times = now.times(&before, experiment.more_is_better)?;
    Some(Change { before, times, is_beyond_spreads: now.is_apart(&before) })
}

/// What makes two runs hard to compare, in words.
pub(super) fn differences(run: &Run, old: &Run) -> Vec<String> {
    let (now, then) = (&run.machine, &old.machine);
    let pairs = [
        ("processor", now.cpu.clone(), then.cpu.clone()),
        ("cores", now.cores.to_string(), then.cores.to_string()),
        ("kernel", now.kernel.clone(), then.kernel.clone()),
        ("file system", now.file_system.clone(), then.file_system.clone()),
        ("device", now.device.clone(), then.device.clone()),
        ("SQLite", now.sqlite.clone(), then.sqlite.clone()),
        ("sqluice", run.sqluice.clone(), old.sqluice.clone()),
        ("scale", run.scale.clone(), old.scale.clone()),
    ];
    let differing = pairs.into_iter().filter(|(_, now, then)| now != then);
    differing.map(|(what, now, then)| format!("{what}: {now}, before {then}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, Provenance};

    fn times(published: [f64; 2], samples: [&[f64]; 2], more_is_better: bool) -> Vec<(f64, f64)> {
        let variants =
            ["a", "b"].iter().zip(published).zip(samples).map(|((name, published), samples)| Variant {
                name: (*name).to_owned(),
                provenance: Provenance::Published,
                published: Some(published),
                published_note: None,
                settings: Vec::new(),
                command: String::new(),
                outcome: Outcome::Measured {
                    samples: samples.to_vec(),
                    seconds: vec![1.0; samples.len()],
                    also: std::collections::BTreeMap::new(),
                },
            });
        let experiment = Experiment {
            id: String::new(),
            source: String::new(),
            what: String::new(),
            unit: String::new(),
            more_is_better,
            count: 1,
            published_count: None,
            variants: variants.collect(),
            notes: Vec::new(),
        };
        contradictions(&experiment).iter().map(|one| (one.published_times, one.times)).collect()
    }

    #[test]
    fn a_contradiction_is_one_whichever_way_is_better() {
        assert_eq!(times([10.0, 5.0], [&[1.0, 1.1, 0.9], &[4.0, 3.0, 5.0]], true), [(2.0, 4.0)]);
        assert_eq!(times([10.0, 5.0], [&[4.0, 4.0], &[1.0, 1.0]], true), []);
        assert_eq!(times([10.0, 5.0], [&[4.0, 4.0], &[1.0, 1.0]], false), []);
        assert_eq!(times([5.0, 10.0], [&[4.0, 4.0], &[1.0, 1.0]], false), [(2.0, 4.0)]);
    }

    #[test]
    fn figures_that_vary_or_were_measured_once_contradict_nothing() {
        for samples in [&[1.0][..], &[1.0, 3.5, 0.9]] {
            assert_eq!(times([10.0, 5.0], [samples, &[4.0, 3.0, 5.0]], true), []);
        }
    }
}
