//! Rowids that a column gives.

use super::{Rowids, describe};
use crate::affinity::{self, Rowid};
use crate::batch::{Batch, Value, Values};
use crate::error::Error;
use crate::source::Refused;

/// The rowids that column `alias` gives, and whether the first is an assumption: NULL stands for one more than the row
/// before, which is `last_rowid` or not known.
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
        let rowid = next(&value, name, last, next_rowid)
            .map_err(|error| Refused { at: Some((row, alias)), error })?;
        last = Some(rowid);
        given.push(rowid);
    }
    Ok((Rowids::Each(given), first_assumed))
}

fn follow_each_other(ints: &[i64]) -> bool {
    let span = ints[ints.len() - 1].checked_sub(ints[0]);
    span == Some(ints.len() as i64 - 1) && ints.iter().zip(ints[0]..).all(|(&int, expected)| int == expected)
}

/// The rowid that `value` means after a row with the rowid `last`.
fn next(value: &Value<'_>, name: &str, last: Option<i64>, next_rowid: i64) -> Result<i64, Error> {
    let rowid = match (affinity::to_rowid(*value), last) {
        (Rowid::Given(rowid), _) => rowid,
        (Rowid::Next, None) => next_rowid,
        (Rowid::Next, Some(i64::MAX)) => {
            return Err(Error::input(format!("no rowid is left for NULL in column {name}")));
        }
        (Rowid::Next, Some(last)) => last + 1,
        (Rowid::Mismatch, _) => {
            let value = describe(value);
            return Err(Error::input(format!("{value} in column {name}, which is INTEGER PRIMARY KEY")));
        }
    };
    match last {
        Some(last) if last == rowid => Err(Error::input(format!("{name} = {rowid} twice"))),
        Some(last) if last > rowid => Err(out_of_order(name, last, rowid)),
        _ => Ok(rowid),
    }
}

/// The error for rows that do not come in the order of their rowids.
pub(crate) fn out_of_order(name: &str, last: i64, rowid: i64) -> Error {
    Error::input(format!("{name} = {rowid} comes after {last}")).hint(
        "rows must come in the order of their INTEGER PRIMARY KEY: sort them, or declare it a plain INTEGER",
    )
}
