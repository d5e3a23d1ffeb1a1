//! Parses the beginning of INSERT and COPY statements: the table and the columns for the rows. The text is a window of the dump, which may
//! end within a statement.

use super::lex::{Dialect, Look, Rules, is_word, look};

/// The beginning of an INSERT or COPY statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The schema or database that the statement names.
    pub schema: Option<String>,
    /// The name of the table that gets the rows.
    pub table: String,
    /// The columns that the statement names; `None` for all columns.
    pub columns: Option<Vec<String>>,
}

/// The result of parsing the beginning of a statement.
#[derive(Debug)]
pub(super) enum Begins {
    /// An INSERT or COPY statement, and the position at which its rows begin.
    Rows(Header, usize),
    /// Some other statement.
    Other,
    /// The window ends too early to decide.
    More,
}

/// A reader of words and names.
struct Words<'t> {
    text: &'t [u8],
    at: usize,
    rules: Rules,
    whole: bool,
}

/// A word, a name without its quotes, or a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Name(String),
    Symbol(u8),
    End,
}

/// The error if the window ends before a token does.
struct More;

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(is) if is.eq_ignore_ascii_case(word))
    }

    fn name(self) -> Option<String> {
        match self {
            Token::Word(name) | Token::Name(name) => Some(name),
            Token::Symbol(_) | Token::End => None,
        }
    }
}

impl Words<'_> {
    fn next(&mut self) -> Result<Token, More> {
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return if self.whole { Ok(Token::End) } else { Err(More) };
            };
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            let from = self.at;
            match look(self.text, from, self.rules, self.whole) {
                Look::More => return Err(More),
                Look::Comment(to) => self.at = to,
                Look::Quoted(to) => {
                    self.at = to;
                    return Ok(Token::Name(unquoted(&self.rules.decoded(&self.text[from..to]))));
                }
                Look::Code if is_word(byte) => {
                    let word = self.text[from..].iter().take_while(|byte| is_word(**byte)).count();
                    if from + word == self.text.len() && !self.whole {
                        return Err(More);
                    }
                    self.at = from + word;
                    return Ok(Token::Word(self.rules.decoded(&self.text[from..from + word]).into_owned()));
                }
                Look::Code => {
                    self.at += 1;
                    return Ok(Token::Symbol(byte));
                }
            }
        }
    }

    /// Returns the next words in upper case, at most `most`, up to a token that is not a word.
    fn words(&mut self, most: usize) -> Result<Vec<String>, More> {
        let mut words = Vec::new();
        while words.len() < most {
            let at = self.at;
            match self.next()? {
                Token::Word(word) => words.push(word.to_ascii_uppercase()),
                _ => {
                    self.at = at;
                    break;
                }
            }
        }
        Ok(words)
    }

    /// Parses the name of a table. Postgres folds a name without quotes to lower case.
    fn table(&mut self) -> Result<Option<(Option<String>, String)>, More> {
        let Some(first) = self.name()? else { return Ok(None) };
        let at = self.at;
        if self.next()? != Token::Symbol(b'.') {
            self.at = at;
            return Ok(Some((None, first)));
        }
        Ok(self.name()?.map(|table| (Some(first), table)))
    }

    fn name(&mut self) -> Result<Option<String>, More> {
        Ok(match self.next()? {
            Token::Word(word) if self.rules.dialect == Dialect::Postgres => Some(word.to_ascii_lowercase()),
            token => token.name(),
        })
    }

    /// Parses a list of columns. The opening parenthesis is already read.
    fn columns(&mut self) -> Result<Option<Vec<String>>, More> {
        let mut columns = Vec::new();
        loop {
            let Some(name) = self.name()? else { return Ok(None) };
            columns.push(name);
            match self.next()? {
                Token::Symbol(b',') => {}
                Token::Symbol(b')') => return Ok(Some(columns)),
                _ => return Ok(None),
            }
        }
    }
}

/// Removes the quotes of a name.
fn unquoted(quoted: &str) -> String {
    let mut chars = quoted.chars();
    let (open, close) = (chars.next(), chars.next_back());
    let inner = chars.as_str();
    match (open, close) {
        (Some('['), _) | (_, None) => inner.to_owned(),
        (Some(quote), _) => inner.replace(&format!("{quote}{quote}"), &quote.to_string()),
        (None, _) => String::new(),
    }
}

/// Parses the beginning of a statement with rows of literals: up to VALUES, or up to the data of COPY.
pub(super) fn begins(text: &[u8], at: usize, rules: Rules, whole: bool) -> Begins {
    let mut words = Words { text, at, rules, whole };
    let read = match words.words(1) {
        Err(More) => return Begins::More,
        Ok(first) if first == ["INSERT"] => insert(&mut words),
        Ok(first) if first == ["COPY"] && rules.dialect == Dialect::Postgres => copy(&mut words),
        Ok(_) => return Begins::Other,
    };
    match read {
        Err(More) => Begins::More,
        Ok(None) => Begins::Other,
        Ok(Some(header)) => Begins::Rows(header, words.at),
    }
}

fn insert(words: &mut Words<'_>) -> Result<Option<Header>, More> {
    let mut token = words.next()?;
    if token.is("IGNORE") && words.rules.dialect == Dialect::MySql {
        token = words.next()?;
    }
    if !token.is("INTO") {
        return Ok(None);
    }
    let Some((schema, table)) = words.table()? else { return Ok(None) };
    let mut columns = None;
    token = words.next()?;
    if token == Token::Symbol(b'(') {
        columns = words.columns()?;
        if columns.is_none() {
            return Ok(None);
        }
        token = words.next()?;
    }
    if token.is("OVERRIDING") && words.rules.dialect == Dialect::Postgres {
        words.words(2)?;
        token = words.next()?;
    }
    Ok(token.is("VALUES").then_some(Header { schema, table, columns }))
}

/// Parses `COPY table (columns) FROM stdin;`. The data begin on the next line.
fn copy(words: &mut Words<'_>) -> Result<Option<Header>, More> {
    let Some((schema, table)) = words.table()? else { return Ok(None) };
    let mut columns = None;
    let mut token = words.next()?;
    if token == Token::Symbol(b'(') {
        columns = words.columns()?;
        token = words.next()?;
    }
    if !token.is("FROM") || !words.next()?.is("STDIN") || words.next()? != Token::Symbol(b';') {
        return Ok(None);
    }
    match memchr::memchr(b'\n', &words.text[words.at..]) {
        Some(end) => words.at += end + 1,
        None if words.whole => words.at = words.text.len(),
        None => return Err(More),
    }
    Ok(Some(Header { schema, table, columns }))
}
