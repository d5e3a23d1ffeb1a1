//! Rowids that a column gives.
//!
//! To SQLite NULL is one more than the largest rowid so far. A part does not know what came before it, so NULL means
//! the number of the row here, counted from 1, which is the same if all rows before it have theirs; it is
//! refused where it is not. Thus what is taken does not depend on where the input is cut.

use super::{Rowids, describe};
use crate::affinity::{self, Rowid};
use crate::batch::{Batch, Value, Values};
use crate::error::Error;
use crate::source::Refused;

/// The rowids that column `alias` gives, and whether the first is an assumption: it is NULL, and the rowid before it, which
/// is `last_rowid`, is not known. `next_rowid` is the number of the first row.
pub(super) fn of_alias<'a>(
    batch: &Batch<'_>,
    alias: usize,
    name: &str,
    next_rowid: i64,
    last_rowid: Option<i64>,
    given: &'a mut Vec<i64>,
) -> Result<(Rowids<'a>, bool), Refused> {
    let column = &batch.columns[alias];
    if let (Values::Int(ints), None) = (column.values, column.validity)
        && follow_each_other(&ints[..batch.rows])
        && last_rowid.is_none_or(|last| last < ints[0])
    {
        return Ok((Rowids::From(ints[0]), false));
    }
    let first_assumed = last_rowid.is_none() && column.get(0) == Value::Null;
    let mut last = last_rowid;
    given.clear();
    for row in 0..batch.rows {
        let value = column.get(row);
        let rowid = next(&value, name, last, next_rowid + row as i64)
            .map_err(|error| Refused::Stop { at: Some((row, alias)), error })?;
        last = Some(rowid);
        given.push(rowid);
    }
    Ok((Rowids::Each(given), first_assumed))
}

fn follow_each_other(ints: &[i64]) -> bool {
    let span = ints[ints.len() - 1].checked_sub(ints[0]);
    span == Some(ints.len() as i64 - 1) && ints.iter().zip(0..).all(|(&int, row)| int == ints[0] + row)
}

/// The rowid that `value` means for the row of that number, after a row with the rowid `last`.
fn next(value: &Value<'_>, name: &str, last: Option<i64>, number: i64) -> Result<i64, Error> {
    let rowid = match affinity::to_rowid(*value) {
        Rowid::Given(rowid) => rowid,
        Rowid::Next if last.is_none_or(|last| last == number - 1) => return Ok(number),
        Rowid::Next => return Err(null_among_numbers(name)),
        Rowid::Mismatch => {
            let value = describe(value);
            return Err(Error::input(format!("{value} in column {name}, which is INTEGER PRIMARY KEY")));
        }
    };
    match last {
        Some(last) if last >= rowid => Err(out_of_order(name, last, rowid)),
        _ => Ok(rowid),
    }
}

/// The error for NULL where rows before had rowids of their own.
pub(crate) fn null_among_numbers(name: &str) -> Error {
    Error::input(format!("NULL in column {name} among rows that have numbers there"))
        .hint("give all rows a number, or none")
}

/// The error for rows that do not come in the order of their rowids.
pub(crate) fn out_of_order(name: &str, last: i64, rowid: i64) -> Error {
    if last == rowid {
        return Error::input(format!("{name} = {rowid} twice"))
            .hint("an INTEGER PRIMARY KEY holds each number once: remove one of the rows, or declare it a plain INTEGER");
    }
    Error::input(format!("{name} = {rowid} comes after {last}")).hint(
        "rows must come in the order of their INTEGER PRIMARY KEY: sort them, or declare it a plain INTEGER",
    )
}
