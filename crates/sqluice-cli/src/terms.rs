//! The command's words for what messages name as data.

use std::error::Error as StdError;

use sqluice::error::{Error, Message, Setting};

/// A setting as the flag that it is here: `--temp-dir DIR`.
pub(crate) fn flag(setting: Setting, value: Option<&str>) -> String {
    let name = match setting {
        Setting::Type => "type".to_owned(),
        other => other.name().replace('_', "-"),
    };
    match value {
        // The shell keeps the quotes around a name.
        Some(value) if value.contains('"') => format!("--{name} '{}'", value.replace('\'', "'\\''")),
        Some(value) => format!("--{name} {value}"),
        None => format!("--{name}"),
    }
}

/// A message with its settings as flags.
pub(crate) fn rendered(message: &Message) -> String {
    message.render(flag)
}

/// The hint of an error. A command that lacks a cargo feature is built again by its repository's Makefile, with every feature.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let hint = rendered(error.remedy()?);
    Some(match error.missing_feature() {
        Some(_) => {
            format!("{hint}: `make install` in its repository installs the command with every feature")
        }
        None => hint,
    })
}

/// An error without its hint: the place and the message.
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

    fn long_flags(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?)));
        own.chain(command.get_subcommands().flat_map(long_flags)).collect()
    }

    #[test]
    fn every_setting_is_a_flag_that_the_command_has() {
        let known = long_flags(&crate::args::Args::command());
        let unknown: Vec<String> = Setting::ALL
            .iter()
            .map(|setting| flag(*setting, None))
            .filter(|flag| !known.contains(flag))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
