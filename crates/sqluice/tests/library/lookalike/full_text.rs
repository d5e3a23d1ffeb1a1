//! Full-text tables that store their text have rows in a look-alike, and find the words of these rows.

use std::fmt::Write as _;

use rusqlite::Connection;
use rusqlite::types::Value;
use sqluice::error::{Error, ErrorKind, Result};
use sqluice::generate::{Extent, Generate, PreviewValue};
use sqluice::options::{IfExists, OnConflict, WriteOptions};
use sqluice::profile::Profile;
use sqluice::progress::{Amount, Cancel, Context, Progress};
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice_testkit::effort::tries;

use super::compare::{generate, number, profile};
use super::schemas::{Shape, value};
use crate::support::Random;
use crate::support::files::{Home, integrity};

const SHAPES: [Shape; 8] = [
    Shape::Words,
    Shape::Words,
    Shape::Code,
    Shape::Category,
    Shape::Mail,
    Shape::Number,
    Shape::Day,
    Shape::Mixed,
];

const NAMES: [&str; 8] =
    ["title", "\"a b\"", "[Body]", "\"check\"", "unique_", "\"it's\"", "\"select\"", "Ünïcode"];

/// A column of a full-text table.
struct Column {
    /// The name as written in SQL, in double quotes or brackets.
    name: &'static str,
    shape: Shape,
    is_searched: bool,
    has_nulls: bool,
}

/// A full-text table.
struct FullText {
    name: String,
    module: &'static str,
    columns: Vec<Column>,
    rows: u64,
}

impl FullText {
    /// Makes a table with rows. In at most 19 rows, a text is `canary`.
    fn make(connection: &Connection, random: &mut Random, number: usize, canary: &str) -> FullText {
        let module = ["fts5", "fts5", "fts4", "fts3"][random.below(4)];
        let first = random.below(NAMES.len());
        let count = 1 + random.below(4);
        let columns: Vec<Column> = (0..count)
            .map(|at| Column {
                name: NAMES[(first + at) % NAMES.len()],
                shape: SHAPES[random.below(SHAPES.len())],
                is_searched: module != "fts5" || at == 0 || random.below(4) > 0,
                has_nulls: random.below(4) == 0,
            })
            .collect();
        let name = ["docs", "\"my docs\"", "Search"][number % 3].to_owned();
        let options: &[&str] = match module {
            "fts5" => &["tokenize = 'porter ascii'", "prefix='2 3'", "columnsize=0", "detail = none"],
            "fts4" => &["tokenize=porter", "prefix=\"2\"", "order=desc", "matchinfo=fts3"],
            _ => &["tokenize=porter", "tokenize simple"],
        };
        let mut arguments: Vec<String> = Vec::new();
        for column in &columns {
            let unindexed = if column.is_searched { "" } else { " UNINDEXED" };
            // An argument may have single quotes, too.
            let argument = if random.below(4) == 0 {
                column.name.replace('\'', "''").replace('"', "'")
            } else {
                column.name.to_owned()
            };
            arguments.push(format!("{argument}{unindexed}"));
        }
        if random.below(2) == 0 {
            arguments.push(options[random.below(options.len())].to_owned());
        }
        let comment = "/* Ucanary, (x) */";
        let sql = format!(
            "CREATE VIRTUAL TABLE {name} USING {module}({comment}{})",
            arguments.join(&format!("{comment},\n "))
        );
        connection.execute_batch(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        let rows = [0, 1, 30, 300, 700][random.below(5)];
        let places = (1..=count).map(|at| format!("?{at}")).collect::<Vec<_>>().join(", ");
        let mut insert = connection.prepare(&format!("INSERT INTO {name} VALUES ({places})")).unwrap();
        let mut canaries = 19;
        for row in 0..rows {
            let values = columns.iter().map(|column| {
                if column.has_nulls && random.below(5) == 0 {
                    Value::Null
                } else if canaries > 0 && column.shape == Shape::Words && random.below(15) == 0 {
                    canaries -= 1;
                    Value::Text(format!("some {canary} words {row}"))
                } else {
                    value(column.shape, random, row)
                }
            });
            insert.execute(rusqlite::params_from_iter(values.collect::<Vec<_>>())).unwrap();
        }
        FullText { name, module, columns, rows }
    }

    fn count(&self, connection: &Connection, condition: &str) -> f64 {
        number(connection, &format!("SELECT count(*) FROM {} WHERE {condition}", self.name))
    }

    /// Adds the differences between the table of a database and the same table of its look-alike.
    fn compare(&self, original: &Connection, like: &Connection, found: &mut String) {
        let FullText { name, module, rows, .. } = self;
        let counted = self.count(like, "1");
        if counted != *rows as f64 {
            let _ = writeln!(found, "{name} has {counted} rows and not {rows}");
        }
        let check = format!("INSERT INTO {name} ({name}) VALUES ('integrity-check')");
        if let Err(error) = like.execute_batch(&check) {
            let _ = writeln!(found, "{module}: {error}");
        }
        for column in self.columns.iter().filter(|column| *rows > 0 && column.is_searched) {
            self.search(column.name, like, found);
        }
        for Column { name: column, .. } in &self.columns {
            let [one, other] =
                [original, like].map(|connection| self.count(connection, &format!("{column} IS NULL")));
            if (one - other).abs() > 2.0 + 0.1 * *rows as f64 {
                let _ = writeln!(found, "{name}.{column}: {one} and {other} NULLs");
            }
            for kind in ["integer", "real", "text"] {
                let [one, other] = [original, like]
                    .map(|connection| self.count(connection, &format!("typeof({column}) = '{kind}'")));
                if (one - other).abs() > 2.0 + 0.15 * *rows as f64 {
                    let _ = writeln!(found, "{name}.{column}: {one} and {other} of {kind}");
                }
            }
        }
    }

    /// Searches words of some rows.
    fn search(&self, column: &str, like: &Connection, found: &mut String) {
        let sql = format!("SELECT {column} FROM {} WHERE typeof({column}) = 'text' LIMIT 40", self.name);
        let mut select = like.prepare(&sql).unwrap();
        let texts = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
        for text in texts.map(std::result::Result::unwrap) {
            let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
            let Some(word) = words.rfind(|word| !word.is_empty()) else { continue };
            let by_match = self.count(like, &format!("{} MATCH '\"{word}\"'", self.name));
            if by_match < 1.0 {
                let _ = writeln!(found, "{}: {word} of {text:?} is not found", self.name);
            }
        }
    }
}

#[test]
fn random_full_text_tables_have_look_alikes_that_find_their_words() {
    let mut all = String::new();
    let mut rows = 0;
    for seed in 0..tries(24, 150, 2000) {
        let home = Home::new();
        let original = Connection::open(home.path("original.db")).unwrap();
        let mut random = Random(seed);
        let canary = format!("Zqxw{seed:04}");
        original.execute_batch("BEGIN; CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT);").unwrap();
        let tables: Vec<FullText> = (0..1 + random.below(3))
            .map(|number| FullText::make(&original, &mut random, number, &canary))
            .collect();
        original.execute_batch("COMMIT").unwrap();
        let report = profile(&home.path("original.db"));
        generate(&report, &home.path("like.db"));
        let like = Connection::open(home.path("like.db")).unwrap();
        let mut found = String::new();
        if integrity(&like) != "ok" {
            found.push_str("not sound\n");
        }
        for table in &tables {
            rows += table.rows;
            table.compare(&original, &like, &mut found);
        }
        let bytes = std::fs::read(home.path("like.db")).unwrap().to_ascii_lowercase();
        for needle in [canary.as_str(), "Ucanary"] {
            let shown = needle.to_ascii_lowercase();
            if report.text.to_ascii_lowercase().contains(&shown)
                || bytes.windows(shown.len()).any(|window| window == shown.as_bytes())
            {
                let _ = writeln!(found, "{needle} is shown");
            }
        }
        if !found.is_empty() {
            let _ = write!(all, "seed {seed}:\n{found}{}\n", report.text);
        }
    }
    assert!(all.is_empty(), "{all}");
    assert!(rows > 1000, "{rows}");
}

/// Generates `like.db` from a schema.
fn made(home: &Home, sql: &str, given: impl Fn(Generate) -> Generate) -> Result<(Report, Connection)> {
    let generate = Generate::new(home.path("like.db"), Schema::parse(sql, "s.sql".as_ref())?).seed(5);
    let report = given(generate).run()?;
    Ok((report, Connection::open(home.path("like.db")).unwrap()))
}

fn notes(home: &Home, sql: &str, given: impl Fn(Generate) -> Generate) -> String {
    let schema = Schema::parse(sql, "s.sql".as_ref()).unwrap();
    let prepared = given(Generate::new(home.path("like.db"), schema)).prepare(&Context::default()).unwrap();
    prepared.plan().notes.iter().map(|note| format!("{note}\n")).collect()
}

const DOCS: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY);  -- no rows: here
    CREATE VIRTUAL TABLE docs USING fts5(  -- rows: 2000
      title,         -- gen: template('Title {row()}')
      state UNINDEXED,  -- gen: int(1, 3)
      body,
      tokenize = 'porter ascii'
    );
    CREATE VIEW titles AS SELECT title FROM docs;";

#[test]
fn comments_of_a_hand_written_schema_describe_a_full_text_table() {
    let home = Home::new();
    let (report, like) = made(&home, DOCS, |generate| generate.rows_of("t", 10)).unwrap();
    let docs = report.tables.iter().find(|table| table.name == "docs").unwrap();
    assert_eq!(docs.rows, 2000);
    assert_eq!(report.rows, 2010);
    assert_eq!(number(&like, "SELECT count(*) FROM docs WHERE docs MATCH 'title: 1234'"), 1.0);
    assert_eq!(number(&like, "SELECT rowid FROM docs WHERE docs MATCH 'title: 1234'"), 1234.0);
    assert_eq!(
        number(&like, "SELECT count(*) FROM docs WHERE typeof(state) = 'integer' AND state BETWEEN 1 AND 3"),
        2000.0
    );
    assert_eq!(number(&like, "SELECT count(*) FROM docs WHERE typeof(body) = 'text'"), 2000.0);
    assert_eq!(integrity(&like), "ok");
    let sql: String =
        like.query_row("SELECT sql FROM sqlite_schema WHERE name = 'docs'", [], |row| row.get(0)).unwrap();
    assert!(sql.starts_with("CREATE VIRTUAL TABLE docs USING fts5("), "{sql}");
}

#[test]
fn row_counts_of_full_text_tables_are_given_scaled_and_previewed() {
    let scaled = |generate: Generate| generate.rows_of("t", 1).extent(Extent::new().scale(0.01));
    for (given, rows) in [
        (&scaled as &dyn Fn(Generate) -> Generate, 20.0),
        (&|generate: Generate| generate.rows_of("t", 1).rows_of("DOCS", 3), 3.0),
        (&|generate: Generate| generate.rows(7), 7.0),
        (&|generate: Generate| generate.rows_of("t", 1).rows_of("docs", 0), 0.0),
    ] {
        let home = Home::new();
        let (_, like) = made(&home, DOCS, given).unwrap();
        assert_eq!(number(&like, "SELECT count(*) FROM docs"), rows);
    }
    let home = Home::new();
    let schema = Schema::parse(DOCS, "s.sql".as_ref()).unwrap();
    let generate = Generate::new(home.path("like.db"), schema).rows_of("t", 1);
    let previews = generate.preview(2, &Context::default()).unwrap();
    let docs = previews.iter().find(|preview| preview.table == "docs").unwrap();
    assert_eq!(docs.columns, ["title", "state", "body"]);
    assert_eq!(docs.rows[1][0], PreviewValue::Text("Title 2".to_owned()));
    let prepared = generate.prepare(&Context::default()).unwrap();
    let plan = prepared.plan().to_string();
    assert_eq!(plan.matches("CREATE VIRTUAL TABLE docs").count(), 1, "{plan}");
    assert!(plan.contains("-- table    docs: 2000 rows from the generator"), "{plan}");
    Connection::open_in_memory().unwrap().execute_batch(&plan).unwrap();
    assert!(home.names().is_empty());
}

#[test]
fn tables_that_get_no_rows_are_named() {
    let plain = "CREATE TABLE t (a INT);";
    for (sql, note) in [
        (
            "CREATE VIRTUAL TABLE docs USING fts5(a, content='')",
            "full-text table docs gets no rows: it does not keep its text",
        ),
        (
            "CREATE VIRTUAL TABLE docs USING fts4(a /* gen: word() */, content=\"\")",
            "full-text table docs gets no rows: it does not keep its text",
        ),
        (
            "CREATE VIRTUAL TABLE docs USING fts4(a, compress=zip, uncompress=unzip)",
            "full-text table docs gets no rows: an application compresses its text",
        ),
        (
            "CREATE VIRTUAL TABLE docs USING fts5(a)",
            "full-text table docs gets no rows: no gen: or rows: comment describes it",
        ),
        (
            "CREATE VIRTUAL TABLE docs USING rtree(id, a, /* gen: real(0, 1) */ b)",
            "virtual table docs gets no rows: rows are made for full-text tables alone",
        ),
        (
            "CREATE VIRTUAL TABLE docs USING fts5(a /* gen: word() */, content='t')",
            "full-text table docs gets no rows: its text is in another table",
        ),
    ] {
        let home = Home::new();
        let sql = format!("{plain} {sql}");
        let shown = notes(&home, &sql, |generate| generate.rows(5));
        assert_eq!(shown.trim_end(), note, "{sql}");
        let (report, like) = made(&home, &sql, |generate| generate.rows(5)).unwrap();
        assert_eq!(report.tables.len(), 1, "{sql}");
        assert_eq!(number(&like, "SELECT count(*) FROM sqlite_schema WHERE name = 'docs'"), 1.0, "{sql}");
        if !sql.contains("zip") {
            assert_eq!(integrity(&like), "ok", "{sql}");
        }
    }
}

#[test]
fn full_text_tables_over_other_tables_are_filled_after_them() {
    let home = Home::new();
    let sql = format!(
        "{DOCS}
         CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT /* gen: template('number {{row()}}') */);
         CREATE VIEW seen AS SELECT id, body FROM note WHERE id < 100;
         CREATE VIRTUAL TABLE notes USING fts5(body, content='note', content_rowid='id');
         CREATE VIRTUAL TABLE some USING fts5(body, content='seen', content_rowid='id');
         CREATE VIRTUAL TABLE older USING fts4(body, content=note);
         CREATE VIRTUAL TABLE lost USING fts5(title, content=nothing);
         CREATE VIRTUAL TABLE again USING fts5(title, content='docs');
         CREATE VIRTUAL TABLE other USING fts5(title, content='note');"
    );
    let given = |generate: Generate| generate.rows(200);
    // The table `lost` names no table. The table `again` names a virtual table, from which SQLite reads no text. The table `other` names a
    // table without its column.
    assert_eq!(
        notes(&home, &sql, given),
        "full-text table lost gets no rows: no such table: main.nothing\n\
         full-text table again gets no rows: no such table: main.docs\n\
         full-text table other gets no rows: no such column: T.title\n"
    );
    let (_, like) = made(&home, &sql, given).unwrap();
    for (table, rows) in [("notes", 1.0), ("some", 0.0), ("older", 1.0), ("lost", 0.0), ("again", 0.0)] {
        let found = format!("SELECT count(*) FROM {table} WHERE {table} MATCH '177'");
        assert_eq!(number(&like, &found), rows, "{table}");
    }
    assert_eq!(number(&like, "SELECT count(*) FROM some('77')"), 1.0);
}

#[test]
fn rows_with_equal_keys_elsewhere_leave_full_text_tables_as_they_are() {
    for on_conflict in [OnConflict::Ignore, OnConflict::Replace] {
        let home = Home::new();
        let sql = format!("{DOCS} CREATE TABLE u (a INT UNIQUE /* gen: int(1, 9) */);");
        let write = WriteOptions::new().on_conflict(on_conflict);
        let given = |generate: Generate| generate.rows(100).write(write.clone());
        let (report, like) = made(&home, &sql, given).unwrap();
        assert_eq!(number(&like, "SELECT count(*) FROM docs"), 100.0);
        assert!(number(&like, "SELECT count(*) FROM u") < 10.0);
        assert_eq!(report.tables.iter().find(|table| table.name == "docs").unwrap().rows, 100);
    }
}

#[test]
fn a_table_that_loses_a_constraint_leaves_full_text_tables_as_they_are() {
    let home = Home::new();
    let sql = format!(
        "-- constraints: may be dropped
         {DOCS} CREATE TABLE u (a INT CHECK (a + 0 > 5) /* gen: int(1, 2) */);
         CREATE VIRTUAL TABLE again USING fts5(a, content='u');"
    );
    let (report, like) = made(&home, &sql, |generate| generate.rows(100)).unwrap();
    assert_eq!(report.dropped.len(), 1);
    assert_eq!(number(&like, "SELECT count(*) FROM docs"), 100.0);
    assert_eq!(number(&like, "SELECT count(*) FROM again('1 OR 2')"), 100.0);
}

#[test]
fn profiles_name_full_text_tables_without_text() {
    let home = Home::new();
    let connection = Connection::open(home.path("original.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('one'), ('two');
             CREATE VIRTUAL TABLE words USING fts5(a, content=''); INSERT INTO words (rowid, a) VALUES (1, 'Zqxw');
             CREATE VIRTUAL TABLE docs USING fts4; INSERT INTO docs VALUES ('one'), ('two'), (NULL);
             CREATE VIRTUAL TABLE more USING fts4(tokenize=porter); INSERT INTO more VALUES ('ones');",
        )
        .unwrap();
    let report = profile(&home.path("original.db"));
    let expected = "full-text table words gets no rows in a look-alike: it does not keep its text";
    assert_eq!(report.notes, [expected], "{}", report.text);
    assert!(report.text.contains(&format!("-- Note: {expected}")), "{}", report.text);
    generate(&report, &home.path("like.db"));
    let like = Connection::open(home.path("like.db")).unwrap();
    assert_eq!(number(&like, "SELECT count(*) FROM docs"), 3.0);
    assert_eq!(number(&like, "SELECT count(*) FROM more"), 1.0);
    assert_eq!(number(&like, "SELECT count(*) FROM words"), 0.0);
    let (described, all) = (report.tables.iter().map(|table| table.rows), 2 + 3 + 1);
    assert_eq!(described.sum::<u64>(), all);
    assert_eq!(report.rows, all);
}

#[test]
fn values_of_full_text_tables_follow_the_rules_of_profiles() {
    let home = Home::new();
    let connection = Connection::open(home.path("original.db")).unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE docs USING fts5(last_name, state, tokenize='porter ascii');
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
             INSERT INTO docs SELECT CASE i % 2 WHEN 0 THEN 'Xylander' ELSE 'Quarternook' END, CASE i % 3 WHEN 0 THEN 'open' ELSE 'shut' END FROM n;",
        )
        .unwrap();
    let report = profile(&home.path("original.db"));
    assert!(report.text.contains("shares('shut': 267, 'open': 133)"), "{}", report.text);
    assert!(!report.text.contains("Xylander") && !report.text.contains("Quarternook"), "{}", report.text);
    assert!(report.text.contains("docs.last_name: a person's name, by its name"), "{}", report.text);
    for strips in [false, true] {
        let none =
            Profile::new(home.path("original.db")).no_values(true).strip_literals(strips).run().unwrap();
        assert!(!none.text.contains("open") && !none.text.contains("shut"), "{}", none.text);
        assert!(none.text.contains("tokenize='porter ascii'"), "{}", none.text);
        generate(&none, &home.path(&format!("like-{strips}.db")));
    }
    let without = Profile::new(home.path("original.db")).exclude_tables(["docs"]).run().unwrap();
    assert!(without.tables.is_empty() && !without.text.contains("CREATE"), "{}", without.text);
}

fn refusal(home: &Home, sql: &str, given: impl Fn(Generate) -> Generate) -> Error {
    made(home, sql, given).unwrap_err()
}

#[test]
fn shares_of_full_text_tables_are_refused_unless_they_are_empty() {
    let home = Home::new();
    let share = |generate: Generate| generate.rows_of("t", 10).extent(Extent::new().share((1, 2)));
    let error = refusal(&home, DOCS, share);
    assert!(error.to_string().contains("full-text table docs can't be divided into parts"), "{error}");
    assert!(home.names().is_empty());
    let (_, like) = made(&home, DOCS, |generate| share(generate).rows_of("docs", 0)).unwrap();
    assert_eq!(number(&like, "SELECT count(*) FROM t"), 5.0);
}

#[test]
fn rows_are_added_to_the_full_text_tables_of_an_existing_database() {
    let home = Home::new();
    made(&home, DOCS, |generate| generate.rows_of("t", 10)).unwrap();
    let append = |generate: Generate| {
        generate.rows_of("t", 4).rows_of("docs", 30).write(WriteOptions::new().if_exists(IfExists::Append))
    };
    let (_, like) = made(&home, DOCS, append).unwrap();
    assert_eq!(number(&like, "SELECT count(*) FROM t"), 14.0);
    assert_eq!(number(&like, "SELECT count(*) FROM docs"), 2030.0);
    like.execute_batch("INSERT INTO docs(docs) VALUES ('integrity-check')").unwrap();
}

#[test]
fn a_row_count_of_a_full_text_table_that_gets_no_rows_is_refused_with_the_reason() {
    let missing = "CREATE TABLE t (a); CREATE VIRTUAL TABLE docs USING fts4(a, content='')";
    let error = refusal(&Home::new(), missing, |generate| generate.rows_of("t", 4).rows_of("DOCS", 5));
    assert_eq!(error.without_hint(), "full-text table docs gets no rows: it does not keep its text");
}

#[test]
fn mistakes_in_comments_of_full_text_tables_have_their_places() {
    for (sql, message) in [
        (
            "CREATE VIRTUAL TABLE docs USING fts5(\n a, -- gen: digts(6)\n b)",
            "s.sql:2:13: no function is called `digts`",
        ),
        ("CREATE VIRTUAL TABLE docs USING fts5(a /* gen: word() */)", "the row count of docs is missing"),
        (
            "CREATE VIRTUAL TABLE docs USING fts5(a, prefix=2 /* gen: word() */)",
            "s.sql:1:50: a gen: comment on an option of a virtual table",
        ),
    ] {
        let error = refusal(&Home::new(), sql, |generate| generate);
        assert_eq!(error.without_hint(), message);
    }
}

/// Sets the flag after some rows of the phase in which SQLite inserts rows.
struct StopAmongRows(Cancel, std::sync::atomic::AtomicBool);

impl Progress for StopAmongRows {
    fn phase(&self, name: &str, _: Option<Amount>) {
        self.1.store(name == "rows", std::sync::atomic::Ordering::Relaxed);
    }

    fn advance(&self, _: Amount) {
        if self.1.load(std::sync::atomic::Ordering::Relaxed) {
            self.0.cancel();
        }
    }
}

#[test]
fn a_run_that_is_stopped_while_sqlite_fills_a_full_text_table_leaves_nothing() {
    let home = Home::new();
    let schema = Schema::parse(DOCS, "s.sql".as_ref()).unwrap();
    let cancel = Cancel::new();
    let stop = StopAmongRows(cancel.clone(), std::sync::atomic::AtomicBool::new(false));
    let generate = Generate::new(home.path("like.db"), schema).rows_of("t", 1).rows_of("docs", 20_000);
    let error = generate.run_with(&Context::default().progress(&stop).cancel(&cancel)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert!(home.names().is_empty());
}
