//! What an error or a note says, as data: words, and the settings that they name.
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

/// A text for people, in which settings are named as data. [`Message::render`] gives it in the terms of a front end; `Display` in
/// those of Rust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Words(String),
    Setting(Setting, Option<String>),
}

impl Message {
    /// The message, with each setting as `name` calls it, given its value if it has one.
    pub fn render(&self, name: impl Fn(Setting, Option<&str>) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Setting(setting, value) => name(*setting, value.as_deref()),
        });
        pieces.collect()
    }

    /// The message as words alone, with each setting as `name` calls it: what is printed or serialized as it is.
    #[must_use]
    pub fn in_terms(&self, name: impl Fn(Setting, Option<&str>) -> String) -> Message {
        self.render(name).into()
    }

    /// The settings that it names.
    pub fn settings(&self) -> impl Iterator<Item = Setting> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Setting(setting, _) => Some(*setting),
        })
    }

    /// Appends another message.
    pub fn push(&mut self, more: impl Into<Message>) {
        self.0.extend(more.into().0);
    }
}

/// The messages one after another: `message!["the table ", name, " exists: ", Setting::Append, " adds to it"]`.
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

/// As `Display`.
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
