//! The generator language: a schema file whose columns say in comments what their values are like.
//!
//! ```text
//!  schema file ── comments ── parse ──┐
//!              (which column?) (text)  ├── functions ──> Spec ──> GeneratedTable: a Source
//!  declared types ─────── defaults ───┘  (typed, checked)         parts ── vectors ──> batches
//! ```
//!
//! Invariants: every value is a function of (seed, table, column, row number), so that any part can be made on any core
//! or machine, in any order. A [`Spec`] is plain data: it is made, checked and printed without making a value.
//!
//! # Functions
//!
//! ```
//! for function in sqluice::r#gen::FUNCTIONS {
//!     println!("{}: {}, for example {}", function.signature, function.about, function.example);
//! }
//! ```

mod comments;
mod defaults;
mod functions;
pub(crate) mod parents;
mod parse;
mod preset;
mod random;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod vector;

pub use functions::{FUNCTIONS, Function};
pub use preset::{PRESETS, Preset, preset};
pub use spec::{ColumnSpec, Origin, Spec, TableSpec};
pub use table::GeneratedTable;

use crate::error::{Error, Place};
use crate::schema::Schema;

/// What is wrong with a schema file as input to the generator, and at which byte of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    at: usize,
    message: String,
    hint: Option<String>,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Fault {
        Fault { at, message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }

    fn in_file(self, schema: &Schema) -> Error {
        let error = Error::input(self.message).at(Place::in_text(&schema.file, &schema.sql, self.at));
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
