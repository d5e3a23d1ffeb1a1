//! Printers: the rules by which programs print floats, and the forms in which they write exponents.

/// The rule by which a printer chooses the digits of a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printer {
    /// The fewest digits that read as the float (Python, JavaScript, Java, Rust and others), or at most 17 digits, without zeros at the end
    /// (`%.17g`, `%.15g`, `%g`, R, and 32-bit floats that were converted to 64 bits).
    Shortest,
    /// At most fifteen digits, but all digits of a whole number: R.
    Fifteen,
    /// A fixed number of decimals in each value: `%.2f`.
    Decimals,
    /// A fixed number of decimals in each value, before an exponent: `%.6e`.
    Scientific,
}

/// A set of printers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Printers(u8);

impl Printers {
    pub(super) const NONE: Printers = Printers(0);
    pub(super) const ALL: Printers = Printers(0b1111);

    pub(super) const fn of(printer: Printer) -> Printers {
        Printers(1 << printer as u8)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn has(self, printer: Printer) -> bool {
        self.0 & Printers::of(printer).0 != 0
    }

    pub(super) const fn and(self, other: Printers) -> Printers {
        Printers(self.0 & other.0)
    }

    pub(super) const fn without(self, other: Printers) -> Printers {
        Printers(self.0 & !other.0)
    }

    /// Returns the printers of the set for which `keep` returns `true`. `keep` is called only for printers of the set.
    pub(super) fn retain(self, keep: impl Fn(Printer) -> bool) -> Printers {
        let all = [Printer::Shortest, Printer::Fifteen, Printer::Decimals, Printer::Scientific];
        let lost = all.into_iter().filter(|&printer| self.has(printer) && !keep(printer));
        lost.fold(self, |kept, printer| kept.without(Printers::of(printer)))
    }
}

/// The significant digits of a number, without zeros at their end, and the power of ten of the first digit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notation {
    pub(super) digits: usize,
    pub(super) exponent: i32,
}

impl Notation {
    /// Returns `true` if the number is shorter with an exponent of at least two digits than without one. R writes an exponent then.
    pub(super) const fn is_shorter_with_exponent(self) -> bool {
        let Notation { digits, exponent } = self;
        let point = (digits > 1) as usize;
        let scientific = digits + point + if exponent.unsigned_abs() < 100 { 4 } else { 5 };
        let plain = if exponent < 0 {
            digits + 1 + exponent.unsigned_abs() as usize
        } else if digits > exponent as usize + 1 {
            digits + 1
        } else {
            exponent as usize + 1
        };
        scientific < plain
    }
}

/// The form of an exponent: `e+05`, `E5`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// `true` for `E`, `false` for `e`.
    pub(super) capital: bool,
    /// `true` if a plus is written before an exponent that is not negative.
    pub(super) plus: bool,
    /// The least number of digits of the exponent, 1 to 3.
    pub(super) width: usize,
}

/// A set of styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Styles(u16);

impl Styles {
    pub(super) const NONE: Styles = Styles(0);
    pub(super) const ALL: Styles = Styles((1 << 12) - 1);
    /// The styles with a plus.
    pub(super) const PLUS: Styles = Styles(0b1100_1100_1100);
    /// The style of C, R and Python: `e+05`.
    pub(super) const C: Styles = Styles(1 << Style { capital: false, plus: true, width: 2 }.index());

    pub(super) fn all_with(has: impl Fn(Style) -> bool) -> Styles {
        let mut styles = Styles::NONE;
        for (capital, plus) in [(false, false), (false, true), (true, false), (true, true)] {
            for style in (1..=3).map(|width| Style { capital, plus, width }) {
                styles.0 |= u16::from(has(style)) << style.index();
            }
        }
        styles
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn and(self, other: Styles) -> Styles {
        Styles(self.0 & other.0)
    }
}

impl Style {
    const fn index(self) -> u32 {
        (self.width as u32 - 1) * 4 + self.plus as u32 * 2 + self.capital as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_of_float_styles_have_the_styles_that_they_name() {
        assert_eq!(Styles::all_with(|_| true), Styles::ALL);
        assert_eq!(Styles::all_with(|style| style.plus), Styles::PLUS);
        assert_eq!(Styles::all_with(|style| !style.capital && style.plus && style.width == 2), Styles::C);
    }
}
