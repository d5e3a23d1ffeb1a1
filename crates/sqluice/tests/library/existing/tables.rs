//! Tables added to an existing database, compared with a copy to which SQLite adds the same tables row by row.

use crate::support::cases;
use crate::support::existing::{
    Old, add, assert_same_content, assert_whole, content, copied, old, one, schema,
};
use crate::support::files::{Home, integrity};
use crate::support::keys::{KeyCase, insert, key_case, source};
use proptest::prelude::*;
use rusqlite::Connection;

/// Adds the tables of a case to both databases, and compares the whole content of the two.
fn compare(old: &Old, case: &KeyCase) {
    let rows = case.rows();
    let home = Home::new();
    let path = home.path("ours.db");
    old.create(&path);
    let before = content(&Connection::open(&path).unwrap());
    let twin_path = copied(&home, &path, "twin.db");
    let sources = rows.iter().map(|rows| source(rows, case.batch_rows)).collect();
    let added = add(&path, &schema(&case.sql()), sources, &case.options());
    let mut twin = Connection::open(&twin_path).unwrap();
    twin.execute_batch("PRAGMA synchronous = OFF").unwrap();
    match (added, case.fill(&mut twin, &rows)) {
        (Err(_), Err(_)) => {
            assert_whole(&path, old.mode());
            assert!(content(&Connection::open(&path).unwrap()) == before, "it is as it was");
        }
        (Ok(report), Ok(())) => {
            assert_whole(&path, old.mode());
            let ours = Connection::open(&path).unwrap();
            assert_eq!(i64::from(report.pages), one::<i64>(&ours, "PRAGMA page_count"));
            // Implicit rowids count the rows that were left out, too. So they may differ, and only columns are compared.
            assert_same_content(&ours, &twin);
            change(case, &rows, [&ours, &twin]);
        }
        (added, filled) => panic!("ours: {added:?}, the twin: {filled:?}"),
    }
}

/// Inserts rows, and adds and drops a table by SQLite in both databases, which must stay sound and equal.
fn change(case: &KeyCase, rows: &[Vec<crate::support::keys::Row>], both: [&Connection; 2]) {
    for database in both {
        for (table, rows) in case.tables.iter().zip(rows) {
            database.execute_batch("BEGIN").unwrap();
            insert(database, &table.name, sqluice::options::OnConflict::Ignore, &rows[..rows.len() / 2]).ok();
            database.execute_batch("COMMIT").unwrap();
        }
        database.execute_batch("CREATE TABLE later AS SELECT * FROM sqlite_schema").unwrap();
        database.execute_batch("DROP TABLE later").unwrap();
        assert_eq!(integrity(database), "ok");
    }
    assert_same_content(both[0], both[1]);
    both[0].execute_batch("VACUUM").unwrap();
    assert_eq!(integrity(both[0]), "ok");
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn tables_added_to_random_databases_equal_those_that_sqlite_adds(old in old(), case in key_case(300)) {
        compare(&old, &case);
    }
}
