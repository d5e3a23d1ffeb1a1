//! Sizes and numbers in the form that people read: `19.849 GB`, `1.5 MiB`, `1,000,000`.

use std::fmt;

/// A number of bytes, shown in a suitable unit: `{}` has three digits after the point, `{:.1}` one; a number of single bytes has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < units.len() {
            value /= 1000.0;
            unit += 1;
        }
        let digits = if unit == 0 { 0 } else { f.precision().unwrap_or(3) };
        write!(f, "{value:.digits$} {}", units[unit])
    }
}

/// A number of bytes of memory. `{}` shows MiB, with one digit after the point unless it is zero; below 0.1 MiB it shows bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mebibytes(pub u64);

impl Mebibytes {
    /// Returns the least number of whole mebibytes that hold the given number of bytes.
    pub fn at_least(bytes: u64) -> Mebibytes {
        Mebibytes(bytes.div_ceil(1 << 20) << 20)
    }
}

impl fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (u128::from(self.0) * 10) >> 20;
        match (tenths / 10, tenths % 10) {
            (0, 0) if self.0 > 0 => write!(f, "{} bytes", self.0),
            (whole, 0) => write!(f, "{whole} MiB"),
            (whole, tenth) => write!(f, "{whole}.{tenth} MiB"),
        }
    }
}

/// Formats a whole number with commas between thousands: `1,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn sizes_have_a_unit() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1.000 kB"),
            (19_848_785_920, "19.849 GB"),
            (u64::MAX, "18.447 EB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn sizes_have_as_many_digits_as_are_asked_for() {
        assert_eq!(format!("{:.1}", Bytes(19_848_785_920)), "19.8 GB");
        assert_eq!(format!("{:.0}", Bytes(999_600)), "1 MB");
        assert_eq!(format!("{:.1}", Bytes(7)), "7 bytes");
    }

    #[test]
    fn memory_is_shown_in_mebibytes_with_at_most_one_digit_after_the_point() {
        for (bytes, text) in [
            (0, "0 MiB"),
            (1000, "1000 bytes"),
            (1 << 20, "1 MiB"),
            (16_777_216, "16 MiB"),
            (3 << 19, "1.5 MiB"),
            (16_000_000, "15.2 MiB"),
            (u64::MAX, "17592186044415.9 MiB"),
        ] {
            assert_eq!(Mebibytes(bytes).to_string(), text);
        }
        assert_eq!(Mebibytes::at_least((16 << 20) + 1).to_string(), "17 MiB");
    }
}
