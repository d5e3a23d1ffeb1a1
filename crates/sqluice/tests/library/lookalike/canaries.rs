//! Rare values of a database are neither in its profile nor in its look-alike, the database that is generated from the profile.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::compare::{generate, profile};
use super::schemas::{Shape, make};
use crate::support::Random;
use crate::support::files::Home;
use sqluice_testkit::effort::tries;

/// Values that occur nowhere else, each in at most 19 rows.
struct Canaries {
    texts: Vec<String>,
    ints: Vec<i64>,
    reals: Vec<f64>,
    blobs: Vec<Vec<u8>>,
}

impl Canaries {
    fn new(seed: u64) -> Canaries {
        Canaries {
            texts: (0..4)
                .map(|number| format!("Zqx{number} Wvfk{seed:04} Jpbm"))
                .chain([format!("qzxv{seed:04}@wvkj.example.net")])
                .collect(),
            ints: (0..3).map(|number| 0x0123_4567_89ab + (seed as i64) * 7919 + number * 104_729).collect(),
            reals: (0..3)
                .map(|number| 31_415.926_535_897 + seed as f64 * 1.000_37 + f64::from(number))
                .collect(),
            blobs: (0..3)
                .map(|number| {
                    [b"\xca\xfa\x11\xee".as_slice(), &seed.to_be_bytes()[4..], &[number, 0xd0, 0x0d]].concat()
                })
                .collect(),
        }
    }

    /// Returns a canary that a column of this shape may have.
    fn of(&self, random: &mut Random, shape: Shape) -> Option<Value> {
        match shape {
            Shape::Words | Shape::Code | Shape::Codes | Shape::Mail => {
                Some(Value::Text(self.texts[random.below(self.texts.len())].clone()))
            }
            Shape::Mixed => Some(Value::Text(self.texts[random.below(self.texts.len())].clone())),
            Shape::Number | Shape::Skewed | Shape::Stepped | Shape::Flag => {
                Some(Value::Integer(self.ints[random.below(3)]))
            }
            Shape::Real => Some(Value::Real(self.reals[random.below(3)])),
            Shape::Blob => Some(Value::Blob(self.blobs[random.below(3)].clone())),
            Shape::Category | Shape::Price | Shape::Day | Shape::Second => None,
        }
    }

    /// Returns the byte sequences that no output may have.
    fn needles(&self) -> Vec<Vec<u8>> {
        let texts = self.texts.iter().map(|text| text.as_bytes().to_vec());
        // A record has six bytes of these integers, and eight of a real.
        let ints = self.ints.iter().map(|int| int.to_be_bytes()[2..].to_vec());
        let spelled = self.ints.iter().map(|int| int.to_string().into_bytes());
        let reals = self.reals.iter().map(|real| real.to_be_bytes().to_vec());
        let real_texts = self.reals.iter().map(|real| format!("{real}").into_bytes());
        texts
            .chain(ints)
            .chain(spelled)
            .chain(reals)
            .chain(real_texts)
            .chain(self.blobs.iter().cloned())
            .collect()
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn rare_values_appear_neither_in_a_profile_nor_in_the_database_generated_from_the_profile() {
    let mut planted = 0;
    for seed in 0..tries(12, 60, 1000) {
        let home = Home::new();
        let original = home.path("original.db");
        let canaries = Canaries::new(seed);
        let mut left = 19;
        let connection = Connection::open(&original).unwrap();
        make(&connection, &mut Random(seed ^ 0xca4a), |random, shape| {
            if left == 0 || random.below(40) > 0 {
                return None;
            }
            let value = canaries.of(random, shape)?;
            left -= 1;
            planted += 1;
            Some(value)
        });
        drop(connection);
        let report = profile(&original);
        generate(&report, &home.path("like.db"));
        let (before, like) =
            (std::fs::read(&original).unwrap(), std::fs::read(home.path("like.db")).unwrap());
        for needle in canaries.needles() {
            let shown = String::from_utf8_lossy(&needle).into_owned();
            assert!(!contains(report.text.as_bytes(), &needle), "seed {seed}: {shown:?} in\n{}", report.text);
            assert!(
                !contains(&like, &needle),
                "seed {seed}: {shown:?} in the look-alike of\n{}",
                report.text
            );
        }
        assert!(
            left == 19 || canaries.needles().iter().any(|needle| contains(&before, needle)),
            "the search finds nothing"
        );
    }
    assert!(planted > 100, "{planted}");
}

#[test]
fn a_profile_shows_no_values_of_personal_columns_and_none_at_all_on_request() {
    let home = Home::new();
    let original = home.path("original.db");
    let connection = Connection::open(&original).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, last_name TEXT, state TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO person SELECT i, CASE i % 2 WHEN 0 THEN 'Xylander' ELSE 'Quarternook' END, CASE i % 3 WHEN 0 THEN 'open' ELSE 'shut' END FROM n;",
        )
        .unwrap();
    let report = profile(&original);
    assert!(report.text.contains("shares('shut': 267, 'open': 133)"), "{}", report.text);
    assert!(!report.text.contains("Xylander") && !report.text.contains("Quarternook"), "{}", report.text);
    assert!(report.text.contains("person.last_name: a person's name, by its name"), "{}", report.text);
    let none = sqluice::profile::Profile::new(&original).no_values(true);
    let none = none.run().unwrap();
    assert!(!none.text.contains("open") && !none.text.contains("shut"), "{}", none.text);
}

#[test]
fn comments_and_literals_of_the_schema_are_dropped_and_listed() {
    let home = Home::new();
    let original = home.path("original.db");
    let connection = Connection::open(&original).unwrap();
    connection
        .execute_batch("CREATE TABLE t (a TEXT DEFAULT 'Bartholomew', -- ask Wendeline\n b INT); INSERT INTO t VALUES ('x', 1);")
        .unwrap();
    let report = profile(&original);
    assert!(!report.text.contains("Wendeline"), "{}", report.text);
    assert_eq!(report.literals, ["'Bartholomew'"]);
}

#[test]
fn schema_literals_in_a_profile_are_listed_or_stripped_and_comments_are_removed() {
    for seed in 0..tries(10, 60, 1000) {
        let home = Home::new();
        let original = home.path("original.db");
        let mut random = Random(seed);
        let mut canaries: Vec<(String, bool)> = Vec::new();
        let mut literal = |is_strippable: bool| {
            let canary = format!("Zqx{seed:04} Wvfk{}", canaries.len());
            canaries.push((canary.clone(), is_strippable));
            if random.below(2) == 0 { format!("\"{canary}\"") } else { format!("'{canary}'") }
        };
        let (default, check, made) = (literal(true), literal(true), literal(false));
        let (index, unique, view, trigger) = (literal(true), literal(false), literal(true), literal(true));
        let sql = format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, -- Ucanary
               kind TEXT DEFAULT {default} /* Ucanary */ CHECK (kind <> {check}), made TEXT AS (kind || {made}));
             CREATE INDEX plain ON t (upper(kind || {index})); -- Ucanary
             CREATE UNIQUE INDEX one ON t (id) WHERE kind <> {unique};
             CREATE VIEW v AS /* Ucanary */ SELECT id, {view} AS \"an alias\" FROM t;
             CREATE TRIGGER g AFTER DELETE ON t BEGIN UPDATE t SET kind = {trigger}; END;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
             INSERT INTO t (kind) SELECT 'kind ' || i FROM n;"
        );
        Connection::open(&original).unwrap().execute_batch(&sql).unwrap();
        for strips in [false, true] {
            let profile = sqluice::profile::Profile::new(&original).no_values(true).strip_literals(strips);
            let report = profile.run().unwrap();
            assert!(!report.text.contains("Ucanary"), "{}", report.text);
            for (canary, is_strippable) in &canaries {
                let is_listed = report.literals.contains(&format!("'{canary}'"));
                assert_eq!(report.text.contains(canary), is_listed, "{canary}: {}", report.text);
                assert_eq!(is_listed, !(strips && *is_strippable), "{canary}: {}", report.text);
            }
            generate(&report, &home.path(&format!("like-{strips}.db")));
        }
    }
}

#[test]
fn a_profile_does_not_show_extreme_numbers_of_a_single_row() {
    let home = Home::new();
    let original = home.path("original.db");
    Connection::open(&original)
        .unwrap()
        .execute_batch(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, years INT, children INT, born INT, paid REAL);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO person SELECT i, 18 + i * 7919 % 60, i * 31 % 4, 1945 + i * 7919 % 60, i * 7919 % 5000 / 100.0 FROM n;
             UPDATE person SET years = 107, children = 13, born = 1907, paid = 98765.43 WHERE id = 500;",
        )
        .unwrap();
    for no_values in [false, true] {
        let text = sqluice::profile::Profile::new(&original).no_values(no_values).run().unwrap().text;
        for shown in ["107", "106", "13.5", "12.5", "15.5", "1907", "1906", "98765", "987"] {
            assert!(!text.contains(shown), "{shown}: {text}");
        }
    }
}
