//! Support for the tests of trees: the parents that a table which refers to itself gets.

use sqluice_core::schema::Schema;

use crate::preview::{PreviewValue, preview};
use crate::spec::Spec;

/// Returns the number of the parent row of each row, counted from 0.
pub(super) fn parents(expression: &str, rows: usize) -> Vec<Option<usize>> {
    let sql = format!(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, up INT REFERENCES t -- gen: {expression}\n);"
    );
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
