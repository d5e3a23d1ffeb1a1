//! Parses the JSON schema of an Avro file, and creates the columns for its records.
//!
//! A named type is defined at its first use, and later uses refer to its name. Each use gets its own columns, so a short schema can stand
//! for any number of columns: if `a` has two fields of type `b`, and `b` has two of type `c`, there are four `c`. So the columns are counted
//! and their number is limited.
//!
//! A logical type that is unknown, or does not fit its type, is ignored, as the specification demands.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::TimeUnit;
use serde_json::{Map, Value};
use sqluice_core::error::Error;

use super::column::{Bytes, Column, Decimal, IntAs, LongAs, Tag, Values, symbols};
use super::fault::Fault;

/// The maximum number of types in a schema. A long name counts as several types.
const COST_MAX: usize = 1 << 16;
/// The number of bytes of a name that count as one type.
const NAME_BYTES: usize = 64;

/// The largest depth of nested types.
const DEPTH_MAX: usize = 64;

/// The maximum number of types in a union, which is also Arrow's.
const BRANCHES_MAX: usize = 128;

/// The maximum numbers of digits of Arrow's Decimal128 and Decimal256.
const DIGITS_MAX: [u64; 2] = [38, 76];

/// The fields of a record.
pub(super) type Fields = Vec<(Arc<str>, Column)>;

/// The column name for a file whose objects are not records.
const VALUE: &str = "value";

/// Returns the columns for a schema: the fields of its record, or a single column if the objects are not records.
pub(super) fn columns(schema: &[u8]) -> Result<Fields, Fault> {
    let schema: Value =
        serde_json::from_slice(schema).map_err(|error| Fault::DamagedAs(format!("its schema: {error}")))?;
    let mut types =
        Types { named: HashMap::new(), symbols: HashMap::new(), open: Vec::new(), cost: 0, depth: 0 };
    let mut objects = types.column(&schema, "")?;
    match objects.take_record() {
        Some(fields) => Ok(fields),
        None => Ok(vec![(VALUE.into(), objects)]),
    }
}

/// The named types of a schema, and the number of types that were used so far (`cost`).
struct Types<'s> {
    /// For each full name, the definition, and the namespace in which the definition stands.
    named: HashMap<String, (&'s Map<String, Value>, String)>,
    /// The symbols of the enums, by full name.
    symbols: HashMap<String, ArrayRef>,
    /// The names of the records whose fields are being read, to find a record that contains itself.
    open: Vec<String>,
    cost: usize,
    depth: usize,
}

/// Returns the error for a schema that breaks the rules of Avro.
fn invalid(what: &'static str) -> Fault {
    Fault::Damaged(what)
}

impl<'s> Types<'s> {
    fn pay(&mut self, name: &str) -> Result<(), Fault> {
        self.cost += 1 + name.len() / NAME_BYTES;
        match self.cost > COST_MAX {
            true => Err(Error::input(format!(
                "its schema has more than {COST_MAX} types if each use of a named type counts"
            ))
            .into()),
            false => Ok(()),
        }
    }

    /// Returns a column for a type. `namespace` is the namespace of the type around it.
    fn column(&mut self, schema: &'s Value, namespace: &str) -> Result<Column, Fault> {
        self.pay("")?;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::input(format!("its schema is more than {DEPTH_MAX} types deep")).into());
        }
        let column = match schema {
            Value::String(name) => self.by_name(name, namespace, None)?,
            Value::Array(types) => self.union(types, namespace)?,
            Value::Object(object) => match object.get("type") {
                Some(Value::String(name)) => self.by_name(name, namespace, Some(object))?,
                Some(inner @ (Value::Object(_) | Value::Array(_))) => self.column(inner, namespace)?,
                _ => return Err(invalid("a type of its schema is not named")),
            },
            _ => return Err(invalid("a type of its schema is not a type of Avro")),
        };
        self.depth -= 1;
        Ok(column)
    }

    fn union(&mut self, types: &'s [Value], namespace: &str) -> Result<Column, Fault> {
        if types.len() > BRANCHES_MAX {
            return Err(Error::input(format!("a union has more than {BRANCHES_MAX} types")).into());
        }
        let mut branches = Vec::new();
        for kind in types {
            let column = self.column(kind, namespace)?;
            if column.is_union() {
                return Err(invalid("a union of its schema contains another union"));
            }
            branches.push(column);
        }
        let nulls: Vec<bool> = branches.iter().map(Column::is_null).collect();
        let tag = match nulls[..] {
            [] => return Err(invalid("a union of its schema has no type")),
            [_] => Tag::Single,
            [true, false] => Tag::NullFirst,
            [false, true] => Tag::NullLast,
            _ => return Ok(Column::new(Tag::None, Values::Union(Vec::new(), Vec::new(), branches))),
        };
        let at = usize::from(tag == Tag::NullFirst);
        Ok(branches.swap_remove(at).tagged(tag))
    }

    /// Returns a column for the type with this name. `object` has the attributes of the type, if any.
    fn by_name(
        &mut self,
        name: &'s str,
        namespace: &str,
        object: Option<&'s Map<String, Value>>,
    ) -> Result<Column, Fault> {
        let logical = object.and_then(|object| object.get("logicalType")?.as_str()).unwrap_or_default();
        let values = match (name, object) {
            ("null", _) => Values::Null(0),
            ("boolean", _) => Values::Boolean(BooleanBufferBuilder::new(0)),
            ("int", _) => Values::Int(int_as(logical), Vec::new()),
            ("long", _) => Values::Long(long_as(logical), Vec::new()),
            ("float", _) => Values::Float(Vec::new()),
            ("double", _) => Values::Double(Vec::new()),
            ("bytes", _) => match decimal(logical, object, None)? {
                Some(decimal) => decimals(decimal),
                None => Values::Bytes(Bytes::new(None, false)),
            },
            ("string", _) => Values::Bytes(Bytes::new(None, true)),
            ("array", Some(object)) => {
                let items = object.get("items").ok_or(invalid("an array of its schema has no items"))?;
                Values::Array(vec![0], Box::new(self.column(items, namespace)?))
            }
            ("map", Some(object)) => {
                let values = object.get("values").ok_or(invalid("a map of its schema has no values"))?;
                Values::Map(vec![0], Bytes::new(None, true), Box::new(self.column(values, namespace)?))
            }
            ("record" | "error" | "enum" | "fixed", Some(object)) => return self.defined(object, namespace),
            _ => {
                let name = full_name(name, None, namespace);
                let Some((object, namespace)) = self.named.get(&name) else {
                    return Err(Fault::DamagedAs(format!(
                        "its schema names the type {name}, which it lacks"
                    )));
                };
                let (object, namespace) = (*object, namespace.clone());
                return self.defined(object, &namespace);
            }
        };
        Ok(Column::new(Tag::None, values))
    }

    /// Returns a column for a record, enum or fixed, from its definition.
    fn defined(&mut self, object: &'s Map<String, Value>, namespace: &str) -> Result<Column, Fault> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let name = text("name").ok_or(invalid("a record, enum or fixed of its schema has no name"))?;
        let name = full_name(name, text("namespace"), namespace);
        self.pay(&name)?;
        let before = self.named.insert(name.clone(), (object, namespace.to_owned()));
        if before.is_some_and(|(before, _)| !ptr::eq(before, object)) {
            return Err(Fault::DamagedAs(format!("its schema defines the type {name} more than once")));
        }
        let values = match text("type") {
            Some("enum") => Values::Enum(self.symbols_of(&name, object)?, Vec::new()),
            Some("fixed") => fixed(object)?,
            _ => return self.record(name, object),
        };
        Ok(Column::new(Tag::None, values))
    }

    fn symbols_of(&mut self, name: &str, object: &Map<String, Value>) -> Result<ArrayRef, Fault> {
        if let Some(symbols) = self.symbols.get(name) {
            return Ok(Arc::clone(symbols));
        }
        let names = object.get("symbols").and_then(Value::as_array);
        let names: Option<Vec<&str>> = names.and_then(|names| names.iter().map(Value::as_str).collect());
        let found = symbols(names.ok_or(invalid("an enum of its schema has no symbols"))?);
        self.symbols.insert(name.to_owned(), Arc::clone(&found));
        Ok(found)
    }

    fn record(&mut self, name: String, object: &'s Map<String, Value>) -> Result<Column, Fault> {
        if self.open.contains(&name) {
            let error = Error::input(format!("the record {name} contains itself, which is not supported"));
            return Err(error.hint("write it as JSON with another program, and load that").into());
        }
        let namespace = name.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
        self.open.push(name);
        let described = object.get("fields").and_then(Value::as_array);
        let mut fields = Vec::new();
        for field in described.ok_or(invalid("a record of its schema has no fields"))? {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or(invalid("a field of its schema has no name"))?;
            self.pay(name)?;
            let kind = field.get("type").ok_or(invalid("a field of its schema has no type"))?;
            fields.push((name.into(), self.column(kind, &namespace)?));
        }
        self.open.pop();
        Ok(Column::new(Tag::None, Values::Record(0, fields)))
    }
}

/// Returns the name of a type with its namespace: `own` if the type has one, or else `around`, the namespace of the type around it.
fn full_name(name: &str, own: Option<&str>, around: &str) -> String {
    match own.unwrap_or(around) {
        _ if name.contains('.') => name.trim_start_matches('.').to_owned(),
        "" => name.to_owned(),
        namespace => format!("{namespace}.{name}"),
    }
}

fn int_as(logical: &str) -> IntAs {
    match logical {
        "date" => IntAs::Date,
        "time-millis" => IntAs::TimeMillis,
        _ => IntAs::Int,
    }
}

fn long_as(logical: &str) -> LongAs {
    match logical {
        "time-micros" => LongAs::TimeMicros,
        "timestamp-millis" => LongAs::Timestamp(TimeUnit::Millisecond, true),
        "timestamp-micros" => LongAs::Timestamp(TimeUnit::Microsecond, true),
        "timestamp-nanos" => LongAs::Timestamp(TimeUnit::Nanosecond, true),
        "local-timestamp-millis" => LongAs::Timestamp(TimeUnit::Millisecond, false),
        "local-timestamp-micros" => LongAs::Timestamp(TimeUnit::Microsecond, false),
        "local-timestamp-nanos" => LongAs::Timestamp(TimeUnit::Nanosecond, false),
        _ => LongAs::Long,
    }
}

fn fixed(object: &Map<String, Value>) -> Result<Values, Fault> {
    let size = object.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
    let size = size.ok_or(invalid("a fixed of its schema has no size"))?;
    let logical = object.get("logicalType").and_then(Value::as_str).unwrap_or_default();
    if (logical, size) == ("duration", 12) {
        return Ok(Values::Duration(Vec::new()));
    }
    Ok(match decimal(logical, Some(object), Some(size))? {
        Some(decimal) => decimals(decimal),
        None => Values::Bytes(Bytes::new(Some(size), false)),
    })
}

/// Returns the decimal type that the attributes of an object describe; `None` if they do not describe a valid one.
fn decimal(
    logical: &str,
    object: Option<&Map<String, Value>>,
    fixed: Option<usize>,
) -> Result<Option<Decimal>, Fault> {
    let Some(object) = object.filter(|_| logical == "decimal") else { return Ok(None) };
    let number = |key: &str| object.get(key).map_or(Some(0), Value::as_u64);
    let (Some(precision), Some(scale)) = (number("precision"), number("scale")) else { return Ok(None) };
    if precision == 0 || scale > precision {
        return Ok(None);
    }
    if precision > DIGITS_MAX[1] {
        let error =
            Error::input(format!("it has decimals of {precision} digits, more than {}", DIGITS_MAX[1]));
        return Err(error.hint("write them as text with another program").into());
    }
    Ok(Some(Decimal { fixed, precision: precision as u8, scale: scale as i8 }))
}

fn decimals(decimal: Decimal) -> Values {
    match u64::from(decimal.precision) <= DIGITS_MAX[0] {
        true => Values::Decimal128(decimal, Vec::new()),
        false => Values::Decimal256(decimal, Vec::new()),
    }
}
