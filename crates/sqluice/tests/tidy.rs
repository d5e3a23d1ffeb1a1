//! The shape of the source itself: floors use only the floors below them, files have one purpose, nothing is left undone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file before its tests: more means that two things live there.
const LINES_MAX: usize = 600;

/// The modules of the engine and the floor of each, as the list in `lib.rs` has them: ``1. words: [`error`], ...``.
fn floors(lib: &str) -> BTreeMap<String, usize> {
    let mut floors = BTreeMap::new();
    let mut floor = None;
    for line in lib.lines().map_while(|line| line.strip_prefix("//!")) {
        let text = line.trim();
        if let Some((number, _)) = text.split_once(". ")
            && let Ok(number) = number.parse::<usize>()
        {
            floor = Some(number);
        } else if text.is_empty() {
            floor = None;
        }
        // What stands between every second pair of ticks.
        for name in text.split('`').skip(1).step_by(2) {
            if let Some(floor) = floor {
                floors.insert(name.to_owned(), floor);
            }
        }
    }
    floors
}

/// The modules that `lib.rs` declares.
fn declared(lib: &str) -> Vec<String> {
    let declared = lib.lines().filter_map(|line| {
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        Some(name.trim_start_matches("r#").to_owned())
    });
    declared.collect()
}

/// The modules of the crate that a source file names, with the lines: by `crate::m`, `crate::{m, n::x}`, or, in a file
/// `depth` modules below the root, by so many `super::`. Comments don't count: the docs may point anywhere.
fn named(source: &str, depth: usize) -> Vec<(usize, String)> {
    let code: Vec<&str> =
        source.lines().map(|line| line.find("//").map_or(line, |comment| &line[..comment])).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let after = code[at + root.len()..].trim_start();
            let names = match after.strip_prefix('{') {
                Some(group) => heads(group),
                None => vec![head(after)],
            };
            found.extend(names.into_iter().map(|name| (line, name)));
        }
    }
    found
}

/// The name that a path begins with.
fn head(path: &str) -> String {
    let path = path.trim_start().trim_start_matches("r#");
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The names that the paths of a group begin with: `a, b::{c, d}}` has `a` and `b`.
fn heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 1;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 1) || depth == 0 {
            heads.push(head(&group[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

/// What a source file of the module `module` names although it is on a higher floor.
fn upward(
    floors: &BTreeMap<String, usize>,
    module: &str,
    depth: usize,
    source: &str,
) -> Vec<(usize, String)> {
    let own = floors.get(module).copied().unwrap_or_else(|| panic!("{module} has no floor in lib.rs"));
    let mut upward = named(source, depth);
    upward.retain(|(_, name)| floors.get(name).is_some_and(|floor| *floor > own));
    upward
}

/// The module of a file of `src`, and how many modules below the root it is: `gen/functions/mod.rs` is of `gen`, 2 below.
fn place(file: &Path) -> (String, usize) {
    let path = file.with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let own_name = parts.last().is_some_and(|last| last != "mod");
    (parts[0].clone().into_owned(), parts.len() - usize::from(!own_name))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// All files below a folder, but for what is built, downloaded or measured.
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
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension))
}

/// Whether it is this file, which must name what it forbids.
fn is_this(file: &Path) -> bool {
    file.file_name() == Path::new(file!()).file_name()
}

/// The source files of all crates.
fn sources() -> Vec<PathBuf> {
    let mut sources = files(&repository());
    sources.retain(|file| has_extension(file, &["rs"]) && !is_this(file));
    assert!(sources.len() > 20, "the sources are somewhere else");
    sources
}

#[test]
fn a_floor_uses_only_the_floors_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let floors = floors(&read(&src.join("lib.rs")));
    let mut wrong = Vec::new();
    for file in files(&src) {
        let relative = file.strip_prefix(&src).unwrap();
        let (module, depth) = place(relative);
        if !has_extension(&file, &["rs"]) || module == "lib" {
            continue;
        }
        for (line, name) in upward(&floors, &module, depth, &read(&file)) {
            wrong.push(format!("{}:{line} uses {name}, which is above {module}", relative.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_module_has_a_floor() {
    let lib = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    let listed: Vec<String> = floors(&lib).into_keys().collect();
    let mut declared = declared(&lib);
    declared.sort();
    assert_eq!(declared, listed, "modules that lib.rs declares, and those in its list of floors");
    assert!(declared.len() > 10);
}

#[test]
fn an_upward_import_is_caught() {
    let lib = "\
//! The engine.
//!
//! 1. words: [`error`], [`batch`]
//! 2. roads: [`gen`](mod@gen),
//!    `new`
//! 3. doors: [`load`]
//!
//! Not `counted`.

mod counted;
pub mod r#gen;
";
    let floors = floors(lib);
    let expected = [("batch", 1), ("error", 1), ("gen", 2), ("load", 3), ("new", 2)];
    assert_eq!(floors, expected.map(|(name, floor)| (name.to_owned(), floor)).into());
    assert_eq!(declared(lib), ["counted", "gen"]);
    let caught = |module: &str, depth: usize, source: &str| {
        let upward = upward(&floors, module, depth, source);
        upward.into_iter().map(|(line, name)| format!("{line} {name}")).collect::<Vec<_>>()
    };
    assert_eq!(caught("error", 1, "use std::fs;\nuse crate::load::Load;"), ["2 load"]);
    assert_eq!(caught("error", 1, "use crate::r#gen::x;"), ["1 gen"]);
    assert_eq!(caught("gen", 1, "use crate::{error::{Error, load}, load::Load};"), ["1 load"]);
    assert_eq!(caught("gen", 1, "use crate::{\n    error,\n    load,\n};"), ["1 load"]);
    assert_eq!(caught("batch", 1, "fn f() -> super::r#gen::Spec {}"), ["1 gen"]);
    assert_eq!(caught("gen", 2, "use super::super::load;"), ["1 load"]);
    // The same floor, below, within the module, another crate, a comment.
    assert!(caught("batch", 1, "use crate::error::Error;").is_empty());
    assert!(caught("load", 1, "use crate::{r#gen, new::New};").is_empty());
    assert!(caught("gen", 2, "use super::load;").is_empty());
    assert!(caught("error", 1, "use other_crate::load;").is_empty());
    assert!(caught("error", 1, "// see crate::load\n/// [`x`](crate::load::x)").is_empty());
}

#[test]
fn a_file_knows_its_module() {
    let place = |file: &str| place(Path::new(file));
    assert_eq!(place("error.rs"), ("error".to_owned(), 1));
    assert_eq!(place("gen/mod.rs"), ("gen".to_owned(), 1));
    assert_eq!(place("gen/parse.rs"), ("gen".to_owned(), 2));
    assert_eq!(place("gen/functions/mod.rs"), ("gen".to_owned(), 2));
}

#[test]
fn the_format_crate_depends_on_nothing() {
    let manifest = read(&repository().join("crates/sqluice-format/Cargo.toml"));
    let mut tables = manifest.lines().filter(|line| line.starts_with('['));
    let forbidden = tables.find(|table| table.contains("dependencies") && *table != "[dev-dependencies]");
    assert_eq!(forbidden, None);
}

#[test]
fn files_are_short() {
    let mut long = Vec::new();
    for file in sources() {
        let text = read(&file);
        let tests = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        let lines = text[..tests].lines().count();
        if file.components().any(|part| part.as_os_str() == "src") && lines > LINES_MAX {
            long.push(format!("{}: {lines} lines", file.display()));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn nothing_is_left_undone() {
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

/// Flags in the string literals of a source: what a literal begins with, or has after a space or an opening bracket. Comments and
/// SQL comments, which begin with `-- `, are none.
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

/// Arguments of Python in a line.
fn has_python_argument(line: &str) -> bool {
    ["=True", "=False", "if_exists="].iter().any(|argument| line.contains(argument))
}

#[test]
fn the_engine_names_settings_as_data_and_never_as_flags_or_arguments() {
    assert_eq!(flags_in_strings("let a = \"--memory\";\n// \"--memory\"\n\"-- table\"").len(), 1);
    assert_eq!(flags_in_strings("f(\"give more memory: --memory\")").len(), 1);
    assert!(has_python_argument("\"use overwrite=True\""));
    let (mut flags, mut arguments) = (Vec::new(), Vec::new());
    for file in sources() {
        let path = file.to_string_lossy();
        let engine = path.contains("crates/sqluice/src/");
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
fn no_text_names_a_path_of_one_machine() {
    let paths = ["/work/", "/home/", "/root/", "/Users/"];
    let found = lines_of_texts(|_, line| paths.iter().any(|path| line.contains(path)));
    assert!(found.is_empty(), "{found:#?}");
}

/// A clone alone passes: no path leads to a folder beside the repository, neither from its file's folder nor, in Rust, from its crate's.
#[test]
fn no_text_names_a_folder_outside_the_repository() {
    let found = lines_of_texts(|folder, line| {
        let paths = line.split(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)));
        paths.into_iter().any(|path| climbed(path) > folder.components().count())
    });
    assert!(found.is_empty(), "{found:#?}");
}

/// How many folders up a path leads before it names one.
fn climbed(mut path: &str) -> usize {
    let mut folders = 0;
    while let Some(rest) = path.strip_prefix("../") {
        (path, folders) = (rest, folders + 1);
    }
    folders
}

/// The lines of the repository's texts that a test is about, given the folder that paths in a file start from: a Rust file's crate.
fn lines_of_texts(is_meant: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let repository = repository();
    let mut found = Vec::new();
    for file in files(&repository) {
        let script = file.extension().is_none();
        let is_text =
            script || has_extension(&file, &["md", "rs", "toml", "sql", "sh", "py", "html", "css", "js"]);
        // What is no UTF-8 can't name anything; nobody's database is read here.
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
