//! A source that reads the rows of a masked table and returns them with their new values.
//!
//! ```text
//!  batch of the reader   | first column with a value | ... other columns          | rowid |
//!                                   │ mask             │ unchanged │
//!  batch for the engine  | first column              | ... computed columns: NULL | rowid |
//! ```

use std::sync::Arc;

use sqluice_core::batch::{Batch, Column, Value};
use sqluice_core::error::Result;
use sqluice_core::progress::Amount;
use sqluice_core::schema::Table;
use sqluice_core::source::kept::{Kept, Picked};
use sqluice_core::source::{BadRow, BadText, Part, Refused, Sink, Source};
use sqluice_generator::mask::MaskSpace;

use super::super::subset::Lookup;
use super::columns::TableMasks;

/// The conversion of a batch of old rows to new rows.
pub(super) struct Masking {
    pub(super) masks: TableMasks,
    /// The columns to read, as their positions in the table. The position after the last column means the rowid.
    pub(super) read: Vec<usize>,
    /// The number of columns of the new batch.
    pub(super) columns: usize,
    /// `true` if an error may show the key of a row, because no column of the key is masked.
    pub(super) shows_keys: bool,
    /// The rows that are left out, if any.
    pub(super) left_out: Option<Arc<Lookup>>,
}

/// Buffers for the masked columns of a batch.
pub(super) type Spaces = Vec<MaskSpace>;

impl Masking {
    /// Creates the conversion for the rows of a table. With `with_rowid`, the last column is the rowid.
    pub(super) fn new(masks: &TableMasks, table: &Table, with_rowid: bool) -> Masking {
        let given = (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none());
        let rowid = with_rowid.then_some(table.columns.len());
        let key = table.rowid_alias.map(|alias| vec![alias]).or_else(|| {
            let clustered = table.clustered.as_ref()?;
            Some(
                clustered
                    .columns
                    .iter()
                    .filter_map(|column| match column.value {
                        sqluice_core::schema::index::Indexed::Column(column) => Some(column),
                        _ => None,
                    })
                    .collect(),
            )
        });
        Masking {
            masks: masks.clone(),
            read: given.chain(rowid).collect(),
            columns: table.columns.len() + usize::from(with_rowid),
            shows_keys: !key.unwrap_or_default().iter().any(|&column| masks.has(column)),
            left_out: None,
        }
    }

    /// Returns the position of a column in `read`; `None` if the column is not read.
    fn place(&self, column: usize) -> Option<usize> {
        self.read.iter().position(|&read| read == column)
    }

    /// Writes the new values of a batch to `spaces`.
    fn fill(&self, batch: &Batch<'_>, spaces: &mut Spaces) -> Result<(), Refused> {
        spaces.resize_with(self.read.len(), MaskSpace::default);
        for (place, (&column, space)) in self.read.iter().zip(spaces).enumerate() {
            let Some(Some(mask)) = self.masks.columns.get(column) else { continue };
            let person = mask
                .person
                .and_then(|(person, equality)| Some((batch.columns.get(self.place(person)?)?, equality)));
            let old = (&batch.columns[place], mask.equality);
            mask.mask.fill(old, person, batch.rows, space).map_err(|(row, error)| {
                let at = row.filter(|_| self.shows_keys).map(|row| (row, place));
                let error = match at {
                    Some(_) => error,
                    None => error.with_words(format!(" (table {})", self.masks.table)),
                };
                Refused::Stop { at, error }
            })?;
        }
        Ok(())
    }

    /// Removes left-out rows from a batch, masks the other rows, and passes the new batch to `give`.
    pub(super) fn apply(
        &self,
        batch: &Batch<'_>,
        spaces: &mut Spaces,
        give: impl FnOnce(&Batch<'_>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let Some(left_out) = &self.left_out else { return self.convert(batch, spaces, give) };
        let kept = left_out.kept(batch, &self.read)?;
        let kept = Kept { rows: &kept };
        match kept.rows.len() {
            0 => Ok(()),
            rows if rows == batch.rows => self.convert(batch, spaces, give),
            _ => {
                let picked = Picked::new(batch, &kept);
                self.convert(&picked.batch(), spaces, give).map_err(|refused| kept.of_all(refused))
            }
        }
    }

    /// Masks a batch, and passes the new batch to `give`.
    fn convert(
        &self,
        batch: &Batch<'_>,
        spaces: &mut Spaces,
        give: impl FnOnce(&Batch<'_>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.fill(batch, spaces)?;
        let mixed: Vec<Vec<Value<'_>>> = spaces.iter().map(MaskSpace::mixed_values).collect();
        let mut columns = vec![Column::NULL; self.columns];
        for (place, &column) in self.read.iter().enumerate() {
            columns[column] = match self.masks.has(column) {
                true => spaces[place].column(&mixed[place]),
                false => batch.columns[place],
            };
        }
        give(&Batch { rows: batch.rows, columns })
    }
}

/// A source of rows with their new values.
pub(super) struct MaskedRows<'s> {
    pub(super) inner: Box<dyn Source + 's>,
    pub(super) masking: Arc<Masking>,
}

impl Source for MaskedRows<'_> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let part = self.inner.next_part()?;
        Ok(part.map(|inner| -> Box<dyn Part> {
            Box::new(MaskedPart { inner, masking: Arc::clone(&self.masking) })
        }))
    }

    fn total(&self) -> Option<Amount> {
        self.inner.total()
    }
}

struct MaskedPart {
    inner: Box<dyn Part>,
    masking: Arc<Masking>,
}

impl Part for MaskedPart {
    fn first_row(&self) -> u64 {
        self.inner.first_row()
    }

    fn input_bytes(&self) -> u64 {
        self.inner.input_bytes()
    }

    fn is_typed(&self) -> bool {
        self.inner.is_typed()
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut masking = MaskingSink { masking: &self.masking, spaces: Spaces::new(), sink };
        self.inner.decode(&mut masking)
    }
}

/// A sink that masks the rows it gets, and passes the new rows to another sink.
struct MaskingSink<'a> {
    masking: &'a Masking,
    spaces: Spaces,
    sink: &'a mut dyn Sink,
}

impl Sink for MaskingSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let MaskingSink { masking, spaces, sink } = self;
        masking.apply(batch, spaces, |batch| sink.rows(batch)).map_err(|refused| {
            let (at, error) = refused.first();
            // An error names a column of the table, but the reader expects an index among the columns that were read.
            let of_read = |column: usize| masking.place(column).unwrap_or(column.min(masking.read.len() - 1));
            let at = at.map(|(row, column)| (row, of_read(column)));
            Refused::Stop { at: at.filter(|_| masking.shows_keys), error }
        })
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.sink.bad_row(bad)
    }

    /// Accepts text that is not valid: unmasked columns keep the bytes of the source.
    fn bad_text(&mut self, _column: usize) -> BadText {
        BadText::Keep
    }
}
