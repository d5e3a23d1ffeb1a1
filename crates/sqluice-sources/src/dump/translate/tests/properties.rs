//! Property tests: random schemas keep their columns, keys and foreign keys in SQLite, and no text makes the translator panic.

use fastrand::Rng;
use proptest::prelude::*;
use sqluice_core::schema::{quoted, quoted_text};

use super::super::Dialect;
use super::{database, rows, translated};

/// A type in the dump, and the declared type in SQLite.
type Pair = (&'static str, &'static str);

const MYSQL: [Pair; 20] = [
    ("int(10) unsigned", "INTEGER"),
    ("tinyint(1)", "INTEGER"),
    ("bigint(20)", "INTEGER"),
    ("bigint(20) unsigned", ""),
    ("decimal(10,2)", "NUMERIC"),
    ("decimal(30,10)", "TEXT"),
    ("decimal(18,0)", "INTEGER"),
    ("double", "REAL"),
    ("float(8,3)", "REAL"),
    ("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "TEXT"),
    ("text", "TEXT"),
    ("enum('a','it''s','b,c')", "TEXT"),
    ("set('a','b')", "TEXT"),
    ("datetime(6)", "TEXT"),
    ("date", "TEXT"),
    ("longblob", "BLOB"),
    ("varbinary(20)", "BLOB"),
    ("bit(8)", "INTEGER"),
    ("json", "TEXT"),
    ("year(4)", "INTEGER"),
];

const POSTGRES: [Pair; 20] = [
    ("integer", "INTEGER"),
    ("bigint", "INTEGER"),
    ("numeric(10,2)", "NUMERIC"),
    ("numeric", "TEXT"),
    ("numeric(18,0)", "INTEGER"),
    ("double precision", "REAL"),
    ("character varying(20)", "TEXT"),
    ("text COLLATE pg_catalog.\"C\"", "TEXT"),
    ("boolean", "INTEGER"),
    ("bytea", "BLOB"),
    ("timestamp(3) without time zone", "TEXT"),
    ("timestamp with time zone", "TEXT"),
    ("interval year to month", "TEXT"),
    ("integer[]", "TEXT"),
    ("public.mood", "TEXT"),
    ("uuid", "TEXT"),
    ("jsonb", "TEXT"),
    ("bit varying(5)", "TEXT"),
    ("public.geometry(Point,4326)", "TEXT"),
    ("\"char\"", "TEXT"),
];

const NAMES: [&str; 8] = ["id", "a b", "select", "it's", "x\"y", "é", "order", "check"];
const COMMENTS: [&str; 4] = ["plain", "it's; a \"comment\" */ -- x", "two\nlines", ");"];

/// A table of a random schema.
struct Table {
    name: String,
    columns: Vec<(String, Pair, bool)>,
    key: usize,
    unique: Option<usize>,
    parent: Option<usize>,
}

fn schema(random: &mut Rng, types: &[Pair]) -> Vec<Table> {
    (0..random.usize(1..5))
        .map(|at| {
            let count = random.usize(1..NAMES.len());
            let mut names = NAMES;
            random.shuffle(&mut names);
            let mut columns: Vec<(String, Pair, bool)> = names[..count]
                .iter()
                .map(|name| ((*name).to_owned(), types[random.usize(..types.len())], random.bool()))
                .collect();
            let key = random.usize(..count);
            columns[key] = (columns[key].0.clone(), types[0], true);
            let unique = random.bool().then(|| random.usize(..count));
            let parent = (at > 0 && random.bool()).then(|| random.usize(..at));
            Table {
                name: format!("{} {at}", NAMES[random.usize(..NAMES.len())]),
                columns,
                key,
                unique,
                parent,
            }
        })
        .collect()
}

fn mysql(random: &mut Rng, tables: &[Table]) -> String {
    let name = |name: &str| format!("`{}`", name.replace('`', "``"));
    let mut sql = String::new();
    for table in tables {
        let mut lines: Vec<String> = table
            .columns
            .iter()
            .map(|(column, (declared, _), not_null)| {
                let comment = random.choice(COMMENTS).unwrap();
                let not_null = if *not_null { " NOT NULL" } else { " DEFAULT NULL" };
                format!("  {} {declared}{not_null} COMMENT {}", name(column), quoted_text(comment))
            })
            .collect();
        lines.push(format!("  PRIMARY KEY ({}) USING BTREE", name(&table.columns[table.key].0)));
        if let Some(unique) = table.unique {
            lines.push(format!("  UNIQUE KEY `shared` ({}(10))", name(&table.columns[unique].0)));
        }
        if let Some(parent) = table.parent {
            let parent = &tables[parent];
            lines.push(format!(
                "  CONSTRAINT `fk` FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE CASCADE",
                name(&table.columns[table.key].0),
                name(&parent.name),
                name(&parent.columns[parent.key].0)
            ));
        }
        lines.push(format!(
            "  CONSTRAINT `positive` CHECK ({} >= 0 and {0} <> 7)",
            name(&table.columns[table.key].0)
        ));
        sql += &format!(
            "DROP TABLE IF EXISTS {0};\n/*!40101 SET character_set_client = utf8mb4 */;\nCREATE TABLE {0} (\n{1}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='t';\n",
            name(&table.name),
            lines.join(",\n")
        );
    }
    sql
}

fn postgres(random: &mut Rng, tables: &[Table]) -> String {
    let mut sql = "CREATE TYPE public.mood AS ENUM (\n    'sad',\n    'it''s'\n);\n".to_owned();
    for table in tables {
        let lines: Vec<String> = table
            .columns
            .iter()
            .map(|(column, (declared, _), not_null)| {
                format!("    {} {declared}{}", quoted(column), if *not_null { " NOT NULL" } else { "" })
            })
            .collect();
        let key = quoted(&table.columns[table.key].0);
        sql += &format!(
            "CREATE TABLE public.{} (\n{},\n    CONSTRAINT positive CHECK ((({key} >= 0) AND ({key} <> ALL (ARRAY[7, 8]))))\n);\n",
            quoted(&table.name),
            lines.join(",\n")
        );
        let comment = random.choice(COMMENTS).unwrap();
        sql +=
            &format!("COMMENT ON COLUMN public.{}.{key} IS {};\n", quoted(&table.name), quoted_text(comment));
    }
    for table in tables {
        let (name, key) = (quoted(&table.name), quoted(&table.columns[table.key].0));
        sql += &format!("ALTER TABLE ONLY public.{name}\n    ADD CONSTRAINT pk PRIMARY KEY ({key});\n");
        if let Some(unique) = table.unique {
            let column = quoted(&table.columns[unique].0);
            sql += &format!("ALTER TABLE ONLY public.{name}\n    ADD CONSTRAINT shared UNIQUE ({column});\n");
        }
    }
    for table in tables {
        if let Some(parent) = table.parent {
            let parent = &tables[parent];
            sql += &format!(
                "ALTER TABLE ONLY public.{}\n    ADD CONSTRAINT fk FOREIGN KEY ({}) REFERENCES public.{}({}) ON DELETE CASCADE;\n",
                quoted(&table.name),
                quoted(&table.columns[table.key].0),
                quoted(&parent.name),
                quoted(&parent.columns[parent.key].0)
            );
        }
    }
    sql
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(400))]

    #[test]
    fn random_schemas_keep_their_columns_keys_and_foreign_keys_in_sqlite(seed in any::<u64>(), is_mysql in any::<bool>()) {
        let mut random = Rng::with_seed(seed);
        let types = if is_mysql { MYSQL } else { POSTGRES };
        let tables = schema(&mut random, &types);
        let (dialect, sql) = match is_mysql {
            true => (Dialect::MySql, mysql(&mut random, &tables)),
            false => (Dialect::Postgres, postgres(&mut random, &tables)),
        };
        let translated = translated(dialect, &sql);
        prop_assert_eq!(&translated.notes, &[], "{}", sql);
        prop_assert_eq!(&translated.left_out, &[], "{}", sql);
        let database = database(&translated);
        for (table, of) in tables.iter().zip(&translated.tables) {
            prop_assert_eq!(&of.into, &table.name);
            let name = quoted_text(&table.name);
            let expected: Vec<String> = table.columns.iter().enumerate().map(|(at, (column, (_, declared), not_null))| {
                // The primary key becomes the rowid, for which SQLite does not report NOT NULL.
                format!("{column}|{declared}|{}|{}", i32::from(*not_null && at != table.key), i32::from(at == table.key))
            }).collect();
            prop_assert_eq!(rows(&database, &format!("SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo({name})")), expected);
            let unique = rows(&database, &format!(
                "SELECT c.name FROM pragma_index_list({name}) AS i, pragma_index_info(i.name) AS c WHERE i.\"unique\""
            ));
            prop_assert_eq!(unique, table.unique.iter().map(|at| table.columns[*at].0.clone()).collect::<Vec<_>>());
            let keys = rows(&database, &format!("SELECT \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list({name})"));
            let expected: Vec<String> = table.parent.iter().map(|parent| {
                let parent = &tables[*parent];
                format!("{}|{}|{}|CASCADE", parent.name, table.columns[table.key].0, parent.columns[parent.key].0)
            }).collect();
            prop_assert_eq!(keys, expected);
            let sql = rows(&database, &format!("SELECT sql FROM sqlite_schema WHERE name = {name} AND type = 'table'"));
            prop_assert!(sql[0].contains("CONSTRAINT \"positive\" CHECK"), "{}", sql[0]);
        }
    }

    #[test]
    fn no_text_makes_the_translator_panic(text in "[a-zA-Z0-9 (),.;:'\"`$\\\\/*!=<>\\[\\]\n-]{0,80}", start in 0..6_usize, is_mysql in any::<bool>()) {
        let start = ["", "CREATE TABLE t (", "ALTER TABLE t ", "CREATE INDEX i ON t ", "CREATE TYPE ", "COMMENT ON "][start];
        let dialect = if is_mysql { Dialect::MySql } else { Dialect::Postgres };
        let mut translator = super::super::Translator::new(dialect);
        translator.take("CREATE TABLE t (a int)", 1).unwrap();
        let _ = translator.take(&format!("{start}{text}"), 2);
        if let Ok(translated) = translator.finish() {
            database(&translated);
        }
    }
}
