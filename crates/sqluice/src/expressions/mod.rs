//! SQL expressions of the user over the columns of one row, for `load` and `copy`.
//!
//! * `functions` opens connections with the functions that expressions may call.
//! * `row` refuses expressions that are not one row in, one value out.

pub(crate) mod functions;
pub(crate) mod row;
