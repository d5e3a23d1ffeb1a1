//! `sqluice man`: makes man pages from the help texts.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man as Page;
use sqluice::error::Error;

use crate::Exit;
use crate::args::{Args, Man};
use crate::printer::Printer;

pub(super) fn run(args: &Man, printer: &Printer) -> anyhow::Result<Exit> {
    let described = |verb: Command| verb.mut_args(with_long_help);
    let mut command = described(Args::command()).mut_subcommands(described).disable_help_subcommand(true);
    // `build` adds the global flags and the full name to each subcommand.
    command.build();
    match &args.dir {
        None => printer.bytes(&page(&command)?)?,
        Some(dir) => {
            let cannot_write = |path: &Path, error| {
                Error::target(format!("cannot write man pages to {}", path.display())).because(error)
            };
            fs::create_dir_all(dir).map_err(|error| cannot_write(dir, error))?;
            let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
            for command in std::iter::once(&command).chain(verbs) {
                let path = dir.join(format!("{}.1", title(command)));
                fs::write(&path, page(command)?).map_err(|error| cannot_write(&path, error))?;
            }
        }
    }
    Ok(Exit::SUCCESS)
}

/// Returns the flag with its help also as its long help. If the short help hides a flag, the man page describes it by its long help only.
fn with_long_help(arg: Arg) -> Arg {
    match (arg.get_long_help(), arg.get_help().cloned()) {
        (None, Some(help)) => arg.long_help(help),
        _ => arg,
    }
}

/// Returns the page of a command, in roff.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let title = title(command);
    let version = format!("sqluice {}", env!("CARGO_PKG_VERSION"));
    let page = Page::new(command.clone().display_name(title.clone())).title(title).source(version);
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    write_synopsis(command, &mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.get_subcommands().any(|verb| !verb.is_hide_set()) {
        page.render_subcommands_section(&mut text)?;
    }
    if let Some(help) = command.get_after_long_help().or(command.get_after_help()) {
        write_sections(&help.to_string(), &mut text)?;
    }
    Ok(text)
}

/// Writes the usage line of a command. The options have a section of their own.
fn write_synopsis(command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let rest = usage.trim_start_matches("Usage: ").trim_start_matches(name);
    writeln!(text, ".SH SYNOPSIS\n\\fB{}\\fR{}", escaped(name), escaped(rest))
}

/// Writes text with headings, such as `Examples:`, as sections with unchanged lines.
fn write_sections(help: &str, text: &mut Vec<u8>) -> io::Result<()> {
    let is_heading = |line: &str| line.ends_with(':') && !line.starts_with(' ');
    if !help.lines().next().is_some_and(is_heading) {
        writeln!(text, ".SH NOTES\n.nf")?;
    }
    for line in help.lines() {
        match line.strip_suffix(':').filter(|_| is_heading(line)) {
            Some(heading) => writeln!(text, ".fi\n.SH {}\n.nf", escaped(&heading.to_uppercase()))?,
            // A line that begins with a period or an apostrophe would be a roff request.
            None => writeln!(text, "\\&{}", escaped(line))?,
        }
    }
    writeln!(text, ".fi")
}

fn escaped(line: &str) -> String {
    line.replace('\\', "\\e").replace('-', "\\-")
}

/// Returns the title of a page: `sqluice-load`.
fn title(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}
