//! The statements that insert, and the keys by which rows are matched.
//!
//! ```text
//!  INSERT OR FAIL INTO main.t (a, b) SELECT c1, c2 FROM sqluice_rows(?1) WHERE true ON CONFLICT (a) DO UPDATE SET b = excluded.b
//!         │                                                              │
//!         the effect of a half done statement                            else ON would begin a join's condition
//! ```

use rusqlite::{Connection, ErrorCode};
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::COLUMNS_MAX;
use sqluice_core::schema::{Table, quoted};
use sqluice_core::sqlite_error::failed;

use super::Insert;
use crate::options::OnConflict;

/// What is run for a table.
#[derive(Debug)]
pub(super) struct Statements {
    /// Inserts all rows of ?1.
    pub(super) all: String,
    /// Inserts those from ?2 to ?3.
    pub(super) range: String,
    /// Inserts all rows of ?1 without their rowids, where that can be the same.
    pub(super) numbered: Option<NumberedSql>,
    /// A statement that fails leaves the rows before the one that is to blame. If not, it leaves nothing.
    pub(super) fails_half_done: bool,
    /// A row without a parent may be cured by another of its statement, so alone it proves nothing.
    pub(super) rows_cure: bool,
    /// A batch needs a savepoint, because a trigger may leave it half done.
    pub(super) savepoint: bool,
}

/// How rows are inserted whose rowids follow the last one of the table, each by one: SQLite numbers them so by itself, and need not
/// look for each of these rowids in the table (`bench/existing --only insert`).
#[derive(Debug)]
pub(super) struct NumberedSql {
    /// The rowid's place among the given columns.
    pub(super) given: usize,
    pub(super) insert: String,
    /// Selects the last rowid of the table.
    pub(super) last: String,
}

impl Statements {
    /// # Errors
    /// If nothing is given, or rows are matched by what is no key.
    pub(super) fn new(connection: &Connection, table: &Table, how: &Insert) -> Result<Statements> {
        let names: Vec<String> =
            how.columns.iter().map(|&column| quoted(&table.columns[column].name)).collect();
        if names.is_empty() {
            return Err(Error::input(format!("no column of table {} is given", table.name)));
        }
        if names.len() > COLUMNS_MAX {
            let message = format!(
                "table {} takes {} columns, and {COLUMNS_MAX} can be inserted",
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
            (true, OnConflict::Ignore) => (or_fail, " ON CONFLICT DO NOTHING".to_owned()),
            (true, OnConflict::Replace) => (" OR REPLACE", String::new()),
        };
        let into = quoted(&table.name);
        let insert = |without: Option<usize>, range: &str| {
            let given = (0..names.len()).filter(|given| Some(*given) != without);
            let (names, selected): (Vec<&str>, Vec<String>) =
                given.map(|given| (names[given].as_str(), format!("c{}", given + 1))).unzip();
            let (names, selected) = (names.join(", "), selected.join(", "));
            format!(
                "INSERT{or} INTO main.{into} ({names}) SELECT {selected} FROM sqluice_rows(?1) WHERE {range}{on}"
            )
        };
        // A row that is left out would get no number, BEFORE triggers would see none, and AUTOINCREMENT counts otherwise.
        let all_get_in = !replaces && how.on_conflict == OnConflict::Abort && !triggers;
        let rowid = table.rowid_alias.filter(|_| all_get_in && !table.autoincrement && names.len() > 1);
        let given = rowid.and_then(|rowid| how.columns.iter().position(|column| *column == rowid));
        let numbered = given.map(|given| NumberedSql {
            given,
            insert: insert(Some(given), "true"),
            last: format!("SELECT max({}) FROM main.{into}", names[given]),
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

/// What is said for a statement that leaves nothing when it fails. What an INSERT says of conflicts holds in the bodies of triggers as
/// well, whatever they say themselves. So with triggers it says nothing, which means the same, unless the table says
/// something else.
fn or_abort(table: &Table, triggers: bool) -> &'static str {
    if triggers && !table.says_on_conflict() { "" } else { " OR ABORT" }
}

/// The clause by which an upsert updates existing rows.
fn on_conflict_update(table: &Table, how: &Insert) -> Result<String> {
    let mut key = Vec::new();
    for name in &how.upsert {
        let Some(column) = table.column(name) else {
            return Err(
                Error::usage(format!("table {} has no column {name}", table.name)).hint(keys_told(table))
            );
        };
        if !how.columns.contains(&column) {
            let message = format!("rows are matched by {name}, and the input does not give it");
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
        let message = format!("no key of table {} is ({})", table.name, how.upsert.join(", "));
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

/// Whether triggers may fire, temporary ones included.
fn has_triggers(connection: &Connection, table: &Table) -> rusqlite::Result<bool> {
    let any = "SELECT EXISTS (SELECT 1 FROM (SELECT type, tbl_name FROM main.sqlite_schema
               UNION ALL SELECT type, tbl_name FROM temp.sqlite_schema)
               WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE)";
    connection.query_row(any, [&table.name], |row| row.get(0))
}

fn foreign_keys_on(connection: &Connection) -> bool {
    connection.query_row("PRAGMA foreign_keys", [], |row| row.get(0)).unwrap_or(true)
}

/// Whether a FOREIGN KEY of the table is about the table itself.
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
        "table {name} has no rowid left: AUTOINCREMENT gives none twice, and it has given the last, {last}"
    ))
    .hint(
        "bring rows with rowids of their own, or set the table's row in sqlite_sequence to its largest rowid",
    )
}

/// Whether SQLite's "database or disk is full" is about rowids.
fn last_rowid_given(connection: &Connection, table: &Table) -> bool {
    let given = "SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?1 COLLATE NOCASE";
    connection.query_row(given, [&table.name], |row| row.get(0)) == Ok(Some(i64::MAX))
}
