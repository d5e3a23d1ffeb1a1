//! Tests with statements as mariadb-dump 10.11 and pg_dump 15 write them.

use super::super::{Conversion, Dialect, Translator};
use super::{database, rows, translated};

const MYSQL: &str = r#"DROP TABLE IF EXISTS `customers`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE `customers` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `email` varchar(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL COMMENT 'the customer''s "address"',
  `level` enum('gold','it''s','b,c') NOT NULL DEFAULT 'gold',
  `b` bigint(20) unsigned DEFAULT 18446744073709551615,
  `price` decimal(10,2) DEFAULT 0.00,
  `born` date DEFAULT '0000-00-00',
  `dt` datetime(6) DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6),
  `bi` bit(8) DEFAULT b'101',
  `js` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '{}' CHECK (json_valid(`js`)),
  `p` point NOT NULL,
  `dbl` double GENERATED ALWAYS AS (`price` * 2) VIRTUAL,
  `def` varchar(40) DEFAULT concat('a','b'),
  `inv` int(11) INVISIBLE DEFAULT 7,
  PRIMARY KEY (`id`),
  UNIQUE KEY `email` (`email`),
  KEY `name` (`def`(10)),
  KEY `lvl` (`level`,`price` DESC) USING BTREE COMMENT 'idx',
  SPATIAL KEY `sp` (`p`),
  FULLTEXT KEY `ft` (`js`),
  CONSTRAINT `chk1` CHECK (`price` >= 0 and `level` in ('gold','it\'s')),
  CONSTRAINT `rx` CHECK (`def` regexp '^a')
) ENGINE=InnoDB AUTO_INCREMENT=100 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='all customers; "x"';
/*!40000 ALTER TABLE `customers` DISABLE KEYS */;
/*!50001 CREATE VIEW `v` AS SELECT
 1 AS `id` */;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 trigger tr before insert on customers for each row set new.b = 2 */;
"#;

const POSTGRES: &str = r#"\restrict UzdoreCeudN28fdElEBZioresAmMl6QCIOEfwqcYSUMN4FKEdFb3YhXSDkfMPyz
;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE DOMAIN public.posint AS integer DEFAULT 5
	CONSTRAINT posint_check CHECK ((VALUE > 0));
CREATE TABLE public.customers (
    id integer NOT NULL,
    po public.posint,
    nn numeric,
    v character varying(20) DEFAULT 'x'::character varying,
    dt date,
    ta text[] DEFAULT ARRAY['a'::text, 'b'::text],
    by bytea DEFAULT '\x00ff'::bytea,
    gen numeric GENERATED ALWAYS AS ((nn * (2)::numeric)) STORED,
    CONSTRAINT customers_check CHECK (((char_length((v)::text) <= 20) AND (dt > '1999-01-01'::date))),
    CONSTRAINT customers_nn_check CHECK ((nn < (100)::numeric)),
    CONSTRAINT customers_t_check CHECK (((v)::text ~ '^a'::text)),
    CONSTRAINT customers_v_check CHECK (((v)::text = ANY ((ARRAY['a'::character varying, 'x'::character varying])::text[])))
);
ALTER TABLE public.customers OWNER TO postgres;
CREATE SEQUENCE public.customers_id_seq
    AS integer
    START WITH 1;
ALTER SEQUENCE public.customers_id_seq OWNED BY public.customers.id;
CREATE TABLE other.customers (
    id integer NOT NULL
);
CREATE TABLE public.parted (
    id integer NOT NULL,
    d date NOT NULL
)
PARTITION BY RANGE (d);
CREATE TABLE public.parted_1 (
    d date NOT NULL,
    id integer NOT NULL
);
ALTER TABLE ONLY public.parted ATTACH PARTITION public.parted_1 FOR VALUES FROM ('2000-01-01') TO ('2001-01-01');
ALTER TABLE ONLY public.customers ALTER COLUMN id SET DEFAULT nextval('public.customers_id_seq'::regclass);
ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (id);
CREATE INDEX i2 ON public.customers USING btree (dt DESC NULLS LAST, v COLLATE "C" text_pattern_ops) WHERE (id > 3);
CREATE INDEX gi ON public.customers USING gin (ta);
CREATE TRIGGER tr BEFORE INSERT ON public.customers FOR EACH ROW EXECUTE FUNCTION public.trf();
GRANT SELECT ON TABLE public.customers TO bob;
"#;

fn left_out(translated: &super::super::Translated) -> Vec<String> {
    translated.left_out.iter().map(|left_out| format!("{} {}", left_out.kind, left_out.name)).collect()
}

#[test]
fn a_table_of_mariadb_keeps_its_types_keys_and_checks_in_sqlite() {
    let translated = translated(Dialect::MySql, MYSQL);
    let database = database(&translated);
    assert_eq!(
        left_out(&translated),
        ["spatial index customers.sp", "fulltext index customers.ft", "view v", "trigger tr"]
    );
    let notes: Vec<&str> = translated.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        notes,
        [
            "column customers.dt: ON UPDATE CURRENT_TIMESTAMP is left out",
            "the computed column customers.dbl is computed in floating point, whose last digit may differ from that of a decimal",
            "table customers: CHECK rx is left out: SQLite has no regular expressions",
        ]
    );
    database.execute_batch("INSERT INTO customers (email, p, price) VALUES ('a@b.c', x'00', 5)").unwrap();
    assert_eq!(
        rows(
            &database,
            "SELECT id, level, b, born, bi, js, dbl, def, inv FROM customers WHERE email = 'A@B.C'"
        ),
        ["1|gold|18446744073709551615|0000-00-00|5|{}|10.0|ab|7"]
    );
    for wrong in ["price = -1", "level = 'silver'", "js = '{'", "email = NULL"] {
        assert!(database.execute_batch(&format!("UPDATE customers SET {wrong}")).is_err(), "{wrong}");
    }
    assert!(
        translated.tables[0]
            .columns
            .iter()
            .any(|column| column.name == "bi" && column.conversion == Conversion::Bit)
    );
    assert!(translated.tables[0].columns.iter().any(|column| column.name == "dbl" && column.generated));
    assert!(
        translated.statements[0].contains("-- the customer's \"address\"\n"),
        "{}",
        translated.statements[0]
    );
}

#[test]
fn a_table_of_postgres_keeps_its_types_keys_and_checks_in_sqlite() {
    let translated = translated(Dialect::Postgres, POSTGRES);
    let database = database(&translated);
    assert_eq!(left_out(&translated), ["gin index gi", "trigger tr"]);
    let names: Vec<&str> = translated.tables.iter().map(|table| table.into.as_str()).collect();
    assert_eq!(names, ["customers", "other_customers", "parted", "parted"]);
    database.execute_batch("INSERT INTO customers (nn, dt) VALUES ('9', '2000-01-01')").unwrap();
    assert_eq!(
        rows(&database, "SELECT id, po, nn, v, ta, by, gen FROM customers"),
        ["1|5|9|x|[\"a\",\"b\"]|X'00ff'|18"]
    );
    for wrong in ["po = 0", "nn = '100'", "v = 'b'", "dt = '1998-01-01'"] {
        assert!(database.execute_batch(&format!("UPDATE customers SET {wrong}")).is_err(), "{wrong}");
    }
}

#[test]
fn keys_that_phpmyadmin_adds_by_alter_table_are_in_create_table() {
    let translated = translated(
        Dialect::MySql,
        "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `x` int(11) DEFAULT NULL\n) ENGINE=InnoDB;\n\
         ALTER TABLE `t`\n  ADD PRIMARY KEY (`id`),\n  ADD UNIQUE KEY `x` (`x`);\n\
         ALTER TABLE `t`\n  MODIFY `id` int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=5;\n",
    );
    assert!(translated.statements[0].contains("\"id\" INTEGER PRIMARY KEY AUTOINCREMENT"));
    assert_eq!(rows(&database(&translated), "SELECT name FROM pragma_index_list('t')"), ["x"]);
}

#[test]
fn statements_that_may_change_tables_are_refused_with_their_line() {
    for (dialect, statement) in [
        (Dialect::MySql, "ALTER TABLE t DROP COLUMN x"),
        (Dialect::MySql, "UPDATE t SET x = 1"),
        (Dialect::Postgres, "ALTER TABLE t RENAME TO u"),
        (Dialect::Postgres, "CREATE TABLE u AS SELECT 1"),
    ] {
        let mut translator = Translator::new(dialect);
        translator.take("CREATE TABLE t (x int)", 1).unwrap();
        let error = translator.take(statement, 7).unwrap_err();
        assert_eq!(error.place().and_then(|place| place.line), Some(7), "{statement}");
    }
}

#[test]
fn a_too_deeply_nested_check_is_left_out() {
    for (depth, left_out) in [(10, 0), (500, 1), (100_000, 2)] {
        let check = format!("{}x > 1{}", "(".repeat(depth), ")".repeat(depth));
        let sum = format!("x > 1{}", " + 1".repeat(depth));
        let translated = translated(
            Dialect::Postgres,
            &format!(
                "CREATE TABLE t (x integer, CONSTRAINT a CHECK ({check}), CONSTRAINT b CHECK ({sum}));\n"
            ),
        );
        database(&translated);
        assert_eq!(translated.notes.len(), left_out, "{:?}", translated.notes);
    }
}

#[test]
fn dropping_constraints_before_their_tables_exist_is_ignored() {
    let translated = translated(
        Dialect::Postgres,
        "ALTER TABLE IF EXISTS ONLY public.t DROP CONSTRAINT IF EXISTS t_pkey;\n\
         DROP TABLE IF EXISTS public.t;\nCREATE TABLE public.t (\n    id integer NOT NULL\n);\n",
    );
    assert!(translated.left_out.is_empty() && translated.notes.is_empty());
    assert_eq!(translated.statements.len(), 1);
}

#[test]
fn an_enumeration_accepts_the_empty_text_that_mysql_stores_for_invalid_values() {
    let translated = translated(Dialect::MySql, "CREATE TABLE t (e enum('a','b'));\n");
    let database = database(&translated);
    database.execute("INSERT INTO t VALUES('a'), (''), (NULL)", []).unwrap();
    assert!(database.execute("INSERT INTO t VALUES('c')", []).is_err());
}

#[test]
fn quoted_names_are_read_after_a_trigger_that_sets_another_sql_mode() {
    let translated = translated(
        Dialect::MySql,
        "SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='ANSI';\nSET @saved_sql_mode = @@sql_mode;\nSET sql_mode = '';\n\
         SET sql_mode = @saved_sql_mode;\nCREATE TABLE \"t\" (\"a\" int, \"b\" int GENERATED ALWAYS AS (\"a\" * 2) STORED);\n",
    );
    let database = database(&translated);
    database.execute("INSERT INTO t VALUES(4)", []).unwrap();
    assert_eq!(rows(&database, "SELECT a, b FROM t"), ["4|8"]);
}
