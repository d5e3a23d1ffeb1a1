//! Makes generated rows satisfy the constraints of their tables: partial unique indexes, unique expressions, CHECKs over several columns,
//! keys of several columns, columns with two parents.
//!
//! ```text
//!  tables, parents first ── rules that rows may break ── judge: SQLite ── search: rows exchange values ──> moves
//!                                                                            └──> constraints that no rows satisfy: dropped
//! ```
//!
//! The expressions of columns do not take such constraints into account, so some rows break them. These rows exchange values with other
//! rows of the table until all rows satisfy the constraint. If no exchange helps, the constraint is dropped, and named in the report.
//!
//! Invariant: the moves depend only on the schema, the seed and the row counts.
//!
//! Modules, the lowest layer first: `rules`: the constraints; `judge`: SQLite tests rows; `values`: rows and their columns; `search`:
//! moves; `removal`: the schema without some constraints.

mod judge;
mod removal;
mod rules;
mod search;
mod values;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Schema, Table, parents_first, quoted};

use crate::defaults::broken_checks;
use crate::moves::Moves;
use crate::random::Key;
use crate::spec::Spec;
use judge::{Judge, parts};
use rules::{Condition, Rule, Subject};
use search::Search;
use values::{Values, components};

pub use crate::comments::{MAY_BE_DROPPED, may_be_dropped};
pub use removal::without;
pub use rules::Constraint;

/// A constraint that the rows of a table do not satisfy, even after exchanges of values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unkept {
    /// The index of the table in the schema.
    pub table: usize,
    /// The constraint.
    pub constraint: Constraint,
}

/// Finds exchanges of values with which the rows of all tables satisfy their constraints, and adds them to `spec`. `all` has the row count
/// of each table. Returns the constraints that the rows still break, which the caller has to drop.
///
/// # Errors
/// If rows can't be generated, or the run is canceled.
pub fn settle(
    schema: &Schema,
    spec: &mut Spec,
    (seed, all): (u64, &[u64]),
    cancel: &Cancel,
) -> Result<Vec<Unkept>> {
    let mut moves = Moves::NONE;
    let mut unkept = Vec::new();
    for number in parents_first(&schema.tables.iter().collect::<Vec<_>>()) {
        let table = &schema.tables[number];
        let of = &mut spec.tables[number];
        of.moves = moves.clone();
        if all[number] == 0 || of.rows_max(seed, all)?.is_some_and(|most| most < all[number]) {
            continue;
        }
        let of = &spec.tables[number];
        let world = of.world(seed, all.iter().copied().map(Some).collect());
        let broken =
            if all[number] > rules::ALL_TESTED { broken_checks(table, of, all)? } else { Vec::new() };
        let mut rules = Subject { schema, table, spec: of, rows: all[number] }.rules(&broken);
        for rule in &mut rules {
            if let Constraint::Foreign(reference) = rule.constraint {
                let subject = Subject { schema, table, spec: of, rows: all[number] };
                let Some((parent, key)) = subject.parent(reference) else { continue };
                let keys = keys((parent, &schema.tables[parent]), spec, &key, (&world, all[parent]), cancel)?;
                rule.condition = Condition::Among(keys);
            }
        }
        if rules.is_empty() {
            continue;
        }
        let computes = table.columns.iter().any(|column| column.generated.is_some());
        let is_needed = |column: usize| computes || rules.iter().any(|rule| rule.columns.contains(&column));
        let mut values = Values::new((number, table), of, world, is_needed);
        values.keep(all[number])?;
        let judge = Judge::new(table, &rules)?;
        let key = Key::of_column(seed, &table.name, "moves");
        let components = components(table, of, number);
        let search = Search::new(&rules, (&judge, &values), (all[number], key), components, cancel);
        let (moved, given_up) = search.run()?;
        moves = moves.with(number, moved);
        unkept.extend(given_up.into_iter().map(|constraint| Unkept { table: number, constraint }));
    }
    spec.tables.iter_mut().for_each(|table| table.moves = moves.clone());
    Ok(unkept)
}

/// Returns the hashes of the keys of all rows of a parent table.
fn keys(
    (number, table): (usize, &Table),
    spec: &Spec,
    key: &[usize],
    (world, rows): (&crate::generator::World, u64),
    cancel: &Cancel,
) -> Result<HashSet<u64>> {
    let terms = key.iter().map(|column| quoted(&table.columns[*column].name)).collect();
    let rule = Rule {
        constraint: Constraint::Key(key.to_vec()),
        condition: Condition::Different,
        filter: None,
        terms,
        columns: key.to_vec(),
    };
    let rules = [rule];
    let judge = Judge::new(table, &rules)?;
    let values =
        Values::new((number, table), &spec.tables[number], world.clone(), |column| key.contains(&column));
    let mut keys = HashSet::new();
    for (first, count) in parts(rows) {
        cancel.check()?;
        let verdicts = judge.rows(&rules, values.rows(first, count)?)?;
        keys.extend(verdicts.into_iter().filter_map(|verdict| verdict.keys[0]));
    }
    Ok(keys)
}
