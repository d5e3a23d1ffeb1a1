//! Generates random arrays, garbage in values that belong to no row, and corrupted arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, UnionFields, UnionMode};
use fastrand::Rng;

use super::tree::Tree;

impl Tree {
    /// Calls `change` with every array of the tree.
    pub(super) fn each(&mut self, change: &mut dyn FnMut(&mut Tree)) {
        change(self);
        self.children.iter_mut().for_each(|child| child.each(change));
        if let Some(dictionary) = &mut self.dictionary {
            dictionary.each(change);
        }
    }

    /// Fills values that belong to no row with garbage. `reached` is `true` for values that belong to a row.
    pub(super) fn fill_with_garbage(&mut self, reached: &[bool], rng: &mut Rng) {
        use DataType::*;
        let places = self.offset + self.length;
        let has: Vec<bool> = (0..places)
            .map(|place| place >= self.offset && reached[place - self.offset] && !self.is_null(place))
            .collect();
        let of_child = |child: &Tree, values: &dyn Fn(usize) -> Range<usize>| {
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

/// Returns a random type.
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

/// Returns a random valid array of the type, with `length` values.
pub(super) fn tree(kind: &DataType, length: usize, nullable: bool, rng: &mut Rng) -> Tree {
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

/// Returns random rows: a struct array with one or two columns.
pub(super) fn rows(rng: &mut Rng) -> Tree {
    let columns = 1 + rng.usize(..2);
    let fields = (0..columns).map(|index| Field::new(format!("c{index}"), kind(rng, 3), true));
    let kind = DataType::Struct(fields.collect());
    let length = rng.usize(..12);
    tree(&kind, length, false, rng)
}

/// Corrupts the content of an array at random, but not the sizes of its buffers.
pub(super) fn corrupt(tree: &mut Tree, rng: &mut Rng) {
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
            // The length of the root is the number of rows, so a shorter root would still be valid.
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
                // An importer takes the last offset as the size of the data. If a corrupted last offset is beyond the data, the data grows
                // to it, or the corruption is undone.
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
    // An array that became shorter has another last offset, which may be a corrupted one, so the data grows here, too.
    tree.each(&mut |tree| {
        use DataType::*;
        if matches!(tree.kind, Utf8 | LargeUtf8 | Binary | LargeBinary)
            && let Ok(last) = tree.offset_at(1, tree.offset + tree.length)
            && let Some(data) = &mut tree.buffers[2]
            && last > data.len()
        {
            match last {
                0..0x1_0000 => data.resize(last, b'.'),
                _ => tree.length = 0,
            }
        }
    });
}
