//! Tables that are written as pages, and whose partial indexes, constraints and triggers SQLite makes in the same transaction. They equal
//! tables that SQLite fills, and a row that breaks a constraint undoes the whole load.

use crate::support::existing::{Old, add, assert_same_content, assert_whole, content, copied, one, schema};
use crate::support::files::Home;
use crate::support::keys::{Row, insert, source};
use crate::support::rows::Owned;
use rusqlite::Connection;
use sqluice::options::WriteOptions;

const SCHEMA: &str = "
    CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT CHECK (length(b) < 90), c INTEGER REFERENCES \"old 1\");
    CREATE INDEX t_partial ON t (b) WHERE a % 2;
    CREATE INDEX t_expression ON t (a || b);
    CREATE UNIQUE INDEX t_b ON t (b);
    CREATE TABLE log (x);
    CREATE VIEW v AS SELECT count(*) AS n FROM t;
    CREATE TRIGGER t_insert AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END;";

fn rows(count: usize) -> Vec<Row> {
    let row = |row: usize| {
        vec![Owned::Null, Owned::Text(format!("{:050}", row * 7919 % 1_000_003).into_bytes()), Owned::Int(3)]
    };
    (0..count).map(row).collect()
}

#[test]
fn a_table_added_with_partial_indexes_constraints_and_triggers_equals_that_of_sqlite() {
    for wal in [false, true] {
        let home = Home::new();
        let path = home.path("ours.db");
        let old = Old { wal, deleted: 0, ..Old::default() };
        old.create(&path);
        let twin_path = copied(&home, &path, "twin.db");
        let rows = rows(5000);
        let options = WriteOptions::new().threads(2).analyze(true).tune(|tuning| tuning.chunk_bytes = 16384);
        let schema = schema(SCHEMA);
        let mut phases = Vec::new();
        let sources = vec![source(&rows, 100), source(&[], 1)];
        let report = add(&path, &schema, sources, &options).unwrap();
        phases.extend(report.phases.iter().map(|phase| phase.name.clone()));
        assert!(phases.contains(&"sqlite".to_owned()), "{phases:?}");
        assert_whole(&path, old.mode());

        let twin = Connection::open(&twin_path).unwrap();
        let (tables, trigger) = SCHEMA.split_at(SCHEMA.find("CREATE TRIGGER").unwrap());
        twin.execute_batch(&format!("PRAGMA foreign_keys = OFF; BEGIN; {tables}")).unwrap();
        insert(&twin, "t", sqluice::options::OnConflict::Abort, &rows).unwrap();
        twin.execute_batch(&format!("{trigger}; ANALYZE; COMMIT")).unwrap();
        let ours = Connection::open(&path).unwrap();
        assert_same_content(&ours, &twin);
        let plan: String = ours
            .query_row("EXPLAIN QUERY PLAN SELECT a FROM t WHERE a || b = 'x'", [], |row| row.get(3))
            .unwrap();
        assert!(plan.contains("t_expression"), "{plan}");
        ours.execute_batch("INSERT INTO t (b) VALUES ('new')").unwrap();
        assert_eq!(one::<i64>(&ours, "SELECT x FROM log"), 5001);
    }
}

#[test]
fn a_row_that_breaks_a_constraint_undoes_the_whole_load() {
    for wal in [false, true] {
        for (column, value, said) in
            [(1, Owned::Text(vec![b'x'; 90]), "CHECK"), (2, Owned::Int(1), "old 1 has no row")]
        {
            let home = Home::new();
            let path = home.path("ours.db");
            let old = Old { wal, deleted: 0, ..Old::default() };
            old.create(&path);
            let before = content(&Connection::open(&path).unwrap());
            let mut rows = rows(3000);
            rows[2000][column] = value;
            let sources = vec![source(&rows, 100), source(&[], 1)];
            let error = add(&path, &schema(SCHEMA), sources, &WriteOptions::default()).unwrap_err();
            assert!(error.message().contains(said), "{error}");
            assert_whole(&path, old.mode());
            assert_eq!(content(&Connection::open(&path).unwrap()), before);
        }
    }
}
