//! Tests of merges of FTS5 and R*Tree tables.

use sqluice::options::WriteOptions;

use super::Made;

#[test]
fn merged_fts5_and_rtree_tables_find_the_rows_of_all_sources() {
    let script = |first: i64, word: &str| {
        format!(
            "CREATE VIRTUAL TABLE words USING fts5(text, more);
             INSERT INTO words (rowid, text, more) VALUES ({first}, 'the {word}', 'x'), ({first} + 1, 'another {word}', NULL);
             CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1, +label);
             INSERT INTO boxes VALUES ({first}, {first}, {first} + 0.5, '{word}');"
        )
    };
    let made = Made::by(&[&script(1, "house"), &script(10, "tree"), "CREATE TABLE words_of_none (a)"]);
    let report = made.run(&made.merge()).unwrap();
    assert_eq!(report.virtual_tables, ["words", "boxes"]);
    assert_eq!(
        made.query("SELECT rowid, more FROM words WHERE words MATCH 'tree OR house' ORDER BY rowid"),
        ["1 x", "2 NULL", "10 x", "11 NULL"]
    );
    assert_eq!(made.query("SELECT id, label FROM boxes WHERE x0 >= 10"), ["10 tree"]);
    super::twin::open(&made.target)
        .execute_batch("INSERT INTO words (words) VALUES ('integrity-check')")
        .unwrap();
    // Virtual tables that only one source has are copied unchanged.
    let made = Made::by(&[&script(1, "house"), "CREATE TABLE other (a)"]);
    assert_eq!(made.run(&made.merge()).unwrap().virtual_tables.len(), 0);
    assert_eq!(made.query("SELECT rowid FROM words WHERE words MATCH 'another'"), ["2"]);
}

#[test]
fn virtual_tables_are_merged_into_a_target_with_auto_vacuum_too() {
    let script = |rowid: i64| {
        format!(
            "PRAGMA auto_vacuum = 1; CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words (rowid, text) VALUES ({rowid}, 'x');
             CREATE TABLE t (a); CREATE INDEX i ON t (a); INSERT INTO t VALUES ({rowid});"
        )
    };
    let made = Made::by(&[&script(1), &script(2)]);
    made.run(&made.merge().write(WriteOptions::new().analyze(true))).unwrap();
    assert_eq!(made.query("SELECT rowid FROM words WHERE words MATCH 'x'"), ["1", "2"]);
    assert_eq!(made.query("SELECT stat FROM sqlite_stat1 WHERE idx = 'i'"), ["2 1"]);
    assert_eq!(made.query("PRAGMA auto_vacuum"), ["1"]);
}

#[test]
fn a_merged_full_text_index_of_another_table_has_all_rows_of_that_table() {
    let script = |first: i64, word: &str| {
        format!(
            "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT);
             CREATE VIRTUAL TABLE note_words USING fts5(text, content='note', content_rowid=id);
             CREATE TRIGGER note_added AFTER INSERT ON note BEGIN INSERT INTO note_words (rowid, text) VALUES (new.id, new.text); END;
             INSERT INTO note VALUES ({first}, 'a {word}'), ({first} + 1, 'no {word}');"
        )
    };
    let made = Made::by(&[&script(1, "house"), &script(5, "tree")]);
    made.run(&made.merge()).unwrap();
    assert_eq!(
        made.query("SELECT rowid, text FROM note_words WHERE note_words MATCH 'tree'"),
        ["5 a tree", "6 no tree"]
    );
    assert_eq!(made.query("SELECT rowid FROM note_words WHERE note_words MATCH 'house'"), ["1", "2"]);
    // Renumbered rowids change in the full-text index, too.
    let made = Made::by(&[&script(1, "house"), &script(1, "tree")]);
    made.run(&made.merge().renumber(["note"])).unwrap();
    assert_eq!(
        made.query("SELECT rowid, text FROM note_words WHERE note_words MATCH 'tree'"),
        ["3 a tree", "4 no tree"]
    );
}

#[test]
fn virtual_tables_that_can_not_be_merged_are_refused_by_name() {
    let script = "CREATE VIRTUAL TABLE words USING fts5(text, content=''); INSERT INTO words (rowid, text) VALUES (1, 'a');";
    let made = Made::by(&[script, script]);
    let message = made.refused(&made.merge());
    assert!(message.contains("table words can't be merged"), "{message}");
    made.run(&made.merge().exclude_tables(["words"])).unwrap();
    assert_eq!(made.query("SELECT count(*) FROM sqlite_schema"), ["0"]);
    let script = "CREATE VIRTUAL TABLE words USING fts4(text);";
    let made = Made::by(&[script, script]);
    assert!(made.refused(&made.merge()).contains("fts4"));
}

#[test]
fn equal_rowids_in_merged_virtual_tables_are_a_repeated_key() {
    let script =
        "CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words (rowid, text) VALUES (1, 'a');";
    let made = Made::by(&[script, script]);
    let message = made.refused(&made.merge());
    assert!(message.contains("row 1 of table words of") && message.contains("2.db"), "{message}");
}
