//! Formats messages of the library for the command line: settings become flags, such as `--temp-dir`.

use std::error::Error as StdError;
use std::sync::LazyLock;

use sqluice::error::{Error, Message, Setting};
use sqluice_platform::shell::quoted;

/// The names of all flags, in the order of their settings.
static FLAG_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let name = |setting| match setting {
        Setting::Type => "type".to_owned(),
        Setting::Purpose => "for".to_owned(),
        other => other.name().replace('_', "-"),
    };
    Setting::all().map(name).collect()
});

/// Returns the name of the flag of a setting, such as `temp-dir`.
pub(crate) fn flag_name(setting: Setting) -> &'static str {
    &FLAG_NAMES[setting as usize]
}

/// Returns a help text with flags in the place of names such as `{temp_dir}`.
pub(crate) fn in_flags(text: &str) -> String {
    let mut pieces = text.split('{');
    let mut flags = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, rest)) => flags += &format!("--{}{rest}", name.replace('_', "-")),
            None => flags += &format!("{{{piece}"),
        }
    }
    flags
}

/// Returns a setting as a flag: `--temp-dir DIR`.
pub(crate) fn flag(setting: Setting, value: Option<&str>) -> String {
    let name = flag_name(setting);
    match value {
        Some(value) => format!("--{name} {}", quoted(value)),
        None => format!("--{name}"),
    }
}

/// Returns a message with its settings as flags.
pub(crate) fn rendered(message: &Message) -> String {
    message.render(flag)
}

/// Returns the hint of an error. For a missing cargo feature, adds how to install the command with every feature.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let hint = rendered(error.remedy()?);
    Some(match error.missing_feature() {
        Some(_) => {
            format!("{hint}: `make install` in its repository installs the command with every feature")
        }
        None => hint,
    })
}

/// Returns the place and the message of an error, without its hint.
pub(crate) fn error(error: &(dyn StdError + 'static)) -> String {
    match error.downcast_ref::<Error>() {
        Some(error) => {
            let place = error.place().map_or(String::new(), |place| format!("{place}: "));
            format!("{place}{}", rendered(error.what()))
        }
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use sqluice::settings::{Taker, Verb};

    fn long_flags(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
        own.chain(command.get_subcommands().flat_map(long_flags)).collect()
    }

    #[test]
    fn every_setting_that_a_command_takes_has_a_flag() {
        let known = long_flags(&crate::args::Args::command());
        let is_flag = |setting: &Setting| {
            let of_verbs = Verb::ALL.iter().filter_map(|verb| verb.declaration(*setting));
            of_verbs.into_iter().any(|declaration| declaration.taker != Taker::Library)
        };
        let flags = Setting::all().filter(is_flag).map(|setting| flag(setting, None));
        let unknown: Vec<String> = flags.filter(|flag| !known.contains(flag)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
