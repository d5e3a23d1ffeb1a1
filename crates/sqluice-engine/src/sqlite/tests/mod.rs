//! Tests of SQLite's work on files, with files that SQLite made: rows that violate constraints are inserted with the checks off.

mod constraints;
mod indexes;
mod rows;

use std::path::PathBuf;
use std::sync::Mutex;

use sqluice_core::error::ErrorKind;
use sqluice_core::progress::{Amount, Cancel, Context, Progress};
use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::{Column, Generated};
use sqluice_testkit::cases;

use super::*;
use crate::options::WriteOptions;
use crate::output::Target;

/// A folder with a database whose pages are written, and in which only the work of SQLite is still to be done.
struct Waiting {
    home: tempfile::TempDir,
    schema: Schema,
    plan: Plan,
}

/// Returns a plan that leaves all expressions to SQLite.
fn planned(schema: &Schema, target: Option<Target>, options: &WriteOptions) -> Plan {
    let mut plan = Plan::new(schema, target, options).unwrap();
    schema.tables.iter().zip(&mut plan.tables).for_each(|(table, plan)| leave_expressions(table, plan));
    plan
}

/// Changes the plan of a table to that of a table whose expressions only SQLite can evaluate.
fn leave_expressions(table: &Table, plan: &mut TablePlan) {
    if plan.expressions.take().is_none() {
        return;
    }
    let has_check = !token::checks(&table.sql).is_empty();
    let generated = |column: &Column| {
        column.generated == Some(Generated::Stored)
            || column.generated.is_some() && (column.not_null || table.strict)
    };
    if has_check || table.columns.iter().any(generated) {
        plan.write_path = WritePath::Sqlite;
    }
    let is_generated = |column: usize| table.columns[column].generated.is_some();
    for (index, of_index) in table.indexes.iter().zip(&mut plan.indexes) {
        let computed = index.columns.iter().any(|column| match column.value {
            Indexed::Column(column) => is_generated(column),
            Indexed::Rowid => false,
            Indexed::Expression => true,
        });
        if computed || index.partial || plan.write_path == WritePath::Sqlite {
            of_index.write_path = WritePath::Sqlite;
        }
    }
}

impl Waiting {
    fn new(sql: &str, rows: &str) -> Waiting {
        Waiting::with(sql, rows, WriteOptions::default())
    }

    /// Creates the file. `rows` is SQL that fills the tables of the page write paths, and `staging.t` for the tables that SQLite fills.
    fn with(sql: &str, rows: &str, options: WriteOptions) -> Waiting {
        let home = tempfile::tempdir().unwrap();
        let schema = Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap();
        let target = Target::resolve(&home.path().join("x.db"), &options);
        let plan = planned(&schema, Some(target), &options);
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
                if let (WritePath::Pages | WritePath::Sorted, Some(sql)) = (plan.write_path, &index.sql) {
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
        self.home.path().join(if cfg!(windows) { "rows #1%41.db" } else { "rows #1?%41.db" })
    }

    fn finish(&self) -> Result<()> {
        self.finish_watched(&Context::default()).map(drop)
    }

    /// Does the work, and checks that no sidecar files are left. Returns the numbers of rows of the tables that SQLite fills.
    fn finish_watched(&self, context: &Context<'_>) -> Result<Vec<u64>> {
        let staging = Some(self.staging()).filter(|staging| staging.exists());
        let before = self.names();
        let done = self.work().finish(&self.path(), staging.as_deref(), context);
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
        self.counted().0
    }

    fn counted(&self) -> (Connection, Vec<u64>) {
        let stored = self.finish_watched(&Context::default());
        let stored = stored.unwrap_or_else(|error| panic!("{error}: {:?}", error.hint_text()));
        let connection = Connection::open(self.path()).unwrap();
        assert_eq!(text(&connection, "PRAGMA integrity_check"), "ok");
        (connection, stored)
    }

    fn fails(&self) -> Failure {
        let error = self.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
        Failure {
            message: error.without_hint(),
            hint: error.remedy().map(ToString::to_string).unwrap_or_default().to_owned(),
            record: error.record().map(|(table, record)| (table.to_owned(), record)),
        }
    }
}

#[derive(Debug)]
struct Failure {
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

/// Replaces the CREATE TABLE in the schema of the waiting file by `sql`, as if its pages had been written for `sql`.
fn declare(waiting: &Waiting, sql: &str) {
    let connection = Connection::open(waiting.path()).unwrap();
    connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
    connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = 't'", [sql]).unwrap();
}

#[test]
fn a_new_database_is_opened_with_sqlite_only_if_its_schema_needs_work_of_sqlite() {
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
        !Waiting::with(sql, "", WriteOptions { foreign_keys: Some(false), ..WriteOptions::default() })
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
fn full_text_tables_triggers_and_views_come_after_the_rows() {
    let sql = "CREATE TABLE t (a TEXT);
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
fn the_error_about_a_missing_virtual_table_module_names_the_module() {
    let mut waiting = Waiting::new("CREATE VIRTUAL TABLE f USING fts5(a)", "");
    waiting.schema.others[0].sql = Some("CREATE VIRTUAL TABLE f USING none(a)".to_owned());
    let error = waiting.finish().unwrap_err();
    assert_eq!(error.message(), "SQLite cannot make table f");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no such module: none");
}

#[test]
fn analyze_writes_the_same_statistics_as_sqlite_alone() {
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
fn the_bytes_of_a_file_do_not_depend_on_memory_or_threads() {
    let sql = "CREATE TABLE t (a TEXT, b AS (a || a) STORED UNIQUE); CREATE INDEX i ON t (substr(a, 3))";
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
                INSERT INTO staging.t SELECT printf('%032d%x', i % 19000, (i % 19000) * 7919 % 65536) FROM n";
    let mut files = Vec::new();
    for (threads, memory_bytes) in [(1, 32 << 20), (2, 512 << 20)] {
        let options = WriteOptions {
            threads: Some(threads),
            memory_bytes,
            analyze: true,
            ..on_conflict(OnConflict::Replace)
        };
        let mut waiting = Waiting::with(sql, rows, options);
        // The memory is so small that pages must leave the cache.
        waiting.plan.memory_bytes = waiting.plan.memory_bytes.min(1 << 20).max(memory_bytes / 512);
        waiting.finished();
        files.push(std::fs::read(waiting.path()).unwrap());
    }
    assert!(files[0] == files[1]);
}

/// A progress that stops the run when a phase begins.
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
fn a_run_that_is_stopped_in_any_phase_leaves_no_sidecar_files() {
    let sql = "CREATE TABLE s (a INT, b AS (a) STORED); CREATE TABLE t (a INT REFERENCES s (a)); CREATE UNIQUE INDEX u ON s (a);
               CREATE INDEX i ON t (a + 1)";
    let number = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)";
    let rows =
        format!("{number} INSERT INTO t SELECT i FROM n; {number} INSERT INTO staging.s SELECT i FROM n");
    for phase in ["rows", "indexes", "constraints", "analyze"] {
        let waiting = Waiting::with(sql, &rows, WriteOptions { analyze: true, ..WriteOptions::default() });
        let cancel = Cancel::new();
        let stop = StopIn { phase, cancel: cancel.clone() };
        let context = Context::default().progress(&stop).cancel(&cancel);
        let error = waiting.finish_watched(&context).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{phase}: {error}");
    }
}

#[test]
fn a_file_name_that_looks_like_a_uri_is_not_parsed_as_one() {
    let sql = "CREATE TABLE p (a UNIQUE); CREATE TABLE t (a REFERENCES p (a))";
    let waiting = Waiting::new(sql, "INSERT INTO t VALUES (0)");
    // On Windows, a colon in a name means a drive or a stream, and names have no question marks.
    let [folder, name] = match cfg!(windows) {
        true => ["x#mode=memory", "%41#immutable=1"],
        false => ["file:x?mode=memory", "file:y?immutable=1#"],
    };
    let folder = waiting.home.path().join(folder);
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join(name);
    std::fs::rename(waiting.path(), &path).unwrap();
    let error = waiting.work().finish(&path, None, &Context::default()).unwrap_err();
    assert!(error.message().contains("p has no row for a = 0"), "{error}");
}
