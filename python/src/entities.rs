//! A store of entities, which are passed as JSON text. `sqluice._stores.EntityStore` converts them to and from objects.

use std::path::PathBuf;
use std::sync::OnceLock;

use pyo3::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use sqluice::entity_store::{self, EntityStore, EntityType, Field, Filter, Key, Options, Query, all, field};
use sqluice::error::{Error, Result};

use crate::errors::raised;
use crate::options::seconds;

/// An entity: its JSON text as it was given, parsed on first use.
struct Entity {
    json: Box<RawValue>,
    value: OnceLock<Value>,
}

impl Entity {
    fn new(json: String) -> Result<Entity> {
        let json = RawValue::from_string(json)
            .map_err(|error| Error::input("an entity is not JSON").because(error))?;
        Ok(Entity { json, value: OnceLock::new() })
    }

    fn value(&self) -> &Value {
        // A `RawValue` is valid JSON, so parsing does not fail.
        self.value.get_or_init(|| serde_json::from_str(self.json.get()).unwrap_or_default())
    }

    fn into_json(self) -> String {
        Box::<str>::from(self.json).into_string()
    }
}

impl Serialize for Entity {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        self.json.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Entity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Entity, D::Error> {
        Ok(Entity { json: Box::deserialize(from)?, value: OnceLock::new() })
    }
}

/// A key or the value of a field.
#[derive(FromPyObject)]
enum Given {
    Int(i64),
    Real(f64),
    Text(String),
}

impl Given {
    fn key(&self) -> Result<Key<'_>> {
        match self {
            Given::Int(int) => Ok(Key::Int(*int)),
            Given::Text(text) => Ok(Key::from(text)),
            Given::Real(_) => Err(Error::usage("a key must be a str, or an int of at most 64 bits")),
        }
    }

    fn field(self) -> Field<'static> {
        match self {
            Given::Int(int) => Field::Int(int),
            Given::Real(real) => Field::Real(real),
            Given::Text(text) => Field::Text(text.into()),
        }
    }
}

/// A comparison: the name of a field, an operator, and the values.
type Comparison = (String, String, Vec<Option<Given>>);

fn filter(comparisons: Vec<Comparison>) -> Result<Filter> {
    comparisons.into_iter().try_fold(all(), |filter, (name, operator, values)| {
        let mut values = values.into_iter().map(|value| value.map_or(Field::Null, Given::field));
        if operator == "one of" {
            return Ok(filter.and(field(name).one_of(values)));
        }
        let value = values.next().unwrap_or(Field::Null);
        let name = field(name);
        Ok(filter.and(match (operator.as_str(), value) {
            ("is", value) => name.is(value),
            ("is not", value) => name.is_not(value),
            ("<", value) => name.less_than(value),
            ("<=", value) => name.at_most(value),
            (">", value) => name.greater_than(value),
            (">=", value) => name.at_least(value),
            ("prefix", Field::Text(text)) => name.prefix(text),
            _ => return Err(Error::usage(format!("fields can't be compared by {operator:?}"))),
        }))
    })
}

/// An open entity store.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Entities(EntityStore);

#[pymethods]
impl Entities {
    #[new]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        durable: bool,
        busy_timeout: f64,
        cache: usize,
    ) -> PyResult<Entities> {
        let store = py.detach(|| {
            let options =
                Options::new().durable(durable).busy_timeout(seconds(busy_timeout)?).cache_bytes(cache);
            EntityStore::open_with(path, &options)
        });
        store.map(Entities).map_err(|error| raised(py, &error))
    }

    /// Defines a type. `key` is the name of the member that is the key; `is_text` is `true` if keys are text, and `false` if they are
    /// integers. A field is a triple: its name, its JSON path, and `true` if its values are unique.
    fn define(
        &self,
        py: Python<'_>,
        name: String,
        key: String,
        is_text: bool,
        fields: Vec<(String, String, bool)>,
    ) -> PyResult<Kind> {
        let member = key.clone();
        let entities = py.detach(|| {
            let declared = match is_text {
                true => EntityType::text(name, move |entity: &Entity| {
                    entity.value().get(&member).and_then(Value::as_str).unwrap_or_default()
                }),
                false => EntityType::integer(name, move |entity: &Entity| {
                    entity.value().get(&member).and_then(Value::as_i64).unwrap_or_default()
                }),
            };
            let declared = fields.into_iter().fold(declared, |declared, (name, path, unique)| match unique {
                true => declared.unique(name, path),
                false => declared.index(name, path),
            });
            self.0.define(declared)
        });
        Ok(Kind { entities: entities.map_err(|error| raised(py, &error))?, key, is_text })
    }
}

/// The entities of one type in an open store.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Kind {
    entities: entity_store::Entities<Entity>,
    key: String,
    is_text: bool,
}

impl Kind {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&entity_store::Entities<Entity>) -> Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&self.entities)).map_err(|error| raised(py, &error))
    }

    /// Parses an entity; an error if it has no key of the declared kind. `number` is its position among the given entities, from 1.
    fn entity(&self, json: String, number: u64) -> Result<Entity> {
        let entity = Entity::new(json)?;
        let key = entity.value().get(&self.key);
        let is_right = match self.is_text {
            true => key.is_some_and(Value::is_string),
            false => key.is_some_and(Value::is_i64),
        };
        if is_right {
            return Ok(entity);
        }
        let kind = if self.is_text { "str" } else { "int" };
        let message = format!("entity {number} has no {kind} called {:?}, which is its key", self.key);
        Err(Error::input(message).of_record(self.entities.name(), number))
    }
}

#[pymethods]
impl Kind {
    /// Writes entities, all or none. Returns how many were new, changed, and stored with the same content already.
    fn write_many(&self, py: Python<'_>, entities: Vec<String>) -> PyResult<(u64, u64, u64)> {
        let written = self.with(py, |kind| {
            let entities = entities.into_iter().zip(1..).map(|(json, number)| self.entity(json, number));
            kind.write_many(&entities.collect::<Result<Vec<_>>>()?)
        })?;
        Ok((written.new, written.changed, written.same))
    }

    fn read_many(&self, py: Python<'_>, keys: Vec<Given>) -> PyResult<Vec<Option<String>>> {
        self.with(py, |kind| {
            let keys = keys.iter().map(Given::key).collect::<Result<Vec<_>>>()?;
            let found = kind.read_many(keys)?;
            Ok(found.into_iter().map(|entity| entity.map(Entity::into_json)).collect())
        })
    }

    /// Returns the entities for which all comparisons are true. `order` has the fields to sort by, each with `true` for descending order.
    fn query(
        &self,
        py: Python<'_>,
        comparisons: Vec<Comparison>,
        order: Vec<(String, bool)>,
        limit: Option<u64>,
        skip: u64,
    ) -> PyResult<Vec<String>> {
        self.with(py, |kind| {
            let query =
                order.into_iter().fold(Query::from(filter(comparisons)?), |query, (field, descends)| {
                    if descends { query.order_descending(field) } else { query.order(field) }
                });
            let query = limit.into_iter().fold(query, Query::limit).skip(skip);
            Ok(kind.query(query)?.into_iter().map(Entity::into_json).collect())
        })
    }

    fn count(&self, py: Python<'_>, comparisons: Vec<Comparison>) -> PyResult<u64> {
        self.with(py, |kind| kind.count(&filter(comparisons)?))
    }

    fn delete_many(&self, py: Python<'_>, keys: Vec<Given>) -> PyResult<u64> {
        self.with(py, |kind| kind.delete_many(keys.iter().map(Given::key).collect::<Result<Vec<_>>>()?))
    }

    fn delete_where(&self, py: Python<'_>, comparisons: Vec<Comparison>) -> PyResult<u64> {
        self.with(py, |kind| kind.delete_where(&filter(comparisons)?))
    }
}
