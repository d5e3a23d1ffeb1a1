//! Sizes as people read them.

use std::fmt;

/// Bytes, shown in the unit that suits them: `{}` has three digits after the point, `{:.1}` as many as it says.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
