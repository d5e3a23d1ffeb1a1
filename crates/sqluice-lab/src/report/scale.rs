//! The scale of a chart, which maps a figure to a place from 0 to 100 % of the width.
//!
//! ```text
//!  linear   0 ────── 2 M ────── 4 M ────── 6 M ───── 7.5 M     from 0, so that lengths can be compared
//!  log    1 k ── 10 k ── 100 k ── 1 M ── 10 M ─── 30 M         if the longest bar is more than 50 times the shortest
//! ```
//!
//! The largest figure (in the drawing, 7.5 M or 30 M) is at 100 %, where the axis has no mark.

/// The ratio of figures above which the scale is logarithmic.
const LINEAR_TIMES_MAX: f64 = 50.0;

/// The maximum number of marks on an axis, for which a phone has room.
const MARKS_MAX: usize = 5;

/// The scale of a chart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// `true` if the scale is logarithmic.
    pub(super) log: bool,
    /// The values of the marks, from left to right.
    pub(super) marks: Vec<f64>,
    from: f64,
    to: f64,
}

impl Scale {
    /// Creates a scale for the measured figures `bars` and other figures in the chart; `None` if no bar is positive.
    pub(super) fn new(bars: &[f64], others: &[f64]) -> Option<Scale> {
        let positive = |value: &&f64| value.is_finite() && **value > 0.0;
        let min = bars.iter().filter(positive).copied().reduce(f64::min)?;
        let longest = bars.iter().filter(positive).copied().reduce(f64::max)?;
        let all = bars.iter().chain(others).filter(positive).copied();
        let max = all.reduce(f64::max)?;
        if longest / min > LINEAR_TIMES_MAX { Some(Scale::log(min, max)) } else { Scale::linear(max) }
    }

    fn linear(max: f64) -> Option<Scale> {
        let power = 10f64.powf((max / MARKS_MAX as f64).log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|times| times * power);
        let step = steps.into_iter().find(|step| step.is_normal() && max / step < MARKS_MAX as f64)?;
        let marks = (0..=MARKS_MAX).map(|number| number as f64 * step).filter(|mark| *mark <= max).collect();
        Some(Scale { log: false, marks, from: 0.0, to: max })
    }

    /// Creates a logarithmic scale that starts below the shortest bar, which would otherwise have no length.
    fn log(min: f64, max: f64) -> Scale {
        let (first, last) = ((min * 0.7).log10().floor(), max.log10().floor());
        let decades = (last - first).max(0.0) as usize;
        let every = decades / MARKS_MAX + 1;
        let marks = (0..=decades).step_by(every).map(|decade| 10f64.powf(first + decade as f64));
        Scale { log: true, marks: marks.collect(), from: 10f64.powf(first), to: max }
    }

    /// Returns the place of a figure in percent of the width, clamped to the ends.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match (self.log, value > 0.0) {
            (false, _) => value / self.to,
            (true, true) => (value.ln() - self.from.ln()) / (self.to.ln() - self.from.ln()),
            (true, false) => 0.0,
        };
        if share.is_finite() { (share * 100.0).clamp(0.0, 100.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(512))]

        #[test]
        fn a_larger_figure_has_a_longer_bar(bars in prop::collection::vec(1e-12f64..1e15, 1..30)) {
            let scale = Scale::new(&bars, &[]).unwrap();
            let mut sorted = bars.clone();
            sorted.sort_by(f64::total_cmp);
            let places: Vec<f64> = sorted.iter().map(|bar| scale.place(*bar)).collect();
            prop_assert!(places.is_sorted() && places.iter().all(|place| *place > 0.0 && *place <= 100.0), "{places:?}");
            prop_assert!(scale.place(*sorted.last().unwrap()) > 99.9);
        }

        #[test]
        fn the_labels_of_an_axis_are_few_sorted_and_within_the_chart(bars in prop::collection::vec(1e-12f64..1e15, 1..30)) {
            let scale = Scale::new(&bars, &[]).unwrap();
            prop_assert!((1..=MARKS_MAX + 1).contains(&scale.marks.len()), "{:?}", scale.marks);
            let places: Vec<f64> = scale.marks.iter().map(|mark| scale.place(*mark)).collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        }
    }

    #[test]
    fn figures_that_differ_more_than_fifty_times_get_a_logarithmic_scale() {
        assert!(!Scale::new(&[1.0, 50.0], &[]).unwrap().log);
        assert!(Scale::new(&[1.0, 50.1], &[]).unwrap().log);
    }

    #[test]
    fn without_a_positive_figure_there_is_no_scale() {
        assert_eq!(Scale::new(&[], &[]), None);
        assert_eq!(Scale::new(&[f64::NAN, 0.0, -1.0, f64::INFINITY], &[]), None);
        let scale = Scale::new(&[2.0, f64::NAN], &[f64::NAN]).unwrap();
        assert!(
            [f64::NAN, f64::INFINITY, -5.0, 0.0].iter().all(|odd| (0.0..=100.0).contains(&scale.place(*odd)))
        );
    }
}
