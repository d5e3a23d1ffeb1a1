//! Builds the INSERT statements of a table. With an upsert, they update the existing row that has the same key.
//!
//! ```text
//!  INSERT OR FAIL INTO main.t (a, b) SELECT c1, c2 FROM sqluice_rows(?1) WHERE true ON CONFLICT DO NOTHING
//!         │                                                              │
//!         if the statement fails, the rows before                        without WHERE, ON would begin a join condition
//!         the refused row stay
//! ```

use rusqlite::{Connection, ErrorCode};
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::COLUMNS_MAX;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::failed;

use super::Insert;
use crate::options::OnConflict;

/// The statements for a table.
#[derive(Debug)]
pub(super) struct Statements {
    /// The statement that inserts all rows of ?1.
    pub(super) all: String,
    /// The statement that inserts the rows of ?1 from ?2 to ?3.
    pub(super) range: String,
    /// The statement that inserts all rows of ?1 without their rowids, if SQLite may assign the same rowids.
    pub(super) numbered: Option<NumberedSql>,
    /// `true` if a failed statement leaves the rows before the refused row; `false` if it leaves nothing.
    pub(super) fails_half_done: bool,
    /// `true` if another row of the statement may be the missing parent of a row, or may replace the row. A failure of the row alone then
    /// proves nothing.
    pub(super) rows_cure: bool,
    /// `true` if a batch needs a savepoint, because a trigger may leave it half done.
    pub(super) savepoint: bool,
}

/// The statement for rows whose rowids continue the table's last rowid in steps of one: SQLite assigns the same rowids, without a search
/// for each rowid in the table (`bench/existing --only insert`).
#[derive(Debug)]
pub(super) struct NumberedSql {
    /// The index of the rowid in [`Insert::columns`].
    pub(super) given: usize,
    pub(super) insert: String,
    /// The query for the last rowid of the table.
    pub(super) last: String,
}

impl Statements {
    /// Builds the statements that insert the columns of `how` into `table`.
    ///
    /// # Errors
    /// If no column or too many columns are given, the columns of an upsert are no key, or SQLite can't read the schema.
    pub(super) fn new(connection: &Connection, table: &Table, how: &Insert) -> Result<Statements> {
        let names: Vec<String> =
            how.columns.iter().map(|&column| quoted(&table.columns[column].name)).collect();
        if names.is_empty() {
            return Err(Error::input(format!("no column of table {} is given", table.name)));
        }
        if names.len() > COLUMNS_MAX {
            let message = format!(
                "table {} takes {} columns, but at most {COLUMNS_MAX} can be inserted",
                table.name,
                names.len()
            );
            return Err(Error::input(message).hint("leave some of them out"));
        }
        let triggers =
            has_triggers(connection, table).map_err(|error| cannot_insert(connection, table, error))?;
        let foreign_keys = table.foreign_keys && foreign_keys_on(connection);
        let replaces = !how.upsert.is_empty() || how.on_conflict == OnConflict::Replace;
        let or_abort = or_abort(table, triggers);
        let or_fail = if triggers || foreign_keys { or_abort } else { " OR FAIL" };
        let (or, on) = match (how.upsert.is_empty(), how.on_conflict) {
            (false, _) => (or_abort, on_conflict_update(table, how)?),
            (true, OnConflict::Abort) => (or_fail, String::new()),
            // SQLite refuses ON CONFLICT for virtual tables, which have no CHECK.
            (true, OnConflict::Ignore) if table.is_virtual => (" OR IGNORE", String::new()),
            (true, OnConflict::Ignore) => (or_fail, " ON CONFLICT DO NOTHING".to_owned()),
            (true, OnConflict::Replace) => (" OR REPLACE", String::new()),
        };
        let into = how.into.clone().unwrap_or_else(|| format!("main.{}", quoted(&table.name)));
        let insert = |without: Option<usize>, range: &str| {
            let given = (0..names.len()).filter(|given| Some(*given) != without);
            let (names, selected): (Vec<&str>, Vec<String>) =
                given.map(|given| (names[given].as_str(), format!("c{}", given + 1))).unzip();
            let (names, selected) = (names.join(", "), selected.join(", "));
            format!(
                "INSERT{or} INTO {into} ({names}) SELECT {selected} FROM sqluice_rows(?1) WHERE {range}{on}"
            )
        };
        // SQLite may assign the rowids only if all rows get in (a left-out row takes no rowid), no trigger fires (a BEFORE trigger would
        // see no rowid), and the table has no AUTOINCREMENT (which assigns other rowids).
        let all_get_in = !replaces && how.on_conflict == OnConflict::Abort && !triggers;
        let rowid = table.rowid_alias.filter(|_| all_get_in && !table.autoincrement && names.len() > 1);
        let given = rowid.and_then(|rowid| how.columns.iter().position(|column| *column == rowid));
        let numbered = given.map(|given| NumberedSql {
            given,
            insert: insert(Some(given), "true"),
            last: format!("SELECT max({}) FROM {into}", names[given]),
        });
        Ok(Statements {
            all: insert(None, "true"),
            range: insert(None, "rowid BETWEEN ?2 AND ?3"),
            numbered,
            fails_half_done: or == " OR FAIL",
            rows_cure: foreign_keys && (replaces || refers_to_itself(connection, table)),
            savepoint: triggers,
        })
    }
}

/// Returns the conflict clause of a statement that leaves nothing when it fails. The clause of an INSERT overrides the clauses in the
/// bodies of triggers. So with triggers the clause is empty, which also means ABORT unless the table has ON CONFLICT clauses.
fn or_abort(table: &Table, triggers: bool) -> &'static str {
    if triggers && !table.says_on_conflict() { "" } else { " OR ABORT" }
}

/// Returns the clause of an upsert that updates existing rows.
fn on_conflict_update(table: &Table, how: &Insert) -> Result<String> {
    let mut key = Vec::new();
    for name in &how.upsert {
        let Some(column) = table.column(name) else {
            return Err(
                Error::usage(format!("table {} has no column {name}", table.name)).hint(keys_told(table))
            );
        };
        if !how.columns.contains(&column) {
            let message = format!("rows are matched by {name}, but the input has no column {name}");
            return Err(Error::usage(message).hint(keys_told(table)));
        }
        if key.contains(&column) {
            return Err(Error::usage(format!("rows are matched by {name} twice")));
        }
        key.push(column);
    }
    let same = |of_table: &Vec<usize>| {
        of_table.len() == key.len() && key.iter().all(|column| of_table.contains(column))
    };
    if !table.unique_keys().iter().any(same) {
        let message = format!("({}) is not a key of table {}", how.upsert.join(", "), table.name);
        return Err(Error::usage(message).hint(keys_told(table)));
    }
    let name = |column: &usize| quoted(&table.columns[*column].name);
    let target: Vec<String> = key.iter().map(name).collect();
    let others = how.columns.iter().filter(|column| !key.contains(column));
    let set: Vec<String> = others.map(|column| format!("{0} = excluded.{0}", name(column))).collect();
    let target = target.join(", ");
    Ok(match set.is_empty() {
        true => format!(" ON CONFLICT ({target}) DO NOTHING"),
        false => format!(" ON CONFLICT ({target}) DO UPDATE SET {}", set.join(", ")),
    })
}

fn keys_told(table: &Table) -> String {
    let keys: Vec<String> = table
        .unique_keys()
        .iter()
        .map(|key| {
            let names: Vec<&str> = key.iter().map(|&column| table.columns[column].name.as_str()).collect();
            format!("({})", names.join(", "))
        })
        .collect();
    match keys.is_empty() {
        true => {
            format!("table {} has no PRIMARY KEY and nothing UNIQUE: make a unique index first", table.name)
        }
        false => format!("its keys are {}", keys.join(", ")),
    }
}

/// Returns `true` if triggers may fire, including temporary triggers.
fn has_triggers(connection: &Connection, table: &Table) -> rusqlite::Result<bool> {
    let any = "SELECT EXISTS (SELECT 1 FROM (SELECT type, tbl_name FROM main.sqlite_schema
               UNION ALL SELECT type, tbl_name FROM temp.sqlite_schema)
               WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE)";
    connection.query_row(any, [&table.name], |row| row.get(0))
}

fn foreign_keys_on(connection: &Connection) -> bool {
    connection.query_row("PRAGMA foreign_keys", [], |row| row.get(0)).unwrap_or(true)
}

/// Returns `true` if a FOREIGN KEY of the table refers to the table itself.
fn refers_to_itself(connection: &Connection, table: &Table) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_foreign_key_list(?1, 'main') WHERE \"table\" = ?1 COLLATE NOCASE)";
    connection.query_row(sql, [&table.name], |row| row.get(0)).unwrap_or(true)
}

pub(super) fn cannot_insert(connection: &Connection, table: &Table, error: rusqlite::Error) -> Error {
    let full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
    if !(full && table.autoincrement && last_rowid_given(connection, table)) {
        return failed(error, &format!("insert into table {}", table.name));
    }
    let (name, last) = (&table.name, i64::MAX);
    Error::target(format!(
        "table {name} has no rowid left: AUTOINCREMENT uses no rowid a second time, and the largest possible one, {last}, has been used"
    ))
    .hint(
        "bring rows with rowids of their own, or set the table's row in sqlite_sequence to its largest rowid",
    )
}

/// Returns `true` if SQLite's "database or disk is full" means that no rowids are left.
fn last_rowid_given(connection: &Connection, table: &Table) -> bool {
    let given = "SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?1 COLLATE NOCASE";
    connection.query_row(given, [&table.name], |row| row.get(0)) == Ok(Some(i64::MAX))
}
