//! Describes texts that are JSON objects: their keys, and the values of each key.
//!
//! A key is shown only if it is common. Its values are described like those of a column, and never shown.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::numbers::{Form, form_of_reals, numbers};
use super::sample::Cell;
use super::texts::{Texts, quoted};

/// The maximum number of texts that are parsed.
const LOOKED_AT: usize = 500;

/// The maximum number of described keys.
const KEYS_MAX: usize = 40;

/// The values of a key.
#[derive(Debug, Default)]
struct Member {
    ints: Vec<f64>,
    reals: Vec<f64>,
    texts: Vec<Cell>,
    /// The position of the key in the first object that has it.
    place: usize,
    all: u64,
}

/// Returns the expression for texts, if all of them are JSON objects, some keys are common, and the texts may repeat.
pub(super) fn object(texts: &Texts<'_>) -> Option<String> {
    let starts = |cell: &&Cell| matches!(cell, Cell::Text(bytes, ..) if bytes.first() == Some(&b'{'));
    if texts.is_unique || !texts.cells.iter().all(starts) {
        return None;
    }
    let sample: Vec<&str> = texts
        .cells
        .iter()
        .step_by(texts.cells.len() / LOOKED_AT + 1)
        .filter_map(|cell| cell.text())
        .collect();
    let members = members(&sample)?;
    let common = texts.common.min(sample.len() as u64 / 2).max(2);
    let mut kept: Vec<(String, Member)> =
        members.into_iter().filter(|(_, member)| member.all >= common).collect();
    kept.sort_by_key(|(_, member)| member.place);
    kept.truncate(KEYS_MAX);
    let shown: Vec<String> =
        kept.iter().map(|(key, member)| format!("{}: {}", quoted(key), expression(member, texts))).collect();
    (!shown.is_empty()).then(|| format!("json({{{}}})", shown.join(", ")))
}

/// Returns the values of each key of all objects, or `None` if a text is no JSON object.
fn members(sample: &[&str]) -> Option<BTreeMap<String, Member>> {
    // SQLite parses the JSON.
    let connection = Connection::open_in_memory().ok()?;
    let mut statement = connection.prepare("SELECT key, type, atom FROM json_each(?1)").ok()?;
    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    for text in sample {
        let rows = statement
            .query_map([text], |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?)))
            .ok()?;
        for (place, row) in rows.enumerate() {
            let (key, _, atom): (String, String, Value) = row.ok()?;
            let member = members.entry(key).or_insert_with(|| Member { place, ..Member::default() });
            member.all += 1;
            match atom {
                Value::Integer(int) => member.ints.push(int as f64),
                Value::Real(real) => member.reals.push(real),
                Value::Text(text) => member.texts.push(Cell::of_text(&text)),
                Value::Null | Value::Blob(_) => {}
            }
        }
    }
    Some(members)
}

/// Returns the expression for the values of a key, by their most frequent kind.
fn expression(member: &Member, texts: &Texts<'_>) -> String {
    let rows = texts.rows;
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    match (member.ints.len(), member.reals.len(), member.texts.len()) {
        (0, 0, 0) => "NULL".to_owned(),
        (ints, reals, strings) if ints >= reals && ints >= strings => {
            numbers(&sorted(&member.ints), Form::Int, rows, None)
        }
        (_, reals, strings) if reals >= strings => {
            let reals = sorted(&member.reals);
            numbers(&reals, form_of_reals(&reals), rows, None)
        }
        _ => {
            let cells: Vec<&Cell> = member.texts.iter().collect();
            let different =
                cells.iter().filter_map(|cell| cell.hash()).collect::<std::collections::HashSet<_>>().len();
            let different = (different as f64 / cells.len() as f64 * rows as f64).max(1.0);
            Texts { cells: &cells, rows, different, exponent: None, named: None, ..*texts }.expression()
        }
    }
}
