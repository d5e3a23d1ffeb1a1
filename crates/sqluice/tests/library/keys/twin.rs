//! Tables with keys and indexes, compared with a twin: a database of the same schema that SQLite fills row by row in the same order.
//!
//! Values are compared as SQL sees them, by type and value: where a table has an index when a row is inserted, SQLite stores 5.0 as a float
//! that it stores as an integer elsewhere. Records of tables without constraints are the same byte for byte.

use std::path::Path;

use crate::support::cases;
use crate::support::files::{Home, assert_sound, integrity, open, records};
use crate::support::keys::{KeyCase, KeyIndex, KeyTable, Row, ask, insert, key_case};
use crate::support::rows::Owned;
use crate::support::tables::quoted;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rusqlite::Connection;
use sqluice::check::Check;
use sqluice::error::{Error, ErrorKind};
use sqluice::options::OnConflict;
use sqluice_format::page::PENDING_BYTE;
use sqluice_testkit::sqlite::sqlite3;

/// Writes both databases, and compares rows, records, schema, query results, and later changes.
fn compare(case: &KeyCase) {
    let rows = case.rows();
    let home = Home::new();
    let (path, twin_path) = (home.path("ours.db"), home.path("twin.db"));
    let written = case.write(&path, &rows, &case.options());
    let left = home.names();
    let mut twin = open(&twin_path);
    match (written, case.fill(&mut twin, &rows)) {
        (Err(error), Err(refused)) => {
            assert_eq!(left, [""; 0], "nothing is left behind");
            assert_same_fault(case, &error, &refused);
        }
        (Ok(report), Ok(())) => {
            assert_eq!(left, ["ours.db"]);
            let count = |table: &KeyTable| count(&twin, table);
            assert_eq!(
                report.tables.iter().map(|table| table.rows).collect::<Vec<u64>>(),
                case.tables.iter().map(count).collect::<Vec<u64>>()
            );
            assert_sound(&std::fs::read(&path).unwrap(), PENDING_BYTE);
            let check = Check::new(path.clone()).threads(2);
            let checked = check.run().unwrap();
            assert!(checked.is_sound(), "{:?}", checked.report.problems);
            assert_system_agrees(&path, &twin_path);
            let ours = open(&path);
            assert_eq!(integrity(&ours), "ok");
            assert_same_content(case, &ours, &twin);
            assert_same_records(case, &ours, &std::fs::read(&path).unwrap(), &rows);
            for (table, rows) in case.tables.iter().zip(&rows) {
                table.indexes.iter().for_each(|index| assert_same_answers(table, index, &ours, &twin, rows));
            }
            change(case, &ours, &twin, &rows);
        }
        (written, filled) => panic!("ours: {written:?}, the twin: {filled:?}"),
    }
}

/// Asserts that the system's `sqlite3` finds our file sound. Version 3.40 wrongly reports NULLs in WITHOUT ROWID tables, which is accepted
/// if it reports the same of the twin.
fn assert_system_agrees(ours: &Path, twin: &Path) {
    let check = |path| sqlite3(path, "PRAGMA integrity_check");
    match check(ours) {
        Some(said) if said.starts_with("NULL value in ") => assert_eq!(Some(said), check(twin)),
        Some(said) => assert_eq!(said, "ok"),
        None => {}
    }
}

/// Asserts that a key that two rows have is reported with its columns, as SQLite reports it. If there are several faults, the reported one
/// may differ.
fn assert_same_fault(case: &KeyCase, error: &Error, refused: &rusqlite::Error) {
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    let refused = refused.to_string();
    if refused.contains("NOT NULL") || error.message().contains("NULL in column") {
        return;
    }
    let prefix = "UNIQUE constraint failed: ";
    let names_rowid = |table: &KeyTable| {
        // Rows must be in the order of their rowids: each is compared only with the one before it.
        let name = |alias: usize| format!("{} = ", table.column_name(alias));
        table.alias().is_some_and(|alias| error.message().contains(&name(alias)))
            && error.message().ends_with(" is in two rows")
    };
    if case.tables.iter().any(names_rowid) {
        return;
    }
    let message = error.message();
    let named = message.strip_prefix(prefix).and_then(|rest| rest.split(" = ").next());
    let named = named.unwrap_or_else(|| panic!("ours: {error}; the twin: {refused}"));
    let empty = Connection::open_in_memory().unwrap();
    empty.execute_batch(&case.sql()).unwrap();
    let keys: Vec<String> = case.tables.iter().flat_map(|table| unique_keys(&empty, table)).collect();
    assert!(keys.iter().any(|key| key == named), "{named} is none of {keys:?}");
    if keys.iter().all(|key| *key == keys[0]) {
        assert_eq!(refused.strip_prefix(prefix), Some(named));
    }
    assert!(error.message().len() > prefix.len() + named.len() + " = ".len(), "{error} tells no values");
}

/// Returns the columns of each key that no two rows may share, as SQLite's messages have them.
fn unique_keys(database: &Connection, table: &KeyTable) -> Vec<String> {
    let alias = table.alias().map(|alias| format!("{}.{}", table.name, table.column_name(alias)));
    let sql = "SELECT (SELECT group_concat(?1 || '.' || name, ', ') FROM
                   (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno))
               FROM pragma_index_list(?1) AS l WHERE l.\"unique\"";
    let name = Owned::Text(table.name.clone().into_bytes());
    let keys = ask(database, sql, &[&name]).unwrap();
    let keys = keys.into_iter().map(|key| match &key[0] {
        Owned::Text(key) => String::from_utf8(key.clone()).unwrap(),
        other => panic!("{other:?}"),
    });
    keys.chain(alias).collect()
}

fn count(database: &Connection, table: &KeyTable) -> u64 {
    let sql = format!("SELECT count(*) FROM {} NOT INDEXED", quoted(&table.name));
    database.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap() as u64
}

/// Returns all rows of a table in the order of their keys. A rowid that the input does not give counts all records, also those that were
/// left out, so it is compared only if no row was left out.
fn rows_of(case: &KeyCase, database: &Connection, table: &KeyTable) -> Vec<Row> {
    let rowid = match (table.without_rowid, table.alias(), case.on_conflict) {
        (true, ..) => "",
        (false, None, OnConflict::Abort) | (false, Some(_), _) => ", rowid",
        _ => "",
    };
    let order = if table.without_rowid { "" } else { " ORDER BY rowid" };
    let (columns, name) = (table.column_list(), quoted(&table.name));
    ask(database, &format!("SELECT {columns}{rowid} FROM {name} NOT INDEXED{order}"), &[]).unwrap()
}

/// Returns the objects of the schema by table. The position of sqlite_sequence does not matter.
fn objects(database: &Connection) -> Vec<Row> {
    let sql = "SELECT tbl_name, type, name, sql FROM sqlite_schema WHERE name <> 'sqlite_sequence' ORDER BY tbl_name, rowid";
    ask(database, sql, &[]).unwrap()
}

fn assert_same_content(case: &KeyCase, ours: &Connection, twin: &Connection) {
    assert_eq!(objects(ours), objects(twin));
    let sequence = "SELECT name, seq FROM sqlite_sequence ORDER BY name";
    assert_eq!(ask(ours, sequence, &[]), ask(twin, sequence, &[]));
    for table in &case.tables {
        let (mine, theirs) = (rows_of(case, ours, table), rows_of(case, twin, table));
        assert_eq!(mine.len(), theirs.len(), "rows of {}", table.name);
        for (number, (mine, theirs)) in mine.iter().zip(&theirs).enumerate() {
            assert_eq!(mine, theirs, "row {number} of {}", table.name);
        }
    }
}

/// Asserts that tables without constraints have the records that SQLite writes if their indexes are created afterwards.
fn assert_same_records(case: &KeyCase, ours: &Connection, bytes: &[u8], rows: &[Vec<Row>]) {
    for (table, rows) in case.tables.iter().zip(rows).filter(|(table, _)| table.is_plain()) {
        let home = Home::new();
        let path = home.path("plain.db");
        let plain = open(&path);
        plain.execute_batch(&(table.table_sql() + "BEGIN")).unwrap();
        insert(&plain, &table.name, case.on_conflict, rows).unwrap();
        plain.execute_batch("COMMIT").unwrap();
        let theirs = records(&plain, &std::fs::read(&path).unwrap(), &table.name);
        assert!(records(ours, bytes, &table.name) == theirs, "records of {}", table.name);
    }
}

/// Asserts that queries for ranges, equal keys and order give the same rows in both databases, and that SQLite uses the index for them.
fn assert_same_answers(
    table: &KeyTable,
    index: &KeyIndex,
    ours: &Connection,
    twin: &Connection,
    rows: &[Row],
) {
    let first = table.compared(&index.parts[0]);
    let from = format!(
        "SELECT {} FROM {} INDEXED BY {}",
        table.column_list(),
        quoted(&table.name),
        quoted(&index.name)
    );
    let order = index
        .parts
        .iter()
        .map(|part| format!("{}{}", table.compared(part), if part.descending { " DESC" } else { "" }));
    let order = format!("ORDER BY {}", order.collect::<Vec<_>>().join(", "));
    let null = Owned::Null;
    let key = |row: usize| rows.get(row).map_or(&null, |row| &row[index.parts[0].column]);
    let (some, other) = (key(rows.len() / 3), key(rows.len() / 2));
    let queries = [
        (format!("{from} WHERE {first} >= ?1 AND {first} < ?2"), vec![some, other]),
        (format!("{from} WHERE {first} > ?1"), vec![some]),
        (format!("{from} WHERE {first} IS ?1"), vec![other]),
        (format!("{from} {order}"), vec![]),
    ];
    for (sql, values) in queries {
        assert_eq!(ask(ours, &sql, &values), ask(twin, &sql, &values), "{sql} {values:?}");
        let [mine, theirs] = [ours, twin].map(|database| plan(database, &sql, &values));
        assert_eq!(mine, theirs, "{sql}");
        let by_it = mine.contains(&format!("INDEX {}", index.name));
        assert!(by_it || mine.contains("no query solution"), "{sql}: {mine}");
    }
    // Compare whether the planner chooses the index without a hint.
    let sql = format!("SELECT count(*) FROM {} WHERE {first} = ?1", quoted(&table.name));
    assert_eq!(plan(ours, &sql, &[some]), plan(twin, &sql, &[some]));
    assert_eq!(ask(ours, &sql, &[some]), ask(twin, &sql, &[some]));
}

/// Returns SQLite's plan for a query.
fn plan(database: &Connection, sql: &str, values: &[&Owned]) -> String {
    match ask(database, &format!("EXPLAIN QUERY PLAN {sql}"), values) {
        Ok(steps) => steps.iter().map(|step| format!("{:?}", text(&step[3]))).collect(),
        Err(error) => error,
    }
    .replace("\\\"", "\"")
}

fn text(value: &Owned) -> &str {
    match value {
        Owned::Text(text) => str::from_utf8(text).unwrap(),
        other => panic!("{other:?} is no text"),
    }
}

/// Inserts, deletes, updates and replaces rows by SQLite in both databases, which must stay sound and equal.
fn change(case: &KeyCase, ours: &Connection, twin: &Connection, rows: &[Vec<Row>]) {
    for (table, rows) in case.tables.iter().zip(rows) {
        let name = quoted(&table.name);
        let third = rows.len() / 3;
        let again = if table.alias().is_some() { OnConflict::Replace } else { OnConflict::Ignore };
        // Rows are chosen by their first column, not by rowid: automatic rowids may differ.
        let first = quoted(table.column_name(0));
        let seven = format!("WHERE {first} IN (SELECT {first} FROM {name} NOT INDEXED LIMIT 7)");
        let delete = format!("DELETE FROM {name} {seven}");
        let last = quoted(table.column_name(rows.first().map_or(0, |row| row.len() - 1)));
        let update = format!("UPDATE OR IGNORE {name} SET {last} = {first} {seven}");
        for database in [ours, twin] {
            database.execute_batch("BEGIN").unwrap();
            insert(database, &table.name, OnConflict::Ignore, &rows[..third]).ok();
            database.execute_batch(&delete).unwrap();
            insert(database, &table.name, again, &rows[third..]).ok();
        }
        // A STRICT table refuses values of another type. Then both databases must give the same error.
        let [mine, theirs] = [ours, twin].map(|database| {
            let updated = database.execute(&update, []).map_err(|error| error.to_string());
            database.execute_batch("COMMIT").unwrap();
            updated
        });
        assert_eq!(mine, theirs, "{update}");
    }
    assert_eq!(integrity(ours), "ok");
    assert_same_content(case, ours, twin);
    ours.execute_batch("REINDEX; VACUUM").unwrap();
    assert_eq!(integrity(ours), "ok");
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn random_tables_with_keys_and_indexes_equal_those_of_sqlite(case in key_case(300)) {
        compare(&case);
    }
}

#[test]
fn indexes_of_many_pages_equal_those_of_sqlite() {
    let mut runner = TestRunner::deterministic();
    for page_bytes in [512, 1024, 4096] {
        for _ in 0..2 {
            let case = key_case(6000).new_tree(&mut runner).unwrap().current();
            compare(&KeyCase { page_bytes, ..case });
        }
    }
}
