//! Describes the trees of a table that refers to itself, as `tree(rows(n: weight, ...): weight, ...)`.
//!
//! ```text
//!  keys and parents of all rows ──> depth of each row ──> levels: number of rows, numbers of rows below each row ──> tree(...)
//! ```
//!
//! A root refers to no row, or to itself. Rows in a cycle, and rows whose parent is missing, count as rows below a root.

use std::collections::HashMap;

use rusqlite::types::ValueRef;
use sqluice_core::error::Result;
use sqluice_core::schema::{Reference, Table, quoted};
use sqluice_reader::Snapshot;
use sqluice_reader::connection::unreadable;

use super::parents::{classes_of, share};
use super::sketch::{hash_bytes, hash_int, hash_pair, hash_real};

/// The maximum number of rows whose trees are described: their keys are held in memory.
const ROWS_MAX: u64 = 1 << 25;

/// The number of levels that are described one by one.
const LEVELS: usize = 24;

/// The maximum number of groups into which the levels after the first [`LEVELS`] are put.
const GROUPS: usize = 12;

/// The maximum number of classes into which the numbers of children in a group of levels are divided.
const CLASSES_MAX: usize = 16;

/// The trees of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Lineage {
    rows: u64,
    /// The number of rows whose reference is NULL.
    without: u64,
    /// For each level, the number of children of each of its rows.
    levels: Vec<Vec<u64>>,
}

/// The parent of a row, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Up {
    Nothing,
    Own,
    Row(u32),
    Missing,
}

impl Lineage {
    /// Reads the trees of a reference of a table to itself. Returns `None` if the table has no rows, or too many, or if the reference is to
    /// columns that do not exist, or to fewer or more columns than it has.
    pub(super) fn read(
        snapshot: &Snapshot,
        table: &Table,
        reference: &Reference,
        rows: u64,
    ) -> Result<Option<Lineage>> {
        let parent_columns: Option<Vec<usize>> = match reference.parent_columns.is_empty() {
            true => table.primary_key(),
            false => reference.parent_columns.iter().map(|name| table.column(name)).collect(),
        };
        let Some(parent_columns) = parent_columns.filter(|of| of.len() == reference.columns.len()) else {
            return Ok(None);
        };
        if rows == 0 || rows > ROWS_MAX {
            return Ok(None);
        }
        let columns = parent_columns.iter().chain(&reference.columns);
        let names: Vec<String> = columns.map(|column| quoted(&table.columns[*column].name)).collect();
        let sql = format!("SELECT {} FROM {}", names.join(", "), quoted(&table.name));
        let width = parent_columns.len();
        let read = || {
            let connection = snapshot.connection();
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            let (mut keys, mut ups) = (Vec::new(), Vec::new());
            while let Some(row) = rows.next()? {
                let hash = |from: usize| -> rusqlite::Result<Option<u64>> {
                    let mut hash = Some(0);
                    for column in from..from + width {
                        let value = hash_of(row.get_ref(column)?);
                        hash = hash.zip(value).map(|(hash, value)| hash_pair(hash, value));
                    }
                    Ok(hash)
                };
                keys.push(hash(0)?);
                ups.push(hash(width)?);
            }
            Ok((keys, ups))
        };
        let (keys, ups) = read().map_err(|error| unreadable(snapshot.name(), error))?;
        Ok(Some(Lineage::of(&keys, &ups)))
    }

    /// Finds the levels of rows from their keys and the keys of their parents.
    fn of(keys: &[Option<u64>], ups: &[Option<u64>]) -> Lineage {
        let places: HashMap<u64, u32> =
            keys.iter().zip(0..).filter_map(|(key, row)| Some(((*key)?, row))).collect();
        let up = |(row, up): (usize, &Option<u64>)| match up {
            None => Up::Nothing,
            Some(key) => match places.get(key) {
                Some(parent) if *parent as usize == row => Up::Own,
                Some(parent) => Up::Row(*parent),
                None => Up::Missing,
            },
        };
        let ups: Vec<Up> = ups.iter().enumerate().map(up).collect();
        let depths = depths(&ups);
        let mut below = vec![0_u64; ups.len()];
        for up in &ups {
            if let Up::Row(parent) = up {
                below[*parent as usize] += 1;
            }
        }
        let mut levels: Vec<Vec<u64>> =
            vec![Vec::new(); depths.iter().max().map_or(0, |most| *most as usize + 1)];
        for (depth, below) in depths.iter().zip(below) {
            levels[*depth as usize].push(below);
        }
        levels.iter_mut().for_each(|counts| counts.sort_unstable());
        let without = ups.iter().filter(|up| **up == Up::Nothing).count() as u64;
        // If there is no root, the rows of a cycle are the first level.
        levels.retain(|level| !level.is_empty());
        Lineage { rows: ups.len() as u64, without, levels }
    }

    /// Returns the arguments of `ref` after the column: the levels, and the share of rows without a parent.
    pub(super) fn arguments(&self, is_not_null: bool) -> String {
        let rows = |levels: &[Vec<u64>]| {
            let mut counts: Vec<u64> = levels.concat();
            counts.sort_unstable();
            let classes = match classes_of(&counts, CLASSES_MAX) {
                classes if classes.iter().any(|(rows, _)| *rows > 0.0) => classes,
                _ => vec![(1.0, 1.0)],
            };
            let class =
                |(rows, weight): &(f64, f64)| format!("{}: {weight}", (rows * 1000.0).round() / 1000.0);
            let classes: Vec<String> = classes.iter().map(class).collect();
            (format!("rows({})", classes.join(", ")), counts.len())
        };
        let (single, rest) = self.levels.split_at(self.levels.len().min(LEVELS));
        let mut levels: Vec<String> = single
            .iter()
            .map(|level| {
                let (counts, weight) = rows(std::slice::from_ref(level));
                format!("{counts}: {weight}")
            })
            .collect();
        for group in rest.chunks(rest.len().div_ceil(GROUPS).max(1)) {
            let (counts, weight) = rows(group);
            levels.push(format!("repeated({}, {counts}): {weight}", group.len()));
        }
        let outside = match self.without {
            0 => String::new(),
            _ if is_not_null => String::new(),
            without => format!(", {}", share(without, self.rows)),
        };
        format!("tree({}){outside}", levels.join(", "))
    }

    /// Returns the expression of a column that has the line number of each row's parent, in a table whose rows form `groups` groups. The
    /// rows of a group have the line numbers `first`, `first + 1` and so on in the column `line`: the roots come first, then the rows of
    /// each level. Returns `None` if all rows are roots.
    pub(super) fn lines(&self, line: &str, first: i64, groups: f64, is_not_null: bool) -> Option<String> {
        if self.levels.len() < 2 {
            return None;
        }
        // The last line number of each level in a group of average size, and the share of the level's rows that are parents.
        let mut ends: Vec<i64> = Vec::new();
        let mut shares: Vec<f64> = Vec::new();
        let mut rows = 0;
        for level in &self.levels {
            rows += level.len();
            let end = first - 1 + (rows as f64 / groups).round() as i64;
            let begun = ends.last().map_or(first - 1, |last| *last);
            if end > begun || ends.is_empty() {
                ends.push(end.max(begun + 1));
                let parents = level.iter().filter(|below| **below > 0).count();
                shares.push(parents as f64 / level.len() as f64);
            }
        }
        let root = if is_not_null || self.without == 0 { line } else { "NULL" };
        let mut text = format!("case(when {line} <= {} then {root}", ends[0]);
        let mut begin = first;
        for level in 1..ends.len().min(LEVELS) {
            let parents = (shares[level - 1] * (ends[level - 1] - begin + 1) as f64).round() as i64;
            let parent = format!("int({begin}, {})", begin + parents.max(1) - 1);
            begin = ends[level - 1] + 1;
            if level + 1 == ends.len() {
                return Some(format!("{text} else {parent})"));
            }
            text += &format!(" when {line} <= {} then {parent}", ends[level]);
        }
        if ends.len() == 1 {
            // A group of average size has only roots.
            return Some(format!("{text} else int({first}, {}))", ends[0]));
        }
        // Deeper levels have about the same number of rows. The parent is one of the `width` lines above, but not before the first line.
        let shown = ends.len().min(LEVELS);
        let deeper = ends.len() - shown;
        let width = (ends[ends.len() - 1] - ends[shown - 1]) / deeper.max(1) as i64;
        Some(format!("{text} else {line} - {})", width.clamp(1, ends[shown - 1] - first + 1)))
    }
}

/// Returns the depth of each row.
fn depths(ups: &[Up]) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    const ON_PATH: u32 = u32::MAX - 1;
    let mut depths = vec![UNKNOWN; ups.len()];
    let mut path = Vec::new();
    for start in 0..ups.len() {
        let mut row = start;
        // The depth of the last row of the path.
        let mut depth = loop {
            match (depths[row], ups[row]) {
                (ON_PATH, _) => break 1,
                (UNKNOWN, up) => {
                    depths[row] = ON_PATH;
                    path.push(row);
                    match up {
                        Up::Nothing | Up::Own => break 0,
                        Up::Missing => break 1,
                        Up::Row(parent) => row = parent as usize,
                    }
                }
                (known, _) => break known + 1,
            }
        };
        while let Some(row) = path.pop() {
            depths[row] = depth;
            depth += 1;
        }
    }
    depths
}

/// Returns the hash of a value, or `None` for NULL.
fn hash_of(value: ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(int) => Some(hash_int(int)),
        ValueRef::Real(real) => Some(hash_real(real)),
        ValueRef::Text(text) => Some(hash_bytes(text, 0)),
        ValueRef::Blob(blob) => Some(hash_bytes(blob, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(ups: &[Option<u64>]) -> Lineage {
        let keys: Vec<Option<u64>> = (0..ups.len() as u64).map(Some).collect();
        Lineage::of(&keys, ups)
    }

    #[test]
    fn the_profile_of_a_tree_of_rows_has_the_numbers_of_children_by_level() {
        let found = lineage(&[None, Some(0), Some(0), Some(2), Some(4), Some(77)]);
        assert_eq!(found.levels, [vec![0, 2], vec![0, 0, 1], vec![0]]);
        assert_eq!(
            found.arguments(false),
            "tree(rows(0: 1, 2: 1): 2, rows(0: 2, 1: 1): 3, rows(1: 1): 1), 0.166666667"
        );
        assert_eq!(found.arguments(true), "tree(rows(0: 1, 2: 1): 2, rows(0: 2, 1: 1): 3, rows(1: 1): 1)");
    }

    #[test]
    fn the_generated_reference_to_a_parent_is_a_lower_line_number_in_the_same_group() {
        let lines =
            |ups: &[Option<u64>], groups, is_not_null| lineage(ups).lines("n", 1, groups, is_not_null);
        assert_eq!(lines(&[None, None, None], 1.0, false), None);
        assert_eq!(
            lines(&[None, Some(0), Some(0), Some(1)], 1.0, false).unwrap(),
            "case(when n <= 1 then NULL when n <= 3 then int(1, 1) else int(2, 2))"
        );
        // A root that refers to itself has its own line number as that of its parent.
        assert_eq!(
            lines(&[Some(0), Some(0)], 1.0, false).unwrap(),
            "case(when n <= 1 then n else int(1, 1))"
        );
        // Children are too rare for a group of average size to have one.
        let rare: Vec<Option<u64>> = (0..100).map(|row| (row == 99).then_some(0)).collect();
        assert_eq!(lines(&rare, 20.0, false).unwrap(), "case(when n <= 5 then NULL else int(1, 5))");
        // Each level has one row, except the last level, which has 500.
        let chain = |row: u64| row.checked_sub(1).map(|up| up.min(LEVELS as u64 - 1));
        let deep: Vec<Option<u64>> = (0..LEVELS as u64 + 500).map(chain).collect();
        let deep = lines(&deep, 1.0, false).unwrap();
        assert!(deep.ends_with(&format!(" else n - {LEVELS})")), "{deep}");
    }

    #[test]
    fn rows_that_refer_to_each_other_in_a_cycle_are_counted_on_some_level() {
        let found = lineage(&[None, Some(2), Some(1), Some(2)]);
        assert_eq!(found.levels.concat().len(), 4);
        let chain: Vec<Option<u64>> = (0..500_u64).map(|row| row.checked_sub(1)).collect();
        let text = lineage(&chain).arguments(false);
        assert_eq!(text.matches("repeated(").count(), 12, "{text}");
        assert_eq!(lineage(&chain).levels.len(), 500);
    }
}
