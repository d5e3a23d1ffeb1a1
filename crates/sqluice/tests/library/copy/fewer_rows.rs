//! Copies without some rows: conditions, samples, and the rows that refer to left-out rows. The oracle is DELETE with foreign keys that
//! cascade.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::copy::{Copy, CopyReport, JournalMode, MaskFile, Masking, Orphans, Sample};
use sqluice::error::ErrorKind;
use sqluice::options::WriteOptions;
use sqluice::progress::{Cancel, Context};
use sqluice::schema::Schema;
use sqluice_testkit::config;
use sqluice_testkit::effort::tries;

use super::content::{integrity, open};

/// The schema. `{}` stands for ON DELETE CASCADE, or for nothing.
const SCHEMA: &str = "
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, age, half AS (age / 2), note);
    CREATE TABLE orders (code TEXT PRIMARY KEY, person INT REFERENCES people {}, price REAL) WITHOUT ROWID;
    CREATE TABLE items (order_code REFERENCES orders (code) {}, n, what TEXT, PRIMARY KEY (order_code, n)) WITHOUT ROWID;
    CREATE TABLE nicks (nick REFERENCES people (name) {}, x);
    CREATE TABLE trees (id INTEGER PRIMARY KEY AUTOINCREMENT, above INT REFERENCES trees {}, person TEXT REFERENCES people {});
    CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT, doubled AS (id * 2) STORED NOT NULL);
    CREATE TABLE visits (day TEXT, place_id INT [references places]);
    CREATE INDEX by_age ON people (age, name);
    CREATE INDEX by_half ON people (half);
    CREATE INDEX by_length ON nicks (length(nick)) WHERE x IS NOT NULL;
    CREATE UNIQUE INDEX by_person ON orders (person, code);
    CREATE VIEW old AS SELECT name FROM people WHERE age > 50;
    CREATE TABLE other (a, b);
    INSERT INTO other VALUES (1, 'one');";

const TABLES: [&str; 8] = ["people", "orders", "items", "nicks", "trees", "places", "visits", "other"];

/// The conditions of each table that a test may choose.
const CONDITIONS: [(&str, &str); 14] = [
    ("people", "age > 20"),
    ("people", "name < 'm' COLLATE BINARY"),
    ("people", "name < 'M'"),
    ("people", "half * 2 = age"),
    ("people", "rowid % 3 <> 0"),
    ("people", "typeof(note) <> 'blob' -- a comment"),
    ("people", "CASE WHEN id > 3 THEN note LIKE '%a%' ELSE 1 END"),
    ("orders", "price > '5'"),
    ("orders", "length(code) = 1 OR person IS NULL"),
    ("items", "n"),
    ("nicks", "_rowid_ > 4"),
    ("trees", "above IS NULL OR above % 5"),
    ("places", "doubled > 4"),
    ("visits", "day > '2026-01-03'"),
];

fn value(rng: &mut Rng, around: i64) -> String {
    match rng.u8(0..10) {
        0 => "NULL".to_owned(),
        1 => format!("'{}'", rng.i64(0..around)),
        2 => format!("{}.0", rng.i64(0..around)),
        3 => format!("x'{:02x}'", rng.u8(..)),
        4 => format!("'{}'", rng.choice(["a", "B", "Zeta", "é", "01", ""]).unwrap()),
        _ => rng.i64(0..around).to_string(),
    }
}

/// Creates a database, and the same database with foreign keys that cascade.
fn make(rng: &mut Rng, folder: &Path) -> (PathBuf, PathBuf) {
    let (db, twin) = (folder.join("source.db"), folder.join("twin.db"));
    let mut sql = String::new();
    let around = rng.i64(2..40);
    for _ in 0..rng.usize(0..150) {
        let mut value = |around| value(rng, around);
        let (a, b, c) = (value(around), value(around), value(around));
        sql += &match value(9).len() % 2 + value(1000).len() {
            0 | 1 => format!("INSERT OR IGNORE INTO people (name, age, note) VALUES ({a}, {b}, {c});"),
            2 => format!("INSERT OR IGNORE INTO orders VALUES (coalesce({a}, 'none'), {b}, {c});"),
            3 => format!("INSERT OR IGNORE INTO items VALUES (coalesce({a}, 1), coalesce({b}, 0), {c});"),
            4 => format!("INSERT OR IGNORE INTO nicks VALUES ({a}, {b});"),
            _ => format!("INSERT OR IGNORE INTO trees (above, person) VALUES ({a}, {b});"),
        };
    }
    for number in 0..rng.i64(0..12) {
        sql += &format!("INSERT INTO places (name) VALUES ('place {number}');");
        let place = rng.i64(1..14);
        sql += &format!("INSERT INTO visits VALUES ('2026-01-0{}', {place});", number % 9);
    }
    let set = format!(
        "PRAGMA encoding = '{}'; PRAGMA page_size = {};",
        rng.choice(["UTF-8", "UTF-8", "UTF-16le"]).unwrap(),
        rng.choice([512, 1024, 4096]).unwrap()
    );
    let schema = |cascade: &str, references: &str| {
        SCHEMA.replace("{}", cascade).replace("[references places]", references)
    };
    for (path, schema) in
        [(&db, schema("", "")), (&twin, schema("ON DELETE CASCADE", "REFERENCES places ON DELETE CASCADE"))]
    {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(&format!("{set} PRAGMA foreign_keys = OFF; {schema} {sql}")).unwrap();
    }
    if rng.bool() {
        open(&db).execute_batch("ANALYZE").unwrap();
    }
    (db, twin)
}

/// Returns all rows of all tables, with their rowids, and the storage classes of their values.
fn rows(db: &Path) -> Vec<Vec<String>> {
    let connection = open(db);
    let of_table = |table: &&str| {
        let sql = format!("SELECT name FROM pragma_table_xinfo('{table}') ORDER BY cid");
        let mut columns: Vec<String> = connection
            .prepare(&sql)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        if !["orders", "items"].contains(table) {
            columns.push("rowid".to_owned());
        }
        let shown: Vec<String> =
            columns.iter().map(|column| format!("typeof({column}) || ' ' || quote({column})")).collect();
        let sql =
            format!("SELECT concat_ws(', ', {}) AS shown FROM {table} ORDER BY shown", shown.join(", "));
        let mut statement = connection.prepare(&sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    TABLES.iter().map(of_table).collect()
}

fn count(db: &Path) -> usize {
    rows(db).iter().map(Vec::len).sum()
}

/// Deletes the rows for which the conditions are not true, and, with `cascades`, the rows that refer to them.
fn delete(twin: &Path, conditions: &[(&str, &str)], cascades: bool) {
    let connection = open(twin);
    let on = if cascades { "ON" } else { "OFF" };
    connection.execute_batch(&format!("PRAGMA foreign_keys = {on}; BEGIN")).unwrap();
    // All conditions are evaluated before any row is deleted, as a copy evaluates them on its source.
    for (number, (table, condition)) in conditions.iter().enumerate() {
        let key = match *table {
            "orders" => "code",
            "items" => "order_code, n",
            _ => "rowid",
        };
        connection
            .execute_batch(&format!(
                "CREATE TEMP TABLE gone{number} AS SELECT {key} FROM {table} WHERE ({condition}\n) IS NOT TRUE"
            ))
            .unwrap();
    }
    for (number, (table, _)) in conditions.iter().enumerate() {
        let key = match *table {
            "orders" => "code",
            "items" => "(order_code, n)",
            _ => "rowid",
        };
        connection
            .execute_batch(&format!("DELETE FROM {table} WHERE {key} IN (SELECT * FROM gone{number})"))
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    if cascades {
        // ON DELETE CASCADE does not find children whose reference has another storage class than the key of the parent, though
        // foreign_key_check accepts them as children. So they are deleted here.
        let source = twin.with_file_name("source.db");
        connection.execute("ATTACH ?1 AS source", [source.to_str().unwrap()]).unwrap();
        for (child, column, parent, key) in
            [("items", "order_code", "orders", "code"), ("nicks", "nick", "people", "name")]
        {
            let is_in = |schema: &str| {
                format!(
                    "EXISTS (SELECT 1 FROM {schema}.{parent} WHERE {key} = CAST({child}.{column} AS TEXT))"
                )
            };
            let sql = format!(
                "DELETE FROM main.{child} WHERE typeof({column}) <> 'blob' AND {} AND NOT {}",
                is_in("source"),
                is_in("main")
            );
            connection.execute_batch(&sql).unwrap();
        }
    }
}

fn with(copy: Copy, conditions: &[(&str, &str)]) -> Copy {
    conditions.iter().fold(copy, |copy, (table, condition)| copy.filter(*table, *condition))
}

fn options(threads: usize) -> WriteOptions {
    WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = 16 << 10)
}

/// Returns a description of each reference of a row to a missing row.
fn broken(db: &Path) -> Vec<String> {
    let connection = open(db);
    let mut statement = connection
        .prepare(
            "SELECT concat_ws(' ', \"table\", rowid, parent, fkid) FROM pragma_foreign_key_check ORDER BY 1",
        )
        .unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn left_out(report: &CopyReport) -> u64 {
    report.selected.as_ref().unwrap().tables.iter().map(|table| table.rows).sum()
}

fn check(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let folder = tempfile::tempdir().unwrap();
    let (source, twin) = make(&mut rng, folder.path());
    let target = folder.path().join("target.db");
    let mut conditions = CONDITIONS.to_vec();
    rng.shuffle(&mut conditions);
    conditions.truncate(rng.usize(1..4));
    let plain = folder.path().join("plain.db");
    std::fs::copy(&twin, &plain).unwrap();
    delete(&plain, &conditions, false);
    delete(&twin, &conditions, true);
    let before = count(&source);
    let threads = rng.usize(1..4);
    let copy = || with(Copy::new(&source, &target), &conditions).write(options(threads));

    // The reference is named, because a copy recognises an undeclared reference only if at least half of its values are keys of the other
    // table.
    let copy = || copy().references(["visits.place_id=places.id"]);
    let report = copy().sample_children(true).journal_mode(JournalMode::Wal).run().unwrap();
    assert_eq!(rows(&target), rows(&twin), "seed {seed}: {conditions:?}");
    assert_eq!(left_out(&report), (before - count(&twin)) as u64);
    assert_eq!(integrity(&target), "ok");
    assert!(broken(&target).iter().all(|row| broken(&source).contains(row)), "seed {seed}");
    std::fs::remove_file(&target).unwrap();

    let has_orphans = count(&plain) > count(&twin);
    let refused = copy().run();
    assert_eq!(refused.is_err(), has_orphans, "seed {seed}: {conditions:?}");
    if let Err(error) = refused {
        assert!(error.to_string().contains("kept rows refer to rows that are left out"), "{error}");
        assert!(!target.exists());
    }
    let report = copy().orphans(Orphans::Keep).write(options(threads).overwrite(true)).run().unwrap();
    assert_eq!(rows(&target), rows(&plain), "seed {seed}: {conditions:?}");
    assert_eq!(integrity(&target), "ok");
    let orphans: u64 = report.selected.unwrap().references.iter().map(|reference| reference.orphans).sum();
    assert_eq!(orphans > 0, has_orphans);
}

proptest! {
    #![proptest_config(config(tries(12, 120, 2000)))]

    #[test]
    fn a_copy_with_conditions_equals_the_database_after_delete(seed in any::<u64>()) {
        check(seed);
    }
}

fn shop() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    open_new(
        &source,
        "CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE visits (id INTEGER PRIMARY KEY, place_id INT, note TEXT);
        CREATE TABLE plain (a, b);
        CREATE TABLE keyed (k TEXT PRIMARY KEY, v);
        CREATE VIEW seen AS SELECT * FROM places;
        CREATE VIRTUAL TABLE words USING fts5(note, content = 'visits', content_rowid = 'id');
        WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO places SELECT i, 'place ' || i FROM n;
        INSERT INTO visits SELECT id, id % 3000 + 1, 'note' || id FROM places;
        INSERT INTO visits VALUES (5000, 9999, 'lost');
        INSERT INTO plain SELECT id, name FROM places;
        INSERT INTO keyed SELECT name, id FROM places;
        INSERT INTO words (words) VALUES ('rebuild');",
    );
    (folder, source, target)
}

fn open_new(db: &Path, sql: &str) {
    Connection::open(db).unwrap().execute_batch(sql).unwrap();
}

fn values(db: &Path, sql: &str) -> Vec<String> {
    let connection = open(db);
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn an_undeclared_reference_to_left_out_rows_is_found_and_named() {
    let (_folder, source, target) = shop();
    let copy = Copy::new(&source, &target).filter("places", "id > 1000");
    let error = copy.run().unwrap_err();
    assert!(error.to_string().contains("1,000 rows of visits (place_id) to places, by its name"), "{error}");
    assert!(!target.exists());
    let report = copy.clone().sample_children(true).run().unwrap();
    let selected = report.selected.unwrap();
    let counts: Vec<(&str, u64, u64)> =
        selected.tables.iter().map(|table| (table.table.as_str(), table.filtered, table.children)).collect();
    assert_eq!(counts, [("places", 1000, 0), ("visits", 0, 1000)]);
    assert_eq!(selected.references[0].how, "found");
    assert_eq!((selected.references[0].left_out, selected.references[0].broken_before), (1000, 1));
    assert_eq!(values(&target, "SELECT note FROM visits WHERE id = 5000"), ["lost"]);
    let report =
        copy.no_references(["visits.place_id"]).write(WriteOptions::new().overwrite(true)).run().unwrap();
    assert!(report.selected.unwrap().references.is_empty());
    assert_eq!(values(&target, "SELECT CAST(count(*) AS TEXT) FROM visits"), ["3001"]);
}

#[test]
fn full_text_search_in_a_copy_does_not_find_the_text_of_left_out_rows() {
    let (_folder, source, target) = shop();
    Copy::new(&source, &target).filter("visits", "id <> 7").run().unwrap();
    assert_eq!(values(&target, "SELECT note FROM words WHERE words MATCH 'note7'"), [""; 0]);
    assert_eq!(values(&target, "SELECT note FROM words WHERE words MATCH 'note8'"), ["note8"]);
    let bytes = std::fs::read(&target).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"note7\0"));
    assert_eq!(integrity(&target), "ok");
}

#[test]
fn a_sample_of_rows_depends_only_on_the_seed_and_the_keys() {
    let (folder, source, target) = shop();
    let sample = |source: &Path, table: &str, sample: Sample, seed: u64, threads: usize| {
        let write = options(threads).overwrite(true);
        let copy = Copy::new(source, &target).sample(table, sample).seed(seed).orphans(Orphans::Keep);
        copy.write(write).run().unwrap();
        let column = if table == "plain" { "b" } else { "k" };
        values(&target, &format!("SELECT {column} FROM {table} ORDER BY {column}"))
    };
    let shuffled = folder.path().join("shuffled.db");
    std::fs::copy(&source, &shuffled).unwrap();
    open(&shuffled)
        .execute_batch(
            "CREATE TABLE all_of AS SELECT * FROM keyed ORDER BY random(); DELETE FROM keyed;
             INSERT INTO keyed SELECT * FROM all_of; VACUUM;",
        )
        .unwrap();
    for of in [Sample::Percent(10.0), Sample::Rows(200)] {
        let first = sample(&source, "keyed", of, 1, 1);
        assert_eq!(first, sample(&shuffled, "keyed", of, 1, 3), "{of:?}");
        assert_ne!(first, sample(&source, "keyed", of, 2, 1), "{of:?}");
        assert!(first.len().abs_diff(300) < 150, "{of:?}: {}", first.len());
    }
    for rows in [0, 1, 2, 199, 2999, 3000, 3001, u64::MAX] {
        let wanted = rows.min(3000) as usize;
        assert_eq!(sample(&source, "keyed", Sample::Rows(rows), 5, 2).len(), wanted);
        assert_eq!(sample(&source, "plain", Sample::Rows(rows), 5, 2).len(), wanted);
    }
    assert_eq!(sample(&source, "keyed", Sample::Percent(100.0), 5, 2).len(), 3000);
    assert!(sample(&source, "keyed", Sample::Percent(0.0), 5, 2).is_empty());
    // A larger sample has all rows of a smaller one.
    let (few, many) = (
        sample(&source, "keyed", Sample::Rows(50), 5, 2),
        sample(&source, "keyed", Sample::Percent(5.0), 5, 2),
    );
    assert!(few.iter().all(|row| many.contains(row)));
}

#[test]
fn a_sample_of_rows_is_drawn_from_those_that_satisfy_the_condition() {
    let (_folder, source, target) = shop();
    let copy = Copy::new(&source, &target).filter("plain", "a % 2").sample("plain", Sample::Rows(100));
    let report = copy.run().unwrap();
    let rows = &report.selected.unwrap().tables[0];
    assert_eq!((rows.filtered, rows.not_sampled, rows.rows), (1500, 1400, 2900));
    assert_eq!(values(&target, "SELECT CAST(sum(a % 2) AS TEXT) FROM plain"), ["100"]);
}

#[test]
fn conditions_that_cannot_be_evaluated_for_one_row_of_a_table_are_refused() {
    let (_folder, source, target) = shop();
    for (table, condition, said) in [
        ("place", "1", "no such table"),
        ("seen", "1", "is a view"),
        ("words", "1", "virtual table"),
        ("words_data", "1", "virtual table"),
        ("sqlite_schema", "1", "no such table"),
        ("places", "nam = 1", "names the column \"nam\""),
        ("places", "\"Oslo\" = name", "names the column \"Oslo\""),
        ("places", "max(id)", "misuse of aggregate"),
        ("places", "id IN (SELECT id FROM visits)", "subqueries prohibited"),
        ("places", "random() > 0", "random() gives other values"),
        ("places", "id = ?1", "parameters prohibited"),
        ("places", "1); DELETE FROM places", "a parenthesis is closed"),
        ("places", "1; DELETE FROM places", "semicolon"),
        ("places", "", "has no expression"),
        ("places", "regexp('(', name)", "no regular expression"),
        ("places", "name -> '$'", "malformed JSON"),
    ] {
        let error = Copy::new(&source, &target).filter(table, condition).run().unwrap_err();
        assert!(error.to_string().contains(said), "{condition}: {error}");
        assert!(!target.exists());
    }
    let error = Copy::new(&source, &source).filter("places", "1").run().unwrap_err();
    assert!(error.to_string().contains("can't replace its source"), "{error}");
    let error = Copy::new(&source, &target).sample_children(true).run().unwrap_err();
    assert!(error.to_string().contains("this copy has all rows"), "{error}");
    let error = Copy::new(&source, &target).references(["visits.place_id=places"]).run().unwrap_err();
    assert!(error.to_string().contains("this copy has all rows"), "{error}");
    let random = Copy::new(&source, &target).filter("places", "random() > 0").run().unwrap_err();
    assert!(random.hint_text().unwrap().contains("chooses rows at random"), "{random:?}");
    let excluded = Copy::new(&source, &target).exclude_tables(["plain"]).filter("plain", "1");
    assert!(excluded.run().unwrap_err().to_string().contains("is left out"));
}

#[test]
fn the_plan_of_a_copy_names_conditions_and_samples_and_makes_no_file() {
    let (_folder, source, target) = shop();
    let copy = Copy::new(&source, &target)
        .filter("places", "id > 5")
        .sample("keyed", Sample::Percent(1.0))
        .sample_children(true);
    let plan = copy.prepare(&Context::default()).unwrap().plan().to_string();
    for line in [
        "table places: made of the kept rows",
        "index sqlite_autoindex_keyed_1: made of the entries of kept rows",
        "table places: only rows for which id > 5",
        "table keyed: only rows of a sample of 1% by k",
        "rows that refer to left-out rows are left out, too",
    ] {
        assert!(plan.lines().any(|found| found == line), "{line}: {plan}");
    }
    assert!(!target.exists());
}

#[test]
fn a_cancelled_copy_with_a_condition_leaves_no_file() {
    let (folder, source, target) = shop();
    let cancel = Cancel::new();
    cancel.cancel();
    let context = Context::default().cancel(&cancel);
    let error = Copy::new(&source, &target).filter("places", "id > 5").run_with(&context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_masked_copy_selects_rows_by_their_unmasked_values() {
    let (_folder, source, target) = shop();
    let masks = Schema::parse("CREATE TABLE places (name -- gen: name()\n)", "mask.sql".as_ref()).unwrap();
    let masking = Masking::new(MaskFile::new(masks).unwrap()).unwrap();
    let copy = Copy::new(&source, &target).filter("places", "name IN ('place 7', 'place 8')");
    let report = copy.sample_children(true).mask(masking).run().unwrap();
    assert!(report.selected.unwrap().sees_old_values);
    assert_eq!(values(&target, "SELECT CAST(id AS TEXT) FROM places"), ["7", "8"]);
    assert!(values(&target, "SELECT name FROM places").iter().all(|name| !name.starts_with("place")));
    assert_eq!(values(&target, "SELECT note FROM visits"), ["note6", "note7", "lost"]);
    assert_eq!(integrity(&target), "ok");
}

#[test]
fn the_preview_of_a_copy_shows_the_first_rows_that_are_copied() {
    let (_folder, source, target) = shop();
    let masks = "CREATE TABLE places (name -- gen: name()
        );
        CREATE TABLE keyed (v -- gen: name()
        );
        CREATE TABLE plain (b -- gen: name()
        );";
    let masks = Schema::parse(masks, "mask.sql".as_ref()).unwrap();
    let copy = Copy::new(&source, &target)
        .filter("places", "id > 5")
        .filter("plain", "a = 8")
        .sample("keyed", Sample::Rows(2))
        .sample_children(true)
        .mask(Masking::new(MaskFile::new(masks).unwrap()).unwrap());
    let shown = copy.preview(3, &Context::default()).unwrap();
    copy.run().unwrap();
    for (table, key) in [("places", "id"), ("plain", "a"), ("keyed", "k")] {
        let preview = shown.iter().find(|preview| preview.table == table).unwrap();
        let place = preview.columns.iter().position(|column| column == key).unwrap();
        let keys: Vec<String> = preview.rows.iter().map(|row| row[place].to_string()).collect();
        let sql = format!("SELECT CAST({key} AS TEXT) FROM {table} NOT INDEXED LIMIT 3");
        assert_eq!(keys, values(&target, &sql), "{table}");
        assert!(!keys.is_empty() && preview.columns.iter().all(|column| column != "rowid"));
    }
}

#[test]
fn the_plan_in_json_has_samples_in_the_form_in_which_they_were_given() {
    let (_folder, source, target) = shop();
    let copy = Copy::new(&source, &target)
        .sample("places", Sample::Rows(1000))
        .sample("keyed", Sample::Percent(0.5))
        .orphans(Orphans::Keep);
    let plan = serde_json::to_value(copy.prepare(&Context::default()).unwrap().plan()).unwrap();
    let samples: Vec<&str> =
        plan["selected"].as_array().unwrap().iter().map(|each| each["sample"].as_str().unwrap()).collect();
    assert!(samples.contains(&"1000") && samples.contains(&"0.5%"), "{samples:?}");
}

#[test]
fn all_descendants_of_a_left_out_row_are_left_out_of_a_long_chain() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.db"), folder.path().join("target.db"));
    open_new(
        &source,
        "CREATE TABLE versions (id INTEGER PRIMARY KEY, before INT REFERENCES versions);
         WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO versions SELECT i, CASE WHEN i % 10000 <> 1 THEN i - 1 END FROM n;",
    );
    let report =
        Copy::new(&source, &target).filter("versions", "id <> 10").sample_children(true).run().unwrap();
    let rows = &report.selected.unwrap().tables[0];
    assert_eq!((rows.filtered, rows.children), (1, 9990));
    assert_eq!(values(&target, "SELECT CAST(count(*) AS TEXT) FROM versions"), ["10009"]);
}
