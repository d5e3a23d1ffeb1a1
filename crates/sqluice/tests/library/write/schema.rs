//! `Schema::parse`: rowid columns, affinities and defaults equal those of SQLite, and other statements are refused.

use std::path::Path;

use crate::support::files::Home;
use rusqlite::Connection;
use sqluice::affinity::Affinity;
use sqluice::error::{Error, ErrorKind};
use sqluice::schema::{Schema, Table};

fn parse(sql: &str) -> Result<Schema, Error> {
    Schema::parse(sql.to_owned(), Path::new("x.sql"))
}

fn table(sql: &str) -> Table {
    parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).tables.remove(0)
}

/// Returns true if column `a` is the rowid in SQLite, and true if it accepts NULL. `None`: SQLite refuses the table.
fn is_rowid(sql: &str) -> Option<(bool, bool)> {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(sql).ok()?;
    database.execute_batch("INSERT INTO t (a, b) VALUES (17, 18)").unwrap();
    let read = database.query_row("SELECT rowid = 17 FROM t", [], |row| row.get(0));
    let takes_null = database.execute_batch("INSERT INTO t (a, b) VALUES (NULL, 1)").is_ok();
    // A WITHOUT ROWID table has no column rowid. The query then fails, and a is not the rowid.
    Some((read.unwrap_or(false), takes_null))
}

#[test]
fn a_column_is_parsed_as_the_rowid_exactly_if_sqlite_uses_it_as_the_rowid() {
    let types = [
        "INTEGER",
        "integer",
        "INT",
        "\"INTEGER\"",
        "[Integer]",
        "INTEGER(5)",
        "UNSIGNED INTEGER",
        "",
        "TEXT",
    ];
    let of_column = [
        "",
        "PRIMARY KEY",
        "PRIMARY KEY ASC",
        "PRIMARY KEY DESC",
        "NOT NULL PRIMARY KEY",
        "PRIMARY KEY ON CONFLICT REPLACE",
        "PRIMARY KEY AUTOINCREMENT",
        "PRIMARY KEY UNIQUE",
        "CONSTRAINT k PRIMARY KEY CHECK (a > 0)",
        "UNIQUE",
    ];
    let of_table = [
        "",
        ", PRIMARY KEY (a)",
        ", PRIMARY KEY ('a' DESC)",
        ", PRIMARY KEY (A COLLATE nocase)",
        ", PRIMARY KEY (a, b)",
        ", PRIMARY KEY (b, a)",
        ", UNIQUE (a)",
    ];
    let (mut aliases, mut others) = (0, 0);
    for kind in types {
        for column in of_column {
            for more in of_table {
                for suffix in ["", " STRICT", " WITHOUT ROWID"] {
                    let sql = format!("CREATE TABLE t (b INT, a {kind} {column}{more}){suffix}");
                    let Some((expected, takes_null)) = is_rowid(&sql) else { continue };
                    let table = table(&sql);
                    assert_eq!(table.rowid_alias, expected.then_some(1), "{sql}");
                    assert_eq!(table.strict, suffix == " STRICT", "{sql}");
                    assert_eq!(table.without_rowid, suffix == " WITHOUT ROWID", "{sql}");
                    assert_eq!(table.autoincrement, column.contains("AUTO"), "{sql}");
                    assert_eq!(table.checks, column.contains("CHECK"), "{sql}");
                    // A rowid column accepts NULL, even if it is NOT NULL: the NULL becomes the next rowid.
                    assert!(expected || table.columns[1].not_null != takes_null, "{sql}");
                    *if expected { &mut aliases } else { &mut others } += 1;
                }
            }
        }
    }
    assert!(aliases > 50 && others > 200, "{aliases} {others}");
}

#[test]
fn columns_have_the_affinity_that_sqlite_gives_them() {
    let types = [
        "INT",
        "integer",
        "BIGINT",
        "POINT",
        "CHARINT",
        "VARCHAR(70)",
        "clob",
        "text",
        "BLOB",
        "",
        "REAL",
        "DOUBLE PRECISION",
        "FLOAT",
        "NUMERIC",
        "DECIMAL(10, 5)",
        "DATE",
        "STRING",
        "ANY",
        "BOOLEAN",
        "\"a blob\"",
        "JSON",
        "[floating point]",
    ];
    for declared in types {
        let sql = format!("CREATE TABLE t (a {declared})");
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(&format!("{sql}; INSERT INTO t VALUES (1), ('1')")).unwrap();
        let read = "SELECT group_concat(typeof(a)) FROM t";
        let read: String = database.query_row(read, [], |row| row.get(0)).unwrap();
        let expected: &[Affinity] = match read.as_str() {
            "integer,integer" => &[Affinity::Integer, Affinity::Numeric],
            "real,real" => &[Affinity::Real],
            "text,text" => &[Affinity::Text],
            _ => &[Affinity::Blob],
        };
        assert!(expected.contains(&table(&sql).columns[0].affinity), "{sql}: {read}");
    }
    let any = &table("CREATE TABLE t (a any) STRICT").columns[0];
    assert_eq!(any.affinity, Affinity::Blob, "ANY keeps what comes in STRICT tables alone");
}

#[test]
fn a_parsed_schema_has_defaults_generated_columns_and_automatic_indexes() {
    let table = table(
        "CREATE TABLE t (a INT DEFAULT -5, b DEFAULT ('x' || 'y'), c AS (a + 1), d INT GENERATED ALWAYS AS (a) STORED,
         e DEFAULT CURRENT_TIMESTAMP, f UNIQUE NOT NULL, \"CHECK\" TEXT, /* CHECK AUTOINCREMENT */ g)",
    );
    let defaults: Vec<Option<&str>> = table.columns.iter().map(|column| column.default.as_deref()).collect();
    let none = None;
    assert_eq!(
        defaults,
        [Some("-5"), Some("'x' || 'y'"), none, none, Some("CURRENT_TIMESTAMP"), none, none, none]
    );
    let generated: Vec<&str> = table
        .columns
        .iter()
        .filter(|column| column.generated.is_some())
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(generated, ["c", "d"]);
    assert!(!table.indexes.is_empty() && !table.checks && !table.autoincrement);
    assert!(table.columns[5].not_null);
    assert_eq!(table.column("check"), Some(6));
}

#[test]
fn views_and_triggers_of_a_schema_are_listed_in_order() {
    let schema = parse(
        "CREATE VIEW v AS SELECT 1; CREATE TABLE t (a UNIQUE); CREATE INDEX i ON t (a);
         CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END; CREATE TABLE \"o\"\"dd\" (a);",
    )
    .unwrap();
    let tables: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["t", "o\"dd"]);
    let others: Vec<(&str, &str)> =
        schema.others.iter().map(|object| (object.kind.as_str(), object.name.as_str())).collect();
    assert_eq!(others, [("view", "v"), ("trigger", "r")]);
    let indexes: Vec<&str> = schema.tables[0].indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(indexes, ["sqlite_autoindex_t_1", "i"], "tables know theirs");
    assert!(schema.table("T").is_some() && schema.table("O\"DD").is_some() && schema.table("u").is_none());
}

#[test]
fn schema_statements_that_do_more_than_declare_are_refused() {
    let home = Home::new();
    let file = home.path("other.db");
    let file = file.display();
    let table = "CREATE TABLE t (a);\n";
    for (sql, what) in [
        (format!("{table}INSERT INTO t VALUES (1)"), "changes rows of t"),
        (format!("{table}UPDATE t SET a = 1"), "changes rows of t"),
        (format!("{table}DELETE FROM t"), "changes rows of t"),
        (format!("ATTACH '{file}' AS o"), "attaches"),
        (format!("{table}VACUUM INTO '{file}'"), "attaches"),
        ("CREATE TEMP TABLE t (a)".to_owned(), "makes something temporary"),
        ("CREATE TEMP VIEW t AS SELECT 1".to_owned(), "makes something temporary"),
        ("PRAGMA journal_mode = OFF".to_owned(), "sets PRAGMA journal_mode"),
        ("PRAGMA writable_schema = 1".to_owned(), "sets PRAGMA writable_schema"),
        ("CREATE TABLE t AS SELECT 1 AS a".to_owned(), "puts rows into t"),
    ] {
        let error = parse(&sql).unwrap_err();
        assert!(error.message().contains(what), "{sql}: {error}");
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.hint_text().is_some() && error.place().is_some(), "{sql}");
        assert!(error.without_hint().starts_with("x.sql"), "{sql}: {error}");
        assert_eq!(home.names(), Vec::<String>::new(), "{sql}");
    }
    let harmless = "PRAGMA foreign_keys = ON; PRAGMA user_version = 3; BEGIN; CREATE TABLE t (a); COMMIT;
         CREATE TABLE u AS SELECT 1 AS x WHERE 0; ALTER TABLE t ADD COLUMN b INT; SELECT 1;";
    let schema = parse(harmless).unwrap();
    assert_eq!(schema.user_version, 3);
    assert_eq!(schema.tables[0].columns.len(), 2);
}

#[test]
fn errors_in_sql_are_reported_with_line_and_column() {
    for (sql, line, column, message) in [
        ("CREATE TABLE t (a;", 1, 18, "near \";\""),
        ("CREATE TABLE t (a);\n-- ä\n  CREATE TABEL u (b);", 3, 10, "near \"TABEL\""),
        ("CREATE TABLE t (a);\nCREATE INDEX i\n  ON t (bb);", 0, 0, "no such column"),
        ("CREATE TABLE t (a);\nCREATE TABLE u (a); CREATE TABLE t (b);", 2, 34, "already exists"),
        ("CREATE TABLE t (a x) STRICT", 0, 0, "unknown datatype"),
    ] {
        let error = parse(sql).unwrap_err();
        assert!(error.message().contains(message), "{sql}: {error}");
        let place = error.place().unwrap();
        if line > 0 {
            assert_eq!((place.line, place.column), (Some(line), Some(column)), "{sql}: {error}");
        }
    }
    let home = Home::new();
    let file = home.path("latin.sql");
    std::fs::write(&file, b"CREATE TABLE t (\n  gr\xf6sse)").unwrap();
    let error = Schema::read(&file).unwrap_err();
    let place = error.place().unwrap();
    assert_eq!((place.line, place.column, place.byte), (Some(2), Some(5), Some(21)));
    assert!(Schema::read(&home.path("none.sql")).unwrap_err().message().contains("none.sql"));
}

#[test]
fn place_of_table_returns_the_line_and_column_of_the_declaration() {
    let schema = parse(
        "-- TABLE two is below\nCREATE TABLE one (two);\n  create table if not exists main.\"Two\" (a);\nCREATE TABLE [th ree] (a);",
    )
    .unwrap();
    let line_and_column = |name| {
        let place = schema.place_of_table(name);
        (place.line.unwrap_or(0), place.column.unwrap_or(0))
    };
    assert_eq!(line_and_column("one"), (2, 14));
    assert_eq!(line_and_column("two"), (3, 35));
    assert_eq!(line_and_column("TH REE"), (4, 14));
    assert_eq!(line_and_column("four"), (0, 0));
}
