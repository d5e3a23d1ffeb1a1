//! Transcripts of `generate`: row counts, presets, page sizes, checksums, keys, previews, parts, and mistakes in comments.

use std::fs;
use std::path::Path;

use crate::support::{checksum, folder, generate, integrity, run};
use crate::transcript::{fails, sqluice};

#[test]
fn row_counts_may_have_underscores_exponents_and_suffixes() {
    for (rows, expected) in
        [("1_000", 1000), ("1e3", 1000), ("2.5k", 2500), ("0", 0), ("user=7", 7), ("USER=7", 7)]
    {
        let ran =
            run(Path::new("/"), ["generate", "--discard", "--json", "--preset", "user", "-n", rows]).ok();
        assert_eq!(ran.json()["rows"], expected, "{rows}");
    }
    let folder = folder();
    fs::write(folder.path().join("s.sql"), "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);")
        .unwrap();
    let args = [
        "generate",
        "s.sql",
        "--discard",
        "--json",
        "--rows",
        "b=2",
        "--rows",
        "3",
        "--rows",
        "c=4",
        "-n",
        "c=5",
    ];
    let ran = run(folder.path(), args).ok();
    let counts: Vec<_> = (0..3).map(|table| ran.json()["tables"][table]["rows"].as_u64().unwrap()).collect();
    assert_eq!(counts, [3, 2, 5]);
}

#[test]
fn the_row_count_of_a_presets_main_table_determines_the_other_row_counts() {
    let rows = |flags: &[&str]| {
        let ran =
            run(Path::new("/"), [&["generate", "--discard", "--json", "--preset", "shop"], flags].concat());
        let tables = ran.ok().json()["tables"].as_array().unwrap().clone();
        let named = |name: &str| tables.iter().find(|table| table["name"] == name).unwrap()["rows"].clone();
        ["customers", "products", "orders", "items"].map(|name| named(name).as_u64().unwrap())
    };
    assert_eq!(rows(&["--rows", "2k"]), [200, 20, 2000, 4000]);
    assert_eq!(rows(&["--rows", "2k", "--rows", "items=5"]), [200, 20, 2000, 5]);
}

#[test]
fn the_preset_tpch_prints_its_plan_and_makes_its_tables() {
    let folder = folder();
    let folder = folder.path();
    let args = ["generate", "x.db", "--preset", "tpch", "--scale", "0.01"];
    let plan = run(folder, [&args[..], &["--dry-run"]].concat()).ok().stdout;
    assert!(plan.contains("-- table    orders: 15000 rows from TPC-H, scale 0.01\n"), "{plan}");
    assert!(plan.contains("PRIMARY KEY (l_orderkey, l_linenumber)"), "{plan}");
    assert!(!folder.join("x.db").exists());
    let made = run(folder, [&args[..], &["--json", "--foreign-keys"]].concat()).ok().json();
    assert_eq!(made["rows"], 86_805);
    assert_eq!(integrity(&folder.join("x.db")), "ok");
    run(folder, args).failed(1, "x.db already has a table region");
    let pages =
        run(folder, ["generate", "--discard", "--json", "--preset", "tpch", "--scale", "0.01"]).ok().json();
    assert_eq!(pages["checksum"], made["checksum"]);
}

#[test]
fn all_eight_page_sizes_of_sqlite_and_no_others_are_accepted() {
    let folder = folder();
    for page_bytes in [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536] {
        let size = page_bytes.to_string();
        let name = format!("{size}.db");
        let args = [&generate(&name, "10k")[..], &["--json", "--page-size", &size]].concat();
        let ran = run(folder.path(), args).ok();
        assert_eq!(ran.json()["page_bytes"], page_bytes);
        let path = folder.path().join(&name);
        assert_eq!(integrity(&path), "ok", "{page_bytes}");
        assert_eq!(ran.json()["checksum"], checksum(&path), "{page_bytes}");
        let connection = rusqlite::Connection::open(&path).unwrap();
        let said: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
        assert_eq!(said, page_bytes);
    }
    let ran = run(
        folder.path(),
        ["generate", "--discard", "--json", "--preset", "user", "-n1", "--page-size", "64KiB"],
    );
    assert_eq!(ran.ok().json()["page_bytes"], 65536);
    for size in ["0", "1", "256", "1000", "4095", "131072", "-4096", "big"] {
        let size = format!("--page-size={size}");
        let ran = run(folder.path(), ["generate", "x.db", "--preset", "user", "-n1", &size]);
        ran.failed(2, "for '--page-size <BYTES>'");
    }
}

#[test]
fn discarded_written_and_checked_databases_have_the_same_checksum() {
    let folder = folder();
    let folder = folder.path();
    let schema =
        "CREATE TABLE a (i INTEGER, t TEXT, -- gen: text(0, 9000)\n b TEXT); CREATE TABLE b (i INTEGER);";
    fs::write(folder.join("s.sql"), schema).unwrap();
    let mut seen = Vec::new();
    for seed in ["1", "2"] {
        let flags = ["--rows", "2000", "--json", "--seed", seed];
        let discarded = run(folder, [&["generate", "s.sql", "--discard"], &flags[..]].concat()).ok().json();
        let name = format!("{seed}.db");
        let written = run(folder, [&["generate", &name, "s.sql"], &flags[..]].concat()).ok().json();
        let one_thread =
            run(folder, [&["generate", "s.sql", "--discard", "-j1"], &flags[..]].concat()).ok().json();
        assert_eq!(discarded["output"], "discarded");
        assert_eq!(discarded["target"], serde_json::Value::Null);
        let checked = checksum(&folder.join(&name));
        for report in [discarded, written, one_thread] {
            assert_eq!(report["checksum"], checked);
        }
        seen.push(checked);
    }
    assert_ne!(seen[0], seen[1], "another seed, another file");
}

#[test]
fn generate_creates_the_keys_and_indexes_of_a_schema() {
    let folder = folder();
    let folder = folder.path();
    let schema = "CREATE TABLE a (i INTEGER PRIMARY KEY, -- gen: int(-1000000000000, 1000000000000)
        t TEXT, -- gen: text(0, 30)
        u TEXT UNIQUE);
        CREATE INDEX by_t ON a (t COLLATE NOCASE DESC, i);
        CREATE TABLE b (k TEXT, n INT, PRIMARY KEY (n, k)) WITHOUT ROWID;";
    fs::write(folder.join("s.sql"), schema).unwrap();
    run(folder, ["generate", "x.db", "s.sql", "--rows", "2000", "--analyze"]).ok();
    let path = folder.join("x.db");
    assert_eq!(integrity(&path), "ok");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM a INDEXED BY by_t"), 2000);
    assert_eq!(count("SELECT count(*) FROM b"), 2000);
    assert!(count("SELECT count(*) FROM sqlite_stat1") >= 3);
}

#[test]
fn repeated_keys_of_generated_rows_are_reported() {
    let folder = folder();
    fs::write(folder.path().join("s.sql"), "CREATE TABLE t (a INT UNIQUE -- gen: int(1, 2)\n)").unwrap();
    let ran = run(folder.path(), ["generate", "x.db", "s.sql", "--rows", "3"]);
    ran.failed(1, "error: UNIQUE constraint failed: t.a = ");
}

const SHOP: &str = "CREATE TABLE customer (
  id   INTEGER PRIMARY KEY,
  city TEXT NOT NULL,   -- gen: choice('Rome')
  twice AS (id * 2)
);
CREATE TABLE orders (
  id       INTEGER PRIMARY KEY,
  customer INTEGER NOT NULL REFERENCES customer,   -- gen: ref(customer.id, each(2))
  label    TEXT   -- gen: template('{customer.city} {id}')
);";

#[test]
fn a_preview_shows_the_rows_of_a_real_run_and_writes_nothing() {
    let expected = "customer\n  id  city  twice\n  ──  ────  ─────\n   1  Rome      2\n   2  Rome      4\n\norders\n  id  customer  label\n  ──  ────────  ──────\n   1         1  Rome 1\n   2         1  Rome 2\n";
    for args in ["generate s.sql -n customer=5 --preview 2", "generate x.db s.sql -n customer=5 --preview 2"]
    {
        let done = sqluice(args).file("s.sql", SHOP).succeeds();
        assert_eq!(done.ran.stdout, expected);
        assert!(!done.folder().join("x.db").exists());
    }
    let done = sqluice("generate s.sql -n customer=5 --preview 1 --json").file("s.sql", SHOP).succeeds();
    let json: serde_json::Value = serde_json::from_str(&done.ran.stdout).unwrap();
    assert_eq!(json[1]["rows"][0], serde_json::json!([1, 1, "Rome 1"]));
}

#[test]
fn the_row_count_of_a_table_follows_from_the_row_count_of_its_parent_table() {
    for (rows, expected) in [
        ("-n customer=5", "5 15"),
        ("-n customer=4 -n orders=2.5x", "4 10"),
        ("-n customer=4 -n orders=0x", "4 0"),
        ("-n 4 -n ORDERS=2x", "4 8"),
        ("-n 4", "4 4"),
    ] {
        let count = "SELECT (SELECT count(*) FROM customer) || ' ' || (SELECT count(*) FROM orders)";
        sqluice(&format!("generate x.db s.sql {rows}"))
            .file("s.sql", SHOP)
            .succeeds()
            .holds(count, &format!("'{expected}'"));
    }
    let done = sqluice("generate x.db s.sql -n customer=5 --dry-run").file("s.sql", SHOP).succeeds();
    assert!(
        done.ran.stdout.contains("-- note     orders gets 3 rows for each of customer"),
        "{}",
        done.ran.stdout
    );
    let files = [("s.sql", SHOP)];
    fails(
        &files,
        "generate x.db s.sql -n orders=5",
        2,
        "error: the row count of customer is missing\n\nhint: --rows customer=1M, or --rows 1M for every table",
    );
    fails(
        &files,
        "generate x.db s.sql -n customer=3x",
        2,
        "error: the row count of customer is missing\n\nhint: the factor of customer needs a FOREIGN KEY to a table whose row count is known; or give a row count: --rows customer=1M",
    );
}

#[test]
fn merged_parts_of_a_generated_database_equal_the_database_of_a_single_run() {
    let schema = "CREATE TABLE a (id INTEGER PRIMARY KEY, email TEXT UNIQUE, n INT /* gen: permutation(1, 1000) */);
        CREATE TABLE b (a REFERENCES a, t TEXT, at TEXT /* gen: ascending(date('2020-01-01', '2024-12-31')) */);";
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("s.sql"), schema).unwrap();
    let rows = |name: &str| {
        let connection = rusqlite::Connection::open(folder.join(name)).unwrap();
        let mut all = Vec::new();
        for sql in [
            "SELECT quote(id) || quote(email) || quote(n) FROM a",
            "SELECT quote(a) || quote(t) || quote(at) FROM b",
        ] {
            let mut statement = connection.prepare(&format!("{sql} ORDER BY rowid")).unwrap();
            all.push(
                statement
                    .query_map([], |row| row.get::<_, String>(0))
                    .unwrap()
                    .map(Result::unwrap)
                    .collect::<Vec<_>>(),
            );
        }
        all
    };
    run(folder, ["generate", "whole.db", "s.sql", "-n", "a=1000", "-n", "b=2503"]).ok();
    let whole = rows("whole.db");
    for shares in [1, 2, 7] {
        let mut together = vec![Vec::new(), Vec::new()];
        for share in 1..=shares {
            let (name, part) = (format!("{share}-{shares}.db"), format!("{share}/{shares}"));
            run(folder, ["generate", &name, "s.sql", "-n", "a=1000", "-n", "b=2503", "--part", &part]).ok();
            assert_eq!(integrity(&folder.join(&name)), "ok");
            together.iter_mut().zip(rows(&name)).for_each(|(all, rows)| all.extend(rows));
        }
        assert_eq!(together, whole, "{shares} shares");
    }
    for part in ["0/3", "4/3", "1", "a/b", "1/0"] {
        let ran = run(folder, ["generate", "x.db", "s.sql", "-n", "9", "--part", part]);
        ran.failed(2, "for '--part <I/N>'");
    }
}

#[test]
fn an_error_in_a_generator_comment_names_its_place_and_what_was_expected() {
    for (comment, column, expected) in [
        ("int(1, 2", 19, "expected `,` or `)`, found the end of the comment"),
        ("emial()", 11, "no function is called `emial`\n\nhint: did you mean email()? There are: [..]"),
        (
            "frist",
            11,
            "orders has no column `frist`\n\nhint: did you mean first? There are: customer, first, x; if it is text, write it in quotes: 'frist'; if it is a function, write frist()",
        ),
        (
            "ref(custmer.id)",
            15,
            "no table is called `custmer`\n\nhint: did you mean customer? There are: customer, orders",
        ),
        ("ref(customer.idd)", 15, "customer has no column `idd`\n\nhint: did you mean id? There are: [..]"),
        (
            "ref(customer.id, zpif(1))",
            28,
            "ref: unknown rule `zpif` with 1 arguments: did you mean zipf? There are: any, zipf, each, rows, tree\n\nhint: ref(table.column, which, p): [..]",
        ),
        ("first.city", 11, "first refers to no row of another table, so it has no city\n\nhint: [..]"),
        ("orders.city", 11, "orders.city is a column of another table\n\nhint: [..]"),
        ("customer.town", 11, "customer has no column `town`\n\nhint: choose one of: id, city; [..]"),
        ("x + 1", 11, "orders.x depends on itself\n\nhint: orders.x needs orders.x"),
        (
            "lower(customer)",
            17,
            "lower: argument 1 must be a text, not customer\n\nhint: lower(x): a text in lower case, for example lower(customer.last)",
        ),
        ("case(when first = 'a' thn 1)", 33, "expected `then`, found `thn`"),
        ("template('{frist}')", 22, "orders has no column `frist`\n\nhint: did you mean first? [..]"),
        (
            "distinct(real(0, 1))",
            20,
            "distinct: argument 1 must be something with a known number of values [..], not real(0, 1)\n\nhint: [..]",
        ),
        (
            "sql('upper(frist)')",
            15,
            "sql: SQLite does not accept it: no such column: frist\n\nhint: sql('expression'): [..]",
        ),
        (
            "date('2024-02-30', '2025-01-01')",
            16,
            "date: argument 1 must be a text of the form 'YYYY-MM-DD' from year 1 on, not '2024-02-30'\n\nhint: [..]",
        ),
    ] {
        let sql = format!(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, city TEXT);\nCREATE TABLE orders (customer INTEGER REFERENCES customer, first TEXT,\n  x -- gen: {comment}\n);"
        );
        let column = column + 2;
        fails(
            &[("s.sql", &sql)],
            "generate x.db s.sql -n 9",
            1,
            &format!("error: s.sql:3:{column}: {expected}"),
        );
    }
}

#[test]
fn generate_refuses_more_rows_than_a_unique_column_has_values() {
    fails(
        &[("s.sql", "CREATE TABLE t (a CHAR(1) PRIMARY KEY);")],
        "generate x.db s.sql -n 65",
        2,
        "error: 65 rows for t, whose column a has values for 64\n\nhint: a is filled with distinct(text(1, 1)): ask for fewer rows, or allow more values",
    );
}

#[test]
fn a_check_that_generated_rows_break_is_a_warning_before_the_run_fails() {
    let schema = "CREATE TABLE t (a INT CHECK (a % 7 = 3));";
    let done = sqluice("generate x.db s.sql -n 9 --dry-run").file("s.sql", schema).succeeds();
    assert!(
        done.ran.stdout.contains(
            "-- note     rows of t break CHECK (a % 7 = 3), which ends the run: give its columns comments"
        ),
        "{}",
        done.ran.stdout
    );
    fails(
        &[("s.sql", schema)],
        "generate x.db s.sql -n 9",
        1,
        "warning: rows of t break CHECK (a % 7 = 3), which ends the run: [..]\nerror: CHECK (a % 7 = 3) of table t fails, a = [..], in row 1",
    );
    let said = "CREATE TABLE t (a INT CHECK (a % 7 = 3)); -- no\n"
        .replace("))", ") -- gen: int(0, 1000) * 7 + 3\n)");
    sqluice("generate x.db s.sql -n 9")
        .file("s.sql", said)
        .succeeds()
        .holds("SELECT count(*) FROM t WHERE a % 7 = 3", "9");
}
