//! JSON: objects, one a line ([NDJSON](https://github.com/ndjson/ndjson-spec), JSON Lines) or one after another, or an array of them,
//! which may be anywhere in a document (`path.rs`).
//!
//! ```text
//!  keys_of ──> names of columns ──> JsonSource::new ──> JsonSource::next_part ──> JsonPart::decode
//!                                                       cut: under a lock         decode: any core
//! ```
//!
//! What is read ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259), as serde_json does):
//!
//! * A record is an object. Its keys are columns, in the order in which they come first; a key that a record does not have is NULL,
//!   one that it has twice has the later value. A key that is not known ends the load, which begins again when all keys are known.
//! * `null` is NULL; `true` and `false` are 1 and 0, or in a TEXT column these words. Integers and decimals are numbers if SQLite's say
//!   the same (`number.rs`), otherwise text, as they are in a TEXT column. So no digit is lost, nor the sign of `-0`.
//! * Strings are text. Arrays and objects within a record are text, too: JSON as it stands in the file.
//! * Lines end with LF or CRLF; what has only white space on it is no record. A byte order mark is skipped.
//!
//! What is malformed is a bad row, with an error that names file, line and column. The sink may go on after it: where a record ends is
//! known whatever is wrong with it, by the line end, or elsewhere by quotes and brackets.
//!
//! Invariant: values and errors equal those of serde_json, for any input and any size of parts; but a number beyond the range of floats
//! is no error.

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

/// Where records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each on a line.
    Lines,
    /// Between the brackets of one array.
    Array,
    /// One after another, each over as many lines as it likes.
    Objects,
}

impl Layout {
    /// Of a text that begins with `head`: an array if that is a bracket; objects one after another where the first one goes on
    /// behind the end of its line, or another begins on it; else lines. `None`: more of the text decides, unless this is the `whole`.
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
                // No string has one: the record is broken, and ends here.
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
                // A record that is cut off is broken: only where it can go on it does.
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

/// How a file is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JsonOptions {
    /// Where records are.
    pub layout: Layout,
    /// The array that they are in, where it is not the whole document.
    pub records: Option<RecordsPath>,
    /// Parts end with the first record at or after this many bytes. At most 16 MiB.
    pub part_bytes: usize,
    /// A longer record is an error: it bounds the memory of one part. At most [`RECORD_BYTES_MAX`].
    pub record_bytes_max: usize,
    /// Which keys that are not known matter; all others are gone past.
    pub wanted: Wanted,
}

setters! { JsonOptions:
    /// Sets where the array of records is; `None`: the array is the whole document.
    records(path: impl Into<Option<RecordsPath>>) = path.into();
    /// Sets the size from which on a part ends, in bytes: at most 16 MiB.
    part_bytes(bytes: usize) = bytes;
    /// Sets the size of the largest record, in bytes.
    record_bytes_max(bytes: usize) = bytes;
    /// Sets which unknown keys matter.
    wanted(wanted: Wanted) = wanted;
}

impl JsonOptions {
    /// Of records of that layout.
    pub fn new(layout: Layout) -> JsonOptions {
        JsonOptions {
            layout,
            records: None,
            part_bytes: PART_BYTES,
            record_bytes_max: RECORD_BYTES_MAX,
            wanted: Wanted::All,
        }
    }
}

/// What fills a column.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonColumn {
    /// The key, by its index, or a constant.
    pub from: ColumnFrom,
    /// Numbers, `true` and `false` are given as they are written: the column has TEXT affinity.
    pub as_text: bool,
}

/// A key of a file, and its first occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Without escapes.
    pub name: String,
    /// Its opening quote.
    pub place: Place,
}

/// Names of columns for keys: an empty one gets a name, and one that an earlier one has (ASCII letters in either case) a
/// number. Also which these are.
pub fn unique_names(keys: Vec<String>) -> (Vec<String>, Vec<Renamed>) {
    unique(keys)
}

/// A file whose rows can be read.
pub struct JsonSource {
    shared: Arc<Shared>,
    cutter: Cutter,
    part_bytes: usize,
    handed_out: HandedOut,
}

impl JsonSource {
    /// The rows of `input`, which messages call `file`; `keys` are those that are known. They have a column for each of
    /// `columns`, and are numbered from `rows.start` on; at `rows.end` reading stops. Bad rows count.
    ///
    /// # Errors
    /// When it can't be read, or is no array where it should be one.
    ///
    /// # Panics
    /// When `columns` names a key that there is not, or the same one twice.
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
        let fields = Fields::new(keys, |field| targets[field], options.wanted.clone());
        let columns = Filled::all(from, slots.len());
        JsonSource::open(input, file, options, fields, (slots, columns), rows)
    }

    /// Opens a file for its unknown keys alone: its parts give no rows to the sink.
    ///
    /// # Errors
    /// When it can't be read, or is no array where it should be one.
    pub fn of_keys(
        input: Box<dyn Read + Send>,
        file: &Path,
        options: &JsonOptions,
        known: &[String],
        rows: Range<u64>,
    ) -> Result<JsonSource> {
        let fields = Fields::new(known, |_| Target::Nothing, options.wanted.clone());
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

    /// Input counts in the bytes of the file as it lies there, which may be compressed: `read` of them so far, as the reader of the file
    /// keeps counting, and `total` in all. What is not given: bytes of text, and an unknown total.
    #[must_use]
    pub fn with_progress(mut self, read: Option<Arc<AtomicU64>>, total: Option<u64>) -> JsonSource {
        self.handed_out = HandedOut::new(read, total);
        self
    }

    /// What is met of keys that are not known, also when the source itself is gone.
    pub fn new_keys(&self) -> NewKeysMet {
        NewKeysMet(Arc::clone(&self.shared))
    }
}

/// What a source meets of keys that are not known.
pub struct NewKeysMet(Arc<Shared>);

impl NewKeysMet {
    /// Whether a part has failed because of one.
    pub fn any(&self) -> bool {
        self.0.met_new.load(Ordering::Relaxed)
    }

    /// Those of [`JsonSource::of_keys`], in the order in which they come first.
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
