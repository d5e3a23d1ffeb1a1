//! Random schemas with random values, and the JSON that the values are expected to become.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::file::{bytes, long};

/// An Avro type.
#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(usize),
    Enum(usize),
    Decimal(Option<usize>, u32),
    Array(Box<Kind>),
    Map(Box<Kind>),
    Record(Vec<Kind>),
    Union(Vec<Kind>),
}

/// Returns a random type with at most `depth` levels of nesting.
pub(super) fn kind(depth: usize, rng: &mut Rng) -> Kind {
    let several = |rng: &mut Rng| (0..rng.usize(1..4)).map(|_| kind(depth - 1, rng)).collect();
    match rng.usize(..if depth == 0 { 11 } else { 17 }) {
        0 => Kind::Null,
        1 => Kind::Boolean,
        2 => Kind::Int,
        3 => Kind::Long,
        4 => Kind::Float,
        5 => Kind::Double,
        6 => Kind::Bytes,
        7 => Kind::Text,
        8 => Kind::Fixed(rng.usize(..20)),
        9 => Kind::Enum(rng.usize(1..5)),
        10 => Kind::Decimal(rng.bool().then_some(16), rng.u32(..9)),
        11 => Kind::Array(Box::new(kind(depth - 1, rng))),
        12 => Kind::Map(Box::new(kind(depth - 1, rng))),
        13 => Kind::Record(several(rng)),
        _ => {
            let mut kinds: Vec<Kind> = several(rng);
            kinds.retain(|kind| !matches!(kind, Kind::Union(_)));
            if kinds.is_empty() || rng.bool() {
                kinds.insert(rng.usize(..=kinds.len()), Kind::Null);
            }
            Kind::Union(kinds)
        }
    }
}

impl Kind {
    /// Returns the schema of the type. `names` is the number of named types so far, from which new names are made.
    pub(super) fn schema(&self, names: &mut usize) -> Value {
        let mut name = || {
            *names += 1;
            format!("n{names}")
        };
        match self {
            Kind::Null => json!("null"),
            Kind::Boolean => json!({"type": "boolean"}),
            Kind::Int => json!("int"),
            Kind::Long => json!("long"),
            Kind::Float => json!("float"),
            Kind::Double => json!("double"),
            Kind::Bytes => json!("bytes"),
            Kind::Text => json!("string"),
            Kind::Fixed(size) => json!({"type": "fixed", "name": name(), "size": size}),
            Kind::Enum(count) => {
                let symbols: Vec<String> = (0..*count).map(|index| format!("S{index}")).collect();
                json!({"type": "enum", "name": name(), "symbols": symbols})
            }
            Kind::Decimal(fixed, scale) => {
                let mut schema =
                    json!({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": scale});
                if let Some(size) = fixed {
                    schema["type"] = json!("fixed");
                    schema["name"] = json!(name());
                    schema["size"] = json!(size);
                }
                schema
            }
            Kind::Array(items) => json!({"type": "array", "items": items.schema(names)}),
            Kind::Map(values) => json!({"type": "map", "values": values.schema(names)}),
            Kind::Record(fields) => {
                let name = name();
                let field = |(index, field): (usize, &Kind)| json!({"name": format!("f{index}"), "type": field.schema(names)});
                let fields: Vec<Value> = fields.iter().enumerate().map(field).collect();
                json!({"type": "record", "name": name, "fields": fields})
            }
            Kind::Union(kinds) => kinds.iter().map(|kind| kind.schema(names)).collect(),
        }
    }

    /// Appends a random value to `out`, and returns its JSON.
    pub(super) fn put(&self, rng: &mut Rng, out: &mut Vec<u8>) -> Value {
        match self {
            Kind::Null => Value::Null,
            Kind::Boolean => {
                let value = rng.bool();
                out.push(value.into());
                json!(value)
            }
            Kind::Int => {
                let value = rng.i32(..) >> rng.u32(..32);
                long(value.into(), out);
                json!(value)
            }
            Kind::Long => {
                let value = rng.i64(..) >> rng.u32(..64);
                long(value, out);
                json!(value)
            }
            Kind::Float => {
                let value = f32::from_bits(rng.u32(..));
                out.extend_from_slice(&value.to_le_bytes());
                number(format!("{value:?}"))
            }
            Kind::Double => {
                let value = f64::from_bits(rng.u64(..));
                out.extend_from_slice(&value.to_le_bytes());
                number(format!("{value:?}"))
            }
            Kind::Bytes => {
                let value: Vec<u8> = (0..rng.usize(..5)).map(|_| rng.u8(..)).collect();
                bytes(&value, out);
                hex(&value)
            }
            Kind::Text => {
                let value = text(rng);
                bytes(value.as_bytes(), out);
                json!(value)
            }
            Kind::Fixed(size) => {
                let value: Vec<u8> = (0..*size).map(|_| rng.u8(..)).collect();
                out.extend_from_slice(&value);
                hex(&value)
            }
            Kind::Enum(count) => {
                let index = rng.usize(..*count);
                long(index as i64, out);
                json!(format!("S{index}"))
            }
            Kind::Decimal(fixed, scale) => {
                let value = rng.i128(..) >> rng.u32(..128);
                let all = value.to_be_bytes();
                match fixed {
                    Some(_) => out.extend_from_slice(&all),
                    None => {
                        // Writers may leave out leading bytes that only repeat the sign.
                        let sign = if value < 0 { 0xff } else { 0 };
                        let same = |pair: &&[u8]| pair[0] == sign && pair[1] & 0x80 == sign & 0x80;
                        let more = all.windows(2).take_while(same).count();
                        bytes(&all[rng.usize(..=more)..], out);
                    }
                }
                let digits = format!("{:0>width$}", value.unsigned_abs(), width = *scale as usize + 1);
                let (whole, fraction) = digits.split_at(digits.len() - *scale as usize);
                let sign = if value < 0 { "-" } else { "" };
                let point = if *scale > 0 { "." } else { "" };
                number(format!("{sign}{whole}{point}{fraction}"))
            }
            Kind::Array(items) => Value::Array(put_items(rng, out, |rng, out| items.put(rng, out))),
            Kind::Map(values) => {
                let mut keys = 0;
                let pairs = put_items(rng, out, |rng, out| {
                    keys += 1;
                    let key = format!("{keys}{}", text(rng));
                    bytes(key.as_bytes(), out);
                    json!([key, values.put(rng, out)])
                });
                let pair = |pair: Value| (pair[0].as_str().unwrap().to_owned(), pair[1].clone());
                Value::Object(pairs.into_iter().map(pair).collect::<Map<_, _>>())
            }
            Kind::Record(fields) => {
                let put = |(index, field): (usize, &Kind)| (format!("f{index}"), field.put(rng, out));
                Value::Object(fields.iter().enumerate().map(put).collect())
            }
            Kind::Union(kinds) => {
                let branch = rng.usize(..kinds.len());
                long(branch as i64, out);
                kinds[branch].put(rng, out)
            }
        }
    }
}

/// Appends the items of an array or a map in several blocks, some of which have their length before them.
fn put_items(
    rng: &mut Rng,
    out: &mut Vec<u8>,
    mut put: impl FnMut(&mut Rng, &mut Vec<u8>) -> Value,
) -> Vec<Value> {
    let mut all = Vec::new();
    for _ in 0..rng.usize(..3) {
        let mut data = Vec::new();
        let items: Vec<Value> = (0..rng.usize(1..4)).map(|_| put(rng, &mut data)).collect();
        let has_length = rng.bool();
        long(items.len() as i64 * if has_length { -1 } else { 1 }, out);
        if has_length {
            long(data.len() as i64, out);
        }
        out.extend_from_slice(&data);
        all.extend(items);
    }
    long(0, out);
    all
}

fn text(rng: &mut Rng) -> String {
    (0..rng.usize(..20))
        .map(|_| if rng.bool() { rng.char('\0'..='\u{ff}') } else { rng.alphanumeric() })
        .collect()
}

/// Parses a number as JSON; NaN and infinities are null.
fn number(digits: String) -> Value {
    serde_json::from_str(&digits).unwrap_or(Value::Null)
}

fn hex(bytes: &[u8]) -> Value {
    json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
