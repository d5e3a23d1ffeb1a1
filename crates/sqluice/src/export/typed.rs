//! Finds the types of columns before the first row is written, for formats that have types.
//!
//! Tables that are read by pages are read once more for the columns whose declaration leaves the type open. For rows that SQLite reads, the
//! first part decides.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel};
use sqluice_core::source::{Part, Source};
use sqluice_reader::rows::Rows;
use sqluice_writers::arrow::ArrowEncoder;
use sqluice_writers::in_order::{Encode, InOrder};
use sqluice_writers::types::{ColumnType, Declared, SeeAll, Seen};
use sqluice_writers::unfit::{Mixed, Nulled};

/// The bytes of a table for a row group.
pub(super) const GROUP_BYTES: usize = 16 << 20;

/// The bytes of a table for a record batch.
pub(crate) const BATCH_BYTES: usize = 2 << 20;

/// The options for fitting values to types.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueOptions {
    pub(crate) mixed: Mixed,
    pub(crate) dates: bool,
}

/// Rows, and the builder of their record batches.
pub(crate) struct Typed {
    pub(crate) encoder: ArrowEncoder,
    pub(crate) source: Box<dyn Source>,
    pub(crate) types: Vec<ColumnType>,
}

impl Typed {
    /// Opens rows with known types.
    pub(crate) fn of_types(
        rows: &Rows,
        names: &[String],
        types: Vec<ColumnType>,
        mixed: Mixed,
        nulled: &Arc<Nulled>,
        part_bytes: usize,
        cancel: &Cancel,
    ) -> Result<Typed> {
        let encoder = ArrowEncoder::new(names, types.clone(), mixed, Arc::clone(nulled));
        Ok(Typed { encoder, source: rows.source(part_bytes, cancel)?, types })
    }

    /// Finds the types, and opens the rows in parts of about `part_bytes` bytes.
    pub(crate) fn open(
        rows: &Rows,
        names: &[String],
        values: ValueOptions,
        nulled: &Arc<Nulled>,
        part_bytes: usize,
        threads: usize,
        cancel: &Cancel,
    ) -> Result<Typed> {
        let is_query = rows.is_query();
        let declared: Vec<Declared> = rows
            .columns()
            .iter()
            .map(|column| Declared {
                declared_type: column.declared_type.clone(),
                affinity: column.affinity,
                is_expression: is_query && column.declared_type.is_empty(),
            })
            .collect();
        let open: Vec<usize> =
            (0..declared.len()).filter(|column| declared[*column].needs_values(values.mixed)).collect();
        let mut seen = vec![Seen::default(); declared.len()];
        let mut source = None;
        let by_pages = rows.with_columns(&open).filter(|_| !open.is_empty());
        if let Some(some) = by_pages {
            let parts =
                InOrder::start(some.source(part_bytes, cancel)?, SeeAll::new(open.len()), threads, cancel);
            for part in parts {
                open.iter().zip(part?).for_each(|(column, of_part)| seen[*column] += of_part);
            }
        } else if !open.is_empty() {
            let mut whole = rows.source(part_bytes, cancel)?;
            let mut first = whole.next_part()?;
            if let Some(first) = &mut first {
                seen = SeeAll::new(declared.len()).encode(&mut **first)?;
            }
            source = Some(Box::new(Resumed { first, rest: whole }) as Box<dyn Source>);
        }
        let types = declared.iter().zip(&seen);
        let types: Vec<ColumnType> =
            types.map(|(declared, seen)| declared.column_type(seen, values.mixed, values.dates)).collect();
        let encoder = ArrowEncoder::new(names, types.clone(), values.mixed, Arc::clone(nulled));
        let source = source.map_or_else(|| rows.source(part_bytes, cancel), Ok)?;
        Ok(Typed { encoder, source, types })
    }
}

/// A source whose first part was already examined.
struct Resumed {
    first: Option<Box<dyn Part>>,
    rest: Box<dyn Source>,
}

impl Source for Resumed {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        match self.first.take() {
            Some(part) => Ok(Some(part)),
            None => self.rest.next_part(),
        }
    }

    fn total(&self) -> Option<Amount> {
        self.rest.total()
    }
}
