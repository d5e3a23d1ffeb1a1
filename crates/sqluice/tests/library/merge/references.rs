//! References that follow renumbered keys: declared in the schema, recognised by names and values, or given by the user.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use proptest::prelude::*;
use sqluice::error::Error;
use sqluice::merge::{Merge, Orphans};
use sqluice::options::{OnConflict, WriteOptions};

use super::Made;
use super::twin::{integrity, open};

const HISTORY: &str = "CREATE TABLE places (id INTEGER PRIMARY KEY, url TEXT);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, place_id INT, from_visit INT NOT NULL DEFAULT 0);
    CREATE INDEX by_place ON visits (place_id);";

/// Returns SQL that makes a browser history of `count` places, with a visit to each that comes from the visit before.
fn history(name: &str, count: i64) -> String {
    format!(
        "{HISTORY} WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO places SELECT i, '{name} ' || i FROM n;
         INSERT INTO visits SELECT id, id, id - 1 FROM places"
    )
}

/// Returns the hint of an error.
fn hint(error: &Error) -> String {
    error.hint_text().unwrap_or_default()
}

#[test]
fn columns_that_seem_to_refer_to_renumbered_keys_must_be_declared_references_or_none() {
    let made = Made::by(&[&history("a", 300), &history("b", 300)]);
    let merge = made.merge().renumber(["places", "visits"]).rewrite_references(true);
    let error = merge.run().unwrap_err();
    let message = error.to_string();
    assert!(message.contains("tables places, visits get new numbers"), "{message}");
    assert!(message.contains("visits.place_id (600 of 600 values are keys of places)"), "{message}");
    assert!(message.contains("visits.from_visit (598 of 600 values are keys of visits)"), "{message}");
    let hint = hint(&error);
    assert!(
        hint.contains("`reference = visits.place_id=places.id` or `no_reference = visits.place_id`"),
        "{hint}"
    );
    assert!(
        hint.contains("`reference = visits.from_visit=visits.id` or `no_reference = visits.from_visit`"),
        "{hint}"
    );
    let one = merge.clone().references(["visits.place_id=places.id"]);
    assert!(made.refused(&one).contains("visits.from_visit"));
    let report = made
        .run(&one.clone().references(["visits.place_id=places", "\"visits\".[from_visit]=VISITS.ID"]))
        .unwrap();
    assert_eq!(report.tables[1].following, ["place_id", "from_visit"]);
    let joined = "SELECT count(*), sum(v.from_visit = 0), sum(p.url = 'b ' || (v.id - 300)), sum(v.from_visit = v.id - 1)
        FROM visits v INDEXED BY by_place JOIN places p ON p.id = v.place_id WHERE v.place_id > 300";
    assert_eq!(made.query(joined), ["300 1 300 299"]);
    // A column that the user says is no reference stays as it is.
    let stays = one.no_references(["visits.from_visit"]).write(WriteOptions::new().overwrite(true));
    let report = made.run(&stays).unwrap();
    assert_eq!(report.tables[1].following, ["place_id"]);
    assert_eq!(made.query("SELECT max(from_visit) FROM visits"), ["299"]);
}

#[test]
fn wrong_or_contradictory_references_are_refused() {
    let declared = "CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT, b UNIQUE); CREATE TABLE c (p INT REFERENCES p, q INT);";
    let made = Made::by(&[declared, declared]);
    let given = |reference: &str| made.refused(&made.merge().references([reference]));
    assert!(given("c.q").contains("c.q is not a reference"));
    assert!(given("c.r=p.id").contains("no table has a column c.r"));
    assert!(given("c.q=d.id").contains("no table has a column d.id"));
    assert!(given("c.q=p.a").contains("c.q=p.a does not refer to a key of table p"));
    assert!(given("c.q=c").contains("does not refer to a key of table c"));
    let denied = |column: &str| made.refused(&made.merge().no_references([column]));
    assert!(denied("c.p").contains("c.p is declared as a reference"));
    assert!(denied("c.x").contains("no table has a column c.x"));
    let both = made.merge().references(["c.q=p.b"]).no_references(["c.q"]);
    assert!(made.refused(&both).contains("c.q is given as a reference, too"));
    made.run(&made.merge().references(["c.q=p.b"])).unwrap();
}

#[test]
fn values_that_refer_to_no_row_refer_to_no_row_after_a_merge() {
    let table = "PRAGMA foreign_keys = OFF; CREATE TABLE places (id INTEGER PRIMARY KEY, url TEXT);
        CREATE TABLE visits (id INTEGER PRIMARY KEY, place_id INT REFERENCES places);";
    let made = Made::by(&[
        &format!(
            "{table} INSERT INTO places VALUES (1, 'a'), (5, 'a'); INSERT INTO visits VALUES (1, 1), (2, 9), (3, 0), (4, -1), (5, 3);"
        ),
        &format!(
            "{table} INSERT INTO places VALUES (2, 'b'), (4, 'b'); INSERT INTO visits VALUES (11, 2), (12, 9), (13, 0), (14, 1), (15, NULL);"
        ),
        &format!("{table} INSERT INTO visits VALUES (21, 1), (22, 5);"),
        &format!("{table} INSERT INTO places VALUES (6, 'd'); INSERT INTO visits VALUES (31, 6);"),
    ]);
    let merge = made.merge().renumber(["places"]).rewrite_references(true);
    made.run(&merge).unwrap();
    let joined = "SELECT v.id, p.url FROM visits v JOIN places p ON p.id = place_id ORDER BY v.id";
    assert_eq!(made.query(joined), ["1 a", "11 b", "31 d"]);
    assert_eq!(made.query("SELECT id FROM visits WHERE place_id <= 0"), ["3", "4", "13"]);
}

#[test]
fn defaults_of_added_columns_stay_unless_they_refer_to_a_renumbered_row() {
    let script = |default: &str| {
        format!(
            "CREATE TABLE p (id INTEGER PRIMARY KEY); INSERT INTO p VALUES (1), (2);
             CREATE TABLE c (a); INSERT INTO c VALUES ('short'); ALTER TABLE c ADD COLUMN p_id INT DEFAULT {default}; INSERT INTO c VALUES ('full', 2);"
        )
    };
    for (default, expected) in [("NULL", "NULL"), ("0", "0")] {
        let made = Made::by(&[&script(default), &script(default)]);
        made.run(&made.merge().renumber(["p"]).references(["c.p_id=p.id"])).unwrap();
        let rows = [&format!("short {expected}"), "full 2", &format!("short {expected}"), "full 4"];
        assert_eq!(made.query("SELECT * FROM c"), rows);
    }
    let made = Made::by(&[&script("1"), &script("1")]);
    let message = made.refused(&made.merge().renumber(["p"]).references(["c.p_id=p.id"]));
    assert!(
        message.contains("table c of")
            && message.contains(
                "the DEFAULT of this column, which they show, refers to a row that gets a new number"
            ),
        "{message}"
    );
}

#[test]
fn a_column_cannot_refer_to_two_renumbered_tables() {
    let script = "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE q (id INTEGER PRIMARY KEY);
        CREATE TABLE c (x INT REFERENCES p); INSERT INTO p VALUES (1); INSERT INTO q VALUES (1); INSERT INTO c VALUES (1);";
    let made = Made::by(&[script, script]);
    let merge = made.merge().renumber(["p", "q"]).rewrite_references(true).references(["c.x=q.id"]);
    assert!(made.refused(&merge).contains("c.x refers to both p and q"));
}

#[test]
fn rows_whose_parents_a_merge_leaves_out_are_refused_or_counted() {
    let tables = "CREATE TABLE customer (id INTEGER PRIMARY KEY, mail TEXT UNIQUE);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INT);
        CREATE TABLE mails (mail TEXT REFERENCES customer (mail));";
    let made = Made::by(&[
        &format!("{tables} INSERT INTO customer VALUES (1, 'ann'), (2, 'bob'); INSERT INTO orders VALUES (1, 1), (2, 2); INSERT INTO mails VALUES ('ann');"),
        &format!(
            "{tables} INSERT INTO customer VALUES (11, 'bob'), (12, 'eve'); INSERT INTO orders VALUES (11, 11), (12, 12), (13, 11), (14, 99);
             INSERT INTO mails VALUES ('bob');"
        ),
    ]);
    for on_conflict in [OnConflict::Ignore, OnConflict::Replace] {
        let merge = made.merge().write(WriteOptions::new().on_conflict(on_conflict));
        let error = merge.run().unwrap_err();
        let lost = if on_conflict == OnConflict::Ignore { "2 rows" } else { "1 row" };
        let message = error.to_string();
        assert!(
            message.contains(&format!(": {lost} of orders (customer_id) to customer (hint")),
            "{message}"
        );
        assert!(hint(&error).contains("`orphans = keep`"), "{error:#}");
        assert!(!made.target.exists());
        let report = made.run(&merge.orphans(Orphans::Keep)).unwrap();
        assert_eq!((report.orphans.len(), report.orphans[0].rows), (1, lost[..1].parse().unwrap()));
        assert_eq!(made.query("SELECT count(*) FROM orders"), ["6"]);
        std::fs::remove_file(&made.target).unwrap();
    }
    // The column is declared to be no reference.
    let merge = made
        .merge()
        .no_references(["orders.customer_id"])
        .write(WriteOptions::new().on_conflict(OnConflict::Ignore));
    made.run(&merge).unwrap();
}

#[test]
fn references_to_a_row_that_is_left_out_for_an_equal_key_are_no_orphans() {
    let tables = "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE orders (customer INT REFERENCES customer);";
    let made = Made::by(&[
        &format!("{tables} INSERT INTO customer VALUES (1, 'ann'); INSERT INTO orders VALUES (1);"),
        &format!("{tables} INSERT INTO customer VALUES (1, 'Ann'); INSERT INTO orders VALUES (1);"),
    ]);
    let report = made.run(&made.merge().write(WriteOptions::new().on_conflict(OnConflict::Ignore))).unwrap();
    assert_eq!((report.left_out_rows, report.orphans.len()), (1, 0));
}

/// The names of tables and columns in all databases of a merge, and the declared references.
struct Shape {
    places: String,
    visits: String,
    notes: String,
    place_column: &'static str,
    is_declared: bool,
    is_unique: bool,
    without_rowid: bool,
}

impl Shape {
    fn random(rng: &mut Rng) -> Shape {
        let prefix = *rng.choice(&["", "moz_", "tbl"]).unwrap();
        let is_plural = rng.bool();
        let name = |singular: &str| format!("{prefix}{singular}{}", if is_plural { "s" } else { "" });
        Shape {
            places: name("place"),
            visits: name("visit"),
            notes: name("note"),
            place_column: rng
                .choice(&[
                    "place_id",
                    "place",
                    "places_id",
                    "placeId",
                    "fk_place",
                    "id_place",
                    "last_place_id",
                    "placeid",
                    "\"place id\"",
                ])
                .unwrap(),
            is_declared: rng.u8(0..3) == 0,
            is_unique: rng.u8(0..3) == 0,
            without_rowid: rng.u8(0..4) == 0,
        }
    }

    fn statements(&self, drift: u8) -> String {
        let Shape { places, visits, notes, place_column, is_declared, is_unique, without_rowid } = self;
        let unique = if *is_unique { " UNIQUE" } else { "" };
        let references = if *is_declared { format!(" REFERENCES {places}") } else { String::new() };
        let drifted = match drift {
            0 => ", more TEXT DEFAULT 'x'",
            _ => "",
        };
        let key = if drift == 1 { "INT" } else { "TEXT" };
        let rowid = if *without_rowid { ", PRIMARY KEY (tag)) WITHOUT ROWID" } else { ")" };
        format!(
            "CREATE TABLE {places} (id INTEGER PRIMARY KEY, url TEXT{unique}, tag TEXT{drifted});
             CREATE TABLE {visits} (id INTEGER PRIMARY KEY, {place_column} INTEGER{references}, from_visit INT, tag {key});
             CREATE INDEX visit_place ON {visits} ({place_column} DESC, tag);
             CREATE TABLE {notes} (tag TEXT, subject INT{rowid};"
        )
    }

    fn fill(&self, rng: &mut Rng, db: &Path, place: i64, kind: u8, drift: u8) {
        let connection = open(db);
        connection.execute_batch(&self.statements(drift)).unwrap();
        let Shape { places, visits, notes, .. } = self;
        connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN").unwrap();
        let count = if rng.u8(0..8) == 0 { 0 } else { rng.i64(1..40) };
        let base = if kind == 0 { place * 1000 } else { 0 };
        let mut keys = Vec::new();
        for row in 0..count {
            let id = base + 1 + row * rng.i64(1..3) + if kind == 2 { place } else { 0 };
            let url = if self.is_unique { rng.i64(0..200) } else { rng.i64(0..20) };
            let sql = format!(
                "INSERT OR IGNORE INTO {places} (id, url, tag) VALUES ({id}, 'url {url}', 'p{place}-{id}')"
            );
            if connection.execute(&sql, []).unwrap() > 0 {
                keys.push(id);
            }
        }
        // Some rows refer to nothing.
        let refer = |rng: &mut Rng, keys: &[i64]| match (rng.u8(0..12), rng.choice(keys)) {
            (0, _) => "NULL".to_owned(),
            (1, _) => "0".to_owned(),
            (2, _) => rng.i64(1..90).to_string(),
            (_, Some(key)) => key.to_string(),
            (_, None) => "NULL".to_owned(),
        };
        let of_visits = rng.i64(0..60);
        let visit_keys: Vec<i64> = (0..of_visits).map(|row| base + 1 + row).collect();
        for &id in &visit_keys {
            let (to, from) = (refer(rng, &keys), refer(rng, &visit_keys));
            connection
                .execute_batch(&format!("INSERT INTO {visits} VALUES ({id}, {to}, {from}, 'v{place}-{id}')"))
                .unwrap();
        }
        for row in 0..rng.i64(0..30) {
            let to = refer(rng, &keys);
            connection
                .execute_batch(&format!("INSERT INTO {notes} VALUES ('n{place}-{row}', {to})"))
                .unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }

    /// Returns for each row, by its tag, the value of its reference, and the tag of the row that it refers to, if there is one.
    fn references(&self, db: &Path) -> HashMap<String, (Option<i64>, Option<String>)> {
        let connection = open(db);
        let Shape { places, visits, notes, place_column, .. } = self;
        let mut all = HashMap::new();
        for (what, sql) in [
            (
                "place of",
                format!(
                    "SELECT c.tag, c.{place_column}, p.tag FROM {visits} c LEFT JOIN {places} p ON p.id = c.{place_column}"
                ),
            ),
            (
                "visit before",
                format!(
                    "SELECT c.tag, c.from_visit, p.tag FROM {visits} c LEFT JOIN {visits} p ON p.id = c.from_visit"
                ),
            ),
            (
                "subject of",
                format!(
                    "SELECT c.tag, c.subject, p.tag FROM {notes} c LEFT JOIN {places} p ON p.id = c.subject"
                ),
            ),
        ] {
            let mut statement = connection.prepare(&sql).unwrap();
            let rows = statement.query_map([], |row| {
                Ok((format!("{what} {}", row.get::<_, String>(0)?), (row.get(1)?, row.get(2)?)))
            });
            all.extend(rows.unwrap().map(Result::unwrap));
        }
        all
    }

    fn tags(&self, db: &Path) -> std::collections::HashSet<String> {
        let connection = open(db);
        let sql = format!("SELECT tag FROM {} UNION ALL SELECT tag FROM {}", self.places, self.visits);
        let mut statement = connection.prepare(&sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(300))]

    #[test]
    fn references_in_a_merge_refer_to_the_same_rows_as_before(seed: u64, kind in 0u8..3, renumbers: bool, drifts in 0u8..8) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let shape = Shape::random(&mut rng);
        let count = rng.usize(2..5);
        let sources: Vec<PathBuf> = (0..count).map(|number| folder.path().join(format!("source {number}.db"))).collect();
        for (source, place) in sources.iter().zip(0..) {
            let drift = if drifts < 2 && place > 0 { drifts } else { 9 };
            shape.fill(&mut rng, source, place, kind, drift);
        }
        let target = folder.path().join("target.db");
        let on_conflict = *rng.choice(&[OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace]).unwrap();
        let keeps = rng.bool();
        let write = WriteOptions::new().threads(2).on_conflict(on_conflict).tune(|tuning| tuning.chunk_bytes = 16 << 10);
        let mut merge = Merge::new(&target, &sources).write(write).add_columns(true).rewrite_references(true);
        merge = merge.orphans(if keeps { Orphans::Keep } else { Orphans::Refuse });
        let subject = format!("{}.subject={}.id", shape.notes, shape.places);
        let mut given = vec![subject];
        if renumbers {
            merge = merge.renumber([&shape.places, &shape.visits]);
        }
        let named = [
            (format!("{}.{}", shape.visits, shape.place_column), format!("{}.id", shape.places)),
            (format!("{}.from_visit", shape.visits), format!("{}.id", shape.visits)),
        ];
        if rng.bool() {
            given.extend(named.iter().map(|(column, key)| format!("{column}={key}")));
        }
        let mut made = merge.clone().references(&given).run();
        if let Err(error) = &made
            && error.to_string().contains("seem to refer")
        {
            let text = format!("{error} {}", hint(error));
            prop_assert!(!target.exists());
            for (column, key) in &named {
                if text.contains(&format!("`reference = {column}={key}`")) {
                    prop_assert!(text.contains(&format!("`no_reference = {column}`")), "{}", text);
                    given.push(format!("{column}={key}"));
                }
            }
            prop_assert!(given.len() > 1, "{}", text);
            made = merge.clone().references(&given).run();
        }
        let report = match made {
            Ok(report) => report,
            Err(error) => {
                let message = error.to_string();
                let names = [&shape.places, &shape.visits, &shape.notes];
                prop_assert!(names.iter().any(|name| message.contains(name.as_str())), "{}", message);
                let is_known = ["is in both", "can't be merged", "can't follow", "can't be renumbered", "rows that are left out", "UNIQUE constraint", "insert the rows"];
                prop_assert!(is_known.iter().any(|known| message.contains(known)), "{}", message);
                prop_assert!(!target.exists());
                return Ok(());
            }
        };
        prop_assert_eq!(integrity(&target), "ok");
        let (merged, tags) = (shape.references(&target), shape.tags(&target));
        let followed = report.tables.iter().any(|table| table.new_keys);
        let mut orphans = 0;
        for source in &sources {
            for (row, (value, parent)) in shape.references(source) {
                // A reference that is neither declared nor given is recognised only if at least half of its values are keys. So once keys
                // are renumbered, it may not have followed them, and is skipped.
                let column = match row.split(' ').next() {
                    Some("place") => 0,
                    Some("visit") => 1,
                    _ => 2,
                };
                let is_given = column == 2 || given.contains(&format!("{}={}", named[column].0, named[column].1));
                if followed && !is_given && !(column == 0 && shape.is_declared) {
                    continue;
                }
                // The row itself may have been left out.
                let Some((new_value, new_parent)) = merged.get(&row) else { continue };
                match (&parent, new_parent) {
                    (Some(parent), Some(new)) if parent == new => {}
                    // Rows with the same key become one row, so an unchanged reference may lead to the row of another source.
                    (Some(_), Some(_)) if !followed && *new_value == value => {}
                    (Some(parent), None) => {
                        prop_assert!(!tags.contains(parent), "{} lost {}", row, parent);
                        orphans += 1;
                    }
                    (None, None) => {}
                    (None, Some(_)) if !followed && *new_value == value => {}
                    (before, after) => prop_assert!(false, "{}: {:?} {:?} became {:?} {:?}, {:?}", row, value, before, new_value, after, report.tables),
                }
                if value == Some(0) {
                    prop_assert_eq!(*new_value, Some(0), "{}", row);
                }
            }
        }
        let reported: u64 = report.orphans.iter().map(|orphans| orphans.rows).sum();
        prop_assert!(keeps || orphans == 0, "{} orphans", orphans);
        prop_assert_eq!(reported, orphans, "{:?}", report.orphans);
    }
}
