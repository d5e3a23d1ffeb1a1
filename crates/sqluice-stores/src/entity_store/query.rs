//! Builds queries for entities by their fields.
//!
//! ```text
//!  field("city").is("Oslo").and(field("age").at_least(18))        order("age")       limit(10)
//!    WHERE "city" = ?1 AND "age" >= ?2                               ORDER BY "age"     LIMIT 10
//! ```
//!
//! An index of SQLite can serve every comparison except `is_not`.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{Column, Rows};
use sqluice_core::schema::quoted;

use super::define::{EntityType, KeyKind};
use super::field::Field;

/// A condition on entities: comparisons, all of which must hold.
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
    /// An operator and its right-hand side.
    Operator(&'static str, Field<'static>),
    OneOf(Vec<Field<'static>>),
    Prefix(String),
}

/// Returns an indexed field, or the `key`, by its name. The methods of the result compare the field with values.
///
/// ```
/// # use sqluice_stores::entity_store::field;
/// let grown_up_in_oslo = field("city").is("Oslo").and(field("age").at_least(18));
/// ```
pub fn field(name: impl Into<String>) -> FieldName {
    FieldName(name.into())
}

/// Returns a filter that matches all entities.
pub fn all() -> Filter {
    Filter::default()
}

impl FieldName {
    /// Matches fields that equal `value`. [`Field::Null`] matches missing fields.
    pub fn is<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("IS", value)
    }

    /// Matches fields that do not equal `value`. A missing field equals only [`Field::Null`].
    pub fn is_not<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("IS NOT", value)
    }

    /// Matches values less than `value`. A field that is NULL never matches, also in the comparisons below.
    pub fn less_than<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("<", value)
    }

    /// Matches values less than or equal to `value`.
    pub fn at_most<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator("<=", value)
    }

    /// Matches values greater than `value`. Text is greater than any number.
    pub fn greater_than<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator(">", value)
    }

    /// Matches values greater than or equal to `value`.
    pub fn at_least<'a>(self, value: impl Into<Field<'a>>) -> Filter {
        self.operator(">=", value)
    }

    /// Matches fields that equal any of `values`. NULL never matches.
    pub fn one_of<'a, F: Into<Field<'a>>>(self, values: impl IntoIterator<Item = F>) -> Filter {
        let values = values.into_iter().map(|value| value.into().into_owned()).collect();
        self.compare(With::OneOf(values))
    }

    /// Matches text that begins with `prefix`, byte by byte.
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
    /// Combines two filters, both of which must match.
    #[must_use]
    pub fn and(mut self, other: Filter) -> Filter {
        self.comparisons.extend(other.comparisons);
        self
    }
}

/// A query: a filter, an order and a limit.
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

/// Shortcuts that create a query from its filter: `field("age").at_least(18).order("age")`.
impl Filter {
    /// Sorts by a field or the `key`, in ascending order.
    pub fn order(self, field: impl Into<String>) -> Query {
        Query::from(self).order(field)
    }

    /// Sorts by a field or the `key`, in descending order.
    pub fn order_descending(self, field: impl Into<String>) -> Query {
        Query::from(self).order_descending(field)
    }

    /// Limits the result to `entities` entities.
    pub fn limit(self, entities: u64) -> Query {
        Query::from(self).limit(entities)
    }
}

impl Query {
    /// Sorts by a field or the `key`, in ascending order. Further calls sort entities that are equal so far.
    #[must_use]
    pub fn order(mut self, field: impl Into<String>) -> Query {
        self.order.push((field.into(), false));
        self
    }

    /// Sorts by a field or the `key`, in descending order.
    #[must_use]
    pub fn order_descending(mut self, field: impl Into<String>) -> Query {
        self.order.push((field.into(), true));
        self
    }

    /// Limits the result to `entities` entities.
    #[must_use]
    pub fn limit(mut self, entities: u64) -> Query {
        self.limit = Some(entities);
        self
    }

    /// Skips the first `entities` entities of the result.
    #[must_use]
    pub fn skip(mut self, entities: u64) -> Query {
        self.offset = entities;
        self
    }

    /// Returns the SQL statement of the query. `select` is the list of its columns.
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
    /// Returns an SQL statement on the matching entities.
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
    /// Refuses to compare a key with a value of another kind. SQLite would convert the value, and find 7 for `'7'`.
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
            true => Err(Error::usage(format!(
                "{} has keys of {wanted}: a filter can't compare them with other values",
                ty.name
            ))),
            false => Ok(()),
        }
    }
}

/// An SQL statement and its parameters.
pub(super) struct Statement {
    pub sql: String,
    pub(super) parameters: Vec<Parameter>,
}

pub(super) enum Parameter {
    Field(Field<'static>),
    Rows(Rows<'static>),
    /// A value that sorts after all text.
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

/// Returns the quoted column of a field.
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

/// Returns the smallest text that is greater than all text with the prefix: the prefix with its last character replaced by the next. If no
/// such text exists, returns a value that sorts after all text.
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
