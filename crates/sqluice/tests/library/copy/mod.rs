//! `copy`: a copy is a sound database with the rows of its source, or with the selected ones. SQLite reads both for the comparison.

mod auto_vacuum;
pub(crate) mod content;
mod damaged;
mod fewer_rows;
mod in_place;
mod invalid_text;
mod order;
mod precautions;
mod purpose;
pub(crate) mod random;
mod selection;
#[cfg(feature = "export")]
mod statements;
mod states;
