//! Tests of full-text indexes with tokenizers that a program registers.

use std::fs;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use sqluice::index::FullText;
use sqluice::tokenizers::register;

use super::support::{Synonyms, insert, make, register_synonyms, same};
use crate::support::files::Home;

#[test]
fn a_tokenizer_of_the_program_splits_texts_here_as_for_sqlite() {
    register_synonyms();
    for name in ["synonyms", "Porter", "", "nul\0"] {
        assert!(register(name, |_| Ok(Synonyms::default())).is_err(), "{name}");
    }
    for (tokenize, detail) in [("synonyms", "full"), ("synonyms x", "column"), ("porter synonyms", "none")] {
        let home = Home::new();
        let (ours, twin) = (home.path("ours.db"), home.path("twin.db"));
        let connection = Connection::open(&ours).unwrap();
        connection.execute_batch("CREATE TABLE t (a, b, c)").unwrap();
        insert(&connection, 0, 200, &mut fastrand::Rng::with_seed(5));
        drop(connection);
        fs::copy(&ours, &twin).unwrap();
        let options = [format!("detail={detail}")];
        let full_text = FullText::new(["t(a, b)"]).name("f".to_owned()).tokenize(tokenize.to_owned());
        let full_text = full_text.prefix("2 3".to_owned()).options(options);
        make(&ours, full_text, 2, 64 << 20).unwrap();
        let twin = Connection::open(&twin).unwrap();
        twin.execute_batch(&format!(
            "CREATE VIRTUAL TABLE f USING fts5(a, b, content=t, tokenize='{tokenize}', prefix='2 3', detail={detail});
             INSERT INTO f(f) VALUES ('rebuild')"
        ))
        .unwrap();
        same(&Connection::open(&ours).unwrap(), &twin, tokenize);
    }
    let home = Home::new();
    let db = home.path("x.db");
    Connection::open(&db).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    for (tokenize, why) in
        [("synonyms x y", "error in tokenizer constructor"), ("synonym", "no such tokenizer: synonym")]
    {
        let full_text = FullText::new(["t(a)"]).tokenize(tokenize.to_owned());
        let error = make(&db, full_text, 1, 64 << 20).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_connection_that_is_opened_with_a_tokenizer_of_the_program_waits_for_the_commit_of_another() {
    register_synonyms();
    let home = Home::new();
    let db = home.path("x.db");
    let other = Connection::open(&db).unwrap();
    other.execute_batch("CREATE TABLE t (a); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)").unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(200));
            other.execute_batch("COMMIT").unwrap();
        });
        let opened = Connection::open(&db).unwrap();
        opened.execute_batch("CREATE VIRTUAL TABLE f USING fts5(a, tokenize='synonyms')").unwrap();
    });
}
