//! Converts values of a dump that SQLite has to store in another form.

use jiff::civil;

pub(crate) mod array;

/// The conversion from the text of a value in the dump to the value that SQLite stores.
///
/// A conversion is only needed if the text itself has to change. The affinity of the column converts all other values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// The value is stored as it stands in the dump, with the affinity of its column.
    None,
    /// Bytes: text becomes a blob of the same bytes.
    Blob,
    /// A BYTEA of PostgreSQL, written as `\x00ff` or in the older form with octal escapes, becomes a blob.
    Bytea,
    /// A BOOLEAN of PostgreSQL: `t` and `true` become 1, `f` and `false` become 0.
    Boolean,
    /// A bit string of MySQL: its bytes are a number, with the most significant byte first. `b'101'` is the byte 5, and becomes the integer 5.
    Bit,
    /// Whole numbers up to 2^64-1: an INTEGER up to 2^63-1, and TEXT above, because SQLite would round them as REAL.
    UnsignedBigInt,
    /// Floats: `NaN` becomes NULL, because SQLite has no NaN, and `Infinity` becomes a REAL.
    Float,
    /// A date and time with a zone, converted to UTC: `2024-01-31 13:45:00+01` becomes `2024-01-31 12:45:00+00:00`.
    Moment,
    /// A date, or a date and time without a zone, in the form that servers write: `2024/1/31` becomes `2024-01-31`.
    Civil {
        /// `true` if values have a time.
        time: bool,
    },
    /// CHAR(n) of PostgreSQL, which is padded with blanks: the blanks at the end, which comparisons ignore, are removed.
    Unpadded,
    /// An array of PostgreSQL, as JSON.
    Array {
        /// The type of the elements.
        element: Element,
        /// The delimiter between elements: a comma, or a semicolon between boxes.
        delimiter: u8,
    },
}

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Numbers of JSON; NaN and infinities become null.
    Number,
    /// Booleans, which become `true` and `false`.
    Boolean,
    /// JSON values, which are copied.
    Json,
    /// Dates and times with a zone, converted to UTC.
    Moment,
    /// Strings.
    Text,
}

/// The result of a conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Converted {
    /// The value is stored as it stands in the dump, with the affinity of its column; nothing was appended.
    Unchanged,
    /// The appended bytes are TEXT.
    Text,
    /// The appended bytes are a BLOB.
    Blob,
    /// An INTEGER; nothing was appended.
    Integer(i64),
    /// A REAL; nothing was appended.
    Real(f64),
    /// NULL; nothing was appended.
    Null,
}

impl Conversion {
    /// Converts the text of a value, without its quotes and escapes. Appends a resulting text or blob to `out`. Call this only for values other
    /// than NULL.
    ///
    /// # Errors
    /// If a text for [`Conversion::Bytea`], [`Conversion::Bit`] or [`Conversion::Array`] is not a value of that type. The error is the
    /// reason. The other conversions leave such a text unchanged.
    pub fn convert(&self, text: &[u8], out: &mut Vec<u8>) -> Result<Converted, &'static str> {
        match self {
            Conversion::None => Ok(Converted::Unchanged),
            Conversion::Blob => {
                out.extend_from_slice(text);
                Ok(Converted::Blob)
            }
            Conversion::Bytea => bytea(text, out).map(|()| Converted::Blob),
            Conversion::Boolean => match boolean(text) {
                Some(value) => Ok(Converted::Integer(i64::from(value))),
                None => Ok(Converted::Unchanged),
            },
            Conversion::Bit => bit(text, out),
            Conversion::UnsignedBigInt => Ok(unsigned(text, out)),
            Conversion::Float => Ok(match float_word(text) {
                Some(value) if value.is_nan() => Converted::Null,
                Some(value) => Converted::Real(value),
                None => Converted::Unchanged,
            }),
            Conversion::Moment => Ok(match moment(text) {
                Some(moment) => {
                    out.extend_from_slice(moment.as_bytes());
                    Converted::Text
                }
                None => Converted::Unchanged,
            }),
            Conversion::Civil { time } => Ok(match civil_moment(text, *time) {
                Some(moment) => {
                    out.extend_from_slice(moment.as_bytes());
                    Converted::Text
                }
                None => Converted::Unchanged,
            }),
            Conversion::Unpadded => match text.strip_suffix(b" ") {
                Some(rest) => {
                    let bytes = rest.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                    out.extend_from_slice(&rest[..bytes]);
                    Ok(Converted::Text)
                }
                None => Ok(Converted::Unchanged),
            },
            Conversion::Array { element, delimiter } => {
                array::to_json(text, *element, *delimiter, out).map(|()| Converted::Text)
            }
        }
    }
}

/// Decodes a BYTEA and appends its bytes.
fn bytea(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    const WRONG: &str = "it is not a BYTEA of PostgreSQL";
    if let Some(digits) = text.strip_prefix(b"\\x") {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8).ok_or(WRONG);
        if digits.len() % 2 == 1 {
            return Err(WRONG);
        }
        for pair in digits.chunks_exact(2) {
            out.push(digit(pair[0])? << 4 | digit(pair[1])?);
        }
        return Ok(());
    }
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'\\', [b'\\', more @ ..]) => {
                out.push(b'\\');
                more
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', more @ ..]) => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                more
            }
            (b'\\', _) => return Err(WRONG),
            (byte, more) => {
                out.push(byte);
                more
            }
        };
    }
    Ok(())
}

/// Parses a BOOLEAN of PostgreSQL.
pub(super) fn boolean(text: &[u8]) -> Option<bool> {
    match text {
        b"t" | b"true" | b"TRUE" => Some(true),
        b"f" | b"false" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// Converts a BIT of MySQL, whose bytes are a number.
fn bit(text: &[u8], out: &mut Vec<u8>) -> Result<Converted, &'static str> {
    let significant = &text[text.iter().take_while(|byte| **byte == 0).count()..];
    if significant.len() > 8 {
        return Err("a BIT has at most 64 bits");
    }
    let number = significant.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(unsigned(number.to_string().as_bytes(), out))
}

/// Converts an unsigned number: to an INTEGER or, if it exceeds SQLite's integers, to text.
fn unsigned(text: &[u8], out: &mut Vec<u8>) -> Converted {
    match std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok()) {
        Some(number) => match i64::try_from(number) {
            Ok(number) => Converted::Integer(number),
            Err(_) => {
                out.extend_from_slice(number.to_string().as_bytes());
                Converted::Text
            }
        },
        None => Converted::Unchanged,
    }
}

/// Parses PostgreSQL's words for NaN and the infinities.
pub(super) fn float_word(text: &[u8]) -> Option<f64> {
    match text {
        b"NaN" => Some(f64::NAN),
        b"Infinity" => Some(f64::INFINITY),
        b"-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Converts a date and time with a zone to UTC, and writes it in the form of all dates here. Returns `None` for `infinity`, for years outside
/// of 1 to 9999, and for any other text.
pub(super) fn moment(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let (date, time) = text.split_once([' ', 'T'])?;
    let mut parts = date.split('-');
    let mut number = |digits: usize| {
        parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    let zone_at = time.find(['+', '-', 'Z'])?;
    let (time, zone) = time.split_at(zone_at);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let seconds = clock(time)?;
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let offset =
        if zone == "Z" { 0 } else { clock(&zone[1..])? * if zone.starts_with('-') { -1 } else { 1 } };
    let civil = civil::Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    let moment = civil
        .at(0, 0, 0, 0)
        .checked_add(jiff::SignedDuration::from_secs(seconds - offset))
        .ok()
        .filter(|moment| moment.year() >= 1)?;
    let fraction = fraction.trim_end_matches('0');
    let fraction = match fraction.len().div_ceil(3) * 3 {
        0 => String::new(),
        digits => format!(".{fraction:0<digits$}"),
    };
    Some(format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}{fraction}+00:00",
        moment.year(),
        moment.month(),
        moment.day(),
        moment.hour(),
        moment.minute(),
        moment.second()
    ))
}

/// Returns a date, or a date and time, in the form that servers write. Returns `None` if the text already has this form, or is no date.
fn civil_moment(text: &[u8], has_time: bool) -> Option<String> {
    let text = str::from_utf8(text).ok()?.trim();
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (date, time.trim_start()),
        None => (text, ""),
    };
    let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
    let is_number = |part: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (year, month, day) = match parts[..] {
        [year, month, day] if is_number(year, 4..=4) && is_number(month, 1..=2) && is_number(day, 1..=2) => {
            (year, month, day)
        }
        [whole] if is_number(whole, 8..=8) => (&whole[..4], &whole[4..6], &whole[6..]),
        _ => return None,
    };
    civil::Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()?;
    let mut canonical = format!("{year}-{month:0>2}-{day:0>2}");
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut units: Vec<&str> = clock.split(':').filter(|unit| !unit.is_empty()).collect();
    let sound = (units.len() != 1 && units.len() <= 3)
        && units.iter().zip([24, 60, 60]).all(|(unit, most)| {
            is_number(unit, 1..=2) && unit.parse::<u32>().is_ok_and(|number| number < most)
        })
        && (fraction.is_empty() || is_number(fraction, 1..=6));
    if !sound {
        return None;
    }
    if has_time {
        units.resize(3, "00");
        canonical += &format!(" {:0>2}:{:0>2}:{:0>2}", units[0], units[1], units[2]);
        canonical += &if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    }
    (canonical != text).then_some(canonical)
}

/// Returns the number of seconds of a time such as `13`, `13:45` or `13:45:00`.
fn clock(text: &str) -> Option<i64> {
    let mut seconds = 0;
    let mut units = [3600, 60, 1].into_iter();
    for part in text.split(':') {
        let sound = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        seconds += part.parse::<i64>().ok().filter(|_| sound)? * units.next()?;
    }
    Some(seconds)
}
