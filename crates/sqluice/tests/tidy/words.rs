//! Plain words: what users read uses none of the words of an older private English.
//!
//! The check reads Markdown files, help texts, docstrings, and the doc comments and string literals of all crates, except their tests.

use std::path::Path;

use super::{files, has_extension, read, repository};

/// Words and phrases that are not used, with what to write instead.
const FORBIDDEN: [(&str, &str); 19] = [
    ("is there", "exists"),
    ("are there", "exist"),
    ("comes", "arrives, follows, is"),
    ("tells", "reports, says, shows"),
    ("becomes of", "how it is handled"),
    ("whoever", "the caller, the reader"),
    ("nobody", "no process, none"),
    ("is none", "none of, has no"),
    ("so many", "the number of, at most"),
    ("shall", "will, must"),
    ("road", "write path"),
    ("roads", "write paths"),
    ("door", "API, command"),
    ("doors", "APIs, commands"),
    ("floor", "layer"),
    ("told", "reported, key-only"),
    ("amid", "between, overlaps"),
    ("that is there", "existing"),
    ("that are there", "existing"),
];

/// Files whose strings are data: words of generated rows, of names and addresses, and published texts.
const DATA: [&str; 4] = [
    "sqluice-generator/src/functions",
    "sqluice-generator/src/defaults",
    "sqluice-sources/src/tpch",
    "sqluice/src/personal/values.rs",
];

/// Files whose doc comments are not clean yet. Remove a file once its comments are in plain words; add none.
const NOT_YET_CLEAN: [&str; 1] = ["sqluice-engine/src/existing/edge.rs"];

/// The forbidden phrases in a text, which may break lines anywhere. What stands in braces is code.
fn forbidden_in(text: &str) -> Vec<&'static str> {
    // `floor(x)` is a function, and "is none of them" is plain.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace("floor(", "(").replace("is none of", "is not one of");
    let text: String =
        text.split('{').map(|part| part.split_once('}').map_or(part, |(_, after)| after)).collect();
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
        // `None` is a value of Rust and Python.
        .filter(|word| !word.is_empty())
        .map(|word| if word == "None" { word.to_owned() } else { word.to_lowercase() })
        .collect();
    let has = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).any(|window| window.iter().zip(&phrase).all(|(word, part)| word == part))
    };
    FORBIDDEN.iter().map(|(phrase, _)| *phrase).filter(|phrase| has(phrase)).collect()
}

/// String literals of Rust code up to its unit tests, each with its line, and with `docs` its doc comments. Adjacent lines of doc
/// comments are one text.
fn texts_of_rust(source: &str, docs: bool) -> Vec<(usize, String)> {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut texts: Vec<(usize, String)> = Vec::new();
    let bytes = code.as_bytes();
    let (mut at, mut line) = (0, 1);
    let mut last_doc = 0;
    while at < bytes.len() {
        let rest = &code[at..];
        if docs && (rest.starts_with("///") || rest.starts_with("//!")) {
            let end = rest.find('\n').unwrap_or(rest.len());
            match texts.last_mut().filter(|_| last_doc + 1 == line) {
                Some((_, text)) => *text += &format!("\n{}", &rest[3..end]),
                None => texts.push((line, rest[3..end].to_owned())),
            }
            (last_doc, at) = (line, at + end);
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("r\"") || rest.starts_with("r#\"") {
            let hashes = if rest.starts_with("r#") { "#" } else { "" };
            let start = 2 + hashes.len();
            let end = rest[start..].find(&format!("\"{hashes}")).map_or(rest.len(), |end| start + end);
            texts.push((line, rest[start..end].to_owned()));
            line += rest[..end].matches('\n').count();
            at += (end + 1 + hashes.len()).min(rest.len());
        } else if rest.starts_with('"') {
            let mut end = 1;
            while end < rest.len() && rest.as_bytes()[end] != b'"' {
                end += 1 + usize::from(rest.as_bytes()[end] == b'\\');
            }
            let end = end.min(rest.len());
            // A backslash at the end of a line joins it with the next.
            texts.push((line, rest.get(1..end).unwrap_or_default().replace("\\n", " ").replace('\\', "")));
            line += rest.get(..end).unwrap_or_default().matches('\n').count();
            at += end + 1;
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\''") {
            at += if rest.starts_with("'\\") { 4 } else { 3 };
        } else {
            line += usize::from(bytes[at] == b'\n');
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    texts
}

/// Lines of other texts; those of code and output in Markdown are read, too.
fn texts_of_lines(source: &str) -> Vec<(usize, String)> {
    (1..).zip(source.lines()).map(|(number, line)| (number, line.to_owned())).collect()
}

/// What users read in a file, if they read it.
fn texts(file: &Path) -> Vec<(usize, String)> {
    let path = file.to_string_lossy();
    let in_tests = path.contains("/tests/") || path.contains("/benches/") || path.contains("/tests.rs");
    let is_data = DATA.iter().any(|data| path.contains(data));
    match () {
        () if has_extension(file, &["md"]) => texts_of_lines(&read(file)),
        () if in_tests => Vec::new(),
        () if has_extension(file, &["rs"])
            && ["/crates/", "/python/src/", "/bench/src/"].iter().any(|folder| path.contains(folder)) =>
        {
            let docs = !NOT_YET_CLEAN.iter().any(|name| path.ends_with(name));
            if is_data { Vec::new() } else { texts_of_rust(&read(file), docs) }
        }
        () if has_extension(file, &["py", "pyi"]) && path.contains("/python/sqluice/") => {
            let lines = texts_of_lines(&read(file));
            lines.into_iter().filter(|(_, line)| !line.trim_start().starts_with('#')).collect()
        }
        () => Vec::new(),
    }
}

#[test]
fn what_users_read_is_in_plain_words() {
    let mut found = Vec::new();
    for file in files(&repository()) {
        for (line, text) in texts(&file) {
            for phrase in forbidden_in(&text) {
                let instead = FORBIDDEN.iter().find(|(other, _)| *other == phrase).map_or("", |pair| pair.1);
                let shown: String = text.chars().take(120).collect();
                found.push(format!("{}:{line}: {phrase:?}, better {instead}: {shown}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{} places: {found:#?}", found.len());
}

#[test]
fn planted_words_are_found() {
    assert_eq!(forbidden_in("What the load tells, whoever reads it."), ["tells", "whoever"]);
    assert_eq!(forbidden_in("if there is a file, so\nmany rows"), ["so many"]);
    assert_eq!(forbidden_in("a key amid those of the table"), ["amid"]);
    assert_eq!(forbidden_in("the escape is none"), ["is none"]);
    assert_eq!(forbidden_in("where `x` is `None`, which is none of them, and floor(x)"), [""; 0]);
    assert_eq!(forbidden_in("broadcast, foretold, {told} the road.rs"), ["road"]);
    assert_eq!(texts_of_rust("//! The head.\n\nfn f() {}", true), [(1, " The head.".to_owned())]);
    let source = "/// The first\n/// line.\nfn f() { // a comment\n    g(\"it \\\n       \\\"comes\\\"\", '\"', r#\"raw \"told\"\"#);\n}\n#[cfg(test)]\nmod tests {\n    // \"told\"\n}";
    let texts: Vec<(usize, String)> =
        texts_of_rust(source, true).into_iter().map(|(line, text)| (line, text.replace('\n', "|"))).collect();
    let expected = [(1, " The first| line."), (4, "it |       \"comes\""), (5, "raw \"told\"")];
    assert_eq!(texts_of_rust(source, false).len(), 2);
    assert_eq!(texts, expected.map(|(line, text)| (line, text.to_owned())));
}
