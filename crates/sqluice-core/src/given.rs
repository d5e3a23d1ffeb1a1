//! The values that a user gives for settings, and the option structs that take these values.
//!
//! ```text
//!  front end: text or objects ──> Value, by the kind of the setting ──> TakesSettings::set of the verb's options ──> their fields
//!                                                                            └──> set of options within these options
//! ```

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::settings::{Declaration, Setting, Taker, Verb};

/// A number of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum RowCount {
    /// A number of rows for the named table, or, without a name, for each table that has no number of its own.
    Count(Option<String>, u64),
    /// A number of rows of the named table for each row of its parent.
    PerParent(String, f64),
}

/// A value of a setting. The [`Kind`](crate::settings::Kind) of the setting decides the variant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A number without a sign: of rows, of bytes.
    Count(u64),
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Real(f64),
    /// A duration.
    Duration(Duration),
    /// A text, a name or a word.
    Text(String),
    /// A path.
    Path(PathBuf),
    /// A character, or none.
    Character(Option<u8>),
    /// Texts or names.
    Texts(Vec<String>),
    /// Columns or tables, each with a text.
    Pairs(Vec<(String, String)>),
    /// Columns, each with the words for true and false, if given.
    Booleans(Vec<(String, Option<(String, String)>)>),
    /// Row counts.
    RowCounts(Vec<RowCount>),
    /// One share, counted from 1, and the number of shares.
    Share(u64, u64),
}

/// A type that a [`Value`] can be converted to.
pub trait FromValue: Sized {
    /// Converts the value; `None` if it is of another kind, or an integer beyond the range of the type.
    fn from_value(value: &Value) -> Option<Self>;
}

/// Implements `FromValue` for the types that the variants of [`Value`] hold.
macro_rules! from_value {
    ($($to:ty: $pattern:pat => $value:expr;)*) => {
        $(impl FromValue for $to {
            fn from_value(value: &Value) -> Option<$to> {
                match value {
                    $pattern => $value,
                    _ => None,
                }
            }
        })*
    };
}

from_value! {
    bool: Value::Switch(on) => Some(*on);
    u64: Value::Count(number) => Some(*number);
    i64: Value::Integer(number) => Some(*number);
    i32: Value::Integer(number) => i32::try_from(*number).ok();
    u32: Value::Integer(number) => u32::try_from(*number).ok();
    usize: Value::Integer(number) => usize::try_from(*number).ok();
    f64: Value::Real(number) => Some(*number);
    Duration: Value::Duration(time) => Some(*time);
    String: Value::Text(text) => Some(text.clone());
    PathBuf: Value::Path(path) => Some(path.clone());
    Option<u8>: Value::Character(character) => Some(*character);
    Vec<String>: Value::Texts(texts) => Some(texts.clone());
    Vec<(String, String)>: Value::Pairs(pairs) => Some(pairs.clone());
    Vec<(String, Option<(String, String)>)>: Value::Booleans(columns) => Some(columns.clone());
    Vec<RowCount>: Value::RowCounts(rows) => Some(rows.clone());
    (u64, u64): Value::Share(share, shares) => Some((*share, *shares));
}

impl Value {
    /// Returns the value as the type of a field.
    ///
    /// # Errors
    /// If the value is an integer beyond the range of the type, or of another kind. Another kind means that the setting's declared kind
    /// does not suit the type of the field.
    pub fn to<T: FromValue>(&self) -> Result<T> {
        T::from_value(self)
            .ok_or_else(|| Error::usage(format!("{self:?} is not a {}", std::any::type_name::<T>())))
    }

    /// Looks up the value in `words`, the pairs of each accepted word and its meaning, and returns the meaning.
    ///
    /// # Errors
    /// If the value is no text, or none of the words.
    pub fn word<T: Copy>(&self, setting: Setting, words: &[(&str, T)]) -> Result<T> {
        let given: String = self.to()?;
        words.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Error::usage(crate::message![setting, format!(": {given:?} is not one of {}", words.join(", "))])
        })
    }

    /// Adds the value of a flag that is given once more: a list grows, any other value is replaced.
    pub fn extend(&mut self, more: Value) {
        match (self, more) {
            (Value::Texts(all), Value::Texts(more)) => all.extend(more),
            (Value::Pairs(all), Value::Pairs(more)) => all.extend(more),
            (Value::Booleans(all), Value::Booleans(more)) => all.extend(more),
            (Value::RowCounts(all), Value::RowCounts(more)) => all.extend(more),
            (value, more) => *value = more,
        }
    }
}

/// The settings that are given to a verb, in the order of their declarations.
#[derive(Clone, Debug)]
pub struct Given {
    verb: Verb,
    values: Vec<(Setting, Value)>,
}

impl Given {
    /// Collects the values of the settings that `find` has a value for.
    ///
    /// # Errors
    /// If `find` fails.
    pub fn collect<E>(
        verb: Verb,
        mut find: impl FnMut(Setting, &Declaration) -> Result<Option<Value>, E>,
    ) -> Result<Given, E> {
        let mut values = Vec::new();
        for (setting, declaration) in verb.settings() {
            values.extend(find(*setting, declaration)?.map(|value| (*setting, value)));
        }
        Ok(Given { verb, values })
    }

    /// Returns `true` if a setting is given.
    pub fn has(&self, setting: Setting) -> bool {
        self.values.iter().any(|(given, _)| *given == setting)
    }

    /// Returns the value of a setting; `None` if it is not given, or is not a `T`.
    pub fn get<T: FromValue>(&self, setting: Setting) -> Option<T> {
        let (_, value) = self.values.iter().find(|(given, _)| *given == setting)?;
        T::from_value(value)
    }

    /// Passes each value to the first of the `options` that has a field for its setting. Settings that the front end handles itself are
    /// skipped.
    ///
    /// # Errors
    /// If a value is not valid for its setting, or no options have a field for the setting.
    pub fn hand_over(&self, options: &mut [&mut dyn TakesSettings]) -> Result<()> {
        for (setting, value) in &self.values {
            let taker = self.verb.declaration(*setting).map(|declaration| declaration.taker);
            if !matches!(taker, Some(Taker::Options | Taker::Library)) {
                continue;
            }
            let mut is_taken = false;
            for options in options.iter_mut() {
                is_taken = is_taken || options.set(*setting, value)?;
            }
            if !is_taken {
                let message = crate::message![*setting, format!(" is no setting of {}", self.verb.name())];
                return Err(Error::usage(message));
            }
        }
        Ok(())
    }
}

/// Options whose fields are settings.
///
/// ```
/// use sqluice_core::error::Result;
/// use sqluice_core::given::{TakesSettings, Value};
/// use sqluice_core::settings::Setting;
///
/// #[derive(Default)]
/// struct Options {
///     threads: Option<usize>,
/// }
///
/// impl TakesSettings for Options {
///     fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
///         match setting {
///             Setting::Threads => self.threads = Some(value.to()?),
///             _ => return Ok(false),
///         }
///         Ok(true)
///     }
/// }
///
/// let mut options = Options::default();
/// assert!(options.set(Setting::Threads, &Value::Integer(4))?);
/// assert!(!options.set(Setting::Memory, &Value::Count(1 << 30))?);
/// assert_eq!(options.threads, Some(4));
/// # Ok::<(), sqluice_core::error::Error>(())
/// ```
pub trait TakesSettings {
    /// Sets the field of a setting. Returns `false` if the options have no field for it.
    ///
    /// # Errors
    /// If the value is not valid for the setting.
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool>;
}
