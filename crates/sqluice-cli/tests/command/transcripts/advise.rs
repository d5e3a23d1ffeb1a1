//! Transcripts of `advise`: recommendations, and errors of the schema.

use crate::transcript::{fails, sqluice};

#[test]
fn advise_prints_its_recommendations() {
    let done = sqluice("advise schema.sql --rows 50 --no-progress")
        .file("schema.sql", "CREATE TABLE t (a INTEGER, b TEXT);");
    let done = done.succeeds();
    assert!(
        done.ran.stdout.contains("A new database?") && done.ran.stdout.contains("gives up:"),
        "{:?}",
        done.ran
    );
}

#[test]
fn advise_reports_an_invalid_schema_with_its_place() {
    fails(
        &[("schema.sql", "CREATE TABLE t (\n  a INTEGER -- gen: nothing(1)\n);")],
        "advise schema.sql --rows 50",
        1,
        "error: schema.sql:2:21: no function is called `nothing`\n\nhint: choose one of: [..]",
    );
}
