//! Mistakes in schema files: each is reported with file, line and column.

use std::fs;

use crate::support::{folder, names, run};
use crate::transcript::matches;

#[test]
fn errors_about_mistakes_in_a_schema_name_file_line_and_column() {
    const DECLARES_ONLY: &str = "\n\nhint: keep only the CREATE statements in the file";
    for (sql, stderr) in [
        (
            "CREATE TABLE t (\n  a INTEGER, -- gen: digts(6)\n  b TEXT);",
            "error: s.sql:2:22: no function is called `digts`\n\nhint: did you mean digits(n)? There are: [..]",
        ),
        ("CREATE TABLE t (\n  a INTEGER,\n  b,, c);", "error: s.sql:3:5: near \",\": syntax error"),
        ("CREATE TABLE t (a);\nCREATE TABLE t (b);", "error: s.sql:2:14: table t already exists"),
        ("CREATE TABLE t (a", "error: s.sql:1:1: incomplete input"),
        ("", "error: s.sql: the schema declares no table"),
        (
            "CREATE TABLE t (a); -- one;\nCREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT ';'; SELECT 2; END;\n  DROP TABLE u;",
            "error: s.sql:3:3: no such table: u",
        ),
        (
            "CREATE TABLE t (a);\nCREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1;",
            "error: s.sql:2:1: incomplete input",
        ),
        (
            "CREATE TABLE t (a);\nINSERT INTO t VALUES (1);",
            &format!(
                "error: s.sql:2:1: a schema file may only have declarations, but this one changes rows of t{DECLARES_ONLY}"
            ),
        ),
        (
            "CREATE TABLE t (a); ATTACH 'y.db' AS y;",
            &format!(
                "error: s.sql:1:21: a schema file may only have declarations, but this one attaches y.db{DECLARES_ONLY}"
            ),
        ),
        (
            "CREATE TABLE t (a); VACUUM INTO 'y.db';",
            &format!(
                "error: s.sql:1:21: a schema file may only have declarations, but this one attaches y.db{DECLARES_ONLY}"
            ),
        ),
        (
            "PRAGMA journal_mode = wal; CREATE TABLE t (a)",
            &format!(
                "error: s.sql:1:1: a schema file may only have declarations, but this one sets PRAGMA journal_mode{DECLARES_ONLY}"
            ),
        ),
        (
            "CREATE TEMP TABLE t (a)",
            &format!(
                "error: s.sql:1:1: a schema file may only have declarations, but this one makes something temporary{DECLARES_ONLY}"
            ),
        ),
    ] {
        schema_refused(sql, stderr);
    }
}

#[track_caller]
fn schema_refused(sql: &str, stderr: &str) {
    let folder = folder();
    fs::write(folder.path().join("s.sql"), sql).unwrap();
    let ran = run(folder.path(), ["generate", "x.db", "s.sql", "--rows", "3"]);
    assert_eq!((ran.code(), &*ran.stdout), (Some(1), ""), "{sql}: {ran:?}");
    assert!(matches(&ran.stderr, stderr), "{sql}\nsaid:\n{}\nexpected:\n{stderr}", ran.stderr);
    assert_eq!(names(folder.path()), ["s.sql"], "{sql}");
}
