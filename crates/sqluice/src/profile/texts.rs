//! Describes texts by their form (times, UUIDs, addresses, patterns), or by their lengths if they have no known form.
//!
//! The letters and digits of a text are never shown: the pattern of `AB-1234` is `AA-9999`.

use std::collections::{HashMap, HashSet};

use sqluice_generator::moment_of_text;

use super::numbers::{Form, numbers};
use super::sample::Cell;

/// The maximum number of patterns for a column.
const PATTERNS_MAX: usize = 8;

/// The maximum number of characters of a text with a pattern.
const PATTERN_CHARACTERS_MAX: usize = 40;

/// The texts of a column, and what the profile knows about the column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texts<'s> {
    /// A sample of at least one text.
    pub(super) cells: &'s [&'s Cell],
    pub(super) rows: u64,
    pub(super) different: f64,
    /// `true` if the schema forbids repeated texts.
    pub(super) is_unique: bool,
    /// A pattern is shown only if at least this number of texts of the sample have it. In a small sample, a quarter of the texts is enough,
    /// but at least two texts must have the pattern.
    pub(super) common: u64,
    /// The exponent of Zipf's distribution of the numbers of rows with the same text; `None` if these numbers are about equal.
    pub(super) exponent: Option<f64>,
    /// The function of the generator for texts that the column's name announces, such as `first_name()`; `None` if it announces none.
    pub(super) named: Option<&'static str>,
}

impl Texts<'_> {
    /// Returns the expression for the texts.
    pub(super) fn expression(&self) -> String {
        let known = self.moments().or_else(|| self.iso_moments()).or_else(|| self.known_form());
        let known = known.or_else(|| self.names());
        known.unwrap_or_else(|| {
            self.patterns().unwrap_or_else(|| self.of_lengths(self.cells, self.rows, self.different))
        })
    }

    fn all(&self, has_form: impl Fn(&str) -> bool) -> bool {
        self.cells.iter().all(|cell| cell.text().is_some_and(&has_form))
    }

    /// Returns the expression for texts that are days or seconds; `None` for other texts.
    fn moments(&self) -> Option<String> {
        let days = self.all(|text| text.len() == 10 && moment_of_text(text.as_bytes()).is_some());
        let seconds = self.all(|text| text.len() == 19 && moment_of_text(text.as_bytes()).is_some());
        if !days && !seconds {
            return None;
        }
        let moments = self.cells.iter().filter_map(|cell| moment_of_text(cell.text()?.as_bytes()));
        let mut moments: Vec<f64> =
            moments.map(|moment| (if days { moment / 86_400 } else { moment }) as f64).collect();
        moments.sort_unstable_by(f64::total_cmp);
        if self.is_unique {
            let (first, last) = (moments[0], moments[moments.len() - 1]);
            let shown = |value: f64| {
                sqluice_generator::moment_text(value as u64 * if days { 86_400 } else { 1 }, days)
            };
            let function = if days { "date" } else { "timestamp" };
            // Both ends are extended by a year, so that neither is a value.
            let more = if days { 365.0 } else { 365.0 * 86_400.0 };
            return Some(format!(
                "distinct({function}('{}', '{}'))",
                shown((first - more).max(1e6)),
                shown(last + more)
            ));
        }
        Some(numbers(&moments, Form::Moment { is_day: days }, self.rows, Some(self.different)))
    }

    /// Returns the expression for UUIDs, e-mail addresses or links; `None` for other texts.
    fn known_form(&self) -> Option<String> {
        if self.all(is_uuid) {
            return Some(self.pooled("uuid4()"));
        }
        let mails = self.cells.iter().filter(|cell| cell.text().is_some_and(is_email)).count();
        let links = self.cells.iter().filter(|cell| cell.text().is_some_and(is_url)).count();
        let most = self.cells.len() * 95 / 100;
        match () {
            () if mails > most => Some(self.addresses("email()")),
            () if links > most => Some(self.addresses("url()")),
            () => None,
        }
    }

    /// Returns the expression for addresses with the lengths of the texts.
    fn addresses(&self, function: &str) -> String {
        let sized = format!("sized({function}, {})", lengths(self.cells, self.rows));
        if self.is_unique { format!("distinct({sized})") } else { self.pooled(&sized) }
    }

    /// Returns the expression for names of persons, if the column's name announces them and the texts look like names.
    fn names(&self) -> Option<String> {
        let function = self.named?;
        let looks_so = |text: &str| {
            let is_letter = |letter: char| letter.is_alphabetic() || " .'-".contains(letter);
            text.starts_with(char::is_uppercase) && text.chars().all(is_letter)
        };
        let named = self.cells.iter().filter(|cell| cell.text().is_some_and(looks_so)).count();
        let is_named = named * 10 >= self.cells.len() * 9;
        is_named.then(|| if self.is_unique { format!("distinct({function})") } else { self.pooled(function) })
    }

    /// Returns the expression for seconds with a `T`, a fraction or a time zone: `2024-05-06T07:08:09.123Z`. Returns `None` for other
    /// texts.
    fn iso_moments(&self) -> Option<String> {
        let mut places = 0;
        let mut form: Option<(&str, &str)> = None;
        let mut moments = Vec::with_capacity(self.cells.len());
        for cell in self.cells {
            let text = cell.text().filter(|text| text.is_ascii() && text.len() >= 19)?;
            let (between, time) = (&text[10..11], &text[11..19]);
            let rest = &text[19..];
            let digits =
                rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
            let zone = if digits > 0 { &rest[1 + digits..] } else { rest };
            let is_zone = zone.is_empty() || zone == "Z" || zone.starts_with(['+', '-']) && zone.len() <= 6;
            let is_form = (between == "T" || between == " ") && is_zone && digits <= 9;
            if !is_form || form.is_some_and(|form| form != (between, zone)) {
                return None;
            }
            form = Some((between, zone));
            places = places.max(digits);
            moments.push(moment_of_text(format!("{} {time}", &text[..10]).as_bytes())? as f64);
        }
        let (between, zone) = form?;
        moments.sort_unstable_by(f64::total_cmp);
        let seconds = Form::Moment { is_day: false };
        let wrapped = |inner: &str| format!("iso({inner}, {}, {places}, {})", quoted(between), quoted(zone));
        if self.is_unique {
            let (first, last) = (moments[0], moments[moments.len() - 1]);
            let shown = |value: f64| sqluice_generator::moment_text(value as u64, false);
            let year = 365.0 * 86_400.0;
            let ends = (shown((first - year).max(1e6)), shown(last + year));
            return Some(wrapped(&format!("distinct(timestamp('{}', '{}'))", ends.0, ends.1)));
        }
        let different = if places > 0 { None } else { Some(self.different) };
        let made = numbers(&moments, seconds, self.rows, different);
        // The values of a pool are whole times, with their fractions.
        Some(match made.strip_prefix("pool(").and_then(|pool| pool.split_once(", ")) {
            Some((count, inner)) => {
                format!("pool({count}, {})", wrapped(inner.strip_suffix(')').unwrap_or(inner)))
            }
            None if places > 0 => self.pooled(&wrapped(&made)),
            None => wrapped(&made),
        })
    }

    fn pooled(&self, expression: &str) -> String {
        match self.is_unique || self.different >= 0.98 * self.rows as f64 {
            true => expression.to_owned(),
            false => self.limited(self.different, expression),
        }
    }

    /// Limits an expression to a number of different texts. Their row counts are as uneven as those of the column's texts.
    fn limited(&self, different: f64, expression: &str) -> String {
        let Some(exponent) = self.exponent.filter(|_| different >= 2.0) else {
            return limited(different, expression);
        };
        format!("pool({}, {expression}, {exponent})", (different.round() as u64).max(1))
    }

    /// Returns the expression for up to eight patterns, if nearly all texts have one of them.
    fn patterns(&self) -> Option<String> {
        let mut found: HashMap<String, (u64, HashSet<u64>)> = HashMap::new();
        let mut others: Vec<&Cell> = Vec::new();
        for cell in self.cells {
            match cell.text().and_then(pattern) {
                Some(pattern) => {
                    let (count, hashes) = found.entry(pattern).or_default();
                    *count += 1;
                    hashes.extend(cell.hash());
                }
                None => others.push(cell),
            }
        }
        let mut ranked: Vec<(String, u64, usize)> =
            found.into_iter().map(|(pattern, (count, hashes))| (pattern, count, hashes.len())).collect();
        ranked.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let all = self.cells.len() as u64;
        let common = self.common.min(all / 4).max(2);
        ranked.truncate(PATTERNS_MAX);
        ranked.retain(|(_, count, _)| *count >= common);
        let covered: u64 = ranked.iter().map(|(_, count, _)| count).sum();
        if ranked.is_empty() || covered * 100 < all * 95 {
            return None;
        }
        if self.is_unique {
            let [(pattern, ..)] = &ranked[..] else { return None };
            let is_roomy = capacity(pattern) >= 4.0 * self.rows as f64;
            return (covered == all && is_roomy).then(|| format!("distinct(pattern({}))", quoted(pattern)));
        }
        let known: HashSet<&String> = ranked.iter().map(|(pattern, ..)| pattern).collect();
        others = self
            .cells
            .iter()
            .copied()
            .filter(|cell| cell.text().and_then(pattern).is_none_or(|pattern| !known.contains(&pattern)))
            .collect();
        let other_hashes: HashSet<u64> = others.iter().filter_map(|cell| cell.hash()).collect();
        let sampled: usize =
            ranked.iter().map(|(.., different)| different).sum::<usize>() + other_hashes.len();
        let part = |count: u64| (self.rows as f64 * count as f64 / all as f64).max(1.0);
        let different = |sampled_here: usize, count: u64| {
            (self.different * sampled_here as f64 / sampled as f64).clamp(1.0, part(count))
        };
        // With several patterns, the commonest texts may all have the same pattern.
        let texts =
            Texts { exponent: self.exponent.filter(|_| ranked.len() == 1 && others.is_empty()), ..*self };
        let mut options: Vec<String> = ranked
            .iter()
            .map(|(pattern, count, here)| {
                let made = format!("pattern({})", quoted(pattern));
                format!("{}: {count}", texts.limited(different(*here, *count), &made))
            })
            .collect();
        if !others.is_empty() {
            let count = others.len() as u64;
            let made = texts.of_lengths(&others, part(count) as u64, different(other_hashes.len(), count));
            options.push(format!("{made}: {count}"));
        }
        match &options[..] {
            [only] => Some(only.rsplit_once(": ").map_or(only.clone(), |(made, _)| made.to_owned())),
            _ => Some(format!("shares({})", options.join(", "))),
        }
    }

    /// Returns the expression for words or letters that have the lengths of the texts.
    fn of_lengths(&self, cells: &[&Cell], rows: u64, different: f64) -> String {
        let has_words = |cell: &&&Cell| matches!(cell, Cell::Text(bytes, ..) if bytes.contains(&b' '));
        let lengths = lengths(cells, rows);
        let is_prose = 2 * cells.iter().filter(has_words).count() > cells.len();
        let made = if is_prose { format!("prose({lengths})") } else { format!("text({lengths})") };
        let shortest = cells
            .iter()
            .filter_map(|cell| if let Cell::Text(_, count, _) = cell { Some(*count) } else { None })
            .min();
        let may_repeat = is_prose || shortest.unwrap_or(0) < 8;
        match () {
            () if self.is_unique => format!("numbered({made})"),
            () if different < 0.98 * rows as f64 => {
                self.limited(different, &if may_repeat { format!("numbered({made})") } else { made })
            }
            () if may_repeat => format!("numbered({made})"),
            () => made,
        }
    }
}

/// Returns the quantiles of the lengths of texts or blobs.
pub(super) fn lengths(cells: &[&Cell], rows: u64) -> String {
    let length = |cell: &&Cell| match cell {
        Cell::Text(_, length, _) | Cell::Blob(_, length, _) => Some(f64::from(*length)),
        _ => None,
    };
    let mut lengths: Vec<f64> = cells.iter().filter_map(length).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    match (lengths.first(), lengths.last()) {
        (Some(first), Some(last)) if first == last => format!("{first}"),
        (Some(_), Some(_)) => numbers(&lengths, Form::Length, rows, None),
        _ => "0".to_owned(),
    }
}

/// Limits an expression to a number of different values, if this number is less than the number of rows.
pub(super) fn pool(different: f64, rows: u64, expression: &str) -> String {
    if different >= 0.98 * rows as f64 { expression.to_owned() } else { limited(different, expression) }
}

fn limited(different: f64, expression: &str) -> String {
    format!("pool({}, {expression})", (different.round() as u64).max(1))
}

/// Returns a text with A in the place of each capital, a of each other letter, and 9 of each digit, or `None` if the text is long or has
/// unusual punctuation.
fn pattern(text: &str) -> Option<String> {
    if text.is_empty() || text.chars().count() > PATTERN_CHARACTERS_MAX {
        return None;
    }
    let mut pattern = String::new();
    for character in text.chars() {
        match character {
            _ if character.is_numeric() => pattern.push('9'),
            _ if character.is_uppercase() => pattern.push('A'),
            _ if character.is_alphabetic() => pattern.push('a'),
            '\\' => pattern.push_str("\\\\"),
            ' '..='~' => pattern.push(character),
            _ => return None,
        }
    }
    Some(pattern)
}

/// Returns the number of different texts that have a pattern.
fn capacity(pattern: &str) -> f64 {
    let of = |character| match character {
        'A' | 'a' => 26.0,
        '9' => 10.0,
        _ => 1.0,
    };
    pattern.chars().map(of).product()
}

pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, domain)| !name.is_empty() && domain.contains('.') && !text.contains(' '))
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(texts: &[&str], is_unique: bool) -> String {
        let cell = |text: &&str| {
            Cell::Text(
                text.as_bytes().into(),
                text.chars().count() as u32,
                super::super::sketch::hash_bytes(text.as_bytes(), 0),
            )
        };
        let cells: Vec<Cell> = texts.iter().map(cell).collect();
        let different = texts.iter().collect::<HashSet<_>>().len() as f64;
        let cells: Vec<&Cell> = cells.iter().collect();
        Texts {
            cells: &cells,
            rows: texts.len() as u64,
            different,
            is_unique,
            common: 20,
            exponent: None,
            named: None,
        }
        .expression()
    }

    #[test]
    fn codes_of_letters_and_digits_become_a_pattern() {
        assert_eq!(pattern("Ab-12 é'\\").as_deref(), Some("Aa-99 a'\\\\"));
        assert_eq!(pattern("\u{200b}"), None);
        let codes: Vec<String> = (0..40).map(|row| format!("AB-{row:04}")).collect();
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        assert_eq!(expression(&codes, true), "distinct(pattern('AA-9999'))");
        assert_eq!(expression(&codes, false), "pool(40, pattern('AA-9999'))");
    }

    #[test]
    fn uuids_mail_addresses_and_dates_get_their_generator_functions() {
        let uuids = ["550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"];
        assert_eq!(expression(&uuids, false), "uuid4()");
        assert_eq!(expression(&["a@b.org", "c@d.org"], true), "distinct(sized(email(), 7))");
        let days: Vec<String> =
            (0..60).map(|row| format!("2024-{:02}-{:02}", 1 + row % 12, 1 + row % 28)).collect();
        let days: Vec<&str> = days.iter().map(String::as_str).collect();
        assert!(expression(&days, false).contains("quantiles('2024-"));
    }
}
