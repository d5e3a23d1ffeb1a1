//! Describes numbers, and dates and times, by quantiles. The column and the generated values have about the same number of different
//! values.
//!
//! No quantile is a value of the column: quantiles of integers lie between two integers, quantiles of decimals have an additional digit,
//! and quantiles of times are moved to a round time, and away from values. Each quantile comes from the mean of 20 values, or from a value
//! of 20 rows; in small samples of lengths, or with common values at both ends, also from other values. The first and the last quantile
//! follow from values further inside, so that they don't reveal the smallest and the largest values.
//!
//! ```text
//!  sorted sample ── some of its values, rounded ──> quantiles ── too many different values? ──> pool(n, quantiles)
//! ```

use std::collections::HashSet;

use sqluice_generator::{moment_of_text, moment_text};

/// The number of steps between the first and the last quantile.
const STEPS: usize = 20;

/// The kind of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Int,
    /// Lengths of texts or blobs, which are no values themselves.
    Length,
    /// Reals with this number of decimal places.
    Decimal(i32),
    /// Reals with any number of decimal places.
    Real,
    /// Days or seconds as text.
    Moment {
        is_day: bool,
    },
}

impl Form {
    /// Returns the smallest possible distance between two different values of this form; 0 if there is no smallest one.
    fn unit(self) -> f64 {
        match self {
            Form::Int | Form::Length | Form::Moment { .. } => 1.0,
            Form::Decimal(places) => 10f64.powi(-places),
            Form::Real => 0.0,
        }
    }
}

/// Returns the form of reals: the least number of decimal places, up to six, that represents all of them; [`Form::Real`] if
/// none does.
pub(super) fn form_of_reals(values: &[f64]) -> Form {
    let has = |places: i32| {
        let scale = 10f64.powi(places);
        values.iter().all(|value| value.abs() < 1e12 && (value * scale).round() / scale == *value)
    };
    (0..=6).find(|places| has(*places)).map_or(Form::Real, Form::Decimal)
}

/// The minimum number of values whose quantiles, or whose common factor, reveal nothing about a single value.
pub(super) const ENOUGH: usize = 20;

/// The minimum number of values per quantile of a small sample.
const VALUES_PER_STEP: usize = 4;

/// The number of values at each end of a sample that no quantile is computed from.
const OUTER: usize = 10;

/// The slope of the values at an end of a sample is computed from two means. From the end inwards, the [`OUTER`] values are skipped, the
/// next [`ENOUGH`] values give the first mean, and at most this number of further values give the second mean.
const FAR_MAX: usize = 100;

/// In a sample of at least this number of values, the slope at an end is certain.
const SURE: usize = 5000;

/// The minimum number of values from which the first and the last quantile are computed: the outer values, and two means.
const WITH_ENDS: usize = OUTER + 2 * ENOUGH;

/// Returns the mean of the values around a place in a sorted sample, without the first and the last [`OUTER`] values. If enough rows have
/// the value at the place, returns this value.
fn quantile(sorted: &[f64], place: usize) -> f64 {
    let value = sorted[place];
    if rows_of(sorted, value) >= ENOUGH || sorted.len() < WITH_ENDS {
        return value;
    }
    let begin = place.saturating_sub(ENOUGH / 2).clamp(OUTER, sorted.len() - OUTER - ENOUGH);
    mean(&sorted[begin..begin + ENOUGH])
}

/// Returns the first and the last quantile. An end is the smallest or the largest value if the sample is small or enough rows have this
/// value. Otherwise, a line through the means of two groups of values that are further inside is extended towards this end.
fn ends(sorted: &[f64], form: Form) -> (f64, f64) {
    let (count, all) = (sorted.len(), (sorted[0], sorted[sorted.len() - 1]));
    if count < WITH_ENDS {
        return all;
    }
    // More values make the slope steadier.
    let far_count = (count / 4).clamp(ENOUGH, FAR_MAX);
    let (near, far) = (OUTER + ENOUGH, OUTER + ENOUGH + far_count);
    let end = |value: f64, near: &[f64], far: &[f64]| {
        let apart = (near.len() + far.len()) as f64 / 2.0;
        // The ends for a small sample stay within its values, because its slope is uncertain.
        let to_end = if count < SURE { 12.0 } else { (OUTER + near.len() / 2) as f64 };
        match rows_of(sorted, value) >= ENOUGH {
            true => value,
            false => mean(near) + (mean(near) - mean(far)) / apart * to_end,
        }
    };
    let first = end(all.0, &sorted[OUTER..near], &sorted[near..far]);
    let last = end(all.1, &sorted[count - near..count - OUTER], &sorted[count - far..count - near]);
    // A slope may lead beyond a limit that all values respect, such as 0 or the end of a year in a CHECK. So the ends stay within such
    // limits.
    let (first, last) = match form {
        // Quantiles of lengths stay between the shortest and the longest length. A length reveals no value, and a shorter length, such as
        // 0, may not occur.
        Form::Length => (first.max(all.0), last.min(all.1)),
        Form::Moment { is_day } => {
            (first.max(year(all.0, is_day, 0)), last.min(year(all.1, is_day, 1) - 1.0))
        }
        _ => (
            if all.0 >= 0.0 { first.max(0.0) } else { first },
            if all.1 <= 0.0 { last.min(0.0) } else { last },
        ),
    };
    (first, last.max(first))
}

/// Returns the time at which a year begins: the year of `moment` plus `later` years. Times are in days or in seconds.
fn year(moment: f64, is_day: bool, later: u64) -> f64 {
    let unit = if is_day { 86_400 } else { 1 };
    let text = moment_text(moment.max(0.0) as u64 * unit, true);
    let year: u64 = text[..4].parse().unwrap_or_default();
    let begin = moment_of_text(format!("{:04}-01-01", year + later).as_bytes());
    begin.map_or(moment, |begin| (begin / unit) as f64)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the number of values in a sorted sample that equal `value`.
fn rows_of(sorted: &[f64], value: f64) -> usize {
    sorted.partition_point(|other| *other <= value) - sorted.partition_point(|other| *other < value)
}

/// Returns the expression for numbers, from a sorted sample of a column with `rows` numbers. `different` is the number of different
/// values to generate; `None` for any number.
pub(super) fn numbers(sorted: &[f64], form: Form, rows: u64, different: Option<f64>) -> String {
    if let (Form::Int, Some((step, first))) = (form, step_of(sorted).filter(|_| sorted.len() >= WITH_ENDS)) {
        let scaled: Vec<f64> = sorted.iter().map(|value| (value - first) / step).collect();
        let inner = quantiles(&scaled, form, rows, different);
        let more = if first == 0.0 { String::new() } else { format!(" + {first}") };
        return format!("{inner} * {step}{more}");
    }
    quantiles(sorted, form, rows, different)
}

/// Returns the ends of a range around a few values. The ends have two significant digits, and those of small numbers are multiples of five
/// units. Returns `None` if the ends need not be blurred: there are enough values, enough rows have the values at both ends, or the values
/// are lengths.
pub(super) fn blurred(sorted: &[f64], form: Form) -> Option<Vec<f64>> {
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let is_common = |value: f64| rows_of(sorted, value) >= ENOUGH;
    if sorted.len() >= WITH_ENDS || form == Form::Length || (is_common(first) && is_common(last)) {
        return None;
    }
    let size = first.abs().max(last.abs()).max(form.unit());
    let step = match form {
        // Times are rounded to about a quarter of a year.
        Form::Moment { is_day } => 90.0 * if is_day { 1.0 } else { 86_400.0 },
        Form::Int | Form::Length | Form::Decimal(_) | Form::Real => {
            let step = 10f64.powf(size.log10().floor()) / 10.0;
            if step > form.unit() { step } else { 5.0 * form.unit() }
        }
    };
    let (low, high) = ((first / step).floor() * step, (last / step).ceil() * step);
    Some(vec![low, if low < high { high } else { low + step }])
}

/// Returns the quantiles of a sample that is too small for computed ends: rounded ends, and the mean of the middle. Returns `None` for a
/// sample that is not too small.
fn few_points(sorted: &[f64], form: Form) -> Option<Vec<f64>> {
    let ends = blurred(sorted, form)?;
    let middle = sorted.len().checked_sub(ENOUGH).map(|more| mean(&sorted[more / 2..more / 2 + ENOUGH]));
    let (low, high) = (ends[0], ends[1]);
    let middle = middle.map(|middle| (middle / form.unit().max(1e-6)).round() * form.unit().max(1e-6));
    let mut points: Vec<f64> = std::iter::once(low).chain(middle).chain([high]).collect();
    hide(&mut points, sorted, form, grid(high - low, form.unit()));
    Some(points)
}

/// Returns the common step of all integers, if the step is more than 1, and the remainder that each integer has when it is divided by the
/// step. Returns `None` for few different integers, whose step would reveal a difference of two values.
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
    let few = few_points(sorted, form);
    let is_few = few.is_some();
    let mut points =
        few.unwrap_or_else(|| points(sorted, form, if form == Form::Length { 2 * STEPS } else { STEPS }));
    if !is_few && different.is_some_and(|different| different_of(&points, form, rows) < different * 0.97) {
        points = self::points(sorted, form, 5 * STEPS);
        widen(&mut points, sorted, form, (rows, different.unwrap_or_default()));
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
        if form == Form::Int && different <= sqluice_generator::POOL_INTS_MAX as f64 {
            // Such a pool has exactly `low` values. Other pools have fewer if two values are rounded to the same value.
            low = (different.round() as u64).max(1);
            high = low;
        }
        while low < high {
            let middle = low.midpoint(high);
            if different_of(&points, form, middle) < different { low = middle + 1 } else { high = middle }
        }
        expression = format!("pool({low}, {expression})");
    }
    expression
}

/// Moves the ends of quantiles apart until about `different` values are between them. In a column of few rows, ends that are computed
/// from values further inside are too close together. An end that enough rows have stays, and so does the sign of the values.
fn widen(points: &mut [f64], sorted: &[f64], form: Form, (rows, different): (u64, f64)) {
    let (Form::Int | Form::Decimal(_), [least, .., most]) = (form, sorted) else { return };
    let moves = [*least, *most].map(|end| rows_of(sorted, end) < ENOUGH);
    let ends = moves.iter().filter(|moves| **moves).count() as f64;
    for _ in 0..WIDENINGS_MAX {
        let lack = different - different_of(points, form, rows);
        let ([first, .., last], true) = (&mut *points, lack > 0.02 * different && ends > 0.0) else { return };
        let by = lack * form.unit() / ends;
        if moves[0] {
            *first = if *least >= 0.0 { (*first - by).max(0.0) } else { *first - by };
        }
        if moves[1] {
            *last = if *most <= 0.0 { (*last + by).min(0.0) } else { *last + by };
        }
    }
}

/// The maximum number of times that the ends of quantiles are moved apart.
const WIDENINGS_MAX: usize = 4;

/// Up to this number of generated values, each value is computed to count the different ones. For more values, the count is estimated.
const LOOKED_AT: u64 = 4000;

/// Returns the number of different values among `values` values that are spread evenly over the quantiles.
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
        // Neighbouring intervals share a value.
        let common = if low == last { 1.0 } else { 0.0 };
        let apart = (pair[1] - pair[0]) / unit;
        all += (high - low + 1.0 - common).min(each.min(apart + 1.0 - common).max(1.0 - common));
        last = high;
    }
    all.min(values as f64)
}

/// Returns round numbers near the quantiles of a sample, from the first to the last.
fn points(sorted: &[f64], form: Form, steps: usize) -> Vec<f64> {
    let (first, last) = ends(sorted, form);
    let each = match form {
        _ if sorted.len() >= WITH_ENDS => ENOUGH,
        Form::Length => 1,
        _ => VALUES_PER_STEP,
    };
    let steps = (sorted.len() / each).clamp(1, steps);
    let unit = form.unit();
    let grid = grid(last - first, unit);
    // Small values in a large range keep two digits.
    let grid_at = |value: f64| match form {
        Form::Moment { .. } => grid,
        _ if value == 0.0 => grid,
        _ => 10f64.powf(value.abs().log10().floor() - 1.0).clamp(unit.min(grid), grid),
    };
    let near = |value: f64| (value / grid_at(value)).round() * grid_at(value);
    let mut points: Vec<f64> = (0..=steps)
        .map(|step| near(quantile(sorted, (sorted.len() - 1) * step / steps)))
        .map(|point| point.clamp(first, last))
        .collect();
    // The ends are within the range of the values, as a CHECK may forbid values outside.
    points[0] = (first / grid_at(first)).ceil() * grid_at(first);
    points[steps] = (last / grid_at(last)).floor() * grid_at(last);
    if points[0] > points[steps] {
        let middle = near((first + last) / 2.0);
        (points[0], points[steps]) = (middle, middle);
    }
    let (least, most) = (points[0], points[steps]);
    points.iter_mut().for_each(|point| *point = point.clamp(least, most));
    straighten(&mut points, unit);
    hide(&mut points, sorted, form, grid);
    points
}

/// Removes the inner points if all points are near a straight line that begins and ends half a unit beyond the ends.
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

/// Returns a step of 1, 2 or 5 times a power of ten that is at most 1/150 of a range, and at least a unit.
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

/// Moves the points away from values of the sample.
fn hide(points: &mut [f64], sorted: &[f64], form: Form, grid: f64) {
    let last = points.len() - 1;
    match form {
        Form::Int | Form::Length | Form::Decimal(_) => {
            let unit = form.unit();
            let is_flat = |one: usize, other: usize| points[one] == points[other];
            let ends =
                (if is_flat(0, 1) { 0.2 } else { 0.5 }, if is_flat(last - 1, last) { 0.2 } else { 0.5 });
            // The ends of decimals are rounded, so half a unit would move an end by a whole unit.
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
                // The last point moves down, and the other points move up.
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

/// Returns a number without trailing zeros in its fraction.
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
    fn extreme_values_of_few_rows_do_not_appear_in_the_quantiles() {
        let with =
            |few: &[f64], of: fn(i32) -> f64, rows: i32| sorted((0..rows).map(of).chain(few.iter().copied()));
        let ages = |row: i32| f64::from(20 + row * 7919 % 50);
        for rows in [60, 150, 1000, 30_000] {
            for few in [&[107.0][..], &[107.0; 9], &[104.0, 105.0, 106.0, 107.0, 108.0], &[1e9], &[-1e9]] {
                for form in [Form::Int, Form::Real, Form::Decimal(1), Form::Length] {
                    for steps in [STEPS, 5 * STEPS] {
                        let points = points(&with(few, ages, rows), form, steps);
                        let is_far = |point: &f64| (10.0..80.0).contains(point);
                        assert!(points.iter().all(is_far), "{rows} {few:?} {form:?} {points:?}");
                    }
                }
            }
        }
        // One row has the year 1907, and 999 rows have years from 1950 on.
        let years = with(&[1907.0], |row| f64::from(1950 + row * 7919 % 50), 999);
        let made = numbers(&years, Form::Int, 1000, Some(51.0));
        assert!(!made.contains("190") && !made.contains("191"), "{made}");
        for few in [&[13.0, 2.0, 2.0][..], &[107.0], &[1907.0, 1950.0, 1960.0], &[0.07, 0.52]] {
            let values = sorted(few.iter().copied());
            let form = if few[0] < 1.0 { Form::Decimal(2) } else { Form::Int };
            let made = numbers(&values, form, few.len() as u64, None);
            for end in [values[0], values[values.len() - 1]] {
                let is_near = form == Form::Int && made.contains(&format!("{}.5", end as i64));
                assert!(!is_near && !made.contains(&format!("{end}")), "{made}");
            }
        }
    }

    #[test]
    fn evenly_spread_numbers_have_two_quantiles() {
        let values = sorted((0..10_000).map(f64::from));
        assert_eq!(numbers(&values, Form::Int, 10_000, Some(10_000.0)), "int_quantiles(-0.5, 9950.5)");
        let few = sorted((0..10_000).map(|row| f64::from(row % 100)));
        assert_eq!(numbers(&few, Form::Int, 10_000, Some(100.0)), "int_quantiles(-0.5, 99.5)");
    }

    #[test]
    fn no_step_is_shown_for_a_column_with_two_different_values() {
        let two = sorted((0..40).map(|row| if row % 2 == 0 { 1.0 } else { 1_251_006_314_445.0 }));
        assert!(!numbers(&two, Form::Int, 40, Some(2.0)).contains('*'));
    }

    #[test]
    fn steps_and_decimal_places_of_numbers_are_recognised() {
        let steps = sorted((0..1000).map(|row| f64::from(row % 40 * 25 + 7)));
        assert_eq!(numbers(&steps, Form::Int, 1000, Some(40.0)), "int_quantiles(-0.5, 39.5) * 25 + 7");
        assert_eq!(form_of_reals(&[0.25, 1.5, -3.0]), Form::Decimal(2));
        assert_eq!(form_of_reals(&[1.0 / 3.0]), Form::Real);
    }

    #[test]
    fn numbers_with_few_different_values_are_drawn_from_a_pool() {
        let values = sorted(
            (0..10_000).map(|row| f64::from(row % 50) * f64::from(row % 50) * 1000.0 + f64::from(row % 50)),
        );
        let made = numbers(&values, Form::Int, 10_000, Some(50.0));
        assert!(made.starts_with("pool(5") && made.contains(", int_quantiles("), "{made}");
    }

    #[test]
    fn no_quantile_equals_a_value_of_the_column() {
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
