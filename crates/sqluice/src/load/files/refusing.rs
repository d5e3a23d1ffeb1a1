//! Finds the place of a value in its file, by refusing the value: only the error for a refused value has the place.

use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::source::kept::Kept;
use sqluice_core::source::{BadRow, Part, Refused, Sink, Source};

/// Returns the place of a value by its row in the part, and by its column; `None` if the part has no such row, or knows no places.
pub(crate) fn place_in(part: &mut dyn Part, row: u64, column: usize) -> Option<Place> {
    part.decode(&mut Refusing { row, column, next: 0 }).err()?.place().cloned()
}

/// Returns the place of a value by its row in the source, and by its column; `None` if the source has no such row, or knows no places.
pub(crate) fn place_in_source(source: &mut dyn Source, row: u64, column: usize) -> Option<Place> {
    let mut refusing = Refusing { row, column, next: 0 };
    while let Ok(Some(mut part)) = source.next_part() {
        if let Err(error) = part.decode(&mut refusing) {
            return error.place().cloned();
        }
    }
    None
}

/// A sink that refuses one value: a part returns the place of a value only in the error about it.
struct Refusing {
    row: u64,
    column: usize,
    next: u64,
}

impl Sink for Refusing {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let first = self.next;
        self.next += batch.rows as u64;
        if self.row >= self.next {
            return Ok(());
        }
        Err(Refused::Stop { at: Some(((self.row - first) as usize, self.column)), error: Error::input("") })
    }

    /// Counts all rows, as the place of a value counts rows before the filter.
    fn kept_rows(&mut self, batch: &Batch<'_>, _: &Kept<'_>) -> Result<(), Refused> {
        self.rows(batch)
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.next += 1;
        Ok(())
    }
}
