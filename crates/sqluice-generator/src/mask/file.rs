//! Mask files: a schema file whose `gen:` comments say how columns are masked.
//!
//! ```sql
//! CREATE TABLE customers (
//!   name,   -- gen: name()
//!   phone   -- gen: shape()
//! );
//! ```
//!
//! Only the tables and columns that are masked need to be declared, and columns need no types.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::batch::{Column, ROWS_MAX, Value, Values};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::schema::Schema;
use sqluice_core::schema::token::tokens;

use super::dates::{Distance, Moved, Shift};
use super::equality::Equality;
use super::key::MaskKey;
use super::{Mask, MaskSpace};
use crate::Fault;
use crate::comments::{Comment, comments};
use crate::functions::{MASK_FUNCTIONS, MaskFunction, compile};
use crate::generator::{Class, Generate, World};
use crate::parse::{Argument, Expr, ExprNode, Literal, parse};

/// The number of bits of the hash of an old value from which the number of the new value is made, if different values must stay different.
pub(super) const DISTINCT_BITS: u32 = 60;

/// The minimum number of values that a function must have so that two old values are unlikely to get the same new one.
const DISTINCT_MIN: u64 = 100_000_000_000_000_000;

/// The number of values that are drawn to estimate how many values a function has: the rows of a batch.
const DRAWN: usize = ROWS_MAX;

/// The limit for "few values": a function has few if fewer than this of the drawn values differ.
const FEW: usize = ROWS_MAX / 2;

/// The maximum number of days of a shift.
const DAYS_MAX: i64 = 36_525;

/// Functions that depend on rows or other columns, which are unknown to a mask.
const OF_ROWS: &[&str] =
    &["row", "uuid7", "permutation", "distinct", "ascending", "ref", "ordinal", "within", "sql"];

/// A mask file.
#[derive(Clone, Debug)]
pub struct MaskFile {
    schema: Arc<Schema>,
    columns: Vec<MaskColumn>,
}

/// The mask of a column.
#[derive(Clone, Debug)]
pub struct MaskColumn {
    /// The name of the table, as written.
    pub table: String,
    /// The name of the column, as written.
    pub column: String,
    at: usize,
    expression: String,
    recipe: Recipe,
}

/// The kind of a mask, parsed from its expression.
#[derive(Clone, Debug)]
pub(super) enum Recipe {
    Keep,
    Shape,
    Permute(Option<(i64, i64)>),
    Noise(f64),
    Shift {
        days: u64,
        person: Option<String>,
    },
    Made {
        generator: Arc<dyn Generate>,
        /// `true` if the expression has the argument `unique`: different old values must stay different.
        unique: bool,
        /// The column in `with(column)`, if the expression has this argument: the new value depends on this column, too.
        with: Option<String>,
    },
}

/// The degree to which a mask keeps different values different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Different values always stay different; with the argument `unique`, except for collisions of 60-bit hashes.
    Different,
    /// Different values stay different if the column is part of a key, except for collisions of 60-bit hashes.
    OnRequest,
    /// Different values may become equal.
    Nothing,
}

impl MaskFile {
    /// Reads a mask file.
    ///
    /// # Errors
    /// When the file can't be read, or a comment is malformed.
    pub fn read(file: &Path) -> Result<MaskFile> {
        MaskFile::new(Schema::read(file)?)
    }

    /// Returns the masks that a schema's comments declare.
    ///
    /// # Errors
    /// When a comment is malformed, or none exists.
    pub fn new(schema: Schema) -> Result<MaskFile> {
        let made = comments(&schema.sql)
            .and_then(|comments| comments.list.iter().map(MaskColumn::new).collect::<Result<Vec<_>, _>>());
        let columns = made.map_err(|fault| fault.in_file(&schema))?;
        if columns.is_empty() {
            return Err(Error::input("no column has a mask")
                .at(Place::file(&schema.file))
                .hint("a mask is a comment on the line of its column: -- gen: shape()"));
        }
        Ok(MaskFile { schema: Arc::new(schema), columns })
    }

    /// Returns the columns with a mask, in the order of the file.
    pub fn columns(&self) -> &[MaskColumn] {
        &self.columns
    }

    /// Returns the place of a column's mask in the mask file, for messages.
    pub fn place(&self, column: &MaskColumn) -> Place {
        Place::in_text(&self.schema.file, &self.schema.sql, column.at)
    }
}

impl MaskColumn {
    fn new(comment: &Comment<'_>) -> Result<MaskColumn, Fault> {
        refuse_rows(comment)?;
        let expr = parse(comment.text, comment.start)?;
        let recipe = Recipe::new(&expr)?;
        let (table, column) = (comment.table.clone(), comment.column.clone());
        Ok(MaskColumn { table, column, at: expr.at.start, expression: expr.to_string(), recipe })
    }

    /// Returns the expression.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Returns `true` if the mask keeps the column's values.
    pub fn is_kept(&self) -> bool {
        matches!(self.recipe, Recipe::Keep)
    }

    /// Returns the other column of the row that new values depend on: the person of `shift`, or the column in `with`. Returns `None` if new
    /// values depend on the old value alone.
    pub fn person(&self) -> Option<&str> {
        match &self.recipe {
            Recipe::Shift { person, .. } => person.as_deref(),
            Recipe::Made { with, .. } => with.as_deref(),
            _ => None,
        }
    }

    /// Returns the number of days of a shift; `None` for other masks.
    pub fn shift_days(&self) -> Option<u64> {
        match &self.recipe {
            Recipe::Shift { days, .. } => Some(*days),
            _ => None,
        }
    }

    /// Returns the share of noise; `None` for other masks.
    pub fn noise_share(&self) -> Option<f64> {
        match &self.recipe {
            Recipe::Noise(share) => Some(*share),
            _ => None,
        }
    }

    /// Returns `true` if `shift()` takes a value for a moment. A copy refuses other numbers; other texts and blobs get `shape()`.
    pub fn is_moment(value: Value<'_>) -> bool {
        Shift::moment(value, Distance { days: 1, nanos: 1 }, &mut |_| ()) == Moved::Yes
    }

    /// Returns the number of different new values if it is small: for `permute(a, b)`, and functions such as `choice('a', 'b')`.
    pub fn few_values(&self, key: &MaskKey) -> Option<u64> {
        match &self.recipe {
            Recipe::Permute(Some((first, last))) => Some(last.abs_diff(*first).saturating_add(1)),
            Recipe::Made { .. } => {
                let mask = self.mask(key, false)?;
                let old: Vec<i64> = (0..DRAWN as i64).collect();
                let mut space = MaskSpace::default();
                let equality = Equality::default();
                let column = Column::new(Values::Int(&old));
                mask.fill((&column, equality), None, DRAWN, &mut space).ok()?;
                let mixed = space.mixed_values();
                let new = space.column(&mixed);
                let different: HashSet<String> =
                    (0..DRAWN).map(|row| format!("{:?}", new.get(row))).collect();
                (different.len() < FEW).then_some(different.len() as u64)
            }
            _ => None,
        }
    }

    /// Returns the degree to which different values stay different.
    pub fn keeps(&self) -> Keeps {
        let Recipe::Made { generator, unique, .. } = &self.recipe else {
            return match self.recipe {
                Recipe::Keep | Recipe::Shape | Recipe::Permute(_) => Keeps::Different,
                _ => Keeps::Nothing,
            };
        };
        match is_wide(&**generator) || self.expression.starts_with("uuid4(") {
            true if *unique => Keeps::Different,
            true => Keeps::OnRequest,
            false => Keeps::Nothing,
        }
    }

    /// Returns `true` if a value may become NULL.
    pub fn makes_nulls(&self) -> bool {
        matches!(&self.recipe, Recipe::Made { generator, .. } if generator.nullable())
    }

    /// Returns `true` if all values become text or blobs.
    pub fn makes_strings(&self) -> bool {
        matches!(&self.recipe, Recipe::Made { generator, .. } if matches!(generator.class(), Class::Text | Class::Blob))
    }

    /// Returns the mask for a key; `None` if values are kept. `distinct` keeps different values different, if [`MaskColumn::keeps`] allows.
    pub fn mask(&self, key: &MaskKey, distinct: bool) -> Option<Mask> {
        Mask::new(&self.recipe, &self.expression, key, distinct)
    }
}

/// Returns an error if a comment calls a function that depends on more than the old value.
fn refuse_rows(comment: &Comment<'_>) -> Result<(), Fault> {
    let tokens: Vec<_> = tokens(comment.text).into_iter().filter(|token| !token.is_comment()).collect();
    for pair in tokens.windows(2).filter(|pair| pair[1].is_symbol(comment.text, "(")) {
        let is = |name: &&&str| pair[0].is_word(comment.text, name);
        if let Some(name) = OF_ROWS.iter().find(is) {
            let message =
                format!("{name}: a mask can use only the old value, no row numbers and no other columns");
            let hint = "permute() and shape() keep different values different; email(), choice() and the like depend on the old value";
            return Err(Fault::new(comment.start + pair[0].at.start, message).hint(hint));
        }
    }
    Ok(())
}

/// Returns `true` if a generator has so many values that different old values get different new values, except for hash collisions.
fn is_wide(generator: &dyn Generate) -> bool {
    let world = World::new(0, Vec::new());
    let domain = generator.domain();
    domain.is_some_and(|domain| {
        domain.is_endless() || domain.count(&world).is_ok_and(|count| count >= DISTINCT_MIN)
    })
}

impl Recipe {
    fn new(expr: &Expr) -> Result<Recipe, Fault> {
        let ExprNode::Call { name, arguments } = &expr.node else { return Recipe::made(expr, &[]) };
        let Some(function) = MASK_FUNCTIONS.iter().find(|function| function.name.eq_ignore_ascii_case(name))
        else {
            // Arguments `unique` and `with(...)` are removed: they are for the mask, the others for the function.
            let (of_mask, others): (Vec<Argument>, Vec<Argument>) = arguments
                .iter()
                .cloned()
                .partition(|argument| is_unique(&argument.value) || with_of(&argument.value).is_some());
            let node = ExprNode::Call { name: name.clone(), arguments: others };
            return Recipe::made(&Expr { at: expr.at.clone(), node }, &of_mask);
        };
        let call = Call { function, arguments, expr };
        match function.name {
            "keep" => call.takes(0..=0).map(|()| Recipe::Keep),
            "shape" => call.takes(0..=0).map(|()| Recipe::Shape),
            "permute" => call.permute(),
            "noise" => call.noise(),
            _ => call.shift(),
        }
    }

    /// Creates the recipe of a generator function. `of_mask` has the arguments `unique` and `with(...)`.
    fn made(expr: &Expr, of_mask: &[Argument]) -> Result<Recipe, Fault> {
        let generator = compile(expr)?;
        let unique = of_mask.iter().find(|argument| is_unique(&argument.value));
        if let (Some(unique), ExprNode::Call { name, .. }) = (unique, &expr.node)
            && !is_wide(&*generator)
            && !name.eq_ignore_ascii_case("uuid4")
        {
            let message = format!("unique: {name} has too few values to keep all different");
            return Err(Fault::new(unique.value.at.start, message)
                .hint("email(), name() and other functions that never run out of values take unique"));
        }
        let with =
            of_mask.iter().find_map(|argument| Some((with_of(&argument.value)?, argument.value.at.start)));
        let with = match with {
            None => None,
            Some(([Argument { value: Expr { node: ExprNode::Column { of: None, name }, .. }, .. }], _)) => {
                Some(name.clone())
            }
            Some((_, at)) => {
                return Err(Fault::new(at, "with: takes a column of the row")
                    .hint("with(column): the new value depends on that column, too, for example name(with(country))"));
            }
        };
        Ok(Recipe::Made { generator, unique: unique.is_some(), with })
    }
}

/// Returns `true` for the argument `unique`.
fn is_unique(value: &Expr) -> bool {
    matches!(&value.node, ExprNode::Column { of: None, name } if name.eq_ignore_ascii_case("unique"))
}

/// Returns the arguments if `value` is a call of `with(...)`.
fn with_of(value: &Expr) -> Option<&[Argument]> {
    match &value.node {
        ExprNode::Call { name, arguments } if name.eq_ignore_ascii_case("with") => Some(arguments),
        _ => None,
    }
}

/// A call of a function that only masks have.
struct Call<'a> {
    function: &'a MaskFunction,
    arguments: &'a [Argument],
    expr: &'a Expr,
}

impl Call<'_> {
    fn fault(&self, at: usize, message: &str) -> Fault {
        let MaskFunction { name, signature, about, example, .. } = self.function;
        Fault::new(at, format!("{name}: {message}"))
            .hint(format!("{signature}: {about}, for example {example}"))
    }

    fn takes(&self, count: std::ops::RangeInclusive<usize>) -> Result<(), Fault> {
        let given = self.arguments.len();
        if let Some(weight) = self.arguments.iter().find_map(|argument| argument.weight.as_ref()) {
            return Err(self.fault(weight.at, "takes no weights"));
        }
        if count.contains(&given) {
            return Ok(());
        }
        let takes = match (count.start(), count.end()) {
            (0, 0) => "takes no arguments".to_owned(),
            (least, most) if least == most => format!("takes {least} arguments"),
            (least, most) => format!("takes {least} to {most} arguments"),
        };
        Err(self.fault(self.expr.at.start, &format!("{takes}, and got {given}")))
    }

    fn wrong(&self, index: usize, expected: &str) -> Fault {
        let value = &self.arguments[index].value;
        self.fault(value.at.start, &format!("argument {} must be {expected}, not {value}", index + 1))
    }

    fn int(&self, index: usize) -> Result<i64, Fault> {
        match self.arguments[index].value.node {
            ExprNode::Literal(Literal::Int(int)) => Ok(int),
            _ => Err(self.wrong(index, "a whole number")),
        }
    }

    fn permute(&self) -> Result<Recipe, Fault> {
        self.takes(0..=2)?;
        match self.arguments.len() {
            0 => Ok(Recipe::Permute(None)),
            2 => {
                let (first, last) = (self.int(0)?, self.int(1)?);
                if first >= last {
                    return Err(self.wrong(1, &format!("more than {first}")));
                }
                Ok(Recipe::Permute(Some((first, last))))
            }
            _ => Err(self.fault(self.expr.at.start, "takes both ends of a range, or none")),
        }
    }

    fn noise(&self) -> Result<Recipe, Fault> {
        self.takes(1..=1)?;
        let share = match self.arguments[0].value.node {
            ExprNode::Literal(Literal::Real(real)) => real,
            ExprNode::Literal(Literal::Int(int)) => int as f64,
            _ => f64::NAN,
        };
        if share > 0.0 && share <= 1.0 {
            Ok(Recipe::Noise(share))
        } else {
            Err(self.wrong(0, "above 0 and at most 1"))
        }
    }

    fn shift(&self) -> Result<Recipe, Fault> {
        self.takes(1..=2)?;
        let days = match self.int(0)? {
            days @ 1..=DAYS_MAX => days.cast_unsigned(),
            _ => return Err(self.wrong(0, &format!("from 1 to {DAYS_MAX}"))),
        };
        let person = match self.arguments.get(1).map(|argument| &argument.value.node) {
            None => None,
            Some(ExprNode::Column { of: None, name }) => Some(name.clone()),
            Some(_) => return Err(self.wrong(1, "a column of the row")),
        };
        Ok(Recipe::Shift { days, person })
    }
}
