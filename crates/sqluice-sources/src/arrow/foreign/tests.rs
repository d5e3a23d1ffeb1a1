//! Random arrays of every layout, legal and corrupted, beside a slow reader that knows the sizes of all buffers.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::{DataType, Field, Fields, Schema, UnionFields, UnionMode};
use fastrand::Rng;
use serde_json::{Value, json};
use sqluice_core::batch::Values;
use sqluice_testkit::effort::tries;

use super::super::ArrowOptions;
use super::super::column::{Refusal, Wanted, convert};
use super::super::nested::{self, Json};
use super::ForeignBatches;
use super::raw::Raw;

/// An array whose buffers have sizes.
#[derive(Clone, Debug)]
struct Tree {
    kind: DataType,
    length: usize,
    offset: usize,
    null_count: i64,
    /// Those of the interface, but for the sizes of the buffers behind views.
    buffers: Vec<Option<Vec<u8>>>,
    children: Vec<Tree>,
    dictionary: Option<Box<Tree>>,
}

/// Why a value can't be read.
#[derive(Debug, PartialEq)]
struct Illegal;

type Read = Result<Value, Illegal>;

impl Tree {
    fn word<const N: usize>(&self, buffer: usize, entry: usize) -> Result<[u8; N], Illegal> {
        let bytes = self.buffers[buffer].as_deref().unwrap_or_default();
        let entry = bytes.get(entry * N..entry * N + N).ok_or(Illegal)?;
        Ok(entry.try_into().expect("N bytes"))
    }

    fn offset_at(&self, buffer: usize, entry: usize) -> Result<usize, Illegal> {
        use DataType::*;
        let is_large = matches!(self.kind, LargeUtf8 | LargeBinary | LargeList(_) | LargeListView(_));
        let offset = match is_large {
            true => i64::from_le_bytes(self.word(buffer, entry)?),
            false => i32::from_le_bytes(self.word(buffer, entry)?).into(),
        };
        usize::try_from(offset).map_err(|_| Illegal)
    }

    fn is_null(&self, place: usize) -> bool {
        use DataType::*;
        if matches!(self.kind, Union(_, _) | RunEndEncoded(_, _) | Null) {
            return self.kind == Null;
        }
        self.buffers[0].as_ref().is_some_and(|bits| bits[place / 8] >> (place % 8) & 1 == 0)
    }

    /// The bytes of a text or a binary.
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

    /// The values of a list that are in the child.
    fn range(&self, place: usize) -> Result<std::ops::Range<usize>, Illegal> {
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

    fn key(&self, place: usize) -> Result<usize, Illegal> {
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

    /// The run that a value belongs to.
    fn run(&self, place: usize) -> Result<usize, Illegal> {
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

    /// The child of a union that has a value, and its place there.
    fn member(&self, place: usize) -> Result<(usize, usize), Illegal> {
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

    /// A value, as JSON.
    fn read(&self, at: usize) -> Read {
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

    /// All of this tree's arrays.
    fn each(&mut self, change: &mut dyn FnMut(&mut Tree)) {
        change(self);
        self.children.iter_mut().for_each(|child| child.each(change));
        if let Some(dictionary) = &mut self.dictionary {
            dictionary.each(change);
        }
    }

    /// Fills what no row has with garbage; `reached` says which values a row has.
    fn fill_with_garbage(&mut self, reached: &[bool], rng: &mut Rng) {
        use DataType::*;
        let places = self.offset + self.length;
        let has: Vec<bool> = (0..places)
            .map(|place| place >= self.offset && reached[place - self.offset] && !self.is_null(place))
            .collect();
        let of_child = |child: &Tree, values: &dyn Fn(usize) -> std::ops::Range<usize>| {
            let mut reached = vec![false; child.length];
            for place in (0..places).filter(|place| has[*place]) {
                reached[values(place)].fill(true);
            }
            reached
        };
        match &self.kind {
            Utf8 | LargeUtf8 | Binary | LargeBinary => {
                for place in (0..places).filter(|place| !has[*place]) {
                    let range = self.offset_at(1, place).unwrap()..self.offset_at(1, place + 1).unwrap();
                    if let Some(data) = &mut self.buffers[2] {
                        data[range].iter_mut().for_each(|byte| *byte = rng.u8(..));
                    }
                }
            }
            Utf8View | BinaryView => {
                for place in (0..places).filter(|place| !has[*place]) {
                    let views = self.buffers[1].as_mut().unwrap();
                    views[place * 16..][..16].iter_mut().for_each(|byte| *byte = rng.u8(..));
                }
            }
            ListView(_) | LargeListView(_) => {
                let width = if matches!(self.kind, ListView(_)) { 4 } else { 8 };
                let reached = of_child(&self.children[0], &|place| self.range(place).unwrap());
                for place in (0..places).filter(|place| !has[*place]) {
                    for buffer in [1, 2] {
                        let entries = self.buffers[buffer].as_mut().unwrap();
                        entries[place * width..][..width].iter_mut().for_each(|byte| *byte = rng.u8(..));
                    }
                }
                self.children[0].fill_with_garbage(&reached, rng);
            }
            List(_) | LargeList(_) | FixedSizeList(_, _) | Map(_, _) => {
                let reached = of_child(&self.children[0], &|place| self.range(place).unwrap());
                self.children[0].fill_with_garbage(&reached, rng);
            }
            Struct(_) => {
                for child in &mut self.children {
                    let mut reached = vec![false; child.length];
                    reached[..places].copy_from_slice(&has);
                    child.fill_with_garbage(&reached, rng);
                }
            }
            Dictionary(_, _) => {
                let dictionary = self.dictionary.as_ref().unwrap();
                let key = |place| self.key(place).map_or(0..0, |key| key..key + 1);
                let reached = of_child(dictionary, &key);
                let width = self.buffers[1].as_ref().map_or(0, |keys| keys.len() / places.max(1));
                for place in (0..places).filter(|place| !has[*place]) {
                    let keys = self.buffers[1].as_mut().unwrap();
                    keys[place * width..][..width].iter_mut().for_each(|byte| *byte = rng.u8(..));
                }
                self.dictionary.as_mut().unwrap().fill_with_garbage(&reached, rng);
            }
            RunEndEncoded(_, _) => {
                let run = |place| self.run(place).map_or(0..0, |run| run..run + 1);
                let reached = of_child(&self.children[1], &run);
                self.children[1].fill_with_garbage(&reached, rng);
            }
            Union(_, _) => {
                for index in 0..self.children.len() {
                    let member = |place| match self.member(place) {
                        Ok((found, at)) if found == index => at..at + 1,
                        _ => 0..0,
                    };
                    let reached = of_child(&self.children[index], &member);
                    self.children[index].fill_with_garbage(&reached, rng);
                }
            }
            _ => {}
        }
    }
}

/// A random type.
fn kind(rng: &mut Rng, depth: usize) -> DataType {
    use DataType::*;
    let field = |name: &str, kind| Arc::new(Field::new(name, kind, true));
    let inner = |rng: &mut Rng| kind(rng, depth.saturating_sub(1));
    match rng.usize(..if depth == 0 { 14 } else { 26 }) {
        0 => Null,
        1 => Boolean,
        2 => Int32,
        3 => Int64,
        4 => Float64,
        5 | 6 => Utf8,
        7 => LargeUtf8,
        8 | 9 => Utf8View,
        10 => Binary,
        11 => LargeBinary,
        12 => BinaryView,
        13 => FixedSizeBinary(rng.i32(0..5)),
        14 | 15 => List(field("item", inner(rng))),
        16 => LargeList(field("item", inner(rng))),
        17 => ListView(field("item", inner(rng))),
        18 => LargeListView(field("item", inner(rng))),
        19 => FixedSizeList(field("item", inner(rng)), rng.i32(0..4)),
        20 => Struct(Fields::from(vec![field("a", inner(rng)), field("b", inner(rng))])),
        21 => {
            let entries = Struct(Fields::from(vec![
                Arc::new(Field::new("key", Utf8, false)),
                field("value", inner(rng)),
            ]));
            Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        22 | 23 => {
            let keys = [Int8, UInt8, Int32, UInt32, Int64, UInt64];
            Dictionary(Box::new(keys[rng.usize(..keys.len())].clone()), Box::new(inner(rng)))
        }
        24 => {
            let ends = [Int16, Int32, Int64];
            let ends = Field::new("run_ends", ends[rng.usize(..3)].clone(), false);
            RunEndEncoded(Arc::new(ends), field("values", inner(rng)))
        }
        _ => {
            let fields = [(3, field("x", inner(rng))), (5, field("y", inner(rng)))];
            let mode = [UnionMode::Sparse, UnionMode::Dense][rng.usize(..2)];
            Union(UnionFields::from_iter(fields), mode)
        }
    }
}

fn text(rng: &mut Rng) -> Vec<u8> {
    let words =
        ["", "a", "é", "日本", "twelve bytes", "thirteen byte", "longer than a view has room for", "𝄞"];
    words[rng.usize(..words.len())].as_bytes().to_vec()
}

/// A legal array of the type with this number of values.
fn tree(kind: &DataType, length: usize, nullable: bool, rng: &mut Rng) -> Tree {
    use DataType::*;
    let offset = rng.usize(..3);
    let places = offset + length;
    let mut buffers = Vec::new();
    let mut children = Vec::new();
    let mut dictionary = None;
    let has_bitmap = !matches!(kind, Null | Union(_, _) | RunEndEncoded(_, _));
    let mut null_count = if *kind == Null { length as i64 } else { 0 };
    if has_bitmap {
        let bits: Vec<u8> = (0..places.div_ceil(8)).map(|_| rng.u8(..)).collect();
        buffers.push((nullable && rng.bool()).then_some(bits));
        if let Some(bits) = &buffers[0] {
            let is_null = |place: &usize| bits[place / 8] >> (place % 8) & 1 == 0;
            null_count = if rng.bool() { -1 } else { (offset..places).filter(is_null).count() as i64 };
        }
    }
    let le = |value: usize, is_large: bool| match is_large {
        true => (value as u64).to_le_bytes().to_vec(),
        false => (value as u32).to_le_bytes().to_vec(),
    };
    let is_large = matches!(kind, LargeUtf8 | LargeBinary | LargeList(_) | LargeListView(_));
    let mut random = |bytes: usize| Some((0..bytes).map(|_| rng.u8(..)).collect::<Vec<u8>>());
    match kind {
        Null => {}
        Boolean => buffers.push(random(places.div_ceil(8))),
        Int16 => buffers.push(random(places * 2)),
        Int32 => buffers.push(random(places * 4)),
        Int64 => buffers.push(random(places * 8)),
        Float64 => buffers.push(random(places * 8)),
        FixedSizeBinary(bytes) => buffers.push(random(places * *bytes as usize)),
        Utf8 | LargeUtf8 | Binary | LargeBinary => {
            let is_text = matches!(kind, Utf8 | LargeUtf8);
            let mut data = text(rng);
            let mut offsets = le(data.len(), is_large);
            for _ in 0..places {
                let value =
                    if is_text { text(rng) } else { (0..rng.usize(..5)).map(|_| rng.u8(..)).collect() };
                data.extend(value);
                offsets.extend(le(data.len(), is_large));
            }
            buffers.extend([Some(offsets), Some(data)]);
        }
        Utf8View | BinaryView => {
            let mut data = vec![text(rng), text(rng)];
            let mut views = Vec::new();
            for _ in 0..places {
                let text = text(rng);
                let mut view = [0; 16];
                view[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
                if text.len() <= 12 {
                    view[4..][..text.len()].copy_from_slice(&text);
                } else {
                    let buffer = rng.usize(..data.len());
                    view[4..8].copy_from_slice(&text[..4]);
                    view[8..12].copy_from_slice(&(buffer as u32).to_le_bytes());
                    view[12..].copy_from_slice(&(data[buffer].len() as u32).to_le_bytes());
                    data[buffer].extend(text);
                }
                views.extend(view);
            }
            buffers.push(Some(views));
            buffers.extend(data.into_iter().map(Some));
        }
        List(field) | LargeList(field) | Map(field, _) => {
            let mut end = rng.usize(..3);
            let mut offsets = le(end, is_large);
            for _ in 0..places {
                end += rng.usize(..4);
                offsets.extend(le(end, is_large));
            }
            buffers.push(Some(offsets));
            let child = tree(field.data_type(), end + rng.usize(..3), field.is_nullable(), rng);
            children.push(child);
        }
        ListView(field) | LargeListView(field) => {
            let values = rng.usize(..8);
            let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
            for _ in 0..places {
                let start = rng.usize(..=values);
                offsets.extend(le(start, is_large));
                sizes.extend(le(rng.usize(..=(values - start).min(3)), is_large));
            }
            buffers.extend([Some(offsets), Some(sizes)]);
            children.push(tree(field.data_type(), values, true, rng));
        }
        FixedSizeList(field, size) => {
            children.push(tree(field.data_type(), places * *size as usize + rng.usize(..3), true, rng));
        }
        Struct(fields) => {
            for field in fields {
                let more = if nullable { rng.usize(..3) } else { 0 };
                children.push(tree(field.data_type(), places + more, field.is_nullable(), rng));
            }
        }
        Dictionary(keys, values) => {
            let count = 1 + rng.usize(..4);
            let width = keys.primitive_width().unwrap();
            let keys = (0..places).flat_map(|_| le(rng.usize(..count), true)[..width].to_vec());
            buffers.push(Some(keys.collect()));
            dictionary = Some(Box::new(tree(values, count, true, rng)));
        }
        RunEndEncoded(ends, values) => {
            let (mut run_ends, mut end, mut runs) = (Vec::new(), 0, 0);
            let width = ends.data_type().primitive_width().unwrap();
            while end < places {
                end += 1 + rng.usize(..4);
                run_ends.extend(&le(end, true)[..width]);
                runs += 1;
            }
            children.push(Tree {
                kind: ends.data_type().clone(),
                length: runs,
                offset: 0,
                null_count: 0,
                buffers: vec![None, Some(run_ends)],
                children: Vec::new(),
                dictionary: None,
            });
            children.push(tree(values.data_type(), runs, true, rng));
        }
        Union(fields, mode) => {
            let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
            let members: Vec<usize> = (0..places).map(|_| rng.usize(..ids.len())).collect();
            buffers.push(Some(members.iter().map(|member| ids[*member] as u8).collect()));
            let mut counts = vec![rng.usize(..2); ids.len()];
            let mut offsets = Vec::new();
            for member in &members {
                offsets.extend(le(counts[*member], false));
                counts[*member] += 1;
            }
            if *mode == UnionMode::Dense {
                buffers.push(Some(offsets));
            }
            for ((_, field), count) in fields.iter().zip(counts) {
                let values = if *mode == UnionMode::Dense { count } else { places };
                children.push(tree(field.data_type(), values, true, rng));
            }
        }
        other => unreachable!("{other}"),
    }
    Tree { kind: kind.clone(), length, offset, null_count, buffers, children, dictionary }
}

/// The rows of random columns.
fn rows(rng: &mut Rng) -> Tree {
    let columns = 1 + rng.usize(..2);
    let fields = (0..columns).map(|index| Field::new(format!("c{index}"), kind(rng, 3), true));
    let kind = DataType::Struct(fields.collect());
    let length = rng.usize(..12);
    tree(&kind, length, false, rng)
}

/// Changes something that buffers of a true size can say wrongly.
fn corrupt(tree: &mut Tree, rng: &mut Rng) {
    let mut arrays = 0;
    tree.each(&mut |_| arrays += 1);
    let (mut chosen, mut index) = (rng.usize(..arrays), 0);
    if rng.bool() {
        chosen = rng.usize(..arrays);
    }
    tree.each(&mut |tree| {
        index += 1;
        if index - 1 != chosen {
            return;
        }
        match rng.usize(..8) {
            // The root's length is the number of rows: a shorter one is legal.
            0 if chosen > 0 => tree.length -= rng.usize(..=tree.length),
            1 if tree.length > 0 => (tree.length, tree.offset) = (tree.length - 1, tree.offset + 1),
            2 => tree.null_count = rng.i64(-1..4),
            _ => {
                let count = tree.buffers.len();
                if count == 0 {
                    return;
                }
                let before = tree.clone();
                if let Some(buffer) = &mut tree.buffers[rng.usize(..count)]
                    && !buffer.is_empty()
                {
                    let at = rng.usize(..buffer.len());
                    match rng.usize(..3) {
                        0 => buffer[at] = rng.u8(..),
                        1 => buffer[at] ^= 1 << rng.u8(..8),
                        _ => {
                            let width = [1, 2, 4, 8, 16][rng.usize(..5)];
                            let at = at / width * width;
                            let entry = [0, 1, 2, 5, -1, i128::MAX][rng.usize(..6)].to_le_bytes();
                            let rest = &mut buffer[at..];
                            let width = width.min(rest.len());
                            rest[..width].copy_from_slice(&entry[..width]);
                        }
                    }
                }
                // The last offset says how long the data is, so that must be true.
                use DataType::*;
                if matches!(tree.kind, Utf8 | LargeUtf8 | Binary | LargeBinary)
                    && let Ok(last) = tree.offset_at(1, tree.offset + tree.length)
                {
                    match &mut tree.buffers[2] {
                        Some(data) if last > data.len() && last < 1 << 16 => data.resize(last, b'.'),
                        Some(data) if last > data.len() => *tree = before,
                        _ => {}
                    }
                }
            }
        }
    });
    // A shorter array may end at an offset that was in its middle.
    tree.each(&mut |tree| {
        use DataType::*;
        if matches!(tree.kind, Utf8 | LargeUtf8 | Binary | LargeBinary)
            && let Ok(last) = tree.offset_at(1, tree.offset + tree.length)
            && let Some(data) = &mut tree.buffers[2]
            && last > data.len()
        {
            assert!(last < 1 << 16, "no offset but the last is changed and lies beyond the data");
            data.resize(last, b'.');
        }
    });
}

/// What the pointers of an array point to. Every buffer is an allocation of its own, as long as it is.
#[derive(Default)]
struct Memory {
    buffers: Vec<Box<[u8]>>,
    pointers: Vec<Box<[*const c_void]>>,
    children: Vec<Box<[*mut Raw]>>,
    arrays: Vec<*mut Raw>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        for array in &self.arrays {
            // SAFETY: each comes from `Box::into_raw`, and no array uses it any more.
            drop(unsafe { Box::from_raw(*array) });
        }
    }
}

unsafe extern "C" fn release(array: *mut Raw) {
    // SAFETY: the interface calls it with the array.
    unsafe { (*array).release = None };
}

impl Memory {
    fn array(&mut self, tree: &Tree, rng: &mut Rng) -> *mut Raw {
        let mut buffers: Vec<Option<Vec<u8>>> = tree.buffers.clone();
        if matches!(tree.kind, DataType::Utf8View | DataType::BinaryView) {
            let sizes = tree.buffers[2..].iter().flatten();
            buffers.push(Some(sizes.flat_map(|data| (data.len() as i64).to_le_bytes()).collect()));
        }
        let mut pointers: Vec<*const c_void> = Vec::new();
        for buffer in buffers {
            let Some(bytes) = buffer else {
                pointers.push(ptr::null());
                continue;
            };
            // Some buffers are not aligned.
            let skipped = if rng.usize(..8) == 0 { 1 } else { 0 };
            let bytes: Box<[u8]> = [vec![0; skipped], bytes].concat().into();
            pointers.push(bytes[skipped..].as_ptr().cast());
            self.buffers.push(bytes);
        }
        let children: Vec<*mut Raw> = tree.children.iter().map(|child| self.array(child, rng)).collect();
        let dictionary = tree.dictionary.as_ref().map_or(ptr::null_mut(), |tree| self.array(tree, rng));
        self.pointers.push(pointers.into());
        self.children.push(children.into());
        let [pointers, children] = [
            self.pointers.last_mut().unwrap().as_mut_ptr().cast(),
            self.children.last_mut().unwrap().as_mut_ptr().cast::<c_void>(),
        ];
        let array = Raw {
            length: tree.length as i64,
            null_count: tree.null_count,
            offset: tree.offset as i64,
            n_buffers: self.pointers.last().unwrap().len() as i64,
            n_children: tree.children.len() as i64,
            buffers: pointers.cast(),
            children: children.cast(),
            dictionary,
            release: Some(release),
            private_data: ptr::null_mut(),
        };
        self.arrays.push(Box::into_raw(Box::new(array)));
        *self.arrays.last().unwrap()
    }

    fn ffi(&mut self, tree: &Tree, rng: &mut Rng) -> FFI_ArrowArray {
        let array = self.array(tree, rng);
        // SAFETY: it is an array of the interface.
        unsafe { FFI_ArrowArray::from_raw(array.cast()) }
    }
}

fn fields(tree: &Tree) -> Fields {
    let DataType::Struct(fields) = &tree.kind else { unreachable!() };
    fields.clone()
}

/// A row of a batch as JSON, unless it is a bad one.
fn row_of(batch: &RecordBatch, kinds: &[DataType], row: usize) -> Result<Value, String> {
    let mut text = String::new();
    let mut json = Json::new(&mut text, usize::MAX);
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let members = names.zip(kinds).zip(batch.columns()).map(|((name, kind), column)| (name, kind, column));
    nested::members_of(members, row, &mut json);
    match json.fault {
        Some(fault) => Err(fault),
        None => Ok(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))),
    }
}

/// Converts every column to a column of a batch: the texts have to be those of the rows, or one of them is refused.
fn convert_columns(batch: &RecordBatch, kinds: &[DataType], rows: &[Read]) {
    for (index, (column, kind)) in batch.columns().iter().zip(kinds).enumerate() {
        let options = ArrowOptions::new();
        let converted = match convert(column, Wanted { as_text: false, kind, options }, usize::MAX) {
            Ok(converted) => converted,
            Err(Refusal::Fault(fault)) => {
                assert_eq!(rows[fault.row], Err(Illegal), "{}", fault.message);
                continue;
            }
            Err(Refusal::Room(bytes)) => panic!("{bytes} bytes"),
        };
        let column = converted.column();
        let (Values::Text(bytes), true) = (&column.values, super::super::column::is_text(kind)) else {
            continue;
        };
        for (row, expected) in rows.iter().enumerate() {
            let Ok(Value::Object(values)) = expected else { continue };
            let is_null = column.validity.is_some_and(|validity| !validity.get(row));
            let text = (!is_null).then(|| str::from_utf8(bytes.get(row)).expect("a column has UTF-8"));
            assert_eq!(values[&format!("c{index}")].as_str(), text);
        }
    }
}

#[test]
fn legal_arrays_with_garbage_that_no_row_has_are_read_unchanged() {
    for seed in 0..tries(200, 2_000, 20_000) {
        let rng = &mut Rng::with_seed(seed);
        let mut tree = rows(rng);
        let reached = vec![true; tree.length];
        tree.fill_with_garbage(&reached, rng);
        let mut memory = Memory::default();
        let mut batches = ForeignBatches::new(&Schema::new(fields(&tree)));
        // The second time, dictionaries are known.
        for _ in 0..2 {
            let array = memory.ffi(&tree, &mut Rng::with_seed(seed));
            // SAFETY: it is an array of the interface whose buffers have their true sizes.
            let batch = unsafe { batches.import(array) };
            let batch = batch.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{tree:#?}"));
            let rows: Vec<Read> = (0..tree.length).map(|row| tree.read(row)).collect();
            for (row, expected) in rows.iter().enumerate() {
                let found = row_of(&batch, batches.kinds(), row);
                assert_eq!(found.as_ref(), Ok(expected.as_ref().unwrap()), "seed {seed}, row {row}");
            }
            convert_columns(&batch, batches.kinds(), &rows);
        }
    }
}

#[test]
fn corrupted_arrays_are_refused_or_have_the_values_that_a_slow_reader_finds() {
    let (mut refused, mut bad, mut sound) = (0, 0, 0);
    for seed in 0..tries(500, 10_000, 100_000) {
        let rng = &mut Rng::with_seed(seed);
        let mut tree = rows(rng);
        for _ in 0..1 + rng.usize(..3) {
            corrupt(&mut tree, rng);
        }
        let mut memory = Memory::default();
        let mut batches = ForeignBatches::new(&Schema::new(fields(&tree)));
        let array = memory.ffi(&tree, rng);
        // SAFETY: it is an array of the interface whose buffers have their true sizes.
        let batch = match unsafe { batches.import(array) } {
            Ok(batch) => batch,
            Err(error) => {
                assert!(!error.message().contains("its reader"), "seed {seed}: a panic: {error}");
                refused += 1;
                continue;
            }
        };
        assert_eq!(batch.num_rows(), tree.length);
        let rows: Vec<Read> = (0..tree.length).map(|row| tree.read(row)).collect();
        for (row, expected) in rows.iter().enumerate() {
            match (row_of(&batch, batches.kinds(), row), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(&found, expected, "seed {seed}, row {row}");
                    sound += 1;
                }
                (Err(_), Err(Illegal)) => bad += 1,
                (found, expected) => panic!("seed {seed}, row {row}: {found:?} and {expected:?}\n{tree:#?}"),
            }
        }
        convert_columns(&batch, batches.kinds(), &rows);
    }
    assert!(refused > 50 && bad > 0 && sound > 500, "{refused} refused, {bad} bad rows, {sound} sound ones");
}
