//! Maps the values nested in an array to the rows that they belong to.
//!
//! ```text
//!  row          0           1     2 (NULL)
//!  list         0..3        3..3  3..5
//!  its values   a   b   c         d   e          d and e belong to no row
//! ```
//!
//! The mapping is needed only for errors and for invalid values: an invalid value that belongs to no row is legal.

use std::ops::Range;

use super::Fault;

/// A callback that gets a value of the parent level, and the range of this level's values that belong to it.
pub(super) type Each<'e> = &'e mut dyn FnMut(usize, Range<usize>);

/// A function that calls the callback for each value of the parent level that is not NULL.
type Edges<'a> = &'a dyn Fn(Each<'_>);

/// The values at one depth of nesting: the rows, or the values of a child array.
pub(super) struct Level<'a> {
    len: usize,
    name: &'a str,
    above: Option<(&'a Level<'a>, Edges<'a>)>,
}

impl<'a> Level<'a> {
    /// Creates the level of the rows.
    pub(super) fn rows(len: usize) -> Level<'static> {
        Level { len, name: "", above: None }
    }

    /// Creates the level of a child with `len` values.
    pub(super) fn child(&'a self, name: &'a str, len: usize, edges: Edges<'a>) -> Level<'a> {
        Level { len, name, above: Some((self, edges)) }
    }

    /// Returns for each value whether it belongs to a row.
    pub(super) fn reached(&self) -> Vec<bool> {
        let Some((above, edges)) = self.above else { return vec![true; self.len] };
        let above = above.reached();
        let mut changes = vec![0i64; self.len + 1];
        edges(&mut |slot, values| {
            if above[slot] {
                changes[values.start.min(self.len)] += 1;
                changes[values.end.min(self.len)] -= 1;
            }
        });
        let mut rows = 0;
        let reached = changes[..self.len].iter().map(|change| {
            rows += change;
            rows > 0
        });
        reached.collect()
    }

    /// Returns the first row that a value belongs to, if any.
    fn row_of(&self, value: usize) -> Option<usize> {
        let Some((above, edges)) = self.above else { return Some(value) };
        let reached = above.reached();
        let mut found = None;
        edges(&mut |slot, values| {
            if found.is_none() && values.contains(&value) && reached[slot] {
                found = Some(slot);
            }
        });
        above.row_of(found?)
    }

    /// Creates the fault of a value.
    pub(super) fn fault(&self, value: usize, message: impl Into<String>) -> Fault {
        Fault { row: self.row_of(value), ..self.whole(message) }
    }

    /// Creates a fault of the whole array.
    pub(super) fn whole(&self, message: impl Into<String>) -> Fault {
        Fault { column: self.column().to_owned(), path: self.path(), row: None, message: message.into() }
    }

    /// Returns the name of the column.
    fn column(&self) -> &str {
        match self.above.map_or("", |(above, _)| above.column()) {
            "" => self.name,
            column => column,
        }
    }

    /// Returns the name of the column, followed by the path within it: `person.phones[]`.
    fn path(&self) -> String {
        let Some((above, _)) = self.above else { return self.name.to_owned() };
        match above.path() {
            path if path.is_empty() || self.name.is_empty() || self.name == "[]" => path + self.name,
            path => format!("{path}.{}", self.name),
        }
    }
}
