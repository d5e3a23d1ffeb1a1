//! Parses the averages of a table (row 1 of `t_data`), and the sizes of its rows in tokens (`t_docsize`).

use super::super::totals::AVERAGES_ID;
use super::{Damage, Numbers};

/// Parses the averages of a table with this number of columns: the number of rows, and the tokens of each column. The empty block of a new
/// table has no rows.
///
/// # Errors
/// If the block has fewer or more numbers.
pub fn parse_averages(block: &[u8], columns: usize) -> Result<(u64, Vec<u64>), Damage> {
    if block.is_empty() {
        return Ok((0, vec![0; columns]));
    }
    let mut numbers = Numbers::new(AVERAGES_ID, block, 0);
    let rows = numbers.next()?;
    let tokens = all_of(&mut numbers, columns)?;
    Ok((rows, tokens))
}

/// Parses the size of the row `rowid`: the tokens of each column.
///
/// # Errors
/// If the block has fewer or more numbers.
pub fn parse_docsize(rowid: i64, block: &[u8], columns: usize) -> Result<Vec<u64>, Damage> {
    all_of(&mut Numbers::new(rowid, block, 0), columns)
}

fn all_of(numbers: &mut Numbers<'_>, count: usize) -> Result<Vec<u64>, Damage> {
    let all = (0..count).map(|_| numbers.next()).collect::<Result<_, _>>()?;
    numbers.end()?;
    Ok(all)
}
