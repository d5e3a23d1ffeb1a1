//! Only `sqluice-platform` names operating systems, and items that only one of them has.
//!
//! Tests may name systems on which they can't run. `sqluice-testkit` is a part of tests, and `bench/` measures on Linux.

use std::path::Path;

use super::{has_extension, is_test, read, repository, sources};

/// Items of a single system, and conditions on the system.
const OF_A_SYSTEM: [&str; 13] = [
    "not(unix",
    "not(windows",
    "cfg(unix",
    "cfg!(unix",
    "cfg(windows",
    "cfg!(windows",
    "target_os",
    "target_family",
    "std::os::",
    "rustix",
    "libc::",
    "windows_sys",
    "/proc",
];

/// Returns the lines of a source that name a system, without its unit tests.
fn lines_of_a_system(source: &str) -> Vec<(usize, &str)> {
    let tests = source.find("\n#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    let lines = source[..tests].lines().enumerate();
    let of_a_system = |line: &str| OF_A_SYSTEM.iter().any(|name| line.contains(name));
    lines.filter(|(_, line)| of_a_system(line)).map(|(number, line)| (number + 1, line)).collect()
}

/// Returns true if a file may name systems.
fn may(file: &Path) -> bool {
    let path = file.strip_prefix(repository()).unwrap_or(file);
    let is_test = is_test(path) || path.ends_with("tests.rs");
    let product = path.starts_with("crates") && !is_test && path.iter().any(|part| part == "src");
    !product
        || ["sqluice-platform", "sqluice-testkit"].iter().any(|name| path.iter().any(|part| part == *name))
}

#[test]
fn only_the_platform_crate_names_operating_systems() {
    let mut found = Vec::new();
    for file in sources().into_iter().filter(|file| has_extension(file, &["rs"]) && !may(file)) {
        let text = read(&file);
        found.extend(
            lines_of_a_system(&text)
                .into_iter()
                .map(|(number, line)| format!("{}:{number}: {line}", file.display())),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_name_of_an_operating_system_outside_the_platform_crate_is_found() {
    let planted = [
        "use std::os::unix::fs::FileExt;",
        "    #[cfg(target_os = \"linux\")]",
        "#[cfg(unix)]",
        "    if cfg!(windows) {",
        "    rustix::fs::fdatasync(file)?;",
        "    fs::read_dir(\"/proc\")",
    ];
    for line in planted {
        let source =
            format!("//! A module.\n{line}\n\n#[cfg(test)]\nmod tests {{\n    use std::os::fd::AsFd;\n}}\n");
        assert_eq!(lines_of_a_system(&source), [(2, line)]);
    }
    assert!(lines_of_a_system("use std::fs::File;\n").is_empty());
    let crates = repository().join("crates");
    assert!(!may(&crates.join("sqluice-engine/src/output/new/new_file.rs")));
    assert!(may(&crates.join("sqluice-engine/src/output/tests/mod.rs")));
    assert!(may(&crates.join("sqluice-platform/src/linux/users.rs")));
}
