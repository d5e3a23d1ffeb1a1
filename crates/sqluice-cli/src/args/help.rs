//! Help: the output of `sqluice` without arguments, the list of commands by task, and the colours of all help texts.

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{Command, CommandFactory};

use super::Args;

/// The output of `sqluice` without arguments.
pub(crate) const WELCOME: &str = "\
sqluice fills SQLite databases at the speed of the disk.

Examples:
  sqluice orders.csv                                   a file into a new database, orders.db
  sqluice load shop.db orders.csv                      CSV, JSON or Parquet files into a database
  sqluice generate test.db --preset shop --rows 1M     a test database
  sqluice info shop.db                                 its tables, rows and pages
  sqluice export shop.db orders --to orders.parquet    a table into a file

sqluice -h lists all commands. sqluice load -h explains one of them.
";

/// The headings of `sqluice -h` and the commands below each.
const TASKS: [(&str, &[&str]); 6] = [
    ("Fill a database", &["load", "generate", "index"]),
    ("Copy, merge, export", &["copy", "merge", "export"]),
    ("Inspect a database", &["info", "check", "recover", "profile"]),
    ("Store folders of files", &["pack", "unpack"]),
    ("Measure", &["advise", "lab"]),
    ("Help", &["completions", "man", "help"]),
];

const HEADING: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();
const STYLES: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(LITERAL)
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Green.on_default())
    .invalid(AnsiColor::Yellow.on_default());

/// Returns the clap command of the whole program, with styled help and with the subcommands listed by task.
pub(crate) fn command() -> Command {
    let command = Args::command();
    let tasks = tasks(&command);
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{tasks}{HEADING}Options:{HEADING:#}\n{{options}}{{after-help}}"
    );
    command.styles(STYLES).help_template(template).mut_subcommands(with_styled_headings)
}

/// Returns the list of subcommands with their descriptions, below the headings of [`TASKS`].
fn tasks(command: &Command) -> String {
    let about = |name: &str| match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        None => "Print this help, or the help of a command".to_owned(),
    };
    let width = TASKS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let tasks = TASKS.iter().map(|(task, names)| {
        let lines =
            names.iter().map(|name| format!("  {LITERAL}{name:width$}{LITERAL:#}  {}\n", about(name)));
        format!("{HEADING}{task}:{HEADING:#}\n{}\n", lines.collect::<String>())
    });
    tasks.collect()
}

/// Styles lines such as `Examples:`, which clap takes for plain text, like the other headings of a subcommand's help.
fn with_styled_headings(mut verb: Command) -> Command {
    if let Some(help) = verb.get_after_help().map(ToString::to_string) {
        verb = verb.after_help(styled(&help));
    }
    if let Some(help) = verb.get_after_long_help().map(ToString::to_string) {
        verb = verb.after_long_help(styled(&help));
    }
    verb
}

/// Styles the headings of a text: unindented lines that end with a colon.
fn styled(text: &str) -> String {
    let is_heading = |line: &str| line.ends_with(':') && !line.starts_with(' ');
    let lines = text.split('\n').map(|line| match is_heading(line) {
        true => format!("{HEADING}{line}{HEADING:#}"),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_visible_command_under_one_task() {
        let command = Args::command();
        let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
        let mut visible: Vec<&str> = visible.chain(["help"]).collect();
        let mut listed: Vec<&str> = TASKS.iter().flat_map(|(_, names)| *names).copied().collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible);
    }

    #[test]
    fn only_headings_of_the_help_are_styled() {
        let styled = styled("Examples:\n  a:\n    b\nText.");
        assert_eq!(styled, format!("{HEADING}Examples:{HEADING:#}\n  a:\n    b\nText."));
    }
}
