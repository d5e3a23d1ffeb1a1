//! Entities found by their fields.
//!
//! ```text
//!  field("city").is("Oslo").and(field("age").at_least(18))        order("age")       limit(10)
//!    WHERE "city" = ?1 AND "age" >= ?2                               ORDER BY "age"     LIMIT 10
//! ```
//!
//! Every comparison is one that an index of SQLite's can serve.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Column, Rows};
use sqluice_core::schema::quoted;

use super::define::{EntityType, KeyKind};
use super::field::Field;

/// What entities must be like: comparisons that all hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    comparisons: Vec<Comparison>,
}

/// A field to compare; see [`field`].
#[derive(Clone, Debug)]
pub struct FieldName(String);

#[derive(Clone, Debug)]
struct Comparison {
    field: String,
    with: With,
}

#[derive(Clone, Debug)]
enum With {
    /// An operator, and the other side.
    Operator(&'static str, Field<'static>),
    OneOf(Vec<Field<'static>>),
    Prefix(String),
}

/// An indexed field, or the `key`, to be compared.
///
/// ```
/// # use sqluice_stores::entity_store::field;
/// let grown_up_in_oslo = field("city").is("Oslo").and(field("age").at_least(18));
/// ```
pub fn field(name: impl Into<String>) -> FieldName {
    FieldName(name.into())
}

/// All entities.
pub fn all() -> Filter {
    Filter::default()
}

impl FieldName {
    /// `=`; for [`Field::Null`], whether the field is missing.
    pub fn is<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("IS", value)
    }

    /// Anything else, nothing included.
    pub fn is_not<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("IS NOT", value)
    }

    /// `<`. What is NULL is not compared; neither here nor below.
    pub fn less_than<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("<", value)
    }

    /// `<=`
    pub fn at_most<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("<=", value)
    }

    /// `>`. Text is greater than any number.
    pub fn greater_than<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator(">", value)
    }

    /// `>=`
    pub fn at_least<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator(">=", value)
    }

    /// `IN`: one of any number of values. NULL is none of them.
    pub fn one_of<'a, F: Into<Field<'a>>>(self, values: impl IntoIterator<Item = F>) -> Filter {
        let values = values.into_iter().map(|value| value.into().into_owned()).collect();
        self.compare(With::OneOf(values))
    }

    /// Text that begins with another, byte by byte.
    pub fn prefix(self, prefix: impl Into<String>) -> Filter {
        self.compare(With::Prefix(prefix.into()))
    }

    fn operator<'a>(self, operator: &'static str, value: impl Into<Field<'a>>) -> Filter {
        self.compare(With::Operator(operator, value.into().into_owned()))
    }

    fn compare(self, with: With) -> Filter {
        Filter { comparisons: vec![Comparison { field: self.0, with }] }
    }
}

impl Filter {
    /// Both must hold.
    #[must_use]
    pub fn and(mut self, other: Filter) -> Filter {
        self.comparisons.extend(other.comparisons);
        self
    }
}

/// A query: which entities, in which order, how many.
#[derive(Clone, Debug, Default)]
pub struct Query {
    filter: Filter,
    order: Vec<(String, bool)>,
    limit: Option<u64>,
    offset: u64,
}

impl From<Filter> for Query {
    fn from(filter: Filter) -> Query {
        Query { filter, ..Query::default() }
    }
}

/// So that a query can be made from its filter: `field("age").at_least(18).order("age")`.
impl Filter {
    /// In the order of a field, or of the `key`.
    pub fn order(self, field: impl Into<String>) -> Query {
        Query::from(self).order(field)
    }

    /// In the other order of a field, or of the `key`.
    pub fn order_descending(self, field: impl Into<String>) -> Query {
        Query::from(self).order_descending(field)
    }

    /// Limits the result to that number of entities.
    pub fn limit(self, entities: u64) -> Query {
        Query::from(self).limit(entities)
    }
}

impl Query {
    /// In the order of a field, or of the `key`; of entities that have the same, in the order of the field that is named next.
    #[must_use]
    pub fn order(mut self, field: impl Into<String>) -> Query {
        self.order.push((field.into(), false));
        self
    }

    /// In the other order of a field, or of the `key`.
    #[must_use]
    pub fn order_descending(mut self, field: impl Into<String>) -> Query {
        self.order.push((field.into(), true));
        self
    }

    /// Limits the result to that number of entities.
    #[must_use]
    pub fn limit(mut self, entities: u64) -> Query {
        self.limit = Some(entities);
        self
    }

    /// Without the first.
    #[must_use]
    pub fn skip(mut self, entities: u64) -> Query {
        self.offset = entities;
        self
    }

    /// The statement that a query is.
    pub(super) fn statement<T>(&self, ty: &EntityType<T>, select: &str) -> Result<Statement> {
        let mut statement = self.filter.statement(ty, select)?;
        let mut order = Vec::new();
        for (field, descending) in &self.order {
            let direction = if *descending { " DESC" } else { "" };
            order.push(column(ty, field)? + direction);
        }
        if !order.is_empty() {
            statement.sql += &format!(" ORDER BY {}", order.join(", "));
        }
        if self.limit.is_some() || self.offset > 0 {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let limit = self.limit.map_or(-1, number);
            statement.sql += " LIMIT ? OFFSET ?";
            let numbers = [limit, number(self.offset)];
            statement.parameters.extend(numbers.map(|number| Parameter::Field(Field::Int(number))));
        }
        Ok(statement)
    }
}

impl Filter {
    /// A statement over the entities.
    pub(super) fn statement<T>(&self, ty: &EntityType<T>, select: &str) -> Result<Statement> {
        let mut sql = format!("{select} FROM {}", quoted(&ty.name));
        let mut parameters = Vec::new();
        for (number, comparison) in self.comparisons.iter().enumerate() {
            sql += if number == 0 { " WHERE " } else { " AND " };
            let column = column(ty, &comparison.field)?;
            if comparison.field == "key" {
                comparison.with.check_key(ty)?;
            }
            match &comparison.with {
                With::Operator(operator, value) => {
                    sql += &format!("{column} {operator} ?");
                    parameters.push(Parameter::Field(value.clone()));
                }
                With::OneOf(values) => {
                    sql += &format!("{column} IN (SELECT c1 FROM sqluice_rows(?))");
                    parameters.push(Parameter::Rows(one_of(values)));
                }
                With::Prefix(prefix) => {
                    sql += &format!("{column} >= ? AND {column} < ?");
                    parameters.push(Parameter::Field(Field::from(prefix.clone())));
                    parameters.push(after_prefix(prefix));
                }
            }
        }
        Ok(Statement { sql, parameters })
    }
}

impl With {
    /// Refuses to compare a key with a value of another kind: SQLite would convert it, and find 7 for `'7'`.
    fn check_key<T>(&self, ty: &EntityType<T>) -> Result<()> {
        let texts = |values: &[Field<'_>]| values.iter().any(|value| matches!(value, Field::Text(_)));
        let numbers =
            |values: &[Field<'_>]| values.iter().any(|value| matches!(value, Field::Int(_) | Field::Real(_)));
        let (texts, numbers) = match self {
            With::Operator(_, value) => {
                (texts(std::slice::from_ref(value)), numbers(std::slice::from_ref(value)))
            }
            With::OneOf(values) => (texts(values), numbers(values)),
            With::Prefix(_) => (true, false),
        };
        let (is_other, wanted) = match ty.key.kind() {
            KeyKind::Integer => (texts, "integers"),
            KeyKind::Text => (numbers, "text"),
        };
        match is_other {
            true => Err(Error::usage(format!("{} has keys of {wanted}, and is asked for others", ty.name))),
            false => Ok(()),
        }
    }
}

/// SQL, and what is bound to it.
pub(super) struct Statement {
    pub sql: String,
    pub(super) parameters: Vec<Parameter>,
}

pub(super) enum Parameter {
    Field(Field<'static>),
    Rows(Rows<'static>),
    /// Sorts after all text.
    Blob,
}

impl ToSql for Parameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Parameter::Field(field) => Ok(field.bound()),
            Parameter::Rows(rows) => rows.to_sql(),
            Parameter::Blob => Ok(ToSqlOutput::Borrowed(ValueRef::Blob(b""))),
        }
    }
}

/// The column of a field.
fn column<T>(ty: &EntityType<T>, field: &str) -> Result<String> {
    let known = ty.fields.iter().map(|field| field.name.as_str());
    if field == "key" || known.clone().any(|known| known == field) {
        return Ok(quoted(field));
    }
    let fields: Vec<&str> = std::iter::once("key").chain(known).collect();
    let message = format!("type {} has no indexed field {field:?}", ty.name);
    Err(Error::usage(message).hint(format!("it has: {}", fields.join(", "))))
}

fn one_of(values: &[Field<'static>]) -> Rows<'static> {
    let values: Column<'_> = values.iter().map(Field::value).collect::<Column<'_>>();
    Rows::column(values).into_owned()
}

/// The first text after all text with a prefix: the prefix with the next character in the place of its last, if that exists.
fn after_prefix(prefix: &str) -> Parameter {
    let mut rest = prefix;
    while let Some(last) = rest.chars().next_back() {
        rest = &rest[..rest.len() - last.len_utf8()];
        if let Some(next) = (last..=char::MAX).nth(1) {
            return Parameter::Field(Field::from(format!("{rest}{next}")));
        }
    }
    Parameter::Blob
}
