//! Converts text that stands for something else, as the user says per column: dates in a given format, booleans, and numbers with a decimal
//! comma, thousands separators, accounting signs or a percent sign.
//!
//! ```text
//!  input        conversion                      stored value    type
//!  31.01.2024   date %d.%m.%Y                   2024-01-31      TEXT
//!  yes          boolean                         1               INTEGER
//!  1.234,50     decimal comma, thousands '.'    1234.50         INTEGER or REAL, by the usual rule
//!  (5.00) USD   accounting                      -5.00           INTEGER or REAL
//!  12.5%        percent                         0.125           INTEGER or REAL
//!  31.02.2024   date %d.%m.%Y                   a bad row
//! ```
//!
//! * [`Convert`] is the request of the user; [`Conversion`] is the request, checked and ready to use.
//! * [`Converting`] is a source with such columns. It stands between a source of text and everything else, so that types, keys, bad rows
//!   and the encoder see the stored values. If no column is converted, no such source is created.
//!
//! NULL stays NULL, and empty text becomes NULL. A number or boolean of a JSON file is read as if it were written as text.
//!
//! Invariant: each value of a column that the user names is converted or makes a bad row, whose reason quotes the value. Only timestamps
//! that take the form of an existing column ([`Conversion::of_form`]) may stand beside other text, which stays as it is.

mod accounting;
mod boolean;
mod date;
mod form;
mod number;
mod reading;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use boolean::Words;
pub use date::DIRECTIVES;
use date::DateFormat;
pub use form::MomentForm;
use number::Notation;
pub use reading::{Reading, Readings};
pub use source::{ConvertedColumn, Converting};
use sqluice_core::batch::Value;
use sqluice_core::batch::describe;
use sqluice_core::error::{Error, Message, Result, Setting, message};

/// The meaning that the user gives to the text of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Convert {
    /// A date, with or without a time, in a format of [directives](DIRECTIVES) such as `%d.%m.%Y`. It is stored as ISO 8601 text, which
    /// SQLite's date functions read: `2024-01-31`, or with a time `2024-01-31 13:45:00`. If the format has a zone, the same moment is
    /// stored in UTC: `2024-01-31 12:45:00+00:00`.
    Date(String),
    /// True or false, stored as 1 or 0. The words are those given, or for `None` true, t, yes, y, on, 1 and false, f, no, n, off, 0. Case
    /// does not matter.
    Boolean(Option<(String, String)>),
    /// A number with a decimal comma.
    DecimalComma,
    /// A number with this character between groups of three digits. Numbers without the character are read, too.
    Thousands(String),
    /// A number with the signs of accounting: a currency before or after the number, and parentheses around it or a minus behind it if the
    /// number is negative. The currency is dropped. Numbers without these signs are read, too.
    Accounting,
    /// A number with a percent sign, which is divided by 100.
    Percent,
}

impl Convert {
    /// Returns columns and the meanings of their text, from a list for each kind: dates with their formats, booleans with their words,
    /// numbers with a decimal comma, and numbers with their separators of thousands.
    pub fn all(
        dates: &[(String, String)],
        booleans: &[(String, Option<(String, String)>)],
        decimal_commas: &[String],
        thousands: &[(String, String)],
    ) -> Vec<(String, Convert)> {
        let dates = dates.iter().cloned().map(|(column, format)| (column, Convert::Date(format)));
        let booleans = booleans.iter().cloned().map(|(column, words)| (column, Convert::Boolean(words)));
        let commas = decimal_commas.iter().cloned().map(|column| (column, Convert::DecimalComma));
        let thousands = thousands.iter().cloned();
        let thousands = thousands.map(|(column, separator)| (column, Convert::Thousands(separator)));
        dates.chain(booleans).chain(commas).chain(thousands).collect()
    }

    /// Returns the setting that asks for this meaning.
    fn setting(&self) -> Setting {
        match self {
            Convert::Date(_) => Setting::Date,
            Convert::Boolean(_) => Setting::Boolean,
            Convert::DecimalComma => Setting::DecimalComma,
            Convert::Thousands(_) => Setting::Thousands,
            Convert::Accounting => Setting::Accounting,
            Convert::Percent => Setting::Percent,
        }
    }
}

/// The conversion of a column's values. `Display` writes it as the user asked for it, such as `date %d.%m.%Y`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    kind: ConversionKind,
    /// The setting that asks for the conversion.
    setting: Setting,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ConversionKind {
    Date(DateFormat),
    Boolean(Words),
    Number(Notation),
    /// Timestamps get the form of those in an existing column.
    Form(MomentForm),
}

/// The result of a conversion that appends texts to a column.
enum Converted {
    /// An integer. Nothing was appended.
    Int(i64),
    /// A text, which was appended.
    Text,
}

/// The reason why a value can't be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The text does not have the expected form.
    Mismatch,
    /// The text fits the format, but the calendar or the clock has no such time.
    NoSuchTime(&'static str),
    /// The separators do not stand between groups of three digits.
    Groups,
    /// An integer of more than 64 bits.
    Beyond64Bits,
    /// A number whose digits no float keeps.
    Digits,
}

impl Conversion {
    /// Returns the conversion of each column that the user names. If `lossy`, numbers may be rounded.
    ///
    /// # Errors
    /// If a format, word or separator is not valid, or if a setting contradicts or repeats another setting for the same column.
    pub fn all(asked: &[(String, Convert)], lossy: bool) -> Result<Vec<(String, Arc<Conversion>)>> {
        let mut all: Vec<(String, Conversion)> = Vec::new();
        for (column, convert) in asked {
            let setting = convert.setting();
            let new = Conversion { kind: ConversionKind::new(column, convert, lossy)?, setting };
            match all.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(column)) {
                None => all.push((column.clone(), new)),
                Some((_, known)) => known.merge(new, column)?,
            }
        }
        for (column, conversion) in &all {
            if let ConversionKind::Number(notation) = &conversion.kind
                && let Some(why) = notation.contradiction()
            {
                return Err(Error::usage(message![
                    Setting::Thousands,
                    format!(" of column {column}: "),
                    why
                ]));
            }
        }
        Ok(all.into_iter().map(|(column, conversion)| (column, Arc::new(conversion))).collect())
    }

    /// Adds another setting for the same column. Only settings of numbers, such as a decimal comma and a separator of thousands, can be
    /// combined.
    fn merge(&mut self, new: Conversion, column: &str) -> Result<()> {
        let is_new = match (&mut self.kind, &new.kind) {
            (ConversionKind::Number(notation), ConversionKind::Number(more)) => notation.merge(more),
            _ => false,
        };
        if is_new {
            return Ok(());
        }
        if self.setting == new.setting || self.is_number() && new.is_number() {
            let error = Error::usage(message![new.setting, format!(" names the column {column:?} twice")]);
            return Err(error.hint("leave one of the two out"));
        }
        let error =
            message![format!("column {column:?} can't follow both "), self.setting, " and ", new.setting];
        Err(Error::usage(error).hint("leave one of the two out"))
    }

    /// Returns the conversion of timestamps to the form of those in an existing column. Other text stays as it is.
    pub fn of_form(form: MomentForm) -> Conversion {
        Conversion { kind: ConversionKind::Form(form), setting: Setting::Timestamp }
    }

    /// Returns `true` if the values become timestamps, because the format of a date has a time; `false` for [`Conversion::of_form`].
    pub fn is_moment(&self) -> bool {
        matches!(&self.kind, ConversionKind::Date(format) if format.has_time())
    }

    /// Returns the setting that asks for the conversion.
    pub fn setting(&self) -> Setting {
        self.setting
    }

    /// Returns `true` if the values are numbers, whose digits decide between INTEGER and REAL.
    pub fn is_number(&self) -> bool {
        matches!(self.kind, ConversionKind::Number(_))
    }

    /// Returns the type of the column, if it does not depend on the values.
    pub fn declared_type(&self) -> Option<&'static str> {
        match self.kind {
            ConversionKind::Date(_) | ConversionKind::Form(_) => Some("TEXT"),
            ConversionKind::Boolean(_) => Some("INTEGER"),
            ConversionKind::Number(_) => None,
        }
    }

    /// Returns the conversion for a REAL column: without `lossy`, integers that no float holds are refused.
    #[must_use]
    pub fn for_real(&self) -> Conversion {
        let mut conversion = self.clone();
        if let ConversionKind::Number(notation) = &mut conversion.kind {
            notation.be_floats();
        }
        conversion
    }

    /// Converts a text. If the result is a text, it is appended to `out`.
    fn text(&self, text: &[u8], out: &mut Vec<u8>) -> Result<Converted, Fault> {
        match &self.kind {
            ConversionKind::Date(format) => format.convert(text, out).map(|()| Converted::Text),
            ConversionKind::Boolean(words) => {
                words.meaning(text).map(|is| Converted::Int(is.into())).ok_or(Fault::Mismatch)
            }
            ConversionKind::Number(notation) => notation.convert(text, out).map(|()| Converted::Text),
            ConversionKind::Form(form) => {
                form.write(text, out);
                Ok(Converted::Text)
            }
        }
    }

    /// Converts a value that is not text: a number or boolean of JSON.
    fn other(&self, value: Value<'_>, out: &mut Vec<u8>) -> Result<Converted, Fault> {
        match (&self.kind, value) {
            (ConversionKind::Boolean(_), Value::Int(bit @ (0 | 1))) => Ok(Converted::Int(bit)),
            (ConversionKind::Boolean(_), _) => Err(Fault::Mismatch),
            (_, Value::Int(int)) => self.text(int.to_string().as_bytes(), out),
            (_, Value::Real(real)) => self.text(real.to_string().as_bytes(), out),
            (_, _) => Err(Fault::Mismatch),
        }
    }

    /// Returns the error about a value of the column.
    #[cold]
    fn error(&self, fault: Fault, value: &Value<'_>, column: &str) -> Error {
        let value = format!("{} in column {column}", describe(value));
        match fault {
            Fault::Mismatch => Error::input(format!("{value} is not a {}", self.expected())),
            Fault::NoSuchTime(what) => Error::input(format!("{value} is not a {}: {what}", self.expected())),
            Fault::Groups => {
                Error::input(format!("{value} does not have three digits after each separator of thousands"))
            }
            Fault::Beyond64Bits => Error::input(format!("{value} has more than 64 bits"))
                .hint(message!["to round such numbers: ", Setting::Lossy]),
            Fault::Digits => Error::input(format!("{value} has more digits than a float holds"))
                .hint(message!["to round such numbers: ", Setting::Lossy]),
        }
    }

    fn expected(&self) -> String {
        match &self.kind {
            ConversionKind::Date(format) => format!("date of the format {format}"),
            ConversionKind::Boolean(words) => format!("boolean ({})", words.listed()),
            ConversionKind::Number(notation) => format!("number with {notation}"),
            ConversionKind::Form(_) => "timestamp".to_owned(),
        }
    }
}

impl ConversionKind {
    fn new(column: &str, convert: &Convert, lossy: bool) -> Result<ConversionKind> {
        let refused = |given: &str, (why, hint): (String, Message)| {
            let given = convert.setting().to(format!("{column}={given}"));
            Error::usage(message![given, ": ", why]).hint(hint)
        };
        Ok(match convert {
            Convert::Date(format) => {
                ConversionKind::Date(DateFormat::parse(format).map_err(|why| refused(format, why))?)
            }
            Convert::Boolean(None) => ConversionKind::Boolean(Words::Usual),
            Convert::Boolean(Some((yes, no))) => {
                let given = format!("{yes}/{no}");
                ConversionKind::Boolean(Words::new(yes, no).map_err(|why| refused(&given, why))?)
            }
            Convert::DecimalComma => ConversionKind::Number(Notation::decimal_comma(lossy)),
            Convert::Accounting => ConversionKind::Number(Notation::accounting(lossy)),
            Convert::Percent => ConversionKind::Number(Notation::percent(lossy)),
            Convert::Thousands(separator) => ConversionKind::Number(
                Notation::thousands(separator, lossy).map_err(|why| refused(separator, why))?,
            ),
        })
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ConversionKind::Date(format) => write!(f, "date {format}"),
            ConversionKind::Boolean(Words::Usual) => write!(f, "boolean"),
            ConversionKind::Boolean(words) => write!(f, "boolean {}", words.listed()),
            ConversionKind::Number(notation) => write!(f, "number with {notation}"),
            ConversionKind::Form(_) => write!(f, "timestamp"),
        }
    }
}
