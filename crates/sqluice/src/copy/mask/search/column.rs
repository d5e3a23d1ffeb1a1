//! Searches the values of one column without a mask, and keeps the findings.
//!
//! ```text
//!  text ──┬── the whole text ────── has a form (e-mail address, card, name, ...)? is it also in a masked column?
//!         ├── parts of the text ─── have a form that no other text has by chance?
//!         └── strings in JSON ───── both; and do the keys suggest personal data, such as `password`?
//!  blob ───── readable parts ────── searched as texts
//! ```
//!
//! A single value has some forms by chance. These forms are reported only if a sufficient share of the values has them, in the whole
//! column or in a block of rows. Blocks find a few names that are neighbours among many other values.

use std::collections::{BTreeMap, HashMap};

use sqluice_core::batch::{Column, Value, Values};

use super::inside::{is_json, json_values, readable};
use super::masked_texts::{KnownTexts, hash_of};
use crate::personal::{self, FormCounts, ValueForms, forms_inside, forms_of};
use crate::profile::hash_bytes;

/// The number of rows of a block, a stretch of the column whose values are also judged by themselves.
const BLOCK_ROWS: usize = 256;

/// The minimum number of values of a block that must have a form.
const BLOCK_VALUES_MIN: usize = 16;

/// The minimum number of different values of a block that must have a form.
const BLOCK_DIFFERENT_MIN: usize = 4;

/// The maximum number of bytes of a text that is tested as a whole. In a longer text, only parts are searched for forms.
const WHOLE_BYTES_MAX: usize = 200;

/// The maximum number of results that a thread keeps for the different values of one column, in case the values are repeated.
const KNOWN_VALUES_MAX: usize = 512;

/// The maximum number of results that a thread keeps for the values of all columns that it searches together.
const KNOWN_VALUES_OF_ALL: usize = 10_000;

/// The maximum number of keys for which the suggested kind of personal data is kept.
const KNOWN_KEYS_MAX: usize = 1000;

/// The maximum number of kinds of personal data that are recorded for the keys inside one value.
const KEYED_MAX: usize = 4;

/// The smallest integer that has as many digits as a card number.
const CARD_MIN: u64 = 1_000_000_000_000;

/// The result for one value.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    forms: ValueForms,
    /// The index, in the search's list of masked columns, of a column that has the text, or a text inside the value; `None` if no masked
    /// column is known to have one.
    place: Option<u16>,
    is_json: bool,
    /// The kinds of personal data that keys in JSON suggest.
    keyed: [Option<&'static str>; KEYED_MAX],
}

/// A cache of the kinds of personal data that keys suggest, for the first [`KNOWN_KEYS_MAX`] keys.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<String, Option<&'static str>>);

impl Keys {
    /// Returns the kind of personal data that a key suggests for its value. Returns `None` if it suggests none, or if the value is empty or
    /// a switch such as `on`.
    pub(super) fn kind(&mut self, key: &str, value: &[u8]) -> Option<&'static str> {
        if key.is_empty() || !is_telling(value) {
            return None;
        }
        if let Some(kind) = self.0.get(key) {
            return *kind;
        }
        let kind = personal::by_key(key);
        if self.0.len() < KNOWN_KEYS_MAX {
            self.0.insert(key.to_owned(), kind);
        }
        kind
    }
}

/// Returns `true` if a value is neither empty nor a switch such as `on`.
fn is_telling(value: &[u8]) -> bool {
    let switches = ["", "0", "1", "true", "false", "yes", "no", "on", "off", "null", "none"];
    !switches.iter().any(|switch| value.eq_ignore_ascii_case(switch.as_bytes()))
}

/// The findings in one column, among the rows that one thread has read.
pub(super) struct ColumnFindings {
    /// The number of values that are not NULL.
    pub(super) values: u64,
    pub(super) blobs: u64,
    /// The number of texts that are JSON.
    pub(super) json: u64,
    forms: FormCounts,
    /// The forms, as a set of bits, that a sufficient share of the values has in at least one block.
    of_blocks: u8,
    /// For each kind of personal data, the number of values with a key that suggests this kind.
    pub(super) keyed: BTreeMap<&'static str, u64>,
    /// For each masked column, by its index in the search's list of masked columns: the number of values that are or
    /// contain a text of this column.
    pub(super) places: BTreeMap<u16, u64>,
    block: Block,
    keys: Keys,
    /// The results for values that were seen, each with the hash of its value; empty until the first text.
    known: Vec<Option<(u64, Verdict)>>,
    known_max: usize,
}

/// The findings in the current block of rows.
#[derive(Default)]
struct Block {
    forms: FormCounts,
    /// The hashes of the block's values that have a form.
    hashes: Vec<u64>,
}

impl ColumnFindings {
    /// Creates empty findings for a column. `columns` is the number of columns that the thread searches, which share its cache.
    pub(super) fn new(columns: usize) -> ColumnFindings {
        ColumnFindings {
            values: 0,
            blobs: 0,
            json: 0,
            forms: FormCounts::default(),
            of_blocks: 0,
            keyed: BTreeMap::new(),
            places: BTreeMap::new(),
            block: Block::default(),
            keys: Keys::default(),
            known: Vec::new(),
            known_max: (KNOWN_VALUES_OF_ALL / columns.max(1)).clamp(1, KNOWN_VALUES_MAX),
        }
    }

    /// Searches the values of a batch, and adds the findings.
    pub(super) fn add(&mut self, column: &Column<'_>, rows: usize, texts: &KnownTexts) {
        if let (Values::Null, _) | (Values::Real(_), None) = (&column.values, column.validity) {
            self.values += if matches!(column.values, Values::Null) { 0 } else { rows as u64 };
            return;
        }
        if let (Values::Int(ints), None) = (&column.values, column.validity)
            && ints[..rows].iter().all(|int| int.unsigned_abs() < CARD_MIN)
        {
            self.values += rows as u64;
            return;
        }
        for first in (0..rows).step_by(BLOCK_ROWS) {
            for row in first..rows.min(first + BLOCK_ROWS) {
                self.add_value(column.get(row), texts);
            }
            self.end_block();
        }
    }

    fn add_value(&mut self, value: Value<'_>, texts: &KnownTexts) {
        self.values += u64::from(value != Value::Null);
        match value {
            Value::Null | Value::Real(_) => {}
            Value::Int(int) if int.unsigned_abs() < CARD_MIN => {}
            Value::Int(int) => {
                let forms = forms_of(int.to_string().as_bytes());
                self.count(Verdict { forms, ..Verdict::default() }, int.cast_unsigned());
            }
            Value::Text(text) => {
                self.known.resize(self.known_max, None);
                let hash = hash_bytes(text, 0);
                let place = hash as usize % self.known_max;
                let known = self.known[place].filter(|(known, _)| *known == hash);
                let verdict = known.map_or_else(|| self.of_text(text, hash, texts), |(_, verdict)| verdict);
                self.known[place] = Some((hash, verdict));
                self.count(verdict, hash);
            }
            Value::Blob(blob) => {
                self.blobs += 1;
                let verdict = self.of_blob(blob, texts);
                self.count(verdict, hash_bytes(blob, 1));
            }
        }
    }

    fn count(&mut self, verdict: Verdict, hash: u64) {
        self.json += u64::from(verdict.is_json);
        verdict.place.into_iter().for_each(|masked| *self.places.entry(masked).or_default() += 1);
        verdict.keyed.into_iter().flatten().for_each(|kind| self.count_key(kind));
        if verdict.forms.is_similar != 0 {
            self.forms.add(verdict.forms);
            self.block.forms.add(verdict.forms);
            if verdict.forms.has != 0 {
                self.block.hashes.push(hash);
            }
        }
    }

    /// Counts a value whose key suggests a kind of personal data.
    pub(super) fn count_key(&mut self, kind: &'static str) {
        *self.keyed.entry(kind).or_default() += 1;
    }

    fn end_block(&mut self) {
        let Block { forms, hashes } = &mut self.block;
        if hashes.len() >= BLOCK_VALUES_MIN {
            hashes.sort_unstable();
            hashes.dedup();
            if hashes.len() >= BLOCK_DIFFERENT_MIN {
                self.of_blocks |= forms.enough(BLOCK_VALUES_MIN as u64);
            }
        }
        hashes.clear();
        *forms = FormCounts::default();
    }

    fn of_text(&mut self, text: &[u8], hash: u64, texts: &KnownTexts) -> Verdict {
        let mut verdict = Verdict { place: texts.column_of(hash), ..Verdict::default() };
        if is_json(text) {
            verdict.is_json = true;
            self.add_json(&mut verdict, text, texts);
        } else if std::str::from_utf8(text).is_ok() {
            verdict.forms = forms(text);
        } else {
            // Text that is not UTF-8 is searched like a blob: only its readable parts.
            readable(text, |part| verdict.add(part.as_bytes(), texts));
        }
        verdict
    }

    fn of_blob(&mut self, blob: &[u8], texts: &KnownTexts) -> Verdict {
        let mut verdict = Verdict { place: place(blob, texts), ..Verdict::default() };
        if is_json(blob) {
            self.add_json(&mut verdict, blob, texts);
        }
        readable(blob, |text| verdict.add(text.as_bytes(), texts));
        verdict
    }

    fn add_json(&mut self, verdict: &mut Verdict, json: &[u8], texts: &KnownTexts) {
        json_values(json, |value| {
            verdict.add(value.text.as_bytes(), texts);
            let Some(kind) = self.keys.kind(&value.key, value.text.as_bytes()) else { return };
            let mut free = verdict.keyed.iter_mut().take_while(|known| **known != Some(kind));
            if let Some(free) = free.find(|known| known.is_none()) {
                *free = Some(kind);
            }
        });
    }

    /// Adds the findings of another thread.
    pub(super) fn merge(&mut self, other: ColumnFindings) {
        self.values += other.values;
        self.blobs += other.blobs;
        self.json += other.json;
        self.forms.merge(&other.forms);
        self.of_blocks |= other.of_blocks;
        other.keyed.into_iter().for_each(|(kind, count)| *self.keyed.entry(kind).or_default() += count);
        other.places.into_iter().for_each(|(masked, count)| *self.places.entry(masked).or_default() += count);
    }

    /// Returns the kinds of personal data that the forms of the values show, each with the number of values.
    pub(super) fn kinds(&self) -> Vec<(&'static str, u64)> {
        let mut left = self.forms.enough(1) | self.of_blocks;
        let mut kinds: Vec<(&str, u64)> = Vec::new();
        while let Some((what, count)) = self.forms.first_of(left) {
            // Names have two forms, which are counted together.
            match kinds.last_mut().filter(|(last, _)| *last == what) {
                Some((_, known)) => *known += count,
                None => kinds.push((what, count)),
            }
            left &= left - 1;
        }
        kinds
    }
}

impl Verdict {
    /// Adds the findings in a part of the value.
    fn add(&mut self, part: &[u8], texts: &KnownTexts) {
        let forms = forms(part);
        self.forms.has |= forms.has;
        self.forms.is_similar |= forms.is_similar;
        self.place = self.place.or_else(|| place(part, texts));
    }
}

fn place(text: &[u8], texts: &KnownTexts) -> Option<u16> {
    hash_of(text).and_then(|hash| texts.column_of(hash))
}

/// Returns the forms that a text has as a whole, and the forms of its parts.
fn forms(text: &[u8]) -> ValueForms {
    let whole = if text.len() <= WHOLE_BYTES_MAX { forms_of(text) } else { ValueForms::default() };
    if !text.iter().any(|byte| byte.is_ascii_digit() || *byte == b'@') {
        return whole;
    }
    let inside = forms_inside(text);
    ValueForms { has: whole.has | inside.has, is_similar: whole.is_similar | inside.is_similar }
}
