//! The functions of the generator language, and their common interface.
//!
//! A function is an entry of [`FUNCTIONS`], which has the signature and builds a [`Generate`] from the arguments, and the
//! `Generate` itself, which fills vectors. To add a function, write both in the file of its kind, and list the function here. Error
//! messages, documentation and estimates follow from the entry.
//!
//! Invariant: a row's value does not depend on which other rows are generated with it.
//!
//! Bias: the error of an outcome's probability is less than 2^-32 for up to [`SMALL`] outcomes, and less
//! than 2^-63 for more outcomes.

mod adapt;
mod bounds;
mod calendar;
mod case;
mod choice;
mod compose;
mod dates;
mod distributions;
mod grouped;
mod keys;
mod moments;
mod numbers;
mod operators;
mod patterns;
mod phrases;
mod quantiles;
mod ranks;
mod references;
mod spread;
mod sql;
mod strings;
mod tree;
mod uuid;
mod words;

use std::fmt;
use std::sync::Arc;

use sqluice_core::error::Error;
use sqluice_core::similar;

use super::Fault;
use super::generator::{Generate, Scope, Size};
use super::names::{Context, Names};
use super::parse::{Argument, Expr, ExprNode, Literal};
use super::vector::{RowRange, Vector};
pub use calendar::{moment_of_text, moment_text};
pub(crate) use calendar::{shifted, shifted_day};
pub(crate) use keys::group_of;
pub(crate) use moments::{Form, literal as moment, seconds};
pub use quantiles::POOL_INTS_MAX;
pub use words::is_first_name;

/// The maximum number of outcomes that are drawn with 32 random bits; more outcomes take 64.
const SMALL: u64 = 1024;

/// The maximum length of a text or a blob, so that the values of a batch fit in memory.
const LENGTH_MAX: i64 = 1 << 24;

/// All functions, in the order of the documentation.
pub const FUNCTIONS: &[Function] = &[
    numbers::ROW,
    numbers::INT,
    numbers::REAL,
    numbers::DECIMAL,
    distributions::NORMAL,
    distributions::EXPONENTIAL,
    distributions::ZIPF,
    quantiles::QUANTILES,
    quantiles::INT_QUANTILES,
    quantiles::KEYS,
    adapt::GROWN,
    strings::DIGITS,
    strings::HEX,
    strings::TEXT,
    strings::BLOB,
    patterns::PATTERN,
    patterns::PROSE,
    patterns::NUMBERED,
    uuid::UUID4,
    uuid::UUID7,
    dates::DATE,
    dates::TIMESTAMP,
    adapt::ISO,
    moments::AFTER,
    moments::LATEST,
    quantiles::LATER,
    phrases::FIRST_NAME,
    phrases::LAST_NAME,
    phrases::NAME,
    phrases::USERNAME,
    phrases::EMAIL,
    phrases::PHONE,
    phrases::COMPANY,
    phrases::JOB,
    phrases::PRODUCT,
    phrases::STREET,
    phrases::CITY,
    phrases::STATE,
    phrases::COUNTRY,
    phrases::COUNTRY_CODE,
    phrases::ADDRESS,
    phrases::DOMAIN,
    phrases::URL,
    adapt::SIZED,
    phrases::IP,
    phrases::MAC,
    phrases::WORD,
    phrases::WORDS,
    phrases::TITLE,
    phrases::SENTENCE,
    phrases::PARAGRAPH,
    choice::CHOICE,
    choice::NULL,
    spread::SHARES,
    spread::NULLS,
    spread::POOL,
    case::CASE,
    keys::PERMUTATION,
    keys::DISTINCT,
    keys::ASCENDING,
    references::REF,
    grouped::ORDINAL,
    grouped::WITHIN,
    compose::TEMPLATE,
    compose::JSON,
    operators::LOWER,
    operators::UPPER,
    operators::LEFT,
    operators::ROUND,
    sql::SQL,
];

/// The functions that only masks have, in the order of the documentation.
pub const MASK_FUNCTIONS: &[MaskFunction] = &[
    MaskFunction {
        name: "shape",
        signature: "shape()",
        about: "the old value with other letters and digits: case, length and everything else stay, and different values stay different",
        example: "shape()",
    },
    MaskFunction {
        name: "permute",
        signature: "permute(a, b)",
        about: "another integer from a to b, or, without a and b, one of the same sign and on the same side of 2^31; different integers stay different",
        example: "permute(1, 999_999)",
    },
    MaskFunction {
        name: "noise",
        signature: "noise(share)",
        about: "a number that differs from the old one by at most that share of it, with as many decimal places",
        example: "noise(0.1)",
    },
    MaskFunction {
        name: "shift",
        signature: "shift(days, column)",
        about: "a date or time, moved by at most that many days; all dates and times of a person, whom a column of the row names, move by the same time; 0 and -1 stay, other numbers that are not dates or times are refused",
        example: "shift(30, customer)",
    },
    MaskFunction {
        name: "keep",
        signature: "keep()",
        about: "the old value: the column is known, and needs no mask",
        example: "keep()",
    },
];

/// A function that computes a value from an old value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MaskFunction {
    /// The name of the function.
    pub name: &'static str,
    /// The signature, with the arguments' names.
    pub signature: &'static str,
    /// A description of the result.
    pub about: &'static str,
    /// An example of a call.
    pub example: &'static str,
}

/// A function of the generator language.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Function {
    /// The name of the function.
    pub name: &'static str,
    /// The signature, with the arguments' names.
    pub signature: &'static str,
    /// A description of the result, in a sentence.
    pub about: &'static str,
    /// An example of a call. The names in it are declared in [`Function::EXAMPLE_SCHEMA`].
    pub example: &'static str,
    build: fn(&Arguments<'_>) -> Result<Arc<dyn Generate>, Fault>,
}

impl Function {
    /// The schema for the examples: an example replaces `{}`, the comment of the last table's column `example`.
    pub const EXAMPLE_SCHEMA: &str = "CREATE TABLE customer (
  id      INTEGER PRIMARY KEY,
  first   TEXT, -- gen: first_name()
  last    TEXT, -- gen: last_name()
  joined  TEXT  -- gen: date('2010-01-01', '2019-12-31')
);
CREATE TABLE orders (
  id       INTEGER PRIMARY KEY,
  customer INTEGER REFERENCES customer, -- gen: ref(customer.id, rows(0: 1, 1: 4, 3: 2))
  status   TEXT,                        -- gen: choice('new', 'paid', 'sent')
  price    REAL,                        -- gen: decimal(1, 100, 2)
  example                               -- gen: {}
);";
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.signature)
    }
}

/// Builds the generator of an expression that names no column.
pub(crate) fn compile(expr: &Expr) -> Result<Arc<dyn Generate>, Fault> {
    compile_in(expr, Context { names: &Names::none(compile_in), table: 0, column: 0 })
}

/// Builds the generator of an expression.
pub(crate) fn compile_in(expr: &Expr, context: Context<'_>) -> Result<Arc<dyn Generate>, Fault> {
    match &expr.node {
        ExprNode::Literal(literal) => Ok(choice::constant(literal)),
        ExprNode::Call { name, arguments } => {
            match FUNCTIONS.iter().find(|it| it.name.eq_ignore_ascii_case(name)) {
                Some(function) => (function.build)(&Arguments { function, arguments, expr, context }),
                None => Err(unknown(name, expr.at.start)),
            }
        }
        ExprNode::Column { of, name } => references::column(of.as_deref(), name, expr.at.start, context),
        ExprNode::Binary { operator, left, right } => operators::binary(*operator, left, right, context),
        ExprNode::Case { branches, otherwise } => case::build(branches, otherwise.as_deref(), context),
        ExprNode::Object(_) | ExprNode::Array(_) => {
            Err(Fault::new(expr.at.start, format!("{expr} is not a value that SQLite can store"))
                .hint("json() makes a text of it: json({'a': 1})"))
        }
    }
}

/// Generates the values of several generators for the same rows.
fn fill_all(parts: &[Arc<dyn Generate>], at: Scope<'_>, rows: RowRange) -> Result<Vec<Vector>, Error> {
    let fill = |(index, part): (usize, &Arc<dyn Generate>)| {
        let mut vector = Vector::default();
        part.fill(at.child(index as u64), rows, &mut vector)?;
        Ok(vector)
    };
    parts.iter().enumerate().map(fill).collect()
}

/// Returns the size of a value that is composed of these values: the sum of their sizes.
fn size_of_all(parts: &[Arc<dyn Generate>]) -> Size {
    let sizes = parts.iter().map(|part| part.size());
    Size { mean: sizes.clone().map(|size| size.mean).sum(), max: sizes.map(|size| size.max).sum() }
}

fn unknown(name: &str, at: usize) -> Fault {
    if let Some(mask) = MASK_FUNCTIONS.iter().find(|mask| mask.name.eq_ignore_ascii_case(name)) {
        return Fault::new(
            at,
            format!("{} is a function for masks, and must be the whole expression of a masked column", mask.name),
        )
        .hint("write it alone in a mask; a generated table needs another function, because it has no old values");
    }
    let all = FUNCTIONS.iter().map(|function| function.name);
    let lower = name.to_ascii_lowercase();
    let hint = match similar::nearest(&lower, all.clone()) {
        Some(near) => {
            let signature = FUNCTIONS.iter().find(|function| function.name == near).map(|it| it.signature);
            format!(
                "did you mean {}? There are: {}",
                signature.unwrap_or(near),
                all.collect::<Vec<_>>().join(", ")
            )
        }
        None => format!("choose one of: {}", all.collect::<Vec<_>>().join(", ")),
    };
    Fault::new(at, format!("no function is called `{name}`")).hint(hint)
}

/// The arguments of a call, from which the function builds a generator.
pub(crate) struct Arguments<'a> {
    function: &'a Function,
    arguments: &'a [Argument],
    /// The whole call.
    expr: &'a Expr,
    context: Context<'a>,
}

impl<'a> Arguments<'a> {
    /// Returns an error at the position `at`, with the signature and an example as a hint.
    fn fault(&self, at: usize, message: impl fmt::Display) -> Fault {
        let Function { name, signature, about, example, .. } = self.function;
        Fault::new(at, format!("{name}: {message}"))
            .hint(format!("{signature}: {about}, for example {example}"))
    }

    /// Checks that the call has exactly `count` arguments, without weights.
    fn count(&self, count: usize) -> Result<(), Fault> {
        self.count_within(count, count)
    }

    /// Checks that the call has from `least` to `most` arguments, without weights.
    fn count_within(&self, least: usize, most: usize) -> Result<(), Fault> {
        if !(least..=most).contains(&self.arguments.len()) {
            let s = if most == 1 { "" } else { "s" };
            let got = match self.arguments.len() {
                0 => "none".to_owned(),
                given => given.to_string(),
            };
            let takes = if least == most { most.to_string() } else { format!("{least} to {most}") };
            return Err(self.fault(self.at(), format!("takes {takes} argument{s}, and got {got}")));
        }
        match self.arguments.iter().find_map(|argument| argument.weight.as_ref()) {
            Some(weight) => Err(self.fault(weight.at, "takes no weights")),
            None => Ok(()),
        }
    }

    /// Returns the position of the call.
    fn at(&self) -> usize {
        self.expr.at.start
    }

    /// Returns `true` if the value of argument `index` differs from row to row, because it depends on columns.
    fn varies(&self, index: usize) -> bool {
        match &self.expr(index).node {
            ExprNode::Column { .. } | ExprNode::Binary { .. } => true,
            ExprNode::Call { name, .. } => [sql::SQL, moments::AFTER, moments::LATEST]
                .iter()
                .any(|function| name.eq_ignore_ascii_case(function.name)),
            _ => false,
        }
    }

    /// Builds the generator of argument `index`.
    fn compile(&self, index: usize) -> Result<Arc<dyn Generate>, Fault> {
        compile_in(self.expr(index), self.context)
    }

    fn expr(&self, index: usize) -> &'a Expr {
        &self.arguments[index].value
    }

    /// Returns the position of argument `index`.
    fn place(&self, index: usize) -> usize {
        self.expr(index).at.start
    }

    fn wrong(&self, index: usize, expected: &str) -> Fault {
        let expr = self.expr(index);
        self.fault(expr.at.start, format!("argument {} must be {expected}, not {expr}", index + 1))
    }

    /// Returns argument `index`, an integer.
    fn int(&self, index: usize) -> Result<i64, Fault> {
        match self.expr(index).node {
            ExprNode::Literal(Literal::Int(int)) => Ok(int),
            _ => Err(self.wrong(index, "a whole number")),
        }
    }

    /// Returns argument `index`, any number.
    fn real(&self, index: usize) -> Result<f64, Fault> {
        match self.expr(index).node {
            ExprNode::Literal(Literal::Int(int)) => Ok(int as f64),
            ExprNode::Literal(Literal::Real(real)) => Ok(real),
            _ => Err(self.wrong(index, "a number")),
        }
    }

    /// Returns argument `index`, an integer from `low` to `high`.
    fn int_within(&self, index: usize, low: i64, high: i64) -> Result<i64, Fault> {
        let int = self.int(index)?;
        if (low..=high).contains(&int) {
            return Ok(int);
        }
        Err(self.fault(
            self.place(index),
            format!("argument {} must be from {low} to {high}, not {int}", index + 1),
        ))
    }

    /// Returns argument `index`, a text literal.
    fn text(&self, index: usize) -> Result<&'a str, Fault> {
        match &self.expr(index).node {
            ExprNode::Literal(Literal::Text(text)) => Ok(text),
            _ => Err(self.wrong(index, "a text in quotes")),
        }
    }

    /// Returns argument `index`, a number above 0.
    fn positive(&self, index: usize) -> Result<f64, Fault> {
        let real = self.real(index)?;
        if real > 0.0 { Ok(real) } else { Err(self.wrong(index, "a number above 0")) }
    }

    /// Returns both arguments, after checking that the first is not above the second.
    fn ordered<T: PartialOrd + fmt::Display>(&self, (low, high): (T, T)) -> Result<(T, T), Fault> {
        if low <= high {
            return Ok((low, high));
        }
        Err(self.fault(
            self.place(1),
            format!("the second argument must be at least the first: {high} is below {low}"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn fault(text: &str) -> Fault {
        parse(text, 0).and_then(|expr| compile(&expr)).expect_err(text)
    }

    #[test]
    fn every_example_names_its_function() {
        for function in FUNCTIONS {
            assert!(function.example.starts_with(&format!("{}(", function.name)), "{function:?}");
            assert!(function.signature.starts_with(&format!("{}(", function.name)), "{function:?}");
            parse(function.example, 0).unwrap();
        }
    }

    #[test]
    fn an_unknown_function_is_refused_with_the_nearest_name_and_the_names_of_all_functions() {
        let fault = fault("null(0.5, integer(1, 2))");
        assert_eq!((fault.at, &fault.message[..]), (10, "no function is called `integer`"));
        let hint = unknown("digit", 0).hint.unwrap();
        assert!(hint.starts_with("did you mean digits(n)? There are: row, int, "), "{hint}");
        let hint = unknown("incomprehensible", 0).hint.unwrap();
        assert!(hint.starts_with("choose one of: row, int, "), "{hint}");
    }

    #[test]
    fn wrong_arguments_are_refused_with_their_position() {
        for (text, at, message) in [
            ("row(1)", 0, "row: takes 0 arguments, and got 1"),
            ("int(1)", 0, "int: takes 2 arguments, and got 1"),
            ("int()", 0, "int: takes 2 arguments, and got none"),
            ("digits(1, 2)", 0, "digits: takes 1 argument, and got 2"),
            ("int(1, 2.5)", 7, "int: argument 2 must be a whole number, not 2.5"),
            ("int('1', 2)", 4, "int: argument 1 must be a whole number, not '1'"),
            ("int(int(1, 2), 2)", 4, "int: argument 1 must be a whole number, not int(1, 2)"),
            ("int(2, 1)", 7, "int: the second argument must be at least the first: 1 is below 2"),
            ("int(1: 3, 2)", 7, "int: takes no weights"),
            ("real(1, NULL)", 8, "real: argument 2 must be a number, not NULL"),
            ("real(0.5, 0)", 10, "real: the second argument must be at least the first: 0 is below 0.5"),
            ("digits(0)", 7, "digits: argument 1 must be from 1 to 1000, not 0"),
            ("digits(1e6)", 7, "digits: argument 1 must be from 1 to 1000, not 1000000"),
            ("text(-1, 5)", 5, "text: argument 1 must be from 0 to 16777216, not -1"),
            ("text(5, 1B)", 8, "text: argument 2 must be from 0 to 16777216, not 1000000000"),
            ("blob(5, 4)", 8, "blob: the second argument must be at least the first: 4 is below 5"),
            (
                "date('2023-02-29', '2024-01-01')",
                5,
                "date: argument 1 must be a text of the form 'YYYY-MM-DD' from year 1 on, not '2023-02-29'",
            ),
            (
                "timestamp('2000-01-01 00:00:00', 5)",
                33,
                "timestamp: argument 2 must be a text of the form 'YYYY-MM-DD hh:mm:ss' from year 1 on, not 5",
            ),
            (
                "date('2024-01-02', '2024-01-01')",
                19,
                "date: the second argument must not be earlier than the first",
            ),
            ("choice()", 0, "choice: takes at least one argument"),
            ("choice(1: 0, 2: 0)", 0, "choice: at least one weight must be above 0"),
            ("choice(1: 1e300, 2: 1e308, 3: 1e308)", 0, "choice: the weights are too large"),
            ("null(1.5, 1)", 5, "null: argument 1 must be from 0 to 1, not 1.5"),
            ("null(-0.1, 1)", 5, "null: argument 1 must be from 0 to 1, not -0.1"),
            ("null(0.5)", 0, "null: takes 2 arguments, and got 1"),
            ("choice(1, null(0.5, in(1, 2)))", 20, "no function is called `in`"),
            ("choice(a, 1)", 7, "unknown column `a`"),
            (
                "distinct(text(1, 2))",
                9,
                "distinct: argument 1 must be something with a known number of values (int, decimal, digits, hex, text(n, n), blob(n, n), date, timestamp, choice of different values, names and places, ref of a key), not text(1, 2)",
            ),
            ("normal(0, 0)", 10, "normal: argument 2 must be a number above 0, not 0"),
            ("zipf(0, 1)", 5, "zipf: argument 1 must be from 1 to 9223372036854775807, not 0"),
            ("decimal(0, 1e15, 9)", 0, "decimal: more digits than a real can hold"),
            ("ref(customer.id)", 4, "no table is called `customer`"),
            ("ref(7)", 4, "ref: argument 1 must be a column, as table.column, not 7"),
            ("lower(1)", 6, "lower: argument 1 must be a text, not 1"),
            ("round('a')", 6, "round: argument 1 must be a number, not 'a'"),
            ("'a' + 1", 0, "`+` takes numbers, and 'a' is a text"),
            ("template('a{b')", 11, "template: a brace without its other half; a brace itself is {{ or }}"),
            ("template('a{nit(1, 2)}')", 12, "no function is called `nit`"),
            ("template('{blob(1, 2)}')", 10, "template: blob(1, 2) is a blob, which can't be part of a text"),
            ("json({'a': x'00'})", 11, "json: x'00' is a blob, which JSON can't hold"),
            ("{'a': 1}", 0, "{'a': 1} is not a value that SQLite can store"),
            ("sql('1 +')", 4, "sql: SQLite does not accept it: near \")\": syntax error"),
            (
                "sql('random()')",
                4,
                "sql: SQLite does not accept it: non-deterministic functions prohibited in generated columns",
            ),
            (
                "sql('(SELECT 1)')",
                4,
                "sql: SQLite does not accept it: subqueries prohibited in generated columns",
            ),
        ] {
            let fault = fault(text);
            assert_eq!((fault.at, &fault.message[..]), (at, message), "{text}");
            assert!(fault.hint.is_some(), "{text}");
        }
    }
}
