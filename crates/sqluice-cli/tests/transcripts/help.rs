//! Help, version, completions.

use std::path::Path;

use crate::support::run;

#[test]
fn the_version_names_sqlites() {
    let version = format!("sqluice {} (SQLite {})\n", env!("CARGO_PKG_VERSION"), rusqlite::version());
    for flag in ["--version", "-V"] {
        assert_eq!(run(Path::new("/"), [flag]).ok().stdout, version);
    }
}

#[test]
fn help_names_every_verb_and_the_exit_codes() {
    let help = run(Path::new("/"), ["--help"]).ok().stdout;
    for word in
        ["generate", "load", "check", "info", "--json", "0 done", "1 the input", "2 wrong", "130 interrupted"]
    {
        assert!(help.contains(word), "{word}");
    }
    for verb in ["generate", "load", "check", "info"] {
        assert!(
            run(Path::new("/"), [verb, "--help"]).ok().stdout.contains(&format!("Usage: sqluice {verb} "))
        );
    }
}
