//! Detects personal data in the values of a column: e-mail addresses, telephone numbers, accounts and cards with valid check digits,
//! network addresses, names of people, street addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str;

use sqluice_generator::is_first_name;

use super::{ACCOUNT, ADDRESS, CARD, EMAIL, NAME, NETWORK, PHONE, Personal, Why};

/// A form of personal data: its description, the test for a value, and the minimum share of values that must pass the test.
type Form = (&'static str, fn(&str) -> bool, f64);

/// For each form: of the values that look similar ([`is_similar`]), at least this share must have the form. Used if all values of a column
/// are known.
const SHARES: [f64; FORMS.len()] = [0.0, 0.1, 0.5, 0.5, 0.4, 0.2, 0.2, 0.2];

/// Common first names, in addition to the names of the generator.
const FIRST_NAMES: &str = "James Robert Michael William Richard Joseph Christopher Charles Matthew Anthony Mark Donald Steven \
    Andrew Joshua Kenneth Kevin Brian Timothy Ronald Jason Edward Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry \
    Justin Scott Brandon Frank Gregory Raymond Patrick Alexander Peter Mary Patricia Jennifer Linda Elizabeth Barbara Susan \
    Jessica Karen Sarah Lisa Nancy Sandra Betty Ashley Emily Kimberly Margaret Donna Michelle Carol Amanda Melissa Deborah \
    Stephanie Rebecca Sharon Cynthia Kathleen Amy Angela Anne Jane Alex Sophie Lukas Lukasz Hans Klaus Juergen Wolfgang \
    Andreas Michaela Sabine Monika Ursula Katharina Sebastian Tobias Jan Piotr Anna Agnieszka Katarzyna Jean Pierre Philippe \
    Nicolas Julien Marie Isabelle Sylvie Juan Jose Antonio Manuel Francisco Javier Alejandra Cristina Isabel Giovanni \
    Giuseppe Francesca Alessandro Joao Paulo Lars Sven Mikael Kristina Mohamed Mohammed Ali Aisha Yuki Hiroshi Wei Ming";

/// Common last names that are no ordinary words.
const LAST_NAMES: &str = "Smith Johnson Williams Jones Davis Rodriguez Wilson Anderson Thompson Jackson Harris Lewis Robinson Allen \
    Wright Torres Nguyen Flores Nelson Hall Campbell Mitchell Roberts Phillips Evans Edwards Collins Stewart Morris Rogers Murphy \
    Bailey Richardson Howard Peterson Hughes Sanders Ross Henderson Coleman Jenkins Patterson Simmons Jordan Reynolds Hamilton \
    Graham Sullivan Wallace Griffin Hayes Myers Harrison Gibson Mcdonald Marshall Owens Simpson Kennedy Wells Ferguson \
    Garcia Martinez Hernandez Lopez Gonzalez Perez Sanchez Ramirez Rivera Gomez Diaz Reyes Cruz Morales Ortiz Gutierrez Chavez \
    Ramos Ruiz Alvarez Mendoza Vasquez Castillo Jimenez Moreno Romero Herrera Medina Aguilar Vargas Castro Fernandez Navarro \
    Mueller Müller Schmidt Schneider Fischer Weber Meyer Maier Meier Mayer Wagner Becker Schulz Schulze Hoffmann Schaefer Schäfer \
    Koch Bauer Richter Klein Schroeder Schröder Neumann Schwarz Zimmermann Krueger Krüger Hofmann Hartmann Lange Schmitt Werner \
    Krause Lehmann Köhler Koehler Huber Kaiser Fuchs Peters Scholz Möller Weiss Weiß Jung Hahn Schubert Vogel Friedrich Keller \
    Martin Bernard Dubois Durand Leroy Moreau Laurent Lefebvre Roux Fournier Girard Bonnet Dupont Lambert Rousseau Muller Faure \
    Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Conti Gallo Costa Giordano Rizzo Lombardi Moretti \
    Silva Santos Oliveira Souza Sousa Pereira Ferreira Almeida Carvalho Ribeiro Rodrigues Gomes Martins Araujo Barbosa \
    Jansen Bakker Visser Smit Meijer Mulder Vries Nowak Kowalski Wisniewski Novak Svoboda Horvat Popescu Ivanov Ivanova Petrov \
    Smirnov Kuznetsov Hansen Olsen Larsen Jensen Nielsen Pedersen Andersen Johansen Johansson Andersson Karlsson Nilsson Eriksson \
    Virtanen Korhonen Yilmaz Kaya Demir Khan Singh Kumar Sharma Patel Gupta Shah Das Ahmed Hussain Wang Zhang Chen Liu Yang Huang \
    Zhao Zhou Kim Lee Choi Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Tran Pham Hoang Cohen Levy O'Brien";

/// Ends of last names that few other words have.
const LAST_NAME_ENDS: &[&str] = &[
    "sson", "ensen", "owski", "owska", "ewski", "ewska", "inski", "ovic", "ović", "mann", "escu", "opoulos",
    "enko", "shvili",
];

/// Words of street addresses that stand alone: `12 Main Street`, `rue de Rivoli 4`.
const STREETS: &str = "street st road rd avenue ave lane ln drive dr court ct place pl boulevard blvd square terrace crescent \
    highway hwy parkway pkwy rue chemin impasse quai allée via viale piazza corso calle avenida paseo plaza rua travessa \
    praça ulica ul strada str straße strasse";

/// Ends of words of street addresses: `Hauptstraße 7`.
const STREET_ENDS: &[&str] = &[
    "straße", "strasse", "str", "weg", "gasse", "platz", "allee", "damm", "ufer", "straat", "laan", "gracht",
    "gatan", "vägen", "gata", "veien",
];

/// The forms. The share of a form is small if no other values have the form by chance, and large if many do: one in ten numbers has a valid
/// check digit.
const FORMS: &[Form] = &[
    (EMAIL, is_email, 0.02),
    (ACCOUNT, is_iban, 0.02),
    (CARD, is_card, 0.5),
    (NETWORK, is_network_address, 0.2),
    (PHONE, is_phone, 0.4),
    (NAME, is_name, 0.2),
    (NAME, is_last_name, 0.15),
    (ADDRESS, is_street_address, 0.2),
];

/// Returns the kind of personal data that a sample of a column's values suggests; `None` if they suggest none. Values are texts, and
/// numbers as decimal text, without NULLs and empty values.
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

/// The forms of a value, as sets of bits: bit `n` stands for form `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueForms {
    /// The forms of the value.
    pub(crate) has: u8,
    /// The forms that the characters of the value allow; see [`is_similar`].
    pub(crate) is_similar: u8,
}

/// The number of forms.
pub(crate) const FORM_COUNT: usize = FORMS.len();

/// Tests a whole value. Returns the first form that it has, and the forms up to this one that its characters allow. A value without a
/// form may still look similar to some.
pub(crate) fn forms_of(text: &[u8]) -> ValueForms {
    let mut forms = ValueForms::default();
    let Some(text) = str::from_utf8(text).ok().map(str::trim).filter(|text| !text.is_empty()) else {
        return forms;
    };
    for (form, (what, has_form, _)) in FORMS.iter().enumerate() {
        if is_similar(what, text) {
            forms.is_similar |= 1 << form;
            if has_form(text) {
                forms.has |= 1 << form;
                break;
            }
        }
    }
    forms
}

/// Returns the forms that parts of a longer text have: e-mail addresses, accounts, cards in groups, telephone numbers with a plus sign,
/// and network addresses.
pub(crate) fn forms_inside(text: &[u8]) -> ValueForms {
    let Ok(text) = str::from_utf8(text) else { return ValueForms::default() };
    let mut has = u8::from(text.contains('@') && is_email(text)) << EMAIL_FORM;
    let is_end = |c: char| c.is_whitespace() || "<>,;\"'()[]{}|=".contains(c);
    let ends = ['.', ':', '!', '?'];
    for word in text.split(is_end).map(|word| word.trim_end_matches(ends)) {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        if digits == 0 || word.len() < 7 {
            continue;
        }
        has |= u8::from(word.len() >= 15 && is_iban(word)) << ACCOUNT_FORM;
        has |= u8::from(is_network_address(word)) << NETWORK_FORM;
        has |= u8::from(digits >= 8 && word.starts_with('+') && is_phone(word)) << PHONE_FORM;
    }
    for group in digit_groups(text) {
        has |= u8::from(group.starts_with('+') && is_phone(group)) << PHONE_FORM;
        has |= u8::from(is_card_in_groups(group)) << CARD_FORM;
    }
    ValueForms { has, is_similar: has }
}

const EMAIL_FORM: usize = 0;
const ACCOUNT_FORM: usize = 1;
const CARD_FORM: usize = 2;
const NETWORK_FORM: usize = 3;
const PHONE_FORM: usize = 4;

/// The counts of a column's values by form.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FormCounts {
    has: [u64; FORM_COUNT],
    is_similar: [u64; FORM_COUNT],
}

impl FormCounts {
    /// Counts a value.
    pub(crate) fn add(&mut self, forms: ValueForms) {
        if forms.is_similar == 0 {
            return;
        }
        for form in 0..FORM_COUNT {
            self.has[form] += u64::from(forms.has >> form & 1);
            self.is_similar[form] += u64::from(forms.is_similar >> form & 1);
        }
    }

    /// Adds the counts of other values of the column.
    pub(crate) fn merge(&mut self, other: &FormCounts) {
        for form in 0..FORM_COUNT {
            self.has[form] += other.has[form];
            self.is_similar[form] += other.is_similar[form];
        }
    }

    /// Returns the forms, as a set of bits, that at least `least` values have, and also a sufficient share of the values that look
    /// similar.
    pub(crate) fn enough(&self, least: u64) -> u8 {
        let is_enough = |form: &usize| {
            let (has, similar) = (self.has[*form], self.is_similar[*form]);
            has >= least.max(1) && has as f64 >= SHARES[*form] * similar as f64
        };
        (0..FORM_COUNT).filter(is_enough).map(|form| 1 << form).sum()
    }

    /// Returns the kind of data of the first form in a set of bits, and the number of values that have the form; `None` for an empty set.
    pub(crate) fn first_of(&self, set: u8) -> Option<(&'static str, u64)> {
        let form = (0..FORM_COUNT).find(|form| set >> form & 1 == 1)?;
        Some((FORMS[form].0, self.has[form]))
    }
}

/// Returns `true` if a text is similar to a form: its characters allow the form. If many similar texts lack the form, the texts that have
/// the form may have it by chance.
///
/// | form | similar texts |
/// |---|---|
/// | e-mail address | texts with an `@` |
/// | account | 15 to 42 capitals, digits and blanks, with at least two digits |
/// | card | 13 to 19 digits, with or without separators |
/// | network address | four numbers with dots, or hexadecimal numbers with colons or five dashes |
/// | telephone number | 7 to 15 digits, with or without separators |
/// | name | up to three words of letters |
/// | postal address | a word with a digit, and a word of letters without one |
fn is_similar(form: &str, text: &str) -> bool {
    let digits = || text.bytes().filter(u8::is_ascii_digit).count();
    let has_only = |others: &str| text.chars().all(|c| c.is_ascii_digit() || others.contains(c));
    match form {
        EMAIL => text.contains('@'),
        ACCOUNT => {
            let is_form = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' ';
            (15..=42).contains(&text.len()) && text.chars().all(is_form) && digits() > 1
        }
        CARD => has_only(" -") && (13..=19).contains(&digits()),
        NETWORK => {
            let is_hexadecimal = |c: char| c.is_ascii_hexdigit() || ":-.".contains(c);
            let is_v4 = || has_only(".") && text.matches('.').count() == 3;
            (is_v4() || text.contains(':') || text.matches('-').count() == 5)
                && text.chars().all(is_hexadecimal)
        }
        PHONE => has_only("+ -().\u{a0}/") && (7..=15).contains(&digits()),
        ADDRESS => {
            let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
            let is_word = |word: &str| !has_digit(word) && word.contains(char::is_alphabetic);
            text.len() <= 150 && text.split(' ').any(has_digit) && text.split(' ').any(is_word)
        }
        _ => {
            let is_letter = |c: char| c.is_alphabetic() || " '-.’".contains(c);
            text.len() <= 80 && text.chars().all(is_letter) && text.split(' ').count() <= 3
        }
    }
}

/// Returns the parts of a text that consist of digits and the separators of numbers, if they have at least 8 bytes.
fn digit_groups(text: &str) -> impl Iterator<Item = &str> {
    let is_other = |c: char| !c.is_ascii_digit() && !" -+()/".contains(c);
    let parts = text.split(is_other).map(|part| part.trim_matches([' ', '-', '/']));
    parts.filter(|part| part.len() >= 8)
}

/// Returns `true` if a text is a card number in groups of four digits.
fn is_card_in_groups(text: &str) -> bool {
    let groups: Vec<&str> = text.split([' ', '-']).collect();
    groups.len() == 4 && groups.iter().all(|group| group.len() == 4) && is_card(text)
}

/// Returns `true` if a text is or contains `name@domain.top`.
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

/// Returns `true` if a text is an IBAN with valid check digits (ISO 7064, modulo 97).
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

/// Returns `true` if a text is a card number: 13 to 19 digits, possibly in groups, that begin with 2 to 6 and have a valid check digit
/// (Luhn).
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

/// Returns `true` if a text is a telephone number: seven to fifteen digits that begin with a plus or have separators, and are no date.
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

/// Returns `true` if a text is an IPv4, IPv6 or MAC address.
fn is_network_address(text: &str) -> bool {
    let is_mac = || {
        let parts: Vec<&str> = text.split([':', '-']).collect();
        parts.len() == 6
            && parts.iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    // Four small numbers are more often a version than an address, so the first number must be above 9.
    let is_v4 = || text.parse::<Ipv4Addr>().is_ok_and(|address| address.octets()[0] > 9);
    is_v4() || (text.len() > 6 && text.parse::<Ipv6Addr>().is_ok()) || is_mac()
}

/// Returns `true` if a text is a common first name, alone or before one or two other names.
fn is_name(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    let is_capital = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
    let is_letters = |word: &&str| word.chars().all(|c| c.is_alphabetic() || "'-.’".contains(c));
    words.len() <= 3
        && (is_first_name(words[0]) || FIRST_NAMES.split_whitespace().any(|name| name == words[0]))
        && words.iter().all(|word| is_capital(word) && is_letters(word))
}

/// Returns `true` if a text is a common last name, or has the form of one: `Kowalski`, `McAllister`, `Meyer-Lansky`.
fn is_last_name(text: &str) -> bool {
    let is_known = |part: &str| LAST_NAMES.split_whitespace().any(|name| name == part);
    let is_capital = |part: &str| part.chars().next().is_some_and(char::is_uppercase);
    let has_prefix = |part: &str| {
        ["Mc", "Mac", "O'", "O’"].iter().any(|prefix| part.strip_prefix(prefix).is_some_and(is_capital))
    };
    let has_end =
        |part: &str| part.chars().count() > 6 && LAST_NAME_ENDS.iter().any(|end| part.ends_with(end));
    let parts: Vec<&str> = text.split([' ', '-']).collect();
    let is_letters = parts
        .iter()
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphabetic() || "'’.".contains(c)));
    let is_one = |part: &&str| is_capital(part) && (is_known(part) || has_prefix(part) || has_end(part));
    is_letters && parts.len() <= 3 && parts.last().is_some_and(is_one)
}

/// Returns `true` if a text has a house number beside the name of a street.
fn is_street_address(text: &str) -> bool {
    if text.chars().count() > 150 {
        return false;
    }
    let words: Vec<String> = text
        .split([' ', ',', '\n'])
        .map(|word| word.trim_end_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &String| {
        let digits = word.chars().take_while(char::is_ascii_digit).count();
        (1..=5).contains(&digits) && word.chars().count() <= digits + 3
    };
    let is_long_end = |word: &String| {
        STREET_ENDS.iter().any(|end| word.strip_suffix(end).is_some_and(|start| start.chars().count() >= 3))
    };
    let is_street = |word: &String| STREETS.split_whitespace().any(|street| street == word);
    let has_name = words
        .iter()
        .any(|word| word.chars().any(char::is_alphabetic) && !is_street(word) && !is_number(word));
    words.len() >= 2
        && words.iter().any(is_number)
        && has_name
        && words.iter().any(|word| is_street(word) || is_long_end(word))
}

/// Returns the digits of a text that has only digits and these separators; `None` for other texts.
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
    fn personal_values_are_recognised_by_their_form() {
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
            ("Kowalski", NAME),
            ("McAllister", NAME),
            ("Meyer-Lansky Schulze", NAME),
            ("Gunnarsson", NAME),
            ("Zimmermann", NAME),
            ("12 Main Street", ADDRESS),
            ("Flat 4, 221B Baker St.", ADDRESS),
            ("Hauptstraße 7", ADDRESS),
            ("Am Lindenweg 12a, 10115 Berlin", ADDRESS),
            ("4 rue de Rivoli", ADDRESS),
            ("Calle Mayor, 8", ADDRESS),
        ] {
            assert_eq!(what(&[value]), Some(expected), "{value}");
        }
    }

    #[test]
    fn dates_numbers_codes_and_names_of_things_are_not_personal() {
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
            "Green",
            "White",
            "Season",
            "in 3 days by the way",
            "3 items",
            "Main Street",
            "Spring 2024",
            "level 3",
            "Engineering 4",
            "550e8400-e29b-41d4-a716-446655440000",
            "1700000000",
            "AB-123456",
        ] {
            assert_eq!(what(&[value]), None, "{value:?}");
        }
    }

    #[test]
    fn one_personal_value_is_reported_unless_similar_values_mostly_have_another_form() {
        let enough = |values: &[&str]| {
            let mut counts = FormCounts::default();
            values.iter().for_each(|value| counts.add(forms_of(value.as_bytes())));
            counts.first_of(counts.enough(1))
        };
        let among = |value: &'static str, others: &'static str| {
            let mut all = vec![others; 5000];
            all.push(value);
            enough(&all)
        };
        assert_eq!(among("jane@example.org", "all is well, and more than well"), Some((EMAIL, 1)));
        assert_eq!(among("jane@example.org", "@home"), Some((EMAIL, 1)));
        assert_eq!(among("DE89 3704 0044 0532 0130 00", "order 12"), Some((ACCOUNT, 1)));
        assert_eq!(among("4111 1111 1111 1111", "paid in cash, 3 coins"), Some((CARD, 1)));
        assert_eq!(among("4111111111111111", "4111111111111112"), None);
        assert_eq!(among("+49 30 123456", "2024-01-31"), None);
        assert_eq!(among("+49 30 123456", "never called, 1"), Some((PHONE, 1)));
        assert_eq!(among("192.168.20.1", "1.2.3.4"), None);
        assert_eq!(among("192.168.20.1", "unknown"), Some((NETWORK, 1)));
        assert_eq!(among("Anna", "Blue Lamp"), None);
        assert_eq!(among("Anna", "Lamp no. 7"), Some((NAME, 1)));
        assert_eq!(enough(&["2024-01-31", "12.50", "Blue Lamp", "", "12:30:45"]), None);
    }

    #[test]
    fn personal_values_are_recognised_within_a_longer_text() {
        for (text, form) in [
            ("call +49 30 1234567 after five", Some(PHONE_FORM)),
            ("call +49-30-1234567, please", Some(PHONE_FORM)),
            ("she wrote to <jane@example.org>", Some(EMAIL_FORM)),
            ("paid with 4111 1111 1111 1111.", Some(CARD_FORM)),
            ("to DE89370400440532013000, at once", Some(ACCOUNT_FORM)),
            ("from 192.168.20.1: ok", Some(NETWORK_FORM)),
            ("on 2024-01-31 at 10:20:30, 1234567 rows", None),
            ("version 1.2.3.4 of a@b", None),
            ("Anna came", None),
        ] {
            let expected = form.map_or(0, |form| 1 << form);
            assert_eq!(forms_inside(text.as_bytes()).has, expected, "{text}");
        }
    }

    #[test]
    fn one_mail_address_among_many_texts_is_personal_and_one_card_number_among_many_numbers_is_not() {
        let mut texts = vec!["all is well"; 30];
        texts.push("write to jane@example.org");
        assert_eq!(what(&texts), Some(EMAIL));
        let mut numbers = vec!["4111111111111112"; 30];
        numbers.push("4111111111111111");
        assert_eq!(what(&numbers), None);
    }
}
