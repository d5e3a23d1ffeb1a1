//! Foreign keys that need no check, because their values are generated so that the parent rows always exist.
//!
//! * `ref(parent.column)`, the default of a column with a REFERENCES clause.
//! * A column of `int(1, 1000)`, or a choice of such values, that refers to the rowid of a table of 1,000 rows, numbered from 1.
//!
//! SQLite checks all other foreign keys.

use std::ops::RangeInclusive;

use rusqlite::Connection;
use sqluice_core::schema::{Schema, Table, quoted};

use super::parse::{Expr, ExprNode, Literal, parse};
use super::spec::Spec;
use super::table_spec::{ColumnSpec, TableSpec};

/// Returns for each table of a new database `true` if all parent rows are sure to exist, whatever the seed, so that SQLite need not check
/// the foreign keys of the table. The element is `false` for a table without foreign keys. `rows` has the row count of each table, in the
/// order of the schema.
pub fn are_there(schema: &Schema, spec: &Spec, rows: &[u64]) -> Vec<bool> {
    let Ok(catalogue) = catalogue(schema) else { return vec![false; schema.tables.len()] };
    let known = |child: &Table, own: &TableSpec, child_rows: u64| {
        let keys = keys(&catalogue, &child.name).unwrap_or_default();
        !keys.is_empty()
            && are_of_keys(&catalogue, child)
            && keys.iter().all(|key| {
                let Some(key) = key else { return false };
                let made = own.columns.iter().find(|column| column.name.eq_ignore_ascii_case(&key.from));
                if made.is_some_and(|made| is_reference(schema, child, made, key)) {
                    return true;
                }
                let values = made.and_then(|column| values(&column.expression, child_rows));
                let parents = numbered_rows(schema, spec, rows, key);
                matches!((values, parents), (Some(values), Some(rows)) if values.is_empty()
                    || (*values.start() >= 1 && u64::try_from(*values.end()).is_ok_and(|last| last <= rows)))
            })
    };
    let tables = schema.tables.iter().zip(&spec.tables).zip(rows);
    tables.map(|((child, own), &rows)| known(child, own, rows)).collect()
}

/// A foreign key of one column; `to` is `None` if the key refers to the PRIMARY KEY.
struct Key {
    from: String,
    parent: String,
    to: Option<String>,
}

fn catalogue(schema: &Schema) -> rusqlite::Result<Connection> {
    let catalogue = Connection::open_in_memory()?;
    catalogue.execute_batch(&schema.sql)?;
    Ok(catalogue)
}

/// Returns `true` if the columns that a table refers to are PRIMARY KEYs or UNIQUE. If not, SQLite reports an error even if the table is
/// empty.
fn are_of_keys(catalogue: &Connection, child: &Table) -> bool {
    let sql = format!("PRAGMA foreign_key_check({})", quoted(&child.name));
    catalogue.prepare(&sql).and_then(|mut check| check.exists([])).is_ok()
}

/// Returns the foreign keys of a table; `None` is a foreign key of several columns.
fn keys(catalogue: &Connection, table: &str) -> rusqlite::Result<Vec<Option<Key>>> {
    let mut list = catalogue.prepare(
        "SELECT count(*), \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1) GROUP BY id ORDER BY id",
    )?;
    let keys = list.query_map([table], |row| {
        let key = Key { from: row.get(1)?, parent: row.get(2)?, to: row.get(3)? };
        Ok((row.get::<_, i64>(0)? == 1).then_some(key))
    })?;
    keys.collect()
}

/// Returns `true` if a column takes its values from the column that the key refers to, and both have the same affinity.
fn is_reference(schema: &Schema, child: &Table, made: &ColumnSpec, key: &Key) -> bool {
    let found = || {
        let reference = made.generator.as_deref()?.parent()?;
        let (parent, at) = (&schema.tables[reference.table()], reference.column()?);
        let (to, from) = (&parent.columns[at], &child.columns[child.column(&key.from)?]);
        let is_meant = match &key.to {
            Some(name) => to.name.eq_ignore_ascii_case(name),
            None => parent.primary_key()? == [at],
        };
        Some(is_meant && parent.name.eq_ignore_ascii_case(&key.parent) && to.affinity == from.affinity)
    };
    found().unwrap_or(false)
}

/// Returns the row count of the parent if the key refers to its rowid alias and the alias numbers the rows from 1.
fn numbered_rows(schema: &Schema, spec: &Spec, rows: &[u64], key: &Key) -> Option<u64> {
    let place = schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(&key.parent))?;
    let (parent, made) = (&schema.tables[place], &spec.tables[place]);
    let alias = &parent.columns[parent.rowid_alias?].name;
    let points_to_it = key.to.as_ref().is_none_or(|to| to.eq_ignore_ascii_case(alias));
    (points_to_it && made.counts_rows()).then_some(rows[place])
}

/// Returns the range of an expression's values in `rows` rows, ignoring NULL.
fn values(expression: &str, rows: u64) -> Option<RangeInclusive<i64>> {
    range(&parse(expression, 0).ok()?, i64::try_from(rows).ok()?)
}

fn range(expr: &Expr, rows: i64) -> Option<RangeInclusive<i64>> {
    #[expect(clippy::reversed_empty_ranges, reason = "it has no values")]
    const NONE: RangeInclusive<i64> = 1..=0;
    let ExprNode::Call { name, arguments } = &expr.node else {
        return match &expr.node {
            ExprNode::Literal(Literal::Int(int)) => Some(*int..=*int),
            ExprNode::Literal(Literal::Null) => Some(NONE),
            _ => None,
        };
    };
    let of = |index: usize| range(&arguments.get(index)?.value, rows);
    match &*name.to_ascii_lowercase() {
        "row" => Some(1..=rows),
        "int" => Some(*of(0)?.start()..=*of(1)?.end()),
        "null" => of(1),
        "choice" => (0..arguments.len()).map(of).try_fold(NONE, |all, one| {
            let one = one?;
            Some(match (all.is_empty(), one.is_empty()) {
                (true, _) => one,
                (_, true) => all,
                _ => *all.start().min(one.start())..=*all.end().max(one.end()),
            })
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn known(child: &str, parent: &str) -> bool {
        let sql =
            format!("CREATE TABLE p (other INT UNIQUE, {parent}\n); CREATE TABLE c (x INT, {child}\n);");
        let schema = Schema::parse(sql, Path::new("s.sql")).unwrap();
        let known = are_there(&schema, &Spec::new(&schema).unwrap(), &[100, 10]);
        assert!(!known[0], "p refers to nobody");
        known[1]
    }

    #[test]
    fn parent_rows_are_known_to_exist_if_all_values_lie_between_1_and_the_number_of_parent_rows() {
        let parent = "id INTEGER PRIMARY KEY";
        for made in
            ["int(1, 100)", "7", "null", "null(0.1, int(2, 50))", "choice(null, int(9, 10), 4)", "ROW()"]
        {
            assert!(known(&format!("p INT REFERENCES p -- gen: {made}"), parent), "{made}");
            assert!(known(&format!("p INT REFERENCES P (ID) -- gen: {made}"), parent), "{made}");
        }
        for made in [
            "int(0, 100)",
            "int(1, 101)",
            "real(1, 2)",
            "'5'",
            "choice(1, 'a')",
            "choice(1, 101)",
            "digits(1)",
        ] {
            assert!(!known(&format!("p INT REFERENCES p -- gen: {made}"), parent), "{made}");
        }
    }

    #[test]
    fn parent_rows_chosen_by_ref_are_known_to_exist() {
        let parent = "id INTEGER PRIMARY KEY";
        for made in ["p INT REFERENCES p", "p INT REFERENCES p (id) -- gen: null(0.5, ref(p.id, zipf(1)))"] {
            assert!(known(made, parent), "{made}");
        }
        assert!(known("p TEXT REFERENCES p", "id TEXT PRIMARY KEY"));
        assert!(known("p TEXT, -- gen: ref(p.id)\n FOREIGN KEY (P) REFERENCES P (ID)", "id TEXT UNIQUE"));
        assert!(!known("p INT REFERENCES p", "id TEXT PRIMARY KEY"), "'007' is stored as 7");
        assert!(!known("p INT REFERENCES p (other) -- gen: ref(p.id)", parent), "of another column");
        assert!(!known("p INT REFERENCES p -- gen: ref(p.id) + 1", parent), "of no row");
        for no_key in ["name TEXT", "name TEXT, UNIQUE (name COLLATE NOCASE)"] {
            assert!(!known("p TEXT REFERENCES p (name)", no_key), "{no_key}");
        }
        assert!(known("p TEXT REFERENCES p (name)", "name TEXT COLLATE NOCASE UNIQUE"));
    }

    #[test]
    fn parent_rows_that_may_be_missing_are_not_said_to_exist() {
        let one = "p INT REFERENCES p (id) -- gen: 1";
        assert!(!known(one, "id INTEGER PRIMARY KEY -- gen: int(1, 1000)\n"));
        assert!(!known(one, "id INT PRIMARY KEY"), "a key of its own, not the rowid");
        assert!(!known("p INT REFERENCES p (other) -- gen: 1", "id INTEGER PRIMARY KEY"));
        assert!(!known("p INT REFERENCES nowhere -- gen: 1", "id INTEGER PRIMARY KEY"));
        assert!(!known("p INT -- gen: 1", "id INTEGER PRIMARY KEY"), "no foreign key");
        let two = "p INT REFERENCES p, -- gen: 1\n q INT REFERENCES p -- gen: 1000";
        assert!(!known(two, "id INTEGER PRIMARY KEY"));
        let both = "p INT, -- gen: 1\n q INT, -- gen: 1\n FOREIGN KEY (p, q) REFERENCES p (id, other)";
        assert!(!known(both, "id INTEGER PRIMARY KEY"));
    }
}
