//! JSON paths that consist of members and elements. Fields need no other features of JSON paths.
//!
//! ```text
//!  $.address.city     $."odd name".x     $.tags[0]     $
//! ```
//!
//! The paths of a type become a tree, so that one walk over an entity finds all fields:
//!
//! ```text
//!  $.address.city, $.address.street, $.age          .address ── .city    field 0
//!                                                      │   └─── .street  field 1
//!                                                    .age                field 2
//! ```

use sqluice_core::error::{Error, Result};

/// A step into a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of an object's member.
    Member(String),
    /// The element of an array, counted from 0.
    Element(usize),
}

/// Parses a path. Returns the steps after its `$`.
///
/// # Errors
/// When the path is invalid, or uses features other than members and elements.
pub(super) fn parse(path: &str) -> Result<Vec<Step>> {
    let wrong = |at: usize| {
        Error::usage(format!("{path:?} is not a JSON path: there is an error at byte {at}"))
            .hint("such as $.address.city, $.tags[0] or $.\"odd name\"")
    };
    let mut rest = path.strip_prefix('$').ok_or_else(|| wrong(0))?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let at = path.len() - rest.len();
        let (step, after) = step(rest).ok_or_else(|| wrong(at))?;
        steps.push(step);
        rest = after;
    }
    Ok(steps)
}

/// Returns the first step of a path without its `$`, and the rest of the path. Returns `None` if the path is malformed.
fn step(rest: &str) -> Option<(Step, &str)> {
    if let Some(inner) = rest.strip_prefix('[') {
        let (number, after) = inner.split_once(']')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        return Some((Step::Element(number.parse().ok().filter(|_| is_number)?), after));
    }
    let name = rest.strip_prefix('.')?;
    let (name, after) = match name.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => name.split_at(name.find(['.', '[']).unwrap_or(name.len())),
    };
    // SQLite compares names with such characters in the escaped form of the JSON, so SQLite and this parser could disagree on their
    // meaning.
    let is_plain = !name.is_empty() && !name.contains(['"', '\\']) && !name.contains(char::is_control);
    is_plain.then(|| (Step::Member(name.to_owned()), after))
}

/// The paths of a type's fields, as a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// The fields whose paths end at this node, as indexes in the definition of the type.
    pub(super) fields: Vec<usize>,
    members: Vec<(String, Node)>,
    elements: Vec<(usize, Node)>,
}

impl Node {
    /// Adds the path of a field.
    pub(super) fn add(&mut self, steps: &[Step], field: usize) {
        let Some((first, rest)) = steps.split_first() else {
            self.fields.push(field);
            return;
        };
        let child = match first {
            Step::Member(name) => child_of(&mut self.members, name.clone()),
            Step::Element(at) => child_of(&mut self.elements, *at),
        };
        child.add(rest, field);
    }

    /// Returns `true` if a path continues from this node.
    pub(super) fn goes_on(&self) -> bool {
        !self.members.is_empty() || !self.elements.is_empty()
    }

    /// Returns `true` if no path ends at this node or continues from it.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && !self.goes_on()
    }

    /// Returns the node of the paths that continue in the member `name`.
    pub(super) fn member(&self, name: &str) -> Option<&Node> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, node)| node)
    }

    /// Returns the node of the paths that continue in the element `at`.
    pub(super) fn element(&self, at: usize) -> Option<&Node> {
        self.elements.iter().find(|(element, _)| *element == at).map(|(_, node)| node)
    }
}

fn child_of<K: PartialEq>(children: &mut Vec<(K, Node)>, key: K) -> &mut Node {
    let at = children.iter().position(|(child, _)| *child == key).unwrap_or_else(|| {
        children.push((key, Node::default()));
        children.len() - 1
    });
    &mut children[at].1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Step {
        Step::Member(name.to_owned())
    }

    #[test]
    fn json_paths_name_members_of_objects_and_elements_of_arrays() {
        assert_eq!(parse("$").unwrap(), []);
        assert_eq!(parse("$.a.b").unwrap(), [member("a"), member("b")]);
        assert_eq!(parse("$.tags[10].x").unwrap(), [member("tags"), Step::Element(10), member("x")]);
        assert_eq!(parse("$.\"odd .name[\".größe").unwrap(), [member("odd .name["), member("größe")]);
        assert_eq!(parse("$[0][1]").unwrap(), [Step::Element(0), Step::Element(1)]);
    }

    #[test]
    fn an_invalid_json_path_is_refused_with_the_byte_of_the_error() {
        for (path, at) in [
            ("", 0),
            ("email", 0),
            ("$email", 1),
            ("$.", 1),
            ("$.a..b", 3),
            ("$.a[", 3),
            ("$.a[-1]", 3),
            ("$.a[+1]", 3),
            ("$.a[#-1]", 3),
            ("$.a[x]", 3),
            ("$.\"a", 1),
            ("$.a\\b", 1),
            ("$.a[99999999999999999999]", 3),
        ] {
            let error = parse(path).unwrap_err().to_string();
            assert!(error.contains(&format!("at byte {at} ")), "{path}: {error}");
        }
    }
}
