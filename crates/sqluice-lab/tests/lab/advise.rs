//! Tests of `advise`, which measures several methods of writing rows: each method writes the expected rows into all kinds of tables, and no
//! file is left.

use std::path::Path;

use sqluice::progress::{Cancel, Context};
use sqluice::schema::Schema;
use sqluice_lab::advise::{Advise, Advised};
use sqluice_lab::record::Outcome;

/// A table of each kind, a trigger and a view.
const EVERYTHING: &str = r#"
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, mail TEXT NOT NULL UNIQUE, since DATE);
CREATE TABLE "order by" (
  rowid TEXT, customer INTEGER NOT NULL REFERENCES customer(id), amount REAL, "no""te" TEXT,
  twice REAL GENERATED ALWAYS AS (amount * 2) VIRTUAL, kept REAL GENERATED ALWAYS AS (amount * 3) STORED);
CREATE INDEX by_customer ON "order by" (customer, amount DESC);
CREATE INDEX some ON "order by" (amount) WHERE amount > 0;
CREATE TABLE kv (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID;
CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, age INTEGER CHECK (age BETWEEN 1 AND 100) -- gen: int(1, 100)
) STRICT;
CREATE TRIGGER no AFTER INSERT ON customer BEGIN DELETE FROM customer; END;
CREATE VIEW v AS SELECT * FROM customer;
"#;

fn advise(sql: &str, dir: &Path) -> Advise {
    let schema = Schema::parse(sql.to_owned(), Path::new("schema.sql")).unwrap();
    Advise::new(schema, dir).rows(300).runs(2)
}

fn advised(sql: &str) -> Advised {
    let dir = tempfile::tempdir().unwrap();
    let advised = advise(sql, dir.path()).run().unwrap();
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "something was left");
    advised
}

#[test]
fn every_way_writes_the_rows_of_every_kind_of_table() {
    let advised = advised(EVERYTHING);
    assert!(!advised.has_failed(), "{advised}");
    assert_eq!(advised.tables, ["customer", "order by", "kv", "counted"]);
    let ids: Vec<&str> = advised.experiments.iter().map(|experiment| experiment.id.as_str()).collect();
    assert_eq!(ids, ["method", "index", "page-size", "transaction"]);
    for variant in advised.experiments.iter().flat_map(|experiment| &experiment.variants) {
        let Outcome::Measured { samples, .. } = &variant.outcome else { panic!("{variant:?}") };
        assert!(samples.len() == 2 && samples.iter().all(|sample| *sample > 0.0), "{variant:?}");
    }
    assert_eq!(advised.recommendations.len(), 6);
}

#[test]
fn without_indexes_there_is_no_advice_on_indexes() {
    let advised = advised("CREATE TABLE t (a INTEGER, b TEXT);");
    assert!(advised.experiments.iter().all(|experiment| experiment.id != "index"));
    assert!(!advised.to_string().contains("Indexes before"));
}

#[test]
fn unsafe_pragmas_are_listed_with_their_risks() {
    let text = advised("CREATE TABLE t (a INTEGER, b TEXT);").to_string();
    assert!(text.contains("gives up: journal_mode=OFF: there is no ROLLBACK"), "{text}");
    assert!(text.contains("gives up: synchronous=OFF: a crash of the program alone loses nothing"), "{text}");
}

#[test]
fn a_wrong_comment_is_reported_with_its_line_and_no_file_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = advise("CREATE TABLE t (\n  a INTEGER -- gen: nothing(1)\n);", dir.path());
    let error = wrong.run().unwrap_err();
    assert_eq!(error.place().and_then(|place| place.line), Some(2), "{error}");
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_cancelled_measurement_returns_an_error_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let error = advise(EVERYTHING, dir.path()).run_with(&Context::default().cancel(&cancel)).unwrap_err();
    assert_eq!(error.kind(), sqluice::error::ErrorKind::Interrupted);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}
