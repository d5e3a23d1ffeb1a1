//! Imports arrays of the C data interface as arrays of the Arrow crate, through constructors that check everything.
//!
//! Only the part of an array that its rows use is read, so a slice of a long array takes no longer than a short array. (Dictionaries and
//! the ends of runs are read whole.) Values that belong to no row, such as the children of a NULL, may be garbage. Garbage that the
//! constructors would refuse (in views, keys and ranges) is replaced.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, UnionFields, UnionMode};

use super::Fault;
use super::level::{Each, Level};
use super::raw::Node;

type Built = Result<ArrayRef, Fault>;

/// The dictionaries of the previous array. Batches often share dictionaries, and a shared dictionary is imported only once.
#[derive(Default)]
pub(super) struct Dictionaries {
    known: Vec<Option<Known>>,
    next: usize,
}

struct Known {
    identity: Vec<usize>,
    values: ArrayRef,
    /// The owner of the dictionary's memory, which stays allocated so that no other dictionary gets the same addresses.
    _owner: Arc<FFI_ArrowArray>,
}

impl Dictionaries {
    /// Goes back to the first dictionary, before the next array is imported.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }

    fn import(&mut self, dictionary: Node<'_>, level: &Level<'_>) -> Built {
        let index = self.next;
        self.next += 1;
        let mut identity = Vec::new();
        dictionary.identity(&mut identity).map_err(|message| level.whole(message))?;
        if let Some(Some(known)) = self.known.get(index)
            && known.identity == identity
        {
            self.next += nested_dictionaries(dictionary.kind());
            return Ok(Arc::clone(&known.values));
        }
        let values = build(dictionary, 0, dictionary.length(), level, self)?;
        let _owner = Arc::clone(dictionary.owner());
        self.known.resize_with(self.known.len().max(index + 1), || None);
        self.known[index] = Some(Known { identity, values: Arc::clone(&values), _owner });
        Ok(values)
    }
}

/// Returns the number of dictionaries nested in a type.
fn nested_dictionaries(kind: &DataType) -> usize {
    use DataType::*;
    match kind {
        Dictionary(_, values) => 1 + nested_dictionaries(values),
        List(field)
        | LargeList(field)
        | ListView(field)
        | LargeListView(field)
        | FixedSizeList(field, _)
        | Map(field, _)
        | RunEndEncoded(_, field) => nested_dictionaries(field.data_type()),
        Struct(fields) => fields.iter().map(|field| nested_dictionaries(field.data_type())).sum(),
        Union(fields, _) => fields.iter().map(|(_, field)| nested_dictionaries(field.data_type())).sum(),
        _ => 0,
    }
}

/// Returns the type of the imported array: text becomes binary data, because it is not checked yet, and a map becomes a list of entries.
pub(super) fn plain(kind: &DataType) -> DataType {
    use DataType::*;
    match kind {
        Utf8 => Binary,
        LargeUtf8 => LargeBinary,
        Utf8View => BinaryView,
        List(field) | Map(field, _) => List(plain_field(field)),
        LargeList(field) => LargeList(plain_field(field)),
        ListView(field) => ListView(plain_field(field)),
        LargeListView(field) => LargeListView(plain_field(field)),
        FixedSizeList(field, size) => FixedSizeList(plain_field(field), *size),
        Struct(fields) => Struct(fields.iter().map(plain_field).collect()),
        Dictionary(keys, values) => Dictionary(keys.clone(), Box::new(plain(values))),
        Union(fields, mode) => {
            Union(fields.iter().map(|(id, field)| (id, plain_field(field))).collect(), *mode)
        }
        RunEndEncoded(ends, values) => RunEndEncoded(
            Arc::new(Field::new(Field::REE_RUN_ENDS_FIELD_DEFAULT_NAME, ends.data_type().clone(), false)),
            Arc::new(Field::new(Field::REE_VALUES_FIELD_DEFAULT_NAME, plain(values.data_type()), true)),
        ),
        other => other.clone(),
    }
}

/// Returns a field of the imported type. It is nullable, because a producer may store NULLs even in a field that is declared without them.
pub(super) fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::new(field.name(), plain(field.data_type()), true))
}

/// Imports `len` values of an array, starting at value `from`. `level` maps the values to their rows.
pub(super) fn build(
    node: Node<'_>,
    from: usize,
    len: usize,
    level: &Level<'_>,
    dictionaries: &mut Dictionaries,
) -> Built {
    let whole = |message: String| level.whole(message);
    node.check().map_err(whole)?;
    if from.checked_add(len).is_none_or(|end| end > node.length()) {
        let message =
            format!("{} values are needed, but there are {}", from.saturating_add(len), node.length());
        return Err(level.fault(node.length().saturating_sub(from), message));
    }
    let nulls = node.nulls(from, len).map_err(whole)?;
    let this = This { node, from, len, nulls, level };
    use DataType::*;
    match node.kind() {
        Null => Ok(Arc::new(NullArray::new(len))),
        Boolean => Ok(Arc::new(BooleanArray::new(node.booleans(from, len).map_err(whole)?, this.nulls))),
        Utf8 | Binary => this.bytes::<BinaryType>(),
        LargeUtf8 | LargeBinary => this.bytes::<LargeBinaryType>(),
        Utf8View | BinaryView => this.views(),
        FixedSizeBinary(bytes) => {
            let values = node.entries(1, from, len).map_err(whole)?;
            let array = FixedSizeBinaryArray::try_new_with_len(*bytes, values, this.nulls, len);
            built(array, level)
        }
        List(field) | Map(field, _) => this.list::<i32>(field, dictionaries),
        LargeList(field) => this.list::<i64>(field, dictionaries),
        ListView(field) => this.list_view::<i32>(field, dictionaries),
        LargeListView(field) => this.list_view::<i64>(field, dictionaries),
        FixedSizeList(field, size) => this.fixed_size_list(field, *size, dictionaries),
        Struct(fields) => {
            let columns = this.members(fields.iter().map(|field| field.name().as_str()), dictionaries)?;
            let fields = fields.iter().map(plain_field).collect();
            built(StructArray::try_new_with_length(fields, columns, this.nulls, len), level)
        }
        Dictionary(keys, _) => match **keys {
            Int8 => this.dictionary::<Int8Type>(dictionaries),
            Int16 => this.dictionary::<Int16Type>(dictionaries),
            Int32 => this.dictionary::<Int32Type>(dictionaries),
            Int64 => this.dictionary::<Int64Type>(dictionaries),
            UInt8 => this.dictionary::<UInt8Type>(dictionaries),
            UInt16 => this.dictionary::<UInt16Type>(dictionaries),
            UInt32 => this.dictionary::<UInt32Type>(dictionaries),
            UInt64 => this.dictionary::<UInt64Type>(dictionaries),
            ref other => Err(level.whole(format!("its keys are of type {other}"))),
        },
        RunEndEncoded(ends, _) => match ends.data_type() {
            Int16 => this.runs::<Int16Type>(dictionaries),
            Int32 => this.runs::<Int32Type>(dictionaries),
            Int64 => this.runs::<Int64Type>(dictionaries),
            other => Err(level.whole(format!("its run ends are of type {other}"))),
        },
        Union(fields, mode) => this.union(fields, *mode, dictionaries),
        Decimal32(digits, scale) => this.decimal::<Decimal32Type>(*digits, *scale),
        Decimal64(digits, scale) => this.decimal::<Decimal64Type>(*digits, *scale),
        Decimal128(digits, scale) => this.decimal::<Decimal128Type>(*digits, *scale),
        Decimal256(digits, scale) => this.decimal::<Decimal256Type>(*digits, *scale),
        _ => this.primitive(),
    }
}

/// Returns the array that a constructor created. The constructors should not fail, because the parts are checked before.
fn built(array: Result<impl Array + 'static, ArrowError>, level: &Level<'_>) -> Built {
    match array {
        Ok(array) => Ok(Arc::new(array)),
        Err(error) => Err(level.whole(error.to_string())),
    }
}

/// The array that is being imported, and the range of its values.
struct This<'a> {
    node: Node<'a>,
    from: usize,
    len: usize,
    nulls: Option<NullBuffer>,
    level: &'a Level<'a>,
}

impl This<'_> {
    fn is_null(&self, value: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(value))
    }

    fn whole(&self, message: impl Into<String>) -> Fault {
        self.level.whole(message)
    }

    /// Returns a buffer's entries for the imported values, as numbers.
    fn numbers<T: ArrowNativeType>(&self, buffer: usize) -> Result<ScalarBuffer<T>, Fault> {
        let entries = self.node.entries(buffer, self.from, self.len);
        Ok(ScalarBuffer::new(entries.map_err(|message| self.whole(message))?, 0, self.len))
    }

    fn primitive(self) -> Built {
        macro_rules! primitive {
            ($t:ty) => {{
                let array = PrimitiveArray::<$t>::try_new(self.numbers(1)?, self.nulls.clone());
                let kind = self.node.kind().clone();
                built(array.map(|array| array.with_data_type(kind)), self.level)
            }};
        }
        downcast_primitive! {
            self.node.kind() => (primitive),
            other => Err(self.whole(format!("the type {other} is not supported")))
        }
    }

    fn decimal<T: DecimalType>(self, digits: u8, scale: i8) -> Built {
        let array = PrimitiveArray::<T>::try_new(self.numbers(1)?, self.nulls.clone());
        built(array.and_then(|array| array.with_precision_and_scale(digits, scale)), self.level)
    }

    /// Returns the offsets, after a check that they ascend.
    fn offsets<O: OffsetSizeTrait>(&self) -> Result<OffsetBuffer<O>, Fault> {
        let buffer = self.node.offsets(self.from, self.len).map_err(|message| self.whole(message))?;
        let offsets = ScalarBuffer::<O>::new(buffer, 0, self.len + 1);
        let zero = O::usize_as(0);
        let ascend = offsets.windows(2).fold(true, |ascend, pair| ascend & (pair[0] <= pair[1]));
        if !ascend || offsets[0] < zero {
            let wrong = (0..self.len).find(|at| offsets[*at] < zero || offsets[*at] > offsets[at + 1]);
            let at = wrong.unwrap_or(0);
            let message =
                format!("its offsets are {:?} and {:?}", offsets[at], offsets[(at + 1).min(self.len)]);
            return Err(self.level.fault(at, message));
        }
        Ok(OffsetBuffer::new(offsets))
    }

    fn bytes<T: ByteArrayType>(self) -> Built {
        let offsets = self.offsets::<T::Offset>()?;
        let data = self.node.data().map_err(|message| self.whole(message))?;
        if offsets[self.len].as_usize() > data.len() {
            let beyond = |slot: &usize| offsets[slot + 1].as_usize() > data.len();
            let slot = (0..self.len).find(beyond).unwrap_or(0);
            let message = format!("it ends at byte {:?} of {}", offsets[slot + 1], data.len());
            return Err(self.level.fault(slot, message));
        }
        built(GenericByteArray::<T>::try_new(offsets, data, self.nulls.clone()), self.level)
    }

    fn views(self) -> Built {
        let views = self.numbers::<u128>(1)?;
        let buffers: Arc<[Buffer]> = self.node.view_data().map_err(|message| self.whole(message))?.into();
        let array = BinaryViewArray::try_new(views.clone(), Arc::clone(&buffers), self.nulls.clone());
        if let Ok(array) = array {
            return Ok(Arc::new(array));
        }
        let views = self.replaced(&views, 0, |at| view_fault(views[at], &buffers))?;
        built(BinaryViewArray::try_new(views.into(), buffers, self.nulls.clone()), self.level)
    }

    /// Returns the values, with `default` instead of invalid values that belong to no row. An invalid value that belongs to a row is a fault.
    fn replaced<T: Copy>(
        &self,
        values: &[T],
        default: T,
        fault: impl Fn(usize) -> Option<String>,
    ) -> Result<Vec<T>, Fault> {
        let reached = OnceCell::new();
        let value = |at: usize| match fault(at) {
            None => Ok(values[at]),
            Some(_) if self.is_null(at) || !reached.get_or_init(|| self.level.reached())[at] => Ok(default),
            Some(message) => Err(self.level.fault(at, message)),
        };
        (0..values.len()).map(value).collect()
    }

    fn list<O: OffsetSizeTrait>(self, field: &FieldRef, dictionaries: &mut Dictionaries) -> Built {
        let offsets = self.offsets::<O>()?;
        let (first, last) = (offsets[0].as_usize(), offsets[self.len].as_usize());
        let edges = |each: Each<'_>| {
            for slot in (0..self.len).filter(|slot| !self.is_null(*slot)) {
                each(slot, offsets[slot].as_usize() - first..offsets[slot + 1].as_usize() - first);
            }
        };
        let below = self.level.child("[]", last - first, &edges);
        let values = build(self.node.child(0), first, last - first, &below, dictionaries)?;
        let moved = match first {
            0 => offsets.clone(),
            _ => OffsetBuffer::new(offsets.iter().map(|offset| *offset - offsets[0]).collect()),
        };
        built(
            GenericListArray::<O>::try_new(plain_field(field), moved, values, self.nulls.clone()),
            self.level,
        )
    }

    fn list_view<O: OffsetSizeTrait>(self, field: &FieldRef, dictionaries: &mut Dictionaries) -> Built {
        let (offsets, sizes) = (self.numbers::<O>(1)?, self.numbers::<O>(2)?);
        let values = self.node.child(0);
        values.check().map_err(|message| self.whole(message))?;
        let range = |at: usize| {
            let start = offsets[at].to_usize()?;
            let end = start.checked_add(sizes[at].to_usize()?)?;
            (end <= values.length()).then_some(start..end)
        };
        let fault = |at: usize| match range(at) {
            Some(_) => None,
            None => {
                let (offset, size) = (offsets[at], sizes[at]);
                Some(format!(
                    "it should have {size:?} values from value {offset:?} on, but there are {}",
                    values.length()
                ))
            }
        };
        // An invalid list that belongs to no row, and a NULL, become empty lists.
        let slots: Vec<Option<usize>> =
            (0..self.len).map(|slot| (!self.is_null(slot)).then_some(slot)).collect();
        let slots = self.replaced(&slots, None, fault)?;
        let range = |slot: Option<usize>| range(slot?).filter(|range| !range.is_empty());
        let ranges: Vec<Option<Range<usize>>> = slots.into_iter().map(range).collect();
        let first = ranges.iter().flatten().map(|range| range.start).min().unwrap_or(0);
        let last = ranges.iter().flatten().map(|range| range.end).max().unwrap_or(0);
        let edges = |each: Each<'_>| {
            for (slot, range) in ranges.iter().enumerate() {
                let Some(range) = range else { continue };
                each(slot, range.start - first..range.end - first);
            }
        };
        let below = self.level.child("[]", last - first, &edges);
        let values = build(values, first, last - first, &below, dictionaries)?;
        let offset = |range: &Option<Range<usize>>| range.as_ref().map_or(0, |range| range.start - first);
        let size = |range: &Option<Range<usize>>| range.as_ref().map_or(0, Range::len);
        let offsets: Vec<O> = ranges.iter().map(|range| O::usize_as(offset(range))).collect();
        let sizes: Vec<O> = ranges.iter().map(|range| O::usize_as(size(range))).collect();
        let array = GenericListViewArray::<O>::try_new(
            plain_field(field),
            offsets.into(),
            sizes.into(),
            values,
            self.nulls.clone(),
        );
        built(array, self.level)
    }

    fn fixed_size_list(self, field: &FieldRef, size: i32, dictionaries: &mut Dictionaries) -> Built {
        let each_has =
            usize::try_from(size).map_err(|_| self.whole(format!("its lists have {size} values")))?;
        let first = (self.node.offset() + self.from).checked_mul(each_has);
        let (Some(first), Some(count)) = (first, self.len.checked_mul(each_has)) else {
            return Err(self.whole("it is too long"));
        };
        let edges = |each: Each<'_>| {
            for slot in (0..self.len).filter(|slot| !self.is_null(*slot)) {
                each(slot, slot * each_has..(slot + 1) * each_has);
            }
        };
        let below = self.level.child("[]", count, &edges);
        let values = build(self.node.child(0), first, count, &below, dictionaries)?;
        let array = FixedSizeListArray::try_new_with_length(
            plain_field(field),
            size,
            values,
            self.nulls.clone(),
            self.len,
        );
        built(array, self.level)
    }

    /// Imports the children of a struct.
    fn members<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        dictionaries: &mut Dictionaries,
    ) -> Result<Vec<ArrayRef>, Fault> {
        let edges = |each: Each<'_>| {
            (0..self.len).filter(|slot| !self.is_null(*slot)).for_each(|slot| each(slot, slot..slot + 1));
        };
        let first = self.node.offset() + self.from;
        let member = |(index, name): (usize, &str)| {
            let below = self.level.child(name, self.len, &edges);
            build(self.node.child(index), first, self.len, &below, dictionaries)
        };
        names.enumerate().map(member).collect()
    }

    fn dictionary<K: ArrowDictionaryKeyType>(self, dictionaries: &mut Dictionaries) -> Built {
        let keys = self.numbers::<K::Native>(1)?;
        let dictionary = self.node.dictionary();
        dictionary.check().map_err(|message| self.whole(message))?;
        let values = dictionary.length();
        let is_wrong = |key: K::Native| key.to_usize().is_none_or(|key| key >= values);
        let fault = |at: usize| {
            is_wrong(keys[at])
                .then(|| format!("its key is {:?}, but the dictionary has {values} values", keys[at]))
        };
        let mut nulls = self.nulls.clone();
        if keys.iter().fold(false, |wrong, key| wrong | is_wrong(*key)) {
            self.replaced(&keys, K::Native::usize_as(0), fault)?;
            let right: NullBuffer = keys.iter().map(|key| !is_wrong(*key)).collect::<Vec<bool>>().into();
            nulls = NullBuffer::union(nulls.as_ref(), Some(&right));
        }
        let edges = |each: Each<'_>| {
            for (slot, key) in keys.iter().enumerate() {
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(slot)) {
                    each(slot, key.as_usize()..key.as_usize() + 1);
                }
            }
        };
        let below = self.level.child("", values, &edges);
        let values = dictionaries.import(dictionary, &below)?;
        let keys = PrimitiveArray::<K>::try_new(keys.clone(), nulls.clone());
        built(keys.and_then(|keys| DictionaryArray::try_new(keys, values)), self.level)
    }

    fn runs<R: RunEndIndexType>(self, dictionaries: &mut Dictionaries) -> Built {
        let of_ends = self.node.child(0);
        of_ends.check().map_err(|message| self.whole(message))?;
        let count = of_ends.length();
        if of_ends.nulls(0, count).map_err(|message| self.whole(message))?.is_some() {
            return Err(self.whole("a run end is NULL"));
        }
        let ends = of_ends.entries(1, 0, count).map_err(|message| self.whole(message))?;
        let ends = ScalarBuffer::<R::Native>::new(ends, 0, count);
        let (start, end) = (self.node.offset() + self.from, self.node.offset() + self.from + self.len);
        // The runs that contain the values, and their ends relative to the first value.
        let (mut before, mut first, mut within) = (0, 0, Vec::new());
        for (run, run_end) in ends.iter().enumerate() {
            let run_end = run_end.to_usize().filter(|run_end| *run_end > before).ok_or_else(|| {
                let message =
                    format!("its run {run} ends at {run_end:?}, but the run before ends at {before}");
                self.level.fault(before.saturating_sub(start), message)
            })?;
            before = run_end;
            if run_end <= start {
                first = run + 1;
            } else if within.len() < self.len && within.last() != Some(&self.len) {
                within.push(run_end.min(end) - start);
            }
        }
        if before < end {
            let message = format!("its runs end at {before}, but {end} values are needed");
            return Err(self.level.fault(before.saturating_sub(start), message));
        }
        let edges = |each: Each<'_>| {
            let mut slot = 0;
            for (run, end) in within.iter().enumerate() {
                (slot..*end).for_each(|slot| each(slot, run..run + 1));
                slot = *end;
            }
        };
        let below = self.level.child("", within.len(), &edges);
        let values = build(self.node.child(1), first, within.len(), &below, dictionaries)?;
        let ends: Vec<R::Native> = within.iter().map(|end| R::Native::usize_as(*end)).collect();
        let ends = PrimitiveArray::<R>::try_new(ends.into(), None);
        built(ends.and_then(|ends| RunArray::try_new(&ends, &values)), self.level)
    }

    fn union(self, fields: &UnionFields, mode: UnionMode, dictionaries: &mut Dictionaries) -> Built {
        let ids = self.numbers::<i8>(0)?;
        if let Some(slot) = ids.iter().position(|id| fields.iter().all(|(known, _)| known != *id)) {
            return Err(self.level.fault(slot, format!("its type id is {}", ids[slot])));
        }
        let offsets = match mode {
            UnionMode::Sparse => None,
            UnionMode::Dense => Some(self.numbers::<i32>(1)?),
        };
        if let Some(offsets) = &offsets
            && let Some(slot) = offsets.iter().position(|offset| *offset < 0)
        {
            return Err(self.level.fault(slot, format!("its offset is {}", offsets[slot])));
        }
        if let Some(offsets) = &offsets {
            for (index, (id, _)) in fields.iter().enumerate() {
                let values = self.node.child(index).length();
                let beyond = |slot: &usize| ids[*slot] == id && offsets[*slot] as usize >= values;
                if let Some(slot) = (0..self.len).find(beyond) {
                    let message =
                        format!("its offset is {}, but its child has {values} values", offsets[slot]);
                    return Err(self.level.fault(slot, message));
                }
            }
        }
        let mut moved = offsets.as_ref().map(|offsets| offsets.to_vec());
        let mut children = Vec::new();
        for (index, (id, field)) in fields.iter().enumerate() {
            let slots = || (0..self.len).filter(|slot| ids[*slot] == id);
            let (first, count) = match &offsets {
                None => (self.node.offset() + self.from, self.len),
                Some(offsets) => {
                    let first = slots().map(|slot| offsets[slot] as usize).min().unwrap_or(0);
                    let end = slots().map(|slot| offsets[slot] as usize + 1).max().unwrap_or(0);
                    (first, end - first)
                }
            };
            let place = |slot: usize| offsets.as_ref().map_or(slot, |offsets| offsets[slot] as usize - first);
            let edges = |each: Each<'_>| slots().for_each(|slot| each(slot, place(slot)..place(slot) + 1));
            let below = self.level.child(field.name(), count, &edges);
            children.push(build(self.node.child(index), first, count, &below, dictionaries)?);
            if let Some(moved) = &mut moved {
                slots().for_each(|slot| moved[slot] = place(slot) as i32);
            }
        }
        let DataType::Union(fields, _) = plain(self.node.kind()) else {
            unreachable!("the caller has checked that this is a union")
        };
        built(UnionArray::try_new(fields, ids, moved.map(ScalarBuffer::from), children), self.level)
    }
}

/// Returns a description of what is wrong with a view, or `None` if the view is valid.
fn view_fault(view: u128, buffers: &[Buffer]) -> Option<String> {
    let bytes = view.to_le_bytes();
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
    let (len, buffer, offset) = (word(0), word(8), word(12));
    if len <= 12 {
        let is_padded = bytes[4 + len..].iter().all(|byte| *byte == 0);
        return (!is_padded).then(|| format!("its view of {len} bytes is not filled up with zeros"));
    }
    let data = buffers.get(buffer).and_then(|data| data.get(offset..offset.checked_add(len)?));
    match data {
        None => Some(format!(
            "its view refers to {len} bytes at {offset} of buffer {buffer}, which are outside the buffer"
        )),
        Some(data) => (data[..4] != bytes[4..8])
            .then(|| "the first bytes in its view differ from those of its text".to_owned()),
    }
}
