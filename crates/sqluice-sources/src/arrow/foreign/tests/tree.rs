//! Arrays as trees with vectors as buffers, so that the sizes of the buffers are known, and the slow, simple reader of the arrays' values.

use std::sync::Arc;

use arrow_schema::{DataType, Field, UnionMode};
use serde_json::{Value, json};

/// An array of the C data interface, but with vectors as buffers: their sizes are known, so no read goes beyond their ends.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) kind: DataType,
    pub(super) length: usize,
    pub(super) offset: usize,
    pub(super) null_count: i64,
    /// The buffers of the C data interface. The last buffer of a type with views, which has the sizes of its data buffers, is left out.
    pub(super) buffers: Vec<Option<Vec<u8>>>,
    pub(super) children: Vec<Tree>,
    pub(super) dictionary: Option<Box<Tree>>,
}

/// The error of reading an invalid value.
#[derive(Debug, PartialEq)]
pub(super) struct Illegal;

pub(super) type Read = Result<Value, Illegal>;

impl Tree {
    fn word<const N: usize>(&self, buffer: usize, entry: usize) -> Result<[u8; N], Illegal> {
        let bytes = self.buffers[buffer].as_deref().unwrap_or_default();
        let entry = bytes.get(entry * N..entry * N + N).ok_or(Illegal)?;
        Ok(entry.try_into().expect("N bytes"))
    }

    pub(super) fn offset_at(&self, buffer: usize, entry: usize) -> Result<usize, Illegal> {
        use DataType::*;
        let is_large = matches!(self.kind, LargeUtf8 | LargeBinary | LargeList(_) | LargeListView(_));
        let offset = match is_large {
            true => i64::from_le_bytes(self.word(buffer, entry)?),
            false => i32::from_le_bytes(self.word(buffer, entry)?).into(),
        };
        usize::try_from(offset).map_err(|_| Illegal)
    }

    pub(super) fn is_null(&self, place: usize) -> bool {
        use DataType::*;
        if matches!(self.kind, Union(_, _) | RunEndEncoded(_, _) | Null) {
            return self.kind == Null;
        }
        self.buffers[0].as_ref().is_some_and(|bits| bits[place / 8] >> (place % 8) & 1 == 0)
    }

    /// Returns the bytes of a text or a binary.
    fn bytes(&self, place: usize) -> Result<Vec<u8>, Illegal> {
        use DataType::*;
        if let FixedSizeBinary(bytes) = self.kind {
            let all = self.buffers[1].as_deref().unwrap_or_default();
            let bytes = bytes as usize;
            return Ok(all[place * bytes..(place + 1) * bytes].to_vec());
        }
        if !matches!(self.kind, Utf8View | BinaryView) {
            let (start, end) = (self.offset_at(1, place)?, self.offset_at(1, place + 1)?);
            let data = self.buffers[2].as_deref().unwrap_or_default();
            return data.get(start..end).map(<[u8]>::to_vec).ok_or(Illegal);
        }
        let view = self.word::<16>(1, place)?;
        let word = |at: usize| u32::from_le_bytes(view[at..at + 4].try_into().expect("4 bytes")) as usize;
        if word(0) <= 12 {
            let (text, rest) = view[4..].split_at(word(0));
            return rest.iter().all(|byte| *byte == 0).then(|| text.to_vec()).ok_or(Illegal);
        }
        let data = self.buffers.get(2 + word(8)).and_then(Option::as_deref).ok_or(Illegal)?;
        let data = data.get(word(12)..word(12) + word(0)).ok_or(Illegal)?;
        (data[..4] == view[4..8]).then(|| data.to_vec()).ok_or(Illegal)
    }

    fn list(&self, range: std::ops::Range<usize>) -> Read {
        range.map(|at| self.read(at)).collect::<Result<Vec<Value>, _>>().map(Value::Array)
    }

    /// Returns the range of a list's values in the child array.
    pub(super) fn range(&self, place: usize) -> Result<std::ops::Range<usize>, Illegal> {
        use DataType::*;
        let (start, end) = match self.kind {
            ListView(_) | LargeListView(_) => {
                let start = self.offset_at(1, place)?;
                (start, start.checked_add(self.offset_at(2, place)?).ok_or(Illegal)?)
            }
            FixedSizeList(_, size) => (place * size as usize, (place + 1) * size as usize),
            _ => (self.offset_at(1, place)?, self.offset_at(1, place + 1)?),
        };
        (start <= end && end <= self.children[0].length).then_some(start..end).ok_or(Illegal)
    }

    pub(super) fn key(&self, place: usize) -> Result<usize, Illegal> {
        let DataType::Dictionary(keys, _) = &self.kind else { unreachable!() };
        let key = match **keys {
            DataType::Int8 => i8::from_le_bytes(self.word(1, place)?).into(),
            DataType::UInt8 => u8::from_le_bytes(self.word(1, place)?).into(),
            DataType::Int32 => i32::from_le_bytes(self.word(1, place)?).into(),
            DataType::UInt32 => u32::from_le_bytes(self.word(1, place)?).into(),
            DataType::UInt64 => u64::from_le_bytes(self.word(1, place)?).try_into().unwrap_or(-1),
            _ => i64::from_le_bytes(self.word(1, place)?),
        };
        let values = self.dictionary.as_ref().map_or(0, |dictionary| dictionary.length);
        usize::try_from(key).ok().filter(|key| *key < values).ok_or(Illegal)
    }

    fn run_end(&self, run: usize) -> Result<i64, Illegal> {
        let ends = &self.children[0];
        Ok(match ends.kind {
            DataType::Int16 => i16::from_le_bytes(ends.word(1, ends.offset + run)?).into(),
            DataType::Int32 => i32::from_le_bytes(ends.word(1, ends.offset + run)?).into(),
            _ => i64::from_le_bytes(ends.word(1, ends.offset + run)?),
        })
    }

    /// Returns the index of the run that contains a value.
    pub(super) fn run(&self, place: usize) -> Result<usize, Illegal> {
        let ends = &self.children[0];
        let mut before = 0;
        for run in 0..ends.length {
            let end = self.run_end(run)?;
            if end <= before {
                return Err(Illegal);
            }
            if end > place as i64 {
                return Ok(run);
            }
            before = end;
        }
        Err(Illegal)
    }

    /// Returns the index of the union's child that has a value, and the index of the value in that child.
    pub(super) fn member(&self, place: usize) -> Result<(usize, usize), Illegal> {
        let DataType::Union(fields, mode) = &self.kind else { unreachable!() };
        let id = i8::from_le_bytes(self.word(0, place)?);
        let index = fields.iter().position(|(known, _)| known == id).ok_or(Illegal)?;
        let at = match mode {
            UnionMode::Sparse => place,
            UnionMode::Dense => {
                usize::try_from(i32::from_le_bytes(self.word(1, place)?)).map_err(|_| Illegal)?
            }
        };
        Ok((index, at))
    }

    /// Returns a value as JSON.
    pub(super) fn read(&self, at: usize) -> Read {
        use DataType::*;
        if at >= self.length {
            return Err(Illegal);
        }
        let place = self.offset + at;
        if self.is_null(place) {
            return Ok(Value::Null);
        }
        Ok(match &self.kind {
            Boolean => {
                json!(self.buffers[1].as_ref().ok_or(Illegal)?[place / 8] >> (place % 8) & 1 == 1)
            }
            Int16 => json!(i16::from_le_bytes(self.word(1, place)?)),
            Int32 => json!(i32::from_le_bytes(self.word(1, place)?)),
            Int64 => json!(i64::from_le_bytes(self.word(1, place)?)),
            Float64 => json!(f64::from_le_bytes(self.word(1, place)?)),
            Utf8 | LargeUtf8 | Utf8View => json!(String::from_utf8(self.bytes(place)?).map_err(|_| Illegal)?),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => {
                json!(self.bytes(place)?.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }
            List(_) | LargeList(_) | ListView(_) | LargeListView(_) | FixedSizeList(_, _) => {
                self.children[0].list(self.range(place)?)?
            }
            Struct(fields) => {
                let member =
                    |(field, child): (&Arc<Field>, &Tree)| Ok((field.name().clone(), child.read(place)?));
                Value::Object(fields.iter().zip(&self.children).map(member).collect::<Result<_, _>>()?)
            }
            Map(_, _) => {
                let mut object = serde_json::Map::new();
                for entry in self.range(place)? {
                    let Value::Object(mut entry) = self.children[0].read(entry)? else { return Err(Illegal) };
                    let key = match entry.remove("key") {
                        Some(Value::String(key)) => key,
                        Some(Value::Null) | None => return Err(Illegal),
                        Some(other) => other.to_string(),
                    };
                    object.insert(key, entry.remove("value").unwrap_or_default());
                }
                Value::Object(object)
            }
            Dictionary(_, _) => self.dictionary.as_ref().ok_or(Illegal)?.read(self.key(place)?)?,
            RunEndEncoded(_, _) => self.children[1].read(self.run(place)?)?,
            Union(_, _) => {
                let (index, at) = self.member(place)?;
                self.children[index].read(at)?
            }
            other => unreachable!("{other}"),
        })
    }
}
