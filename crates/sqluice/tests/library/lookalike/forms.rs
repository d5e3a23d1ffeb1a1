//! Databases that are generated from profiles keep the forms of texts, fill full-text tables, have more keys for more rows, and the profile
//! names what is left out.

use rusqlite::Connection;
use sqluice::generate::{Extent, Generate};
use sqluice::profile::ProfileReport;
use sqluice::progress::Context;
use sqluice::report::Report;

use super::compare::{number, profile};
use crate::support::Random;
use crate::support::files::{Home, open};

fn original(home: &Home, sql: &str) -> Connection {
    let connection = Connection::open(home.path("original.db")).unwrap();
    connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    connection
}

/// Makes the look-alike, whose tables have `scale` times the rows.
fn like(home: &Home, scale: f64) -> (ProfileReport, Report, Connection) {
    let profile = profile(&home.path("original.db"));
    let generate = Generate::new(home.path("like.db"), profile.schema().unwrap()).seed(3);
    let prepared = generate.extent(Extent::new().scale(scale)).prepare(&Context::default());
    let prepared = prepared.unwrap_or_else(|error| panic!("{error}\n{}", profile.text));
    let report =
        prepared.run(&Context::default()).unwrap_or_else(|error| panic!("{error}\n{}", profile.text));
    let made = open(&home.path("like.db"));
    (profile, report, made)
}

#[test]
fn generated_names_times_and_addresses_have_the_forms_of_the_original() {
    let home = Home::new();
    let connection = original(
        &home,
        "CREATE TABLE person (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, email TEXT UNIQUE, site TEXT, at TEXT, seen TEXT, word TEXT)",
    );
    let random = &mut Random(4);
    let mut insert =
        connection.prepare("INSERT INTO person VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)").unwrap();
    let letters = |random: &mut Random, count: usize| -> String {
        (0..count).map(|_| (b'a' + random.below(26) as u8) as char).collect()
    };
    for row in 0..2000 {
        let name = format!("Q{}", letters(random, 3 + row % 5));
        let length = 20 + random.below(15);
        let at = format!("2024-{:02}-{:02}T{:02}:30:{:02}", 1 + row % 12, 1 + row % 28, row % 24, row % 60);
        let word = format!("w{:04}x", random.below(400) * random.below(400) / 400 * random.below(100) / 100);
        insert
            .execute((
                row as i64,
                &name,
                format!("R{}", letters(random, 4 + row % 7)),
                format!("{row:05}{}@{}.org", letters(random, length), letters(random, 6)),
                format!("https://{}.org/{}", letters(random, 8), letters(random, length)),
                format!("{at}.{:03}Z", random.below(1000)),
                &at,
                word,
            ))
            .unwrap();
    }
    drop(insert);
    let (profile, _, made) = like(&home, 1.0);
    let text = &profile.text;
    assert!(text.contains("first_name()") && text.contains("last_name()"), "{text}");
    let all = |condition: &str| {
        assert_eq!(
            number(&made, &format!("SELECT count(*) FROM person WHERE {condition}")),
            2000.0,
            "{condition}\n{text}"
        );
    };
    all(
        "at GLOB '2024-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9][0-9]Z' OR at LIKE '202_-__-__T__:__:__.___Z'",
    );
    all("julianday(seen) IS NOT NULL AND substr(seen, 11, 1) = 'T' AND length(seen) = 19");
    all("email LIKE '%_@_%.example' AND site LIKE 'https://_%'");
    for column in ["email", "site"] {
        let [one, other] = [&connection, &made]
            .map(|connection| number(connection, &format!("SELECT avg(length({column})) FROM person")));
        assert!((one - other).abs() < 0.03 * one, "{column}: {one} and {other}\n{text}");
    }
    let top = |connection: &Connection| {
        number(
            connection,
            "SELECT sum(n) FROM (SELECT count(*) AS n FROM person GROUP BY word ORDER BY 1 DESC LIMIT 20)",
        )
    };
    let (one, other) = (top(&connection), top(&made));
    assert!((one - other).abs() < 60.0, "{one} and {other}\n{text}");
}

#[test]
fn full_text_tables_of_a_generated_database_find_its_text() {
    let home = Home::new();
    original(
        &home,
        "CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
         INSERT INTO note SELECT i, 'some lorem words of row ' || i || ' and others that follow them' FROM n;
         CREATE VIRTUAL TABLE note_text USING fts5(body, content='note', content_rowid='id');
         INSERT INTO note_text (note_text) VALUES ('rebuild');",
    );
    let (profile, _, made) = like(&home, 1.0);
    let word: String = made
        .query_row("SELECT substr(body, 1, instr(body, ' ') - 1) FROM note LIMIT 1", [], |row| row.get(0))
        .unwrap();
    let found = number(&made, &format!("SELECT count(*) FROM note_text WHERE note_text MATCH '\"{word}\"'"));
    assert!(found >= 1.0, "{word}\n{}", profile.text);
}

#[test]
fn a_generated_table_with_a_composite_key_can_have_ten_times_the_rows() {
    let home = Home::new();
    original(
        &home,
        "CREATE TABLE reading (sensor TEXT, day TEXT, slot INTEGER, value REAL, UNIQUE (sensor, day, slot));
         WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1199)
         INSERT INTO reading SELECT 's' || (i % 4), date('2024-01-01', (i / 4 % 100) || ' days'), i / 400, i * 0.5 FROM n;",
    );
    let (profile, report, made) = like(&home, 10.0);
    assert_eq!(report.dropped, [], "{}", profile.text);
    assert_eq!(number(&made, "SELECT count(*) FROM reading"), 12_000.0, "{}", profile.text);
    assert_eq!(number(&made, "SELECT count(DISTINCT sensor) FROM reading"), 4.0, "{}", profile.text);
}

#[test]
fn tables_with_collations_of_an_application_are_left_out_of_a_profile_and_named() {
    let home = Home::new();
    let connection = original(
        &home,
        "CREATE TABLE kept (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO kept VALUES (1, 'a'), (2, 'b');
         CREATE TABLE odd (a TEXT COLLATE NOCASE PRIMARY KEY); INSERT INTO odd VALUES ('x');
         CREATE INDEX odd_i ON odd (a);
         CREATE INDEX kept_i ON kept (a COLLATE NOCASE);
         PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'special');",
    );
    drop(connection);
    let (profile, _, made) = like(&home, 1.0);
    let notes = profile.notes.join("\n");
    assert!(notes.contains("odd") && notes.contains("kept_i") && notes.contains("special"), "{notes}");
    assert_eq!(number(&made, "SELECT count(*) FROM kept"), 2.0);
    assert_eq!(number(&made, "SELECT count(*) FROM sqlite_schema WHERE name = 'odd'"), 0.0);
}
