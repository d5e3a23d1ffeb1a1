//! Loads with `primary_key`, `unique` and `index`, and of rows in any order of their keys.

#![cfg(feature = "load")]

use std::path::PathBuf;

use crate::support::cases;
use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, run, schema, shown};
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::{Error, ErrorKind, Result};
use sqluice::load::Load;
use sqluice::options::{OnConflict, WriteOptions};
use sqluice::progress::Context;
use sqluice::report::Report;

fn put(home: &Home, files: &[(&str, &str)]) -> Vec<PathBuf> {
    files.iter().map(|(name, text)| Way::Path.put(home, name, text.as_bytes())).collect()
}

/// Loads files of these names and texts into `x.db`.
fn load(home: &Home, files: &[(&str, &str)], with: impl FnOnce(Load) -> Load) -> Result<Report> {
    let paths = put(home, files);
    run(with(
        Load::new(home.path("x.db"), paths).tune(|tuning| (tuning.part_bytes, tuning.sample_bytes) = (8, 16)),
    ))
}

/// Returns the statements of all objects, each on one line.
fn declared(home: &Home) -> Vec<String> {
    let database = open(&home.path("x.db"));
    assert_eq!(integrity(&database), "ok");
    let mut statement = database
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, rowid")
        .unwrap();
    let lines = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    lines.map(|sql| sql.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn key(names: &'static [&'static str]) -> impl Fn(Load) -> Load {
    move |load| load.primary_key(texts(names))
}

#[track_caller]
fn makes(csv: &str, with: impl FnOnce(Load) -> Load, expected: &[&str]) {
    let home = Home::new();
    load(&home, &[("t.csv", csv)], with).unwrap_or_else(|error| panic!("{}", shown(&error, &home)));
    assert_eq!(declared(&home), expected);
}

#[track_caller]
fn refused(files: &[(&str, &str)], with: impl FnOnce(Load) -> Load, kind: ErrorKind, expected: &str) {
    let home = Home::new();
    let error = load(&home, files, with).unwrap_err();
    assert_eq!((shown(&error, &home).as_str(), error.kind()), (expected, kind));
    assert!(!home.path("x.db").exists());
}

const CSV: &str = "id,a,\"b c\"\n3,x,0.5\n1,y,1.25\n2,z,2\n";

#[test]
fn a_primary_key_of_one_integer_column_is_the_rowid_and_any_other_key_excludes_null() {
    let rowid = r#"CREATE TABLE "t" ( "id" INTEGER PRIMARY KEY, "a" TEXT, "b c" REAL )"#;
    makes(CSV, key(&["ID"]), &[rowid]);
    let text = r#"CREATE TABLE "t" ( "id" INTEGER, "a" TEXT NOT NULL, "b c" REAL, PRIMARY KEY ("a") )"#;
    makes(CSV, key(&["a"]), &[text]);
    let two = r#"CREATE TABLE "t" ( "id" INTEGER NOT NULL, "a" TEXT, "b c" REAL NOT NULL, PRIMARY KEY ("b c", "id") )"#;
    makes(CSV, key(&["b c", "id"]), &[two]);
    // All ids but one are integers, so the type of the key is TEXT.
    let late = format!("{CSV}x,x,3\n");
    let text = r#"CREATE TABLE "t" ( "id" TEXT NOT NULL, "a" TEXT, "b c" REAL, PRIMARY KEY ("id") )"#;
    makes(&late, key(&["id"]), &[text]);
    let types = |load: Load| key(&["id"])(load).types([("id", "INT NOT NULL")]);
    let given = r#"CREATE TABLE "t" ( "id" INT NOT NULL, "a" TEXT, "b c" REAL, PRIMARY KEY ("id") )"#;
    makes(CSV, types, &[given]);
}

#[test]
fn settings_make_tables_without_rowid_and_strict() {
    let with = |strict| move |load| key(&["id"])(load).without_rowid(true).strict(strict);
    let table = r#"CREATE TABLE "t" ( "id" INTEGER NOT NULL, "a" TEXT, "b c" REAL, PRIMARY KEY ("id") )"#;
    makes(CSV, with(false), &[&format!("{table} WITHOUT ROWID")]);
    makes(CSV, with(true), &[&format!("{table} STRICT, WITHOUT ROWID")]);
}

#[test]
fn indexes_are_named_uniquely_after_their_table_and_columns() {
    let with = |load: Load| {
        load.indexes(texts(&["A collate nocase, \"b c\" desc", "a", "a desc", "b c"])).uniques(texts(&["id"]))
    };
    let table = r#"CREATE TABLE "t" ( "id" INTEGER, "a" TEXT, "b c" REAL )"#;
    makes(
        CSV,
        with,
        &[
            table,
            r#"CREATE UNIQUE INDEX "idx_t_id" ON "t" ("id")"#,
            r#"CREATE INDEX "idx_t_a_b c" ON "t" ("a" COLLATE NOCASE, "b c" DESC)"#,
            r#"CREATE INDEX "idx_t_a" ON "t" ("a")"#,
            r#"CREATE INDEX "idx_t_a_2" ON "t" ("a" DESC)"#,
            r#"CREATE INDEX "idx_t_b c" ON "t" ("b c")"#,
        ],
    );
    let home = Home::new();
    let files = [("t.csv", CSV), ("idx_t_a.csv", "a\n1\n")];
    load(&home, &files, |load| load.indexes(texts(&["a"]))).unwrap();
    let indexes =
        [r#"CREATE INDEX "idx_t_a_2" ON "t" ("a")"#, r#"CREATE INDEX "idx_idx_t_a_a" ON "idx_t_a" ("a")"#];
    assert_eq!(declared(&home)[2..], indexes);
}

#[test]
fn a_key_or_index_applies_to_each_table_that_has_its_columns() {
    let home = Home::new();
    let files = [("t.csv", "a,b\n1,2\n"), ("u.csv", "b,c\n3,4\n"), ("v.csv", "d\n5\n")];
    let with = |load: Load| load.primary_key(texts(&["a", "b"])).without_rowid(true).indexes(texts(&["b"]));
    load(&home, &files, with).unwrap();
    let expected = [
        r#"CREATE TABLE "t" ( "a" INTEGER NOT NULL, "b" INTEGER NOT NULL, PRIMARY KEY ("a", "b") ) WITHOUT ROWID"#,
        r#"CREATE TABLE "u" ( "b" INTEGER, "c" INTEGER )"#,
        r#"CREATE TABLE "v" ( "d" INTEGER )"#,
        r#"CREATE INDEX "idx_t_b" ON "t" ("b")"#,
        r#"CREATE INDEX "idx_u_b" ON "u" ("b")"#,
    ];
    assert_eq!(declared(&home), expected);
}

#[test]
fn a_key_on_a_column_that_no_table_has_is_refused_with_the_existing_columns() {
    let one = [("t.csv", CSV)];
    let index = |text: &'static str| move |load: Load| load.indexes(texts(&[text]));
    refused(
        &one,
        index("a, d desc"),
        ErrorKind::Usage,
        "`index` names the column \"d\", which no table has [the columns are: id, a, b c]",
    );
    let both = [("t.csv", CSV), ("u.csv", "d\n1\n")];
    let here = "[those of table t are: id, a, b c]";
    refused(
        &both,
        index("a, d"),
        ErrorKind::Usage,
        &format!("no table has all columns of `index`: a, d {here}"),
    );
    let unknown = format!("`primary_key` names the column \"e\", which no table has {here}");
    refused(&both, key(&["id", "e"]), ErrorKind::Usage, &unknown);
    let unknown = format!("`unique` names the column \"e\", which no table has {here}");
    refused(&both, |load| load.uniques(texts(&["e"])), ErrorKind::Usage, &unknown);
}

#[test]
fn invalid_keys_are_refused_before_anything_is_read() {
    let none = [("t.csv", "")];
    let needs =
        "a table WITHOUT ROWID needs a key to find its rows by [name its columns: `primary_key = A,B`]";
    refused(&none, |load| load.without_rowid(true), ErrorKind::Usage, needs);
    let twice = "`primary_key` names the column \"A\" twice \
                 [SQLite ignores the case of ASCII letters in names]";
    refused(&none, key(&["a", "A"]), ErrorKind::Usage, twice);
    let collation = "`index` \"a collate german\": no collation is called german, only BINARY, NOCASE, RTRIM \
                     [columns with commas between them, each with COLLATE NOCASE or DESC if need be: 'area, name DESC']";
    refused(&none, |load| load.indexes(texts(&["a collate german"])), ErrorKind::Usage, collation);
    let declares = "the schema declares the keys of its tables, and `primary_key` can't change them \
                    [write it into the schema; `index` adds indexes to it]";
    let with = |load: Load| key(&["a"])(load).schema(schema("CREATE TABLE t (a)"));
    refused(&none, with, ErrorKind::Usage, declares);
}

#[test]
fn a_load_with_a_schema_can_add_indexes() {
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, \"b c\", d DEFAULT 7); CREATE INDEX idx_t_a ON t (d) -- no end";
    let with = |load: Load| load.schema(schema(sql)).indexes(texts(&["a", "d desc, id"]));
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, \"b c\", d DEFAULT 7)";
    makes(
        CSV,
        with,
        &[
            table,
            "CREATE INDEX idx_t_a ON t (d) -- no end",
            r#"CREATE INDEX "idx_t_a_2" ON "t" ("a")"#,
            r#"CREATE INDEX "idx_t_d_id" ON "t" ("d" DESC, "id")"#,
        ],
    );
}

/// Returns the plan for a file. With few `sample_bytes`, the sample ends before the file.
fn plan(csv: &str, sample_bytes: usize, with: impl FnOnce(Load) -> Load) -> (String, String) {
    let home = Home::new();
    let files = put(&home, &[("t.csv", csv)]);
    let load = with(
        key(&["id"])(Load::new(home.path("x.db"), files)).tune(|tuning| tuning.sample_bytes = sample_bytes),
    );
    let prepared = load.prepare(&Context::default()).unwrap();
    let table = &prepared.plan().tables[0];
    (table.write_path.name().to_owned(), table.why.clone())
}

#[test]
fn the_plan_says_whether_rows_are_sorted_and_why() {
    let write_path = |csv: &str, sample_bytes| plan(csv, sample_bytes, |load| load).0;
    assert_eq!(write_path("id\n1\n2\n9\n", 100), "pages");
    assert_eq!(write_path("id\n1\n2\n9\n", 6), "pages");
    assert_eq!(write_path("id\n2\n1\n9\n", 100), "sorted");
    assert_eq!(write_path("id\n1\n1\n9\n", 100), "sorted");
    assert_eq!(write_path("id,a\n,1\n,2\n", 100), "pages", "nobody gives a number");
    assert_eq!(write_path("id,a\n7,1\n,2\n", 100), "sorted");
    let hoped = plan("id\n1\n2\n9\n", 6, |load| load).1;
    assert!(
        hoped.contains("; rows are taken to be in the order of id, and sorted if they are not"),
        "{hoped}"
    );
    // Bad rows are rejected once: there is no second attempt.
    let rejecting = |load: Load| load.reject("bad.csv");
    assert_eq!(plan("id\n1\n2\n9\n", 6, rejecting).0, "sorted");
    assert_eq!(plan("id\n1\n2\n9\n", 100, rejecting).0, "pages");
}

#[test]
fn two_rows_with_the_same_key_are_reported_with_both_places() {
    let hint = "[`on_conflict = ignore` keeps the first such row, `on_conflict = replace` the last]";
    let csv = "id,a\n1,x\n2,y\n3,y\n2,z\n";
    let expected = "t.csv:5:1: UNIQUE constraint failed: t.id = 2 (rows 2 and 4: lines 3 and 5)";
    refused(&[("t.csv", csv)], key(&["id"]), ErrorKind::Input, &format!("{expected} {hint}"));
    let unique = |load: Load| load.uniques(texts(&["a"]));
    let expected = "t.csv:4:3: UNIQUE constraint failed: t.a = 'y' (rows 2 and 3: lines 3 and 4)";
    refused(&[("t.csv", csv)], unique, ErrorKind::Input, &format!("{expected} {hint}"));
    let files = [("1.csv", "id,a\n1,x\n2,y\n"), ("2.csv", "a,id\nz,3\nx,1\n")];
    let with = |load: Load| key(&["a", "id"])(load).table("t");
    let expected =
        "2.csv:3:1: UNIQUE constraint failed: t.a, t.id = ('x', 1) (rows 1 and 4: 1.csv:2 and 2.csv:3)";
    refused(&files, with, ErrorKind::Input, &format!("{expected} {hint}"));
}

#[test]
fn rows_that_prove_out_of_order_late_are_all_loaded_even_from_a_pipe() {
    let csv = (0..200).fold("id\n".to_owned(), |csv, id| csv + &format!("{id}\n")) + "-5\n\n1000\n";
    for way in Way::ALL {
        let home = Home::new();
        let file = way.put(&home, "t.csv", csv.as_bytes());
        let load = Load::new(home.path("x.db"), [file])
            .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (16, 64));
        run(key(&["id"])(load)).unwrap();
        let database = open(&home.path("x.db"));
        assert_eq!(integrity(&database), "ok");
        // The empty line is a NULL, for which SQLite takes the next rowid: 200.
        let sum = "SELECT count(*) || ' ' || min(id) || ' ' || sum(id) FROM t";
        assert_eq!(database.query_row(sum, [], |row| row.get(0)), Ok("203 -5 21095".to_owned()), "{way:?}");
    }
}

/// Generates the ids of the rows of one or two files; `None` is NULL.
fn ids() -> impl Strategy<Value = Vec<Vec<Option<i64>>>> {
    let any = prop_oneof![4 => (-5_i64..60).prop_map(Some), 1 => Just(None)];
    let rows = prop_oneof![
        prop::collection::vec(any, 1..40),
        prop::collection::btree_set(-50_i64..500, 1..40).prop_map(|ids| ids.into_iter().map(Some).collect()),
        prop::collection::btree_set(-50_i64..5000, 1..40)
            .prop_shuffle_set()
            .prop_map(|ids| ids.into_iter().map(Some).collect()),
        (1_usize..40).prop_map(|rows| vec![None; rows]),
    ];
    prop::collection::vec(rows, 1..3)
}

trait Shuffled: Strategy {
    fn prop_shuffle_set(self) -> impl Strategy<Value = Vec<i64>>;
}

impl<S: Strategy<Value = std::collections::BTreeSet<i64>>> Shuffled for S {
    fn prop_shuffle_set(self) -> impl Strategy<Value = Vec<i64>> {
        self.prop_map(|ids| ids.into_iter().collect::<Vec<_>>()).prop_shuffle()
    }
}

/// Returns the rows after SQLite has inserted all, or `None` if it refuses one.
fn twin(ids: &[Vec<Option<i64>>], on_conflict: OnConflict) -> Option<Vec<(i64, i64)>> {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, n)").unwrap();
    let or = match on_conflict {
        OnConflict::Abort => "ABORT",
        OnConflict::Ignore => "IGNORE",
        OnConflict::Replace => "REPLACE",
    };
    for (n, id) in ids.iter().flatten().enumerate() {
        database.execute(&format!("INSERT OR {or} INTO t VALUES (?1, ?2)"), (id, n as i64)).ok()?;
    }
    Some(rows(&database))
}

fn rows(database: &Connection) -> Vec<(i64, i64)> {
    let mut statement = database.prepare("SELECT id, n FROM t ORDER BY id").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

fn check(ids: &[Vec<Option<i64>>], sample_bytes: usize, on_conflict: OnConflict) -> Result<(), Error> {
    let home = Home::new();
    let mut n = 0;
    let files: Vec<(String, String)> = (0..)
        .zip(ids)
        .map(|(number, ids)| {
            let mut csv = "id,n\n".to_owned();
            for id in ids {
                csv += &format!("{},{n}\n", id.map_or(String::new(), |id| id.to_string()));
                n += 1;
            }
            (format!("{number}.csv"), csv)
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, csv)| (&**name, &**csv)).collect();
    let expected = twin(ids, on_conflict);
    let declared = schema("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
    let loaded = load(&home, &files, |load| {
        load.table("t")
            .schema(declared)
            .write(WriteOptions::new().on_conflict(on_conflict))
            .tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (sample_bytes, 8))
    });
    match expected {
        Some(expected) => {
            loaded?;
            let database = open(&home.path("x.db"));
            assert_eq!(integrity(&database), "ok");
            assert_eq!(rows(&database), expected);
        }
        None => {
            let error = loaded.unwrap_err();
            assert!(error.message().starts_with("UNIQUE constraint failed: t.id = "), "{error}");
            assert!(error.message().contains(" (rows "), "{error}");
            assert!(error.place().is_some());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn rows_in_any_order_of_their_ids_are_stored_as_sqlite_stores_them(
        ids in ids(),
        sample_bytes in prop_oneof![Just(8_usize), 8_usize..200, Just(1 << 20)],
        on_conflict in prop::sample::select(vec![OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace]),
    ) {
        check(&ids, sample_bytes, on_conflict).map_err(|error| TestCaseError::fail(error.without_hint()))?;
    }
}
