//! Masked copies: a mask file names the columns that get other values.
//!
//! ```text
//!  source ──┬── rows of masked tables ── mask ── new rows ──> temporary database     on all cores; sorted if their keys change
//!           │                                                     │ pages
//!           ├── B-trees of other tables ──────────────────────────┼──> copy          all pages rewritten
//!           │                                                     │ rows
//!           └── full-text tables ── made again ───────────────────┴──> copy          from the new rows
//! ```
//!
//! * The temporary database has only the masked tables, and those from which rows are left out, with their indexes. It has no unmasked
//!   values of masked columns.
//! * A column that refers to a masked key has the mask of the key, so that joins and foreign keys hold.
//! * Statistics with samples of values are left out, and `sqlite_sequence` gets the largest new rowids of tables with masked rowids.
//!
//! Invariant: no message, plan or report contains a value of a masked column, or the secret key.
//!
//! Modules, from the bottom up: `report`: the plan and report of masks; `undeclared`: references without REFERENCES; `columns`: the
//! masked columns and their masks; `computed`: columns that SQLite computes from masked columns; `source`: new rows from old rows;
//! `insert`: rows inserted by SQLite; `texts`: the SQL text of the schema; `full_text`: full-text tables; `search`: personal and masked
//! values in columns without a mask; `first_rows`: the first rows of a table; `weak`: masks that hide little; `look`: personal data that
//! the masks leave in the copy; `strict`: the refusal of such data; `tables`: the temporary database; `preview`: the first masked rows.

mod columns;
mod computed;
mod first_rows;
mod full_text;
mod insert;
mod look;
mod preview;
mod report;
mod search;
mod source;
mod strict;
mod tables;
mod texts;
mod undeclared;
mod weak;

use std::path::Path;

use sqluice_core::error::{Error, Result, Setting, message};
pub use sqluice_generator::mask::{MaskFile, MaskKey};

pub(super) use columns::Masks;
pub(super) use full_text::FullText;
pub(super) use look::{is_sample, look};
pub(super) use preview::preview;
pub use report::{CopiedLiteral, MaskPlan, MaskWarning, MaskedColumn, Remark, SecondPlace, StrippedText};
pub(super) use strict::refuse_findings;
pub(super) use tables::{MaskedTables, sequences};
pub(super) use texts::Texts;

/// The maximum size of a key file in bytes.
const KEY_BYTES_MAX: u64 = 1 << 20;

/// The masks of a copy.
///
/// ```
/// use sqluice::copy::{Copy, MaskFile, Masking};
/// use sqluice::schema::Schema;
///
/// # use sqluice::generate::Generate;
/// # let folder = tempfile::tempdir()?;
/// # let [db, safe] = ["people.db", "safe.db"].map(|name| folder.path().join(name));
/// # let schema = Schema::parse("CREATE TABLE people (id INTEGER PRIMARY KEY, email TEXT UNIQUE)", "schema.sql".as_ref())?;
/// # Generate::new(&db, schema).rows(1000).run()?;
/// let masks = Schema::parse("CREATE TABLE people (email -- gen: email()\n)", "mask.sql".as_ref())?;
/// let masking = Masking::new(MaskFile::new(masks)?)?.strict(true);
/// let report = Copy::new(&db, &safe).mask(masking).run()?;
/// assert_eq!(report.mask.unwrap().columns[0].mask, "email()");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Masking {
    /// The mask file.
    pub file: MaskFile,
    /// The secret key from which the new values are computed: the same key gives the same new values in each run.
    pub key: MaskKey,
    /// `true` if a column without a mask is an error when it looks personal, or holds values of a masked column.
    pub strict: bool,
    /// The columns that a strict copy accepts, such as `orders.note`. Names may be in double quotes.
    pub allowed: Vec<String>,
    /// The columns that refer to a masked key without REFERENCES, such as `visits.place_id=places.id`. They get the mask of the key.
    pub references: Vec<String>,
    /// The columns that seem to refer to a masked key but do not, such as `visits.place_id`.
    pub no_references: Vec<String>,
    /// `true` if literals in the SQL text of the schema are removed where the schema allows it.
    pub strip_literals: bool,
}

impl Masking {
    /// Creates the masks of a mask file, with a random key that is not stored anywhere: the new values differ in each run.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn new(file: MaskFile) -> Result<Masking> {
        let (allowed, references, no_references) = (Vec::new(), Vec::new(), Vec::new());
        let (strict, strip_literals) = (false, false);
        let key = MaskKey::random()?;
        Ok(Masking { file, key, strict, strip_literals, allowed, references, no_references })
    }

    /// Sets the secret key, so that each run gives the same new values.
    #[must_use]
    pub fn key(self, key: MaskKey) -> Masking {
        Masking { key, ..self }
    }

    /// Refuses to copy personal columns without a mask, and columns that hold values of a masked column.
    #[must_use]
    pub fn strict(self, strict: bool) -> Masking {
        Masking { strict, ..self }
    }

    /// Accepts columns that a strict copy would refuse.
    #[must_use]
    pub fn allow(self, names: impl IntoIterator<Item = impl Into<String>>) -> Masking {
        Masking { allowed: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Declares columns that refer to a masked key without REFERENCES.
    #[must_use]
    pub fn references(self, names: impl IntoIterator<Item = impl Into<String>>) -> Masking {
        Masking { references: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Declares columns that do not refer to a masked key, although they seem to.
    #[must_use]
    pub fn no_references(self, names: impl IntoIterator<Item = impl Into<String>>) -> Masking {
        Masking { no_references: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Removes literals from the SQL text of the schema where the schema allows it: from DEFAULTs, views and triggers. CHECKs with
    /// literals are removed, and indexes with literals are left out unless they are unique.
    #[must_use]
    pub fn strip_literals(self, strip_literals: bool) -> Masking {
        Masking { strip_literals, ..self }
    }
}

/// Reads a key file.
///
/// # Errors
/// If the file can't be read, is larger than 1 MiB, or is too short for a secret.
pub fn read_key(file: &Path) -> Result<MaskKey> {
    let bytes = std::fs::metadata(file).map_err(|error| Error::read(file, error))?.len();
    if bytes > KEY_BYTES_MAX {
        return Err(Error::usage(format!("{} is too large for a key", file.display()))
            .hint("a key file has some random bytes, such as 32"));
    }
    let bytes = std::fs::read(file).map_err(|error| Error::read(file, error))?;
    MaskKey::new(bytes).ok_or_else(|| {
        Error::usage(format!("the key in {} is too short", file.display())).hint(message![
            format!("a key has at least {} random bytes; without ", MaskKey::BYTES_MIN),
            Setting::KeyFile,
            ", a random key is made and forgotten"
        ])
    })
}
