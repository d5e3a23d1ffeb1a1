//! Identifiers as texts ([RFC 9562](https://www.rfc-editor.org/rfc/rfc9562)): `uuid4`, `uuid7`.

use std::sync::Arc;

use sqluice_core::error::Result;

use super::{Function, Generate};
use crate::generator::{Class, Scope, Size};
use crate::vector::{RowRange, Vector, VectorKind};

pub(super) const UUID4: Function = Function {
    name: "uuid4",
    signature: "uuid4()",
    about: "a random UUID, of version 4",
    example: "uuid4()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Uuid { ascending: false }))
    },
};

pub(super) const UUID7: Function = Function {
    name: "uuid7",
    signature: "uuid7()",
    about: "a UUID of version 7, which begins with a time: a millisecond a row from 2024 on, so the values ascend",
    example: "uuid7()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Uuid { ascending: true }))
    },
};

/// The start of the year 2024, in milliseconds since 1970.
const FIRST_MILLISECOND: u64 = 1_704_067_200_000;

const WIDTH: usize = "00000000-0000-0000-0000-000000000000".len();

#[derive(Debug)]
struct Uuid {
    ascending: bool,
}

impl Generate for Uuid {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        let bytes = out.fixed(VectorKind::Text, WIDTH, rows.count);
        for (row, text) in (rows.first..).zip(bytes.chunks_exact_mut(WIDTH)).take(rows.count) {
            let (mut high, low) = (at.key.word(row.wrapping_mul(2)), at.key.word(row.wrapping_mul(2) + 1));
            let version = if self.ascending { 7 } else { 4 };
            if self.ascending {
                high = FIRST_MILLISECOND.wrapping_add(row) << 16 | high & 0xffff;
            }
            high = high & !0xf000 | version << 12;
            let low = low & !(3 << 62) | 2 << 62;
            let number = u128::from(high) << 64 | u128::from(low);
            let mut shift = 128;
            for (index, slot) in text.iter_mut().enumerate() {
                if matches!(index, 8 | 13 | 18 | 23) {
                    *slot = b'-';
                } else {
                    shift -= 4;
                    *slot = b"0123456789abcdef"[(number >> shift & 15) as usize];
                }
            }
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::exactly(WIDTH as u64)
    }

    fn class(&self) -> Class {
        Class::Text
    }
}
