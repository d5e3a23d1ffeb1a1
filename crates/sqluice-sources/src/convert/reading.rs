//! Notations of numbers that text may have, and the settings that read them.

use std::sync::LazyLock;

use sqluice_core::error::{Setting, SettingValue};

use super::number::Marks;

/// The largest number of bytes of a number that is recognised.
const BYTES_MAX: usize = 40;

/// A notation of numbers that settings read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// `1,234.50`
    CommaThousands,
    /// `3,14`
    DecimalComma,
    /// `1.234,50`
    PointThousands,
    /// `1'234.50`
    Apostrophes,
    /// `1 234.50`
    Blanks,
}

/// The marks of each notation, in the order of [`Reading::ALL`].
static MARKS: LazyLock<[Option<Marks>; Reading::ALL.len()]> = LazyLock::new(|| {
    Reading::ALL.map(|reading| {
        let thousands = reading.thousands().and_then(|separator| Marks::thousands(separator, false).ok());
        match (thousands, reading.has_decimal_comma()) {
            (None, true) => Some(Marks::decimal_comma(false)),
            (Some(mut marks), true) => {
                marks.merge(&Marks::decimal_comma(false));
                Some(marks)
            }
            (marks, false) => marks,
        }
    })
});

impl Reading {
    /// All notations. If several read the same values, the first one is meant.
    pub const ALL: [Reading; 5] = [
        Reading::CommaThousands,
        Reading::DecimalComma,
        Reading::PointThousands,
        Reading::Apostrophes,
        Reading::Blanks,
    ];

    const fn thousands(self) -> Option<&'static str> {
        match self {
            Reading::CommaThousands => Some(","),
            Reading::DecimalComma => None,
            Reading::PointThousands => Some("."),
            Reading::Apostrophes => Some("'"),
            Reading::Blanks => Some(" "),
        }
    }

    /// Returns `true` if the decimals follow a comma, so that a point before decimals is refused.
    pub const fn has_decimal_comma(self) -> bool {
        matches!(self, Reading::DecimalComma | Reading::PointThousands)
    }

    /// Returns `true` if the notation reads the text as a number.
    pub fn reads(self, text: &[u8]) -> bool {
        let begins = text.first().is_some_and(|first| first.is_ascii_digit() || b"+-,".contains(first));
        let marks = MARKS[self as usize].as_ref();
        begins
            && text.len() <= BYTES_MAX
            && marks.is_some_and(|marks| marks.convert(text, &mut Vec::new()).is_ok())
    }

    /// Returns the settings that read a column in this notation.
    pub fn settings(self, column: &str) -> Vec<SettingValue> {
        let decimals = self.has_decimal_comma().then(|| Setting::DecimalComma.to(column));
        let thousands =
            self.thousands().map(|separator| Setting::Thousands.to(format!("{column}={separator}")));
        decimals.into_iter().chain(thousands).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notation_reads_its_own_numbers_alone() {
        for (text, readings) in [
            ("1,234", &[Reading::CommaThousands, Reading::DecimalComma, Reading::PointThousands][..]),
            ("1,234.50", &[Reading::CommaThousands]),
            ("-3,14", &[Reading::DecimalComma, Reading::PointThousands]),
            ("1.234,50", &[Reading::PointThousands]),
            ("1'234", &[Reading::Apostrophes]),
            ("1 234", &[Reading::Blanks]),
            ("1,23,4", &[]),
            ("n/a", &[]),
            ("", &[]),
        ] {
            let found: Vec<Reading> =
                Reading::ALL.into_iter().filter(|reading| reading.reads(text.as_bytes())).collect();
            assert_eq!(found, readings, "{text}");
        }
    }
}
