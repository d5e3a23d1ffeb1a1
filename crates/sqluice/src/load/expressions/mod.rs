//! Applies the SQL expressions of a load, between its files and its tables: filters, computed columns, columns that are left out or
//! renamed.
//!
//! ```text
//!  file        id, email, age                 columns as the table would have them without expressions
//!   │          --where "age >= 18"            SQLite evaluates it for each record, on the thread that decodes the record
//!   │          --set "email=lower(email)"     one after another, each sees those before
//!   │          --exclude-columns age
//!   v          --rename id=person_id
//!  table       person_id, email               types of computed columns follow from their results
//! ```
//!
//! * `list` cuts a list of columns and expressions, such as `id, lower(email) AS email`.
//! * `checked` refuses expressions that are not one row in, one row out, and finds the columns that each one uses.
//! * `inputs` are the types of the columns that expressions use.
//! * `source` evaluates the expressions over the batches of a file.
//! * `columns` gives the files of a table their new columns.
//!
//! Invariant: expressions see the values of the file after their conversion. The types of the file's columns follow from all records, also
//! from those that are left out.

pub(crate) mod checked;
pub(crate) mod columns;
pub(crate) mod inputs;
mod list;
pub(crate) mod source;
