//! Parsers of numbers as people type them: counts `1_000_000`, `1e9`, `10M`, `1B`; sizes `512MiB`, `64k`, `1GB`; durations `5`, `500ms`,
//! `2min`.

use std::time::Duration;

/// Parses a count of rows: digits with `_`, an exponent, or one of k, M, B, G, T (powers of a thousand).
pub fn count(text: &str) -> Result<u64, String> {
    let scales = [("k", 1e3), ("m", 1e6), ("b", 1e9), ("g", 1e9), ("t", 1e12)];
    scaled(text, &scales)
        .ok_or_else(|| format!("{text:?} is not a count such as 1000, 1_000, 1e6, 10M or 1B"))
}

/// Parses a size in bytes: a count, with KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB (powers of 1000). A bare K, M, G or T means
/// the power of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let kib = 1024.0_f64;
    let scales = [
        ("kib", kib),
        ("mib", kib.powi(2)),
        ("gib", kib.powi(3)),
        ("tib", kib.powi(4)),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("tb", 1e12),
        ("k", kib),
        ("m", kib.powi(2)),
        ("g", kib.powi(3)),
        ("t", kib.powi(4)),
        ("b", 1.0),
    ];
    scaled(text, &scales).ok_or_else(|| format!("{text:?} is not a size such as 65536, 512MiB or 2GB"))
}

/// The longest duration in seconds: SQLite's busy timeout is a number of milliseconds in 31 bits.
const SECONDS_MAX: f64 = 2_000_000.0;

/// Parses a duration: seconds, or a number with one of ms, s, min (or m), h.
pub fn duration(text: &str) -> Result<Duration, String> {
    let lower = text.trim().to_ascii_lowercase();
    let units = [("ms", 1e-3), ("min", 60.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let unit =
        units.iter().find_map(|(unit, seconds)| Some((lower.strip_suffix(unit)?.trim_end(), *seconds)));
    let (digits, factor) = unit.unwrap_or((&lower, 1.0));
    let seconds = Some(digits).filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
    let seconds = seconds.and_then(|digits| digits.parse::<f64>().ok()).map(|number| number * factor);
    seconds
        .filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("{text:?} is not a duration such as 5, 0.5, 500ms or 2min"))
}

/// Parses a number that may end in a suffix of `scales`, which multiplies it by the suffix's factor. Returns `None` if the result is not a
/// whole number, or is too large: digits alone must give a `u64`, and a number with a point or an exponent must stay below 9e15, up to
/// which a float is exact.
fn scaled(text: &str, scales: &[(&str, f64)]) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase().replace('_', "");
    let suffix = scales.iter().find(|(suffix, _)| lower.ends_with(suffix));
    let (digits, factor) = match suffix {
        Some((suffix, factor)) => (lower[..lower.len() - suffix.len()].trim_end(), *factor),
        None => (lower.as_str(), 1.0),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor as u64);
    }
    let value = digits.parse::<f64>().ok()? * factor;
    // Only a number with a point or an exponent, or with too many digits for a `u64`, gets here. From 2^53 (about 9e15) on, a float no
    // longer distinguishes neighbouring whole numbers, so larger numbers are refused.
    (value.fract() == 0.0 && (0.0..9e15).contains(&value)).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_may_have_underscores_an_exponent_or_a_suffix() {
        let pairs = [
            ("0", 0),
            ("1_000_000", 1_000_000),
            ("1e9", 1_000_000_000),
            ("1.5e3", 1500),
            ("10M", 10_000_000),
            ("1B", 1_000_000_000),
            ("2.5k", 2500),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, expected) in pairs {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in
            ["", "M", "-1", "1.5", "1e-3", "1x", "inf", "nan", "1e30", "20000000000000000000", "99999999T0"]
        {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(count("99999999999T").is_err());
    }

    #[test]
    fn durations_without_a_unit_are_seconds() {
        for (text, millis) in [
            ("5", 5000),
            ("0.5", 500),
            ("500ms", 500),
            ("2 s", 2000),
            ("2min", 120_000),
            ("1h", 3_600_000),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1d", "inf", "nan", "1e300", "5 6"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_powers_of_1000_and_of_1024() {
        let pairs = [
            ("65536", 65536),
            ("512MiB", 512 << 20),
            ("512 MiB", 512 << 20),
            ("2GB", 2_000_000_000),
            ("64k", 65536),
            ("1G", 1 << 30),
            ("7b", 7),
        ];
        for (text, expected) in pairs {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "MiB", "1.5b", "-1k", "1e400"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
