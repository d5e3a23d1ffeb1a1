//! Functions that change the form of an inner value: `iso` (the format of a time), `sized` (the length of an address) and `grown` (the
//! range).

use std::sync::Arc;

use sqluice_core::batch::{ROWS_MAX, Value};
use sqluice_core::error::Result;

use super::calendar::{SECOND_BYTES, shifted};
use super::spread::{self, Counted, hand_down};
use super::{Arguments, Fault, Function, Generate};
use crate::generator::{ByShare, Class, Domain, Scope, Size, World, draw, draw_at};
use crate::random::{Key, below64};
use crate::vector::{RowRange, Vector};

pub(super) const ISO: Function = Function {
    name: "iso",
    signature: "iso(x, 'T', places, 'Z')",
    about: "the second x with the text 'T' between day and time, a random fraction of that many places, and the text 'Z' at the end",
    example: "iso(timestamp('2024-01-01 00:00:00', '2024-12-31 23:59:59'), 'T', 3, 'Z')",
    build: |arguments| {
        arguments.count(4)?;
        let inner = text(arguments)?;
        let [between, end] = [arguments.text(1)?.to_owned(), arguments.text(3)?.to_owned()];
        let places = arguments.int_within(2, 0, 9)? as usize;
        let map = Map::Iso { between, places, end };
        Ok(Arc::new(Adapted { map, inner, table: Counted::of(arguments) }))
    },
};

pub(super) const GROWN: Function = Function {
    name: "grown",
    signature: "grown(x, span, rows)",
    about: "the integer, day or second x, unchanged in a table of at most that many rows; in a larger table, a random multiple of span is added, so that the range of values grows with the row count",
    example: "grown(int(1, 100), 100, 1000)",
    build: |arguments| {
        arguments.count(3)?;
        let inner = arguments.compile(0)?;
        let (span, rows) =
            (arguments.int_within(1, 1, 1 << 40)?, arguments.int_within(2, 1, i64::MAX)? as u64);
        Ok(Arc::new(Adapted { map: Map::Grown { span, rows }, inner, table: Counted::of(arguments) }))
    },
};

pub(super) const SIZED: Function = Function {
    name: "sized",
    signature: "sized(x, n)",
    about: "the address x, with its name or path shortened or extended to make it n characters long, if possible; different addresses stay different",
    example: "sized(email(), int(18, 40))",
    build: |arguments| {
        arguments.count(2)?;
        let inner = text(arguments)?;
        if inner.domain().is_none() {
            return Err(arguments.wrong(0, "something with a known number of values, such as email or url"));
        }
        let length = arguments.compile(1)?;
        if !length.class().is_number() {
            return Err(arguments.wrong(1, "a number of characters"));
        }
        Ok(Arc::new(Sized { inner, length }))
    },
};

/// Builds the generator of argument 0, whose values must be texts.
fn text(arguments: &Arguments<'_>) -> Result<Arc<dyn Generate>, Fault> {
    let inner = arguments.compile(0)?;
    if inner.class().is_text() { Ok(inner) } else { Err(arguments.wrong(0, "a text")) }
}

#[derive(Clone, Debug)]
enum Map {
    Iso { between: String, places: usize, end: String },
    Grown { span: i64, rows: u64 },
}

#[derive(Debug)]
struct Adapted {
    map: Map,
    inner: Arc<dyn Generate>,
    table: Counted,
}

impl Adapted {
    /// Writes a second in another format: the day, `between`, the time, a random fraction of `places` digits, and `end`. Returns a day
    /// unchanged.
    fn moment(key: Key, row: u64, text: &[u8], (between, places, end): (&str, usize, &str)) -> Vec<u8> {
        if text.len() != SECOND_BYTES {
            return text.to_vec();
        }
        let fraction = if places == 0 {
            String::new()
        } else {
            let number = below64(key.child(3).word(row), 10_u64.pow(places as u32));
            format!(".{number:0places$}")
        };
        [&text[..10], between.as_bytes(), &text[11..], fraction.as_bytes(), end.as_bytes()].concat()
    }
}

impl ByShare for Adapted {
    fn make(&self, at: Scope<'_>, rows: &[u64], shares: &[u64], out: &mut Vector) -> Result<()> {
        let mut inner = Vector::default();
        hand_down(&*self.inner, at.child(0), rows, shares, &mut inner)?;
        let all = self.table.rows(at.world);
        out.values();
        for (index, &row) in rows.iter().enumerate() {
            let value = inner.get(index);
            match (&self.map, value) {
                (Map::Iso { between, places, end }, Value::Text(text)) => {
                    out.push(Value::Text(&Adapted::moment(at.key, row, text, (between, *places, end))));
                }
                (Map::Grown { span, rows }, value) if all > *rows && all < u64::MAX => {
                    // The range grows with 9/8 of the row count, so that a key has enough values for all rows.
                    let steps =
                        (below64(at.key.child(3).word(row), all.saturating_add(all / 8)) / rows) as i64;
                    match value {
                        Value::Int(int) => {
                            out.push(Value::Int(int.saturating_add(span.saturating_mul(steps))))
                        }
                        Value::Text(text) => {
                            let moved = std::str::from_utf8(text).ok();
                            let moved = moved.and_then(|text| shifted(text, span.saturating_mul(steps)));
                            out.push(moved.as_ref().map_or(value, |text| Value::Text(text.as_bytes())));
                        }
                        _ => out.push(value),
                    }
                }
                _ => out.push(value),
            }
        }
        out.settle();
        Ok(())
    }
}

impl Generate for Adapted {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        spread::fill(self, &self.table, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        spread::fill_at(self, &self.table, at, rows, out)
    }

    fn size(&self) -> Size {
        let more = match &self.map {
            Map::Iso { between, places, end } => (between.len() + places + end.len()) as u64,
            Map::Grown { .. } => 0,
        };
        let Size { mean, max } = self.inner.size();
        Size { mean: mean + more, max: 2 * (max + more) }
    }

    fn class(&self) -> Class {
        self.inner.class()
    }

    fn nullable(&self) -> bool {
        self.inner.nullable()
    }

    fn by_share(&self) -> Option<&dyn ByShare> {
        Some(self)
    }
}

/// Addresses of given lengths. An address that is made longer or shorter contains its number, so that different addresses stay different.
#[derive(Debug)]
struct Sized {
    inner: Arc<dyn Generate>,
    length: Arc<dyn Generate>,
}

/// The digits of numbers in base 36. The letters among them also make addresses longer.
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Returns an address with about `wanted` characters. `number` is the number of the address among all addresses.
fn fitted(address: &[u8], number: u64, wanted: usize, key: Key) -> Vec<u8> {
    if address.len() == wanted {
        return address.to_vec();
    }
    let end = address.iter().rposition(|byte| *byte == b'@').unwrap_or(address.len());
    let (name, site) = address.split_at(end);
    let mut digits = Vec::new();
    let mut rest = number;
    while rest > 0 || digits.is_empty() {
        digits.push(DIGITS[(rest % 36) as usize]);
        rest /= 36;
    }
    // A site that leaves no room for a name is replaced by a short one.
    let site =
        if wanted < name.len() + site.len() && !site.is_empty() && wanted < site.len() + digits.len() + 2 {
            &b"@x.example"[..]
        } else {
            site
        };
    let room = wanted.saturating_sub(site.len() + digits.len() + 1);
    let scheme = name.windows(3).position(|three| three == b"://").map_or(1, |at| at + 4);
    let is_link = site.is_empty();
    let host = if is_link {
        name.iter().skip(scheme).position(|byte| *byte == b'/').map_or(name.len(), |at| at + scheme + 1)
    } else {
        1
    };
    let mut made = name[..name.len().min(room.max(host))].to_vec();
    // The hyphen separates the number from the letters before it.
    let filler = room.saturating_sub(made.len());
    made.extend((0..filler as u64).map(|at| DIGITS[10 + below64(key.row(number).word(at), 26) as usize]));
    made.push(b'-');
    made.extend(digits);
    made.extend(site);
    made
}

impl Domain for Sized {
    fn count(&self, world: &World) -> Result<u64> {
        self.inner.domain().map_or(Ok(1), |domain| domain.count(world))
    }

    fn nth(&self, at: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        let (mut addresses, mut lengths) = (Vector::default(), Vector::default());
        if let Some(domain) = self.inner.domain() {
            domain.nth(at.child(0), numbers, &mut addresses)?;
        }
        let key = at.key.child(2);
        let shares: Vec<u64> = numbers.iter().map(|number| key.word(*number)).collect();
        hand_down(&*self.length, at.child(1), numbers, &shares, &mut lengths)?;
        out.values();
        for (index, number) in numbers.iter().enumerate() {
            let wanted = match lengths.get(index) {
                Value::Int(int) => int.clamp(0, 1 << 16) as usize,
                Value::Real(real) => real.clamp(0.0, 65_536.0) as usize,
                _ => 0,
            };
            match addresses.get(index) {
                Value::Text(address) => {
                    out.push(Value::Text(&fitted(address, *number, wanted, at.key.child(3))))
                }
                other => out.push(other),
            }
        }
        out.settle();
        Ok(())
    }

    fn is_endless(&self) -> bool {
        self.inner.domain().is_some_and(Domain::is_endless)
    }
}

impl Generate for Sized {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        draw(self, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        rows.chunks(ROWS_MAX).try_for_each(|rows| draw_at(self, at, rows, out))
    }

    fn size(&self) -> Size {
        Size { mean: self.inner.size().mean, max: self.inner.size().max + (1 << 8) }
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn mail_addresses_and_links_have_the_requested_length() {
        let key = Key::of_column(1, "t", "c");
        for wanted in [18, 25, 60] {
            let mail = |number: u64| fitted(b"jack.kumar@fable.example", number, wanted, key);
            let all: HashSet<Vec<u8>> = (0..2000).map(mail).collect();
            assert_eq!(all.len(), 2000, "{wanted}");
            assert!(all.iter().all(|mail| mail.len() == wanted && mail.ends_with(b".example")), "{wanted}");
            let link = |number: u64| fitted(b"https://fable.example/a/b", number, wanted + 20, key);
            assert!(
                (0..2000)
                    .map(link)
                    .all(|link| link.len() == wanted + 20 && link.starts_with(b"https://fable.example/"))
            );
        }
    }

    #[test]
    fn the_function_iso_writes_a_timestamp_with_separator_fraction_and_zone() {
        let key = Key::of_column(1, "t", "c");
        let text = Adapted::moment(key, 7, b"2024-05-06 07:08:09", ("T", 3, "+02:00"));
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.starts_with("2024-05-06T07:08:09.") && text.ends_with("+02:00") && text.len() == 29,
            "{text}"
        );
    }
}
