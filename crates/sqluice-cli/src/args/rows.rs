//! How many rows are asked for, and which share of them.

use crate::numbers;

/// How many rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RowCount {
    /// This number, for the table of that name or for each that is not named.
    Count(Option<String>, u64),
    /// This number for each row of the table's parent.
    PerParent(String, f64),
}

pub(super) fn rows(text: &str) -> Result<RowCount, String> {
    match text.rsplit_once('=') {
        Some((table, rows)) => match rows.strip_suffix(['x', 'X']) {
            Some(factor) => match factor.parse() {
                Ok(factor) if (0.0..=1e9).contains(&factor) => {
                    Ok(RowCount::PerParent(table.to_owned(), factor))
                }
                _ => Err("a factor is a number from 0 to 1e9, such as 3x or 0.5x".to_owned()),
            },
            None => Ok(RowCount::Count(Some(table.to_owned()), numbers::count(rows)?)),
        },
        None => Ok(RowCount::Count(None, numbers::count(text)?)),
    }
}

pub(super) fn share(text: &str) -> Result<(u64, u64), String> {
    let share =
        text.split_once('/').and_then(|(share, shares)| Some((share.parse().ok()?, shares.parse().ok()?)));
    share.filter(|&(share, shares)| 1 <= share && share <= shares).ok_or("a share is such as 2/4".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_may_name_a_table() {
        assert_eq!(rows("1e3"), Ok(RowCount::Count(None, 1000)));
        assert_eq!(rows("a=b=10k"), Ok(RowCount::Count(Some("a=b".to_owned()), 10_000)));
        assert!(rows("a=").is_err());
    }

    #[test]
    fn rows_may_follow_from_those_of_a_parent() {
        assert_eq!(rows("a=2.5x"), Ok(RowCount::PerParent("a".to_owned(), 2.5)));
        for wrong in ["3x", "a=x", "a=-1x", "a=NaNx", "a=infx"] {
            assert!(rows(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_count_from_one() {
        assert_eq!(share("2/4"), Ok((2, 4)));
        for wrong in ["0/4", "5/4", "2", "/", "1/0", "-1/4"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
