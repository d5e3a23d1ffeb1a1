//! Rows that are added to a table whose triggers keep a full-text table up to date: the full-text table gets their terms without triggers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::load::Load;
use sqluice::options::{IfExists, OnConflict, WriteOptions, WritePath};
use sqluice::progress::Context;
use sqluice_testkit::cases;

use super::settings::StopAt;
use super::support::{ask, same};
use crate::support::files::Home;
use crate::support::lived_in::but_for_counters;

const TRIGGERS: &str = "
    CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN
      INSERT INTO f(rowid, a, b) VALUES (new.rowid, new.a, new.b);
    END;
    CREATE TRIGGER t_ad AFTER DELETE ON t BEGIN
      INSERT INTO f(f, rowid, a, b) VALUES ('delete', old.rowid, old.a, old.b);
    END;
    CREATE TRIGGER t_au AFTER UPDATE ON t BEGIN
      INSERT INTO f(f, rowid, a, b) VALUES ('delete', old.rowid, old.a, old.b);
      INSERT INTO f(rowid, a, b) VALUES (new.rowid, new.a, new.b);
    END;";

/// Makes a database with a table, the full-text table `f` over the table, and triggers.
fn database(path: &Path, options: &str, triggers: &str) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = off; CREATE TABLE t (a TEXT, b TEXT);
             CREATE VIRTUAL TABLE f USING fts5(a, b, content=t{options}); {triggers}"
        ))
        .unwrap();
}

/// Writes a file with `count` rows of random words.
fn file(home: &Home, count: usize, random: &mut fastrand::Rng) -> PathBuf {
    let path = home.path("t.csv");
    let mut text = "a,b\n".to_owned();
    for _ in 0..count {
        let mut words = |most: usize| {
            let words = (0..random.usize(0..most)).map(|_| match random.u8(0..6) {
                0 => "every".to_owned(),
                1 => "run".to_owned(),
                2 => "antler".to_owned(),
                _ => format!("w{}", random.u16(..300)),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let line = format!("every {},{}\n", words(12), words(60));
        text.write_str(&line).unwrap();
    }
    fs::write(&path, text).unwrap();
    path
}

fn load(path: &Path, csv: &Path, threads: usize, memory: u64) -> Load {
    let write = WriteOptions::new().if_exists(IfExists::Append).threads(threads).memory_bytes(memory);
    let write = write.tune(|tuning| tuning.chunk_bytes = (memory / 16 / threads as u64) as usize);
    Load::new(path, [csv]).table("t").write(write)
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn added_rows_are_found_as_if_triggers_had_fired(
        seed: u64,
        options in prop::sample::select(vec![
            "",
            ", content_rowid=rowid, prefix='2'",
            ", detail=none",
            ", detail=column, columnsize=0",
            ", tokenize=porter",
        ]),
        automerge in prop::sample::select(vec![0, 2, 4]),
        threads in 1..3_usize,
        rounds in 1..7_usize,
    ) {
        let home = Home::new();
        let random = &mut fastrand::Rng::with_seed(seed);
        let (ours, twin) = (home.path("ours.db"), home.path("twin.db"));
        for path in [&ours, &twin] {
            database(path, options, TRIGGERS);
            let connection = Connection::open(path).unwrap();
            connection
                .execute_batch(&format!(
                    "INSERT INTO f(f, rank) VALUES ('automerge', {automerge}), ('pgsz', 200);
                     INSERT INTO t VALUES ('every old run', 'antler'), ('w1', 'w2 w1')"
                ))
                .unwrap();
        }
        for _ in 0..rounds {
            // The last rows are deleted, too, so that new rows have their rowids.
            let change = match random.u8(0..4) {
                0 => "DELETE FROM t WHERE rowid > (SELECT max(rowid) - 30 FROM t) AND rowid % 3",
                1 => "DELETE FROM t WHERE rowid > (SELECT max(rowid) - 5 FROM t)",
                2 => "UPDATE t SET a = 'every change' WHERE rowid % 40 = 1; DELETE FROM t WHERE rowid % 50 = 2",
                _ => "INSERT INTO t SELECT b, a FROM t LIMIT 5",
            };
            for path in [&ours, &twin] {
                Connection::open(path).unwrap().execute_batch(change).unwrap();
            }
            let csv = file(&home, random.usize(150..300), random);
            let last = "SELECT coalesce(max(rowid), 0) FROM t";
            let last: i64 = Connection::open(&ours).unwrap().query_row(last, [], |row| row.get(0)).unwrap();
            let load = load(&ours, &csv, threads, 8 << 20);
            let prepared = load.clone().prepare(&Context::default()).unwrap();
            let table = &prepared.plan().tables[0];
            prop_assert_eq!((table.write_path, &*table.full_text), (WritePath::Pages, &["f".to_owned()][..]));
            let report = load.run().unwrap();
            prop_assert_eq!(report.full_text, ["f"]);
            let by_sqlite = Connection::open(&twin).unwrap();
            by_sqlite
                .execute_batch(&format!(
                    "ATTACH '{}' AS ours; INSERT INTO t(rowid, a, b) SELECT rowid, a, b FROM ours.t WHERE rowid > {last};
                     DETACH ours",
                    ours.display()
                ))
                .unwrap();
            same(&Connection::open(&ours).unwrap(), &by_sqlite, "appended");
        }
        for change in ["DELETE FROM t WHERE rowid % 3 = 0", "INSERT INTO f(f, rank) VALUES ('merge', -50)", "INSERT INTO f(f) VALUES ('optimize')"] {
            let (ours, twin) = (Connection::open(&ours).unwrap(), Connection::open(&twin).unwrap());
            [&ours, &twin].into_iter().for_each(|connection| connection.execute_batch(change).unwrap());
            same(&ours, &twin, change);
        }
    }
}

#[test]
fn the_bytes_of_an_append_depend_on_the_rows_alone() {
    let home = Home::new();
    let before = home.path("before.db");
    database(&before, "", TRIGGERS);
    let random = &mut fastrand::Rng::with_seed(2);
    let connection = Connection::open(&before).unwrap();
    connection
        .execute_batch(
            "INSERT INTO t VALUES ('every', 'x'); DELETE FROM t; INSERT INTO t VALUES ('run', 'y')",
        )
        .unwrap();
    drop(connection);
    let csv = file(&home, 4000, random);
    let made = [(1, 64 << 20), (2, 64 << 20), (3, 4 << 20)].map(|(threads, memory)| {
        let path = home.path(&format!("{threads}.db"));
        fs::copy(&before, &path).unwrap();
        load(&path, &csv, threads, memory).run().unwrap();
        let connection = Connection::open(&path).unwrap();
        [
            ask(&connection, "SELECT id, block FROM f_data ORDER BY id", &[]),
            ask(&connection, "SELECT * FROM f_idx", &[]),
            ask(&connection, "SELECT * FROM f_docsize", &[]),
        ]
    });
    assert!(made[0] == made[1] && made[0] == made[2]);
}

#[test]
fn triggers_of_other_forms_fire_and_tables_without_triggers_stay_behind() {
    let insert = "CREATE TRIGGER t_ai AFTER INSERT ON t BEGIN INSERT INTO f(rowid, a, b) VALUES ";
    for (triggers, path, why, behind) in [
        (
            format!("{insert}(new.rowid, upper(new.a), new.b); END"),
            WritePath::Insert,
            "its triggers fire",
            false,
        ),
        (format!("{insert}(new.rowid, new.b, new.a); END"), WritePath::Insert, "its triggers fire", false),
        (
            format!("{TRIGGERS} CREATE TRIGGER more BEFORE INSERT ON t BEGIN SELECT 1; END"),
            WritePath::Insert,
            "its triggers fire",
            false,
        ),
        (TRIGGERS.to_owned(), WritePath::Pages, "rows follow the last rowid, and their terms go to f", false),
        (String::new(), WritePath::Pages, "rows follow the last rowid", true),
    ] {
        let home = Home::new();
        let db = home.path("x.db");
        database(&db, "", &triggers);
        let csv = file(&home, 200, &mut fastrand::Rng::with_seed(1));
        let load = load(&db, &csv, 2, 64 << 20);
        let prepared = load.clone().prepare(&Context::default()).unwrap();
        let plan = prepared.plan();
        assert_eq!((plan.tables[0].write_path, &*plan.tables[0].why), (path, why));
        let notes: Vec<String> = plan.notes.iter().map(ToString::to_string).collect();
        let expected = "full-text table f does not get the new rows of t: no trigger inserts them";
        assert_eq!(notes.iter().any(|note| note == expected), behind, "{notes:?}");
        let existing = load.run().unwrap().existing.unwrap();
        assert_eq!(existing.full_text_behind.len(), usize::from(behind));
        let connection = Connection::open(&db).unwrap();
        let found = ask(&connection, "SELECT count(*) FROM f WHERE f MATCH 'every'", &[]).unwrap();
        assert_eq!(found, [[if behind { 0 } else { 200 }.into()]], "{triggers}");
    }
}

#[test]
fn a_table_that_no_trigger_leads_to_stays_behind_though_another_follows() {
    let other = "CREATE VIRTUAL TABLE g USING fts5(a, content=t)";
    let cascade = "CREATE TABLE u (a);
         CREATE TRIGGER t_u AFTER INSERT ON t BEGIN INSERT INTO u VALUES (new.a); END;
         CREATE TRIGGER u_g AFTER INSERT ON u BEGIN INSERT INTO g(rowid, a) VALUES (new.rowid, new.a); END";
    for (triggers, behind) in [
        (format!("{TRIGGERS} {other}"), vec!["g"]),
        (
            format!(
                "CREATE TRIGGER t_f AFTER INSERT ON t BEGIN INSERT INTO f(rowid, a) VALUES (new.rowid, 'x'); END; {other}"
            ),
            vec!["g"],
        ),
        (format!("{TRIGGERS} {other}; {cascade}"), Vec::new()),
    ] {
        let home = Home::new();
        let db = home.path("x.db");
        database(&db, "", &triggers);
        let csv = file(&home, 20, &mut fastrand::Rng::with_seed(1));
        let existing = load(&db, &csv, 2, 64 << 20).run().unwrap().existing.unwrap();
        assert_eq!(existing.full_text_behind, behind, "{triggers}");
        let connection = Connection::open(&db).unwrap();
        let found = ask(&connection, "SELECT count(*) FROM g WHERE g MATCH 'every'", &[]).unwrap();
        assert_eq!(found, [[if behind.is_empty() { 20 } else { 0 }.into()]], "{triggers}");
    }
}

#[test]
fn a_canceled_append_leaves_the_old_rows_and_the_old_index() {
    let home = Home::new();
    let path = home.path("x.db");
    database(&path, "", TRIGGERS);
    Connection::open(&path).unwrap().execute_batch("INSERT INTO t VALUES ('every', 'x')").unwrap();
    let csv = file(&home, 200, &mut fastrand::Rng::with_seed(1));
    let before = but_for_counters(&path);
    let mut canceled = 0;
    for at in 0.. {
        let stop = StopAt::new(at);
        let copy = home.path("copy.db");
        fs::copy(&path, &copy).unwrap();
        let context = Context::default().progress(&stop).cancel(&stop.cancel);
        if load(&copy, &csv, 2, 64 << 20).run_with(&context).is_ok() {
            break;
        }
        canceled += 1;
        assert!(but_for_counters(&copy) == before, "{at}");
    }
    assert!(canceled > 5, "{canceled}");
}

/// Asserts that the full-text table `f` is that of its content: a twin makes its index again.
fn is_up_to_date(home: &Home, db: &Path, what: &str) {
    let copy = home.path("twin.db");
    fs::copy(db, &copy).unwrap();
    let twin = Connection::open(&copy).unwrap();
    twin.execute_batch("INSERT INTO f(f) VALUES ('rebuild')").unwrap();
    same(&Connection::open(db).unwrap(), &twin, what);
}

#[test]
fn a_full_text_table_without_triggers_gets_new_rows_if_it_is_asked_for() {
    let append = || WriteOptions::new().if_exists(IfExists::Append).full_text(["F"]).threads(2);
    let upsert = || append().if_exists(IfExists::Upsert(vec!["id".to_owned()]));
    let replace = || append().if_exists(IfExists::Replace);
    let (few, many) = (20, 200);
    for (write, options, from, count, path, why) in [
        (append(), "", 0, many, WritePath::Pages, "rows follow the last rowid, and their terms go to f"),
        (append(), "", 1000, many, WritePath::Pages, "and their terms go to f"),
        (append(), "", 0, few, WritePath::Insert, "; full-text table f gets its rows at once"),
        (append(), "", -500, many, WritePath::Insert, "; SQLite adds each row to full-text table f"),
        (
            append(),
            ", locale=1",
            0,
            many,
            WritePath::Insert,
            "only SQLite adds its rows to full-text table f",
        ),
        (append().on_conflict(OnConflict::Ignore), "", 5, many, WritePath::Insert, "; SQLite adds each row"),
        (
            append().on_conflict(OnConflict::Replace),
            "",
            5,
            many,
            WritePath::Insert,
            "; the index of full-text table f is made again",
        ),
        (upsert(), "", 5, many, WritePath::Insert, "; SQLite adds each row"),
        (replace(), "", 5, many, WritePath::Pages, "; the index of full-text table f is made again"),
    ] {
        let home = Home::new();
        let db = home.path("x.db");
        let connection = Connection::open(&db).unwrap();
        connection
            .execute_batch(&format!(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT);
                 CREATE VIRTUAL TABLE f USING fts5(a, b, content=t, content_rowid=id{options});
                 WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30)
                 INSERT INTO t SELECT i, 'every old run', 'w' || i FROM n;
                 INSERT INTO f(f) VALUES ('rebuild')"
            ))
            .unwrap();
        drop(connection);
        let csv = file(&home, count, &mut fastrand::Rng::with_seed(1));
        if from != 0 {
            let text = fs::read_to_string(&csv).unwrap();
            let rows = text.lines().skip(1).enumerate();
            let rows = rows.map(|(number, row)| format!("{},{row}\n", from + number as i64));
            fs::write(&csv, format!("id,a,b\n{}", rows.collect::<String>())).unwrap();
        }
        let load = Load::new(&db, [&csv]).table("t".to_owned()).write(write);
        let prepared = load.clone().prepare(&Context::default()).unwrap();
        let table = &prepared.plan().tables[0];
        assert!(
            table.write_path == path && table.why.contains(why),
            "{why}: {:?} {}",
            table.write_path,
            table.why
        );
        let report = load.run().unwrap();
        assert_eq!(report.full_text, ["f"], "{why}");
        assert_eq!(report.existing.unwrap().full_text_behind, [""; 0], "{why}");
        is_up_to_date(&home, &db, why);
    }
}

#[test]
fn a_full_text_table_that_cannot_get_the_rows_is_refused_by_name() {
    let home = Home::new();
    let db = home.path("x.db");
    database(&db, "", "CREATE TABLE u (x); CREATE VIRTUAL TABLE g USING fts5(x, content=u)");
    let csv = file(&home, 20, &mut fastrand::Rng::with_seed(1));
    let before = but_for_counters(&db);
    let load = |db: &Path, name: &str| {
        let write = WriteOptions::new().if_exists(IfExists::Append).full_text([name]);
        Load::new(db, [&csv]).table("t".to_owned()).write(write).run().unwrap_err()
    };
    for name in ["g", "h", "t"] {
        let error = load(&db, name);
        assert_eq!(
            error.without_hint(),
            format!("{name} is no full-text table (FTS5) over a table that gets rows")
        );
    }
    assert!(but_for_counters(&db) == before);
    let error = load(&home.path("new.db"), "f");
    assert_eq!(error.without_hint(), "full-text table f does not exist: the database is new");
    let connection = Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "PRAGMA writable_schema = 1;
             UPDATE sqlite_schema SET sql = replace(sql, 'content=t', 'content=t, tokenize=mecab') WHERE name = 'f'",
        )
        .unwrap();
    drop(connection);
    let error = load(&db, "f");
    assert_eq!(error.without_hint(), "full-text table f can't get rows: SQLite has no tokenizer mecab");
}
