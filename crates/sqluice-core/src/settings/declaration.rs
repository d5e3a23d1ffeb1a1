//! The declaration of a setting for a verb: the kind of its value, its help texts, and its relations to other settings.

use super::kind::Kind;

/// The code that acts on a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// The options of the verb, such as those of a load: the command and Python only fill them.
    Options,
    /// The command and Python, each by its own code.
    FrontEnds,
    /// The command alone. Python has no such parameter.
    Command,
    /// The options of the verb, as for `Options`, but the command has no such flag.
    Library,
}

/// The declaration of a setting for a verb. In help texts, `{temp_dir}` stands for the setting of that name: each front end puts its own
/// name of the setting there.
///
/// ```
/// use sqluice_core::settings::{Declaration, Kind};
///
/// const SKIP_LINES: Declaration = Declaration::new(Kind::Count, "N", "Skip N lines at the start").hidden();
/// assert_eq!((SKIP_LINES.is_hidden, SKIP_LINES.default), (true, None));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Declaration {
    /// The kind of the value.
    pub kind: Kind,
    /// The placeholder for the value in help, such as `DIR`; empty for a switch.
    pub value_name: &'static str,
    /// The sentence about the setting in the short help (`-h`).
    pub help: &'static str,
    /// The text about the setting in the long help (`--help`); `None` if the long help shows `help`.
    pub long_help: Option<&'static str>,
    /// The value of the setting if it is not given, as text. `None` if there is no fixed value: `help` may then describe the default in
    /// `[default: ...]`.
    pub default: Option<&'static str>,
    /// The heading under which help lists the setting; `None` for the list without a heading.
    pub heading: Option<&'static str>,
    /// `true` if a short help leaves the setting out.
    pub is_hidden: bool,
    /// `true` if help does not list the words of a [`Kind::Choice`].
    pub hides_words: bool,
    /// The letter of a short flag; `None` without one.
    pub letter: Option<char>,
    /// Another name of the flag; `None` without one.
    pub alias: Option<&'static str>,
    /// `true` if the setting must be given.
    pub is_required: bool,
    /// The names of the settings and arguments that can't be given together with this setting.
    pub conflicts: &'static [&'static str],
    /// The setting that must be given together with this one, if any.
    pub requires: Option<&'static str>,
    /// The code that acts on the setting: the options of the verb, or the front ends.
    pub taker: Taker,
}

impl Declaration {
    /// Declares a setting with the kind of its value, the placeholder for the value, and the sentence of the short help.
    pub const fn new(kind: Kind, value_name: &'static str, help: &'static str) -> Declaration {
        Declaration {
            kind,
            value_name,
            help,
            long_help: None,
            default: None,
            heading: None,
            is_hidden: false,
            hides_words: false,
            letter: None,
            alias: None,
            is_required: false,
            conflicts: &[],
            requires: None,
            taker: Taker::Options,
        }
    }

    /// Sets the text of the long help.
    pub const fn long(mut self, text: &'static str) -> Declaration {
        self.long_help = Some(text);
        self
    }

    /// Sets the value of the setting if it is not given.
    pub const fn default(mut self, value: &'static str) -> Declaration {
        self.default = Some(value);
        self
    }

    /// Sets the heading under which help lists the setting.
    pub const fn below(mut self, heading: &'static str) -> Declaration {
        self.heading = Some(heading);
        self
    }

    /// Leaves the setting out of a short help.
    pub const fn hidden(mut self) -> Declaration {
        self.is_hidden = true;
        self
    }

    /// Leaves the words of a [`Kind::Choice`] out of help.
    pub const fn hidden_words(mut self) -> Declaration {
        self.hides_words = true;
        self
    }

    /// Sets the letter of a short flag.
    pub const fn letter(mut self, letter: char) -> Declaration {
        self.letter = Some(letter);
        self
    }

    /// Sets another name of the flag.
    pub const fn alias(mut self, name: &'static str) -> Declaration {
        self.alias = Some(name);
        self
    }

    /// Declares that the setting must be given.
    pub const fn required(mut self) -> Declaration {
        self.is_required = true;
        self
    }

    /// Refuses these settings and arguments together with this setting.
    pub const fn conflicts(mut self, names: &'static [&'static str]) -> Declaration {
        self.conflicts = names;
        self
    }

    /// Refuses this setting if the setting `name` is not given.
    pub const fn requires(mut self, name: &'static str) -> Declaration {
        self.requires = Some(name);
        self
    }

    /// Sets the code that acts on the setting.
    pub const fn by(mut self, taker: Taker) -> Declaration {
        self.taker = taker;
        self
    }
}
