//! The functions of the generator language, and what it takes to be one.
//!
//! A function is a line in [`FUNCTIONS`], which says how it is called and makes a [`Generate`] of its arguments, and the
//! `Generate` itself, which fills vectors. To add one: write both in the file of its kind, and list it here. Everything else
//! (error messages, documentation, estimates) follows from what is written there.
//!
//! Invariant: a generator gives a row the same value whatever other rows it is asked for.
//!
//! On bias: an outcome's probability is off by less than 2^-32 where there are up to [`SMALL`] outcomes, and by less
//! than 2^-63 where there are more.

mod choice;
mod dates;
mod numbers;
mod strings;

use std::fmt;
use std::sync::Arc;

use super::Fault;
use super::parse::{Argument, Expr, Literal, Node};
use super::random::Key;
use super::vector::{Rows, Vector};

/// Up to so many outcomes are drawn with 32 random bits, more with 64.
const SMALL: u64 = 1024;

/// Bytes that a text or a blob may have: what is made at a time has to fit in memory.
const LENGTH_MAX: i64 = 1 << 24;

/// All functions, in the order in which they are explained.
pub const FUNCTIONS: &[Function] = &[
    numbers::ROW,
    numbers::INT,
    numbers::REAL,
    strings::DIGITS,
    strings::TEXT,
    strings::BLOB,
    dates::DATE,
    dates::TIMESTAMP,
    choice::CHOICE,
    choice::NULL,
];

/// A function of the generator language.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// How it is called.
    pub signature: &'static str,
    /// What it gives, in a sentence.
    pub about: &'static str,
    /// A call.
    pub example: &'static str,
    build: fn(&Arguments<'_>) -> Result<Arc<dyn Generate>, Fault>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.signature)
    }
}

/// Makes values of one column.
pub(crate) trait Generate: fmt::Debug + Send + Sync {
    /// Makes the values of `rows`.
    fn fill(&self, key: Key, rows: Rows, out: &mut Vector);

    /// How large the values are.
    fn size(&self) -> Size;

    /// Whether a value may be NULL.
    fn nullable(&self) -> bool {
        false
    }

    /// Whether row 0 gets 1, row 1 gets 2 and so on.
    fn counts_rows(&self) -> bool {
        false
    }
}

/// Bytes of a value: what plans are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// In a record, roughly, on average.
    pub(crate) mean: u64,
    /// In memory, at most.
    pub(crate) max: u64,
}

/// Makes the generator that an expression describes.
pub(crate) fn compile(expr: &Expr) -> Result<Arc<dyn Generate>, Fault> {
    match &expr.node {
        Node::Literal(literal) => Ok(choice::constant(literal)),
        Node::Call { name, arguments } => {
            match FUNCTIONS.iter().find(|it| it.name.eq_ignore_ascii_case(name)) {
                Some(function) => (function.build)(&Arguments { function, arguments, at: expr.at.start }),
                None => Err(unknown(name, expr.at.start)),
            }
        }
    }
}

fn unknown(name: &str, at: usize) -> Fault {
    let lower = name.to_ascii_lowercase();
    let nearest =
        FUNCTIONS.iter().map(|function| (distance(&lower, function.name), function)).min_by_key(|it| it.0);
    let all = FUNCTIONS.iter().map(|function| function.signature).collect::<Vec<_>>().join(", ");
    let hint = match nearest {
        Some((far, function)) if far <= 2.max(lower.len() / 3) => {
            format!("did you mean {}? There are: {all}", function.signature)
        }
        _ => format!("there are: {all}"),
    };
    Fault::new(at, format!("no function is called `{name}`")).hint(hint)
}

/// How many letters have to be changed, added or taken away (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The arguments of a call, for the function that is to make sense of them.
pub(crate) struct Arguments<'a> {
    function: &'a Function,
    arguments: &'a [Argument],
    at: usize,
}

impl<'a> Arguments<'a> {
    /// A complaint about the place `at`, with how the function is to be called.
    fn fault(&self, at: usize, message: impl fmt::Display) -> Fault {
        let Function { name, signature, about, example, .. } = self.function;
        Fault::new(at, format!("{name}: {message}"))
            .hint(format!("{signature}: {about}, for example {example}"))
    }

    /// There are exactly `count`, none weighted.
    fn count(&self, count: usize) -> Result<(), Fault> {
        if self.arguments.len() != count {
            let s = if count == 1 { "" } else { "s" };
            let got = match self.arguments.len() {
                0 => "none".to_owned(),
                given => given.to_string(),
            };
            return Err(self.fault(self.at, format!("takes {count} argument{s}, and got {got}")));
        }
        match self.arguments.iter().find_map(|argument| argument.weight.as_ref()) {
            Some(weight) => Err(self.fault(weight.at, "takes no weights, only choice does")),
            None => Ok(()),
        }
    }

    fn expr(&self, index: usize) -> &'a Expr {
        &self.arguments[index].value
    }

    /// Where argument `index` begins.
    fn place(&self, index: usize) -> usize {
        self.expr(index).at.start
    }

    fn wrong(&self, index: usize, expected: &str) -> Fault {
        let expr = self.expr(index);
        self.fault(expr.at.start, format!("argument {} is {expected}, not {expr}", index + 1))
    }

    /// Argument `index`, an integer.
    fn int(&self, index: usize) -> Result<i64, Fault> {
        match self.expr(index).node {
            Node::Literal(Literal::Int(int)) => Ok(int),
            _ => Err(self.wrong(index, "a whole number")),
        }
    }

    /// Argument `index`, any number.
    fn real(&self, index: usize) -> Result<f64, Fault> {
        match self.expr(index).node {
            Node::Literal(Literal::Int(int)) => Ok(int as f64),
            Node::Literal(Literal::Real(real)) => Ok(real),
            _ => Err(self.wrong(index, "a number")),
        }
    }

    /// Argument `index`, an integer from `low` to `high`.
    fn int_within(&self, index: usize, low: i64, high: i64) -> Result<i64, Fault> {
        let int = self.int(index)?;
        if (low..=high).contains(&int) {
            return Ok(int);
        }
        Err(self
            .fault(self.place(index), format!("argument {} is from {low} to {high}, not {int}", index + 1)))
    }

    /// Both arguments, of which the second may not be less.
    fn ordered<T: PartialOrd + fmt::Display>(&self, (low, high): (T, T)) -> Result<(T, T), Fault> {
        if low <= high {
            return Ok((low, high));
        }
        Err(self.fault(
            self.place(1),
            format!("the second argument is at least the first: {high} is below {low}"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::parse::parse;

    fn fault(text: &str) -> Fault {
        parse(text, 0).and_then(|expr| compile(&expr)).expect_err(text)
    }

    #[test]
    fn every_example_compiles_and_names_its_function() {
        for function in FUNCTIONS {
            assert!(function.example.starts_with(&format!("{}(", function.name)), "{function:?}");
            assert!(function.signature.starts_with(&format!("{}(", function.name)), "{function:?}");
            compile(&parse(function.example, 0).unwrap()).unwrap();
        }
    }

    #[test]
    fn an_unknown_function_is_told_the_nearest_name_and_all_others() {
        let fault = fault("null(0.5, integer(1, 2))");
        assert_eq!((fault.at, &fault.message[..]), (10, "no function is called `integer`"));
        let hint = unknown("digit", 0).hint.unwrap();
        assert!(hint.starts_with("did you mean digits(n)? There are: row(), int(a, b), "), "{hint}");
        let hint = unknown("lorem", 0).hint.unwrap();
        assert!(hint.starts_with("there are: row()"), "{hint}");
    }

    #[test]
    fn wrong_arguments_are_refused_where_they_stand() {
        for (text, at, message) in [
            ("row(1)", 0, "row: takes 0 arguments, and got 1"),
            ("int(1)", 0, "int: takes 2 arguments, and got 1"),
            ("int()", 0, "int: takes 2 arguments, and got none"),
            ("digits(1, 2)", 0, "digits: takes 1 argument, and got 2"),
            ("int(1, 2.5)", 7, "int: argument 2 is a whole number, not 2.5"),
            ("int('1', 2)", 4, "int: argument 1 is a whole number, not '1'"),
            ("int(int(1, 2), 2)", 4, "int: argument 1 is a whole number, not int(1, 2)"),
            ("int(2, 1)", 7, "int: the second argument is at least the first: 1 is below 2"),
            ("int(1: 3, 2)", 7, "int: takes no weights, only choice does"),
            ("real(1, NULL)", 8, "real: argument 2 is a number, not NULL"),
            ("real(0.5, 0)", 10, "real: the second argument is at least the first: 0 is below 0.5"),
            ("digits(0)", 7, "digits: argument 1 is from 1 to 1000, not 0"),
            ("digits(1e6)", 7, "digits: argument 1 is from 1 to 1000, not 1000000"),
            ("text(-1, 5)", 5, "text: argument 1 is from 0 to 16777216, not -1"),
            ("text(5, 1B)", 8, "text: argument 2 is from 0 to 16777216, not 1000000000"),
            ("blob(5, 4)", 8, "blob: the second argument is at least the first: 4 is below 5"),
            (
                "date('2023-02-29', '2024-01-01')",
                5,
                "date: argument 1 is a text of the form 'YYYY-MM-DD' from year 1 on, not '2023-02-29'",
            ),
            (
                "timestamp('2000-01-01 00:00:00', 5)",
                33,
                "timestamp: argument 2 is a text of the form 'YYYY-MM-DD hh:mm:ss' from year 1 on, not 5",
            ),
            (
                "date('2024-01-02', '2024-01-01')",
                19,
                "date: the second argument is no earlier than the first",
            ),
            ("choice()", 0, "choice: takes at least one argument"),
            ("choice(1: 0, 2: 0)", 0, "choice: at least one weight is above 0"),
            ("choice(1: 1e300, 2: 1e308, 3: 1e308)", 0, "choice: the weights are too large"),
            ("null(1.5, 1)", 5, "null: argument 1 is from 0 to 1, not 1.5"),
            ("null(-0.1, 1)", 5, "null: argument 1 is from 0 to 1, not -0.1"),
            ("null(0.5)", 0, "null: takes 2 arguments, and got 1"),
            ("choice(1, null(0.5, in(1, 2)))", 20, "no function is called `in`"),
        ] {
            let fault = fault(text);
            assert_eq!((fault.at, &fault.message[..]), (at, message), "{text}");
            assert!(fault.hint.is_some(), "{text}");
        }
    }

    #[test]
    fn the_distance_of_names_counts_changes() {
        for (a, b, expected) in
            [("int", "int", 0), ("", "abc", 3), ("digt", "digits", 2), ("tnull", "null", 1)]
        {
            assert_eq!(distance(a, b), expected);
        }
    }
}
