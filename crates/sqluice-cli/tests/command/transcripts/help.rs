//! Transcripts of help, version, completions and man pages.

use std::fs;
use std::path::Path;

use crate::support::{SQLUICE, finish, folder, names, program, run, sqluice};

#[test]
fn the_version_of_the_program_names_that_of_sqlite() {
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
        "recover",
        "info",
        "--json",
        "0 done",
        "1 the input",
        "2 wrong",
        "130 interrupted",
    ] {
        assert!(help.contains(word), "{word}");
    }
    for verb in VERBS {
        assert!(
            run(Path::new("/"), [verb, "--help"]).ok().stdout.contains(&format!("Usage: sqluice {verb} "))
        );
    }
}

/// The names of all subcommands except `help`.
const VERBS: [&str; 16] = [
    "load",
    "generate",
    "profile",
    "index",
    "copy",
    "merge",
    "export",
    "info",
    "check",
    "recover",
    "pack",
    "unpack",
    "advise",
    "lab",
    "completions",
    "man",
];

/// Returns the help of a command on a terminal of this width.
fn help(columns: usize, args: &[&str]) -> String {
    let mut command = sqluice(Path::new("/"));
    finish(command.env("COLUMNS", columns.to_string()).args(args)).ok().stdout
}

#[test]
fn the_command_without_arguments_prints_examples() {
    let ran = run(Path::new("/"), [""; 0]);
    assert_eq!((ran.code(), &*ran.stdout), (Some(2), ""), "{ran:?}");
    let examples = ran.stderr.lines().filter(|line| line.starts_with("  sqluice "));
    let verbs: Vec<&str> = examples.filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(verbs, ["orders.csv", "load", "generate", "info", "export"]);
}

#[test]
fn the_help_of_every_flag_of_load_states_the_default() {
    let help = help(100, &["load", "--help"]);
    let flags = help.split("\nOutput:").next().unwrap().split("\nOptions:").nth(1).unwrap();
    // The description of a flag begins with its dashes, and ends at the next flag or heading. A list of possible values is part of it.
    let is_flag = |line: &str| line.starts_with('-') && !line.starts_with("- ");
    let mut described: Vec<String> = Vec::new();
    for line in flags.lines().filter(|line| !line.is_empty()) {
        let (is_heading, line) = (!line.starts_with(' '), line.trim());
        match described.last_mut() {
            Some(last) if !is_flag(line) && !is_heading => *last += &format!(" {line}"),
            _ => described.push(line.to_owned()),
        }
    }
    let flags: Vec<&String> = described.iter().filter(|line| is_flag(line)).collect();
    assert!(flags.len() >= 40, "{flags:#?}");
    // These flags need no [default: ...]: without the flag, plainly nothing is done.
    let plain = ["--empty-as-text", "--dry-run", "--overwrite ", "-y, --yes", "-h, --help"];
    for flag in flags.iter().filter(|flag| !plain.iter().any(|plain| flag.starts_with(plain))) {
        assert!(flag.contains("[default: "), "{flag}");
    }
}

#[test]
fn the_short_help_of_a_command_has_at_most_40_lines() {
    for verb in VERBS {
        let lines = help(100, &[verb, "-h"]).lines().count();
        assert!(lines <= 40, "{verb} -h has {lines} lines");
    }
    let (load, all) = (help(100, &["load", "-h"]), help(100, &["load", "--help"]));
    assert!(load.lines().count() >= 24 && load.contains("\nExamples:\n"), "{load}");
    assert!(load.contains("--help") && all.lines().count() > 200, "{all}");
    assert!(help(100, &["-h"]).lines().count() <= 40);
}

#[test]
fn the_flags_of_long_help_are_grouped_by_task() {
    let load = help(100, &["load", "--help"]);
    let headings: Vec<&str> =
        load.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    let expected = [
        "Arguments:",
        "Options:",
        "Columns and types:",
        "SQL on the way in:",
        "Existing tables:",
        "Keys and indexes:",
        "File format:",
        "Bad rows:",
        "Servers:",
        "Writing:",
        "Resources:",
        "URLs:",
        "Output:",
        "Examples:",
    ];
    assert_eq!(headings, expected);
}

#[test]
fn help_without_colour_has_the_same_text_as_coloured_help() {
    let coloured = help(100, &["load", "-h", "--color", "always"]);
    assert!(coloured.contains("\x1b[1m\x1b[32mExamples:\x1b[0m\n"), "{coloured:?}");
    let mut plain = coloured;
    while let Some(start) = plain.find("\x1b[") {
        let end = start + plain[start..].find('m').unwrap();
        plain.replace_range(start..=end, "");
    }
    assert_eq!(plain, help(100, &["load", "-h", "--color=never"]));
    assert_eq!(plain, help(100, &["load", "-h"]));
}

#[test]
fn man_pages_exist_for_all_verbs_and_name_their_flags() {
    let folder = folder();
    let pages = folder.path().join("man/man1");
    let ran = run(folder.path(), ["man", "man/man1"]).ok();
    assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""));
    let mut expected: Vec<String> = VERBS.iter().map(|verb| format!("sqluice-{verb}.1")).collect();
    expected.push("sqluice.1".to_owned());
    expected.sort();
    assert_eq!(names(&pages), expected);
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    assert_eq!(run(folder.path(), ["man"]).ok().stdout, page("sqluice.1"));
    for verb in VERBS {
        let text = page(&format!("sqluice-{verb}.1"));
        assert!(text.contains(&format!("\n.TH sqluice-{verb} 1 ")), "{verb}");
        assert!(text.contains(&format!("\n\\fBsqluice {verb}\\fR ")), "{verb}: {text}");
        assert!(text.contains("\\-\\-json") && !text.contains('\x1b'), "{verb}");
        assert!(
            text.contains("Print only errors and warnings") && text.contains("\n.SH EXAMPLES\n"),
            "{verb}: {text}"
        );
    }
    assert!(page("sqluice-load.1").contains("\\-\\-max\\-rejects"));
    fs::write(folder.path().join("file"), "").unwrap();
    run(folder.path(), ["man", "file"]).failed(1, "cannot write man pages to file");
}

#[test]
fn help_fits_terminals_of_80_and_of_100_columns() {
    for columns in [80, 100] {
        for (verb, flag) in VERBS.iter().flat_map(|verb| [(verb, "-h"), (verb, "--help")]) {
            let help = help(columns, &[verb, flag]);
            let too_long = help.lines().find(|line| line.chars().count() > columns);
            assert_eq!(too_long, None, "{verb} {flag} in {columns} columns");
            assert!(!help.contains("\\\\") && !help.contains("\\\""), "{verb} {flag}: escaped twice");
        }
    }
}

#[test]
fn completions_are_scripts_that_call_the_program() {
    for (shell, sign) in [
        ("bash", "complete -o nospace"),
        ("zsh", "#compdef sqluice"),
        ("fish", "complete --keep-order --exclusive --command sqluice"),
        ("elvish", "edit:completion:arg-completer[sqluice]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = run(Path::new("/"), ["completions", shell]).ok();
        assert_eq!(script.stderr, "");
        for word in [sign, "SQLUICE_COMPLETE", "sqluice"] {
            assert!(script.stdout.contains(word), "{shell}: {word} in {}", script.stdout);
        }
    }
    run(Path::new("/"), ["completions", "tcsh"]).failed(2, "invalid value 'tcsh' for '<SHELL>'");
}

/// Returns the completions of the last of these words, which is being typed.
fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut command = sqluice(folder);
    command.env("SQLUICE_COMPLETE", "fish").arg("--").args(words);
    let shown = finish(&mut command).ok().stdout;
    // fish prints a description after each value.
    shown.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn completions_offer_commands_flags_and_values_of_flags() {
    let folder = folder();
    let completed = |words: &[&str]| completed(folder.path(), words);
    let verbs = completed(&["sqluice", ""]);
    for verb in VERBS {
        assert!(verbs.iter().any(|shown| shown == verb), "{verb} of {verbs:?}");
    }
    assert_eq!(completed(&["sqluice", "load", "x.db", "--max-rej"]), ["--max-rejects"]);
    assert_eq!(completed(&["sqluice", "generate", "x.db", "--preset", "sh"]), ["shop"]);
    assert_eq!(completed(&["sqluice", "export", "x.db", "--format", "pa"]), ["parquet"]);
    fs::write(folder.path().join("orders.csv"), "a\n").unwrap();
    assert_eq!(completed(&["sqluice", "load", "x.db", "ord"]), ["orders.csv"]);
}

#[test]
fn completions_offer_the_tables_of_the_database_on_the_command_line() {
    let folder = folder();
    let db = rusqlite::Connection::open(folder.path().join("shop.db")).unwrap();
    db.execute_batch("CREATE TABLE orders(a); CREATE TABLE \"old orders\"(a); CREATE VIEW open AS SELECT 1;")
        .unwrap();
    drop(db);
    let completed = |words: &[&str]| completed(folder.path(), words);
    assert_eq!(completed(&["sqluice", "export", "shop.db", ""])[..3], ["orders", "old orders", "open"]);
    assert_eq!(completed(&["sqluice", "export", "shop.db", "or"]), ["orders"]);
    assert_eq!(completed(&["sqluice", "load", "x.db", "shop.db", "--table", "or"]), ["orders"]);
    assert!(completed(&["sqluice", "export", "gone.db", "or"]).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn the_completion_script_completes_a_table_name_in_bash() {
    let folder = folder();
    let script = run(folder.path(), ["completions", "bash"]).ok().stdout;
    fs::write(folder.path().join("script"), script).unwrap();
    rusqlite::Connection::open(folder.path().join("shop.db"))
        .unwrap()
        .execute_batch("CREATE TABLE orders(a)")
        .unwrap();
    let programs = Path::new(SQLUICE).parent().unwrap();
    let line = "source ./script; COMP_WORDS=(sqluice export shop.db or); COMP_CWORD=3; \
                _clap_complete_sqluice sqluice or shop.db; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = program("bash");
    bash.args(["-c", line])
        .current_dir(folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    assert_eq!(finish(&mut bash).ok().stdout, "orders\n");
}
