//! Tests of tables that SQLite fills.

use proptest::prelude::*;

use super::*;

#[test]
fn stored_columns_are_computed_and_rowids_are_record_numbers() {
    let sql = "CREATE TABLE t (a INT, \"b \"\"c\" TEXT AS (a || '!') STORED, d ANY); CREATE INDEX i ON t (\"b \"\"c\");
               CREATE TABLE s (id INTEGER PRIMARY KEY AUTOINCREMENT, a ANY, b ANY AS (a) STORED) STRICT";
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2500)
                INSERT INTO staging.t (rowid, a, d) SELECT i, i * 2, 'x' FROM n WHERE i <> 7;
                INSERT INTO staging.s (id, a) VALUES (NULL, '1'), (17, 1), (NULL, 1.0)";
    let progress = Phases::default();
    let waiting = Waiting::new(sql, rows);
    waiting.finish_watched(&Context::default().progress(&progress)).unwrap();
    assert_eq!(*progress.seen.lock().unwrap(), ["rows 2503", "indexes"]);
    assert_eq!(*progress.rows.lock().unwrap(), 2503);
    let connection = Connection::open(waiting.path()).unwrap();
    assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
    assert_eq!(
        text(&connection, "SELECT count(*), sum(a = rowid * 2), max(rowid), min(\"b \"\"c\") FROM t"),
        "2499|2499|2500|10!"
    );
    assert_eq!(
        text(&connection, "SELECT id, typeof(a), typeof(b) FROM s"),
        "1|text|text\n17|integer|integer\n18|real|real"
    );
    assert_eq!(text(&connection, "SELECT * FROM sqlite_sequence"), "s|18");
}

#[derive(Default)]
struct Phases {
    seen: Mutex<Vec<String>>,
    rows: Mutex<u64>,
}

impl Progress for Phases {
    fn phase(&self, name: &str, total: Option<Amount>) {
        let total = total.map_or(String::new(), |total| format!(" {}", total.rows));
        self.seen.lock().unwrap().push(format!("{name}{total}"));
    }

    fn advance(&self, done: Amount) {
        *self.rows.lock().unwrap() += done.rows;
    }
}

#[test]
fn a_row_that_sqlite_refuses_is_named_by_its_record() {
    let sql = "CREATE TABLE t (a INT UNIQUE, n TEXT COLLATE nocase NOT NULL DEFAULT 'd', b INT AS (a * 2) STORED CHECK (b < 9000),
               UNIQUE (n, a)); CREATE UNIQUE INDEX u ON t (n)";
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2100)
                   INSERT INTO staging.t SELECT i, 'n' || i FROM n;";
    let staged = |change: &str, options| Waiting::with(sql, &format!("{numbers} {change}"), options);
    let failure =
        staged("UPDATE staging.t SET a = 17 WHERE rowid = 1500", on_conflict(OnConflict::Abort)).fails();
    assert_eq!(failure.message, "record 1500: UNIQUE constraint failed: t.a");
    assert_eq!(
        (failure.hint.as_str(), failure.record),
        ("a = 17, as in record 17", Some(("t".to_owned(), 1500)))
    );

    let failure =
        staged("UPDATE staging.t SET n = 'N5' WHERE rowid = 2000", on_conflict(OnConflict::Abort)).fails();
    assert_eq!(failure.message, "table t: rows 5 and 2000 have the same key in unique index u");
    assert_eq!((failure.hint.as_str(), failure.record), ("\"n\" = 'N5'", Some(("t".to_owned(), 2000))));

    for conflict in [OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace] {
        let failure =
            staged("UPDATE staging.t SET a = 4500 WHERE rowid = 1000", on_conflict(conflict)).fails();
        assert_eq!(failure.message, "record 1000: CHECK constraint failed: b < 9000");
        assert_eq!(failure.hint, "it has a = 4500, n = 'n1000'");
    }
}

#[test]
fn a_row_with_an_invalid_or_repeated_rowid_is_named_by_its_record() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b AS (a) STORED)";
    let failure = Waiting::new(sql, "INSERT INTO staging.t VALUES (1), ('x')").fails();
    assert_eq!(failure.message, "record 2: datatype mismatch");
    assert_eq!(failure.hint, "it has a = 'x'");
    let failure = Waiting::new(sql, "INSERT INTO staging.t VALUES (1), (2), (1)").fails();
    assert_eq!(
        (failure.message.as_str(), failure.hint.as_str()),
        ("record 3: UNIQUE constraint failed: t.a", "a = 1, as in record 1")
    );
}

#[test]
fn on_conflict_clauses_of_the_schema_are_ignored() {
    let rows = "INSERT INTO staging.t VALUES (1), (2), (1)";
    for clause in ["ROLLBACK", "ABORT", "FAIL", "IGNORE", "REPLACE"] {
        let sql = format!(
            "CREATE TABLE t (a NOT NULL ON CONFLICT {clause} UNIQUE ON CONFLICT {clause},
             b AS (nullif(a, 2)) STORED NOT NULL ON CONFLICT {clause})"
        );
        let failure = Waiting::new(&sql, rows).fails();
        assert_eq!(failure.message, "record 2: NOT NULL constraint failed: t.b", "{clause}");
        let sql = sql.replace("nullif(a, 2)", "a");
        let failure = Waiting::new(&sql, rows).fails();
        assert_eq!(failure.message, "record 3: UNIQUE constraint failed: t.a", "{clause}");
        for (conflict, kept) in [(OnConflict::Ignore, "1|1\n2|2"), (OnConflict::Replace, "2|2\n1|3")] {
            let (connection, stored) = Waiting::with(&sql, rows, on_conflict(conflict)).counted();
            assert_eq!(text(&connection, "SELECT a, rowid FROM t ORDER BY rowid"), kept, "{clause}");
            assert_eq!(stored, [2]);
        }
    }
}

#[test]
fn a_table_without_a_name_for_the_rowid_is_refused() {
    let sql = "CREATE TABLE t (rowid, _rowid_, oid, b AS (oid) STORED)";
    let schema = Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap();
    let plan = planned(&schema, None, &WriteOptions::default());
    let error = Work { schema: &schema, plan: &plan }.staging_schema().unwrap_err();
    assert!(error.message().contains("rowid, _rowid_ and oid") && error.remedy().is_some());
    // Staging tables leave out generated columns, so the name `oid` is free for the rowid.
    let sql = "CREATE TABLE t (rowid, _rowid_, oid AS (rowid) STORED)";
    let connection = Waiting::new(sql, "INSERT INTO staging.t VALUES (5, 6)").finished();
    assert_eq!(text(&connection, "SELECT * FROM t"), "5|6|5");
}

#[test]
fn columns_of_staging_tables_keep_their_affinity() {
    let types = [
        "INT",
        "",
        "\"a blob\"",
        "DECIMAL(10, 5)",
        "[floating point]",
        "VARCHAR /* ) */ (70)",
        "ANY",
        "REAL",
        "CLOB -- x\n",
        "'quoted'",
        "NUM ( +1 , -2 )",
    ];
    for strict in ["", " STRICT"] {
        for declared in types {
            let sql = format!(
                "CREATE TABLE t (a {declared} NOT NULL DEFAULT 1 CHECK (a > 0) COLLATE nocase, b INT AS (1) STORED){strict}"
            );
            let Ok(schema) = Schema::parse(sql.clone(), Path::new("x.sql")) else { continue };
            let plan = planned(&schema, None, &WriteOptions::default());
            let staged = Work { schema: &schema, plan: &plan }.staging_schema().unwrap().unwrap();
            let (column, waiting) = (&schema.tables[0].columns[0], &staged.tables[0].columns[0]);
            assert_eq!(staged.tables[0].columns.len(), 1);
            assert_eq!(
                (column.affinity, &column.declared_type),
                (waiting.affinity, &waiting.declared_type),
                "{sql}"
            );
            assert!(waiting.not_null && waiting.default.is_none() && !staged.tables[0].checks);
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn conflicts_are_decided_as_sqlite_decides_them(
        rows in prop::collection::vec((0..12i64, 0..LITERALS.len()), 0..40),
        conflict in prop::sample::select(vec![OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace]),
        clause in prop::sample::select(vec!["", "ON CONFLICT IGNORE", "ON CONFLICT REPLACE"]),
        more in prop::sample::select(vec!["", ", UNIQUE (b)", ", UNIQUE (a, c)"]),
        computed in any::<bool>(),
    ) {
        let computed = if computed { "CREATE UNIQUE INDEX u ON t (a % 9) WHERE a > 1" } else { "" };
        let sql = format!("CREATE TABLE t (a INT UNIQUE {clause}, b TEXT COLLATE nocase, c AS (a % 5) STORED{more}); {computed}");
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(&sql).unwrap();
        let or = match conflict {
            OnConflict::Abort => "OR ABORT",
            OnConflict::Ignore => "OR IGNORE",
            OnConflict::Replace => "OR REPLACE",
        };
        let mut staged = String::new();
        let mut refused = None;
        for (record, (a, b)) in (1..).zip(&rows) {
            let b = LITERALS[*b];
            staged += &format!("INSERT INTO staging.t (rowid, a, b) VALUES ({record}, {a}, {b});");
            let insert = format!("INSERT {or} INTO t (rowid, a, b) VALUES ({record}, {a}, {b})");
            if refused.is_none() && twin.execute_batch(&insert).is_err() {
                refused = Some(record);
            }
        }
        let waiting = Waiting::with(&sql, &staged, on_conflict(conflict));
        match refused {
            // An index on an expression is created after all rows, so its conflicts are found last. If another key also has a conflict, the
            // error may name a later record.
            Some(record) => {
                let failure = waiting.fails().record.unwrap().1;
                prop_assert!(failure == record || (!computed.is_empty() && failure > record), "{} {}", failure, record);
            }
            None => {
                let all = "SELECT rowid, typeof(b), a, b, c FROM t ORDER BY rowid";
                let (ours, stored) = waiting.counted();
                prop_assert_eq!(text(&ours, all), text(&twin, all));
                prop_assert_eq!(text(&twin, "SELECT count(*) FROM t"), stored[0].to_string());
            }
        }
    }
}

const LITERALS: [&str; 8] = ["NULL", "'x'", "'X'", "'y'", "1", "'1'", "NULL", "'z '"];
