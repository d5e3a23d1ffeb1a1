//! Finds masks that hide little, by the first rows of each masked table.
//!
//! | mask | reported as weak if |
//! |---|---|
//! | `shape()` | half of the values have few possible values of the same form |
//! | `permute(a, b)` | the range is small |
//! | `shift(days, column)` | there is no column, the days are few, or values are 0, -1, years, or no dates |
//! | `noise(share)` | values are 0, small numbers, often equal, or no numbers |
//! | `choice(...)` and others | there are fewer new values than old ones |
//! | any but `shift()`, if it gives nearly as many new values as old ones | the different values are few: row counts show which is which |
//!
//! Invariant: a remark contains counts, but no value.

use std::collections::HashSet;

use sqluice_core::batch::Value;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_format::check::spec::Constant;
use sqluice_generator::mask::{Keeps, MaskColumn, MaskKey};

use super::super::Opened;
use super::Masking;
use super::columns::{Masks, column_names};
use super::first_rows::first_rows;
use super::report::{MaskedColumn, Remark};

/// The number of first rows of a table by which its masks are judged.
const ROWS: u64 = 2000;

/// The number of possible values below which a mask hides little.
const POSSIBLE_MIN: f64 = 1e4;

/// With at most this number of different values, row counts show which old value a new value stands for.
const FEW_DIFFERENT: usize = 20;

/// A mask is reported to make different values equal if there are fewer new values than this share of the old ones. The share is below 1
/// because the number of new values depends on the secret key, which a remark must not reveal.
const MERGING: f64 = 0.9;

/// The minimum number of values for a remark about equal values and their counts.
const VALUES_MIN: usize = 100;

/// A shift by fewer days than this is reported to have few possible results.
const FEW_DAYS: u64 = 14;

/// Returns a remark for each weakness of the masks of a table.
///
/// # Errors
/// If the run is cancelled.
pub(super) fn weak_masks(
    opened: &Opened,
    masking: &Masking,
    masks: &Masks,
    table: &str,
    cancel: &Cancel,
) -> Result<Vec<Remark>> {
    let is_of_table = |masked: &&MaskedColumn| masked.table.eq_ignore_ascii_case(table);
    let of_table: Vec<&MaskedColumn> = masks.columns.iter().filter(is_of_table).collect();
    if of_table.is_empty() {
        return Ok(Vec::new());
    }
    let names = column_names(&opened.snapshot.connection(), table);
    let mut columns: Vec<Vec<Constant>> = names.iter().map(|_| Vec::new()).collect();
    let take = |batch: &sqluice_core::batch::Batch<'_>| {
        for (column, values) in batch.columns.iter().zip(&mut columns) {
            values.extend((0..batch.rows).filter_map(|row| owned(column.get(row))));
        }
    };
    first_rows(opened, (table, ROWS), take, cancel)?;
    let mut remarks = Vec::new();
    for (name, values) in names.iter().zip(&columns) {
        let masked = of_table.iter().find(|masked| masked.column.eq_ignore_ascii_case(name));
        let Some(masked) = masked else { continue };
        let mask = masking.file.columns().iter().find(|mask| mask.expression() == masked.mask);
        let Some(mask) = mask else { continue };
        let column = Column { mask, key: &masking.key, values };
        let about = format!("{table}.{name}");
        remarks.extend(
            column.weaknesses(masked.keeps_different).into_iter().map(|what| Remark::new(&*about, what)),
        );
    }
    Ok(remarks)
}

fn owned(value: Value<'_>) -> Option<Constant> {
    match value {
        Value::Null => None,
        Value::Int(int) => Some(Constant::Int(int)),
        Value::Real(real) => Some(Constant::Real(real)),
        Value::Text(text) => Some(Constant::Text(text.to_vec())),
        Value::Blob(blob) => Some(Constant::Blob(blob.to_vec())),
    }
}

/// A masked column with its first values.
struct Column<'a> {
    mask: &'a MaskColumn,
    key: &'a MaskKey,
    /// The values without NULLs.
    values: &'a [Constant],
}

impl Column<'_> {
    fn weaknesses(&self, keeps_different: bool) -> Vec<String> {
        let mask = self.mask.expression();
        let mut found = Vec::new();
        if let Some(days) = self.mask.shift_days() {
            self.of_shift(days, &mut found);
            return found;
        }
        let few = self.mask.few_values(self.key);
        let different = self.different();
        if mask == "shape()" {
            self.of_shape(&mut found);
        } else if let Some(share) = self.mask.noise_share() {
            self.of_noise(share, different, &mut found);
        } else if let (Keeps::Different, Some(few)) = (self.mask.keeps(), few)
            && (few as f64) < POSSIBLE_MIN
        {
            found.push(format!("{mask} has {few} values, too few to hide among; a value may stay as it is"));
        } else if let Some(few) = few
            && few > 1
            && (few as f64) < MERGING * different as f64
            && !keeps_different
        {
            found.push(format!("{mask} makes about {few} values of at least {different} different ones: different values become equal"));
        }
        let shows_counts = few.is_none_or(|few| few as f64 >= MERGING * different as f64);
        if shows_counts && self.values.len() >= VALUES_MIN && (2..=FEW_DIFFERENT).contains(&different) {
            found.push(format!(
                "{} have {different} different values, and keep their row counts, which show which value is which",
                self.first_values()
            ));
        }
        found
    }

    fn different(&self) -> usize {
        let spelled = |value: &Constant| format!("{:?}", value.value());
        self.values.iter().map(spelled).collect::<HashSet<String>>().len()
    }

    fn first_values(&self) -> String {
        format!("the first {} values", self.values.len())
    }

    /// Counts the values for which `is` returns `true`.
    fn count(&self, is: impl Fn(Value<'_>) -> bool) -> usize {
        self.values.iter().filter(|value| is(value.value())).count()
    }

    /// Adds a remark if the count is not 0.
    fn say(&self, count: usize, what: &str, found: &mut Vec<String>) {
        if count > 0 {
            found.push(format!("{count} of {} {what}", self.first_values()));
        }
    }

    fn of_shape(&self, found: &mut Vec<String>) {
        let mut possible: Vec<f64> = self.values.iter().map(|value| possible_values(value.value())).collect();
        possible.sort_unstable_by(f64::total_cmp);
        let median = possible.get(possible.len() / 2).copied();
        if let Some(median) = median.filter(|median| *median < POSSIBLE_MIN) {
            found.push(format!(
                "half of the values have at most {median} possible values of the same form, too few to hide among"
            ));
        }
    }

    fn of_shift(&self, days: u64, found: &mut Vec<String>) {
        if self.mask.person().is_none() {
            found.push(
                "all dates are shifted by the same time, as shift() names no column that identifies a person: one known date reveals all others"
                    .to_owned(),
            );
        }
        if days < FEW_DAYS {
            found.push(format!("each date is moved to one of only {} days", 2 * days));
        }
        let is_unknown = |value: Value<'_>| match value {
            Value::Int(int) => matches!(int, -1 | 0),
            Value::Real(real) => real == 0.0 || real == -1.0,
            Value::Text(text) => matches!(text, b"0" | b"-1"),
            Value::Null | Value::Blob(_) => false,
        };
        self.say(self.count(is_unknown), "are 0 or -1, and stay", found);
        let is_year = |value: Value<'_>| match value {
            Value::Int(int) => (1800..2200).contains(&int),
            Value::Text(text) => text.len() == 4 && MaskColumn::is_moment(value),
            _ => false,
        };
        let years = ((days as f64 / 365.2425).round() as u64).max(1);
        self.say(self.count(is_year), &format!("are years, and move by at most {years}"), found);
        let is_number = |value: Value<'_>| matches!(value, Value::Int(_) | Value::Real(_));
        let texts = self.count(|value| !is_number(value) && !MaskColumn::is_moment(value));
        self.say(texts, "are not dates or times, and get shape()", found);
        let numbers = self.count(|value| is_number(value) && !MaskColumn::is_moment(value));
        self.say(
            numbers,
            "are numbers that are not dates or times, which a copy refuses; shape() masks any number",
            found,
        );
    }

    fn of_noise(&self, share: f64, different: usize, found: &mut Vec<String>) {
        let is_zero = |value: Value<'_>| matches!(value, Value::Int(0) | Value::Real(0.0));
        self.say(self.count(is_zero), "are 0, and stay", found);
        let is_small = |value: Value<'_>| match value {
            Value::Int(int) => int != 0 && int.unsigned_abs() as f64 * share < 1.0,
            _ => false,
        };
        let what = "are small numbers, and move by 1, which is more than the share";
        self.say(self.count(is_small), what, found);
        let is_other = |value: Value<'_>| matches!(value, Value::Text(_) | Value::Blob(_));
        self.say(self.count(is_other), "are no numbers, and get shape()", found);
        if self.values.len() >= VALUES_MIN && different > FEW_DIFFERENT && 2 * different <= self.values.len()
        {
            found.push("equal values stay equal, as noise depends on the value alone".to_owned());
        }
    }
}

/// Returns the number of possible values of the same form as a value.
fn possible_values(value: Value<'_>) -> f64 {
    let of = |byte: &u8| match byte {
        b'0'..=b'9' => 10.0,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => 26.0,
        _ => 1.0,
    };
    match value {
        Value::Null => f64::INFINITY,
        Value::Int(int) => int.to_string().as_bytes().iter().map(of).product(),
        Value::Real(real) => real.to_string().as_bytes().iter().map(of).product(),
        Value::Text(text) => text.iter().map(of).product(),
        Value::Blob(blob) => 256_f64.powf(blob.len() as f64),
    }
}
