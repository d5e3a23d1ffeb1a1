//! The text of an error, a hint or a warning as data: words and settings, so that each front end can name the settings in its own way.
//!
//! ```
//! use sqluice_core::error::{Setting, message};
//!
//! let hint = message!["choose a folder with enough space: ", Setting::TempDir.to("DIR")];
//! let command = |setting: Setting, value: Option<&str>| format!("--{} {}", setting.name(), value.unwrap_or_default());
//! assert_eq!(hint.render(command), "choose a folder with enough space: --temp_dir DIR");
//! ```

use std::fmt;

use serde::{Serialize, Serializer};

use crate::settings::{Setting, SettingValue};

/// A text for people that names settings as data. [`Message::render`] gives the text in the terms of a front end, `Display` in the terms of
/// Rust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Words(String),
    Setting(Setting, Option<String>),
}

impl Message {
    /// Returns the text, in which `name` formats each setting and its value, if any.
    pub fn render(&self, name: impl Fn(Setting, Option<&str>) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Setting(setting, value) => name(*setting, value.as_deref()),
        });
        pieces.collect()
    }

    /// Returns the message as words alone, in which `name` formats each setting. `Display` and serialization then show these names.
    #[must_use]
    pub fn in_terms(&self, name: impl Fn(Setting, Option<&str>) -> String) -> Message {
        self.render(name).into()
    }

    /// Returns the settings in the message.
    pub fn settings(&self) -> impl Iterator<Item = Setting> {
        self.settings_with_values().map(|(setting, _)| setting)
    }

    /// Returns the settings in the message, with the values that it gives them.
    pub fn settings_with_values(&self) -> impl Iterator<Item = (Setting, Option<&str>)> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Setting(setting, value) => Some((*setting, value.as_deref())),
        })
    }

    /// Appends another message.
    pub fn push(&mut self, more: impl Into<Message>) {
        self.0.extend(more.into().0);
    }
}

/// Joins messages: `message!["the table ", name, " exists: ", Setting::Append, " adds to it"]`.
#[macro_export]
#[doc(hidden)]
macro_rules! message {
    [$($piece:expr),* $(,)?] => {{
        let mut message = $crate::error::Message::default();
        $(message.push($piece);)*
        message
    }};
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(|setting, value| match value {
            Some(value) => format!("`{} = {value}`", setting.name()),
            None => format!("`{}`", setting.name()),
        }))
    }
}

/// Serializes the text of `Display`.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<String> for Message {
    fn from(words: String) -> Message {
        Message(vec![Piece::Words(words)])
    }
}

impl From<&str> for Message {
    fn from(words: &str) -> Message {
        words.to_owned().into()
    }
}

impl From<&String> for Message {
    fn from(words: &String) -> Message {
        words.clone().into()
    }
}

impl From<Setting> for Message {
    fn from(setting: Setting) -> Message {
        Message(vec![Piece::Setting(setting, None)])
    }
}

impl From<SettingValue> for Message {
    fn from(SettingValue { setting, value }: SettingValue) -> Message {
        Message(vec![Piece::Setting(setting, Some(value))])
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Message {
        message.clone()
    }
}
