//! Numbers as text: integers by their digits, floats by the fewest digits that are read back as the same float.

/// Appends the digits of an integer.
#[inline]
pub fn push_int(out: &mut Vec<u8>, int: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(int).as_bytes());
}

/// Powers of ten by which a number of few decimals becomes a whole one.
const SCALES: [(f64, usize); 3] = [(100.0, 2), (10_000.0, 4), (1_000_000.0, 6)];

/// Whole numbers below this have at most 15 digits: of these, no two are read as the same float.
const EXACT_MAX: f64 = 1e15;

/// Appends a float that is finite, with a point or an exponent: `5.0`, `0.07`, `1e+300`.
#[inline]
pub fn push_real(out: &mut Vec<u8>, real: f64) {
    debug_assert!(real.is_finite());
    // Prices and measures have few decimals: an integer over a power of ten, if that division gives the float itself. The
    // division is exact to the last bit, as reading is, so these digits are read back as the float.
    let magnitude = real.abs();
    for (scale, decimals) in SCALES {
        let scaled = (magnitude * scale).round();
        if scaled < EXACT_MAX && scaled / scale == magnitude {
            push_decimal(out, real.is_sign_negative(), scaled as u64, decimals);
            return;
        }
    }
    out.extend_from_slice(zmij::Buffer::new().format_finite(real).as_bytes());
}

/// Appends `scaled` over ten to the power of `decimals`, without the zeros at its end but for one.
#[inline]
fn push_decimal(out: &mut Vec<u8>, negative: bool, scaled: u64, decimals: usize) {
    let mut text = [b'0'; 26];
    let mut at = text.len();
    let (mut rest, mut places) = (scaled, decimals);
    while places > 1 && rest % 10 == 0 {
        (rest, places) = (rest / 10, places - 1);
    }
    for _ in 0..places {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at -= 1;
    text[at] = b'.';
    let mut whole = itoa::Buffer::new();
    let whole = whole.format(rest).as_bytes();
    at -= whole.len();
    text[at..at + whole.len()].copy_from_slice(whole);
    if negative {
        at -= 1;
        text[at] = b'-';
    }
    out.extend_from_slice(&text[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(real: f64) -> String {
        let mut out = Vec::new();
        push_real(&mut out, real);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        for (real, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (5.0, "5.0"),
            (-21168.23, "-21168.23"),
            (0.07, "0.07"),
            (0.1, "0.1"),
            (1.5e-6, "1.5e-6"),
            (123456.789012, "123456.789012"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(text(real), expected);
        }
    }

    /// Digits that count, without sign, point, exponent and zeros around them.
    fn digits(text: &str) -> usize {
        let mantissa = text.split('e').next().unwrap();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').len()
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(20_000))]

        #[test]
        fn floats_are_read_back_and_no_shorter_text_is(bits in any::<u64>(), cents in any::<i32>(), power in 0..9) {
            let prices = f64::from(cents) / 10f64.powi(power);
            for real in [f64::from_bits(bits), prices, f64::from(cents)] {
                if real.is_finite() {
                    let text = text(real);
                    prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), real.to_bits());
                    prop_assert!(text.contains(['.', 'e']), "{}", text);
                    prop_assert_eq!(digits(&text), digits(&format!("{real:e}")), "{}", text);
                }
            }
        }
    }
}
