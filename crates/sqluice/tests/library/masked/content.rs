//! Masked columns of a copy have new values, and all other columns the old ones.

use std::collections::HashMap;

use fastrand::Rng;
use rusqlite::types::Value;
use sqluice::copy::Copy;
use sqluice::progress::Context;
use sqluice_testkit::tables::{Exact, by_sqlite, make_table};

use super::{Lab, count, masking, texts};

#[test]
fn equal_values_get_equal_masks_in_all_tables_and_other_columns_stay_unchanged() {
    let lab = Lab::new(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, city TEXT);
         CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customers, mail TEXT, total REAL);
         CREATE INDEX by_mail ON orders (mail);
         WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO customers SELECT i, 'Name ' || i, 'mail' || i || '@old.com', 'city ' || i % 7 FROM n;
         INSERT INTO orders SELECT id * 2, id % 500 + 1, 'mail' || (id % 500 + 1) || '@old.com', id / 4.0 FROM customers;",
    );
    let report = lab.mask(
        "CREATE TABLE customers (
           id,    -- gen: permute()
           name,  -- gen: name()
           email  -- gen: email()
         );
         CREATE TABLE orders (mail -- gen: email()
         );",
    );
    let plan = report.mask.unwrap();
    let followed = plan.columns.iter().find(|column| column.column == "customer").unwrap();
    assert_eq!(followed.follows.as_deref(), Some("customers.id"));
    let (old, new) = (lab.old(), lab.new_one());
    let joined = "SELECT count(*) FROM orders JOIN customers ON customers.id = customer AND mail = email";
    assert_eq!(count(&new, joined), 3000);
    assert_eq!(count(&new, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_eq!(count(&new, "SELECT count(DISTINCT email) FROM customers"), 3000);
    assert_eq!(count(&new, "SELECT count(*) FROM customers WHERE email LIKE '%.example'"), 3000);
    assert_eq!(count(&new, "SELECT count(*) FROM customers WHERE id <= 3000"), 0);
    let kept = "SELECT total FROM orders ORDER BY id";
    assert_eq!(texts(&old, kept), texts(&new, kept));
    let cities = "SELECT city, count(*) FROM customers GROUP BY city ORDER BY 1";
    assert_eq!(texts(&old, cities), texts(&new, cities));
}

#[test]
fn null_stays_null_under_a_mask_and_shift_keeps_the_distances_between_dates() {
    let lab = Lab::new(
        "CREATE TABLE visits (person INT, came TEXT, went TEXT, paid REAL, note TEXT);
         WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 999)
         INSERT INTO visits SELECT i % 50, date('2020-01-01', i || ' days'), datetime('2020-01-01 10:00:00', i + 3 || ' days'),
           i * 1.25, CASE WHEN i % 3 THEN 'note' || i END FROM n;",
    );
    lab.mask(
        "CREATE TABLE visits (came, -- gen: shift(30, person)
           went, -- gen: shift(30, person)
           paid, -- gen: noise(0.1)
           note  -- gen: shape()
         )",
    );
    let (old, new) = (lab.old(), lab.new_one());
    let apart = "SELECT julianday(went) - julianday(came) FROM visits ORDER BY rowid";
    assert_eq!(texts(&old, apart), texts(&new, apart));
    let nulls = "SELECT count(*) FROM visits WHERE note IS NULL";
    assert_eq!(count(&old, nulls), count(&new, nulls));
    new.execute("ATTACH ?1 AS old", [lab.source.to_str().unwrap()]).unwrap();
    let both = "FROM visits AS new JOIN old.visits AS was ON was.rowid = new.rowid";
    let moved = format!(
        "SELECT count(DISTINCT julianday(new.came) - julianday(was.came)) {both} GROUP BY was.person"
    );
    assert_eq!(count(&new, &format!("SELECT max(1) FROM ({moved}) HAVING count(*) = 50")), 1);
    assert_eq!(count(&new, &format!("SELECT count(*) {both} WHERE new.came = was.came")), 0);
    assert_eq!(
        count(
            &new,
            &format!("SELECT count(*) {both} WHERE abs(new.paid - was.paid) > max(was.paid * 0.11, 1)")
        ),
        0
    );
    assert_eq!(count(&new, &format!("SELECT count(*) {both} WHERE length(new.note) <> length(was.note)")), 0);
}

#[test]
fn the_mask_shift_changes_times_and_keeps_the_distances_between_them() {
    let lab = Lab::new(
        "CREATE TABLE visits (person INT, came TEXT, went TEXT, unix INT, year INT);
         WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 999)
         INSERT INTO visits SELECT i % 50, datetime('2020-01-01 10:00:00', i || ' days'),
           datetime('2020-01-01 10:00:00', (i + 3) || ' days'), 1500000000 + i * 86400, 1950 + i % 60 FROM n;
         INSERT INTO visits VALUES (1, NULL, NULL, 0, -1);",
    );
    let shift = "/* gen: shift(30, person) */";
    let masks = format!("CREATE TABLE visits (came {shift}, went {shift}, unix {shift}, year {shift})");
    let report = lab.mask(&masks);
    let weak: Vec<String> = report.mask.unwrap().weak.iter().map(ToString::to_string).collect();
    for said in [
        "visits.unix: 1 of the first 1001 values are 0 or -1, and stay",
        "visits.year: 1000 of the first 1001 values are years, and move by at most 1",
    ] {
        assert!(weak.iter().any(|remark| remark == said), "{weak:#?}");
    }
    let (old, new) = (lab.old(), lab.new_one());
    let apart = "SELECT round((julianday(went) - julianday(came)) * 86400) FROM visits ORDER BY rowid";
    assert_eq!(texts(&old, apart), texts(&new, apart));
    let stays = "SELECT count(*) FROM visits WHERE time(came) = '10:00:00' OR (unix > 0 AND unix % 86400 = 1500000000 % 86400)";
    assert_eq!((count(&old, stays), count(&new, stays)), (1000, 0));
    new.execute("ATTACH ?1 AS old", [lab.source.to_str().unwrap()]).unwrap();
    let both = "FROM visits AS new JOIN old.visits AS was ON was.rowid = new.rowid";
    let within = format!(
        "SELECT count(*) {both} WHERE abs(new.unix - was.unix) BETWEEN 1 AND 30 * 86400 AND abs(new.year - was.year) = 1"
    );
    assert_eq!(count(&new, &within), 1000);
    assert_eq!(count(&new, "SELECT count(*) FROM visits WHERE unix = 0 AND year = -1"), 1);
}

#[test]
fn the_mask_shift_refuses_a_number_that_is_no_time_without_showing_the_number() {
    let lab = Lab::new(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, age INT); INSERT INTO people VALUES (1, 43831);",
    );
    let error = lab.try_mask("CREATE TABLE people (age /* gen: shift(30, id) */)").unwrap_err();
    let said = format!("{error} {:?}", error.hint_text());
    assert!(
        said.contains("not a date or time") && said.contains("shape()") && !said.contains("43831"),
        "{said}"
    );
}

/// Asserts that NULLs of a column stay NULL and no other value becomes NULL, that equal old values became equal new values, and that a
/// column of many values has changed: a value without letters and digits keeps its shape, and so stays.
fn assert_masked(old: &[Vec<Exact>], new: &[Vec<Exact>], column: usize) {
    let mut became: HashMap<String, &Exact> = HashMap::new();
    let mut changed = false;
    for (was, is) in old.iter().zip(new) {
        let (was, is) = (&was[column], &is[column]);
        assert_eq!(*was == Exact::Null, *is == Exact::Null);
        changed |= was != is;
        let before = became.insert(format!("{was:?}"), is);
        assert!(before.is_none_or(|before| before == is), "{was:?} became {before:?} and {is:?}");
    }
    assert!(changed || became.len() < 10, "no value of {} has changed", became.len());
}

#[test]
fn columns_without_a_mask_keep_their_values_in_random_databases() {
    for seed in 0..40 {
        let lab = Lab::empty();
        let mut rng = Rng::with_seed(seed);
        let table = make_table(&mut rng, &lab.source);
        let name = format!("\"{}\"", table.replace('"', "\"\""));
        let all = format!("SELECT rowid, * FROM {name}");
        let without_rowid = lab.old().prepare(&all).is_err();
        let order = if without_rowid { "k" } else { "rowid" };
        let select = format!("SELECT * FROM {name} ORDER BY {order}");
        let connection = lab.old();
        let statement = connection.prepare(&select).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        drop(statement);
        drop(connection);
        let chosen: Vec<&String> =
            columns.iter().filter(|name| !["k", "s", "v"].contains(&name.as_str()) && rng.bool()).collect();
        if chosen.is_empty() {
            continue;
        }
        let masks: Vec<String> = chosen.iter().map(|name| format!("{name} /* gen: shape() */")).collect();
        let mask = format!("CREATE TABLE {name} ({})", masks.join(", "));
        lab.mask(&mask);
        let (old, new) = (by_sqlite(&lab.source, &select), by_sqlite(&lab.path("copy.db"), &select));
        assert_eq!(old.len(), new.len(), "seed {seed}");
        for (column, name) in columns.iter().enumerate() {
            if chosen.contains(&name) {
                assert_masked(&old, &new, column);
            } else if !["s", "v"].contains(&name.as_str()) {
                let of = |rows: &[Vec<Exact>]| rows.iter().map(|row| row[column].clone()).collect::<Vec<_>>();
                assert_eq!(of(&old), of(&new), "seed {seed}, column {name}");
            }
        }
        if !without_rowid {
            let rowids = format!("SELECT rowid FROM {name} ORDER BY rowid");
            assert_eq!(
                by_sqlite(&lab.source, &rowids),
                by_sqlite(&lab.path("copy.db"), &rowids),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn indexes_of_a_masked_copy_have_the_masked_values() {
    let lab = Lab::new(
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT COLLATE NOCASE, b INT CHECK (b > 0), c AS (a || b),
                         d TEXT NOT NULL, UNIQUE (a, b));
         CREATE INDEX plain ON t (a DESC, b);
         CREATE INDEX partial ON t (d) WHERE b > 10;
         CREATE INDEX computed ON t (upper(a), c);
         CREATE TABLE w (k TEXT, v, PRIMARY KEY (k)) WITHOUT ROWID;
         CREATE INDEX of_w ON w (v);
         CREATE TABLE g (a TEXT, b AS (upper(a)) STORED, c INT);
         CREATE INDEX of_g ON g (b);
         CREATE VIEW seen AS SELECT * FROM t WHERE a <> 'x';
         WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO t (id, a, b, d) SELECT i * 3, 'Text' || i % 90, i, 'd' || i FROM n;
         INSERT INTO w SELECT d, a FROM t;
         INSERT INTO g (rowid, a, c) SELECT id * 5, a, id FROM t;
         DELETE FROM t WHERE id > 1400; ANALYZE;",
    );
    let report = lab.mask(
        "CREATE TABLE t (id, -- gen: permute()
           a, -- gen: shape()
           d  -- gen: text(12, 12)
         );
         CREATE TABLE w (k, -- gen: text(12, 12)
           v  -- gen: shape()
         );
         CREATE TABLE g (a /* gen: shape() */)",
    );
    assert!(report.mask.unwrap().dropped.contains(&"sqlite_stat4".to_owned()));
    let new = lab.new_one();
    assert_eq!(
        count(&new, "SELECT count(*) FROM t JOIN w ON k = d AND v = a"),
        count(&lab.old(), "SELECT count(*) FROM t JOIN w ON k = d AND v = a")
    );
    assert_eq!(count(&new, "SELECT seq = (SELECT max(id) FROM t) FROM sqlite_sequence"), 1);
    let statistics = "SELECT count(*) FROM sqlite_stat1";
    assert_eq!(count(&new, statistics), count(&lab.old(), statistics));
    assert_eq!(count(&new, "SELECT count(*) FROM g WHERE b <> upper(a)"), 0);
    assert_eq!(
        texts(&new, "SELECT c FROM g ORDER BY rowid"),
        texts(&lab.old(), "SELECT c FROM g ORDER BY rowid")
    );
    assert_eq!(texts(&new, "SELECT rowid FROM g"), texts(&lab.old(), "SELECT rowid FROM g"));
    let groups = "SELECT count(*) FROM t GROUP BY a ORDER BY 1";
    assert_eq!(texts(&new, groups), texts(&lab.old(), groups));
}

#[test]
fn a_copy_of_some_tables_is_masked_and_its_preview_writes_no_file() {
    let lab = Lab::new(
        "CREATE TABLE t (a TEXT, b TEXT); CREATE TABLE u (a TEXT); CREATE INDEX t_b ON t (b);
         INSERT INTO t VALUES ('secret', 'known'), ('other', NULL); INSERT INTO u VALUES ('left');",
    );
    let masks = "CREATE TABLE t (a /* gen: shape() */)";
    let copy: Copy = lab.copy(masking(masks)).exclude_tables(["u"]).no_indexes(true);
    let preview = copy.preview(1, &Context::default()).unwrap();
    assert_eq!(
        (preview.len(), preview[0].rows.len(), &preview[0].columns[..]),
        (1, 1, &["a".to_owned(), "b".to_owned()][..])
    );
    assert!(!lab.path("copy.db").exists());
    copy.run().unwrap();
    lab.assert_sound();
    let first: Value = lab.new_one().query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(
        preview[0].rows[0][0].to_string(),
        if let Value::Text(text) = first { text } else { String::new() }
    );
    assert_eq!(count(&lab.new_one(), "SELECT count(*) FROM sqlite_schema"), 1);
}
