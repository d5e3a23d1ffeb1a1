//! Parses and writes addresses of spreadsheet cells, such as C17, and ranges of cells, such as A3:F200.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use sqluice_core::error::{Error, Result, Setting, column_letters, message};

/// The maximum number of rows of a sheet.
pub(super) const ROWS_MAX: u32 = 1 << 20;

/// The maximum number of columns of a sheet.
pub(super) const COLUMNS_MAX: u32 = 1 << 14;

/// Parses an address, such as `C17`, `$C$17`, `C` or `17`. Returns the column and the row, counted from 1; a missing column or row is
/// `None`, and an empty text lacks both. Returns `None` for any other text.
pub(super) fn parts(text: &[u8]) -> Option<(Option<u32>, Option<u32>)> {
    let text = text.strip_prefix(b"$").unwrap_or(text);
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let mut column = 0;
    for letter in &text[..letters] {
        column = column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1;
        if column > COLUMNS_MAX {
            return None;
        }
    }
    let rest = &text[letters..];
    let rest = if letters > 0 { rest.strip_prefix(b"$").unwrap_or(rest) } else { rest };
    let mut row = 0u32;
    for digit in rest {
        if !digit.is_ascii_digit() {
            return None;
        }
        row = row * 10 + u32::from(digit - b'0');
        if row > ROWS_MAX {
            return None;
        }
    }
    if !rest.is_empty() && row == 0 {
        return None;
    }
    Some(((letters > 0).then_some(column), (!rest.is_empty()).then_some(row)))
}

/// Parses the address of a cell: returns its column and its row, counted from 1.
pub(super) fn cell(text: &[u8]) -> Option<(u32, u32)> {
    match parts(text)? {
        (Some(column), Some(row)) => Some((column, row)),
        _ => None,
    }
}

/// Returns the address of a cell. Columns and rows count from 1.
pub(super) fn written(column: u32, row: u32) -> String {
    format!("{}{row}", column_letters(u64::from(column)))
}

/// A rectangle of cells; rows and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) rows: RangeInclusive<u32>,
    pub(super) columns: RangeInclusive<u32>,
}

impl Area {
    /// All cells of a sheet.
    pub(super) const ALL: Area = Area { rows: 1..=ROWS_MAX, columns: 1..=COLUMNS_MAX };

    /// Parses `A3:F200`, `A3:F`, `A:F`, `3:200`, `A3:` or `A3`.
    pub(super) fn parse(text: &str) -> Option<Area> {
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        let (from, to) = (parts(from.as_bytes())?, parts(to.as_bytes())?);
        if from == (None, None) {
            return None;
        }
        let columns = from.0.unwrap_or(1)..=to.0.unwrap_or(COLUMNS_MAX);
        let rows = from.1.unwrap_or(1)..=to.1.unwrap_or(ROWS_MAX);
        (!columns.is_empty() && !rows.is_empty()).then_some(Area { rows, columns })
    }
}

/// The cells of a sheet that are loaded, as the user gives them: `A3:F200`, `A3:F` (to the last row), `A:F`, `3:200`, or `Sheet!A3:F`.
///
/// ```
/// use sqluice_sources::formats::CellRange;
///
/// let range: CellRange = "'Orders 2024'!A3:F".parse().unwrap();
/// assert_eq!(range.to_string(), "'Orders 2024'!A3:F");
/// assert_eq!(range.sheet(), Some("Orders 2024"));
/// assert!("F:A".parse::<CellRange>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRange {
    text: String,
    sheet: Option<String>,
    pub(super) area: Area,
}

impl CellRange {
    /// Returns the name of the sheet, if the range names one.
    pub fn sheet(&self) -> Option<&str> {
        self.sheet.as_deref()
    }
}

impl FromStr for CellRange {
    type Err = Error;

    fn from_str(text: &str) -> Result<CellRange> {
        let (sheet, cells) = match text.trim().rsplit_once('!') {
            Some((sheet, cells)) => (Some(sheet), cells),
            None => (None, text.trim()),
        };
        let unquoted = |sheet: &str| match sheet.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            Some(quoted) => quoted.replace("''", "'"),
            None => sheet.to_owned(),
        };
        let sheet = sheet.map(unquoted);
        let Some(area) = Area::parse(cells).filter(|_| sheet.as_deref() != Some("")) else {
            let message = message![Setting::Range, format!(": {text:?} is not a range of cells")];
            return Err(Error::usage(message).hint("such as A3:F200, A3:F, A:F, 3:200 or Sheet1!A3:F"));
        };
        Ok(CellRange { text: text.to_owned(), sheet, area })
    }
}

impl fmt::Display for CellRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn a_written_cell_address_is_read_back(column in 1..=COLUMNS_MAX, row in 1..=ROWS_MAX) {
            prop_assert_eq!(cell(written(column, row).as_bytes()), Some((column, row)));
            prop_assert_eq!(cell(format!("${}", written(column, row)).as_bytes()), Some((column, row)));
        }

        #[test]
        fn any_text_is_read_as_a_cell_within_a_sheet_or_refused(text in "[$]?[A-Za-z]{0,6}[$]?[0-9]{0,12}:?") {
            if let Some((column, row)) = cell(text.as_bytes()) {
                prop_assert!((1..=COLUMNS_MAX).contains(&column) && (1..=ROWS_MAX).contains(&row));
            }
        }
    }

    #[test]
    fn a_range_of_cells_may_lack_an_end() {
        let area = |text| Area::parse(text).map(|area| (area.columns, area.rows));
        assert_eq!(area("A3:F200"), Some((1..=6, 3..=200)));
        assert_eq!(area("A3:F"), Some((1..=6, 3..=ROWS_MAX)));
        assert_eq!(area("b:$D"), Some((2..=4, 1..=ROWS_MAX)));
        assert_eq!(area("3:9"), Some((1..=COLUMNS_MAX, 3..=9)));
        assert_eq!(area("B3:"), Some((2..=COLUMNS_MAX, 3..=ROWS_MAX)));
        assert_eq!(area("B3"), Some((2..=2, 3..=3)));
        for wrong in ["", ":", "F:A", "A9:B3", "A0", "XFE1", "A1048577", "A1:B2:C3", "1A"] {
            assert_eq!(area(wrong), None, "{wrong}");
        }
    }
}
