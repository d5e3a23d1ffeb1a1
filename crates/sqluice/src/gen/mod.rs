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
//! Each has an example, which stands in a schema of two tables:
//!
//! ```
//! use sqluice::generate::Generate;
//! use sqluice::r#gen::{FUNCTIONS, Function};
//! use sqluice::plan::WriteOptions;
//! use sqluice::schema::Schema;
//!
//! for function in FUNCTIONS {
//!     let sql = Function::EXAMPLE_SCHEMA.replace("{}", function.example);
//!     let schema = Schema::parse(sql, "example.sql".as_ref())?;
//!     let rows = vec![(None, 100), (Some("orders".to_owned()), 3)];
//!     let generate = Generate { target: None, schema, rows, seed: 1, write: WriteOptions::default() };
//!     let orders = &generate.prepare()?.preview(3)?[1];
//!     println!("{}: {}", function.signature, function.about);
//!     println!("    {} gives {}", function.example, orders.rows[0][4]);
//! }
//! # Ok::<(), sqluice::error::Error>(())
//! ```

mod comments;
mod defaults;
mod functions;
mod generator;
mod literal;
mod names;
pub(crate) mod parents;
mod parse;
mod preset;
pub(crate) mod preview;
mod random;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod vector;

pub use functions::{FUNCTIONS, Function};
pub(crate) use functions::{nearest_name, nearest_within, shifted};
pub use preset::{PRESETS, Preset};
pub use preview::{Preview, PreviewValue};
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
