//! Rowids from a column that is another name for the rowid.
//!
//! SQLite replaces NULL by one more than the largest rowid so far. A thread that encodes a part of the input does not know the rows before
//! this part, so it replaces NULL by the number of the row, counted from 1. Both rules give the same rowid if the rowid of each earlier row
//! is the row's number. Otherwise NULL is refused, unless a single thread encodes all rows in sequence, and so knows the largest rowid. So
//! the result does not depend on the division of the input into parts.

use std::sync::atomic::{AtomicBool, Ordering};

use sqluice_core::affinity::{self, Rowid};
use sqluice_core::batch::describe;
use sqluice_core::batch::{Batch, Value, Values};
use sqluice_core::error::{Assumption, Error};
use sqluice_core::source::RefusedRow;

use super::{LastRowid, Rowids, loss_of};

/// The column that is another name for the rowid.
#[derive(Clone, Copy)]
pub(super) struct Alias<'n> {
    pub(super) index: usize,
    pub(super) name: &'n str,
    /// `true` if text that loses something when it becomes a number is refused.
    pub(super) lossless: bool,
    /// `true` if the table is AUTOINCREMENT.
    pub(super) autoincrement: bool,
}

/// The kinds of values, NULL or numbers, that all threads have found in the column, for rows in any order. NULL means one more than the
/// largest rowid before it, which is known only if all rows are encoded in sequence.
#[derive(Debug, Default)]
pub(crate) struct AnyOrder {
    null: AtomicBool,
    number: AtomicBool,
}

impl AnyOrder {
    /// Returns `true` if the column has NULL among numbers, and the meaning of the NULL is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        self.null.load(Ordering::Relaxed) && self.number.load(Ordering::Relaxed)
    }

    /// Takes note of the values in a batch. If the thread knows all rows before the batch, sets `largest` to the largest rowid up to the
    /// end of the batch. Otherwise, adds the kinds of the values.
    pub(super) fn note(&self, batch: Seen, largest: Option<&mut Option<i64>>) {
        match largest {
            Some(largest) => *largest = batch.largest,
            None => {
                self.null.fetch_or(batch.null, Ordering::Relaxed);
                self.number.fetch_or(batch.number, Ordering::Relaxed);
            }
        }
    }
}

/// The kinds of values that the column has in a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    null: bool,
    number: bool,
    /// The largest rowid up to the end of the batch.
    largest: Option<i64>,
}

/// Returns the rowids of the column `alias`, which need not ascend. If all rows are encoded in sequence, `largest` has the largest rowid
/// before the batch, and NULL means the next rowid. Otherwise `largest` is `None`, and NULL means the number of the row. Values that are no
/// rowids go to `refused`.
///
/// # Errors
/// If NULL follows the largest possible rowid.
pub(super) fn of_alias_in_any_order<'a>(
    batch: &Batch<'_>,
    alias: Alias<'_>,
    numbers: Rowids<'_>,
    largest: Option<Option<i64>>,
    given: &'a mut Vec<i64>,
    refused: &mut Vec<RefusedRow>,
) -> Result<(Rowids<'a>, Seen), (usize, Error)> {
    let column = &batch.columns[alias.index];
    let mut seen = Seen { largest: largest.flatten(), ..Seen::default() };
    given.clear();
    for row in 0..batch.rows {
        let counted = numbers.get(row);
        let rowid = match wanted(column.get(row), alias) {
            Ok(Rowid::Given(rowid)) => {
                seen.number = true;
                rowid
            }
            Ok(Rowid::Next) => {
                seen.null = true;
                match largest {
                    None => counted,
                    Some(_) => {
                        next_of(seen.largest, alias).ok_or_else(|| (row, no_rowid_left(alias.name)))?
                    }
                }
            }
            other => {
                refused.push(refusal(other, column.get(row), row, alias));
                given.push(counted);
                continue;
            }
        };
        given.push(rowid);
        seen.largest = Some(seen.largest.map_or(rowid, |largest| largest.max(rowid)));
    }
    Ok((Rowids::Each(given), seen))
}

/// Returns the rowid after the largest rowid, or `None` if `largest` is the largest possible rowid. The first rowid of a table is 1.
/// AUTOINCREMENT never continues from a negative rowid.
fn next_of(largest: Option<i64>, alias: Alias<'_>) -> Option<i64> {
    match largest {
        None => Some(1),
        Some(largest) if alias.autoincrement => largest.max(0).checked_add(1),
        Some(largest) => largest.checked_add(1),
    }
}

/// Returns the rowids of the column `alias`, and `true` if the first rowid is assumed because it is NULL and the rowid before, `last`, is
/// unknown. `numbers` are the numbers of the rows. Values that are no rowids go to `refused`.
///
/// # Errors
/// The first row that is out of order, or whose NULL has no known meaning.
pub(super) fn of_alias<'a>(
    batch: &Batch<'_>,
    alias: Alias<'_>,
    numbers: Rowids<'_>,
    last: Option<LastRowid>,
    given: &'a mut Vec<i64>,
    refused: &mut Vec<RefusedRow>,
) -> Result<(Rowids<'a>, bool), (usize, Error)> {
    let column = &batch.columns[alias.index];
    if let (Values::Int(ints), None) = (column.values, column.validity)
        && follow_each_other(&ints[..batch.rows])
        && last.is_none_or(|last| last.rowid < ints[0])
    {
        return Ok((Rowids::From(ints[0]), false));
    }
    let first_assumed = last.is_none() && column.get(0) == Value::Null;
    let mut last = last;
    given.clear();
    for row in 0..batch.rows {
        let number = numbers.get(row);
        let value = column.get(row);
        let rowid = match wanted(value, alias) {
            Ok(Rowid::Given(rowid)) => rowid,
            Ok(Rowid::Next) if last.is_none_or(|last| last.counted) => number,
            Ok(Rowid::Next) => return Err((row, null_among_numbers(alias.name))),
            other => {
                refused.push(refusal(other, value, row, alias));
                number
            }
        };
        given.push(rowid);
        if refused.last().is_some_and(|refused| refused.row == row) {
            continue;
        }
        match last {
            Some(last) if last.rowid >= rowid => {
                return Err((row, out_of_order(alias.name, last.rowid, rowid)));
            }
            _ => last = Some(LastRowid { rowid, counted: rowid == number }),
        }
    }
    Ok((Rowids::Each(given), first_assumed))
}

/// Returns the refusal of a value that is no rowid.
pub(super) fn refusal(
    wanted: Result<Rowid, Error>,
    value: Value<'_>,
    row: usize,
    alias: Alias<'_>,
) -> RefusedRow {
    let mismatch = |_| {
        Error::input(format!("{} in column {}, which is INTEGER PRIMARY KEY", describe(&value), alias.name))
    };
    RefusedRow { row, column: alias.index, error: wanted.map_or_else(|error| error, mismatch) }
}

/// Returns the rowid that a value requests, or an error about what the value would lose.
pub(super) fn wanted(value: Value<'_>, alias: Alias<'_>) -> Result<Rowid, Error> {
    let rowid = affinity::to_rowid(value);
    match rowid {
        Rowid::Given(_) if alias.lossless => match loss_of(&value, affinity::Affinity::Integer) {
            Some(error) => Err(error(alias.name)),
            None => Ok(rowid),
        },
        _ => Ok(rowid),
    }
}

fn follow_each_other(ints: &[i64]) -> bool {
    let span = ints[ints.len() - 1].checked_sub(ints[0]);
    // All values are compared, with SIMD, as an exception is rare.
    let difference = |(&int, row): (&i64, i64)| int ^ ints[0].wrapping_add(row);
    span == Some(ints.len() as i64 - 1)
        && ints.iter().zip(0..).map(difference).fold(0, |all, bits| all | bits) == 0
}

/// Returns the error for NULL after rows with rowids of their own.
pub(crate) fn null_among_numbers(name: &str) -> Error {
    Error::input(format!("NULL in column {name} among rows that have numbers in it"))
        .hint("give all rows a number, or none")
        .refuting(Assumption::RowOrder)
}

fn no_rowid_left(name: &str) -> Error {
    Error::input(format!("NULL in column {name} after {}, the largest number", i64::MAX))
        .hint("give the row a number that is free")
}

/// Returns the error for rows that would need rowids above the largest possible rowid.
pub(crate) fn no_rowids_left(table: &str) -> Error {
    Error::input(format!("table {table} has too few free rowids above its largest rowid"))
        .refuting(Assumption::RowOrder)
}

/// Returns the error for rows that do not follow the existing rows.
pub(crate) fn not_after_last(name: &str, last: i64, rowid: i64) -> Error {
    Error::input(format!("{name} = {rowid} is not greater than {last}, the largest in the table"))
        .hint(format!("rows must be in ascending order of {name}, and above those of the table"))
        .refuting(Assumption::RowOrder)
}

/// Returns the error for rows that do not arrive in the order of their rowids.
pub(crate) fn out_of_order(name: &str, last: i64, rowid: i64) -> Error {
    if last == rowid {
        return Error::input(format!("{name} = {rowid} is in two rows"))
            .hint("an INTEGER PRIMARY KEY holds each number once: remove one of the rows, or declare it a plain INTEGER")
            .refuting(Assumption::RowOrder);
    }
    Error::input(format!("{name} = {rowid} comes after {last}, which is larger"))
        .hint("rows must be in the order of their INTEGER PRIMARY KEY: sort them, or declare it a plain INTEGER")
        .refuting(Assumption::RowOrder)
}
