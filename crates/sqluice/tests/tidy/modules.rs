//! Modules use only those above them in the list of their `lib.rs`, and the modules within a module form no circle.
//!
//! Imports and paths are read as text: `crate::a::b`, `super::a`, `self::a`, in `use` and elsewhere. Uses of a parent or child
//! module form no circle, and unit tests may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{files, has_extension, read, repository};

/// A path from the root of the crate: `pipeline`, `merge`.
type Module = Vec<String>;

/// The modules that the head of a `lib.rs` lists, the lowest first: what is in backticks in the lines of a list or the first cells of a
/// table.
fn listed(lib: &str) -> Vec<String> {
    let mut listed = Vec::new();
    let mut in_list = false;
    for line in lib.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.trim();
        let begins = line.starts_with("* ") || line.starts_with("| ");
        in_list = begins || (in_list && !line.is_empty());
        if in_list {
            let line = line.strip_prefix("| ").and_then(|row| row.split('|').next()).unwrap_or(line);
            listed.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    listed
}

/// Returns the modules that a file declares, without those of tests and inline ones.
fn declared(source: &str) -> Vec<String> {
    let mut declared = Vec::new();
    let mut for_tests = false;
    for line in source.lines() {
        if line.starts_with("#[") {
            for_tests |= line.contains("cfg(test)");
            continue;
        }
        let name = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        if let Some(name) = name.strip_prefix("mod ").and_then(|name| name.strip_suffix(';'))
            && !for_tests
        {
            declared.push(name.trim_start_matches("r#").to_owned());
        }
        for_tests = false;
    }
    declared
}

/// Returns the paths within the crate that a module names, with their line numbers.
fn named(source: &str, module: &[String]) -> Vec<(usize, Module)> {
    let tests = source.find("\n#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let code: Vec<&str> = source[..tests]
        .lines()
        .map(|line| line.find("//").map_or(line, |comment| &line[..comment]))
        .collect();
    let code = code.join("\n").replace("r#", "");
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let mut paths = Vec::new();
            let base = if root == "crate::" { Vec::new() } else { module.to_vec() };
            let start = if root == "super::" { at } else { at + root.len() };
            read_paths(&code[start..], base, &mut paths);
            found.extend(paths.into_iter().map(|path| (line, path)));
        }
    }
    found
}

/// Reads a path, or a group of them as in `use`, that begins in `base`. Returns the number of bytes read.
fn read_paths(code: &str, mut base: Module, found: &mut Vec<Module>) -> usize {
    let mut at = 0;
    loop {
        let rest = &code[at..];
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += blank;
        if rest.starts_with('{') {
            at += 1;
            while !code[at..].trim_start().starts_with('}') {
                at += read_paths(&code[at..], base.clone(), found);
                // Skip the text between two names: a comma, `as` and a name.
                let Some(next) = code[at..].find([',', '}']) else { return code.len() };
                at += next + usize::from(code[at + next..].starts_with(','));
            }
            return at + code[at..].find('}').map_or(0, |end| end + 1);
        }
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        at += name.len();
        match name.as_str() {
            "" | "self" => {}
            "super" => drop(base.pop()),
            _ => base.push(name),
        }
        if !code[at..].starts_with("::") {
            found.push(base);
            return at;
        }
        at += 2;
    }
}

/// Returns the modules of a crate by the files of its `src`, without those of tests and programs.
fn modules(src: &Path) -> BTreeMap<Module, String> {
    let mut modules = BTreeMap::new();
    for file in files(src).into_iter().filter(|file| has_extension(file, &["rs"])) {
        let relative = file.strip_prefix(src).unwrap().with_extension("");
        let mut module: Module = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.iter().any(|part| ["bin", "main", "tests"].contains(&part.as_str())) {
            continue;
        }
        if module.last().is_some_and(|last| last == "mod" || last == "lib") {
            module.pop();
        }
        modules.insert(module, read(&file));
    }
    modules
}

/// Uses of modules by others: for each common parent, the two children (user, used), and a place of the use.
type Uses = BTreeMap<Module, BTreeMap<(String, String), String>>;

fn uses(modules: &BTreeMap<Module, String>) -> Uses {
    let mut uses = Uses::new();
    for (module, source) in modules {
        for (line, mut path) in named(source, module) {
            while !path.is_empty() && !modules.contains_key(&path) {
                path.pop();
            }
            let shared = module.iter().zip(&path).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (module.get(shared), path.get(shared)) {
                let of_both = uses.entry(module[..shared].to_vec()).or_default();
                let place = format!("{}:{line}", module.join("/"));
                of_both.entry((from.clone(), to.clone())).or_insert(place);
            }
        }
    }
    uses
}

/// Returns the modules that use themselves through others.
fn circles(uses: &BTreeMap<(String, String), String>) -> BTreeSet<&str> {
    let reached = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut left = vec![from];
        while let Some(module) = left.pop() {
            for (_, to) in uses.keys().filter(|(from, _)| from == module) {
                if reached.insert(to.as_str()) {
                    left.push(to);
                }
            }
        }
        reached
    };
    uses.keys().map(|(from, _)| from.as_str()).filter(|from| reached(from).contains(from)).collect()
}

/// Returns the faults of a crate: modules that are not listed, use one below them in the list, or form circles.
fn wrong(name: &str, modules: &BTreeMap<Module, String>) -> Vec<String> {
    let lib = &modules[&Vec::new()];
    let (list, mut sorted, mut declared) = (listed(lib), listed(lib), declared(lib));
    sorted.sort();
    declared.sort();
    if sorted != declared {
        return vec![format!("{name}: lib.rs lists {sorted:?} and declares {declared:?}")];
    }
    let uses = uses(modules);
    let place = |module: &String| list.iter().position(|listed| listed == module);
    let none = BTreeMap::new();
    let top = uses.get(&Vec::new()).unwrap_or(&none).iter();
    let upward = top.filter(|((from, to), _)| place(from) <= place(to));
    let mut wrong: Vec<String> =
        upward.map(|((_, to), at)| format!("{name}: {at} uses {to}, which comes after it")).collect();
    for (module, uses) in uses.iter().filter(|(module, _)| !module.is_empty()) {
        let inside = format!("{name} {}", module.join("::"));
        let circles = circles(uses);
        if !circles.is_empty() {
            wrong.push(format!("{inside}: circles among {circles:?}"));
        }
    }
    wrong
}

/// Returns the folders of the crates that have a library.
fn crates() -> Vec<PathBuf> {
    let repository = repository();
    let mut crates: Vec<PathBuf> =
        std::fs::read_dir(repository.join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.extend(["bench", "python"].map(|folder| repository.join(folder)));
    crates.retain(|folder| folder.join("src/lib.rs").exists());
    crates.sort();
    crates
}

#[test]
fn modules_use_only_modules_listed_above_them_and_form_no_circles() {
    let crates = crates();
    assert!(crates.len() >= 10, "{crates:?}");
    let wrong: Vec<String> = crates
        .iter()
        .flat_map(|folder| {
            wrong(&folder.file_name().unwrap().to_string_lossy(), &modules(&folder.join("src")))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn imports_that_break_the_rules_of_modules_are_found() {
    let sound = [
        (
            "",
            "//! * [`a`],\n//!   [`b`]: what it is\n//! * [`c`]\n\npub mod a;\nmod b;\n#[doc(hidden)]\nmod c;\n",
        ),
        ("a", "use std::fs;\n// crate::b\nuse other::b;\n"),
        ("b", "use crate::a::{X, y};\nmod one;\nmod two;\n"),
        ("b/one", "use super::Thing;\nuse crate::a;\n"),
        ("b/two", "use super::one::{self, One};\n"),
        ("c", "fn f() -> crate::b::B {}\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n"),
    ];
    let with = |file: &str, source: &str| {
        let modules = sound.map(|(path, sound)| {
            let module: Module = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            (module, if path == file { format!("{sound}{source}") } else { sound.to_owned() })
        });
        wrong("crate", &modules.into())
    };
    assert_eq!(with("", ""), Vec::<String>::new());
    for (file, source, expected) in [
        ("a", "use crate::c::C;", "crate: a:4 uses c, which comes after it"),
        ("a", "use crate::{x::{Y, b}, b::{self, Z}};", "crate: a:4 uses b, which comes after it"),
        ("a", "use crate::{\n    x,\n    r#b,\n};", "crate: a:4 uses b, which comes after it"),
        ("a", "fn f(x: super::b::B) {}", "crate: a:4 uses b, which comes after it"),
        ("b/one", "use super::super::c;", "crate: b/one:3 uses c, which comes after it"),
        ("b/one", "use super::two::Two;", "crate b: circles among {\"one\", \"two\"}"),
        ("b/one", "use crate::b::{two as other};", "crate b: circles among {\"one\", \"two\"}"),
        ("", "mod d;", "crate: lib.rs lists [\"a\", \"b\", \"c\"] and declares [\"a\", \"b\", \"c\", \"d\"]"),
    ] {
        assert_eq!(with(file, source), [expected], "{file}: {source}");
    }
}
