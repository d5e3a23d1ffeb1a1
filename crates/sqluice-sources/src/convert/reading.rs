//! Notations that numbers may have in text, and the settings that read each notation.

use std::sync::LazyLock;

use sqluice_core::error::{Setting, SettingValue};

use super::accounting::Amount;
use super::number::{Notation, without_percent};

/// The largest number of bytes of a number that is recognised.
const BYTES_MAX: usize = 40;

/// The separators of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separators {
    /// `1234.50`
    Plain,
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

/// The signs beside a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signs {
    /// `-5`
    Plain,
    /// `$5.00`, `(5.00)`, `5.00-`
    Accounting,
    /// `12.5%`
    Percent,
    /// `(12.5%)`
    AccountingPercent,
}

/// A notation of numbers that a load reads if the user gives the right [settings](Reading::settings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    separators: Separators,
    signs: Signs,
}

/// `true` for each notation that reads a text, in the order of [`Reading::ALL`].
pub type Readings = [bool; Reading::ALL.len()];

/// For each of [`SEPARATORS`], the notation with these separators, without currency and percent sign.
static NOTATIONS: LazyLock<[Notation; SEPARATORS.len()]> = LazyLock::new(|| {
    SEPARATORS.map(|separators| {
        let mut notation = Notation::plain(false);
        let reading = Reading { separators, signs: Signs::Plain };
        if reading.has_decimal_comma() {
            notation.merge(&Notation::decimal_comma(false));
        }
        if let Some(Ok(thousands)) =
            reading.thousands().map(|separator| Notation::thousands(separator, false))
        {
            notation.merge(&thousands);
        }
        notation
    })
});

/// All kinds of separators.
const SEPARATORS: [Separators; 6] = [
    Separators::Plain,
    Separators::CommaThousands,
    Separators::DecimalComma,
    Separators::PointThousands,
    Separators::Apostrophes,
    Separators::Blanks,
];

impl Reading {
    /// All notations. If several read the same values, the first one is used.
    pub const ALL: [Reading; 23] = Reading::all();

    const fn all() -> [Reading; 23] {
        let signs = [Signs::Plain, Signs::Accounting, Signs::Percent, Signs::AccountingPercent];
        let mut all = [Reading { separators: Separators::Plain, signs: Signs::Plain }; 23];
        // Combination 0, plain numbers, is left out.
        let mut index = 1;
        while index <= all.len() {
            all[index - 1] = Reading {
                separators: SEPARATORS[index % SEPARATORS.len()],
                signs: signs[index / SEPARATORS.len()],
            };
            index += 1;
        }
        all
    }

    const fn thousands(self) -> Option<&'static str> {
        match self.separators {
            Separators::Plain | Separators::DecimalComma => None,
            Separators::CommaThousands => Some(","),
            Separators::PointThousands => Some("."),
            Separators::Apostrophes => Some("'"),
            Separators::Blanks => Some(" "),
        }
    }

    /// Returns `true` if the decimals follow a comma, so that a point before decimals is refused.
    pub const fn has_decimal_comma(self) -> bool {
        matches!(self.separators, Separators::DecimalComma | Separators::PointThousands)
    }

    /// Returns `true` if blanks stand between thousands.
    pub const fn has_blanks(self) -> bool {
        matches!(self.separators, Separators::Blanks)
    }

    /// Returns `true` if a currency, parentheses or a minus may stand beside the number.
    pub const fn has_accounting(self) -> bool {
        matches!(self.signs, Signs::Accounting | Signs::AccountingPercent)
    }

    /// Returns `true` if a percent sign stands behind each number.
    pub const fn has_percent(self) -> bool {
        matches!(self.signs, Signs::Percent | Signs::AccountingPercent)
    }

    /// Returns the notations that read a text as a number.
    pub fn all_of(text: &[u8]) -> Readings {
        let none = [false; Reading::ALL.len()];
        if text.len() > BYTES_MAX || !text.iter().any(u8::is_ascii_digit) {
            return none;
        }
        let Some(amount) = Amount::of(text) else { return none };
        let number = amount.number.as_bytes();
        let percent = without_percent(number);
        let (has_percent, number) = (percent.is_some(), percent.unwrap_or(number));
        let has_sign = amount.currency.is_some() || amount.of_accounting;
        let begins = number.first().is_some_and(|first| first.is_ascii_digit() || b".,".contains(first));
        if !begins {
            return none;
        }
        let mut out = Vec::new();
        let reads = SEPARATORS.map(|separators| {
            out.clear();
            NOTATIONS[separators as usize].convert(number, &mut out).is_ok()
        });
        Reading::ALL.map(|reading| {
            reads[reading.separators as usize]
                && reading.has_percent() == has_percent
                && (reading.has_accounting() || !has_sign)
        })
    }

    /// Returns the currency of an amount of money, if the text has one.
    pub fn currency(text: &[u8]) -> Option<&str> {
        Amount::of(text)?.currency
    }

    /// Returns, in words, the signs or separators of a text that some notation reads as a number, such as `a currency`.
    pub fn marks(text: &[u8]) -> Option<&'static str> {
        let amount = Amount::of(text)?;
        let is_read = Reading::all_of(text).contains(&true);
        is_read.then_some(match () {
            () if text.contains(&b'%') => "a percent sign",
            () if amount.currency.is_some() => "a currency",
            () if text.starts_with(b"(") => "parentheses",
            () if amount.of_accounting => "a minus at the end",
            () => "separators",
        })
    }

    /// Returns the settings that read a column in this notation.
    pub fn settings(self, column: &str) -> Vec<SettingValue> {
        let settings = [
            self.has_decimal_comma().then(|| Setting::DecimalComma.to(column)),
            self.thousands().map(|separator| Setting::Thousands.to(format!("{column}={separator}"))),
            self.has_accounting().then(|| Setting::Accounting.to(column)),
            self.has_percent().then(|| Setting::Percent.to(column)),
        ];
        settings.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_read_by_the_notations_that_it_fits() {
        for (text, readings) in [
            (
                "1,234",
                "thousands v=, | decimal_comma v | decimal_comma v thousands v=. | thousands v=, accounting v | decimal_comma v accounting v | \
                 decimal_comma v thousands v=. accounting v",
            ),
            ("1,234.50", "thousands v=, | thousands v=, accounting v"),
            ("1.234,50", "decimal_comma v thousands v=. | decimal_comma v thousands v=. accounting v"),
            ("1'234", "thousands v=' | thousands v=' accounting v"),
            ("1 234", "thousands v=  | thousands v=  accounting v"),
            ("(1,234.50)", "thousands v=, accounting v"),
            ("€ 1.234,50", "decimal_comma v thousands v=. accounting v"),
            ("$1'234.50", "thousands v=' accounting v"),
            (
                "12,5 %",
                "decimal_comma v percent v | decimal_comma v thousands v=. percent v | decimal_comma v accounting percent v",
            ),
            ("1,23,4", ""),
            ("(555) 123", ""),
            ("n/a", ""),
            ("$", ""),
            ("", ""),
        ] {
            let reads = Reading::all_of(text.as_bytes());
            let found = Reading::ALL.into_iter().zip(reads).filter(|(_, reads)| *reads);
            let found = found.map(|(reading, _)| {
                let settings = reading.settings("v").into_iter();
                settings
                    .map(|set| format!("{} {}", set.setting.name(), set.value))
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            let found: Vec<String> = found.collect();
            match text {
                // Many notations read this percentage, so only the first is compared.
                "12,5 %" => assert_eq!(found[0], "decimal_comma v percent v"),
                _ => assert_eq!(found.join(" | "), readings, "{text}"),
            }
        }
    }

    #[test]
    fn of_the_notations_that_fit_a_text_one_with_the_fewest_settings_is_tried_first() {
        for (text, settings) in [
            ("$5", "accounting"),
            ("(5.00)", "accounting"),
            ("5-", "accounting"),
            ("5%", "percent"),
            ("(5%)", "accounting percent"),
        ] {
            let first = Reading::all_of(text.as_bytes()).iter().position(|reads| *reads).unwrap();
            let found: Vec<&str> =
                Reading::ALL[first].settings("v").iter().map(|set| set.setting.name()).collect();
            assert_eq!(found.join(" "), settings, "{text}");
        }
    }
}
