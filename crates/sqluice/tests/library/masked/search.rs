//! A strict copy searches all rows of columns without a mask for personal data, and its findings show no value of a row.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Connection, params};
use sqluice::copy::{MaskPlan, Masking};
use sqluice::error::{Error, ErrorKind};
use sqluice::options::WriteOptions;
use sqluice::progress::{Amount, Cancel, Context, Progress};

use super::{Lab, count, masking};

const MASK: &str = "CREATE TABLE people (name /* gen: name() */, mail /* gen: email() */)";

/// Makes a table of people with a mask, and what these statements add.
fn with(sql: &str) -> Lab {
    let lab = Lab::new(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, mail TEXT);
         INSERT INTO people VALUES (1, 'Zacharias Quux', 'zq@old.com'), (2, 'Mo', 'mo@old.com'), (3, 'Xerxes', NULL);",
    );
    lab.old().execute_batch(sql).unwrap();
    lab
}

fn numbers(to: usize) -> String {
    format!("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {to})")
}

fn plan(lab: &Lab, masking: Masking) -> MaskPlan {
    let prepared = lab.copy(masking).prepare(&Context::default()).unwrap();
    prepared.plan().mask.clone().unwrap()
}

/// Returns the findings, such as `log.line: an e-mail address by values (1)` and `log.line holds people.name (3)`.
fn findings(plan: &MaskPlan) -> Vec<String> {
    let warnings = plan.warnings.iter();
    let warnings = warnings.map(|found| {
        format!("{}.{}: {} by {} ({})", found.table, found.column, found.what, found.by, found.count)
    });
    let places = plan.second_places.iter();
    let places = places
        .map(|place| format!("{}.{} holds {} ({})", place.table, place.column, place.masked, place.count));
    warnings.chain(places).collect()
}

#[track_caller]
fn assert_found(sql: &str, expected: &[&str]) {
    let lab = with(sql);
    let plan = plan(&lab, masking(MASK));
    assert_eq!(findings(&plan), expected, "{sql}");
    let strict = lab.copy(masking(MASK).strict(true)).run();
    match expected {
        [] => drop(strict.unwrap()),
        _ => assert_secret(&strict.unwrap_err()),
    }
    let names = sqluice_testkit::names(lab.folder.path());
    assert_eq!(names.iter().any(|name| name == "copy.db"), expected.is_empty(), "{names:?}");
}

/// Asserts that an error shows no value of the tests.
fn assert_secret(error: &Error) {
    let text = format!("{error:?} {error} {:?}", error.hint_text());
    for secret in ["zq@", "Quux", "Xerxes", "secret.org", "hunter2"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn the_search_for_personal_values_reads_all_rows() {
    let late = |value: &str, others: &str| {
        format!(
            "CREATE TABLE log (line); {} INSERT INTO log SELECT CASE i WHEN 40001 THEN {value} ELSE {others} END FROM n;",
            numbers(50_000)
        )
    };
    assert_found(&late("'jane@secret.org'", "'line ' || i"), &["log.line: an e-mail address by values (1)"]);
    assert_found(
        &late("'she is jane@secret.org, I think'", "i"),
        &["log.line: an e-mail address by values (1)"],
    );
    assert_found(&late("'DE89 3704 0044 0532 0130 00'", "''"), &["log.line: a bank account by values (1)"]);
    assert_found(&late("5500005555555559", "i"), &["log.line: a payment card by values (1)"]);
    assert_found(&late("'call +49 30 1234567'", "i"), &["log.line: a telephone number by values (1)"]);
    assert_found(&late("'2001:db8::8a2e:370:7334'", "i"), &["log.line: a network address by values (1)"]);
    assert_found(&late("'nothing'", "i"), &[]);
}

#[test]
fn several_hundred_names_in_consecutive_rows_are_found_among_other_values() {
    let names = |rows: &str| {
        format!(
            "CREATE TABLE log (line TEXT); {} INSERT INTO log SELECT CASE WHEN {rows} THEN
               substr('Anna PeterMariaJamesLindaSarahKarenNancyFrankScottKevinJasonJacobLarryHelenClaraLukasKlaus', i % 18 * 5 + 1, 5)
               ELSE 'Blue Lamp' END FROM n; UPDATE log SET line = trim(line);",
            numbers(30_000)
        )
    };
    let lab = with(&names("i BETWEEN 20000 AND 20511"));
    let found = plan(&lab, masking(MASK)).warnings;
    assert!(found.len() == 1 && found[0].what == "a person's name" && found[0].count > 200, "{found:?}");
    // A few names among other texts may be names of things, and are no finding.
    assert_found(&names("i % 100 = 0"), &[]);
}

#[test]
fn personal_values_in_json_and_blobs_are_found() {
    let one = |value: &str| {
        format!(
            "CREATE TABLE log (line); {} INSERT INTO log SELECT i FROM n; UPDATE log SET line = {value} WHERE rowid = 900;",
            numbers(1000)
        )
    };
    for (value, expected) in [
        (r#"'{"a": [1, {"b": "jane@secret.org"}]}'"#, "log.line: an e-mail address by values (1)"),
        (r#"'{"a": "jane\u0040secret.org"}'"#, "log.line: an e-mail address by values (1)"),
        (r#"'{"smtp": {"password": "hunter2"}}'"#, "log.line: a secret by keys (1)"),
        (r#"jsonb('{"a": ["jane@secret.org"]}')"#, "log.line: an e-mail address by values (1)"),
        ("x'00ff' || '<jane@secret.org>'", "log.line: an e-mail address by values (1)"),
        ("CAST(x'00ff' || '<jane@secret.org>' AS BLOB)", "log.line: an e-mail address by values (1)"),
        (r#"'{"buyer": "Zacharias Quux"}'"#, "log.line holds people.name (1)"),
        ("CAST('Zacharias Quux' AS BLOB)", "log.line holds people.name (1)"),
    ] {
        assert_found(&one(value), &[expected]);
    }
    assert_found(&one(r#"'{"password": true, "a": null, "b": "plain", "password_count": 3}'"#), &[]);
    assert_found(&one("randomblob(20000)"), &[]);
}

#[test]
fn values_beside_keys_such_as_api_token_are_found_as_secrets() {
    for (columns, key) in [
        ("name TEXT, value TEXT", "api_token"),
        ("key TEXT PRIMARY KEY, value", "passphrase"),
        ("option_id INTEGER PRIMARY KEY, option_name TEXT, option_value TEXT", "smtp.secret"),
    ] {
        let [first, .., second] = *columns
            .split(", ")
            .map(|column| column.split(' ').next().unwrap())
            .filter(|name| *name != "option_id")
            .collect::<Vec<_>>()
        else {
            panic!("{columns}")
        };
        let insert = |key: &str, value: &str| {
            format!(
                "CREATE TABLE settings ({columns}); {} INSERT INTO settings ({first}, {second}) SELECT 'k' || i, i FROM n;
                 INSERT INTO settings ({first}, {second}) VALUES ('{key}', '{value}');",
                numbers(600)
            )
        };
        assert_found(&insert(key, "hunter2"), &[&format!("settings.{second}: a secret by keys (1)")]);
        assert_found(&insert(key, "true"), &[]);
        assert_found(&insert("colour", "hunter2"), &[]);
    }
}

#[test]
fn values_of_masked_columns_are_found_in_other_columns_as_whole_values() {
    let orders = "CREATE TABLE orders (id INTEGER PRIMARY KEY, ship TEXT, note_id TEXT);";
    assert_found(
        &format!(
            "{orders} INSERT INTO orders (ship) VALUES ('Zacharias Quux'), ('Xerxes'), ('Xerxes'), ('other');"
        ),
        &["orders.ship holds people.name (3)"],
    );
    // A short text, a part of a text and a text in another case may be equal by chance, and are no finding.
    assert_found(
        &format!("{orders} INSERT INTO orders (ship) VALUES ('Mo'), ('to Xerxes'), ('xerxes');"),
        &[],
    );
    let lab = with(&format!("{orders} INSERT INTO orders (ship) VALUES ('Xerxes');"));
    let text = lab.copy(masking(MASK)).prepare(&Context::default()).unwrap().plan().to_string();
    assert!(
        text.contains(
            "warning: orders.ship has no mask, and 1 of its values occurs in people.name, which is masked"
        ),
        "{text}"
    );
}

#[test]
fn with_little_memory_only_a_sample_of_the_masked_values_is_searched_for_and_the_report_says_so() {
    let lab = with(&format!(
        "{} INSERT INTO people (name) SELECT 'person ' || i FROM n; CREATE TABLE orders (ship TEXT);
         INSERT INTO orders SELECT name FROM people WHERE id > 3;",
        numbers(500_000)
    ));
    let mut copy = lab.copy(masking(MASK));
    copy.write = WriteOptions::new().memory_bytes(24 << 20).threads(1);
    let report = copy.run().unwrap().mask.unwrap();
    let remark = report.remarks.iter().find(|remark| remark.about == "masked texts").unwrap();
    assert!(remark.what.contains("one of 2 was looked for"), "{remark:?}");
    let place = &report.second_places[0];
    assert!((245_000..255_000).contains(&place.count), "{place:?}");
    lab.assert_sound();
}

#[test]
fn columns_computed_from_masked_columns_are_not_reported_as_unmasked() {
    let lab = Lab::new(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, mail TEXT, lower_mail TEXT AS (lower(mail)) STORED, email AS (lower_mail),
           login TEXT, email2 AS (login || '@secret.org'));
         INSERT INTO people (mail, login) VALUES ('Zq@old.com', 'ab');",
    );
    let masks = "CREATE TABLE people (mail /* gen: email() */)";
    let error = lab.copy(masking(masks).strict(true)).run().unwrap_err();
    assert_eq!(
        error.message(),
        "people.login has no mask and looks like a user name, by its name, and 1 more"
    );
    let masks = "CREATE TABLE people (mail /* gen: email() */, login /* gen: keep() */)";
    let error = lab.copy(masking(masks).strict(true)).run().unwrap_err();
    assert_eq!(error.message(), "people.email2 has no mask and looks like an e-mail address, by its name");
    assert!(
        error.hint_text().unwrap().starts_with("mask the columns that it is computed from, or accept it: ")
    );
    lab.copy(masking(masks).strict(true).allow(["people.email2"])).run().unwrap();
    lab.assert_sound();
    let new = lab.new_one();
    assert_eq!(
        count(&new, "SELECT count(*) FROM people WHERE email = lower(mail) AND email LIKE '%example'"),
        1
    );
}

#[test]
fn a_strict_masked_copy_copies_and_reports_explicitly_allowed_columns() {
    let lab = with(
        "CREATE TABLE \"the log\" (line TEXT, \"e.mail\" TEXT); INSERT INTO \"the log\" VALUES ('jane@secret.org', 'Xerxes');
         CREATE VIRTUAL TABLE texts USING fts5(said); INSERT INTO texts VALUES ('bob@secret.org');",
    );
    let strict = |allowed: &[&str]| lab.copy(masking(MASK).strict(true).allow(allowed.iter().copied())).run();
    let error = strict(&["\"the log\".line", "texts.said"]).unwrap_err();
    assert!(error.message().starts_with("the log.e.mail has no mask and looks like"), "{error}");
    assert!(error.hint_text().unwrap().contains("\"the log\".\"e.mail\""), "{error:?}");
    let error = strict(&["\"the log\".lines"]).unwrap_err();
    assert_eq!(error.message(), "no table has a column \"the log\".lines");
    let report = strict(&["\"the log\".line", "TEXTS.said", "\"the log\".\"e.mail\""]).unwrap();
    lab.assert_sound();
    assert_eq!(report.mask.unwrap().warnings.len(), 3);
}

#[test]
fn invalid_utf8_and_utf_16_databases_are_searched_for_personal_values() {
    assert_found(
        "CREATE TABLE log (line TEXT); INSERT INTO log VALUES (CAST(x'ff' AS TEXT)), ('jane@secret.org');",
        &["log.line: an e-mail address by values (1)"],
    );
    let lab = Lab::new(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE people (name TEXT, mail TEXT); INSERT INTO people VALUES ('Zacharias Quux', NULL);
         CREATE TABLE log (line TEXT); INSERT INTO log VALUES ('jane@secret.org'), ('Zacharias Quux');",
    );
    let found = findings(&plan(&lab, masking(MASK)));
    assert_eq!(found, ["log.line: an e-mail address by values (1)", "log.line holds people.name (1)"]);
}

#[test]
fn the_search_reports_its_progress_and_can_be_cancelled() {
    let lab = with("CREATE TABLE log (line TEXT); INSERT INTO log VALUES ('a'), ('b');");
    let seen = Seen::default();
    let context = Context::default().progress(&seen);
    lab.copy(masking(MASK)).prepare(&context).unwrap();
    assert_eq!(*seen.phases.lock().unwrap(), ["search people", "search people", "search log"]);
    // Searched rows: 3 for the masked columns, 3 for the other column of the table, 2 of the other table.
    assert_eq!(seen.rows.load(Ordering::Relaxed), 3 + 3 + 2);
    let cancel = Cancel::new();
    let stopping = Seen { stop: Some(cancel.clone()), ..Seen::default() };
    let context = Context::default().progress(&stopping).cancel(&cancel);
    let error = lab.copy(masking(MASK).strict(true)).run_with(&context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert!(!lab.path("copy.db").exists());
}

/// A progress that notes the phases, and cancels the run in the search of `log`.
#[derive(Default)]
struct Seen {
    phases: Mutex<Vec<String>>,
    rows: AtomicU64,
    stop: Option<Cancel>,
}

impl Progress for Seen {
    fn phase(&self, name: &str, _: Option<Amount>) {
        self.phases.lock().unwrap().push(name.to_owned());
        if name == "search log" {
            self.stop.iter().for_each(Cancel::cancel);
        }
    }

    fn advance(&self, done: Amount) {
        self.rows.fetch_add(done.rows, Ordering::Relaxed);
    }
}

#[test]
fn the_found_personal_values_do_not_depend_on_threads() {
    let lab = Lab::new("CREATE TABLE people (name TEXT, mail TEXT); CREATE TABLE log (line, more);");
    let connection: Connection = lab.old();
    connection.execute_batch("BEGIN").unwrap();
    for n in 0..60_000_i64 {
        let name = format!("person {}", n % 40_000);
        connection.execute("INSERT INTO people (name) VALUES (?1)", [&name]).unwrap();
        let line = if n % 7 == 0 { format!("to{n}@secret.org") } else { name };
        let more = format!("{{\"token\": \"{n}\", \"list\": [\"Anna\", \"+49 30 {n}\"]}}");
        connection.execute("INSERT INTO log VALUES (?1, ?2)", params![line, more]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    let of = |threads: usize| {
        let mut copy = lab.copy(masking(MASK));
        copy.write.threads = Some(threads);
        copy.prepare(&Context::default()).unwrap().plan().mask.clone().unwrap()
    };
    let one = of(1);
    assert!(one.warnings.len() > 2 && one.second_places.len() == 1, "{one:?}");
    assert_eq!(one, of(5));
}
