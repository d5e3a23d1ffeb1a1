//! A vector holds one column's values for some rows, in buffers that are reused for the next rows.
//!
//! A generator fills a vector; [`Vector::column`] lends the values to the encoder as a [`Column`], without copying.

use sqluice_core::batch::{Bitmap, Bytes, Column, ROWS_MAX, Span, Spans, Value, Values};

/// The number of spare bytes after the last string: a writer of whole words may overwrite them.
pub(crate) const SLACK: usize = 40;

/// A range of rows to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    /// The number of the first row, counted from 0.
    pub(crate) first: u64,
    /// The number of rows, at most [`ROWS_MAX`].
    pub(crate) count: usize,
}

/// One value of a mixed column; a string is a span of the vector's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(Span),
    Blob(Span),
}

/// The kind of values in a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VectorKind {
    #[default]
    Null,
    Int,
    Real,
    Text(Layout),
    Blob(Layout),
    Mixed,
}

/// [`VectorKind::Text`] or [`VectorKind::Blob`].
pub(crate) type Class = fn(Layout) -> VectorKind;

/// The layout of strings in the bytes of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Fixed(usize),
    Offsets,
    Anywhere,
}

/// The values of one column for some rows. Buffers that `kind` does not use keep the contents of earlier rows.
#[derive(Debug, Default)]
pub(crate) struct Vector {
    kind: VectorKind,
    rows: usize,
    ints: Vec<i64>,
    reals: Vec<f64>,
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    spans: Vec<Span>,
    cells: Vec<Cell>,
    validity: Vec<u64>,
    has_nulls: bool,
    /// The vectors of inner generators, for generators that combine others.
    pub(crate) children: Vec<Vector>,
}

impl Vector {
    fn begin(&mut self, kind: VectorKind, rows: usize) {
        debug_assert!(rows <= ROWS_MAX);
        (self.kind, self.rows, self.has_nulls) = (kind, rows, false);
    }

    /// Makes this a vector of `rows` integers and returns the slice for the caller to fill.
    pub(crate) fn ints(&mut self, rows: usize) -> &mut [i64] {
        self.begin(VectorKind::Int, rows);
        self.ints.resize(rows, 0);
        &mut self.ints
    }

    pub(crate) fn reals(&mut self, rows: usize) -> &mut [f64] {
        self.begin(VectorKind::Real, rows);
        self.reals.resize(rows, 0.0);
        &mut self.reals
    }

    /// Makes this a vector of consecutive strings of `width` bytes and returns their bytes, followed by [`SLACK`] more.
    pub(crate) fn fixed(&mut self, kind: Class, width: usize, rows: usize) -> &mut [u8] {
        self.begin(kind(Layout::Fixed(width)), rows);
        self.bytes.resize(width * rows + SLACK, 0);
        &mut self.bytes
    }

    /// Prepares the vector for strings whose lengths `lengths` writes to the slice it is given. Returns the strings' offsets, and
    /// their bytes followed by [`SLACK`] more.
    pub(crate) fn strings(
        &mut self,
        kind: Class,
        rows: usize,
        lengths: impl FnOnce(&mut [u32]),
    ) -> (&[u32], &mut [u8]) {
        self.begin(kind(Layout::Offsets), rows);
        self.offsets.resize(rows + 1, 0);
        self.offsets[0] = 0;
        lengths(&mut self.offsets[1..]);
        let mut end = 0;
        for offset in &mut self.offsets[1..] {
            end += *offset;
            *offset = end;
        }
        self.bytes.resize(end as usize + SLACK, 0);
        (&self.offsets, &mut self.bytes)
    }

    /// Fills the vector with consecutive strings that `write` appends, one for each row.
    pub(crate) fn appended(&mut self, kind: Class, rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>)) {
        self.begin(kind(Layout::Offsets), rows);
        self.bytes.clear();
        self.offsets.clear();
        self.offsets.push(0);
        for row in 0..rows {
            write(row, &mut self.bytes);
            self.offsets.push(self.bytes.len() as u32);
        }
    }

    /// Prepares the vector for strings that are spans of `data`, and returns the spans for the caller to fill.
    pub(crate) fn anywhere(&mut self, kind: Class, data: &[u8], rows: usize) -> &mut [Span] {
        self.begin(kind(Layout::Anywhere), rows);
        self.bytes.clear();
        self.bytes.extend_from_slice(data);
        self.spans.resize(rows, Span::default());
        &mut self.spans
    }

    /// Prepares the vector for values of any class, whose strings are spans of `data`.
    pub(crate) fn mixed(&mut self, data: &[u8], rows: usize) -> &mut [Cell] {
        self.begin(VectorKind::Mixed, rows);
        self.bytes.clear();
        self.bytes.extend_from_slice(data);
        self.cells.resize(rows, Cell::Null);
        &mut self.cells
    }

    /// Fills the vector with NULLs.
    pub(crate) fn null(&mut self, rows: usize) {
        self.begin(VectorKind::Null, rows);
    }

    /// Sets values to NULL if `present` is false for their row. Values that are NULL stay NULL.
    pub(crate) fn keep(&mut self, present: &[bool]) {
        debug_assert_eq!(present.len(), self.rows);
        if !self.has_nulls {
            self.validity.clear();
            self.validity.resize(self.rows.div_ceil(64), u64::MAX);
            self.has_nulls = true;
        }
        for (word, present) in self.validity.iter_mut().zip(present.chunks(64)) {
            let mut bits = 0;
            for (byte, eight) in present.chunks(8).enumerate() {
                let mut bools = [0; 8];
                for (to, from) in bools.iter_mut().zip(eight) {
                    *to = u8::from(*from);
                }
                // The multiplication moves bit 0 of byte i to bit 56 + i.
                let packed = u64::from_le_bytes(bools).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                bits |= packed << (8 * byte);
            }
            *word &= bits;
        }
    }

    /// Sets values to NULL if the bit of their row is not set. Values that are NULL stay NULL.
    pub(crate) fn keep_bits(&mut self, Bitmap(bits): Bitmap<'_>) {
        let words = self.rows.div_ceil(64);
        if !self.has_nulls {
            self.validity.clear();
            self.validity.resize(words, u64::MAX);
            self.has_nulls = true;
        }
        self.validity.iter_mut().zip(&bits[..words]).for_each(|(word, bits)| *word &= bits);
    }

    /// Fills each row with this row's value of the child `children[picked[row]]`. The result is a vector of integers or of reals if all
    /// children are, else a mixed vector.
    pub(crate) fn choose(&mut self, children: &[Vector], picked: &[usize]) {
        let rows = picked.len();
        let all = |kind| children.iter().all(|child| child.kind == kind);
        if all(VectorKind::Int) {
            for (row, (slot, &index)) in self.ints(rows).iter_mut().zip(picked).enumerate() {
                *slot = children[index].ints[row];
            }
        } else if all(VectorKind::Real) {
            for (row, (slot, &index)) in self.reals(rows).iter_mut().zip(picked).enumerate() {
                *slot = children[index].reals[row];
            }
        } else {
            self.mixed(&[], rows);
            for (row, &index) in picked.iter().enumerate() {
                self.cells[row] = match children[index].get(row) {
                    Value::Null => Cell::Null,
                    Value::Int(int) => Cell::Int(int),
                    Value::Real(real) => Cell::Real(real),
                    Value::Text(text) => Cell::Text(self.append(text)),
                    Value::Blob(blob) => Cell::Blob(self.append(blob)),
                };
            }
            return;
        }
        if children.iter().any(|child| child.has_nulls) {
            let present = |(row, index): (usize, &usize)| {
                let child: &Vector = &children[*index];
                !child.has_nulls || Bitmap(&child.validity).get(row)
            };
            self.keep(&picked.iter().enumerate().map(present).collect::<Vec<_>>());
        }
    }

    /// Prepares the vector for values that are pushed one by one; [`Vector::settle`] ends the list.
    pub(crate) fn values(&mut self) {
        self.mixed(&[], 0);
    }

    /// Appends a value. Slow: prefer the methods that fill a slice.
    pub(crate) fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Int(int) => Cell::Int(int),
            // SQLite stores NaN as NULL.
            Value::Real(real) if real.is_nan() => Cell::Null,
            Value::Real(real) => Cell::Real(real),
            Value::Text(text) => Cell::Text(self.append(text)),
            Value::Blob(blob) => Cell::Blob(self.append(blob)),
        };
        self.cells.push(cell);
        self.rows += 1;
    }

    /// Appends a text value, which `write` appends to the bytes.
    pub(crate) fn push_text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let span = Span { start: start as u32, len: (self.bytes.len() - start) as u32 };
        self.cells.push(Cell::Text(span));
        self.rows += 1;
    }

    /// Ends the list of pushed values: if all are of one class or NULL, the vector becomes one of integers, reals, texts or blobs.
    pub(crate) fn settle(&mut self) {
        let Some(first) = self.cells.iter().find(|cell| **cell != Cell::Null) else {
            return self.null(self.rows);
        };
        let class = std::mem::discriminant(first);
        let one = |cell: &Cell| *cell == Cell::Null || std::mem::discriminant(cell) == class;
        if !self.cells.iter().all(one) {
            return;
        }
        let strings = self.cells.iter().map(|cell| match cell {
            Cell::Text(span) | Cell::Blob(span) => *span,
            _ => Span::default(),
        });
        match first {
            Cell::Int(_) => {
                let ints = self.cells.iter().map(|cell| if let Cell::Int(int) = cell { *int } else { 0 });
                self.kind = VectorKind::Int;
                self.ints.clear();
                self.ints.extend(ints);
            }
            Cell::Real(_) => {
                let reals =
                    self.cells.iter().map(|cell| if let Cell::Real(real) = cell { *real } else { 0.0 });
                self.kind = VectorKind::Real;
                self.reals.clear();
                self.reals.extend(reals);
            }
            Cell::Null | Cell::Text(_) | Cell::Blob(_) => {
                let blob = matches!(first, Cell::Blob(_));
                self.kind = if blob {
                    VectorKind::Blob(Layout::Anywhere)
                } else {
                    VectorKind::Text(Layout::Anywhere)
                };
                self.spans.clear();
                self.spans.extend(strings);
            }
        }
        if self.cells.contains(&Cell::Null) {
            let present: Vec<bool> = self.cells.iter().map(|cell| *cell != Cell::Null).collect();
            self.keep(&present);
        }
    }

    fn append(&mut self, string: &[u8]) -> Span {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(string);
        Span { start, len: string.len() as u32 }
    }

    /// Returns value `row`. Slow: prefer [`Vector::column`].
    pub(crate) fn get(&self, row: usize) -> Value<'_> {
        if self.has_nulls && !Bitmap(&self.validity).get(row) {
            return Value::Null;
        }
        let string = |layout| match layout {
            Layout::Fixed(width) => &self.bytes[row * width..][..width],
            Layout::Offsets => &self.bytes[self.offsets[row] as usize..self.offsets[row + 1] as usize],
            Layout::Anywhere => self.span(self.spans[row]),
        };
        match self.kind {
            VectorKind::Null => Value::Null,
            VectorKind::Int => Value::Int(self.ints[row]),
            VectorKind::Real => Value::Real(self.reals[row]),
            VectorKind::Text(layout) => Value::Text(string(layout)),
            VectorKind::Blob(layout) => Value::Blob(string(layout)),
            VectorKind::Mixed => self.cell(row),
        }
    }

    fn cell(&self, row: usize) -> Value<'_> {
        match self.cells[row] {
            Cell::Null => Value::Null,
            Cell::Int(int) => Value::Int(int),
            Cell::Real(real) => Value::Real(real),
            Cell::Text(span) => Value::Text(self.span(span)),
            Cell::Blob(span) => Value::Blob(self.span(span)),
        }
    }

    fn span(&self, span: Span) -> &[u8] {
        &self.bytes[span.start as usize..][..span.len as usize]
    }

    /// Returns the values of a mixed vector, which [`Vector::column`] borrows; empty for other kinds.
    pub(crate) fn mixed_values(&self) -> Vec<Value<'_>> {
        match self.kind {
            VectorKind::Mixed => (0..self.rows).map(|row| self.cell(row)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the values as a column of a batch.
    pub(crate) fn column<'a>(&'a self, mixed: &'a [Value<'a>]) -> Column<'a> {
        let strings = |layout| match layout {
            Layout::Fixed(width) => {
                Bytes { data: &self.bytes[..width * self.rows], spans: Spans::Fixed(width) }
            }
            Layout::Offsets => {
                let end = self.offsets[self.rows] as usize;
                Bytes { data: &self.bytes[..end], spans: Spans::Offsets(&self.offsets) }
            }
            Layout::Anywhere => Bytes { data: &self.bytes, spans: Spans::Anywhere(&self.spans) },
        };
        let values = match self.kind {
            VectorKind::Null => Values::Null,
            VectorKind::Int => Values::Int(&self.ints),
            VectorKind::Real => Values::Real(&self.reals),
            VectorKind::Text(layout) => Values::Text(strings(layout)),
            VectorKind::Blob(layout) => Values::Blob(strings(layout)),
            VectorKind::Mixed => Values::Any(mixed),
        };
        Column { values, validity: self.has_nulls.then_some(Bitmap(&self.validity)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_accumulate_until_the_vector_is_filled_again() {
        let mut vector = Vector::default();
        for (row, slot) in vector.ints(100).iter_mut().enumerate() {
            *slot = row as i64;
        }
        vector.keep(&Vec::from_iter((0..100).map(|row| row % 2 == 0)));
        vector.keep(&Vec::from_iter((0..100).map(|row| row % 3 == 0)));
        for row in 0..100 {
            let expected = if row % 6 == 0 { Value::Int(row as i64) } else { Value::Null };
            assert_eq!(vector.get(row), expected, "row {row}");
        }
        vector.ints(100);
        assert!(vector.column(&[]).validity.is_none());
    }

    #[test]
    fn pushed_values_of_one_class_become_a_vector_of_this_class() {
        use Value::{Blob, Int, Null, Real, Text};
        for (values, kind) in [
            (&[Int(1), Null, Int(3)][..], VectorKind::Int),
            (&[Real(0.5), Real(1.5)], VectorKind::Real),
            (&[Null, Text(b"a"), Text(b"bc")], VectorKind::Text(Layout::Anywhere)),
            (&[Blob(b"a"), Null], VectorKind::Blob(Layout::Anywhere)),
            (&[Null, Null], VectorKind::Null),
            (&[Int(1), Text(b"x"), Null, Blob(b"")], VectorKind::Mixed),
            (&[], VectorKind::Null),
        ] {
            let mut vector = Vector::default();
            vector.ints(5);
            vector.keep(&[false; 5]);
            vector.values();
            values.iter().for_each(|value| vector.push(*value));
            vector.settle();
            assert_eq!((vector.kind, vector.rows), (kind, values.len()));
            let mixed = vector.mixed_values();
            for (row, value) in values.iter().enumerate() {
                assert_eq!((vector.get(row), vector.column(&mixed).get(row)), (*value, *value));
            }
        }
    }

    #[test]
    fn choose_takes_the_value_of_the_picked_child_for_each_row() {
        let mut children = [Vector::default(), Vector::default(), Vector::default()];
        children[0].ints(3).copy_from_slice(&[1, 2, 3]);
        children[0].keep(&[true, true, false]);
        let (_, bytes) =
            children[1].strings(VectorKind::Text, 3, |lengths| lengths.copy_from_slice(&[1, 2, 0]));
        bytes[..3].copy_from_slice(b"abc");
        children[2].ints(3).copy_from_slice(&[7, 8, 9]);
        let mut vector = Vector::default();
        vector.choose(&children, &[0, 1, 0]);
        let mixed = vector.mixed_values();
        let expected = [Value::Int(1), Value::Text(b"bc"), Value::Null];
        assert_eq!([0, 1, 2].map(|row| vector.column(&mixed).get(row)), expected);
        assert_eq!([0, 1, 2].map(|row| vector.get(row)), expected);

        children.swap(1, 2);
        vector.choose(&children[..2], &[0, 1, 0]);
        assert_eq!(vector.kind, VectorKind::Int);
        assert_eq!([0, 1, 2].map(|row| vector.get(row)), [Value::Int(1), Value::Int(8), Value::Null]);
    }
}
