//! Random sequences of statements have the same effect, and the same first error, as in SQLite.

use std::fs;
use std::ops::Range;
use std::path::Path;

use fastrand::Rng;
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use sqluice_testkit::effort::tries;
use sqluice_testkit::{config, names};

use super::load;
use crate::copy::content::{content, integrity};

const TABLES: [&str; 4] = ["t", "u", "\"v w\"", "w"];
const COLUMNS: [&str; 4] = ["id", "a", "\"b c\"", "d"];

/// A script that SQLite has run.
struct Script {
    text: String,
    /// The byte range of the last statement if SQLite refuses it; `None` if SQLite runs all statements.
    refused: Option<Range<usize>>,
}

fn pick<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.usize(0..of.len())]
}

fn literal(rng: &mut Rng) -> String {
    let integer = |rng: &mut Rng| match rng.u8(0..4) {
        0 => rng.i64(..).to_string(),
        1 => rng.i64(-3..300).to_string(),
        _ => rng.i64(0..9).to_string(),
    };
    match rng.u8(0..14) {
        0 => "NULL".to_owned(),
        1..=4 => integer(rng),
        5 => format!("{:?}", f64::from(rng.i32(-4000..4000)) / 8.0),
        6 => pick(
            rng,
            &[
                "1e5",
                "-0.0",
                "9e999",
                "-9e999",
                ".5",
                "5.",
                "1e-7",
                "9223372036854775808",
                "007",
                "+3",
                "-.5e1",
                "1.0",
            ],
        )
        .to_owned(),
        7 => {
            pick(rng, &["X''", "x'00ff'", "X'616200'", "0x1f", "-0x2", "true", "FALSE", "0xffffffffffffffff"])
                .to_owned()
        }
        8 => format!("'{}'", integer(rng)),
        9 => pick(
            rng,
            &[
                "''", "'it''s'", "'a;b'", "'-- no'", "'/* no'", "'1e3'", "' 12 '", "'é\n'", "'\r\n'",
                "'1.50'", "'\"'",
            ],
        )
        .to_owned(),
        10 => pick(
            rng,
            &[
                "replace('a\\nb','\\n',char(10))",
                "unistr('a\\u000ab')",
                "CAST(X'61' AS TEXT)",
                "replace(replace('a\\rb\\n','\\r',char(13)),'\\n',char(10))",
            ],
        )
        .to_owned(),
        11 => format!("'{}'", "x".repeat(if rng.u8(0..9) == 0 { 3000 } else { 30 })),
        _ => format!("'{}'", pick(rng, &["one", "two", "three", "TWO", "two "])),
    }
}

/// Returns a value that is mostly a literal.
fn value(rng: &mut Rng) -> String {
    match rng.u8(0..40) {
        0 => pick(
            rng,
            &[
                "1 + 1",
                "abs(-5)",
                "'a' || 'b'",
                "(SELECT count(*) FROM t)",
                "last_insert_rowid()",
                "- 4",
                "(7)",
                "1_000",
                "(SELECT max(seq) FROM sqlite_sequence)",
                "(SELECT count(*) FROM sqlite_schema)",
                "typeof(1)",
            ],
        )
        .to_owned(),
        _ => literal(rng),
    }
}

/// Returns white space or a comment, to stand between two words of a statement.
fn blank(rng: &mut Rng) -> &'static str {
    pick(rng, &[" ", " ", " ", " ", "\n", "\r\n", "\t", " /* ; ' */ ", " -- it's; \n", "/**/ "])
}

fn columns(rng: &mut Rng) -> Vec<&'static str> {
    let mut columns = COLUMNS.to_vec();
    rng.shuffle(&mut columns);
    columns.truncate(rng.usize(1..=4));
    columns
}

fn create_table(rng: &mut Rng) -> String {
    let types = ["", "INTEGER", "TEXT", "REAL", "BLOB", "NUMERIC", "VARCHAR(9)", "ANY"];
    let more = [
        "",
        "",
        "",
        "",
        "DEFAULT 7",
        "DEFAULT 'x'",
        "DEFAULT (1 + 1)",
        "DEFAULT 1.5",
        "NOT NULL",
        "NOT NULL DEFAULT 'y'",
        "UNIQUE",
        "COLLATE NOCASE",
        "CHECK (\"b c\" IS NOT 8)",
        "UNIQUE ON CONFLICT REPLACE",
        "NOT NULL ON CONFLICT IGNORE",
        "REFERENCES t",
        "UNIQUE COLLATE NOCASE",
    ];
    let mut column = |name: &str| format!("{name} {} {}", pick(rng, &types), pick(rng, &more));
    let (a, b, d) = (column("a"), column("\"b c\""), column("d"));
    let id = pick(
        rng,
        &[
            "id INTEGER PRIMARY KEY",
            "id INTEGER PRIMARY KEY AUTOINCREMENT",
            "id INTEGER PRIMARY KEY AUTOINCREMENT",
            "id",
            "id TEXT PRIMARY KEY",
            "id INT PRIMARY KEY",
        ],
    );
    let end = pick(
        rng,
        &["", "", "", ", UNIQUE (a, d)", ", e AS (a || d)", ", e AS (typeof(a)) STORED, f", ", rowid"],
    );
    let option = pick(rng, &["", "", "", "", " WITHOUT ROWID", " STRICT"]);
    let exists = pick(rng, &["", "", "IF NOT EXISTS "]);
    format!(
        "CREATE{}TABLE {exists}{} ({id},{}{a}, {b}, {d}{end}){option}",
        blank(rng),
        pick(rng, &TABLES),
        blank(rng)
    )
}

fn rows(rng: &mut Rng, columns: usize, one: fn(&mut Rng) -> String) -> String {
    let rows = if rng.u8(0..8) == 0 { rng.usize(1..60) } else { rng.usize(1..4) };
    let row = |rng: &mut Rng| {
        let values: Vec<String> = (0..columns).map(|_| one(rng)).collect();
        format!("({})", values.join(pick(rng, &[",", ", ", " ,\n", ", /* , */ "])))
    };
    (0..rows).map(|_| row(rng)).collect::<Vec<_>>().join(pick(rng, &[",", ",\n", " , ", ",-- next\n"]))
}

/// Returns an INSERT of literals, as dumps have it.
fn insert(rng: &mut Rng) -> String {
    let table = pick(rng, &TABLES);
    let (names, columns) = match rng.u8(0..4) {
        0 => (String::new(), rng.usize(4..6)),
        1 => (" (rowid, a)".to_owned(), 2),
        _ => {
            let columns = columns(rng);
            (format!("{}({})", blank(rng), columns.join(", ")), columns.len())
        }
    };
    let main = pick(rng, &["", "", "", "", "", "main."]);
    let one = if rng.u8(0..6) == 0 { value } else { literal };
    format!(
        "{}{}INTO {main}{table}{names}{}VALUES{}{}",
        pick(rng, &["INSERT", "insert"]),
        blank(rng),
        blank(rng),
        blank(rng),
        rows(rng, columns, one)
    )
}

fn statement(rng: &mut Rng) -> String {
    let (table, other) = (pick(rng, &TABLES), pick(rng, &TABLES));
    let (column, to) = (pick(rng, &COLUMNS), pick(rng, &COLUMNS));
    match rng.u8(0..60) {
        0..=7 => create_table(rng),
        8..=34 => insert(rng),
        35 | 36 => format!("UPDATE {table} SET {column} = {} WHERE {to} > {}", value(rng), literal(rng)),
        37 => format!(
            "DELETE FROM {table} WHERE {column} {} {}",
            pick(rng, &["<", "=", "IS NOT"]),
            literal(rng)
        ),
        38 => format!("INSERT INTO {table} ({column}) SELECT {to} FROM {other} ORDER BY 1 LIMIT 9"),
        39 => format!(
            "ALTER TABLE {table} ADD COLUMN {} {}",
            pick(rng, &["e", "f"]),
            pick(rng, &["", "DEFAULT 5", "TEXT NOT NULL"])
        ),
        40 => format!("ALTER TABLE {table} RENAME TO {other}"),
        41 => format!("ALTER TABLE {table} {} {column}", pick(rng, &["DROP COLUMN", "RENAME d TO dd; --"])),
        42 => format!("DROP TABLE {}{table}", pick(rng, &["", "IF EXISTS "])),
        43..=45 => format!(
            "CREATE {}INDEX {} ON {table} ({column}{})",
            pick(rng, &["", "", "UNIQUE "]),
            pick(rng, &["i", "j", "IF NOT EXISTS k"]),
            pick(rng, &["", " DESC", ", a", " COLLATE NOCASE) WHERE (a > 3"])
        ),
        46 => format!(
            "DROP {}",
            pick(
                rng,
                &[
                    "INDEX i",
                    "INDEX IF EXISTS j",
                    "VIEW seen",
                    "TRIGGER IF EXISTS fires",
                    "VIEW IF EXISTS seen"
                ]
            )
        ),
        47 => {
            format!("CREATE VIEW {}seen AS SELECT {column} FROM {table}", pick(rng, &["", "IF NOT EXISTS "]))
        }
        48 => format!(
            "CREATE TRIGGER fires AFTER {} ON {table} BEGIN INSERT INTO {other} ({column}) VALUES ('end; fired'); UPDATE {other} SET a = 'END' WHERE id = 1; END",
            pick(rng, &["INSERT", "UPDATE", "DELETE"])
        ),
        49 => format!("REPLACE INTO {table} ({column}, {to}) VALUES {}", rows(rng, 2, literal)),
        50 => format!("INSERT OR IGNORE INTO {table} ({column}, a) VALUES {}", rows(rng, 2, literal)),
        51 => format!(
            "INSERT INTO {table} (id, a) VALUES {} ON CONFLICT {}",
            rows(rng, 2, literal),
            pick(rng, &["DO NOTHING", "(id) DO UPDATE SET a = 'again'"])
        ),
        52 => format!("CREATE TABLE {}{table} AS SELECT * FROM {other}", pick(rng, &["", "IF NOT EXISTS "])),
        53 => format!("PRAGMA {} = {}", pick(rng, &["user_version", "application_id"]), rng.i32(..)),
        54 => pick(
            rng,
            &[
                "PRAGMA foreign_keys = OFF",
                "ANALYZE",
                "SELECT * FROM t",
                "SELECT 1; # a line of the shell\n",
                ";",
            ],
        )
        .replace("; # a line of the shell\n", ""),
        55 => pick(
            rng,
            &[
                "DELETE FROM sqlite_sequence",
                "INSERT INTO sqlite_sequence VALUES ('t', 90)",
                "UPDATE sqlite_sequence SET seq = 70",
                "DELETE FROM sqlite_sequence WHERE name = 'u'",
                "INSERT INTO sqlite_sequence VALUES ('u', 3), ('gone', 4)",
            ],
        )
        .to_owned(),
        56 => format!("INSERT INTO {table} DEFAULT VALUES"),
        57 => format!(
            "INSERT INTO {table} (a) SELECT {} FROM {} ORDER BY 1",
            pick(rng, &["name", "count(*)", "type"]),
            pick(rng, &["sqlite_schema", "sqlite_master"])
        ),
        58 => pick(
            rng,
            &[
                "CREATE VIRTUAL TABLE words USING fts5(text)",
                "INSERT INTO words (text) VALUES ('one two')",
                "DROP TABLE words",
                "CREATE TABLE IF NOT EXISTS words_data (x)",
                "INSERT INTO words (text) SELECT a FROM t WHERE typeof(a) = 'text'",
            ],
        )
        .to_owned(),
        _ => pick(rng, &["BEGIN; COMMIT", "SAVEPOINT s; RELEASE s", "BEGIN TRANSACTION; END"]).to_owned(),
    }
}

/// Makes a script of random statements, each of which SQLite runs in the database `db`. SQLite may refuse the last one.
fn script(rng: &mut Rng, db: &Path) -> Script {
    let connection = open(db);
    let mut script =
        Script { text: pick(rng, &["", "-- SQL\n", "\u{feff}", "/* a */\r\n"]).to_owned(), refused: None };
    let refuses = rng.bool();
    for _ in 0..rng.usize(1..40) {
        let mut statement = statement(rng);
        // A comment at the end of a statement would swallow the delimiter, and the next statement.
        if statement.lines().last().is_some_and(|line| line.contains("--")) {
            statement.push('\n');
        }
        let delimiter = pick(rng, &[";\n", ";", " ;\r\n", ";\n\n-- comment; it's\n", "; /* ' */ ", "\n;;\n"]);
        // The text of a statement that SQLite stores may include everything up to the semicolon, so SQLite gets the same delimiter as the
        // dump.
        let run = connection.execute_batch(&format!("{statement}{delimiter}"));
        let start = script.text.len();
        if run.is_err() && !(refuses && rng.u8(0..6) == 0 && start > 0) {
            continue;
        }
        script.text += &statement;
        let end = script.text.len();
        script.text += delimiter;
        if run.is_err() {
            script.refused = Some(start..end);
            break;
        }
    }
    drop(connection);
    if script.refused.is_none() {
        // The statements that failed above may have changed the value of `last_insert_rowid`. So the database is made again from the
        // script, which lacks them.
        fs::remove_file(db).unwrap();
        open(db).execute_batch(&script.text).unwrap();
    }
    script
}

/// Opens a database for the statements of a dump.
fn open(db: &Path) -> Connection {
    let connection = Connection::open(db).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
    connection
}

/// Returns a script that SQLite runs to its end.
pub(super) fn sound_script(rng: &mut Rng, db: &Path) -> String {
    let script = script(rng, db);
    script.text[..script.refused.map_or(script.text.len(), |refused| refused.start)].to_owned()
}

fn line(text: &str, at: usize) -> u64 {
    text[..at].matches('\n').count() as u64 + 1
}

proptest! {
    #![proptest_config(config(tries(300, 1500, 50_000)))]

    #[test]
    fn random_statements_of_a_dump_have_the_same_effect_as_in_sqlite(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let script = script(&mut rng, &at("sqlite.db"));
        fs::write(at("dump.sql"), &script.text).unwrap();
        let loaded = load(&at("dump.sql"), &at("loaded.db"), rng.usize(1..4));
        let text = &script.text;
        if let Some(refused) = script.refused {
            let Err(error) = loaded else { panic!("SQLite refuses the last statement of {text}") };
            let found = error.place().and_then(|place| place.line);
            let (first, last) = (line(text, refused.start), line(text, refused.end));
            // For a broken unique index a load names the line of the row, while SQLite fails in CREATE INDEX.
            let is_index = text[refused.clone()].contains("UNIQUE INDEX");
            prop_assert!(
                found.is_some_and(|found| (first..=last).contains(&found) || is_index && found <= last),
                "line {found:?} is not within {first}..={last}: {error}\n{text}"
            );
            prop_assert_eq!(names(folder.path()), ["dump.sql", "sqlite.db"]);
            return Ok(());
        }
        let is_empty = !content(&at("sqlite.db")).schema.iter().any(|object| object[0].as_deref() == Some("table"));
        match loaded {
            Ok(_) => {}
            Err(error) if is_empty && (["makes no table", "empty", "no rows", "not"].iter().any(|words| error.to_string().contains(words))) => return Ok(()),
            Err(error) => panic!("{error}\n{text}"),
        }
        let mut contents = ["sqlite.db", "loaded.db"].map(|db| content(&at(db)));
        for content in &mut contents {
            content.sort();
            content.sort_tables_of_sqlite();
        }
        let difference = contents[0].difference(&contents[1]);
        prop_assert!(difference.is_none(), "{}\n{text}", difference.unwrap_or_default());
        let sound = integrity(&at("sqlite.db"));
        prop_assert_eq!(integrity(&at("loaded.db")), sound, "{}", text);
    }
}

#[test]
fn the_error_about_rows_of_a_dump_with_the_same_key_names_the_line_of_the_later_row() {
    for (sql, line) in [
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, d INT UNIQUE);\nINSERT INTO t VALUES (9,5);\nINSERT INTO t VALUES (2,5);\n",
            3,
        ),
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, d INT);\nINSERT INTO t VALUES (2,5),\n(9,5),\n(1,6);\nCREATE UNIQUE INDEX i ON t (d);\n",
            3,
        ),
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, d DEFAULT 'y');\nINSERT INTO t (id) VALUES (2),\n(100);\nCREATE UNIQUE INDEX i ON t (d);\n",
            3,
        ),
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, d INT);\nINSERT INTO t VALUES (2,5);\nINSERT INTO t VALUES (3,6);\nINSERT INTO t VALUES (2,7);\n",
            4,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let dump = folder.path().join("dump.sql");
        fs::write(&dump, sql).unwrap();
        let error = load(&dump, &folder.path().join("loaded.db"), 2).unwrap_err();
        assert_eq!(error.place().and_then(|place| place.line), Some(line), "{error}: {sql}");
    }
}
