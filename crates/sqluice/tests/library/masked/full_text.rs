//! Full-text tables of a masked copy find the words of the new rows, and no masked word. A full-text table without its text is refused
//! unless it is left out.

use super::{Lab, count, texts};

#[test]
fn a_full_text_table_over_a_masked_one_finds_the_new_words_alone() {
    let lab = Lab::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, topic TEXT);
         INSERT INTO notes (body, topic) VALUES ('Annabella went home', 'travel'), ('Bartholomew stayed', 'home');
         CREATE VIRTUAL TABLE search USING fts5(body, topic, content='notes', content_rowid='id');
         CREATE TRIGGER added AFTER INSERT ON notes BEGIN INSERT INTO search (rowid, body, topic) VALUES (new.id, new.body, new.topic); END;
         INSERT INTO search (search) VALUES ('rebuild');
         INSERT INTO search (search, rank) VALUES ('rank', 'bm25(10.0, 5.0)');",
    );
    let report = lab.mask("CREATE TABLE notes (body /* gen: shape() */)");
    assert_eq!(report.mask.unwrap().rebuilt, ["search"]);
    let new = lab.new_one();
    assert_eq!(count(&new, "SELECT count(*) FROM search WHERE search MATCH 'annabella OR bartholomew'"), 0);
    assert_eq!(count(&new, "SELECT count(*) FROM search WHERE search MATCH 'topic: travel OR home'"), 2);
    let word: String =
        new.query_row("SELECT substr(body, 1, 9) FROM notes WHERE id = 1", [], |row| row.get(0)).unwrap();
    assert_eq!(count(&new, &format!("SELECT rowid FROM search WHERE search MATCH '{word}'")), 1);
    new.execute_batch("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)").unwrap();
    assert_eq!(
        texts(&new, "SELECT v FROM search_config WHERE k = 'rank'"),
        texts(&lab.old(), "SELECT v FROM search_config WHERE k = 'rank'")
    );
    // The trigger still works.
    new.execute_batch("INSERT INTO notes (body, topic) VALUES ('zebra', 'zoo')").unwrap();
    assert_eq!(count(&new, "SELECT count(*) FROM search WHERE search MATCH 'zebra'"), 1);
}

#[test]
fn full_text_tables_with_text_of_their_own_are_masked_and_keep_their_rows() {
    for module in ["fts5(who, what)", "fts4(who, what)", "fts3(who, what)"] {
        let lab = Lab::new(&format!(
            "CREATE VIRTUAL TABLE log USING {module};
             INSERT INTO log (rowid, who, what) VALUES (7, 'Annabella', 'opened'), (9, 'Bartholomew', 'closed');"
        ));
        lab.mask("CREATE TABLE log (who /* gen: shape() */)");
        let new = lab.new_one();
        assert_eq!(texts(&new, "SELECT rowid FROM log ORDER BY rowid"), ["Integer(7)", "Integer(9)"]);
        assert_eq!(count(&new, "SELECT rowid FROM log WHERE log MATCH 'closed'"), 9);
        assert_eq!(count(&new, "SELECT count(*) FROM log WHERE log MATCH 'annabella'"), 0);
        assert_eq!(count(&new, "SELECT count(*) FROM log WHERE length(who) IN (9, 11)"), 2);
    }
}

#[test]
fn a_full_text_table_without_its_text_is_refused_unless_it_is_left_out() {
    let lab = Lab::new(
        "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('Annabella');
         CREATE VIRTUAL TABLE words USING fts5(a, content=''); INSERT INTO words (rowid, a) SELECT rowid, a FROM t;",
    );
    let masks = "CREATE TABLE t (a /* gen: shape() */)";
    let error = lab.try_mask(masks).unwrap_err();
    assert_eq!(error.message(), "full-text table words has the words of the source, and not their text");
    let copy = lab.copy(super::masking(masks)).exclude_tables(["words"]);
    copy.run().unwrap();
    lab.assert_sound();
}
