//! Help, version, completions.

use std::path::Path;

use crate::support::{Ran, run, sqluice};

#[test]
fn the_version_names_sqlites() {
    let version = format!("sqluice {} (SQLite {})\n", env!("CARGO_PKG_VERSION"), rusqlite::version());
    assert_eq!(run(Path::new("/"), ["-V"]).ok().stdout, version);
    let long = run(Path::new("/"), ["--version"]).ok().stdout;
    assert!(long.starts_with(&version), "{long}");
    let built = long.lines().nth(1).unwrap();
    assert!(built.starts_with("built by rustc 1.") && built.contains(std::env::consts::ARCH), "{long}");
}

#[test]
fn help_names_every_verb_and_the_exit_codes() {
    let help = run(Path::new("/"), ["--help"]).ok().stdout;
    for word in [
        "generate",
        "load",
        "index",
        "copy",
        "merge",
        "pack",
        "unpack",
        "lab",
        "check",
        "info",
        "--json",
        "0 done",
        "1 the input",
        "2 wrong",
        "130 interrupted",
    ] {
        assert!(help.contains(word), "{word}");
    }
    for verb in
        ["generate", "load", "index", "copy", "merge", "pack", "unpack", "lab", "advise", "check", "info"]
    {
        assert!(
            run(Path::new("/"), [verb, "--help"]).ok().stdout.contains(&format!("Usage: sqluice {verb} "))
        );
    }
}

#[test]
fn every_flag_of_load_says_what_holds_without_it() {
    let help = run(Path::new("/"), ["load", "-h"]).ok().stdout;
    let flags = help.split("Output:").next().unwrap().split("Table:").nth(1).unwrap();
    // Each begins with its dashes, and goes on until the next.
    let mut described: Vec<String> = Vec::new();
    for line in flags.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match described.last_mut() {
            Some(last) if !line.starts_with('-') && !line.ends_with(':') => *last += &format!(" {line}"),
            _ => described.push(line.to_owned()),
        }
    }
    let flags: Vec<&String> = described.iter().filter(|line| line.starts_with('-')).collect();
    assert!(flags.len() >= 25, "{flags:#?}");
    // Flags that ask for something that otherwise plainly is not done.
    let plain = ["--empty-as-text", "--dry-run", "--overwrite", "-y, --yes"];
    for flag in flags.iter().filter(|flag| !plain.iter().any(|plain| flag.starts_with(plain))) {
        assert!(flag.contains("[default: "), "{flag}");
    }
}

#[test]
fn help_fits_terminals_of_80_and_of_100_columns() {
    for columns in [80, 100] {
        for verb in [
            "generate",
            "load",
            "index",
            "copy",
            "merge",
            "pack",
            "unpack",
            "lab",
            "advise",
            "check",
            "info",
            "completions",
        ] {
            for flag in ["-h", "--help"] {
                let mut command = sqluice(Path::new("/"));
                let output = command.env("COLUMNS", columns.to_string()).args([verb, flag]).output().unwrap();
                let help = Ran::from(output).ok().stdout;
                let too_long = help.lines().find(|line| line.chars().count() > columns);
                assert_eq!(too_long, None, "{verb} {flag} in {columns} columns");
                assert!(!help.contains("\\\\") && !help.contains("\\\""), "{verb} {flag}: escaped twice");
            }
        }
    }
}

#[test]
fn completions_are_scripts_of_each_shell_that_know_every_verb_and_flag() {
    for (shell, sign) in [
        ("bash", "complete -F _sqluice"),
        ("zsh", "#compdef sqluice"),
        ("fish", "complete -c sqluice"),
        ("elvish", "edit:completion:arg-completer[sqluice]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = run(Path::new("/"), ["completions", shell]).ok();
        assert_eq!(script.stderr, "");
        for word in [sign, "generate", "load", "check", "info", "max-rejects", "page-size", "preset"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    run(Path::new("/"), ["completions", "tcsh"]).failed(2, "invalid value 'tcsh' for '<SHELL>'");
}
