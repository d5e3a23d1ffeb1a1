//! Extracts fields from an entity's JSON: walks along their paths, and skips everything else.
//!
//! ```text
//!  {"name":"Ann","address":{"city":"Oslo","zip":1},"notes":"..."}        paths $.address.city, $.address
//!          pass      │               │                    pass
//!                 .address           └── .city: 'Oslo'
//!                    └── a path ends here: '{"city":"Oslo","zip":1}'
//! ```
//!
//! A field has the value of SQLite's `json_extract(value, path)`: `null` and a missing value are NULL, `true` is 1, an integer beyond 64
//! bits is a real, an array or an object is its JSON, unchanged.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sqluice_core::affinity::{Affinity, text_to_number};
use sqluice_core::batch::Value;

use super::field::Field;
use super::path::Node;

/// Sets the fields at the paths of `node`. Other fields stay unchanged.
///
/// # Errors
/// When the JSON is invalid.
pub(super) fn fields(node: &Node, json: &str, fields: &mut [Field<'static>]) -> serde_json::Result<()> {
    if !node.fields.is_empty() {
        let found = field(json)?;
        for field in &node.fields {
            fields[*field] = found.clone();
        }
    }
    // A scalar has no members or elements, so no path continues in it.
    if node.goes_on() && json.starts_with(['{', '[']) {
        Walk { node, fields }.deserialize(&mut serde_json::Deserializer::from_str(json))?;
    }
    Ok(())
}

/// Returns the field for a JSON value.
fn field(json: &str) -> serde_json::Result<Field<'static>> {
    Ok(match json.as_bytes().first() {
        Some(b'"') => Field::from(serde_json::from_str::<String>(json)?),
        Some(b'{' | b'[') => Field::from(json.to_owned()),
        Some(b't') => Field::Int(1),
        Some(b'f') => Field::Int(0),
        Some(b'0'..=b'9' | b'-') => number(json),
        _ => Field::Null,
    })
}

fn number(json: &str) -> Field<'static> {
    if let Ok(int) = json.parse() {
        return Field::Int(int);
    }
    match text_to_number(json.as_bytes(), Affinity::Real) {
        Value::Int(int) => Field::Real(int as f64),
        Value::Real(real) => Field::Real(real),
        _ => Field::Null,
    }
}

/// A visitor that descends into an array or an object in which paths continue.
struct Walk<'n, 'f> {
    node: &'n Node,
    fields: &'f mut [Field<'static>],
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl Walk<'_, '_> {
    fn go<E: serde::de::Error>(&mut self, node: &Node, json: &RawValue) -> Result<(), E> {
        fields(node, json.get(), self.fields).map_err(E::custom)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array or an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(node) = members.next_key_seed(Member(self.node))? {
            match node {
                Some(node) => self.go(node, members.next_value()?)?,
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        for at in 0.. {
            let went_on = match self.node.element(at) {
                Some(node) => match elements.next_element()? {
                    Some(element) => self.go(node, element).map(Some)?,
                    None => None,
                },
                None => elements.next_element::<IgnoredAny>()?.map(drop),
            };
            if went_on.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// A visitor of a member's name. It returns the node of the paths that continue in the member, or `None` if no path does.
struct Member<'n>(&'n Node);

impl<'n, 'de> DeserializeSeed<'de> for Member<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<&'n Node>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Member<'n> {
    type Value = Option<&'n Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<&'n Node>, E> {
        Ok(self.0.member(name))
    }
}
