//! Transcripts of `load` of SQL dumps of SQLite, MySQL and PostgreSQL.

use crate::transcript::{Transcript, sqluice};

const SHOP: &str = "\
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO customers VALUES(1,'Ada'),(2,'Bob');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customers, item TEXT);
INSERT INTO orders VALUES(7,1,'ink');
CREATE INDEX by_item ON orders (item);
UPDATE orders SET item = upper(item);
COMMIT;
";

const MYSQL: &str = "\
-- MySQL dump 10.13  Distrib 8.0
CREATE TABLE `t` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `name` varchar(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  FULLTEXT KEY `words` (`name`)
) ENGINE=InnoDB;
INSERT INTO `t` VALUES (1,'it\\'s'),(2,NULL);
DELIMITER ;;
CREATE TRIGGER fires BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.name = 'x'; END ;;
DELIMITER ;
-- Dump completed on 2026-11-27
";

const POSTGRES: &str = "\
--
-- PostgreSQL database dump
--
SET standard_conforming_strings = on;
CREATE TABLE public.t (id integer NOT NULL, at timestamp with time zone, ok boolean);
COPY public.t (id, at, ok) FROM stdin;
1\t2024-01-31 13:45:00+01\tt
2\t\\N\tf
\\.
ALTER TABLE ONLY public.t ADD CONSTRAINT t_pkey PRIMARY KEY (id);
--
-- PostgreSQL database dump complete
--
";

const TWO: &str = "\
-- MySQL dump 10.13
CREATE DATABASE `one`;
USE `one`;
CREATE TABLE `a` (`x` int);
INSERT INTO `a` VALUES (1);
CREATE DATABASE `two`;
USE `two`;
CREATE TABLE `b` (`x` int);
INSERT INTO `b` VALUES (2),(3);
-- Dump completed
";

fn load(dump: &str, flags: &str) -> Transcript {
    sqluice(&format!("load x.db dump.sql {flags}")).file("dump.sql", dump)
}

#[test]
fn a_dump_of_sqlite_makes_its_tables_and_runs_its_statements() {
    load(SHOP, "")
        .succeeds()
        .prints("")
        .says("Loaded 3 rows into x.db: [..]\nread dump.sql: sql of SQLite\ncustomers: id INTEGER, name TEXT\norders: id INTEGER, customer, item TEXT")
        .holds("SELECT customer, item FROM orders", "1|'INK'");
}

#[test]
fn a_load_of_a_mysql_dump_lists_what_is_left_out() {
    load(MYSQL, "")
        .succeeds()
        .says(
            "note: left out: fulltext index t.words (line 2): SQLite has no such index\n\
             note: left out: trigger fires (line 10): SQLite has no counterpart\n\
             Loaded 2 rows into x.db: [..]\n\
             read dump.sql: sql of MySQL\n\
             t: id INTEGER, name TEXT",
        )
        .holds("SELECT id, name FROM t", "1|'it's'\n2|NULL");
}

#[test]
fn a_dump_may_have_its_schema_and_its_rows_in_two_files() {
    sqluice("load x.db schema.sql rows.sql")
        .file("schema.sql", "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);\n")
        .file("rows.sql", "INSERT INTO t VALUES (1,'a');\nINSERT INTO t VALUES (2,'b');\n")
        .succeeds()
        .says("Loaded 2 rows into x.db: [..]\nread 2 files: sql of SQLite\nt: id INTEGER, name TEXT")
        .holds("SELECT * FROM t", "1|'a'\n2|'b'");
}

#[test]
fn a_dump_on_standard_input_needs_no_table_name() {
    sqluice("load x.db -")
        .stdin("SET NAMES utf8mb4;\nDROP SCHEMA IF EXISTS shop;\nCREATE TABLE t (id int) ENGINE=InnoDB;\nINSERT INTO t VALUES (1);\n")
        .succeeds()
        .holds("SELECT * FROM t", "1");
}

#[test]
fn the_data_of_copy_statements_in_a_postgresql_dump_become_rows() {
    load(POSTGRES, "")
        .succeeds()
        .says("Loaded 2 rows into x.db: [..]\nread dump.sql: sql of PostgreSQL\nt: id INTEGER, at TEXT, ok INTEGER")
        .holds("SELECT * FROM t", "1|'2024-01-31 12:45:00+00:00'|1\n2|NULL|0");
}

#[test]
fn a_dry_run_of_a_dump_prints_the_plan_and_writes_nothing() {
    let done = load(SHOP, "--dry-run").succeeds().says("").prints(
        "-- target   x.db (new)\n-- size     about [..]\n-- pages    of [..]\n-- threads  [..]\n-- sorting  [..]\n\
         -- table    customers: 2 rows from dump.sql\n--   path   pages: a new rowid table without indexes\n\
         CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);\n\
         -- table    orders: 1 rows from dump.sql\n--   path   pages: a new rowid table\n\
         CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customers, item TEXT);\n\
         -- index    by_item\n--   path   sorted: a new index\nCREATE INDEX by_item ON orders (item);\n",
    );
    assert_eq!(crate::support::names(done.folder()), ["dump.sql"]);
}

#[test]
fn the_report_of_a_dump_has_its_tables_and_its_format() {
    let report = load(SHOP, "--json").succeeds().says("").ran.json();
    assert_eq!(report["rows"], 3);
    assert_eq!(report["inputs"][0]["format"], "sql");
    let names: Vec<_> =
        (0..2).map(|table| report["tables"][table]["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["customers", "orders"]);
}

#[test]
fn the_flag_table_loads_only_the_named_tables_of_a_dump() {
    load(SHOP, "--table orders")
        .succeeds()
        .says(
            "note: the foreign key of orders refers to customers, which is not loaded\n\
             Loaded 1 row into x.db: [..]\n\
             orders: id INTEGER, customer, item TEXT",
        )
        .holds("SELECT name FROM sqlite_schema", "'orders'\n'by_item'")
        .holds("SELECT item FROM orders", "'INK'");
    load(SHOP, "-t orders -t CUSTOMERS").succeeds().holds("SELECT count(*) FROM customers, orders", "2");
    load(SHOP, "--table order").fails(
        2,
        "error: dump.sql: the dump makes no table order\n\nhint: did you mean orders? There are: customers, orders",
    );
    let needs = SHOP.replace("upper(item)", "(SELECT name FROM customers)");
    load(&needs, "--table orders").fails(
        2,
        "error: dump.sql:8: this statement changes orders, and needs customers, which is not loaded\n\n\
         hint: load that table, too: --table customers",
    );
    load(&needs, "--table orders --table customers").succeeds();
    sqluice("load x.db one.csv -t a -t b").file("one.csv", "a\n1\n").fails(
        2,
        "error: --table names 2 tables, and one.csv fills one\n\n\
         hint: name one table: several tables are chosen from a dump or a database",
    );
}

#[test]
fn the_flag_database_chooses_a_database_of_a_dump() {
    load(TWO, "").fails(
        2,
        "error: dump.sql: the dump has 2 databases with tables: one, two\n\nhint: choose one: --database one\n\
         sqluice load x.db dump.sql --database one",
    );
    load(TWO, "--database tow").fails(
        2,
        "error: dump.sql: the dump has no database tow with tables\n\nhint: did you mean two? There are: one, two",
    );
    load(TWO, "--database two")
        .succeeds()
        .says("Loaded 2 rows into x.db: [..]\nb: x INTEGER")
        .then("load x.db dump.sql --database one --append")
        .succeeds()
        .holds("SELECT x FROM a UNION ALL SELECT x FROM b", "1\n2\n3");
}

#[test]
fn an_error_names_the_line_of_a_refused_row_or_statement() {
    let null = "CREATE TABLE t (a NOT NULL);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (NULL);\n";
    load(null, "").fails(1, "error: dump.sql:3: NULL in column a, which is NOT NULL");
    load("CREATE TABLE t (a);\nATTACH 'x' AS y;\n", "").fails(
        1,
        "error: dump.sql:2: a dump only fills its database, and this statement attaches x\n\n\
         hint: look at what the dump does, and take the statement out",
    );
    load("CREATE TABLE t (a);\n.open y.db\n", "").fails(
        1,
        "error: dump.sql:2: .open is a command of the shell sqlite3, which is not run here\n\n\
         hint: take the line out, if the rows do not need it",
    );
    load(SHOP, "--type a=TEXT").fails(
        2,
        "error: --type is for tables of files, but dump.sql is a dump\n\n\
         hint: leave it out: the statements of the dump declare its tables",
    );
}

#[test]
fn an_exported_dump_makes_the_same_database_again() {
    load(SHOP, "")
        .succeeds()
        .then("export x.db --to again.sql")
        .succeeds()
        .says("Exported 3 rows to again.sql: [..]")
        .then("load x.db again.sql --overwrite")
        .succeeds()
        .holds("SELECT id, item FROM orders", "7|'INK'")
        .holds("SELECT name FROM sqlite_schema", "'customers'\n'orders'\n'by_item'");
}
