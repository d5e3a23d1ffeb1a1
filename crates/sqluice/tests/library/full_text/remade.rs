//! Tests of `optimize` and `rebuild` for existing full-text tables, whose results are compared with those of SQLite.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::index::{FullText, FullTextWork, Index};
use sqluice::options::WritePath;
use sqluice::progress::{Cancel, Context};
use sqluice_testkit::cases;

use super::settings::StopAt;
use super::support::{ask, insert, make, same};
use crate::support::files::Home;
use crate::support::lived_in::but_for_counters;

/// Makes a database with the full-text table `f` over the columns of `t`. SQLite has filled both tables in several transactions, and has
/// deleted rows.
fn database(path: &Path, options: &str, seed: u64, transactions: i64) {
    let random = &mut fastrand::Rng::with_seed(seed);
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = off; CREATE TABLE t (a, b, c);
             CREATE VIRTUAL TABLE f USING fts5(a, b{options});
             INSERT INTO f(f, rank) VALUES ('automerge', 0), ('crisismerge', 1000)"
        ))
        .unwrap();
    for number in 0..transactions {
        let from = 1000 * number;
        insert(&connection, from, 20, random);
        connection
            .execute_batch(&format!(
                "INSERT INTO f(rowid, a, b) SELECT rowid, a, b FROM t WHERE rowid >= {from}"
            ))
            .unwrap();
        let deleted = from + random.i64(0..40);
        let delete = match options.contains("content=t") {
            true => "INSERT INTO f(f, rowid, a, b) SELECT 'delete', rowid, a, b FROM t WHERE rowid % 1000 > ",
            false => "DELETE FROM f WHERE rowid % 1000 > ",
        };
        connection
            .execute_batch(&format!(
                "BEGIN; {delete} {}; DELETE FROM t WHERE rowid % 1000 > {}; COMMIT",
                deleted % 1000,
                deleted % 1000
            ))
            .unwrap();
    }
}

proptest! {
    #![proptest_config(cases(20))]
    #[test]
    fn a_table_is_optimized_or_made_again_as_sqlite_does(
        seed: u64,
        transactions in 0..12_i64,
        options in prop::sample::select(vec![
            "",
            ", content=t",
            ", detail=none, prefix='2'",
            ", detail=column, columnsize=0",
            ", tokenize='porter', prefix='1 3', content=t",
            ", tokenize=trigram",
        ]),
        threads in 1..4_usize,
    ) {
        let home = Home::new();
        let (before, ours, twin) = (home.path("before.db"), home.path("ours.db"), home.path("twin.db"));
        database(&before, options, seed, transactions);
        for (command, full_text, work) in [
            ("optimize", FullText::default().optimize(["F"]), FullTextWork::Optimize),
            ("rebuild", FullText::default().rebuild(["f"]), FullTextWork::Rebuild),
        ] {
            fs::copy(&before, &ours).unwrap();
            fs::copy(&before, &twin).unwrap();
            let report = make(&ours, full_text, threads, 4 << 20).unwrap();
            let report = &report.full_text[0];
            prop_assert_eq!((report.work, report.write_path, &*report.name), (work, WritePath::Sorted, "f"));
            let (ours, twin) = (Connection::open(&ours).unwrap(), Connection::open(&twin).unwrap());
            twin.execute_batch(&format!("INSERT INTO f(f) VALUES ('{command}')")).unwrap();
            same(&ours, &twin, command);
            for connection in [&ours, &twin] {
                connection
                    .execute_batch(
                        "INSERT INTO t(rowid, a, b) VALUES (-7, 'every new run', 'antler'), (-6, 'run', NULL);
                         INSERT INTO f(rowid, a, b) SELECT rowid, a, b FROM t WHERE rowid < 0;
                         INSERT INTO f(f, rank) VALUES ('merge', 30)",
                    )
                    .unwrap();
            }
            same(&ours, &twin, "after an insert");
        }
    }
}

#[test]
fn an_optimized_table_has_one_segment_and_says_how_many_it_had() {
    let home = Home::new();
    let path = home.path("x.db");
    database(&path, "", 3, 9);
    let report = make(&path, FullText::default().optimize(["f"]), 2, 64 << 20).unwrap();
    // Each transaction with rows and each with deletes makes a segment.
    assert!(report.full_text[0].merged_segments >= 9, "{}", report.full_text[0].merged_segments);
    let connection = Connection::open(&path).unwrap();
    let segments = ask(&connection, "SELECT count(DISTINCT segid) FROM f_idx", &[]).unwrap();
    assert_eq!(segments, [[1.into()]]);
    drop(connection);
    let before = but_for_counters(&path);
    let report = make(&path, FullText::default().optimize(["f"]), 2, 64 << 20).unwrap();
    assert_eq!((report.full_text[0].merged_segments, report.full_text[0].leaf_pages), (0, 0));
    assert!(but_for_counters(&path) == before);
}

#[test]
fn a_damaged_index_is_named_and_made_again() {
    for damage in [
        "UPDATE f_data SET block = x'0000' WHERE id = 10",
        "DELETE FROM f_data WHERE id > 10",
        "UPDATE f_data SET block = zeroblob(40) WHERE id > 10",
        "DELETE FROM f_data; DELETE FROM f_idx; DELETE FROM f_docsize",
    ] {
        let home = Home::new();
        let path = home.path("x.db");
        database(&path, "", 5, 5);
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let before = but_for_counters(&path);
        let error = make(&path, FullText::default().optimize(["f"]), 2, 64 << 20).unwrap_err();
        assert!(error.message().starts_with("full-text table f is damaged: f_data, row "), "{error}");
        assert_eq!(
            error.hint_text(),
            Some("make the index again from its texts: `fts_rebuild = f`".to_owned()),
            "{damage}"
        );
        assert!(but_for_counters(&path) == before);
        make(&path, FullText::default().rebuild(["f"]), 2, 64 << 20).unwrap();
        let connection = Connection::open(&path).unwrap();
        same(&connection, &connection, damage);
        let found = ask(&connection, "SELECT count(*) FROM f WHERE f MATCH 'every'", &[]).unwrap();
        assert_ne!(found, [[0.into()]], "{damage}");
    }
}

#[test]
fn the_damage_of_a_table_without_texts_has_no_hint_that_it_refuses() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE c USING fts5(a, content='');
             INSERT INTO c(rowid, a) VALUES (1, 'every'); INSERT INTO c(rowid, a) VALUES (2, 'run');
             UPDATE c_data SET block = x'0000' WHERE id = 10",
        )
        .unwrap();
    drop(connection);
    let error = make(&path, FullText::default().optimize(["c"]), 2, 64 << 20).unwrap_err();
    assert!(error.message().starts_with("full-text table c is damaged: c_data, row "), "{error}");
    let hint = "the table keeps no texts: drop it, make it again, and insert its rows from their source";
    assert_eq!(error.hint_text().as_deref(), Some(hint));
}

#[test]
fn tables_that_can_not_be_remade_are_refused_by_name() {
    let home = Home::new();
    let path = home.path("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a); CREATE VIRTUAL TABLE f USING fts5(a); CREATE VIRTUAL TABLE old USING fts4(a);
             CREATE VIRTUAL TABLE c USING fts5(a, content='')",
        )
        .unwrap();
    drop(connection);
    for (full_text, message) in [
        (FullText::default().optimize(["g"]), "g is no full-text table (FTS5) of the database"),
        (FullText::default().optimize(["t"]), "t is no full-text table (FTS5) of the database"),
        (FullText::default().rebuild(["old"]), "old is no full-text table (FTS5) of the database"),
        (FullText::default().rebuild(["c"]), "full-text table c keeps no text to make its index of"),
        (FullText::default().rebuild(["f", "F"]), "full-text table f is given twice"),
    ] {
        let index = Index::new(&path, [""; 0]).full_text(full_text);
        assert_eq!(index.prepare(&Context::default()).unwrap_err().message(), message);
        assert_eq!(index.run().unwrap_err().message(), message);
    }
}

#[test]
fn sqlite_remakes_what_only_sqlite_understands() {
    for (before, options, why) in [
        ("PRAGMA encoding = 'UTF-16le'", "", "only SQLite reads texts in UTF-16"),
        ("", ", locale=1", "only SQLite knows the locales of texts"),
    ] {
        let home = Home::new();
        let path = home.path("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "{before}; CREATE VIRTUAL TABLE f USING fts5(a{options}); INSERT INTO f VALUES ('every run');
                 INSERT INTO f VALUES ('run');"
            ))
            .unwrap();
        drop(connection);
        for full_text in [FullText::default().optimize(["f"]), FullText::default().rebuild(["f"])] {
            let index = Index::new(&path, [""; 0]).full_text(full_text);
            let prepared = index.prepare(&Context::default()).unwrap();
            let plan = &prepared.plan().full_text[0];
            assert_eq!((plan.write_path, &*plan.why), (WritePath::Sqlite, why));
            assert_eq!(index.run().unwrap().full_text[0].write_path, WritePath::Sqlite);
            let connection = Connection::open(&path).unwrap();
            same(&connection, &connection, why);
        }
    }
}

#[test]
fn a_canceled_run_leaves_the_old_index() {
    let home = Home::new();
    let path = home.path("x.db");
    database(&path, "", 3, 6);
    let before = but_for_counters(&path);
    for full_text in [FullText::default().optimize(["f"]), FullText::default().rebuild(["f"])] {
        let mut canceled = 0;
        for at in 0.. {
            let stop = StopAt::new(at);
            let context = Context::default().progress(&stop).cancel(&stop.cancel);
            let copy = home.path("copy.db");
            fs::copy(&path, &copy).unwrap();
            if Index::new(&copy, [""; 0]).full_text(full_text.clone()).run_with(&context).is_ok() {
                break;
            }
            canceled += 1;
            assert!(but_for_counters(&copy) == before, "{at}");
        }
        assert!(canceled > 3, "{canceled}");
    }
    let cancel = Cancel::new();
    cancel.cancel();
    let index = Index::new(&path, [""; 0]).full_text(FullText::default().optimize(["f"]));
    assert!(index.run_with(&Context::default().cancel(&cancel)).is_err());
}
