//! Generates the look-alike of a database from its profile, and compares the two databases by SQL.

use std::cell::RefCell;
use std::path::Path;

use rusqlite::Connection;
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::profile::{Profile, ProfileReport};
use sqluice::progress::Context;
use sqluice::schema::{Column, Schema, Table, quoted};

use crate::support::files::{Home, integrity, open};

/// A database and its look-alike.
pub(crate) struct Pair {
    /// The folder, which is removed when the pair is dropped.
    _home: Home,
    profile: ProfileReport,
    schema: Schema,
    connections: [Connection; 2],
    differences: RefCell<Vec<String>>,
}

/// Returns the profile of a database.
pub(crate) fn profile(database: &Path) -> ProfileReport {
    Profile::new(database).threads(2).run().unwrap_or_else(|error| panic!("{error}"))
}

/// Generates a database from a profile.
pub(crate) fn generate(profile: &ProfileReport, target: &Path) {
    let text = &profile.text;
    let schema = profile.schema().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let write = WriteOptions::new().threads(2).memory_bytes(32 << 20);
    let prepared = Generate::new(target, schema).seed(7).write(write).prepare(&Context::default());
    let prepared = prepared.unwrap_or_else(|error| panic!("{error}, {:?}\n{text}", error.hint_text()));
    assert!(prepared.spec().notes.is_empty(), "{:?}\n{text}", prepared.spec().notes);
    let made = prepared.run(&Context::default());
    made.unwrap_or_else(|error| panic!("{error}, {:?}\n{text}", error.hint_text()));
}

impl Pair {
    /// Makes the look-alike of `original.db` in a folder, and asserts that it is sound and keeps its foreign keys.
    pub(crate) fn of(home: Home) -> Pair {
        let (original, like) = (home.path("original.db"), home.path("like.db"));
        let profile = profile(&original);
        generate(&profile, &like);
        let connections = [open(&original), open(&like)];
        let text = &profile.text;
        assert_eq!(integrity(&connections[1]), "ok", "{text}");
        let orphans =
            |connection: &Connection| number(connection, "SELECT count(*) FROM pragma_foreign_key_check");
        assert_eq!(orphans(&connections[1]), 0.0, "{text}");
        let schema = profile.schema().unwrap();
        Pair { _home: home, profile, schema, connections, differences: RefCell::default() }
    }

    /// Asserts that there is no difference.
    pub(crate) fn assert_alike(&self) {
        let differences = self.differences();
        assert!(differences.is_empty(), "{differences:#?}\n{}", self.profile.text);
    }

    fn differ(&self, what: String) {
        self.differences.borrow_mut().push(what);
    }

    /// Compares everything that a look-alike has in common with its original.
    pub(crate) fn differences(&self) -> Vec<String> {
        for table in &self.schema.tables {
            self.same(&format!("SELECT count(*) FROM {}", quoted(&table.name)), 0.0, 0.0);
            for column in &table.columns {
                self.compare_column(table, column);
            }
            for reference in &table.references {
                if let Some(parent) = self.schema.table(&reference.parent) {
                    self.compare_children(table, &reference.columns, parent);
                }
            }
        }
        self.compare_joins();
        self.differences.take()
    }

    /// Compares the number that a query returns in both databases: it may differ by the share `share`, plus `more`.
    fn same(&self, sql: &str, share: f64, more: f64) {
        let [one, other] = [0, 1].map(|at| number(&self.connections[at], sql));
        if (one - other).abs() > share * one.abs() + more {
            self.differ(format!("{sql}: {one} in the original, {other} in its look-alike"));
        }
    }

    fn compare_column(&self, table: &Table, column: &Column) {
        if column.generated.is_some() {
            return;
        }
        // In the look-alike, other parents than in the original have many rows, so the quantiles of references are not compared.
        let refers = table
            .references
            .iter()
            .any(|reference| reference.columns.iter().any(|of| table.columns[*of].name == column.name));
        let (table, column) = (quoted(&table.name), quoted(&column.name));
        self.same(&format!("SELECT count(*) FROM {table} WHERE {column} IS NULL"), 0.05, 2.0);
        self.same(&format!("SELECT count(DISTINCT {column}) FROM {table}"), 0.05, 1.0);
        for (what, condition) in [
            (column.clone(), format!("typeof({column}) IN ('integer', 'real')")),
            (
                format!("julianday({column})"),
                format!(
                    "typeof({column}) = 'text' AND julianday({column}) IS NOT NULL AND {column} LIKE '____-%'"
                ),
            ),
            // The generator chooses the length of addresses, so addresses are left out.
            (
                format!("length({column})"),
                format!(
                    "typeof({column}) = 'blob' OR (typeof({column}) = 'text' AND {column} NOT LIKE '%@%' AND {column} NOT LIKE 'http%')"
                ),
            ),
        ] {
            let sql = format!("SELECT {what} FROM {table} WHERE ({condition}) ORDER BY 1");
            let [one, other] = [0, 1].map(|at| numbers(&self.connections[at], &sql));
            if one.len() >= 20 && !refers {
                self.compare_quantiles(&sql, &one, &other);
            }
        }
    }

    /// Compares the deciles. The tolerance is 2% of the rows and 20 more ranks, and in addition 2% of the range of values.
    fn compare_quantiles(&self, sql: &str, one: &[f64], other: &[f64]) {
        let close = |count: usize| (count as f64 - one.len() as f64).abs() <= 0.05 * one.len() as f64 + 2.0;
        if !close(other.len()) || other.is_empty() {
            return self.differ(format!("{sql}: {} and {} values", one.len(), other.len()));
        }
        let at = |values: &[f64], share: f64| {
            values[((values.len() - 1) as f64 * share.clamp(0.0, 1.0)).round() as usize]
        };
        let range = one[one.len() - 1] - one[0];
        for tenth in 0..=10 {
            let share = f64::from(tenth) / 10.0;
            let found = at(other, share);
            // A quantile of a profile stands for at least 20 values, so it may be off by 20 ranks.
            let ranks = 0.02 + 20.0 / one.len() as f64;
            let (low, high) = (at(one, share - ranks) - 0.02 * range, at(one, share + ranks) + 0.02 * range);
            if !(low..=high).contains(&found) {
                let expected = at(one, share);
                self.differ(format!("{sql}: quantile {share} is {expected}, and {found} in its look-alike: not from {low} to {high}"));
            }
        }
    }

    /// Compares the distribution of rows for each parent (Kolmogorov-Smirnov test, p > 1e-6).
    fn compare_children(&self, table: &Table, columns: &[usize], parent: &Table) {
        let child = quoted(&table.name);
        let key: Vec<String> = columns.iter().map(|column| quoted(&table.columns[*column].name)).collect();
        let some = key.iter().map(|column| format!("{column} IS NOT NULL")).collect::<Vec<_>>().join(" AND ");
        let sql = format!("SELECT count(*) FROM {child} WHERE {some} GROUP BY {} ORDER BY 1", key.join(", "));
        let parents = format!("SELECT count(*) FROM {}", quoted(&parent.name));
        let counts = |at: usize| {
            let connection = &self.connections[at];
            let some = numbers(connection, &sql);
            let without = (number(connection, &parents) as usize).saturating_sub(some.len());
            [vec![0.0; without], some].concat()
        };
        let (one, other) = (counts(0), counts(1));
        let distance = distance(&one, &other);
        let size = (one.len() * other.len()) as f64 / (one.len() + other.len()) as f64;
        if distance * size.sqrt() >= 2.693 {
            self.differ(format!("{sql}: distance {distance}"));
        }
    }

    /// Compares the results of joins and similar counts, which may differ by 10% and 5 more.
    fn compare_joins(&self) {
        let mut queries = Vec::new();
        for table in &self.schema.tables {
            let child = quoted(&table.name);
            for reference in &table.references {
                let [column] = reference.columns[..] else { continue };
                let Some(parent) = self.schema.table(&reference.parent) else { continue };
                let key = reference.parent_columns.first().cloned();
                let key = key.or_else(|| Some(parent.columns[*parent.primary_key()?.first()?].name.clone()));
                let Some(key) = key.map(|key| quoted(&key)) else { continue };
                let (column, parent) = (quoted(&table.columns[column].name), quoted(&parent.name));
                queries
                    .push(format!("SELECT count(*) FROM {child} c JOIN {parent} p ON c.{column} = p.{key}"));
                queries.push(self_join(&child, &column));
                queries.push(format!("SELECT count(*) FROM {parent} p WHERE p.{key} NOT IN (SELECT {column} FROM {child} WHERE {column} IS NOT NULL)"));
                let of_rows = format!(
                    "SELECT count(*) AS n FROM {child} c JOIN {parent} p ON c.{column} = p.{key} GROUP BY p.{key}"
                );
                queries.push(format!("SELECT sum(n * n) FROM ({of_rows})"));
            }
            for column in &table.columns {
                let column = quoted(&column.name);
                let few =
                    number(&self.connections[0], &format!("SELECT count(DISTINCT {column}) FROM {child}"));
                if few <= 20.0 {
                    queries.push(self_join(&child, &column));
                }
            }
        }
        queries.iter().for_each(|sql| self.same(sql, 0.1, 5.0));
    }
}

/// Returns SQL that counts the rows of `child a JOIN child b ON a.column = b.column` without the join itself.
fn self_join(child: &str, column: &str) -> String {
    let groups = format!("SELECT count(*) AS n FROM {child} WHERE {column} IS NOT NULL GROUP BY {column}");
    format!("SELECT sum(n * n) FROM ({groups})")
}

/// Returns the largest difference of two cumulative distributions.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let share = |values: &[f64], up_to: f64| {
        values.partition_point(|value| *value <= up_to) as f64 / values.len().max(1) as f64
    };
    let all = one.iter().chain(other);
    all.map(|value| (share(one, *value) - share(other, *value)).abs()).fold(0.0, f64::max)
}

pub(crate) fn number(connection: &Connection, sql: &str) -> f64 {
    let number = connection.query_row(sql, [], |row| row.get::<_, Option<f64>>(0));
    number.unwrap_or_else(|error| panic!("{sql}: {error}")).unwrap_or(0.0)
}

fn numbers(connection: &Connection, sql: &str) -> Vec<f64> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn the_distance_of_two_distributions_distinguishes_scaled_values() {
    let one: Vec<f64> = (0..1000).map(|row| f64::from(row % 10)).collect();
    assert_eq!(distance(&one, &one), 0.0);
    let mut sorted = one.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let more: Vec<f64> = sorted.iter().map(|value| value * 1.2).collect();
    assert!(distance(&sorted, &more) * 500f64.sqrt() > 1.9);
}
