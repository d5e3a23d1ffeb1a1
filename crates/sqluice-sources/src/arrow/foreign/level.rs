//! The way from a value within an array to the row that it belongs to.
//!
//! ```text
//!  row          0           1     2 (NULL)
//!  list         0..3        3..3  3..5
//!  its values   a   b   c         d   e          d and e belong to no row
//! ```
//!
//! Only errors need this way, and values that look wrong: one that belongs to no row is legal.

use std::ops::Range;

use super::Fault;

/// Receives the values that a value of the level above has.
pub(super) type Each<'e> = &'e mut dyn FnMut(usize, Range<usize>);

/// Lists which values of a level belong to each value of the level above that is not NULL.
type Edges<'a> = &'a dyn Fn(Each<'_>);

/// The values of an array, or those of a child that belong to it.
pub(super) struct Level<'a> {
    len: usize,
    name: &'a str,
    above: Option<(&'a Level<'a>, Edges<'a>)>,
}

impl<'a> Level<'a> {
    /// Rows.
    pub(super) fn rows(len: usize) -> Level<'static> {
        Level { len, name: "", above: None }
    }

    /// The `len` values of a child.
    pub(super) fn child(&'a self, name: &'a str, len: usize, edges: Edges<'a>) -> Level<'a> {
        Level { len, name, above: Some((self, edges)) }
    }

    /// For each value, whether a row has it.
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

    /// The first row that has a value.
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

    /// The name of the column.
    fn column(&self) -> &str {
        match self.above.map_or("", |(above, _)| above.column()) {
            "" => self.name,
            column => column,
        }
    }

    /// The name of the column, and of what is within it: `person.phones[]`.
    fn path(&self) -> String {
        let Some((above, _)) = self.above else { return self.name.to_owned() };
        match above.path() {
            path if path.is_empty() || self.name.is_empty() || self.name == "[]" => path + self.name,
            path => format!("{path}.{}", self.name),
        }
    }
}
