//! What the values of a column look like: e-mail addresses, telephone numbers, accounts and cards with valid check digits,
//! addresses of networks, names of people.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str;

use sqluice_generator::is_first_name;

use super::{ACCOUNT, CARD, EMAIL, NAME, NETWORK, PHONE, Personal, Why};

/// A form: what it is, whether a value has it, and the share of the values that must.
type Form = (&'static str, fn(&str) -> bool, f64);

/// First names that are common, besides those that the generator makes.
const FIRST_NAMES: &str = "James Robert Michael William Richard Joseph Christopher Charles Matthew Anthony Mark Donald Steven \
    Andrew Joshua Kenneth Kevin Brian Timothy Ronald Jason Edward Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry \
    Justin Scott Brandon Frank Gregory Raymond Patrick Alexander Peter Mary Patricia Jennifer Linda Elizabeth Barbara Susan \
    Jessica Karen Sarah Lisa Nancy Sandra Betty Ashley Emily Kimberly Margaret Donna Michelle Carol Amanda Melissa Deborah \
    Stephanie Rebecca Sharon Cynthia Kathleen Amy Angela Anne Jane Alex Sophie Lukas Lukasz Hans Klaus Juergen Wolfgang \
    Andreas Michaela Sabine Monika Ursula Katharina Sebastian Tobias Jan Piotr Anna Agnieszka Katarzyna Jean Pierre Philippe \
    Nicolas Julien Marie Isabelle Sylvie Juan Jose Antonio Manuel Francisco Javier Alejandra Cristina Isabel Giovanni \
    Giuseppe Francesca Alessandro Joao Paulo Lars Sven Mikael Kristina Mohamed Mohammed Ali Aisha Yuki Hiroshi Wei Ming";

/// The share is small where nothing else has the form, and large where other values have it by chance: one in ten numbers has a
/// valid check digit.
const FORMS: &[Form] = &[
    (EMAIL, is_email, 0.02),
    (ACCOUNT, is_iban, 0.02),
    (CARD, is_card, 0.5),
    (NETWORK, is_network_address, 0.2),
    (PHONE, is_phone, 0.4),
    (NAME, is_name, 0.2),
];

/// What a sample of the values of a column says. Values are texts, and numbers as decimal text; NULLs and empty values are left out.
pub(crate) fn by_values<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Personal> {
    let mut counts = [0_u64; FORMS.len()];
    let mut all = 0_u64;
    for value in values.filter(|value| !value.is_empty()) {
        all += 1;
        let Some(text) = str::from_utf8(value).ok().map(str::trim) else { continue };
        for (count, (_, has_form, _)) in counts.iter_mut().zip(FORMS) {
            *count += u64::from(has_form(text));
        }
    }
    let is_enough = |count: u64, share: f64| count > 0 && count as f64 >= share * all as f64;
    let found = counts.iter().zip(FORMS).find(|(count, (_, _, share))| is_enough(**count, *share));
    found.map(|(_, (what, ..))| Personal { what, why: Why::Values })
}

/// Whether a text is `name@domain.top`, or has such an address within.
fn is_email(text: &str) -> bool {
    text.split([' ', '<', '>', ',', ';', '"', '\'', '(', ')']).any(|word| {
        let Some((name, domain)) = word.split_once('@') else { return false };
        let in_name = |c: char| c.is_alphanumeric() || "._%+-".contains(c);
        let in_domain = |c: char| c.is_alphanumeric() || ".-".contains(c);
        let top = domain.trim_end_matches('.').rsplit_once('.').map_or("", |(_, top)| top);
        !name.is_empty()
            && name.chars().all(in_name)
            && domain.chars().all(in_domain)
            && top.len() >= 2
            && top.chars().all(char::is_alphabetic)
    })
}

/// Whether a text is an IBAN with valid check digits (ISO 7064, modulo 97).
fn is_iban(text: &str) -> bool {
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    let bytes = text.as_bytes();
    let shape = (15..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && bytes[4..].iter().all(u8::is_ascii_alphanumeric);
    if !shape {
        return false;
    }
    let rotated = bytes[4..].iter().chain(&bytes[..4]);
    let rest = rotated.fold(0_u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte.to_ascii_uppercase() - b'A') + 10) % 97,
    });
    rest == 1
}

/// Whether a text is a card's number: 13 to 19 digits, perhaps in groups, with a valid check digit (Luhn).
fn is_card(text: &str) -> bool {
    let Some(digits) = digits(text, " -") else { return false };
    if !(13..=19).contains(&digits.len()) || !matches!(digits[0], 2..=6) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match u32::from(digit) * (1 + place as u32 % 2) {
            double @ 10.. => double - 9,
            single => single,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether a text is a telephone number: seven to fifteen digits that begin with a plus or have separators, and are no date.
fn is_phone(text: &str) -> bool {
    let plus = text.starts_with('+');
    let Some(digits) = digits(text.trim_start_matches('+'), " -().\u{a0}/") else { return false };
    let groups: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_date =
        matches!(lengths[..], [4, 2, 2] | [2, 2, 4] | [1, 2, 4] | [2, 1, 4] | [1, 1, 4] | [4, 1, 1]);
    let is_decimal = text.contains('.') && groups.len() == 2;
    (7..=15).contains(&digits.len())
        && (plus || (groups.len() > 1 && !is_date && !is_decimal && !text.starts_with('-')))
}

/// Whether a text is an address of IPv4, IPv6 or of a network card.
fn is_network_address(text: &str) -> bool {
    let is_mac = || {
        let parts: Vec<&str> = text.split([':', '-']).collect();
        parts.len() == 6
            && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    // Four numbers that are small are a version more often than an address.
    let is_v4 = || text.parse::<Ipv4Addr>().is_ok_and(|address| address.octets()[0] > 9);
    is_v4() || (text.len() > 6 && text.parse::<Ipv6Addr>().is_ok()) || is_mac()
}

/// Whether a text is a first name that is widely known, alone or before one or two other names.
fn is_name(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    let is_capital = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
    let is_letters = |word: &&str| word.chars().all(|c| c.is_alphabetic() || "'-.’".contains(c));
    words.len() <= 3
        && (is_first_name(words[0]) || FIRST_NAMES.split_whitespace().any(|name| name == words[0]))
        && words.iter().all(|word| is_capital(word) && is_letters(word))
}

/// The digits of a text that has nothing else but separators.
fn digits(text: &str, separators: &str) -> Option<Vec<u8>> {
    let all = text.chars().all(|c| c.is_ascii_digit() || separators.contains(c));
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
    (all && !digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(values: &[&str]) -> Option<&'static str> {
        by_values(values.iter().map(|value| value.as_bytes())).map(|personal| {
            assert_eq!(personal.why, Why::Values);
            personal.what
        })
    }

    #[test]
    fn personal_values_are_known_by_their_form() {
        for (value, expected) in [
            ("jane.doe@example.org", EMAIL),
            ("Jane Doe <jane@mail.example.org>", EMAIL),
            ("DE89 3704 0044 0532 0130 00", ACCOUNT),
            ("GB82WEST12345698765432", ACCOUNT),
            ("4111 1111 1111 1111", CARD),
            ("5500005555555559", CARD),
            ("192.168.20.1", NETWORK),
            ("2001:db8::8a2e:370:7334", NETWORK),
            ("00:1A:2B:3C:4D:5E", NETWORK),
            ("+49 30 123456", PHONE),
            ("(212) 555-0199", PHONE),
            ("212-555-0199", PHONE),
            ("Anna", NAME),
            ("Carlos Alvarez", NAME),
        ] {
            assert_eq!(what(&[value]), Some(expected), "{value}");
        }
    }

    #[test]
    fn other_values_raise_no_alarm() {
        for value in [
            "",
            "a",
            "@",
            "@home",
            "x@y",
            "2024-01-31",
            "31.12.2024",
            "1.2.3.4",
            "12.50",
            "-12 345 678",
            "1234567",
            "12:30:45",
            "2024-01-31 10:20:30",
            "DE00370400440532013000",
            "4111111111111112",
            "Blue Lamp",
            "anna",
            "550e8400-e29b-41d4-a716-446655440000",
            "1700000000",
            "AB-123456",
        ] {
            assert_eq!(what(&[value]), None, "{value:?}");
        }
    }

    #[test]
    fn a_few_addresses_among_many_texts_count_and_a_few_numbers_do_not() {
        let mut texts = vec!["all is well"; 30];
        texts.push("write to jane@example.org");
        assert_eq!(what(&texts), Some(EMAIL));
        let mut numbers = vec!["4111111111111112"; 30];
        numbers.push("4111111111111111");
        assert_eq!(what(&numbers), None);
    }
}
