//! The remains of a damaged database.
//!
//! ```text
//!  file ──> survey: what each page is          all pages, on all cores
//!             │
//!             ├──> owners: trees from their roots, interior pages as hints
//!             ├──> chains: overflow pages of their entries
//!             ├──> orphans: leaves of no tree ──> a table by gap or by shape, or groups of their own
//!             └──> witnesses: entries of indexes whose rows are lost
//! ```
//!
//! Modules, from the bottom up: `log`: pages of a write-ahead log or a journal; `file`: the file as pages; `survey`: facts of all pages;
//! `freelist`; `keys`: keys of WITHOUT ROWID tables; `owners`: pages of trees; `chains`: overflow pages; `shape`: rows that a table can
//! have; `orphans`: leaves of no tree; `rows`: the rows of pages; `sought`: the trees to find, and their leaves; `attests`: indexes as
//! witnesses of leaves; `places`: the tables that leaves of no tree may be of; `witnesses`: entries of indexes whose rows are lost;
//! `finding`: everything together; `schema`: the rows of `sqlite_schema`.

mod attests;
pub mod chains;
pub mod file;
pub mod finding;
pub mod freelist;
pub mod keys;
pub mod log;
pub mod orphans;
pub mod owners;
mod places;
pub mod rows;
pub mod schema;
pub mod shape;
pub mod sought;
pub mod survey;
pub mod witnesses;

pub use file::{DamagedFile, OpenOptions};
pub use finding::{Finding, Group};
pub use owners::{Gap, LostPage};
pub use rows::{PageRows, SavedRow};
pub use schema::{FoundSchema, SchemaRow, read_schema};
pub use sought::{Leaf, Origin, Sought, SoughtTree};
pub use survey::{PageFacts, Survey, survey};
pub use witnesses::{Rowids, Witness};
