//! The bounds that CHECK constraints set for the values of a column.
//!
//! This module reads conditions that are joined by AND: `c IN (...)`, `c BETWEEN x AND y`, comparisons with a value or another
//! column, `c LIKE 'x%'`, `c GLOB '[0-9]*'`, comparisons of `length(c)` and `abs(c)`, `json_valid(c)`, and any of these with `OR c IS
//! NULL`; also values joined by OR: `c = 'a' OR c = 'b'`. It reads `trim(c)` as `c`. Other conditions are ignored. Bounds
//! give candidate expressions; SQLite tests if their values satisfy the constraint ([`super::trial`]).

use sqluice_core::schema::Table;
use sqluice_core::schema::token::{Token, TokenKind, checks, tokens};

use crate::parse::{Comparison, Literal};

/// The known bounds of a column's values.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// All allowed values, if the CHECKs list them.
    pub(super) one_of: Option<Vec<Literal>>,
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
    /// The minimum length in characters, if a CHECK sets one.
    pub(super) length_min: Option<i64>,
    pub(super) length_max: Option<i64>,
    /// For each LIKE or GLOB pattern, a `template(...)` whose texts match the pattern, and a variant with the row number in place of the
    /// first `%` or `*`; `None` if the pattern has neither.
    pub(super) patterns: Vec<(String, Option<String>)>,
    pub(super) json: bool,
}

/// The lower or the upper end of the range of a column's values.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) end: End,
    /// `true` if the end itself is not allowed.
    pub(super) open: bool,
}

#[derive(Clone, Debug)]
pub(super) enum End {
    Value(Literal),
    /// The value of another column of the same row. The table declares that column earlier.
    Column(String),
}

/// Returns the bounds of each column from the CHECKs of a table.
pub(super) fn bounds(table: &Table) -> Vec<Bounds> {
    let mut bounds = vec![Bounds::default(); table.columns.len()];
    for sql in checks(&table.sql) {
        let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        Reader { table, sql, bounds: &mut bounds }.all(&tokens);
    }
    bounds
}

struct Reader<'a> {
    table: &'a Table,
    sql: &'a str,
    bounds: &'a mut [Bounds],
}

/// One side of a comparison.
#[derive(Clone, Debug)]
enum Operand {
    Column(usize),
    Length(usize),
    Abs(usize),
    JsonValid(usize),
    Value(Literal),
}

impl Reader<'_> {
    fn is_word(&self, token: &Token, word: &str) -> bool {
        token.is_word(self.sql, word)
    }

    /// Splits tokens at a word outside of parentheses. The AND of a BETWEEN does not split.
    fn split<'t>(&self, tokens: &'t [Token], word: &str) -> Vec<&'t [Token]> {
        let (mut depth, mut between, mut start) = (0, false, 0);
        let mut parts = Vec::new();
        for (index, token) in tokens.iter().enumerate() {
            if token.is_symbol(self.sql, "(") {
                depth += 1;
            } else if token.is_symbol(self.sql, ")") {
                depth -= 1;
            } else if depth == 0 && self.is_word(token, "BETWEEN") {
                between = true;
            } else if depth == 0 && self.is_word(token, word) {
                if between && word == "AND" {
                    between = false;
                    continue;
                }
                parts.push(&tokens[start..index]);
                start = index + 1;
            }
        }
        parts.push(&tokens[start..]);
        parts
    }

    /// Strips parentheses that enclose the whole condition.
    fn bare<'t>(&self, mut tokens: &'t [Token]) -> &'t [Token] {
        while let [first, inner @ .., last] = tokens
            && first.is_symbol(self.sql, "(")
            && last.is_symbol(self.sql, ")")
        {
            let mut depth = 0;
            let closes = |token: &Token| {
                depth +=
                    i32::from(token.is_symbol(self.sql, "(")) - i32::from(token.is_symbol(self.sql, ")"));
                depth < 0
            };
            if inner.iter().any(closes) {
                break;
            }
            tokens = inner;
        }
        tokens
    }

    fn all(&mut self, tokens: &[Token]) {
        let tokens = self.bare(tokens);
        let either = self.split(tokens, "OR");
        if either.len() > 1 {
            return self.any(&either);
        }
        let parts = self.split(tokens, "AND");
        if parts.len() > 1 {
            return parts.into_iter().for_each(|part| self.all(part));
        }
        self.one(tokens);
    }

    /// Reads conditions joined by OR: a list of values, or one condition and `IS NULL`.
    fn any(&mut self, parts: &[&[Token]]) {
        let is_null = |part: &&&[Token]| {
            let [.., is, null] = self.bare(part) else { return false };
            self.is_word(is, "IS") && self.is_word(null, "NULL")
        };
        let rest: Vec<&[Token]> = parts.iter().filter(|part| !is_null(part)).copied().collect();
        if let [only] = rest[..] {
            return self.all(only);
        }
        let mut all = vec![Bounds::default(); self.bounds.len()];
        let mut values: Option<(usize, Vec<Literal>)> = None;
        for part in rest {
            all.fill(Bounds::default());
            Reader { bounds: &mut all, ..*self }.all(part);
            let Some((column, found)) =
                all.iter().enumerate().find_map(|(column, bounds)| Some((column, bounds.one_of.clone()?)))
            else {
                return;
            };
            match &mut values {
                None => values = Some((column, found)),
                Some((same, values)) if *same == column => values.extend(found),
                Some(_) => return,
            }
        }
        if let Some((column, values)) = values {
            self.restrict(column, values);
        }
    }

    /// Restricts a column to `values`. If the column already has a list, only the values in both lists remain.
    fn restrict(&mut self, column: usize, values: Vec<Literal>) {
        let one_of = &mut self.bounds[column].one_of;
        *one_of = Some(match one_of.take() {
            Some(before) => before.into_iter().filter(|value| values.contains(value)).collect(),
            None => values,
        });
    }

    /// Reads a condition without AND and OR.
    fn one(&mut self, tokens: &[Token]) {
        let Some((left, rest)) = self.operand(tokens) else { return };
        let [first, after @ ..] = rest else {
            if let Operand::JsonValid(column) = left {
                self.bounds[column].json = true;
            }
            return;
        };
        if self.is_word(first, "IN") {
            let values = self.split_commas(self.bare(after)).into_iter().map(|item| self.operand(item));
            let literal = |item: Option<(Operand, &[Token])>| match item {
                Some((Operand::Value(literal), [])) => Some(literal),
                _ => None,
            };
            let values: Option<Vec<Literal>> = values.map(literal).collect();
            match (left, values) {
                (Operand::Column(column), Some(values)) => self.restrict(column, values),
                (Operand::Length(column), Some(values)) => {
                    if let Some(length) = values.into_iter().next() {
                        self.compare(&Operand::Length(column), Comparison::Equal, &Operand::Value(length));
                    }
                }
                _ => {}
            }
        } else if self.is_word(first, "BETWEEN") {
            let parts = self.split(after, "AND");
            if let [low, high] = parts[..]
                && let (Some((low, [])), Some((high, []))) = (self.operand(low), self.operand(high))
            {
                self.compare(&left, Comparison::GreaterOrEqual, &low);
                self.compare(&left, Comparison::LessOrEqual, &high);
            }
        } else if self.is_word(first, "LIKE") || self.is_word(first, "GLOB") {
            let like = self.is_word(first, "LIKE");
            if let (Operand::Column(column), Some((Operand::Value(Literal::Text(pattern)), []))) =
                (left, self.operand(after))
            {
                self.bounds[column].patterns.extend(if like { of_like(&pattern) } else { of_glob(&pattern) });
            }
        } else {
            let text = &self.sql[first.at.start..];
            let Some((symbol, comparison)) =
                Comparison::ALL.into_iter().find(|(symbol, _)| text.starts_with(symbol))
            else {
                return;
            };
            if let Some((right, [])) = rest.get(symbol.len()..).and_then(|rest| self.operand(rest)) {
                self.compare(&left, comparison, &right);
                self.compare(&right, mirrored(comparison), &left);
            }
        }
    }

    fn split_commas<'t>(&self, tokens: &'t [Token]) -> Vec<&'t [Token]> {
        tokens.split(|token| token.is_symbol(self.sql, ",")).collect()
    }

    /// Parses an operand, and returns it with the rest of the tokens. Returns `None` if the tokens begin with anything else than a literal,
    /// a column, or a known function of a column.
    fn operand<'t>(&self, tokens: &'t [Token]) -> Option<(Operand, &'t [Token])> {
        let (first, rest) = tokens.split_first()?;
        let sql = self.sql;
        let sign = if first.is_symbol(sql, "-") { -1.0 } else { 1.0 };
        if first.is_symbol(sql, "-") || first.is_symbol(sql, "+") {
            let (operand, rest) = self.operand(rest)?;
            return match operand {
                Operand::Value(Literal::Int(int)) => Some((
                    Operand::Value(Literal::Int(if sign < 0.0 { int.checked_neg()? } else { int })),
                    rest,
                )),
                Operand::Value(Literal::Real(real)) => {
                    Some((Operand::Value(Literal::Real(sign * real)), rest))
                }
                _ => None,
            };
        }
        if first.is_symbol(sql, "(") {
            let (operand, rest) = self.operand(rest)?;
            let (close, rest) = rest.split_first()?;
            return close.is_symbol(sql, ")").then_some((operand, rest));
        }
        match first.kind {
            TokenKind::Number => {
                let text = first.text(sql);
                let literal = match text.parse() {
                    Ok(int) => Literal::Int(int),
                    Err(_) => Literal::Real(text.parse().ok()?),
                };
                Some((Operand::Value(literal), rest))
            }
            TokenKind::String if first.text(sql).starts_with('\'') => {
                Some((Operand::Value(Literal::Text(first.name(sql)?)), rest))
            }
            TokenKind::Word if rest.first().is_some_and(|open| open.is_symbol(sql, "(")) => {
                let (inner, rest) = self.operand(&rest[1..])?;
                let (close, rest) = rest.split_first()?;
                if !close.is_symbol(sql, ")") {
                    return None;
                }
                let function = first.text(sql).to_ascii_lowercase();
                match (&function[..], inner) {
                    ("length", Operand::Column(column)) => Some((Operand::Length(column), rest)),
                    ("abs", Operand::Column(column)) => Some((Operand::Abs(column), rest)),
                    ("json_valid", Operand::Column(column)) => Some((Operand::JsonValid(column), rest)),
                    ("trim" | "rtrim" | "ltrim", inner @ Operand::Column(_)) => Some((inner, rest)),
                    _ => None,
                }
            }
            TokenKind::Word | TokenKind::QuotedName => match self.table.column(&first.name(sql)?) {
                Some(column) => Some((Operand::Column(column), rest)),
                // SQLite reads "x" as a text if no column has this name.
                None if first.text(sql).starts_with('"') => {
                    Some((Operand::Value(Literal::Text(first.name(sql)?)), rest))
                }
                None => None,
            },
            _ => None,
        }
    }

    /// Records the bound that a comparison sets for its left side.
    fn compare(&mut self, left: &Operand, comparison: Comparison, right: &Operand) {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let int = match right {
            Operand::Value(Literal::Int(int)) => Some(*int),
            _ => None,
        };
        match (left, right) {
            (Operand::Column(column), Operand::Value(value)) => {
                let bound = |open| Some(Bound { end: End::Value(value.clone()), open });
                let bounds = &mut self.bounds[*column];
                match (comparison, value) {
                    (Equal, _) => self.restrict(*column, vec![value.clone()]),
                    (Less, _) => bounds.high = bound(true),
                    (LessOrEqual, _) => bounds.high = bound(false),
                    (Greater, _) => bounds.low = bound(true),
                    (GreaterOrEqual, _) => bounds.low = bound(false),
                    (NotEqual, Literal::Text(text)) if text.is_empty() => {
                        bounds.length_min = bounds.length_min.max(Some(1));
                    }
                    (NotEqual, _) if bounds.low.is_none() => bounds.low = bound(true),
                    (NotEqual, _) => {}
                }
            }
            (Operand::Column(column), Operand::Column(other)) if other < column => {
                let end = End::Column(self.table.columns[*other].name.clone());
                let bounds = &mut self.bounds[*column];
                let bound = |open| Some(Bound { end: end.clone(), open });
                match comparison {
                    Less => bounds.high = bound(true),
                    LessOrEqual => bounds.high = bound(false),
                    Greater | NotEqual => bounds.low = bound(true),
                    GreaterOrEqual => bounds.low = bound(false),
                    Equal => (bounds.low, bounds.high) = (bound(false), bound(false)),
                }
            }
            (Operand::Length(column), _) => {
                let (bounds, Some(length)) = (&mut self.bounds[*column], int) else { return };
                match comparison {
                    Equal => (bounds.length_min, bounds.length_max) = (Some(length), Some(length)),
                    Less => bounds.length_max = Some(length - 1),
                    LessOrEqual => bounds.length_max = Some(length),
                    Greater | NotEqual => bounds.length_min = Some(length.saturating_add(1)),
                    GreaterOrEqual => bounds.length_min = Some(length),
                }
            }
            (Operand::Abs(column), _) => {
                let (bounds, Some(most)) = (&mut self.bounds[*column], int) else { return };
                let open = comparison == Less;
                if open || comparison == LessOrEqual {
                    bounds.high = Some(Bound { end: End::Value(Literal::Int(most)), open });
                    bounds.low = Some(Bound { end: End::Value(Literal::Int(-most)), open });
                }
            }
            _ => {}
        }
    }
}

/// Returns the comparison that is true for exchanged sides: for `<`, returns `>`.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Escapes a literal character of a template.
fn escaped(letter: char) -> String {
    match letter {
        '{' => "{{".to_owned(),
        '}' => "}}".to_owned(),
        '\'' => "''".to_owned(),
        _ => letter.to_string(),
    }
}

/// Returns the `template(...)` of a pattern's parts, and a variant with the row number in place of the first `ANY` part; `None` without
/// `ANY`.
fn template(parts: Vec<String>) -> (String, Option<String>) {
    const ANY: &str = "{word()}";
    let numbered = parts.iter().position(|part| part == ANY).map(|any| {
        let mut parts = parts.clone();
        "{row()}".clone_into(&mut parts[any]);
        format!("template('{}')", parts.concat())
    });
    (format!("template('{}')", parts.concat()), numbered)
}

fn of_like(pattern: &str) -> Option<(String, Option<String>)> {
    let part = |letter| match letter {
        '%' => "{word()}".to_owned(),
        '_' => "{hex(1)}".to_owned(),
        other => escaped(other),
    };
    Some(template(pattern.chars().map(part).collect()))
}

fn of_glob(pattern: &str) -> Option<(String, Option<String>)> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        parts.push(match letter {
            '*' => "{word()}".to_owned(),
            '?' => "{hex(1)}".to_owned(),
            '[' => {
                length = rest.find(']')? + 1;
                match &rest[1..length - 1] {
                    "0-9" => "{digits(1)}".to_owned(),
                    "0-9a-f" | "a-f0-9" | "a-z0-9" | "0-9a-z" => "{hex(1)}".to_owned(),
                    "a-z" | "A-Za-z" | "a-zA-Z" => "{left(word(), 1)}".to_owned(),
                    "A-Z" => "{upper(left(word(), 1))}".to_owned(),
                    _ => return None,
                }
            }
            other => escaped(other),
        });
        rest = &rest[length..];
    }
    Some(template(parts))
}
