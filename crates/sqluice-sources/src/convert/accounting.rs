//! Amounts of money: a currency, and the minus of accounting.
//!
//! ```text
//!  $5.00   € 1,234.50   5.00 USD   US$5      one currency, before or after the number
//!  (5.00)   5.00-   -$5.00   $(5.00)         one sign: parentheses and a minus behind the number are negative
//! ```
//!
//! The number itself is left to [`Notation`](super::number::Notation).

/// Currencies that are written with letters. The first match counts, so `US$` precedes `S$`: a text that ends with `US$` ends with both.
const WORDS: [&str; 24] = [
    "AU$", "CA$", "HK$", "NT$", "NZ$", "US$", "A$", "C$", "R$", "S$", "kr.", "kr", "zł", "Kč", "Ft", "lei",
    "Rs.", "Rs", "Fr.", "руб.", "лв.", "лв", "RM", "Rp",
];

/// The codes of ISO 4217, each followed by a blank.
const CODES: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF \
                     CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL \
                     HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD \
                     MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN \
                     PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY \
                     TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL ";

/// The number of bytes of a code.
const CODE_BYTES: usize = 3;

/// An amount, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount<'t> {
    /// The text of the number, without a sign.
    pub(super) number: &'t str,
    /// `true` if the amount is below zero.
    pub(super) negative: bool,
    /// The currency, if one is written.
    pub(super) currency: Option<&'t str>,
    /// `true` if the sign is a minus behind the number or parentheses around it.
    pub(super) of_accounting: bool,
}

impl<'t> Amount<'t> {
    /// Takes a text apart, without a check that `number` is a number.
    pub(super) fn of(text: &'t [u8]) -> Option<Amount<'t>> {
        let mut amount = Amount {
            number: str::from_utf8(text).ok()?,
            negative: false,
            currency: None,
            of_accounting: false,
        };
        let mut signed = false;
        loop {
            let text = amount.number;
            if amount.currency.is_none()
                && let Some((currency, rest)) = leading_currency(text).or_else(|| trailing_currency(text))
            {
                (amount.currency, amount.number) = (Some(currency), rest.trim_matches(is_blank));
                continue;
            }
            if signed {
                return Some(amount);
            }
            signed = true;
            if let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
                (amount.number, amount.negative, amount.of_accounting) =
                    (inner.trim_matches(is_blank), true, true);
            } else if let Some(rest) = text.strip_suffix('-') {
                (amount.number, amount.negative, amount.of_accounting) =
                    (rest.trim_end_matches(is_blank), true, true);
            } else if let Some(rest) = text.strip_prefix('-') {
                (amount.number, amount.negative) = (rest, true);
            } else {
                amount.number = text.strip_prefix('+').unwrap_or(text);
            }
        }
    }
}

/// Returns the currency that a text begins with, and the text behind it.
fn leading_currency(text: &str) -> Option<(&str, &str)> {
    let bytes = WORDS.into_iter().find(|word| text.starts_with(word)).map(str::len);
    let bytes = bytes.or_else(|| text.chars().next().filter(|sign| is_sign(*sign)).map(char::len_utf8));
    let bytes = bytes.or_else(|| text.get(..CODE_BYTES).filter(|code| is_code(code)).map(str::len))?;
    Some(text.split_at(bytes))
}

/// Returns the currency that a text ends with, and the text before it.
fn trailing_currency(text: &str) -> Option<(&str, &str)> {
    let bytes = WORDS.into_iter().find(|word| text.ends_with(word)).map(str::len);
    let bytes = bytes.or_else(|| text.chars().next_back().filter(|sign| is_sign(*sign)).map(char::len_utf8));
    let code = || text.get(text.len().checked_sub(CODE_BYTES)?..).filter(|code| is_code(code)).map(str::len);
    let (rest, currency) = text.split_at(text.len() - bytes.or_else(code)?);
    Some((currency, rest))
}

/// Returns `true` for the sign of a currency. The sign of cents does not count, because it divides the number by 100.
fn is_sign(character: char) -> bool {
    "$£¤¥฿៛﷼＄￡￥￦".contains(character) || ('\u{20a0}'..='\u{20c0}').contains(&character)
}

/// Returns `true` for the code of a currency, in capitals.
fn is_code(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase())
        && text.len() == CODE_BYTES
        && CODES.split_ascii_whitespace().any(|code| code == text)
}

/// Returns `true` for the blanks that stand between a number and its currency.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{a0}' | '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_one_currency_and_one_sign() {
        let of = |text: &'static str| {
            let Amount { number, negative, currency, of_accounting } = Amount::of(text.as_bytes()).unwrap();
            (number, negative, currency, of_accounting)
        };
        for (text, amount) in [
            ("5.00", ("5.00", false, None, false)),
            ("-5.00", ("5.00", true, None, false)),
            ("+5.00", ("5.00", false, None, false)),
            ("(5.00)", ("5.00", true, None, true)),
            ("5.00-", ("5.00", true, None, true)),
            ("$5.00", ("5.00", false, Some("$"), false)),
            ("-$5.00", ("5.00", true, Some("$"), false)),
            ("$-5.00", ("5.00", true, Some("$"), false)),
            ("$ (5.00)", ("5.00", true, Some("$"), true)),
            ("($5.00)", ("5.00", true, Some("$"), true)),
            ("€ 1,234.50", ("1,234.50", false, Some("€"), false)),
            ("5,00\u{a0}€", ("5,00", false, Some("€"), false)),
            ("5.00 USD", ("5.00", false, Some("USD"), false)),
            ("USD 5.00-", ("5.00", true, Some("USD"), true)),
            ("5.00- USD", ("5.00", true, Some("USD"), true)),
            ("US$5", ("5", false, Some("US$"), false)),
            ("5 kr", ("5", false, Some("kr"), false)),
            // A second sign stays in the text of the number, which is therefore no number.
            ("$$5", ("$5", false, Some("$"), false)),
            ("--5", ("-5", true, None, false)),
            ("(5-)", ("5-", true, None, true)),
            ("(5", ("(5", false, None, false)),
            ("5 MHZ", ("5 MHZ", false, None, false)),
            ("50¢", ("50¢", false, None, false)),
            ("$", ("", false, Some("$"), false)),
            ("", ("", false, None, false)),
        ] {
            assert_eq!(of(text), amount, "{text}");
        }
    }
}
