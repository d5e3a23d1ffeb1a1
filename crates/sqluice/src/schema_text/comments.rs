//! Removes comments from a statement.

use sqluice_core::schema::token::tokens;

/// Returns a statement without its comments; `None` if it has no comment. All other tokens stay as they are.
pub(crate) fn without_comments(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    if !tokens.iter().any(|token| token.is_comment()) {
        return None;
    }
    let mut text = String::with_capacity(sql.len());
    let mut end = 0;
    let is_space = |character: char| character.is_ascii_whitespace();
    for comment in tokens.iter().filter(|token| token.is_comment()) {
        text += &sql[end..comment.at.start];
        end = comment.at.end;
        let rest = &sql[end..];
        match rest.chars().next() {
            // The line ends after the comment, so blanks before the comment are removed, too.
            None | Some('\n' | '\r') => text.truncate(text.trim_end_matches([' ', '\t']).len()),
            Some(next) if is_space(next) || text.ends_with(is_space) => {}
            // A comment separates tokens.
            Some(_) => text.push(' '),
        }
    }
    text += &sql[end..];
    if tokens.last().is_some_and(|last| last.is_comment()) {
        text.truncate(text.trim_end().len());
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sqluice_core::schema::token::same;

    #[test]
    fn comments_are_removed_and_tokens_stay_separate() {
        for (sql, expected) in [
            ("CREATE TABLE t (a, -- Ann\n  b) -- Bob", "CREATE TABLE t (a,\n  b)"),
            ("CREATE TABLE t (a/* Ann */INT)", "CREATE TABLE t (a INT)"),
            ("CREATE TABLE t (a /* Ann */ INT)", "CREATE TABLE t (a  INT)"),
            ("CREATE TABLE t (a) /* Ann", "CREATE TABLE t (a)"),
            (
                "CREATE TABLE t (a DEFAULT '-- x', \"/* b */\")\n-- Ann\n",
                "CREATE TABLE t (a DEFAULT '-- x', \"/* b */\")",
            ),
        ] {
            let made = without_comments(sql).unwrap_or_else(|| sql.to_owned());
            assert_eq!(made, expected);
        }
        assert_eq!(without_comments("CREATE TABLE t (a DEFAULT '--')"), None);
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn all_comments_are_removed_and_other_tokens_are_unchanged(
            parts in prop::collection::vec("[a-c1'\"]|-- [a-z']{0,4}\n|/\\* ?[a-z\"]{0,3} ?\\*/|[ \n,()]|'[a/*-]{0,3}'", 0..14)
        ) {
            let sql = parts.concat();
            let made = without_comments(&sql).unwrap_or_else(|| sql.clone());
            prop_assert!(same(&sql, &made), "{:?} {:?}", sql, made);
            prop_assert!(!tokens(&made).iter().any(|token| token.is_comment()), "{:?}", made);
        }
    }
}
