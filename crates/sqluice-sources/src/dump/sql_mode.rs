//! Follows the setting `sql_mode` of MySQL, which decides the meaning of quotes and backslashes.
//!
//! A dump saves the mode in a variable, sets another mode for a table or a trigger, and then restores the saved mode:
//! `SET @saved_sql_mode = @@sql_mode`, `SET sql_mode = ''`, `SET sql_mode = @saved_sql_mode`.

use std::collections::HashMap;

/// The current mode, and the modes that were saved in variables.
#[derive(Clone, Debug, Default)]
pub(super) struct SqlMode {
    modes: Modes,
    saved: HashMap<String, Modes>,
}

/// The modes that affect how a dump is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Modes {
    /// `true` if double quotes enclose names, not strings.
    ansi_quotes: bool,
    /// `true` if a backslash in a string is an ordinary character.
    plain_backslashes: bool,
}

impl SqlMode {
    /// Returns `true` if double quotes enclose names, not strings.
    #[cfg(feature = "dialects")]
    pub(super) fn ansi_quotes(&self) -> bool {
        self.modes.ansi_quotes
    }

    /// Returns `true` if a backslash begins an escape in strings.
    pub(super) fn backslash_escapes(&self) -> bool {
        !self.modes.plain_backslashes
    }

    /// Applies a statement if it is a SET statement with `sql_mode`.
    pub(super) fn take(&mut self, statement: &str) {
        let first = statement.trim_start().get(..3);
        if !first.is_some_and(|word| word.eq_ignore_ascii_case("set")) {
            return;
        }
        let text = statement.to_ascii_lowercase();
        let text =
            text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" =", "=").replace("= ", "=");
        if let Some((before, _)) = text.split_once("=@@sql_mode") {
            self.saved.insert(last_word(before).to_owned(), self.modes);
        }
        for (at, name) in text.match_indices("sql_mode=") {
            // `sql_mode` must be a whole word: `@@session.sql_mode=` is the setting, and `@old_sql_mode=` is another variable.
            if !matches!(text[..at].chars().next_back(), Some(' ' | ',' | '.')) && !text[..at].ends_with("@@")
            {
                continue;
            }
            let value = &text[at + name.len()..];
            self.modes = match value.strip_prefix('\'') {
                Some(list) => Modes::of(list.split('\'').next().unwrap_or_default()),
                None => self.saved.get(first_word(value)).copied().unwrap_or_default(),
            };
        }
    }
}

impl Modes {
    fn of(list: &str) -> Modes {
        // Each of these modes includes ANSI_QUOTES.
        const ANSI: [&str; 7] = ["ansi", "ansi_quotes", "oracle", "postgresql", "mssql", "db2", "maxdb"];
        let has = |mode: &str| list.split(',').any(|one| one.trim() == mode);
        Modes { ansi_quotes: ANSI.into_iter().any(has), plain_backslashes: has("no_backslash_escapes") }
    }
}

fn is_part(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '@' | '$')
}

fn first_word(text: &str) -> &str {
    text.split(|char| !is_part(char)).next().unwrap_or_default()
}

fn last_word(text: &str) -> &str {
    text.rsplit(|char| !is_part(char)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(statements: &[&str]) -> (bool, bool) {
        let mut mode = SqlMode::default();
        statements.iter().for_each(|statement| mode.take(statement));
        (mode.modes.ansi_quotes, mode.modes.plain_backslashes)
    }

    #[test]
    fn an_sql_mode_that_was_saved_in_a_variable_is_restored() {
        let set = "SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ANSI,NO_BACKSLASH_ESCAPES'";
        assert_eq!(after(&[set]), (true, true));
        let trigger = ["SET @saved_sql_mode       = @@sql_mode", "SET sql_mode              = ''"];
        assert_eq!(after(&[set, trigger[0], trigger[1]]), (false, false));
        assert_eq!(after(&[set, trigger[0], trigger[1], "SET sql_mode = @saved_sql_mode"]), (true, true));
        assert_eq!(after(&[set, "SET SQL_MODE=@OLD_SQL_MODE"]), (false, false));
    }

    #[test]
    fn sql_mode_may_be_set_by_each_of_four_names() {
        for name in ["sql_mode", "SESSION sql_mode", "@@sql_mode", "@@SESSION.sql_mode"] {
            assert_eq!(after(&[&format!("SET {name} = 'NO_BACKSLASH_ESCAPES'")]), (false, true), "{name}");
        }
        assert_eq!(after(&["SET @x = 'sql_mode', @old_sql_mode='ANSI'"]), (false, false));
        assert_eq!(
            after(&["INSERT INTO t VALUES('SET sql_mode=')", "UPDATE t SET sql_mode = 'ANSI'"]),
            (false, false)
        );
    }
}
