//! SQL expressions of the user over the columns of one row, for `load` and `copy`.
//!
//! * `functions` opens connections with the functions that expressions may call.
//! * `row` refuses expressions that need more than one row, or do not return one value for each row.

pub(crate) mod functions;
pub(crate) mod row;
