//! JSON: objects, one a line ([NDJSON](https://github.com/ndjson/ndjson-spec), JSON Lines) or one after another, or an array of objects,
//! which may be anywhere in a document (`path.rs`).
//!
//! ```text
//!  of_keys ──> names of columns ──> JsonSource::new ──> JsonSource::next_part ──> JsonPart::decode
//!                                                       cut: under a lock         decode: any core
//! ```
//!
//! The reader follows [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259), as serde_json does:
//!
//! * A record is an object. Its keys are columns, in the order of their first occurrences. A key that a record lacks is NULL; the last
//!   value of a repeated key counts. An unknown key that is not skipped ([`Wanted`]) ends the load, which begins again once all keys are
//!   known.
//! * `null` is NULL. `true` and `false` are 1 and 0, or in a TEXT column these words. Integers and decimals are numbers if SQLite has a
//!   number with the same digits (`number.rs`), otherwise text, as always in a TEXT column. So no digit is lost, nor the sign of `-0`.
//! * Strings are text. Arrays and objects within a record are text, too: JSON as it stands in the file.
//! * Lines end with LF or CRLF. A line of white space is no record. A byte order mark is skipped.
//!
//! A malformed record is a bad row, with an error that names file, line and column. The sink may go on after it: the end of a record is
//! known whatever is wrong with it, by the line end, or by quotes and brackets.
//!
//! With [`JsonOptions::lenient`], `NaN` is NULL, `Infinity` and `-Infinity` are floats, and half of a surrogate pair is U+FFFD: Python and
//! JavaScript write these, and JSON does not have them. Within arrays and objects they stay as they are.
//!
//! Invariant: without `lenient`, the records that serde_json reads give its values, and its malformed records are malformed here, for any
//! size of parts. Exceptions are numbers beyond the range of floats, which are no error here, and NUL in keys and values too long for
//! SQLite, which are errors only here.

mod cut;
mod decode;
mod fault;
mod fields;
#[cfg(fuzzing)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
mod nested;
mod number;
mod path;
mod record;
#[cfg(test)]
mod tests;
mod text;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod twins;

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::error::{Place, Result};
use sqluice_core::progress::Amount;
use sqluice_core::setters;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Filled};
use sqluice_core::source::{Part, Source};

use self::cut::Cutter;
use self::decode::{JsonPart, Shared};
pub use self::fields::Wanted;
use self::fields::{Fields, NewKey, Target};
pub use self::path::{RecordsPath, arrays_of_objects};
pub use super::csv::{PART_BYTES, RECORD_BYTES_MAX};
use super::csv::{Renamed, unique};
use crate::text::{HandedOut, Pool};

/// The layout of the records in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each record on a line.
    Lines,
    /// The elements of one array.
    Array,
    /// Objects one after another, each over any number of lines.
    Objects,
}

impl Layout {
    /// Returns the layout of a text that begins with `head`: an array if the text begins with a bracket, objects one after another if the
    /// first object goes on behind the end of its line or another object begins on that line, and lines in all other cases. Returns `None`
    /// if more of the text is needed to decide; never if `head` is the `whole` text.
    pub fn of_text(head: &[u8], whole: bool) -> Option<Layout> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let unless_more = whole.then_some(Layout::Lines);
        match head.first() {
            Some(b'[') => return Some(Layout::Array),
            Some(b'{') => {}
            Some(_) => return Some(Layout::Lines),
            None => return unless_more,
        }
        let (mut depth, mut in_string, mut escaped, mut last) = (0usize, false, false, 0);
        for (at, &byte) in head.iter().enumerate() {
            let rest = &head[at + 1..];
            match byte {
                _ if escaped => escaped = false,
                // A string can't have a line feed: the record is broken, and ends here.
                b'\n' if in_string => return Some(Layout::Lines),
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 1 => {
                    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
                    return match line.trim_ascii_start().first() {
                        Some(b'{') => Some(Layout::Objects),
                        None if line.len() == rest.len() => unless_more,
                        _ => Some(Layout::Lines),
                    };
                }
                b'}' | b']' => depth -= 1,
                // A record goes on behind a line end only if JSON can go on there. Otherwise the record is broken, and ends with the line.
                b'\n' => {
                    let next = rest.trim_ascii_start().first();
                    return match (last, next) {
                        (b'{' | b'[' | b',' | b':', _) | (_, Some(b'}' | b']' | b',')) => {
                            Some(Layout::Objects)
                        }
                        (_, None) => unless_more,
                        _ => Some(Layout::Lines),
                    };
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                last = byte;
            }
        }
        unless_more
    }
}

/// The options for reading a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JsonOptions {
    /// The layout of the records.
    pub layout: Layout,
    /// The path to the array of records, if the array is not the whole document.
    pub records: Option<RecordsPath>,
    /// The number of bytes at or after which a part ends with its record. At most 16 MiB.
    pub part_bytes: usize,
    /// The largest number of bytes of a record, which bounds the memory of a part. At most [`RECORD_BYTES_MAX`].
    pub record_bytes_max: usize,
    /// The unknown keys that are not skipped.
    pub wanted: Wanted,
    /// `true` if `NaN` is NULL, `Infinity` and `-Infinity` are floats, and half of a surrogate pair is U+FFFD; `false` if these are faults.
    pub lenient: bool,
}

setters! { JsonOptions:
    /// Sets the path to the array of records; `None`: the array is the whole document.
    records(path: impl Into<Option<RecordsPath>>) = path.into();
    /// Sets the size from which on a part ends, in bytes: at most 16 MiB.
    part_bytes(bytes: usize) = bytes;
    /// Sets the size of the largest record, in bytes.
    record_bytes_max(bytes: usize) = bytes;
    /// Sets the unknown keys that are not skipped.
    wanted(wanted: Wanted) = wanted;
    /// Reads `NaN`, `Infinity` and halves of surrogate pairs, which JSON does not have.
    lenient(lenient: bool) = lenient;
}

impl JsonOptions {
    /// Creates options for records of the given layout.
    pub fn new(layout: Layout) -> JsonOptions {
        JsonOptions {
            layout,
            records: None,
            part_bytes: PART_BYTES,
            record_bytes_max: RECORD_BYTES_MAX,
            wanted: Wanted::All,
            lenient: false,
        }
    }
}

/// The source of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonColumn {
    /// The index of the key in the `keys` of [`JsonSource::new`], or a constant.
    pub from: ColumnFrom,
    /// `true` if numbers, `true` and `false` are given as they are written: the column has TEXT affinity.
    pub as_text: bool,
}

/// A key of a file, and its first occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name without escapes.
    pub name: String,
    /// The place of the opening quote.
    pub place: Place,
}

/// Makes names of columns for keys: an empty key gets a name, and a key that equals an earlier one (ASCII letters in either case) gets a
/// number. Also returns the renamed keys.
pub fn unique_names(keys: Vec<String>) -> (Vec<String>, Vec<Renamed>) {
    unique(keys)
}

/// A source of the rows of a JSON file.
pub struct JsonSource {
    shared: Arc<Shared>,
    cutter: Cutter,
    part_bytes: usize,
    handed_out: HandedOut,
}

impl JsonSource {
    /// Opens `input`, which messages call `file`. `keys` are the known keys. Rows have a column for each of `columns`, and are numbered
    /// from `rows.start` on; reading stops at `rows.end`. Bad rows count.
    ///
    /// # Errors
    /// If the file can't be read, or is no array where the options ask for one.
    ///
    /// # Panics
    /// If `columns` names a key that does not exist, or a key twice.
    pub fn new(
        input: Box<dyn Read + Send>,
        file: &Path,
        options: &JsonOptions,
        keys: &[String],
        columns: Vec<JsonColumn>,
        rows: Range<u64>,
    ) -> Result<JsonSource> {
        let mut targets = vec![Target::Nothing; keys.len()];
        let mut slots = Vec::new();
        let mut from = Vec::new();
        for column in columns {
            from.push(match column.from {
                ColumnFrom::Field(field) => {
                    assert_eq!(targets[field], Target::Nothing, "a key fills one column");
                    let slot = slots.len();
                    targets[field] = if column.as_text { Target::TextSlot(slot) } else { Target::Slot(slot) };
                    slots.push(field);
                    ColumnFrom::Field(slot)
                }
                constant @ ColumnFrom::Constant(_) => constant,
            });
        }
        let fields = Fields::new(keys, |field| targets[field], options.wanted.clone(), options.lenient);
        let columns = Filled::all(from, slots.len());
        JsonSource::open(input, file, options, fields, (slots, columns), rows)
    }

    /// Opens a file for its unknown keys alone: its parts give no rows to the sink.
    ///
    /// # Errors
    /// If the file can't be read, or is no array where the options ask for one.
    pub fn of_keys(
        input: Box<dyn Read + Send>,
        file: &Path,
        options: &JsonOptions,
        known: &[String],
        rows: Range<u64>,
    ) -> Result<JsonSource> {
        let fields = Fields::new(known, |_| Target::Nothing, options.wanted.clone(), options.lenient);
        let mut source = JsonSource::open(input, file, options, fields, (Vec::new(), Vec::new()), rows)?;
        if let Some(shared) = Arc::get_mut(&mut source.shared) {
            shared.keys_only = true;
        }
        Ok(source)
    }

    fn open(
        input: Box<dyn Read + Send>,
        file: &Path,
        options: &JsonOptions,
        fields: Fields,
        (slots, columns): (Vec<usize>, Vec<Filled>),
        rows: Range<u64>,
    ) -> Result<JsonSource> {
        let record_bytes_max = options.record_bytes_max.min(RECORD_BYTES_MAX);
        let path = options.records.as_ref();
        let cutter = Cutter::new(input, file.to_owned(), options.layout, path, record_bytes_max, rows)?;
        let shared = Shared {
            file: file.to_owned(),
            layout: options.layout,
            record_bytes_max,
            fields,
            columns,
            slots,
            keys_only: false,
            found: Mutex::default(),
            met_new: AtomicBool::new(false),
            pool: Pool::default(),
        };
        Ok(JsonSource {
            shared: Arc::new(shared),
            cutter,
            part_bytes: options.part_bytes.clamp(1, 16 << 20),
            handed_out: HandedOut::default(),
        })
    }

    /// Sets the counter of progress. Progress is in raw bytes of the file, compressed or not: the reader of the file counts them in `read`;
    /// `total` is their number. Without `read`, progress is in bytes of text; without `total`, the total is unknown.
    #[must_use]
    pub fn with_progress(mut self, read: Option<Arc<AtomicU64>>, total: Option<u64>) -> JsonSource {
        self.handed_out = HandedOut::new(read, total);
        self
    }

    /// Returns the unknown keys that the source meets while it is read. They remain available after the source is dropped.
    pub fn new_keys(&self) -> NewKeysMet {
        NewKeysMet(Arc::clone(&self.shared))
    }
}

/// The unknown keys that a source meets.
pub struct NewKeysMet(Arc<Shared>);

impl NewKeysMet {
    /// Returns `true` if a part has failed because of an unknown key.
    pub fn any(&self) -> bool {
        self.0.met_new.load(Ordering::Relaxed)
    }

    /// Takes the unknown keys of [`JsonSource::of_keys`], in the order of their first occurrences. A second call returns none.
    pub fn all(&self) -> Vec<Key> {
        let mut found = std::mem::take(&mut *self.0.found.lock().unwrap_or_else(PoisonError::into_inner));
        found.sort_by_key(|(first_record, _)| *first_record);
        let mut keys: Vec<Key> = Vec::new();
        let mut names = std::collections::HashSet::new();
        for NewKey { name, at } in found.into_iter().flat_map(|(_, keys)| keys) {
            if names.insert(name.clone()) {
                keys.push(Key { name, place: at.place(&self.0.file) });
            }
        }
        keys
    }
}

impl Source for JsonSource {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(cut) = self.cutter.next(self.shared.pool.data(), self.part_bytes)? else { return Ok(None) };
        let input_bytes = self.handed_out.next(self.cutter.at().byte);
        let raw_bytes = cut.data.len();
        Ok(Some(Box::new(JsonPart { shared: Arc::clone(&self.shared), cut, input_bytes, raw_bytes })))
    }

    fn total(&self) -> Option<Amount> {
        self.handed_out.total()
    }
}

impl Counted for JsonSource {
    fn rows_done(&self) -> u64 {
        self.cutter.records_done()
    }
}
