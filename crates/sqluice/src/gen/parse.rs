//! The text of a `gen:` comment, cut into an expression.
//!
//! ```text
//!  expression = literal | name "(" [ argument { "," argument } ] ")"
//!  argument   = expression [ ":" number ]               the number is a weight, which choice alone takes
//!  literal    = number | 'text' | "text" | x'blob' | NULL
//!  number     = [ "-" | "+" ] 12 | 1_000 | 1e6 | 10M | 0.5 | 2.5e-3     K, M, B: thousand, million, billion
//! ```
//!
//! A number without a point that is whole is an integer (`1e6`, `10M`), so is a whole one with a letter (`2.5M`); any other
//! is a real. Names and NULL may be written in either case. Comments within the expression are skipped.
//!
//! Nothing is known here of what functions there are: see [`functions`](super::functions).

use std::fmt;
use std::ops::Range;

use super::Fault;
use crate::schema::token::{Token, TokenKind, tokens};

/// An expression and where it stands, in bytes from the start of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) at: Range<usize>,
    pub(crate) node: Node,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Literal(Literal),
    Call { name: String, arguments: Vec<Argument> },
}

/// An expression as an argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) value: Expr,
    pub(crate) weight: Option<Weight>,
}

/// How often an argument of choice is chosen, relative to the others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weight {
    pub(crate) at: usize,
    pub(crate) value: f64,
}

/// A value that is written out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// Understands `text`, which begins at byte `start` of the file.
pub(crate) fn parse(text: &str, start: usize) -> Result<Expr, Fault> {
    let tokens = tokens(text).into_iter().filter(|token| !token.is_comment()).collect();
    let mut parser = Parser { text, start, tokens, next: 0 };
    let expr = parser.expr()?;
    match parser.peek() {
        None => Ok(expr),
        Some(token) => Err(Fault::new(
            start + token.at.start,
            format!("`{}` after the end of the expression", &text[token.at.start..]),
        )
        .hint("a gen: comment holds one expression and nothing else; put words in a comment of their own")),
    }
}

struct Parser<'a> {
    text: &'a str,
    start: usize,
    tokens: Vec<Token>,
    next: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.peek().is_some_and(|token| token.is_symbol(self.text, symbol))
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.next += usize::from(found);
        found
    }

    /// Where the next token begins, or the text ends.
    fn here(&self) -> usize {
        self.start + self.peek().map_or(self.text.trim_end().len(), |token| token.at.start)
    }

    fn expected(&self, what: &str) -> Fault {
        let found = match self.peek() {
            Some(token) => format!("`{}`", token.text(self.text)),
            None => "the end of the comment".to_owned(),
        };
        Fault::new(self.here(), format!("expected {what}, found {found}"))
    }

    fn expr(&mut self) -> Result<Expr, Fault> {
        const EXPECTED: &str = "a function or a value";
        let start = self.here();
        let Some(token) = self.peek().cloned() else { return Err(self.expected(EXPECTED)) };
        let node = match token.kind {
            TokenKind::Word => {
                self.next += 1;
                // null(p, x) is a function.
                if token.is_word(self.text, "NULL") && !self.is_symbol("(") {
                    Node::Literal(Literal::Null)
                } else {
                    self.call(token.text(self.text))?
                }
            }
            TokenKind::Number => Node::Literal(self.number()?),
            TokenKind::Symbol if self.is_symbol("-") || self.is_symbol("+") => Node::Literal(self.number()?),
            TokenKind::String | TokenKind::QuotedName => {
                self.next += 1;
                Node::Literal(self.quoted(&token)?)
            }
            _ => return Err(self.expected(EXPECTED)),
        };
        let end = self.start + self.tokens[self.next - 1].at.end;
        Ok(Expr { at: start..end, node })
    }

    /// The rest of a call, after its name.
    fn call(&mut self, name: &str) -> Result<Node, Fault> {
        if !self.eat("(") {
            let fault = self.expected(&format!("`(` after `{name}`"));
            return Err(
                fault.hint(format!("a text is written in quotes: '{name}'; a function with (): {name}()"))
            );
        }
        let mut arguments = Vec::new();
        if !self.eat(")") {
            loop {
                let value = self.expr()?;
                let weight = if self.eat(":") { Some(self.weight()?) } else { None };
                arguments.push(Argument { value, weight });
                if self.eat(")") {
                    break;
                }
                if !self.eat(",") {
                    return Err(self.expected("`,` or `)`"));
                }
            }
        }
        Ok(Node::Call { name: name.to_owned(), arguments })
    }

    fn weight(&mut self) -> Result<Weight, Fault> {
        let at = self.here();
        let value = match self.number()? {
            Literal::Int(int) => int as f64,
            Literal::Real(real) => real,
            _ => unreachable!("a number is an integer or a real"),
        };
        if value < 0.0 {
            return Err(Fault::new(at, "a weight below 0").hint("0 means never, 2 twice as often as 1"));
        }
        Ok(Weight { at, value })
    }

    fn number(&mut self) -> Result<Literal, Fault> {
        let at = self.here();
        let negative = self.is_symbol("-");
        if negative || self.is_symbol("+") {
            self.next += 1;
        }
        let token = match self.peek() {
            Some(token) if token.kind == TokenKind::Number => token.clone(),
            _ => return Err(self.expected("a number")),
        };
        self.next += 1;
        let digits = token.text(self.text);
        number(negative, digits).map_err(|problem| {
            Fault::new(at, format!("`{digits}` {problem}"))
                .hint("numbers are written 12, -1_000, 1e6, 10M (K, M, B) or 0.5")
        })
    }

    fn quoted(&self, token: &Token) -> Result<Literal, Fault> {
        let text = token.text(self.text);
        let at = self.start + token.at.start;
        let body = text.trim_start_matches(['x', 'X']);
        let quote = &body[..1];
        if !matches!(quote, "'" | "\"") {
            return Err(
                Fault::new(at, format!("`{text}` is no value")).hint("texts are written 'so' or \"so\"")
            );
        }
        if body.matches(quote).count() % 2 == 1 {
            let hint = format!("a {quote} within a text is doubled: {quote}{quote}");
            return Err(Fault::new(at, "a text without its closing quote").hint(hint));
        }
        let inner = &body[1..body.len() - 1];
        if body.len() < text.len() {
            return match hex(inner) {
                Some(bytes) => Ok(Literal::Blob(bytes)),
                None => Err(Fault::new(at, "a blob is an even number of hexadecimal digits, as x'00ff'")),
            };
        }
        Ok(Literal::Text(inner.replace(&quote.repeat(2), quote)))
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Vec<u8> =
        digits.chars().map(|digit| digit.to_digit(16).map(|nibble| nibble as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = nibbles.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// A number from its digits; or what is wrong with it.
fn number(negative: bool, text: &str) -> Result<Literal, &'static str> {
    const MALFORMED: &str = "is no number";
    const LARGE: &str = "does not fit in 64 bits";
    let (digits, suffix) = match text.chars().next_back().map(|letter| letter.to_ascii_uppercase()) {
        Some('K') => (&text[..text.len() - 1], 3),
        Some('M') => (&text[..text.len() - 1], 6),
        Some('B') => (&text[..text.len() - 1], 9),
        _ => (text, 0),
    };
    let lonely = |at: usize| {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        !(digit(digits.as_bytes()[..at].last()) && digit(digits.as_bytes().get(at + 1)))
    };
    if digits.match_indices('_').any(|(at, _)| lonely(at)) {
        return Err(MALFORMED);
    }
    let digits = digits.replace('_', "");
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (&digits[..], None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(MALFORMED);
    }
    let power: i32 = exponent.map_or(Ok(0), str::parse).map_err(|_| MALFORMED)?;
    let power = power.checked_add(suffix).ok_or(LARGE)?;
    let point = mantissa.contains('.');
    if (!point || suffix > 0)
        && let Some(int) = whole_number(negative, whole, fraction, power)
    {
        return Ok(Literal::Int(int));
    }
    if !point && exponent.is_none() {
        return Err(LARGE);
    }
    let real: f64 = format!("{mantissa}e{power}").parse().map_err(|_| MALFORMED)?;
    if real.is_infinite() {
        return Err("is too large for a real");
    }
    Ok(Literal::Real(if negative { -real } else { real }))
}

/// `whole.fraction * 10^power`, if that is an integer of 64 bits.
fn whole_number(negative: bool, whole: &str, fraction: &str, power: i32) -> Option<i64> {
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let zeros = i64::from(power) - fraction.len() as i64 + (digits.len() - significant.len()) as i64;
    let scale = 10_i128.checked_pow(u32::try_from(zeros).ok()?)?;
    let magnitude = significant.parse::<i128>().ok()?.checked_mul(scale)?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Literal(literal) => literal.fmt(f),
            Node::Call { name, arguments } => {
                write!(f, "{}(", name.to_ascii_lowercase())?;
                for (index, argument) in arguments.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", argument.value)?;
                    if let Some(weight) = &argument.weight {
                        write!(f, ": {}", weight.value)?;
                    }
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Int(int) => int.fmt(f),
            // `{:?}` keeps the point: 1.0 is a real, 1 is not.
            Literal::Real(real) => write!(f, "{real:?}"),
            Literal::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Literal::Blob(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Literal {
        match parse(text, 0).unwrap().node {
            Node::Literal(literal) => literal,
            Node::Call { .. } => panic!("{text} is a call"),
        }
    }

    fn fault(text: &str) -> (usize, String) {
        let fault = parse(text, 0).unwrap_err();
        (fault.at, fault.message)
    }

    #[test]
    fn numbers_are_read_in_every_way_they_are_written() {
        for (text, int) in [
            ("0", 0),
            ("-0", 0),
            ("+7", 7),
            ("1_000", 1000),
            ("1e6", 1_000_000),
            ("1E+6", 1_000_000),
            ("120e-1", 12),
            ("10M", 10_000_000),
            ("10m", 10_000_000),
            ("2.5K", 2500),
            ("3B", 3_000_000_000),
            ("- 5", -5),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("0e999999999", 0),
        ] {
            assert_eq!(literal(text), Literal::Int(int), "{text}");
        }
        for (text, real) in [
            ("0.5", 0.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1.0", 1.0),
            ("1e-3", 0.001),
            ("1.5e3", 1500.0),
            ("-2.5", -2.5),
            ("1e300", 1e300),
            ("1_0.2_5", 10.25),
            ("0.1K", 100.0),
        ] {
            let expected = if text == "0.1K" { Literal::Int(100) } else { Literal::Real(real) };
            assert_eq!(literal(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused_where_it_stands() {
        for text in
            ["1__0", "1_", "1.2.3", "0x10", "1e", "12abc", "9223372036854775808", "1e999", "1.e", "1_.5"]
        {
            let (at, message) = fault(&format!("int({text}, 2)"));
            assert_eq!(at, 4, "{text}");
            assert!(message.starts_with(&format!("`{text}` ")), "{message}");
        }
    }

    #[test]
    fn texts_lose_their_quotes_and_blobs_are_read_from_hex() {
        assert_eq!(literal("'it''s'"), Literal::Text("it's".into()));
        assert_eq!(literal("\"say \"\"x\"\"\""), Literal::Text("say \"x\"".into()));
        assert_eq!(literal("''"), Literal::Text(String::new()));
        assert_eq!(literal("x'00fF'"), Literal::Blob(vec![0, 255]));
        assert_eq!(literal("null"), Literal::Null);
    }

    #[test]
    fn an_expression_prints_as_it_would_be_read() {
        let text = "Choice( 'a' : 3 , \"it's\", null(0.5,int(1,1e3)):0.25, x'0A', 1.0, NULL) -- why";
        let printed = parse(text, 0).unwrap().to_string();
        assert_eq!(printed, "choice('a': 3, 'it''s', null(0.5, int(1, 1000)): 0.25, x'0a', 1.0, NULL)");
        assert_eq!(parse(&printed, 0).unwrap().to_string(), printed);
    }

    #[test]
    fn malformed_expressions_say_where_and_what() {
        for (text, at, message) in [
            ("", 0, "expected a function or a value, found the end of the comment"),
            ("int(1, 2", 8, "expected `,` or `)`, found the end of the comment"),
            ("int(1 2)", 6, "expected `,` or `)`, found `2`"),
            ("int(1,)", 6, "expected a function or a value, found `)`"),
            ("int", 3, "expected `(` after `int`, found the end of the comment"),
            ("choice(a, b)", 8, "expected `(` after `a`, found `,`"),
            ("choice(1: x)", 10, "expected a number, found `x`"),
            ("choice(1: -1)", 10, "a weight below 0"),
            ("choice('a, 2)", 7, "a text without its closing quote"),
            ("choice('a'')", 7, "a text without its closing quote"),
            ("choice(x'0')", 7, "a blob is an even number of hexadecimal digits, as x'00ff'"),
            ("choice([a])", 7, "`[a]` is no value"),
            ("int(1, 2) years", 10, "`years` after the end of the expression"),
            ("int(1, 2))", 9, "`)` after the end of the expression"),
            ("- x", 2, "expected a number, found `x`"),
        ] {
            assert_eq!(fault(text), (at, message.to_owned()), "{text}");
        }
    }

    #[test]
    fn places_count_from_the_start_of_the_file() {
        assert_eq!(parse(" int(1, 2) ", 100).unwrap().at, 101..110);
        assert_eq!(parse("int(1,", 100).unwrap_err().at, 106);
    }
}
