//! Checks that the paths in texts about the code exist.

use super::{read, repository};

/// The texts that name paths from the root of the repository.
const TEXTS: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Returns the paths in backticks: words with a slash. `{a,b}` in a path stands for several.
fn named(text: &str) -> Vec<String> {
    let mut in_block = false;
    let lines = text.lines().filter(|line| {
        in_block ^= line.starts_with("```");
        !in_block
    });
    let is_path = |word: &&str| {
        word.contains('/')
            && !word.contains("//")
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/{,}".contains(c))
            // A clone has no built files, and NAME stands for any name.
            && !word.starts_with("target/")
            && !word.contains("NAME")
    };
    let words = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    let words = words.map(|word| word.split(' ').next().unwrap_or_default());
    words.filter(is_path).flat_map(expanded).collect()
}

fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
    names.split(',').flat_map(|name| expanded(&format!("{before}{name}{after}"))).collect()
}

#[test]
fn every_path_named_in_architecture_md_and_contributing_md_exists() {
    let found = named("see `a/{b,c}.rs`, `d/e` and `x y/z`\n```\n`f/g`\n```\n`target/x`, `s3://h/i`");
    assert_eq!(found, ["a/b.rs", "a/c.rs", "d/e"]);
    let mut missing = Vec::new();
    for text in TEXTS {
        let named = named(&read(&repository().join(text)));
        assert!(named.len() > 10, "{text} names few paths");
        missing.extend(named.into_iter().filter(|path| !repository().join(path).exists()));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
