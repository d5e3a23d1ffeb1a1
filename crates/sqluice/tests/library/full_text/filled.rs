//! Tests of the full-text tables of a schema, which `load`, `generate`, `merge` and `copy` fill.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice::copy::Copy;
use sqluice::generate::Generate;
use sqluice::load::Load;
use sqluice::merge::Merge;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::schema::Schema;

use super::support::{ask, insert, same};
use crate::support::files::Home;

/// Returns the number of levels of a full-text table: SQLite begins with one, and an index that is made at once has more.
fn levels(connection: &Connection, name: &str) -> i64 {
    let sql = format!("SELECT block FROM {name}_data WHERE id = 10");
    let block: Vec<u8> = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
    i64::from(block[4])
}

/// Makes a twin: the same schema and rows, and an index that SQLite has made in several flushes and optimized.
fn twin(path: &Path, schema: &str, rows: &str, fill: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "{schema}; {rows}; INSERT INTO f(f, rank) VALUES ('automerge', 0), ('hashsize', 1000); {fill};
             INSERT INTO f(f) VALUES ('optimize')"
        ))
        .unwrap();
    connection
}

/// Returns the rows of the shadow tables, without the number of the segment.
fn rows_of(connection: &Connection, name: &str) -> Vec<super::support::Answer> {
    let lists = [
        format!("SELECT id % (1 << 37), block FROM {name}_data WHERE id <> 10 ORDER BY 1"),
        format!("SELECT term, pgno FROM {name}_idx"),
        format!("SELECT * FROM {name}_docsize"),
    ];
    lists.iter().map(|sql| ask(connection, sql, &[])).collect()
}

fn options(threads: usize) -> WriteOptions {
    WriteOptions::new().threads(threads)
}

const OVER_T: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);
     CREATE VIRTUAL TABLE f USING fts5(a, b, content='t', content_rowid='id', tokenize=porter, prefix='2');
     CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO f(rowid, a, b) VALUES (new.id, new.a, new.b); END";

#[test]
fn a_load_fills_the_full_text_tables_of_its_schema() {
    let home = Home::new();
    let (csv, made) = (home.path("t.csv"), home.path("texts.db"));
    // The texts of a database are written to a file.
    let connection = Connection::open(&made).unwrap();
    connection.execute_batch("CREATE TABLE t (a TEXT, b TEXT, c TEXT)").unwrap();
    insert(&connection, 0, 300, &mut fastrand::Rng::with_seed(9));
    let texts = ask(
        &connection,
        "SELECT rowid, printf('%s', a), printf('%s', b) FROM t WHERE typeof(a) = 'text' AND typeof(b) <> 'blob' AND instr(a || b, char(0)) = 0",
        &[],
    )
    .unwrap();
    let mut file = "id,a,b,c\n".to_owned();
    for row in &texts {
        let quoted = row.iter().map(|value| match value {
            rusqlite::types::Value::Integer(int) => int.to_string(),
            rusqlite::types::Value::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
            _ => String::new(),
        });
        writeln!(file, "{},x", quoted.collect::<Vec<_>>().join(",")).unwrap();
    }
    fs::write(&csv, file).unwrap();
    let twin = twin(&home.path("twin.db"), OVER_T, "", "");
    let schema = Schema::parse(OVER_T, "s.sql".as_ref()).unwrap();
    for threads in [1, 3] {
        let path = home.path(&format!("{threads}.db"));
        let load =
            Load::new(&path, [&csv]).schema(schema.clone()).table("t".to_owned()).write(options(threads));
        let report = load.run().unwrap();
        assert_eq!((report.rows, &*report.full_text), (texts.len() as u64, &["f".to_owned()][..]));
        let ours = Connection::open(&path).unwrap();
        assert!(levels(&ours, "f") > 4);
        if threads == 1 {
            let rows = format!(
                "ATTACH '{}' AS ours; INSERT INTO t SELECT * FROM ours.t WHERE id % 2; INSERT INTO t SELECT * FROM ours.t WHERE NOT id % 2",
                path.display()
            );
            twin.execute_batch(&rows).unwrap();
            twin.execute_batch("DETACH ours; INSERT INTO f(f) VALUES ('rebuild'), ('optimize')").unwrap();
        }
        same(&ours, &twin, "loaded");
        assert!(rows_of(&ours, "f") == rows_of(&twin, "f"));
    }
}

#[test]
fn a_plan_names_the_tables_that_only_sqlite_fills() {
    let home = Home::new();
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
         CREATE VIRTUAL TABLE f USING fts5(a, content=t, content_rowid=id, locale=1)";
    let schema = Schema::parse(sql, "s.sql".as_ref()).unwrap();
    let generate = Generate::new(home.path("x.db"), schema).rows(20);
    let prepared = generate.prepare(&Context::default()).unwrap();
    let notes: Vec<String> = prepared.plan().notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        ["SQLite makes the index of full-text table f: only SQLite knows the locales of texts"]
    );
    prepared.run(&Context::default()).unwrap();
    let ours = Connection::open(home.path("x.db")).unwrap();
    ours.execute_batch("INSERT INTO f(f, rank) VALUES ('integrity-check', 1)").unwrap();
}

#[test]
fn merges_and_copies_of_a_selection_make_the_index_at_once() {
    let own = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);
         CREATE VIRTUAL TABLE f USING fts5(a, b, detail=column, columnsize=1, content_rowid=rowid)";
    let own = &own.replace(", content_rowid=rowid", "");
    for (schema, fill) in [
        (OVER_T, "INSERT INTO f(f) VALUES ('rebuild')"),
        (own, "INSERT INTO f(rowid, a, b) SELECT id, a, b FROM t"),
    ] {
        let home = Home::new();
        let sources = [home.path("1.db"), home.path("2.db")];
        for (number, source) in sources.iter().enumerate() {
            let connection = Connection::open(source).unwrap();
            let without_trigger = schema.split("CREATE TRIGGER").next().unwrap();
            connection.execute_batch(&format!("PRAGMA synchronous = off; {without_trigger}")).unwrap();
            insert(&connection, 10_000 * number as i64, 200, &mut fastrand::Rng::with_seed(number as u64));
            connection.execute_batch(fill).unwrap();
            if let Some((_, trigger)) = schema.split_once("CREATE TRIGGER") {
                connection.execute_batch(&format!("CREATE TRIGGER{trigger}")).unwrap();
            }
        }
        let both = home.path("both.db");
        Merge::new(&both, &sources).write(options(2)).run().unwrap();
        let rows = format!("ATTACH '{}' AS merged; INSERT INTO t SELECT * FROM merged.t", both.display());
        let by_sqlite =
            twin(&home.path("twin.db"), schema.split("CREATE TRIGGER").next().unwrap(), &rows, fill);
        let ours = Connection::open(&both).unwrap();
        assert!(levels(&ours, "f") > 4);
        by_sqlite.execute_batch("DETACH merged").unwrap();
        assert!(rows_of(&ours, "f") == rows_of(&by_sqlite, "f"), "{schema}");
        same(&ours, &by_sqlite, "merged");
        if schema != OVER_T {
            continue;
        }
        let some = home.path("some.db");
        Copy::new(&both, &some).filter("t", "id % 3 = 1").write(options(2)).run().unwrap();
        by_sqlite
            .execute_batch(
                "DELETE FROM t WHERE id % 3 <> 1; INSERT INTO f(f) VALUES ('rebuild'), ('optimize')",
            )
            .unwrap();
        let ours = Connection::open(&some).unwrap();
        assert!(levels(&ours, "f") > 4);
        assert!(rows_of(&ours, "f") == rows_of(&by_sqlite, "f"), "{schema}");
        same(&ours, &by_sqlite, "copied");
    }
}
