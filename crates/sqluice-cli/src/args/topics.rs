//! `sqluice help WORD`: the paragraphs and flags of all commands whose help mentions a word, such as `types`.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Words that users may search for, and the words that the help texts use instead.
const SYNONYMS: [(&str, &str); 14] = [
    ("stdin", "standard input"),
    ("pipe", "standard input"),
    ("cloud", "url"),
    ("s3", "url"),
    ("http", "url"),
    ("separator", "delimiter"),
    ("charset", "encoding"),
    ("unicode", "encoding"),
    ("ram", "memory"),
    ("parallel", "threads"),
    ("cores", "threads"),
    ("anonymise", "mask"),
    ("anonymize", "mask"),
    ("primary-key", "primary key"),
];

/// Returns what the help of the commands says about a word, or `None` if it says nothing.
pub(crate) fn topic(program: &Command, word: &str) -> Option<String> {
    let word = word.trim_start_matches('-').to_lowercase();
    let word = SYNONYMS.iter().find(|(other, _)| *other == word).map_or(&*word, |(_, called)| called);
    let mut program = program.clone();
    // Without `build`, clap prints flags without their dashes and placeholders.
    program.build();
    let commands =
        program.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let texts: Vec<String> = commands.filter_map(|command| of_command(command, word)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Returns the paragraphs of a command's help and the flags that mention the word; `None` if there are none.
fn of_command(command: &Command, word: &str) -> Option<String> {
    let about = command.get_long_about().map(plain).unwrap_or_default();
    let about = about.split("\n\n").skip(1).filter(|text| has(text, word)).map(|text| format!("{text}\n\n"));
    let about: String = about.collect();
    let is_meant = |arg: &&Arg| {
        let texts = [arg.get_help(), arg.get_long_help()].map(|text| text.map(plain).unwrap_or_default());
        let names = [arg.get_long(), arg.get_help_heading()].map(Option::unwrap_or_default);
        !arg.is_hide_set()
            && (texts.iter().any(|text| has(text, word)) || names.iter().any(|name| has(name, word)))
    };
    let flags: Vec<&Arg> = command.get_arguments().filter(is_meant).collect();
    if about.is_empty() && flags.is_empty() {
        return None;
    }
    let named: Vec<(String, String)> = flags
        .into_iter()
        .map(|arg| (arg.to_string(), arg.get_help().map(plain).unwrap_or_default()))
        .collect();
    let name = command.get_name();
    let mut text = format!("sqluice {name}\n\n{about}");
    for (flag, help) in named {
        text += &format!("  {flag}\n          {help}\n");
    }
    Some(text + &format!("\n`sqluice {name} --help` describes every option.\n"))
}

fn plain(text: &StyledStr) -> String {
    text.to_string()
}

/// Returns `true` if a text contains a word, in the singular or the plural, in any case.
fn has(text: &str, word: &str) -> bool {
    let text = text.to_lowercase();
    let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
    text.match_indices(stem).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + stem.len()..].chars();
        let next = after.next();
        let end = if next == Some('s') { after.next() } else { next };
        !before.is_some_and(char::is_alphanumeric) && !end.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::{has, topic};
    use crate::args::command;

    #[test]
    fn a_search_for_a_word_finds_its_singular_and_plural_but_no_other_words() {
        assert!(has("Each column gets a type that fits", "types"));
        assert!(has("Columns and types", "type"));
        assert!(!has("a prototype", "type"));
        assert!(!has("typed", "type"));
    }

    #[test]
    fn the_help_about_a_word_lists_commands_and_flags_that_mention_it() {
        let program = command();
        for (word, command, flag) in [
            ("types", "sqluice load", "--type "),
            ("delimiter", "sqluice load", "--delimiter "),
            ("stdin", "sqluice load", ""),
            ("masks", "sqluice copy", "--mask "),
            ("memory", "sqluice index", "--memory "),
            ("s3", "sqluice export", ""),
            ("--upsert", "sqluice load", "--upsert "),
        ] {
            let text = topic(&program, word).unwrap();
            assert!(text.contains(command) && text.contains(flag), "{word}: {text}");
        }
        assert_eq!(topic(&program, "frobnicate"), None);
    }
}
