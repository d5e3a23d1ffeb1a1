//! Words as a shell reads them, for command lines in messages.

/// Returns a word in quotes if a shell would change the word or split it; otherwise returns the word as it is.
pub fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./:=,+@%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // cmd.exe knows only double quotes, which PowerShell takes, too. In both, a `\` in a path is no escape.
    match cfg!(windows) && !word.contains('"') {
        true if word.chars().all(|char| is_plain(char) || char == '\\') => word.to_owned(),
        true => format!("\"{word}\""),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[cfg(unix)]
    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        for word in ["shop.db", "--table=t", "in/x.csv", "%d.%m.%Y", "a@b", "\u{fc}.csv"] {
            assert_eq!(quoted(word), word);
        }
        for (word, line) in [
            ("my shop.db", "'my shop.db'"),
            ("*.csv", "'*.csv'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("~", "'~'"),
        ] {
            assert_eq!(quoted(word), line);
        }
    }
}
