//! A command line as words: its command, its flags and the other words.

use std::ffi::OsString;

use clap::{Arg, Command};

/// The words after the name of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<OsString>);

impl Words {
    /// Returns the index of the command: the first word that is neither a flag nor the value of a global flag.
    pub(crate) fn verb(&self, program: &Command) -> Option<usize> {
        self.positions(program, 0).into_iter().next()
    }

    /// Returns the indexes, from `from` on, of words that are neither flags nor values of flags of `command`. After a word `--`, all words
    /// count.
    pub(crate) fn positions(&self, command: &Command, from: usize) -> Vec<usize> {
        let mut places = Vec::new();
        let mut at = from;
        while let Some(word) = self.0.get(at) {
            let text = word.to_string_lossy();
            match &*text {
                "--" => {
                    places.extend(at + 1..self.0.len());
                    return places;
                }
                flag if flag.starts_with("--") => at += usize::from(takes_next(command, flag)),
                cluster if cluster.len() > 1 && cluster.starts_with('-') => {
                    at += usize::from(cluster_takes_next(command, cluster));
                }
                _ => places.push(at),
            }
            at += 1;
        }
        places
    }

    /// Returns the index of the first word that is a flag, alone or with `=` and its value; `None` if the flag is not given.
    pub(crate) fn flag(&self, flag: &str) -> Option<usize> {
        self.0.iter().position(|word| {
            let text = word.to_string_lossy();
            text == flag || text.split_once('=').is_some_and(|(name, _)| name == flag)
        })
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flag(flag).is_some()
    }
}

/// Returns `true` if the value of a flag is the next word.
fn takes_next(command: &Command, flag: &str) -> bool {
    let name = flag.trim_start_matches('-');
    let is_it = |arg: &&Arg| {
        let aliases = arg.get_visible_aliases().unwrap_or_default();
        arg.get_long() == Some(name) || aliases.contains(&name)
    };
    command.get_arguments().find(is_it).is_some_and(takes_value)
}

/// Returns `true` if the last flag in a cluster of one-letter flags, such as `-qt`, takes the next word as its value.
fn cluster_takes_next(command: &Command, cluster: &str) -> bool {
    for (at, letter) in cluster.char_indices().skip(1) {
        let arg = command.get_arguments().find(|arg| arg.get_short() == Some(letter));
        if arg.is_some_and(takes_value) {
            return at + letter.len_utf8() == cluster.len();
        }
    }
    false
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}
