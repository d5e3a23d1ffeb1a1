//! The keys that are known, and which column each fills.

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

/// The keys of a file, as far as they are known, in the order in which they come first.
#[derive(Debug)]
pub(super) struct Fields {
    known: Vec<Known>,
    by_name: HashMap<Vec<u8>, usize>,
    wanted: Wanted,
}

/// A key that is known.
#[derive(Debug)]
struct Known {
    /// As most writers write it: with its quotes and colon.
    written: Vec<u8>,
    /// The first bytes of that, and which bits of a word they are.
    start: u128,
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

    /// Whether it is what `text` begins with.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        match text.first_chunk() {
            Some(start) if (u128::from_le_bytes(*start) ^ self.start) & self.mask != 0 => false,
            Some(_) if self.written.len() <= 16 => true,
            _ => text.starts_with(&self.written),
        }
    }
}

/// How the value of a key is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// It is skipped.
    Nothing,
    /// It is stored in this slot.
    Slot(usize),
    /// It is stored in this slot, numbers as they are written: the column has TEXT affinity.
    TextSlot(usize),
}

/// Which of the keys that are not known matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Any: it becomes a column.
    All,
    /// Those with these names (ASCII letters in either case).
    Named(Vec<String>),
}

impl Wanted {
    /// Whether a key of that name matters.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Named(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
        }
    }
}

/// What is known of a key that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyMatch {
    Known(usize),
    /// The load does not use it.
    Unwanted,
    New(String),
}

/// A key with its quotes and colon as it stands in a record. One that needs an escape can be written in several ways, and without one
/// would mean something else: it is found by its name alone.
fn written(name: &str) -> Vec<u8> {
    let needs_escape = name.bytes().any(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\'));
    if needs_escape { vec![0xff] } else { format!("\"{name}\":").into_bytes() }
}

/// How many keys after the expected one are tried before the name is looked up: records leave some out.
const TRIED: usize = 4;

impl Fields {
    pub(super) fn new(keys: &[String], target: impl Fn(usize) -> Target, wanted: Wanted) -> Fields {
        let known = keys.iter().enumerate().map(|(field, name)| Known::new(written(name), target(field)));
        let by_name = keys.iter().enumerate().map(|(field, name)| (name.clone().into_bytes(), field));
        Fields { known: known.collect(), by_name: by_name.collect(), wanted }
    }

    pub(super) fn target(&self, field: usize) -> Target {
        self.known[field].target
    }

    /// The key whose quote is at `at` if it is the one that is expected, or soon after it: how its value is handled, and where that begins.
    #[inline]
    pub(super) fn expected(&self, data: &[u8], at: usize, next: usize) -> Option<(usize, Target, usize)> {
        let rest = &data[at..];
        let candidates = self.known.get(next..)?;
        let tried = candidates.iter().take(TRIED).position(|known| known.begins(rest))?;
        let known = &candidates[tried];
        Some((next + tried, known.target, at + known.written.len()))
    }

    /// The key that is `text` between its quotes.
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

/// Keys that are not known yet, each once, in the order in which they come first.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    /// With the byte where each is.
    pub(super) keys: Vec<(String, usize)>,
    /// The place of each in `keys`.
    places: HashMap<String, usize>,
    /// The one after the last that was met.
    next: usize,
}

impl NewKeys {
    /// Whether `text` without escapes is a key that is here and follows the last that was met: most records are alike.
    pub(super) fn follows(&mut self, text: &[u8]) -> bool {
        let next = if self.next < self.keys.len() { self.next } else { 0 };
        let follows = self.keys.get(next).is_some_and(|(name, _)| name.as_bytes() == text);
        if follows {
            self.next = next + 1;
        }
        follows
    }

    /// More than a table has columns are of no use.
    pub(super) fn add(&mut self, name: String, at: usize) {
        if let Some(place) = self.places.get(&name) {
            self.next = place + 1;
        } else if self.keys.len() <= COLUMNS_MAX {
            self.places.insert(name.clone(), self.keys.len());
            self.keys.push((name, at));
            self.next = self.keys.len();
        }
    }

    /// Forgets all but the first: they are those of a record that is bad.
    pub(super) fn truncate(&mut self, keys: usize) {
        for (name, _) in self.keys.drain(keys..) {
            self.places.remove(&name);
        }
    }
}
