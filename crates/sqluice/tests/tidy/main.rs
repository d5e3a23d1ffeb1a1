//! Rules for the source code: modules use only those listed before them, only one crate names operating systems, messages name no flags of
//! the command, texts name paths that exist and no paths outside the repository, and no source has a mark of unfinished work.

mod modules;
mod paths;
mod systems;

use std::fs;
use std::path::{Path, PathBuf};

use sqluice_platform::paths::{bytes, from_bytes};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns all files below a folder, except for built, downloaded and measured ones.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let others = [".git", "target", "results", ".venv", "node_modules", "__pycache__"];
            if others.contains(&name.as_str()) || name.starts_with("mutants.out") {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                // Paths have `/` on Windows, too.
                found.push(from_bytes(&bytes(entry.path().as_os_str())));
            }
        }
    }
    found.sort();
    found
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension))
}

/// Returns true for the files of these tests, which must name what they forbid.
fn is_this(file: &Path) -> bool {
    ["main.rs", "modules.rs", "paths.rs", "systems.rs"]
        .iter()
        .any(|name| file.ends_with(format!("tests/tidy/{name}")))
}

/// Returns true if a file has only tests.
fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests")
}

/// Returns the source files of all crates.
fn sources() -> Vec<PathBuf> {
    let mut sources = files(&repository());
    sources.retain(|file| has_extension(file, &["rs"]) && !is_this(file));
    assert!(sources.len() > 20, "the sources are somewhere else");
    sources
}

#[test]
fn the_file_format_crate_has_no_dependencies_outside_its_tests() {
    let manifest = read(&repository().join("crates/sqluice-format/Cargo.toml"));
    let mut tables = manifest.lines().filter(|line| line.starts_with('['));
    let forbidden = tables.find(|table| table.contains("dependencies") && *table != "[dev-dependencies]");
    assert_eq!(forbidden, None);
}

#[test]
fn no_source_file_has_a_mark_of_unfinished_work() {
    let macros = ["todo!", "unimplemented!", "dbg!"];
    let words = ["TODO", "FIXME", "XXX", "HACK"];
    let mut undone = Vec::new();
    for file in sources() {
        for (number, line) in read(&file).lines().enumerate() {
            let mut of_line = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if macros.iter().any(|name| line.contains(name)) || of_line.any(|word| words.contains(&word)) {
                undone.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    assert!(undone.is_empty(), "{undone:#?}");
}

/// Returns the lines of a source that have a flag in a string literal, with their numbers. A flag follows a quotation mark, a backtick, a
/// space or an opening bracket. Rust comments, and SQL comments, which begin with `-- `, are skipped.
fn flags_in_strings(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("//") {
            continue;
        }
        let begins_flag = |rest: &str| {
            let mut rest = rest.chars();
            rest.next().is_some_and(|c| c.is_ascii_lowercase()) && rest.next().is_some()
        };
        let is_flag = |&(at, _): &(usize, &str)| {
            let before = line[..at].chars().next_back();
            before.is_some_and(|c| "\" (`'".contains(c)) && begins_flag(&line[at + 2..])
        };
        if line.contains('"') {
            found.extend(line.match_indices("--").filter(is_flag).map(|_| (number + 1, line.to_owned())));
        }
    }
    found
}

/// The crates that every front end uses.
const ENGINE: [&str; 8] = [
    "sqluice",
    "sqluice-core",
    "sqluice-engine",
    "sqluice-generator",
    "sqluice-reader",
    "sqluice-sources",
    "sqluice-stores",
    "sqluice-writers",
];

/// Returns true if a line has an argument of Python, such as `name=`.
fn has_python_argument(line: &str) -> bool {
    ["=True", "=False", "if_exists="].iter().any(|argument| line.contains(argument))
}

#[test]
fn messages_of_the_engine_name_no_command_line_flag_and_no_python_argument() {
    assert_eq!(flags_in_strings("let a = \"--memory\";\n// \"--memory\"\n\"-- table\"").len(), 1);
    assert_eq!(flags_in_strings("f(\"give more memory: --memory\")").len(), 1);
    assert!(has_python_argument("\"use overwrite=True\""));
    let (mut flags, mut arguments) = (Vec::new(), Vec::new());
    for file in sources() {
        let path = file.to_string_lossy();
        let engine = ENGINE.iter().any(|name| path.contains(&format!("crates/{name}/src/")));
        let command = path.contains("crates/sqluice-cli/src/");
        if !(engine || command) || path.contains("/tests") {
            continue;
        }
        let text = read(&file);
        let code = text.split("\n#[cfg(test)]").next().unwrap_or_default();
        if engine {
            let found = flags_in_strings(code).into_iter();
            flags.extend(found.map(|(line, text)| format!("{path}:{line}: {text}")));
        }
        let lines = code.lines().filter(|line| line.contains('"') && !line.trim_start().starts_with("//"));
        arguments
            .extend(lines.filter(|line| has_python_argument(line)).map(|line| format!("{path}: {line}")));
    }
    assert!(flags.is_empty(), "{flags:#?}");
    assert!(arguments.is_empty(), "{arguments:#?}");
}

#[test]
fn no_text_file_names_an_absolute_path_of_a_single_machine() {
    let paths = ["/work/", "/home/", "/root/", "/Users/"];
    let found = lines_of_texts(|_, line| paths.iter().any(|path| line.contains(path)));
    assert!(found.is_empty(), "{found:#?}");
}

/// No relative path leads out of the repository, neither from the folder of its file nor, in Rust, from that of its crate.
#[test]
fn no_text_file_names_a_folder_outside_the_repository() {
    let found = lines_of_texts(|folder, line| {
        let paths = line.split(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)));
        paths.into_iter().any(|path| climbed(path) > folder.components().count())
    });
    assert!(found.is_empty(), "{found:#?}");
}

/// Returns the number of `..` at the beginning of a path.
fn climbed(mut path: &str) -> usize {
    let mut folders = 0;
    while let Some(rest) = path.strip_prefix("../") {
        (path, folders) = (rest, folders + 1);
    }
    folders
}

/// Returns the lines of all texts for which `is_meant` is true. It gets the line, and the folder that its paths start from.
fn lines_of_texts(is_meant: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let repository = repository();
    let mut found = Vec::new();
    for file in files(&repository) {
        let script = file.extension().is_none();
        let is_text =
            script || has_extension(&file, &["md", "rs", "toml", "sql", "sh", "py", "html", "css", "js"]);
        // Files that are not UTF-8 are skipped.
        let Some(text) = Some(&file).filter(|file| is_text && !is_this(file)).map(fs::read_to_string) else {
            continue;
        };
        let is_crate = |folder: &&Path| !has_extension(&file, &["rs"]) || folder.join("Cargo.toml").exists();
        let folder = file.ancestors().skip(1).find(is_crate).unwrap().strip_prefix(&repository).unwrap();
        for (number, line) in text.unwrap_or_default().lines().enumerate() {
            if is_meant(folder, line) {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    found
}
