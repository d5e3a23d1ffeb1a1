//! `generate`: its counts, its page sizes, its seeds.

use std::fs;
use std::path::Path;

use crate::support::{checksum, folder, generate, integrity, run};

#[test]
fn rows_are_counted_as_people_write_them() {
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
fn rows_of_a_preset_follow_from_those_of_its_main_table() {
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
fn tpch_is_planned_and_made() {
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
fn all_eight_page_sizes_and_no_other_are_taken() {
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
fn checksums_of_pages_thrown_away_written_and_checked_are_equal() {
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
fn keys_and_indexes_of_a_schema_are_made() {
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
fn keys_that_come_twice_are_told() {
    let folder = folder();
    fs::write(folder.path().join("s.sql"), "CREATE TABLE t (a INT UNIQUE -- gen: int(1, 2)\n)").unwrap();
    let ran = run(folder.path(), ["generate", "x.db", "s.sql", "--rows", "3"]);
    ran.failed(1, "error: UNIQUE constraint failed: t.a = ");
}
