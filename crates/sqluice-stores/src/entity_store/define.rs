//! Defines types of entities: the name, the key, and the indexed fields of each.

use std::fmt;

use serde::{Deserialize, Serialize};
use sqluice_core::error::{Error, Result};

use super::field::{Field, Key};
use super::path::{self, Node};

/// The columns and rowid names of every table, which fields can't have as names.
const TAKEN: [&str; 5] = ["key", "value", "rowid", "oid", "_rowid_"];

/// A type of entities: a name, a key, and indexed fields.
///
/// ```
/// # use serde::{Serialize, Deserialize};
/// use sqluice_stores::entity_store::EntityType;
///
/// #[derive(Serialize, Deserialize)]
/// struct Person {
///     id: i64,
///     email: String,
///     born: i32,
///     home: Option<Address>,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Address {
///     city: String,
/// }
///
/// let person = EntityType::integer("person", |person: &Person| person.id)
///     .unique("email", "$.email")
///     .index("city", "$.home.city")
///     .index_by("decade", |person| (person.born / 10).into());
/// ```
pub struct EntityType<T> {
    pub(super) name: String,
    pub(super) key: KeyOf<T>,
    pub(super) fields: Vec<Indexed<T>>,
}

type TextOf<T> = Box<dyn Fn(&T) -> &str + Send + Sync>;
type IntOf<T> = Box<dyn Fn(&T) -> i64 + Send + Sync>;
type FieldOf<T> = Box<dyn Fn(&T) -> Field<'_> + Send + Sync>;

/// The function that returns the key of an entity.
pub(super) enum KeyOf<T> {
    Text(TextOf<T>),
    Int(IntOf<T>),
}

impl<T> KeyOf<T> {
    pub(super) fn of<'e>(&self, entity: &'e T) -> Key<'e> {
        match self {
            KeyOf::Text(text) => Key::from(text(entity)),
            KeyOf::Int(int) => Key::Int(int(entity)),
        }
    }

    /// Returns `true` if `key` is text and the keys of this type are text, or both are integers.
    pub(super) fn takes(&self, key: &Key<'_>) -> bool {
        matches!((self, key), (KeyOf::Text(_), Key::Text(_)) | (KeyOf::Int(_), Key::Int(_)))
    }

    pub(super) fn kind(&self) -> KeyKind {
        match self {
            KeyOf::Text(_) => KeyKind::Text,
            KeyOf::Int(_) => KeyKind::Integer,
        }
    }
}

/// An indexed field.
pub(super) struct Indexed<T> {
    pub(super) name: String,
    unique: bool,
    source: Source<T>,
}

/// The source of a field: a JSON path or a function.
enum Source<T> {
    Path(String),
    Accessor(FieldOf<T>),
}

impl<T> EntityType<T> {
    /// Creates a type of entities with text keys.
    pub fn text(name: impl Into<String>, key: impl Fn(&T) -> &str + Send + Sync + 'static) -> EntityType<T> {
        EntityType { name: name.into(), key: KeyOf::Text(Box::new(key)), fields: Vec::new() }
    }

    /// Creates a type of entities with integer keys.
    pub fn integer(
        name: impl Into<String>,
        key: impl Fn(&T) -> i64 + Send + Sync + 'static,
    ) -> EntityType<T> {
        EntityType { name: name.into(), key: KeyOf::Int(Box::new(key)), fields: Vec::new() }
    }

    /// Indexes the value at a JSON path of members and elements, such as `$.home.city`, `$.tags[0]`, `$."odd name"`. The field has the
    /// value of SQLite's `json_extract`: a missing value and `null` are NULL, `true` is 1, an integer beyond 64 bits is a real, an array or
    /// an object is its JSON.
    #[must_use]
    pub fn index(self, name: impl Into<String>, path: impl Into<String>) -> EntityType<T> {
        self.with(name.into(), false, Source::Path(path.into()))
    }

    /// Indexes the value at a JSON path as unique: no two entities may have the same value, but any number may have NULL.
    #[must_use]
    pub fn unique(self, name: impl Into<String>, path: impl Into<String>) -> EntityType<T> {
        self.with(name.into(), true, Source::Path(path.into()))
    }

    /// Indexes the result of a function of the entity. The store does not notice if the function changes: give the field another name in
    /// this case, or call [`Entities::rebuild`](super::Entities::rebuild).
    #[must_use]
    pub fn index_by(
        self,
        name: impl Into<String>,
        accessor: impl Fn(&T) -> Field<'_> + Send + Sync + 'static,
    ) -> EntityType<T> {
        self.with(name.into(), false, Source::Accessor(Box::new(accessor)))
    }

    /// Indexes the result of a function as unique: no two entities may have the same value, but any number may have NULL.
    #[must_use]
    pub fn unique_by(
        self,
        name: impl Into<String>,
        accessor: impl Fn(&T) -> Field<'_> + Send + Sync + 'static,
    ) -> EntityType<T> {
        self.with(name.into(), true, Source::Accessor(Box::new(accessor)))
    }

    fn with(mut self, name: String, unique: bool, source: Source<T>) -> EntityType<T> {
        self.fields.push(Indexed { name, unique, source });
        self
    }

    /// Returns the JSON paths of the fields as a tree, for one walk over each entity.
    ///
    /// # Errors
    /// When a name or a path is invalid.
    pub(super) fn paths(&self) -> Result<Node> {
        check_name("a type", &self.name)?;
        let mut node = Node::default();
        for (number, field) in self.fields.iter().enumerate() {
            check_name("a field", &field.name).map_err(|error| self.of_type(error))?;
            let same = |other: &str| other.eq_ignore_ascii_case(&field.name);
            if TAKEN.into_iter().any(same) || self.fields[..number].iter().any(|other| same(&other.name)) {
                let message = format!("{:?} can't be the name of a field: it is taken", field.name);
                return Err(self.of_type(Error::usage(message)));
            }
            if let Source::Path(path) = &field.source {
                let steps = path::parse(path)
                    .map_err(|error| self.of_type(error.with_words(format!(" (field {:?})", field.name))))?;
                node.add(&steps, number);
            }
        }
        Ok(node)
    }

    fn of_type(&self, error: Error) -> Error {
        error.with_words(format!(" (type {:?})", self.name))
    }

    /// Calls the function of each field that is the result of a function, and puts the result into `fields`.
    pub(super) fn access(&self, entity: &T, fields: &mut [Field<'static>]) {
        for (indexed, field) in self.fields.iter().zip(fields) {
            if let Source::Accessor(accessor) = &indexed.source {
                *field = accessor(entity).into_owned();
            }
        }
    }

    /// Returns `true` if any field is the result of a function.
    pub(super) fn has_accessors(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.source, Source::Accessor(_)))
    }

    pub(super) fn definition(&self) -> Definition {
        let field = |field: &Indexed<T>| FieldDefinition {
            name: field.name.clone(),
            path: match &field.source {
                Source::Path(path) => Some(path.clone()),
                Source::Accessor(_) => None,
            },
            unique: field.unique,
        };
        Definition { key: self.key.kind(), fields: self.fields.iter().map(field).collect() }
    }
}

impl<T> fmt::Debug for EntityType<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityType")
            .field("name", &self.name)
            .field("definition", &self.definition())
            .finish()
    }
}

/// Checks a name of a type or field, from which the names of a table, column or index are made: `person`, `email`, `person.email`.
fn check_name(what: &str, name: &str) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    let is_good = !name.is_empty()
        && !name.contains(['\0', '.'])
        && !lower.starts_with("sqlite_")
        && !lower.starts_with("sqluice_");
    if is_good {
        return Ok(());
    }
    let hint =
        "names are not empty, have no \".\" and no NUL, and begin with neither \"sqlite_\" nor \"sqluice_\"";
    Err(Error::usage(format!("{name:?} can't be the name of {what}")).hint(hint))
}

/// The kind of a type's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KeyKind {
    Text,
    Integer,
}

/// The stored definition of a type, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Definition {
    pub(super) key: KeyKind,
    pub(super) fields: Vec<FieldDefinition>,
}

/// The stored definition of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FieldDefinition {
    pub(super) name: String,
    /// The path; `None` if the field is the result of a function.
    pub(super) path: Option<String>,
    pub(super) unique: bool,
}
