//! In a masked copy keys stay unique, and joins and foreign keys find the same rows as before.

use fastrand::Rng;

use super::{Lab, count, masking_with, texts};
use sqluice_testkit::effort::tries;

/// Returns the statements of random tables that refer to each other, with keys of many kinds, and masks for some of the columns.
fn random_schema(rng: &mut Rng) -> (String, String, usize) {
    let tables = rng.usize(2..5);
    let (mut sql, mut masks) = (String::new(), String::new());
    for table in 0..tables {
        let collation = *rng.choice(&["", " COLLATE NOCASE", " COLLATE RTRIM"]).unwrap();
        let key_type = *rng.choice(&["INTEGER", "INT", "TEXT", ""]).unwrap();
        let tail = if rng.u8(0..4) == 0 { " WITHOUT ROWID" } else { "" };
        let parent = if table > 0 && rng.u8(0..5) > 0 { Some(rng.usize(0..table)) } else { None };
        let reference = parent.map_or(String::new(), |parent| format!(" REFERENCES t{parent}"));
        sql += &format!(
            "CREATE TABLE t{table} (k {key_type} PRIMARY KEY NOT NULL, u TEXT UNIQUE{collation}, p{reference}, a TEXT{collation}, n REAL){tail};"
        );
        if rng.bool() {
            sql += &format!("CREATE UNIQUE INDEX both{table} ON t{table} (a, u, n);");
        }
        if rng.bool() {
            sql += &format!("CREATE INDEX plain{table} ON t{table} (p, a DESC);");
        }
        let key_mask = match key_type {
            "INTEGER" | "INT" => *rng.choice(&["permute()", "shape()"]).unwrap(),
            _ => "shape()",
        };
        let mut columns = Vec::new();
        if rng.bool() {
            columns.push(format!("k /* gen: {key_mask} */"));
        }
        if rng.bool() {
            columns.push(format!("u /* gen: {} */", rng.choice(&["shape()", "email()", "uuid4()"]).unwrap()));
        }
        if rng.bool() {
            columns.push("a /* gen: shape() */".to_owned());
        }
        if !columns.is_empty() {
            masks += &format!("CREATE TABLE t{table} ({});", columns.join(", "));
        }
        for row in 0..rng.usize(0..60) {
            let number = row * rng.usize(1..3);
            let key = if key_type == "TEXT" || (key_type.is_empty() && rng.bool()) {
                format!("'k{number}'")
            } else {
                number.to_string()
            };
            let parent = match parent {
                Some(parent) => format!("(SELECT k FROM t{parent} LIMIT 1 OFFSET {})", rng.usize(0..40)),
                None => rng.usize(0..9).to_string(),
            };
            let letter = rng.choice(&["a", "A", "b ", "b", "é", "C-3"]).unwrap();
            sql += &format!(
                "INSERT OR IGNORE INTO t{table} VALUES ({key}, 'Unique {row} {letter}', {parent}, '{letter}{}', {row} / 4.0);",
                row % 5
            );
        }
    }
    (sql, masks, tables)
}

#[test]
fn masked_keys_stay_unique_and_joins_find_as_many_rows_in_random_schemas() {
    let mut masked = 0;
    for seed in 0..tries(12, 60, 1000) {
        let mut rng = Rng::with_seed(seed);
        let (sql, masks, tables) = random_schema(&mut rng);
        if masks.is_empty() {
            continue;
        }
        masked += 1;
        let lab = Lab::new(&sql);
        lab.mask(&masks);
        let (old, new) = (lab.old(), lab.new_one());
        let orphans = "SELECT count(*) FROM pragma_foreign_key_check";
        assert_eq!(count(&old, orphans), count(&new, orphans), "seed {seed}: {masks}");
        for one in 0..tables {
            let rows = format!("SELECT count(*) FROM t{one}");
            assert_eq!(count(&old, &rows), count(&new, &rows));
            for sql in [
                format!("SELECT count(DISTINCT u) FROM t{one}"),
                format!("SELECT count(*) AS c FROM t{one} GROUP BY a ORDER BY c"),
                format!("SELECT count(*) AS c FROM t{one} GROUP BY p ORDER BY c"),
                format!("SELECT n FROM t{one} ORDER BY n"),
            ] {
                assert_eq!(texts(&old, &sql), texts(&new, &sql), "seed {seed}: {masks}");
            }
            for other in 0..tables {
                if !sql.contains(&format!("REFERENCES t{other}")) {
                    continue;
                }
                let join = format!(
                    "SELECT count(*) FROM t{one} AS child JOIN t{other} AS parent ON child.p = parent.k
                     WHERE EXISTS (SELECT 1 FROM pragma_foreign_key_list('t{one}') WHERE \"table\" = 't{other}')"
                );
                assert_eq!(count(&old, &join), count(&new, &join), "seed {seed}: {masks}");
            }
        }
    }
    assert!(masked > tries(6, 40, 600));
}

#[test]
fn values_that_sqlite_compares_as_equal_get_equal_masked_values() {
    let lab = Lab::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n, c TEXT COLLATE NOCASE, r TEXT COLLATE RTRIM);
         INSERT INTO t (n, c, r) VALUES (5, 'Ann', 'x'), (5.0, 'ANN', 'x  '), ('5', 'ann', 'y'), (7.5, 'anne', ' x');",
    );
    for mask in ["shape()", "email()", "choice('p': 1, 'q': 1, 'r': 1, 's')", "hex(30)"] {
        let _ = std::fs::remove_file(lab.path("copy.db"));
        lab.mask(&format!("CREATE TABLE t (n /* gen: {mask} */, c /* gen: {mask} */, r /* gen: {mask} */)"));
        let new = lab.new_one();
        let same = |column: &str, one: i64, other: i64| {
            let sql = format!("SELECT count(*) FROM t AS a JOIN t AS b ON a.{column} = b.{column}");
            count(&new, &format!("{sql} WHERE a.id = {one} AND b.id = {other}"))
        };
        assert_eq!([same("n", 1, 2), same("c", 1, 2), same("c", 1, 3), same("r", 1, 2)], [1; 4], "{mask}");
        if !mask.starts_with("choice") {
            assert_eq!(
                [same("n", 1, 3), same("n", 1, 4), same("c", 1, 4), same("r", 1, 3), same("r", 1, 4)],
                [0; 5],
                "{mask}"
            );
        }
    }
}

#[test]
fn masked_columns_of_different_collations_join_as_before() {
    let lab = Lab::new(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE);
         CREATE TABLE visits (mail TEXT, again TEXT COLLATE RTRIM);
         INSERT INTO people (mail) VALUES ('Ann@old.com'), ('bob@old.com');
         INSERT INTO visits VALUES ('ANN@old.com', 'Ann@old.com  '), ('Ann@old.com', 'bob@old.com');",
    );
    let join = "SELECT count(*) FROM people JOIN visits ON people.mail = visits.mail";
    for mask in ["email()", "hex(20)", "shape()"] {
        let _ = std::fs::remove_file(lab.path("copy.db"));
        lab.mask(&format!(
            "CREATE TABLE people (mail /* gen: {mask} */);
             CREATE TABLE visits (mail /* gen: {mask} */, again /* gen: {mask} */  )"
        ));
        let (old, new) = (lab.old(), lab.new_one());
        assert_eq!((count(&old, join), count(&new, join)), (2, 2), "{mask}");
        let other = "SELECT count(*) FROM people JOIN visits ON again = people.mail COLLATE RTRIM";
        assert_eq!((count(&old, other), count(&new, other)), (2, 2), "{mask}");
    }
}

#[test]
fn the_bytes_of_a_masked_copy_depend_on_the_mask_key_and_not_on_threads() {
    let lab = Lab::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, mail TEXT UNIQUE, at TEXT);
         WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO t SELECT i, i || '@mail.com', date('2000-01-01', i || ' days') FROM n;",
    );
    let masks =
        "CREATE TABLE t (id /* gen: permute() */, mail /* gen: email() */, at /* gen: shift(99, id) */)";
    let made = |key: &str, threads: usize| {
        let mut copy = lab.copy(masking_with(masks, key));
        copy.target = lab.path(&format!("{key} {threads}.db"));
        copy.write.threads = Some(threads);
        copy.run().unwrap();
        std::fs::read(&copy.target).unwrap()
    };
    let first = made("a key of sixteen and more", 1);
    assert!(first == made("a key of sixteen and more", 2));
    assert!(first != made("another key of sixteen and more", 2));
}
