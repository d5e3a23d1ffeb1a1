//! Converts declarations of settings to arguments of clap.

use clap::builder::{
    NonEmptyStringValueParser, PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser,
    TypedValueParser, ValueParser,
};
use clap::{Arg, ArgAction};
use sqluice::convert::DIRECTIVES;
use sqluice::error::Setting;
use sqluice::given::Value;
use sqluice::settings::{Declaration, Kind};
use sqluice::{export, load};

use super::parse;
use crate::terms::{flag_name, in_flags};

/// Returns the argument of a setting.
pub(super) fn arg(setting: Setting, declaration: &Declaration) -> Arg {
    let mut arg = Arg::new(setting.name())
        .long(flag_name(setting))
        .help(text(declaration.help, declaration.kind))
        .hide_short_help(declaration.is_hidden)
        .hide_possible_values(declaration.hides_words)
        .conflicts_with_all(declaration.conflicts)
        .required(declaration.is_required);
    if let Some(text_of_long) = declaration.long_help {
        arg = arg.long_help(text(text_of_long, declaration.kind));
    }
    if let Some(heading) = declaration.heading {
        arg = arg.help_heading(heading);
    }
    if let Some(letter) = declaration.letter {
        arg = arg.short(letter);
    }
    if let Some(alias) = declaration.alias {
        arg = arg.visible_alias(alias);
    }
    if let Some(other) = declaration.requires {
        arg = arg.requires(other);
    }
    if let Some(value) = declaration.default {
        // Clap must not add the default if the help text already states it.
        arg = arg.default_value(value).hide_default_value(declaration.help.contains("[default: "));
    }
    match declaration.kind {
        Kind::Switch | Kind::YesOrNo => return arg.action(ArgAction::SetTrue),
        // A value may begin with a hyphen, such as a negative number.
        Kind::Texts => arg = arg.action(ArgAction::Append).allow_hyphen_values(true),
        kind if is_list(kind) => arg = arg.action(ArgAction::Append),
        Kind::Integer(least, _) => arg = arg.allow_negative_numbers(least < 0),
        _ => {}
    }
    arg.value_name(declaration.value_name).value_parser(parser(declaration.kind))
}

/// Returns `true` if each use of a flag adds to its value.
fn is_list(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Texts
            | Kind::Names
            | Kind::Columns
            | Kind::Indexes
            | Kind::Types
            | Kind::Expressions
            | Kind::TableTexts
            | Kind::Renames
            | Kind::Dates
            | Kind::Booleans
            | Kind::Separators
            | Kind::RowCounts
    )
}

/// Returns a help text, with settings as flags, and `{}` replaced by text that depends on the build.
fn text(declared: &str, kind: Kind) -> String {
    let filled = match kind {
        Kind::InputFormat => declared.replace("{}", &load::formats::names()),
        Kind::OutputFormat => declared.replace("{}", &export::formats::names()),
        Kind::Dates => declared.replace("{}", DIRECTIVES),
        _ => declared.to_owned(),
    };
    in_flags(&filled)
}

/// Returns the parser of a kind. Clap's own parsers have messages for empty values and for values that are not in a list.
fn parser(kind: Kind) -> ValueParser {
    let texts = |text| Value::Texts(vec![text]);
    match kind {
        Kind::Text => ValueParser::new(StringValueParser::new().map(Value::Text)),
        Kind::Name => ValueParser::new(NonEmptyStringValueParser::new().map(Value::Text)),
        Kind::Texts | Kind::Indexes => ValueParser::new(StringValueParser::new().map(texts)),
        Kind::Names => ValueParser::new(NonEmptyStringValueParser::new().map(texts)),
        Kind::Path | Kind::Statements => ValueParser::new(PathBufValueParser::new().map(Value::Path)),
        Kind::Choice(words) => one_of(words.iter().copied()),
        Kind::InputFormat => one_of(load::formats::ALL.iter().map(|format| (format.name, format.about))),
        Kind::OutputFormat => one_of(export::formats::ALL.iter().map(|format| (format.name, format.about))),
        _ => ValueParser::new(move |text: &str| parse::value(kind, text)),
    }
}

fn one_of(words: impl Iterator<Item = (&'static str, &'static str)>) -> ValueParser {
    let words = words.map(|(word, about)| PossibleValue::new(word).help(about));
    ValueParser::new(PossibleValuesParser::new(words).map(Value::Text))
}
