//! Tests of trees: the parents of the rows in a table that refers to itself.

use sqluice_core::schema::Schema;

use crate::preview::{PreviewValue, preview};
use crate::spec::Spec;

/// Returns the number of the parent row of each row, counted from 0.
fn parents(expression: &str, rows: usize) -> Vec<Option<usize>> {
    let sql = format!("CREATE TABLE t (id INTEGER PRIMARY KEY, up INT REFERENCES t -- gen: {expression}\n);");
    let schema = Schema::parse(sql, "t.sql".as_ref()).unwrap();
    let spec = Spec::new(&schema).unwrap_or_else(|error| panic!("{error}"));
    let all = [rows as u64];
    let table = preview(&schema, &spec, 1, &all, &[0], &all).unwrap().remove(0);
    let parent = |row: &Vec<PreviewValue>| match row[1] {
        PreviewValue::Int(id) => Some(id as usize - 1),
        _ => None,
    };
    table.rows.iter().map(parent).collect()
}

fn depths(parents: &[Option<usize>]) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::new();
    for (row, parent) in parents.iter().enumerate() {
        depths.push(match parent {
            Some(parent) if *parent < row => depths[*parent] + 1,
            Some(parent) => {
                assert_eq!(*parent, row, "a row refers to an earlier row, and a root to itself");
                0
            }
            None => 0,
        });
    }
    depths
}

#[test]
fn trees_have_the_given_roots_levels_and_numbers_of_children() {
    let tree = "tree(rows(0: 2, 3: 1): 3, rows(2: 1): 3, rows(1: 1): 6)";
    for (rows, outside) in [(12, 0.25), (120, 0.25), (1200, 0.0)] {
        let parents = parents(&format!("ref(t.id, {tree}, {outside})"), rows);
        let depths = depths(&parents);
        let at = |depth: usize| depths.iter().filter(|it| **it == depth).count();
        assert_eq!([at(0), at(1), at(2)], [rows / 4, rows / 4, rows / 2]);
        assert_eq!(
            parents.iter().filter(|parent| parent.is_none()).count(),
            (rows as f64 * outside) as usize
        );
        let below = |row: usize| {
            parents
                .iter()
                .enumerate()
                .filter(|(child, parent)| **parent == Some(row) && *child != row)
                .count()
        };
        assert!((0..rows / 4).all(|root| [0, 3].contains(&below(root))));
        assert!((rows / 4..rows / 2).all(|row| below(row) == 2));
    }
}

#[test]
fn a_tree_of_one_row_a_level_is_a_chain_of_all_rows() {
    let parents = parents("ref(t.id, tree(repeated(300, rows(1: 1)): 300), 0.00333333)", 300);
    assert_eq!(depths(&parents), (0..300).collect::<Vec<_>>());
    let shallow = depths(&self::parents("ref(t.id, tree(repeated(300, rows(1: 1)): 300), 0.1)", 10));
    assert_eq!(shallow, (0..10).collect::<Vec<_>>());
}
