//! What holds for any input.

mod support;

use proptest::prelude::*;
use support::*;

/// A step of a database's life.
fn statement() -> impl Strategy<Value = String> {
    let table = 0..4u8;
    let bytes = prop_oneof![8 => 0..60i32, 4 => 60..1200, 1 => 1200..9000];
    let key = -50..300i64;
    prop_oneof![
        4 => (table.clone(), key.clone(), bytes.clone()).prop_map(|(t, k, n)| format!(
            "INSERT OR REPLACE INTO t{t} (id, a, b) VALUES ({k}, randomblob({n}), {k} * 1.5)"
        )),
        4 => (table.clone(), key.clone(), bytes, 1..60).prop_map(|(t, k, n, count)| format!(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {count})
             INSERT OR REPLACE INTO t{t} (id, a, b) SELECT {k} + i * 3, hex(zeroblob({n} * i / {count})), i FROM n"
        )),
        4 => (table.clone(), key.clone(), 1..80i64)
            .prop_map(|(t, k, n)| format!("DELETE FROM t{t} WHERE id BETWEEN {k} AND {k} + {n}")),
        2 => (table.clone(), 2..5).prop_map(|(t, n)| format!("DELETE FROM t{t} WHERE id % {n} = 0")),
        2 => (table.clone(), key, 0..700).prop_map(|(t, k, n)| format!(
            "UPDATE t{t} SET a = randomblob({n}) WHERE id > {k} AND id % 3 = 0"
        )),
        1 => (table.clone(), any::<bool>())
            .prop_map(|(t, some)| format!("CREATE INDEX IF NOT EXISTS i{t}_{some} ON t{t} (a, b) {}",
                if some { "WHERE b > 3" } else { "" })),
        1 => (table.clone(), any::<bool>()).prop_map(|(t, some)| format!("DROP INDEX IF EXISTS i{t}_{some}")),
        1 => (table.clone(), 0..3).prop_map(|(t, n)| format!("ALTER TABLE t{t} ADD COLUMN more{n} DEFAULT {n}")),
        1 => table.prop_map(|t| format!("DROP TABLE IF EXISTS t{t}")),
        1 => Just("CREATE VIEW IF NOT EXISTS v AS SELECT 1; CREATE VIRTUAL TABLE IF NOT EXISTS w USING fts5(x)".to_owned()),
        1 => Just("ANALYZE".to_owned()),
        1 => Just("PRAGMA incremental_vacuum(3)".to_owned()),
        1 => Just("VACUUM".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_sqlite_leaves_behind_is_sound(
        page_bytes in prop::sample::select(vec![512u32, 1024, 4096, 65536]),
        auto_vacuum in 0..3,
        encoding in prop::sample::select(vec!["UTF-8", "UTF-16le", "UTF-16be"]),
        statements in prop::collection::vec(statement(), 1..25),
    ) {
        let home = Home::new();
        let db = open(&home.path);
        db.execute_batch(&format!(
            "PRAGMA page_size = {page_bytes}; PRAGMA auto_vacuum = {auto_vacuum}; PRAGMA encoding = '{encoding}'; VACUUM;
             PRAGMA journal_mode = off;
             CREATE TABLE t0 (id INTEGER PRIMARY KEY, a, b);
             CREATE TABLE t1 (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b REAL);
             CREATE TABLE t2 (id PRIMARY KEY, a, b, UNIQUE (b, a, id)) WITHOUT ROWID;
             CREATE TABLE t3 (id, a TEXT, b, UNIQUE (id));"
        )).unwrap();
        for statement in &statements {
            // A statement about what was dropped fails, and that is fine.
            let _ = db.execute_batch(statement);
        }
        let twin = integrity(&db);
        prop_assert_eq!(twin, "ok");
        let rows = |name: &str| db.query_row(&format!("SELECT count(*) FROM \"{name}\""), [], |row| row.get::<_, i64>(0));
        let report = check_bytes(&home.bytes());
        prop_assert!(report.is_sound(), "{}", problems(&report));
        for tree in &report.trees {
            if tree.kind != sqluice_format::check::TreeKind::Index {
                prop_assert_eq!(tree.rows as i64, rows(&tree.name).unwrap());
            }
        }
    }
}
