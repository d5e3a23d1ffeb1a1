//! The generator language: comments in a schema file say how the values of each column are generated.
//!
//! ```text
//!  schema file ── comments: text and column ──> parse ──┐
//!                                                       ├──> functions: typed, checked ──> Spec ──> GeneratedTable: a Source
//!  declared types ─────── defaults ─────────────────────┘                                           parts ──> vectors ──> batches
//! ```
//!
//! Invariants: every value is a function of (seed, row counts of the tables, table, column, row number), so any part can be generated on
//! any core or machine, in any order. A [`Spec`] is plain data: building, checking and printing a spec generates no values.
//!
//! The modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * `random`, `vector`: random numbers and buffers for values; `moves`: values taken from other rows; `literal`, `parse`, `comments`: the
//!   language
//! * `generator`: the trait of the generators of columns; `names`: columns that expressions name; `functions`: the functions of the
//!   language
//! * `sqlite_rows`: rows for SQLite; `table`, `table_spec`: a generated table and the spec of a table
//! * `defaults`: expressions derived from the schema; `spec`: the spec of a schema; `settle`: makes rows satisfy constraints; `parents`:
//!   foreign keys that need no check
//! * `mask`: values that replace those of an existing database
//! * `preset`, `preview`: built-in schemas and sample rows
//!
//! # Functions
//!
//! Each function has an example, which belongs to a schema of several tables:
//!
//! ```
//! use sqluice_core::schema::Schema;
//! use sqluice_generator::preview::preview;
//! use sqluice_generator::{FUNCTIONS, Function, Spec};
//!
//! for function in FUNCTIONS {
//!     let sql = Function::EXAMPLE_SCHEMA.replace("{}", function.example);
//!     let schema = Schema::parse(sql, "example.sql".as_ref())?;
//!     let spec = Spec::new(&schema)?;
//!     let (seed, rows, first, shown) = (1, [100, 3], [0, 0], [3, 3]);
//!     let orders = &preview(&schema, &spec, seed, &rows, &first, &shown)?[1];
//!     println!("{}: {}", function.signature, function.about);
//!     println!("    {} gives {}", function.example, orders.rows[0][4]);
//! }
//! # Ok::<(), sqluice_core::error::Error>(())
//! ```

mod comments;
mod defaults;
mod functions;
mod generator;
mod literal;
pub mod mask;
mod moves;
mod names;
pub mod parents;
mod parse;
mod preset;
pub mod preview;
mod random;
pub mod settle;
mod spec;
mod sqlite_rows;
mod table;
mod table_spec;
#[cfg(test)]
mod tests;
mod vector;

pub use comments::described_tables;
pub use defaults::{expression_of_name, words_of_name};
pub use functions::{
    FUNCTIONS, Function, MASK_FUNCTIONS, MaskFunction, POOL_INTS_MAX, is_first_name, moment_of_text,
    moment_text,
};
pub use preset::{PRESETS, Preset};
pub use preview::{Preview, PreviewValue};
pub use spec::{Spec, stated_rows};
pub use table::GeneratedTable;
pub use table_spec::{ColumnSpec, Origin, TableSpec};

use sqluice_core::error::{Error, Place};
use sqluice_core::schema::Schema;

/// A mistake in a schema file, and its position in bytes.
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
