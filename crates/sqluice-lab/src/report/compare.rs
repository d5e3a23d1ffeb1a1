//! Compares a run with the published figures (`data/published.toml`), and with another run.
//!
//! * A publication has only one figure for each variant. A run contradicts the publication if it says that a variant A is at least 5 %
//!   better than a variant B, and in the run every sample of B is better than every sample of A.
//! * Two runs are compared by variant if both measured the same number of rows in the same unit. A difference is a change if every
//!   sample of one run is beyond every sample of the other.

use crate::record::{Experiment, Run, Variant};

use crate::figures::Spread;

/// The ratio from which two published figures count as different: in one publication, two runs with the same setting differ by this factor.
const PUBLISHED_TIMES_MIN: f64 = 1.05;

/// Two variants, of which the run finds one better, and the publication the other.
#[derive(Clone, Copy, Debug)]
pub struct Contradiction<'a> {
    /// The variant that is better here, and was published as worse.
    pub better: (&'a Variant, Spread),
    /// The variant that is worse here, and was published as better.
    pub worse: (&'a Variant, Spread),
    /// The published advantage of `worse`, as a factor.
    pub published_times: f64,
    /// The measured advantage of `better`, as a factor.
    pub times: f64,
}

/// The change of a variant since another run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The spread of the other run.
    pub before: Spread,
    /// The factor of the change: above 1 if the variant is better now.
    pub times: f64,
    /// `true` if the change is beyond the spreads of both runs.
    pub is_beyond_spreads: bool,
}

/// Returns the published figure of a variant; `None` if the publication has no figure (NaN).
pub(super) fn published(variant: &Variant) -> Option<f64> {
    variant.published.filter(|value| value.is_finite())
}

/// Returns the measured median divided by the published figure; `None` if one is missing.
pub fn times_published(variant: &Variant) -> Option<f64> {
    let times = Spread::of(variant)?.median / published(variant)?;
    (times.is_finite() && times > 0.0).then_some(times)
}

/// Returns the contradictions between this run and the publication, the clearest first.
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

/// Returns the change of a variant since the old run; `None` if the runs can't be compared.
pub fn change(experiment: &Experiment, variant: &Variant, old: &Run) -> Option<Change> {
    let of_old = old.experiments.iter().find(|one| one.id == experiment.id)?;
    let same = of_old.unit == experiment.unit && of_old.count == experiment.count;
    let before = of_old.variants.iter().find(|one| one.name == variant.name).filter(|_| same)?;
    let (now, before) = (Spread::of(variant)?, Spread::of(before)?);
    let times = now.times(&before, experiment.more_is_better)?;
    Some(Change { before, times, is_beyond_spreads: now.is_apart(&before) })
}

/// Returns the differences between two runs that make them hard to compare, in words.
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
    fn measured_orders_that_contradict_published_ones_are_found_whether_more_or_less_is_better() {
        assert_eq!(times([10.0, 5.0], [&[1.0, 1.1, 0.9], &[4.0, 3.0, 5.0]], true), [(2.0, 4.0)]);
        assert_eq!(times([10.0, 5.0], [&[4.0, 4.0], &[1.0, 1.0]], true), []);
        assert_eq!(times([10.0, 5.0], [&[4.0, 4.0], &[1.0, 1.0]], false), []);
        assert_eq!(times([5.0, 10.0], [&[4.0, 4.0], &[1.0, 1.0]], false), [(2.0, 4.0)]);
    }

    #[test]
    fn overlapping_or_single_samples_contradict_no_published_order() {
        for samples in [&[1.0][..], &[1.0, 3.5, 0.9]] {
            assert_eq!(times([10.0, 5.0], [samples, &[4.0, 3.0, 5.0]], true), []);
        }
    }
}
