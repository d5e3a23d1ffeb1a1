//! The parser of `gen:` comments.
//!
//! ```text
//!  expression = product { ("+" | "-") product }
//!  product    = operand { ("*" | "/" | "%") operand }
//!  operand    = literal | call | case | column | "(" expression ")"
//!             | "{" [ key ":" expression { "," ... } ] "}" | "[" [ expression { "," ... } ] "]"      JSON, in json() alone
//!  call       = name "(" [ argument { "," argument } ] ")"
//!  argument   = expression [ ":" number ]               the number is a weight, for choice, shares, rows and tree
//!  case       = "case(" "when" condition "then" expression { "when" ... } [ "else" expression ] ")"
//!  condition  = as in SQL: = <> < <= > >= IS [NOT] NULL, [NOT] IN (...), AND, OR, NOT, parentheses
//!  column     = name | name "." name                    a column of the row; table.column in ref(); a column of a parent's row
//!  literal    = number | 'text' | "text" | x'blob' | NULL
//!  number     = [ "-" | "+" ] 12 | 1_000 | 1e6 | 10M | 0.5 | 2.5e-3     K, M, B: thousand, million, billion
//! ```
//!
//! A whole number without a point is an integer (`1e6`, `10M`), and so is a whole number with a suffix (`2.5M`); any other
//! number is a real. Case is ignored in names, keywords and NULL; a name with spaces or symbols is written in `` ` ``. Comments within
//! the expression are skipped.
//!
//! The parser does not know which functions and columns exist: see [`functions`](super::functions).

use std::fmt;
use std::ops::Range;

use sqluice_core::schema::token::{Token, TokenKind, tokens};

use super::Fault;
pub(crate) use super::literal::Literal;
use super::literal::{hex, number};

/// The maximum nesting depth of expressions: more could overflow the stack.
const DEPTH_MAX: usize = 100;

/// An expression and its position, in bytes from the start of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) at: Range<usize>,
    pub(crate) node: ExprNode,
}

/// The kind of an expression, with its inner expressions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprNode {
    Literal(Literal),
    Call { name: String, arguments: Vec<Argument> },
    Column { of: Option<String>, name: String },
    Binary { operator: char, left: Box<Expr>, right: Box<Expr> },
    Case { branches: Vec<(Condition, Expr)>, otherwise: Option<Box<Expr>> },
    Object(Vec<(String, Expr)>),
    Array(Vec<Expr>),
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) value: Expr,
    pub(crate) weight: Option<Weight>,
}

/// The weight after an argument, such as 3 in `choice('a': 3, 'b')`: the relative frequency of the argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weight {
    pub(crate) at: usize,
    pub(crate) value: f64,
}

/// The condition of a branch of case().
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Compare { left: Expr, comparison: Comparison, right: Expr },
    IsNull { value: Expr, negated: bool },
    In { value: Expr, list: Vec<Expr>, negated: bool },
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// All operators. `<=` stands before `<`, because the parser takes the first operator that fits. Of two operators with the same
    /// meaning, the last one is printed.
    pub(super) const ALL: [(&'static str, Comparison); 8] = [
        ("==", Comparison::Equal),
        ("=", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<>", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
}

/// Parses `text`, which begins at byte `start` of the file.
pub(crate) fn parse(text: &str, start: usize) -> Result<Expr, Fault> {
    let tokens = tokens(text).into_iter().filter(|token| !token.is_comment()).collect();
    let mut parser = Parser { text, start, tokens, next: 0, depth: 0 };
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
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        self.peek().is_some_and(|token| token.is_symbol(self.text, symbol))
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().is_some_and(|token| token.is_word(self.text, word))
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.next += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.next += usize::from(found);
        found
    }

    fn need_word(&mut self, word: &str) -> Result<(), Fault> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Returns the position of the next token, or of the end of the text.
    fn here(&self) -> usize {
        self.start + self.peek().map_or(self.text.trim_end().len(), |token| token.at.start)
    }

    /// Returns the position after the last token.
    fn end(&self) -> usize {
        self.start + self.tokens[self.next - 1].at.end
    }

    fn expected(&self, what: &str) -> Fault {
        let found = match self.peek() {
            Some(token) => format!("`{}`", token.text(self.text)),
            None => "the end of the comment".to_owned(),
        };
        Fault::new(self.here(), format!("expected {what}, found {found}"))
    }

    fn expr(&mut self) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Fault::new(self.here(), format!("more than {DEPTH_MAX} nested expressions")));
        }
        let mut expr = self.product()?;
        while let Some(operator) = self.operator(&["+", "-"]) {
            expr = binary(operator, expr, self.product()?);
        }
        self.depth -= 1;
        Ok(expr)
    }

    fn product(&mut self) -> Result<Expr, Fault> {
        let mut expr = self.operand()?;
        while let Some(operator) = self.operator(&["*", "/", "%"]) {
            expr = binary(operator, expr, self.operand()?);
        }
        Ok(expr)
    }

    fn operator(&mut self, operators: &[&str]) -> Option<char> {
        let found = operators.iter().find(|symbol| self.is_symbol(symbol))?;
        self.next += 1;
        found.chars().next()
    }

    fn operand(&mut self) -> Result<Expr, Fault> {
        const EXPECTED: &str = "a function or a value";
        let start = self.here();
        let Some(token) = self.peek().cloned() else { return Err(self.expected(EXPECTED)) };
        let text = token.text(self.text);
        let node = match token.kind {
            TokenKind::Word => {
                self.next += 1;
                // NULL before a parenthesis is the function null(p, x).
                if token.is_word(self.text, "NULL") && !self.is_symbol("(") {
                    ExprNode::Literal(Literal::Null)
                } else if token.is_word(self.text, "case") && self.is_symbol("(") {
                    self.case()?
                } else if self.is_symbol("(") {
                    self.call(text)?
                } else {
                    self.column(text.to_owned())?
                }
            }
            TokenKind::QuotedName if text.starts_with('`') => {
                self.next += 1;
                match token.name(self.text) {
                    Some(name) if text.len() > 1 && text.ends_with('`') => self.column(name)?,
                    _ => return Err(Fault::new(start, "a name without its closing quote")),
                }
            }
            TokenKind::QuotedName if text.starts_with('[') => {
                self.open_bracket(&token);
                ExprNode::Array(self.list("]", Parser::expr)?)
            }
            TokenKind::Number => ExprNode::Literal(self.number()?),
            TokenKind::Symbol if self.is_symbol("-") || self.is_symbol("+") => {
                ExprNode::Literal(self.number()?)
            }
            TokenKind::Symbol if self.eat("{") => ExprNode::Object(self.list("}", Parser::member)?),
            TokenKind::Symbol if self.eat("(") => {
                let inner = self.expr()?;
                if !self.eat(")") {
                    return Err(self.expected("`)`"));
                }
                inner.node
            }
            TokenKind::String | TokenKind::QuotedName => {
                self.next += 1;
                ExprNode::Literal(self.quoted(&token)?)
            }
            _ => return Err(self.expected(EXPECTED)),
        };
        Ok(Expr { at: start..self.end(), node })
    }

    /// Splits a token `[...]`, which SQL reads as a quoted name, into the tokens of an array.
    fn open_bracket(&mut self, token: &Token) {
        let inner = token.at.start + 1;
        self.tokens.truncate(self.next);
        self.tokens.push(Token { kind: TokenKind::Symbol, at: token.at.start..inner });
        let rest = tokens(&self.text[inner..]).into_iter().filter(|token| !token.is_comment());
        self.tokens
            .extend(rest.map(|token| Token { at: token.at.start + inner..token.at.end + inner, ..token }));
        self.next += 1;
    }

    /// Parses items separated by commas, up to `close`.
    fn list<T>(
        &mut self,
        close: &str,
        item: impl Fn(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }

    fn member(&mut self) -> Result<(String, Expr), Fault> {
        let key = self.peek().and_then(|token| token.name(self.text));
        let Some(key) = key else { return Err(self.expected("a key")) };
        self.next += 1;
        if !self.eat(":") {
            return Err(self.expected(&format!("`:` after the key {key}")));
        }
        Ok((key, self.expr()?))
    }

    /// Parses the rest of a column, after its name or the name of its table.
    fn column(&mut self, name: String) -> Result<ExprNode, Fault> {
        if !self.eat(".") {
            return Ok(ExprNode::Column { of: None, name });
        }
        match self.peek().and_then(|token| token.name(self.text)) {
            Some(column) => {
                self.next += 1;
                Ok(ExprNode::Column { of: Some(name), name: column })
            }
            None => Err(self.expected(&format!("a column after `{name}.`"))),
        }
    }

    /// Parses the rest of a call, after its name.
    fn call(&mut self, name: &str) -> Result<ExprNode, Fault> {
        self.next += 1;
        let arguments = self.list(")", |parser| {
            let value = parser.expr()?;
            let weight = if parser.eat(":") { Some(parser.weight()?) } else { None };
            Ok(Argument { value, weight })
        })?;
        Ok(ExprNode::Call { name: name.to_owned(), arguments })
    }

    /// Parses the rest of a case, after the word `case`.
    fn case(&mut self) -> Result<ExprNode, Fault> {
        self.next += 1;
        let mut branches = Vec::new();
        self.need_word("when")?;
        loop {
            let condition = self.condition()?;
            self.need_word("then")?;
            branches.push((condition, self.expr()?));
            if !self.eat_word("when") {
                break;
            }
        }
        let otherwise = if self.eat_word("else") { Some(Box::new(self.expr()?)) } else { None };
        if !self.eat(")") {
            return Err(self.expected("`when`, `else` or `)`"));
        }
        Ok(ExprNode::Case { branches, otherwise })
    }

    fn condition(&mut self) -> Result<Condition, Fault> {
        let mut condition = self.all()?;
        while self.eat_word("or") {
            condition = Condition::Or(Box::new(condition), Box::new(self.all()?));
        }
        Ok(condition)
    }

    fn all(&mut self) -> Result<Condition, Fault> {
        let mut condition = self.test()?;
        while self.eat_word("and") {
            condition = Condition::And(Box::new(condition), Box::new(self.test()?));
        }
        Ok(condition)
    }

    fn test(&mut self) -> Result<Condition, Fault> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Fault::new(self.here(), format!("more than {DEPTH_MAX} nested conditions")));
        }
        let tested = self.one_test();
        self.depth -= 1;
        tested
    }

    fn one_test(&mut self) -> Result<Condition, Fault> {
        if self.eat_word("not") {
            return Ok(Condition::Not(Box::new(self.test()?)));
        }
        // A parenthesis holds a condition or an operand: if it can't be parsed as a condition, start again as an operand.
        let (before, depth) = (self.next, self.depth);
        if self.eat("(") {
            if let Ok(condition) = self.condition()
                && self.eat(")")
            {
                return Ok(condition);
            }
            (self.next, self.depth) = (before, depth);
        }
        let value = self.expr()?;
        if self.eat_word("is") {
            let negated = self.eat_word("not");
            self.need_word("null")?;
            return Ok(Condition::IsNull { value, negated });
        }
        let negated = self.eat_word("not");
        if self.eat_word("in") {
            if !self.eat("(") {
                return Err(self.expected("`(` after `in`"));
            }
            return Ok(Condition::In { value, list: self.list(")", Parser::expr)?, negated });
        }
        let comparison = Comparison::ALL.into_iter().find(|(symbol, _)| {
            let at = self.here() - self.start;
            self.text.get(at..).is_some_and(|rest| rest.starts_with(symbol))
        });
        match comparison {
            Some((symbol, comparison)) if !negated => {
                self.next += symbol.len();
                Ok(Condition::Compare { left: value, comparison, right: self.expr()? })
            }
            _ => Err(self.expected("a comparison (=, <>, <, <=, >, >=, is null, in)")),
        }
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
        if body.matches(quote).count() % 2 == 1 {
            let hint = format!("a {quote} within a text is doubled: {quote}{quote}");
            return Err(Fault::new(at, "a text without its closing quote").hint(hint));
        }
        let inner = &body[1..body.len() - 1];
        if body.len() < text.len() {
            return match hex(inner) {
                Some(bytes) => Ok(Literal::Blob(bytes)),
                None => Err(Fault::new(at, "a blob needs an even number of hexadecimal digits, as x'00ff'")),
            };
        }
        Ok(Literal::Text(inner.replace(&quote.repeat(2), quote)))
    }
}

fn binary(operator: char, left: Expr, right: Expr) -> Expr {
    let at = left.at.start..right.at.end;
    Expr { at, node: ExprNode::Binary { operator, left: Box::new(left), right: Box::new(right) } }
}

/// Writes a name in the form that the parser reads.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let is_word = match &tokens(name)[..] {
        [token] => token.kind == TokenKind::Word && token.at == (0..name.len()),
        _ => false,
    };
    if is_word && !name.eq_ignore_ascii_case("null") {
        return f.write_str(name);
    }
    write!(f, "`{}`", name.replace('`', "``"))
}

fn write_list(f: &mut fmt::Formatter<'_>, list: &[Expr]) -> fmt::Result {
    list.iter().enumerate().try_for_each(|(index, expr)| {
        let comma = if index > 0 { ", " } else { "" };
        write!(f, "{comma}{expr}")
    })
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            ExprNode::Literal(literal) => literal.fmt(f),
            ExprNode::Call { name, arguments } => {
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
            ExprNode::Column { of, name } => {
                if let Some(of) = of {
                    write_name(f, of)?;
                    f.write_str(".")?;
                }
                write_name(f, name)
            }
            ExprNode::Binary { operator, left, right } => write!(f, "({left} {operator} {right})"),
            ExprNode::Case { branches, otherwise } => {
                f.write_str("case(")?;
                for (index, (condition, value)) in branches.iter().enumerate() {
                    let space = if index > 0 { " " } else { "" };
                    write!(f, "{space}when {condition} then {value}")?;
                }
                if let Some(otherwise) = otherwise {
                    write!(f, " else {otherwise}")?;
                }
                f.write_str(")")
            }
            ExprNode::Object(members) => {
                f.write_str("{")?;
                for (index, (key, value)) in members.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{}: {value}", Literal::Text(key.clone()))?;
                }
                f.write_str("}")
            }
            ExprNode::Array(items) => {
                f.write_str("[")?;
                write_list(f, items)?;
                f.write_str("]")
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |negated: bool| if negated { "not " } else { "" };
        match self {
            Condition::Compare { left, comparison, right } => {
                let named = Comparison::ALL.iter().rev().find(|(_, other)| other == comparison);
                write!(f, "{left} {} {right}", named.map_or("=", |(symbol, _)| symbol))
            }
            Condition::IsNull { value, negated } => write!(f, "{value} is {}null", not(*negated)),
            Condition::In { value, list, negated } => {
                write!(f, "{value} {}in (", not(*negated))?;
                write_list(f, list)?;
                f.write_str(")")
            }
            Condition::Not(inner) => write!(f, "not ({inner})"),
            Condition::And(left, right) => write!(f, "({left} and {right})"),
            Condition::Or(left, right) => write!(f, "({left} or {right})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Literal {
        match parse(text, 0).unwrap().node {
            ExprNode::Literal(literal) => literal,
            other => panic!("{text} is {other:?}"),
        }
    }

    fn fault(text: &str) -> (usize, String) {
        let fault = parse(text, 0).unwrap_err();
        (fault.at, fault.message)
    }

    #[test]
    fn numbers_are_parsed_in_every_notation() {
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
    fn malformed_numbers_are_refused_with_their_position() {
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
    fn a_printed_expression_reads_back_as_the_same_expression() {
        let text = "Choice( 'a' : 3 , \"it's\", null(0.5,int(1,1e3)):0.25, x'0A', 1.0, NULL) -- why";
        let printed = parse(text, 0).unwrap().to_string();
        assert_eq!(printed, "choice('a': 3, 'it''s', null(0.5, int(1, 1000)): 0.25, x'0a', 1.0, NULL)");
        assert_eq!(parse(&printed, 0).unwrap().to_string(), printed);
        for text in [
            "(a + (2 * b.`c d`))",
            "((a - 1) - -1)",
            "case(when (a = 1 and not (b is null)) then 2 when (a + 1) in (1, 2) then [x, {'k': 1}] else 'y')",
            "case(when (a <> 1 or b >= 2) then {'a': [], 'it''s': {}})",
            "`null`",
        ] {
            assert_eq!(parse(text, 0).unwrap().to_string(), text);
        }
        let text = "CASE(WHEN (a) = 1 AND b NOT IN (2) OR c IS NOT NULL THEN 1+2*3 -4 ELSE f( [ 1,'a]' ] ))";
        let printed = "case(when ((a = 1 and b not in (2)) or c is not null) then ((1 + (2 * 3)) - 4) else f([1, 'a]']))";
        assert_eq!(parse(text, 0).unwrap().to_string(), printed);
    }

    #[test]
    fn too_deeply_nested_expressions_are_refused() {
        let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
        assert_eq!(fault(&deep).1, "more than 100 nested expressions");
        let deep = format!("case(when {}1", "not ".repeat(5000));
        assert_eq!(fault(&deep).1, "more than 100 nested conditions");
    }

    #[test]
    fn malformed_expressions_are_refused_with_position_and_reason() {
        for (text, at, message) in [
            ("", 0, "expected a function or a value, found the end of the comment"),
            ("int(1, 2", 8, "expected `,` or `)`, found the end of the comment"),
            ("int(1 2)", 6, "expected `,` or `)`, found `2`"),
            ("int(1,)", 6, "expected a function or a value, found `)`"),
            ("choice(a b)", 9, "expected `,` or `)`, found `b`"),
            ("choice(1: x)", 10, "expected a number, found `x`"),
            ("choice(1: -1)", 10, "a weight below 0"),
            ("choice('a, 2)", 7, "a text without its closing quote"),
            ("choice('a'')", 7, "a text without its closing quote"),
            ("choice(x'0')", 7, "a blob needs an even number of hexadecimal digits, as x'00ff'"),
            ("choice([a, 2)", 12, "expected `,` or `]`, found `)`"),
            ("a.", 2, "expected a column after `a.`, found the end of the comment"),
            ("(1", 2, "expected `)`, found the end of the comment"),
            ("case(a)", 5, "expected `when`, found `a`"),
            (
                "case(when a then 1)",
                12,
                "expected a comparison (=, <>, <, <=, >, >=, is null, in), found `then`",
            ),
            ("case(when a = 1 2)", 16, "expected `then`, found `2`"),
            ("case(when a = 1 then 2", 22, "expected `when`, `else` or `)`, found the end of the comment"),
            ("json({1: 2})", 6, "expected a key, found `1`"),
            ("json({a})", 7, "expected `:` after the key a, found `}`"),
            ("int(1, 2) years", 10, "`years` after the end of the expression"),
            ("int(1, 2))", 9, "`)` after the end of the expression"),
            ("- x", 2, "expected a number, found `x`"),
        ] {
            assert_eq!(fault(text), (at, message.to_owned()), "{text}");
        }
    }

    #[test]
    fn positions_in_an_expression_count_from_the_start_of_the_file() {
        assert_eq!(parse(" int(1, 2) ", 100).unwrap().at, 101..110);
        assert_eq!(parse("int(1,", 100).unwrap_err().at, 106);
    }
}
