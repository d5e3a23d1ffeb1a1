//! Quantities in text: three significant digits, and a unit.
//!
//! ```text
//!  8757000 rows/s ──> 8.76 M rows/s     1024512000 bytes ──> 1.02 GB     0.0342 s ──> 34.2 ms     1.95 times ──> 1.95×
//! ```
//!
//! A no-break space separates the number and its unit.

pub(crate) use sqluice::size::grouped;

/// The no-break space.
const SPACE: char = '\u{a0}';

/// A factor and its SI prefix: 1e6 and `M`.
type Step = (f64, &'static str);

const THOUSANDS: &[Step] = &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
const BYTES: &[Step] = &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")];
const SECONDS: &[Step] = &[(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")];
const LONG: &[Step] = &[(60.0, "min"), (3600.0, "h"), (86400.0, "d")];

/// Formats a value with its unit, one of those in [`crate::record::Experiment::unit`] (`rows/s`, `s`, `ms`, `bytes`, `times`, ...).
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        "s" | "ms" | "bytes" | "times" => without_unit(value, unit),
        _ => format!("{}{SPACE}{unit}", without_unit(value, unit)),
    }
}

/// Formats a value for a table whose head names the unit: a rate is written without its unit.
pub(crate) fn without_unit(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "–".to_owned() } else { "∞".to_owned() };
    }
    match unit {
        "bytes" => scaled(value, BYTES),
        "s" => time(value),
        "ms" => time(value / 1e3),
        "times" if (999.5..1e6).contains(&value) => format!("{}×", grouped(value.round() as u64)),
        "times" => format!("{}×", digits(value)),
        _ => scaled(value, THOUSANDS),
    }
}

/// Formats the label of an axis without trailing zeros: `2.5 M` rather than `2.50 M`.
pub(crate) fn mark(value: f64, unit: &str) -> String {
    let text = without_unit(value, unit);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (number, letters) = text.split_at(end);
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{letters}")
}

/// Returns the name of a unit for the heading of a table or a chart.
pub(crate) fn unit_in_words(unit: &str) -> &str {
    match unit {
        "s" | "ms" => "time",
        "times" => "times (a ratio)",
        other => other,
    }
}

/// Formats a ratio: `1.31×`, `12×`, `0.042×`.
pub(crate) fn ratio(times: f64) -> String {
    without_unit(times, "times")
}

/// Formats a ratio as a comparison, to be followed by a name: `2.93× as fast as`, `3.40× slower than`.
pub(crate) fn compared(times: f64) -> String {
    if times < 1.0 {
        format!("{} slower than", ratio(1.0 / times))
    } else {
        format!("{} as fast as", ratio(times))
    }
}

/// Formats a ratio or its inverse, whichever is above 1, for use beside `better` or `worse`.
pub(crate) fn either_way(times: f64) -> String {
    ratio(if times < 1.0 { 1.0 / times } else { times })
}

fn time(seconds: f64) -> String {
    if seconds.abs() < 120.0 { scaled(seconds, SECONDS) } else { scaled(seconds, LONG) }
}

/// Formats three significant digits with the largest prefix that does not exceed the value.
fn scaled(value: f64, steps: &[Step]) -> String {
    let smallest = steps.first().copied().unwrap_or((1.0, ""));
    if value == 0.0 {
        return "0".to_owned();
    }
    // 999.6 k would be printed as 1000 k, so the rounded value decides.
    let fits = |step: &&Step| (value.abs() / step.0) >= 0.9995;
    let (factor, letters) = steps.iter().rev().find(fits).copied().unwrap_or(smallest);
    let number = digits(value / factor);
    if letters.is_empty() { number } else { format!("{number}{SPACE}{letters}") }
}

/// Formats three significant digits.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e6.. => format!("{value:.2e}"),
        99.95.. => format!("{value:.0}"),
        9.995.. => format!("{value:.1}"),
        0.9995.. => format!("{value:.2}"),
        0.09995.. => format!("{value:.3}"),
        1e-4.. => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(value: f64, unit: &str) -> String {
        figure(value, unit).replace(SPACE, " ")
    }

    #[test]
    fn a_ratio_below_one_is_called_slower() {
        assert_eq!(compared(2.93), "2.93× as fast as");
        assert_eq!(compared(0.29), "3.45× slower than");
        assert_eq!(either_way(0.5), "2.00×");
    }

    #[test]
    fn figures_have_three_significant_digits_and_a_unit() {
        let pairs = [
            (8_757_000.0, "rows/s", "8.76 M rows/s"),
            (999_600.0, "rows/s", "1.00 M rows/s"),
            (429.0, "rows/s", "429 rows/s"),
            (0.0, "rows/s", "0 rows/s"),
            (1_024_512_000.0, "bytes", "1.02 GB"),
            (512.0, "bytes", "512 B"),
            (34.3, "s", "34.3 s"),
            (0.0342, "s", "34.2 ms"),
            (600.0, "s", "10.0 min"),
            (7200.0, "s", "2.00 h"),
            (5128.63, "ms", "5.13 s"),
            (2.47, "ms", "2.47 ms"),
            (1.95, "times", "1.95×"),
            (0.042, "times", "0.0420×"),
            (24_574.52, "operations/s", "24.6 k operations/s"),
            (f64::NAN, "rows/s", "– rows/s"),
            (f64::INFINITY, "s", "∞"),
        ];
        for (value, unit, expected) in pairs {
            assert_eq!(plain(value, unit), expected, "{value} {unit}");
        }
    }

    #[test]
    fn labels_of_an_axis_have_no_trailing_zeros() {
        let plain = |value, unit| mark(value, unit).replace(SPACE, " ");
        assert_eq!(plain(2_500_000.0, "rows/s"), "2.5 M");
        assert_eq!(plain(100.0, "rows/s"), "100");
        assert_eq!(plain(20.0, "s"), "20 s");
        assert_eq!(plain(0.5, "times"), "0.5×");
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(512))]

        #[test]
        fn a_printed_figure_differs_from_the_value_by_at_most_half_a_percent(value in 1e-3f64..1e15) {
            let text = without_unit(value, "rows/s");
            let mut parts = text.split(SPACE);
            let number: f64 = parts.next().unwrap().parse().unwrap();
            let letters = parts.next().unwrap_or("");
            let factor = THOUSANDS.iter().find(|(_, name)| *name == letters).unwrap().0;
            prop_assert!((number * factor / value - 1.0).abs() < 0.0051, "{value} is printed as {text}");
        }
    }
}
