//! The known keys of a file, and the column that each key fills.

use std::collections::HashMap;

use super::super::csv::COLUMNS_MAX;
use super::text::unescape;
use crate::text::Position;

/// A key and its first occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewKey {
    pub(super) name: String,
    pub(super) at: Position,
}

/// The known keys of a file, in the order of their first occurrences.
#[derive(Debug)]
pub(super) struct Fields {
    known: Vec<Known>,
    by_name: HashMap<Vec<u8>, usize>,
    wanted: Wanted,
    /// `true` if `NaN`, `Infinity` and halves of surrogate pairs are read.
    pub(super) lenient: bool,
}

/// A known key.
#[derive(Debug)]
struct Known {
    /// The key in its most common form: with its quotes and colon.
    written: Vec<u8>,
    /// The first 16 bytes of `written`, or all if there are fewer, as a little-endian word.
    start: u128,
    /// The bits that these bytes have in the word.
    mask: u128,
    target: Target,
}

impl Known {
    fn new(written: Vec<u8>, target: Target) -> Known {
        let mut start = [0; 16];
        let bytes = written.len().min(start.len());
        start[..bytes].copy_from_slice(&written[..bytes]);
        let mask = u128::MAX >> (128 - 8 * bytes);
        Known { written, start: u128::from_le_bytes(start), mask, target }
    }

    /// Returns `true` if `text` begins with the key.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        match text.first_chunk() {
            Some(start) if (u128::from_le_bytes(*start) ^ self.start) & self.mask != 0 => false,
            Some(_) if self.written.len() <= 16 => true,
            _ => text.starts_with(&self.written),
        }
    }
}

/// The destination of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The value is skipped.
    Nothing,
    /// The value is stored in this slot.
    Slot(usize),
    /// The value is stored in this slot, numbers as they are written: the column has TEXT affinity.
    TextSlot(usize),
}

/// The unknown keys that are not skipped: a new column is needed for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All keys: each becomes a column.
    All,
    /// The keys with these names, in either case of ASCII letters.
    Named(Vec<String>),
}

impl Wanted {
    /// Returns `true` if an unknown key with the given name is not skipped.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Named(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
        }
    }
}

/// The result of looking up a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyMatch {
    /// The known key with this index.
    Known(usize),
    /// A key that the load does not use.
    Unwanted,
    New(String),
}

/// Returns a key with its quotes and colon, as it stands in a record. A key that needs an escape can be written in several ways, and means
/// something else without the escape. Such a key is found only by its name, so the result matches nothing.
fn written(name: &str) -> Vec<u8> {
    let needs_escape = name.bytes().any(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\'));
    if needs_escape { vec![0xff] } else { format!("\"{name}\":").into_bytes() }
}

/// The number of keys, from the expected one on, that are compared before the name is looked up: records may lack some keys.
const TRIED: usize = 4;

impl Fields {
    pub(super) fn new(
        keys: &[String],
        target: impl Fn(usize) -> Target,
        wanted: Wanted,
        lenient: bool,
    ) -> Fields {
        let known = keys.iter().enumerate().map(|(field, name)| Known::new(written(name), target(field)));
        let by_name = keys.iter().enumerate().map(|(field, name)| (name.clone().into_bytes(), field));
        Fields { known: known.collect(), by_name: by_name.collect(), wanted, lenient }
    }

    pub(super) fn target(&self, field: usize) -> Target {
        self.known[field].target
    }

    /// Compares the key whose quote is at `at` with the expected key and a few keys after it. Returns the field, the target of its value,
    /// and the start of the value.
    #[inline]
    pub(super) fn expected(&self, data: &[u8], at: usize, next: usize) -> Option<(usize, Target, usize)> {
        let rest = &data[at..];
        let candidates = self.known.get(next..)?;
        let tried = candidates.iter().take(TRIED).position(|known| known.begins(rest))?;
        let known = &candidates[tried];
        Some((next + tried, known.target, at + known.written.len()))
    }

    /// Looks up the key with the given text between its quotes.
    pub(super) fn find(&self, text: &[u8], escapes: bool) -> KeyMatch {
        let mut unescaped = Vec::new();
        let name = if escapes {
            unescape(text, &mut unescaped);
            &unescaped
        } else {
            text
        };
        if let Some(&field) = self.by_name.get(name) {
            return KeyMatch::Known(field);
        }
        let name = String::from_utf8_lossy(name);
        if self.wanted.has(&name) { KeyMatch::New(name.into_owned()) } else { KeyMatch::Unwanted }
    }
}

/// Keys that are not known yet, each once, in the order of their first occurrences.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    /// Each key with the offset of its first occurrence.
    pub(super) keys: Vec<(String, usize)>,
    /// The index of each key in `keys`.
    places: HashMap<String, usize>,
    /// The index of the key after the last one that was met.
    next: usize,
}

impl NewKeys {
    /// Returns `true` if `text`, without escapes, is the key after the last one that was met: most records have the same keys in the same
    /// order.
    pub(super) fn follows(&mut self, text: &[u8]) -> bool {
        let next = if self.next < self.keys.len() { self.next } else { 0 };
        let follows = self.keys.get(next).is_some_and(|(name, _)| name.as_bytes() == text);
        if follows {
            self.next = next + 1;
        }
        follows
    }

    /// Adds a key, unless it is here already. Drops the key if there are already more keys than a table can have columns.
    pub(super) fn add(&mut self, name: String, at: usize) {
        if let Some(place) = self.places.get(&name) {
            self.next = place + 1;
        } else if self.keys.len() <= COLUMNS_MAX {
            self.places.insert(name.clone(), self.keys.len());
            self.keys.push((name, at));
            self.next = self.keys.len();
        }
    }

    /// Removes all but the first `keys` keys: the later keys are from a bad record.
    pub(super) fn truncate(&mut self, keys: usize) {
        for (name, _) in self.keys.drain(keys..) {
            self.places.remove(&name);
        }
    }
}
