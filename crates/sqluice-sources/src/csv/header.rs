//! The header: names for the fields, from the first record or made up, all different.

use std::collections::{HashMap, HashSet};

use super::naive::Field;
use super::sniff::is_number_or_missing;
use crate::text::Position;

/// A field whose name in the header could not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The index of the field in the header, counted from 0.
    pub index: usize,
    /// The name in the header.
    pub from: String,
    /// The name that replaces the name in the header.
    pub to: String,
}

/// The names of the fields: none is empty, and no two are equal (ASCII letters compare without case).
#[derive(Debug)]
#[non_exhaustive]
pub struct Header {
    pub(super) names: Vec<String>,
    /// The position of each name, or a position in the first record if the file has no header.
    pub(super) at: Vec<Position>,
    pub(super) renamed: Vec<Renamed>,
}

impl Header {
    /// Returns `true` if a record with the same fields as the header can't be a row, because a name in the header stands over a column of
    /// numbers. `numbers` is `true` for each column of numbers.
    pub(super) fn is_no_row(&self, numbers: &[bool]) -> bool {
        let is_name = |(column, name): (usize, &String)| {
            let renamed = self.renamed.iter().find(|renamed| renamed.index == column);
            let name = renamed.map_or(name, |renamed| &renamed.from);
            numbers.get(column) == Some(&true) && !is_number_or_missing(name.as_bytes())
        };
        self.names.iter().enumerate().any(is_name)
    }

    /// Takes the names from the first record.
    pub(super) fn of_names(record: Vec<Field>) -> Header {
        let at = record.iter().map(|field| field.at).collect();
        // The parser accepts only UTF-8.
        let name = |field: Field| String::from_utf8(field.value).expect("a field is UTF-8");
        let (names, renamed) = unique(record.into_iter().map(name).collect());
        Header { names, at, renamed }
    }

    /// Makes up the names for a file whose first record is a row.
    pub(super) fn of_row(record: &[Field]) -> Header {
        let names = (0..record.len()).map(by_position).collect();
        Header { names, at: record.iter().map(|field| field.at).collect(), renamed: Vec::new() }
    }

    /// Makes up the names for a file of `fields` fields whose first row is at `at`.
    pub(super) fn of_fields(fields: usize, at: Position) -> Header {
        Header { names: (0..fields).map(by_position).collect(), at: vec![at; fields], renamed: Vec::new() }
    }
}

fn by_position(index: usize) -> String {
    format!("column{}", index + 1)
}

/// Makes names unique: an empty name is replaced by the position (`column2`), and a repeated name gets a number (`name_2`). All other
/// names stay, and made-up names differ from them.
pub fn unique(mut names: Vec<String>) -> (Vec<String>, Vec<Renamed>) {
    let given: HashSet<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let mut taken = HashSet::new();
    // The last number tried behind each name, so that two thousand equal names don't take a million tries.
    let mut last: HashMap<String, u64> = HashMap::new();
    let mut renamed = Vec::new();
    for (index, name) in names.iter_mut().enumerate() {
        if !name.is_empty() && taken.insert(name.to_ascii_lowercase()) {
            continue;
        }
        let base = if name.is_empty() { by_position(index) } else { name.clone() };
        let number = last.entry(base.to_ascii_lowercase()).or_insert(1);
        let mut to = base.clone();
        while given.contains(&to.to_ascii_lowercase()) || !taken.insert(to.to_ascii_lowercase()) {
            *number += 1;
            to = format!("{base}_{number}");
        }
        let from = std::mem::replace(name, to.clone());
        renamed.push(Renamed { index, from, to });
    }
    (names, renamed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::{HashSet, unique};

    #[track_caller]
    fn become_(names: &str, expected: &str) {
        let (unique, _) = unique(names.split(',').map(str::to_owned).collect());
        assert_eq!(unique.join(","), expected);
    }

    #[test]
    fn columns_without_a_name_in_the_header_are_named_by_their_position() {
        become_("a,,c,", "a,column2,c,column4");
        become_("", "column1");
    }

    #[test]
    fn a_repeated_column_name_gets_a_number() {
        become_("a,b,a,A", "a,b,a_2,A_3");
        become_("ä,Ä", "ä,Ä");
        become_(" a,a", " a,a");
    }

    #[test]
    fn a_made_up_column_name_never_equals_a_name_in_the_header() {
        become_("a,a,a_2,A_3", "a,a_4,a_2,A_3");
        become_(",COLUMN1", "column1_2,COLUMN1");
        become_(",,column2,column2,column2_2", "column1,column2_3,column2,column2_4,column2_2");
    }

    #[test]
    fn two_thousand_equal_column_names_get_numbers_up_to_two_thousand() {
        let (names, renamed) = unique(vec!["x".to_owned(); 2000]);
        assert_eq!((names[1999].as_str(), renamed.len()), ("x_2000", 1999));
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn only_empty_and_repeated_column_names_are_changed_and_the_new_names_are_unique(
            names in prop::collection::vec(
                select(vec!["", "a", "A", "a_2", "A_3", "column1", "column2", "Column3_2", "b", "é"]), 0..12),
        ) {
            let given: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let (unique, renamed) = unique(given.clone());
            let folded: HashSet<String> = unique.iter().map(|name| name.to_ascii_lowercase()).collect();
            prop_assert_eq!(folded.len(), names.len());
            prop_assert!(!folded.contains(""));
            let changed: Vec<usize> = (0..names.len()).filter(|&index| unique[index] != given[index]).collect();
            prop_assert_eq!(&changed, &renamed.iter().map(|renamed| renamed.index).collect::<Vec<_>>());
            for index in changed {
                let earlier = given[..index].iter().any(|name| name.eq_ignore_ascii_case(&given[index]));
                prop_assert!(given[index].is_empty() || earlier);
            }
            for renamed in renamed {
                prop_assert_eq!((&renamed.from, &renamed.to), (&given[renamed.index], &unique[renamed.index]));
            }
        }
    }
}
