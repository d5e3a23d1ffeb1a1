//! Databases generated from a schema alone: SQLite finds all of its constraints kept. The schemas are random, or well-known ones.
//!
//! The oracle is twofold: SQLite's checks of the file that was written, and an INSERT of all its rows into an empty database with the
//! same schema, where every NOT NULL, CHECK, UNIQUE, PRIMARY KEY and FOREIGN KEY is enforced.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::Random;
use crate::support::files::{Home, integrity, open};
use rusqlite::Connection;
use sqluice::generate::Generate;
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice_testkit::effort::tries;

/// Makes the database, and asserts that SQLite accepts each of its rows.
fn assert_kept(sql: &str, rows: &[(Option<&str>, u64)], seed: u64) -> Connection {
    let home = Home::new();
    let target = home.path("ours.db");
    let schema =
        Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let write = WriteOptions::new().threads(2).memory_bytes(32 << 20);
    let mut generate = Generate::new(&target, schema.clone()).seed(seed).write(write);
    generate.rows = rows.iter().map(|(table, rows)| (table.map(str::to_owned), *rows)).collect();
    let prepared = generate
        .prepare(&Context::default())
        .unwrap_or_else(|error| panic!("{error}, {:?}\n{sql}", error.hint_text()));
    let spec = prepared.spec().to_string();
    assert!(prepared.spec().notes.is_empty(), "{:?}\n{spec}\n{sql}", prepared.spec().notes);
    let run = prepared.run(&Context::default());
    run.unwrap_or_else(|error| panic!("{error}, {:?}\n{spec}\n{sql}", error.hint_text()));
    let ours = open(&target);
    assert_eq!(integrity(&ours), "ok", "{sql}");
    let orphans: i64 =
        ours.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(orphans, 0, "{sql}");
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch(sql).unwrap();
    twin.execute_batch(&format!(
        "ATTACH '{}' AS ours; PRAGMA foreign_keys = 1; BEGIN; PRAGMA defer_foreign_keys = 1",
        target.display()
    ))
    .unwrap();
    for table in &schema.tables {
        let given = table.columns.iter().filter(|column| column.generated.is_none());
        let columns = given.map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ");
        let name = &table.name;
        let insert = format!("INSERT INTO main.\"{name}\" ({columns}) SELECT {columns} FROM ours.\"{name}\"");
        twin.execute_batch(&insert).unwrap_or_else(|error| panic!("{error}\n{insert}\n{spec}\n{sql}"));
        // Each table has rows.
        let count: i64 =
            twin.query_row(&format!("SELECT count(*) FROM main.\"{name}\""), [], |row| row.get(0)).unwrap();
        assert!(count > 0, "{name} of {sql}");
    }
    twin.execute_batch("COMMIT").unwrap_or_else(|error| panic!("{error}\n{sql}"));
    twin
}

/// Returns the declaration of a random column.
fn random_column(random: &mut Random, index: usize) -> String {
    let name = match random.below(3) {
        0 => format!("c{index}"),
        _ => {
            let names = [
                "email",
                "first_name",
                "last_name",
                "city",
                "country",
                "phone",
                "url",
                "ip",
                "created_at",
                "price",
                "lat",
                "lon",
                "status",
                "uuid",
                "name",
                "title",
                "quantity",
                "is_active",
                "zip",
                "description",
                "age",
                "code",
                "birthDate",
                "UserName",
                "total",
                "color",
            ];
            format!(
                "{}{}",
                random.pick(&names),
                ["", "2", "_x"][random.below(3)].replace("2", &index.to_string())
            )
        }
    };
    // Names of columns are unique within a table.
    let name = format!("t{index}_{name}");
    let types = [
        "INTEGER",
        "INT",
        "TINYINT",
        "TEXT",
        "VARCHAR(20)",
        "CHAR(6)",
        "REAL",
        "DECIMAL(10, 2)",
        "NUMERIC",
        "DATE",
        "DATETIME",
        "BLOB",
        "BOOLEAN",
        "",
        "VARCHAR(5)",
        "BLOB(8)",
    ];
    let declared = random.pick(&types);
    let mut column = format!("\"{name}\" {declared}");
    if random.one_in(3) {
        column += " NOT NULL";
    }
    if random.one_in(5) && !["BOOLEAN", "TINYINT"].contains(&declared) {
        column += random.pick(&[" UNIQUE", " UNIQUE", " COLLATE NOCASE UNIQUE"]);
    }
    let numbers = [
        "# > 0",
        "# >= 0 AND # <= 100000",
        "# BETWEEN -500 AND 70000",
        "# <> 0",
        "# < 100000 OR # IS NULL",
        "(# >= 18) AND 90000 > #",
        "abs(#) <= 90000",
        "#  >= 1.5",
    ];
    let texts = [
        "length(#) > 0",
        "length(#) BETWEEN 3 AND 19",
        "# <> ''",
        "# LIKE 'a%'",
        "# LIKE 'x_%-%'",
        "length(#) = 5",
        "# IS NOT NULL",
        "# GLOB '[0-9][0-9][0-9][0-9][0-9]*'",
        "length(trim(#)) >= 2",
    ];
    let unique = column.contains("UNIQUE");
    if random.one_in(3) {
        let check = match declared {
            "INTEGER" | "INT" | "REAL" | "DECIMAL(10, 2)" | "NUMERIC" | "" => Some(random.pick(&numbers)),
            "TEXT" | "VARCHAR(20)" => Some(random.pick(&texts)),
            _ => None,
        };
        if let Some(check) = check {
            let _ = write!(column, " CHECK ({})", check.replace('#', &format!("\"{name}\"")));
        } else if declared == "VARCHAR(5)" && !unique {
            let _ = write!(column, " CHECK (\"{name}\" IN ('new', 'paid', 'it''s'))");
        } else if declared == "TINYINT" {
            let _ = write!(column, " CHECK (\"{name}\" IN (1, 2, 3) OR \"{name}\" = 7)");
        }
    } else if random.one_in(6) && !unique {
        column += match declared {
            "INTEGER" | "INT" | "REAL" => " DEFAULT 5",
            "TEXT" => " DEFAULT 'usual'",
            "DATETIME" => " DEFAULT CURRENT_TIMESTAMP",
            _ => "",
        };
    }
    column
}

/// Returns a schema of some tables, each of which may refer to those before it.
fn random_schema(random: &mut Random) -> String {
    let mut sql = String::new();
    // Keys that can be referred to: table and columns.
    let mut keys: Vec<(String, Vec<String>)> = Vec::new();
    for table in 0..1 + random.below(5) {
        let name = random.pick(&["customer", "orders", "item", "Thing", "part"]);
        let name = format!("{name}{table}");
        let (mut columns, mut constraints) = (Vec::new(), Vec::new());
        let without_rowid = random.one_in(4);
        let mut key = vec!["id".to_owned()];
        match random.below(if table > 1 { 6 } else { 4 }) {
            0 | 1 => columns.push("id INTEGER PRIMARY KEY".to_owned()),
            2 => columns.push("id TEXT NOT NULL PRIMARY KEY".to_owned()),
            3 => {
                columns
                    .push("id INT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('a', 'b', 'c'))".to_owned());
                constraints.push("PRIMARY KEY (id, kind)".to_owned());
                key.push("kind".to_owned());
            }
            _ => {
                // The key consists of references to two other tables.
                let single: Vec<&(String, Vec<String>)> =
                    keys.iter().filter(|(_, key)| key.len() == 1).collect();
                if single.len() < 2 {
                    columns.push("id INTEGER PRIMARY KEY".to_owned());
                } else {
                    let (a, b) = (random.pick(&single), random.pick(&single));
                    columns.push(format!(
                        "id NOT NULL REFERENCES \"{}\", other NOT NULL REFERENCES \"{}\" (id)",
                        a.0, b.0
                    ));
                    constraints.push("PRIMARY KEY (id, other)".to_owned());
                    key.push("other".to_owned());
                }
            }
        }
        for index in 0..random.below(6) {
            columns.push(random_column(random, index));
        }
        if random.one_in(3) {
            columns.push("low INT, high INT".to_owned());
            constraints.push(
                random
                    .pick(&[
                        "CHECK (low <= high)",
                        "CHECK (high > low AND low > 5)",
                        "CONSTRAINT c CHECK (low < high OR low IS NULL)",
                    ])
                    .to_owned(),
            );
        }
        if random.one_in(4) {
            columns.push("start_date DATE, end_date DATE".to_owned());
            constraints.push(
                random.pick(&["CHECK (end_date >= start_date)", "CHECK (start_date < end_date)"]).to_owned(),
            );
        }
        if random.one_in(4) {
            columns.push("a INT, b VARCHAR(9), c CHAR(2)".to_owned());
            constraints.push(
                random.pick(&["UNIQUE (a, b)", "UNIQUE (c, a), UNIQUE (b, c)", "UNIQUE (a, c)"]).to_owned(),
            );
        }
        if random.one_in(4) {
            columns.push("g INT AS (length(coalesce(id, '')) + 1), h AS (id) STORED".to_owned());
        }
        if random.one_in(3) && key.len() == 1 {
            columns.push(format!("up REFERENCES \"{name}\" (id)"));
        }
        if let Some((parent, theirs)) = keys.get(random.below(keys.len() + 1)) {
            let ours: Vec<String> = (0..theirs.len()).map(|index| format!("ref{index}")).collect();
            columns.extend(ours.iter().cloned());
            let to = if random.one_in(2) { String::new() } else { format!("({})", theirs.join(", ")) };
            constraints.push(format!("FOREIGN KEY ({}) REFERENCES \"{parent}\" {to}", ours.join(", ")));
            if random.one_in(5) && theirs.len() == 1 {
                constraints.push("UNIQUE (ref0)".to_owned());
            }
        }
        let all: Vec<String> = columns.into_iter().chain(constraints).collect();
        let end = if without_rowid { " WITHOUT ROWID" } else { "" };
        let _ = writeln!(sql, "CREATE TABLE \"{name}\" (\n  {}\n){end};", all.join(",\n  "));
        if random.one_in(3) {
            let _ = writeln!(sql, "CREATE INDEX \"by_id_{table}\" ON \"{name}\" (id);");
        }
        keys.push((name, key));
    }
    sql
}

#[test]
fn generated_rows_keep_all_constraints_of_random_schemas() {
    let cases = tries(60, 300, 24_000);
    for seed in 0..cases {
        let mut random = Random(seed);
        let sql = random_schema(&mut random);
        // No table may have more rows than its smallest key has values.
        assert_kept(&sql, &[(None, 1 + random.below(90) as u64)], seed);
    }
}

#[test]
fn the_check_used_by_these_tests_finds_rows_that_break_a_constraint() {
    for sql in [
        "CREATE TABLE t (a INT UNIQUE /* gen: int(1, 3) */)",
        "CREATE TABLE t (a INT CHECK (a % 2 = 0 AND a < 7) /* gen: 9 */)",
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (a REFERENCES p /* gen: 1000 */)",
        "CREATE TABLE t (a NOT NULL /* gen: sql('NULL') */)",
    ] {
        let kept = std::panic::catch_unwind(|| drop(assert_kept(sql, &[(None, 50)], 1)));
        assert!(kept.is_err(), "{sql}");
    }
}

/// Returns the integer that a query returns.
fn found(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{error}: {sql}"))
}

#[test]
fn the_schema_of_a_music_store_gets_rows_that_keep_its_constraints() {
    let sql = include_str!("../../schemas/music_store.sql");
    let store = assert_kept(
        sql,
        &[
            (Some("artist"), 50),
            (Some("genre"), 10),
            (Some("media_type"), 5),
            (Some("employee"), 8),
            (Some("customer"), 100),
            (Some("playlist"), 10),
        ],
        1,
    );
    // Without a row count, a child table has three rows for each parent.
    assert_eq!(found(&store, "SELECT count(*) FROM album"), 150);
    assert_eq!(found(&store, "SELECT count(*) FROM invoice"), 300);
    assert_eq!(found(&store, "SELECT count(*) FROM customer WHERE email LIKE '%_@_%._%'"), 100);
    assert_eq!(found(&store, "SELECT count(DISTINCT email) FROM customer"), 100);
    assert!(found(&store, "SELECT count(DISTINCT last_name) FROM customer") > 20);
    assert_eq!(found(&store, "SELECT count(*) FROM employee WHERE reports_to >= employee_id"), 0);
    assert_eq!(found(&store, "SELECT count(*) FROM employee WHERE reports_to IS NULL"), 1);
    assert!(found(&store, "SELECT count(*) FROM track WHERE unit_price BETWEEN 0.01 AND 1000") > 0);
}

#[test]
fn the_schema_of_traders_gets_rows_that_keep_its_constraints() {
    let sql = include_str!("../../schemas/traders.sql");
    let traders = assert_kept(
        sql,
        &[
            (Some("category"), 8),
            (Some("supplier"), 20),
            (Some("customer"), 100),
            (Some("employee"), 9),
            (Some("shipper"), 3),
            (Some("region"), 4),
        ],
        2,
    );
    assert_eq!(found(&traders, "SELECT count(*) FROM orders WHERE shipped_date < order_date"), 0);
    assert!(found(&traders, "SELECT count(*) FROM order_detail") > 100);
    assert_eq!(found(&traders, "SELECT count(*) FROM customer WHERE length(customer_id) <> 5"), 0);
    assert_eq!(found(&traders, "SELECT count(*) FROM order_detail WHERE discount NOT BETWEEN 0 AND 1"), 0);
}

#[test]
fn the_schema_of_a_film_rental_gets_rows_that_keep_its_constraints() {
    let sql = include_str!("../../schemas/film_rental.sql");
    let rental = assert_kept(sql, &[(None, 40)], 3);
    assert_eq!(found(&rental, "SELECT count(*) FROM rental WHERE return_date < rental_date"), 0);
    assert_eq!(
        found(&rental, "SELECT count(*) FROM film WHERE rating NOT IN ('G', 'PG', 'PG-13', 'R', 'NC-17')"),
        0
    );
    assert!(found(&rental, "SELECT count(DISTINCT rating) FROM film") > 2);
    assert_eq!(
        found(&rental, "SELECT count(*) FROM (SELECT DISTINCT film_id, actor_id FROM film_actor)"),
        40
    );
}

/// Names of date columns, in the order in which their dates must follow each other.
const LIVES: &[&[&str]] = &[
    &[
        "created_at",
        "ordered_at",
        "paid_at",
        "shipped_at",
        "delivered_at",
        "returned_at",
        "updated_at",
        "deleted_at",
    ],
    &["registration_date", "start_date", "end_date", "last_login"],
    &["CreateDate", "OrderDate", "ShippedDate", "ModifiedDate"],
    &["joined", "hire_date", "terminated_at", "updated"],
    &[
        "signup_date",
        "placed_at",
        "approved_at",
        "dispatched_at",
        "arrival_time",
        "finished_at",
        "last_seen_at",
    ],
];

/// Returns SQL of a date column of any type as text that sorts by time.
fn as_text(column: &str) -> String {
    format!("CASE typeof({column}) WHEN 'integer' THEN datetime({column}, 'unixepoch') ELSE {column} END")
}

/// Returns date columns in a random order and of random types, some with CHECKs.
fn random_moments(random: &mut Random, names: &[&str]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    let mixed = random.one_in(2);
    let one = random.pick(&["DATETIME", "TEXT", "DATE", "TIMESTAMP", "INTEGER", "VARCHAR(10)"]);
    for name in names {
        let mut declared = if mixed { random.pick(&["DATETIME", "DATE", "TIMESTAMP"]) } else { one };
        if !name.contains("_at") && !name.contains("ate") {
            declared = "DATETIME";
        }
        let not_null = random.pick(&["", " NOT NULL"]);
        let text = declared != "INTEGER";
        let check = match random.below(8) {
            0 if text => format!(" CHECK ({name} >= '2016-01-01')"),
            1 if text => format!(" CHECK ({name} < '2025-06-01' OR {name} IS NULL)"),
            2 => format!(" CHECK ({name} IS NOT NULL)"),
            _ => String::new(),
        };
        columns.insert(random.below(columns.len() + 1), format!("{name} {declared}{not_null}{check}"));
    }
    let checked = |name: &str| columns.iter().any(|it| it.starts_with(name) && it.contains("CHECK"));
    if let (true, [first, .., last]) = (random.one_in(4), names)
        && !checked(first)
        && !checked(last)
    {
        let compare = random.pick(&["<=", "<"]);
        columns.push(format!("CHECK ({first} {compare} {last})"));
    }
    columns
}

#[test]
fn dates_are_in_the_order_that_the_names_of_their_columns_imply_and_not_after_today() {
    for seed in 0..tries(30, 150, 12_000) {
        let mut random = Random(seed);
        let mut some = |life: &[&'static str]| -> Vec<&'static str> {
            let kept: Vec<_> = life.iter().copied().filter(|_| !random.one_in(3)).collect();
            if kept.is_empty() { vec![life[0]] } else { kept }
        };
        let (theirs, own) = (some(LIVES[seed as usize % 5]), some(LIVES[seed as usize / 5 % 5]));
        let (their_columns, own_columns) =
            (random_moments(&mut random, &theirs), random_moments(&mut random, &own));
        let mut tables = [
            format!(
                "CREATE TABLE customer (id INTEGER PRIMARY KEY, birth_date DATE, date_of_birth TEXT,\n  {});\n",
                their_columns
                    .iter()
                    .rev()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(",\n  ")
                    .replace(",\n  CHECK", ", CHECK")
            ),
            format!(
                "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INT NOT NULL REFERENCES customer,\n  due_date DATE,\n  {});\n",
                own_columns.join(",\n  ")
            ),
        ];
        // A CHECK of the table must come after its columns.
        if their_columns.last().is_some_and(|last| last.starts_with("CHECK")) {
            tables[0] = format!(
                "CREATE TABLE customer (id INTEGER PRIMARY KEY, birth_date DATE, date_of_birth TEXT,\n  {});\n",
                their_columns.join(",\n  ")
            );
        }
        if random.one_in(2) {
            tables.reverse();
        }
        let sql = tables.concat();
        let made = assert_kept(&sql, &[(Some("customer"), 40), (Some("orders"), 200)], seed);
        let none = |table: &str, condition: &str| {
            let wrong = found(&made, &format!("SELECT count(*) FROM {table} WHERE NOT ({condition})"));
            assert_eq!(wrong, 0, "{condition} in {table}\n{sql}");
        };
        for (table, names) in [("customer", &theirs), ("orders", &own)] {
            for pair in names.windows(2) {
                none(table, &format!("{} <= {}", as_text(pair[0]), as_text(pair[1])));
            }
            for name in &names[..] {
                none(table, &format!("{} BETWEEN '2010' AND '2025-12-31 23:59:59'", as_text(name)));
            }
        }
        none(
            "customer",
            "birth_date || '' BETWEEN '1940' AND '2000' AND date_of_birth BETWEEN '1940' AND '2000'",
        );
        none("orders", &format!("due_date >= {} AND due_date <= '2025-12-31'", as_text(own[0])));
        // Unless a CHECK contradicts, an order is later than its customer.
        if !sql.contains("< '2025-06") {
            let joined = "orders JOIN customer ON customer.id = customer_id";
            none(
                joined,
                &format!(
                    "{} <= {}",
                    as_text(&format!("customer.{}", theirs[0])),
                    as_text(&format!("orders.{}", own[0]))
                ),
            );
        }
    }
}

#[test]
fn a_timestamp_range_in_a_generator_comment_determines_the_other_dates() {
    let sql = "CREATE TABLE orders (
        shipped_at TEXT, created_at TEXT NOT NULL, ordered_at TEXT, -- gen: timestamp('2031-01-01 00:00:00', '2031-12-31 00:00:00')
        paid_at TEXT -- gen: null(0.5, date('1990-01-01', '1999-01-01'))
    );";
    let orders = assert_kept(sql, &[(None, 300)], 1);
    let wrong = "SELECT count(*) FROM orders WHERE NOT (created_at <= ordered_at AND ordered_at <= shipped_at
        AND ordered_at LIKE '2031-%')";
    assert_eq!(found(&orders, wrong), 0);
    assert!(found(&orders, "SELECT count(*) FROM orders WHERE paid_at IS NULL") > 50);
}
