//! Batches of random values, with columns in each representation that a `Batch` can have.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use sqluice::batch::{Batch, Bitmap, Bytes, Column, Span, Spans, Value, Values};

use super::Random;

/// A value that owns its text or bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Owned {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Int(int) => Value::Int(*int),
            Owned::Real(real) => Value::Real(*real),
            Owned::Text(text) => Value::Text(text),
            Owned::Blob(blob) => Value::Blob(blob),
        }
    }
}

impl ToSql for Owned {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Owned::Null => ValueRef::Null,
            Owned::Int(int) => ValueRef::Integer(*int),
            Owned::Real(real) => ValueRef::Real(*real),
            Owned::Text(text) => ValueRef::Text(text),
            Owned::Blob(blob) => ValueRef::Blob(blob),
        }))
    }
}

/// The kinds of values that a column accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Takes {
    Anything,
    Ints,
    Numbers,
    Texts,
    Blobs,
}

/// The values of a column in one of its forms.
#[derive(Clone, Debug)]
enum Form {
    Null,
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text(Strings),
    Blob(Strings),
    Any(Vec<Owned>),
}

#[derive(Clone, Debug)]
struct Strings {
    data: Vec<u8>,
    at: At,
}

#[derive(Clone, Debug)]
enum At {
    Fixed(usize),
    Offsets(Vec<u32>),
    Anywhere(Vec<Span>),
}

impl Strings {
    fn bytes(&self) -> Bytes<'_> {
        let spans = match &self.at {
            At::Fixed(len) => Spans::Fixed(*len),
            At::Offsets(offsets) => Spans::Offsets(offsets),
            At::Anywhere(spans) => Spans::Anywhere(spans),
        };
        Bytes { data: &self.data, spans }
    }
}

/// A column of an [`OwnedBatch`].
#[derive(Clone, Debug)]
pub(crate) struct OwnedColumn {
    form: Form,
    validity: Option<Vec<u64>>,
    /// The expected values, made independently of the column.
    pub(crate) values: Vec<Owned>,
}

/// A batch that owns its columns.
#[derive(Clone, Debug)]
pub(crate) struct OwnedBatch {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<OwnedColumn>,
}

impl OwnedBatch {
    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&Batch<'_>) -> T) -> T {
        let anys: Vec<Vec<Value<'_>>> = self.columns.iter().map(OwnedColumn::any).collect();
        let columns = self.columns.iter().zip(&anys).map(|(column, any)| column.column(any)).collect();
        use_it(&Batch { rows: self.rows, columns })
    }

    pub(crate) fn row(&self, row: usize) -> Vec<&Owned> {
        self.columns.iter().map(|column| &column.values[row]).collect()
    }
}

impl OwnedColumn {
    fn any(&self) -> Vec<Value<'_>> {
        match &self.form {
            Form::Any(values) => values.iter().map(Owned::value).collect(),
            _ => Vec::new(),
        }
    }

    fn column<'a>(&'a self, any: &'a [Value<'a>]) -> Column<'a> {
        let values = match &self.form {
            Form::Null => Values::Null,
            Form::Int(ints) => Values::Int(ints),
            Form::Real(reals) => Values::Real(reals),
            Form::Text(strings) => Values::Text(strings.bytes()),
            Form::Blob(strings) => Values::Blob(strings.bytes()),
            Form::Any(_) => Values::Any(any),
        };
        Column { values, validity: self.validity.as_ref().map(|words| Bitmap(words)) }
    }

    /// Returns a column with just these values.
    pub(crate) fn of(values: Vec<Owned>) -> OwnedColumn {
        OwnedColumn { form: Form::Any(values.clone()), validity: None, values }
    }

    /// Returns a column of integers, unchanged.
    pub(crate) fn ints(ints: Vec<i64>) -> OwnedColumn {
        let values = ints.iter().map(|int| Owned::Int(*int)).collect();
        OwnedColumn { form: Form::Int(ints), validity: None, values }
    }

    /// Returns `rows` random values. `budget` is the number of bytes that strings may still take, and `page_bytes` a size near which some
    /// strings are.
    pub(crate) fn random(
        random: &mut Random,
        takes: Takes,
        rows: usize,
        page_bytes: usize,
        budget: &mut usize,
    ) -> OwnedColumn {
        let form = match takes {
            Takes::Anything => random.pick(&[0, 1, 1, 2, 3, 3, 4, 5]),
            Takes::Ints => random.pick(&[0, 1, 1, 1, 1]),
            Takes::Numbers => random.pick(&[0, 1, 2, 2, 2]),
            Takes::Texts => random.pick(&[0, 1, 2, 3, 3, 3, 3]),
            Takes::Blobs => random.pick(&[0, 4, 4, 4, 4]),
        };
        let form = match form {
            0 => Form::Null,
            1 => Form::Int(ints(random, rows)),
            2 => Form::Real((0..rows).map(|_| real(random)).collect()),
            3 => Form::Text(strings(random, rows, page_bytes, budget, true)),
            4 => Form::Blob(strings(random, rows, page_bytes, budget, false)),
            _ => Form::Any(any(random, rows, page_bytes, budget)),
        };
        let mut column = OwnedColumn { form, validity: None, values: Vec::new() };
        column.values = (0..rows).map(|row| column.read(row)).collect();
        if random.one_in(3) {
            column.add_nulls(random);
        }
        column
    }

    fn read(&self, row: usize) -> Owned {
        match &self.form {
            Form::Null => Owned::Null,
            Form::Int(ints) => Owned::Int(ints[row]),
            Form::Real(reals) => Owned::Real(reals[row]),
            Form::Text(strings) => Owned::Text(strings.read(row)),
            Form::Blob(strings) => Owned::Blob(strings.read(row)),
            Form::Any(values) => values[row].clone(),
        }
    }

    /// Adds a bitmap with some, all or no NULLs. Values under a NULL become arbitrary.
    pub(crate) fn add_nulls(&mut self, random: &mut Random) {
        let rows = self.values.len();
        let nulls_in_100 = random.pick(&[0, 3, 50, 97, 100]);
        // Bits past the last row mean nothing.
        let mut words: Vec<u64> = (0..rows.div_ceil(64)).map(|_| random.next()).collect();
        for row in 0..rows {
            let null = random.below(100) < nulls_in_100;
            let bit = 1 << (row % 64);
            if null {
                words[row / 64] &= !bit;
                self.values[row] = Owned::Null;
                match &mut self.form {
                    Form::Int(ints) => ints[row] = random.next() as i64,
                    Form::Real(reals) => reals[row] = f64::from_bits(random.next()),
                    Form::Text(Strings { at: At::Anywhere(spans), .. })
                    | Form::Blob(Strings { at: At::Anywhere(spans), .. }) => {
                        spans[row] = Span { start: u32::MAX, len: random.next() as u32 };
                    }
                    _ => {}
                }
            } else {
                words[row / 64] |= bit;
            }
        }
        self.validity = Some(words);
    }

    /// Returns a column of rowids in some form; `None` is NULL.
    pub(crate) fn rowids(random: &mut Random, rowids: &[i64]) -> OwnedColumn {
        let exact = |&rowid: &i64| (rowid as f64) as i64 == rowid && rowid.unsigned_abs() < 1 << 53;
        let value = |random: &mut Random, rowid: i64| match random.below(4) {
            0 => Owned::Text(format!(" {rowid} ").into_bytes()),
            1 if exact(&rowid) => Owned::Real(rowid as f64),
            _ => Owned::Int(rowid),
        };
        match random.below(4) {
            0 => OwnedColumn::of(rowids.iter().map(|&rowid| value(random, rowid)).collect()),
            1 if rowids.iter().all(exact) => {
                let reals: Vec<f64> = rowids.iter().map(|&rowid| rowid as f64).collect();
                let values = reals.iter().map(|real| Owned::Real(*real)).collect();
                OwnedColumn { form: Form::Real(reals), validity: None, values }
            }
            _ => OwnedColumn::ints(rowids.to_vec()),
        }
    }
}

impl Strings {
    fn read(&self, row: usize) -> Vec<u8> {
        let range = match &self.at {
            At::Fixed(len) => row * len..(row + 1) * len,
            At::Offsets(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            At::Anywhere(spans) => {
                spans[row].start as usize..spans[row].start as usize + spans[row].len as usize
            }
        };
        self.data[range].to_vec()
    }
}

const WIDTHS: [i64; 14] = [
    0,
    1,
    2,
    127,
    128,
    32767,
    32768,
    (1 << 23) - 1,
    1 << 23,
    (1 << 31) - 1,
    1 << 31,
    (1 << 47) - 1,
    1 << 47,
    i64::MAX,
];

/// Returns an integer at or beside a limit at which the width in a record changes.
fn edge(random: &mut Random) -> i64 {
    let edge = random.pick(&WIDTHS).wrapping_add(random.below(3) as i64 - 1);
    if random.one_in(2) { edge } else { !edge }
}

fn ints(random: &mut Random, rows: usize) -> Vec<i64> {
    let shift = random.below(64);
    let same = edge(random);
    let sign = random.pick(&[0, -1]);
    let kind = random.below(6);
    let mut int = |row: usize| match kind {
        0 => (random.next() & 1) as i64,
        1 => edge(random),
        2 => same,
        3 => (random.next() >> 1 >> shift) as i64 ^ sign,
        // All of one width and sign.
        4 => ((1 << 62 | random.next() >> 2) >> shift) as i64 ^ sign,
        _ => same.wrapping_add(row as i64),
    };
    (0..rows).map(&mut int).collect()
}

fn real(random: &mut Random) -> f64 {
    match random.below(8) {
        0 => edge(random) as f64,
        1 => {
            random.pick(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, f64::MAX])
        }
        2 => edge(random) as f64 + 0.5,
        3 => f64::from_bits(random.next()),
        _ => (random.next() % 100_000) as f64 / 100.0,
    }
}

fn any(random: &mut Random, rows: usize, page_bytes: usize, budget: &mut usize) -> Vec<Owned> {
    let text = strings(random, rows, page_bytes, budget, true);
    let blob = strings(random, rows, page_bytes, budget, false);
    let value = |row| match random.below(5) {
        0 => Owned::Null,
        1 => Owned::Int(edge(random)),
        2 => Owned::Real(real(random)),
        3 => Owned::Text(text.read(row)),
        _ => Owned::Blob(blob.read(row)),
    };
    (0..rows).map(value).collect()
}

/// Texts in all of SQLite's odd ways to write a number.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "12",
    " 12",
    "12 ",
    "+5",
    "007",
    "1e3",
    "1E-3",
    ".5",
    "5.",
    "5.0",
    "-0.0",
    "0x10",
    "1_000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "12345678901234567890",
    "1e400",
    "1e-400",
    "12abc",
    "\u{e9}\u{4e2d}\u{1f600}",
];

fn strings(random: &mut Random, rows: usize, page_bytes: usize, budget: &mut usize, text: bool) -> Strings {
    // A fixed length costs as much in every row.
    let afford = |len: usize, budget: &usize| if len * rows <= *budget { len } else { len % 9 };
    let kind = random.below(8);
    let string = |random: &mut Random, budget: &mut usize| -> Vec<u8> {
        let len = match kind {
            0 => 0,
            1 | 2 => random.below(13),
            3 => 54 + random.below(8),
            4 => page_bytes.saturating_sub(random.below(70)),
            5 => random.below(page_bytes * 4),
            _ if text => return random.pick(&NUMBERS).as_bytes().to_vec(),
            _ => random.below(40),
        };
        let len = if len <= *budget { len } else { len % 9 };
        *budget -= len.min(*budget);
        content(random, len, text)
    };
    if random.one_in(3) {
        let len = match random.below(4) {
            0 => random.below(40),
            1 => 54 + random.below(8),
            2 => page_bytes.saturating_sub(20 + random.below(40)),
            _ => random.below(page_bytes * 2),
        };
        let len = afford(len, budget);
        *budget -= (len * rows).min(*budget);
        return Strings { data: content(random, len * rows, text), at: At::Fixed(len) };
    }
    let mut data = content(random, 5, text);
    if random.one_in(2) {
        let mut offsets = vec![data.len() as u32];
        for _ in 0..rows {
            data.extend(string(random, budget));
            offsets.push(data.len() as u32);
        }
        return Strings { data, at: At::Offsets(offsets) };
    }
    let mut spans = Vec::with_capacity(rows);
    for _ in 0..rows {
        // Offsets in any order and with gaps, and some strings used more than once.
        match spans.last() {
            Some(&span) if random.one_in(8) => spans.push(span),
            _ => {
                data.push(b'-');
                let new = string(random, budget);
                spans.push(Span { start: data.len() as u32, len: new.len() as u32 });
                data.extend(new);
            }
        }
    }
    if random.one_in(2) {
        spans.reverse();
    }
    Strings { data, at: At::Anywhere(spans) }
}

fn content(random: &mut Random, len: usize, text: bool) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).collect();
    bytes.truncate(len);
    if text {
        // ASCII, and sometimes a NUL.
        bytes.iter_mut().for_each(|byte| *byte = if *byte == 77 { 0 } else { b' ' + *byte % 95 });
    }
    bytes
}
