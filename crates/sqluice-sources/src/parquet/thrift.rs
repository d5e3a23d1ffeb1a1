//! Parses Thrift's compact protocol, as far as Parquet's headers and footers need it.
//!
//! ```text
//!  struct   field | field | ... | 0          field   (increase of the id << 4) + type | value
//!  numbers  zigzag, varint                   binary  length | bytes
//! ```

/// A reader of bytes from start to end. Methods return `None` if the bytes end too early or are not a valid value.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The maximum depth of nested structs. Parquet's own structs are nested less deeply.
const DEPTH_MAX: usize = 16;

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { bytes, at: 0 }
    }

    /// Returns the number of bytes that have been read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Reads a struct. `field` is called with the id and the type of each field. It must read the field or return [`Wanted::No`].
    pub(super) fn fields(
        &mut self,
        mut field: impl FnMut(&mut Self, i64, u8) -> Option<Wanted>,
    ) -> Option<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            id = match head >> 4 {
                0 => self.int()?,
                step => id + i64::from(step),
            };
            if field(self, id, head & 15)? == Wanted::No {
                self.skip(head & 15, 0)?;
            }
        }
    }

    /// Reads a list. `item` is called with the type of each item. It must read the item or return [`Wanted::No`].
    pub(super) fn list(&mut self, mut item: impl FnMut(&mut Self, u8) -> Option<Wanted>) -> Option<()> {
        let (count, kind) = self.list_head()?;
        for _ in 0..count {
            if item(self, kind)? == Wanted::No {
                self.skip_item(kind, 0)?;
            }
        }
        Some(())
    }

    pub(super) fn int(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(super) fn binary(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut rest = self.bytes.get(self.at..)?;
        let value = varint(&mut rest)?;
        self.at = self.bytes.len() - rest.len();
        Some(value)
    }

    fn list_head(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => count.into(),
        };
        // Each item takes at least one byte.
        (count <= (self.bytes.len() - self.at) as u64).then_some((count, head & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            // A boolean field has its value in its type.
            1 | 2 => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => {
                self.bytes.get(self.at..self.at + 8)?;
                self.at += 8;
            }
            8 => drop(self.binary()?),
            9 | 10 => {
                let (count, kind) = self.list_head()?;
                for _ in 0..count {
                    self.skip_item(kind, depth + 1)?;
                }
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.skip_item(kinds >> 4, depth + 1)?;
                    self.skip_item(kinds & 15, depth + 1)?;
                }
            }
            12 => loop {
                let head = self.byte()?;
                if head == 0 {
                    break;
                }
                if head >> 4 == 0 {
                    self.int()?;
                }
                self.skip(head & 15, depth + 1)?;
            },
            _ => return None,
        }
        Some(())
    }

    /// Skips an item of a list or a map. There, a boolean takes a byte.
    fn skip_item(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            1 | 2 => self.byte().map(drop),
            _ => self.skip(kind, depth),
        }
    }
}

/// Reads a varint from the start of `rest`: groups of seven bits, the lowest group first.
pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

/// The result of a callback: `Yes` if it has read the field or item, `No` if the value must be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Yes,
    No,
}

/// The type code of a boolean field that is true.
pub(super) const TRUE: u8 = 1;
/// The type code of a struct.
pub(super) const STRUCT: u8 = 12;
/// The type codes of integers, from 16 to 64 bits.
pub(super) const INTS: std::ops::RangeInclusive<u8> = 4..=6;
