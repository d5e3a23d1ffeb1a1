//! Explains a refused row of an archive by a contradicting row: the name of a file or link in one of them is a folder in the name of the
//! other.
//!
//! ```text
//!  l      link to elsewhere        one of the two rows is restored; the other one is refused,
//!  l/x    a file                   and the reason names both
//! ```

use rusqlite::Connection;
use sqluice_core::error::Result;

use super::name::{SafeName, shown};
use super::rows::Archive;
use super::{Kind, Selection};

/// Looks for a row of the archive that contradicts the refused row `name` of kind `kind`. Returns the reason of the refusal, which names
/// both rows; `None` if no such row is found among the rows that `selection` takes.
pub(super) fn with_another_row(
    (archive, connection): (&Archive, &Connection),
    selection: &Selection,
    name: &SafeName,
    kind: Kind,
) -> Result<Option<String>> {
    if kind != Kind::Folder
        && let Some(below) = archive.name_below(connection, name.bytes())?
        && SafeName::new(&below).is_ok_and(|below| selection.takes(below.bytes()))
    {
        let (what, below) = (what(kind), shown(&below));
        return Ok(Some(format!(
            "the archive contradicts itself: this row is {what}, and row {below} is in a folder of its name"
        )));
    }
    let mut above = name.split().0;
    while !above.is_empty() {
        if let Some(kind) = archive.kind_of(connection, above)?
            && kind != Kind::Folder
            && selection.takes(above)
        {
            let (what, above) = (what(kind), shown(above));
            return Ok(Some(format!(
                "the archive contradicts itself: row {above} is {what}, and this row is in a folder of its name"
            )));
        }
        above = super::name::split(above).0;
    }
    Ok(None)
}

fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Folder => "a folder",
        Kind::Link => "a link",
    }
}
