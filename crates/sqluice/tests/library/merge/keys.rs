//! Merges of sources with equal keys: conflicts, `--renumber`, and references that follow the new numbers.

use sqluice::options::{OnConflict, WriteOptions};

use super::Made;

const CUSTOMERS: &str =
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, friend INT REFERENCES customer (id));
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customer, text TEXT);
    CREATE INDEX by_customer ON orders (customer, text);
    CREATE TABLE item (orders INT REFERENCES orders, line INT, PRIMARY KEY (orders, line)) WITHOUT ROWID;";

fn shop(name: &str) -> String {
    format!(
        "{CUSTOMERS} INSERT INTO customer VALUES (1, '{name} 1', NULL), (2, '{name} 2', 1);
         INSERT INTO orders VALUES (1, 2, 'of {name} 2'), (2, NULL, 'of none'), (5, 1, 'of {name} 1');
         INSERT INTO item VALUES (1, 1), (1, 2), (5, 1);"
    )
}

#[test]
fn the_error_about_a_repeated_key_names_the_key_and_both_databases() {
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INT); CREATE UNIQUE INDEX i ON t (a, b);";
    let made = Made::by(&[
        &format!("{table} INSERT INTO t VALUES (1, 'x', 1), (3, 'y', 2);"),
        &format!("{table} INSERT INTO t VALUES (4, 'z', 1), (5, 'y', 2);"),
    ]);
    let message = made.refused(&made.merge());
    assert!(message.contains("t.a, t.b = ('y', 2)"), "{message}");
    assert!(message.contains("1.db") && message.contains("2.db"), "{message}");
    let ignore = made.merge().write(WriteOptions::new().on_conflict(OnConflict::Ignore));
    let report = made.run(&ignore).unwrap();
    assert_eq!((report.left_out_rows, report.tables[0].method), (1, "concatenated"));
    assert_eq!(made.query("SELECT id FROM t"), ["1", "3", "4"]);
}

#[test]
fn a_row_left_out_of_a_merge_because_of_one_key_is_in_no_index() {
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, b UNIQUE, c); CREATE INDEX i ON t (c);";
    let made = Made::by(&[
        &format!("{table} INSERT INTO t VALUES (1, 1, 1, 'one'), (2, 2, 2, 'two');"),
        &format!("{table} INSERT INTO t VALUES (3, 1, 3, 'three'), (4, 4, 5, 'four'), (2, 7, 7, 'five');"),
    ]);
    let with = |on_conflict| made.merge().write(WriteOptions::new().on_conflict(on_conflict).overwrite(true));
    made.run(&with(OnConflict::Ignore)).unwrap();
    assert_eq!(made.query("SELECT c FROM t ORDER BY id"), ["one", "two", "four"]);
    assert_eq!(made.query("SELECT count(*) FROM t INDEXED BY i WHERE c > ''"), ["3"]);
    made.run(&with(OnConflict::Replace)).unwrap();
    assert_eq!(made.query("SELECT c FROM t ORDER BY id"), ["five", "three", "four"]);
}

#[test]
fn references_to_renumbered_keys_are_rewritten_on_request_and_refused_otherwise() {
    let made = Made::by(&[&shop("a"), &shop("b"), &shop("c")]);
    let message = made.refused(&made.merge());
    assert!(message.contains("customer.id = 1"), "{message}");
    let renumber = made.merge().renumber(["customer", "orders"]);
    let message = made.refused(&renumber);
    assert!(message.contains("customer.friend refers to table customer"), "{message}");
    let report = made.run(&renumber.rewrite_references(true)).unwrap();
    assert_eq!(
        report.tables.iter().map(|table| table.method).collect::<Vec<_>>(),
        ["renumbered", "renumbered", "interleaved"]
    );
    assert_eq!(made.query("PRAGMA foreign_key_check"), Vec::<String>::new());
    assert_eq!(
        made.query("SELECT c.name, f.name FROM customer c JOIN customer f ON f.id = c.friend"),
        ["a 2 a 1", "b 2 b 1", "c 2 c 1"]
    );
    assert_eq!(
        made.query("SELECT text, name FROM orders o INDEXED BY by_customer JOIN customer c ON c.id = customer ORDER BY o.id"),
        ["of a 2 a 2", "of a 1 a 1", "of b 2 b 2", "of b 1 b 1", "of c 2 c 2", "of c 1 c 1"]
    );
    assert_eq!(
        made.query("SELECT orders, line FROM item"),
        ["1 1", "1 2", "5 1", "6 1", "6 2", "10 1", "11 1", "11 2", "15 1"]
    );
}

#[test]
fn a_reference_to_a_renumbered_key_that_is_not_an_integer_is_refused() {
    let made = Made::by(&[
        &shop("a"),
        &format!("{} PRAGMA foreign_keys = OFF; UPDATE orders SET customer = 'Ann' WHERE id = 1;", shop("b")),
    ]);
    let merge = made.merge().renumber(["customer", "orders"]).rewrite_references(true);
    assert!(
        made.refused(&merge).contains("2.db refers to a renumbered row by a value that is not an integer")
    );
}

#[test]
fn a_merge_does_not_change_rowids_that_a_view_trigger_or_index_names() {
    let rows = "INSERT INTO t VALUES (1), (2);";
    for (object, named) in [
        ("CREATE VIEW v AS SELECT rowid, a FROM t;", "view v"),
        (
            "CREATE TRIGGER fires AFTER INSERT ON t BEGIN UPDATE t SET a = 1 WHERE _rowid_ = new.oid; END;",
            "trigger fires",
        ),
        ("CREATE INDEX i ON t (a) WHERE rowid > 5;", "index i"),
    ] {
        let script = format!("CREATE TABLE t (a); {object} {rows}");
        let made = Made::by(&[&script, &script]);
        let message = made.refused(&made.merge());
        assert!(message.contains(&format!("which {named} names")), "{message}");
        let message = made.refused(&made.merge().keep_rowids(true));
        assert!(message.contains("t.rowid = 1 is in both"), "{message}");
    }
    let script = format!("CREATE TABLE t (a, CHECK (rowid < 5)); {rows}");
    let made = Made::by(&[&script, &script]);
    assert!(made.refused(&made.merge()).contains("a CHECK of table t names"));
    // In this table, oid is a column and not the rowid, so a view may name it.
    let script = format!("CREATE TABLE t (oid); CREATE VIEW v AS SELECT oid FROM t; {rows}");
    let made = Made::by(&[&script, &script]);
    made.run(&made.merge()).unwrap();
    assert_eq!(made.query("SELECT * FROM v"), ["1", "2", "1", "2"]);
}

#[test]
fn the_setting_keep_rowids_keeps_rowids_of_tables_without_a_rowid_column() {
    let made = Made::by(&[
        "CREATE TABLE t (a); INSERT INTO t (rowid, a) VALUES (1, 'a'), (5, 'b');",
        "CREATE TABLE t (a); INSERT INTO t (rowid, a) VALUES (3, 'c'), (9, 'd');",
    ]);
    let report = made.run(&made.merge().keep_rowids(true)).unwrap();
    assert_eq!(report.tables[0].method, "interleaved");
    assert_eq!(made.query("SELECT rowid, a FROM t"), ["1 a", "3 c", "5 b", "9 d"]);
}

#[test]
fn rowids_too_large_to_be_raised_are_replaced_in_a_merge() {
    let script = "CREATE TABLE t (a); INSERT INTO t (rowid, a) VALUES (1, 'a'), (9223372036854775807, 'b');";
    let made = Made::by(&[script, script]);
    let report = made.run(&made.merge()).unwrap();
    assert_eq!(report.tables[0].method, "inserted");
    assert_eq!(made.query("SELECT rowid, a FROM t"), ["1 a", "2 b", "3 a", "4 b"]);
    let script = script.replace("(a)", "(id INTEGER PRIMARY KEY, a)").replacen("rowid", "id", 1);
    let made = Made::by(&[&script, &script]);
    assert!(made.refused(&made.merge().renumber(["t"])).contains("can't be renumbered"));
}
