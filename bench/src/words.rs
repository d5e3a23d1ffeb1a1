//! The command line of a lap: the comparison's process writes it, and the lap's process parses it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::vec::IntoIter;

use anyhow::{Context, ensure};

/// A value that can be an argument of a lap: a text, a path or a number.
pub trait Word {
    /// Converts the value to an argument of the command line.
    fn word(&self) -> OsString;
}

impl<T: Word + ?Sized> Word for &T {
    fn word(&self) -> OsString {
        (**self).word()
    }
}

macro_rules! word {
    ($($type:ty: $word:ident;)*) => {
        $(impl Word for $type {
            fn word(&self) -> OsString {
                self.$word().into()
            }
        })*
    };
}

word! {
    str: to_owned;
    String: clone;
    OsStr: to_owned;
    OsString: clone;
    Path: as_os_str;
    PathBuf: as_os_str;
    u8: to_string;
    u64: to_string;
    usize: to_string;
    f64: to_string;
}

/// Returns a list of arguments from texts, paths and numbers.
#[macro_export]
macro_rules! words {
    ($($word:expr),* $(,)?) => { [$($crate::words::Word::word(&$word)),*] };
}

/// The arguments of a lap that have not been parsed yet.
#[derive(Debug)]
pub struct Words(IntoIter<OsString>);

impl Words {
    /// Takes the arguments of a lap, of which none is parsed yet.
    pub fn new(words: Vec<OsString>) -> Words {
        Words(words.into_iter())
    }

    /// Takes the next word as a path.
    ///
    /// # Errors
    /// When no word is left.
    pub fn path(&mut self) -> anyhow::Result<PathBuf> {
        self.0.next().map(PathBuf::from).context("a word is missing")
    }

    /// Takes the next word as a text or a number.
    ///
    /// # Errors
    /// When no word is left, or the word can't be parsed as `T`.
    pub fn take<T: FromStr>(&mut self) -> anyhow::Result<T> {
        let word = self.path()?;
        let value = word.to_str().and_then(|word| word.parse().ok());
        value.with_context(|| format!("{} is no such value", word.display()))
    }

    /// Returns `true` if the next argument is `word`, `false` if no argument is left.
    ///
    /// # Errors
    /// When other words are left.
    pub fn ends_with(&mut self, word: &str) -> anyhow::Result<bool> {
        match self.0.next() {
            None => Ok(false),
            Some(last) => {
                ensure!(last == word, "{} is no word of this lap", last.display());
                Ok(true)
            }
        }
    }
}
