//! Numbers and moments as quantiles, with as many different values as the column has.
//!
//! No quantile is a value of the column: those of integers lie between two integers, those of decimals have a digit more, and those
//! of moments are moved to a round time, and away from values.
//!
//! ```text
//!  sorted sample ── 21 of its values, rounded ──> quantiles ── too many different values? ──> pool(n, quantiles)
//! ```

use std::collections::HashSet;

use sqluice_generator::moment_text;

/// Steps between the first and the last quantile.
const STEPS: usize = 20;

/// Values per quantile at least: the fewer values, the fewer quantiles.
const VALUES_PER_STEP: usize = 4;

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Int,
    /// Integers that are no values: lengths.
    Length,
    /// Reals with that many decimal places.
    Decimal(i32),
    /// Reals with any.
    Real,
    /// Days or seconds as text.
    Moment {
        is_day: bool,
    },
}

impl Form {
    /// How far two neighbouring values are apart at least.
    fn unit(self) -> f64 {
        match self {
            Form::Int | Form::Length | Form::Moment { .. } => 1.0,
            Form::Decimal(places) => 10f64.powi(-places),
            Form::Real => 0.0,
        }
    }
}

/// The form of some reals: the fewest decimal places, up to six, that spell all of them.
pub(super) fn form_of_reals(values: &[f64]) -> Form {
    let has = |places: i32| {
        let scale = 10f64.powi(places);
        values.iter().all(|value| value.abs() < 1e12 && (value * scale).round() / scale == *value)
    };
    (0..=6).find(|places| has(*places)).map_or(Form::Real, Form::Decimal)
}

/// How many values there must be for their quantiles, or for what they are multiples of, to say nothing of one of them.
pub(super) const ENOUGH: usize = 20;

/// The expression for numbers: a sample of them, sorted, of a column with `rows` of them; `different`: how many of
/// those differ, if that matters.
pub(super) fn numbers(sorted: &[f64], form: Form, rows: u64, different: Option<f64>) -> String {
    if let Some(blurred) = blurred(sorted, form) {
        return quantiles(&blurred, form, rows, different);
    }
    if let (Form::Int, Some((step, first))) = (form, step_of(sorted)) {
        let scaled: Vec<f64> = sorted.iter().map(|value| (value - first) / step).collect();
        let inner = quantiles(&scaled, form, rows, different);
        let more = if first == 0.0 { String::new() } else { format!(" + {first}") };
        return format!("{inner} * {step}{more}");
    }
    quantiles(sorted, form, rows, different)
}

/// The ends of a range that has a few values somewhere within it: two digits are left of them.
pub(super) fn blurred(sorted: &[f64], form: Form) -> Option<Vec<f64>> {
    if sorted.len() >= ENOUGH || form == Form::Length {
        return None;
    }
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let size = first.abs().max(last.abs()).max(form.unit());
    let step = match form {
        // A season.
        Form::Moment { is_day } => 90.0 * if is_day { 1.0 } else { 86_400.0 },
        Form::Int | Form::Length | Form::Decimal(_) | Form::Real => {
            (10f64.powf(size.log10().floor()) / 10.0).max(form.unit())
        }
    };
    let (low, high) = ((first / step).floor() * step, (last / step).ceil() * step);
    // Of small numbers, all have two digits.
    (step > form.unit()).then(|| vec![low, if low < high { high } else { low + step }])
}

/// How far all integers are apart, and the least that is not negative, if that is more than one. Of few different ones it would be the
/// difference of two.
fn step_of(sorted: &[f64]) -> Option<(f64, f64)> {
    if sorted.chunk_by(|one, other| one == other).count() < ENOUGH {
        return None;
    }
    let mut step = 0_u64;
    for pair in sorted.windows(2) {
        let (mut one, mut other) = (step, (pair[1] - pair[0]) as u64);
        while other != 0 {
            (one, other) = (other, one % other);
        }
        step = one;
        if step == 1 {
            return None;
        }
    }
    let first = sorted.first()?;
    let large = sorted.iter().any(|value| value.abs() > 9e15);
    (step > 1 && !large).then(|| (step as f64, first.rem_euclid(step as f64)))
}

fn quantiles(sorted: &[f64], form: Form, rows: u64, different: Option<f64>) -> String {
    let mut points = points(sorted, form, if form == Form::Length { 2 * STEPS } else { STEPS });
    if different.is_some_and(|different| different_of(&points, form, rows) < different * 0.97) {
        points = self::points(sorted, form, 5 * STEPS);
    }
    let shown: Vec<String> = points.iter().map(|point| show(*point, form)).collect();
    let mut expression = match form {
        Form::Int | Form::Length => format!("int_quantiles({})", shown.join(", ")),
        Form::Decimal(places) => format!("round(quantiles({}), {places})", shown.join(", ")),
        Form::Real | Form::Moment { .. } => format!("quantiles({})", shown.join(", ")),
    };
    if let Some(different) =
        different.filter(|different| different_of(&points, form, rows) > different * 1.02)
    {
        let (mut low, mut high) = (1_u64, rows.max(1));
        while low < high {
            let middle = low.midpoint(high);
            if different_of(&points, form, middle) < different { low = middle + 1 } else { high = middle }
        }
        expression = format!("pool({low}, {expression})");
    }
    expression
}

/// Up to this number of values, each is looked at.
const LOOKED_AT: u64 = 4000;

/// How many different values as many values have that are evenly spread over the quantiles.
fn different_of(points: &[f64], form: Form, values: u64) -> f64 {
    let unit = form.unit();
    if unit == 0.0 {
        return values as f64;
    }
    if values <= LOOKED_AT {
        let at = |value: u64| {
            let place = (value as f64 + 0.5) / values as f64 * (points.len() - 1) as f64;
            let (index, rest) = (place as usize, place.fract());
            (
                (points[index] * (1.0 - rest) + points[index + 1] * rest) / unit
                    + if form == Form::Int { 0.5 } else { 0.0 },
                form,
            )
        };
        let rounded =
            |(value, form): (f64, Form)| if form == Form::Int { value.floor() } else { value.round() };
        let mut seen = f64::NAN;
        let changes = (0..values).filter(|value| {
            let now = rounded(at(*value));
            let changed = now != seen;
            seen = now;
            changed
        });
        return changes.count() as f64;
    }
    let each = values as f64 / (points.len() - 1) as f64;
    let mut all = 0.0;
    let mut last = f64::NEG_INFINITY;
    for pair in points.windows(2) {
        let (low, high) = ((pair[0] / unit).round(), (pair[1] / unit).round());
        // Neighbours have a value in common.
        let common = if low == last { 1.0 } else { 0.0 };
        let apart = (pair[1] - pair[0]) / unit;
        all += (high - low + 1.0 - common).min(each.min(apart + 1.0 - common).max(1.0 - common));
        last = high;
    }
    all.min(values as f64)
}

/// Round numbers near the quantiles of a sample, from the first to the last, none beyond the sample's ends by a whole unit.
fn points(sorted: &[f64], form: Form, steps: usize) -> Vec<f64> {
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let each = if form == Form::Length { 1 } else { VALUES_PER_STEP };
    let steps = (sorted.len() / each).clamp(1, steps);
    let unit = form.unit();
    let grid = grid(last - first, unit);
    // Of small values in a large range, two digits.
    let grid_at = |value: f64| match form {
        Form::Moment { .. } => grid,
        _ if value == 0.0 => grid,
        _ => 10f64.powf(value.abs().log10().floor() - 1.0).clamp(unit.min(grid), grid),
    };
    let near = |value: f64| (value / grid_at(value)).round() * grid_at(value);
    let mut points: Vec<f64> = (0..=steps)
        .map(|step| near(sorted[(sorted.len() - 1) * step / steps]))
        .map(|point| point.clamp(first, last))
        .collect();
    // Not outside of the values, where a CHECK may forbid it.
    points[0] = (first / grid_at(first)).ceil() * grid_at(first);
    points[steps] = (last / grid_at(last)).floor() * grid_at(last);
    if points[0] > points[steps] {
        (points[0], points[steps]) = (first, last);
    }
    let (least, most) = (points[0], points[steps]);
    points.iter_mut().for_each(|point| *point = point.clamp(least, most));
    straighten(&mut points, unit);
    hide(&mut points, sorted, form, grid);
    points
}

/// Leaves the ends alone where all points lie on a line, which begins and ends half a unit beyond them.
fn straighten(points: &mut Vec<f64>, unit: f64) {
    let (first, last, steps) =
        (points[0] - unit / 2.0, points[points.len() - 1] + unit / 2.0, points.len() - 1);
    let tolerated = (0.006 * (last - first)).max(0.55 * unit);
    let is_near =
        |step: usize| (first + (last - first) * step as f64 / steps as f64 - points[step]).abs() <= tolerated;
    if last > first && (1..steps).all(is_near) {
        *points = vec![points[0], points[steps]];
    }
}

/// A step of 1, 2 or 5 times a power of ten that is at most 1/150 of a range, and at least a unit.
fn grid(range: f64, unit: f64) -> f64 {
    let finest = (range / 150.0).max(unit);
    if finest <= 0.0 || !finest.is_finite() {
        return 1e-3;
    }
    let power = 10f64.powi(finest.log10().floor() as i32);
    let step = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step <= finest * 1.0001)
        .unwrap_or(power);
    if step < unit { unit } else { step }
}

/// Moves the points off the values.
fn hide(points: &mut [f64], sorted: &[f64], form: Form, grid: f64) {
    let last = points.len() - 1;
    match form {
        Form::Int | Form::Length | Form::Decimal(_) => {
            let unit = form.unit();
            let is_flat = |one: usize, other: usize| points[one] == points[other];
            let ends =
                (if is_flat(0, 1) { 0.2 } else { 0.5 }, if is_flat(last - 1, last) { 0.2 } else { 0.5 });
            // The ends of a decimal are rounded: half a unit would be one too far.
            let half = |end: f64| if let Form::Decimal(_) = form { end.min(0.4) } else { end };
            points.iter_mut().for_each(|point| *point += 0.2 * unit);
            points[0] -= (0.2 + half(ends.0)) * unit;
            points[last] += (half(ends.1) - 0.2) * unit;
        }
        Form::Real | Form::Moment { .. } => {
            let bits: HashSet<u64> = sorted.iter().map(|value| value.to_bits()).collect();
            for (index, point) in points.iter_mut().enumerate() {
                let step = if form == Form::Real {
                    (grid * 0.037).min(point.abs() * 0.0037).max(f64::MIN_POSITIVE)
                } else {
                    1.0
                };
                // Inwards at both ends.
                let step = if index == last { -step } else { step };
                let free = (0..20)
                    .map(|tries| *point + f64::from(tries) * step)
                    .find(|moved| !bits.contains(&moved.to_bits()));
                *point = free.unwrap_or(*point);
            }
        }
    }
    points.sort_unstable_by(f64::total_cmp);
}

fn show(point: f64, form: Form) -> String {
    match form {
        Form::Moment { is_day } => {
            let seconds = point.round().max(0.0) as u64 * if is_day { 86_400 } else { 1 };
            format!("'{}'", moment_text(seconds, is_day))
        }
        Form::Int | Form::Length => trimmed(format!("{point:.1}")),
        Form::Decimal(places) => trimmed(format!("{point:.*}", places as usize + 1)),
        Form::Real if point != 0.0 && !(1e-4..1e15).contains(&point.abs()) => format!("{point:.4e}"),
        Form::Real => trimmed(format!("{point:.8}")),
    }
}

/// A number without zeros at the end of its fraction.
fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    #[test]
    fn an_even_spread_has_two_quantiles() {
        let values = sorted((0..10_000).map(f64::from));
        assert_eq!(numbers(&values, Form::Int, 10_000, Some(10_000.0)), "int_quantiles(-0.5, 9950.5)");
        let few = sorted((0..10_000).map(|row| f64::from(row % 100)));
        assert_eq!(numbers(&few, Form::Int, 10_000, Some(100.0)), "int_quantiles(-0.5, 99.5)");
    }

    #[test]
    fn the_step_of_few_different_values_is_not_shown() {
        let two = sorted((0..40).map(|row| if row % 2 == 0 { 1.0 } else { 1_251_006_314_445.0 }));
        assert!(!numbers(&two, Form::Int, 40, Some(2.0)).contains('*'));
    }

    #[test]
    fn steps_and_places_are_seen() {
        let steps = sorted((0..1000).map(|row| f64::from(row % 40 * 25 + 7)));
        assert_eq!(numbers(&steps, Form::Int, 1000, Some(40.0)), "int_quantiles(-0.5, 39.5) * 25 + 7");
        assert_eq!(form_of_reals(&[0.25, 1.5, -3.0]), Form::Decimal(2));
        assert_eq!(form_of_reals(&[1.0 / 3.0]), Form::Real);
    }

    #[test]
    fn few_different_values_are_a_pool() {
        let values = sorted(
            (0..10_000).map(|row| f64::from(row % 50) * f64::from(row % 50) * 1000.0 + f64::from(row % 50)),
        );
        let made = numbers(&values, Form::Int, 10_000, Some(50.0));
        assert!(made.starts_with("pool(5") && made.contains(", int_quantiles("), "{made}");
    }

    #[test]
    fn no_quantile_is_a_value() {
        for values in [
            sorted((0..777).map(|row| f64::from(row * row % 1009))),
            sorted((0..50).map(|row| f64::from(row) * 1e7 + 3.0)),
            vec![5.0; 40],
        ] {
            for point in points(&values, Form::Int, STEPS) {
                assert!(!values.contains(&point) && point.fract() != 0.0, "{point} of {values:?}");
            }
        }
        let prices = sorted((0..500).map(|row| f64::from(row * 37 % 1000) / 100.0));
        assert!(points(&prices, Form::Decimal(2), STEPS).iter().all(|point| !prices.contains(point)));
    }
}
