//! The kinds of the values of a column: the reasons why the column is no column of numbers.
//!
//! ```text
//!  12  1.5  1e5      a number       the first that a numeric type would change is kept, too: 1.10  007
//!  NA  \N  -         a NULL marker  as other programs write NULL
//!  1,234  $5  12%    a number in another notation, which a setting reads
//!  2024-01-31        a date
//!  "NA"              a NULL marker in quotes, which no setting reads
//!  unknown           another value
//! ```
//!
//! Each kind is counted, and its first value is kept with its position.
//!
//! Invariant: `merge` is commutative and associative, so the counts and the first values do not depend on threads. (The values of a column
//! that is given up are no longer counted. This does not depend on threads either: one thread reads a sample, and a part of a load is given
//! up by its own values alone.)

use std::ops::Range;

use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::{Column, Values};
use sqluice_core::source::Quoting;
use sqluice_format::value::Value;

use super::{Evidence, Inferred};
use crate::convert::{Reading, Readings};

/// A column of a sample is given up (its values are no longer counted) when [`Kinds::others`] is greater than each of these: this limit,
/// the number of plain numbers, and the number of dates and of numbers in another notation together.
const OTHERS_MIN: u64 = 16;

/// The limit for a part of a loaded file, which is used like [`OTHERS_MIN`]. If a column is given up, the remaining values of this part are
/// not counted, but the values of other parts are.
const OTHERS_MIN_OF_PART: u64 = 4096;

/// The number of dates, or of numbers in another notation, after which a sample's values are assumed to be of that kind.
const ASSUMED_MIN: u64 = 256;

/// The number of bytes to which the text of a kept value is cut.
const KEPT_BYTES: usize = 60;

/// The largest number of different NULL markers that [`Kinds::markers`] returns.
const MARKERS_MAX: usize = 4;

/// The marker of NULL that has no other meaning: MySQL and PostgreSQL write it.
const SURE_MARKER: &[u8] = b"\\N";

/// Texts, in any case, that other programs write for NULL. Only `\n` in lower case is none: it stands for a line end.
const MARKERS: [&[u8]; 17] = [
    SURE_MARKER,
    b"-",
    b".",
    b"?",
    b"--",
    b"NA",
    b"N/A",
    b"#N/A",
    b"<NA>",
    b"n.a.",
    b"NaN",
    b"NaT",
    b"NIL",
    b"NULL",
    b"<NULL>",
    b"(NULL)",
    b"None",
];

/// The largest number of bytes of a marker.
const MARKER_BYTES_MAX: usize = 6;

/// The number of values that show whether a batch has numbers; see [`Counting::MostlyText`].
const PROBES: usize = 16;

/// The values of a column that are counted by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Values of a sample: a column is given up when most of its values are text.
    #[default]
    Sample,
    /// All values.
    All,
    /// All values of a part. A column is given up when it has many values, and most of them are text.
    Part,
    /// The values of a column that is text in the samples. A few values of each batch are read first. If at most a quarter of them are
    /// numbers, all values of the batch count as text, except the NULL marker `\N`.
    MostlyText,
}

/// The currency of the amounts of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Currency {
    /// No amount has a currency.
    #[default]
    Unnamed,
    /// All amounts with a currency have this one.
    Of(String),
    /// Amounts have different currencies.
    Several,
}

impl Currency {
    fn see(&mut self, currency: Option<&str>) {
        match (&*self, currency) {
            (Currency::Several, _) | (_, None) => {}
            (Currency::Unnamed, Some(currency)) => *self = Currency::Of(currency.to_owned()),
            (Currency::Of(known), Some(currency)) if known == currency => {}
            (Currency::Of(_), Some(_)) => *self = Currency::Several,
        }
    }

    fn merge(&mut self, other: &Currency) {
        match other {
            Currency::Unnamed => {}
            Currency::Of(currency) => self.see(Some(currency)),
            Currency::Several => *self = Currency::Several,
        }
    }
}

/// A value that is kept, with its position: the number of its part, and its row in the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of the source's part with the value, counted from 0.
    pub part: u64,
    /// The number of the row in the part, counted from 0. Bad rows count.
    pub row: u64,
    /// The text of the value; a long one is cut off.
    pub value: String,
}

/// The kinds of values of which the first is kept.
#[derive(Clone, Copy)]
enum First {
    Other,
    Marker,
    /// A NULL marker in quotes.
    QuotedMarker,
    /// A number in another notation.
    Noted,
    Date,
    /// A number that printers with the fewest digits write in another way: `1.10`.
    Odd,
    /// An integer that no float holds.
    Unheld,
    /// A whole number without a point.
    Bare,
    /// A number with a point or an exponent.
    Pointed,
    /// A whole number with a point: `2.0`.
    PointZero,
    /// A number that a numeric type would not give back.
    Changed,
    /// A number that begins with a zero or a plus, such as `007`, and that a numeric type would not give back.
    Code,
}

impl First {
    const COUNT: usize = First::Code as usize + 1;
}

/// The number of values of each kind in a column, and the first value of each kind; see the module's description.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    /// The number of values that SQLite takes for numbers.
    pub numbers: u64,
    /// The number of dates.
    pub dates: u64,
    /// The number of values that are neither numbers in any notation, nor dates, nor NULL markers. Texts with numbers are among them if the
    /// source distinguishes numbers from text.
    pub others: u64,
    /// The number of values that are numbers in another notation.
    pub noted: u64,
    /// `true` if the column is mostly text, so that its values are no longer counted, except the NULL marker `\N`.
    pub given_up: bool,
    /// The number of values that are digits around an `e`, as in the code `110E0010`, and that SQLite takes for numbers.
    exponents: u64,
    /// The currency of the values.
    currency: Currency,
    /// For each notation of [`Reading::ALL`], the number of values of `noted` that the notation reads.
    readings: [u64; Reading::ALL.len()],
    /// The number of NULL markers in quotes, which the setting `null` does not read.
    pub quoted: u64,
    /// The NULL markers, and the number of values of each.
    markers: Vec<(String, u64)>,
    /// The evidence of the numbers that a numeric type would give back.
    near: Evidence,
    /// The first value of each kind, in the order of [`First`].
    firsts: [Option<Found>; First::COUNT],
    /// `true` if the source knows which values are numbers and which are text.
    pub typed: bool,
    counting: Counting,
    /// `true` if some values count as text without being read. `others` is an upper bound then.
    pub has_unread: bool,
    /// `true` if a batch of a sample was searched for a missing form without success. Later batches are not searched.
    lacks_form: bool,
    /// The number of parts that were seen so far.
    parts: u64,
}

impl Kinds {
    /// Creates empty counts. `counting` says which values will be counted.
    pub fn new(counting: Counting) -> Kinds {
        Kinds { counting, ..Kinds::default() }
    }

    /// Returns empty counts with the same `counting`.
    pub fn like(&self) -> Kinds {
        Kinds::new(self.counting)
    }

    /// Adds the first `rows` values of a column, and adds them to `evidence`. The first of them is in row `first_row` of a part.
    pub fn see(
        &mut self,
        evidence: &mut Evidence,
        column: &Column<'_>,
        rows: usize,
        (typed, quoting): (bool, Option<Quoting>),
        (part, first_row): (u64, u64),
    ) {
        self.typed |= typed;
        self.parts = part + 1;
        if self.counting == Counting::MostlyText
            && let Some(text) = probe(column, rows)
        {
            return self.count_as_text(column, rows, text, quoting, (part, first_row));
        }
        if self.given_up {
            evidence.see_batch(column, rows, typed);
            if !typed {
                self.see_sure_markers(column, 0..rows, quoting, (part, first_row));
            }
            return;
        }
        let mut batch = Evidence::new();
        batch.see_batch(column, rows, typed);
        evidence.merge(batch);
        if batch.is_empty() || batch.conclude() != Inferred::Text {
            self.near.merge(batch);
            self.numbers += present(column, rows);
            self.find_forms(&batch, column, rows, typed, (part, first_row));
            return;
        }
        for row in 0..rows {
            let value = column.get(row);
            match value {
                Value::Null => {}
                Value::Text(text) if self.assumes(text) => {}
                Value::Text(text) if is_marker(text) && is_quoted(quoting, column, row) => {
                    self.quoted += 1;
                    self.keep(First::QuotedMarker, value, (part, first_row + row as u64));
                }
                _ => self.add(value, typed, (part, first_row + row as u64)),
            }
            let kept = self.numbers.max(self.dates + self.noted);
            let others_min = match self.counting {
                Counting::Sample => OTHERS_MIN,
                Counting::Part => OTHERS_MIN_OF_PART,
                Counting::All | Counting::MostlyText => u64::MAX,
            };
            if self.others > others_min && self.others > kept {
                self.given_up = true;
                return self.see_sure_markers(column, row + 1..rows, quoting, (part, first_row));
            }
        }
    }

    /// Counts the values of a batch as text, apart from `\N`, the NULL marker that has no other meaning. `text` is the row of a value that
    /// is no number.
    fn count_as_text(
        &mut self,
        column: &Column<'_>,
        rows: usize,
        text: usize,
        quoting: Option<Quoting>,
        (part, first_row): (u64, u64),
    ) {
        let nulls = self.nulls();
        self.see_sure_markers(column, 0..rows, quoting, (part, first_row));
        self.others += present(column, rows) - (self.nulls() - nulls);
        self.has_unread = true;
        self.keep(First::Other, column.get(text), (part, first_row + text as u64));
    }

    /// Keeps the first number of each form, such as [`First::Bare`], that this batch of numbers has and no earlier batch has had.
    fn find_forms(
        &mut self,
        batch: &Evidence,
        column: &Column<'_>,
        rows: usize,
        typed: bool,
        (part, first_row): (u64, u64),
    ) {
        let forms = [
            (First::Bare, batch.has_bare() && !batch.has_unheld()),
            (First::Pointed, batch.has_pointed()),
            (First::PointZero, batch.has_point_zero()),
            (First::Unheld, batch.has_unheld()),
            (First::Odd, !batch.is_empty() && !batch.reads_back()),
        ];
        let missing =
            |kinds: &Kinds| forms.iter().filter(|(form, has)| *has && kinds.first(*form).is_none()).count();
        let mut left = if self.lacks_form { 0 } else { missing(self) };
        for row in 0..rows {
            if left == 0 {
                return;
            }
            let value = column.get(row);
            let mut alone = Evidence::new();
            alone.add_value(value, typed);
            if !alone.is_empty() {
                self.keep_form(&alone, value, (part, first_row + row as u64));
                left = missing(self);
            }
        }
        // One unsuccessful search is enough for a sample.
        self.lacks_form = left > 0 && self.counting == Counting::Sample;
    }

    /// Counts a value of a sample by its length and first digit, if many values so far are dates, or numbers in another notation, and none
    /// is of the kind "another value". Returns `false` if the value must be read.
    fn assumes(&mut self, text: &[u8]) -> bool {
        let is_like = text.len() > MARKER_BYTES_MAX && text[0].is_ascii_digit();
        if self.counting != Counting::Sample
            || !is_like
            || self.others > 0
            || self.dates.max(self.noted) < ASSUMED_MIN
        {
            return false;
        }
        if self.dates > self.noted {
            self.dates += 1;
            return true;
        }
        // Only a notation without currency, parentheses and percent signs that has read all values so far is assumed.
        let has_signs = |reading: &Reading| reading.has_accounting() || reading.has_percent();
        let noted = self.noted;
        let mut counts = Reading::ALL.iter().zip(&self.readings);
        let is_plain = counts.any(|(reading, count)| *count == noted && !has_signs(reading));
        if is_plain {
            self.readings.iter_mut().filter(|count| **count == noted).for_each(|count| *count += 1);
            self.noted += 1;
        }
        is_plain
    }

    fn see_sure_markers(
        &mut self,
        column: &Column<'_>,
        rows: Range<usize>,
        quoting: Option<Quoting>,
        (part, first_row): (u64, u64),
    ) {
        if let Values::Text(texts) = column.values
            && !texts.has_len(SURE_MARKER.len(), rows.end)
        {
            return;
        }
        let may_be_marker = |row: &usize| match column.values {
            Values::Text(texts) => texts.range(*row).len() == SURE_MARKER.len(),
            Values::Any(_) => true,
            _ => false,
        };
        for row in rows.filter(may_be_marker) {
            if let Value::Text(text) = column.get(row)
                && text == SURE_MARKER
                && !is_quoted(quoting, column, row)
            {
                self.add_marker(text, (part, first_row + row as u64));
            }
        }
    }

    fn add(&mut self, value: Value<'_>, typed: bool, at: (u64, u64)) {
        let text = match value {
            Value::Text(text) => text,
            _ => b"",
        };
        // A string of digits in JSON is text: its source could have written a number.
        let is_text = typed && matches!(value, Value::Text(_));
        let is_number = is_number(value);
        if is_number && is_text {
            self.others += 1;
            self.keep(First::Other, value, at);
        } else if is_number {
            self.numbers += 1;
            let mut alone = Evidence::new();
            alone.add_value(value, typed);
            if alone.conclude() == Inferred::Text {
                self.exponents += u64::from(is_exponent(text));
                self.keep(First::Changed, value, at);
                if is_code(text) {
                    self.keep(First::Code, value, at);
                }
            } else {
                self.near.merge(alone);
            }
            self.keep_form(&alone, value, at);
        } else if is_marker(text) {
            self.add_marker(text, at);
        } else if is_date(text) {
            self.dates += 1;
            self.keep(First::Date, value, at);
        } else {
            let read: Readings = Reading::all_of(text);
            for (count, read) in self.readings.iter_mut().zip(read) {
                *count += u64::from(read);
            }
            if read.contains(&true) {
                self.noted += 1;
                self.currency.see(Reading::currency(text));
                self.keep(First::Noted, value, at);
            } else {
                self.others += 1;
                self.keep(First::Other, value, at);
            }
        }
    }

    fn add_marker(&mut self, text: &[u8], at: (u64, u64)) {
        self.keep(First::Marker, Value::Text(text), at);
        let marker = String::from_utf8_lossy(text);
        self.count_marker(&marker, 1);
    }

    fn count_marker(&mut self, marker: &str, count: u64) {
        match self.markers.iter_mut().find(|(known, _)| known == marker) {
            Some((_, known)) => *known += count,
            None => self.markers.push((marker.to_owned(), count)),
        }
    }

    /// Adds the kinds of other values of the same column.
    pub fn merge(&mut self, other: &Kinds) {
        self.numbers += other.numbers;
        self.dates += other.dates;
        self.others += other.others;
        self.noted += other.noted;
        self.quoted += other.quoted;
        self.given_up |= other.given_up;
        self.has_unread |= other.has_unread;
        self.typed |= other.typed;
        self.exponents += other.exponents;
        self.currency.merge(&other.currency);
        self.readings.iter_mut().zip(other.readings).for_each(|(count, more)| *count += more);
        other.markers.iter().for_each(|(marker, count)| self.count_marker(marker, *count));
        self.near.merge(other.near);
        for (first, more) in self.firsts.iter_mut().zip(&other.firsts) {
            let is_earlier = match (&*first, more) {
                (Some(known), Some(more)) => more.position() < known.position(),
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if is_earlier {
                first.clone_from(more);
            }
        }
    }

    /// Adds the kinds of the values that follow. Their parts are numbered from 0, and come after the parts of these kinds.
    pub fn follow(&mut self, next: &Kinds) {
        let mut next = next.clone();
        next.firsts.iter_mut().flatten().for_each(|found| found.part += self.parts);
        self.merge(&next);
        self.parts += next.parts;
    }

    /// Returns the number of parts that the values are in, up to the last part with a value that was counted.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Returns the numeric type that all numbers have, if there is one.
    pub fn concluded(&self) -> Option<Inferred> {
        let is_number = self.first(First::Changed).is_none() && self.near.conclude() != Inferred::Text;
        is_number.then(|| self.near.conclude())
    }

    /// Returns the number of values that are neither NULL nor an unquoted NULL marker.
    pub fn values(&self) -> u64 {
        self.numbers + self.dates + self.others + self.noted + self.quoted
    }

    /// Returns `true` if at least four of five values are numbers.
    pub fn are_mostly_numbers(&self) -> bool {
        self.numbers * 5 >= self.values() * 4 && self.numbers > 0
    }

    /// Returns `true` if the column has codes: numbers that begin with a zero or a plus, or only numbers such as `110E0010`.
    pub fn are_codes(&self) -> bool {
        self.first(First::Code).is_some() || self.exponents > 0 && self.exponents == self.numbers
    }

    /// Returns the number of NULL markers.
    pub fn nulls(&self) -> u64 {
        self.markers.iter().map(|(_, count)| count).sum()
    }

    /// Returns the most frequent NULL markers, and the first value that is a NULL marker.
    pub fn markers(&self) -> Option<(Vec<&str>, &Found)> {
        let mut markers: Vec<&(String, u64)> = self.markers.iter().collect();
        markers.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let names = markers.into_iter().take(MARKERS_MAX).map(|(marker, _)| marker.as_str()).collect();
        Some((names, self.first(First::Marker)?))
    }

    /// Returns `true` if the column has a NULL marker that has no other meaning.
    pub fn has_sure_marker(&self) -> bool {
        self.markers.iter().any(|(marker, _)| marker.as_bytes() == SURE_MARKER)
    }

    /// Returns the notation that reads all values that are numbers in another notation, and the first of these values.
    pub fn reading(&self) -> Option<(Reading, &Found)> {
        if self.typed {
            return None;
        }
        let readings = Reading::ALL.into_iter().zip(self.readings);
        // A notation must not refuse plain numbers of the column: 1.5 with a decimal comma, 5 without its percent sign. Values that all
        // have blanks may be telephone numbers, and values that are all in parentheses may be numbers of a list, unless they have a
        // currency. Amounts in different currencies can't be added.
        let has_plain = || {
            let mut counts = Reading::ALL.iter().zip(self.readings);
            let is_plain = |reading: &Reading| !reading.has_accounting() && !reading.has_percent();
            self.numbers > 0 || counts.any(|(reading, count)| count > 0 && is_plain(reading))
        };
        let fits = |reading: Reading| {
            let has_currency = matches!(self.currency, Currency::Of(_));
            !(reading.has_decimal_comma() && self.first(First::Pointed).is_some()
                || reading.has_percent() && self.numbers > 0
                || reading.has_blanks() && self.numbers == 0 && !has_currency
                || reading.has_accounting() && !reading.has_percent() && !has_currency && !has_plain()
                || self.currency == Currency::Several)
        };
        let (reading, _) =
            readings.into_iter().find(|(reading, count)| *count == self.noted && fits(*reading))?;
        Some((reading, self.first(First::Noted)?))
    }

    /// Returns the value that messages name as the reason why the column is no column of numbers. It is the first value of a kind, and the
    /// kinds are tried in this order: another value, a number in another notation, a date, a NULL marker in quotes, a number that printers
    /// with the fewest digits write in another way (`1.10`), an integer that no float holds, a number whose notation differs from that of
    /// earlier numbers. An unquoted NULL marker is no cause.
    pub fn first_cause(&self) -> Option<&Found> {
        let [bare, zero, pointed] =
            [First::Bare, First::PointZero, First::Pointed].map(|form| self.first(form));
        // A printer writes whole numbers as `1` or as `1.0`. If a column has both, the later one is the cause. If it has no `1.0`, the
        // later one of `1` and a number with a point or an exponent is.
        let later = bare.zip(zero.or(pointed)).map(|(one, other)| match one.position() < other.position() {
            true => other,
            false => one,
        });
        let kinds = [First::Other, First::Noted, First::Date, First::QuotedMarker, First::Odd, First::Unheld];
        let mut causes = kinds.into_iter();
        causes.find_map(|cause| self.first(cause)).or(later)
    }

    /// Returns the first value that is a number in another notation.
    pub fn first_noted(&self) -> Option<&Found> {
        self.first(First::Noted)
    }

    fn first(&self, first: First) -> Option<&Found> {
        self.firsts[first as usize].as_ref()
    }

    fn keep(&mut self, first: First, value: Value<'_>, at: (u64, u64)) {
        self.firsts[first as usize].get_or_insert_with(|| Found::new(value, at));
    }

    fn keep_form(&mut self, alone: &Evidence, value: Value<'_>, at: (u64, u64)) {
        self.keep(form(alone), value, at);
        if alone.has_point_zero() {
            self.keep(First::PointZero, value, at);
        }
    }

    /// Returns the values that messages about the column may show, each once, in the order of their positions.
    pub fn shown(&self) -> Vec<&Found> {
        let marker = self.markers().map(|(_, found)| found);
        let reading = self.reading().map(|(_, found)| found);
        let causes = self.first_cause().into_iter().chain(self.first_noted());
        let mut shown: Vec<&Found> = causes.chain(marker).chain(reading).collect();
        shown.sort_by_key(|found| found.position());
        shown.dedup();
        shown
    }

    /// Returns the first number that a numeric type would print differently, such as `.5` or `007`. If the user declares a numeric type,
    /// returns the first number that begins with a zero or a plus (`007`, `+49`): to change other numbers is the purpose of such a type.
    pub fn changed(&self, is_number_type: bool) -> Option<&Found> {
        self.first(if is_number_type { First::Code } else { First::Changed })
    }

    /// Returns the numeric type that messages may suggest: INTEGER if all numbers of the column are integers as SQLite prints them, or else
    /// REAL.
    pub fn near(&self) -> Inferred {
        match (self.near.conclude(), self.first(First::Changed).is_some()) {
            (Inferred::Integer, false) => Inferred::Integer,
            _ => Inferred::Real,
        }
    }
}

impl Found {
    fn new(value: Value<'_>, (part, row): (u64, u64)) -> Found {
        let text = match value {
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Value::Int(int) => int.to_string(),
            Value::Real(real) => real.to_string(),
            Value::Null | Value::Blob(_) => String::new(),
        };
        let value = match text.len() {
            0..=KEPT_BYTES => text,
            _ => format!("{}...", &text[..text.floor_char_boundary(KEPT_BYTES)]),
        };
        Found { part, row, value }
    }

    const fn position(&self) -> (u64, u64) {
        (self.part, self.row)
    }
}

/// Returns the form of a number, such as [`First::Bare`]. `alone` is the evidence of this number alone.
fn form(alone: &Evidence) -> First {
    match () {
        () if !alone.reads_back() => First::Odd,
        () if alone.has_unheld() => First::Unheld,
        () if alone.has_pointed() => First::Pointed,
        () => First::Bare,
    }
}

/// Returns `true` if SQLite takes a value for a number. The value is not NULL.
fn is_number(value: Value<'_>) -> bool {
    match value {
        Value::Text(text) => !matches!(text_to_number(text, Affinity::Numeric), Value::Text(_)),
        Value::Blob(_) => false,
        _ => true,
    }
}

/// Looks at some values of a batch. Returns the row of a value that is no number, if at most a quarter of these values are numbers.
///
/// If nine of ten values of a column are numbers, at most one value of seven is in a batch with this few numbers. The numbers in such
/// batches count as text, but the share of the numbers stays at about 86% or more.
fn probe(column: &Column<'_>, rows: usize) -> Option<usize> {
    let probed = (0..PROBES.min(rows)).map(|probe| probe * rows / PROBES.min(rows));
    let (mut values, mut numbers, mut text) = (0, 0, None);
    for row in probed {
        match column.get(row) {
            Value::Null => {}
            value if is_number(value) => (values, numbers) = (values + 1, numbers + 1),
            _ => (values, text) = (values + 1, text.or(Some(row))),
        }
    }
    text.filter(|_| numbers * 4 <= values)
}

/// Returns `true` if the field of a text was quoted.
fn is_quoted(quoting: Option<Quoting>, column: &Column<'_>, row: usize) -> bool {
    quoting.is_some_and(|quoting| quoting.is_quoted(column, row))
}

/// Returns `true` if other programs write the text for NULL.
fn is_marker(text: &[u8]) -> bool {
    (1..=MARKER_BYTES_MAX).contains(&text.len())
        && MARKERS.iter().any(|marker| marker.eq_ignore_ascii_case(text) && (text != b"\\n"))
}

/// Returns `true` if a number is written as only codes are: `007`, `+49`.
fn is_code(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(digits, [b'+', ..] | [b'0', b'0'..=b'9', ..])
}

/// Returns `true` if a number is digits, an `e` and digits: `12E5`. A column of such numbers alone has codes: most programs that print a
/// number with an exponent write a point or a sign, too, as in `1.2e+06`.
fn is_exponent(text: &[u8]) -> bool {
    let at = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e'));
    let parts = at.map(|at| (&text[..at], &text[at + 1..]));
    parts.is_some_and(|(number, exponent)| number.iter().chain(exponent).all(u8::is_ascii_digit))
}

/// Returns `true` if a text looks like a date, with or without a time: `2024-01-31`, `31.1.2024`, `31-Jan-24 12:30`.
fn is_date(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'T')).unwrap_or(text.len());
    let (date, time) = text.split_at(end);
    let Some(&mark) = date.iter().find(|byte| matches!(byte, b'-' | b'/' | b'.')) else { return false };
    let mut parts = date.split(|byte| *byte == mark);
    let (Some(first), Some(second), Some(third), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let digits =
        |part: &[u8], lens: &[usize]| lens.contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
    let month = digits(second, &[1, 2]) || second.len() >= 3 && second.iter().all(u8::is_ascii_alphabetic);
    let ends =
        digits(first, &[4]) && digits(third, &[1, 2]) || digits(first, &[1, 2]) && digits(third, &[2, 4]);
    month && ends && (time.is_empty() || time.get(1).is_some_and(u8::is_ascii_digit))
}

/// Returns the number of values that are not NULL.
fn present(column: &Column<'_>, rows: usize) -> u64 {
    match (column.values, column.validity) {
        (Values::Null, _) => 0,
        (Values::Any(_), _) => {
            (0..rows).filter(|row| !matches!(column.get(*row), Value::Null)).count() as u64
        }
        (_, None) => rows as u64,
        (_, Some(validity)) => validity.count(rows) as u64,
    }
}
