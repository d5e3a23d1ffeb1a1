//! The tokens of a statement, without white space and comments, and a cursor over them.

use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::tokenizer::{Token, Tokenizer, Word};

use super::Dialect;

/// The error if a statement can't be parsed: the text of the token at which parsing stopped.
#[derive(Debug)]
pub(super) struct Near(pub(super) String);

/// The result of parsing a part of a statement.
pub(super) type Parsed<T> = Result<T, Near>;

/// Splits a statement into tokens. Returns `None` if the text can't be split. With `ansi`, double quotes enclose names in MySQL.
pub(super) fn tokens(sql: &str, dialect: Dialect, ansi: bool) -> Option<Vec<Token>> {
    let all = match dialect {
        Dialect::MySql => Tokenizer::new(&MySqlDialect {}, &without_executable_comments(sql)).tokenize(),
        Dialect::Postgres => Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize(),
    };
    let mut kept: Vec<Token> = Vec::new();
    for token in all.ok()? {
        match token {
            Token::Whitespace(_) => {}
            Token::DoubleQuotedString(value) if ansi => {
                kept.push(Token::Word(Word { value, quote_style: Some('"'), keyword: NO_KEYWORD }));
            }
            // An introducer of MySQL, such as `_utf8mb4` in `_utf8mb4'x'`, is dropped, because all text of a dump has the same encoding.
            Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) | Token::HexStringLiteral(_)
                if dialect == Dialect::MySql
                    && matches!(kept.last(), Some(Token::Word(word)) if is_introducer(word)) =>
            {
                kept.pop();
                kept.push(token);
            }
            token => kept.push(token),
        }
    }
    Some(kept)
}

const NO_KEYWORD: sqlparser::keywords::Keyword = sqlparser::keywords::Keyword::NoKeyword;

fn is_introducer(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.len() > 1 && word.value.starts_with('_')
}

/// Returns a statement of MySQL in which executable comments, `/*!40101 ... */` and `/*M!100100 ... */`, are replaced by their content.
///
/// A comment for version 999999, which no server has, is removed with its content.
fn without_executable_comments(sql: &str) -> String {
    let bytes = sql.as_bytes();
    let mut kept = Vec::with_capacity(bytes.len());
    let (mut at, mut inside) = (0, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => {
                let end = quoted_end(rest, quote);
                kept.extend_from_slice(&rest[..end]);
                at += end;
            }
            b'/' if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") => {
                let start = if rest[2] == b'M' { 4 } else { 3 };
                let digits = rest[start..].iter().take_while(|byte| byte.is_ascii_digit()).take(6).count();
                if rest[start..].starts_with(b"999999") {
                    at += memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
                } else {
                    (inside, at) = (true, at + start + digits);
                }
                kept.push(b' ');
            }
            b'/' if rest.starts_with(b"/*") => {
                at += memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4);
                kept.push(b' ');
            }
            b'*' if inside && rest.starts_with(b"*/") => {
                (inside, at) = (false, at + 2);
                kept.push(b' ');
            }
            byte => {
                kept.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Returns the length of the quoted text or name at the start of `text`.
fn quoted_end(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += 1 + usize::from(text[at] == b'\\' && quote != b'`');
    }
    (at + 1).min(text.len())
}

/// Returns the text of a quoted token, as in `LIKE 'x'`, `COMMENT 'x'` and the values of ENUM.
pub(super) fn text_of(token: &Token) -> Option<&str> {
    match token {
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text)
        | Token::NationalStringLiteral(text) => Some(text),
        _ => None,
    }
}

/// Splits tokens at the commas outside of parentheses.
pub(super) fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

/// A position in the tokens of a statement.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    tokens: &'t [Token],
    at: usize,
    dialect: Dialect,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(tokens: &'t [Token], dialect: Dialect) -> Cursor<'t> {
        Cursor { tokens, at: 0, dialect }
    }

    pub(super) fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    /// Returns the token that comes `ahead` tokens after the next one.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead)
    }

    pub(super) fn next(&mut self) -> Option<&'t Token> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    /// Returns the tokens from the next one on.
    pub(super) fn rest(&self) -> &'t [Token] {
        &self.tokens[self.at..]
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Returns the error that the statement can't be parsed from here on.
    pub(super) fn near<T>(&self) -> Parsed<T> {
        let token = self.peek().map_or_else(|| "its end".to_owned(), |token| format!("\"{token}\""));
        Err(Near(token.chars().take(60).collect()))
    }

    /// Returns `true` if the next token is this word, without quotes.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| is_word(token, word))
    }

    /// Moves past these words if they come next. Returns `true` if so.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let follow = words.iter().enumerate().all(|(ahead, word)| self.is_word_at(ahead, word));
        self.at += if follow { words.len() } else { 0 };
        follow
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        self.words(&[word])
    }

    /// Moves past the next word if it is one of these. Returns `true` if so.
    pub(super) fn one_of(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.word(word))
    }

    pub(super) fn symbol(&mut self, symbol: &Token) -> bool {
        let follows = self.peek() == Some(symbol);
        self.at += usize::from(follows);
        follows
    }

    /// Parses a name. PostgreSQL folds a name without quotes to lower case.
    pub(super) fn name(&mut self) -> Parsed<String> {
        let name = match self.peek() {
            Some(Token::Word(word)) if word.quote_style.is_none() && self.dialect == Dialect::Postgres => {
                word.value.to_lowercase()
            }
            Some(Token::Word(word)) => word.value.clone(),
            Some(Token::DoubleQuotedString(text) | Token::SingleQuotedString(text))
                if self.dialect == Dialect::MySql =>
            {
                text.clone()
            }
            _ => return self.near(),
        };
        self.at += 1;
        Ok(name)
    }

    /// Parses a name, and the schema before its dot, if any.
    pub(super) fn qualified(&mut self) -> Parsed<(Option<String>, String)> {
        let (mut schema, mut name) = (None, self.name()?);
        while self.symbol(&Token::Period) {
            schema = Some(std::mem::replace(&mut name, self.name()?));
        }
        Ok((schema, name))
    }

    /// Parses a group in parentheses, and returns its tokens.
    pub(super) fn group(&mut self) -> Parsed<&'t [Token]> {
        if self.peek() != Some(&Token::LParen) {
            return self.near();
        }
        let start = self.at + 1;
        let mut depth = 0_usize;
        while let Some(token) = self.next() {
            match token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 1 => return Ok(&self.tokens[start..self.at - 1]),
                Token::RParen => depth -= 1,
                _ => {}
            }
        }
        self.near()
    }

    /// Parses a quoted text.
    pub(super) fn text(&mut self) -> Parsed<String> {
        match self.peek().and_then(text_of) {
            Some(text) => {
                self.at += 1;
                Ok(text.to_owned())
            }
            None => self.near(),
        }
    }

    /// Parses an expression of at least one token. It ends before one of the words `ends` outside of parentheses.
    pub(super) fn expression(&mut self, ends: &[&str]) -> Parsed<&'t [Token]> {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                Token::Word(word)
                    if depth == 0
                        && self.at > start
                        && word.quote_style.is_none()
                        && ends.iter().any(|end| word.value.eq_ignore_ascii_case(end)) =>
                {
                    break;
                }
                _ => {}
            }
            self.at += 1;
        }
        if self.at == start { self.near() } else { Ok(&self.tokens[start..self.at]) }
    }
}

/// Returns `true` if a token is this word, without quotes.
pub(super) fn is_word(token: &Token, expected: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}
