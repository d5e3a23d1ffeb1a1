//! What SQLite does to files, tried on files that SQLite made: rows that break constraints are put there with the checks off.

use std::path::PathBuf;
use std::sync::Mutex;

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;
use crate::error::ErrorKind;
use crate::plan::WriteOptions;
use crate::progress::{Amount, Silent};

/// A folder with a file that waits for SQLite, as the pages' road leaves it.
struct Waiting {
    home: tempfile::TempDir,
    schema: Schema,
    plan: Plan,
}

impl Waiting {
    fn new(sql: &str, rows: &str) -> Waiting {
        Waiting::with(sql, rows, WriteOptions::default())
    }

    /// `rows` is SQL that fills the tables of the page roads, and `staging.t` those of SQLite's.
    fn with(sql: &str, rows: &str, options: WriteOptions) -> Waiting {
        let home = tempfile::tempdir().unwrap();
        let schema = Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap();
        let plan = Plan::new(&schema, Some(home.path().join("x.db")), &options).unwrap();
        let waiting = Waiting { home, schema, plan };
        let connection = Connection::open(waiting.path()).unwrap();
        connection
            .execute_batch(
                "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF",
            )
            .unwrap();
        for (table, plan) in waiting.schema.tables.iter().zip(&waiting.plan.tables) {
            connection.execute_batch(&table.sql).unwrap();
            for (index, plan) in table.indexes.iter().zip(&plan.indexes) {
                if let (Road::Pages | Road::Sorted, Some(sql)) = (plan.road, &index.sql) {
                    connection.execute_batch(sql).unwrap();
                }
            }
        }
        let staged = waiting.work().staging_schema().unwrap();
        if let Some(staged) = staged {
            connection.execute("ATTACH ?1 AS staging", [waiting.staging().to_str().unwrap()]).unwrap();
            for table in &staged.tables {
                let sql = table.sql.replacen("CREATE TABLE ", "CREATE TABLE staging.", 1);
                connection.execute_batch(&sql).unwrap();
            }
        }
        connection.execute_batch(rows).unwrap();
        connection.close().unwrap();
        waiting
    }

    fn work(&self) -> Work<'_> {
        Work { schema: &self.schema, plan: &self.plan }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("x.db")
    }

    fn staging(&self) -> PathBuf {
        self.home.path().join("rows #1?%41.db")
    }

    fn finish(&self) -> Result<()> {
        self.finish_watched(&Silent, &Cancel::new())
    }

    /// Does the work, and sees that nothing is left beside.
    fn finish_watched(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<()> {
        let staging = Some(self.staging()).filter(|staging| staging.exists());
        let before = self.names();
        let done = self.work().finish(&self.path(), staging.as_deref(), progress, cancel);
        assert_eq!(self.names(), before);
        done
    }

    fn names(&self) -> Vec<OsString> {
        let mut names: Vec<OsString> =
            std::fs::read_dir(self.home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    fn finished(&self) -> Connection {
        self.finish().unwrap_or_else(|error| panic!("{error}: {:?}", error.hint_text()));
        let connection = Connection::open(self.path()).unwrap();
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
        connection
    }

    fn fails(&self) -> Told {
        let error = self.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        Told {
            message: error.to_string(),
            hint: error.hint_text().unwrap_or_default().to_owned(),
            record: error.record().map(|(table, record)| (table.to_owned(), record)),
        }
    }
}

#[derive(Debug)]
struct Told {
    message: String,
    hint: String,
    record: Option<(String, u64)>,
}

fn text(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|column| {
            Ok(match row.get::<_, rusqlite::types::Value>(column)? {
                rusqlite::types::Value::Null => "NULL".to_owned(),
                rusqlite::types::Value::Integer(int) => int.to_string(),
                rusqlite::types::Value::Real(real) => format!("{real:?}"),
                rusqlite::types::Value::Text(text) => text,
                rusqlite::types::Value::Blob(blob) => format!("{blob:?}"),
            })
        });
        Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
    });
    rows.unwrap().collect::<rusqlite::Result<Vec<_>>>().unwrap().join("\n")
}

fn on_conflict(on_conflict: OnConflict) -> WriteOptions {
    WriteOptions { on_conflict, ..WriteOptions::default() }
}

#[test]
fn nothing_is_done_where_nothing_is_needed() {
    for sql in [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE); CREATE INDEX i ON t (b DESC)",
        "CREATE TABLE t (\"CHECK\" NOT NULL); CREATE VIEW v AS SELECT * FROM t;
         CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END",
        "CREATE TABLE t (a, b AS (a + 1))",
    ] {
        assert!(!Waiting::new(sql, "").work().is_needed(), "{sql}");
    }
    for sql in [
        "CREATE TABLE t (a CHECK (a))",
        "CREATE TABLE t (a, b AS (a) STORED)",
        "CREATE TABLE t (a, b AS (a) NOT NULL)",
        "CREATE TABLE t (a, b AS (a) UNIQUE)",
        "CREATE TABLE t (a); CREATE INDEX i ON t (a + 1)",
        "CREATE TABLE t (a); CREATE INDEX i ON t (a) WHERE a > 0",
        "CREATE TABLE t (a REFERENCES t)",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
    ] {
        assert!(Waiting::new(sql, "").work().is_needed(), "{sql}");
    }
    let sql = "CREATE TABLE t (a REFERENCES t)";
    assert!(
        !Waiting::with(sql, "", WriteOptions { foreign_keys: false, ..WriteOptions::default() })
            .work()
            .is_needed()
    );
    assert!(
        Waiting::with("CREATE TABLE t (a)", "", WriteOptions { analyze: true, ..WriteOptions::default() })
            .work()
            .is_needed()
    );
}

#[test]
fn a_check_that_fails_names_the_first_rows_and_their_values() {
    let sql = "CREATE TABLE t (a INT, age INT CONSTRAINT adult CHECK (age > 0 -- years)\n), name TEXT,
               CHECK (name <> ')' OR a))";
    let told = Waiting::new(
        sql,
        "INSERT INTO t VALUES (1, 5, 'x'), (0, NULL, ')'), (1, 1, ')'), (1, -3, NULL), (1, -4, ''), (1, -5, '')",
    )
    .fails();
    assert_eq!(told.message, "table t, row 2: CHECK (name <> ')' OR a) fails, name = ')', a = 0");
    assert_eq!(
        told.hint,
        "4 such rows; next: row 4: CHECK (age > 0 -- years)) fails, age = -3; row 5: CHECK (age > 0 -- years)) fails, age = -4"
    );
}

#[test]
fn rows_without_rowids_are_named_by_their_keys() {
    let sql = "CREATE TABLE t (b CHECK (b < 10), k TEXT, l INT, PRIMARY KEY (k DESC, l)) WITHOUT ROWID;
               CREATE UNIQUE INDEX i ON t (b % 3) WHERE b < 10";
    let told = Waiting::new(sql, "INSERT INTO t VALUES (10, 'x', 1), (11, 'y', 2)").fails();
    assert_eq!(told.message, "table t, row (k = 'y', l = 2): CHECK (b < 10) fails, b = 11");
    let told = Waiting::new(sql, "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2), (4, 'z', 1)").fails();
    assert_eq!(
        told.message,
        "table t: rows (k = 'x', l = 1) and (k = 'z', l = 1) have the same key in unique index i"
    );
    let sql = "CREATE TABLE p (a UNIQUE); CREATE TABLE t (k PRIMARY KEY, p REFERENCES p (a)) WITHOUT ROWID";
    let told =
        Waiting::new(sql, "INSERT INTO p VALUES (1); INSERT INTO t VALUES ('x', 1), ('y', 2), ('z', 3)")
            .fails();
    assert_eq!(told.message, "table t, row (k = 'y'): p has no row for p = 2");
    assert_eq!(told.hint, "2 such rows");
}

#[test]
fn a_table_whose_columns_have_all_names_of_the_rowid_is_still_checked() {
    let sql = "CREATE TABLE t (rowid, _rowid_, oid CHECK (oid > 0))";
    let told = Waiting::new(sql, "INSERT INTO t VALUES (1, 2, 3), (1, 2, 0)").fails();
    assert_eq!(told.message, "table t, row somewhere: CHECK (oid > 0) fails, oid = 0");
    let sql = "CREATE TABLE t (rowid INTEGER PRIMARY KEY, _rowid_, oid CHECK (oid > 0))";
    let told = Waiting::new(sql, "INSERT INTO t VALUES (7, 2, 0)").fails();
    assert_eq!(told.message, "table t, row (rowid = 7): CHECK (oid > 0) fails, oid = 0");
}

#[test]
fn more_constraints_than_one_query_takes_are_all_checked() {
    let checks: Vec<String> = (0..170).map(|i| format!("CHECK (a <> {i})")).collect();
    let sql = format!("CREATE TABLE t (a, {})", checks.join(", "));
    for i in [0, 49, 50, 169] {
        let told = Waiting::new(&sql, &format!("INSERT INTO t VALUES (-1), ({i})")).fails();
        assert_eq!(told.message, format!("table t, row 2: CHECK (a <> {i}) fails, a = {i}"));
    }
}

#[test]
fn null_in_a_virtual_column_that_is_not_null_is_found() {
    let sql = "CREATE TABLE t (a INT, b INT AS (a + 1) NOT NULL)";
    Waiting::new(sql, "INSERT INTO t VALUES (1)").finished();
    let waiting =
        Waiting::new("CREATE TABLE t (a INT, b INT AS (a + 1) VIRTUAL)", "INSERT INTO t VALUES (1), (NULL)");
    declare(&waiting, sql);
    let told =
        Waiting { schema: Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap(), ..waiting }.fails();
    assert_eq!(told.message, "table t, row 2: NOT NULL of column b fails, b = NULL");
}

/// Gives the table of a file another statement, as if its pages had been written for that.
fn declare(waiting: &Waiting, sql: &str) {
    let connection = Connection::open(waiting.path()).unwrap();
    connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
    connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = 't'", [sql]).unwrap();
}

#[test]
fn automatic_indexes_that_are_there_without_entries_get_them() {
    let sql = "CREATE TABLE t (a INT, b INT AS (a % 3) UNIQUE)";
    for (rows, twice) in [("(1), (2), (NULL), (NULL)", false), ("(1), (2), (4), (5)", true)] {
        let plain = "CREATE TABLE t (a INT, b INT AS (a % 3)); CREATE TABLE e (x UNIQUE)";
        let waiting = Waiting::new(plain, &format!("INSERT INTO t VALUES {rows}"));
        declare(&waiting, sql);
        let connection = Connection::open(waiting.path()).unwrap();
        connection
            .execute_batch(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET name = 'sqlite_autoindex_t_1', tbl_name = 't' WHERE type = 'index';
                 UPDATE sqlite_schema SET sql = 'CREATE TABLE e (x)' WHERE name = 'e'",
            )
            .unwrap();
        drop(connection);
        let schema = Schema::parse(format!("{sql}; CREATE TABLE e (x)"), Path::new("x.sql")).unwrap();
        let plan = Plan::new(&schema, None, &WriteOptions::default()).unwrap();
        let waiting = Waiting { schema, plan, ..waiting };
        if twice {
            let told = waiting.fails();
            assert_eq!(
                told.message,
                "table t: rows 1 and 3 have the same key in unique index sqlite_autoindex_t_1"
            );
            assert_eq!((told.hint.as_str(), told.record), ("\"b\" = 1", Some(("t".to_owned(), 3))));
        } else {
            let connection = waiting.finished();
            assert_eq!(text(&connection, "SELECT a FROM t WHERE b = 2"), "2");
        }
    }
}

#[test]
fn partial_and_expression_indexes_are_made_and_used() {
    let sql = "CREATE TABLE t (a TEXT, b INT);
               CREATE INDEX i ON t (lower(a) COLLATE nocase DESC, b) WHERE b > 1;
               CREATE UNIQUE INDEX u ON t (a || ',' || b) /* WHERE */ WHERE a <> ') ON (' -- end";
    let rows = "INSERT INTO t SELECT value || 'X', value FROM json_each('[1, 2, 3, 4]')";
    let connection = Waiting::new(sql, rows).finished();
    let plan = text(
        &connection,
        "EXPLAIN QUERY PLAN SELECT * FROM t WHERE lower(a) = '2x' COLLATE nocase AND b > 1",
    );
    assert!(plan.contains("USING INDEX i"), "{plan}");
    let told = Waiting::new(
        sql,
        "INSERT INTO t VALUES ('x', 1), ('y', 2), ('z', NULL), ('z', NULL), ('y', 2), ('x', 1)",
    )
    .fails();
    assert_eq!(told.message, "table t: rows 2 and 5 have the same key in unique index u");
    assert_eq!(told.hint, "a || ',' || b = 'y,2'");
    assert_eq!(told.record, Some(("t".to_owned(), 5)));
}

#[test]
fn keys_are_the_same_by_the_collation_of_their_index() {
    let sql = "CREATE TABLE t (a TEXT, k INTEGER PRIMARY KEY); CREATE UNIQUE INDEX i ON t (a COLLATE nocase) WHERE k > 0";
    let told = Waiting::new(sql, "INSERT INTO t VALUES ('x', 10), ('y', 11), ('X', 12)").fails();
    assert_eq!(told.message, "table t: rows 10 and 12 have the same key in unique index i");
    assert_eq!((told.hint.as_str(), told.record), ("\"a\" = 'X'", None));
}

#[test]
fn stored_columns_are_computed_and_rowids_are_records() {
    let sql = "CREATE TABLE t (a INT, \"b \"\"c\" TEXT AS (a || '!') STORED, d ANY); CREATE INDEX i ON t (\"b \"\"c\");
               CREATE TABLE s (id INTEGER PRIMARY KEY AUTOINCREMENT, a ANY, b ANY AS (a) STORED) STRICT";
    let rows = "WITH n AS (SELECT value FROM generate_series(1, 2500))
                INSERT INTO staging.t (rowid, a, d) SELECT value, value * 2, 'x' FROM n WHERE value <> 7;
                INSERT INTO staging.s (id, a) VALUES (NULL, '1'), (17, 1), (NULL, 1.0)";
    let rows = rows.replace(
        "SELECT value FROM generate_series(1, 2500)",
        "SELECT 1 AS value UNION ALL SELECT value + 1 FROM n LIMIT 2500",
    );
    let rows = rows.replace("WITH n", "WITH RECURSIVE n");
    let progress = Phases::default();
    let waiting = Waiting::new(sql, &rows);
    waiting.finish_watched(&progress, &Cancel::new()).unwrap();
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
    let told =
        staged("UPDATE staging.t SET a = 17 WHERE rowid = 1500", on_conflict(OnConflict::Abort)).fails();
    assert_eq!(told.message, "record 1500: UNIQUE constraint failed: t.a");
    assert_eq!((told.hint.as_str(), told.record), ("a = 17, as in record 17", Some(("t".to_owned(), 1500))));

    let told =
        staged("UPDATE staging.t SET n = 'N5' WHERE rowid = 2000", on_conflict(OnConflict::Abort)).fails();
    assert_eq!(told.message, "table t: rows 5 and 2000 have the same key in unique index u");
    assert_eq!((told.hint.as_str(), told.record), ("\"n\" = 'N5'", Some(("t".to_owned(), 2000))));

    for conflict in [OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace] {
        let told = staged("UPDATE staging.t SET n = NULL WHERE rowid > 1001", on_conflict(conflict)).fails();
        assert_eq!(told.message, "record 1002: NOT NULL constraint failed: t.n");
        assert_eq!(told.record, Some(("t".to_owned(), 1002)));

        let told = staged("UPDATE staging.t SET a = 4500 WHERE rowid = 1000", on_conflict(conflict)).fails();
        assert_eq!(told.message, "record 1000: CHECK constraint failed: b < 9000");
        assert_eq!(told.hint, "it has a = 4500, n = 'n1000'");
    }
}

#[test]
fn a_value_that_is_no_rowid_is_named_by_its_record() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b AS (a) STORED)";
    let told = Waiting::new(sql, "INSERT INTO staging.t VALUES (1), ('x')").fails();
    assert_eq!(told.message, "record 2: datatype mismatch");
    assert_eq!(told.hint, "it has a = 'x'");
    let told = Waiting::new(sql, "INSERT INTO staging.t VALUES (1), (2), (1)").fails();
    assert_eq!(
        (told.message.as_str(), told.hint.as_str()),
        ("record 3: UNIQUE constraint failed: t.a", "a = 1, as in record 1")
    );
}

#[test]
fn a_table_that_rolls_back_by_itself_still_tells_what_is_wrong() {
    let sql = "CREATE TABLE t (a UNIQUE ON CONFLICT ROLLBACK, b AS (a) STORED)";
    let told = Waiting::new(sql, "INSERT INTO staging.t VALUES (1), (2), (1)").fails();
    assert_eq!(told.message, "table t: UNIQUE constraint failed: t.a");
    for (of_table, kept) in [("IGNORE", "1|1\n2|2"), ("REPLACE", "2|2\n1|3")] {
        let sql = sql.replace("ROLLBACK", of_table);
        let connection = Waiting::new(&sql, "INSERT INTO staging.t VALUES (1), (2), (1)").finished();
        assert_eq!(text(&connection, "SELECT a, rowid FROM t ORDER BY rowid"), kept);
    }
    let sql = sql.replace("ROLLBACK", "FAIL");
    let told = Waiting::new(&sql, "INSERT INTO staging.t VALUES (1), (2), (1)").fails();
    assert_eq!(told.message, "record 3: UNIQUE constraint failed: t.a");
}

#[test]
fn rows_that_no_number_tells_apart_are_refused() {
    let sql = "CREATE TABLE t (rowid, _rowid_, oid, b AS (oid) STORED)";
    let schema = Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap();
    let plan = Plan::new(&schema, None, &WriteOptions::default()).unwrap();
    let error = Work { schema: &schema, plan: &plan }.staging_schema().unwrap_err();
    assert!(error.message().contains("rowid, _rowid_ and oid") && error.hint_text().is_some());
    // A generated column takes no place there.
    let sql = "CREATE TABLE t (rowid, _rowid_, oid AS (rowid) STORED)";
    let connection = Waiting::new(sql, "INSERT INTO staging.t VALUES (5, 6)").finished();
    assert_eq!(text(&connection, "SELECT * FROM t"), "5|6|5");
}

#[test]
fn columns_keep_their_affinity_while_they_wait() {
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
            let plan = Plan::new(&schema, None, &WriteOptions::default()).unwrap();
            let staged = Work { schema: &schema, plan: &plan }.staging_schema().unwrap().unwrap();
            let (column, waiting) = (&schema.tables[0].columns[0], &staged.tables[0].columns[0]);
            assert_eq!(staged.tables[0].columns.len(), 1);
            assert_eq!(
                (column.affinity, &column.declared_type),
                (waiting.affinity, &waiting.declared_type),
                "{sql}"
            );
            assert!(!waiting.not_null && waiting.default.is_none() && !staged.tables[0].checks);
        }
    }
}

#[test]
fn full_text_tables_triggers_and_views_come_after_the_rows() {
    let sql = "CREATE TABLE t (a TEXT CHECK (a <> ''));
               CREATE VIRTUAL TABLE f USING fts5(a, content=t);
               CREATE VIEW v AS SELECT * FROM f;
               CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO f (rowid, a) VALUES (new.rowid, new.a); END;
               CREATE TRIGGER w INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.a); END;
               CREATE VIRTUAL TABLE place USING rtree(id, x0, x1)";
    let waiting = Waiting::new(sql, "INSERT INTO t VALUES ('one'), ('two')");
    let connection = waiting.finished();
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch(sql).unwrap();
    let objects = "SELECT type, name, tbl_name, sql FROM sqlite_schema";
    assert_eq!(text(&connection, objects), text(&twin, objects));
    assert_eq!(text(&connection, "SELECT rowid FROM f WHERE f MATCH 'one'"), "");
    connection.execute_batch("INSERT INTO v VALUES ('three'); INSERT INTO place VALUES (1, 2, 3)").unwrap();
    assert_eq!(text(&connection, "SELECT rowid FROM f WHERE f MATCH 'three'"), "3");
    connection.execute_batch("INSERT INTO f (f) VALUES ('rebuild')").unwrap();
    assert_eq!(text(&connection, "SELECT rowid FROM f WHERE f MATCH 'one'"), "1");
}

#[test]
fn a_module_that_is_not_built_in_is_named() {
    let mut waiting = Waiting::new("CREATE VIRTUAL TABLE f USING fts5(a)", "");
    waiting.schema.others[0].sql = Some("CREATE VIRTUAL TABLE f USING none(a)".to_owned());
    let error = waiting.finish().unwrap_err();
    assert_eq!(error.message(), "SQLite cannot make table f");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no such module: none");
}

#[test]
fn orphans_are_named_with_their_values_and_their_parents() {
    let sql = "CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT, b TEXT, UNIQUE (a, b));
               CREATE TABLE c (p INT REFERENCES p, x TEXT, y TEXT, FOREIGN KEY (x, y) REFERENCES p (a, b))";
    let parents = "INSERT INTO p VALUES (1, 'a', 'b');";
    Waiting::new(sql, &format!("{parents} INSERT INTO c VALUES (1, 'a', 'b'), (NULL, 'x', NULL)")).finished();
    let told = Waiting::new(
        sql,
        &format!("{parents} INSERT INTO c VALUES (1, 'a', 'b'), (2, 'a', 'b'), (1, 'a', 'c')"),
    )
    .fails();
    assert_eq!(told.message, "table c, row 2: p has no row for p = 2");
    assert_eq!(told.hint, "2 such rows; next: row 3: p has no row for x = 'a', y = 'c'");
    let without = WriteOptions { foreign_keys: false, ..WriteOptions::default() };
    Waiting::with(sql, "INSERT INTO c VALUES (2, 'a', 'b')", without).finished();
}

#[test]
fn a_parent_that_is_not_declared_is_told() {
    let sql = "CREATE TABLE c (a REFERENCES nobody)";
    Waiting::new(sql, "").finished();
    let told = Waiting::new(sql, "INSERT INTO c VALUES (1), (2)").fails();
    assert_eq!(told.message, "table c references nobody, which the schema does not declare");
    assert!(told.hint.contains("2 rows"), "{}", told.hint);
    let sql = "CREATE TABLE p (a); CREATE TABLE c (a REFERENCES p (a))";
    Waiting::new(sql, "").finished();
    let told = Waiting::new(sql, "INSERT INTO c VALUES (1)").fails();
    assert!(told.message.contains("foreign key mismatch") && told.hint.contains("UNIQUE"), "{told:?}");
}

#[test]
fn statistics_are_those_of_sqlite() {
    let sql = "CREATE TABLE t (a, b); CREATE INDEX i ON t (a); CREATE TABLE e (a)";
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) INSERT INTO t SELECT i % 7, i FROM n;";
    let waiting = Waiting::with(sql, rows, WriteOptions { analyze: true, ..WriteOptions::default() });
    let connection = waiting.finished();
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch(&format!("{sql}; {rows}; ANALYZE")).unwrap();
    for table in ["sqlite_stat1", "sqlite_stat4"] {
        let all = format!("SELECT * FROM {table}");
        assert_eq!(text(&connection, &all), text(&twin, &all));
    }
}

#[test]
fn the_bytes_do_not_depend_on_memory_or_threads() {
    let sql = "CREATE TABLE t (a TEXT, b AS (a || a) STORED UNIQUE); CREATE INDEX i ON t (substr(a, 3))";
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
                INSERT INTO staging.t SELECT printf('%032d%x', i % 19000, (i % 19000) * 7919 % 65536) FROM n";
    let mut files = Vec::new();
    for (threads, memory_bytes) in [(1, 24 << 20), (2, 512 << 20)] {
        let options = WriteOptions {
            threads: Some(threads),
            memory_bytes,
            analyze: true,
            ..on_conflict(OnConflict::Replace)
        };
        let mut waiting = Waiting::with(sql, rows, options);
        // So little that pages must leave the cache.
        waiting.plan.memory_bytes = waiting.plan.memory_bytes.min(1 << 20).max(memory_bytes / 512);
        waiting.finished();
        files.push(std::fs::read(waiting.path()).unwrap());
    }
    assert!(files[0] == files[1]);
}

/// Stops the run when a phase has begun, and a thousand rows later.
struct StopIn<'a> {
    phase: &'a str,
    cancel: Cancel,
}

impl Progress for StopIn<'_> {
    fn phase(&self, name: &str, _: Option<Amount>) {
        if name == self.phase {
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_run_that_is_stopped_in_any_phase_leaves_nothing_beside() {
    let sql = "CREATE TABLE s (a INT, b AS (a) STORED); CREATE TABLE t (a INT CHECK (a > 0)); CREATE INDEX i ON t (a + 1)";
    let number = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)";
    let rows =
        format!("{number} INSERT INTO t SELECT i FROM n; {number} INSERT INTO staging.s SELECT i FROM n");
    for phase in ["rows", "indexes", "constraints", "analyze"] {
        let waiting = Waiting::with(sql, &rows, WriteOptions { analyze: true, ..WriteOptions::default() });
        let cancel = Cancel::new();
        let error = waiting.finish_watched(&StopIn { phase, cancel: cancel.clone() }, &cancel).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{phase}: {error}");
    }
}

#[test]
fn a_name_that_looks_like_a_uri_is_a_name() {
    let waiting = Waiting::new("CREATE TABLE t (a CHECK (a > 0))", "INSERT INTO t VALUES (0)");
    let folder = waiting.home.path().join("file:x?mode=memory");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("file:y?immutable=1#");
    std::fs::rename(waiting.path(), &path).unwrap();
    let error = waiting.work().finish(&path, None, &Silent, &Cancel::new()).unwrap_err();
    assert!(error.message().contains("CHECK (a > 0) fails"), "{error}");
}

#[test]
fn the_terms_of_an_index_are_found_in_its_statement() {
    let table = "CREATE TABLE t (a, \"b,(\" TEXT, c);";
    for (sql, key, filter) in [
        ("CREATE INDEX i ON t (a)", &["\"a\""][..], None),
        ("CREATE INDEX \"ON\" ON t (a ASC, \"b,(\" DESC)", &["\"a\"", "\"b,(\""], None),
        (
            "CREATE UNIQUE INDEX IF NOT EXISTS i ON [t] /* ( */ (max(a, ',') DESC, (c + 1) COLLATE nocase ASC) WHERE a > 1 -- )",
            &["max(a, ',')", "(c + 1) COLLATE nocase"],
            Some("a > 1 -- )"),
        ),
        ("CREATE INDEX i ON t(a || 'WHERE', c)WHERE(c)", &["a || 'WHERE'", "\"c\""], Some("(c)")),
    ] {
        let schema = Schema::parse(format!("{table} {sql}"), Path::new("x.sql")).unwrap();
        let terms = indexes::terms(&schema.tables[0].indexes[0], &schema.tables[0]).unwrap();
        assert_eq!(terms.key, key, "{sql}");
        assert_eq!(terms.filter.as_deref().map(str::trim), filter, "{sql}");
    }
}

/// Expressions for a CHECK, with whatever looks like its end.
const EXPRESSIONS: [&str; 16] = [
    "a > 0",
    "b <> ')'",
    "(a IS NULL OR (a < 7)) AND typeof(b) <> 'blob'",
    "a BETWEEN -2 AND 8 -- CHECK (0)\n",
    "a /* ) CHECK (0) */ <> 5",
    "\"check\" IS NOT 'CHECK (0)'",
    "[c (d)] <> 'it''s ('",
    "`e)` IS NULL OR length(`e)`) > 1",
    "\"c\"\")\" NOT IN (1, 2, (3))",
    "CASE WHEN a THEN b = 'x' ELSE 1 END",
    "coalesce(a, 1)",
    "b NOT LIKE '%)%' ESCAPE '('",
    "x'29' <> b",
    "rowid <> 3",
    "t.a <> 4",
    "NULL OR a <> 6 /* unended ( */",
];

#[derive(Clone, Debug)]
struct Ddl {
    sql: String,
    rows: Vec<[usize; 6]>,
}

fn ddl() -> impl Strategy<Value = Ddl> {
    let constraint = (0..EXPRESSIONS.len(), 0..6usize).prop_map(|(expression, around)| {
        let expression = EXPRESSIONS[expression];
        match around {
            0 => format!("CHECK({expression})"),
            1 => format!("CONSTRAINT \"CHECK (0)\" check /* CHECK ( */ ({expression})"),
            2 => format!("Check -- (\n (({expression}))"),
            3 => format!("CONSTRAINT 'x)' CHECK ( {expression} ) ON CONFLICT IGNORE"),
            _ => format!("CHECK (\n{expression}\n)"),
        }
    });
    let columns = [
        "a INT",
        "b TEXT DEFAULT ('CHECK (0)')",
        "\"check\"",
        "[c (d)]",
        "`e)` -- CHECK (0)\n",
        "\"c\"\")\" NUM",
    ];
    let of_columns = prop::collection::vec((0..6usize, constraint.clone()), 0..4);
    let of_table = prop::collection::vec(constraint, 0..4);
    let rows =
        prop::collection::vec([0..8usize, 0..8usize, 0..8usize, 0..8usize, 0..8usize, 0..8usize], 0..12);
    (of_columns, of_table, rows).prop_map(move |(of_columns, of_table, rows)| {
        let mut parts: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        for (column, constraint) in of_columns {
            // Only constraints of the table take this.
            parts[column] += &format!(" {}", constraint.trim_end_matches(" ON CONFLICT IGNORE"));
        }
        parts.extend(of_table);
        Ddl { sql: format!("CREATE TABLE t ({})", parts.join(",\n")), rows }
    })
}

const LITERALS: [&str; 8] = ["NULL", "5", "-3", "'x'", "')'", "x'29'", "6.5", "'CHECK (0)'"];

fn cases(by_default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<u64>().ok());
    let cases = (u64::from(by_default) * asked.unwrap_or(256) / 256).max(1);
    Config { cases: cases as u32, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rows_fail_exactly_when_sqlite_refuses_them(ddl in ddl()) {
        let (ours, twin) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        ours.execute_batch(&format!("{}; PRAGMA ignore_check_constraints = ON", ddl.sql)).unwrap();
        twin.execute_batch(&ddl.sql).unwrap();
        let table = Schema::parse(ddl.sql.clone(), Path::new("x.sql")).unwrap().tables.remove(0);
        let mut refused = Vec::new();
        for (row, values) in (1..).zip(&ddl.rows) {
            let values: Vec<&str> = values.iter().map(|&value| LITERALS[value]).collect();
            let sql = format!(
                "INSERT INTO t (rowid, a, b, \"check\", [c (d)], `e)`, \"c\"\")\") VALUES ({row}, {})",
                values.join(", ")
            );
            ours.execute_batch(&sql).unwrap();
            if let Err(error) = twin.execute_batch(&sql) {
                prop_assert!(is_of_values(&error), "{}", error);
                refused.push((row, said(error)));
            }
        }
        let told = checks::check(&ours, &table).err();
        match (refused.first(), &told) {
            (None, None) => {}
            (Some((row, _)), Some(error)) => {
                prop_assert!(error.message().starts_with(&format!("table t, row {row}: CHECK (")), "{}", error);
                let count = refused.len();
                let hint = error.hint_text().unwrap();
                prop_assert!(hint.starts_with(&format!("{count} such rows")) || count == 1, "{}", hint);
            }
            _ => prop_assert!(false, "{:?}, {:?}", refused, told),
        }
        // SQLite names a constraint without a name by its expression, or by the quoted name that this begins with.
        for (_, said) in refused {
            let name = said.trim_start_matches("CHECK constraint failed: ").to_owned();
            let is_named = |sql: &&str| {
                let first = token::tokens(sql).into_iter().find(|token| !token.is_comment());
                sql.trim() == name || first.and_then(|token| token.name(sql)).as_ref() == Some(&name)
            };
            let found = ["CHECK (0)", "x)"].contains(&name.as_str())
                || checks::expressions(&table.sql).iter().any(is_named);
            prop_assert!(found, "{}: {:?}", name, checks::expressions(&table.sql));
        }
    }
}
