//! The findings in one column without a mask.
//!
//! ```text
//!  text ──┬── as a whole ──────── forms (e-mail address, card, name, ...); the text of a masked column?
//!         ├── inside ──────────── forms that no other text has by chance
//!         └── strings of JSON ─── both, and keys such as `password`
//!  blob ───── readable parts ──── as texts
//! ```
//!
//! Some forms count only if a sufficient share of the similar values has them, in the whole column or in a block of rows. Blocks find a few
//! names that stand together among many other values.

use std::collections::{BTreeMap, HashMap};

use sqluice_core::batch::{Column, Value, Values};

use super::inside::{is_json, json_values, readable};
use super::masked_texts::{KnownTexts, hash_of};
use crate::personal::{self, FormCounts, ValueForms, forms_inside, forms_of};
use crate::profile::hash_bytes;

/// The number of rows of a block.
const BLOCK_ROWS: usize = 256;

/// The least number of values of a block that must have a form.
const BLOCK_VALUES_MIN: usize = 16;

/// The least number of different values with a form in a block.
const BLOCK_DIFFERENT_MIN: usize = 4;

/// The largest number of bytes of a text whose form as a whole is determined.
const WHOLE_BYTES_MAX: usize = 200;

/// The largest number of values of a column whose results are kept.
const KNOWN_VALUES_MAX: usize = 512;

/// The number of values whose results a thread keeps, for all columns together.
const KNOWN_VALUES_OF_ALL: usize = 10_000;

/// The largest number of keys whose kinds are kept.
const KNOWN_KEYS_MAX: usize = 1000;

/// The largest number of kinds of personal data that keys inside one value suggest.
const KEYED_MAX: usize = 4;

/// The least integer with the digits of a card.
const CARD_MIN: u64 = 1_000_000_000_000;

/// The result for one value.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    forms: ValueForms,
    /// The number of the masked column that has the text, if any.
    place: Option<u16>,
    is_json: bool,
    /// The kinds of personal data that keys in JSON suggest.
    keyed: [Option<&'static str>; KEYED_MAX],
}

/// The kinds of personal data that keys suggest, for keys that were seen.
#[derive(Debug, Default)]
pub(super) struct Keys(HashMap<String, Option<&'static str>>);

impl Keys {
    /// Returns the kind of a value beside this key, unless the value is empty or a switch.
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

/// The findings in a column, of the rows that one thread has seen.
pub(super) struct ColumnFindings {
    /// The number of values that are not NULL.
    pub(super) values: u64,
    pub(super) blobs: u64,
    /// The number of values that are JSON.
    pub(super) json: u64,
    forms: FormCounts,
    /// The forms that a sufficient share of the values of some block has, as a set of bits.
    of_blocks: u8,
    /// The number of values by the kind that their keys suggest.
    pub(super) keyed: BTreeMap<&'static str, u64>,
    /// The number of values that also stand in a masked column, by the number of this column.
    pub(super) places: BTreeMap<u16, u64>,
    block: Block,
    keys: Keys,
    /// The results for values that were seen, by their hashes. Empty before the first text.
    known: Vec<Option<(u64, Verdict)>>,
    known_max: usize,
}

/// The findings in the current block of rows.
#[derive(Default)]
struct Block {
    forms: FormCounts,
    /// The hashes of the values with a form.
    hashes: Vec<u64>,
}

impl ColumnFindings {
    /// Creates the findings of one of `columns` columns.
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

    /// Looks at the values of a batch.
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

    /// Counts a value beside a key.
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
            // Malformed text is searched like a blob.
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
