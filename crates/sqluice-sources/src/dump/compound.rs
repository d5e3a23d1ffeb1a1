//! Finds the end of a statement that contains other statements: the semicolon of an inner statement does not end the outer one.
//!
//! ```text
//!  SQLite      CREATE [TEMP] TRIGGER ... BEGIN UPDATE ...; END;       ends at the semicolon after `; END`
//!  Postgres    CREATE FUNCTION ... BEGIN ATOMIC SELECT ...; END;      ends at the semicolon after an END for each BEGIN and CASE
//!              CREATE RULE ... DO (INSERT ...; DELETE ...);           ends at the semicolon outside of parentheses
//! ```
//!
//! In dumps of MySQL, a DELIMITER command precedes such a statement, so the inner semicolons end nothing.

use super::lex::{Dialect, Rules, is_word};

/// The words of a statement so far, as far as they decide where the statement ends.
#[derive(Debug)]
pub(super) struct Compound {
    dialect: Dialect,
    /// The first words, in upper case.
    first: Vec<String>,
    is_compound: bool,
    /// SQLite: 1 if the last token is `;`, 2 if the last tokens are `; END`.
    ending: u8,
    /// Postgres: the number of BEGIN and CASE words without their END.
    depth: usize,
    /// Postgres: the number of open parentheses.
    parentheses: usize,
}

/// The number of first words that decide the kind of a statement: `CREATE OR REPLACE FUNCTION`.
const FIRST_WORDS: usize = 4;

impl Compound {
    pub(super) fn new(rules: Rules) -> Compound {
        Compound {
            dialect: rules.dialect,
            first: Vec::new(),
            is_compound: false,
            ending: 0,
            depth: 0,
            parentheses: 0,
        }
    }

    /// Records that a string or a quoted name comes next in the statement.
    pub(super) fn quoted(&mut self) {
        self.ending = 0;
        self.first.resize(FIRST_WORDS, String::new());
    }

    /// Returns `true` if the statement continues after a delimiter. Called before the delimiter is read.
    pub(super) fn goes_on(&self, delimiter: &[u8]) -> bool {
        match self.dialect {
            Dialect::Sqlite => self.is_compound && delimiter == b";" && self.ending < 2,
            Dialect::Postgres => self.depth > 0 || self.parentheses > 0,
            Dialect::MySql => false,
        }
    }

    /// Reads the token at the start of `rest` and returns its length. Returns `None` if `rest` ends within a word, and is not the `whole`
    /// rest of the dump.
    pub(super) fn take(&mut self, rest: &[u8], whole: bool) -> Option<usize> {
        let byte = rest[0];
        if byte.is_ascii_whitespace() {
            return Some(1);
        }
        if !is_word(byte) {
            match byte {
                b'(' => self.parentheses += 1,
                b')' => self.parentheses = self.parentheses.saturating_sub(1),
                _ => {}
            }
            self.ending = u8::from(byte == b';');
            return Some(1);
        }
        let bytes = rest.iter().take_while(|byte| is_word(**byte)).count();
        if bytes == rest.len() && !whole {
            return None;
        }
        let word = &rest[..bytes];
        let is = |other: &str| word.eq_ignore_ascii_case(other.as_bytes());
        self.ending = if self.ending == 1 && is("END") { 2 } else { 0 };
        if self.is_compound && self.dialect == Dialect::Postgres && self.parentheses == 0 {
            if is("BEGIN") || is("CASE") && self.depth > 0 {
                self.depth += 1;
            } else if is("END") {
                self.depth = self.depth.saturating_sub(1);
            }
        }
        if self.first.len() < FIRST_WORDS {
            self.first.push(String::from_utf8_lossy(word).to_ascii_uppercase());
            self.is_compound = self.begins_compound();
        }
        Some(bytes)
    }

    fn begins_compound(&self) -> bool {
        let words: Vec<&str> = self.first.iter().map(String::as_str).collect();
        match self.dialect {
            Dialect::Sqlite => {
                let words = if words.first() == Some(&"EXPLAIN") { &words[1..] } else { &words[..] };
                matches!(words, ["CREATE", "TRIGGER", ..] | ["CREATE", "TEMP" | "TEMPORARY", "TRIGGER", ..])
            }
            Dialect::Postgres => matches!(
                words[..],
                ["CREATE", "FUNCTION" | "PROCEDURE", ..]
                    | ["CREATE", "OR", "REPLACE", "FUNCTION" | "PROCEDURE"]
            ),
            Dialect::MySql => false,
        }
    }
}
