//! The way from a value within an array to the row that it belongs to.
//!
//! ```text
//!  row          0           1     2 (NULL)
//!  list         0..3        3..3  3..5
//!  its values   a   b   c         d   e          d and e belong to no row
//! ```
//!
//! The way is needed only for errors and for values that look wrong: a wrong value that belongs to no row is legal.

use std::ops::Range;

use super::Fault;

/// A receiver of the range of values that belong to a value of the level above.
pub(super) type Each<'e> = &'e mut dyn FnMut(usize, Range<usize>);

/// A function that gives the range of values of each value of the level above that is not NULL.
type Edges<'a> = &'a dyn Fn(Each<'_>);

/// The values of an array, or the values of a child that belong to it.
pub(super) struct Level<'a> {
    len: usize,
    name: &'a str,
    above: Option<(&'a Level<'a>, Edges<'a>)>,
}

impl<'a> Level<'a> {
    /// Returns the level of the rows.
    pub(super) fn rows(len: usize) -> Level<'static> {
        Level { len, name: "", above: None }
    }

    /// Returns the level of a child with `len` values.
    pub(super) fn child(&'a self, name: &'a str, len: usize, edges: Edges<'a>) -> Level<'a> {
        Level { len, name, above: Some((self, edges)) }
    }

    /// Returns for each value `true` if the value belongs to a row.
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

    /// Returns the first row that a value belongs to.
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

    /// Returns the fault of a value.
    pub(super) fn fault(&self, value: usize, message: impl Into<String>) -> Fault {
        Fault { row: self.row_of(value), ..self.whole(message) }
    }

    /// Returns the fault of the whole array.
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
