//! Tests of loads into full-text tables: tables that keep their texts, and tables that keep none.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use sqluice::generate::Generate;
use sqluice::load::Load;
use sqluice::options::{IfExists, OnConflict, WriteOptions, WritePath};
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice_testkit::cases;

use super::settings::StopAt;
use super::support::{ask, same, text};
use crate::support::files::Home;
use crate::support::lived_in::but_for_counters;

/// A row: the rowid, and the values of the columns `a`, `c` and `b`.
type Row = (Option<i64>, [Value; 3]);

fn random_row(rowid: Option<i64>, random: &mut fastrand::Rng) -> Row {
    let mut value = || match random.u8(0..8) {
        0 => Value::Null,
        1 => Value::Integer(random.i64(-5..1 << 40)),
        2 => Value::Text(String::new()),
        _ => Value::Text(text(random).replace('\0', " ")),
    };
    (rowid, [value(), value(), value()])
}

/// Writes rows as a file of JSON lines.
fn file(home: &Home, rows: &[Row]) -> PathBuf {
    let mut lines = String::new();
    for (rowid, values) in rows {
        let json = |value: &Value| match value {
            Value::Integer(int) => int.to_string(),
            Value::Text(text) => serde_json::to_string(text).unwrap(),
            _ => "null".to_owned(),
        };
        let [a, c, b] = values.each_ref().map(json);
        let rowid = rowid.map_or(String::new(), |rowid| format!("\"rowid\": {rowid}, "));
        lines += &format!("{{{rowid}\"a\": {a}, \"c\": {c}, \"b\": {b}}}\n");
    }
    let path = home.path("rows.ndjson");
    fs::write(&path, lines).unwrap();
    path
}

/// Has SQLite insert rows, in a few transactions.
fn insert(connection: &Connection, rows: &[Row]) {
    for some in rows.chunks(rows.len() / 3 + 1) {
        connection.execute_batch("BEGIN").unwrap();
        for (rowid, values) in some {
            let row = [&[rowid.map_or(Value::Null, Value::Integer)], &values[..]].concat();
            let sql = "INSERT INTO f(rowid, a, c, b) VALUES (?1, ?2, ?3, ?4)";
            connection.execute(sql, params_from_iter(row)).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }
}

fn load(db: &Path, file: &Path, threads: usize) -> Load {
    let write = WriteOptions::new().if_exists(IfExists::Append).threads(threads).memory_bytes(8 << 20);
    let write = write.tune(|tuning| tuning.chunk_bytes = (512 << 10) / threads);
    Load::new(db, [file]).table("f".to_owned()).write(write)
}

fn schema(options: &str) -> String {
    format!("CREATE VIRTUAL TABLE f USING fts5(a, c UNINDEXED, b{options})")
}

/// The options of a table, `true` if rows can be deleted, and `true` if SQLite gives rowids.
const TABLES: [(&str, bool, bool); 10] = [
    ("", true, true),
    (", prefix='2 3', tokenize=porter", true, true),
    (", detail=none, columnsize=0", true, true),
    (", detail=column, tokendata=1", true, true),
    (", content=''", false, true),
    (", content='', columnsize=0, prefix=1", false, false),
    (", content='', contentless_delete=1", true, true),
    (", content='', contentless_unindexed=1", false, true),
    (", content='', contentless_delete=1, contentless_unindexed=1, detail=column", true, true),
    (", content='', detail=none, tokenize='trigram case_sensitive 1'", false, true),
];

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn loaded_rows_are_found_as_if_sqlite_had_inserted_them(
        seed: u64,
        table in 0..TABLES.len(),
        with_rowids: bool,
        is_new: bool,
        pages in prop::sample::select(vec![4050, 100]),
        threads in 1..4_usize,
    ) {
        let (options, deletes, numbered) = TABLES[table];
        let with_rowids = with_rowids || !numbered;
        let home = Home::new();
        let random = &mut fastrand::Rng::with_seed(seed);
        let (ours, twin) = (home.path("ours.db"), home.path("twin.db"));
        let sql = schema(options);
        for path in [&ours, &twin] {
            if is_new && path == &ours {
                continue;
            }
            let connection = Connection::open(path).unwrap();
            connection.execute_batch(&format!("PRAGMA synchronous = off; {sql}")).unwrap();
            if !is_new {
                connection
                    .execute_batch(&format!("INSERT INTO f(f, rank) VALUES ('pgsz', {pages}), ('automerge', 2)"))
                    .unwrap();
            }
        }
        let mut next = random.i64(-50..50);
        for round in 0..3 {
            let count = random.usize(1..200);
            let mut rows: Vec<Row> = (0..count)
                .map(|_| {
                    next += random.i64(1..4);
                    random_row(with_rowids.then_some(next), random)
                })
                .collect();
            if with_rowids {
                // Rows may have any order of their rowids.
                random.shuffle(&mut rows);
            }
            let file = file(&home, &rows);
            let load = load(&ours, &file, threads).schema((round == 0 && is_new).then(|| {
                Schema::parse(sql.as_str(), "s.sql".as_ref()).unwrap()
            }));
            let prepared = load.clone().prepare(&Context::default()).unwrap();
            prop_assert_eq!(&*prepared.plan().tables[0].why, "its terms are sorted on all cores");
            let report = load.run().unwrap();
            prop_assert_eq!(report.rows, count as u64);
            let by_sqlite = Connection::open(&twin).unwrap();
            insert(&by_sqlite, &rows);
            let loaded = Connection::open(&ours).unwrap();
            for kept in ["SELECT rowid, * FROM f", "SELECT * FROM f_content ORDER BY id", "SELECT id, sz FROM f_docsize"] {
                prop_assert_eq!(ask(&loaded, kept, &[]), ask(&by_sqlite, kept, &[]), "{}", kept);
            }
            same(&loaded, &by_sqlite, &format!("round {round}"));
            if !deletes {
                continue;
            }
            // Rowids of the last rows are used again.
            for connection in [&loaded, &by_sqlite] {
                connection
                    .execute_batch("DELETE FROM f WHERE rowid % 3 = 1 OR rowid > (SELECT max(rowid) FROM f) - 40")
                    .unwrap();
            }
            same(&loaded, &by_sqlite, "deleted");
            if with_rowids {
                next = by_sqlite
                    .query_row("SELECT coalesce(max(rowid), 0) FROM f", [], |row| row.get(0))
                    .unwrap();
            }
        }
        for change in ["INSERT INTO f(f, rank) VALUES ('merge', -50)", "INSERT INTO f(f) VALUES ('optimize')"] {
            let (ours, twin) = (Connection::open(&ours).unwrap(), Connection::open(&twin).unwrap());
            [&ours, &twin].into_iter().for_each(|connection| connection.execute_batch(change).unwrap());
            same(&ours, &twin, change);
        }
    }
}

#[test]
fn what_only_sqlite_knows_goes_through_sqlite_and_the_plan_says_so() {
    let home = Home::new();
    let random = &mut fastrand::Rng::with_seed(4);
    let rows: Vec<Row> = (0..20).map(|rowid| random_row(Some(rowid), random)).collect();
    let file = file(&home, &rows);
    let ignore = WriteOptions::new().if_exists(IfExists::Append).on_conflict(OnConflict::Ignore);
    let replace = WriteOptions::new().if_exists(IfExists::Replace);
    for (options, write, why, count) in [
        (", locale=1", None, "only SQLite knows the locales of texts", 21),
        ("", Some(ignore), "SQLite decides about rows whose keys exist", 20),
        ("", Some(replace), "SQLite deletes its rows", 20),
    ] {
        let db = home.path("x.db");
        let _ = fs::remove_file(&db);
        let connection = Connection::open(&db).unwrap();
        let first = if count == 21 { 100 } else { 7 };
        connection
            .execute_batch(&format!("{}; INSERT INTO f(rowid, a) VALUES ({first}, 'every')", schema(options)))
            .unwrap();
        drop(connection);
        let load = load(&db, &file, 2);
        let load = write.map_or(load.clone(), |write| load.write(write));
        let prepared = load.clone().prepare(&Context::default()).unwrap();
        let table = &prepared.plan().tables[0];
        assert_eq!((table.write_path, &*table.why), (WritePath::Insert, why));
        load.run().unwrap();
        let connection = Connection::open(&db).unwrap();
        let found = ask(&connection, "SELECT count(*) FROM f", &[]).unwrap();
        assert_eq!(found, [[Value::Integer(count)]], "{options}");
        connection.execute_batch("INSERT INTO f(f) VALUES ('integrity-check')").unwrap();
    }
}

#[test]
fn rows_that_a_full_text_table_cannot_take_are_refused_and_nothing_is_written() {
    let home = Home::new();
    let db = home.path("x.db");
    let row = |rowid| random_row(Some(rowid), &mut fastrand::Rng::with_seed(7));
    for options in ["", ", content=''", ", content='', contentless_delete=1"] {
        let _ = fs::remove_file(&db);
        let connection = Connection::open(&db).unwrap();
        connection
            .execute_batch(&format!(
                "{}; INSERT INTO f(rowid, a) VALUES (5, 'every'), (9, 'run')",
                schema(options)
            ))
            .unwrap();
        drop(connection);
        let before = but_for_counters(&db);
        let error = load(&db, &file(&home, &[row(20), row(5)]), 2).run().unwrap_err();
        assert_eq!(error.without_hint(), "full-text table f has a row 5 already");
        let twice = load(&db, &file(&home, &[row(20), row(20)]), 2).run().unwrap_err();
        assert!(twice.to_string().contains("record 2: UNIQUE constraint failed: f.rowid"), "{twice}");
        let upsert = WriteOptions::new().if_exists(IfExists::Upsert(vec!["rowid".to_owned()]));
        let upsert = load(&db, &file(&home, &[row(5)]), 2).write(upsert).run().unwrap_err();
        assert_eq!(upsert.without_hint(), "SQLite has no upsert for f, a virtual table");
        assert!(but_for_counters(&db) == before);
    }
    let made = home.path("new.db");
    let schema = Schema::parse(schema(""), "s.sql".as_ref()).unwrap();
    let new = |rows: &[Row]| load(&made, &file(&home, rows), 2).schema(schema.clone());
    let twice = new(&[row(20), row(20)]).run().unwrap_err();
    assert!(twice.to_string().contains("record 2: UNIQUE constraint failed"), "{twice}");
    assert!(!made.exists());
}

#[test]
fn a_table_without_its_tokenizer_is_refused_before_anything_is_written() {
    let home = Home::new();
    let db = home.path("x.db");
    let connection = Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE f USING fts5(a, c, b); PRAGMA writable_schema = 1;
             UPDATE sqlite_schema SET sql = replace(sql, 'a, c, b', 'a, c, b, tokenize=mecab') WHERE name = 'f'",
        )
        .unwrap();
    drop(connection);
    let before = but_for_counters(&db);
    let rows = [random_row(None, &mut fastrand::Rng::with_seed(1))];
    let error = load(&db, &file(&home, &rows), 1).run().unwrap_err();
    assert!(error.without_hint().contains("mecab"), "{error}");
    assert!(but_for_counters(&db) == before);
}

#[test]
fn a_canceled_load_leaves_the_full_text_table_as_it_was() {
    let home = Home::new();
    let random = &mut fastrand::Rng::with_seed(3);
    let rows: Vec<Row> = (0..300).map(|_| random_row(None, random)).collect();
    let file = file(&home, &rows);
    for options in ["", ", content=''"] {
        let db = home.path("x.db");
        let _ = fs::remove_file(&db);
        let connection = Connection::open(&db).unwrap();
        connection
            .execute_batch(&format!("{}; INSERT INTO f(rowid, a) VALUES (5, 'every')", schema(options)))
            .unwrap();
        drop(connection);
        let before = but_for_counters(&db);
        let mut canceled = 0;
        for at in 0.. {
            let stop = StopAt::new(at);
            let copy = home.path("copy.db");
            fs::copy(&db, &copy).unwrap();
            let context = Context::default().progress(&stop).cancel(&stop.cancel);
            if load(&copy, &file, 2).run_with(&context).is_ok() {
                break;
            }
            canceled += 1;
            assert!(but_for_counters(&copy) == before, "{at}");
        }
        assert!(canceled > 5, "{canceled}");
    }
}

#[test]
fn rows_are_generated_for_tables_that_keep_no_text() {
    for options in ["content=''", "content='', contentless_delete=1"] {
        let home = Home::new();
        let db = home.path("x.db");
        let sql = format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY);
             CREATE VIRTUAL TABLE f USING fts5(
               a, -- gen: sentence()
               b, -- gen: sentence()
               {options}
             )"
        );
        let schema = Schema::parse(sql, "s.sql".as_ref()).unwrap();
        let generate = Generate::new(&db, schema).rows(10).rows_of("f", 50);
        generate.run().unwrap();
        let append = WriteOptions::new().if_exists(IfExists::Append);
        generate.clone().write(append).run().unwrap();
        let connection = Connection::open(&db).unwrap();
        connection.execute_batch("INSERT INTO f(f) VALUES ('integrity-check')").unwrap();
        let sizes = ask(&connection, "SELECT count(*), min(id), max(id) FROM f_docsize", &[]).unwrap();
        assert_eq!(sizes, [[100, 1, 100].map(Value::Integer)]);
    }
}

#[test]
fn the_bytes_depend_on_the_rows_alone() {
    let home = Home::new();
    let random = &mut fastrand::Rng::with_seed(8);
    let mut rows: Vec<Row> = (10..2000).map(|rowid| random_row(Some(rowid), random)).collect();
    random.shuffle(&mut rows);
    let file = file(&home, &rows);
    for options in ["", ", content='', contentless_delete=1, prefix=2"] {
        let before = home.path("before.db");
        let _ = fs::remove_file(&before);
        let connection = Connection::open(&before).unwrap();
        connection
            .execute_batch(&format!(
                "{}; INSERT INTO f(rowid, a) VALUES (1, 'every'), (5, 'run'); DELETE FROM f WHERE rowid = 5",
                schema(options)
            ))
            .unwrap();
        drop(connection);
        let made = [(1, 64 << 20), (2, 64 << 20), (3, 4 << 20)].map(|(threads, memory)| {
            let path = home.path("copy.db");
            fs::copy(&before, &path).unwrap();
            let write = WriteOptions::new().if_exists(IfExists::Append).threads(threads).memory_bytes(memory);
            let write = write.tune(|tuning| tuning.chunk_bytes = (memory / 16 / threads as u64) as usize);
            load(&path, &file, threads).write(write).run().unwrap();
            let connection = Connection::open(&path).unwrap();
            ["data", "idx", "docsize", "content"]
                .map(|shadow| ask(&connection, &format!("SELECT * FROM f_{shadow}"), &[]))
        });
        assert!(made[0] == made[1] && made[0] == made[2], "{options}");
    }
}

#[test]
fn readers_see_the_old_rows_until_the_new_ones_are_committed() {
    let random = &mut fastrand::Rng::with_seed(6);
    let rows: Vec<Row> = (10..300).map(|rowid| random_row(Some(rowid), random)).collect();
    for options in ["", ", content=''"] {
        let home = Home::new();
        let (db, file) = (home.path("x.db"), file(&home, &rows));
        let reader = Connection::open(&db).unwrap();
        reader
            .execute_batch(&format!(
                "PRAGMA journal_mode = wal; {}; INSERT INTO f(rowid, a) VALUES (1, 'every'), (2, 'run')",
                schema(options)
            ))
            .unwrap();
        let count = || ask(&reader, "SELECT count(*) FROM f WHERE f MATCH 'every OR run'", &[]).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(count(), [[2.into()]]);
        load(&db, &file, 2).run().unwrap();
        assert_eq!(count(), [[2.into()]], "{options}: the transaction began before");
        reader.execute_batch("COMMIT").unwrap();
        let after = count();
        assert_ne!(after, [[2.into()]], "{options}");
        let other = Connection::open(&db).unwrap();
        assert_eq!(ask(&other, "SELECT count(*) FROM f WHERE f MATCH 'every OR run'", &[]).unwrap(), after);
    }
}
