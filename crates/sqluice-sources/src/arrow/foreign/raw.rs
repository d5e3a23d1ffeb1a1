//! Reads the buffers of an array in the layout of the [C data interface](https://arrow.apache.org/docs/format/CDataInterface.html).
//!
//! ```text
//!  length, null count, offset | buffers: pointers without sizes | children | dictionary
//! ```
//!
//! The interface passes a pointer to each buffer, but no size. The size follows from the type, the length and the offset, and for text also
//! from the last text's end offset. Only [`Node::root`] is unsafe: it trusts that the pointers are valid. Everything else is checked.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{DataType, UnionMode};

/// The C struct of an array, as the interface defines it.
#[repr(C)]
pub(super) struct Raw {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut Raw,
    pub(super) dictionary: *mut Raw,
    pub(super) release: Option<unsafe extern "C" fn(*mut Raw)>,
    pub(super) private_data: *mut c_void,
}

/// An array, a child of one, or a dictionary.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    raw: &'a Raw,
    kind: &'a DataType,
    owner: &'a Arc<FFI_ArrowArray>,
}

/// The index of the validity bitmap: the first buffer of every array that has one.
const VALIDITY: usize = 0;

impl<'a> Node<'a> {
    /// Creates the node of the outermost array.
    ///
    /// # Safety
    /// `owner` must be an array of the C data interface that has the type `kind` and is not released. Each of its pointers must be NULL or
    /// valid, and each buffer must be as long as the layout of the type requires, by the length, the offset and, for text and binary data,
    /// the last offset.
    pub(super) unsafe fn root(owner: &'a Arc<FFI_ArrowArray>, kind: &'a DataType) -> Node<'a> {
        // SAFETY: both types have the layout that the interface defines.
        let raw = unsafe { &*Arc::as_ptr(owner).cast::<Raw>() };
        Node { raw, kind, owner }
    }

    /// Returns the type of the values.
    pub(super) fn kind(self) -> &'a DataType {
        self.kind
    }

    /// Returns the outermost array, which owns all buffers.
    pub(super) fn owner(self) -> &'a Arc<FFI_ArrowArray> {
        self.owner
    }

    /// Checks the length, and that the numbers of buffers and children fit the type.
    pub(super) fn check(self) -> Result<(), String> {
        let Raw { length, offset, n_buffers, n_children, buffers, children, dictionary, .. } = *self.raw;
        if length < 0
            || offset < 0
            || length.checked_add(offset).is_none_or(|end| end > isize::MAX as i64 / 64)
        {
            return Err(format!("its length is {length} and its offset {offset}"));
        }
        let has = |number: i64, expected: usize| usize::try_from(number) == Ok(expected);
        let variadic = matches!(self.kind, DataType::Utf8View | DataType::BinaryView);
        let expected = self.expected_buffers();
        // Some libraries add an unused buffer to arrays of nulls.
        let fits = match self.kind {
            DataType::Null => true,
            _ if variadic => n_buffers >= expected as i64,
            _ => has(n_buffers, expected),
        };
        if !fits {
            return Err(format!("it has {n_buffers} buffers, but {} has {expected}", self.kind));
        }
        if buffers.is_null() && expected > 0 {
            return Err("its list of buffers is missing".to_owned());
        }
        let expected = self.child_kinds().len();
        if !has(n_children, expected) {
            return Err(format!("it has {n_children} children, but {} has {expected}", self.kind));
        }
        if expected > 0
            && (children.is_null() || (0..expected).any(|index| self.child_pointer(index).is_none()))
        {
            return Err("a child is missing".to_owned());
        }
        if dictionary.is_null() == matches!(self.kind, DataType::Dictionary(_, _)) {
            return Err("it lacks a dictionary that its type has, or has one that its type lacks".to_owned());
        }
        Ok(())
    }

    /// Returns the number of buffers of an array of this type; for a type with views, the minimum.
    fn expected_buffers(self) -> usize {
        use DataType::*;
        match self.kind {
            Null | RunEndEncoded(_, _) => 0,
            Struct(_) | FixedSizeList(_, _) | Union(_, UnionMode::Sparse) => 1,
            Utf8 | LargeUtf8 | Binary | LargeBinary => 3,
            Utf8View | BinaryView | ListView(_) | LargeListView(_) => 3,
            _ => 2,
        }
    }

    /// Returns the types of the children.
    fn child_kinds(self) -> Vec<&'a DataType> {
        use DataType::*;
        match self.kind {
            List(field)
            | LargeList(field)
            | ListView(field)
            | LargeListView(field)
            | FixedSizeList(field, _)
            | Map(field, _) => vec![field.data_type()],
            Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
            RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
            _ => Vec::new(),
        }
    }

    /// Returns the number of bytes of one entry of a buffer.
    fn entry_bytes(self, buffer: usize) -> usize {
        use DataType::*;
        match (self.kind, buffer) {
            (Utf8 | Binary | List(_) | Map(_, _), 1) | (ListView(_), 1 | 2) => size_of::<i32>(),
            (LargeUtf8 | LargeBinary | LargeList(_), 1) | (LargeListView(_), 1 | 2) => size_of::<i64>(),
            (Utf8View | BinaryView, 1) => size_of::<u128>(),
            (FixedSizeBinary(bytes), 1) => usize::try_from(*bytes).unwrap_or(0),
            (Union(_, _), 0) => size_of::<i8>(),
            (Union(_, UnionMode::Dense), 1) => size_of::<i32>(),
            (Dictionary(keys, _), 1) => keys.primitive_width().unwrap_or(0),
            (other, 1) => other.primitive_width().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns the number of values.
    pub(super) fn length(self) -> usize {
        usize::try_from(self.raw.length).unwrap_or(0)
    }

    /// Returns the index of the first value in the buffers.
    pub(super) fn offset(self) -> usize {
        usize::try_from(self.raw.offset).unwrap_or(0)
    }

    /// Returns a child. [`Node::check`] must have succeeded before.
    pub(super) fn child(self, index: usize) -> Node<'a> {
        let raw = self.child_pointer(index).expect("the array was checked");
        // SAFETY: a pointer of the array that is not NULL is valid, as the caller of `root` guarantees, and lives as long as the owner.
        Node { raw: unsafe { &*raw.as_ptr() }, kind: self.child_kinds()[index], owner: self.owner }
    }

    fn child_pointer(self, index: usize) -> Option<NonNull<Raw>> {
        assert!(i64::try_from(index).is_ok_and(|index| index < self.raw.n_children));
        // SAFETY: `children` points to `n_children` pointers, as the caller of `root` guarantees, and `index` is smaller.
        NonNull::new(unsafe { *self.raw.children.add(index) })
    }

    /// Returns the dictionary. [`Node::check`] must have succeeded before.
    pub(super) fn dictionary(self) -> Node<'a> {
        let DataType::Dictionary(_, kind) = self.kind else { unreachable!("the array was checked") };
        let raw = NonNull::new(self.raw.dictionary).expect("the array was checked");
        // SAFETY: a pointer of the array that is not NULL is valid, as in `child`.
        Node { raw: unsafe { &*raw.as_ptr() }, kind, owner: self.owner }
    }

    fn pointer(self, buffer: usize) -> Option<NonNull<u8>> {
        assert!(i64::try_from(buffer).is_ok_and(|buffer| buffer < self.raw.n_buffers));
        // SAFETY: `buffers` points to `n_buffers` pointers, as the caller of `root` guarantees, and `buffer` is smaller.
        NonNull::new(unsafe { *self.raw.buffers.add(buffer) }.cast_mut().cast())
    }

    /// Returns bytes of a buffer.
    ///
    /// # Safety
    /// The buffer must contain these bytes.
    unsafe fn bytes(self, buffer: usize, start: usize, len: usize) -> Result<Buffer, String> {
        if len == 0 {
            return Ok(Buffer::default());
        }
        let Some(pointer) = self.pointer(buffer) else {
            return Err(format!("its buffer {buffer} is missing"));
        };
        // SAFETY: the buffer contains these bytes, as the caller guarantees, until its owner is dropped.
        Ok(unsafe { Buffer::from_custom_allocation(pointer.add(start), len, Arc::clone(self.owner) as _) })
    }

    /// Returns `len` fixed-size entries of a buffer, starting at value `from`, aligned.
    pub(super) fn entries(self, buffer: usize, from: usize, len: usize) -> Result<Buffer, String> {
        let width = self.entry_bytes(buffer);
        let bytes = len.checked_mul(width).ok_or("it is too long")?;
        let start = (self.offset() + from).checked_mul(width).ok_or("it is too long")?;
        // SAFETY: `from` and `len` are within the array's length, so the buffer contains these entries.
        let entries = unsafe { self.bytes(buffer, start, bytes)? };
        let align = if matches!(self.kind, DataType::FixedSizeBinary(_)) { 1 } else { width.clamp(1, 16) };
        Ok(match entries.as_ptr().align_offset(align) {
            0 => entries,
            _ => Buffer::from_slice_ref(entries.as_slice()),
        })
    }

    /// Returns the offsets of `len` values: one offset more than values.
    pub(super) fn offsets(self, from: usize, len: usize) -> Result<Buffer, String> {
        match len {
            // The buffers of an array without values may be missing.
            0 => {
                Ok(Buffer::from_slice_ref([0u8; size_of::<i64>()]).slice_with_length(0, self.entry_bytes(1)))
            }
            _ => self.entries(1, from, len + 1),
        }
    }

    /// Returns the bytes of text or binary data, up to the last offset of the whole array.
    pub(super) fn data(self) -> Result<Buffer, String> {
        let offset = match self.length() {
            0 => Buffer::default(),
            last => self.entries(1, last, 1)?,
        };
        let last = match *offset.as_slice() {
            [] => 0,
            [a, b, c, d] => i32::from_ne_bytes([a, b, c, d]).into(),
            _ => offset.as_slice().first_chunk().map_or(0, |last| i64::from_ne_bytes(*last)),
        };
        let len = usize::try_from(last).ok().filter(|len| isize::try_from(*len).is_ok());
        let len = len.ok_or_else(|| format!("its last offset is {last}"))?;
        // SAFETY: the data buffer is as long as the last offset, as the caller of `root` guarantees.
        unsafe { self.bytes(2, 0, len) }
    }

    /// Returns the data buffers that views point to.
    pub(super) fn view_data(self) -> Result<Vec<Buffer>, String> {
        let buffers = usize::try_from(self.raw.n_buffers).unwrap_or(0);
        let count = buffers - self.expected_buffers();
        if count == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the last buffer of an array of views has a size of 8 bytes for each of the `count` data buffers, as the interface
        // demands.
        let sizes = unsafe { self.bytes(buffers - 1, 0, count * size_of::<i64>())? };
        let sizes = sizes.chunks_exact(size_of::<i64>()).map(|size| size.try_into().map(i64::from_ne_bytes));
        let buffers = sizes.zip(2..).map(|(size, buffer)| {
            let size = size.unwrap_or(-1);
            let size = usize::try_from(size).map_err(|_| format!("its buffer {buffer} has {size} bytes"))?;
            // SAFETY: the producer states that the buffer has `size` bytes, and the caller of `root` guarantees that this is true.
            unsafe { self.bytes(buffer, 0, size) }
        });
        buffers.collect()
    }

    fn bits_of(self, buffer: usize, from: usize, len: usize) -> Result<BooleanBuffer, String> {
        if len == 0 {
            return Ok(BooleanBuffer::new_unset(0));
        }
        let first = self.offset() + from;
        let (start, skipped) = (first / 8, first % 8);
        // SAFETY: the buffer has one bit for each value of the array, and `from` and `len` are within the array's length.
        let bytes = unsafe { self.bytes(buffer, start, (skipped + len).div_ceil(8))? };
        Ok(BooleanBuffer::new(bytes, skipped, len))
    }

    /// Returns the values of an array of booleans.
    pub(super) fn booleans(self, from: usize, len: usize) -> Result<BooleanBuffer, String> {
        assert_eq!(self.kind, &DataType::Boolean);
        self.bits_of(1, from, len)
    }

    /// Returns the NULLs among `len` values, starting at value `from`; `None`: there are none, or arrays of this type have no validity
    /// bitmap.
    pub(super) fn nulls(self, from: usize, len: usize) -> Result<Option<NullBuffer>, String> {
        if matches!(self.kind, DataType::Null | DataType::Union(_, _) | DataType::RunEndEncoded(_, _)) {
            return Ok(None);
        }
        let declared = self.raw.null_count;
        if self.pointer(VALIDITY).is_none() {
            return match declared {
                ..=0 => Ok(None),
                _ => Err(format!("it declares {declared} NULLs, but has no validity bitmap")),
            };
        }
        let nulls = NullBuffer::new(self.bits_of(VALIDITY, from, len)?);
        let is_whole = from == 0 && len == self.length();
        if is_whole && declared >= 0 && declared != nulls.null_count() as i64 {
            let found = nulls.null_count();
            return Err(format!("it has {found} NULLs in its validity bitmap, but declares {declared}"));
        }
        Ok(Some(nulls).filter(|nulls| nulls.null_count() > 0))
    }

    /// Appends numbers that identify the array's content as long as its owner lives: lengths and buffer addresses.
    pub(super) fn identity(self, numbers: &mut Vec<usize>) -> Result<(), String> {
        self.check()?;
        let buffers = usize::try_from(self.raw.n_buffers).unwrap_or(0);
        numbers.extend([self.length(), self.offset(), self.raw.null_count as usize, buffers]);
        if !self.raw.buffers.is_null() {
            // SAFETY: `buffers` is not NULL, so it points to `n_buffers` pointers, as the caller of `root` guarantees.
            let buffers = unsafe { slice::from_raw_parts(self.raw.buffers, buffers) };
            numbers.extend(buffers.iter().map(|buffer| buffer.addr()));
        }
        if matches!(self.kind, DataType::Dictionary(_, _)) {
            self.dictionary().identity(numbers)?;
        }
        (0..self.child_kinds().len()).try_for_each(|index| self.child(index).identity(numbers))
    }
}
