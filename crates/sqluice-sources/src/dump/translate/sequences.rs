//! The counters of a dump, which are sequences, IDENTITY or AUTO_INCREMENT, and their next numbers.
//!
//! ```text
//!  CREATE SEQUENCE s START WITH 5 INCREMENT BY 10;              5 is next
//!  SELECT pg_catalog.setval('s', 25, true);                    35 is next
//!  ALTER TABLE t ALTER COLUMN id SET DEFAULT nextval('s');     the sequence s numbers the rows of the column
//!  CREATE TABLE t (...) AUTO_INCREMENT=100;                   100 is next
//! ```

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::tokenizer::Token;

use super::model::{Name, Table};
use super::tokens::{Cursor, Parsed, split, text_of, tokens};
use super::{Dialect, Translator};

/// A sequence of the dump.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) line: u64,
    /// The next number of the sequence; `None` if the dump does not state it, or computes it from rows.
    pub(super) next: Option<i64>,
    pub(super) increment: i64,
    /// `true` if the sequence numbers the rows of a column.
    pub(super) used: bool,
}

impl Sequence {
    fn new(line: u64) -> Sequence {
        Sequence { line, next: None, increment: 1, used: false }
    }
}

impl Translator {
    /// Parses a CREATE SEQUENCE statement after the word SEQUENCE.
    pub(super) fn create_sequence(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        cursor.words(&["IF", "NOT", "EXISTS"]);
        let name = self.resolved(cursor.qualified()?);
        let mut sequence = Sequence::new(line);
        options(&mut sequence, cursor);
        self.sequences.insert(name, sequence);
        Ok(())
    }

    /// Parses an ALTER SEQUENCE statement after the word SEQUENCE.
    pub(super) fn alter_sequence(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        cursor.words(&["IF", "EXISTS"]);
        let name = self.resolved(cursor.qualified()?);
        if let Some(sequence) = self.sequences.get_mut(&name) {
            options(sequence, cursor);
        }
        Ok(())
    }

    /// Parses the options of IDENTITY in parentheses. Returns the name of the column's sequence, if the options contain it.
    pub(super) fn identity(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<Option<Name>> {
        if cursor.peek() != Some(&Token::LParen) {
            return Ok(None);
        }
        let mut group = Cursor::new(cursor.group()?, self.dialect);
        let name =
            if group.words(&["SEQUENCE", "NAME"]) { Some(self.resolved(group.qualified()?)) } else { None };
        let mut sequence = Sequence { used: true, ..Sequence::new(line) };
        options(&mut sequence, &mut group);
        if let Some(name) = &name {
            self.sequences.insert(name.clone(), sequence);
        }
        Ok(name)
    }

    /// Applies `SELECT setval(...)`, which sets the next number of a sequence.
    pub(super) fn set_value(&mut self, cursor: &mut Cursor<'_>) {
        cursor.word("SELECT");
        cursor.word("DO");
        let Ok((_, function)) = cursor.qualified() else { return };
        if !function.eq_ignore_ascii_case("setval") {
            return;
        }
        let Ok(group) = cursor.group() else { return };
        let arguments = split(group);
        let [of, value, rest @ ..] = arguments.as_slice() else { return };
        let Some(name) = self.sequence_of(of) else { return };
        let sequence =
            self.sequences.entry(name).or_insert_with(|| Sequence { used: true, ..Sequence::new(0) });
        // If the number is computed from rows, it is the largest key, from which SQLite continues anyway.
        let given = whole_number(value);
        let is_called = !matches!(rest, [is_called] if is_false(is_called));
        let increment = if is_called { sequence.increment } else { 0 };
        sequence.next = given.map(|given| given.saturating_add(increment));
    }

    /// Returns the sequence that the first argument of `setval` means: a text, a name, or the column in `pg_get_serial_sequence`.
    fn sequence_of(&self, argument: &[Token]) -> Option<Name> {
        let mut cursor = Cursor::new(argument, self.dialect);
        if let Some(text) = argument.first().and_then(text_of) {
            return self.sequence_named(text);
        }
        let name = cursor.qualified().ok()?;
        if cursor.peek() != Some(&Token::LParen) {
            return Some(self.resolved(name));
        }
        let group = cursor.group().ok()?;
        let [table, column] = split(group)[..] else { return None };
        let (table, column) = (table.first().and_then(text_of)?, column.first().and_then(text_of)?);
        let table = self.sequence_named(table)?;
        let table = self.places.get(&table).and_then(|&place| self.tables[place].as_ref())?;
        Some(counter(table, table.place(column, self.dialect)?))
    }

    /// Parses the name of a sequence in a text, such as `public.t_id_seq` or `"T_id_seq"`.
    pub(super) fn sequence_named(&self, text: &str) -> Option<Name> {
        let tokens = tokens(text, self.dialect, true)?;
        Some(self.resolved(Cursor::new(&tokens, self.dialect).qualified().ok()?))
    }

    /// Returns the sequence in a DEFAULT: `nextval('s'::regclass)`, or a name in MariaDB.
    pub(super) fn sequence_of_default(&self, arguments: &FunctionArguments) -> Option<Name> {
        let FunctionArguments::List(list) = arguments else { return None };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = &*list.args else { return None };
        match super::pieces::bare(argument) {
            Expr::Value(value) => self.sequence_named(super::pieces::text_of(&value.value)?),
            Expr::Identifier(name) => Some(self.resolved((None, name.value.clone()))),
            Expr::CompoundIdentifier(names) => {
                // MariaDB writes the name of the database before the name of the sequence.
                let schema = names.iter().rev().nth(1).filter(|_| self.dialect == Dialect::Postgres);
                let schema = schema.map(|schema| schema.value.clone());
                Some(self.resolved((schema, names.last()?.value.clone())))
            }
            _ => None,
        }
    }

    /// Returns the number before the next one of a column's counter, if the dump states the next one, and it is above 1. The counter has
    /// returned no larger number.
    pub(super) fn largest_given(&self, table: &Table, column: usize, sequence: &Option<Name>) -> Option<i64> {
        let of_sequence = || {
            let name = sequence.clone().unwrap_or_else(|| counter(table, column));
            self.sequences.get(&name).and_then(|sequence| sequence.next)
        };
        let next = table.next_number.or_else(of_sequence);
        next.map(|next| next.saturating_sub(1)).filter(|largest| *largest > 0)
    }
}

/// Returns the sequence of a column. For SERIAL and IDENTITY, the name of the sequence follows from the table and the column.
pub(super) fn counter(table: &Table, column: usize) -> Name {
    let of_column = &table.columns[column];
    of_column.sequence.clone().unwrap_or_else(|| {
        let (schema, table) = &table.name;
        (schema.clone(), format!("{table}_{}_seq", of_column.name))
    })
}

/// Parses the options of a sequence, and skips options that do not affect the next number.
fn options(sequence: &mut Sequence, cursor: &mut Cursor<'_>) {
    while !cursor.at_end() {
        if cursor.word("START") {
            cursor.word("WITH");
            cursor.symbol(&Token::Eq);
            sequence.next = number(cursor).or(sequence.next);
        } else if cursor.word("INCREMENT") {
            cursor.word("BY");
            cursor.symbol(&Token::Eq);
            sequence.increment = number(cursor).unwrap_or(sequence.increment);
        } else if cursor.word("RESTART") {
            cursor.word("WITH");
            cursor.symbol(&Token::Eq);
            sequence.next = number(cursor);
        } else if cursor.words(&["OWNED", "BY"]) {
            sequence.used |= !cursor.is_word("NONE");
        } else {
            cursor.next();
        }
    }
}

/// Parses a whole number at the cursor, and moves past it.
fn number(cursor: &mut Cursor<'_>) -> Option<i64> {
    let negative = usize::from(cursor.peek() == Some(&Token::Minus));
    let number = whole_number(cursor.rest().get(..=negative)?)?;
    for _ in 0..=negative {
        cursor.next();
    }
    Some(number)
}

/// Parses a whole number. A number beyond SQLite's integers becomes the largest integer.
pub(super) fn whole_number(tokens: &[Token]) -> Option<i64> {
    let (sign, digits) = match tokens {
        [Token::Number(digits, _)] => (1, digits),
        [Token::Minus, Token::Number(digits, _)] => (-1, digits),
        _ => return None,
    };
    let number = sign * digits.parse::<i128>().ok()?;
    Some(number.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// Returns `true` if the tokens mean false in any of its forms.
fn is_false(tokens: &[Token]) -> bool {
    match tokens {
        [token] if super::tokens::is_word(token, "FALSE") => true,
        [Token::Number(digits, _)] => digits == "0",
        [token, ..] => matches!(text_of(token), Some("f" | "false")),
        [] => false,
    }
}
