//! Finds references to masked keys that no REFERENCES declares. The user must decide about each column that seems to refer to such a key.
//!
//! ```text
//!  --reference visits.place_id=places.id ──> visits.place_id gets the mask of places.id
//!  --no-reference visits.place_id ─────────> the column stays as it is
//!  visits.place_id in the mask file ───────> the column gets the mask from the file
//!  found by name and values, undecided ────> the copy is refused: rows would lose the rows that they refer to
//! ```

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Schema, Table};
use sqluice_reader::Snapshot;
use sqluice_reader::connection::unreadable;

use crate::references::{by_name, described, question, share_of_keys};

/// A column, as the position of its table in the schema and the position of the column in the table.
pub(super) type Place = (usize, usize);

/// Returns an error if an undecided column seems to refer to a masked key. `is_decided` returns `true` for columns about which the user
/// has decided.
pub(super) fn refuse(
    (snapshot, schema): (&Snapshot, &Schema),
    is_masked: impl Fn(Place) -> bool,
    is_decided: impl Fn(Place) -> bool,
    is_copied: &dyn Fn(&str) -> bool,
    cancel: &Cancel,
) -> Result<()> {
    let tables: Vec<&Table> = schema.tables.iter().collect();
    let has_masked_key = |table: usize| match tables[table].primary_key().as_deref() {
        Some([key]) => is_masked((table, *key)) && is_copied(&tables[table].name),
        _ => false,
    };
    if !(0..tables.len()).any(has_masked_key) {
        return Ok(());
    }
    let mut found = Vec::new();
    for named in by_name(&tables, has_masked_key) {
        let child = tables[named.child];
        if is_decided((named.child, named.column)) || !is_copied(&child.name) {
            continue;
        }
        cancel.check()?;
        let parent = tables[named.parent];
        let share = share_of_keys(
            &snapshot.connection(),
            (&child.name, &child.columns[named.column].name),
            (&parent.name, &parent.columns[named.key].name),
        );
        let share = share.map_err(|error| unreadable(snapshot.name(), error))?;
        if share.is_enough() {
            found.push((named, share));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let message = format!(
        "columns seem to refer to masked keys without REFERENCES, and would refer to nothing: {}",
        described(&found, &tables)
    );
    Err(Error::usage(message).hint(question(&found, &tables)))
}
