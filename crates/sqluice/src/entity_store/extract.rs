//! Finds the fields of an entity while serde walks over it: no JSON is read for that, and what no path goes through costs nothing.
//!
//! ```text
//!  Person { name, address: Address { city, .. }, notes }        Walk at the root
//!             │           │                       │
//!          no path     .address: Walk          no path
//!                         └── .city: a path ends here ──> Scalar ──> field 0
//! ```
//!
//! A field is what SQLite's `json_extract(value, path)` makes of the JSON: an integer beyond 64 bits is a real, an array or an
//! object is its JSON.
//!
//! What the walk does not know (variants with several values, integers of 128 bits, odd keys) it leaves to a walk over the JSON
//! itself, of which it knows everything.

use std::fmt::{self, Display};

use serde::ser::{self, Impossible, Serialize, Serializer};

use super::field::Field;
use super::path::Node;

/// Sets the fields that the paths of `node` lead to in an entity; `json` is its JSON. Those of other paths stay as they are.
pub(super) fn fields<T: Serialize + ?Sized>(
    node: &Node,
    entity: &T,
    json: &[u8],
    fields: &mut [Field<'static>],
) {
    if node.is_empty() || visit(node, entity, fields).is_ok() {
        return;
    }
    let parsed = serde_json::from_slice(json).unwrap_or(serde_json::Value::Null);
    // Of parsed JSON nothing is odd.
    let _ = visit(node, &parsed, fields);
}

/// The walk does not know this.
#[derive(Debug)]
struct Odd;

impl Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not known to the walk")
    }
}

impl std::error::Error for Odd {}

impl ser::Error for Odd {
    fn custom<M: Display>(_: M) -> Odd {
        Odd
    }
}

/// What a value is that a path leads to.
enum Found {
    Scalar(Field<'static>),
    /// An array or an object.
    Compound,
}

/// Takes a value to which paths lead, and goes on into it.
fn visit<T: Serialize + ?Sized>(node: &Node, value: &T, fields: &mut [Field<'static>]) -> Result<(), Odd> {
    if !node.fields.is_empty() {
        let found = match value.serialize(Scalar)? {
            Found::Scalar(field) => field,
            Found::Compound => Field::from(serde_json::to_string(value).map_err(|_| Odd)?),
        };
        for field in &node.fields {
            fields[*field] = found.clone();
        }
    }
    if node.goes_on() { value.serialize(Walk { node, fields }) } else { Ok(()) }
}

/// Reads a value that is neither an array nor an object.
struct Scalar;

/// The methods of a serializer that take a number.
macro_rules! integers {
    ($($method:ident $kind:ty)*) => {$(
        fn $method(self, int: $kind) -> Result<Found, Odd> {
            Ok(Found::Scalar(Field::Int(i64::from(int))))
        }
    )*};
}

impl Serializer for Scalar {
    type Ok = Found;
    type Error = Odd;
    type SerializeSeq = Skip;
    type SerializeTuple = Skip;
    type SerializeTupleStruct = Skip;
    type SerializeTupleVariant = Impossible<Found, Odd>;
    type SerializeMap = Skip;
    type SerializeStruct = Skip;
    type SerializeStructVariant = Impossible<Found, Odd>;

    integers! {
        serialize_bool bool
        serialize_i8 i8
        serialize_i16 i16
        serialize_i32 i32
        serialize_i64 i64
        serialize_u8 u8
        serialize_u16 u16
        serialize_u32 u32
    }

    fn serialize_u64(self, int: u64) -> Result<Found, Odd> {
        Ok(Found::Scalar(i64::try_from(int).map_or(Field::Real(int as f64), Field::Int)))
    }

    /// JSON has the shortest digits that tell it from other numbers of 32 bits, which is another number in 64.
    fn serialize_f32(self, real: f32) -> Result<Found, Odd> {
        if real.is_finite() {
            self.serialize_f64(real.to_string().parse().map_err(|_| Odd)?)
        } else {
            self.serialize_unit()
        }
    }

    fn serialize_f64(self, real: f64) -> Result<Found, Odd> {
        Ok(Found::Scalar(if real.is_finite() { Field::Real(real) } else { Field::Null }))
    }

    fn serialize_char(self, char: char) -> Result<Found, Odd> {
        Ok(Found::Scalar(Field::from(char.to_string())))
    }

    fn serialize_str(self, text: &str) -> Result<Found, Odd> {
        Ok(Found::Scalar(Field::from(text.to_owned())))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Found, Odd> {
        Ok(Found::Compound)
    }

    fn serialize_none(self) -> Result<Found, Odd> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Found, Odd> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Found, Odd> {
        Ok(Found::Scalar(Field::Null))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Found, Odd> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Found, Odd> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Found, Odd> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Found, Odd> {
        Ok(Found::Compound)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Skip, Odd> {
        Ok(Skip)
    }

    fn serialize_tuple(self, _: usize) -> Result<Skip, Odd> {
        Ok(Skip)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Skip, Odd> {
        Ok(Skip)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Odd> {
        Err(Odd)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Skip, Odd> {
        Ok(Skip)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Skip, Odd> {
        Ok(Skip)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Odd> {
        Err(Odd)
    }
}

/// Passes over what is in an array or an object.
struct Skip;

/// A trait of compounds of which a compound passes over all.
macro_rules! skips {
    ($($kind:ident $method:ident)*) => {$(
        impl ser::$kind for Skip {
            type Ok = Found;
            type Error = Odd;

            fn $method<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Odd> {
                Ok(())
            }

            fn end(self) -> Result<Found, Odd> {
                Ok(Found::Compound)
            }
        }
    )*};
}

skips! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
}

impl ser::SerializeStruct for Skip {
    type Ok = Found;
    type Error = Odd;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, _: &T) -> Result<(), Odd> {
        Ok(())
    }

    fn end(self) -> Result<Found, Odd> {
        Ok(Found::Compound)
    }
}

impl ser::SerializeMap for Skip {
    type Ok = Found;
    type Error = Odd;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Odd> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Odd> {
        Ok(())
    }

    fn end(self) -> Result<Found, Odd> {
        Ok(Found::Compound)
    }
}

/// Goes into an array or an object where paths go on.
struct Walk<'n, 'f> {
    node: &'n Node,
    fields: &'f mut [Field<'static>],
}

/// The methods of a serializer that take something where no path goes on.
macro_rules! ends {
    ($($method:ident $kind:ty)*) => {$(
        fn $method(self, _: $kind) -> Result<(), Odd> {
            Ok(())
        }
    )*};
}

impl<'n, 'f> Serializer for Walk<'n, 'f> {
    type Ok = ();
    type Error = Odd;
    type SerializeSeq = Elements<'n, 'f>;
    type SerializeTuple = Elements<'n, 'f>;
    type SerializeTupleStruct = Elements<'n, 'f>;
    type SerializeTupleVariant = Impossible<(), Odd>;
    type SerializeMap = Members<'n, 'f>;
    type SerializeStruct = Members<'n, 'f>;
    type SerializeStructVariant = Impossible<(), Odd>;

    ends! {
        serialize_bool bool
        serialize_i8 i8
        serialize_i16 i16
        serialize_i32 i32
        serialize_i64 i64
        serialize_i128 i128
        serialize_u8 u8
        serialize_u16 u16
        serialize_u32 u32
        serialize_u64 u64
        serialize_u128 u128
        serialize_f32 f32
        serialize_f64 f64
        serialize_char char
        serialize_str &str
        serialize_unit_struct &'static str
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Odd> {
        Err(Odd)
    }

    fn serialize_none(self) -> Result<(), Odd> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Odd> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Odd> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Odd> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Odd> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Odd> {
        self.node.member(variant).map_or(Ok(()), |node| visit(node, value, self.fields))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'n, 'f>, Odd> {
        Ok(Elements { walk: self, at: 0 })
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements<'n, 'f>, Odd> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'n, 'f>, Odd> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Odd> {
        Err(Odd)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'n, 'f>, Odd> {
        Ok(Members { walk: self, next: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'n, 'f>, Odd> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Odd> {
        Err(Odd)
    }
}

/// The elements of an array.
struct Elements<'n, 'f> {
    walk: Walk<'n, 'f>,
    at: usize,
}

/// A trait of compounds whose values are elements.
macro_rules! elements {
    ($($kind:ident $method:ident)*) => {$(
        impl ser::$kind for Elements<'_, '_> {
            type Ok = ();
            type Error = Odd;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
                let node = self.walk.node.element(self.at);
                self.at += 1;
                node.map_or(Ok(()), |node| visit(node, value, self.walk.fields))
            }

            fn end(self) -> Result<(), Odd> {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
}

/// The members of an object.
struct Members<'n, 'f> {
    walk: Walk<'n, 'f>,
    /// Where the paths go on in the value of the key that came last.
    next: Option<&'n Node>,
}

impl ser::SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Odd;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Odd> {
        self.walk.node.member(name).map_or(Ok(()), |node| visit(node, value, self.walk.fields))
    }

    fn end(self) -> Result<(), Odd> {
        Ok(())
    }
}

impl ser::SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Odd;

    /// Only a text is a key as it stands.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Odd> {
        let Found::Scalar(Field::Text(name)) = key.serialize(Scalar)? else { return Err(Odd) };
        self.next = self.walk.node.member(&name);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        self.next.map_or(Ok(()), |node| visit(node, value, self.walk.fields))
    }

    fn end(self) -> Result<(), Odd> {
        Ok(())
    }
}
