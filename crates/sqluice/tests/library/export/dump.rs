//! Dumps: run by the program `sqlite3` and by the built-in SQLite, a dump makes the same database.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::export::{Export, Mixed, formats};
use sqluice::progress::{Amount, Cancel, Context, Progress};
use sqluice_testkit::config;
use sqluice_testkit::effort::tries;
use sqluice_testkit::names;
use sqluice_testkit::skip::has;
use sqluice_testkit::sqlite::sqlite3;

use crate::copy::content::{content, integrity, open, pragma};
use crate::copy::random;

/// Runs a dump in the program `sqlite3`. Returns the new database, or `None` if the program is not installed.
fn by_program(dump: &Path) -> Option<PathBuf> {
    if !has("sqlite3") {
        return None;
    }
    let db = dump.with_extension("program.db");
    let output =
        Command::new("sqlite3").arg("-bail").arg(&db).stdin(File::open(dump).unwrap()).output().unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(printed, ["", ""], "{}", fs::read_to_string(dump).unwrap());
    Some(db)
}

/// Runs a dump in the built-in SQLite. Returns the new database.
fn by_library(dump: &Path) -> PathBuf {
    let db = dump.with_extension("library.db");
    let connection = Connection::open(&db).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    connection.execute_batch(&fs::read_to_string(dump).unwrap()).unwrap();
    // The connection that ran the dump can still read each table.
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        connection.prepare(&format!("SELECT * FROM \"{}\"", table.replace('"', "\"\""))).unwrap();
    }
    db
}

/// Returns the databases that a dump makes.
fn loaded(dump: &Path) -> Vec<PathBuf> {
    by_program(dump).into_iter().chain([by_library(dump)]).collect()
}

/// Returns a float of any size: with all digits, with few decimals, or subnormal.
fn finite(rng: &mut Rng) -> f64 {
    loop {
        let real = match rng.u8(0..4) {
            0 => f64::from_bits(rng.u64(..)),
            1 => f64::from(rng.i32(..)) / 10f64.powi(rng.i32(-30..30)),
            2 => (rng.i64(..) >> rng.u8(0..60)) as f64 * 10f64.powi(rng.i32(-25..25)),
            _ => f64::from_bits(rng.u64(..) >> rng.u8(12..64)),
        };
        if real.is_finite() {
            return real;
        }
    }
}

/// Adds tables, rows and statements that a dump could change.
pub(crate) fn add_oddities(rng: &mut Rng, connection: &Connection) {
    let texts = [
        "''",
        "'a' || char(13, 10) || 'b'",
        "char(13, 10) || '\\r' || char(13) || '(\\r0)'",
        "'a' || char(0) || 'b' || char(13, 10) || '\\0'",
        "char(10) || ';' || char(10) || '/' || char(10) || 'go' || char(10) || '.quit' || char(10)",
        "'it''s \"quoted\"' || char(10) || '-- no comment'",
        "'\\' || char(13) || 'r' || char(13, 10)",
        "char(0)",
    ];
    let ends = ["", " -- end", " /* end", " /* end */", "\n", " -- one\r\n"];
    let end = |rng: &mut Rng| rng.choice(ends).unwrap();
    let run = |sql: &str| connection.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    run("CREATE TABLE \"order\"\"s\" (\"\", \"a b\", \"select\" TEXT, -- one\r\n 'it''s')");
    run("CREATE TABLE hidden (rowid, oid, a, _rowid_)");
    run("CREATE TABLE half_hidden (a, rowid, oid)");
    run(
        "CREATE TABLE checked (a CHECK (a > 0), b DEFAULT 'one\r\ntwo' CHECK (b != 'x\r\ny'), c AS (a\n/\n2) STORED)",
    );
    run(
        "PRAGMA ignore_check_constraints = ON; INSERT INTO checked (a) VALUES (1), (-1); PRAGMA ignore_check_constraints = OFF",
    );
    run(&format!("CREATE INDEX by_text ON checked (replace(b, '\r\n', '')){}", end(rng)));
    run(&format!("CREATE VIEW odd AS SELECT a\n/\n2 AS go FROM checked{}", end(rng)));
    run(&format!(
        "CREATE TRIGGER odd_insert INSTEAD OF INSERT ON odd BEGIN DELETE FROM checked; SELECT 'a;b'; -- no end\n END{}",
        end(rng)
    ));
    run("CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (id REFERENCES parent)");
    run("INSERT INTO child VALUES (7)");
    for _ in 0..rng.usize(0..60) {
        let (text, rowid) = (rng.choice(texts).unwrap(), rng.i64(..));
        let sql = format!(
            "INSERT OR IGNORE INTO \"order\"\"s\" (rowid, \"\", \"a b\", \"select\", 'it''s')
             VALUES ({rowid}, {text}, ?, {text}, zeroblob({}))",
            rng.usize(0..90)
        );
        connection.execute(&sql, [finite(rng)]).unwrap();
        let sql = format!(
            "INSERT OR IGNORE INTO half_hidden (_rowid_, a, rowid) VALUES ({rowid}, ?, {})",
            rng.i64(..)
        );
        connection.execute(&sql, [finite(rng)]).unwrap();
        run(&format!("INSERT INTO hidden VALUES ({rowid}, {text}, -0.0, 9e999)"));
    }
    let encoding = pragma(connection, "encoding");
    if encoding.contains("UTF-8") {
        run("INSERT INTO half_hidden (a) VALUES (CAST(x'61ff0d0a00' AS TEXT))");
    }
    if rng.bool() {
        run(
            "CREATE VIRTUAL TABLE old_words USING fts4(text); INSERT INTO old_words VALUES ('one two'), ('two\r\nthree')",
        );
        run("CREATE VIRTUAL TABLE fed USING fts5(a, content='half_hidden', content_rowid='_rowid_')");
    }
    match rng.u8(0..3) {
        0 => run("DROP TABLE counted"),
        1 => run("INSERT INTO sqlite_sequence VALUES ('gone', 9), (NULL, 'x'), ('counted', 2.5)"),
        _ => {}
    }
}

proptest! {
    #![proptest_config(config(tries(15, 60, 500)))]

    #[test]
    fn a_dump_makes_the_same_database(seed: u64, packed: bool) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.db");
        random::make(&mut rng, &source);
        {
            let connection = open(&source);
            connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN").unwrap();
            add_oddities(&mut rng, &connection);
            connection.execute_batch("COMMIT").unwrap();
        }
        let dump = folder.path().join("dump.sql");
        let report = Export::new(&source, &dump).threads(rng.usize(1..4)).run().unwrap();
        let note = "rows of table hidden get new rowids, because its columns have all names of the rowid";
        prop_assert_eq!(&report.files[0].notes, &[note]);
        prop_assert_eq!(report.bytes(), dump.metadata().unwrap().len());
        let before = content(&source);
        let about = |db: &Path| ["page_size", "auto_vacuum"].map(|name| pragma(&open(db), name));
        let (by_program, by_library) = (by_program(&dump), by_library(&dump));
        for db in by_program.iter().chain([&by_library]) {
            prop_assert_eq!(&content(db), &before);
            prop_assert_eq!(about(db), about(&source));
        }
        // A row that breaks a CHECK still breaks it. Each version of SQLite checks its own file, because versions write floats as different
        // text, also in indexes.
        let broken = "CHECK constraint failed in checked";
        prop_assert_eq!(integrity(&by_library), broken);
        if let Some(by_program) = by_program {
            prop_assert_eq!(sqlite3(&by_program, "PRAGMA integrity_check").unwrap(), broken);
        }
        let (name, other) = if packed { ("dump.sql.gz", "gzip") } else { ("dump.sql.zst", "zstd") };
        let compressed = folder.path().join(name);
        Export::new(&source, &compressed).threads(1).run().unwrap();
        let bytes = fs::read(&compressed).unwrap();
        let mut text = Vec::new();
        match other {
            "gzip" => flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap(),
            _ => zstd::Decoder::new(&bytes[..]).unwrap().read_to_end(&mut text).unwrap(),
        };
        prop_assert!(text == fs::read(&dump).unwrap());
    }
}

#[test]
fn each_float_is_read_back_by_each_version_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("floats.db");
    let mut rng = Rng::with_seed(7);
    let mut connection = Connection::open(&source).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    let transaction = connection.transaction().unwrap();
    for _ in 0..tries(20_000, 100_000, 400_000) {
        transaction.prepare_cached("INSERT INTO t VALUES (?)").unwrap().execute([finite(&mut rng)]).unwrap();
    }
    transaction.commit().unwrap();
    let dump = folder.path().join("floats.sql");
    Export::new(&source, &dump).run().unwrap();
    let before = content(&source);
    for db in loaded(&dump) {
        assert!(content(&db) == before, "{}", db.display());
    }
}

const SHOP: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT);
    CREATE INDEX orders_by_item ON orders (item);
    CREATE TABLE log (line);
    CREATE TRIGGER orders_logged AFTER INSERT ON orders BEGIN INSERT INTO log VALUES (new.item); END;
    CREATE VIEW seen AS SELECT item FROM orders;
    CREATE TRIGGER seen_insert INSTEAD OF INSERT ON seen BEGIN INSERT INTO orders (item) VALUES (new.item); END;
    CREATE TABLE other (id INTEGER PRIMARY KEY AUTOINCREMENT);
    CREATE VIRTUAL TABLE words USING fts5(text);
    INSERT INTO orders (item) VALUES ('tea'), ('cake');
    INSERT INTO other VALUES (50);
    INSERT INTO words VALUES ('one two');
    CREATE INDEX other_by_id ON other (id);
    ANALYZE;";

struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    fn new(sql: &str) -> Shop {
        let shop = Shop { folder: tempfile::tempdir().unwrap() };
        Connection::open(shop.at("shop.db")).unwrap().execute_batch(sql).unwrap();
        shop
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, to: &str) -> Export {
        Export::new(self.at("shop.db"), self.at(to)).threads(2)
    }

    /// Returns the names of the objects and the rows of SQLite's own tables, after a dump of some tables is loaded.
    fn of_tables(&self, tables: &[&str]) -> Vec<String> {
        let dump = self.at("some.sql");
        self.export("some.sql").tables(tables.iter().copied()).overwrite(true).run().unwrap();
        let rows = |connection: &Connection, sql: &str| -> Vec<String> {
            let Ok(mut statement) = connection.prepare(sql) else { return Vec::new() };
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let found = loaded(&dump).into_iter().map(|db| {
            let connection = open(&db);
            let mut found = rows(&connection, "SELECT name FROM sqlite_schema ORDER BY rowid");
            found.extend(rows(&connection, "SELECT name || ' ' || seq FROM sqlite_sequence"));
            found.extend(rows(&connection, "SELECT DISTINCT tbl FROM sqlite_stat1 ORDER BY tbl"));
            assert_eq!(integrity(&db), "ok");
            drop(connection);
            fs::remove_file(db).unwrap();
            found
        });
        let found: Vec<Vec<String>> = found.collect();
        assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        found[0].clone()
    }
}

#[test]
fn a_dump_of_named_tables_has_their_indexes_triggers_and_sequences() {
    let shop = Shop::new(SHOP);
    let found = shop.of_tables(&["ORDERS"]);
    let expected =
        ["orders", "sqlite_sequence", "orders_by_item", "orders_logged", "sqlite_stat1", "sqlite_stat4"];
    assert_eq!(found[..6], expected);
    assert_eq!(found[6..], ["orders 2", "orders"]);
    let found = shop.of_tables(&["seen"]);
    assert_eq!(found, ["seen", "seen_insert"]);
    let found = shop.of_tables(&["words", "log"]);
    let expected =
        ["log", "words", "words_data", "words_idx", "words_content", "words_docsize", "words_config"];
    assert_eq!(found[..7], expected);
    let error = shop.export("x.sql").tables(["order"]).run().unwrap_err().to_string();
    assert!(error.contains("has no table or view order") && error.contains("orders"), "{error}");
    let error = shop.export("x.sql").tables(["sqlite_sequence"]).run().unwrap_err().to_string();
    assert!(error.contains("has no table or view sqlite_sequence"), "{error}");
}

#[test]
fn a_dump_of_a_database_without_tables_makes_an_empty_database() {
    let shop = Shop::new("PRAGMA user_version = -3; PRAGMA application_id = 77");
    shop.export("all.sql").run().unwrap();
    for db in loaded(&shop.at("all.sql")) {
        assert_eq!(content(&db), content(&shop.at("shop.db")));
    }
}

#[test]
fn a_dump_keeps_the_order_of_sqlite_schema() {
    let shop = Shop::new(
        "CREATE TABLE a (x); CREATE INDEX a_x ON a (x); CREATE VIEW v AS SELECT * FROM b; CREATE TABLE b (x);
         INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (3);",
    );
    shop.export("all.sql").run().unwrap();
    for db in loaded(&shop.at("all.sql")) {
        assert_eq!(content(&db), content(&shop.at("shop.db")));
    }
}

#[test]
fn only_a_dump_without_virtual_tables_runs_on_a_defensive_connection() {
    use rusqlite::config::DbConfig;

    let shop = Shop::new(&format!("{SHOP} DROP TABLE sqlite_stat4;"));
    let run = |tables: &[&str]| {
        let to = shop.at("some.sql");
        shop.export("some.sql").tables(tables.iter().copied()).overwrite(true).run().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).unwrap();
        connection.execute_batch(&fs::read_to_string(to).unwrap())
    };
    run(&["seen", "orders", "log", "other"]).unwrap();
    assert!(run(&["words"]).unwrap_err().to_string().contains("sqlite_master may not be modified"));
    if has("sqlite3") {
        let cases = [("on", false), ("off", true)];
        for (defensive, works) in cases {
            let dump = File::open(shop.at("some.sql")).unwrap();
            let db = shop.at(&format!("{defensive}.db"));
            let mut program = Command::new("sqlite3");
            program.args(["-bail", "-cmd", &format!(".dbconfig defensive {defensive}")]).arg(&db).stdin(dump);
            assert_eq!(program.output().unwrap().status.success(), works);
        }
    }
}

#[test]
fn settings_that_select_rows_or_columns_are_refused_for_a_dump() {
    let shop = Shop::new(SHOP);
    let refused = [
        (shop.export("x.sql").query("SELECT 1".to_owned()), "query"),
        (shop.export("x.sql").columns(vec!["id".to_owned()]), "columns"),
        (shop.export("x.sql").filter("id = 1".to_owned()), "where"),
        (shop.export("x.sql.gz").limit(1), "limit"),
        (shop.export("x.sql").mixed(Mixed::Null), "mixed"),
        (shop.export("x").format(&formats::SQL).dates(true), "dates"),
    ];
    for (export, setting) in refused {
        let error = export.run().unwrap_err().to_string();
        assert!(
            error.contains(&format!("`{setting}` has no meaning for SQL, which has whole tables")),
            "{error}"
        );
    }
    fs::create_dir(shop.at("folder")).unwrap();
    for folder in ["folder", "new/"] {
        let error = shop.export(folder).format(&formats::SQL).run().unwrap_err().to_string();
        assert!(error.contains("is a folder, and SQL is one file for all tables"), "{error}");
    }
    let error = shop.export("shop.db").format(&formats::SQL).overwrite(true).run().unwrap_err().to_string();
    assert!(error.contains("is the database that is read"), "{error}");
    fs::write(shop.at("x.sql"), "old").unwrap();
    let error = shop.export("x.sql").run().unwrap_err().to_string();
    assert!(error.contains("exists"), "{error}");
    assert_eq!(names(shop.folder.path()), ["folder", "shop.db", "x.sql"]);
}

/// Sets the cancel flag once a number of rows have been written.
struct Stop {
    cancel: Cancel,
    at_rows: u64,
    rows: std::sync::atomic::AtomicU64,
}

impl Progress for Stop {
    fn advance(&self, done: Amount) {
        let rows = self.rows.fetch_add(done.rows, std::sync::atomic::Ordering::Relaxed) + done.rows;
        if rows >= self.at_rows {
            self.cancel.cancel();
        }
    }
}

#[test]
fn a_canceled_or_refused_dump_leaves_no_file() {
    let shop = Shop::new(
        "CREATE TABLE t (a, b); CREATE TABLE u (a);
         INSERT INTO t WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT i, hex(randomblob(40)) FROM n;
         INSERT INTO u VALUES (1)",
    );
    for at_rows in [1, 20_000, 59_999] {
        let cancel = Cancel::new();
        let stop = Stop { cancel: cancel.clone(), at_rows, rows: 0.into() };
        let context = Context::default().progress(&stop).cancel(&cancel);
        shop.export("x.sql").run_with(&context).unwrap_err();
        assert_eq!(names(shop.folder.path()), ["shop.db"]);
    }
    let utf16 = Shop::new(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2, CAST(x'00d8' AS TEXT))",
    );
    let odd = Shop::new("CREATE TABLE \"a\r\nb\" (x)");
    let error = odd.export("x.sql").run().unwrap_err().to_string();
    assert!(error.contains("the name of table a\\r\\nb has CR LF"), "{error}");
    let error = utf16.export("x.sql").run().unwrap_err().to_string();
    assert!(error.contains("not valid Unicode (table t, rowid 2, column b)"), "{error}");
    assert_eq!(names(utf16.folder.path()), ["shop.db"]);
}

#[test]
fn the_plan_of_a_dump_lists_its_tables_and_the_rows_that_get_new_rowids() {
    let shop = Shop::new("CREATE TABLE a (x); CREATE TABLE b (rowid, oid, _rowid_)");
    let prepared = shop.export("x.sql").prepare(&Context::default()).unwrap();
    let file = &prepared.plan().files[0];
    assert_eq!((file.table.as_deref(), &file.tables[..]), (None, &["a".to_owned(), "b".to_owned()][..]));
    let text = prepared.plan().to_string();
    assert!(
        text.contains("database to ") && text.contains("x.sql (SQL), read by pages, on all cores\n  a, b\n"),
        "{text}"
    );
    assert!(text.contains("  rows of table b get new rowids"), "{text}");
    let report = prepared.run(&Context::default()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json["files"][0]["tables"],
        serde_json::json!([{"table": "a", "rows": 0}, {"table": "b", "rows": 0}])
    );
}
