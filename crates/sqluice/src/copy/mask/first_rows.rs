//! Reads the first rows of a table, for guesses about the values of its columns.

use sqluice_core::batch::Batch;
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::source::Refused;
use sqluice_reader::rows::{PART_BYTES, Rows, Selection};

use super::super::Opened;

/// Passes the first `rows` rows of a table to `take`, or all if the table has fewer. A read error ends the rows without an error, as the
/// copy may not read the damaged value at all.
///
/// # Errors
/// If the run is cancelled.
pub(super) fn first_rows(
    opened: &Opened,
    (table, rows): (&str, u64),
    mut take: impl FnMut(&Batch<'_>),
    cancel: &Cancel,
) -> Result<()> {
    let Opened { snapshot, schema, .. } = opened;
    let selection = Selection::default().limit(rows);
    let Ok(rows) = Rows::of_table(snapshot, schema, table, &selection) else { return Ok(()) };
    let mut source = rows.with_secret_keys().source(PART_BYTES, cancel)?;
    while let Ok(Some(mut part)) = source.next_part() {
        let mut take = |batch: &Batch<'_>| -> Result<(), Refused> {
            take(batch);
            Ok(())
        };
        if part.decode(&mut take).is_err() {
            break;
        }
    }
    cancel.check()
}
