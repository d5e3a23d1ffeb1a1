//! Some tables of a dump: the database is what SQLite makes of the whole dump, without the other tables and views.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice::check::Check;
use sqluice::error::{Error, ErrorKind};
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice::report::Report;
use sqluice_testkit::effort::tries;
use sqluice_testkit::{config, names};

use crate::copy::content::{Content, content, integrity};
use crate::copy::random;

fn load(dump: &Path, db: &Path, tables: &[String]) -> Result<Report, Error> {
    let write = WriteOptions::new().threads(2).tune(|tuning| tuning.chunk_bytes = 16 << 10);
    Load::new(db, [dump]).tables(tables).write(write).run()
}

fn open(db: &Path) -> Connection {
    let connection = Connection::open(db).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
    connection
}

/// Returns the tables that a user may name.
fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
               ORDER BY name";
    connection.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Drops all views, and all tables but the named ones, with SQLite's rows about them.
fn drop_others(connection: &Connection, kept: &[String]) {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let views = "SELECT name FROM sqlite_schema WHERE type = 'view'";
    let views: Vec<String> = connection
        .prepare(views)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for view in views {
        connection.execute_batch(&format!("DROP VIEW {}", quoted(&view))).unwrap();
    }
    // A virtual table that is dropped takes its shadow tables along, so a listed table may not exist any more.
    for table in tables(connection).iter().filter(|table| !kept.contains(table)) {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(table))).unwrap();
    }
    for (table, column) in [("sqlite_sequence", "name"), ("sqlite_stat1", "tbl"), ("sqlite_stat4", "tbl")] {
        let delete = format!(
            "DELETE FROM {table} WHERE {column} COLLATE NOCASE NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')"
        );
        // Not every database has the table, so an error is ignored.
        let _ = connection.execute_batch(&delete);
    }
    // Rows of sqlite_sequence have a meaning only if a table has AUTOINCREMENT, so others are deleted. The table may not exist, so an error
    // is ignored.
    let _ = connection.execute_batch(
        "DELETE FROM sqlite_sequence WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%')",
    );
}

/// Returns the content of a database without empty tables of SQLite, because SQLite keeps these tables when it drops the tables that their
/// rows were about.
fn comparable(db: &Path) -> Content {
    let mut content = content(db);
    content.sort();
    content.sort_tables_of_sqlite();
    content.without_encoding();
    content.without_empty_tables_of_sqlite();
    content
}

/// Returns some of `all`, at least one.
fn some(rng: &mut Rng, mut all: Vec<String>) -> Vec<String> {
    rng.shuffle(&mut all);
    all.truncate(rng.usize(1..=all.len()));
    all
}

/// Compares a load of some tables with a database in which SQLite runs the whole dump and then drops the other tables.
fn compare(rng: &mut Rng, dump: &Path, text: &str) -> Result<bool, TestCaseError> {
    let (expected, loaded) = (dump.with_extension("sqlite.db"), dump.with_extension("loaded.db"));
    let connection = open(&expected);
    if connection.execute_batch(text).is_err() || !connection.is_autocommit() {
        return Ok(false);
    }
    // This connection does not know virtual tables that the dump has written into `sqlite_schema`, so the database is opened again.
    drop(connection);
    let connection = open(&expected);
    let all = tables(&connection);
    if all.is_empty() {
        return Ok(false);
    }
    let named = some(rng, all);
    // For the message, leave out INSERTs of literals: they are many, and seldom the reason.
    let rows = |line: &&str| line.starts_with("INSERT INTO") && line.len() > 200;
    let shown = text.lines().filter(|line| !rows(line)).collect::<Vec<_>>().join("\n");
    let in_some_case = |name: &String| if rng.bool() { name.to_ascii_uppercase() } else { name.clone() };
    let result = load(dump, &loaded, &named.iter().map(in_some_case).collect::<Vec<_>>());
    if let Err(error) = result {
        prop_assert_eq!(error.kind(), ErrorKind::Usage, "{} {:?}\n{}", error, named, shown);
        prop_assert!(error.place().is_some_and(|place| place.line.is_some()), "{}\n{}", error, shown);
        prop_assert!(!loaded.exists());
        return Ok(false);
    }
    drop_others(&connection, &named);
    drop(connection);
    let (expected_content, loaded_content) = (comparable(&expected), comparable(&loaded));
    let difference = expected_content.difference(&loaded_content);
    prop_assert!(difference.is_none(), "{}\n{:?} of {}", difference.unwrap_or_default(), named, shown);
    prop_assert_eq!(integrity(&loaded), integrity(&expected), "{:?} of {}", named, shown);
    prop_assert!(Check::new(&loaded).run().unwrap().is_sound());
    Ok(true)
}

proptest! {
    #![proptest_config(config(tries(12, 60, 1000)))]

    #[test]
    fn selected_tables_of_a_dump_equal_those_of_the_whole_dump(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source.db");
        random::make(&mut rng, &source);
        let dump = folder.path().join("dump.sql");
        if cfg!(feature = "export") && rng.bool() {
            #[cfg(feature = "export")]
            sqluice::export::Export::new(&source, &dump).threads(1).run().unwrap();
        } else if !super::databases::dump_by_shell(&source, ".dump", &dump) {
            return Ok(());
        }
        compare(&mut rng, &dump, &fs::read_to_string(&dump).unwrap())?;
    }
}

proptest! {
    #![proptest_config(config(tries(200, 1000, 30_000)))]

    #[test]
    fn selected_tables_of_random_statements_equal_those_of_all_or_a_statement_is_refused(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let text = super::statements::sound_script(&mut rng, &folder.path().join("run.db"));
        let dump = folder.path().join("dump.sql");
        fs::write(&dump, &text).unwrap();
        compare(&mut rng, &dump, &text)?;
    }
}

const DUMP: &str = "\
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE customers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob');
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer REFERENCES customers, item);
INSERT INTO orders VALUES (7, 1, 'ink');
CREATE TABLE log (line);
CREATE INDEX by_item ON orders (item);
CREATE TRIGGER logs AFTER DELETE ON orders BEGIN INSERT INTO log VALUES (old.id); END;
CREATE VIEW sold AS SELECT item FROM orders;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('customers', 5);
INSERT INTO sqlite_sequence VALUES('orders', 9);
UPDATE customers SET name = upper(name);
COMMIT;
";

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn load(&self, dump: &str, tables: &[&str]) -> Result<Report, Error> {
        fs::write(self.folder.path().join("dump.sql"), dump).unwrap();
        let tables: Vec<String> = tables.iter().map(|name| (*name).to_owned()).collect();
        load(&self.folder.path().join("dump.sql"), &self.folder.path().join("x.db"), &tables)
    }

    fn query(&self, sql: &str) -> String {
        let connection = Connection::open(self.folder.path().join("x.db")).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

fn home() -> Home {
    Home { folder: tempfile::tempdir().unwrap() }
}

#[test]
fn a_selected_table_of_a_dump_comes_with_its_indexes_triggers_and_sequence() {
    let home = home();
    let report = home.load(DUMP, &["Orders"]).unwrap();
    assert_eq!(report.rows, 3);
    assert_eq!(
        home.query("SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema ORDER BY name)"),
        "by_item,logs,orders,sqlite_sequence"
    );
    assert_eq!(home.query("SELECT group_concat(name || seq) FROM sqlite_sequence"), "orders9");
    let note = "the foreign key of orders refers to customers, which is not loaded";
    assert!(report.notes.iter().any(|known| known.to_string() == note), "{:?}", report.notes);
}

#[test]
fn a_table_that_the_dump_does_not_make_is_refused_with_the_nearest_name() {
    let home = home();
    for (name, hint) in
        [("order", "did you mean orders? There are: customers, orders, log"), ("sold", "customers")]
    {
        let error = home.load(DUMP, &[name]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(&format!("the dump makes no table {name}")), "{error}");
        assert!(error.hint_text().is_some_and(|known| known.contains(hint)), "{error:?}");
        assert_eq!(names(home.folder.path()), ["dump.sql"]);
    }
}

#[test]
fn a_table_of_a_dump_that_makes_no_tables_is_refused_with_a_hint_that_there_are_none() {
    let home = home();
    let error = home.load("PRAGMA recursive_triggers = ON;\n", &["t"]).unwrap_err();
    assert_eq!(error.message(), "the dump makes no table t");
    assert_eq!(error.hint_text().as_deref(), Some("there are none to choose from"));
}

#[test]
fn a_dump_statement_that_needs_a_table_that_is_not_selected_is_refused_with_its_line() {
    let home = home();
    let with = |statement: &str| DUMP.replace("COMMIT;", &format!("{statement};\nCOMMIT;"));
    for (statement, named, needed) in [
        ("INSERT INTO customers SELECT 9, item FROM orders", "customers", "orders"),
        ("UPDATE customers SET name = (SELECT max(line) FROM log)", "customers", "log"),
        ("ALTER TABLE customers RENAME TO people", "people", "customers"),
    ] {
        let error = home.load(&with(statement), &[named]).unwrap_err();
        assert_eq!(error.place().and_then(|place| place.line), Some(15), "{error}");
        assert!(error.to_string().contains(needed), "{error}");
        assert_eq!(names(home.folder.path()), ["dump.sql"]);
        if named == "customers" {
            home.load(&with(statement), &[named, needed]).unwrap();
            fs::remove_file(home.folder.path().join("x.db")).unwrap();
        }
    }
    // The statement changes a table that is not loaded, and only reads one that is. So it is no reason to refuse the load.
    home.load(&with("INSERT INTO log SELECT name FROM customers"), &["customers"]).unwrap();
}

#[test]
fn rows_of_a_named_table_are_added_to_an_existing_database() {
    let home = home();
    home.load(DUMP, &["orders"]).unwrap();
    let more = "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer REFERENCES customers, item);\n\
                INSERT INTO orders VALUES (8, 1, 'pen');\nCREATE TABLE other (a);\nINSERT INTO other VALUES (1);\n\
                UPDATE other SET a = 2;\n";
    let dump = home.folder.path().join("more.sql");
    fs::write(&dump, more).unwrap();
    let write = WriteOptions::new().if_exists(sqluice::options::IfExists::Append);
    Load::new(home.folder.path().join("x.db"), [&dump]).table("orders").write(write).run().unwrap();
    assert_eq!(home.query("SELECT group_concat(item) FROM orders"), "ink,pen");
    assert_eq!(
        home.query("SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table'"),
        "sqlite_sequence,orders"
    );
}

#[test]
fn rows_of_a_dump_update_or_replace_rows_of_existing_tables() {
    use sqluice::options::IfExists;

    let declared = "CREATE TABLE orders (id INTEGER PRIMARY KEY, item UNIQUE);\n";
    let first = format!("{declared}INSERT INTO orders VALUES (1, 'ink'), (2, 'pen'), (4, 'cap');\n");
    let second = format!("{declared}INSERT INTO orders VALUES (2, 'cup'), (3, 'pot'), (4, 'cap');\n");
    let changed = |if_exists: IfExists, first: &str, second: &str| {
        let home = home();
        home.load(first, &[]).unwrap();
        let dump = home.folder.path().join("more.sql");
        fs::write(&dump, second).unwrap();
        let write = WriteOptions::new().if_exists(if_exists);
        let loaded = Load::new(home.folder.path().join("x.db"), [&dump]).write(write).run();
        assert_eq!(home.query("SELECT group_concat(integrity_check) FROM pragma_integrity_check"), "ok");
        loaded.map(|_| home.query("SELECT group_concat(id || item) FROM (SELECT * FROM orders ORDER BY id)"))
    };
    let upsert = || IfExists::Upsert(vec!["id".to_owned()]);
    assert_eq!(changed(upsert(), &first, &second).unwrap(), "1ink,2cup,3pot,4cap");
    assert_eq!(changed(IfExists::Replace, &first, &second).unwrap(), "2cup,3pot,4cap");
    for (if_exists, second, expected) in [
        (IfExists::Upsert(vec!["name".to_owned()]), &*second, "which table orders does not have"),
        (
            upsert(),
            "CREATE TABLE other (id INTEGER PRIMARY KEY);\n",
            "has no table other whose rows could be changed",
        ),
        (IfExists::Replace, "CREATE TABLE orders (id);\n", "orders"),
    ] {
        let error = changed(if_exists, &first, second).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let twice = format!("{declared}INSERT INTO orders VALUES (1, 'ink'), (2, 'ink');\n");
    assert!(changed(IfExists::Replace, &first, &twice).is_err());
}

#[cfg(feature = "dialects")]
#[test]
fn selected_tables_of_mysql_and_postgres_dumps_are_loaded_alone() {
    let home = home();
    let mysql = "-- MySQL dump 10.13\nCREATE TABLE `a` (`id` int PRIMARY KEY, KEY `by_id` (`id`));\nINSERT INTO `a` VALUES (1),(2);\n\
                 CREATE TABLE `b` (`a` int, FOREIGN KEY (`a`) REFERENCES `a` (`id`));\nINSERT INTO `b` VALUES (1);\n-- Dump completed\n";
    let report = home.load(mysql, &["b"]).unwrap();
    assert_eq!(report.rows, 1);
    assert_eq!(home.query("SELECT group_concat(name) FROM sqlite_schema"), "b");
    fs::remove_file(home.folder.path().join("x.db")).unwrap();
    let postgres = "SET client_encoding = 'UTF8';\nCREATE TABLE public.t (a integer);\nCREATE TABLE sales.t (b integer);\n\
                    COPY public.t (a) FROM stdin;\n1\n\\.\nCOPY sales.t (b) FROM stdin;\n2\n\\.\n";
    for (named, table) in [("t", "t"), ("public.t", "t"), ("sales.t", "sales_t"), ("sales_t", "sales_t")] {
        assert_eq!(home.load(postgres, &[named]).unwrap().rows, 1);
        assert_eq!(home.query("SELECT group_concat(name) FROM sqlite_schema"), table);
        fs::remove_file(home.folder.path().join("x.db")).unwrap();
    }
    assert!(home.load(postgres, &["u"]).unwrap_err().to_string().contains("makes no table u"));
}
