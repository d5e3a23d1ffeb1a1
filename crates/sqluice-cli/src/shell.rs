//! Formats command lines so that a user can copy them to a shell.

use std::ffi::OsString;
use std::path::Path;

use sqluice::remote::without_secrets;
use sqluice_platform::shell::quoted;

/// Returns a command line with its words quoted for a shell. Credentials and queries of URLs are replaced by `...`.
pub(crate) fn line(words: &[OsString]) -> String {
    let words = words.iter().map(|word| quoted(&shown(word)));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a word without secrets: `https://...@host/x.csv?...`.
fn shown(word: &OsString) -> String {
    let (given, safe) = (Path::new(word), without_secrets(Path::new(word)));
    if given == safe {
        return word.to_string_lossy().into_owned();
    }
    let (given, safe) = (given.to_string_lossy(), safe.to_string_lossy());
    let host_and_path = safe.split_once("://").map_or(&*safe, |(_, rest)| rest);
    let Some(at) = given.find(host_and_path) else { return safe.into_owned() };
    let (before, after) = (&given[..at], &given[at + host_and_path.len()..]);
    let credentials = if before.ends_with('@') { "...@" } else { "" };
    let query = after.chars().next().filter(|mark| matches!(mark, '?' | '#'));
    let query = query.map_or(String::new(), |mark| format!("{mark}..."));
    let scheme = safe.strip_suffix(host_and_path).unwrap_or_default();
    format!("{scheme}{credentials}{host_and_path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(words: &[&str]) -> String {
        line(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_splits_a_quoted_line_into_the_same_words() {
        use proptest::prelude::*;
        let words = proptest::collection::vec("[ -~\u{e9}\u{4e2d}\n\t]{0,12}", 1..6);
        proptest!(ProptestConfig::with_cases(20), |(words in words)| {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            let script = format!("printf '%s\\0' {}", line(&words));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            let read: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
            let written: Vec<&[u8]> = words.iter().map(|word| word.as_encoded_bytes()).chain([&b""[..]]).collect();
            prop_assert_eq!(read, written);
        });
    }

    #[test]
    fn users_and_queries_of_urls_are_hidden_in_displayed_command_lines() {
        assert_eq!(line_of(&["http://ann:pw@h/x.csv"]), "http://...@h/x.csv");
        assert_eq!(quoted(&shown(&"https://h/x.csv?token=1".into())), quoted("https://h/x.csv?..."));
        assert_eq!(line_of(&["s3://bucket/a"]), "s3://bucket/a");
    }
}
