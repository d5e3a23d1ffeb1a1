//! Printers of floats for the tests of `Evidence`: they print a float as Python, C, R and others do.

use proptest::prelude::*;
use proptest::sample::select;

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::Value;

/// The form of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// `1` and `1e-05`
    Bare,
    /// `1.0` and `1e-05`
    Whole,
    /// `1.0` and `1.0e-05`
    Always,
}

/// The rule by which values get an exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exponents {
    /// Values below the first power of ten, and values from the second on.
    Beyond(i32, i32),
    /// Values that are shorter with an exponent, which counts as `e+05`.
    Shorter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) letter: char,
    pub(super) plus: bool,
    pub(super) width: usize,
}

pub(super) const C: Style = Style { letter: 'e', plus: true, width: 2 };

/// A printer of floats.
#[derive(Clone, Copy, Debug)]
pub(super) enum Print {
    /// At most the given number of significant digits, without trailing zeros; 17: as many as needed.
    Digits(usize, Point, Exponents, Style),
    /// The given number of significant digits, without trailing zeros: `%.17g`.
    Rounded(usize, Point, Exponents, Style),
    /// The printer of R.
    R,
    /// `%.Nf`
    Decimals(usize),
    /// `%.Ne`
    Scientific(usize, Style),
}

impl Print {
    pub(super) fn print(self, real: f64) -> String {
        match self {
            Print::Digits(digits, point, exponents, style) if digits < 17 => {
                Print::Rounded(digits, point, exponents, style).print(real)
            }
            Print::Digits(_, point, exponents, style) | Print::Rounded(_, point, exponents, style) => {
                let digits = match self {
                    Print::Rounded(digits, ..) => digits_of_text(real, &format!("{real:.*e}", digits - 1)),
                    _ => digits_of(real),
                };
                laid_out(real, digits, point, exponents, style)
            }
            Print::R => {
                let (sign, digits, power) = digits_of(format!("{real:.14e}").parse().unwrap());
                if is_shorter_with_exponent(&digits, power) {
                    sign + &plain(&digits, 0, false) + &exponent(power, C)
                } else if digits.len() as i32 <= power + 1 {
                    format!("{real:.0}")
                } else {
                    sign + &plain(&digits, power, false)
                }
            }
            Print::Decimals(decimals) => format!("{real:.decimals$}"),
            Print::Scientific(decimals, style) => {
                let text = format!("{real:.decimals$e}");
                let (mantissa, power) = text.split_once('e').unwrap();
                mantissa.to_owned() + &exponent(power.parse().unwrap(), style)
            }
        }
    }
}

/// Returns the text of a float that is given by its sign, its digits, and the power of ten of the first digit.
fn laid_out(
    real: f64,
    (sign, digits, power): (String, String, i32),
    point: Point,
    exponents: Exponents,
    style: Style,
) -> String {
    let with_exponent = match exponents {
        Exponents::Beyond(low, high) => real != 0.0 && (power < low || power >= high),
        Exponents::Shorter => is_shorter_with_exponent(&digits, power),
    };
    match with_exponent {
        false => sign + &plain(&digits, power, point != Point::Bare),
        true => sign + &plain(&digits, 0, point == Point::Always) + &exponent(power, style),
    }
}

/// Returns the float rounded to a number of digits, as `{:e}` writes it: both neighbours if the float is halfway between them.
fn rounded(real: f64, digits: usize) -> Vec<String> {
    let nearest = format!("{real:.*e}", digits - 1);
    let exact = format!("{real:.800e}");
    let neighbours = [-1i64, 1].into_iter().filter_map(|step| {
        let (mantissa, power) = nearest.split_once('e')?;
        let whole: i64 = mantissa.replace(['.', '-'], "").parse().ok()?;
        let sign = if real < 0.0 { "-" } else { "" };
        let other = (whole + step).to_string();
        let other =
            (other.len() == digits).then(|| format!("{sign}{}.{}e{power}", &other[..1], &other[1..]))?;
        // The exact decimals of the float say whether it is halfway between the two.
        let middle = (whole * 10 + 5 * step).to_string();
        let exact = exact.replace(['.', '-'], "");
        let exact = exact.split('e').next()?.trim_end_matches('0').to_owned();
        (exact == middle).then_some(other)
    });
    std::iter::once(nearest.clone()).chain(neighbours).collect()
}

/// Returns the sign, the fewest digits that read as the float, and the power of ten of the first digit.
fn digits_of(real: f64) -> (String, String, i32) {
    digits_of_text(real, &format!("{real:e}"))
}

fn digits_of_text(real: f64, text: &str) -> (String, String, i32) {
    let (mantissa, power) = text.split_once('e').unwrap();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    };
    (if real.is_sign_negative() { "-" } else { "" }.to_owned(), digits, power.parse().unwrap())
}

fn plain(digits: &str, power: i32, point: bool) -> String {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let digits = zeros(-power) + digits;
    let whole = usize::try_from(power).unwrap_or(0) + 1;
    match digits.split_at_checked(whole) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{whole}.{fraction}"),
        _ => digits.clone() + &zeros(whole as i32 - digits.len() as i32) + if point { ".0" } else { "" },
    }
}

fn exponent(power: i32, Style { letter, plus, width }: Style) -> String {
    let sign = if power < 0 {
        "-"
    } else if plus {
        "+"
    } else {
        ""
    };
    format!("{letter}{sign}{:0width$}", power.abs())
}

fn is_shorter_with_exponent(digits: &str, power: i32) -> bool {
    let scientific = plain(digits, 0, false) + &exponent(power, C);
    scientific.len() < plain(digits, power, false).len()
}

/// Generates well-known printers.
pub(super) fn printer() -> impl Strategy<Value = Print> {
    let shortest = |point, low, high, style| Print::Digits(17, point, Exponents::Beyond(low, high), style);
    let bare = Style { letter: 'e', plus: false, width: 1 };
    prop_oneof![
        8 => select(vec![
            // Python, pandas, NumPy.
            shortest(Point::Whole, -4, 16, C),
            // JavaScript.
            shortest(Point::Bare, -6, 21, Style { width: 1, ..C }),
            // The format `{:?}` of Rust; then Ryu, which polars uses.
            shortest(Point::Whole, -4, 16, bare),
            shortest(Point::Whole, -5, 16, bare),
            // Java.
            shortest(Point::Always, -3, 7, Style { letter: 'E', ..bare }),
            // PostgreSQL; then C#; then the format `{}` of Rust.
            shortest(Point::Bare, -4, 15, C),
            shortest(Point::Bare, -4, 15, Style { letter: 'E', ..C }),
            shortest(Point::Bare, -400, 400, C),
            // `to_chars` of C++; then R.
            Print::Digits(17, Point::Bare, Exponents::Shorter, C),
            Print::R,
            // SQLite.
            Print::Digits(15, Point::Always, Exponents::Beyond(-4, 15), C),
        ]),
        2 => (2..=15usize).prop_map(|n| Print::Digits(n, Point::Bare, Exponents::Beyond(-4, n as i32), C)),
        2 => (16..=17usize).prop_map(|n| Print::Rounded(n, Point::Bare, Exponents::Beyond(-4, n as i32), C)),
        1 => Just(Print::Rounded(17, Point::Bare, Exponents::Shorter, C)),
        2 => (0..25usize).prop_map(Print::Decimals),
        1 => (1..20usize).prop_map(|decimals| Print::Scientific(decimals, C)),
        1 => (1..20usize).prop_map(|decimals| Print::Scientific(decimals, Style { letter: 'E', ..C })),
    ]
}

/// Returns the float that SQLite stores for a text that a printer may have printed; `None` for any other text, such as `-0`.
pub(super) fn stored(text: &str) -> Option<f64> {
    let real = match text_to_number(text.as_bytes(), Affinity::Real) {
        Value::Real(real) => real,
        Value::Int(int) => int as f64,
        _ => return None,
    };
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let zero = real == 0.0
        && (text.starts_with('-')
            || text.contains(|c: char| ('1'..='9').contains(&c))
                && !text.contains("e")
                && !text.contains("E"));
    (real.is_finite() && !zero && decimals <= 300).then_some(real)
}

/// Returns `true` if some printer prints all values, each from the float that is stored for it.
pub(super) fn has_printer(values: &[String]) -> bool {
    let reals: Vec<f64> = values.iter().map(|text| stored(text).unwrap()).collect();
    let prints = |print: Print| values.iter().zip(&reals).all(|(text, real)| print.print(*real) == *text);
    // The digits of each float, rounded to the number of digits that its text has.
    let of_own_length: Vec<Vec<(String, String, i32)>> = values
        .iter()
        .zip(&reals)
        .map(|(text, real)| {
            let mantissa = text.split(['e', 'E']).next().unwrap();
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            let count = digits.trim_start_matches('0').trim_end_matches('0').len().max(1);
            let rounded = if count <= 17 { rounded(*real, count) } else { Vec::new() };
            rounded.iter().map(|scientific| digits_of_text(*real, scientific)).collect()
        })
        .collect();
    let prints_as_long = |point, exponents, style| {
        values.iter().zip(&reals).zip(&of_own_length).all(|((text, real), digits)| {
            digits.iter().any(|digits| laid_out(*real, digits.clone(), point, exponents, style) == *text)
        })
    };
    let parts: Vec<(&str, &str)> =
        values.iter().map(|text| text.split_once(['e', 'E']).unwrap_or((text, ""))).collect();
    let powers: Vec<i32> = parts.iter().filter_map(|(_, power)| power.parse().ok()).collect();
    let high = powers.iter().copied().filter(|power| *power >= 0).min().unwrap_or(400);
    let low = powers.iter().copied().filter(|power| *power < 0).max().map_or(-400, |power| power + 1);
    if (low > -3 || high < 1) && powers.len() < values.len() {
        // A printer that writes some values without an exponent writes no exponent so near to 0: `1e+0` beside `0.0001`.
        return false;
    }
    let decimals = parts[0].0.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    if powers.is_empty() && prints(Print::Decimals(decimals)) || prints(Print::R) {
        return true;
    }
    let letters = ['e', 'E'].into_iter().flat_map(|letter| [(letter, true), (letter, false)]);
    let mut styles =
        letters.flat_map(|(letter, plus)| (1..=3).map(move |width| Style { letter, plus, width }));
    styles.any(|style| {
        [Point::Bare, Point::Whole, Point::Always].into_iter().any(|point| {
            let bare_min = if point == Point::Always { 7 } else { 16 };
            (style.plus || high >= bare_min)
                && (prints(Print::Digits(17, point, Exponents::Beyond(low, high), style))
                    || prints_as_long(point, Exponents::Beyond(low, high), style))
        }) || (style == C && prints_as_long(Point::Bare, Exponents::Shorter, style))
            || (decimals > 0 && prints(Print::Scientific(decimals, style)))
    })
}
