//! The plan of a masked copy reports columns and schema text that may have personal data and have no mask.

use super::{Lab, masking};
use sqluice::progress::Context;

const SOURCE: &str = "CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT, ref TEXT, extra TEXT, photo BLOB, pin TEXT,
      state TEXT DEFAULT 'Geheimrat' CHECK (state <> '0151-123456'));
    CREATE TABLE log (id INTEGER PRIMARY KEY, line TEXT);
    CREATE INDEX vip ON customers (ref) WHERE state = 'Kaiserin';
    CREATE TRIGGER kept AFTER UPDATE ON customers BEGIN INSERT INTO log (line) VALUES (old.email); END;
    INSERT INTO customers (email, ref, extra, photo, pin) VALUES ('ann@old.com', 'bob@old.com', '{\"a\": 1}', x'0102', '123');
    INSERT INTO log (line) VALUES ('nothing');";

#[test]
fn the_plan_of_a_masked_copy_warns_of_personal_columns_json_blobs_triggers_and_literals() {
    let lab = Lab::new(SOURCE);
    let copy = lab.copy(masking("CREATE TABLE customers (pin /* gen: shape() */)"));
    let prepared = copy.prepare(&Context::default()).unwrap();
    let plan = prepared.plan();
    let mask = plan.mask.as_ref().unwrap();
    let warned: Vec<(&str, &str)> =
        mask.warnings.iter().map(|warning| (warning.column.as_str(), warning.by.as_str())).collect();
    assert!(warned.contains(&("email", "name")) && warned.contains(&("ref", "values")), "{warned:?}");
    let text = plan.to_string();
    for said in [
        "mask customers.pin: shape(); different values stay different",
        "not masked: customers.extra: it holds JSON",
        "not masked: customers.photo: it holds blobs",
        "weak mask: customers.pin: half of the values have at most 1000 possible values of the same form",
        "not masked: trigger kept: it writes to log",
        "the text of table customers is copied, with literals: DEFAULT at 2:26, CHECK at 2:54",
        "the text of index vip is copied, with literals: WHERE at 1:51",
        "table customers: made of masked rows",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    for value in ["ann@", "bob@", "Geheimrat", "0151", "Kaiserin"] {
        assert!(!text.contains(value), "{text}");
    }
    assert!(!lab.path("copy.db").exists());
}

#[test]
fn columns_named_like_a_masked_key_of_another_table_are_reported() {
    let lab = Lab::new(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, customer_no_id TEXT UNIQUE);
         CREATE TABLE orders (customer_id INT, customer INT REFERENCES customers, customer_no_id TEXT, id INT);
         CREATE TABLE bad (text TEXT); INSERT INTO bad VALUES (CAST(x'ff' AS TEXT));",
    );
    let report =
        lab.mask("CREATE TABLE customers (id /* gen: permute() */, customer_no_id /* gen: shape() */)");
    let about: Vec<String> = report.mask.unwrap().remarks.into_iter().map(|remark| remark.about).collect();
    assert_eq!(about, ["orders.customer_id", "orders.customer_no_id"]);
}

#[test]
fn a_strict_masked_copy_refuses_personal_columns_unless_masked_or_marked_to_keep() {
    let lab = Lab::new(SOURCE);
    let masks = "CREATE TABLE customers (pin /* gen: shape() */, email /* gen: email() */)";
    let strict = |sql: &str| lab.copy(masking(sql).strict(true)).run();
    let error = strict(masks).unwrap_err();
    assert_eq!(
        error.message(),
        "customers.ref has no mask and looks like an e-mail address, by 1 of its values"
    );
    assert!(error.hint_text().unwrap().contains("keep()"));
    assert!(!lab.path("copy.db").exists());
    let known = masks.replace(")\0", "").replace("email /*", "ref /* gen: keep() */, email /*");
    strict(&known).unwrap();
    lab.assert_sound();
}
