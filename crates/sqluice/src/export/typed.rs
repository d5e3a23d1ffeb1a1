//! Determines the types of columns before the first row is written, for formats whose columns have types.
//!
//! If the declarations of all columns say their types, no row is needed. Otherwise, if this crate reads the pages of a table, it reads the
//! table twice: first the columns whose declaration leaves the type open. If SQLite reads the rows, the first part of the rows decides.

use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Cancel};
use sqluice_core::source::{Part, Source};
use sqluice_reader::rows::Rows;
use sqluice_writers::arrow::ArrowEncoder;
use sqluice_writers::in_order::{Encode, InOrder};
use sqluice_writers::types::{ColumnType, Declared, SeeAll, Seen};
use sqluice_writers::unfit::{Mixed, Nulled};

/// The approximate number of bytes of a table that become a row group of Parquet.
pub(super) const GROUP_BYTES: usize = 16 << 20;

/// The approximate number of bytes of a table that become an Arrow record batch.
pub(crate) const BATCH_BYTES: usize = 2 << 20;

/// The options for values that do not suit the type of their column.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueOptions {
    pub(crate) mixed: Mixed,
    pub(crate) dates: bool,
}

/// Rows to export, and the encoder that makes record batches of them.
pub(crate) struct Typed {
    pub(crate) encoder: ArrowEncoder,
    pub(crate) source: Box<dyn Source>,
    pub(crate) types: Vec<ColumnType>,
}

impl Typed {
    /// Opens rows whose column types are known already.
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

    /// Determines the types of the columns, and opens the rows in parts of about `part_bytes` bytes.
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

/// A source that returns again the first part, which was read to determine the types, and then the remaining parts.
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
