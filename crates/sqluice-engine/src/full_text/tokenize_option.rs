//! The tokenizer and its arguments in the option `tokenize`, such as `porter unicode61 remove_diacritics 2`.
//!
//! The option is a list of barewords (ASCII letters, digits, `_`, byte 0x1A, and all characters beyond ASCII) and of literals in single quotes, in
//! which a quote is doubled. Tables whose option does not parse this way are left to SQLite. For several options, a test compares the
//! tokens that the parsed arguments give with those of a table of SQLite.

/// The tokenizer of a table without the option.
pub(crate) const DEFAULT: &str = "unicode61";

/// Returns the words of the option, or `None` if FTS5 refuses the text. An empty text is the default tokenizer.
pub(crate) fn arguments(text: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word;
        (word, rest) = match rest.trim_start_matches(' ').strip_prefix('\'') {
            Some(literal) => unquoted(literal)?,
            None => bareword(rest.trim_start_matches(' '))?,
        };
        all.push(word);
        rest = rest.trim_start_matches(' ');
    }
    if all.is_empty() {
        all.push(DEFAULT.to_owned());
    }
    Some(all)
}

/// Returns `true` if the tokenizer with these arguments gives each term a position of its own, as those of SQLite do. Other tokenizers may have
/// synonyms.
pub(crate) fn has_one_term_a_position(arguments: &[String]) -> bool {
    let is = |name: &str| arguments[0].eq_ignore_ascii_case(name);
    match &arguments[1..] {
        base @ [_, ..] if is("porter") => has_one_term_a_position(base),
        _ => ["unicode61", "ascii", "porter", "trigram"].into_iter().any(is),
    }
}

/// Returns the word at the start of `text`, and the text after it.
fn bareword(text: &str) -> Option<(String, &str)> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\x1a' || !c.is_ascii();
    let end = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

/// Returns the literal whose opening quote stands before `text`, and the text after its closing quote.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text;
    loop {
        let quote = rest.find('\'')?;
        word.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('\'') {
            Some(after) => {
                word.push('\'');
                rest = after;
            }
            None => return Some((word, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_literals_are_arguments() {
        for (text, expected) in [
            ("", Some(&["unicode61"][..])),
            ("ascii", Some(&["ascii"])),
            ("  porter   unicode61 ", Some(&["porter", "unicode61"])),
            ("unicode61 tokenchars '-_.'", Some(&["unicode61", "tokenchars", "-_."])),
            ("unicode61 separators 'it''s'", Some(&["unicode61", "separators", "it's"])),
            ("x''y''", Some(&["x", "", "y", ""])),
            ("größe 2", Some(&["größe", "2"])),
            (" ", None),
            ("a-b", None),
            ("unicode61 tokenchars 'x", None),
            ("unicode61 tokenchars \"x\"", None),
        ] {
            let expected = expected.map(|words| words.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(arguments(text), expected, "{text:?}");
        }
    }

    #[test]
    fn tokenizers_of_applications_may_have_synonyms() {
        for (text, expected) in [
            ("", true),
            ("Porter", true),
            ("porter ascii", true),
            ("porter trigram remove_diacritics 1", true),
            ("unicode61 tokenchars 'x'", true),
            ("synonyms ascii", false),
            ("porter synonyms", false),
            ("porter porter synonyms", false),
        ] {
            assert_eq!(has_one_term_a_position(&arguments(text).unwrap()), expected, "{text}");
        }
    }
}
