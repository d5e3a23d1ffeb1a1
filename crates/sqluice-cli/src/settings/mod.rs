//! The declared settings of each command (a `Verb` of the library) as flags: defines clap's arguments, and collects the given values.
//!
//! Modules, from the bottom up: `parse`: parses values; `arg`: converts declarations to arguments.

mod arg;
mod parse;

use std::marker::PhantomData;
use std::ops::Deref;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use sqluice::error::Setting;
use sqluice::given::{Given, Value};
use sqluice::settings::{Kind, Taker, Verb};

/// A type that stands for a verb.
pub(crate) trait OfVerb {
    /// The verb.
    const VERB: Verb;
}

/// Declares a type for each verb.
macro_rules! verbs {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("The settings of `", stringify!($name), "`.")]
            #[derive(Debug)]
            pub(crate) struct $name;

            impl OfVerb for $name {
                const VERB: Verb = Verb::$name;
            }
        )*
    };
}

verbs! { Advise Check Copy Export Generate Index Load Merge Pack Profile Recover Unpack }

/// The settings that are given to a verb; `#[command(flatten)]` adds their flags to the command.
#[derive(Debug)]
pub(crate) struct Flags<V> {
    given: Given,
    verb: PhantomData<V>,
}

impl<V> Deref for Flags<V> {
    type Target = Given;

    fn deref(&self) -> &Given {
        &self.given
    }
}

impl<V: OfVerb> Args for Flags<V> {
    fn augment_args(command: Command) -> Command {
        let flags = V::VERB.settings().filter(|(_, declaration)| declaration.taker != Taker::Library);
        command.args(flags.map(|(setting, declaration)| arg::arg(*setting, declaration)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<V: OfVerb> FromArgMatches for Flags<V> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags<V>, clap::Error> {
        let given = Given::collect::<clap::Error>(V::VERB, |setting, declaration| match declaration.kind {
            _ if declaration.taker == Taker::Library => Ok(None),
            Kind::Switch | Kind::YesOrNo => {
                Ok(matches.get_flag(setting.name()).then_some(Value::Switch(true)))
            }
            _ => Ok(all(matches, setting)),
        })?;
        Ok(Flags { given, verb: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the values of all uses of a flag, combined to one value; `None` if the flag is not given.
fn all(matches: &ArgMatches, setting: Setting) -> Option<Value> {
    let values = matches.get_many::<Value>(setting.name())?.cloned();
    values.reduce(|mut all, more| {
        all.extend(more);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqluice::given::TakesSettings;
    use sqluice::settings::Declaration;
    use std::fmt::Debug;

    fn of_options(verb: Verb) -> impl Iterator<Item = &'static (Setting, Declaration)> {
        verb.settings()
            .filter(|(_, declaration)| matches!(declaration.taker, Taker::Options | Taker::Library))
    }

    /// Returns the options of a verb with their defaults.
    fn options(verb: Verb) -> Vec<Box<dyn OptionsOfVerb>> {
        use sqluice::{archive, check, copy, export, generate, index, load, merge, profile, recover};
        let schema = sqluice::schema::Schema::parse("CREATE TABLE t (a)", "schema".as_ref()).unwrap();
        match verb {
            Verb::Load => vec![Box::new(load::Load::new("db", ["a.csv"]))],
            Verb::Generate => vec![Box::new(generate::Generate::new("db", schema).seed(1))],
            Verb::Profile => vec![Box::new(profile::Profile::new("db"))],
            Verb::Index => vec![Box::new(index::Index::new("db", ["CREATE INDEX i ON t (a)"]))],
            Verb::Copy => vec![Box::new(copy::Copy::new("a", "b"))],
            Verb::Merge => vec![Box::new(merge::Merge::new("a", ["b"]))],
            Verb::Export => vec![Box::new(export::Export::new("db", "a.csv"))],
            Verb::Recover => vec![Box::new(recover::Recover::new("a", "b"))],
            Verb::Check => vec![Box::new(check::Check::new("db"))],
            Verb::Pack => vec![Box::new(archive::Pack::new("db", "folder"))],
            Verb::Unpack => vec![Box::new(archive::Unpack::new("db", "folder"))],
            Verb::Write => vec![Box::new(sqluice::options::WriteOptions::new())],
            #[cfg(feature = "parquet")]
            Verb::Read => vec![Box::new(sqluice::read::Read::table("db", "t"))],
            _ => Vec::new(),
        }
    }

    trait OptionsOfVerb: TakesSettings + Debug {}

    impl<T: TakesSettings + Debug> OptionsOfVerb for T {}

    /// Returns a valid value of a setting.
    fn sample(declaration: &Declaration) -> Value {
        let text = match declaration.kind {
            Kind::Switch | Kind::YesOrNo => return Value::Switch(true),
            Kind::Statements => return Value::Text("CREATE TABLE t (a -- gen: name()\n)".to_owned()),
            Kind::Count | Kind::Integer(..) | Kind::Unsigned | Kind::Real | Kind::Duration => "1",
            Kind::Bytes | Kind::PageSize => "65536",
            Kind::Character | Kind::Delimiter => ";",
            Kind::Types => "a=TEXT",
            Kind::Expressions => "a=1",
            Kind::TableTexts => "a=1",
            Kind::Renames => "a=b",
            Kind::Dates => "a=%Y",
            Kind::Separators => "a=,",
            Kind::RowCounts => "10",
            Kind::Share => "1/2",
            Kind::Choice(words) => words[0].0,
            Kind::InputFormat | Kind::OutputFormat => "csv",
            _ => "utf-8",
        };
        parse::value(declaration.kind, text).unwrap()
    }

    /// Returns `true` if the options of a verb know a setting: they accept the value, or refuse it as invalid.
    fn is_taken(verb: Verb, setting: Setting, declaration: &Declaration) -> bool {
        options(verb).iter_mut().any(|options| options.set(setting, &sample(declaration)).unwrap_or(true))
    }

    #[test]
    fn the_options_of_each_verb_accept_every_setting_declared_for_it() {
        for verb in Verb::ALL {
            for (setting, declaration) in of_options(*verb).filter(|_| !options(*verb).is_empty()) {
                assert!(is_taken(*verb, *setting, declaration), "{verb:?} does not take {setting:?}");
            }
        }
    }

    #[test]
    fn the_options_of_load_do_not_accept_a_setting_of_check() {
        let (setting, declaration) = Verb::Check.settings().next().unwrap();
        assert!(is_taken(Verb::Check, *setting, declaration));
        assert!(!is_taken(Verb::Load, *setting, declaration));
    }

    #[test]
    fn declared_defaults_equal_the_defaults_of_the_options() {
        for verb in Verb::ALL {
            for (setting, declaration) in of_options(*verb) {
                let Some(default) = declaration.default else { continue };
                let value = parse::value(declaration.kind, default).unwrap();
                let defaults = format!("{:?}", options(*verb));
                let mut set = options(*verb);
                set.iter_mut().any(|options| options.set(*setting, &value).unwrap());
                assert_eq!(format!("{set:?}"), defaults, "{verb:?} {setting:?}");
            }
        }
    }

    #[test]
    fn no_verb_declares_a_setting_twice() {
        for verb in Verb::ALL {
            let all: Vec<Setting> = verb.settings().map(|(setting, _)| *setting).collect();
            let twice = all.iter().enumerate().find(|(at, setting)| all[..*at].contains(setting));
            assert_eq!(twice, None, "{verb:?}");
        }
    }
}
