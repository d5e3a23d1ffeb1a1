//! Reads Avro's primitive types from the bytes of a block or of the header.

use super::fault::Fault;

/// Bytes that are read from start to end.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// Returns the number of bytes that are not read yet.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the given number of bytes.
    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) =
            self.rest.split_at_checked(bytes).ok_or(Fault::Damaged("a value is longer than its block"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads an array of bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) =
            self.rest.split_first_chunk().ok_or(Fault::Damaged("a value is longer than its block"))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads a `long`: groups of seven bits, the lowest group first. The lowest bit of the number is its sign.
    pub(super) fn long(&mut self) -> Result<i64, Fault> {
        let mut number = 0;
        for (index, byte) in self.rest.iter().enumerate() {
            let bits = u64::from(byte & 0x7f);
            // Nine bytes have 63 bits, so the tenth byte may only have one.
            if index == 9 && bits > 1 || index > 9 {
                return Err(Fault::Damaged("an integer has more than 64 bits"));
            }
            number |= bits << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
        Err(Fault::Damaged("an integer is longer than its block"))
    }

    /// Reads an `int`.
    pub(super) fn int(&mut self) -> Result<i32, Fault> {
        i32::try_from(self.long()?).map_err(|_| Fault::Damaged("an int has more than 32 bits"))
    }

    /// Reads a number that is not negative.
    pub(super) fn length(&mut self) -> Result<usize, Fault> {
        usize::try_from(self.long()?).map_err(|_| Fault::Damaged("a length is negative"))
    }

    /// Reads `bytes` or a `string`: a length, and as many bytes.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let bytes = self.length()?;
        self.take(bytes)
    }

    /// Reads a `boolean`.
    pub(super) fn boolean(&mut self) -> Result<bool, Fault> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Fault::Damaged("a boolean is neither 0 nor 1")),
        }
    }

    /// Reads the number of items in the next block of an array or a map; 0 ends the array or map. If the number is negative, the block's length
    /// in bytes follows it, and is skipped.
    pub(super) fn items(&mut self) -> Result<u64, Fault> {
        let count = self.long()?;
        if count < 0 {
            self.length()?;
        }
        Ok(count.unsigned_abs())
    }
}
