//! Asks SQLite if rows satisfy the constraints of their table. The rows are inserted into an in-memory table with the same columns but
//! without constraints, and SQLite evaluates the terms of the constraints for each row.

use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::declaration::Declaration;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::splitmix::{STEP, mix};

use super::rules::{Condition, Rule};

/// The number of rows that SQLite tests at a time.
pub(super) const BATCH: usize = 500;

/// Divides the rows of a table into parts, each of which SQLite tests at once. Returns the first row and the number of rows of each part.
pub(super) fn parts(rows: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..rows).step_by(BATCH).map(move |first| (first, (rows - first).min(BATCH as u64) as usize))
}

/// The result of the test of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// For each rule, `true` if the row breaks the rule regardless of other rows.
    pub(super) broken: Vec<bool>,
    /// For each rule that forbids equal rows, the hash of the row's terms; `None` if the rule does not apply to the row.
    pub(super) keys: Vec<Option<u64>>,
}

/// The in-memory table in which SQLite tests rows, with the statements for it.
pub(super) struct Judge {
    connection: Connection,
    insert: String,
    select: String,
    delete: String,
}

impl Judge {
    /// Creates a table for the rules. Rows have the values of the columns that SQLite does not compute.
    pub(super) fn new(table: &Table, rules: &[Rule]) -> Result<Judge> {
        let name = quoted(&table.name);
        let declaration = Declaration::of(&table.sql);
        let declared = declaration.map(|declaration| declaration.columns()).unwrap_or_default();
        let column = |(at, column): (usize, &sqluice_core::schema::Column)| {
            let is_any = table.strict && column.declared_type.eq_ignore_ascii_case("ANY");
            let mut text = quoted(&column.name);
            if !is_any {
                text += &format!(" {}", column.declared_type);
            }
            let declared =
                declared.get(at).filter(|declared| declared.name.eq_ignore_ascii_case(&column.name));
            if let Some(collation) = declared.and_then(|declared| declared.collation.as_ref()) {
                text += &format!(" COLLATE {}", quoted(collation));
            }
            if let Some(generated) = declared.and_then(|declared| declared.generated.as_ref()) {
                text += &format!(" AS {generated}");
            }
            text
        };
        let columns: Vec<String> = table.columns.iter().enumerate().map(column).collect();
        let given: Vec<String> = table
            .columns
            .iter()
            .filter(|column| column.generated.is_none())
            .map(|column| quoted(&column.name))
            .collect();
        let mut terms = Vec::new();
        for rule in rules {
            match rule.condition {
                Condition::True => terms.push(format!("({}\n) IS NOT FALSE", rule.terms[0])),
                Condition::Different | Condition::Among(_) => {
                    let filter = rule.filter.as_ref();
                    terms.push(filter.map_or("1".to_owned(), |filter| format!("({filter}\n) IS TRUE")));
                    terms.extend(rule.terms.iter().cloned());
                }
            }
        }
        let failed = |error: rusqlite::Error| {
            Error::input(format!("{}: SQLite can't test the constraints of this table", table.name))
                .because(error)
        };
        let connection = Connection::open_in_memory().map_err(failed)?;
        connection
            .execute_batch(&format!("CREATE TABLE {name} ({}); BEGIN", columns.join(", ")))
            .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(8);
        let places = vec!["?"; given.len()].join(", ");
        Ok(Judge {
            connection,
            insert: format!("INSERT INTO {name} ({}) VALUES ({places})", given.join(", ")),
            select: format!("SELECT {} FROM {name}", terms.join(", ")),
            delete: format!("DELETE FROM {name}"),
        })
    }

    /// Tests rows. A row for which SQLite can't compute the terms breaks all rules.
    pub(super) fn rows(&self, rules: &[Rule], rows: Vec<Vec<Sql>>) -> Result<Vec<Verdict>> {
        match self.tried(rules, &rows) {
            Ok(verdicts) => Ok(verdicts),
            Err(_) => {
                let one = |row: Vec<Sql>| match self.tried(rules, &[row]) {
                    Ok(mut verdicts) => verdicts.pop(),
                    Err(_) => None,
                };
                let all_broken =
                    || Verdict { broken: vec![true; rules.len()], keys: vec![None; rules.len()] };
                Ok(rows.into_iter().map(|row| one(row).unwrap_or_else(all_broken)).collect())
            }
        }
    }

    fn tried(&self, rules: &[Rule], rows: &[Vec<Sql>]) -> rusqlite::Result<Vec<Verdict>> {
        self.connection.prepare_cached(&self.delete)?.execute([])?;
        let mut insert = self.connection.prepare_cached(&self.insert)?;
        for row in rows {
            insert.execute(params_from_iter(row))?;
        }
        let mut select = self.connection.prepare_cached(&self.select)?;
        let mut found = select.query([])?;
        let mut verdicts = Vec::with_capacity(rows.len());
        while let Some(row) = found.next()? {
            let mut verdict = Verdict { broken: vec![false; rules.len()], keys: vec![None; rules.len()] };
            let mut at = 0;
            for (number, rule) in rules.iter().enumerate() {
                let holds: bool = row.get(at)?;
                at += 1;
                let (Condition::Different | Condition::Among(_)) = rule.condition else {
                    verdict.broken[number] = !holds;
                    continue;
                };
                let mut key = Some(0);
                for _ in &rule.terms {
                    key = key.zip(hash(row.get_ref(at)?)).map(|(key, value)| joined(key, value));
                    at += 1;
                }
                match (&rule.condition, key.filter(|_| holds)) {
                    (Condition::Among(keys), Some(key)) => verdict.broken[number] = !keys.contains(&key),
                    (_, key) => verdict.keys[number] = key,
                }
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }
}

/// Returns the hash of a key with one more value.
pub(super) fn joined(key: u64, value: u64) -> u64 {
    mix(key.rotate_left(23) ^ value.wrapping_mul(STEP))
}

/// Returns the hash of a value, or `None` for NULL. Equal numbers have equal hashes.
pub(super) fn hash(value: ValueRef<'_>) -> Option<u64> {
    let bytes = |bytes: &[u8], kind: u64| {
        let start = mix(bytes.len() as u64 ^ kind << 56);
        bytes.chunks(8).fold(start, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            joined(hash, u64::from_le_bytes(word))
        })
    };
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(int) => Some(mix((int as u64).wrapping_add(STEP))),
        ValueRef::Real(real) if real as i64 as f64 == real && real as i64 != i64::MAX => {
            Some(mix((real as i64 as u64).wrapping_add(STEP)))
        }
        ValueRef::Real(real) => Some(mix(real.to_bits() ^ STEP)),
        ValueRef::Text(text) => Some(bytes(text, 0)),
        ValueRef::Blob(blob) => Some(bytes(blob, 1)),
    }
}
