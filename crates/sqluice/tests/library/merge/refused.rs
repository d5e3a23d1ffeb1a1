//! Merges that are refused: nothing is written, and the message names the reason.

use sqluice::merge::Merge;

use super::Made;

#[test]
fn the_sources_of_a_merge_must_be_different_existing_files() {
    let made = Made::by(&["CREATE TABLE t (a)", "CREATE TABLE t (a)"]);
    let message = |merge: Merge| merge.run().unwrap_err().to_string();
    let one = &made.sources[0];
    assert!(message(Merge::new(&made.target, [one, one])).contains("is named twice"));
    let same = message(Merge::new(one, [one]));
    assert!(same.contains("1.db") && same.contains("target"), "{same}");
    let linked = one.with_file_name("linked.db");
    std::fs::hard_link(one, &linked).unwrap();
    assert!(message(Merge::new(&made.target, [one, &linked])).contains("are the same file"));
    assert!(message(Merge::new(&made.target, [one.with_file_name("missing.db")])).contains("missing.db"));
    let folder = message(Merge::new(&made.target, [one.parent().unwrap()]));
    assert!(folder.contains("folder"), "{folder}");
    assert!(message(Merge::new(&made.target, Vec::<String>::new())).contains("no database"));
    assert!(!made.target.exists());
}

#[test]
fn a_merge_refuses_a_name_that_is_a_table_in_one_source_and_an_index_in_another() {
    let made = Made::by(&["CREATE TABLE x (a)", "CREATE TABLE t (a); CREATE INDEX x ON t (a);"]);
    let message = made.refused(&made.merge());
    assert!(message.contains("x is a table in") && message.contains("and an index in"), "{message}");
}

#[test]
fn a_merge_refuses_to_exclude_a_table_that_no_source_has() {
    let made = Made::by(&["CREATE TABLE customer (a)", "CREATE TABLE orders (a)"]);
    let message = made.refused(&made.merge().exclude_tables(["custmer"]));
    assert!(message.contains("no database has a table custmer"), "{message}");
}

#[test]
fn a_damaged_source_is_an_error_and_leaves_the_target_as_it_was() {
    let rows = "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT i, hex(randomblob(20)) FROM n;";
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, b); CREATE INDEX i ON t (b);";
    let made = Made::by(&[&format!("{table} INSERT INTO t VALUES (-1, 'x')"), &format!("{table} {rows}")]);
    let mut bytes = std::fs::read(&made.sources[1]).unwrap();
    let pages = bytes.len() / 4096;
    for page in (4..pages).step_by(9) {
        bytes[page * 4096..page * 4096 + 16].fill(0xff);
    }
    std::fs::write(&made.sources[1], bytes).unwrap();
    let before = std::fs::read(&made.sources[0]).unwrap();
    let error = Merge::new(&made.sources[0], &made.sources[1..]).run().unwrap_err();
    assert!(error.to_string().contains("2.db"), "{error}");
    assert_eq!(std::fs::read(&made.sources[0]).unwrap(), before);
    made.refused(&made.merge());
}

#[test]
fn a_merge_refuses_an_index_with_an_unknown_collation() {
    let script = "CREATE TABLE t (a, b); CREATE INDEX i ON t (b); INSERT INTO t VALUES (1, 'x'); PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (b COLLATE backwards)' WHERE name = 'i';";
    let made = Made::by(&[script, script]);
    assert!(made.refused(&made.merge()).contains("collation backwards"));
}

#[test]
fn an_index_on_a_function_of_an_application_is_refused_where_rows_are_inserted() {
    let made = Made::by(&["CREATE TABLE t (a)", "CREATE TABLE t (a)"]);
    for source in &made.sources {
        let connection = rusqlite::Connection::open(source).unwrap();
        let flags = rusqlite::functions::FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function("shout", 1, flags, |_| Ok(1)).unwrap();
        connection.execute_batch("CREATE INDEX i ON t (shout(a))").unwrap();
    }
    let error = made.merge().source_column("origin".to_owned()).run().unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(cause.contains("no such function: shout"), "{cause}");
    assert!(error.to_string().contains("leaves the table out"), "{error}");
}
